/* cmd_attach: record a job that runs already, for a while. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attached_job.h"
#include "cli.h"
#include "clock_calibration.h"
#include "kernel_recording.h"
#include "option_values.h"
#include "run_folder.h"
#include "trace/rank_list.h"
#include "trace/trace_layout.h"
#include "unseen.h"

static const gchar usage[] = "PID...";
static const gchar description[] =
	"Records until you press Ctrl-C, the time or the steps asked for are over, somebody says "
	"'tacho\n"
	"stop', or the job ends. The job goes on as before. One thread of each process is stopped "
	"for a few\n"
	"milliseconds at the begin and at the end.\n"
	"\n"
	"Examples:\n"
	"  tacho attach --duration 30s 4711           half a minute of a process\n"
	"  tacho attach --job --steps 10:20 4711      steps 10 to 20 from now, in all ranks on "
	"this host\n"
	"  tacho attach --leave 4711; tacho stop 4711\n";

#define LOOK_US 50000
enum { MAX_PYTHON_HZ = 1000, PYTHON_HZ = 100 };

struct options {
	gchar *output, *steps, *ranks, *probe_list, *python, *duration;
	gint n_control, shapes_every, python_hz;
	gboolean is_job, is_forced, is_quiet, leaves, is_json;
};

typedef struct options AttachOptions;

static void release_options(AttachOptions *options)
{
	g_free(options->output);
	g_free(options->steps);
	g_free(options->ranks);
	g_free(options->probe_list);
	g_free(options->python);
	g_free(options->duration);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AttachOptions, release_options)

static gboolean options_are_valid(const struct options *options)
{
	gint64 first = 0, last = 0;

	if (!option_steps("attach", options->steps, &first, &last, NULL))
		return FALSE;
	if (first < 0 || last < 0 || (options->steps && !strchr(options->steps, ':')))
		return cli_fail("attach", "--steps must name both ends, as in 10:20, not '%s'",
				options->steps),
		       FALSE;
	if (options->ranks && !rank_list_is_valid(options->ranks))
		return cli_fail("attach",
				"--ranks names ranks to record whole, as in 0,7 or 0-3, not '%s'",
				options->ranks),
		       FALSE;
	if (options->n_control < 0 || options->n_control > TRACE_MAX_CONTROL)
		return cli_fail("attach", "--control must be between 0 and %d", TRACE_MAX_CONTROL),
		       FALSE;
	if (options->shapes_every != OPTION_UNSET && options->shapes_every < 1)
		return cli_fail("attach", "--shapes-every must be 1 or more, not %d",
				options->shapes_every),
		       FALSE;
	if (options->python_hz < 1 || options->python_hz > MAX_PYTHON_HZ)
		return cli_fail("attach", "--python-hz must be between 1 and %d, not %d",
				MAX_PYTHON_HZ, options->python_hz),
		       FALSE;
	if (options->python && strcmp(options->python, "sample") != 0 &&
	    strcmp(options->python, "off") != 0)
		return cli_fail(
			       "attach",
			       "--python is 'sample' or 'off', not '%s': single calls are recorded "
			       "from a program's start only",
			       options->python),
		       FALSE;
	return TRUE;
}

/* What the agents are told besides folder, clock and libraries. */
static gchar *settings_of(const struct options *options, const gboolean has_probe[N_PROBES])
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (options->steps)
		g_string_append_printf(text, "TACHO_STEPS=%s\n", options->steps);
	if (options->ranks)
		g_string_append_printf(text, "TACHO_RANKS=%s\n", options->ranks);
	if (options->n_control)
		g_string_append_printf(text, "TACHO_CONTROL=%d\n", options->n_control);
	if (options->shapes_every != OPTION_UNSET)
		g_string_append_printf(text, "TACHO_SHAPES_EVERY=%d\n", options->shapes_every);
	if (has_probe[PROBE_python] && g_strcmp0(options->python, "off") != 0)
		g_string_append_printf(text, "TACHO_PYTHON=sample\nTACHO_PYTHON_HZ=%d\n",
				       options->python_hz);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* --- who is recorded ------------------------------------------------------------------------ */

static GArray *parse_pids(int argc, char **argv, gboolean is_job)
{
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));

	for (int i = 1; i < argc; i++) {
		gchar *end;
		guint64 number = g_ascii_strtoull(argv[i], &end, 10);
		pid_t pid = (pid_t)number;

		if (!g_ascii_isdigit(*argv[i]) || *end || !number || number > G_MAXINT) {
			cli_fail("attach", "'%s' is no process id", argv[i]);
			return NULL;
		}
		if (is_job) {
			g_autoptr(GArray) job = target_job(pid);

			g_array_append_vals(pids, job->data, job->len);
		} else {
			g_array_append_val(pids, pid);
		}
	}
	return g_steal_pointer(&pids);
}

/* As `tacho record` names it, by the command's last part. */
static gchar *default_output(gchar **command)
{
	g_autofree gchar *program = g_path_get_basename(command[0]);
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree gchar *stamp = g_date_time_format(now, "%Y%m%d-%H%M%S");

	if (g_str_has_prefix(program, "python")) {
		for (guint i = 1; command[i]; i++) {
			if (!g_str_has_suffix(command[i], ".py"))
				continue;
			g_free(program);
			program = g_path_get_basename(command[i]);
			program[strlen(program) - 3] = '\0';
			break;
		}
	}
	return g_strdup_printf("%s-%s.tacho", program, stamp);
}

/* --- the recording -------------------------------------------------------------------------- */

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* Which of the parts that only a job's start can bring were asked for by name. */
static void say_what_comes_too_late(const struct options *options,
				    const gboolean has_probe[N_PROBES])
{
	g_autoptr(GString) names = g_string_new(NULL);

	if (options->is_quiet || !options->probe_list || strstr(options->probe_list, "all"))
		return;
	for (guint p = 0; p < N_PROBES; p++)
		if (has_probe[p] && (probe_choices[p].variable || p == PROBE_xla))
			g_string_append_printf(names, "%s%s", names->len ? ", " : "",
					       probe_choices[p].name);
	if (names->len)
		fprintf(stderr,
			"tacho: not recorded, because only a job's start can bring it: %s\n",
			names->str);
}

static void begin_all(AttachedJob *job, RunFolder *folder, const GArray *pids,
		      const struct options *options)
{
	for (guint i = 0; i < pids->len; i++) {
		pid_t pid = g_array_index(pids, pid_t, i);
		g_autoptr(GError) error = NULL;
		g_autofree gchar *note = NULL;
		AttachedProcess *process = attached_job_begin(job, pid, &note, &error);

		if (!process) {
			cli_fail("attach", "process %d %s", (int)pid,
				 error ? error->message : "cannot be attached to");
			continue;
		}
		if (folder)
			run_folder_child_began(folder, i, pid, target_rank(pid));
		if (!options->is_quiet)
			fprintf(stderr,
				"tacho: recording process %d into %s (a thread was stopped for "
				"%.1f ms)\n",
				(int)pid, options->output, (double)process->stopped_us / 1000);
		if (note)
			fprintf(stderr, "tacho: process %d: %s\n", (int)pid, note);
	}
}

static void print_json(const AttachedJob *job)
{
	g_autofree gchar *run = g_utf8_make_valid(job->run_path, -1);

	fputs("{\n\t\"run\":\"", stdout);
	for (const gchar *c = run; *c; c++)
		printf(*c == '"' || *c == '\\' ? "\\%c" : (guchar)*c < ' ' ? "\\u%04x" : "%c", *c);
	fputs("\",\n\t\"processes\":[", stdout);
	for (guint i = 0; i < job->processes->len; i++) {
		const AttachedProcess *process = g_ptr_array_index(job->processes, i);

		printf("%s\n\t\t{\"pid\":%d,\"stopped_us\":%" G_GINT64_FORMAT ",\"hooks\":%u}",
		       i ? "," : "", (int)process->target->pid, process->stopped_us,
		       process->n_hooks);
	}
	printf("\n\t]\n}\n");
	fflush(stdout);
}

static void await_end(AttachedJob *job, gint64 duration_us)
{
	gint64 end_us = duration_us ? g_get_monotonic_time() + duration_us : G_MAXINT64;

	while (!is_interrupted && attached_job_look(job) && g_get_monotonic_time() < end_us)
		g_usleep((gulong)CLAMP(end_us - g_get_monotonic_time(), 1, LOOK_US));
}

static void say_what_was_recorded(const RunFolder *folder, const struct options *options)
{
	g_autofree gchar *unseen = unseen_summary(folder->path), *size = NULL;
	guint64 bytes;
	guint n_traces = run_folder_count_traces(folder, &bytes);

	if (options->is_quiet)
		return;
	size = g_format_size(bytes);
	if (n_traces)
		fprintf(stderr,
			"tacho: recorded %u process%s, %s, in %s\ntacho: next: tacho report %s\n",
			n_traces, n_traces == 1 ? "" : "es", size, options->output,
			options->output);
	else
		fprintf(stderr, "tacho: nothing was recorded: no process has done meanwhile what "
				"tacho watches\n");
	if (unseen)
		fprintf(stderr, "tacho: not seen: %s\n", unseen);
}

/* The run of `tacho record --start-later` that the process waits in; NULL: it does not. */
static gchar *find_waiting_run(pid_t pid)
{
	g_autoptr(Target) target = target_open(pid, NULL);
	struct attach_state state;

	if (!target || !target_state(target, &state) || !state.is_preloaded || state.is_attached ||
	    state.n_starts)
		return NULL;
	state.run_dir[sizeof(state.run_dir) - 1] = '\0';
	return g_strdup(state.run_dir);
}

/* `folder` NULL: the run is another tacho's, which ends it. */
static int record_into(RunFolder *folder, const gchar *run_path, const struct options *options,
		       const GArray *pids, gint64 duration_us, const gboolean has_probe[N_PROBES])
{
	g_autofree gchar *clock = NULL, *settings = settings_of(options, has_probe);
	g_autoptr(AttachedJob) job = NULL;
	KernelRecording *kernel = NULL;
	GError *error = NULL;
	guint n_failed;

	clock = clock_calibrate(CLOCK_AUTO, &error);
	if (!clock)
		return cli_fail_error("attach", error);
	catch_signals();
	job = attached_job_new(run_path, clock, settings, has_probe);
	if (has_probe[PROBE_kernel] && !options->leaves)
		kernel = kernel_recording_start("attach", run_path, pids, options->is_quiet);
	begin_all(job, folder, pids, options);
	if (!job->processes->len) {
		kernel_recording_stop(kernel);
		if (folder)
			run_folder_discard(folder);
		return CLI_BAD;
	}
	n_failed = pids->len - job->processes->len;
	say_what_comes_too_late(options, has_probe);
	if (options->is_json)
		print_json(job);
	if (options->leaves)
		return n_failed ? CLI_NO : CLI_DONE;
	await_end(job, duration_us);
	kernel_recording_stop(kernel);
	n_failed += attached_job_end(job, "attach");
	if (folder) {
		run_folder_trim(folder);
		run_folder_ended(folder);
		say_what_was_recorded(folder, options);
	}
	return n_failed ? CLI_NO : CLI_DONE;
}

static int record(struct options *options, const GArray *pids, gint64 duration_us,
		  const gboolean has_probe[N_PROBES])
{
	pid_t first = g_array_index(pids, pid_t, 0);
	g_auto(GStrv) command = target_command(first);
	g_autofree gchar *waiting = find_waiting_run(first);
	g_autoptr(RunFolder) folder = NULL;
	GError *error = NULL;

	if (!command)
		return cli_fail("attach", "process %d does not exist", (int)first);
	if (waiting && options->output)
		return cli_fail("attach",
				"process %d is recorded into %s, by tacho record: leave out -o",
				(int)first, waiting);
	if (!options->output)
		options->output = waiting ? g_strdup(waiting) : default_output(command);
	if (!waiting) {
		folder = run_folder_new(options->output, command, 0, options->is_forced, &error);
		if (!folder)
			return cli_fail_error("attach", error);
	}
	return record_into(folder, waiting ? waiting : folder->path, options, pids, duration_us,
			   has_probe);
}

int cmd_attach(int argc, char **argv)
{
	g_auto(AttachOptions) options = { .shapes_every = OPTION_UNSET, .python_hz = PYTHON_HZ };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "folder to record into (default: NAME-DATE-TIME.tacho)", "DIR" },
		{ "job", 'j', 0, G_OPTION_ARG_NONE, &options.is_job,
		  "record all ranks of the process's job on this host", NULL },
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &options.duration,
		  "record for that long (30s, 500ms, 2m)", "TIME" },
		{ "steps", 0, 0, G_OPTION_ARG_STRING, &options.steps,
		  "record only training steps A to B, counted from now, then end", "A:B" },
		{ "leave", 0, 0, G_OPTION_ARG_NONE, &options.leaves,
		  "return at once, and leave the recording on until tacho stop", NULL },
		{ "ranks", 0, 0, G_OPTION_ARG_STRING, &options.ranks,
		  "record these ranks whole (0,7 or 0-3), and of the others steps and collectives "
		  "only",
		  "LIST" },
		{ "control", 0, 0, G_OPTION_ARG_INT, &options.n_control,
		  "after every 2N steps leave N unrecorded, to measure the cost of recording",
		  "N" },
		{ "probes", 0, 0, G_OPTION_ARG_STRING, &options.probe_list,
		  "use only these: torch, alloc, blas, dnn, socket, python, or all (default)",
		  "LIST" },
		{ "python", 0, 0, G_OPTION_ARG_STRING, &options.python,
		  "sample (default): look at the stacks of Python threads; off", "HOW" },
		{ "python-hz", 0, 0, G_OPTION_ARG_INT, &options.python_hz,
		  "so often a second (default: 100)", "N" },
		{ "shapes-every", 0, 0, G_OPTION_ARG_INT, &options.shapes_every,
		  "ask PyTorch for tensors in every Nth step only (default: 17; 1: in all)", "N" },
		{ "force", 0, 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace an earlier run in the same folder", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &options.is_json,
		  "print, when recording has begun, of whom, as JSON", NULL },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.is_quiet, "print only errors",
		  NULL },
		G_OPTION_ENTRY_NULL,
	};
	gboolean has_probe[N_PROBES];
	g_autoptr(GArray) pids = NULL;
	gint64 duration_us = 0; /* 0: without end */

	if (!cli_parse("attach", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc < 2)
		return cli_fail("attach",
				"name the process to record by its id (see 'tacho attach --help')");
	if (!options_are_valid(&options) ||
	    !option_time("attach", "--duration", options.duration, &duration_us))
		return CLI_BAD;
	if (options.duration && !duration_us)
		return cli_fail("attach", "--duration must be more than 0");
	if (options.leaves && options.probe_list && strstr(options.probe_list, "kernel"))
		return cli_fail("attach", "--leave: the kernel is recorded only as long as tacho "
					  "attach runs; leave out the probe kernel");
	if (options.leaves && options.duration)
		return cli_fail("attach", "--leave and --duration exclude each other");
	if (!probe_choice_parse("attach", options.probe_list ? options.probe_list : "all",
				has_probe))
		return CLI_BAD;
	pids = parse_pids(argc, argv, options.is_job);
	if (!pids)
		return CLI_BAD;
	return record(&options, pids, duration_us, has_probe);
}
