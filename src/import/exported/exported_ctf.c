#include <stdio.h>

#include "import/exported/exported_run.h"
#include "trace/run_image.h"

/* FALSE: there is no image, or, `error`, none that is of use. */
static gboolean read_image(FILE *file, const gchar *path, RestoredRun *run, GError **error)
{
	g_autoptr(GByteArray) block = g_byte_array_new();
	guint64 n_told, n_bytes;
	guint32 crc_told, crc, n;
	gchar line[64];

	if (!fgets(line, sizeof(line), file) ||
	    sscanf(line, RUN_IMAGE_LINE, &n_told, &crc_told) != 2)
		return FALSE;
	if (!run_image_sum_folder(path, &n_bytes, &crc) || n_bytes != n_told || crc != crc_told) {
		g_propagate_error(error, exported_run_changed());
		return FALSE;
	}
	while (fread(&n, sizeof(n), 1, file) == 1) {
		n = GUINT32_FROM_LE(n);
		if (n > RUN_IMAGE_MAX_BLOCK_BYTES)
			return FALSE;
		g_byte_array_set_size(block, n);
		if (fread(block->data, 1, n, file) != n)
			return FALSE;
		if (!restored_run_block(run, block->data, n, error))
			return FALSE;
	}
	return TRUE;
}

gboolean exported_ctf_read(struct import *import, const gchar *path, gboolean *ret_is_read,
			   GError **error)
{
	g_autofree gchar *name = g_build_filename(path, RUN_IMAGE_FILE, NULL);
	FILE *file = fopen(name, "re");
	g_autoptr(RestoredRun) run = NULL;
	GError *failure = NULL;

	*ret_is_read = FALSE;
	if (!file) /* not ours, or of an older tacho */
		return TRUE;
	run = restored_run_new(path);
	if (!read_image(file, path, run, &failure) && !failure)
		failure = exported_run_cut();
	fclose(file);
	return exported_run_settle(import, run, path, failure, ret_is_read, error);
}
