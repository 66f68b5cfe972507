/* seed_runner: a main() for a fuzz target without libFuzzer: give it every file of the folders named
 * on the command line. */
#include <glib.h>
#include <stdio.h>

#include "fuzz_input.h"

static void run_file(const gchar *path)
{
	g_autofree gchar *bytes = NULL;
	g_autoptr(GError) error = NULL;
	gsize length;

	if (!g_file_get_contents(path, &bytes, &length, &error))
		g_error("%s", error->message);
	LLVMFuzzerTestOneInput((const uint8_t *)bytes, length);
}

static guint run_folder(const gchar *folder)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) entries = g_dir_open(folder, 0, &error);
	const gchar *name;
	guint n_files = 0;

	if (!entries)
		g_error("%s", error->message);
	while ((name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		run_file(path);
		n_files++;
	}
	return n_files;
}

int main(int argc, char **argv)
{
	guint n_files = 0;

	for (int i = 1; i < argc; i++)
		n_files += run_folder(argv[i]);
	printf("%u seeds\n", n_files);
	return n_files ? 0 : 1;
}
