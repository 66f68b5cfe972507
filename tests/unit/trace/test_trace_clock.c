/* Ticks to nanoseconds, against exact arithmetic. */
#include "trace/trace_clock.h"

/* floor((offset + ticks) * 10^9 / hz), in 128 bits. */
static gint64 exact_ns(const struct trace_clock *clock, guint64 ticks)
{
	return clock->offset_ns + (gint64)((unsigned __int128)(clock->offset_ticks + ticks) *
					   1000000000 / clock->frequency_hz);
}

/* The first ticks of that time or a later one are. */
static void check_ticks_from(const struct trace_clock *clock, gint64 unix_ns)
{
	guint64 ticks = trace_clock_ticks_from(clock, unix_ns);

	g_assert_cmpint(trace_clock_unix_ns(clock, ticks), >=, unix_ns);
	g_assert_cmpint(trace_clock_unix_ns(clock, ticks - 1), <, unix_ns);
}

static void test_exactness(void)
{
	static const guint64 frequencies[] = { 1000,	   24000000,   999999999,  1000000000,
					       1000000001, 2596122162, 3999999999, 100000000000 };
	g_autoptr(GRand) random = g_rand_new_with_seed(3);

	for (guint i = 0; i < G_N_ELEMENTS(frequencies); i++) {
		struct trace_clock clock;
		guint64 month = 31u * 24 * 3600 * frequencies[i];

		g_assert_true(trace_clock_init(&clock, frequencies[i], 1700000000, 12345));
		for (guint k = 0; k < 20000; k++) {
			guint64 ticks = (guint64)(g_rand_double(random) * (gdouble)month);
			gint64 apart = trace_clock_unix_ns(&clock, ticks) - exact_ns(&clock, ticks);

			/* Never early; late by the last digit only where the fraction is all but 1. */
			g_assert_cmpint(apart, >=, 0);
			g_assert_cmpint(apart, <=, 1);
			g_assert_cmpint(trace_clock_unix_ns(&clock, ticks + 1), >=,
					trace_clock_unix_ns(&clock, ticks));
			check_ticks_from(&clock, trace_clock_unix_ns(&clock, ticks));
			check_ticks_from(&clock, trace_clock_unix_ns(&clock, ticks) + 1);
		}
		/* A whole second is a whole second. */
		g_assert_cmpint(trace_clock_unix_ns(&clock, 86400 * frequencies[i]) -
					trace_clock_unix_ns(&clock, 0),
				==, G_GINT64_CONSTANT(86400000000000));
	}
}

static void test_limits(void)
{
	struct trace_clock clock;

	g_assert_false(trace_clock_init(&clock, 0, 0, 0));
	g_assert_false(trace_clock_init(&clock, 999, 0, 0));
	g_assert_false(trace_clock_init(&clock, G_MAXUINT64, 0, 0));
	g_assert_false(trace_clock_init(&clock, 1000000000, G_MAXUINT64, 0));
	g_assert_false(trace_clock_init(&clock, 1000000000, 0, G_MAXUINT64));
	g_assert_true(trace_clock_init(&clock, 1000, 0, 0));
	g_assert_cmpint(trace_clock_unix_ns(&clock, clock.max_ticks), <=,
			G_GINT64_CONSTANT(1) << 62);
	g_assert_cmpint(trace_clock_unix_ns(&clock, clock.max_ticks), >,
			G_GINT64_CONSTANT(1) << 61);
	g_assert_cmpuint(trace_clock_ticks_from(&clock, G_MAXINT64), ==, clock.max_ticks + 1);
	g_assert_cmpuint(trace_clock_ticks_from(&clock, 0), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trace-clock/exactness", test_exactness);
	g_test_add_func("/trace-clock/limits", test_limits);
	return g_test_run();
}
