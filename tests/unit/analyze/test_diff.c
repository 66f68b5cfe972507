#include <tacho/diff.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EVERY_VIEW ((1u << TACHO_N_DIFF_VIEWS) - 1)
#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* Four steps of 10 ms, of which the first is warm-up; in `ranks` ranks. Of `step` alone, or all (-1). */
static TachoDiffRun *run_of_step(const gchar *text, guint n_ranks, const gchar *name, gint only)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GRegex) regex = name ? g_regex_new(name, 0, 0, NULL) : NULL;
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(GError) error = NULL;
	TachoDiffRun *run;

	filter.name = regex;
	if (only >= 0)
		filter.first_step = filter.last_step = only;
	for (guint rank = 0; rank < n_ranks; rank++)
		for (guint step = 0; step < 4; step++)
			add_step(timeline, rank, step, step * 10, step * 10 + 10);
	if (strstr(text, "collective"))
		add_collective(timeline, "allreduce", 4096);
	run = tacho_diff_run_new(timeline, &filter, EVERY_VIEW, "run", &error);
	g_assert_no_error(error);
	return run;
}

static TachoDiffRun *run_of(const gchar *text, guint n_ranks, const gchar *name)
{
	return run_of_step(text, n_ranks, name, -1);
}

/* A run a step, of the three that are no warm-up. */
struct three_runs {
	TachoDiffRun *runs[3];
	TachoDiffSide side;
};

static void three_runs_init(struct three_runs *three, const gchar *text)
{
	for (gint i = 0; i < 3; i++)
		three->runs[i] = run_of_step(text, 1, NULL, i + 1);
	three->side = (TachoDiffSide){ (const TachoDiffRun *const *)three->runs, 3 };
}

static void three_runs_release(struct three_runs *three)
{
	for (guint i = 0; i < 3; i++)
		tacho_diff_run_free(three->runs[i]);
}

static TachoTable *compare(TachoDiffView view, const TachoDiffRun *base, const TachoDiffRun *other)
{
	return tacho_diff_table(view, (TachoDiffSide){ &base, 1 }, (TachoDiffSide){ &other, 1 });
}

static guint find_row(const TachoTable *table, const gchar *name)
{
	for (guint i = 0; i < tacho_table_n_rows(table); i++)
		if (strcmp(tacho_table_cell_text(table, i, "name"), name) == 0)
			return i;
	g_error("no row %s", name);
}

static void expect_change(const TachoTable *table, const gchar *name, const gchar *change)
{
	g_assert_cmpstr(tacho_table_cell_text(table, find_row(table, name), "change"), ==, change);
}

/* mm takes 2, 3 and 4 ms of its own, 1 ms more with the add inside. */
static const gchar before[] = "rank 0 thread 1 main\n"
			      "  op mm 1..9\n"
			      "  op mm 10..13\n    op add 11..12\n"
			      "  op gone 15..16\n"
			      "  op mm 20..24\n    op add 21..22\n"
			      "  op mm 30..35\n    op add 31..32\n";

/* mm takes 6, 7 and 8 ms. */
static const gchar after[] = "rank 0 thread 1 main\n"
			     "  op mm 10..16\n"
			     "  op add 16..17\n"
			     "  op mm 20..27\n"
			     "  op add 27..28\n"
			     "  op new 28..29\n"
			     "  op mm 30..38\n"
			     "  op add 38..39\n  op add 39..39.5\n";

/* Means 3 and 7, variances 1: error sqrt(2/3), 4 degrees of freedom. */
static void test_by_hand(void)
{
	struct three_runs base, other;
	g_autoptr(TachoTable) table = NULL;
	gdouble t = 4 / sqrt(2.0 / 3), root = sqrt(1 + t * t / 4);
	gdouble p = 1 - 0.75 * t / root * (1 - t * t / (12 * root * root));

	three_runs_init(&base, before);
	three_runs_init(&other, after);
	table = tacho_diff_table(TACHO_DIFF_op, base.side, other.side);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 4);
	g_assert_cmpuint(find_row(table, "mm"), ==, 0); /* the largest difference */
	EXPECT(table, 0, "base_ms", 3);
	EXPECT(table, 0, "ms", 7);
	EXPECT(table, 0, "difference_ms", 4);
	EXPECT(table, 0, "difference_pct", 100.0 * 4 / 3);
	EXPECT(table, 0, "base_count", 1);
	EXPECT(table, 0, "count", 1);
	EXPECT(table, 0, "p_value", p);
	EXPECT(table, 0, "adjusted_p_value", 4 * p); /* the smallest of four */
	EXPECT(table, 0, "is_significant", 1);
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, 0, "low_ms"),
				       4 - 2.7764451 * sqrt(2.0 / 3), 1e-6);
	expect_change(table, "mm", "changed");
	expect_change(table, "gone", "removed");
	expect_change(table, "new", "added");
	expect_change(table, "add", "same"); /* one more in one step of three can be chance */
	EXPECT(table, find_row(table, "new"), "ms", 1.0 / 3);
	EXPECT(table, find_row(table, "new"), "is_significant", 0); /* in one step of three */
	g_assert_true(
		isnan(tacho_table_cell_number(table, find_row(table, "new"), "difference_pct")));
	EXPECT(table, find_row(table, "add"), "count", 4.0 / 3);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"1 added, 1 removed, 1 changed, 1 the same.");
	three_runs_release(&base);
	three_runs_release(&other);
}

/* Twice as long in each of three steps, which one run a side cannot tell from a slow minute. What is done
 * in another number is another program. */
static void test_single_runs(void)
{
	g_autoptr(TachoDiffRun) base = run_of(before, 1, NULL);
	g_autoptr(TachoDiffRun) other = run_of(after, 1, NULL);
	g_autoptr(TachoDiffRun) twice = run_of("rank 0 thread 1 main\n"
					       "  op mm 10..12\n  op mm 12..13\n"
					       "  op mm 20..22\n  op mm 22..24\n"
					       "  op mm 30..32\n  op mm 32..35\n",
					       1, NULL);
	g_autoptr(TachoTable) table = compare(TACHO_DIFF_op, base, other);
	g_autoptr(TachoTable) more = compare(TACHO_DIFF_op, base, twice);
	const TachoDiffRun *runs[] = { base, other };
	TachoStepDifference step = tacho_diff_step_time((TachoDiffSide){ &runs[0], 1 },
							(TachoDiffSide){ &runs[1], 1 });

	EXPECT(table, 0, "difference_ms", 4);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "p_value")));
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "low_ms")));
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "is_significant")));
	expect_change(table, "mm", "unknown");
	expect_change(table, "new", "added");
	expect_change(more, "mm", "changed");
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"1 added, 1 removed, 0 changed in number, 0 the same, 2 unknown (one run a "
			"side cannot show chance).");
	g_assert_cmpint(step.spread, ==, TACHO_SPREAD_NONE);
	g_assert_true(isnan(step.p_value) && isnan(step.low_ms));
	g_assert_cmpuint(step.n_base, ==, 1);
	g_assert_cmpuint(step.runs_needed, ==, TACHO_DIFF_GOOD_RUNS);
}

/* Ranks are no values of their own: a step is their mean, whatever else they are. */
static void test_ranks(void)
{
	g_autoptr(TachoDiffRun) base = run_of(before, 1, NULL);
	g_autofree gchar *text = g_strconcat(after, "rank 1 thread 2 main\n  op mm 11..13\n", NULL);
	g_autoptr(TachoDiffRun) other = run_of(text, 2, "^mm$");
	g_autoptr(TachoTable) table = compare(TACHO_DIFF_op, base, other);
	TachoDiffRunFacts facts = tacho_diff_run_facts(other);

	EXPECT(table, find_row(table, "mm"), "ms", (4 + 3.5 + 4) / 3);
	EXPECT(table, find_row(table, "mm"), "count", (1 + 0.5 + 0.5) / 3);
	expect_change(table, "add", "removed"); /* does not match the name asked for */
	g_assert_cmpuint(facts.n_ranks, ==, 2);
	g_assert_cmpuint(facts.n_steps, ==, 3);
	g_assert_cmpfloat(facts.step_ms, ==, 10);
}

static void test_step_parts(void)
{
	struct three_runs base, other;
	g_autoptr(TachoTable) table = NULL;
	guint compute;

	three_runs_init(&base, before);
	three_runs_init(&other, after);
	table = tacho_diff_table(TACHO_DIFF_step, base.side, other.side);
	compute = find_row(table, "compute");

	EXPECT(table, find_row(table, "step"), "base_ms", 10);
	EXPECT(table, find_row(table, "step"), "difference_ms", 0);
	EXPECT(table, find_row(table, "step"), "p_value", 1);
	EXPECT(table, compute, "base_ms", (4 + 4 + 5) / 3.0);
	EXPECT(table, compute, "ms", (7 + 9 + 9.5) / 3);
	EXPECT(table, find_row(table, "idle"), "difference_ms", -(25.5 - 13) / 3);
	three_runs_release(&base);
	three_runs_release(&other);
}

/* Runs of means 3, 4 and 5 against one of 7: variance 1, error sqrt(1 + 1/3), 2 degrees of freedom. */
static void test_several_runs(void)
{
	g_autoptr(TachoDiffRun) first = run_of(before, 1, NULL);
	g_autoptr(TachoDiffRun) second = run_of(
		"rank 0 thread 1 main\n  op mm 10..14\n  op mm 20..24\n  op mm 30..34\n", 1, NULL);
	g_autoptr(TachoDiffRun) third = run_of(
		"rank 0 thread 1 main\n  op mm 10..15\n  op mm 20..25\n  op mm 30..35\n", 1, NULL);
	g_autoptr(TachoDiffRun) other = run_of(after, 1, NULL);
	const TachoDiffRun *const base_runs[] = { first, second, third };
	const TachoDiffRun *const other_runs[] = { other };
	TachoDiffSide base = { base_runs, 3 }, with = { other_runs, 1 };
	g_autoptr(TachoTable) table = tacho_diff_table(TACHO_DIFF_op, base, with);
	TachoStepDifference step = tacho_diff_step_time(base, with);
	gdouble t = 3 / sqrt(4.0 / 3);
	guint add = find_row(table, "add");

	EXPECT(table, find_row(table, "mm"), "base_ms", 4);
	EXPECT(table, find_row(table, "mm"), "difference_ms", 3);
	EXPECT(table, find_row(table, "mm"), "p_value", 1 - t / sqrt(2 + t * t));
	EXPECT(table, add, "base_ms", 1.0 / 3); /* two runs have none */
	EXPECT(table, add, "base_count", 1.0 / 3);
	g_assert_cmpint(step.spread, ==, TACHO_SPREAD_RUNS);
	g_assert_cmpuint(step.n_base, ==, 3);
	g_assert_cmpuint(step.n, ==, 1);
	g_assert_false(step.is_significant);
}

/* What is on devices, in collectives and in regions. */
static void test_other_views(void)
{
	g_autoptr(TachoDiffRun) base =
		run_of("rank 0 thread 1 main\n"
		       "  annotation Step#1 10..19\n  annotation Step# 20..28\n"
		       "  op conv 11..13\n"
		       "  runtime launch 11..12\n"
		       "  collective allreduce 13..16 bytes=4096\n"
		       "  stream 7\n  kernel gemm 13..16 launch=launch\n  memcpy HtoD 16..17\n",
		       1, NULL);
	g_autoptr(TachoDiffRun) other =
		run_of("rank 0 thread 1 main\n"
		       "  annotation Step#21 10..19\n  annotation Step#22 20..29\n"
		       "  annotation Step#x 30..31\n",
		       1, NULL);
	static const struct {
		TachoDiffView view;
		const gchar *name, *change;
		gdouble base_ms;
	} expected[] = {
		{ TACHO_DIFF_region, "Step#", "unknown", 17.0 / 3 },
		{ TACHO_DIFF_region, "Step#x", "added", 0 },
		{ TACHO_DIFF_runtime, "launch", "removed", 1.0 / 3 },
		{ TACHO_DIFF_comm, "allreduce", "removed", 1 },
		{ TACHO_DIFF_kernel, "gemm", "removed", 1 },
		{ TACHO_DIFF_kernel, "HtoD", "removed", 1.0 / 3 },
		{ TACHO_DIFF_device, "conv", "removed", 1 },
		{ TACHO_DIFF_device, "HtoD", "removed", 1.0 / 3 }, /* by no operation */
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autoptr(TachoTable) table = compare(expected[i].view, base, other);

		expect_change(table, expected[i].name, expected[i].change);
		EXPECT(table, find_row(table, expected[i].name), "base_ms", expected[i].base_ms);
	}
}

/* Without steps a run is one value, and nothing says what is chance. */
static void test_no_steps(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n  op mm 0..4\n  op mm 5..7\n");
	g_autoptr(TachoDiffRun) run = tacho_diff_run_new(timeline, NULL, EVERY_VIEW, "run", NULL);
	g_autoptr(TachoTable) table = compare(TACHO_DIFF_op, run, run);
	const TachoDiffRun *const runs[] = { run };
	TachoDiffSide side = { runs, 1 };
	TachoStepDifference step = tacho_diff_step_time(side, side);

	EXPECT(table, 0, "ms", 6);
	EXPECT(table, 0, "count", 2);
	g_assert_true(isnan(tacho_table_cell_number(table, 0, "is_significant")));
	expect_change(table, "mm", "same");
	g_assert_cmpfloat(step.ms, ==, 7);
	g_assert_cmpint(step.spread, ==, TACHO_SPREAD_NONE);
	g_assert_false(step.is_significant);
}

static void test_errors(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(before);
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(GError) error = NULL;

	add_step(timeline, 0, 0, 0, 10);
	filter.rank = 3;
	g_assert_null(tacho_diff_run_new(timeline, &filter, EVERY_VIEW, "run", &error));
	g_assert_error(error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_RANK);
	g_clear_error(&error);
	filter.rank = -1;
	filter.first_step = 5;
	g_assert_null(tacho_diff_run_new(timeline, &filter, EVERY_VIEW, "run", &error));
	g_assert_error(error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_STEP);
}

/* Times as far apart as a timeline can hold them, and steps that lie on each other. */
static void test_hostile(void)
{
	g_autofree gchar *text = g_strdup_printf("unit ns\nrank 0 thread 1 main\n"
						 "  op a 0..%" G_GINT64_FORMAT
						 "\n    op a 1..%" G_GINT64_FORMAT "\n",
						 TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS - 1);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	TachoStep steps[] = { { 0, 0, 0, TACHO_MAX_TIME_NS, TRUE },
			      { 0, G_MAXUINT32, 0, 1, TRUE },
			      { 0, G_MAXUINT32, 0, TACHO_MAX_TIME_NS, TRUE } };
	g_autoptr(TachoDiffRun) run = NULL;

	g_array_append_vals(timeline->steps, steps, G_N_ELEMENTS(steps));
	run = tacho_diff_run_new(timeline, NULL, EVERY_VIEW, "run", NULL);
	for (guint view = 0; view < TACHO_N_DIFF_VIEWS; view++) {
		g_autoptr(TachoTable) table = compare((TachoDiffView)view, run, run);

		for (guint i = 0; i < tacho_table_n_rows(table); i++)
			EXPECT(table, i, "difference_ms", 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/diff/by_hand", test_by_hand);
	g_test_add_func("/diff/single_runs", test_single_runs);
	g_test_add_func("/diff/ranks", test_ranks);
	g_test_add_func("/diff/step_parts", test_step_parts);
	g_test_add_func("/diff/several_runs", test_several_runs);
	g_test_add_func("/diff/other_views", test_other_views);
	g_test_add_func("/diff/no_steps", test_no_steps);
	g_test_add_func("/diff/errors", test_errors);
	g_test_add_func("/diff/hostile", test_hostile);
	return g_test_run();
}
