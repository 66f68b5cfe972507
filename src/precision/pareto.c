#include "precision/pareto.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

/* Bounds of time, and of memory, that plans are looked for at. Source: a rule: a picture with more points shows no more. If wrong, the front
 * has gaps. */
#define N_TIMES	   10
#define N_MEMORIES 3

static void point_clear(gpointer data)
{
	struct pareto_point *point = data;

	g_free(point->plan);
}

GArray *pareto_new(void)
{
	GArray *front = g_array_new(FALSE, TRUE, sizeof(struct pareto_point));

	g_array_set_clear_func(front, point_clear);
	return front;
}

/* Whether `a` is as good as `b` in all. */
static gboolean is_as_good(const struct pareto_point *a, const struct pareto_point *b)
{
	return a->step_ns <= b->step_ns && a->bytes <= b->bytes && a->harm <= b->harm;
}

static gdouble fullest(const TachoPrecisionProblem *problem, const PlanState *state)
{
	gdouble bytes = 0;

	for (guint32 w = 0; w < problem->n_workers; w++)
		bytes = MAX(bytes, plan_state_bytes(state, w));
	return bytes;
}

void pareto_add(GArray *front, const TachoPrecisionProblem *problem, PlanState *state,
		gboolean is_chosen)
{
	struct pareto_point point = { .step_ns = plan_state_step_ns(state, NULL, NULL),
				      .bytes = fullest(problem, state),
				      .harm = plan_state_harm(state),
				      .is_chosen = is_chosen };
	guint at = 0;

	for (guint i = 0; i < front->len && !is_chosen; i++)
		if (is_as_good(&g_array_index(front, struct pareto_point, i), &point))
			return;
	for (guint i = front->len; i-- > 0;) {
		const struct pareto_point *other = &g_array_index(front, struct pareto_point, i);

		if (!other->is_chosen && is_as_good(&point, other))
			g_array_remove_index(front, i);
	}
	while (at < front->len &&
	       g_array_index(front, struct pareto_point, at).step_ns <= point.step_ns)
		at++;
	point.plan = g_memdup2(plan_state_plan(state),
			       (gsize)problem->n_workers * problem->n_operations);
	g_array_insert_val(front, at, point);
}

/* Plans between the fastest and that with the least harm, in the memory that the problem has now; FALSE: there is none. */
static gboolean search_times(GArray *front, const TachoPrecisionProblem *problem)
{
	g_autoptr(PrecisionSearch) search = precision_search_new(problem);
	PlanState *state = precision_search_state(search);
	struct precision_bound bound = { .step_ns = INFINITY };
	gdouble fastest_ns, slowest_ns;
	gboolean is_exact;

	if (!precision_search_fastest(search, NULL, NULL))
		return FALSE;
	fastest_ns = plan_state_step_ns(state, NULL, NULL);
	pareto_add(front, problem, state, FALSE);
	/* an infinite bound has no doubt: INFINITY > INFINITY is false */
	if (!precision_search_recover(search, &bound, &is_exact, NULL))
		return TRUE;
	slowest_ns = plan_state_step_ns(state, NULL, NULL);
	pareto_add(front, problem, state, FALSE);
	for (guint i = 1; i < N_TIMES && slowest_ns > fastest_ns; i++) {
		bound.step_ns = fastest_ns + (slowest_ns - fastest_ns) * i / N_TIMES;
		if (precision_search_fastest(search, NULL, NULL) &&
		    precision_search_recover(search, &bound, &is_exact, NULL))
			pareto_add(front, problem, state, FALSE);
	}
	return TRUE;
}

void pareto_search(GArray *front, TachoPrecisionProblem *problem)
{
	g_autofree gdouble *caps = g_new(gdouble, problem->n_workers);
	gdouble low = INFINITY, high = 0, error = problem->error;

	for (guint32 w = 0; w < problem->n_workers; w++)
		caps[w] = problem->workers[w].max_bytes;
	problem->error = 0; /* points are where they are predicted to be */
	search_times(front, problem);
	FOR_EACH(const struct pareto_point, point, front) {
		low = MIN(low, point->bytes);
		high = MAX(high, point->bytes);
	}
	/* between the least and the most that was needed so far, and a little below */
	for (guint i = 0; i < N_MEMORIES && isfinite(low); i++) {
		gdouble cap = low + (high - low) * i / N_MEMORIES - (i == 0 ? low / 16 : 0);

		for (guint32 w = 0; w < problem->n_workers; w++)
			problem->workers[w].max_bytes = caps[w] > 0 ? MIN(caps[w], cap) : cap;
		search_times(front, problem);
	}
	for (guint32 w = 0; w < problem->n_workers; w++)
		problem->workers[w].max_bytes = caps[w];
	problem->error = error;
}
