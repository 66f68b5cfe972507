/* new_file: writes to a temporary file in the same folder and renames it at the end. A signal that
 * ends the program (Ctrl-C) removes it first; SIGKILL leaves ".NAME.XXXXXX" behind. */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unfinished.h"

struct _NewFile {
	gchar *path;
	gchar *temporary_path; /* NULL: written in place */
	gboolean may_replace;
	FILE *stream;
};

static FILE *open_in_place(const gchar *path, GError **error)
{
	FILE *stream = fopen(path, "wb");

	if (!stream)
		unfinished_set_error(error, path);
	return stream;
}

/* The permissions that a file made with open() would have had. */
static void set_usual_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

/* No signal comes between a temporary file's creation and the note to remove it. */
static int create_and_note(gchar *path)
{
	sigset_t usual;
	int fd, cause;

	unfinished_hold(&usual);
	fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
	cause = errno;
	if (fd >= 0)
		unfinished_note(path);
	unfinished_let_go(&usual);
	errno = cause;
	return fd;
}

static FILE *open_temporary(NewFile *file, GError **error)
{
	g_autofree gchar *folder = g_path_get_dirname(file->path);
	g_autofree gchar *name = g_path_get_basename(file->path);
	FILE *stream;
	int fd;

	file->temporary_path = g_strdup_printf("%s/.%s.XXXXXX", folder, name);
	fd = create_and_note(file->temporary_path);
	if (fd < 0) {
		unfinished_set_error(error, file->path);
		g_clear_pointer(&file->temporary_path, g_free);
		return NULL;
	}
	set_usual_mode(fd);
	stream = fdopen(fd, "wb");
	if (!stream) {
		unfinished_set_error(error, file->path);
		close(fd);
	}
	return stream;
}

NewFile *new_file_open(const gchar *path, gboolean may_replace, GError **error)
{
	g_autoptr(NewFile) file = g_new0(NewFile, 1);
	struct stat status;
	gboolean is_there = stat(path, &status) == 0;

	file->path = g_strdup(path);
	file->may_replace = may_replace;
	if (is_there && S_ISDIR(status.st_mode)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_ISDIR,
			    "'%s' is a folder; name a file", path);
		return NULL;
	}
	if (is_there && S_ISREG(status.st_mode) && !may_replace) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
			    "'%s' exists; --force replaces it", path);
		return NULL;
	}
	if (is_there && !S_ISREG(status.st_mode))
		file->stream = open_in_place(path, error);
	else
		file->stream = open_temporary(file, error);
	return file->stream ? g_steal_pointer(&file) : NULL;
}

FILE *new_file_stream(NewFile *file)
{
	return file->stream;
}

static gboolean close_stream(NewFile *file, GError **error)
{
	gboolean has_failed = ferror(file->stream) != 0;

	errno = 0;
	if (fclose(g_steal_pointer(&file->stream)) == 0 && !has_failed)
		return TRUE;
	unfinished_set_error(error, file->path);
	return FALSE;
}

/* link() unlike rename() does not replace what came to be there meanwhile; not every file system
 * has it. */
static gboolean give_name(NewFile *file, GError **error)
{
	if (!file->may_replace && link(file->temporary_path, file->path) == 0)
		unlink(file->temporary_path);
	else if ((!file->may_replace && errno == EEXIST) ||
		 rename(file->temporary_path, file->path) < 0) {
		unfinished_set_error(error, file->path);
		return FALSE;
	}
	unfinished_note(NULL);
	g_clear_pointer(&file->temporary_path, g_free);
	return TRUE;
}

gboolean new_file_finish(NewFile *file, GError **error)
{
	g_autoptr(NewFile) owned = file;

	return close_stream(owned, error) && (!owned->temporary_path || give_name(owned, error));
}

void new_file_abandon(NewFile *file)
{
	if (!file)
		return;
	if (file->stream)
		fclose(file->stream);
	if (file->temporary_path) {
		unlink(file->temporary_path);
		unfinished_note(NULL);
	}
	g_free(file->temporary_path);
	g_free(file->path);
	g_free(file);
}
