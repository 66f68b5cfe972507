#include "clock_calibration.h"

#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "trace/time_namespace.h"

#define NS_PER_S G_GINT64_CONSTANT(1000000000)
#define SPAN_NS	 (40 * 1000 * 1000) /* a reading is good to some 20 ns: 1 ppm over the span */
#define N_TRIES	 64

static gint64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

#if defined(__x86_64__)

/* The TSC is a clock where the processor says that its rate is constant in all states, and the
 * kernel has not found it unstable. */
static gboolean tsc_is_invariant(void)
{
	unsigned int a, b, c, d;
	g_autofree gchar *available = NULL;
	g_auto(GStrv) sources = NULL;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8)))
		return FALSE;
	if (!g_file_get_contents(
		    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
		    &available, NULL, NULL))
		return FALSE;
	sources = g_strsplit_set(g_strstrip(available), " ", -1);
	return g_strv_contains((const gchar *const *)sources, "tsc");
}

struct pair {
	guint64 ticks;
	gint64 ns;
};

/* Both clocks at one moment: of many readings, the one in which the TSC moved least around the
 * system clock's. */
static struct pair read_pair(clockid_t clock)
{
	struct pair best = { 0 };
	guint64 best_width = G_MAXUINT64;

	for (int i = 0; i < N_TRIES; i++) {
		guint64 before = __rdtsc();
		gint64 ns = clock_ns(clock);
		guint64 width = __rdtsc() - before;

		if (width < best_width) {
			best_width = width;
			best.ticks = before + width / 2;
			best.ns = ns;
		}
	}
	return best;
}

static gchar *calibrate_tsc(void)
{
	const struct timespec span = { 0, SPAN_NS };
	struct pair begin = read_pair(CLOCK_MONOTONIC), end, real;
	guint64 hz;

	nanosleep(&span, NULL);
	end = read_pair(CLOCK_MONOTONIC);
	real = read_pair(CLOCK_REALTIME);
	hz = (guint64)((__uint128_t)(end.ticks - begin.ticks) * NS_PER_S /
		       (guint64)(end.ns - begin.ns));
	return g_strdup_printf("tsc,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%" G_GINT64_FORMAT,
			       hz, real.ticks, real.ns);
}

#else

static gboolean tsc_is_invariant(void)
{
	return FALSE;
}

static gchar *calibrate_tsc(void)
{
	g_assert_not_reached();
}

#endif

gchar *clock_calibrate(ClockChoice choice, GError **error)
{
	gint64 mono;

	if (choice != CLOCK_MONO && tsc_is_invariant())
		return calibrate_tsc();
	if (choice == CLOCK_TSC) {
		g_set_error_literal(
			error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"this machine has no invariant time stamp counter; use --clock monotonic");
		return NULL;
	}
	mono = clock_ns(CLOCK_MONOTONIC) - time_namespace_ahead_ns();
	return g_strdup_printf("monotonic,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
			       ",%" G_GINT64_FORMAT,
			       NS_PER_S, mono, clock_ns(CLOCK_REALTIME));
}
