/* States of plans against the plainest computation; the fastest plan and recoveries against all plans. */
#include <math.h>
#include <string.h>

#include "plain_plan.h"
#include "precision/search.h"
#include "random_problem.h"

#define NEAR 1e-6

static struct random_problem wanted_of(guint32 seed)
{
	return (struct random_problem){
		.n_chosen = 1 + seed % 7,
		.n_workers = 1 + (seed / 7) % 2,
		.n_collectives = (seed / 3) % 4,
		.has_ties = seed % 5 == 0,
		.has_shared = seed % 2,
		.has_followers = seed % 3 > 0,
		.formats = 1u << FORMAT_BF16 | 1u << FORMAT_FP16 | 1u << FORMAT_INT8,
	};
}

static gsize plan_size(const TachoPrecisionProblem *problem)
{
	return (gsize)problem->n_workers * problem->n_operations;
}

static void assert_same(const TachoPrecisionProblem *problem, PlanState *state)
{
	struct plain_plan plain = plain_plan(problem, plan_state_plan(state));

	g_assert_cmpfloat_with_epsilon(plan_state_step_ns(state, NULL, NULL), plain.step_ns, NEAR);
	g_assert_cmpfloat_with_epsilon(plan_state_harm(state), plain.harm, NEAR);
	for (guint32 w = 0; w < problem->n_workers; w++) {
		g_assert_cmpfloat_with_epsilon(plan_state_work_ns(state, w), plain.work_ns[w],
					       NEAR);
		g_assert_cmpfloat_with_epsilon(plan_state_bytes(state, w), plain.bytes[w], NEAR);
	}
}

/* Changes at random, some undone: the state is what a fresh computation says. */
static void test_state(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);

	for (guint32 seed = 0; seed < 60; seed++) {
		struct random_problem wanted = wanted_of(seed);
		g_autoptr(TachoPrecisionProblem) problem = random_problem(rand, &wanted);
		g_autoptr(GError) error = NULL;
		g_autoptr(PlanState) state = NULL;

		precision_problem_check(problem, &error);
		g_assert_no_error(error);
		state = plan_state_new(problem);
		assert_same(problem, state);
		for (guint i = 0; i < 40; i++) {
			guint32 w = (guint32)g_rand_int_range(rand, 0, (gint32)problem->n_workers);
			guint32 operation =
				(guint32)g_rand_int_range(rand, 0, (gint32)problem->n_operations);
			enum number_format format =
				(enum number_format)g_rand_int_range(rand, 0, N_NUMBER_FORMATS);
			g_autofree guint8 *before =
				g_memdup2(plan_state_plan(state), plan_size(problem));

			if (problem->operations[operation].rule != PRECISION_CHOSEN ||
			    !precision_cost_of(problem, w, operation, format)->is_allowed)
				continue;
			plan_state_keep(state);
			plan_state_set(state, w, operation, format);
			assert_same(problem, state);
			if (g_rand_int_range(rand, 0, 2)) {
				plan_state_undo(state);
				g_assert_cmpmem(plan_state_plan(state), plan_size(problem), before,
						plan_size(problem));
				assert_same(problem, state);
			}
		}
	}
}

/* The least over all plans of what a worker takes, or of the harm within a bound. */
static gdouble least_of(const TachoPrecisionProblem *problem, gdouble bound_ns, gdouble max_bytes)
{
	g_autofree guint8 *plan = g_new0(guint8, plan_size(problem));
	gdouble least = INFINITY;

	plain_first(problem, plan);
	do {
		struct plain_plan plain = plain_plan(problem, plan);
		gboolean is_kept = plain.is_possible && plain.step_ns <= bound_ns * (1 + 1e-12);

		for (guint32 w = 0; w < problem->n_workers; w++)
			is_kept = is_kept && plain.bytes[w] <= max_bytes;
		if (is_kept)
			least = MIN(least, isfinite(bound_ns) ? plain.harm : plain.work_ns[0]);
	} while (plain_next(problem, plan));
	return least;
}

static void test_fastest(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(4);

	for (guint32 seed = 0; seed < 120; seed++) {
		struct random_problem wanted = wanted_of(seed);
		g_autoptr(TachoPrecisionProblem) problem = NULL;
		g_autoptr(PrecisionSearch) search = NULL;
		g_autoptr(GError) error = NULL;
		struct elimination_result result;

		wanted.n_workers = 1;
		problem = random_problem(rand, &wanted);
		search = precision_search_new(problem);
		precision_search_fastest(search, &result, &error);
		g_assert_no_error(error);
		g_assert_true(result.is_exact);
		assert_same(problem, precision_search_state(search));
		g_assert_true(plain_plan(problem, plan_state_plan(precision_search_state(search)))
				      .is_possible);
		g_assert_cmpfloat_with_epsilon(
			plan_state_work_ns(precision_search_state(search), 0),
			least_of(problem, INFINITY, INFINITY), NEAR);
	}
}

/* Within a bound, by all plans and by moves: the same harm, or not more than 2 % above it on the whole. */
static void test_recovery(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(5);
	gdouble found = 0, best = 0, proven = 0;
	guint n_best = 0, n = 0;

	for (guint32 seed = 0; seed < 150; seed++) {
		struct random_problem wanted = wanted_of(seed);
		g_autoptr(TachoPrecisionProblem) problem = random_problem(rand, &wanted);
		g_autoptr(PrecisionSearch) search = NULL;
		PlanState *state;
		struct precision_bound bound = { 0 };
		gboolean is_exact;
		gdouble least;

		if (wanted.n_chosen * wanted.n_workers > 7)
			continue;
		search = precision_search_new(problem);
		state = precision_search_state(search);
		g_assert_true(precision_search_fastest(search, NULL, NULL));
		bound.step_ns = plan_state_step_ns(state, NULL, NULL) * (1 + 0.04 * (seed % 4));
		least = least_of(problem, bound.step_ns, INFINITY);
		g_assert_true(precision_search_recover(search, &bound, &is_exact, NULL));
		g_assert_true(is_exact);
		g_assert_cmpfloat_with_epsilon(plan_state_harm(state), least, NEAR);

		bound.is_never_enumerated = TRUE;
		g_assert_true(precision_search_fastest(search, NULL, NULL));
		g_assert_true(precision_search_recover(search, &bound, &is_exact, NULL));
		g_assert_false(is_exact);
		g_assert_true(precision_search_keeps(search, &bound));
		assert_same(problem, state);
		g_assert_true(plain_plan(problem, plan_state_plan(state)).is_possible);
		g_assert_cmpfloat(plan_state_harm(state), >=, least - NEAR);
		/* what the prices prove is true */
		g_assert_cmpfloat(precision_search_least_harm(search), <=, least + NEAR);
		g_assert_cmpfloat(precision_search_least_harm(search), >=, 0);
		proven += precision_search_least_harm(search);
		found += plan_state_harm(state);
		best += least;
		n++;
		n_best += plan_state_harm(state) <= 1.02 * least + NEAR;
	}
	g_test_message("moves found the best of %u of %u, and %.2f %% more harm in all", n_best, n,
		       100 * (found / best - 1));
	g_test_message("prices prove %.0f %% of the least harm", 100 * proven / best);
	g_assert_cmpfloat(proven, >=, 0.3 * best);
	g_assert_cmpfloat(found, <=, 1.02 * best);
	g_assert_cmpuint(100 * n_best, >=, 90 * n);
}

/* A memory that only some plans fit in. */
static void test_memory(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(6);
	guint n_found = 0, n_missed = 0;

	for (guint32 seed = 0; seed < 60; seed++) {
		struct random_problem wanted = wanted_of(seed);
		g_autoptr(TachoPrecisionProblem) problem = NULL;
		g_autoptr(PrecisionSearch) search = NULL;
		g_autoptr(GError) error = NULL;
		gdouble bytes;

		wanted.n_workers = 1;
		problem = random_problem(rand, &wanted);
		search = precision_search_new(problem);
		g_assert_true(precision_search_fastest(search, NULL, NULL));
		bytes = plan_state_bytes(precision_search_state(search), 0);
		problem->workers[0].max_bytes = bytes - 1;
		if (precision_search_fastest(search, NULL, &error)) {
			n_found++;
			g_assert_cmpfloat(plan_state_bytes(precision_search_state(search), 0), <,
					  bytes);
			continue;
		}
		g_assert_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_NO_PLAN);
		/* plans at a price are not all plans: a few that fit are not seen */
		n_missed += isfinite(least_of(problem, 1e18, bytes - 1));
	}
	g_assert_cmpuint(n_found, >, 10);
	g_assert_cmpuint(10 * n_missed, <=, n_found);
}

/* The same plan, whoever looks when. */
static void test_same(void)
{
	g_autoptr(TachoPrecisionProblem) problem = transformer_problem(6, 2);
	g_autofree guint8 *first = NULL;

	for (guint i = 0; i < 2; i++) {
		g_autoptr(PrecisionSearch) search = precision_search_new(problem);
		PlanState *state = precision_search_state(search);
		struct precision_bound bound = { 0 };
		gboolean is_exact;

		g_assert_true(precision_search_fastest(search, NULL, NULL));
		bound.step_ns = 1.1 * plan_state_step_ns(state, NULL, NULL);
		g_assert_true(precision_search_recover(search, &bound, &is_exact, NULL));
		assert_same(problem, state);
		if (!first)
			first = g_memdup2(plan_state_plan(state), plan_size(problem));
		g_assert_cmpmem(plan_state_plan(state), plan_size(problem), first,
				plan_size(problem));
	}
}

/* Of two kinds the faster has slack: it computes in what harms least, at no cost of the step. */
static void test_slack(void)
{
	g_autoptr(TachoPrecisionProblem) problem = transformer_problem(2, 2);
	g_autoptr(PrecisionSearch) search = precision_search_new(problem);
	PlanState *state = precision_search_state(search);
	struct precision_bound bound = { 0 };
	gboolean is_exact;

	g_assert_true(precision_search_fastest(search, NULL, NULL));
	bound.step_ns = plan_state_step_ns(state, NULL, NULL);
	g_assert_true(precision_search_recover(search, &bound, &is_exact, NULL));
	for (guint32 i = 0; i < problem->n_operations; i++)
		if (problem->operations[i].rule == PRECISION_CHOSEN)
			g_assert_cmpint(plan_state_format(state, problem, 0, i), ==, FORMAT_FP32);
	g_assert_cmpfloat(plan_state_harm(state), >, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/precision_search/state", test_state);
	g_test_add_func("/precision_search/fastest", test_fastest);
	g_test_add_func("/precision_search/recovery", test_recovery);
	g_test_add_func("/precision_search/memory", test_memory);
	g_test_add_func("/precision_search/same", test_same);
	g_test_add_func("/precision_search/slack", test_slack);
	return g_test_run();
}
