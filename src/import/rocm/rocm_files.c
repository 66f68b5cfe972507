#include "import/rocm/rocm_files.h"

#include <string.h>

gboolean rocm_files_has_better(const struct sniff_input *input, const gchar *ending,
			       const gchar *const *others, guint n)
{
	static const gchar *const codings[] = { "", ".gz", ".zst" };
	g_autofree gchar *stem = g_strdup(input->path);

	for (guint i = 1; i < G_N_ELEMENTS(codings); i++)
		if (g_str_has_suffix(stem, codings[i]))
			stem[strlen(stem) - strlen(codings[i])] = '\0';
	if (!g_str_has_suffix(stem, ending))
		return FALSE;
	stem[strlen(stem) - strlen(ending)] = '\0';
	for (guint i = 0; i < n; i++)
		for (guint k = 0; k < G_N_ELEMENTS(codings); k++) {
			g_autofree gchar *path = g_strconcat(stem, others[i], codings[k], NULL);

			if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
				return TRUE;
		}
	return FALSE;
}
