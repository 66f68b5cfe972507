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

/* The two steps behind the control steps are too few to tell how they scatter, and the first step of all does not count. */
static void test_few_beside(void)
{
	static const gint control[] = { 98, 100, 102 }, after[] = { 105, 115 };
	const gdouble deviation = 1.482602218505602 * 2 / 100;
	TachoRecordingExcess excess;
	struct times times;

	begin(&times, 1);
	add(&times, FALSE, 300);
	add_all(&times, TRUE, control, 3);
	add_all(&times, FALSE, after, 2);
	g_assert_true(tacho_recording_excess(times.timeline, &excess));
	g_assert_cmpfloat_with_epsilon(excess.share, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(excess.error,
				       sqrt(M_PI / 2) * deviation * sqrt(1.0 / 3 + 1.0 / 2), 1e-9);
	g_assert_cmpuint(excess.n_control, ==, 3);
	g_assert_cmpuint(excess.n_recorded, ==, 2);
	tacho_timeline_free(times.timeline);
}

/* Runs of control steps count alike: one of 10 % and one of 21 %, whose ratios' mean is 15.4 %. A gap in the numbers parts them. */
static void test_two_runs(void)
{
	static const gint recorded[] = { 110, 110, 110 }, slow[] = { 121, 121, 121 };
	static const gint control[] = { 100, 100, 100 };
	TachoRecordingExcess excess;
	struct times times;

	begin(&times, 1);
	add(&times, FALSE, 300);
	add_all(&times, FALSE, recorded, 3);
	add_all(&times, TRUE, control, 3);
	times.number += 5;
	add_all(&times, TRUE, control, 3);
	add_all(&times, FALSE, slow, 3);
	g_assert_true(tacho_recording_excess(times.timeline, &excess));
	g_assert_cmpfloat_with_epsilon(excess.share, sqrt(1.1 * 1.21) - 1, 1e-9);
	g_assert_cmpuint(excess.n_control, ==, 6);
	g_assert_cmpuint(excess.n_recorded, ==, 6);
	tacho_timeline_free(times.timeline);
}

/* --- what a step takes unrecorded ---------------------------------------------------------------- */

/* Steps 0 to 2, 6, 7 and 11 are recorded, 3 to 5 and 8 to 10 are not. */
static void make_runs(struct times *times, guint n_ranks)
{
	static const gint recorded[] = { 100, 100, 100 };
	static const gint first[] = { 90, 100, 110 }, second[] = { 200, 210, 190 };

	begin(times, n_ranks);
	add_all(times, FALSE, recorded, 3);
	add_all(times, TRUE, first, 3);
	add_all(times, FALSE, recorded, 2);
	add_all(times, TRUE, second, 3);
	add(times, FALSE, 100);
}

/* Those among the steps asked for, and the runs next to these. */
static void test_control_time(void)
{
	static const struct {
		guint32 first, last;
		guint n_steps;
		gdouble step_ms, distance_ms; /* the median, and of what is off it */
	} cases[] = {
		{ 0, 2, 3, 100, 10 }, { 2, 2, 3, 100, 10 },  { 0, 1, 0, 0, 0 },
		{ 4, 4, 3, 100, 10 }, { 3, 5, 3, 100, 10 },  { 6, 6, 3, 100, 10 },
		{ 7, 7, 3, 200, 10 }, { 6, 7, 6, 150, 50 },  { 11, 11, 3, 200, 10 },
		{ 12, 30, 0, 0, 0 },  { 0, 30, 6, 150, 50 },
	};
	struct times times;

	make_runs(&times, 1);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		TachoControlTime time;

		g_test_message("%u to %u", cases[i].first, cases[i].last);
		g_assert_true(tacho_control_time(times.timeline, cases[i].first, cases[i].last,
						 &time) == (cases[i].n_steps >= 3));
		g_assert_cmpuint(time.n_steps, ==, cases[i].n_steps);
		if (cases[i].n_steps < 3)
			continue;
		g_assert_cmpfloat_with_epsilon(time.step_ns, cases[i].step_ms * 1e6, 1e-3);
		g_assert_cmpfloat_with_epsilon(time.error,
					       sqrt(M_PI / 2) * 1.482602218505602 *
						       cases[i].distance_ms / cases[i].step_ms /
						       sqrt(cases[i].n_steps),
					       1e-9);
	}
	tacho_timeline_free(times.timeline);
}

/* Of two ranks the mean, each 1 ms more; two control steps are too few; and those with a gap before them are not next to it. */
static void test_control_time_of_ranks(void)
{
	static const gint two[] = { 50, 60 }, three[] = { 50, 60, 70 };
	TachoControlTime time;
	struct times times;

	make_runs(&times, 2);
	g_assert_true(tacho_control_time(times.timeline, 2, 2, &time));
	g_assert_cmpfloat_with_epsilon(time.step_ns, 101e6, 1e-3);
	tacho_timeline_free(times.timeline);

	begin(&times, 1);
	add(&times, FALSE, 100);
	add_all(&times, TRUE, two, 2);
	g_assert_false(tacho_control_time(times.timeline, 0, 0, &time));
	g_assert_cmpuint(time.n_steps, ==, 2);
	tacho_timeline_free(times.timeline);

	begin(&times, 1);
	add(&times, FALSE, 100);
	times.number++;
	add_all(&times, TRUE, three, 3);
	times.number++;
	add(&times, FALSE, 100);
	g_assert_false(tacho_control_time(times.timeline, 0, 0, &time));
	g_assert_cmpuint(time.n_steps, ==, 0);
	g_assert_false(tacho_control_time(times.timeline, 6, 6, &time));
	g_assert_true(tacho_control_time(times.timeline, 0, 6, &time));
	tacho_timeline_free(times.timeline);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/recording_excess/nothing-to-tell", test_nothing_to_tell);
	g_test_add_func("/recording_excess/drift", test_drift);
	g_test_add_func("/recording_excess/error", test_error);
	g_test_add_func("/recording_excess/ranks", test_ranks);
	g_test_add_func("/recording_excess/few_beside", test_few_beside);
	g_test_add_func("/recording_excess/two_runs", test_two_runs);
	g_test_add_func("/recording_excess/control_time", test_control_time);
	g_test_add_func("/recording_excess/control_time_of_ranks", test_control_time_of_ranks);
	return g_test_run();
}
