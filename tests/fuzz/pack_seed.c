/* pack_seed FILE... >SEED: the files as a row (fuzz_folder.h), which targets take whose input is several files. A file called
 * /dev/null is an empty one. */
#include <stdio.h>

#include "fuzz_folder.h"

int main(int argc, char **argv)
{
	g_autoptr(GByteArray) row = g_byte_array_new();

	for (int i = 1; i < argc; i++) {
		g_autofree gchar *bytes = NULL;
		g_autoptr(GError) error = NULL;
		gsize n;

		if (!g_file_get_contents(argv[i], &bytes, &n, &error)) {
			fprintf(stderr, "%s\n", error->message);
			return 1;
		}
		fuzz_folder_append(row, (const guint8 *)bytes, n);
	}
	return fwrite(row->data, 1, row->len, stdout) == row->len ? 0 : 1;
}
