/* Plans where fp32 and tf32 are both to be had, against all plans that a process can carry out. */
#include <math.h>
#include <string.h>

#include "plain_plan.h"
#include "precision/tf32_setting.h"
#include "random_problem.h"

#define NEAR 1e-6

static TachoPrecisionProblem *small_problem(GRand *rand, guint32 seed)
{
	struct random_problem wanted = {
		.n_chosen = 1 + seed % 5,
		.n_workers = 1,
		.has_followers = seed % 3 > 0,
		.formats = 1u << FORMAT_TF32 | 1u << FORMAT_BF16,
	};

	return random_problem(rand, &wanted);
}

static gboolean is_broken_plainly(const TachoPrecisionProblem *problem, const guint8 *plan)
{
	guint n_fp32 = 0, n_tf32 = 0;

	for (guint32 i = 0; i < problem->n_operations; i++)
		if (problem->operations[i].rule == PRECISION_CHOSEN) {
			n_fp32 += plan[i] == FORMAT_FP32;
			n_tf32 += plan[i] == FORMAT_TF32;
		}
	return n_fp32 > 0 && n_tf32 > 0;
}

/* Of all plans that can be carried out, the shortest step, or the least harm within a bound. */
static gdouble least_of(const TachoPrecisionProblem *problem, gdouble bound_ns)
{
	g_autofree guint8 *plan = g_new0(guint8, problem->n_operations);
	gdouble least = INFINITY;

	plain_first(problem, plan);
	do {
		struct plain_plan plain = plain_plan(problem, plan);

		g_assert_true(tf32_setting_is_broken(problem, plan) ==
			      is_broken_plainly(problem, plan));
		if (plain.is_possible && !is_broken_plainly(problem, plan) &&
		    plain.step_ns <= bound_ns * (1 + 1e-12))
			least = MIN(least, isfinite(bound_ns) ? plain.harm : plain.step_ns);
	} while (plain_next(problem, plan));
	return least;
}

static void test_best(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(6);
	guint n_open = 0, n_tf32 = 0;

	for (guint32 seed = 0; seed < 80; seed++) {
		g_autoptr(TachoPrecisionProblem) problem = small_problem(rand, seed);
		TachoPrecisionOptions options = { .within_pct = seed % 4 * 20 };
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoPrecisionPlan) plan =
			tacho_precision_plan(problem, &options, &error);

		g_assert_no_error(error);
		g_assert_false(is_broken_plainly(problem, plan->formats));
		g_assert_cmpfloat_with_epsilon(1e6 * plan->fastest_step_ms,
					       least_of(problem, INFINITY), NEAR);
		g_assert_cmpfloat_with_epsilon(plan->harm, least_of(problem, 1e6 * plan->bound_ms),
					       NEAR);
		n_open += tf32_setting_is_open(problem);
		for (guint32 i = 0; i < problem->n_operations; i++)
			n_tf32 += plan->formats[i] == FORMAT_TF32;
	}
	/* both settings were the better one at times */
	g_assert_cmpuint(n_open, >, 40);
	g_assert_cmpuint(n_tf32, >, 10);
}

/* What keeps fp32, since nobody knows its harm, decides for the whole worker; what needs the one beside what needs the other is refused. */
static void test_decided(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	struct random_problem wanted = { .n_chosen = 3, .n_workers = 1 };
	g_autoptr(TachoPrecisionProblem) problem = random_problem(rand, &wanted);
	TachoPrecisionOptions options = { .within_pct = 1000 };
	g_autoptr(TachoPrecisionPlan) plan = NULL;
	g_autoptr(GError) error = NULL;

	for (guint32 i = 1; i <= 3; i++)
		*precision_cost_of(problem, 0, i, FORMAT_TF32) =
			(struct precision_cost){ .is_allowed = TRUE };
	problem->operations[2].has_harm = FALSE;
	plan = tacho_precision_plan(problem, &options, &error);
	g_assert_no_error(error);
	for (guint32 i = 1; i <= 3; i++)
		g_assert_cmpuint(plan->formats[i], ==, FORMAT_FP32);
	precision_cost_of(problem, 0, 3, FORMAT_FP32)->is_allowed = FALSE;
	g_assert_null(tacho_precision_plan(problem, &options, &error));
	g_assert_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM);
	g_assert_nonnull(strstr(error->message, "kind 0"));
}

/* Nothing stays forbidden. */
static void test_released(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(8);
	g_autoptr(TachoPrecisionProblem) problem = small_problem(rand, 4);
	gsize n = (gsize)problem->n_operations * N_NUMBER_FORMATS;
	g_autofree struct precision_cost *before =
		g_memdup2(problem->workers[0].costs, n * sizeof(*before));
	GPtrArray *held;

	for (guint32 i = 1; i < problem->n_operations; i++)
		precision_cost_of(problem, 0, i, FORMAT_TF32)->is_allowed = TRUE;
	memcpy(before, problem->workers[0].costs, n * sizeof(*before));
	held = tf32_setting_hold(problem, TRUE, NULL);
	g_assert_false(precision_cost_of(problem, 0, 1, FORMAT_FP32)->is_allowed);
	g_assert_true(precision_cost_of(problem, 0, 1, FORMAT_TF32)->is_allowed);
	g_assert_true(precision_cost_of(problem, 0, 0, FORMAT_FP32)->is_allowed); /* not chosen */
	tf32_setting_release(held);
	g_assert_cmpmem(before, n * sizeof(*before), problem->workers[0].costs,
			n * sizeof(*before));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tf32_setting/best", test_best);
	g_test_add_func("/tf32_setting/decided", test_decided);
	g_test_add_func("/tf32_setting/released", test_released);
	return g_test_run();
}
