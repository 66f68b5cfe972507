/* Two clocks whose truth is known, and bounds of every sort. */
#include "trace/clock_pair.h"

#define US G_GINT64_CONSTANT(1000)
#define MS G_GINT64_CONSTANT(1000000)
#define S  G_GINT64_CONSTANT(1000000000)

/* The own clock is `ahead_ns` ahead at time 0 and `drift` faster; the reference tells true time. */
struct truth {
	gint64 ahead_ns;
	gdouble drift;
};

static gint64 own_time(const struct truth *truth, gint64 time_ns)
{
	return time_ns + truth->ahead_ns + (gint64)(truth->drift * (gdouble)time_ns);
}

/* How wrong the fit is, at most, between two true times. */
static gint64 worst_error(const struct truth *truth, const struct clock_fit *fit, gint64 from_ns,
			  gint64 to_ns)
{
	gint64 worst_ns = 0;

	for (guint i = 0; i <= 10; i++) {
		gint64 time_ns = from_ns + (to_ns - from_ns) / 10 * i;
		gint64 error_ns = clock_map_apply(&fit->map, own_time(truth, time_ns)) - time_ns;

		worst_ns = MAX(worst_ns, ABS(error_ns));
	}
	return worst_ns;
}

/* One event of each before one of the other, in both directions, with delays up to the given. */
static void add_meeting(struct clock_pair *pair, const struct truth *truth, GRand *random,
			gint64 time_ns, gint64 there_ns, gint64 back_ns)
{
	gint64 there = g_rand_int_range(random, 1, (gint32)there_ns);
	gint64 back = g_rand_int_range(random, 1, (gint32)back_ns);

	clock_pair_add_before(pair, own_time(truth, time_ns), time_ns + there);
	clock_pair_add_after(pair, own_time(truth, time_ns + back), time_ns);
}

static void check_fit(struct clock_pair *pair, const struct truth *truth, gint64 to_ns,
		      struct clock_fit *fit)
{
	g_assert_true(clock_pair_fit(pair, own_time(truth, 0), own_time(truth, to_ns), fit));
	g_assert_cmpint(worst_error(truth, fit, 0, to_ns), <=, fit->uncertainty_ns + 1);
	g_assert_cmpint(fit->inner_uncertainty_ns, <=, fit->uncertainty_ns);
}

static void test_exact(void)
{
	struct clock_pair pair = { 0 };
	struct clock_fit fit;

	/* Four bounds by hand: the correction is -1000 at 0 and -1100 at 1 ms, give or take 10. */
	clock_pair_add_before(&pair, 1000, 10);
	clock_pair_add_after(&pair, 1000, -10);
	clock_pair_add_before(&pair, 1001000, 999910);
	clock_pair_add_after(&pair, 1001000, 999890);
	g_assert_true(clock_pair_fit(&pair, 1000, 1001000, &fit));
	g_assert_cmpint(fit.map.pivot_ns, ==, 1000);
	g_assert_cmpint(fit.map.shift_ns, ==, -1000);
	g_assert_cmpfloat_with_epsilon(fit.map.drift, -1e-4, 1e-9);
	/* and a nanosecond of rounding, twice; a third for what a double is short of */
	g_assert_cmpint(fit.uncertainty_ns, >=, 12);
	g_assert_cmpint(fit.uncertainty_ns, <=, 13);
	g_assert_cmpfloat_with_epsilon(fit.drift_uncertainty, 22e-6, 1e-9);
	g_assert_cmpuint(fit.n_bounds, ==, 4);
	g_assert_cmpuint(fit.n_contradicted, ==, 0);
	clock_pair_release(&pair);
}

static void test_property(void)
{
	static const gint64 AHEAD_NS[] = { 0, 7 * S, -3 * S, -86400 * S, 1 };
	static const gdouble DRIFTS[] = { 0, 50e-6, -50e-6, 150e-6 };

	for (guint seed = 0; seed < 400; seed++) {
		g_autoptr(GRand) random = g_rand_new_with_seed(seed);
		struct truth truth = { AHEAD_NS[seed % G_N_ELEMENTS(AHEAD_NS)],
				       DRIFTS[seed / 8 % G_N_ELEMENTS(DRIFTS)] };
		struct clock_pair pair = { 0 };
		struct clock_fit fit;
		guint n = 1 + seed % 200;

		/* One way may take a hundred times as long as the other. */
		for (guint i = 0; i < n; i++)
			add_meeting(&pair, &truth, random,
				    (gint64)(g_rand_double(random) * 60 * (gdouble)S), 50 * US,
				    seed % 3 ? 50 * US : 5 * MS);
		check_fit(&pair, &truth, 60 * S, &fit);
		g_assert_cmpuint(fit.n_contradicted, ==, 0);
		if (n > 100)
			g_assert_cmpint(fit.uncertainty_ns, <, seed % 3 ? 60 * US : 3 * MS);
		clock_pair_release(&pair);
	}
}

/* Mistakes, from just beyond the truth to seconds, in 4 % of the bounds. */
static void test_outliers(void)
{
	for (guint seed = 0; seed < 200; seed++) {
		g_autoptr(GRand) random = g_rand_new_with_seed(seed);
		struct truth truth = { 5 * S, 50e-6 };
		struct clock_pair pair = { 0 };
		struct clock_fit fit;
		guint n_false = 1 + seed % 8;

		for (guint i = 0; i < 100; i++)
			add_meeting(&pair, &truth, random, i * 100 * MS, 100 * US, 100 * US);
		for (guint i = 0; i < n_false; i++) {
			gint64 time_ns = g_rand_int_range(random, 0, 100) * 100 * MS;
			gint64 by_ns = seed % 2 ? g_rand_int_range(random, 1, 9) * MS
						: g_rand_int_range(random, 1, 9) * S;

			if (g_rand_boolean(random))
				clock_pair_add_before(&pair, own_time(&truth, time_ns),
						      time_ns - by_ns);
			else
				clock_pair_add_after(&pair, own_time(&truth, time_ns),
						     time_ns + by_ns);
		}
		check_fit(&pair, &truth, 10 * S, &fit);
		g_assert_cmpuint(fit.n_contradicted, >=, n_false);
		g_assert_cmpuint(fit.n_contradicted, <=, 3 * n_false);
		g_assert_cmpint(fit.uncertainty_ns, <, 200 * US);
		g_assert_false(n_false < 4 && clock_fit_is_doubtful(&fit));
		clock_pair_release(&pair);
	}
}

/* A clock that does not keep its rate: 1 ms more by the middle than a straight line has. */
static void test_bent(void)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	struct truth truth = { 0 };
	struct clock_pair pair = { 0 };
	struct clock_fit fit;

	for (guint i = 0; i < 1000; i++) {
		truth.ahead_ns = (gint64)(i < 500 ? i : 1000 - i) * 2 * US;
		add_meeting(&pair, &truth, random, i * 100 * MS, 20 * US, 20 * US);
	}
	g_assert_true(clock_pair_fit(&pair, 0, 100 * S, &fit));
	g_assert_true(clock_fit_is_doubtful(&fit));
	g_assert_cmpint(fit.uncertainty_ns, >, 300 * US);
	g_assert_cmpint(fit.uncertainty_ns, <, 3 * MS);
	clock_pair_release(&pair);
}

static void test_too_little(void)
{
	struct clock_pair pair = { 0 };
	struct clock_fit fit;

	g_assert_false(clock_pair_fit(&pair, 0, 1, &fit));
	for (guint i = 0; i < 10; i++)
		clock_pair_add_before(&pair, i * MS, i * MS + 5);
	g_assert_false(clock_pair_fit(&pair, 0, 1, &fit));
	/* One meeting says nothing of the drift: it may be anything that clocks do. */
	clock_pair_release(&pair);
	clock_pair_add_before(&pair, 5 * MS, 5 * MS + 5);
	clock_pair_add_after(&pair, 5 * MS, 5 * MS - 5);
	g_assert_true(clock_pair_fit(&pair, 5 * MS, 5 * MS + 10 * S, &fit));
	g_assert_cmpint(fit.uncertainty_ns, >, (gint64)(CLOCK_PAIR_MAX_DRIFT * 10e9) / 2);
	g_assert_cmpint(fit.uncertainty_ns, <, (gint64)(CLOCK_PAIR_MAX_DRIFT * 10e9) * 2);
	clock_pair_release(&pair);
}

/* Times as broken files have them. */
static void test_absurd(void)
{
	static const gint64 TIMES_NS[] = { 0, 1, -1, TACHO_MAX_TIME_NS, -TACHO_MAX_TIME_NS };
	struct clock_pair pair = { 0 };
	struct clock_fit fit;

	for (guint i = 0; i < 25; i++) {
		clock_pair_add_before(&pair, TIMES_NS[i % 5], TIMES_NS[i / 5]);
		clock_pair_add_after(&pair, TIMES_NS[i / 5], TIMES_NS[i % 5]);
	}
	if (clock_pair_fit(&pair, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS, &fit))
		g_assert_cmpint(fit.uncertainty_ns, >=, 0);
	clock_pair_release(&pair);
}

static void test_maps(void)
{
	const struct clock_map fast = { 5 * S, 1234567, 50e-6 }, slow = { 9 * S, -42, -150e-6 };
	struct clock_map back = clock_map_invert(&fast);
	struct clock_map both = clock_map_compose(&slow, &fast);

	for (gint64 time_ns = 0; time_ns < 100 * S; time_ns += 7777777777) {
		gint64 there_ns = clock_map_apply(&fast, time_ns);

		g_assert_cmpint(ABS(clock_map_apply(&back, there_ns) - time_ns), <=, 2);
		g_assert_cmpint(
			ABS(clock_map_apply(&both, time_ns) - clock_map_apply(&slow, there_ns)), <=,
			2);
	}
	g_assert_cmpint(clock_map_add(G_MAXINT64, G_MAXINT64), ==, TACHO_MAX_TIME_NS);
	g_assert_cmpint(clock_map_add(G_MININT64, -1), ==, -TACHO_MAX_TIME_NS);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock-pair/exact", test_exact);
	g_test_add_func("/clock-pair/property", test_property);
	g_test_add_func("/clock-pair/outliers", test_outliers);
	g_test_add_func("/clock-pair/bent", test_bent);
	g_test_add_func("/clock-pair/too-little", test_too_little);
	g_test_add_func("/clock-pair/absurd", test_absurd);
	g_test_add_func("/clock-pair/maps", test_maps);
	return g_test_run();
}
