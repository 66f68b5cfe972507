#include "precision/plan_state.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

/* What an edge adds under the plan. */
struct edge_term {
	gdouble forward_ns, backward_ns; /* to the consumer */
	gdouble bytes; /* of the copy that is kept, from the consumer's forward pass ... */
	guint32 until; /* ... to the end of this operation's backward pass */
};

/* The tensor as it was made, where a reader keeps it. */
struct tensor_term {
	gdouble bytes;
	guint32 until;
};

struct worker_state {
	gdouble *forward_ns, *backward_ns; /* of each operation with its casts */
	gdouble *begins,
		*ends; /* bytes held from its forward pass on, and until its backward pass has ended */
	struct edge_term *edges;
	struct tensor_term *tensors;
};

struct change {
	guint32 worker, operation;
	guint8 before;
};

struct _PlanState {
	const TachoPrecisionProblem *problem;
	guint8 *plan;
	struct worker_state *workers;
	/* Of operation i: edges that it reads, read_by[first_read[i]] to first_read[i + 1], and tensors that it makes. */
	guint32 *first_read, *reads, *edge_tensor;
	guint32 *first_made, *makes;
	GHashTable *ties; /* tie + 1 -> GArray of guint32 */
	GArray *log;	  /* struct change */
	GArray *changed;  /* guint32, of one set */
	gdouble *
		finish_ns; /* [n_workers][n_operations] when its backward pass has ended; NULL: there are no collectives */
};

/* --- made --------------------------------------------------------------------------------------- */

/* Rows by key, as counting sort has them. */
static void index_rows(guint32 n_keys, guint32 n_rows, const guint32 *key_of, guint32 **ret_first,
		       guint32 **ret_rows)
{
	guint32 *first = g_new0(guint32, (gsize)n_keys + 1), *rows = g_new(guint32, MAX(n_rows, 1));
	g_autofree guint32 *next = g_new(guint32, MAX(n_keys, 1));

	for (guint32 i = 0; i < n_rows; i++)
		first[key_of[i] + 1]++;
	for (guint32 i = 0; i < n_keys; i++) {
		first[i + 1] += first[i];
		next[i] = first[i];
	}
	for (guint32 i = 0; i < n_rows; i++)
		rows[next[key_of[i]]++] = i;
	*ret_first = first;
	*ret_rows = rows;
}

static void index_graph(PlanState *state)
{
	const TachoPrecisionProblem *problem = state->problem;
	g_autofree guint32 *consumers = g_new(guint32, MAX(problem->n_edges, 1));
	g_autofree guint32 *producers = g_new(guint32, MAX(problem->n_tensors, 1));

	state->edge_tensor = g_new0(guint32, MAX(problem->n_edges, 1));
	for (guint32 i = 0; i < problem->n_edges; i++)
		consumers[i] = problem->edges[i].consumer;
	for (guint32 i = 0; i < problem->n_tensors; i++) {
		const struct precision_tensor *tensor = &problem->tensors[i];

		producers[i] = tensor->producer;
		for (guint32 j = 0; j < tensor->n_edges; j++)
			state->edge_tensor[tensor->first_edge + j] = i;
	}
	index_rows(problem->n_operations, problem->n_edges, consumers, &state->first_read,
		   &state->reads);
	index_rows(problem->n_operations, problem->n_tensors, producers, &state->first_made,
		   &state->makes);
}

static void index_ties(PlanState *state)
{
	const TachoPrecisionProblem *problem = state->problem;

	state->ties = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
	for (guint32 i = 0; i < problem->n_operations; i++) {
		gpointer tie = GSIZE_TO_POINTER((gsize)problem->operations[i].tie + 1);
		GArray *tied;

		if (problem->operations[i].tie == G_MAXUINT32)
			continue;
		tied = g_hash_table_lookup(state->ties, tie);
		if (!tied) {
			tied = g_array_new(FALSE, FALSE, sizeof(guint32));
			g_hash_table_insert(state->ties, tie, tied);
		}
		g_array_append_val(tied, i);
	}
}

static guint8 first_format(const TachoPrecisionProblem *problem, guint32 worker, guint32 operation)
{
	guint8 format = problem->operations[operation].recorded;

	if (precision_cost_of(problem, worker, operation, (enum number_format)format)->is_allowed)
		return format;
	for (format = 0; format < N_NUMBER_FORMATS; format++)
		if (precision_cost_of(problem, worker, operation, (enum number_format)format)
			    ->is_allowed)
			return format;
	return problem->operations[operation].recorded;
}

PlanState *plan_state_new(const TachoPrecisionProblem *problem)
{
	PlanState *state = g_new0(PlanState, 1);
	guint32 n = problem->n_operations;
	g_autofree guint8 *formats = g_new(guint8, MAX(n, 1));

	state->problem = problem;
	state->plan = g_new0(guint8, MAX((gsize)problem->n_workers * n, 1));
	state->workers = g_new0(struct worker_state, MAX(problem->n_workers, 1));
	state->log = g_array_new(FALSE, FALSE, sizeof(struct change));
	state->changed = g_array_new(FALSE, FALSE, sizeof(guint32));
	if (problem->n_collectives > 0)
		state->finish_ns = g_new0(gdouble, MAX((gsize)problem->n_workers * n, 1));
	index_graph(state);
	index_ties(state);
	for (guint32 w = 0; w < problem->n_workers; w++) {
		struct worker_state *worker = &state->workers[w];

		worker->forward_ns = g_new0(gdouble, n);
		worker->backward_ns = g_new0(gdouble, n);
		worker->begins = g_new0(gdouble, n);
		worker->ends = g_new0(gdouble, n);
		worker->edges = g_new0(struct edge_term, MAX(problem->n_edges, 1));
		worker->tensors = g_new0(struct tensor_term, MAX(problem->n_tensors, 1));
		for (guint32 i = 0; i < n; i++)
			formats[i] = first_format(problem, w, i);
		plan_state_load(state, w, formats);
	}
	return state;
}

void plan_state_free(PlanState *state)
{
	if (!state)
		return;
	for (guint32 w = 0; w < state->problem->n_workers; w++) {
		g_free(state->workers[w].forward_ns);
		g_free(state->workers[w].backward_ns);
		g_free(state->workers[w].begins);
		g_free(state->workers[w].ends);
		g_free(state->workers[w].edges);
		g_free(state->workers[w].tensors);
	}
	g_free(state->workers);
	g_free(state->plan);
	g_free(state->first_read);
	g_free(state->reads);
	g_free(state->edge_tensor);
	g_free(state->first_made);
	g_free(state->makes);
	g_free(state->finish_ns);
	g_hash_table_unref(state->ties);
	g_array_unref(state->log);
	g_array_unref(state->changed);
	g_free(state);
}

const guint8 *plan_state_plan(const PlanState *state)
{
	return state->plan;
}

/* --- terms -------------------------------------------------------------------------------------- */

static enum number_format format_of(const PlanState *state, guint32 worker, guint32 operation)
{
	return (enum number_format)
		state->plan[precision_plan_at(state->problem, worker, operation)];
}

static enum number_format stored_by(const PlanState *state, guint32 worker, guint32 operation)
{
	return (enum number_format)state->problem->operations[operation]
		.result[format_of(state, worker, operation)];
}

/* Let the bytes of a term count from the operation `from` on, or no more. */
static void hold(struct worker_state *worker, guint32 from, guint32 until, gdouble bytes)
{
	if (bytes == 0)
		return;
	worker->begins[from] += bytes;
	worker->ends[until] += bytes;
}

static void add_up_reads(PlanState *state, guint32 w, guint32 operation)
{
	struct worker_state *worker = &state->workers[w];
	const struct precision_cost *cost =
		precision_cost_of(state->problem, w, operation, format_of(state, w, operation));
	gdouble forward_ns = cost->forward_ns, backward_ns = cost->backward_ns;

	for (guint32 i = state->first_read[operation]; i < state->first_read[operation + 1]; i++) {
		forward_ns += worker->edges[state->reads[i]].forward_ns;
		backward_ns += worker->edges[state->reads[i]].backward_ns;
	}
	worker->forward_ns[operation] = forward_ns;
	worker->backward_ns[operation] = backward_ns;
}

/* The first reader of a tensor in an input format, and the first that keeps it so; G_MAXUINT32: none. */
struct first_readers {
	guint32 edge[N_NUMBER_FORMATS], saver[N_NUMBER_FORMATS];
};

static void find_first_readers(const PlanState *state, guint32 w, guint32 number,
			       struct first_readers *first)
{
	const TachoPrecisionProblem *problem = state->problem;
	const struct precision_tensor *tensor = &problem->tensors[number];

	memset(first, 0xff, sizeof(*first));
	for (guint32 e = tensor->first_edge; e < tensor->first_edge + tensor->n_edges; e++) {
		const struct precision_edge *edge = &problem->edges[e];
		guint input = number_format_input(format_of(state, w, edge->consumer));

		if (!edge->is_free &&
		    (first->edge[input] == G_MAXUINT32 ||
		     edge->consumer < problem->edges[first->edge[input]].consumer))
			first->edge[input] = e;
		if (edge->is_saved)
			first->saver[input] = MIN(first->saver[input], edge->consumer);
	}
}

/* The copy that a reader keeps of a tensor that it reads in another format than it was made in. */
static void keep_copy(const PlanState *state, guint32 w, guint32 e, gboolean is_shared,
		      guint32 first_saver, struct edge_term *term)
{
	const struct precision_edge *edge = &state->problem->edges[e];
	enum number_format input = number_format_input(format_of(state, w, edge->consumer));

	if (!edge->is_saved || (is_shared && edge->consumer != first_saver))
		return;
	term->bytes = state->problem->workers[w].tensor_elements[state->edge_tensor[e]] *
		      number_format_bytes(input);
	term->until = edge->consumer;
}

static void refresh_tensor(PlanState *state, guint32 w, guint32 number)
{
	const TachoPrecisionProblem *problem = state->problem;
	const struct precision_tensor *tensor = &problem->tensors[number];
	const struct precision_cast *cast = &problem->workers[w].casts[number];
	struct worker_state *worker = &state->workers[w];
	struct tensor_term *made = &worker->tensors[number];
	enum number_format stored = stored_by(state, w, tensor->producer);
	struct first_readers first;

	find_first_readers(state, w, number, &first);
	hold(worker, tensor->producer, made->until, -made->bytes);
	*made = (struct tensor_term){ 0 };
	if (first.saver[stored] != G_MAXUINT32) {
		made->bytes =
			problem->workers[w].tensor_elements[number] * number_format_bytes(stored);
		made->until = first.saver[stored];
		hold(worker, tensor->producer, made->until, made->bytes);
	}
	for (guint32 e = tensor->first_edge; e < tensor->first_edge + tensor->n_edges; e++) {
		const struct precision_edge *edge = &problem->edges[e];
		enum number_format input = number_format_input(format_of(state, w, edge->consumer));
		struct edge_term *term = &worker->edges[e];

		hold(worker, edge->consumer, term->until, -term->bytes);
		*term = (struct edge_term){ 0 };
		if (stored == input)
			continue;
		if (!edge->is_free) {
			term->backward_ns = cast->backward_ns[stored][input];
			if (!tensor->is_cast_once || first.edge[input] == e)
				term->forward_ns = cast->forward_ns[stored][input];
		}
		keep_copy(state, w, e, tensor->is_cast_once, first.saver[input], term);
		hold(worker, edge->consumer, term->until, term->bytes);
	}
	for (guint32 e = tensor->first_edge; e < tensor->first_edge + tensor->n_edges; e++)
		add_up_reads(state, w, problem->edges[e].consumer);
}

/* What an operation's new format changes: its own time and bytes, and the tensors around it. */
static void refresh_around(PlanState *state, guint32 w, guint32 operation)
{
	add_up_reads(state, w, operation);
	for (guint32 i = state->first_read[operation]; i < state->first_read[operation + 1]; i++)
		refresh_tensor(state, w, state->edge_tensor[state->reads[i]]);
	for (guint32 i = state->first_made[operation]; i < state->first_made[operation + 1]; i++)
		refresh_tensor(state, w, state->makes[i]);
}

static void put(PlanState *state, guint32 w, guint32 operation, enum number_format format)
{
	struct worker_state *worker = &state->workers[w];
	enum number_format before = format_of(state, w, operation);

	hold(worker, operation, operation,
	     -precision_cost_of(state->problem, w, operation, before)->saved_bytes);
	state->plan[precision_plan_at(state->problem, w, operation)] = (guint8)format;
	hold(worker, operation, operation,
	     precision_cost_of(state->problem, w, operation, format)->saved_bytes);
}

/* --- plans -------------------------------------------------------------------------------------- */

/* What an operation that follows computes in; its own format where it reads nothing. */
static enum number_format followed(const PlanState *state, guint32 w, guint32 operation)
{
	enum number_format format = format_of(state, w, operation);

	for (guint32 i = state->first_read[operation]; i < state->first_read[operation + 1]; i++) {
		guint32 tensor = state->edge_tensor[state->reads[i]];
		enum number_format read =
			stored_by(state, w, state->problem->tensors[tensor].producer);

		format = i == state->first_read[operation] ? read
							   : number_format_promote(format, read);
	}
	return format;
}

gboolean plan_state_load(PlanState *state, guint32 w, const guint8 *formats)
{
	const TachoPrecisionProblem *problem = state->problem;
	struct worker_state *worker = &state->workers[w];
	gboolean is_allowed = TRUE;

	memset(worker->begins, 0, problem->n_operations * sizeof(gdouble));
	memset(worker->ends, 0, problem->n_operations * sizeof(gdouble));
	memset(worker->edges, 0, problem->n_edges * sizeof(struct edge_term));
	memset(worker->tensors, 0, problem->n_tensors * sizeof(struct tensor_term));
	for (guint32 i = 0; i < problem->n_operations; i++) {
		enum number_format format = (enum number_format)formats[i];
		const struct precision_cost *cost;

		state->plan[precision_plan_at(problem, w, i)] = (guint8)format;
		if (problem->operations[i].rule == PRECISION_PROMOTED)
			format = followed(state, w, i);
		state->plan[precision_plan_at(problem, w, i)] = (guint8)format;
		cost = precision_cost_of(problem, w, i, format);
		is_allowed = is_allowed && cost->is_allowed;
		hold(worker, i, i, cost->saved_bytes);
		add_up_reads(state, w, i);
	}
	for (guint32 t = 0; t < problem->n_tensors; t++)
		refresh_tensor(state, w, t);
	return is_allowed;
}

/* Put the format of an operation, and note what it was, and that it changed. */
static gboolean change(PlanState *state, guint32 w, guint32 operation, enum number_format format)
{
	struct change change = { w, operation, (guint8)format_of(state, w, operation) };
	guint at = state->changed->len;

	if (change.before != format) {
		g_array_append_val(state->log, change);
		put(state, w, operation, format);
		while (at > 0 && g_array_index(state->changed, guint32, at - 1) > operation)
			at--;
		if (at == 0 || g_array_index(state->changed, guint32, at - 1) != operation)
			g_array_insert_val(state->changed, at, operation);
	}
	return precision_cost_of(state->problem, w, operation, format)->is_allowed;
}

/* Let those that follow do so. What reads an operation comes behind it, so that the list is only added to behind. */
static gboolean follow(PlanState *state, guint32 w)
{
	const TachoPrecisionProblem *problem = state->problem;
	gboolean is_allowed = TRUE;

	for (guint at = 0; at < state->changed->len; at++) {
		guint32 operation = g_array_index(state->changed, guint32, at);

		for (guint32 i = state->first_made[operation]; i < state->first_made[operation + 1];
		     i++) {
			const struct precision_tensor *tensor = &problem->tensors[state->makes[i]];

			for (guint32 e = 0; e < tensor->n_edges; e++) {
				guint32 reader = problem->edges[tensor->first_edge + e].consumer;

				if (problem->operations[reader].rule == PRECISION_PROMOTED &&
				    !change(state, w, reader, followed(state, w, reader)))
					is_allowed = FALSE;
			}
		}
	}
	return is_allowed;
}

gboolean plan_state_set(PlanState *state, guint32 w, guint32 operation, enum number_format format)
{
	guint32 tie = state->problem->operations[operation].tie;
	GArray *tied = tie == G_MAXUINT32
			       ? NULL
			       : g_hash_table_lookup(state->ties, GSIZE_TO_POINTER((gsize)tie + 1));
	gboolean is_allowed = TRUE;

	g_array_set_size(state->changed, 0);
	for (guint i = 0; i < (tied ? tied->len : 1); i++)
		if (!change(state, w, tied ? g_array_index(tied, guint32, i) : operation, format))
			is_allowed = FALSE;
	is_allowed = follow(state, w) && is_allowed;
	FOR_EACH(const guint32, changed, state->changed)
		refresh_around(state, w, *changed);
	return is_allowed;
}

void plan_state_keep(PlanState *state)
{
	g_array_set_size(state->log, 0);
}

void plan_state_undo(PlanState *state)
{
	for (guint i = state->log->len; i-- > 0;) {
		const struct change *change = &g_array_index(state->log, struct change, i);

		put(state, change->worker, change->operation, (enum number_format)change->before);
	}
	FOR_EACH(const struct change, change, state->log)
		refresh_around(state, change->worker, change->operation);
	g_array_set_size(state->log, 0);
}

/* --- what it takes ------------------------------------------------------------------------------ */

gdouble plan_state_work_ns(const PlanState *state, guint32 w)
{
	const struct worker_state *worker = &state->workers[w];
	gdouble sum = 0;

	for (guint32 i = 0; i < state->problem->n_operations; i++)
		sum += worker->forward_ns[i] + worker->backward_ns[i];
	return sum;
}

gdouble plan_state_operation_ns(const PlanState *state, guint32 w, guint32 operation)
{
	return state->workers[w].forward_ns[operation] + state->workers[w].backward_ns[operation];
}

/* When the backward pass of each operation has ended; returns when the last one has. */
static gdouble find_finishes(const PlanState *state, guint32 w, gdouble *finish_ns)
{
	const struct worker_state *worker = &state->workers[w];
	const struct precision_worker *facts = &state->problem->workers[w];
	gdouble at_ns = facts->before_ns + facts->between_ns;

	for (guint32 i = 0; i < state->problem->n_operations; i++)
		at_ns += worker->forward_ns[i];
	for (guint32 i = state->problem->n_operations; i-- > 0;) {
		at_ns += worker->backward_ns[i];
		if (finish_ns)
			finish_ns[i] = at_ns;
	}
	return at_ns;
}

/* The widest format of the gradients that a collective sends, on any worker. */
static enum number_format sent_format(const PlanState *state,
				      const struct precision_collective *collective)
{
	const TachoPrecisionProblem *problem = state->problem;
	enum number_format sent = FORMAT_FP32;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 operation = problem->members[collective->first_member + i];

		for (guint32 w = 0; w < problem->n_workers; w++) {
			enum number_format own = (enum number_format)problem->operations[operation]
							 .gradient[format_of(state, w, operation)];

			sent = i == 0 && w == 0 ? own : number_format_promote(sent, own);
		}
	}
	return sent;
}

/* When the last collective has ended; (4) of problem.h. */
static gdouble meet(const PlanState *state)
{
	const TachoPrecisionProblem *problem = state->problem;
	gdouble free_ns = 0;

	for (guint32 k = 0; k < problem->n_collectives; k++) {
		const struct precision_collective *collective = &problem->collectives[k];
		enum number_format sent = sent_format(state, collective);
		gdouble start_ns = free_ns, longest_ns = 0;

		for (guint32 w = 0; w < problem->n_workers; w++) {
			start_ns = MAX(
				start_ns,
				state->finish_ns[precision_plan_at(problem, w, collective->after)]);
			longest_ns = MAX(longest_ns, problem->workers[w].collective_ns[k][sent]);
		}
		free_ns = start_ns + longest_ns;
	}
	return free_ns;
}

gdouble plan_state_step_ns(PlanState *state, gdouble *ret_worker_ns, gdouble *ret_wait_ns)
{
	const TachoPrecisionProblem *problem = state->problem;
	gdouble step_ns = 0, met_ns = 0;

	for (guint32 w = 0; w < problem->n_workers; w++) {
		gdouble after_ns = problem->workers[w].after_ns;
		gdouble own_ns = find_finishes(
			state, w,
			state->finish_ns ? state->finish_ns + precision_plan_at(problem, w, 0)
					 : NULL);

		if (ret_worker_ns)
			ret_worker_ns[w] = own_ns + after_ns;
		step_ns = MAX(step_ns, own_ns + after_ns);
	}
	if (problem->n_collectives > 0)
		met_ns = meet(state);
	for (guint32 w = 0; w < problem->n_workers && met_ns > 0; w++)
		step_ns = MAX(step_ns, met_ns + problem->workers[w].after_ns);
	for (guint32 w = 0; w < problem->n_workers && ret_wait_ns && ret_worker_ns; w++)
		ret_wait_ns[w] = step_ns - ret_worker_ns[w];
	return step_ns;
}

gdouble plan_state_bytes(const PlanState *state, guint32 w)
{
	const TachoPrecisionProblem *problem = state->problem;
	const struct worker_state *worker = &state->workers[w];
	gdouble held = problem->workers[w].fixed_bytes, peak = held;

	for (guint32 i = 0; i < problem->n_operations; i++) {
		held += worker->begins[i];
		peak = MAX(peak, held + precision_cost_of(problem, w, i, format_of(state, w, i))
						 ->forward_bytes);
	}
	for (guint32 i = problem->n_operations; i-- > 0;) {
		peak = MAX(peak, held + precision_cost_of(problem, w, i, format_of(state, w, i))
						 ->backward_bytes);
		held -= worker->ends[i];
	}
	return peak;
}

gdouble plan_state_harm(const PlanState *state)
{
	const TachoPrecisionProblem *problem = state->problem;
	gdouble sum = 0;

	for (guint32 w = 0; w < problem->n_workers; w++) {
		gdouble own = 0;

		for (guint32 i = 0; i < problem->n_operations; i++) {
			const struct precision_operation *operation = &problem->operations[i];

			if (operation->rule == PRECISION_CHOSEN && operation->has_harm)
				own += operation->harm[format_of(state, w, i)];
		}
		sum += problem->workers[w].share * own;
	}
	return sum;
}

gdouble plan_state_spread_ns(const PlanState *state, guint32 w)
{
	gdouble sum = 0;

	for (guint32 i = 0; i < state->problem->n_operations; i++) {
		gdouble spread_ns =
			precision_cost_of(state->problem, w, i, format_of(state, w, i))->spread_ns;

		sum += spread_ns * spread_ns;
	}
	return sqrt(sum);
}

/* --- around ------------------------------------------------------------------------------------- */

/* Operations that follow are walked through: they would change with it. `depth` ends the walk through many of them. */
static void add_neighbour(const PlanState *state, guint32 from, guint32 operation, guint depth,
			  GArray *operations)
{
	const TachoPrecisionProblem *problem = state->problem;

	if (problem->operations[operation].rule != PRECISION_PROMOTED) {
		for (guint i = 0; i < operations->len; i++)
			if (g_array_index(operations, guint32, i) == operation)
				return;
		if (operation != from)
			g_array_append_val(operations, operation);
		return;
	}
	if (depth == 0)
		return;
	for (guint32 i = state->first_read[operation]; i < state->first_read[operation + 1]; i++) {
		guint32 producer = problem->tensors[state->edge_tensor[state->reads[i]]].producer;

		if (producer != from)
			add_neighbour(state, from, producer, depth - 1, operations);
	}
	for (guint32 i = state->first_made[operation]; i < state->first_made[operation + 1]; i++) {
		const struct precision_tensor *tensor = &problem->tensors[state->makes[i]];

		for (guint32 e = 0; e < MIN(tensor->n_edges, 8u); e++)
			add_neighbour(state, from, problem->edges[tensor->first_edge + e].consumer,
				      depth - 1, operations);
	}
}

void plan_state_neighbours(const PlanState *state, guint32 operation, GArray *operations)
{
	const TachoPrecisionProblem *problem = state->problem;
	/* Source: a rule: an activation, an addition and a normalisation between two products. If wrong, regions end there. */
	const guint depth = 3;

	for (guint32 i = state->first_read[operation]; i < state->first_read[operation + 1]; i++)
		add_neighbour(state, operation,
			      problem->tensors[state->edge_tensor[state->reads[i]]].producer, depth,
			      operations);
	for (guint32 i = state->first_made[operation]; i < state->first_made[operation + 1]; i++) {
		const struct precision_tensor *tensor = &problem->tensors[state->makes[i]];

		for (guint32 e = 0; e < tensor->n_edges; e++)
			add_neighbour(state, operation,
				      problem->edges[tensor->first_edge + e].consumer, depth,
				      operations);
	}
}
