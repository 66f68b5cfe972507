/* calibrate_communication: how long collectives take, measured where the job runs: a program of ours is started in its place
 * (python/calibrate/communication.py), by its own launcher and its own Python, and tells what it measured on standard output.
 *
 * (1) Lines that begin somewhere with MARK are its answer; launchers may put words before them. All others are shown.
 * (2) What is measured takes the place of what the file had of the same collectives; all else in the file stays. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <tacho/cost.h>

#include "calibrate.h"
#include "cli.h"
#include "cost_file.h"
#include "launch.h"
#include "planned_job.h"

#define NAME	    "calibrate communication"
#define MARK	    "tacho-calibrate\t"
#define MAX_OUTPUT  (1 << 26)
#define MAX_FIELDS  6
#define MAX_BYTES   (1ull << 40)
#define DEFAULT_MAX "64m"

static const gchar usage[] = "[-o FILE] -- LAUNCHER";
static const gchar description[] =
	"Starts a small program by LAUNCHER, in the job's place: the words up to its script, or "
	"the "
	"whole\n"
	"command line of the job, of which the script and what is behind it are replaced. It "
	"measures "
	"the\n"
	"collectives of PyTorch's process group between the job's ranks, by size, and puts them "
	"into "
	"FILE.\n"
	"\n"
	"Examples:\n"
	"  tacho calibrate communication -n 2 -- python3\n"
	"  tacho calibrate communication -o cost.json -- torchrun --nnodes 2 --nproc-per-node 8 "
	"train.py\n"
	"  tacho calibrate communication --backend nccl -- srun -n 16 python3\n";

struct options {
	gchar *output, *backend, *most, *operations;
	gint n_ranks;
	gboolean with_json, is_quiet;
};

/* "64m": bytes. */
static gboolean parse_size(const gchar *text, guint64 *ret_bytes)
{
	static const gchar units[] = "kmg";
	gchar *end;
	guint64 number = g_ascii_strtoull(text, &end, 10);

	for (guint i = 0; units[i] && *end; i++)
		if (g_ascii_tolower(*end) == units[i]) {
			if (number > MAX_BYTES)
				break;
			number <<= 10 * (i + 1);
			end++;
			break;
		}
	*ret_bytes = number;
	return g_ascii_isdigit(*text) && !*end && number >= 4096 && number <= MAX_BYTES;
}

/* The launcher's words, then our program with what it is to do. */
static gchar **make_command(gchar **words, const struct options *options, guint64 most)
{
	GPtrArray *command = g_ptr_array_new();

	for (; *words && !g_str_has_suffix(*words, ".py"); words++)
		g_ptr_array_add(command, g_strdup(*words));
	g_ptr_array_add(command, g_build_filename(cli_prefix(), "share", "tacho", "python",
						  "calibrate", "communication.py", NULL));
	g_ptr_array_add(command, g_strdup(options->backend ? options->backend : "auto"));
	g_ptr_array_add(command, g_strdup_printf("%" G_GUINT64_FORMAT, most));
	g_ptr_array_add(command, g_strdup(options->operations ? options->operations : "all"));
	g_ptr_array_add(command, NULL);
	return (gchar **)g_ptr_array_free(command, FALSE);
}

static void run_in_child(gchar **command, guint n_ranks, int output) G_GNUC_NORETURN;
static void run_in_child(gchar **command, guint n_ranks, int output)
{
	g_auto(GStrv) environment = g_get_environ();
	Launch launch = { .command = command,
			  .environment = environment,
			  .n_ranks = n_ranks,
			  .began = planned_job_ignore_began,
			  .ended = planned_job_ignore_ended };
	GError *error = NULL;
	int wait_status;

	dup2(output, STDOUT_FILENO);
	if (launch_run(&launch, &wait_status, &error))
		launch_end_like(wait_status);
	cli_fail_error(NAME, error);
	_exit(CLI_BAD);
}

/* What it wrote to standard output; NULL: it failed, which was said. */
static gchar *run(gchar **command, guint n_ranks)
{
	g_autofree gchar *path = NULL;
	gchar *text = NULL;
	GError *error = NULL;
	int output = g_file_open_tmp("tacho-calibrate-XXXXXX", &path, &error), status = -1;
	pid_t pid;

	if (output < 0) {
		cli_fail_error(NAME, error);
		return NULL;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_in_child(command, n_ranks, output);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(output);
	if (pid < 0 || status != 0)
		cli_fail(NAME, "'%s' did not come to its end: what it says is above", command[0]);
	else if (!g_file_get_contents(path, &text, NULL, &error))
		cli_fail_error(NAME, error);
	g_unlink(path);
	return text;
}

/* --- the answer ------------------------------------------------------------------------------------ */

/* Sizes of one collective, as they come. */
struct measured {
	gchar *host, *backend, *operation;
	guint n_ranks;
	GArray *bytes, *time_us, *counts;
};

static void measured_init(struct measured *measured)
{
	memset(measured, 0, sizeof(*measured));
	measured->bytes = g_array_new(FALSE, FALSE, sizeof(guint64));
	measured->time_us = g_array_new(FALSE, FALSE, sizeof(gdouble));
	measured->counts = g_array_new(FALSE, FALSE, sizeof(guint64));
}

static void measured_release(struct measured *measured)
{
	g_free(measured->host);
	g_free(measured->backend);
	g_free(measured->operation);
	g_array_unref(measured->bytes);
	g_array_unref(measured->time_us);
	g_array_unref(measured->counts);
}

/* What was gathered goes into the model. */
static gboolean put(TachoCostModel *model, struct measured *measured, GError **error)
{
	gboolean is_good =
		measured->bytes->len == 0 ||
		tacho_cost_model_add_collective(model, measured->host, measured->backend,
						measured->operation, measured->n_ranks,
						(const guint64 *)(void *)measured->bytes->data,
						(const gdouble *)(void *)measured->time_us->data,
						(const guint64 *)(void *)measured->counts->data,
						measured->bytes->len, error);

	g_array_set_size(measured->bytes, 0);
	g_array_set_size(measured->time_us, 0);
	g_array_set_size(measured->counts, 0);
	return is_good;
}

/* host, backend, operation, ranks, then of each size: bytes, us, count. */
static gboolean take_line(TachoCostModel *model, struct measured *measured, gchar **fields,
			  GError **error)
{
	guint n = g_strv_length(fields);
	guint64 bytes, count;
	gdouble time_us;

	if (n == 5 && strcmp(fields[0], "collective") == 0) {
		if (!put(model, measured, error))
			return FALSE;
		g_free(measured->host);
		g_free(measured->backend);
		g_free(measured->operation);
		measured->host = g_strdup(fields[1]);
		measured->backend = g_strdup(fields[2]);
		measured->operation = g_strdup(fields[3]);
		measured->n_ranks = (guint)MIN(g_ascii_strtoull(fields[4], NULL, 10), 1u << 20);
		return TRUE;
	}
	if (n == 4 && strcmp(fields[0], "size") == 0 && measured->host) {
		bytes = g_ascii_strtoull(fields[1], NULL, 10);
		time_us = g_ascii_strtod(fields[2], NULL);
		count = g_ascii_strtoull(fields[3], NULL, 10);
		g_array_append_val(measured->bytes, bytes);
		g_array_append_val(measured->time_us, time_us);
		g_array_append_val(measured->counts, count);
		return TRUE;
	}
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "what the program says is not understood");
	return FALSE;
}

/* FALSE: it was said why not. */
static gboolean take_output(TachoCostModel *model, const gchar *text, gboolean is_quiet)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct measured measured;
	GError *error = NULL;
	guint n = 0;

	measured_init(&measured);
	for (gchar **line = lines; *line && !error; line++) {
		const gchar *answer = strstr(*line, MARK);
		g_auto(GStrv) fields = NULL;

		if (!answer) {
			if (**line && !is_quiet)
				fprintf(stderr, "%s\n", *line);
			continue;
		}
		fields = g_strsplit(answer + strlen(MARK), "\t", MAX_FIELDS);
		n += take_line(model, &measured, fields, &error);
	}
	if (!error)
		put(model, &measured, &error);
	measured_release(&measured);
	if (error)
		cli_fail_error(NAME, error);
	else if (n == 0)
		cli_fail(NAME, "nothing was measured: the program told nothing");
	return n > 0 && !error;
}

static int calibrate(const struct options *options, gchar **words)
{
	g_autofree gchar *path = cost_file_path(options->output);
	g_autoptr(TachoCostModel) model = NULL;
	g_autoptr(TachoTable) table = NULL;
	g_autofree gchar *text = NULL;
	g_auto(GStrv) command = NULL;
	guint64 most;

	if (!words || !*words)
		return cli_fail(NAME, "name what starts the job behind --, as in -- python3");
	if (options->n_ranks < 0 || options->n_ranks > PLANNED_JOB_MAX_RANKS)
		return cli_fail(NAME, "--ranks must be from 1 to %d", PLANNED_JOB_MAX_RANKS);
	if (!parse_size(options->most ? options->most : DEFAULT_MAX, &most))
		return cli_fail(NAME, "--most is a number of bytes from 4k on, as in 64m, not '%s'",
				options->most);
	if (!path)
		return cli_fail(NAME, "name a file: -o FILE");
	model = cost_file_read(NAME, path);
	if (!model)
		return CLI_BAD;
	command = make_command(words, options, most);
	text = run(command, (guint)options->n_ranks);
	if (!text || !take_output(model, text, options->is_quiet) ||
	    !cost_file_write(NAME, path, model, TRUE))
		return CLI_BAD;
	table = tacho_cost_model_communication(model);
	if (options->with_json) {
		tacho_table_print_json(table, stdout);
	} else {
		cli_print_table(table);
		printf("\nIt is in %s. Next: tacho replay RUN --cost %s\n", path, path);
	}
	return CLI_DONE;
}

int tacho_calibrate_communication_main(int argc, char **argv)
{
	struct options options = { .output = NULL };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "put it into this cost model, which is made if there is none (default: "
		  "$XDG_STATE_HOME/tacho/cost.json)",
		  "FILE" },
		{ "ranks", 'n', 0, G_OPTION_ARG_INT, &options.n_ranks, "start N ranks on this host",
		  "N" },
		{ "backend", 'b', 0, G_OPTION_ARG_STRING, &options.backend,
		  "gloo, nccl or mpi (default: nccl where there are devices enough, else gloo)",
		  "NAME" },
		{ "most", 'm', 0, G_OPTION_ARG_STRING, &options.most,
		  "the largest size (default: " DEFAULT_MAX ")", "SIZE" },
		{ "operations", 0, 0, G_OPTION_ARG_STRING, &options.operations,
		  "only these: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all",
		  "LIST" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.is_quiet,
		  "do not show what else the launcher prints", NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.with_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS(0),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD, n_own = planned_job_command_at(argc, argv);
	gchar **words = NULL;

	if (n_own < argc) {
		words = argv + n_own + 1;
		argv[n_own] = NULL;
		argc = n_own;
	}
	if (cli_parse(NAME, usage, description, entries, &argc, &argv)) {
		status = argc > 1 ? cli_fail(NAME,
					     "'%s' is too much; what starts the job stands "
					     "behind --",
					     argv[1])
				  : calibrate(&options, words);
		status = cli_finish(NAME, status);
	}
	g_free(options.output);
	g_free(options.backend);
	g_free(options.most);
	g_free(options.operations);
	return status;
}
