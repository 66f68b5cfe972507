#include "run_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_bytes.h"
#include "new_folder.h"
#include "base/visible_names.h"
#include "trace/trace_layout.h"

#define METADATA "metadata"

static gboolean fail(GError **error, const gchar *what, const gchar *path)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "cannot %s %s: %s", what,
		    path, g_strerror(cause));
	return FALSE;
}

/* --- one file ------------------------------------------------------------------------------- */

/* The end of the last whole line, up to which a metadata that grows can be read. */
static gboolean cut_to_lines(int out, guint64 bytes)
{
	gchar last = 0;

	while (bytes && pread(out, &last, 1, (off_t)(bytes - 1)) == 1 && last != '\n')
		bytes--;
	return ftruncate(out, (off_t)bytes) == 0;
}

/* A stream's file ends with what it has now, and says so. No file is left where it had nothing. */
static gboolean copy_stream(int in, int out, const gchar *to, guint64 *ret_copied)
{
	struct packet_header packet;
	guint64 bytes;

	*ret_copied = 0;
	if (pread(in, &packet, sizeof(packet), 0) != (gssize)sizeof(packet) ||
	    packet.content_bits / 8 < sizeof(packet))
		return g_unlink(to) == 0;
	if (!copy_bytes(in, out, packet.content_bits / 8, &bytes))
		return FALSE;
	packet.packet_bits = packet.content_bits = bytes * 8;
	*ret_copied = bytes;
	return bytes >= sizeof(packet)
		       ? pwrite(out, &packet, sizeof(packet), 0) == (gssize)sizeof(packet)
		       : g_unlink(to) == 0;
}

static gboolean is_stream(const gchar *name)
{
	guint stream, tid, index;
	gint length = 0;

	return sscanf(name, "%u-%u.%u%n", &stream, &tid, &index, &length) == 3 && !name[length];
}

/* `in_trace`: of a process, whose files are streams and metadata. */
static gboolean copy_file(const gchar *from, const gchar *to, const gchar *name, gboolean in_trace,
			  guint64 *total, GError **error)
{
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out;
	guint64 bytes = 0;
	gboolean is_copied;

	if (in < 0)
		return errno == ENOENT || fail(error, "read", from);
	out = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0) {
		fail(error, "write", to);
		close(in);
		return FALSE;
	}
	if (in_trace && is_stream(name))
		is_copied = copy_stream(in, out, to, &bytes);
	else
		is_copied = copy_bytes(in, out, G_MAXUINT64, &bytes) &&
			    (!in_trace || strcmp(name, METADATA) != 0 || cut_to_lines(out, bytes));
	if (!is_copied)
		fail(error, "write", to);
	close(in);
	if (close(out) < 0 && is_copied)
		is_copied = fail(error, "write", to);
	*total += bytes;
	return is_copied;
}

/* --- folders -------------------------------------------------------------------------------- */

static gint compare_names(gconstpointer first, gconstpointer second)
{
	const gchar *a = *(const gchar *const *)first, *b = *(const gchar *const *)second;
	gboolean a_is_last = strcmp(a, METADATA) == 0, b_is_last = strcmp(b, METADATA) == 0;

	return a_is_last != b_is_last ? (a_is_last ? 1 : -1) : strcmp(a, b);
}

/* What is whole in a folder; its metadata is the last. */
static GPtrArray *list_names(const gchar *folder)
{
	GPtrArray *names = visible_names(folder);

	g_ptr_array_sort(names, compare_names);
	return names;
}

enum { RUN, TRACE, OTHERS, DEEPEST = 8 };

static gboolean copy_folder(const gchar *from, const gchar *to, gint depth, gboolean of_others,
			    guint64 *total, GError **error)
{
	g_autoptr(GPtrArray) names = list_names(from);
	gboolean in_trace = depth == TRACE && !of_others;

	for (guint i = 0; i < names->len; i++) {
		const gchar *name = g_ptr_array_index(names, i);
		g_autofree gchar *source = g_build_filename(from, name, NULL);
		g_autofree gchar *target = g_build_filename(to, name, NULL);
		struct stat status;

		if (stat(source, &status) < 0)
			continue; /* (2) */
		if (S_ISREG(status.st_mode) &&
		    !copy_file(source, target, name, in_trace, total, error))
			return FALSE;
		if (!S_ISDIR(status.st_mode) || depth == DEEPEST)
			continue;
		if (g_mkdir(target, 0700) < 0)
			return fail(error, "make", target);
		if (!copy_folder(source, target, depth + 1,
				 of_others || strcmp(name, TRACE_ADDED_FOLDER) == 0, total, error))
			return FALSE;
		g_rmdir(target); /* one without anything: a process that had nothing to record */
	}
	return TRUE;
}

gchar *run_copy_name(const gchar *run, const gchar *why)
{
	g_autofree gchar *plain = g_strdup(run);
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree gchar *stamp = g_date_time_format(now, "%Y%m%d-%H%M%S");
	gsize length = strlen(plain);

	while (length > 1 && plain[length - 1] == '/')
		plain[--length] = '\0';
	if (g_str_has_suffix(plain, ".tacho"))
		plain[length - strlen(".tacho")] = '\0';
	return g_strdup_printf("%s%s%s-%s.tacho", plain, why ? "-" : "", why ? why : "", stamp);
}

/* A run has traces of processes: folders with a metadata. */
static gboolean is_run(const gchar *path)
{
	g_autoptr(GPtrArray) names = list_names(path);

	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *metadata =
			g_build_filename(path, g_ptr_array_index(names, i), METADATA, NULL);

		if (g_file_test(metadata, G_FILE_TEST_IS_REGULAR))
			return TRUE;
	}
	return FALSE;
}

gboolean run_copy(const gchar *from, const gchar *to, guint64 *ret_bytes, GError **error)
{
	g_autoptr(NewFolder) folder = NULL;

	*ret_bytes = 0;
	if (!g_file_test(from, G_FILE_TEST_IS_DIR) || !is_run(from)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "'%s' is no run of tacho's, or nothing is in it yet", from);
		return FALSE;
	}
	folder = new_folder_open(to, "", FALSE, error);
	if (!folder || !copy_folder(from, new_folder_path(folder), RUN, FALSE, ret_bytes, error))
		return FALSE;
	return new_folder_finish(g_steal_pointer(&folder), error);
}
