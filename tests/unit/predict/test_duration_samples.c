/* Durations in the mean, in the median, and drawn from what was measured. Times are microseconds. */
#include <sched.h>

#include "base/worker_pool.h"
#include "job_graph.h"
#include "predicted.h"
#include "replay/replay_internal.h"
#include "timeline_text.h"

/* After the first step, a takes 10, 20 and 60, b 10, 30 and 20, and the host 5 between them. */
static const gchar alone[] = "unit us\n"
			     "rank 0 thread 1000 main\n"
			     "  annotation ProfilerStep#0 0..100\n"
			     "    op a 0..100\n"
			     "  annotation ProfilerStep#1 100..125\n"
			     "    op a 100..110\n"
			     "    op b 115..125\n"
			     "  annotation ProfilerStep#2 125..180\n"
			     "    op a 125..145\n"
			     "    op b 150..180\n"
			     "  annotation ProfilerStep#3 180..265\n"
			     "    op a 180..240\n"
			     "    op b 245..265\n";

/* An all-reduce of 9 us in one step, of 19 in the next. What one of that size takes in the middle, 14, is
 * bytes; 5 of the second are waits. */
#define TWO_STEPS                                                                                  \
	"  annotation ProfilerStep#0 0..5\n"                                                       \
	"    op a 0..5\n"                                                                          \
	"  annotation ProfilerStep#1 5..30\n"                                                      \
	"    op a 5..10\n"                                                                         \
	"    op c10d::allreduce_ 10..11\n"                                                         \
	"    op b 20..30\n"                                                                        \
	"    collective gloo:all_reduce 11..20 bytes=1024 end_tid=9\n"                             \
	"  annotation ProfilerStep#2 30..65\n"                                                     \
	"    op a 30..35\n"                                                                        \
	"    op c10d::allreduce_ 35..36\n"                                                         \
	"    op b 55..65\n"                                                                        \
	"    collective gloo:all_reduce 36..55 bytes=1024 end_tid=9\n"

static const gchar together[] =
	"unit us\nrank 0 thread 1000 main\n" TWO_STEPS "rank 1 thread 1001 main\n" TWO_STEPS;

static TachoPrediction *sample(TachoTimeline *timeline, const gchar *what_ifs, guint32 n_samples,
			       guint64 seed)
{
	g_autoptr(GError) error = NULL;
	TachoPrediction *prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	g_assert_true(tacho_prediction_sample(prediction, n_samples, seed, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(prediction->n_samples, ==, n_samples);
	return prediction;
}

static void assert_us(gdouble value_ms, gdouble expected_us)
{
	g_assert_cmpfloat_with_epsilon(value_ms * 1000, expected_us, 1e-6);
}

static void test_middle(void)
{
	assert_predicted(alone, "durations=measured", 55);
	assert_predicted(alone, "durations=mean", 30 + 5 + 20);
	assert_predicted(alone, "durations=median", 20 + 5 + 20);
	assert_predicted(alone, "scale:op~a=2;durations=median", 40 + 5 + 20);
	assert_predicted(alone, "durations=median;scale:op~a=2", 40 + 5 + 20);
	assert_predicted(together, "durations=mean", 6 + 14 + 10);
	assert_predicted(together, "durations=mean;bandwidth=2x",
			 6 + 2.5 + (9 + 14) / 2.0 / 2 + 10);
	assert_refused(alone, "durations=best", "write durations=");
}

/* For a and b in one step, nine pairs are equally likely: 20, 30 ... 90 us, and 5 for the host. The
 * interval of 95 % reaches from the least to the greatest sum, since each of these is one in nine. */
static void test_draws(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(alone);
	g_autoptr(TachoPrediction) prediction = sample(timeline, "", 2000, 7);

	assert_us(prediction->steps_interval_ms[0], 20 + 5);
	assert_us(prediction->steps_interval_ms[1], 90 + 5);
	/* 20 30 40 30 40 50 70 80 90: the fifth is 40 */
	assert_us(prediction->predicted_step_ms, 40 + 5);
	g_assert_cmpfloat(prediction->median_interval_ms[0], >=, 0.025);
	g_assert_cmpfloat(prediction->median_interval_ms[1], <=, 0.095);
	g_assert_cmpfloat(prediction->median_interval_ms[0], <, prediction->median_interval_ms[1]);
}

static void test_collective(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(together);
	g_autoptr(TachoPrediction) prediction = sample(timeline, "bandwidth=2x", 500, 1);

	assert_us(prediction->steps_interval_ms[0], 6 + 4.5 + 10);
	assert_us(prediction->steps_interval_ms[1], 6 + 5 + 7 + 10);
}

static void test_one_step(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("unit us\nrank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..10\n    op a 0..10\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "", &error);

	g_assert_no_error(error);
	g_assert_false(tacho_prediction_sample(prediction, 10, 1, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS);
	assert_us(prediction->predicted_step_ms, 10);
}

/* A job whose links and workers are shared; a prediction of nothing but what sampling looks at. */
static void sample_job(TachoPrediction *prediction, guint64 seed)
{
	static const struct job_shape shape = {
		.n_ranks = 3,
		.ranks_per_host = 1,
		.n_ops = 600,
		.n_steps = 3,
		.op_ns = 20000,
		.ops_per_collective = 20,
		.ops_to_wait = 15,
		.n_workers = 2,
		.transfer_ns = 150000,
		.taken_share = 0.2,
		.seed = 1,
	};
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &shape);
	g_autoptr(GError) error = NULL;

	g_assert_true(graph_freeze(graph, &error));
	prediction->graph = graph;
	prediction->last_step = 2;
	g_assert_true(tacho_prediction_sample(prediction, 64, seed, &error));
	g_assert_no_error(error);
}

/* The same on one core, where there is one thread only. */
static void sample_on_one_core(TachoPrediction *prediction, guint64 seed)
{
	cpu_set_t all, one;
	int core = 0;

	g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
	while (!CPU_ISSET(core, &all))
		core++;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
	g_assert_cmpuint(worker_pool_n_workers(), ==, 1);
	sample_job(prediction, seed);
	g_assert_cmpint(sched_setaffinity(0, sizeof(all), &all), ==, 0);
}

static void release(TachoPrediction *prediction)
{
	g_clear_pointer(&prediction->predicted_steps, g_array_unref);
	g_clear_pointer(&prediction->sample_medians, g_array_unref);
}

/* However the samples are shared out to threads, they are the same; another seed gives others. */
static void test_same(void)
{
	TachoPrediction first = { 0 }, again = { 0 }, other = { 0 };

	sample_on_one_core(&first, 1);
	for (guint i = 0; i < 5; i++) {
		sample_job(&again, 1);
		g_assert_cmpfloat(first.predicted_step_ms, ==, again.predicted_step_ms);
		g_assert_cmpfloat(first.steps_interval_ms[0], ==, again.steps_interval_ms[0]);
		g_assert_cmpfloat(first.steps_interval_ms[1], ==, again.steps_interval_ms[1]);
		g_assert_cmpfloat(first.median_interval_ms[0], ==, again.median_interval_ms[0]);
		g_assert_cmpfloat(first.median_interval_ms[1], ==, again.median_interval_ms[1]);
	}
	sample_job(&other, 2);
	g_assert_cmpfloat(first.predicted_step_ms, !=, other.predicted_step_ms);
	g_assert_cmpuint(first.sample_medians->len, ==, 64);
	g_assert_cmpuint(first.predicted_steps->len, ==, 64 * 3);
	release(&first);
	release(&again);
	release(&other);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/duration_samples/middle", test_middle);
	g_test_add_func("/duration_samples/draws", test_draws);
	g_test_add_func("/duration_samples/collective", test_collective);
	g_test_add_func("/duration_samples/one_step", test_one_step);
	g_test_add_func("/duration_samples/same", test_same);
	return g_test_run();
}
