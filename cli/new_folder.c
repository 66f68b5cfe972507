/* new_folder: files go into a temporary folder beside, which gets its name at the end. A signal that ends the program
 * (Ctrl-C) removes it first; SIGKILL leaves ".NAME.XXXXXX" behind. */
#include "new_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unfinished.h"

struct _NewFolder {
	gchar *path;
	gchar *temporary_path; /* NULL: there is none */
	gboolean may_replace;
};

/* --- what is there -------------------------------------------------------------------------- */

static gboolean is_regular(const gchar *folder, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	struct stat status;

	return lstat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static gboolean is_called(const gchar *name, gchar **patterns)
{
	for (; *patterns; patterns++)
		if (g_pattern_match_simple(*patterns, name))
			return TRUE;
	return FALSE;
}

/* Whether all that is in the folder are such files; an empty one has none others. */
static gboolean has_only(const gchar *folder, const gchar *files, gboolean *ret_is_empty)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	g_auto(GStrv) patterns = g_strsplit(files, " ", -1);
	const gchar *name;

	*ret_is_empty = entries != NULL;
	while (entries && (name = g_dir_read_name(entries))) {
		*ret_is_empty = FALSE;
		if (!is_called(name, patterns) || !is_regular(folder, name))
			return FALSE;
	}
	return entries != NULL;
}

static gboolean may_use(const gchar *path, const gchar *files, gboolean may_replace, GError **error)
{
	gboolean is_empty;
	struct stat status;

	if (stat(path, &status) < 0)
		return TRUE; /* what else may be wrong, making it will tell */
	if (!S_ISDIR(status.st_mode)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR,
			    "'%s' exists and is not a folder; name another one", path);
		return FALSE;
	}
	if (!has_only(path, files, &is_empty)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
			    "'%s' exists and holds files that do not belong to such an export; "
			    "name another folder",
			    path);
		return FALSE;
	}
	if (is_empty || may_replace)
		return TRUE;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST, "'%s' exists; --force replaces it",
		    path);
	return FALSE;
}

/* --- the folder ----------------------------------------------------------------------------- */

static void remove_folder(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *file = g_build_filename(path, name, NULL);

		if (g_unlink(file) < 0 && (errno == EISDIR || errno == EPERM))
			remove_folder(file);
	}
	g_rmdir(path);
}

static gboolean make_temporary(NewFolder *folder)
{
	g_autofree gchar *parent = g_path_get_dirname(folder->path);
	g_autofree gchar *name = g_path_get_basename(folder->path);
	g_autofree gchar *path = g_strdup_printf("%s/.%s.XXXXXX", parent, name);
	sigset_t usual;
	int cause;

	unfinished_hold(&usual);
	if (g_mkdtemp_full(path, 0700)) {
		folder->temporary_path = g_steal_pointer(&path);
		unfinished_note(folder->temporary_path);
	}
	cause = errno;
	unfinished_let_go(&usual);
	errno = cause;
	return folder->temporary_path != NULL;
}

NewFolder *new_folder_open(const gchar *path, const gchar *files, gboolean may_replace,
			   GError **error)
{
	g_autoptr(NewFolder) folder = g_new0(NewFolder, 1);

	folder->path = g_canonicalize_filename(path, NULL);
	folder->may_replace = may_replace;
	if (!may_use(path, files, may_replace, error))
		return NULL;
	if (make_temporary(folder))
		return g_steal_pointer(&folder);
	unfinished_set_error(error, path);
	return NULL;
}

const gchar *new_folder_path(NewFolder *folder)
{
	return folder->temporary_path;
}

/* rename() replaces a folder that is empty, and refuses others; what may be replaced changes places with what is new. */
static gboolean give_name(NewFolder *folder)
{
	if (rename(folder->temporary_path, folder->path) == 0)
		return TRUE;
	if (!folder->may_replace || (errno != ENOTEMPTY && errno != EEXIST) ||
	    renameat2(AT_FDCWD, folder->temporary_path, AT_FDCWD, folder->path, RENAME_EXCHANGE) <
		    0)
		return FALSE;
	remove_folder(folder->temporary_path);
	return TRUE;
}

gboolean new_folder_finish(NewFolder *folder, GError **error)
{
	g_autoptr(NewFolder) owned = folder;

	if (!give_name(owned)) {
		unfinished_set_error(error, owned->path);
		return FALSE;
	}
	unfinished_note(NULL);
	g_clear_pointer(&owned->temporary_path, g_free);
	return TRUE;
}

void new_folder_abandon(NewFolder *folder)
{
	if (!folder)
		return;
	if (folder->temporary_path) {
		remove_folder(folder->temporary_path);
		unfinished_note(NULL);
	}
	g_free(folder->temporary_path);
	g_free(folder->path);
	g_free(folder);
}
