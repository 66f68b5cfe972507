/* The question answered where a replay disagrees with the model of costs, and what is said of it. */
#include <math.h>
#include <string.h>

#include "optimize/plan.h"
#include "plain_plan.h"
#include "precision/problem.h"
#include "random_problem.h"

/* A replay that knows more: each operation in fp32 takes this much longer than the model says, and holds that much more. */
struct knowing {
	gdouble hidden_ns, hidden_bytes;
	guint n_asked;
	gboolean fails;
};

static gboolean predict(gpointer data, const TachoPrecisionProblem *problem, const guint8 *plan,
			struct precision_prediction *prediction, GError **error)
{
	struct knowing *knowing = data;
	struct plain_plan plain = plain_plan(problem, plan);
	guint n_wide = 0;

	knowing->n_asked++;
	if (knowing->fails) {
		g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM,
				    "the recording cannot be played");
		return FALSE;
	}
	for (guint32 i = 0; i < problem->n_operations; i++)
		n_wide += problem->operations[i].rule == PRECISION_CHOSEN && plan[i] == FORMAT_FP32;
	prediction->step_ns = plain.step_ns + n_wide * knowing->hidden_ns;
	prediction->interval_ns[0] = prediction->step_ns - 1000;
	prediction->interval_ns[1] = prediction->step_ns + 1000;
	prediction->worker_ns[0] = prediction->step_ns;
	prediction->bytes[0] = plain.bytes[0] + n_wide * knowing->hidden_bytes;
	return TRUE;
}

static TachoPrecisionPlan *plan_with(struct knowing *knowing, gdouble within_pct, guint64 memory,
				     GError **error)
{
	g_autoptr(TachoPrecisionProblem) problem = transformer_problem(3, 1);
	TachoPrecisionOptions options = { .within_pct = within_pct, .memory_bytes = memory };

	if (knowing)
		problem->predictor = (struct precision_predictor){ predict, knowing, NULL };
	return tacho_precision_plan(problem, &options, error);
}

/* The replay's step keeps the bound, though the model's plan would not. */
static void test_time(void)
{
	struct knowing knowing = { .hidden_ns = 3000 };
	g_autoptr(TachoPrecisionPlan) hopeful = plan_with(NULL, 20, 0, NULL);
	g_autoptr(TachoPrecisionPlan) plan = plan_with(&knowing, 20, 0, NULL);

	g_assert_false(hopeful->is_by_replay);
	g_assert_true(plan->is_by_replay);
	g_assert_cmpuint(knowing.n_asked, >,
			 3); /* recorded, fastest, a plan that misses, another */
	g_assert_cmpfloat(plan->step_ms, <=, plan->bound_ms);
	g_assert_cmpfloat(plan->interval_ms[1], ==, plan->step_ms + 1e-3);
	g_assert_cmpfloat(plan->harm, >, hopeful->harm);
	g_assert_cmpfloat(plan->harm, <, plan->fastest_harm);
	g_assert_false(plan->is_least_proven);
}

static void test_memory(void)
{
	struct knowing knowing = { .hidden_bytes = 2000 };
	g_autoptr(TachoPrecisionPlan) roomy = plan_with(&knowing, 50, 0, NULL);
	gdouble needed = tacho_table_cell_number(roomy->workers, 0, "peak_bytes");
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrecisionPlan) plan =
		plan_with(&knowing, 50, (guint64)needed - 3000, &error);

	g_assert_no_error(error);
	g_assert_cmpfloat(tacho_table_cell_number(plan->workers, 0, "peak_bytes"), <=,
			  needed - 3000);
	g_assert_cmpfloat(tacho_table_cell_number(plan->workers, 0, "max_bytes"), ==,
			  needed - 3000);
	g_assert_cmpfloat(plan->harm, >, roomy->harm);
}

static void test_fails(void)
{
	struct knowing knowing = { .fails = TRUE };
	g_autoptr(GError) error = NULL;

	g_assert_null(plan_with(&knowing, 5, 0, &error));
	g_assert_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM);
}

/* What tacho apply is given names each operation that is chosen, once, in what the table says. */
static void test_plan_file(void)
{
	g_autoptr(TachoPrecisionPlan) plan = plan_with(NULL, -1, 0, NULL);
	const struct plan_change *change = plan_find(plan->plans->pdata[0], PLAN_PRECISION);

	g_assert_cmpuint(change->precisions->len, ==, 21);
	g_assert_cmpuint(tacho_table_n_rows(plan->operations), ==, 21);
	for (guint i = 0; i < change->precisions->len; i++) {
		const struct plan_precision *one =
			&g_array_index(change->precisions, struct plan_precision, i);

		g_assert_cmpstr(one->module, ==,
				tacho_table_cell_text(plan->operations, i, "module"));
		g_assert_cmpstr(one->format, ==,
				tacho_table_cell_text(plan->operations, i, "precision"));
	}
	/* without a bound, 5 % above the fastest */
	g_assert_cmpfloat_with_epsilon(plan->bound_ms, 1.05 * plan->fastest_step_ms, 1e-9);
	g_assert_true(tacho_plan_check_applicable(plan->plans->pdata[0], NULL));
}

/* An operation that nobody knows the harm of keeps what it was recorded in. */
static void test_unknown(void)
{
	g_autoptr(TachoPrecisionProblem) problem = transformer_problem(1, 1);
	TachoPrecisionOptions options = { .within_pct = 50 };
	g_autoptr(TachoPrecisionPlan) plan = NULL;
	guint n_unknown = 0;

	problem->operations[3].has_harm = FALSE;
	g_assert_cmpint(problem->operations[3].rule, ==, PRECISION_CHOSEN);
	plan = tacho_precision_plan(problem, &options, NULL);
	for (guint row = 0; row < tacho_table_n_rows(plan->operations); row++)
		if (strstr(tacho_table_cell_text(plan->operations, row, "why"),
			   "nothing is known")) {
			n_unknown++;
			g_assert_cmpstr(tacho_table_cell_text(plan->operations, row, "precision"),
					==, "fp32");
		}
	g_assert_cmpuint(n_unknown, ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/precision_plan/time", test_time);
	g_test_add_func("/precision_plan/memory", test_memory);
	g_test_add_func("/precision_plan/fails", test_fails);
	g_test_add_func("/precision_plan/plan_file", test_plan_file);
	g_test_add_func("/precision_plan/unknown", test_unknown);
	return g_test_run();
}
