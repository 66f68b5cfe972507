/* calibrate_casts: what casts between numbers of different widths take here. python/calibrate/calibrate_casts.py measures them, in the job's
 * own Python; its output is the file (docs/precision-casts.md). */
#include "calibrate.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli.h"
#include "job_environment.h"
#include "torch_install.h"

static const gchar usage[] = "";
static const gchar description[] =
	"Measures casts between fp32, bf16, fp16 and int8 for tensors of many sizes, as a job's "
	"PyTorch does them with\n"
	"one thread, in some minutes. Let nothing else run meanwhile. 'tacho precision' takes the "
	"file.\n"
	"\n"
	"Example:\n"
	"  tacho calibrate casts --python python3 -o casts.json\n";

enum { MAX_ROUNDS = 1000, MAX_SECONDS = 86400 };

struct options {
	gchar *output, *python, *device;
	gint rounds, seconds;
};

typedef struct options CastsOptions;

static void release_options(CastsOptions *options)
{
	g_free(options->output);
	g_free(options->python);
	g_free(options->device);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CastsOptions, release_options)

/* The script, or NULL: said why not. */
static gchar *find_script(void)
{
	g_autofree gchar *script = g_build_filename(cli_prefix(), "share", "tacho", "python",
						    "calibrate", "calibrate_casts.py", NULL);

	if (!g_file_test(script, G_FILE_TEST_EXISTS)) {
		cli_fail("calibrate", "%s is missing; install tacho again", script);
		return NULL;
	}
	return job_environment_is_safe("calibrate", script) ? g_steal_pointer(&script) : NULL;
}

/* What the script printed; NULL: said why not. */
static gchar *measure(const struct options *options, const gchar *script)
{
	g_autoptr(TorchInstall) install = options->python ? NULL : torch_install_on_path();
	const gchar *python = options->python ? options->python : install ? install->python : NULL;
	g_autofree gchar *rounds = g_strdup_printf("%d", options->rounds);
	g_autofree gchar *seconds = g_strdup_printf("%d", options->seconds);
	const gchar *arguments[] = { python,
				     script,
				     "--rounds",
				     rounds,
				     "--seconds",
				     seconds,
				     options->device ? "--device" : NULL,
				     options->device,
				     NULL };
	g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "OMP_NUM_THREADS", "1", TRUE);
	g_autofree gchar *text = NULL, *errors = NULL;
	const gchar *last;
	GError *error = NULL;
	int wait_status;

	if (!python) {
		cli_fail("calibrate", "no Python on the PATH has PyTorch; name one with --python");
		return NULL;
	}
	if (!g_spawn_sync(NULL, (gchar **)arguments, environment, G_SPAWN_SEARCH_PATH, NULL, NULL,
			  &text, &errors, &wait_status, &error)) {
		cli_fail_error("calibrate", error);
		return NULL;
	}
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
		return g_steal_pointer(&text);
	g_strchomp(errors);
	last = strrchr(errors, '\n'); /* of a traceback, what it says */
	cli_fail("calibrate", "%s could not measure casts: %s", python,
		 *errors ? (last ? last + 1 : errors) : "it was ended");
	return NULL;
}

static gboolean write_file(const gchar *path, const gchar *text)
{
	GError *error = NULL;

	if (!path) {
		fputs(text, stdout);
		return TRUE;
	}
	if (g_file_set_contents(path, text, -1, &error))
		return TRUE;
	cli_fail_error("calibrate", error);
	return FALSE;
}

int tacho_calibrate_casts_main(int argc, char **argv)
{
	g_auto(CastsOptions) options = { .rounds = 15, .seconds = 120 };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "write the file there (default: print it)", "FILE" },
		{ "python", 0, 0, G_OPTION_ARG_FILENAME, &options.python,
		  "the job's Python (default: the first on the PATH that has PyTorch)", "PYTHON" },
		{ "device", 0, 0, G_OPTION_ARG_STRING, &options.device,
		  "cpu or cuda (default: cuda where there is one)", "DEVICE" },
		{ "rounds", 0, 0, G_OPTION_ARG_INT, &options.rounds,
		  "measure each cast so often (default: 15)", "N" },
		{ "seconds", 0, 0, G_OPTION_ARG_INT, &options.seconds,
		  "begin no round after that, but for three (default: 120)", "S" },
		G_OPTION_ENTRY_NULL,
	};
	g_autofree gchar *script = NULL, *text = NULL;

	if (!cli_parse("calibrate casts", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc > 1)
		return cli_fail("calibrate", "casts takes no '%s'", argv[1]);
	if (options.rounds < 1 || options.rounds > MAX_ROUNDS)
		return cli_fail("calibrate", "--rounds must be from 1 to %d, not %d", MAX_ROUNDS,
				options.rounds);
	if (options.seconds < 0 || options.seconds > MAX_SECONDS)
		return cli_fail("calibrate", "--seconds must be from 0 to %d, not %d", MAX_SECONDS,
				options.seconds);
	if (options.device && !g_str_equal(options.device, "cpu") &&
	    !g_str_has_prefix(options.device, "cuda"))
		return cli_fail("calibrate", "--device is cpu or cuda, not '%s'", options.device);
	script = find_script();
	text = script ? measure(&options, script) : NULL;
	if (!text || !write_file(options.output, text))
		return CLI_BAD;
	return cli_finish("calibrate", CLI_DONE);
}
