/* How fast a machine was in a recording, told from work that is the same in another one: with known truth. */
#include <math.h>

#include "precision/recording_speed.h"

static struct recording_speed speed_of(guint n, gdouble each_ns, gdouble truth, gdouble spread,
				       gdouble whole_ns)
{
	g_autoptr(GArray) pieces = g_array_new(FALSE, FALSE, sizeof(struct same_work));

	/* as many are above the truth as below, the one by as much as the other */
	for (guint i = 0; i < n; i++) {
		gdouble place = n > 1 ? 2.0 * i / (n - 1) - 1 : 0;
		struct same_work piece = { each_ns * truth * exp(spread * place), each_ns };

		g_array_append_val(pieces, piece);
	}
	return recording_speed_of(pieces, whole_ns);
}

/* Much of a step is the same, and all of it says that the machine was half as fast. */
static void test_slow_machine(void)
{
	struct recording_speed speed = speed_of(40, 1e6, 2, 0.1, 60e6);

	g_assert_true(speed.is_known);
	g_assert_cmpfloat_with_epsilon(speed.seen, 2, 0.01);
	g_assert_cmpfloat_with_epsilon(speed.applied, 2, 0.01);
	speed = speed_of(40, 1e6, 0.5, 0.1, 60e6);
	g_assert_cmpfloat_with_epsilon(speed.applied, 0.5, 0.01);
}

/* The machine was as fast. Few small operations took half as long again, for what was recorded around them. */
static void test_few_small_operations(void)
{
	struct recording_speed speed = speed_of(8, 0.2e6, 1.52, 0.3, 50e6);

	g_assert_true(speed.is_known);
	g_assert_cmpfloat_with_epsilon(speed.seen, 1.52, 0.1);
	g_assert_cmpfloat(speed.applied, ==, 1);
}

/* Less than what caches do. */
static void test_small_difference(void)
{
	g_assert_cmpfloat(speed_of(40, 1e6, 1.2, 0.02, 40e6).applied, ==, 1);
	g_assert_cmpfloat(speed_of(40, 1e6, 1, 0.5, 40e6).applied, ==, 1);
}

/* Operations that differ widely are less sure than those that agree, and few are less sure than many. */
static void test_error(void)
{
	gdouble agree = speed_of(40, 1e6, 1.5, 0.05, 50e6).error;
	gdouble differ = speed_of(40, 1e6, 1.5, 1, 50e6).error;
	gdouble few = speed_of(5, 8e6, 1.5, 1, 50e6).error;
	gdouble less_of_it = speed_of(40, 1e6, 1.5, 0.05, 500e6).error;

	g_assert_cmpfloat(agree, <, differ);
	g_assert_cmpfloat(differ, <, few);
	g_assert_cmpfloat(agree, <, less_of_it);
}

/* A longer one counts for more. */
static void test_weights(void)
{
	g_autoptr(GArray) pieces = g_array_new(FALSE, FALSE, sizeof(struct same_work));

	for (guint i = 0; i < 20; i++) {
		struct same_work small = { 3e3, 1e3 }, large = { 1e6, 1e6 };

		g_array_append_val(pieces, small);
		g_array_append_val(pieces, large);
	}
	g_assert_cmpfloat_with_epsilon(recording_speed_of(pieces, 20e6).seen, 1, 1e-9);
}

/* The more it differs, the more is applied, and never more than was seen. */
static void test_monotony(void)
{
	gdouble last = 0;

	for (gdouble truth = 0.1; truth < 10; truth *= 1.1) {
		struct recording_speed speed = speed_of(20, 1e6, truth, 0.2, 50e6);

		g_assert_cmpfloat(speed.applied, >=, last);
		g_assert_cmpfloat(fabs(log(speed.applied)), <=, fabs(log(speed.seen)) + 1e-9);
		last = speed.applied;
	}
	g_assert_cmpfloat_with_epsilon(last, 4, 1e-9); /* at most */
}

/* A step of 76 ms, of which 92 were left when the stated cost had been taken out. */
static void test_excess_left(void)
{
	g_assert_cmpfloat_with_epsilon(recording_excess_left(92e6, 76e6, 0.02), 92.0 / 76, 1e-9);
	g_assert_cmpfloat_with_epsilon(recording_excess_left(92e6, 76e6, 0), 92.0 / 76, 1e-9);
	g_assert_cmpfloat(recording_excess_left(92e6, 76e6, 0.2), ==, 1); /* chance */
	g_assert_cmpfloat(recording_excess_left(92e6, 76e6, 0.08), >, 1);
	g_assert_cmpfloat(recording_excess_left(92e6, 76e6, 0.08), <, 92.0 / 76);
	g_assert_cmpfloat(recording_excess_left(70e6, 76e6, 0.01), ==,
			  1); /* recording makes nothing faster */
	g_assert_cmpfloat(recording_excess_left(0, 76e6, 0.01), ==, 1);
	g_assert_cmpfloat(recording_excess_left(92e6, 0, 0.01), ==, 1);
}

static void test_too_few(void)
{
	struct recording_speed speed = speed_of(3, 10e6, 3, 0, 30e6);

	g_assert_false(speed.is_known);
	g_assert_cmpfloat(speed.applied, ==, 1);
	speed = speed_of(40, 0, 3, 0, 30e6); /* nothing took any time */
	g_assert_false(speed.is_known);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/recording_speed/slow_machine", test_slow_machine);
	g_test_add_func("/recording_speed/few_small_operations", test_few_small_operations);
	g_test_add_func("/recording_speed/small_difference", test_small_difference);
	g_test_add_func("/recording_speed/error", test_error);
	g_test_add_func("/recording_speed/weights", test_weights);
	g_test_add_func("/recording_speed/monotony", test_monotony);
	g_test_add_func("/recording_speed/excess_left", test_excess_left);
	g_test_add_func("/recording_speed/too_few", test_too_few);
	return g_test_run();
}
