/* cmd_optimize: what to change in a job, so that its steps are shorter. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tacho/optimize.h>
#include <tacho/words.h>

#include "cli.h"
#include "option_values.h"
#include "cost_file.h"
#include "new_file.h"
#include "planned_job.h"
#include "precision_proposal.h"
#include "recording_list.h"
#include "verify.h"

#define DEFAULT_BUDGET "10s"
#define MAX_TIME_MS    (24 * 3600 * 1000.0)
#define DEFAULT_PAIRS  10
#define MAX_PAIRS      1000

static const gchar usage[] = "RUN... [-o PLAN]\n"
			     "  tacho optimize --verify [-o PLAN] -- COMMAND [ARGUMENT...]";
static const gchar description[] =
	"Looks for changes of the recorded job that make its steps shorter, on the replay of the "
	"recording, and\n"
	"prints those that gain, with what they need and what carries them out. By default only "
	"changes are\n"
	"proposed that leave the results as they are but for the order in which numbers are "
	"added.\n"
	"\n"
	"Examples:\n"
	"  tacho optimize base.tacho\n"
	"  tacho optimize base.tacho -o plan.json && tacho apply plan.json -- python3 train.py\n"
	"  tacho optimize base1.tacho,base2.tacho,base3.tacho --budget 60s --json\n"
	"  tacho optimize --verify -n 2 -o plan.json -- python3 train.py\n";

struct options {
	gchar *output, *budget, *allow, *trajectory, *run_limit;
	gchar *target, *passes, *memory, *ways, *ucb, *state, *cost;
	gdouble temperature, ucb_gamma;
	gchar *statistics, *casts;
	gchar **also, **plans, **precision_runs;
	gint64 seed, tries;
	gboolean is_forced, with_json, with_all, is_verified;
	gchar *run;
	gint n_ranks, n_pairs;
	gchar **command; /* behind "--"; NULL: there is none */
};

/* A time up to a day. */
static gboolean parse_time(const gchar *option, const gchar *text, gint64 *ret_ms)
{
	gint64 us;

	if (!option_time("optimize", option, text, &us))
		return FALSE;
	if (us > MAX_TIME_MS * 1000LL) {
		cli_fail("optimize", "%s is a day at most, not '%s'", option, text);
		return FALSE;
	}
	*ret_ms = us / 1000;
	return TRUE;
}

static gboolean parse_allowed(const gchar *text, guint *ret_allowed)
{
	static const gchar *const names[] = { "batch", "compression", "precision", NULL };
	static const guint values[] = { TACHO_ALLOW_BATCH, TACHO_ALLOW_COMPRESSION,
					TACHO_ALLOW_PRECISION };
	g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);

	*ret_allowed = TACHO_ALLOW_NOTHING;
	for (guint i = 0; words[i]; i++) {
		g_autofree gchar *there = NULL;
		guint number = 0;

		while (names[number] && strcmp(words[i], names[number]) != 0)
			number++;
		if (names[number]) {
			*ret_allowed |= values[number];
			continue;
		}
		there = tacho_did_you_mean(words[i], names);
		cli_fail("optimize", "--allow: there is no '%s'%s", words[i], there);
		return FALSE;
	}
	return TRUE;
}

/* "buckets,partition", or "^memory": those of `names`, or all but those. `*ret_chosen` 0: none were named. */
static gboolean parse_names(const gchar *option, const gchar *text, const GPtrArray *names,
			    guint *ret_chosen, guint *ret_left_out)
{
	g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);

	*ret_chosen = *ret_left_out = 0;
	for (guint i = 0; words[i]; i++) {
		const gchar *word = words[i] + (*words[i] == '^');
		g_autofree gchar *there = NULL;
		guint number = 0;

		while (names->pdata[number] && strcmp(word, names->pdata[number]) != 0)
			number++;
		if (names->pdata[number]) {
			*(word > words[i] ? ret_left_out : ret_chosen) |= 1u << number;
			continue;
		}
		there = tacho_did_you_mean(word, (const gchar *const *)names->pdata);
		cli_fail("optimize", "%s: there is no '%s'%s", option, word, there);
		return FALSE;
	}
	return TRUE;
}

static gboolean parse_passes(const gchar *text, guint *ret_left_out)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const gchar *name, *description;
	guint chosen;

	for (guint i = 0; (name = tacho_optimize_pass(i, &description)); i++)
		g_ptr_array_add(names, (gpointer)name);
	g_ptr_array_add(names, NULL);
	if (!parse_names("--passes", text, names, &chosen, ret_left_out))
		return FALSE;
	*ret_left_out |= chosen ? ~chosen : 0;
	return TRUE;
}

static gboolean parse_search(const struct options *options, TachoOptimizeOptions *how)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const gchar *name;
	guint left_out, n = 0;

	for (; (name = tacho_optimize_way(n)); n++)
		g_ptr_array_add(names, (gpointer)name);
	g_ptr_array_add(names, NULL);
	if (!parse_names("--search", options->ways, names, &how->search_ways, &left_out))
		return FALSE;
	if (left_out)
		how->search_ways =
			(how->search_ways ? how->search_ways : (1u << n) - 1) & ~left_out;
	how->temperature = options->temperature;
	how->ucb_gamma = options->ucb_gamma;
	how->ucb_is_max = g_strcmp0(options->ucb, "max") == 0;
	if (options->ucb && !how->ucb_is_max && strcmp(options->ucb, "mean") != 0) {
		cli_fail("optimize", "--ucb is mean or max, not '%s'", options->ucb);
		return FALSE;
	}
	if (how->temperature >= 0 && how->ucb_gamma >= 0)
		return TRUE;
	cli_fail("optimize", "--temperature and --ucb-gamma cannot be negative");
	return FALSE;
}

/* The state of an earlier search, if there is one by now. FALSE: there is, and it cannot be read. */
static gboolean read_state(const gchar *path, gchar **ret_text)
{
	GError *error = NULL;

	*ret_text = NULL;
	if (!path || !g_file_test(path, G_FILE_TEST_EXISTS) ||
	    g_file_get_contents(path, ret_text, NULL, &error))
		return TRUE;
	cli_fail_error("optimize", error);
	return FALSE;
}

/* "16g", "500m": bytes. */
static gboolean parse_memory(const gchar *text, guint64 *ret_bytes)
{
	static const gchar units[] = "kmgt";
	gchar *end;
	gdouble number;

	*ret_bytes = 0;
	if (!text)
		return TRUE;
	number = g_ascii_strtod(text, &end);
	for (guint i = 0; units[i] && *end; i++)
		if (g_ascii_tolower(*end) == units[i]) {
			number *= (gdouble)(1ull << 10 * (i + 1));
			end++;
			break;
		}
	if (end != text && !*end && g_ascii_isdigit(*text) && number >= 1 && number < 1e18) {
		*ret_bytes = (guint64)number;
		return TRUE;
	}
	cli_fail("optimize", "--memory is a number of bytes, as in 16g, 500m or 1000000, not '%s'",
		 text);
	return FALSE;
}

/* What --allow precision needs, and nothing else does. */
static gboolean check_precision(const struct options *options, guint allowed)
{
	gboolean is_allowed = (allowed & TACHO_ALLOW_PRECISION) != 0;

	if (is_allowed && !options->precision_runs && !options->is_verified)
		cli_fail("optimize",
			 "--allow precision needs recordings of the job in several precisions: "
			 "make them with tacho record --precision fp32, and bf16, and name each "
			 "with --precision-run");
	else if (is_allowed && options->precision_runs && options->is_verified)
		cli_fail("optimize", "--verify records the job itself: leave out --precision-run");
	else if (!is_allowed && (options->precision_runs || options->statistics || options->casts))
		cli_fail("optimize", "--precision-run, --statistics and --casts are for --allow "
				     "precision, which is missing");
	else
		return TRUE;
	return FALSE;
}

static void show_progress(gdouble best_step_ms, guint64 n_tried, gpointer is_shown)
{
	*(gboolean *)is_shown = TRUE;
	fprintf(stderr, "\r\033[K%" G_GUINT64_FORMAT " tried, best %.3f ms", n_tried, best_step_ms);
	fflush(stderr);
}

static TachoOptimization *optimize(const struct options *options,
				   const TachoOptimizeOptions *wanted, int argc, char **argv)
{
	g_auto(RecordingList) list = { .paths = NULL };
	g_autoptr(GArray) recordings = NULL;
	g_autoptr(TachoPrecisionPlan) precision = NULL;
	PrecisionProposal proposal = { .runs = (const gchar *const *)options->precision_runs,
				       .statistics = options->statistics,
				       .casts = options->casts,
				       .memory_bytes = wanted->memory_bytes };
	TachoOptimizeOptions how = *wanted;
	TachoOptimization *optimization;
	gboolean is_shown = FALSE;
	GError *error = NULL;

	if (!recording_list_init(&list, "optimize", argc, argv, options->also) ||
	    !recording_list_open(&list, "optimize"))
		return NULL;
	if (options->precision_runs) {
		precision = precision_proposal_find(&proposal);
		how.precision_plan = precision ? precision_proposal_plan(precision) : NULL;
		if (!how.precision_plan)
			return NULL;
	}
	recordings = recording_list_recordings(&list);
	if (isatty(STDERR_FILENO)) {
		how.progress = show_progress;
		how.progress_data = &is_shown;
	}
	optimization = tacho_optimize((const TachoRecording *)recordings->data, recordings->len,
				      &how, &error);
	if (is_shown)
		fputs("\r\033[K", stderr);
	if (!optimization)
		cli_fail_error("optimize", error);
	return optimization;
}

/* --- what is written ------------------------------------------------------------------------------ */

static void write_trajectory(const TachoOptimization *optimization, FILE *out)
{
	const TachoTable *table = optimization->trajectory;

	fputs("tries,time_ms,strategy,judged_by,step_ms\n", out);
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		fprintf(out, "%.0f,%.3f,%s,%s,%.6f\n", tacho_table_cell_number(table, row, "tries"),
			tacho_table_cell_number(table, row, "time_ms"),
			tacho_table_cell_text(table, row, "strategy"),
			tacho_table_cell_text(table, row, "judged_by"),
			tacho_table_cell_number(table, row, "step_ms"));
}

static gboolean write_file(const gchar *path, gboolean is_forced,
			   const TachoOptimization *optimization, const gchar *text)
{
	GError *error = NULL;
	g_autoptr(NewFile) file = new_file_open(path, is_forced, &error);

	if (file && text)
		fputs(text, new_file_stream(file));
	else if (file && g_str_has_suffix(path, ".svg"))
		tacho_optimization_print_svg(optimization, new_file_stream(file));
	else if (file)
		write_trajectory(optimization, new_file_stream(file));
	if (file && new_file_finish(g_steal_pointer(&file), &error))
		return TRUE;
	cli_fail_error("optimize", error);
	return FALSE;
}

/* --- what is printed ------------------------------------------------------------------------------ */

static void print_text(const TachoOptimization *optimization, const struct options *options)
{
	if (optimization->warning) {
		cli_print_prose("Warning: %s.", optimization->warning);
		cli_print_prose("What to do next: %s.", optimization->advice);
		fputc('\n', stdout);
	}
	printf("%u %s, steps %u to %u\n\n", optimization->n_ranks,
	       optimization->n_ranks == 1 ? "rank" : "ranks", optimization->first_step,
	       optimization->last_step);
	printf("measured step   %10.3f ms\n", optimization->measured_step_ms);
	printf("baseline        %10.3f ms  (replayed, without what recording took)\n",
	       optimization->baseline_step_ms);
	if (optimization->plans->len > 0) {
		printf("\n"
		       "What would be shorter\n");
		cli_print_table(optimization->candidates);
	}
	if (options->with_all) {
		printf("\n"
		       "What was tried\n");
		cli_print_table(optimization->tried);
		printf("\n"
		       "How the search went\n");
		cli_print_table(optimization->trajectory);
	}
	printf("\n%" G_GUINT64_FORMAT " changes tried in %.1f s%s\n",
	       optimization->candidates_tried, optimization->search_ms / 1000,
	       optimization->is_exhaustive ? ": all partitions of the gradients are among them"
					   : "");
	for (guint i = 0; i < optimization->notes->len; i++)
		cli_print_prose("- %s", (const gchar *)g_ptr_array_index(optimization->notes, i));
}

static gchar *plan_text(const TachoPlan *plan, guint target, GError **error)
{
	gchar *text = NULL;
	gsize n;
	FILE *out = open_memstream(&text, &n);
	gboolean is_written = out && tacho_plan_write_as(plan, target, out, error);

	if (out)
		fclose(out);
	if (is_written)
		return text;
	free(text);
	return NULL;
}

/* What -o or --to is to have; NULL: there is no such plan, which is told. */
static gchar *best_text(const TachoOptimization *optimization, const struct options *options,
			guint target)
{
	GError *error = NULL;
	gchar *text = NULL;
	guint row;

	if (options->target) {
		if (tacho_optimization_best_as(optimization, target, &row, &text, &error))
			return text;
		g_prefix_error(&error, "there is nothing to write as '%s': ", options->target);
		cli_fail_error("optimize", error);
		return NULL;
	}
	if (tacho_optimization_best(optimization, &row))
		return plan_text(g_ptr_array_index(optimization->plans, row), 0, NULL);
	fprintf(stderr, "tacho optimize: there is no plan to write: nothing that tacho apply "
			"carries out gains anything\n");
	return NULL;
}

/* --plan FILE --to FORMAT, without a run. */
static int convert(const struct options *options)
{
	GError *error = NULL;
	g_autoptr(TachoPlan) plan = NULL;
	g_autofree gchar *text = NULL;
	guint target;

	if (!options->target || options->plans[1])
		return cli_fail("optimize",
				"name a run, or one --plan and what it is to be written "
				"as: --to FORMAT");
	if (!tacho_plan_find_target(options->target, &target, &error))
		return cli_fail_error("optimize", error);
	plan = tacho_plan_read(options->plans[0], &error);
	text = plan ? plan_text(plan, target, &error) : NULL;
	if (!text)
		return cli_fail_error("optimize", error);
	if (!options->output)
		fputs(text, stdout);
	else if (!write_file(options->output, options->is_forced, NULL, text))
		return CLI_BAD;
	return CLI_DONE;
}

static int list_targets(void)
{
	const gchar *name, *description;

	for (guint i = 0; (name = tacho_plan_target(i, &description)); i++)
		printf("%-15s %s\n", name, description);
	return CLI_DONE;
}

static int tell(const TachoOptimization *optimization, const struct options *options, guint target)
{
	gboolean is_shown = !options->target || options->output;
	g_autofree gchar *text = NULL;

	if (options->trajectory &&
	    !write_file(options->trajectory, options->is_forced, optimization, NULL))
		return CLI_BAD;
	if (is_shown && options->with_json)
		tacho_optimization_print_json(optimization, stdout);
	else if (is_shown)
		print_text(optimization, options);
	if (!options->output && !options->target)
		return CLI_DONE;
	fflush(stdout);
	text = best_text(optimization, options, target);
	if (!text)
		return CLI_NO;
	if (!options->output) {
		fputs(text, stdout);
		return CLI_DONE;
	}
	if (!write_file(options->output, options->is_forced, optimization, text))
		return CLI_BAD;
	if (options->target && !options->with_json)
		printf("\nThe best plan that can be said so is in %s.\n", options->output);
	else if (!options->with_json)
		printf("\nThe plan is in %s. Next: tacho apply %s -- COMMAND\n", options->output,
		       options->output);
	return CLI_DONE;
}

static int verify(const struct options *options, const TachoOptimizeOptions *how, gchar *cost_path,
		  int argc)
{
	Verify verify = { .command = options->command,
			  .n_ranks = (guint)options->n_ranks,
			  .run_path = options->run,
			  .plan_path = options->output,
			  .max_pairs = (guint)options->n_pairs,
			  .cost_path = cost_path,
			  .casts_path = options->casts,
			  .statistics_path = options->statistics,
			  .is_forced = options->is_forced,
			  .with_json = options->with_json,
			  .how = *how };
	gint64 run_limit_ms = 0;

	if (!options->command || !*options->command)
		return cli_fail("optimize",
				"name the command to run behind -- (see 'tacho optimize "
				"--help')");
	if (argc > 1 || options->also)
		return cli_fail("optimize",
				"--verify records the job itself: leave out %s, or "
				"--verify",
				argc > 1 ? "the run" : "--also");
	if (options->n_ranks < 0 || options->n_ranks > PLANNED_JOB_MAX_RANKS)
		return cli_fail("optimize", "--ranks must be from 1 to %d, not %d",
				PLANNED_JOB_MAX_RANKS, options->n_ranks);
	if (options->n_pairs < 2 || options->n_pairs > MAX_PAIRS)
		return cli_fail("optimize", "--pairs must be from 2 to %d, not %d", MAX_PAIRS,
				options->n_pairs);
	if (options->run_limit && !parse_time("--run-limit", options->run_limit, &run_limit_ms))
		return CLI_BAD;
	verify.run_limit_s = (guint)((run_limit_ms + 999) / 1000);
	return verify_run(&verify);
}

static int optimize_with(const struct options *options, int argc, char **argv)
{
	TachoOptimizeOptions how = { .max_tried = (guint64)MAX(options->tries, 0),
				     .seed = (guint64)options->seed,
				     .first_step = -1,
				     .last_step = -1,
				     .plan_paths = (const gchar *const *)options->plans };
	guint target = 0;
	GError *error = NULL;
	g_autofree gchar *state = NULL, *cost_path = cost_file_path(options->cost);
	g_autoptr(TachoCostModel) costs = NULL;
	g_autoptr(TachoOptimization) optimization = NULL;

	if (options->tries < 0)
		return cli_fail("optimize", "--tries must be 0 or more, not %" G_GINT64_FORMAT,
				options->tries);
	/* with a number of tries, time plays no part unless it is asked for */
	if (!parse_time("--budget",
			options->budget	     ? options->budget
			: options->tries > 0 ? "0"
					     : DEFAULT_BUDGET,
			&how.budget_ms) ||
	    !parse_allowed(options->allow, &how.allowed) ||
	    !parse_passes(options->passes, &how.left_out_passes) || !parse_search(options, &how) ||
	    !parse_memory(options->memory, &how.memory_bytes) ||
	    !check_precision(options, how.allowed))
		return CLI_BAD;
	costs = cost_file_read("optimize", cost_path);
	if (!costs && options->cost)
		return CLI_BAD;
	if (!costs) /* what nobody named is in nobody's way */
		costs = tacho_cost_model_new();
	how.costs = costs;
	if (options->is_verified)
		return verify(options, &how, cost_path, argc);
	if (options->command)
		return cli_fail("optimize", "a command is run with --verify only");
	if (g_strcmp0(options->target, "list") == 0)
		return list_targets();
	if (options->plans && argc < 2 && !options->also)
		return convert(options);
	if (options->target && !tacho_plan_find_target(options->target, &target, &error))
		return cli_fail_error("optimize", error);
	if (!read_state(options->state, &state))
		return CLI_BAD;
	how.state = state;
	optimization = optimize(options, &how, argc, argv);
	if (optimization && options->state && optimization->state &&
	    !write_file(options->state, TRUE, NULL, optimization->state))
		return CLI_BAD;
	return optimization ? tell(optimization, options, target) : CLI_BAD;
}

int cmd_optimize(int argc, char **argv)
{
	struct options options = { .seed = 1, .n_pairs = DEFAULT_PAIRS };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "write the best plan that 'tacho apply' carries out", "PLAN" },
		{ "to", 't', 0, G_OPTION_ARG_STRING, &options.target,
		  "write the best plan that can be said so for others: ddp, horovod, byteps, nccl, "
		  "dpro-tensors, dpro-partition, dpro-clusters, or list",
		  "FORMAT" },
		{ "plan", 'p', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.plans,
		  "also judge the plan in FILE, which may be dPRO's (may be given several times); "
		  "without RUN: write it as --to says",
		  "FILE" },
		{ "also", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.also,
		  "another recording of the same job (may be given several times)", "RUN" },
		{ "budget", 'b', 0, G_OPTION_ARG_STRING, &options.budget,
		  "search for at most that long (default: " DEFAULT_BUDGET
		  "; 0: as long as it gains)",
		  "TIME" },
		{ "tries", 0, 0, G_OPTION_ARG_INT64, &options.tries,
		  "try N partitions of gradients at most, whatever the time: the same on all "
		  "machines",
		  "N" },
		{ "seed", 0, 0, G_OPTION_ARG_INT64, &options.seed,
		  "seed of the search's draws (default: 1)", "N" },
		{ "allow", 0, 0, G_OPTION_ARG_STRING, &options.allow,
		  "also try what changes results: batch, compression, precision", "LIST" },
		{ "precision-run", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.precision_runs,
		  "with --allow precision: a recording by 'tacho record --precision' (given for "
		  "each "
		  "precision)",
		  "RUN" },
		{ "statistics", 0, 0, G_OPTION_ARG_FILENAME, &options.statistics,
		  "with --allow precision: what harm is predicted from, by 'tacho record "
		  "--precision-statistics'",
		  "FILE" },
		{ "casts", 0, 0, G_OPTION_ARG_FILENAME, &options.casts,
		  "with --allow precision: what casts take, by 'tacho calibrate casts'", "FILE" },
		{ "passes", 0, 0, G_OPTION_ARG_STRING, &options.passes,
		  "try only these: memory, buckets, partition, compression, algorithm, clusters, "
		  "graphs, workers, accumulation, batch, placement; ^memory: all but that",
		  "LIST" },
		{ "memory", 'm', 0, G_OPTION_ARG_STRING, &options.memory,
		  "what a rank's fullest memory may hold, as in 16g: bring the job within it first",
		  "SIZE" },
		{ "verify", 0, 0, G_OPTION_ARG_NONE, &options.is_verified,
		  "record COMMAND, and measure the plan that is found against the job as it is",
		  NULL },
		{ "ranks", 'n', 0, G_OPTION_ARG_INT, &options.n_ranks,
		  "with --verify: start N ranks on this host", "N" },
		{ "run", 'r', 0, G_OPTION_ARG_FILENAME, &options.run,
		  "with --verify: folder to record into (default: NAME-DATE-TIME.tacho)", "DIR" },
		{ "pairs", 0, 0, G_OPTION_ARG_INT, &options.n_pairs,
		  "with --verify: run at most N pairs (default: 10)", "N" },
		{ "run-limit", 0, 0, G_OPTION_ARG_STRING, &options.run_limit,
		  "with --verify: end a run of the job that takes longer (default: a minute and "
		  "five "
		  "times what the recording took)",
		  "TIME" },
		{ "trajectory", 0, 0, G_OPTION_ARG_FILENAME, &options.trajectory,
		  "write how the search went: CSV, or a picture where FILE ends in .svg", "FILE" },
		{ "search", 0, 0, G_OPTION_ARG_STRING, &options.ways,
		  "search by these ways: rules, dynamic, blocks, greedy, mcmc, mcts, random; "
		  "^mcmc: by "
		  "all but that",
		  "LIST" },
		{ "temperature", 0, 0, G_OPTION_ARG_DOUBLE, &options.temperature,
		  "mcmc: moves that lose this share of the step are made one time in three at "
		  "first "
		  "(default: 0.02)",
		  "SHARE" },
		{ "ucb-gamma", 0, 0, G_OPTION_ARG_DOUBLE, &options.ucb_gamma,
		  "mcts: how much what was seldom tried is preferred (default: 0.1)", "X" },
		{ "ucb", 0, 0, G_OPTION_ARG_STRING, &options.ucb,
		  "mcts: what a node is worth, mean (the default) or max of its tries", "WHICH" },
		{ "state", 0, 0, G_OPTION_ARG_FILENAME, &options.state,
		  "go on from what an earlier search wrote into FILE, if it is there, and write it "
		  "anew",
		  "FILE" },
		{ "cost", 0, 0, G_OPTION_ARG_FILENAME, &options.cost,
		  "the cost model to go by, where --verify keeps what it learns (default: "
		  "$XDG_STATE_HOME/tacho/cost.json), or none",
		  "FILE" },
		{ "force", 'f', 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace files that exist", NULL },
		{ "all", 'a', 0, G_OPTION_ARG_NONE, &options.with_all,
		  "print also what was tried and how the search went", NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.with_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS(0),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD, n_own = planned_job_command_at(argc, argv);

	if (n_own < argc) { /* the command's own options are not ours */
		options.command = argv + n_own + 1;
		argv[n_own] = NULL;
		argc = n_own;
	}
	if (cli_parse("optimize", usage, description, entries, &argc, &argv))
		status = cli_finish("optimize", optimize_with(&options, argc, argv));
	g_strfreev(options.also);
	g_free(options.output);
	g_free(options.budget);
	g_free(options.allow);
	g_free(options.target);
	g_free(options.passes);
	g_free(options.ways);
	g_free(options.ucb);
	g_free(options.state);
	g_free(options.cost);
	g_free(options.memory);
	g_strfreev(options.plans);
	g_strfreev(options.precision_runs);
	g_free(options.statistics);
	g_free(options.casts);
	g_free(options.trajectory);
	g_free(options.run_limit);
	g_free(options.run);
	return status;
}
