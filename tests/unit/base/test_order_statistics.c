/* Which of a few values hold the median: by hand, and by trying. */
#include <math.h>

#include "base/order_statistics.h"

static void assert_bounds(guint n, guint rank, gdouble median_share, gdouble next_share)
{
	struct median_bounds bounds = median_bounds_of(n);

	g_assert_cmpuint(bounds.rank, ==, rank);
	g_assert_cmpfloat_with_epsilon(bounds.median_share, median_share, 1e-12);
	g_assert_cmpfloat_with_epsilon(bounds.next_share, next_share, 1e-12);
}

/* 1 - 2 (C(n, 0) + ... + C(n, r - 1)) / 2^n, and (n + 1 - 2 r) / (n + 1). */
static void test_few(void)
{
	assert_bounds(1, 1, 0, 0);
	assert_bounds(2, 1, 0.5, 1.0 / 3);
	assert_bounds(3, 1, 0.75, 0.5);
	assert_bounds(5, 1, 0.9375, 2.0 / 3);
	assert_bounds(8, 1, 1 - 2.0 / 256, 7.0 / 9);
	assert_bounds(9, 2, 1 - 2 * (1.0 + 9) / 512, 0.6);
	assert_bounds(12, 3, 1 - 2 * (1.0 + 12 + 66) / 4096, 7.0 / 13);
}

/* With many values the bounds are 1.96 standard deviations of a binomial count from the middle. */
static void test_many(void)
{
	for (guint n = 1000; n <= 100000; n *= 10) {
		struct median_bounds bounds = median_bounds_of(n);
		gdouble apart = 1.959964 * sqrt((gdouble)n) / 2;

		g_assert_cmpfloat(bounds.median_share, >=, 0.95);
		g_assert_cmpfloat(bounds.median_share, <, 0.955);
		g_assert_cmpfloat_with_epsilon(bounds.rank, n / 2.0 - apart, 2);
	}
}

/* How often the bounds held the median, and one more value, of values drawn at random. */
static void test_draws(void)
{
	const guint n_tries = 20000;

	for (guint n = 2; n <= 10; n += 4) {
		struct median_bounds bounds = median_bounds_of(n);
		guint n_median = 0, n_next = 0;

		for (guint i = 0; i < n_tries; i++) {
			g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gdouble));
			gdouble next = exp(g_test_rand_double()), low, high;

			for (guint j = 0; j < n; j++) {
				gdouble value = exp(g_test_rand_double());

				g_array_append_val(values, value);
			}
			median_of_doubles(values); /* sorts */
			low = g_array_index(values, gdouble, bounds.rank - 1);
			high = g_array_index(values, gdouble, n - bounds.rank);
			n_median += low < exp(0.5) && exp(0.5) < high;
			n_next += low < next && next < high;
		}
		g_assert_cmpfloat_with_epsilon((gdouble)n_median / n_tries, bounds.median_share,
					       0.02);
		g_assert_cmpfloat_with_epsilon((gdouble)n_next / n_tries, bounds.next_share, 0.02);
	}
}

static void test_median(void)
{
	const gdouble values[] = { 4, 1, 3, 2 };
	g_autoptr(GArray) array = g_array_new(FALSE, FALSE, sizeof(gdouble));

	g_assert_cmpfloat(median_of_doubles(array), ==, 0);
	g_array_append_vals(array, values, 3);
	g_assert_cmpfloat(median_of_doubles(array), ==, 3);
	g_array_append_val(array, values[3]);
	g_assert_cmpfloat(median_of_doubles(array), ==, 2.5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/order_statistics/few", test_few);
	g_test_add_func("/order_statistics/many", test_many);
	g_test_add_func("/order_statistics/draws", test_draws);
	g_test_add_func("/order_statistics/median", test_median);
	return g_test_run();
}
