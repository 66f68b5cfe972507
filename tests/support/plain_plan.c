#include "plain_plan.h"

#include <math.h>

static enum number_format format_of(const TachoPrecisionProblem *problem, const guint8 *plan,
				    guint32 w, guint32 i)
{
	return (enum number_format)plan[precision_plan_at(problem, w, i)];
}

static enum number_format stored(const TachoPrecisionProblem *problem, const guint8 *plan,
				 guint32 w, guint32 i)
{
	return (enum number_format)problem->operations[i].result[format_of(problem, plan, w, i)];
}

static enum number_format input(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w,
				const struct precision_edge *edge)
{
	return number_format_input(format_of(problem, plan, w, edge->consumer));
}

/* An earlier reader of the tensor wants the same cast. */
static gboolean is_cast_already(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w,
				const struct precision_tensor *tensor, guint32 e)
{
	const struct precision_edge *edge = &problem->edges[tensor->first_edge + e];

	for (guint32 i = 0; i < tensor->n_edges; i++) {
		const struct precision_edge *other = &problem->edges[tensor->first_edge + i];
		gboolean is_earlier = other->consumer < edge->consumer ||
				      (other->consumer == edge->consumer && i < e);

		if (is_earlier && !other->is_free &&
		    input(problem, plan, w, other) == input(problem, plan, w, edge))
			return TRUE;
	}
	return FALSE;
}

/* What the consumer of an edge waits for casts, forward and backward. */
static void cast_ns(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w, guint32 t,
		    guint32 e, gdouble *forward_ns, gdouble *backward_ns)
{
	const struct precision_tensor *tensor = &problem->tensors[t];
	const struct precision_edge *edge = &problem->edges[tensor->first_edge + e];
	enum number_format from = stored(problem, plan, w, tensor->producer),
			   to = input(problem, plan, w, edge);

	*forward_ns = *backward_ns = 0;
	if (from == to || edge->is_free)
		return;
	*backward_ns = (gdouble)problem->workers[w].casts[t].backward_ns[from][to];
	if (!tensor->is_cast_once || !is_cast_already(problem, plan, w, tensor, e))
		*forward_ns = (gdouble)problem->workers[w].casts[t].forward_ns[from][to];
}

static gdouble pass_ns(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w,
		       guint32 i, gboolean is_backward)
{
	const struct precision_cost *cost =
		precision_cost_of(problem, w, i, format_of(problem, plan, w, i));
	gdouble sum = is_backward ? cost->backward_ns : cost->forward_ns, forward_ns, backward_ns;

	for (guint32 t = 0; t < problem->n_tensors; t++)
		for (guint32 e = 0; e < problem->tensors[t].n_edges; e++) {
			if (problem->edges[problem->tensors[t].first_edge + e].consumer != i)
				continue;
			cast_ns(problem, plan, w, t, e, &forward_ns, &backward_ns);
			sum += is_backward ? backward_ns : forward_ns;
		}
	return sum;
}

/* Whether bytes made at `from` and freed after the backward pass of `until` are there at a moment: in the forward pass of operation `at`, or in
 * its backward pass. */
static gboolean is_held(guint32 from, guint32 until, guint32 at, gboolean is_backward)
{
	return is_backward ? at >= until : at >= from;
}

static gdouble held_of_tensor(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w,
			      guint32 t, guint32 at, gboolean is_backward)
{
	const struct precision_tensor *tensor = &problem->tensors[t];
	enum number_format from = stored(problem, plan, w, tensor->producer);
	guint32 first_of[N_NUMBER_FORMATS];
	gdouble bytes = 0, elements = problem->workers[w].tensor_elements[t];

	for (guint f = 0; f < N_NUMBER_FORMATS; f++)
		first_of[f] = G_MAXUINT32;
	for (guint32 e = 0; e < tensor->n_edges; e++) {
		const struct precision_edge *edge = &problem->edges[tensor->first_edge + e];
		enum number_format to = input(problem, plan, w, edge);

		if (!edge->is_saved)
			continue;
		first_of[to] = MIN(first_of[to], edge->consumer);
		if (to != from && !tensor->is_cast_once &&
		    is_held(edge->consumer, edge->consumer, at, is_backward))
			bytes += elements * number_format_bytes(to);
	}
	for (guint f = 0; f < N_NUMBER_FORMATS; f++)
		if (first_of[f] != G_MAXUINT32 && (f == from || tensor->is_cast_once) &&
		    is_held(f == from ? tensor->producer : first_of[f], first_of[f], at,
			    is_backward))
			bytes += elements * number_format_bytes((enum number_format)f);
	return bytes;
}

static gdouble held(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w, guint32 at,
		    gboolean is_backward)
{
	const struct precision_cost *now =
		precision_cost_of(problem, w, at, format_of(problem, plan, w, at));
	gdouble bytes = problem->workers[w].fixed_bytes +
			(is_backward ? now->backward_bytes : now->forward_bytes);

	for (guint32 i = 0; i < problem->n_operations; i++)
		if (is_held(i, i, at, is_backward) && (is_backward ? i <= at : TRUE))
			bytes += precision_cost_of(problem, w, i, format_of(problem, plan, w, i))
					 ->saved_bytes;
	for (guint32 t = 0; t < problem->n_tensors; t++)
		bytes += held_of_tensor(problem, plan, w, t, at, is_backward);
	return bytes;
}

/* When the backward pass of an operation has ended. */
static gdouble finish_ns(const TachoPrecisionProblem *problem, const guint8 *plan, guint32 w,
			 guint32 operation)
{
	gdouble at_ns = problem->workers[w].before_ns + problem->workers[w].between_ns;

	for (guint32 i = 0; i < problem->n_operations; i++)
		at_ns += pass_ns(problem, plan, w, i, FALSE);
	for (guint32 i = problem->n_operations; i-- > operation;)
		at_ns += pass_ns(problem, plan, w, i, TRUE);
	return at_ns;
}

static gdouble collective_ends(const TachoPrecisionProblem *problem, const guint8 *plan)
{
	gdouble free_ns = 0;

	for (guint32 k = 0; k < problem->n_collectives; k++) {
		const struct precision_collective *collective = &problem->collectives[k];
		gdouble start_ns = free_ns, longest_ns = 0;
		enum number_format sent = N_NUMBER_FORMATS;

		for (guint32 m = 0; m < collective->n_members; m++)
			for (guint32 w = 0; w < problem->n_workers; w++) {
				guint32 i = problem->members[collective->first_member + m];
				enum number_format own =
					(enum number_format)problem->operations[i]
						.gradient[format_of(problem, plan, w, i)];

				sent = sent == N_NUMBER_FORMATS ? own
								: number_format_promote(sent, own);
			}
		for (guint32 w = 0; w < problem->n_workers; w++) {
			start_ns = MAX(start_ns, finish_ns(problem, plan, w, collective->after));
			longest_ns = MAX(longest_ns, problem->workers[w].collective_ns[k][sent]);
		}
		free_ns = start_ns + longest_ns;
	}
	return free_ns;
}

static gboolean is_possible(const TachoPrecisionProblem *problem, const guint8 *plan)
{
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++) {
			const struct precision_operation *operation = &problem->operations[i];
			enum number_format format = format_of(problem, plan, w, i);

			if (!precision_cost_of(problem, w, i, format)->is_allowed)
				return FALSE;
			for (guint32 j = 0; operation->tie != G_MAXUINT32 && j < i; j++)
				if (problem->operations[j].tie == operation->tie &&
				    format_of(problem, plan, w, j) != format)
					return FALSE;
		}
	return TRUE;
}

struct plain_plan plain_plan(const TachoPrecisionProblem *problem, const guint8 *plan)
{
	struct plain_plan plain = { .is_possible = is_possible(problem, plan) };
	gdouble met_ns = problem->n_collectives ? collective_ends(problem, plan) : 0;

	for (guint32 w = 0; w < problem->n_workers; w++) {
		gdouble harm = 0;

		plain.step_ns = MAX(plain.step_ns, MAX(met_ns, finish_ns(problem, plan, w, 0)) +
							   problem->workers[w].after_ns);
		for (guint32 i = 0; i < problem->n_operations; i++) {
			const struct precision_operation *operation = &problem->operations[i];

			plain.work_ns[w] += pass_ns(problem, plan, w, i, FALSE) +
					    pass_ns(problem, plan, w, i, TRUE);
			plain.bytes[w] = MAX(plain.bytes[w], held(problem, plan, w, i, FALSE));
			plain.bytes[w] = MAX(plain.bytes[w], held(problem, plan, w, i, TRUE));
			if (operation->rule == PRECISION_CHOSEN && operation->has_harm)
				harm += operation->harm[format_of(problem, plan, w, i)];
		}
		plain.harm += problem->workers[w].share * harm;
	}
	return plain;
}

void plain_follow(const TachoPrecisionProblem *problem, guint8 *plan)
{
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++) {
			enum number_format format = N_NUMBER_FORMATS;

			if (problem->operations[i].rule != PRECISION_PROMOTED)
				continue;
			for (guint32 t = 0; t < problem->n_tensors; t++)
				for (guint32 e = 0; e < problem->tensors[t].n_edges; e++) {
					const struct precision_tensor *tensor =
						&problem->tensors[t];
					enum number_format read =
						stored(problem, plan, w, tensor->producer);

					if (problem->edges[tensor->first_edge + e].consumer == i)
						format = format == N_NUMBER_FORMATS
								 ? read
								 : number_format_promote(format,
											 read);
				}
			if (format < N_NUMBER_FORMATS)
				plan[precision_plan_at(problem, w, i)] = (guint8)format;
		}
}

static guint8 next_allowed(const TachoPrecisionProblem *problem, guint32 w, guint32 i, guint from)
{
	while (from < N_NUMBER_FORMATS &&
	       !precision_cost_of(problem, w, i, (enum number_format)from)->is_allowed)
		from++;
	return (guint8)from;
}

void plain_first(const TachoPrecisionProblem *problem, guint8 *plan)
{
	for (guint32 w = 0; w < problem->n_workers; w++)
		for (guint32 i = 0; i < problem->n_operations; i++)
			plan[precision_plan_at(problem, w, i)] = next_allowed(problem, w, i, 0);
	plain_follow(problem, plan);
}

gboolean plain_next(const TachoPrecisionProblem *problem, guint8 *plan)
{
	gboolean is_next = FALSE;

	for (guint32 w = 0; w < problem->n_workers && !is_next; w++)
		for (guint32 i = 0; i < problem->n_operations && !is_next; i++) {
			guint8 *format = &plan[precision_plan_at(problem, w, i)];

			if (problem->operations[i].rule != PRECISION_CHOSEN)
				continue;
			*format = next_allowed(problem, w, i, *format + 1u);
			is_next = *format < N_NUMBER_FORMATS;
			if (!is_next)
				*format = next_allowed(problem, w, i, 0);
		}
	plain_follow(problem, plan);
	return is_next;
}
