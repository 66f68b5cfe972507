/* Own times against a count of each moment. */
#include "trace/own_time.h"

#include "timeline_text.h"

#define SPAN_NS 400

/* The slice that began last of those that count and are open at `time_ns`; TACHO_NONE: none is. */
static guint32 owner_of(const TachoTimeline *timeline, const guint8 *is_counted, gint64 time_ns)
{
	guint32 owner = TACHO_NONE;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (is_counted[i] && timeline->slices.start_ns[i] <= time_ns &&
		    tacho_slice_end_ns(timeline, i) > time_ns)
			owner = i;
	return owner;
}

static void test_random(void)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(5);

	for (guint trial = 0; trial < 50; trial++) {
		g_autoptr(TachoTimeline) timeline =
			timeline_from_text("unit ns\nrank 0 thread 10 main\n");
		gint64 expected_ns[60] = { 0 };
		guint8 is_counted[60];
		g_autofree gint64 *own_ns = NULL;

		for (guint i = 0; i < G_N_ELEMENTS(is_counted); i++) {
			is_counted[i] = g_rand_int_range(random, 0, 4) > 0;
			tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0,
						 g_rand_int_range(random, 0, SPAN_NS - 60),
						 g_rand_int_range(random, 0, 60), 0, 0);
		}
		g_free(tacho_timeline_finish(timeline));
		for (gint64 time_ns = 0; time_ns < SPAN_NS; time_ns++) {
			guint32 owner = owner_of(timeline, is_counted, time_ns);

			if (owner != TACHO_NONE)
				expected_ns[owner]++;
		}
		own_ns = own_times(&timeline->slices, 0, timeline->slices.n, is_counted);
		for (guint32 i = 0; i < timeline->slices.n; i++)
			g_assert_cmpint(own_ns[i], ==, expected_ns[i]);
	}
}

static void test_none(void)
{
	TachoSlices slices = { 0 };

	g_free(own_times(&slices, 0, 0, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/own-time/random", test_random);
	g_test_add_func("/own-time/none", test_none);
	return g_test_run();
}
