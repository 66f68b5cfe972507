#include "base/interval_set.h"

#define UNIVERSE 200

/* The same set as a bit a moment: slow, and plainly right. */
static void add_random(struct interval_set *set, gboolean *moments)
{
	for (gint i = g_test_rand_int_range(0, 12); i > 0; i--) {
		gint begin = g_test_rand_int_range(0, UNIVERSE);
		gint end = begin + g_test_rand_int_range(0, 30);

		end = MIN(end, UNIVERSE);
		interval_set_add(set, begin, end);
		for (gint at = begin; at < end; at++)
			moments[at] = TRUE;
	}
	interval_set_normalize(set);
}

static void expect_same(const struct interval_set *set, const gboolean *moments)
{
	for (gint at = 0; at < UNIVERSE; at++)
		g_assert_cmpint(interval_set_measure(set, at, at + 1), ==, moments[at]);
	for (guint i = 1; i < set->intervals->len; i++)
		g_assert_cmpint(g_array_index(set->intervals, struct interval, i - 1).end_ns, <,
				g_array_index(set->intervals, struct interval, i).begin_ns);
}

static void test_against_moments(void)
{
	for (gint round = 0; round < 3000; round++) {
		gboolean left[UNIVERSE] = { 0 }, right[UNIVERSE] = { 0 };
		struct interval_set a, b;
		gint64 n = 0;

		interval_set_init(&a);
		interval_set_init(&b);
		add_random(&a, left);
		add_random(&b, right);
		expect_same(&a, left);
		interval_set_subtract(&a, &b);
		for (gint at = 0; at < UNIVERSE; at++) {
			left[at] = left[at] && !right[at];
			n += left[at];
		}
		expect_same(&a, left);
		g_assert_cmpint(interval_set_measure(&a, 0, UNIVERSE), ==, n);
		g_assert_cmpint(interval_set_measure(&a, 150, 50), ==, 0);
		interval_set_add_all(&a, &b);
		interval_set_normalize(&a);
		for (gint at = 0; at < UNIVERSE; at++)
			left[at] = left[at] || right[at];
		expect_same(&a, left);
		interval_set_release(&a);
		interval_set_release(&b);
	}
}

static void test_measure_clips(void)
{
	struct interval_set set;

	interval_set_init(&set);
	interval_set_add(&set, 10, 20);
	interval_set_add(&set, 30, 40);
	interval_set_normalize(&set);
	g_assert_cmpint(interval_set_measure(&set, 0, 100), ==, 20);
	g_assert_cmpint(interval_set_measure(&set, 15, 35), ==, 10);
	g_assert_cmpint(interval_set_measure(&set, 12, 14), ==, 2);
	g_assert_cmpint(interval_set_measure(&set, 20, 30), ==, 0);
	interval_set_release(&set);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/interval_set/against_moments", test_against_moments);
	g_test_add_func("/interval_set/measure_clips", test_measure_clips);
	return g_test_run();
}
