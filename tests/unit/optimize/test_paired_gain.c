/* Gains of pairs, by hand. */
#include <tacho/optimize.h>

#include <math.h>

static void test_gain(void)
{
	static const gdouble first[] = { 100, 110, 121 }, second[] = { 90, 99, 108.9 };
	static const gdouble spread[] = { 90, 100, 110 };
	TachoPairedGain gain = tacho_paired_gain(first, second, 3);
	gdouble mean, squares = 0, margin;

	/* a tenth in each pair: the machine's own drift counts for nothing */
	g_assert_cmpfloat_with_epsilon(gain.gain_pct, 10, 1e-9);
	g_assert_cmpfloat_with_epsilon(gain.low_pct, 10, 1e-6);
	g_assert_cmpfloat_with_epsilon(gain.high_pct, 10, 1e-6);

	/* t is 4.3027 for two degrees of freedom */
	gain = tacho_paired_gain(first, spread, 3);
	mean = (log(100.0 / 90) + log(1.1) + log(1.1)) / 3;
	for (guint i = 0; i < 3; i++)
		squares += pow(log(first[i] / spread[i]) - mean, 2);
	margin = 4.302653 * sqrt(squares / 2 / 3);
	g_assert_cmpfloat_with_epsilon(gain.gain_pct, 100 * (1 - exp(-mean)), 1e-9);
	g_assert_cmpfloat_with_epsilon(gain.low_pct, 100 * (1 - exp(margin - mean)), 1e-4);
	g_assert_cmpfloat_with_epsilon(gain.high_pct, 100 * (1 - exp(-margin - mean)), 1e-4);
}

static void test_one(void)
{
	static const gdouble first[] = { 100 }, second[] = { 125 };
	TachoPairedGain gain = tacho_paired_gain(first, second, 1);

	g_assert_cmpfloat_with_epsilon(gain.gain_pct, -25, 1e-9);
	g_assert_true(isnan(gain.low_pct) && isnan(gain.high_pct));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/paired_gain/gain", test_gain);
	g_test_add_func("/paired_gain/one", test_one);
	return g_test_run();
}
