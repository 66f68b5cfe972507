#include "base/student_t.h"

#include <math.h>

#define NEAR(value, expected, epsilon) g_assert_cmpfloat_with_epsilon(value, expected, epsilon)

static const gdouble ts[] = { 0, 1e-9, 0.1, 1, 2.5, 40, 1e6 };

/* With 1, 2 and 4 degrees of freedom the distribution has a closed form. */
static void test_closed_forms(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(ts); i++) {
		gdouble t = ts[i], root = sqrt(1 + t * t / 4);

		NEAR(student_t_two_sided(t, 1), 1 - 2 / G_PI * atan(t), 1e-12);
		NEAR(student_t_two_sided(t, 2), 1 - t / sqrt(2 + t * t), 1e-12);
		NEAR(student_t_two_sided(t, 4),
		     1 - 0.75 * t / root * (1 - t * t / (12 * root * root)), 1e-12);
		g_assert_true(student_t_two_sided(-t, 2) == student_t_two_sided(t, 2));
	}
}

static void test_critical(void)
{
	NEAR(student_t_critical(0.05, 1), tan(G_PI * 0.475), 1e-9);
	NEAR(student_t_critical(0.05, 2), 0.95 * sqrt(2 / (1 - 0.95 * 0.95)), 1e-9);
	NEAR(student_t_critical(0.05, 1e12), 1.959963984540, 1e-6); /* the normal distribution's */
	for (gdouble df = 0.5; df < 1e5; df *= 3)
		NEAR(student_t_two_sided(student_t_critical(0.01, df), df), 0.01, 1e-9);
}

/* From the doubles that a hostile trace can bring about. */
static void test_extremes(void)
{
	g_assert_true(student_t_two_sided(1e200, 3) == 0);
	g_assert_true(student_t_two_sided(G_MAXDOUBLE, 1e300) == 0);
	NEAR(student_t_two_sided(0, 1e-3), 1, 1e-12);
	g_assert_true(isfinite(student_t_critical(0.05, 1e-3)));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/student_t/closed_forms", test_closed_forms);
	g_test_add_func("/student_t/critical", test_critical);
	g_test_add_func("/student_t/extremes", test_extremes);
	return g_test_run();
}
