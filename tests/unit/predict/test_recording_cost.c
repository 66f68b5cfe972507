/* What recording took, taken out of the work: what each piece loses, and how many times the stated cost control steps call
 * for. Times are microseconds. */
#include <math.h>

#include <tacho/correlate.h>

#include "predict/prediction.h"
#include "timeline_text.h"

/* Half an event's cost is in each of the seven pieces of a step of 100 us: between operations 10, 10, 2 and 7.5, a 30, b 40,
 * c 0.5, which are three slices and the step's own. */
#define N_STEPS		4
#define SLICES_OF_STEPS (4 * N_STEPS)
#define PIECES_OF_STEP	7

/* Step i, from 0 on, takes `longer_us[i]` longer than 100 us, in b. Returns when the last ends, in us. */
static gint append_steps(GString *text, guint first, const gint *longer_us, guint n, gint at_us)
{
	for (guint i = 0; i < n; i++) {
		gint b_end = at_us + 90 + longer_us[i];

		g_string_append_printf(text,
				       "  annotation ProfilerStep#%u %d..%d\n"
				       "    op a %d..%d\n    op b %d..%d\n    op c %d..%d.5\n",
				       first + i, at_us, b_end + 10, at_us + 10, at_us + 40,
				       at_us + 50, b_end, b_end + 2, b_end + 2);
		at_us = b_end + 10;
	}
	return at_us;
}

static void add_control_steps(TachoTimeline *timeline, guint32 first, const gdouble *control_us,
			      guint n)
{
	for (guint32 i = 0; i < n; i++) {
		gint64 at_ns = 1000000 * (gint64)(first + i);
		TachoStep step = { 0, first + i, at_ns, at_ns + llround(control_us[i] * 1e3),
				   TRUE };

		g_array_append_val(timeline->control_steps, step);
	}
}

/* Four steps, the first of which is left out of predictions, and three control steps behind them. */
static TachoTimeline *job_new(guint cost_ns, const gint *longer_us, const gdouble *control_us)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	TachoTimeline *timeline;

	g_string_append_printf(text, "rank 0 cost_ns=%u thread 1000 main\n", cost_ns);
	append_steps(text, 0, longer_us, N_STEPS, 0);
	timeline = correlated(text->str);
	add_control_steps(timeline, N_STEPS, control_us, 3);
	return timeline;
}

static const gint all_alike[N_STEPS] = { 0, 0, 0, 0 };

struct found {
	gdouble baseline_us, unrecorded_us, share;
};

static struct found predict_range(TachoTimeline *timeline, gint64 first, gint64 last)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction =
		tacho_predict(timeline, NULL, 0, first, last, &error);

	g_assert_no_error(error);
	return (struct found){ prediction->baseline_step_ms * 1e3,
			       prediction->unrecorded_step_ms * 1e3, prediction->recording_share };
}

static struct found predict_job(guint cost_ns, const gint *longer_us, const gdouble *control_us)
{
	g_autoptr(TachoTimeline) timeline = job_new(cost_ns, longer_us, control_us);

	return predict_range(timeline, -1, -1);
}

/* --- by the stated cost alone ------------------------------------------------------------------- */

/* Rank 0 has four slices of 2 us each, of which a piece holds 1 us; the helper's slices and costs are its own; rank 1
 * says that it took nothing. */
static void test_pieces(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\n"
			   "rank 0 cost_ns=8000 thread 1000 main\n"
			   "  annotation ProfilerStep#0 0..100\n"
			   "    op a 10..40\n"
			   "    op b 50..90\n"
			   "    op c 92..92.5\n"
			   "process 77 cost_ns=900000 thread 77 helper\n"
			   "    op x 0..50\n"
			   "rank 1 thread 1001 main\n"
			   "  annotation ProfilerStep#0 0..100\n"
			   "    op d 20..80\n");
	struct found found = predict_range(timeline, -1, -1);

	g_assert_cmpfloat_with_epsilon(found.baseline_us, 100, 1e-6);
	g_assert_cmpfloat_with_epsilon(found.unrecorded_us, (93 + 100) / 2.0, 1e-6);
	g_assert_cmpfloat_with_epsilon(found.share, 7.0 / 200, 1e-9);
}

/* What the short pieces of a lane cannot hold is in its next ones, which may not hold all of it, either: of 7 * 12 us a step
 * there is room for what is between operations, and the two long ones take the rest of the 100 us. */
static void test_beyond_pieces(void)
{
	static const gdouble none[3] = { 0, 0, 0 };
	g_autoptr(TachoTimeline) timeline = job_new(24000 * SLICES_OF_STEPS, all_alike, none);
	struct found found;

	g_array_set_size(timeline->control_steps, 0);
	found = predict_range(timeline, 1, 1);
	/* 10 of 12, a: 12 + 2, 10 of 12, b: 12 + 2, 2 of 12, 0.5 of 22, 7.5 of 33.5 */
	g_assert_cmpfloat_with_epsilon(found.unrecorded_us, (30 - 14) + (40 - 14), 1e-6);
	g_assert_cmpfloat_with_epsilon(found.share, (10 + 14 + 10 + 14 + 2 + 0.5 + 7.5) / 100,
				       1e-9);
}

/* --- by control steps --------------------------------------------------------------------------- */

#define DEVIATION_OF_DISTANCE                                                                      \
	1.4826022185056 /* standard deviations in the median distance of normal values */

/* The standard error of the median of three values, of itself: by sqrt(pi / 2) of a mean's. */
static gdouble error_of_three(gdouble median_us, gdouble distance_us)
{
	return sqrt(M_PI / 2) * DEVIATION_OF_DISTANCE * distance_us / median_us / sqrt(3);
}

/* The mean of two figures, by their variances. */
static gdouble weighed(gdouble one, gdouble variance, gdouble other, gdouble other_variance)
{
	return (one / variance + other / other_variance) / (1 / variance + 1 / other_variance);
}

static gdouble square(gdouble value)
{
	return value * value;
}

/* A step is found to a ten thousandth. */
static void assert_step(gdouble us, gdouble expected_us)
{
	g_test_message("%.4f us, %.4f expected", us, expected_us);
	g_assert_cmpfloat_with_epsilon(us, expected_us, 1.1e-4 * expected_us);
}

/* Control steps that scatter do not outweigh what is stated: 7 us of 100, wrong by four times that. */
static void test_scattered_control(void)
{
	static const gdouble control_us[] = { 60, 80, 100 };
	static const gint scattered[N_STEPS] = { 0, -10, 0, 10 };
	guint cost_ns = 2000 * SLICES_OF_STEPS;
	struct found found = predict_job(cost_ns, all_alike, control_us);
	gdouble control_variance = square(error_of_three(80, 20));
	gdouble stated_variance = square(4 * (100.0 / 93 - 1));

	assert_step(found.unrecorded_us, weighed(80, control_variance, 93, stated_variance));
	g_assert_cmpfloat_with_epsilon(found.share, 1 - found.unrecorded_us / 100, 2e-4);

	/* what is stated is taken from recorded steps, which may scatter, too */
	found = predict_job(cost_ns, scattered, control_us);
	stated_variance += square(error_of_three(100, 10));
	assert_step(found.unrecorded_us, weighed(80, control_variance, 93, stated_variance));
}

/* Control steps that agree are as good as sure; far from what is stated they are found, too. */
static void test_sure_control(void)
{
	static const gdouble expected_us[] = { 30, 55, 72, 86, 93, 97.5, 99 };

	for (guint i = 0; i < G_N_ELEMENTS(expected_us); i++) {
		const gdouble control_us[] = { expected_us[i], expected_us[i], expected_us[i] };
		struct found found = predict_job(2000 * SLICES_OF_STEPS, all_alike, control_us);

		assert_step(found.unrecorded_us, expected_us[i]);
	}
}

/* Which step is the median one may change on the way. Step 0 is left out. With x us taken out of each piece, step 1 takes 100 - x, step
 * 2, of four pieces, 118 - 4 x, and the third 60 - x; so the median is 100 - x up to x = 6, and 118 - 4 x beyond. */
static void test_other_median(void)
{
	static const gdouble expected_us[] = { 99, 97, 95, 92, 90, 88, 86, 80, 72 };

	for (guint i = 0; i < G_N_ELEMENTS(expected_us); i++) {
		const gdouble control_us[] = { expected_us[i], expected_us[i], expected_us[i] };
		g_autoptr(TachoTimeline) timeline = NULL;
		struct found found;

		/* eleven slices of 2 us each, of which a piece has 1 */
		timeline = correlated("unit us\n"
				      "rank 0 cost_ns=22000 thread 1000 main\n"
				      "  annotation ProfilerStep#0 0..100\n    op a 0..100\n"
				      "  annotation ProfilerStep#1 100..200\n    op a 100..200\n"
				      "  annotation ProfilerStep#2 200..318\n    op b 200..230\n"
				      "    op b 230..260\n    op b 260..290\n    op b 290..318\n"
				      "  annotation ProfilerStep#3 318..378\n    op a 318..378\n");
		add_control_steps(timeline, 4, control_us, 3);
		found = predict_range(timeline, -1, -1);
		g_assert_cmpfloat_with_epsilon(found.baseline_us, 100, 1e-6);
		assert_step(found.unrecorded_us, expected_us[i]);
	}
}

/* A stated cost of next to nothing is not sure for that: a thousandth of the step may be wrong. */
static void test_little_stated(void)
{
	static const gdouble control_us[] = { 99.8, 99.9, 100 };
	struct found found = predict_job(2 * SLICES_OF_STEPS, all_alike, control_us);

	assert_step(found.unrecorded_us,
		    weighed(99.9, square(error_of_three(99.9, 0.1)), 99.993, square(1e-3)));
	g_assert_cmpfloat(found.unrecorded_us, <, 99.97);
}

/* Recording makes no step shorter; and where nothing is stated, nothing can be taken out. */
static void test_no_cost(void)
{
	static const gdouble longer_us[] = { 110, 110, 110 }, shorter_us[] = { 80, 80, 80 };
	struct found longer = predict_job(2000 * SLICES_OF_STEPS, all_alike, longer_us);
	struct found unstated = predict_job(0, all_alike, shorter_us);

	g_assert_cmpfloat_with_epsilon(longer.unrecorded_us, 100, 1e-6);
	g_assert_cmpfloat(longer.share, ==, 0);
	g_assert_cmpfloat_with_epsilon(unstated.unrecorded_us, 100, 1e-6);
	g_assert_cmpfloat(unstated.share, ==, 0);
}

/* No more than 32 times the stated cost is taken out: of each piece 8 us, which the four between operations and c do not all
 * hold; so what is left of a step stands in the next one's, and all but the first lose 7 * 8 us. */
static void test_limit(void)
{
	static const gdouble control_us[] = { 1, 1, 1 };
	struct found found = predict_job(500 * SLICES_OF_STEPS, all_alike, control_us);

	assert_step(found.unrecorded_us, 100 - PIECES_OF_STEP * 8);
}

/* Where all work is taken out, more cannot be: what is left is the collective. */
static void test_nothing_left(void)
{
	static const gdouble control_us[] = { 30, 30, 30 };
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	struct found found;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u cost_ns=960000 thread %u main\n", rank,
				       1000 + rank);
		for (guint i = 0; i < N_STEPS; i++)
			g_string_append_printf(text,
					       "  annotation ProfilerStep#%u %u..%u\n"
					       "    op a %u..%u\n"
					       "    collective gloo:all_reduce %u..%u bytes=1024 "
					       "end_tid=9\n",
					       i, 100 * i, 100 * i + 100, 100 * i, 100 * i + 40,
					       100 * i + 40, 100 * i + 100);
	}
	timeline = correlated(text->str);
	add_control_steps(timeline, N_STEPS, control_us, 3);
	for (guint i = 0; i < 3; i++) {
		TachoStep step = g_array_index(timeline->control_steps, TachoStep, i);

		step.rank_index = 1;
		g_array_append_val(timeline->control_steps, step);
	}
	found = predict_range(timeline, -1, -1);
	g_assert_cmpfloat_with_epsilon(found.baseline_us, 100, 1e-6);
	g_assert_cmpfloat_with_epsilon(found.unrecorded_us, 60, 1e-6);
	g_assert_cmpfloat_with_epsilon(found.share, 1, 1e-9);
}

/* Steps 10 to 12, far from the control steps 4 to 6. By what share recording makes steps longer is known from those beside
 * them: a quarter, with an error that comes from how the three control steps scatter (the six recorded ones do not). */
static void test_far_control(void)
{
	static const gdouble control_us[] = { 60, 80, 100 };
	static const gint alike[10] = { 0 };
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 cost_ns=80000 thread 1000 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	gdouble deviation = DEVIATION_OF_DISTANCE * 20 / 80;
	/* the mean square of the two groups' deviations, for medians of three and of six */
	gdouble control_error = sqrt(M_PI / 2) * sqrt(square(deviation) / 2 * (1.0 / 3 + 1.0 / 6));
	gdouble stated_us = 100 - PIECES_OF_STEP * 1.0; /* of 40 slices, 2 us each */
	struct found found;

	append_steps(text, 0, alike, 4, 0);
	append_steps(text, 7, alike, 6, 700);
	timeline = correlated(text->str);
	add_control_steps(timeline, 4, control_us, 3);
	found = predict_range(timeline, 10, 12);
	assert_step(found.unrecorded_us, weighed(80, square(control_error), stated_us,
						 square(4 * (100 / stated_us - 1))));
}

/* --- the replay of what was recorded ------------------------------------------------------------ */

/* It is played where it is not given, with the same result; the graph is left without what recording took. */
static void test_played_here(void)
{
	static const gdouble control_us[] = { 60, 80, 100 };
	gdouble step_ns[2], share[2];

	for (guint is_given = 0; is_given < 2; is_given++) {
		g_autoptr(TachoTimeline) timeline =
			job_new(2000 * SLICES_OF_STEPS, all_alike, control_us);
		g_autoptr(TachoGraph) graph = replay_build_graph(timeline, 1, -1, NULL);
		g_autoptr(TachoReplay) recorded = is_given ? tacho_replay_run(graph, NULL) : NULL;
		g_autoptr(TachoReplay) replay = NULL;

		g_assert_true(replay_take_out_recording(graph, recorded, &share[is_given], NULL));
		replay = tacho_replay_run(graph, NULL);
		step_ns[is_given] = replay_median_step_ns(replay);
	}
	g_assert_cmpfloat(step_ns[0], ==, step_ns[1]);
	g_assert_cmpfloat(share[0], ==, share[1]);
	g_assert_cmpfloat_with_epsilon(step_ns[0], 1e5 * (1 - share[0]), 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/recording_cost/pieces", test_pieces);
	g_test_add_func("/recording_cost/beyond_pieces", test_beyond_pieces);
	g_test_add_func("/recording_cost/scattered_control", test_scattered_control);
	g_test_add_func("/recording_cost/sure_control", test_sure_control);
	g_test_add_func("/recording_cost/other_median", test_other_median);
	g_test_add_func("/recording_cost/little_stated", test_little_stated);
	g_test_add_func("/recording_cost/no_cost", test_no_cost);
	g_test_add_func("/recording_cost/limit", test_limit);
	g_test_add_func("/recording_cost/nothing_left", test_nothing_left);
	g_test_add_func("/recording_cost/far_control", test_far_control);
	g_test_add_func("/recording_cost/played_here", test_played_here);
	return g_test_run();
}
