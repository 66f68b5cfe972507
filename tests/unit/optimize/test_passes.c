/* What each pass tries, on jobs whose best change one can work out by hand. Times are microseconds. */
#include <tacho/correlate.h>
#include <tacho/optimize.h>

#include <string.h>

#include "optimize/plan.h"
#include "timeline_text.h"

/* Two modules of one kind, whose operations hand out 100 each, which their backward passes need. */
static const gchar modules[] = "unit us\n"
			       "rank 0 thread 1000 main\n"
			       "  annotation ProfilerStep#0 0..100\n"
			       "    module \"Net.layers.0 (Linear)\" 0..10\n"
			       "      op aten::linear 0..10 seq=1\n"
			       "    module \"Net.layers.1 (Linear)\" 10..20\n"
			       "      op aten::linear 10..20 seq=2\n"
			       "    op last 20..40\n"
			       "    op AddmmBackward0 40..60 backward seq=2 fwd=1\n"
			       "    op AddmmBackward0 60..80 backward seq=1 fwd=1\n"
			       "    op optimizer 80..100\n"
			       "  alloc 5 address=4096 bytes=100\n"
			       "  alloc 15 address=8192 bytes=100\n"
			       "  alloc 25 address=12288 bytes=60\n"
			       "  free 35 address=12288 bytes=60\n"
			       "  free 55 address=8192 bytes=100\n"
			       "  free 75 address=4096 bytes=100\n";

/* The host is far ahead: 5 us between kernels. */
static const gchar kernels[] =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..200\n"
	"    op aten::mul 0..10\n"
	"      runtime cudaLaunchKernel 2..8\n"
	"    op aten::add 10..20\n"
	"      runtime cudaLaunchKernel#2 12..18\n"
	"    op aten::mm 20..30\n"
	"      runtime cudaLaunchKernel#3 22..28\n"
	"    runtime cudaDeviceSynchronize 60..180\n"
	"stream 7\n"
	"  kernel elementwise_kernel<mul> 100..120 launch=cudaLaunchKernel\n"
	"  kernel elementwise_kernel<add> 125..145 launch=cudaLaunchKernel#2\n"
	"  kernel sgemm 150..170 launch=cudaLaunchKernel#3\n";

/* Each kernel begins when it has been launched. */
static const gchar launches[] = "unit us\n"
				"rank 0 thread 1000 main\n"
				"  annotation ProfilerStep#0 0..40\n"
				"    op aten::mm 0..10\n"
				"      runtime cudaLaunchKernel 2..8\n"
				"    op aten::mm 10..20\n"
				"      runtime cudaLaunchKernel#2 12..18\n"
				"    runtime cudaDeviceSynchronize 20..30\n"
				"stream 7\n"
				"  kernel sgemm 10..12 launch=cudaLaunchKernel\n"
				"  kernel sgemm 20..22 launch=cudaLaunchKernel#2\n";

#define BACKWARD "\"autograd::engine::evaluate_function: AddmmBackward0\""
#define GRADIENT "\"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\""

/* Calling an operation takes 2; all else goes with the samples. */
static const gchar samples[] = "unit us\n"
			       "rank 0 thread 1000 main\n"
			       "  annotation ProfilerStep#0 0..100\n"
			       "    op aten::view 10..12\n"
			       "    op aten::view 12..14\n"
			       "    op aten::mm 14..40\n"
			       "    op " BACKWARD " 40..70\n"
			       "    op " GRADIENT " 70..80\n"
			       "    op optimizer 80..100\n"
			       "  alloc 30 address=8192 bytes=1000\n"
			       "  alloc 50 address=12288 bytes=10\n"
			       "  free 60 address=8192 bytes=1000\n";

static TachoOptimization *optimize_beside(const gchar *text, TachoTimeline **ret_timeline,
					  guint allowed, guint64 memory_bytes,
					  const TachoPlan *precision)
{
	TachoRecording recording = { "job", NULL };
	TachoOptimizeOptions options = { .max_tried = 100,
					 .seed = 1,
					 .allowed = allowed,
					 .memory_bytes = memory_bytes,
					 .precision_plan = precision,
					 .first_step = -1,
					 .last_step = -1 };
	g_autoptr(GError) error = NULL;
	TachoOptimization *optimization;

	recording.timeline = *ret_timeline = timeline_from_text(text);
	tacho_correlate(*ret_timeline);
	optimization = tacho_optimize(&recording, 1, &options, &error);
	g_assert_no_error(error);
	return optimization;
}

static TachoOptimization *optimize(const gchar *text, TachoTimeline **ret_timeline, guint allowed,
				   guint64 memory_bytes)
{
	return optimize_beside(text, ret_timeline, allowed, memory_bytes, NULL);
}

/* The row whose change has these words; -1: there is none. */
static gint row_of(const TachoOptimization *optimization, const gchar *words)
{
	for (guint i = 0; i < optimization->plans->len; i++)
		if (strstr(tacho_table_cell_text(optimization->candidates, i, "change"), words))
			return (gint)i;
	return -1;
}

static void assert_row(const TachoOptimization *optimization, const gchar *words, gdouble step_us)
{
	gint row = row_of(optimization, words);

	g_assert_cmpint(row, >=, 0);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(optimization->candidates, (guint)row, "predicted_step_ms"),
		step_us * 1e-3, 1e-5);
}

static gboolean has_note(const TachoOptimization *optimization, const gchar *words)
{
	for (guint i = 0; i < optimization->notes->len; i++)
		if (strstr(optimization->notes->pdata[i], words))
			return TRUE;
	return FALSE;
}

/* At 25 there are 260. With one module computed again there are 160, for 10 us more, with both 100; each suffices for its own. */
static void test_memory(void)
{
	static const struct {
		guint64 bytes;
		guint n_modules;
		gdouble step_us;
	} cases[] = { { 260, 0, 0 }, { 259, 1, 110 }, { 160, 1, 110 }, { 159, 2, 120 } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		g_autoptr(TachoOptimization) found =
			optimize(modules, &timeline, TACHO_ALLOW_NOTHING, cases[i].bytes);
		const struct plan_change *change;

		if (cases[i].n_modules == 0) {
			g_assert_cmpint(row_of(found, "computed again"), ==, -1);
			continue;
		}
		assert_row(found, "computed again", cases[i].step_us);
		change = plan_find(found->plans->pdata[row_of(found, "computed again")],
				   PLAN_CHECKPOINT);
		g_assert_cmpuint(change->names->len, ==, cases[i].n_modules);
		g_assert_cmpstr(change->names->pdata[0], ==, "layers.0");
		g_assert_cmpfloat(
			tacho_table_cell_number(found->candidates, 0, "peak_memory_bytes"), <=,
			(gdouble)cases[i].bytes);
	}
}

/* Nothing brings it below what is not handed out by modules; and of a job whose memory is not known, nothing can be said. */
static void test_no_memory(void)
{
	g_autoptr(TachoTimeline) timeline = NULL, other = NULL;
	g_autoptr(TachoOptimization) found = optimize(modules, &timeline, TACHO_ALLOW_NOTHING, 50);
	g_autoptr(TachoOptimization) unknown = optimize(kernels, &other, TACHO_ALLOW_NOTHING, 50);

	g_assert_cmpint(row_of(found, "computed again"), ==, -1);
	g_assert_true(has_note(found, "nothing that was tried brings the job within its memory"));
	g_assert_true(has_note(unknown, "does not tell what memory the job holds"));
}

/* The sum follows the product of elements: 5 us less. What memory does not bound stays a kernel. */
static void test_clusters(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoOptimization) found = optimize(kernels, &timeline, TACHO_ALLOW_NOTHING, 0);
	const struct plan_change *change;

	assert_row(found, "fused", 195);
	change = plan_find(found->plans->pdata[row_of(found, "fused")], PLAN_CLUSTERS);
	g_assert_cmpuint(change->n_of->len, ==, 1);
	g_assert_cmpuint(change->names->len, ==, 2);
	g_assert_cmpstr(change->names->pdata[0], ==, "aten::mul");
	g_assert_cmpstr(change->names->pdata[1], ==, "aten::add");
	g_assert_cmpfloat(tacho_table_cell_number(found->candidates, 0, "is_applicable"), ==, 0);
}

/* The second call begins at 4 + 2 instead of 12, and the way to the device stays 8 us, the kernel 2, what is behind it 8 and 10. */
static void test_graphs(void)
{
	g_autoptr(TachoTimeline) timeline = NULL, other = NULL;
	g_autoptr(TachoOptimization) found = optimize(launches, &timeline, TACHO_ALLOW_NOTHING, 0);
	g_autoptr(TachoOptimization) none = optimize(samples, &other, TACHO_ALLOW_NOTHING, 0);

	assert_row(found, "device graph", 4 + 2 + 8 + 2 + 8 + 10);
	g_assert_cmpint(row_of(none, "device graph"), ==, -1);
}

/* Twice the samples take 10 + 4 + 50 + 58 + 10 + 20, for as many samples half of that; where there is memory for them. */
static void test_batch(void)
{
	g_autoptr(TachoTimeline) timeline = NULL, other = NULL, third = NULL;
	g_autoptr(TachoOptimization) found = optimize(samples, &timeline, TACHO_ALLOW_BATCH, 0);
	g_autoptr(TachoOptimization) small = optimize(samples, &other, TACHO_ALLOW_BATCH, 2009);
	g_autoptr(TachoOptimization) never = optimize(samples, &third, TACHO_ALLOW_NOTHING, 0);

	assert_row(found, "2 times the samples", (10 + 4 + 50 + 58 + 10 + 20) / 2.0);
	g_assert_cmpint(row_of(small, "times the samples"), ==, -1);
	g_assert_true(has_note(small, "2 times the samples a step would need more memory"));
	g_assert_cmpint(row_of(never, "times the samples"), ==, -1);
}

/* Told of steps of 40 ms: 30 of them, from 28 to 34. The job's take 100 us. Where nothing is gained, it is not proposed. */
static void test_precision(void)
{
	g_autoptr(TachoTimeline) timeline = NULL, other = NULL;
	g_autoptr(TachoOptimization) found = NULL, none = NULL;
	g_autoptr(TachoPlan) plan = plan_new(1);
	struct plan_precision narrow = { .module = (gchar *)"layers.0",
					 .kind = (gchar *)"linear",
					 .format = "bf16",
					 .last_rank = PLAN_MAX_RANKS - 1 };
	gint row;

	g_assert_true(plan_add_precision(plan, &narrow));
	plan->baseline_step_ms = 40;
	plan->predicted_step_ms = 30;
	plan->has_interval = TRUE;
	plan->interval_ms[0] = 28;
	plan->interval_ms[1] = 34;
	found = optimize_beside(modules, &timeline, TACHO_ALLOW_PRECISION, 0, plan);
	assert_row(found, "precisions of their own", 75);
	row = row_of(found, "precisions of their own");
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(found->candidates, (guint)row, "low_ms"), 0.07, 1e-5);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(found->candidates, (guint)row, "high_ms"), 0.085, 1e-5);
	g_assert_nonnull(plan_find(found->plans->pdata[row], PLAN_PRECISION));
	plan->predicted_step_ms = 40;
	none = optimize_beside(modules, &other, TACHO_ALLOW_PRECISION, 0, plan);
	g_assert_cmpint(row_of(none, "precisions of their own"), ==, -1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/passes/memory", test_memory);
	g_test_add_func("/passes/no_memory", test_no_memory);
	g_test_add_func("/passes/clusters", test_clusters);
	g_test_add_func("/passes/graphs", test_graphs);
	g_test_add_func("/passes/batch", test_batch);
	g_test_add_func("/passes/precision", test_precision);
	return g_test_run();
}
