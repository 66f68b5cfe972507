/* ctf_scratch: the folder in which a trace is mended (ctf_mend.c). */
#include "import/ctf/ctf_mend.h"

#define MENDED "trace"

struct scratch_folder *ctf_scratch_new(void)
{
	return scratch_folder_new("tacho-ctf-XXXXXX", NULL);
}

gchar *ctf_mended_folder(const gchar *scratch)
{
	return g_build_filename(scratch, MENDED, NULL);
}
