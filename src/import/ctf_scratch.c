/* ctf_scratch: the folder in which a trace is mended (ctf_mend.c). */
#include <glib/gstdio.h>

#include "import/ctf_mend.h"

#define MENDED "trace"

gchar *ctf_scratch_new(void)
{
	return g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);
}

gchar *ctf_mended_folder(const gchar *scratch)
{
	return g_build_filename(scratch, MENDED, NULL);
}

/* There is nothing in it but files and links. */
static void remove_files(const gchar *scratch, const gchar *name)
{
	g_autofree gchar *folder = g_build_filename(scratch, name, NULL);
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *entry;

	while (entries && (entry = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, entry, NULL);

		g_unlink(path);
	}
	g_rmdir(folder);
}

void ctf_scratch_free(gchar *scratch)
{
	if (!scratch)
		return;
	remove_files(scratch, MENDED);
	remove_files(scratch, CTF_MEND_PROBE);
	g_rmdir(scratch);
	g_free(scratch);
}
