/* cmd_doctor: what of tacho works here and what does not, and what to do about it. It says what it has tried, and
 * nothing else. */
#include <string.h>

#include "base/scratch_folder.h"
#include "cli.h"
#include "doctor.h"

static const gchar usage[] = "[-- COMMAND [ARGUMENT...]]";
static const gchar description[] = "Records a small job and looks at what came of it, which takes "
				   "some seconds. COMMAND is not\n"
				   "run: its program and the Python that it names are looked at.\n"
				   "\n"
				   "Examples:\n"
				   "  tacho doctor\n"
				   "  tacho doctor --python /opt/env/bin/python3\n"
				   "  tacho doctor -- torchrun --nproc-per-node 4 train.py\n";

struct options {
	gchar *folder, *python;
	gboolean is_json;
};

typedef struct options DoctorOptions;

static void release_options(DoctorOptions *options)
{
	g_free(options->folder);
	g_free(options->python);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(DoctorOptions, release_options)

static int examine(const struct options *options, gchar **command)
{
	g_autoptr(Diagnosis) diagnosis = diagnosis_new();
	GError *error = NULL;
	struct scratch_folder *scratch = scratch_folder_new("tacho-doctor-XXXXXX", &error);
	guint n_failed;

	if (!scratch)
		return cli_fail_error("doctor", error);
	doctor_machine(diagnosis, options->folder ? options->folder : ".");
	doctor_probes(diagnosis, command, options->python, scratch->path);
	doctor_devices(diagnosis);
	doctor_formats(diagnosis, scratch->path);
	scratch_folder_free(scratch);
	if (options->is_json)
		diagnosis_print_json(diagnosis);
	else
		diagnosis_print(diagnosis);
	n_failed = diagnosis_count(diagnosis, FINDING_FAILS);
	return cli_finish("doctor", n_failed ? CLI_NO : CLI_DONE);
}

int cmd_doctor(int argc, char **argv)
{
	g_auto(DoctorOptions) options = { 0 };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.folder,
		  "the folder that runs are to be recorded in (default: the current one)",
		  "FOLDER" },
		{ "python", 0, 0, G_OPTION_ARG_STRING, &options.python,
		  "the job's Python (default: the one that COMMAND names, else the first on the "
		  "PATH)",
		  "PROGRAM" },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.is_json, "print JSON, for programs",
		  NULL },
		G_OPTION_ENTRY_NULL,
	};
	int n_own = 1;
	g_autofree char **own = NULL;
	char **own_cursor;
	gchar **command = NULL;

	while (n_own < argc && strcmp(argv[n_own], "--") != 0)
		n_own++;
	if (n_own + 1 < argc)
		command = argv + n_own + 1;
	own = g_memdup2(argv, sizeof(*argv) * ((gsize)n_own + 1));
	own[n_own] = NULL;
	own_cursor = own;
	if (!cli_parse("doctor", usage, description, entries, &n_own, &own_cursor))
		return CLI_BAD;
	if (n_own > 1)
		return cli_fail("doctor", "put the job's command behind --: tacho doctor -- %s",
				own_cursor[1]);
	if (options.folder && !g_file_test(options.folder, G_FILE_TEST_IS_DIR))
		return cli_fail("doctor", "%s is not a folder", options.folder);
	return examine(&options, command);
}
