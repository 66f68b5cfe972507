/* cmd_diff: what became longer or shorter between runs, and whether that can be chance. */
#include <math.h>
#include <string.h>

#include <tacho/diff.h>
#include <tacho/info.h>
#include <tacho/words.h>

#include "cli.h"
#include "diff_order.h"
#include "peer_processes.h"
#include "report_head.h"
#include "option_values.h"

#define SUMMARY_ROWS 10 /* of each view where none was asked for */
#define VIEW_ROWS    30
#define SUMMARY_VIEWS                                                                              \
	(1u << TACHO_DIFF_step | 1u << TACHO_DIFF_op | 1u << TACHO_DIFF_kernel |                   \
	 1u << TACHO_DIFF_comm)

static const gchar usage[] = "BASE RUN...";
static const gchar description[] = "Views:\n"
#define VIEW_HELP(name, description) "  " #name "\t" description "\n"
	TACHO_DIFF_VIEWS(VIEW_HELP)
#undef VIEW_HELP
		"\n"
		"Compares each RUN with BASE, step for step. Without --view it prints a summary. "
		"Runs\n"
		"joined by commas are repetitions of one job; how much they differ shows what is "
		"chance.\n"
		"One run a side cannot show what is chance, so record each job five times. The "
		"first\n"
		"steps are warm-up and are left out, unless --steps asks for them.\n"
		"\n"
		"Examples:\n"
		"  tacho diff base.tacho new.tacho                     a summary\n"
		"  tacho diff base.tacho b.tacho c.tacho --view op     compare each with "
		"base.tacho\n"
		"  tacho diff a1.tacho,a2.tacho,a3.tacho b1.tacho,b2.tacho,b3.tacho\n"
		"  tacho diff a1,a2,a3 b1,b2,b3 --fail-above 5         exit with 1 if over 5 % "
		"slower\n"
		"  tacho diff a.tacho b.tacho --order                  exit with 1 if the order "
		"differs\n";

static const struct {
	const gchar *name, *description;
} views[TACHO_N_DIFF_VIEWS] = {
#define VIEW_ROW(name, description) { #name, description },
	TACHO_DIFF_VIEWS(VIEW_ROW)
#undef VIEW_ROW
};

struct options {
	gchar **views, **base;
	gchar *name, *steps, *sort;
	gdouble fail_above_pct; /* NaN: not asked for */
	gint rank, limit;
	gboolean is_json, is_all, is_order;
};

/* One other side, or the base. */
struct side {
	GPtrArray *runs;   /* TachoDiffRun * */
	GPtrArray *tables; /* TachoTable *, by view; of the base none */
};

struct diff {
	const struct options *options;
	TachoFilter filter;
	gint limit;	  /* 0: none was asked for */
	guint views;	  /* bit 1 << TachoDiffView */
	GPtrArray *sides; /* struct side *; the first is the base */
};

static struct side *add_side(struct diff *diff)
{
	struct side *side = g_new0(struct side, 1);

	side->runs = g_ptr_array_new_with_free_func((GDestroyNotify)tacho_diff_run_free);
	side->tables = g_ptr_array_new_with_free_func((GDestroyNotify)tacho_table_free);
	g_ptr_array_add(diff->sides, side);
	return side;
}

static void free_side(gpointer data)
{
	struct side *side = data;

	g_ptr_array_unref(side->runs);
	g_ptr_array_unref(side->tables);
	g_free(side);
}

static struct side *side_at(const struct diff *diff, guint index)
{
	return g_ptr_array_index(diff->sides, index);
}

static TachoDiffSide as_side(const struct side *side)
{
	return (TachoDiffSide){ (const TachoDiffRun *const *)side->runs->pdata, side->runs->len };
}

/* --- options ---------------------------------------------------------------------------------- */

static void refuse_view(const gchar *name)
{
	const gchar *all[TACHO_N_DIFF_VIEWS + 1] = { NULL };
	g_autofree gchar *there = NULL;

	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++)
		all[i] = views[i].name;
	there = tacho_did_you_mean(name, all);
	cli_fail("diff", "there is no view '%s'%s", name, there);
}

static gboolean choose_views(struct diff *diff)
{
	gchar **names = diff->options->views;

	for (guint i = 0; names && names[i]; i++) {
		guint view = 0;

		while (view < TACHO_N_DIFF_VIEWS && strcmp(views[view].name, names[i]) != 0)
			view++;
		if (view == TACHO_N_DIFF_VIEWS) {
			refuse_view(names[i]);
			return FALSE;
		}
		diff->views |= 1u << view;
	}
	if (!diff->views)
		diff->views = SUMMARY_VIEWS;
	return TRUE;
}

static gboolean parse_filter(struct diff *diff)
{
	const struct options *options = diff->options;

	if (!isnan(options->fail_above_pct) &&
	    (!isfinite(options->fail_above_pct) || options->fail_above_pct < 0)) {
		cli_fail("diff", "--fail-above must be a percentage, 0 or more");
		return FALSE;
	}
	return option_number("diff", "--rank", options->rank, -1, &diff->filter.rank) &&
	       option_number("diff", "--limit", options->limit, 0, &diff->limit) &&
	       option_steps("diff", options->steps, &diff->filter.first_step,
			    &diff->filter.last_step, &diff->filter.is_whole) &&
	       option_regex("diff", "--name", options->name, &diff->filter.name);
}

/* --- reading ---------------------------------------------------------------------------------- */

static gboolean open_run(const struct diff *diff, struct side *side, gchar *path)
{
	gchar *arguments[] = { (gchar *)"diff", path, NULL };
	g_autoptr(TachoTimeline) timeline = cli_open_runs("diff", 2, arguments);
	GError *error = NULL;
	TachoDiffRun *run;

	if (!timeline || !option_rank_in("diff", path, timeline, diff->filter.rank) ||
	    !option_steps_in("diff", path, timeline, diff->filter.first_step,
			     diff->filter.last_step))
		return FALSE;
	run = tacho_diff_run_new(timeline, &diff->filter, diff->views, path, &error);
	if (run) {
		g_ptr_array_add(side->runs, run);
		return TRUE;
	}
	g_prefix_error(&error, "%s: ", path);
	cli_fail_error("diff", error);
	return FALSE;
}

/* Runs joined by commas, unless there is a file of that name. */
static gboolean open_argument(const struct diff *diff, struct side *side, gchar *argument)
{
	g_auto(GStrv) paths = NULL;

	if (g_file_test(argument, G_FILE_TEST_EXISTS))
		return open_run(diff, side, argument);
	paths = g_strsplit(argument, ",", -1);
	for (guint i = 0; paths[i]; i++)
		if (!open_run(diff, side, paths[i]))
			return FALSE;
	if (side->runs->len == 0) /* the argument is empty */
		cli_fail("diff", "name the runs to compare (see 'tacho diff --help')");
	return side->runs->len > 0;
}

static gboolean open_sides(struct diff *diff, int argc, char **argv)
{
	gchar **base = diff->options->base;
	int first = 1;

	if (argc < (base ? 2 : 3)) {
		cli_fail("diff", "name at least two runs to compare (see 'tacho diff --help')");
		return FALSE;
	}
	add_side(diff);
	for (guint i = 0; base && base[i]; i++)
		if (!open_argument(diff, side_at(diff, 0), base[i]))
			return FALSE;
	if (!base && !open_argument(diff, side_at(diff, 0), argv[first++]))
		return FALSE;
	for (int i = first; i < argc; i++)
		if (!open_argument(diff, add_side(diff), argv[i]))
			return FALSE;
	return TRUE;
}

/* Steps cannot be compared with a whole run. */
static gboolean check_steps(const struct diff *diff)
{
	TachoDiffRunFacts first =
		tacho_diff_run_facts(g_ptr_array_index(side_at(diff, 0)->runs, 0));

	for (guint i = 0; i < diff->sides->len; i++) {
		const struct side *side = side_at(diff, i);

		for (guint j = 0; j < side->runs->len; j++) {
			TachoDiffRunFacts facts =
				tacho_diff_run_facts(g_ptr_array_index(side->runs, j));

			if ((facts.n_steps == 0) == (first.n_steps == 0))
				continue;
			cli_fail("diff",
				 "%s has no training steps, but %s has: they cannot be compared "
				 "step for step; --steps all compares everything that was recorded",
				 first.n_steps ? facts.label : first.label,
				 first.n_steps ? first.label : facts.label);
			return FALSE;
		}
	}
	return TRUE;
}

/* --- sorting ---------------------------------------------------------------------------------- */

/* Numbers from the largest, text from A. */
static gboolean sort_table(TachoTable *table, const gchar *key)
{
	const TachoColumn *column = tacho_table_borrow_column(table, key);
	g_autofree gchar *there = NULL;
	g_auto(GStrv) keys = NULL;

	if (column)
		return tacho_table_sort(table, key, column->type != TACHO_COLUMN_TEXT);
	keys = option_sort_keys(table);
	there = tacho_did_you_mean(key, (const gchar *const *)keys);
	cli_fail("diff", "cannot sort by '%s'%s", key, there);
	return FALSE;
}

static guint row_limit(const struct diff *diff)
{
	const struct options *options = diff->options;

	if (diff->limit > 0)
		return (guint)diff->limit;
	if (options->is_all || options->is_json)
		return 0;
	return options->views ? VIEW_ROWS : SUMMARY_ROWS;
}

static gboolean make_tables(const struct diff *diff)
{
	TachoDiffSide base = as_side(side_at(diff, 0));

	for (guint i = 1; i < diff->sides->len; i++) {
		struct side *side = side_at(diff, i);

		for (guint view = 0; view < TACHO_N_DIFF_VIEWS; view++) {
			TachoTable *table;

			if (!(diff->views >> view & 1))
				continue;
			table = tacho_diff_table((TachoDiffView)view, base, as_side(side));
			g_ptr_array_add(side->tables, table);
			if (diff->options->sort && !sort_table(table, diff->options->sort))
				return FALSE;
			tacho_table_limit(table, row_limit(diff));
		}
	}
	return TRUE;
}

/* --- printing --------------------------------------------------------------------------------- */

static const gchar *plural(guint64 n)
{
	return n == 1 ? "" : "s";
}

static void print_runs(const struct side *side, const gchar *title)
{
	for (guint i = 0; i < side->runs->len; i++) {
		TachoDiffRunFacts facts = tacho_diff_run_facts(g_ptr_array_index(side->runs, i));
		g_autofree gchar *label = tacho_printable(facts.label);

		printf("%s  %s: %u rank%s, ", i ? "    " : title, label, facts.n_ranks,
		       plural(facts.n_ranks));
		if (facts.n_steps)
			printf("%u step%s of %.3f ms", facts.n_steps, plural(facts.n_steps),
			       facts.step_ms);
		else
			printf("no steps, %.3f ms in all", facts.step_ms);
		printf(", trust %u of 100\n", facts.trust_score);
	}
}

static void print_single_runs(void)
{
	printf("One run a side cannot show whether this is chance, because runs of the same job "
	       "differ, too.\n"
	       "Record each job %u times (at least %u), in turn, and give the runs joined by "
	       "commas:\n"
	       "tacho diff a1.tacho,a2.tacho,... b1.tacho,b2.tacho,...\n",
	       TACHO_DIFF_GOOD_RUNS, TACHO_DIFF_FEWEST_RUNS);
}

static void print_test(const TachoStepDifference *step)
{
	if (step->spread == TACHO_SPREAD_NONE) {
		print_single_runs();
		return;
	}
	printf("95 %% interval %+.3f to %+.3f ms; %s against the spread of the runs\n",
	       step->low_ms, step->high_ms,
	       step->is_significant ? "significant" : "not significant");
	printf("(%s t-test, %u and %u runs, p %s%.*f).\n",
	       MIN(step->n_base, step->n) > 1 ? "Welch's" : "Student's", step->n_base, step->n,
	       step->p_value < 0.001 ? "< " : "= ", 3, MAX(step->p_value, 0.001));
	if (step->runs_needed > MIN(step->n_base, step->n))
		printf("About %u runs a side are needed to tell a difference of this size from "
		       "chance.\n",
		       step->runs_needed);
}

static void print_step_time(const TachoStepDifference *step, gboolean has_steps)
{
	printf("%s: %.3f ms, was %.3f: %+.3f ms", has_steps ? "Step" : "The whole run", step->ms,
	       step->base_ms, step->difference_ms);
	if (step->base_ms > 0)
		printf(" (%+.1f %%)", 100.0 * step->difference_ms / step->base_ms);
	printf("\n");
	print_test(step);
}

static void print_tables(const struct diff *diff, const struct side *side, gboolean with_colour)
{
	guint next = 0;

	for (guint view = 0; view < TACHO_N_DIFF_VIEWS; view++) {
		g_autofree gchar *heading = NULL;

		if (!(diff->views >> view & 1))
			continue;
		heading = g_strdup_printf("%s: %s", views[view].name, views[view].description);
		printf("\n");
		report_head_heading(heading, stdout, with_colour);
		cli_print_table(g_ptr_array_index(side->tables, next++));
	}
}

static void print_text(const struct diff *diff)
{
	const struct side *base = side_at(diff, 0);
	gboolean has_steps = tacho_diff_run_facts(g_ptr_array_index(base->runs, 0)).n_steps > 0;
	gboolean with_colour = cli_has_colour(stdout);

	print_runs(base, "base");
	for (guint i = 1; i < diff->sides->len; i++) {
		const struct side *side = side_at(diff, i);
		TachoStepDifference step = tacho_diff_step_time(as_side(base), as_side(side));

		if (i > 1)
			printf("\n");
		print_runs(side, "with");
		print_step_time(&step, has_steps);
		print_tables(diff, side, with_colour);
	}
}

static void print_json(const struct diff *diff)
{
	g_autofree TachoComparison *comparisons = g_new0(TachoComparison, diff->sides->len);

	for (guint i = 1; i < diff->sides->len; i++) {
		const struct side *side = side_at(diff, i);

		comparisons[i - 1] = (TachoComparison){
			.side = as_side(side),
			.tables = (const TachoTable *const *)side->tables->pdata,
			.n_tables = side->tables->len,
		};
	}
	tacho_diff_print_json(as_side(side_at(diff, 0)), comparisons, diff->sides->len - 1, stdout);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Longer by more than is allowed, and not by chance. */
static gboolean is_too_slow(const struct diff *diff, const struct side *side)
{
	TachoStepDifference step = tacho_diff_step_time(as_side(side_at(diff, 0)), as_side(side));

	return step.is_significant &&
	       100.0 * step.difference_ms > diff->options->fail_above_pct * step.base_ms;
}

/* A check that fails by chance, or passes by it, is none. */
static gboolean can_answer(const struct diff *diff)
{
	guint n_base = side_at(diff, 0)->runs->len;

	if (isnan(diff->options->fail_above_pct) || n_base > 1)
		return TRUE;
	for (guint i = 1; i < diff->sides->len; i++) {
		const struct side *side = side_at(diff, i);
		TachoDiffRunFacts facts = tacho_diff_run_facts(g_ptr_array_index(side->runs, 0));

		if (side->runs->len > 1)
			continue;
		cli_fail("diff",
			 "--fail-above: one run a side cannot show whether %s is slower or the "
			 "difference is chance; record each job %u times (at least %u) and join "
			 "the runs by commas",
			 facts.label, TACHO_DIFF_GOOD_RUNS, TACHO_DIFF_FEWEST_RUNS);
		return FALSE;
	}
	return TRUE;
}

static int answer(const struct diff *diff)
{
	int status = CLI_DONE;

	if (isnan(diff->options->fail_above_pct))
		return CLI_DONE;
	for (guint i = 1; i < diff->sides->len; i++)
		if (is_too_slow(diff, side_at(diff, i)))
			status = CLI_NO;
	if (!diff->options->is_json)
		printf("\n%s by more than %g %%.\n",
		       status == CLI_NO ? "Slower, beyond chance,"
					: "Nothing is slower, beyond chance,",
		       diff->options->fail_above_pct);
	return status;
}

static int compare(const struct diff *diff)
{
	if (!check_steps(diff) || !can_answer(diff) || !make_tables(diff) ||
	    !peer_processes_agree())
		return CLI_BAD;
	if (diff->options->is_json)
		print_json(diff);
	else
		print_text(diff);
	return cli_finish("diff", answer(diff));
}

/* The options that are about time and names do not go with it. */
static int compare_order(const struct diff *diff, int argc, char **argv)
{
	const struct options *options = diff->options;
	struct diff_order order = { .filter = diff->filter,
				    .is_json = options->is_json,
				    .limit = (gint)row_limit(diff) };

	if (options->views || options->base || options->sort || !isnan(options->fail_above_pct)) {
		cli_fail("diff", "--order cannot be combined with --view, --base, --sort or "
				 "--fail-above; leave these out");
		return CLI_BAD;
	}
	if (argc < 3) {
		cli_fail("diff", "name at least two runs to compare (see 'tacho diff --help')");
		return CLI_BAD;
	}
	return diff_order(&order, argv + 1, (guint)argc - 1);
}

static int diff_with(const struct options *options, int argc, char **argv)
{
	struct diff diff = { .options = options, .filter = TACHO_FILTER_INIT };
	int status = CLI_BAD;

	diff.sides = g_ptr_array_new_with_free_func(free_side);
	if (choose_views(&diff) && parse_filter(&diff)) {
		if (options->is_order)
			status = compare_order(&diff, argc, argv);
		else if (open_sides(&diff, argc, argv))
			status = compare(&diff);
	}
	g_ptr_array_unref(diff.sides);
	g_clear_pointer(&diff.filter.name, g_regex_unref);
	return status;
}

int cmd_diff(int argc, char **argv)
{
	struct options options = { .rank = OPTION_UNSET,
				   .limit = OPTION_UNSET,
				   .fail_above_pct = (gdouble)NAN };
	const GOptionEntry entries[] = {
		{ "view", 'v', 0, G_OPTION_ARG_STRING_ARRAY, &options.views,
		  "show only this view (may be given several times)", "VIEW" },
		{ "base", 'b', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.base,
		  "a run of the base; give it again for each repetition", "RUN" },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.is_json, "print JSON, for programs",
		  NULL },
		{ "rank", 'r', 0, G_OPTION_ARG_INT, &options.rank, "only this rank", "N" },
		{ "steps", 's', 0, G_OPTION_ARG_STRING, &options.steps,
		  "only training steps A to B, counted from 0; all: everything recorded",
		  "A:B|all" },
		{ "name", 'n', 0, G_OPTION_ARG_STRING, &options.name,
		  "only operations, kernels and collectives whose name matches", "REGEX" },
		{ "sort", 0, 0, G_OPTION_ARG_STRING, &options.sort,
		  "order the rows by this key of the JSON", "KEY" },
		{ "limit", 'l', 0, G_OPTION_ARG_INT, &options.limit, "at most N rows a view", "N" },
		{ "all", 'a', 0, G_OPTION_ARG_NONE, &options.is_all, "show every row", NULL },
		CLI_WIDTH_OPTIONS('w'),
		{ "order", 'o', 0, G_OPTION_ARG_NONE, &options.is_order,
		  "say whether both did the same work in the same order; exit with 1 if not",
		  NULL },
		{ "fail-above", 0, 0, G_OPTION_ARG_DOUBLE, &options.fail_above_pct,
		  "exit with 1 if a step takes over PCT percent longer", "PCT" },
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (!peer_processes_begin("diff", argc, argv))
		return CLI_BAD;
	if (cli_parse("diff", usage, description, entries, &argc, &argv))
		status = diff_with(&options, argc, argv);
	g_strfreev(options.views);
	g_strfreev(options.base);
	g_free(options.name);
	g_free(options.steps);
	g_free(options.sort);
	return peer_processes_end("diff", status);
}
