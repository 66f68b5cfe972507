/* cmd_record: run a job with the agent preloaded. The job gets its own stdout, exit code and
 * signals; tacho's few words go to stderr, before it and after it. */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tacho/import.h>
#include <tacho/words.h>

#include "cli.h"
#include "clock_calibration.h"
#include "job_counters.h"
#include "job_environment.h"
#include "job_precision.h"
#include "kernel_recording.h"
#include "launch.h"
#include "lttng_session.h"
#include "option_values.h"
#include "preloadable.h"
#include "probe_choice.h"
#include "run_folder.h"
#include "run_limit.h"
#include "torch_probe.h"
#include "trace/call_filters.h"
#include "trace/rank_list.h"
#include "trace/run_losses.h"
#include "trace/trace_layout.h"
#include "unseen.h"

static const gchar usage[] = "-- COMMAND [ARGUMENT...]";
static const gchar description[] =
	"The job keeps its output and its exit status. Children of the job are recorded, too. If\n"
	"something cannot be recorded, one message on stderr says so, and the job runs all the "
	"same.\n"
	"\n"
	"Examples:\n"
	"  tacho record -o base.tacho -- python3 train.py\n"
	"  tacho record -n 2 -- python3 examples/ddp_train.py     two ranks on this host\n"
	"  tacho record -- mpirun -n 4 python3 train.py           any launcher, on this host\n"
	"  tacho record --engine lttng -- python3 train.py        by a session of LTTng\n";

#define PYTHON_HOW "sample"
/* of LTTng-UST: a job that closes all descriptors it finds leaves LTTng's, which would end the process for that */
#define LTTNG_KEEPS_FILES "liblttng-ust-fd.so.1"
#define LTTNG_REGISTER_MS                                                                          \
	"10000" /* what a process waits for the session daemon; LTTng's default is 3000 */
#define MODULES "module:"

enum {
	MAX_RANKS = 4096,
	FILES_IN_LIMIT = 16,
	TIMED_FILE_KB = 1024,
	MAX_KEPT_STEPS = 10000,
	MAX_PYTHON_HZ = 1000,
	PYTHON_HZ = 100
};

static const gchar *const clock_names[] = { "auto", "tsc", "monotonic", NULL };
static const gchar *const engine_names[] = { "tacho", TRACE_ENGINE_LTTNG, NULL };

#define PROBE(name, library, variable, sharing, choice, meaning, records) #name ", "
static const gchar probe_help[] = "use only these: "
#include "probes.def"
				  "or all (default)";
#undef PROBE

struct options {
	gchar *output;
	gchar *together; /* the folder that ranks' outputs are in; NULL: there is but one */
	gint n_ranks;
	gchar *ranks;
	gchar *steps;
	gint n_control;
	gint shapes_every;
	gchar *probe_list;
	gchar *clock_name;
	gchar *engine, *lttng_url;
	gchar *python;
	gint python_hz;
	gchar *nccl;
	struct job_precision precision;
	gchar *max_size, *keep_free, *keep_last, *malloc_min;
	guint64 max_bytes, free_bytes, malloc_bytes; /* of those */
	gint64 keep_us, keep_steps;
	gboolean is_forced;
	gboolean is_quiet;
	gboolean starts_later;
	gboolean has_onnx_nodes;
	JobCounters counters;
};

typedef struct options RecordOptions;

static void release_options(RecordOptions *options)
{
	job_counters_release(&options->counters);
	g_free(options->output);
	g_free(options->together);
	g_free(options->ranks);
	g_free(options->steps);
	g_free(options->probe_list);
	g_free(options->clock_name);
	g_free(options->engine);
	g_free(options->lttng_url);
	g_free(options->python);
	g_free(options->nccl);
	g_free(options->precision.name);
	g_free(options->max_size);
	g_free(options->keep_free);
	g_free(options->keep_last);
	g_free(options->malloc_min);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RecordOptions, release_options)

struct recording {
	const struct options *options;
	gboolean has_probe[N_PROBES];
	RunFolder *folder;
	gchar **command;
	const gchar *why_unpreloadable; /* NULL: it is not so */
	const gchar *lttng_library;	/* NULL: LTTng is not the engine */
};

/* The oldest records go while the job runs. */
static gboolean is_limited(const struct options *options)
{
	return options->max_bytes || options->free_bytes || options->keep_us || options->keep_steps;
}

static gboolean parse_clock(const gchar *name, ClockChoice *choice)
{
	static const ClockChoice choices[] = { CLOCK_AUTO, CLOCK_TSC, CLOCK_MONO };
	g_autofree gchar *there = NULL;

	for (guint i = 0; clock_names[i]; i++) {
		if (strcmp(name, clock_names[i]) == 0) {
			*choice = choices[i];
			return TRUE;
		}
	}
	there = tacho_did_you_mean(name, clock_names);
	cli_fail("record", "--clock: there is no clock '%s'%s", name, there);
	return FALSE;
}

static gboolean parse_engine(const struct options *options)
{
	gboolean is_lttng = g_strcmp0(options->engine, TRACE_ENGINE_LTTNG) == 0;
	g_autofree gchar *there = NULL;

	if (options->engine && !g_strv_contains(engine_names, options->engine)) {
		there = tacho_did_you_mean(options->engine, engine_names);
		cli_fail("record", "--engine is 'tacho' or 'lttng', not '%s'%s", options->engine,
			 there);
		return FALSE;
	}
	if (options->lttng_url && !is_lttng) {
		cli_fail("record", "--lttng-url is for --engine lttng");
		return FALSE;
	}
	if (is_lttng && (options->starts_later || is_limited(options))) {
		cli_fail("record", "--engine lttng takes no %s",
			 options->starts_later ? "--start-later"
					       : "--max-size, --keep-free or --keep-last");
		return FALSE;
	}
	return TRUE;
}

/* How Python's functions are recorded: "sample", "module:NAME,NAME" or "off". */
static gboolean parse_python(const struct options *options)
{
	static const gchar *const modes[] = { PYTHON_HOW, "off", NULL };
	g_autofree gchar *there = NULL;

	if (options->python_hz < 1 || options->python_hz > MAX_PYTHON_HZ) {
		cli_fail("record", "--python-hz must be between 1 and %d, not %d", MAX_PYTHON_HZ,
			 options->python_hz);
		return FALSE;
	}
	if (!options->python || g_strv_contains(modes, options->python) ||
	    (g_str_has_prefix(options->python, MODULES) && options->python[strlen(MODULES)]))
		return TRUE;
	there = tacho_did_you_mean(options->python, modes);
	cli_fail("record", "--python is 'sample', 'module:NAME' or 'off', not '%s'%s",
		 options->python, there);
	return FALSE;
}

/* How much of NCCL is recorded. */
static gboolean parse_nccl(const struct options *options)
{
	static const gchar *const amounts[] = { "steps", "channels", "calls", NULL };
	g_autofree gchar *there = NULL;

	if (!options->nccl || g_strv_contains(amounts, options->nccl))
		return TRUE;
	there = tacho_did_you_mean(options->nccl, amounts);
	cli_fail("record", "--nccl is 'steps', 'channels' or 'calls', not '%s'%s", options->nccl,
		 there);
	return FALSE;
}

/* The agent wants both ends. */
static gboolean steps_are_valid(const gchar *steps)
{
	gint64 first = 0, last = 0;

	if (!option_steps("record", steps, &first, &last, NULL))
		return FALSE;
	if (first >= 0 && last >= 0 && (!steps || strchr(steps, ':')))
		return TRUE;
	cli_fail("record", "--steps must name both ends, as in 2:5, not '%s'", steps);
	return FALSE;
}

/* "60s" or "20steps". */
static gboolean parse_keep_last(struct options *options)
{
	g_autoptr(GRegex) steps = g_regex_new("^([0-9]+) ?steps?$", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autofree gchar *number = NULL;
	guint64 n_steps;

	if (!options->keep_last || !g_regex_match(steps, options->keep_last, 0, &match))
		return option_time("record", "--keep-last", options->keep_last, &options->keep_us);
	number = g_match_info_fetch(match, 1);
	if (g_ascii_string_to_unsigned(number, 10, 1, MAX_KEPT_STEPS, &n_steps, NULL)) {
		options->keep_steps = (gint64)n_steps;
		return TRUE;
	}
	cli_fail("record", "--keep-last keeps 1 to %d steps, not %s", MAX_KEPT_STEPS, number);
	return FALSE;
}

/* --- the job's environment ---------------------------------------------------------------- */

/* The libraries to preload, the agent first; NULL (said why) where they cannot be. */
static gchar *preload_list(const struct recording *recording)
{
	g_autofree gchar *folder = g_build_filename(cli_prefix(), "lib", "tacho", NULL);
	g_autoptr(GString) list = g_string_new(NULL);
	g_autofree gchar *agent = g_build_filename(folder, "libtacho.so", NULL);

	if (strpbrk(folder, " :")) {
		cli_fail("record",
			 "the loader cannot preload from a folder with a blank or a colon in its "
			 "name: %s; install tacho in another folder",
			 folder);
		return NULL;
	}
	if (!g_file_test(agent, G_FILE_TEST_EXISTS)) {
		cli_fail("record", "%s is missing, so tacho cannot record; install tacho again",
			 agent);
		return NULL;
	}
	if (!job_environment_is_safe("record", agent))
		return NULL;
	g_string_append(list, agent);
	for (guint p = 0; p < N_PROBES; p++) {
		g_autofree gchar *library = NULL;

		if (!recording->has_probe[p] || !probe_choices[p].library ||
		    (probe_choices[p].variable && probe_choices[p].sharing != PROBE_SWITCH))
			continue;
		library = g_build_filename(folder, probe_choices[p].library, NULL);
		if (g_file_test(library, G_FILE_TEST_EXISTS) &&
		    job_environment_is_safe("record", library))
			g_string_append_printf(list, ":%s", library);
	}
	return g_string_free(g_steal_pointer(&list), FALSE);
}

/* The probe's library; NULL: it is not here, or not to be trusted. */
static gchar *find_library(const gchar *name)
{
	g_autofree gchar *library = g_build_filename(cli_prefix(), "lib", "tacho", name, NULL);

	return g_file_test(library, G_FILE_TEST_EXISTS) &&
			       job_environment_is_safe("record", library)
		       ? g_steal_pointer(&library)
		       : NULL;
}

/* The other tool that `variable` names, for our probe to load and tell the same. */
static gchar **hand_on(gchar **environment, const ProbeChoice *probe)
{
	const gchar *value = g_environ_getenv(environment, probe->variable);
	g_autofree gchar *name = value ? g_path_get_basename(value) : NULL;

	if (!value || strcmp(name, probe->library) == 0)
		return environment; /* a recording in another has it */
	environment = g_environ_setenv(environment, probe->handed_by, value, TRUE);
	return g_environ_unsetenv(environment, probe->variable);
}

/* A probe that is named by a variable, for who uses that interface to load. */
static gchar **bring_named_probe(const struct recording *recording, const ProbeChoice *probe,
				 gchar **environment)
{
	g_autofree gchar *library = NULL;
	const gchar *value;

	if (probe->sharing == PROBE_SWITCH)
		return g_environ_setenv(environment, probe->variable, "1", FALSE);
	if (probe->sharing == PROBE_HANDED)
		environment = hand_on(environment, probe);
	value = g_environ_getenv(environment, probe->variable);
	if (value && *value && probe->sharing != PROBE_LISTED) {
		if (!recording->options->is_quiet)
			fprintf(stderr,
				"tacho: %s names %s already, which stays: nothing is recorded by "
				"the probe "
				"%s\n",
				probe->variable, value, probe->name);
		return environment;
	}
	library = find_library(probe->library);
	return library ? job_environment_put_last(environment, probe->variable, library)
		       : environment;
}

static gchar **bring_named(const struct recording *recording, gchar **environment)
{
	for (guint p = 0; p < N_PROBES; p++) {
		if (recording->has_probe[p] && probe_choices[p].variable)
			environment = bring_named_probe(recording, &probe_choices[p], environment);
	}
	/* oneDNN's workers would tell of their parts of a kernel, too, as if they were kernels */
	if (recording->has_probe[PROBE_itt])
		environment = g_environ_setenv(environment, "ONEDNN_ITT_TASK_LEVEL", "1", FALSE);
	return environment;
}

/* What the agent is told of the PyTorch probes: it loads one once it has seen the job's libtorch. */
static gchar **bring_torch(const struct recording *recording, gchar **environment)
{
	g_autofree gchar *torch_dir = torch_probe_cache_path();
	g_autofree gchar *probe =
		g_build_filename(cli_prefix(), "lib", "tacho", "libtacho_torch.so", NULL);

	environment = g_environ_setenv(environment, "TACHO_TORCH_DIR", torch_dir, TRUE);
	if (g_file_test(probe, G_FILE_TEST_EXISTS) && job_environment_is_safe("record", probe))
		environment = g_environ_setenv(environment, "TACHO_TORCH_PROBE", probe, TRUE);
	if (recording->options->shapes_every != OPTION_UNSET) {
		g_autofree gchar *n = g_strdup_printf("%d", recording->options->shapes_every);

		environment = g_environ_setenv(environment, "TACHO_SHAPES_EVERY", n, TRUE);
	}
	return environment;
}

/* The Python hook, and what of it is wanted. */
static gchar **hook_environment(const struct recording *recording, gchar **environment)
{
	gboolean has_python = recording->has_probe[PROBE_python];
	gboolean has_xla = recording->has_probe[PROBE_xla] && !recording->options->starts_later;
	gboolean has_onnxruntime = recording->has_probe[PROBE_onnxruntime];
	gboolean has_precision = recording->options->precision.name != NULL;
	gboolean has_hook = has_python || has_xla || has_onnxruntime || has_precision;

	if (has_hook)
		environment = job_environment_bring_hook(environment, "record", &has_hook);
	if (has_hook && (!has_python || !has_xla || !has_onnxruntime)) {
		g_autofree gchar *hooks =
			g_strconcat(has_python ? "python," : "", has_xla ? "xla," : "",
				    has_onnxruntime ? "onnxruntime" : "", NULL);

		environment = g_environ_setenv(environment, "TACHO_HOOKS", hooks, TRUE);
	}
	return job_precision_set(&recording->options->precision, environment);
}

static gchar **job_environment(const struct recording *recording, const gchar *clock)
{
	g_autofree gchar *preload = preload_list(recording);
	g_autofree gchar *filters = g_strdup_printf("%" G_GUINT64_FORMAT, call_filters_count());
	gchar **environment;

	if (!preload)
		return NULL;
	environment = job_environment_put_last(g_get_environ(), "LD_PRELOAD", preload);
	if (recording->lttng_library)
		environment =
			job_environment_put_last(environment, "LD_PRELOAD", LTTNG_KEEPS_FILES);
	environment = g_environ_setenv(environment, "TACHO_FILTERS", filters, TRUE);
	environment = g_environ_setenv(environment, "TACHO_RUN_DIR", recording->folder->path, TRUE);
	environment = g_environ_setenv(environment, "TACHO_CLOCK", clock, TRUE);
	environment = recording->lttng_library ? g_environ_setenv(environment, "TACHO_LTTNG",
								  recording->lttng_library, TRUE)
					       : g_environ_unsetenv(environment, "TACHO_LTTNG");
	if (recording->lttng_library)
		environment = g_environ_setenv(environment, "LTTNG_UST_REGISTER_TIMEOUT",
					       LTTNG_REGISTER_MS, FALSE);
	if (recording->options->steps)
		environment = g_environ_setenv(environment, "TACHO_STEPS",
					       recording->options->steps, TRUE);
	if (recording->options->starts_later)
		environment = g_environ_setenv(environment, "TACHO_LATER", "1", TRUE);
	if (recording->options->ranks)
		environment = g_environ_setenv(environment, "TACHO_RANKS",
					       recording->options->ranks, TRUE);
	if (recording->options->n_control) {
		g_autofree gchar *n = g_strdup_printf("%d", recording->options->n_control);

		environment = g_environ_setenv(environment, "TACHO_CONTROL", n, TRUE);
	}
	if (is_limited(recording->options)) {
		guint64 kb = recording->options->max_bytes >> 10;
		g_autofree gchar *text = g_strdup_printf(
			"%" G_GUINT64_FORMAT,
			kb ? MIN(kb / FILES_IN_LIMIT, 65536)
			: recording->options->keep_us || recording->options->keep_steps
				? TIMED_FILE_KB
				: 16384);

		environment = g_environ_setenv(environment, "TACHO_FILE_KB", text, TRUE);
	}
	if (recording->has_probe[PROBE_python] &&
	    g_strcmp0(recording->options->python, "off") != 0) {
		g_autofree gchar *hz = g_strdup_printf("%d", recording->options->python_hz);

		environment = g_environ_setenv(
			environment, "TACHO_PYTHON",
			recording->options->python ? recording->options->python : PYTHON_HOW, TRUE);
		environment = g_environ_setenv(environment, "TACHO_PYTHON_HZ", hz, TRUE);
	}
	environment = bring_named(recording, environment);
	if (recording->options->nccl)
		environment =
			g_environ_setenv(environment, "TACHO_NCCL", recording->options->nccl, TRUE);
	if (recording->options->malloc_min) {
		g_autofree gchar *bytes =
			g_strdup_printf("%" G_GUINT64_FORMAT, recording->options->malloc_bytes);

		environment = g_environ_setenv(environment, "TACHO_MALLOC_MIN", bytes, TRUE);
	}
	if (recording->options->has_onnx_nodes)
		environment = g_environ_setenv(environment, "TACHO_ONNX_NODES", "1", TRUE);
	environment = job_counters_environment(&recording->options->counters, environment);
	if (recording->has_probe[PROBE_torch])
		environment = bring_torch(recording, environment);
	return hook_environment(recording, environment);
}

/* --- the recording ------------------------------------------------------------------------ */

static void child_began(guint number, pid_t pid, gint rank, gpointer recording)
{
	run_folder_child_began(((struct recording *)recording)->folder, number, pid, rank);
}

static void child_ended(guint number, int wait_status, gpointer recording)
{
	run_folder_child_ended(((struct recording *)recording)->folder, number, wait_status);
}

/* NAME-DATE-TIME.tacho; the script's name where the program is an interpreter. */
static gchar *default_output(gchar **command)
{
	g_autofree gchar *program = g_path_get_basename(command[0]);
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree gchar *stamp = g_date_time_format(now, "%Y%m%d-%H%M%S");

	if (g_str_has_prefix(program, "python")) {
		for (guint i = 1; command[i]; i++) {
			if (g_str_has_suffix(command[i], ".py")) {
				g_free(program);
				program = g_path_get_basename(command[i]);
				program[strlen(program) - 3] = '\0';
				break;
			}
		}
	}
	return g_strdup_printf("%s-%s.tacho", program, stamp);
}

/* The number in a variable; -1: there is none. */
static gint64 number_of(const gchar *variable)
{
	const gchar *value = g_getenv(variable);
	guint64 number;

	return value && g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT32, &number, NULL)
		       ? (gint64)number
		       : -1;
}

/* An MPI's launcher, or srun, has started one of us for each rank, all with the same folder: each makes one of its own in it, and
 * the folder is one job's. FALSE: said why not. */
static gboolean part_from_other_ranks(struct options *options)
{
	static const gchar *const variables[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" }, /* the second: in tasks of srun alone */
	};
	g_autofree gchar *facts = NULL;
	gint64 rank = -1;

	for (guint i = 0; i < G_N_ELEMENTS(variables) && rank < 0; i++)
		if (number_of(variables[i][1]) > 1)
			rank = number_of(variables[i][0]);
	if (rank < 0)
		return TRUE;
	options->together = g_steal_pointer(&options->output);
	facts = g_build_filename(options->together, TRACE_RUN_FILE, NULL);
	if (g_file_test(facts, G_FILE_TEST_EXISTS)) {
		cli_fail("record",
			 "%s holds an earlier run, so that no folder for each rank can be "
			 "made in it; name another with -o",
			 options->together);
		return FALSE;
	}
	g_mkdir(options->together, 0700); /* where that fails, so does making one in it */
	options->output = g_strdup_printf("%s/rank-%" G_GINT64_FORMAT, options->together, rank);
	return TRUE;
}

static void say_what_was_not_seen(const struct recording *recording)
{
	const gchar *path = recording->folder->path;
	g_autofree gchar *unseen = unseen_summary(path);

	if (!unseen && recording->why_unpreloadable) { /* it was too short for the watch */
		unseen_note_process(path, 0, recording->command[0], recording->why_unpreloadable);
		unseen = unseen_summary(path);
	}
	if (unseen && !recording->options->is_quiet)
		fprintf(stderr, "tacho: not seen: %s; next: tacho doctor -- %s\n", unseen,
			recording->command[0]);
}

static void say_what_was_recorded(const struct recording *recording)
{
	guint64 bytes;
	guint n_traces = run_folder_count_traces(recording->folder, &bytes);
	g_autofree gchar *size = g_format_size(bytes);

	if (recording->options->is_quiet)
		return;
	if (recording->options->lttng_url) {
		fprintf(stderr,
			"tacho: LTTng sent what it recorded to %s; next: tacho report with the "
			"folder into which the lttng-relayd there wrote it\n",
			recording->options->lttng_url);
		return;
	}
	if (run_losses_count(recording->folder->path))
		fprintf(stderr, "tacho: some records were lost; 'tacho info %s' says which\n",
			recording->options->output);
	if (n_traces == 0 && !run_losses_count(recording->folder->path))
		fprintf(stderr, "tacho: nothing was recorded: no process of the job used PyTorch, "
				"TensorFlow, JAX, BLAS, oneDNN, OpenCL, MPI, TCP or Python, which "
				"tacho watches\n");
	else if (n_traces)
		fprintf(stderr,
			"tacho: recorded %u process%s, %s, in %s\ntacho: next: tacho report %s\n",
			n_traces, n_traces == 1 ? "" : "es", size, recording->options->output,
			recording->options->together ? recording->options->together
						     : recording->options->output);
}

/* --- by LTTng -------------------------------------------------------------------------------- */

/* NULL: it is not asked for, or, with an error, there is none. */
static LttngSession *start_session(const struct recording *recording, GError **error)
{
	const gchar *url = recording->options->lttng_url;
	RunFolder *folder = recording->folder;
	LttngSession *session;

	if (!recording->lttng_library)
		return NULL;
	session = lttng_session_start(folder->path, url, error);
	if (!session)
		return NULL;
	run_folder_note(folder, TRACE_ENGINE_KEY, TRACE_ENGINE_LTTNG);
	run_folder_note(folder, TRACE_LTTNG_NAME_KEY, lttng_session_name(session));
	if (url)
		run_folder_note(folder, TRACE_LTTNG_URL_KEY, url);
	return session;
}

/* What its daemon had written by then is read, however it ended. */
static void end_session(const struct recording *recording, LttngSession *session)
{
	RunFolder *folder = recording->folder;
	g_autoptr(GError) error = NULL;

	if (!session)
		return;
	if (!lttng_session_stop(session, &error)) {
		fprintf(stderr,
			"tacho record: the session of LTTng could not be ended, so its last events "
			"may be missing: %s\n",
			error->message);
		run_folder_note_loss(folder, 0, "its session of LTTng could not be ended");
		g_clear_error(&error);
	}
	if (recording->options->lttng_url)
		return;
	if (tacho_run_settle_lttng(folder->path, &error))
		run_folder_note(folder, TRACE_LTTNG_READ_KEY, "true");
	else if (!recording->options->is_quiet)
		fprintf(stderr, "tacho record: %s\n", error->message);
}

static int run(struct recording *recording, const gchar *clock)
{
	g_auto(GStrv) environment = job_environment(recording, clock);
	Launch launch = { .command = recording->command,
			  .environment = environment,
			  .n_ranks = (guint)recording->options->n_ranks,
			  .began = child_began,
			  .ended = child_ended,
			  .data = recording };
	const struct run_bounds bounds = {
		.max_bytes = recording->options->max_bytes,
		.free_bytes = recording->options->free_bytes,
		.keep_ns = (guint64)recording->options->keep_us * 1000,
		.keep_steps = (guint)recording->options->keep_steps,
	};
	GError *error = NULL;
	RunLimit *limit = NULL;
	KernelRecording *kernel = NULL;
	LttngSession *session = NULL;
	UnseenWatch *watch;
	int wait_status;

	if (environment)
		session = start_session(recording, &error);
	if (!environment || error) {
		run_folder_discard(recording->folder);
		if (error)
			g_prefix_error(&error, "--engine lttng: ");
		return error ? cli_fail_error("record", error) : CLI_BAD;
	}
	fflush(NULL);
	if (recording->has_probe[PROBE_kernel])
		kernel = kernel_recording_start("record", recording->folder->path, NULL,
						recording->options->is_quiet);
	if (is_limited(recording->options))
		limit = run_limit_start(recording->folder->path, &bounds);
	watch = unseen_watch_start(recording->folder->path, kernel_recording_pid(kernel));
	if (!launch_run(&launch, &wait_status, &error)) {
		int cause = error->code;

		kernel_recording_stop(kernel);
		unseen_watch_stop(watch);
		run_limit_stop(limit);
		lttng_session_stop(session, NULL);
		cli_fail_error("record", error);
		run_folder_discard(recording->folder);
		return cause == ENOENT ? 127 : 126; /* as a shell says it */
	}
	kernel_recording_stop(kernel);
	run_folder_trim(recording->folder);
	run_limit_stop(limit);
	unseen_watch_stop(watch);
	end_session(recording, session);
	run_folder_ended(recording->folder);
	say_what_was_recorded(recording);
	say_what_was_not_seen(recording);
	g_clear_pointer(&recording->folder, run_folder_free);
	launch_end_like(wait_status);
}

/* A folder that was asked for by mistake is worth stopping for; one that cannot be written to is not
 * the job's fault. */
static gboolean is_wrong_usage(const GError *error)
{
	return error->domain != G_FILE_ERROR || error->code == G_FILE_ERROR_EXIST ||
	       error->code == G_FILE_ERROR_NOENT || error->code == G_FILE_ERROR_NOTDIR;
}

static void ignore_child_began(guint number, pid_t pid, gint rank, gpointer unused)
{
	(void)number, (void)pid, (void)rank, (void)unused;
}

static void ignore_child_ended(guint number, int wait_status, gpointer unused)
{
	(void)number, (void)wait_status, (void)unused;
}

static int run_unrecorded(const struct recording *recording)
{
	g_auto(GStrv) environment = g_get_environ();
	Launch launch = { .command = recording->command,
			  .environment = environment,
			  .n_ranks = (guint)recording->options->n_ranks,
			  .began = ignore_child_began,
			  .ended = ignore_child_ended };
	GError *error = NULL;
	int wait_status;

	fflush(NULL);
	if (launch_run(&launch, &wait_status, &error))
		launch_end_like(wait_status);
	wait_status = error->code == ENOENT ? 127 : 126;
	cli_fail_error("record", error);
	return wait_status;
}

static int record(struct recording *recording, ClockChoice clock_choice)
{
	const struct options *options = recording->options;
	g_autofree gchar *clock = NULL, *lttng_library = NULL;
	GError *error = NULL;
	int status;

	if (g_strcmp0(options->engine, TRACE_ENGINE_LTTNG) == 0) {
		lttng_library = lttng_session_find_library(&error);
		if (!lttng_library) {
			g_prefix_error(&error, "--engine lttng: ");
			return cli_fail_error("record", error);
		}
		recording->lttng_library = lttng_library;
	}
	recording->why_unpreloadable = preloadable_why_not(recording->command[0]);
	if (recording->why_unpreloadable)
		fprintf(stderr,
			"tacho: %s %s, so the loader cannot preload probes into it; it runs "
			"unrecorded\n",
			recording->command[0], recording->why_unpreloadable);
	if (!options->is_quiet)
		fprintf(stderr, "tacho: recording %s into %s\n", recording->command[0],
			options->output);
	clock = clock_calibrate(clock_choice, &error);
	if (clock)
		recording->folder =
			run_folder_new(options->output, recording->command, (guint)options->n_ranks,
				       options->is_forced, &error);
	if (!recording->folder && is_wrong_usage(error))
		return cli_fail_error("record", error);
	if (!recording->folder) {
		fprintf(stderr, "tacho: nothing is recorded: %s; the job runs without tacho\n",
			error->message);
		g_error_free(error);
		return run_unrecorded(recording);
	}
	status = run(recording, clock);
	g_clear_pointer(&recording->folder, run_folder_free);
	return status;
}

/* The command begins behind "--", or at the first argument that is no option. GOption would take
 * the command's own options for ours, so cut there first. */
static int split_command(int argc, char **argv)
{
	static const gchar *const with_value[] = { "-o",
						   "--output",
						   "-n",
						   "--launch",
						   "--ranks",
						   "--steps",
						   "--control",
						   "--probes",
						   "--clock",
						   "--engine",
						   "--lttng-url",
						   "--max-size",
						   "--keep-free",
						   "--keep-last",
						   "--shapes-every",
						   "--python",
						   "--python-hz",
						   "--nccl",
						   "--counters",
						   "--counters-every",
						   "--kernel-counters",
						   "--malloc-min",
						   "--precision",
						   "--precision-hessian",
						   "--precision-direct",
						   NULL };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0 || argv[i][0] != '-')
			return i;
		if (g_strv_contains(with_value, argv[i]))
			i++;
	}
	return argc;
}

int cmd_record(int argc, char **argv)
{
	g_auto(RecordOptions) options = { .n_ranks = OPTION_UNSET,
					  .shapes_every = OPTION_UNSET,
					  .python_hz = PYTHON_HZ,
					  .counters.every_us = JOB_COUNTERS_EVERY_US };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "folder to record into (default: NAME-DATE-TIME.tacho)", "DIR" },
		{ "launch", 'n', 0, G_OPTION_ARG_INT, &options.n_ranks,
		  "start N ranks on this host, with RANK, WORLD_SIZE, MASTER_ADDR ... set", "N" },
		{ "ranks", 0, 0, G_OPTION_ARG_STRING, &options.ranks,
		  "record these ranks whole (0,7 or 0-3), and of the others steps and collectives "
		  "only",
		  "LIST" },
		{ "steps", 0, 0, G_OPTION_ARG_STRING, &options.steps,
		  "record only training steps A to B, counted from 0", "A:B" },
		{ "control", 0, 0, G_OPTION_ARG_INT, &options.n_control,
		  "after every 2N steps leave N unrecorded, to measure the cost of recording",
		  "N" },
		{ "probes", 0, 0, G_OPTION_ARG_STRING, &options.probe_list, probe_help, "LIST" },
		{ "python", 0, 0, G_OPTION_ARG_STRING, &options.python,
		  "sample (default): look at the stacks of Python threads; module:NAME: and record "
		  "each call "
		  "of that module; off",
		  "HOW" },
		{ "python-hz", 0, 0, G_OPTION_ARG_INT, &options.python_hz,
		  "so often a second (default: 100)", "N" },
		{ "nccl", 0, 0, G_OPTION_ARG_STRING, &options.nccl,
		  "steps (default): all that NCCL tells; channels: without its proxy's steps; "
		  "calls: "
		  "without what is done for them",
		  "HOW" },
		{ "counters", 0, 0, G_OPTION_ARG_STRING, &options.counters.sampled,
		  "sample hardware counters of NVIDIA's devices: CUPTI's metrics NAME,NAME..., or "
		  "default",
		  "LIST" },
		{ "counters-every", 0, 0, G_OPTION_ARG_INT, &options.counters.every_us,
		  "... every N microseconds (default: 1000)", "N" },
		{ "kernel-counters", 0, 0, G_OPTION_ARG_STRING, &options.counters.kernels,
		  "count in hardware kernel by kernel: kernels run one by one, and again for each "
		  "pass",
		  "LIST" },
		{ "malloc-min", 0, 0, G_OPTION_ARG_STRING, &options.malloc_min,
		  "the probe malloc: record blocks of this size and more (default: 4K)", "SIZE" },
		{ "onnx-nodes", 0, 0, G_OPTION_ARG_NONE, &options.has_onnx_nodes,
		  "the nodes of ONNX Runtime's runs, too, by its own profiler", NULL },
		{ "precision", 0, 0, G_OPTION_ARG_STRING, &options.precision.name,
		  "have matrix operations compute in fp32, tf32, bf16, fp16 or int8", "P" },
		{ "precision-statistics", 0, 0, G_OPTION_ARG_NONE,
		  &options.precision.has_statistics,
		  "say how large their tensors are and what rounding does to them, in fp32", NULL },
		{ "precision-hessian", 0, 0, G_OPTION_ARG_INT, &options.precision.n_probes,
		  "of their weights, too, the trace of the Hessian, by N probes", "N" },
		{ "precision-direct", 0, 0, G_OPTION_ARG_INT, &options.precision.n_direct,
		  "measure, too, what each alone does to the loss in each format, in N steps",
		  "N" },
		{ "clock", 0, 0, G_OPTION_ARG_STRING, &options.clock_name,
		  "auto (default), tsc or monotonic", "CLOCK" },
		{ "engine", 0, 0, G_OPTION_ARG_STRING, &options.engine,
		  "tacho (default): files that the job writes itself; lttng: events of LTTng-UST, "
		  "in "
		  "a session of their own",
		  "ENGINE" },
		{ "lttng-url", 0, 0, G_OPTION_ARG_STRING, &options.lttng_url,
		  "--engine lttng: send them to an lttng-relayd (net://HOST), from where they can "
		  "be "
		  "read live",
		  "URL" },
		{ "max-size", 0, 0, G_OPTION_ARG_STRING, &options.max_size,
		  "keep the run below that (500M, 2G): the oldest steps go first", "SIZE" },
		{ "keep-free", 0, 0, G_OPTION_ARG_STRING, &options.keep_free,
		  "keep so much of the disk free, in the same way", "SIZE" },
		{ "keep-last", 0, 0, G_OPTION_ARG_STRING, &options.keep_last,
		  "keep the newest part only, at least so long (60s, 5m) or so many steps "
		  "(20steps): a flight recorder",
		  "TIME|STEPS" },
		{ "shapes-every", 0, 0, G_OPTION_ARG_INT, &options.shapes_every,
		  "ask PyTorch for tensors in every Nth step only (default: 17; 1: in all)", "N" },
		{ "start-later", 0, 0, G_OPTION_ARG_NONE, &options.starts_later,
		  "record nothing until tacho attach says so", NULL },
		{ "force", 0, 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace an earlier run in the same folder", NULL },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.is_quiet, "print only errors",
		  NULL },
		G_OPTION_ENTRY_NULL,
	};
	struct recording recording = { .options = &options };
	ClockChoice clock_choice;
	int n_own = split_command(argc, argv);
	g_autofree char **own = g_memdup2(argv, sizeof(*argv) * ((gsize)n_own + 1));
	char **own_cursor = own;

	own[n_own] = NULL;
	if (!cli_parse("record", usage, description, entries, &n_own, &own_cursor))
		return CLI_BAD;
	n_own = split_command(argc, argv);
	if (n_own < argc && strcmp(argv[n_own], "--") == 0)
		n_own++;
	recording.command = argv + n_own;
	if (n_own >= argc)
		return cli_fail("record", "name the command to record (see 'tacho record --help')");
	if (options.n_ranks != OPTION_UNSET && (options.n_ranks < 1 || options.n_ranks > MAX_RANKS))
		return cli_fail("record", "-n must be from 1 to %d, not %d", MAX_RANKS,
				options.n_ranks);
	if (options.n_ranks == OPTION_UNSET)
		options.n_ranks = 0; /* once, without a rank */
	if (!steps_are_valid(options.steps))
		return CLI_BAD;
	if (options.starts_later && (options.steps || options.n_control))
		return cli_fail(
			"record",
			"--start-later: name the steps when they begin to count, with tacho "
			"attach");
	if (options.ranks && !rank_list_is_valid(options.ranks))
		return cli_fail("record",
				"--ranks names ranks to record whole, as in 0,7 or 0-3, not '%s'; "
				"-n starts "
				"ranks",
				options.ranks);
	if (options.n_control < 0 || options.n_control > TRACE_MAX_CONTROL)
		return cli_fail("record", "--control must be between 0 and %d", TRACE_MAX_CONTROL);
	if (options.shapes_every != OPTION_UNSET && options.shapes_every < 1)
		return cli_fail("record", "--shapes-every must be 1 or more, not %d",
				options.shapes_every);
	if (!option_size("record", "--max-size", options.max_size, &options.max_bytes) ||
	    !option_size("record", "--keep-free", options.keep_free, &options.free_bytes) ||
	    !option_size("record", "--malloc-min", options.malloc_min, &options.malloc_bytes) ||
	    !parse_keep_last(&options))
		return CLI_BAD;
	if (!parse_python(&options) || !parse_nccl(&options) || !parse_engine(&options))
		return CLI_BAD;
	if (!parse_clock(options.clock_name ? options.clock_name : "auto", &clock_choice))
		return CLI_BAD;
	if (!probe_choice_parse("record", options.probe_list ? options.probe_list : "all",
				recording.has_probe))
		return CLI_BAD;
	if (!job_counters_check(&options.counters, recording.has_probe[PROBE_cuda],
				recording.has_probe[PROBE_rocprofiler]))
		return CLI_BAD;
	if (!job_precision_check(&options.precision, recording.command))
		return CLI_BAD;
	if (!options.output)
		options.output = default_output(recording.command);
	if (!part_from_other_ranks(&options))
		return CLI_BAD;
	return record(&recording, clock_choice);
}
