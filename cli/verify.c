/* verify: the loop of optimize, closed. The job is recorded, a plan is looked for, and then the job runs in pairs: once as it is and once
 * with the plan, in turns (ABBA), so that a machine that becomes slower or faster counts for neither.
 *
 * (1) Steps are timed by the hook in both alike (TACHO_STEP_TIMES), and nothing is recorded meanwhile.
 * (2) The gain (tacho_paired_gain()) is known well enough once the interval is within NARROW_PCT on each side, after MIN_PAIRS pairs.
 * (3) A run that takes much longer than the recording did (LIMIT_TIMES) is ended: a plan could make ranks wait for each other for ever.
 * (4) What the plan does to the losses is told beside what it gains (loss_effect.h).
 * (5) Nothing of the job is changed for good: the plan is written when it has been measured to be better, and not before. Ctrl-C, a rank
 *     that fails, a full disk: what stays is the job as it was. */
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cli.h"
#include "cost_file.h"
#include "launch.h"
#include "loss_effect.h"
#include "new_file.h"
#include "planned_job.h"
#include "precision_proposal.h"

#define MIN_PAIRS  3
#define NARROW_PCT 1.0
/* What is known less well teaches nothing. Source: a rule: gains are of this size. If wrong, later searches are corrected by chance. */
#define LEARN_PCT 10.0

#define LIMIT_TIMES  5
#define LIMIT_MORE_S 60 /* for what a start can take, whatever the job */

struct verifying {
	const Verify *verify;
	gchar *run_path, *folder, *plan_path,
		*log_path; /* plan and log are in the folder, which is our own */
	guint limit_s;	   /* of a run; 0: none is known yet */
	TachoPlan *plan;   /* borrowed */
	TachoOptimization *optimization;
	GArray *baseline_ms, *planned_ms;	     /* gdouble, of each pair */
	TachoPairedGain gain;			     /* measured */
	gchar *host, *device;			     /* where it was recorded */
	GPtrArray *baseline_losses, *planned_losses; /* GArray, of each pair */
};

static volatile sig_atomic_t is_interrupted, is_over_time;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

static void end_time(int number)
{
	(void)number;
	is_over_time++;
}

/* --- runs of the job --------------------------------------------------------------------------------- */

/* In a child: what the job writes to stdout goes into the log, for stdout is for what is found. */
static void run_in_child(const struct verifying *verifying, gchar **command, gchar **environment,
			 guint n_ranks) G_GNUC_NORETURN;
static void run_in_child(const struct verifying *verifying, gchar **command, gchar **environment,
			 guint n_ranks)
{
	int log = open(verifying->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	Launch launch = { .command = command,
			  .environment = environment,
			  .n_ranks = n_ranks,
			  .began = planned_job_ignore_began,
			  .ended = planned_job_ignore_ended };
	GError *error = NULL;
	int wait_status;

	signal(SIGINT, SIG_DFL);
	if (log >= 0)
		dup2(log, STDOUT_FILENO);
	if (launch_run(&launch, &wait_status, &error))
		launch_end_like(wait_status);
	cli_fail_error("optimize", error);
	_exit(CLI_BAD);
}

/* Its wait status; the child is asked to end when its time is over, and made to after a while more. */
static int wait_in_time(pid_t pid, guint limit_s)
{
	int status = 0;

	is_over_time = 0;
	alarm(limit_s);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
		if (is_over_time == 0)
			continue;
		kill(pid, is_over_time == 1 ? SIGTERM : SIGKILL);
		alarm(2 * LAUNCH_GRACE_S);
	}
	alarm(0);
	return status;
}

/* FALSE: it failed, which was said. */
static gboolean run(const struct verifying *verifying, const gchar *what, gchar **command,
		    gchar **environment, guint n_ranks)
{
	int status = 0;
	pid_t pid;

	if (is_interrupted)
		return FALSE;
	fprintf(stderr, "tacho: %s\n", what);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_in_child(verifying, command, environment, n_ranks);
	if (pid > 0)
		status = wait_in_time(pid, verifying->limit_s);
	if (is_interrupted)
		return FALSE;
	if (pid > 0 && status == 0)
		return TRUE;
	if (is_over_time > 0)
		cli_fail("optimize",
			 "the job was ended after %u s while %s: it had not come to its end; "
			 "nothing is changed",
			 verifying->limit_s, what);
	else
		cli_fail("optimize", "the job failed while %s; nothing is changed", what);
	return FALSE;
}

/* Record it into `path`; in a precision, where one is named. */
static gboolean record(struct verifying *verifying, const gchar *path, const gchar *precision)
{
	const Verify *verify = verifying->verify;
	g_autofree gchar *program = g_build_filename(cli_prefix(), "bin", "tacho", NULL);
	g_autofree gchar *n_ranks = g_strdup_printf("%u", verify->n_ranks);
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	g_auto(GStrv) environment = g_get_environ();
	g_autofree gchar *what =
		g_strconcat("recording the job", precision ? " in " : NULL, precision, NULL);
	gint64 began_us = g_get_monotonic_time();

	g_ptr_array_add(words, program);
	g_ptr_array_add(words, "record");
	g_ptr_array_add(words, "-q");
	if (verify->n_ranks > 0) {
		g_ptr_array_add(words, "-n");
		g_ptr_array_add(words, n_ranks);
	}
	g_ptr_array_add(words, "-o");
	g_ptr_array_add(words, (gpointer)path);
	if (precision) {
		g_ptr_array_add(words, "--precision");
		g_ptr_array_add(words, (gpointer)precision);
	}
	if (verify->is_forced)
		g_ptr_array_add(words, "--force");
	g_ptr_array_add(words, "--");
	for (gchar **word = verify->command; *word; word++)
		g_ptr_array_add(words, *word);
	g_ptr_array_add(words, NULL);
	if (!run(verifying, what, (gchar **)words->pdata, environment, 0))
		return FALSE;
	if (verifying->limit_s == 0)
		verifying->limit_s =
			LIMIT_MORE_S +
			LIMIT_TIMES * (guint)((g_get_monotonic_time() - began_us) / G_USEC_PER_SEC);
	return TRUE;
}

/* The median step, with the plan or without; NAN: an error was said. */
static gdouble measure(const struct verifying *verifying, gboolean with_plan)
{
	const Verify *verify = verifying->verify;
	const gchar *what =
		with_plan ? "running the job with the plan" : "running the job as it is";
	GError *error = NULL;
	PlannedJob *job = planned_job_new(with_plan ? verifying->plan_path : NULL, &error);
	gdouble step_ms = NAN;

	if (!job) {
		cli_fail_error("optimize", error);
		return NAN;
	}
	planned_job_time_steps(job);
	if (run(verifying, what, verify->command, planned_job_borrow_environment(job),
		verify->n_ranks)) {
		step_ms = planned_job_step_ms(job);
		if (isnan(step_ms))
			cli_fail("optimize",
				 "no steps could be timed while %s: it needs %d steps with "
				 "PyTorch's DistributedDataParallel on this host",
				 what, PLANNED_JOB_WARM_UP + PLANNED_JOB_MIN_STEPS + 1);
		else if (with_plan && !planned_job_is_done(job)) {
			cli_fail("optimize", "the plan was not carried out in the job");
			step_ms = NAN;
		}
		g_ptr_array_add(with_plan ? verifying->planned_losses : verifying->baseline_losses,
				planned_job_losses(job));
	}
	planned_job_free(job);
	return step_ms;
}

/* --- the plan ------------------------------------------------------------------------------------------ */

static gboolean write_plan(const TachoPlan *plan, const gchar *path, gboolean is_forced)
{
	GError *error = NULL;
	g_autoptr(NewFile) file = new_file_open(path, is_forced, &error);

	if (file)
		tacho_plan_write(plan, new_file_stream(file));
	if (file && new_file_finish(g_steal_pointer(&file), &error))
		return TRUE;
	cli_fail_error("optimize", error);
	return FALSE;
}

/* The plan of precisions, of recordings that are made for it, beside the first one: RUN.fp32 and RUN.bf16. NULL: an error was said. */
static TachoPrecisionPlan *look_for_precision(struct verifying *verifying)
{
	static const gchar *const precisions[] = { "fp32", "bf16" };
	const Verify *verify = verifying->verify;
	gchar *paths[G_N_ELEMENTS(precisions) + 1] = { NULL };
	PrecisionProposal proposal = { .runs = (const gchar *const *)paths,
				       .statistics = verify->statistics_path,
				       .casts = verify->casts_path,
				       .memory_bytes = verify->how.memory_bytes };
	TachoPrecisionPlan *found = NULL;
	gboolean is_recorded = TRUE;

	for (guint i = 0; i < G_N_ELEMENTS(precisions) && is_recorded; i++) {
		paths[i] = g_strdup_printf("%s.%s", verifying->run_path, precisions[i]);
		is_recorded = record(verifying, paths[i], precisions[i]);
	}
	if (is_recorded)
		found = precision_proposal_find(&proposal);
	for (guint i = 0; i < G_N_ELEMENTS(precisions); i++)
		g_free(paths[i]);
	return found;
}

/* CLI_DONE: there is a plan. */
static int look_for_plan(struct verifying *verifying)
{
	char *arguments[] = { "optimize", verifying->run_path, NULL };
	g_autoptr(TachoTimeline) timeline = cli_open_runs("optimize", 2, arguments);
	TachoRecording recording = { verifying->run_path, timeline };
	g_autoptr(TachoPrecisionPlan) precision = NULL;
	TachoOptimizeOptions how = verifying->verify->how;
	const gchar *host, *device;
	GError *error = NULL;
	guint row;

	if (timeline && how.allowed & TACHO_ALLOW_PRECISION) {
		precision = look_for_precision(verifying);
		how.precision_plan = precision ? precision_proposal_plan(precision) : NULL;
		if (!how.precision_plan)
			return CLI_BAD;
	}
	if (!timeline)
		return CLI_BAD;
	tacho_cost_place(timeline, &host, &device);
	verifying->host = g_strdup(host);
	verifying->device = g_strdup(device);
	verifying->optimization = tacho_optimize(&recording, 1, &how, &error);
	if (!verifying->optimization)
		return cli_fail_error("optimize", error);
	if (!tacho_optimization_best(verifying->optimization, &row)) {
		fprintf(stderr, "tacho: nothing was found that tacho apply carries out and that "
				"gains anything; the job stays as it is\n");
		return CLI_NO;
	}
	verifying->plan = g_ptr_array_index(verifying->optimization->plans, row);
	return write_plan(verifying->plan, verifying->plan_path, TRUE) ? CLI_DONE : CLI_BAD;
}

/* --- pairs --------------------------------------------------------------------------------------------- */

static gboolean is_known(const struct verifying *verifying)
{
	return verifying->baseline_ms->len >= MIN_PAIRS &&
	       verifying->gain.high_pct - verifying->gain.low_pct <= 2 * NARROW_PCT;
}

static gboolean measure_pair(struct verifying *verifying)
{
	gboolean is_plan_first = verifying->baseline_ms->len % 2;
	gdouble first_ms = measure(verifying, is_plan_first);
	gdouble second_ms = isnan(first_ms) ? NAN : measure(verifying, !is_plan_first);
	gdouble baseline_ms = is_plan_first ? second_ms : first_ms;
	gdouble planned_ms = is_plan_first ? first_ms : second_ms;

	if (isnan(second_ms))
		return FALSE;
	g_array_append_val(verifying->baseline_ms, baseline_ms);
	g_array_append_val(verifying->planned_ms, planned_ms);
	verifying->gain = tacho_paired_gain((const gdouble *)(void *)verifying->baseline_ms->data,
					    (const gdouble *)(void *)verifying->planned_ms->data,
					    verifying->baseline_ms->len);
	fprintf(stderr, "tacho: pair %u: %.3f ms as it is, %.3f ms with the plan\n",
		verifying->baseline_ms->len, baseline_ms, planned_ms);
	return TRUE;
}

/* --- what is learned of it ------------------------------------------------------------------------------ */

/* The difference goes into the cost model as it is by now: another job may have written into it meanwhile. */
static void keep_difference(const struct verifying *verifying)
{
	const gchar *path = verifying->verify->cost_path;
	g_autoptr(TachoCostModel) model = path ? cost_file_read("optimize", path) : NULL;
	g_autofree gchar *change = tacho_plan_kinds(verifying->plan);
	TachoCostDifference difference = { .host = verifying->host,
					   .device = verifying->device,
					   .change = change,
					   .measured_gain_pct = verifying->gain.gain_pct,
					   .low_gain_pct = verifying->gain.low_pct,
					   .high_gain_pct = verifying->gain.high_pct,
					   .n_pairs = verifying->baseline_ms->len,
					   .unix_s = g_get_real_time() / G_USEC_PER_SEC };
	guint row;

	if (!model || !tacho_optimization_best(verifying->optimization, &row))
		return;
	if (!(verifying->gain.high_pct - verifying->gain.low_pct <= 2 * LEARN_PCT)) {
		fprintf(stderr,
			"tacho: the gain is not known well enough to learn from; more pairs tell "
			"more (--pairs)\n");
		return;
	}
	difference.predicted_gain_pct = tacho_table_cell_number(verifying->optimization->candidates,
								row, "uncorrected_gain_pct");
	if (tacho_cost_model_add_difference(model, &difference) &&
	    cost_file_write("optimize", path, model, TRUE))
		fprintf(stderr, "tacho: how far off the prediction was is kept in %s\n", path);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

static gboolean is_better(const struct verifying *verifying)
{
	return verifying->gain.low_pct > 0;
}

static void print_json(const struct verifying *verifying, gdouble predicted_pct)
{
	LossEffect loss = loss_effect_of(verifying->baseline_losses, verifying->planned_losses);

	printf("{\"predicted_gain_pct\":%.6g,\"measured_gain_pct\":%.6g,", predicted_pct,
	       verifying->gain.gain_pct);
	if (isnan(verifying->gain.low_pct))
		printf("\"measured_gain_interval_pct\":null,");
	else
		printf("\"measured_gain_interval_pct\":[%.6g,%.6g],", verifying->gain.low_pct,
		       verifying->gain.high_pct);
	printf("\"loss\":");
	loss_effect_print_json(&loss, stdout);
	printf(",\"is_kept\":%s,\"pairs\":[", is_better(verifying) ? "true" : "false");
	for (guint i = 0; i < verifying->baseline_ms->len; i++)
		printf("%s{\"baseline_step_ms\":%.6f,\"planned_step_ms\":%.6f}", i ? "," : "",
		       g_array_index(verifying->baseline_ms, gdouble, i),
		       g_array_index(verifying->planned_ms, gdouble, i));
	printf("]}\n");
}

static int tell(const struct verifying *verifying)
{
	const TachoTable *candidates = verifying->optimization->candidates;
	LossEffect loss = loss_effect_of(verifying->baseline_losses, verifying->planned_losses);
	guint row;
	gdouble predicted_pct;

	tacho_optimization_best(verifying->optimization, &row);
	predicted_pct = tacho_table_cell_number(candidates, row, "gain_pct");
	if (verifying->verify->with_json) {
		print_json(verifying, predicted_pct);
	} else {
		printf("plan            %s\n", tacho_table_cell_text(candidates, row, "change"));
		printf("predicted gain  %6.1f %%  (from %.1f to %.1f)\n", predicted_pct,
		       tacho_table_cell_number(candidates, row, "low_gain_pct"),
		       tacho_table_cell_number(candidates, row, "high_gain_pct"));
		printf("measured gain   %6.1f %%  (from %.1f to %.1f, %u pairs)\n",
		       verifying->gain.gain_pct, verifying->gain.low_pct, verifying->gain.high_pct,
		       verifying->baseline_ms->len);
		loss_effect_print(&loss, stdout);
		printf("%s\n", is_better(verifying)
				       ? "The plan is better, and kept."
				       : "The plan is not better by more than chance explains: the "
					 "job stays as it is.");
	}
	if (!is_better(verifying))
		return CLI_NO;
	return !verifying->verify->plan_path ||
			       write_plan(verifying->plan, verifying->verify->plan_path,
					  verifying->verify->is_forced)
		       ? CLI_DONE
		       : CLI_BAD;
}

static int verify_all(struct verifying *verifying)
{
	int status =
		record(verifying, verifying->run_path, NULL) ? look_for_plan(verifying) : CLI_BAD;

	if (status != CLI_DONE)
		return status;
	while (verifying->baseline_ms->len < verifying->verify->max_pairs && !is_known(verifying))
		if (!measure_pair(verifying))
			return CLI_BAD;
	keep_difference(verifying);
	return tell(verifying);
}

static gchar *default_run(gchar **command)
{
	g_autofree gchar *program = g_path_get_basename(command[0]);
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree gchar *stamp = g_date_time_format(now, "%Y%m%d-%H%M%S");

	return g_strdup_printf("%s-%s.tacho", program, stamp);
}

static void remove_work(struct verifying *verifying)
{
	g_unlink(verifying->plan_path);
	g_unlink(verifying->log_path);
	g_rmdir(verifying->folder);
	g_free(verifying->plan_path);
	g_free(verifying->log_path);
}

int verify_run(const Verify *verify)
{
	struct sigaction action = { .sa_handler = interrupt }, before;
	struct sigaction timer = { .sa_handler = end_time }, timer_before;
	struct verifying verifying = { .verify = verify, .limit_s = verify->run_limit_s };
	GError *error = NULL;
	int status;

	verifying.folder = g_dir_make_tmp("tacho-verify-XXXXXX", &error);
	if (!verifying.folder)
		return cli_fail_error("optimize", error);
	verifying.plan_path = g_build_filename(verifying.folder, "plan.json", NULL);
	verifying.log_path = g_build_filename(verifying.folder, "output", NULL);
	verifying.run_path =
		verify->run_path ? g_strdup(verify->run_path) : default_run(verify->command);
	verifying.baseline_ms = g_array_new(FALSE, FALSE, sizeof(gdouble));
	verifying.planned_ms = g_array_new(FALSE, FALSE, sizeof(gdouble));
	verifying.baseline_losses = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	verifying.planned_losses = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	sigaction(SIGINT, &action, &before);
	sigaction(SIGALRM, &timer, &timer_before);
	status = verify_all(&verifying);
	sigaction(SIGALRM, &timer_before, NULL);
	sigaction(SIGINT, &before, NULL);
	if (is_interrupted) {
		fprintf(stderr, "tacho: interrupted; nothing is changed, the job stays as it is\n");
		status = 128 + SIGINT;
	}
	remove_work(&verifying);
	tacho_optimization_free(verifying.optimization);
	g_array_unref(verifying.baseline_ms);
	g_array_unref(verifying.planned_ms);
	g_ptr_array_unref(verifying.baseline_losses);
	g_ptr_array_unref(verifying.planned_losses);
	g_free(verifying.folder);
	g_free(verifying.run_path);
	g_free(verifying.host);
	g_free(verifying.device);
	return status;
}
