#include "part_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_bytes.h"
#include "cli.h"
#include "trace/trace_layout.h"

#define DEEPEST	       8     /* folders in folders */
#define SILENT_SECONDS "120" /* after which rsync gives up */

gboolean part_is_remote(const gchar *source)
{
	const gchar *colon = strchr(source, ':'), *slash = strchr(source, '/');

	if (g_str_has_prefix(source, "rsync://"))
		return TRUE;
	return colon && colon != source && (!slash || colon < slash) &&
	       !g_file_test(source, G_FILE_TEST_EXISTS);
}

static gboolean fail(GError **error, const gchar *what, const gchar *path)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "cannot %s %s: %s", what,
		    path, g_strerror(cause));
	return FALSE;
}

/* --- from a folder -------------------------------------------------------------------------- */

static gboolean is_same(const struct stat *status, const gchar *path)
{
	struct stat other;

	return lstat(path, &other) == 0 && S_ISREG(other.st_mode) &&
	       other.st_size == status->st_size && other.st_mtim.tv_sec == status->st_mtim.tv_sec &&
	       other.st_mtim.tv_nsec == status->st_mtim.tv_nsec;
}

/* Its time is that of before it was copied: where it grows meanwhile, it will be another one. */
static gboolean copy_to(int in, const struct stat *status, const gchar *to, GError **error)
{
	struct timespec times[] = { status->st_atim, status->st_mtim };
	guint64 n_copied;
	gboolean is_copied;
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (out < 0)
		return fail(error, "write", to);
	is_copied = (copy_bytes(in, out, G_MAXUINT64, &n_copied) && futimens(out, times) == 0) ||
		    fail(error, "write", to);
	if (close(out) < 0 && is_copied)
		is_copied = fail(error, "write", to);
	return is_copied;
}

/* A file has its name when it is whole. */
static gboolean copy_file(const gchar *from, const gchar *to, const gchar *known, GError **error)
{
	g_autofree gchar *folder = g_path_get_dirname(to);
	g_autofree gchar *unfinished = g_build_filename(folder, ".unfinished", NULL);
	struct stat status;
	gboolean is_copied;
	int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (in < 0)
		return errno == ENOENT || fail(error, "read", from); /* removed meanwhile */
	if (fstat(in, &status) < 0 || !S_ISREG(status.st_mode) || is_same(&status, to) ||
	    (known && is_same(&status, known) && link(known, to) == 0)) {
		close(in);
		return TRUE;
	}
	is_copied = copy_to(in, &status, unfinished, error) &&
		    (g_rename(unfinished, to) == 0 || fail(error, "write", to));
	close(in);
	return is_copied;
}

static gint compare_names(gconstpointer first, gconstpointer second)
{
	const gchar *a = *(const gchar *const *)first, *b = *(const gchar *const *)second;
	gboolean a_is_last = strcmp(a, TRACE_METADATA_FILE) == 0;
	gboolean b_is_last = strcmp(b, TRACE_METADATA_FILE) == 0;

	return a_is_last != b_is_last ? (a_is_last ? 1 : -1) : strcmp(a, b);
}

static GPtrArray *list_names(const gchar *folder, GError **error)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, error);
	GPtrArray *names;
	const gchar *name;

	if (!entries)
		return NULL;
	names = g_ptr_array_new_with_free_func(g_free);
	while ((name = g_dir_read_name(entries)))
		if (*name != '.')
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, compare_names);
	return names;
}

static gboolean copy_folder(const gchar *from, const gchar *to, const gchar *known, guint depth,
			    GError **error)
{
	g_autoptr(GPtrArray) names = list_names(from, error);

	if (!names)
		return FALSE;
	if (g_mkdir(to, 0700) < 0 && errno != EEXIST)
		return fail(error, "make", to);
	for (guint i = 0; i < names->len; i++) {
		const gchar *name = g_ptr_array_index(names, i);
		g_autofree gchar *source = g_build_filename(from, name, NULL);
		g_autofree gchar *target = g_build_filename(to, name, NULL);
		g_autofree gchar *old = known ? g_build_filename(known, name, NULL) : NULL;
		struct stat status;

		if (lstat(source, &status) < 0)
			continue; /* removed meanwhile */
		if (S_ISREG(status.st_mode) && !copy_file(source, target, old, error))
			return FALSE;
		if (S_ISDIR(status.st_mode) && depth < DEEPEST &&
		    !copy_folder(source, target, old, depth + 1, error))
			return FALSE;
	}
	return TRUE;
}

/* --- by rsync --------------------------------------------------------------------------------- */

static void be_usual(gpointer unused)
{
	(void)unused;
	cli_restore_write_signals();
}

/* -r, -t: files and folders with their times, neither links nor devices. */
static gboolean fetch(const gchar *source, const gchar *to, const gchar *known, GError **error)
{
	g_autofree gchar *from =
		g_strdup_printf("%s%s", source, g_str_has_suffix(source, "/") ? "" : "/");
	g_autofree gchar *link = g_strdup_printf("--link-dest=%s", known ? known : "");
	const gchar *arguments[16] = { "rsync",
				       "-rt",
				       "--partial",
				       "--exclude=.*",
				       "--chmod=D700,F600",
				       "--timeout=" SILENT_SECONDS };
	guint n = g_strv_length((gchar **)arguments);
	g_autoptr(GError) cause = NULL;
	gint wait_status;

	if (known)
		arguments[n++] = link;
	arguments[n++] = "--";
	arguments[n++] = from;
	arguments[n++] = to;
	if (!g_spawn_sync(NULL, (gchar **)arguments, NULL,
			  G_SPAWN_SEARCH_PATH | G_SPAWN_CHILD_INHERITS_STDIN |
				  G_SPAWN_STDOUT_TO_DEV_NULL,
			  be_usual, NULL, NULL, NULL, &wait_status, &cause)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "%s: rsync cannot be run (%s); install it, or copy the folder here and "
			    "name that",
			    source, cause->message);
		return FALSE;
	}
	if (g_spawn_check_wait_status(wait_status, NULL))
		return TRUE;
	g_set_error(
		error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		"%s: rsync could not fetch it, as it says above; the same command goes on where "
		"it stopped",
		source);
	return FALSE;
}

gboolean part_copy(const gchar *source, const gchar *to, const gchar *known, GError **error)
{
	if (part_is_remote(source))
		return fetch(source, to, known, error);
	return copy_folder(source, to, known, 0, error);
}
