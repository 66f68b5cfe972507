#include "analyze/mean_difference.h"

#include <math.h>

#include "base/student_t.h"

#define NEAR(value, expected) g_assert_cmpfloat_with_epsilon(value, expected, 1e-9)

static struct moments moments_of(const gdouble *values, guint n)
{
	struct moments moments = { 0 };

	for (guint i = 0; i < n; i++)
		moments_add(&moments, values[i]);
	return moments;
}
#define MOMENTS(...)                                                                               \
	moments_of((const gdouble[]){ __VA_ARGS__ },                                               \
		   sizeof((const gdouble[]){ __VA_ARGS__ }) / sizeof(gdouble))

static void test_moments(void)
{
	struct moments moments = MOMENTS(3, 5);

	moments_add_zeros(&moments, 2); /* 3 5 0 0 */
	g_assert_cmpuint(moments.n, ==, 4);
	NEAR(moments.mean, 2);
	NEAR(moments.squares, 18);
	moments = (struct moments){ 0 };
	moments_add_zeros(&moments, 0);
	NEAR(moments.squares, 0);
}

/* Variances 1 of three values and 20/3 of four: the error is sqrt(1/3 + 5/3), the degrees of freedom
 * (1/3 + 5/3)^2 / ((1/3)^2 / 2 + (5/3)^2 / 3) = 216/53. */
static void test_welch(void)
{
	struct moments first = MOMENTS(1, 2, 3), second = MOMENTS(5, 7, 9, 11);
	struct mean_difference result = mean_difference_test(&first, &second);
	gdouble margin = sqrt(2) * student_t_critical(0.05, 216.0 / 53);

	NEAR(result.difference, 6);
	NEAR(result.low, 6 - margin);
	NEAR(result.high, 6 + margin);
	NEAR(result.p_value, student_t_two_sided(6 / sqrt(2), 216.0 / 53));
}

/* One value has the other side's spread: variance 1, error sqrt(1 + 1/3), 2 degrees of freedom. */
static void test_single(void)
{
	struct moments first = MOMENTS(1, 2, 3), second = MOMENTS(4);
	struct mean_difference result = mean_difference_test(&first, &second);

	NEAR(result.difference, 2);
	NEAR(result.p_value, 1 - sqrt(3) / sqrt(5));
	result = mean_difference_test(&second, &second);
	NEAR(result.difference, 0);
	g_assert_true(isnan(result.p_value) && isnan(result.low) && isnan(result.high));
}

static void test_no_spread(void)
{
	struct moments first = MOMENTS(2, 2), second = MOMENTS(3, 3, 3);
	struct mean_difference result = mean_difference_test(&first, &second);

	NEAR(result.low, 1);
	NEAR(result.high, 1);
	g_assert_true(result.p_value == 0);
	g_assert_true(mean_difference_test(&first, &first).p_value == 1);
}

/* Squares of spreads that are too large or too small for a double still give an answer. */
static void test_extremes(void)
{
	struct moments small = MOMENTS(1e-170, 2e-170), large = MOMENTS(1e120, 3e120);
	struct mean_difference result = mean_difference_test(&small, &small);

	g_assert_true(result.p_value == 1);
	result = mean_difference_test(&small, &large);
	g_assert_true(result.p_value >= 0 && result.p_value <= 1);
}

/* Tables of power: with a standard deviation of 1, a difference of 1 takes 17 a side to be found in four of
 * five trials, one of 2 takes 6 (J. Cohen, Statistical Power Analysis, table 2.4.1). */
static void test_values_needed(void)
{
	struct moments zero = MOMENTS(-1, 0, 1), one = MOMENTS(0, 1, 2), two = MOMENTS(1, 2, 3);
	struct moments near = MOMENTS(-0.999, 0.001, 1.001), single = MOMENTS(2);

	g_assert_cmpuint(mean_difference_values_needed(&zero, &one), ==, 17);
	g_assert_cmpuint(mean_difference_values_needed(&zero, &two), ==, 6);
	g_assert_cmpuint(mean_difference_values_needed(&zero, &single), ==, 6);
	g_assert_cmpuint(mean_difference_values_needed(&zero, &zero), ==, 0);
	g_assert_cmpuint(mean_difference_values_needed(&zero, &near), ==, 0); /* too many */
	g_assert_cmpuint(mean_difference_values_needed(&single, &single), ==, 0);
}

static void test_adjustment(void)
{
	gdouble p_values[] = { 0.01, (gdouble)NAN, 0.04, 0.03, 0.005 };

	adjust_p_values(p_values, G_N_ELEMENTS(p_values));
	NEAR(p_values[0], 0.02); /* 0.01 * 4 / 2 */
	g_assert_true(isnan(p_values[1]));
	NEAR(p_values[2], 0.04); /* 0.04 * 4 / 4 */
	NEAR(p_values[3], 0.04); /* 0.03 * 4 / 3 */
	NEAR(p_values[4], 0.02); /* 0.005 * 4 / 1 */
	adjust_p_values(p_values, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mean_difference/moments", test_moments);
	g_test_add_func("/mean_difference/welch", test_welch);
	g_test_add_func("/mean_difference/single", test_single);
	g_test_add_func("/mean_difference/no_spread", test_no_spread);
	g_test_add_func("/mean_difference/extremes", test_extremes);
	g_test_add_func("/mean_difference/values_needed", test_values_needed);
	g_test_add_func("/mean_difference/adjustment", test_adjustment);
	return g_test_run();
}
