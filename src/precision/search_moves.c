#include "precision/search_moves.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "precision/search_network.h"

/* Operations of the largest region that is raised at once. Source: a rule: a block of a transformer has that many products. If wrong, harm that
 * only raising more at once removes remains. */
#define MAX_REGION 12
/* Passes over all moves. Source: a rule: the second finds little, the third almost nothing. If wrong, a little harm remains. */
#define MAX_PASSES 4
/* Operations on either side of exchanges. Source: a rule: those that count most. If wrong, a little harm remains. */
#define MAX_EXCHANGED 48
/* Plans that are tried one by one. Source: a rule: a tenth of a second. If wrong, small problems take longer, or are solved by moves. */
#define MAX_ENUMERATED (1u << 18)

/* Several operations to one format. */
struct move {
	guint32 worker, operation; /* in the middle */
	guint8 n_wanted;	   /* operations of the region */
	guint8 format;
	gdouble harm, ns; /* what it removed and added when it was last tried */
};

struct moves {
	const TachoPrecisionProblem *problem;
	PlanState *state;
	SearchKeeps keeps;
	gconstpointer data;
	GArray *heap;	/* struct move, the best first */
	GArray *region; /* guint32; of the move at hand */
	GArray *around;
	guint8 *is_allowed; /* [n_workers][n_operations] bits of formats */
	gdouble harm, step_ns,
		*work_ns; /* of the plan that moves are tried from; work of each worker */
};

static gdouble harm_in(const TachoPrecisionProblem *problem, guint32 w, guint32 operation,
		       enum number_format format)
{
	const struct precision_operation *facts = &problem->operations[operation];

	if (facts->rule != PRECISION_CHOSEN || !facts->has_harm)
		return 0;
	return problem->workers[w].share * facts->harm[format];
}

static gdouble harm_now(const struct moves *moves, guint32 w, guint32 operation)
{
	return harm_in(moves->problem, w, operation,
		       plan_state_format(moves->state, moves->problem, w, operation));
}

static gboolean may_be(const struct moves *moves, guint32 w, guint32 operation,
		       enum number_format format)
{
	return moves->problem->operations[operation].rule == PRECISION_CHOSEN &&
	       (moves->is_allowed[precision_plan_at(moves->problem, w, operation)] & 1u << format);
}

/* Moves are tried from the plan as it is now. */
static void moves_begin(struct moves *moves)
{
	moves->harm = plan_state_harm(moves->state);
	moves->step_ns = plan_state_step_ns(moves->state, NULL, NULL);
	for (guint32 w = 0; w < moves->problem->n_workers; w++)
		moves->work_ns[w] = plan_state_work_ns(moves->state, w);
}

static void moves_init(struct moves *moves, const TachoPrecisionProblem *problem, PlanState *state,
		       SearchKeeps keeps, gconstpointer data)
{
	*moves = (struct moves){ .problem = problem, .state = state, .keeps = keeps, .data = data };
	moves->heap = g_array_new(FALSE, FALSE, sizeof(struct move));
	moves->region = g_array_new(FALSE, FALSE, sizeof(guint32));
	moves->around = g_array_new(FALSE, FALSE, sizeof(guint32));
	moves->is_allowed =
		g_new(guint8, MAX((gsize)problem->n_workers * problem->n_operations, 1));
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++)
			moves->is_allowed[precision_plan_at(problem, w, i)] =
				(guint8)search_formats(problem, w, i);
	moves->work_ns = g_new(gdouble, MAX(problem->n_workers, 1));
	moves_begin(moves);
}

static void moves_release(struct moves *moves)
{
	g_array_unref(moves->heap);
	g_array_unref(moves->region);
	g_array_unref(moves->around);
	g_free(moves->is_allowed);
	g_free(moves->work_ns);
}

/* --- a move ------------------------------------------------------------------------------------- */

/* Operations around the middle, nearest first, that computing in the move's format would not harm more. */
static void find_region(struct moves *moves, const struct move *move)
{
	g_array_set_size(moves->region, 0);
	g_array_append_val(moves->region, move->operation);
	for (guint at = 0; at < moves->region->len && moves->region->len < move->n_wanted; at++) {
		g_array_set_size(moves->around, 0);
		plan_state_neighbours(moves->state, g_array_index(moves->region, guint32, at),
				      moves->around);
		FOR_EACH(const guint32, other, moves->around) {
			gboolean is_in = FALSE;

			FOR_EACH(const guint32, one, moves->region)
				is_in = is_in || *one == *other;
			if (is_in || moves->region->len >= move->n_wanted ||
			    !may_be(moves, move->worker, *other,
				    (enum number_format)move->format) ||
			    harm_in(moves->problem, move->worker, *other,
				    (enum number_format)move->format) >
				    harm_now(moves, move->worker, *other))
				continue;
			g_array_append_vals(moves->region, other, 1);
		}
	}
}

/* Do the move, and say what it removes and adds. FALSE: an operation cannot. */
static gboolean try_move(struct moves *moves, struct move *move)
{
	gboolean is_allowed = TRUE;

	find_region(moves, move);
	plan_state_keep(moves->state);
	FOR_EACH(const guint32, operation, moves->region)
		if (!plan_state_set(moves->state, move->worker, *operation,
				    (enum number_format)move->format))
			is_allowed = FALSE;
	move->harm = moves->harm - plan_state_harm(moves->state);
	move->ns = plan_state_step_ns(moves->state, NULL, NULL) - moves->step_ns;
	/* where others are waited for, a worker's own time still orders the moves that cost no step time */
	if (move->ns <= 0)
		move->ns = MIN(0.0, plan_state_work_ns(moves->state, move->worker) -
					    moves->work_ns[move->worker]);
	return is_allowed;
}

/* More harm for the time; what takes no time comes first. */
static gboolean is_better(const struct move *a, const struct move *b)
{
	gboolean a_is_free = a->ns <= 0, b_is_free = b->ns <= 0;

	if (a_is_free != b_is_free)
		return a_is_free;
	if (a_is_free)
		return a->harm > b->harm;
	return a->harm * b->ns > b->harm * a->ns;
}

/* --- the heap ----------------------------------------------------------------------------------- */

static void sift_down(GArray *heap, guint at)
{
	struct move *moves = (struct move *)heap->data;

	for (;;) {
		guint best = at, child = 2 * at + 1;
		struct move other;

		for (guint i = child; i < MIN(child + 2, heap->len); i++)
			if (is_better(&moves[i], &moves[best]))
				best = i;
		if (best == at)
			return;
		other = moves[at];
		moves[at] = moves[best];
		moves[best] = other;
		at = best;
	}
}

static void push(GArray *heap, const struct move *move)
{
	guint at = heap->len;
	struct move *moves;

	g_array_append_vals(heap, move, 1);
	moves = (struct move *)heap->data;
	while (at > 0 && is_better(&moves[at], &moves[(at - 1) / 2])) {
		struct move other = moves[at];

		moves[at] = moves[(at - 1) / 2];
		moves[(at - 1) / 2] = other;
		at = (at - 1) / 2;
	}
}

static struct move pop(GArray *heap)
{
	struct move move = g_array_index(heap, struct move, 0);

	g_array_index(heap, struct move, 0) = g_array_index(heap, struct move, heap->len - 1);
	g_array_set_size(heap, heap->len - 1);
	if (heap->len > 0)
		sift_down(heap, 0);
	return move;
}

/* --- raises ------------------------------------------------------------------------------------- */

static void find_moves(struct moves *moves)
{
	static const guint8 sizes[] = { 1, 2, 4, MAX_REGION };
	const TachoPrecisionProblem *problem = moves->problem;

	g_array_set_size(moves->heap, 0);
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++)
			for (guint f = 0; f < N_NUMBER_FORMATS; f++) {
				if (!may_be(moves, w, i, (enum number_format)f) ||
				    harm_in(problem, w, i, (enum number_format)f) >=
					    harm_now(moves, w, i))
					continue;
				for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
					struct move move = { .worker = w,
							     .operation = i,
							     .n_wanted = sizes[s],
							     .format = (guint8)f };
					gboolean is_allowed = try_move(moves, &move);
					gboolean is_whole = moves->region->len == sizes[s];

					plan_state_undo(moves->state);
					if (is_allowed && move.harm > 0)
						push(moves->heap, &move);
					if (!is_whole) /* there is nothing more around */
						break;
				}
			}
}

/* One pass over all moves: the best is tried again, as others were made since, and made if it still is. */
static gboolean raise_once(struct moves *moves)
{
	gboolean is_raised = FALSE;

	find_moves(moves);
	while (moves->heap->len > 0) {
		struct move move = pop(moves->heap);
		gboolean is_allowed = try_move(moves, &move);

		if (!is_allowed || !(move.harm > 0)) {
			plan_state_undo(moves->state);
			continue;
		}
		if (moves->heap->len > 0 &&
		    is_better(&g_array_index(moves->heap, struct move, 0), &move)) {
			plan_state_undo(moves->state);
			push(moves->heap, &move);
			continue;
		}
		if (moves->keeps(moves->state, moves->data)) {
			plan_state_keep(moves->state);
			moves_begin(moves);
			is_raised = TRUE;
		} else {
			plan_state_undo(moves->state);
		}
	}
	return is_raised;
}

gboolean search_raise(const TachoPrecisionProblem *problem, PlanState *state, SearchKeeps keeps,
		      gconstpointer data)
{
	struct moves moves;
	gboolean is_raised = FALSE;

	moves_init(&moves, problem, state, keeps, data);
	for (guint i = 0; i < MAX_PASSES && raise_once(&moves); i++)
		is_raised = TRUE;
	moves_release(&moves);
	return is_raised;
}

/* --- exchanges ---------------------------------------------------------------------------------- */

/* A change of one operation's format, worth harm (may be negative) for time. */
static void find_singles(struct moves *moves, gboolean is_raise, GArray *singles)
{
	const TachoPrecisionProblem *problem = moves->problem;

	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++)
			for (guint f = 0; f < N_NUMBER_FORMATS; f++) {
				struct move move = { .worker = w,
						     .operation = i,
						     .n_wanted = 1,
						     .format = (guint8)f };
				gboolean is_allowed;

				if (!may_be(moves, w, i, (enum number_format)f) ||
				    plan_state_format(moves->state, problem, w, i) == f)
					continue;
				is_allowed = try_move(moves, &move);
				plan_state_undo(moves->state);
				if (is_allowed && (is_raise ? move.harm > 0 : move.ns < 0))
					g_array_append_val(singles, move);
			}
}

static gint by_harm(gconstpointer a, gconstpointer b)
{
	const struct move *one = a, *other = b;

	if (one->harm != other->harm)
		return one->harm > other->harm ? -1 : 1;
	if (one->worker != other->worker)
		return one->worker < other->worker ? -1 : 1;
	if (one->operation != other->operation)
		return one->operation < other->operation ? -1 : 1;
	return (gint)one->format - (gint)other->format;
}

static gboolean exchange_once(struct moves *moves, const GArray *raises, const GArray *lowers)
{
	gdouble before = plan_state_harm(moves->state);

	for (guint i = 0; i < MIN(raises->len, (guint)MAX_EXCHANGED); i++)
		for (guint j = 0; j < MIN(lowers->len, (guint)MAX_EXCHANGED); j++) {
			const struct move *raise = &g_array_index(raises, struct move, i);
			const struct move *lower = &g_array_index(lowers, struct move, j);

			if (raise->harm + lower->harm <= 0 ||
			    (raise->worker == lower->worker &&
			     raise->operation == lower->operation))
				continue;
			plan_state_keep(moves->state);
			if (plan_state_set(moves->state, lower->worker, lower->operation,
					   (enum number_format)lower->format) &&
			    plan_state_set(moves->state, raise->worker, raise->operation,
					   (enum number_format)raise->format) &&
			    plan_state_harm(moves->state) < before &&
			    moves->keeps(moves->state, moves->data)) {
				plan_state_keep(moves->state);
				return TRUE;
			}
			plan_state_undo(moves->state);
		}
	return FALSE;
}

gboolean search_exchange(const TachoPrecisionProblem *problem, PlanState *state, SearchKeeps keeps,
			 gconstpointer data)
{
	g_autoptr(GArray) raises = g_array_new(FALSE, FALSE, sizeof(struct move));
	g_autoptr(GArray) lowers = g_array_new(FALSE, FALSE, sizeof(struct move));
	struct moves moves;
	gboolean is_exchanged = FALSE, goes_on = TRUE;

	moves_init(&moves, problem, state, keeps, data);
	find_singles(&moves, TRUE, raises);
	find_singles(&moves, FALSE, lowers);
	g_array_sort(raises, by_harm);
	g_array_sort(lowers, by_harm);
	/* each exchange is tried as the plan then is, so that lists may be those of the first */
	for (guint i = 0; i < MAX_EXCHANGED && goes_on; i++) {
		goes_on = exchange_once(&moves, raises, lowers);
		is_exchanged = is_exchanged || goes_on;
	}
	moves_release(&moves);
	return is_exchanged;
}

/* --- all plans ---------------------------------------------------------------------------------- */

/* An operation, or the first of a tie, with its formats. */
struct digit {
	guint32 worker, operation;
	guint8 n, at, formats[N_NUMBER_FORMATS];
};

/* The formats that all of a tie may have. */
static guint tied_formats(const struct moves *moves, guint32 w, guint32 operation)
{
	const TachoPrecisionProblem *problem = moves->problem;
	guint32 tie = problem->operations[operation].tie;
	guint allowed = moves->is_allowed[precision_plan_at(problem, w, operation)];

	for (guint32 i = operation + 1; tie != G_MAXUINT32 && i < problem->n_operations; i++)
		if (problem->operations[i].tie == tie)
			allowed &= moves->is_allowed[precision_plan_at(problem, w, i)];
	return allowed;
}

static gboolean is_first_of_tie(const TachoPrecisionProblem *problem, guint32 operation)
{
	for (guint32 i = 0; problem->operations[operation].tie != G_MAXUINT32 && i < operation; i++)
		if (problem->operations[i].tie == problem->operations[operation].tie)
			return FALSE;
	return TRUE;
}

/* The digits that all plans are counted with. FALSE: they are too many. */
static gboolean find_digits(const struct moves *moves, GArray *digits)
{
	const TachoPrecisionProblem *problem = moves->problem;
	guint64 n_plans = 1;

	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++) {
			struct digit digit = { .worker = w, .operation = i };
			guint allowed;

			if (problem->operations[i].rule != PRECISION_CHOSEN ||
			    !is_first_of_tie(problem, i))
				continue;
			allowed = tied_formats(moves, w, i);
			for (guint f = 0; f < N_NUMBER_FORMATS; f++)
				if (allowed & 1u << f)
					digit.formats[digit.n++] = (guint8)f;
			if (digit.n == 0 || n_plans > MAX_ENUMERATED / digit.n)
				return FALSE;
			n_plans *= digit.n;
			g_array_append_val(digits, digit);
		}
	return TRUE;
}

static gboolean next_plan(struct moves *moves, GArray *digits)
{
	for (guint i = digits->len; i-- > 0;) {
		struct digit *digit = &g_array_index(digits, struct digit, i);

		digit->at = (guint8)((digit->at + 1) % digit->n);
		plan_state_set(moves->state, digit->worker, digit->operation,
			       (enum number_format)digit->formats[digit->at]);
		plan_state_keep(moves->state);
		if (digit->at > 0)
			return TRUE;
	}
	return FALSE;
}

/* Whether all operations have formats that are allowed. */
static gboolean is_possible(const struct moves *moves)
{
	const TachoPrecisionProblem *problem = moves->problem;

	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++)
			if (!precision_cost_of(problem, w, i,
					       plan_state_format(moves->state, problem, w, i))
				     ->is_allowed)
				return FALSE;
	return TRUE;
}

gboolean search_enumerate(const TachoPrecisionProblem *problem, PlanState *state, SearchKeeps keeps,
			  gconstpointer data)
{
	gsize n = (gsize)problem->n_workers * problem->n_operations;
	g_autoptr(GArray) digits = g_array_new(FALSE, FALSE, sizeof(struct digit));
	g_autofree guint8 *best = g_memdup2(plan_state_plan(state), n);
	gdouble least_harm = INFINITY, least_ns = INFINITY;
	struct moves moves;

	moves_init(&moves, problem, state, keeps, data);
	if (!find_digits(&moves, digits)) {
		moves_release(&moves);
		return FALSE;
	}
	FOR_EACH(const struct digit, digit, digits)
		plan_state_set(state, digit->worker, digit->operation,
			       (enum number_format)digit->formats[0]);
	do {
		gdouble harm = plan_state_harm(state), step_ns;

		if (harm > least_harm || !is_possible(&moves) || !keeps(state, data))
			continue;
		step_ns = plan_state_step_ns(state, NULL, NULL);
		if (harm == least_harm && step_ns >= least_ns)
			continue;
		least_harm = harm;
		least_ns = step_ns;
		memcpy(best, plan_state_plan(state), n);
	} while (next_plan(&moves, digits));
	for (guint32 w = 0; w < problem->n_workers; w++)
		plan_state_load(state, w, best + precision_plan_at(problem, w, 0));
	plan_state_keep(state);
	moves_release(&moves);
	return isfinite(least_harm);
}
