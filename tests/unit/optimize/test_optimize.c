/* What is found for small jobs whose best buckets one can work out by hand, and what is said where there is nothing to find. */
#include <tacho/correlate.h>
#include <tacho/optimize.h>

#include <string.h>

#include "job_text.h"
#include "json_check.h"
#include "optimize/bucket_judge.h"
#include "optimize/bucket_problem.h"
#include "optimize/bucket_schedule.h"
#include "optimize/plan.h"
#include "predict/prediction.h"
#include "timeline_text.h"

static TachoOptimization *optimize(TachoTimeline *timeline, guint allowed)
{
	g_autoptr(GError) error = NULL;
	TachoRecording recording = { "job", timeline };
	TachoOptimizeOptions options = {
		.max_tried = 10000, .seed = 1, .allowed = allowed, .first_step = -1, .last_step = -1
	};
	TachoOptimization *optimization = tacho_optimize(&recording, 1, &options, &error);

	g_assert_no_error(error);
	return optimization;
}

static gboolean has_note(const TachoOptimization *optimization, const gchar *words)
{
	for (guint i = 0; i < optimization->notes->len; i++)
		if (strstr(optimization->notes->pdata[i], words))
			return TRUE;
	return FALSE;
}

/* Gradients come at 10, 20, 30 and 40, and a bucket takes 2 us and 4 us a MiB: all but the last sent before, 40 + 6 and the optimizer's
 * 6 us are the least there is. As recorded it is 60. */
static void test_buckets(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job_buckets);
	g_autoptr(TachoOptimization) optimization = NULL;
	const struct plan_change *buckets;
	const TachoPlan *plan;
	guint row;

	tacho_correlate(timeline);
	optimization = optimize(timeline, TACHO_ALLOW_NOTHING);
	g_assert_cmpuint(optimization->n_gradients, ==, 4);
	g_assert_cmpuint(optimization->n_recorded_buckets, ==, 2);
	g_assert_cmpfloat_with_epsilon(optimization->baseline_step_ms, 0.060, 1e-6);
	g_assert_true(optimization->is_exhaustive);
	g_assert_true(tacho_optimization_best(optimization, &row));
	g_assert_cmpuint(row, ==, 0);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(optimization->candidates, 0, "predicted_step_ms"), 0.052,
		1e-6);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(optimization->candidates, 0, "gain_pct"), 100.0 * 8 / 60,
		1e-3);
	plan = optimization->plans->pdata[0];
	g_assert_cmpuint(plan->n_ranks, ==, 2);
	g_assert_cmpuint(plan->gradients->len, ==, 4);
	g_assert_cmpuint(g_array_index(plan->gradients, struct plan_gradient, 3).bytes, ==,
			 1 << 20);
	buckets = plan_find(plan, PLAN_BUCKETS);
	/* three are enough, and the last has the last gradient alone */
	g_assert_cmpuint(buckets->n_of->len, ==, 3);
	g_assert_cmpuint(g_array_index(buckets->n_of, guint32, 2), ==, 1);
	g_assert_true(tacho_plan_check_applicable(plan, NULL));
}

/* What the search goes by is what the replay plays, on a job without chance. */
static void check_problem(const gchar *text, const gdouble ready_ns[4], gdouble call_ns)
{
	static const struct {
		guint32 ends[4], n;
	} partitions[] = { { { 4 }, 1 },
			   { { 1, 4 }, 2 },
			   { { 2, 4 }, 2 },
			   { { 1, 2, 4 }, 3 },
			   { { 1, 2, 3, 4 }, 4 } };
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoPrediction) prediction = NULL;
	struct bucket_problem *problem;

	tacho_correlate(timeline);
	prediction = tacho_predict(timeline, NULL, 0, -1, -1, NULL);
	problem = bucket_problem_new(prediction->graph, NULL);
	g_assert_cmpuint(problem->n, ==, 4);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpfloat_with_epsilon(problem->ready_ns[i], ready_ns[i], 1);
	g_assert_cmpfloat_with_epsilon(problem->tail_ns, 6000, 1);
	g_assert_cmpfloat_with_epsilon(problem->call_ns, call_ns, 1);
	g_assert_cmpuint(problem->n_recorded, ==, 2);
	g_assert_cmpuint(problem->recorded_ends[0], ==, 1);
	for (guint i = 0; i < G_N_ELEMENTS(partitions); i++) {
		g_autoptr(GString) fusion = g_string_new("fusion=");
		gdouble over_ns[4];
		guint32 begin = 0;

		for (guint32 j = 0; j < partitions[i].n; begin = partitions[i].ends[j++])
			g_string_append_printf(fusion, "%s%u", j ? "," : "",
					       partitions[i].ends[j] - begin);
		g_assert_cmpfloat_with_epsilon(
			bucket_schedule_ns(problem, partitions[i].ends, partitions[i].n, over_ns) *
				1e-6,
			bucket_judge_fusion_ms(prediction->graph, fusion->str, NULL), 1e-5);
	}
	bucket_problem_free(problem);
}

static void test_problem(void)
{
	/* the graph's: the first bucket is queued as the second gradient's operation begins, and counts as queued in it */
	static const gdouble ready_ns[] = { 0, 10000, 30000, 40000 };

	check_problem(job_buckets, ready_ns, 0);
}

static void test_calls(void)
{
	static const gdouble ready_ns[] = { 15000, 25000, 35000, 45000 };

	check_problem(job_bucket_calls, ready_ns, 2000);
}

/* Buckets of a gradient each, of which the last took 9 us and the others 6: no other partition is better, and what chance did is no
 * gain. */
#define JOB_HELD_UP_OF_A_RANK                                                                      \
	"  annotation ProfilerStep#0 0..55\n" JOB_MIB_GRADIENT(0, 10) JOB_MIB_GRADIENT(10, 20)     \
		JOB_MIB_GRADIENT(20, 30) JOB_MIB_GRADIENT(                                         \
			30, 40) "    collective gloo:all_reduce 10..16 bytes=1048576 end_tid=9\n"  \
				"    collective gloo:all_reduce 20..26 bytes=1048576 end_tid=9\n"  \
				"    collective gloo:all_reduce 30..36 bytes=1048576 end_tid=9\n"  \
				"    collective gloo:all_reduce 40..49 bytes=1048576 end_tid=9\n"  \
				"    op optimizer 49..55\n"

static void test_chance(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("unit us\nrank 0 thread 1000 main\n" JOB_HELD_UP_OF_A_RANK
				   "rank 1 thread 1001 main\n" JOB_HELD_UP_OF_A_RANK);
	g_autoptr(TachoOptimization) optimization = NULL;

	tacho_correlate(timeline);
	optimization = optimize(timeline, TACHO_ALLOW_NOTHING);
	g_assert_cmpuint(optimization->n_recorded_buckets, ==, 4);
	g_assert_cmpfloat_with_epsilon(optimization->baseline_step_ms, 0.055, 1e-6);
	g_assert_cmpuint(optimization->plans->len, ==, 0);
}

/* A job without gradients: nothing to plan, and no error. */
static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job_late_rank);
	g_autoptr(TachoOptimization) optimization = NULL;
	guint row;

	tacho_correlate(timeline);
	optimization = optimize(timeline, TACHO_ALLOW_BATCH);
	g_assert_cmpuint(optimization->plans->len, ==, 0);
	g_assert_false(tacho_optimization_best(optimization, &row));
	g_assert_true(has_note(optimization, "buckets of gradients cannot be planned"));
	g_assert_true(has_note(optimization, "no change that was tried"));
}

static gint row_of(const TachoOptimization *optimization, const gchar *words)
{
	for (guint i = 0; i < optimization->plans->len; i++)
		if (strstr(tacho_table_cell_text(optimization->candidates, i, "change"), words))
			return (gint)i;
	return -1;
}

/* In 16 bits, the recorded buckets take 40 + 2 + 6 and 6; the best buckets 40 + 2 + 2 and 6, as the last gradient is alone in its
 * bucket. */
static void test_compression(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job_buckets);
	g_autoptr(TachoOptimization) none = NULL;
	g_autoptr(TachoOptimization) optimization = NULL;
	const struct plan_change *change;
	gint both;

	tacho_correlate(timeline);
	none = optimize(timeline, TACHO_ALLOW_NOTHING);
	g_assert_cmpint(row_of(none, "16 bits"), ==, -1);
	optimization = optimize(timeline, TACHO_ALLOW_COMPRESSION);
	both = row_of(optimization, "16 bits, 4 in");
	g_assert_cmpint(both, ==, 0);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(optimization->candidates, 0, "predicted_step_ms"), 0.050,
		1e-6);
	change = plan_find(optimization->plans->pdata[0], PLAN_COMPRESSION);
	g_assert_cmpstr(change->word, ==, "bf16");
	g_assert_nonnull(plan_find(optimization->plans->pdata[0], PLAN_BUCKETS));
	g_assert_true(tacho_plan_check_applicable(optimization->plans->pdata[0], NULL));
}

/* A pass that is left out finds nothing. */
static void test_passes(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job_buckets);
	TachoRecording recording = { "job", timeline };
	TachoOptimizeOptions options = {
		.max_tried = 100, .seed = 1, .first_step = -1, .last_step = -1
	};
	g_autoptr(TachoOptimization) optimization = NULL;
	const gchar *name, *description;
	guint n = 0;

	for (; (name = tacho_optimize_pass(n, &description)); n++)
		if (strcmp(name, "buckets") == 0)
			options.left_out_passes = 1u << n;
	g_assert_cmpuint(n, ==, 11);
	tacho_correlate(timeline);
	optimization = tacho_optimize(&recording, 1, &options, NULL);
	g_assert_cmpuint(optimization->plans->len, ==, 0);
	g_assert_cmpuint(tacho_table_n_rows(optimization->trajectory), ==, 0);
}

/* The best plan, as a report has it: 60 us become 52. */
static void test_finding(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job_buckets);
	g_autoptr(TachoTimeline) other = timeline_from_text(job_late_rank);
	g_autoptr(TachoTable) found = NULL;

	tacho_correlate(timeline);
	found = tacho_optimize_finding(timeline, -1, -1);
	g_assert_nonnull(found);
	g_assert_cmpuint(tacho_table_n_rows(found), ==, 1);
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(found, 0, "gain_pct"),
				       100.0 * 8 / 60, 1e-3);
	tacho_correlate(other);
	g_assert_null(tacho_optimize_finding(other, -1, -1));
}

static gchar *print_json(const TachoOptimization *optimization)
{
	gchar *text = NULL;
	gsize n;
	FILE *out = open_memstream(&text, &n);

	tacho_optimization_print_json(optimization, out);
	fclose(out);
	return text;
}

static void check_json(const gchar *job, gdouble predicted_ms, gsize n_plans)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	g_autoptr(TachoOptimization) optimization = NULL;
	g_autofree gchar *storage = NULL;
	struct json_object object, plan;
	gchar *text;

	tacho_correlate(timeline);
	optimization = optimize(timeline, TACHO_ALLOW_NOTHING);
	text = print_json(optimization);
	object = json_check_text(text, &storage);
	json_check_number(&object, "baseline_step_ms", optimization->baseline_step_ms);
	json_check_number(&object, "search_ms", optimization->search_ms);
	json_check_number(&object, "candidates_tried", (gdouble)optimization->candidates_tried);
	if (n_plans) {
		json_check_number(
			&object, "predicted_step_ms",
			tacho_table_cell_number(optimization->candidates, 0, "predicted_step_ms"));
		g_assert_cmpfloat_with_epsilon(
			tacho_table_cell_number(optimization->candidates, 0, "predicted_step_ms"),
			predicted_ms, 1e-6);
	}
	plan = json_object_member(&object, "plan");
	g_assert_cmpint(plan.at != NULL, ==, n_plans > 0);
	if (plan.at) { /* as it would be read from a file */
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoPlan) again =
			plan_parse(plan.at, (gsize)(plan.end - plan.at), &error);

		g_assert_no_error(error);
		g_assert_cmpuint(again->gradients->len, ==, 4);
	}
	json_check_rows(&object, "candidates", optimization->candidates,
			tacho_table_n_rows(optimization->candidates), 13);
	free(text);
}

static void test_json(void)
{
	check_json(job_buckets, 0.052, 1);
	check_json(job_late_rank, 0, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/optimize/buckets", test_buckets);
	g_test_add_func("/optimize/problem", test_problem);
	g_test_add_func("/optimize/calls", test_calls);
	g_test_add_func("/optimize/chance", test_chance);
	g_test_add_func("/optimize/compression", test_compression);
	g_test_add_func("/optimize/passes", test_passes);
	g_test_add_func("/optimize/finding", test_finding);
	g_test_add_func("/optimize/nothing", test_nothing);
	g_test_add_func("/optimize/json", test_json);
	return g_test_run();
}
