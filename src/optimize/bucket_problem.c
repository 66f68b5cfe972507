#include "optimize/bucket_problem.h"

#include <string.h>

#include "base/for_each.h"
#include "edit/bucket_calls.h"
#include "edit/collective_plan.h"
#include "graph/rank_copies.h"
#include "replay/replay_trial.h"
#include "trace/operation.h"

struct bucket_problem *bucket_problem_empty(guint32 n)
{
	struct bucket_problem *problem = g_new0(struct bucket_problem, 1);

	problem->n = n;
	problem->bytes = g_new0(guint64, MAX(n, 1u));
	problem->dtype = g_new0(const gchar *, MAX(n, 1u));
	problem->begins_bucket = g_new0(guint8, MAX(n, 1u));
	problem->ready_ns = g_new0(gdouble, MAX(n, 1u));
	problem->copy_ns = g_new0(gdouble, MAX(n, 1u));
	problem->n_workers = 1;
	return problem;
}

void bucket_problem_free(struct bucket_problem *problem)
{
	if (!problem)
		return;
	g_free(problem->bytes);
	g_free(problem->dtype);
	g_free(problem->begins_bucket);
	g_free(problem->ready_ns);
	g_free(problem->copy_ns);
	g_free(problem->recorded_ends);
	tacho_graph_free(problem->graph);
	g_free(problem);
}

static struct collective_time cost_of_group(gconstpointer data, guint64 bytes)
{
	const struct bucket_problem *problem = data;
	const struct graph_transfer *model = graph_transfer_at(problem->graph, problem->model);

	return group_new_transfer_like(graph_group_at(problem->graph, problem->group), model,
				       problem->operation, bytes, model->n_ranks);
}

/* --- a pass of all ranks ------------------------------------------------------------------------ */

struct reading {
	TachoGraph *graph; /* collectives are one transfer each */
	struct bucket_problem *problem;
	guint32 n_ranks;
	guint32 *weights;		  /* 0: there is no such rank */
	const struct graph_pass **passes; /* one a rank, of the ordinal that is read */
	const TachoReplay *replay;	  /* of the graph, with no bytes to move */
	struct step_span *spans;	  /* [rank * steps + step] */
	guint8 *has_pass;		  /* [step] */
	guint32 n_read;
};

static const struct graph_gradient *gradients_of(const struct reading *reading, guint32 rank)
{
	return &g_array_index(reading->graph->gradients, struct graph_gradient,
			      reading->passes[rank]->first_gradient);
}

static void find_passes(struct reading *reading, guint32 ordinal)
{
	memset(reading->passes, 0, reading->n_ranks * sizeof(*reading->passes));
	FOR_EACH(const struct graph_pass, pass, reading->graph->passes)
		if (pass->ordinal == ordinal)
			reading->passes[pass->rank_index] = pass;
}

/* The same gradients on all ranks as in the problem. */
static gboolean is_like_problem(const struct reading *reading)
{
	const struct bucket_problem *problem = reading->problem;

	for (guint32 rank = 0; rank < reading->n_ranks; rank++) {
		if (reading->weights[rank] == 0)
			continue;
		if (!reading->passes[rank] || reading->passes[rank]->n_gradients != problem->n)
			return FALSE;
		for (guint32 i = 0; i < problem->n; i++)
			if (gradients_of(reading, rank)[i].bytes != problem->bytes[i] ||
			    strcmp(gradients_of(reading, rank)[i].dtype, problem->dtype[i]) != 0)
				return FALSE;
	}
	return TRUE;
}

/* --- its times ---------------------------------------------------------------------------------- */

/* When what waits for the buckets begins. */
static gint64 finish_ns(const struct reading *reading, guint32 rank)
{
	return tacho_replay_begin_ns(reading->replay, reading->passes[rank]->finish_node);
}

struct copy {
	gint64 begin_ns;
	guint32 gradient;
};

static gint compare_copies(gconstpointer a, gconstpointer b)
{
	const struct copy *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* The copies of a rank follow each other: each takes until the next one begins, and the last belongs to the tail. Returns when
 * that begins. */
static gint64 read_copies(struct reading *reading, guint32 rank, gdouble weight)
{
	const struct graph_gradient *gradients = gradients_of(reading, rank);
	g_autoptr(GArray) copies = g_array_new(FALSE, FALSE, sizeof(struct copy));

	for (guint32 i = 0; i < reading->problem->n; i++) {
		struct copy copy = { .gradient = i };

		if (gradients[i].copy_node == TACHO_NONE)
			continue;
		copy.begin_ns = tacho_replay_begin_ns(reading->replay, gradients[i].copy_node);
		g_array_append_val(copies, copy);
	}
	if (copies->len == 0)
		return finish_ns(reading, rank);
	g_array_sort(copies, compare_copies);
	for (guint i = 0; i + 1 < copies->len; i++) {
		const struct copy *copy = &g_array_index(copies, struct copy, i);

		reading->problem->copy_ns[copy->gradient] +=
			weight * (gdouble)(copy[1].begin_ns - copy->begin_ns);
	}
	return g_array_index(copies, struct copy, copies->len - 1).begin_ns;
}

static void read_times(struct reading *reading, guint32 step)
{
	struct bucket_problem *problem = reading->problem;
	gdouble begin_ns = 0, n_ranks = 0;
	guint32 n_steps = reading->graph->steps->len;

	for (guint32 rank = 0; rank < reading->n_ranks; rank++) {
		gdouble weight = reading->weights[rank];

		begin_ns += weight * (gdouble)reading->spans[rank * n_steps + step].begin_ns;
		n_ranks += weight;
	}
	begin_ns /= n_ranks;
	for (guint32 i = 0; i < problem->n; i++) {
		gint64 last_ns = 0;

		for (guint32 rank = 0; rank < reading->n_ranks; rank++)
			if (reading->weights[rank] > 0)
				last_ns = MAX(last_ns,
					      tacho_replay_end_ns(
						      reading->replay,
						      gradients_of(reading, rank)[i].ready_node));
		problem->ready_ns[i] += (gdouble)last_ns - begin_ns;
	}
	for (guint32 rank = 0; rank < reading->n_ranks; rank++) {
		gdouble weight = reading->weights[rank] / n_ranks;

		if (reading->weights[rank] > 0)
			problem->tail_ns +=
				weight * (gdouble)(reading->spans[rank * n_steps + step].end_ns -
						   read_copies(reading, rank, weight));
	}
	reading->n_read++;
}

static void divide(struct reading *reading)
{
	struct bucket_problem *problem = reading->problem;

	for (guint32 i = 0; i < problem->n; i++) {
		problem->ready_ns[i] /= reading->n_read;
		problem->copy_ns[i] /= reading->n_read;
		if (i > 0)
			problem->ready_ns[i] = MAX(problem->ready_ns[i], problem->ready_ns[i - 1]);
	}
	problem->tail_ns /= reading->n_read;
}

/* --- the buckets -------------------------------------------------------------------------------- */

static gboolean is_bucket(const struct graph_transfer *transfer)
{
	return !transfer->is_removed && transfer->pass != TACHO_NONE;
}

/* The pass's buckets as ends, where they are a partition. */
static void read_recorded(struct reading *reading, guint32 ordinal)
{
	struct bucket_problem *problem = reading->problem;
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint32 end = 0;

	FOR_EACH(const struct graph_transfer, transfer, reading->graph->transfers) {
		guint64 bytes = 0;

		if (!is_bucket(transfer) || transfer->pass != ordinal)
			continue;
		while (end < problem->n && bytes < transfer->bytes)
			bytes += problem->bytes[end++];
		if (bytes != transfer->bytes)
			return;
		g_array_append_val(ends, end);
	}
	if (end != problem->n || ends->len == 0)
		return;
	problem->n_recorded = ends->len;
	problem->recorded_ends = g_memdup2(ends->data, ends->len * sizeof(guint32));
}

static guint32 count_workers(const TachoGraph *graph, guint32 model)
{
	FOR_EACH(const struct graph_node, node, graph->nodes)
		if (node->kind == TACHO_NODE_QUEUE && node->transfer == model &&
		    node->pool != TACHO_NONE)
			return g_array_index(graph->pools, struct graph_pool, node->pool).n_workers;
	return 1; /* of devices, one follows the other */
}

/* The mean over the ranks. */
static gdouble read_call(const struct reading *reading)
{
	gdouble sum_ns = 0, n = 0;
	struct bucket_calls calls;

	bucket_calls_init(&calls, reading->graph);
	for (guint32 rank = 0; rank < reading->n_ranks; rank++) {
		sum_ns += (gdouble)reading->weights[rank] * (gdouble)calls.alone_ns[rank];
		n += reading->weights[rank];
	}
	bucket_calls_release(&calls);
	return n > 0 ? sum_ns / n : 0;
}

static void read_cost(struct reading *reading, guint32 model)
{
	struct bucket_problem *problem = reading->problem;
	const struct graph_transfer *transfer = graph_transfer_at(reading->graph, model);

	problem->model = model;
	problem->group = transfer->group;
	problem->operation = operation_of_name(reading->graph->timeline, transfer->name);
	problem->n_workers = count_workers(reading->graph, model);
	problem->taken = transfer->is_device ? graph_device_taken(reading->graph, 0)
					     : graph_taken_share(reading->graph, 0);
	problem->core_wait_ns = graph_group_at(reading->graph, transfer->group)->core_wait_ns;
	problem->call_ns = read_call(reading);
	problem->n_ranks = transfer->n_ranks;
	problem->cost = cost_of_group;
	problem->cost_data = problem;
}

/* The gradients of the first pass with buckets; FALSE: there is none with sizes. */
static gboolean read_gradients(struct reading *reading, guint32 ordinal)
{
	struct bucket_problem *problem;

	find_passes(reading, ordinal);
	if (!reading->passes[0] || reading->passes[0]->n_gradients == 0)
		return FALSE;
	problem = bucket_problem_empty(reading->passes[0]->n_gradients);
	for (guint32 i = 0; i < problem->n; i++) {
		problem->bytes[i] = gradients_of(reading, 0)[i].bytes;
		problem->dtype[i] = gradients_of(reading, 0)[i].dtype;
		problem->begins_bucket[i] =
			i > 0 && strcmp(problem->dtype[i], problem->dtype[i - 1]) != 0;
		if (problem->bytes[i] == 0) {
			bucket_problem_free(problem);
			return FALSE;
		}
	}
	reading->problem = problem;
	return TRUE;
}

/* --- all of it ---------------------------------------------------------------------------------- */

/* Play the graph as if its buckets took no time, and no time was needed to queue them; the caller's. */
static struct replay_trial *play_without_bytes(const struct trial_base *base,
					       const TachoGraph *graph, GError **error)
{
	g_autoptr(GArray) edits = g_array_new(FALSE, TRUE, sizeof(struct trial_edit));
	struct replay_trial *trial = replay_trial_new(base);

	FOR_EACH(const struct graph_transfer, transfer, graph->transfers) {
		struct trial_edit edit = { .node = transfer->node };

		if (is_bucket(transfer))
			g_array_append_val(edits, edit);
	}
	FOR_EACH(const struct graph_call, call, graph->calls) {
		struct trial_edit edit = { .node = call->node };

		if (is_bucket(graph_transfer_at(graph, call->transfer)))
			g_array_append_val(edits, edit);
	}
	if (replay_trial_play(trial, (const struct trial_edit *)edits->data, edits->len, error))
		return trial;
	replay_trial_free(trial);
	return NULL;
}

static void read_spans(struct reading *reading)
{
	const TachoGraph *graph = reading->graph;
	guint32 n_steps = graph->steps->len;
	struct step_marks marks;

	reading->spans = g_new0(struct step_span, MAX((gsize)reading->n_ranks * n_steps, 1u));
	step_marks_init(&marks, graph);
	for (guint32 rank = 0; rank < reading->n_ranks; rank++)
		if (reading->weights[rank] > 0)
			step_marks_spans(&marks, reading->replay->end_ns, rank,
					 reading->spans + (gsize)rank * n_steps);
	step_marks_release(&marks);
}

/* Each pass that has buckets, once a step. */
static gboolean read_passes(struct reading *reading, GError **error)
{
	const TachoGraph *graph = reading->graph;
	guint32 last = TACHO_NONE;

	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers) {
		guint32 step;

		if (!is_bucket(transfer) || transfer->pass == last)
			continue;
		last = transfer->pass;
		if (!reading->problem) {
			if (!read_gradients(reading, last))
				continue;
			read_recorded(reading, last);
			read_cost(reading, i);
		}
		find_passes(reading, last);
		if (!is_like_problem(reading))
			continue;
		step = graph_step_index(graph, reading->passes[0]->step);
		if (step == TACHO_NONE)
			continue;
		if (reading->has_pass[step]++) {
			g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF,
				    "step %u has several backward passes whose gradients are "
				    "exchanged; buckets are planned for one a step",
				    reading->passes[0]->step);
			return FALSE;
		}
		read_times(reading, step);
	}
	if (reading->n_read > 0)
		return TRUE;
	g_set_error_literal(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF,
			    reading->problem ? "the ranks' gradients differ in size or order"
					     : "the recording shows no buckets of gradients whose "
					       "sizes are known");
	return FALSE;
}

static gboolean read_problem(struct reading *reading, GError **error)
{
	struct trial_base *base = trial_base_new(reading->graph, error);
	struct replay_trial *trial = base ? play_without_bytes(base, reading->graph, error) : NULL;
	gboolean is_read = FALSE;

	if (trial) {
		reading->replay = replay_trial_borrow_replay(trial);
		read_spans(reading);
		is_read = read_passes(reading, error);
	}
	if (is_read)
		divide(reading);
	replay_trial_free(trial);
	trial_base_free(base);
	return is_read;
}

struct bucket_problem *bucket_problem_new(const TachoGraph *graph, GError **error)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	guint32 n_ranks = MAX(graph_n_own_ranks(copy), 1u);
	g_autofree guint32 *weights = rank_copies_weights(copy);
	g_autofree const struct graph_pass **passes = g_new0(const struct graph_pass *, n_ranks);
	g_autofree guint8 *has_pass = g_new0(guint8, MAX(copy->steps->len, 1u));
	struct reading reading = { .graph = copy,
				   .n_ranks = n_ranks,
				   .weights = weights,
				   .passes = passes,
				   .has_pass = has_pass };
	gboolean is_read;

	graph_fold_hops(copy);
	is_read = graph_freeze(copy, error) && read_problem(&reading, error);
	g_free(reading.spans);
	if (!is_read) {
		bucket_problem_free(reading.problem);
		return NULL;
	}
	graph_thaw(copy);
	reading.problem->graph = g_steal_pointer(&copy);
	return reading.problem;
}
