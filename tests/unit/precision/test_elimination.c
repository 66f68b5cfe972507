/* Tables taken out one by one against all combinations. */
#include <math.h>

#include "precision/elimination.h"

#define MAX_VARIABLES 8

struct instance {
	Elimination *elimination;
	guint n, n_values[MAX_VARIABLES];
};

static void add_random_table(GRand *rand, struct instance *instance, gboolean has_forbidden)
{
	guint32 variables[3], n = 0, table;
	gdouble *entries;
	gsize n_entries;

	for (guint32 i = 0; i < instance->n && n < 3; i++)
		if (g_rand_int_range(rand, 0, 3) == 0)
			variables[n++] = i;
	table = elimination_add_table(instance->elimination, variables, n);
	entries = elimination_table(instance->elimination, table, &n_entries);
	for (gsize i = 0; i < n_entries; i++)
		entries[i] = has_forbidden && g_rand_int_range(rand, 0, 8) == 0
				     ? INFINITY
				     : g_rand_int_range(rand, -50, 100);
}

static struct instance random_instance(GRand *rand, guint64 max_entries, gboolean has_forbidden)
{
	struct instance instance = { elimination_new(max_entries),
				     (guint)g_rand_int_range(rand, 1, MAX_VARIABLES + 1),
				     { 0 } };
	gint n_tables = g_rand_int_range(rand, 0, 12);

	for (guint i = 0; i < instance.n; i++) {
		instance.n_values[i] = (guint)g_rand_int_range(rand, 1, 5);
		g_assert_cmpuint(
			elimination_add_variable(instance.elimination, instance.n_values[i], FALSE),
			==, i);
	}
	for (gint i = 0; i < n_tables; i++)
		add_random_table(rand, &instance, has_forbidden);
	return instance;
}

static gdouble least(const struct instance *instance)
{
	guint8 values[MAX_VARIABLES] = { 0 };
	gdouble best = INFINITY;

	for (;;) {
		guint i = instance->n;

		best = MIN(best, elimination_cost(instance->elimination, values));
		while (i > 0 && ++values[i - 1] == instance->n_values[i - 1])
			values[--i] = 0;
		if (i == 0)
			return best;
	}
}

static void test_exact(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);

	for (guint i = 0; i < 400; i++) {
		struct instance instance = random_instance(rand, 1 << 20, i % 2);
		guint8 values[MAX_VARIABLES] = { 0 };
		struct elimination_result result;
		gdouble best = least(&instance);

		elimination_solve(instance.elimination, values, &result);
		g_assert_true(result.is_exact);
		g_assert_cmpfloat(result.cost, ==, best);
		if (isfinite(best))
			g_assert_cmpfloat(elimination_cost(instance.elimination, values), ==, best);
		elimination_free(instance.elimination);
	}
}

/* Tables may be filled anew; the order is that of before. */
static void test_again(void)
{
	g_autoptr(Elimination) elimination = elimination_new(100);
	guint32 pair[] = { elimination_add_variable(elimination, 2, FALSE),
			   elimination_add_variable(elimination, 3, FALSE) };
	guint32 table = elimination_add_table(elimination, pair, 2);
	struct elimination_result result;
	guint8 values[2] = { 0 };

	for (guint best = 0; best < 6; best++) {
		gdouble *entries = elimination_table(elimination, table, NULL);

		for (guint i = 0; i < 6; i++)
			entries[i] = i == best ? -1 : 1;
		elimination_solve(elimination, values, &result);
		g_assert_cmpfloat(result.cost, ==, -1);
		g_assert_cmpuint(values[0] * 3u + values[1], ==, best);
		g_assert_cmpuint(result.width, ==, 2);
	}
}

/* With no room for tables variables are held: what is found is never better than the best, is what it says, and mostly the best. */
static void test_held(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(2);
	guint n_held = 0, n_best = 0;

	for (guint i = 0; i < 200; i++) {
		struct instance instance = random_instance(rand, 32, FALSE);
		guint8 values[MAX_VARIABLES] = { 0 };
		struct elimination_result result;
		gdouble best = least(&instance);

		elimination_solve(instance.elimination, values, &result);
		g_assert_cmpfloat(result.cost, >=, best);
		g_assert_cmpfloat_with_epsilon(elimination_cost(instance.elimination, values),
					       result.cost, 1e-9);
		g_assert_cmpint(result.is_exact, ==, result.n_held == 0);
		if (!result.is_exact) {
			n_held++;
			n_best += result.cost == best;
		}
		elimination_free(instance.elimination);
	}
	g_assert_cmpuint(n_held, >, 20);
	g_assert_cmpuint(10 * n_best, >=, 8 * n_held);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/elimination/exact", test_exact);
	g_test_add_func("/elimination/again", test_again);
	g_test_add_func("/elimination/held", test_held);
	return g_test_run();
}
