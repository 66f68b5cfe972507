#include "precision/search.h"

#include <math.h>
#include <string.h>

#include "precision/search_moves.h"
#include "precision/search_network.h"

/* Halvings of a price. Source: a rule: a millionth of its range. If wrong, a plan at a price is not the nearest to the bound, and moves have
 * more left to do. */
#define MAX_HALVINGS 20
/* Prices tried above the first guess, each 16 times the one before. Source: a rule: 16^10 is more than times and harms differ by. */
#define MAX_GROWTHS 10

/* Prices of time are between the mean harm for the time divided and multiplied by 2 to this power. Source: a rule: as MAX_GROWTHS. */
#define PRICE_RANGE 40.0
/* Rounds of raises and exchanges. Source: a rule: the second finds almost nothing. If wrong, a little harm remains. */
#define MAX_ROUNDS 3

struct _PrecisionSearch {
	const TachoPrecisionProblem *problem;
	PlanState *state;
	GPtrArray *networks; /* SearchNetwork, of each worker */
	gdouble *byte_price; /* of each worker, in ns */
	gdouble fastest_ns;  /* the step of the fastest plan; 0: it was not looked for */
	guint8 *trial;	     /* [n_operations] */
	gdouble *least_harm; /* [n_workers] of the last recovery */
};

PrecisionSearch *precision_search_new(const TachoPrecisionProblem *problem)
{
	PrecisionSearch *search = g_new0(PrecisionSearch, 1);

	search->problem = problem;
	search->state = plan_state_new(problem);
	search->networks = g_ptr_array_new_with_free_func((GDestroyNotify)search_network_free);
	for (guint32 w = 0; w < problem->n_workers; w++)
		g_ptr_array_add(search->networks, search_network_new(problem, w));
	search->byte_price = g_new0(gdouble, MAX(problem->n_workers, 1));
	search->trial = g_new0(guint8, MAX(problem->n_operations, 1));
	search->least_harm = g_new0(gdouble, MAX(problem->n_workers, 1));
	return search;
}

void precision_search_free(PrecisionSearch *search)
{
	if (!search)
		return;
	plan_state_free(search->state);
	g_ptr_array_unref(search->networks);
	g_free(search->byte_price);
	g_free(search->trial);
	g_free(search->least_harm);
	g_free(search);
}

PlanState *precision_search_state(PrecisionSearch *search)
{
	return search->state;
}

static const guint8 *plan_of(const PrecisionSearch *search, guint32 w)
{
	return plan_state_plan(search->state) + precision_plan_at(search->problem, w, 0);
}

/* The best plan of a worker at these weights, into the state. FALSE: there is none, and the state is as it was. */
static gboolean solve(PrecisionSearch *search, guint32 w, const struct search_weights *weights,
		      struct elimination_result *result)
{
	memcpy(search->trial, plan_of(search, w), search->problem->n_operations);
	if (!search_network_solve(search->networks->pdata[w], weights, search->trial, result))
		return FALSE;
	plan_state_load(search->state, w, search->trial);
	plan_state_keep(search->state);
	return TRUE;
}

/* --- bounds ------------------------------------------------------------------------------------- */

struct bounds {
	PrecisionSearch *search;
	const struct precision_bound *bound;
};

gdouble precision_search_doubt_ns(const PrecisionSearch *search,
				  const struct precision_bound *bound, gdouble step_ns)
{
	gdouble reference_ns = bound->reference_ns > 0 ? bound->reference_ns : search->fastest_ns;

	return search->problem->error * fabs(step_ns - reference_ns);
}

static gboolean has_room(const PrecisionSearch *search, guint32 w)
{
	gdouble max_bytes = search->problem->workers[w].max_bytes;

	return max_bytes == 0 || plan_state_bytes(search->state, w) <= max_bytes;
}

gboolean precision_search_keeps(PrecisionSearch *search, const struct precision_bound *bound)
{
	gdouble step_ns = plan_state_step_ns(search->state, NULL, NULL);

	/* the last digits of a sum are no reason to refuse the plan that the bound came from */
	if (step_ns + precision_search_doubt_ns(search, bound, step_ns) >
	    bound->step_ns * (1 + 1e-12))
		return FALSE;
	for (guint32 w = 0; w < search->problem->n_workers; w++)
		if (!has_room(search, w))
			return FALSE;
	return TRUE;
}

static gboolean keeps(PlanState *state, gconstpointer data)
{
	const struct bounds *bounds = data;

	(void)state; /* it is the search's */
	return precision_search_keeps(bounds->search, bounds->bound);
}

/* --- the fastest -------------------------------------------------------------------------------- */

/* Where a plan exceeds the memory, the least price of a byte at which one does not. */
static gboolean make_room(PrecisionSearch *search, guint32 w, struct elimination_result *result,
			  GError **error)
{
	const struct precision_worker *worker = &search->problem->workers[w];
	struct search_weights weights = { .time = 1 };
	gdouble low = 0, high, excess_bytes;
	g_autofree guint8 *best = NULL;

	excess_bytes = plan_state_bytes(search->state, w) - worker->max_bytes;
	high = plan_state_work_ns(search->state, w) / MAX(worker->max_bytes, 1) / 16;
	high = MAX(high, 1e-12);
	for (guint i = 0; i < MAX_GROWTHS && !best; i++) {
		low = i ? high : 0;
		high *= 16;
		weights.bytes = high;
		if (!solve(search, w, &weights, result))
			break;
		if (has_room(search, w))
			best = g_memdup2(plan_of(search, w), search->problem->n_operations);
		excess_bytes =
			MIN(excess_bytes, plan_state_bytes(search->state, w) - worker->max_bytes);
	}
	if (!best) {
		g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_NO_PLAN,
			    "no plan that was found needs as little memory as %.0f bytes on %s: "
			    "the smallest needs %.0f more",
			    worker->max_bytes, worker->name, excess_bytes);
		return FALSE;
	}
	for (guint i = 0; i < MAX_HALVINGS; i++) {
		weights.bytes = (low + high) / 2;
		if (solve(search, w, &weights, result) && has_room(search, w)) {
			high = weights.bytes;
			memcpy(best, plan_of(search, w), search->problem->n_operations);
		} else {
			low = weights.bytes;
		}
	}
	search->byte_price[w] = high;
	plan_state_load(search->state, w, best);
	plan_state_keep(search->state);
	result->is_exact = FALSE;
	return TRUE;
}

gboolean precision_search_fastest(PrecisionSearch *search, struct elimination_result *results,
				  GError **error)
{
	const struct search_weights weights = { .time = 1 };

	for (guint32 w = 0; w < search->problem->n_workers; w++) {
		struct elimination_result result;

		search->byte_price[w] = 0;
		if (!solve(search, w, &weights, &result)) {
			g_set_error(
				error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_NO_PLAN,
				"operations that follow their inputs, or that are tied, have no "
				"format in common on %s",
				search->problem->workers[w].name);
			return FALSE;
		}
		if (!has_room(search, w) && !make_room(search, w, &result, error))
			return FALSE;
		if (results)
			results[w] = result;
	}
	search->fastest_ns = plan_state_step_ns(search->state, NULL, NULL);
	return TRUE;
}

/* --- recovery ----------------------------------------------------------------------------------- */

/* A plan that may be gone back to. */
struct kept {
	guint8 *plan;
	gdouble harm, step_ns;
};

static void keep_if_better(PrecisionSearch *search, struct kept *kept)
{
	gsize n = (gsize)search->problem->n_workers * search->problem->n_operations;
	gdouble harm = plan_state_harm(search->state);
	gdouble step_ns = plan_state_step_ns(search->state, NULL, NULL);

	if (kept->plan && (harm > kept->harm || (harm == kept->harm && step_ns >= kept->step_ns)))
		return;
	g_free(kept->plan);
	kept->plan = g_memdup2(plan_state_plan(search->state), n);
	kept->harm = harm;
	kept->step_ns = step_ns;
}

static void go_back(PrecisionSearch *search, const struct kept *kept)
{
	for (guint32 w = 0; w < search->problem->n_workers; w++)
		plan_state_load(search->state, w,
				kept->plan + precision_plan_at(search->problem, w, 0));
	plan_state_keep(search->state);
}

/* The longest step that keeps the bound with its doubt: (3) of search.h, solved for the step. */
static gdouble longest_step_ns(const PrecisionSearch *search, const struct precision_bound *bound)
{
	gdouble reference_ns = bound->reference_ns > 0 ? bound->reference_ns : search->fastest_ns;
	gdouble error = search->problem->error;

	if (bound->step_ns >= reference_ns)
		return (bound->step_ns + error * reference_ns) / (1 + error);
	return (bound->step_ns - error * reference_ns) / (1 - error);
}

/* What comes after all work of a worker at the least: collectives that wait for all of the backward pass. */
static gdouble least_tail_ns(const TachoPrecisionProblem *problem, guint32 w)
{
	gdouble tail_ns = problem->workers[w].after_ns;

	for (guint32 k = 0; k < problem->n_collectives; k++) {
		gdouble least_ns = INFINITY;

		if (problem->collectives[k].after != 0)
			continue;
		for (guint f = 0; f < N_NUMBER_FORMATS; f++)
			if (problem->workers[w].collective_ns[k][f] > 0)
				least_ns = MIN(least_ns, problem->workers[w].collective_ns[k][f]);
		tail_ns += isfinite(least_ns) ? least_ns : 0;
	}
	return tail_ns;
}

/* A plan that keeps the bound harms at least what the best at this price does, less the price of the time that the bound leaves: harm + price *
 * work is at least `cost` for all plans, and work is at most what the bound leaves. */
static void learn_least_harm(PrecisionSearch *search, guint32 w,
			     const struct precision_bound *bound,
			     const struct search_weights *weights,
			     const struct elimination_result *result)
{
	const struct precision_worker *worker = &search->problem->workers[w];
	gdouble room_ns = longest_step_ns(search, bound) - worker->before_ns - worker->between_ns -
			  least_tail_ns(search->problem, w);

	if (result->is_exact && weights->bytes == 0 && isfinite(result->cost) && isfinite(room_ns))
		search->least_harm[w] =
			MAX(search->least_harm[w], result->cost - weights->time * room_ns);
}

gdouble precision_search_least_harm(const PrecisionSearch *search)
{
	gdouble sum = 0;

	for (guint32 w = 0; w < search->problem->n_workers; w++)
		sum += search->least_harm[w];
	return sum;
}

/* The least price of time, in harm a ns, at which a worker's plan keeps the bound while the others stay as they are. */
static void recover_worker(PrecisionSearch *search, guint32 w, const struct precision_bound *bound,
			   struct kept *kept)
{
	struct search_weights weights = { .harm = 1 };
	struct elimination_result result;
	gdouble scale, low, high;
	gboolean is_solved;

	scale = MAX(kept->harm, 1e-300) / MAX(plan_state_work_ns(search->state, w), 1);
	/* where time may be as long as it likes, nothing is left to be bisected; of equals the shortest */
	weights.time = scale * exp2(-PRICE_RANGE);
	is_solved = solve(search, w, &weights, &result);
	learn_least_harm(search, w, bound, &weights, &result);
	if (is_solved && precision_search_keeps(search, bound)) {
		keep_if_better(search, kept);
		return;
	}
	go_back(search, kept);
	low = -PRICE_RANGE;
	high = PRICE_RANGE;
	for (guint i = 0; i < MAX_HALVINGS; i++) {
		gdouble middle = (low + high) / 2;

		weights.time = scale * exp2(middle);
		weights.bytes = weights.time * search->byte_price[w];
		is_solved = solve(search, w, &weights, &result);
		learn_least_harm(search, w, bound, &weights, &result);
		if (is_solved && precision_search_keeps(search, bound)) {
			high = middle;
			keep_if_better(search, kept);
		} else {
			low = middle;
		}
	}
	go_back(search, kept);
}

static gboolean refuse_bound(PrecisionSearch *search, const struct precision_bound *bound,
			     GError **error)
{
	gdouble step_ns = plan_state_step_ns(search->state, NULL, NULL);
	gdouble doubt_ns = precision_search_doubt_ns(search, bound, step_ns);

	g_set_error(
		error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_NO_PLAN,
		"the fastest plan takes %.3f ms a step, and may take %.3f ms more than predicted: "
		"%.3f ms more than the bound of %.3f ms",
		step_ns / 1e6, doubt_ns / 1e6, (step_ns + doubt_ns - bound->step_ns) / 1e6,
		bound->step_ns / 1e6);
	return FALSE;
}

gboolean precision_search_recover(PrecisionSearch *search, const struct precision_bound *bound,
				  gboolean *ret_is_exact, GError **error)
{
	const TachoPrecisionProblem *problem = search->problem;
	struct bounds bounds = { search, bound };
	struct kept kept = { .plan = NULL };

	*ret_is_exact = FALSE;
	memset(search->least_harm, 0, problem->n_workers * sizeof(gdouble));
	if (search->fastest_ns == 0 && !precision_search_fastest(search, NULL, error))
		return FALSE;
	if (!precision_search_keeps(search, bound))
		return refuse_bound(search, bound, error);
	keep_if_better(search, &kept);
	if (!bound->is_never_enumerated &&
	    search_enumerate(problem, search->state, keeps, &bounds)) {
		*ret_is_exact = TRUE;
		/* of all workers together */
		search->least_harm[0] = plan_state_harm(search->state);
		g_free(kept.plan);
		return TRUE;
	}
	for (guint32 w = 0; w < problem->n_workers; w++)
		recover_worker(search, w, bound, &kept);
	go_back(search, &kept);
	for (guint i = 0; i < MAX_ROUNDS; i++) {
		search_raise(problem, search->state, keeps, &bounds);
		if (!search_exchange(problem, search->state, keeps, &bounds))
			break;
	}
	g_free(kept.plan);
	return TRUE;
}
