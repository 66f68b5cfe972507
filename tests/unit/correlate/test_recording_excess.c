/* What control steps tell of the cost of recording. Times are milliseconds. */
#include <math.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

#define MS(n) ((gint64)(n)*1000000)

struct times {
	TachoTimeline *timeline;
	gint64 at_ns;
	guint32 number;
};

static void begin(struct times *times, guint n_ranks)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < n_ranks; i++)
		g_string_append_printf(text, "rank %u thread 1 main\nop a 0..1\n", i);
	times->timeline = timeline_from_text(text->str);
	times->at_ns = 0;
	times->number = 0;
}

/* Rank 0's step takes `ms`, that of each rank after it 2 ms more. */
static void add(struct times *times, gboolean is_control, gint ms)
{
	for (guint i = 0; i < times->timeline->ranks->len; i++) {
		TachoStep step = { i, times->number, times->at_ns,
				   times->at_ns + MS(ms + 2 * (gint)i), TRUE };

		g_array_append_val(
			is_control ? times->timeline->control_steps : times->timeline->steps, step);
	}
	times->at_ns += MS(ms);
	times->number++;
}

static void add_all(struct times *times, gboolean is_control, const gint *ms, guint n)
{
	for (guint i = 0; i < n; i++)
		add(times, is_control, ms[i]);
}

static void test_nothing_to_tell(void)
{
	static const gint one[] = { 100, 100, 100 };
	TachoRecordingExcess excess;
	struct times times;

	begin(&times, 1);
	add_all(&times, FALSE, one, 3);
	g_assert_false(tacho_recording_excess(times.timeline, &excess));
	tacho_timeline_free(times.timeline);

	begin(&times, 1); /* only control steps */
	add_all(&times, TRUE, one, 3);
	g_assert_false(tacho_recording_excess(times.timeline, &excess));
	tacho_timeline_free(times.timeline);
}

/* The machine becomes half as fast between two runs of control steps; the first step warms up; what is
 * further from control steps than they are many does not count. */
static void test_drift(void)
{
	static const gint warm_up[] = { 900, 500 };
	static const gint fast[] = { 110, 110, 110 }, fast_control[] = { 100, 100, 100 };
	static const gint slow[] = { 220, 220, 220 }, slow_control[] = { 200, 200, 200 };
	TachoRecordingExcess excess;
	struct times times;

	begin(&times, 1);
	add_all(&times, FALSE, warm_up, 2);
	add_all(&times, FALSE, fast, 3);
	add_all(&times, TRUE, fast_control, 3);
	add_all(&times, FALSE, fast, 3);
	add_all(&times, FALSE, slow, 3);
	add_all(&times, TRUE, slow_control, 3);
	g_assert_true(tacho_recording_excess(times.timeline, &excess));
	g_assert_cmpfloat_with_epsilon(excess.share, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(excess.error, 0, 1e-9);
	g_assert_cmpuint(excess.n_control, ==, 6);
	g_assert_cmpuint(excess.n_recorded, ==, 9);
	tacho_timeline_free(times.timeline);
}

static void test_error(void)
{
	static const gint recorded[] = { 110, 108, 110, 112 }, control[] = { 98, 100, 102 };
	const gdouble control_deviation = 1.482602218505602 * 2 / 100;
	const gdouble recorded_deviation = 1.482602218505602 * 2 / 110;
	TachoRecordingExcess excess;
	struct times times;

	begin(&times, 1);
	add_all(&times, FALSE, recorded, 4);
	add_all(&times, TRUE, control, 3);
	g_assert_true(tacho_recording_excess(times.timeline, &excess));
	g_assert_cmpfloat_with_epsilon(excess.share, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(excess.error,
				       sqrt(M_PI / 2) *
					       sqrt((control_deviation * control_deviation +
						     recorded_deviation * recorded_deviation) /
						    2 * (1.0 / 3 + 1.0 / 3)),
				       1e-6);
	tacho_timeline_free(times.timeline);
}

/* A step that one rank did not record does not count for any. */
static void test_ranks(void)
{
	static const gint recorded[] = { 50, 109, 109, 109 }, control[] = { 99, 99, 99 };
	TachoRecordingExcess excess;
	struct times times;

	begin(&times, 2);
	add_all(&times, FALSE, recorded, 4);
	add_all(&times, TRUE, control, 3);
	add(&times, FALSE, 400);
	g_array_set_size(times.timeline->steps, times.timeline->steps->len - 1);
	g_assert_true(tacho_recording_excess(times.timeline, &excess));
	g_assert_cmpfloat_with_epsilon(excess.share, 0.1, 1e-9);
	g_assert_cmpuint(excess.n_recorded, ==, 3);
	tacho_timeline_free(times.timeline);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/recording_excess/nothing-to-tell", test_nothing_to_tell);
	g_test_add_func("/recording_excess/drift", test_drift);
	g_test_add_func("/recording_excess/error", test_error);
	g_test_add_func("/recording_excess/ranks", test_ranks);
	return g_test_run();
}
