/* make_run_image_seeds FOLDER RUN...: a seed of fuzz_run_image of each run, in FOLDER. */
#include <stdio.h>

#include <tacho/correlate.h>
#include <tacho/import.h>

#include "export/exported_rows.h"
#include "trace/image_reader.h"

static void put_block(const guint8 *block, gsize n_bytes, gpointer data)
{
	g_autoptr(GByteArray) bytes = image_block_unpack(block, n_bytes);
	guint8 head[2] = { (guint8)bytes->len, (guint8)(bytes->len >> 8) };

	if (bytes->len > G_MAXUINT16)
		g_error("a block of %u bytes: take a smaller run", bytes->len);
	g_byte_array_append(data, head, sizeof(head));
	g_byte_array_append(data, bytes->data, bytes->len);
}

static void make_seed(const gchar *folder, const gchar *run)
{
	const TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(&run, 1, NULL, NULL, &error);
	g_autoptr(GByteArray) seed = g_byte_array_new();
	g_autofree gchar *name = g_path_get_basename(run);
	g_autofree gchar *path = g_build_filename(folder, name, NULL);

	if (!timeline)
		g_error("%s", error->message);
	tacho_correlate(timeline);
	if (!exported_rows_write(timeline, &options, put_block, seed, &error) ||
	    !g_file_set_contents(path, (const gchar *)seed->data, seed->len, &error))
		g_error("%s", error->message);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		make_seed(argv[1], argv[i]);
	return 0;
}
