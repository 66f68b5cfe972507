/* The elimination and the recovery against GLPK: the same problems as integer linear programs. Skipped where GLPK is not installed.
 *
 * x[i][f] is 1 where operation i computes in f; y[t][e][f][g] is 1 where the producer of an edge computes in f and its reader in g. Tensors are
 * cast by each reader, and all formats are chosen, so that the cost is linear in both. */
#include <math.h>
#include <string.h>

#include "precision/search.h"
#include "random_problem.h"

#ifdef HAVE_GLPK
#include <glpk.h>

#define N N_NUMBER_FORMATS

struct program {
	const TachoPrecisionProblem *problem;
	glp_prob *glp;
	gint *x;			 /* [n_operations * N] columns; 0: it may not be */
	GArray *rows, *columns, *values; /* of the matrix; gint, gint, gdouble; from 1 on */
};

static void put(struct program *program, gint row, gint column, gdouble value)
{
	g_array_append_val(program->rows, row);
	g_array_append_val(program->columns, column);
	g_array_append_val(program->values, value);
}

static gint add_row(struct program *program, gint type, gdouble bound)
{
	gint row = glp_add_rows(program->glp, 1);

	glp_set_row_bnds(program->glp, row, type, bound, bound);
	return row;
}

/* A variable of 0 or 1 that takes `ns` and harms. */
static gint add_column(struct program *program, gdouble ns, gdouble harm, gint time_row)
{
	gint column = glp_add_cols(program->glp, 1);

	glp_set_col_kind(program->glp, column, GLP_BV);
	glp_set_obj_coef(program->glp, column, time_row ? harm : ns);
	if (time_row && ns != 0)
		put(program, time_row, column, ns);
	return column;
}

static void add_operation(struct program *program, guint32 i, gint time_row)
{
	const struct precision_operation *operation = &program->problem->operations[i];
	gint row = add_row(program, GLP_FX, 1);

	for (guint f = 0; f < N; f++) {
		const struct precision_cost *cost =
			precision_cost_of(program->problem, 0, i, (enum number_format)f);

		if (!cost->is_allowed)
			continue;
		program->x[i * N + f] =
			add_column(program, cost->forward_ns + cost->backward_ns,
				   operation->has_harm ? operation->harm[f] : 0, time_row);
		put(program, row, program->x[i * N + f], 1);
	}
}

/* y >= x of the producer + x of the reader - 1: enough, as casts take time and time is to be little. */
static void add_edge(struct program *program, guint32 t, guint32 e, gint time_row)
{
	const struct precision_cast *cast = &program->problem->workers[0].casts[t];
	const struct precision_tensor *tensor = &program->problem->tensors[t];
	const struct precision_edge *edge = &program->problem->edges[tensor->first_edge + e];

	for (guint f = 0; f < N && !edge->is_free; f++)
		for (guint g = 0; g < N; g++) {
			enum number_format from =
				(enum number_format)program->problem->operations[tensor->producer]
					.result[f];
			enum number_format to = number_format_input((enum number_format)g);
			gint x = program->x[tensor->producer * N + f];
			gint other = program->x[edge->consumer * N + g], row, y;
			gdouble ns = (gdouble)cast->forward_ns[from][to] +
				     (gdouble)cast->backward_ns[from][to];

			if (!x || !other || from == to)
				continue;
			y = add_column(program, ns, 0, time_row);
			row = add_row(program, GLP_UP, 1);
			put(program, row, x, 1);
			put(program, row, other, 1);
			put(program, row, y, -1);
		}
}

/* The least time (bound_ns INFINITY), or the least harm within it. */
static gdouble least(const TachoPrecisionProblem *problem, gdouble bound_ns)
{
	struct program program = { .problem = problem, .glp = glp_create_prob() };
	gint time_row = 0, zero = 0;
	gdouble found, none = 0;
	glp_iocp how;

	program.x = g_new0(gint, problem->n_operations * N);
	program.rows = g_array_new(FALSE, FALSE, sizeof(gint));
	program.columns = g_array_new(FALSE, FALSE, sizeof(gint));
	program.values = g_array_new(FALSE, FALSE, sizeof(gdouble));
	g_array_append_val(program.rows, zero); /* GLPK counts from 1 */
	g_array_append_val(program.columns, zero);
	g_array_append_val(program.values, none);
	glp_set_obj_dir(program.glp, GLP_MIN);
	if (isfinite(bound_ns))
		time_row = add_row(&program, GLP_UP, bound_ns);
	for (guint32 i = 0; i < problem->n_operations; i++)
		add_operation(&program, i, time_row);
	for (guint32 t = 0; t < problem->n_tensors; t++)
		for (guint32 e = 0; e < problem->tensors[t].n_edges; e++)
			add_edge(&program, t, e, time_row);
	glp_load_matrix(program.glp, (gint)program.rows->len - 1, (gint *)program.rows->data,
			(gint *)program.columns->data, (gdouble *)program.values->data);
	glp_init_iocp(&how);
	how.presolve = GLP_ON;
	how.msg_lev = GLP_MSG_ERR;
	g_assert_cmpint(glp_intopt(program.glp, &how), ==, 0);
	g_assert_cmpint(glp_mip_status(program.glp), ==, GLP_OPT);
	found = glp_mip_obj_val(program.glp);
	glp_delete_prob(program.glp);
	g_free(program.x);
	g_array_unref(program.rows);
	g_array_unref(program.columns);
	g_array_unref(program.values);
	return found;
}

static void test_fastest(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(9);

	for (guint32 n = 4; n <= 24; n += 4) {
		const struct random_problem wanted = { .n_chosen = n,
						       .n_workers = 1,
						       .formats = 1u << FORMAT_BF16 |
								  1u << FORMAT_INT8 };
		g_autoptr(TachoPrecisionProblem) problem = random_problem(rand, &wanted);
		g_autoptr(PrecisionSearch) search = precision_search_new(problem);
		PlanState *state = precision_search_state(search);

		g_assert_true(precision_search_fastest(search, NULL, NULL));
		g_assert_cmpfloat_with_epsilon(plan_state_work_ns(state, 0),
					       least(problem, INFINITY), 1e-3);
	}
}

static void test_recovery(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(10);

	for (guint32 n = 4; n <= 16; n += 4) {
		const struct random_problem wanted = { .n_chosen = n,
						       .n_workers = 1,
						       .formats = 1u << FORMAT_BF16 |
								  1u << FORMAT_INT8 };
		g_autoptr(TachoPrecisionProblem) problem = random_problem(rand, &wanted);
		g_autoptr(PrecisionSearch) search = precision_search_new(problem);
		PlanState *state = precision_search_state(search);
		struct precision_bound bound = { .is_never_enumerated = TRUE };
		gboolean is_exact;
		gdouble step_ns, best;

		g_assert_true(precision_search_fastest(search, NULL, NULL));
		step_ns = plan_state_step_ns(state, NULL, NULL);
		bound.step_ns = 1.1 * step_ns;
		best = least(problem, plan_state_work_ns(state, 0) + 0.1 * step_ns);
		g_assert_true(precision_search_recover(search, &bound, &is_exact, NULL));
		g_test_message("%u operations: harm %.4g, GLPK %.4g", n, plan_state_harm(state),
			       best);
		g_assert_cmpfloat(plan_state_harm(state), >=, best * (1 - 1e-6));
		g_assert_cmpfloat(plan_state_harm(state), <=, best * 1.05 + 1e-6);
	}
}
#else
static void test_fastest(void)
{
	g_test_skip("GLPK is not installed");
}

static void test_recovery(void)
{
	g_test_skip("GLPK is not installed");
}
#endif

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/precision_glpk/fastest", test_fastest);
	g_test_add_func("/precision_glpk/recovery", test_recovery);
	return g_test_run();
}
