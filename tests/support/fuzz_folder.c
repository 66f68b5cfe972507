#include "fuzz_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_builder.h"

static gchar *folder; /* made once, kept for all inputs */

static void remove_folder(void)
{
	run_builder_remove(folder);
	g_free(folder);
}

const gchar *fuzz_folder_path(void)
{
	const gchar *memory = g_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir();

	if (folder)
		return folder;
	folder = g_build_filename(memory, "tacho-fuzz-XXXXXX", NULL);
	if (!g_mkdtemp(folder))
		g_error("%s: %s", folder, g_strerror(errno));
	atexit(remove_folder);
	return folder;
}

static void make_folder(const gchar *const *names, guint n_names)
{
	for (guint i = 0; i < n_names; i++) {
		g_autofree gchar *path = g_build_filename(fuzz_folder_path(), names[i], NULL);
		g_autofree gchar *inner = g_path_get_dirname(path);

		g_mkdir_with_parents(inner, 0700);
	}
}

/* The next file of the input; false: there are no more. */
static gboolean take_file(const guint8 **bytes, gsize *n, const guint8 **ret_bytes, gsize *ret_n)
{
	guint32 length;

	if (*n < sizeof(length))
		return FALSE;
	memcpy(&length, *bytes, sizeof(length));
	*bytes += sizeof(length);
	*n -= sizeof(length);
	*ret_bytes = *bytes;
	*ret_n = MIN(GUINT32_FROM_LE(length), *n);
	*bytes += *ret_n;
	*n -= *ret_n;
	return TRUE;
}

static void write_file(const gchar *path, const guint8 *bytes, gsize n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, n) != (gssize)n)
		g_error("%s: %s", path, g_strerror(errno));
	close(fd);
}

const gchar *fuzz_folder_fill(const gchar *const *names, guint n_names, const guint8 *bytes,
			      gsize n)
{
	const guint8 *file;
	gsize n_file;

	if (!folder)
		make_folder(names, n_names);
	for (guint i = 0; i < n_names; i++) {
		g_autofree gchar *path = g_build_filename(folder, names[i], NULL);

		if (take_file(&bytes, &n, &file, &n_file))
			write_file(path, file, n_file);
		else
			g_unlink(path);
	}
	return folder;
}

void fuzz_folder_append(GByteArray *row, const guint8 *bytes, gsize n)
{
	guint32 length = GUINT32_TO_LE((guint32)n);

	g_byte_array_append(row, (const guint8 *)&length, sizeof(length));
	g_byte_array_append(row, bytes, (guint)n);
}
