/* The interval of a prediction: how far steps, recordings and the model are off, together. Times are microseconds. */
#include <math.h>

#include "edit/change.h"
#include "predict/prediction_interval.h"
#include "predicted.h"
#include "timeline_text.h"

/* A rank with a first step and then steps of these lengths. */
static TachoPrediction *predict_steps(const guint *lengths_us, guint n, const gchar *what_ifs)
{
	g_autoptr(GString) text =
		g_string_new("unit us\nrank 0 thread 1000 main\n"
			     "  annotation ProfilerStep#0 0..100\n    op a 0..100\n");
	TachoTimeline *timeline;
	TachoPrediction *prediction;
	g_autoptr(GError) error = NULL;
	guint at_us = 100;

	for (guint i = 0; i < n; i++) {
		g_string_append_printf(
			text, "  annotation ProfilerStep#%u %u..%u\n    op a %u..%u\n", i + 1,
			at_us, at_us + lengths_us[i], at_us, at_us + lengths_us[i]);
		at_us += lengths_us[i];
	}
	timeline = timeline_from_text(text->str);
	prediction = predict(timeline, what_ifs, &error);
	g_assert_no_error(error);
	return prediction;
}

static void release(TachoPrediction *prediction)
{
	TachoTimeline *timeline = prediction->graph->timeline;

	tacho_prediction_free(prediction);
	tacho_timeline_free(timeline);
}

static void assert_interval(const TachoPrediction *prediction, gdouble ms, gdouble low_ms,
			    gdouble high_ms)
{
	gdouble error = prediction->model_error;

	g_assert_true(prediction->has_interval);
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms, ms, 1e-9);
	g_assert_cmpfloat_with_epsilon(log(ms / prediction->interval_ms[0]),
				       hypot(log(ms / low_ms), error), 1e-9);
	g_assert_cmpfloat_with_epsilon(log(prediction->interval_ms[1] / ms),
				       hypot(log(high_ms / ms), error), 1e-9);
}

/* Of up to five steps the median is known to the least and the greatest. */
static void test_steps(void)
{
	const guint lengths_us[] = { 90, 100, 130, 95, 110 };
	TachoPrediction *prediction = predict_steps(lengths_us, 5, "");

	assert_interval(prediction, 0.1, 0.09, 0.13);
	g_assert_cmpfloat(prediction->model_error, >, 0);
	release(prediction);
}

/* Of nine, to the second and the eighth. */
static void test_order(void)
{
	const guint lengths_us[] = { 500, 101, 102, 103, 104, 105, 106, 107, 20 };
	TachoPrediction *prediction = predict_steps(lengths_us, 9, "");

	assert_interval(prediction, 0.104, 0.101, 0.107);
	release(prediction);
}

/* All that is known is how far the model is off. */
static void test_equal_steps(void)
{
	const guint lengths_us[] = { 100, 100, 100 };
	TachoPrediction *prediction = predict_steps(lengths_us, 3, "");

	assert_interval(prediction, 0.1, 0.1, 0.1);
	g_assert_cmpfloat(prediction->interval_ms[0], <, 0.1);
	g_assert_cmpfloat(prediction->interval_ms[1], >, 0.1);
	release(prediction);
}

static void test_one_step(void)
{
	const guint lengths_us[] = { 100 };
	TachoPrediction *prediction = predict_steps(lengths_us, 1, "");

	g_assert_false(prediction->has_interval);
	release(prediction);
}

/* A change of which nothing was measured is taken to be as far off as any that was. */
static void test_unmeasured(void)
{
	const guint lengths_us[] = { 100, 100, 100 };
	TachoPrediction *same = predict_steps(lengths_us, 3, "durations=mean");
	TachoPrediction *other = predict_steps(lengths_us, 3, "cores=1");

	g_assert_true(same->is_error_measured);
	g_assert_false(other->is_error_measured);
	g_assert_cmpfloat(other->model_error, >=, same->model_error);
	assert_interval(other, 0.1, 0.1, 0.1);
	release(same);
	release(other);
}

static gdouble error_of(const gchar *const *texts, guint n, gboolean is_known)
{
	g_autoptr(GArray) changes = g_array_new(FALSE, TRUE, sizeof(struct change));
	gboolean is_measured;
	gdouble error;

	g_array_set_clear_func(changes, (GDestroyNotify)change_release);
	for (guint i = 0; i < n; i++) {
		struct change change;

		g_assert_true(change_parse(&change, texts[i], NULL));
		g_array_append_val(changes, change);
	}
	error = model_error_of(changes, &is_measured);
	g_assert_cmpint(is_measured, ==, is_known);
	return error;
}

/* Each kind of change has an error of its own, whatever the order of the words; another job beside has one with all else. */
static void test_kinds(void)
{
	const gchar *const links[] = { "bandwidth=2x", "latency=+1ms", "bandwidth=2x" };
	const gchar *const jobs[] = { "jobs=other.tacho", "latency=+1ms" };
	const gchar *const more[] = { "latency=+1ms", "ranks=8" };
	const gchar *const beside_work[] = { "jobs=other.tacho", "straggler:0=2" };
	const gchar *const both[] = { "jobs=other.tacho", "ranks=8" };

	g_assert_cmpfloat(error_of(links, 0, TRUE), >, 0);
	g_assert_cmpfloat(error_of(links, 1, TRUE), >, 0);
	g_assert_cmpfloat(error_of(links + 1, 1, TRUE), >, 0);
	g_assert_cmpfloat(error_of(links, 2, TRUE), ==, error_of(links + 1, 2, TRUE));
	g_assert_cmpfloat(error_of(jobs, 1, TRUE), ==, error_of(jobs, 2, TRUE));
	for (guint n = 0; n <= 2; n++)
		g_assert_cmpfloat(error_of(more, 2, FALSE), >=, error_of(links, n, TRUE));
	/* what was measured of a job beside others was so with changes of links alone */
	g_assert_cmpfloat(error_of(beside_work, 2, FALSE), >=, error_of(jobs, 1, TRUE));
	g_assert_cmpfloat(error_of(both, 2, FALSE), >=, error_of(both, 1, TRUE));
	g_assert_cmpfloat(error_of(both, 2, FALSE), >=, error_of(more, 2, FALSE));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/prediction_interval/steps", test_steps);
	g_test_add_func("/prediction_interval/order", test_order);
	g_test_add_func("/prediction_interval/equal_steps", test_equal_steps);
	g_test_add_func("/prediction_interval/one_step", test_one_step);
	g_test_add_func("/prediction_interval/unmeasured", test_unmeasured);
	g_test_add_func("/prediction_interval/kinds", test_kinds);
	return g_test_run();
}
