#include "precision/predict_plan.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/interval_set.h"
#include "base/quantile.h"
#include "base/time_units.h"
#include "edit/change_internal.h"
#include "precision/plan_gradients.h"
#include "precision/plan_memory.h"
#include "precision/saved_bytes.h"
#include "precision/surroundings.h"
#include "replay/replay_internal.h"
#include "trace/none_rows.h"

/* How far off predictions of a change are, nine times in ten, of what the step becomes.
 * Source: a rule: what validate/precision.py is to hold them to. If wrong, the interval is too narrow or too wide; no step depends on it. */
#define MODEL_ERROR 0.04
/* Half the width of an interval that holds nine in ten, in standard deviations. Source: derived from normal distributions. */
#define NINE_IN_TEN 1.645

struct planner {
	const struct precision_job *job;
	const struct layers *layers; /* of the reference */
	const struct rank_formats *ranks;
	/* Of the set of ranks that is looked at: */
	guint32 set;
	gdouble share; /* of all ranks */
	const guint8 *formats;
	struct surroundings surroundings;
	TachoGraph *graph; /* a copy of the reference's */
	guint32 n_operations, n_cells;
	guint32 *first_node; /* [(cell * N_LAYER_PASSES + pass) * n_operations + operation] */
	gdouble *forward_ns, *backward_ns; /* [operation]: casts before its passes */
	/* Of all: */
	GHashTable *inserted; /* node -> gdouble *, ns to put before it */
	struct plan_prediction *prediction;
	gdouble estimated_ns, all_ns;
	gdouble square_spread_ns, changed_ns; /* of what the plan changes */
};

/* --- casts -------------------------------------------------------------------------------------- */

static gboolean has_gradient(const struct planner *planner, guint32 producer)
{
	return producer != IDENTITY_OUTSIDE && planner->job->has_gradient[producer];
}

/* Whether somebody has cast this tensor to this format before, for all. */
static gboolean is_shared(const struct planner *planner, GHashTable *done, guint32 producer,
			  guint to)
{
	return planner->job->is_cast_once && producer != IDENTITY_OUTSIDE &&
	       !g_hash_table_add(done, GSIZE_TO_POINTER((gsize)producer << 4 | to));
}

static void add_cast(struct planner *planner, guint32 reader, enum layer_pass pass, guint from,
		     guint to, gdouble elements)
{
	gboolean is_estimated;
	gdouble ns = precision_job_cast_ns(planner->job, pass, from, to, elements, &is_estimated);

	(pass == LAYER_FORWARD ? planner->forward_ns : planner->backward_ns)[reader] += ns;
	planner->all_ns += planner->share * ns;
	planner->estimated_ns += is_estimated ? planner->share * ns : 0;
}

static void find_casts(struct planner *planner)
{
	const struct identity *identity = planner->job->identity;
	gboolean has_devices = graph_has_devices(planner->graph);
	g_autoptr(GHashTable) done = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < planner->n_operations; i++) {
		const struct identity_operation *own = identity_at(identity, i);
		guint reads = precision_job_reads(planner->job, i, planner->formats[i]);
		guint gives = precision_job_input_gradient(planner->job, i, planner->formats[i]);
		gboolean fuses = precision_job_fuses(planner->job, i, planner->formats[i]);

		if (own->rule == PRECISION_PROMOTED && has_devices)
			continue;
		for (guint32 k = 0; k < own->n_inputs; k++) {
			const struct identity_input *input =
				identity_input_at(identity, own->first_input + k);
			guint32 from = input->producer;
			guint stored =
				from == IDENTITY_OUTSIDE
					? number_format_result(planner->job->reference->format)
					: precision_job_stores(planner->job, from,
							       planner->formats[from]);

			if (stored != reads && !fuses && !is_shared(planner, done, from, reads)) {
				add_cast(planner, i, LAYER_FORWARD, stored, reads, input->elements);
				planner->prediction->n_casts++;
			}
			if (stored != gives && has_gradient(planner, from))
				add_cast(planner, i, LAYER_BACKWARD, gives, stored,
					 input->elements);
		}
	}
}

/* The cell is one of the set's ranks. */
static gboolean is_of_set(const struct planner *planner, guint32 cell)
{
	return planner->ranks->set_of[cell / planner->graph->steps->len] == planner->set;
}

/* --- durations ---------------------------------------------------------------------------------- */

static guint32 *first_at(const struct planner *planner, guint32 cell, guint pass, guint32 operation)
{
	return &planner->first_node[((gsize)cell * N_LAYER_PASSES + pass) * planner->n_operations +
				    operation];
}

static gboolean is_of_device(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_DEVICE || node->kind == TACHO_NODE_COPY;
}

static gboolean is_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST || is_of_device(node);
}

/* An operation's first node of a pass: of its devices where it has any. */
static void find_first_nodes(struct planner *planner)
{
	FOR_EACH_AT(const struct graph_node, node, i, planner->graph->nodes) {
		guint32 operation = planner->layers->operation_of[i];
		guint32 cell =
			operation == TACHO_NONE ? TACHO_NONE : layers_cell(planner->graph, node);
		guint32 *first;

		if (cell == TACHO_NONE || !is_work(node))
			continue;
		first = first_at(planner, cell, planner->layers->pass_of[i], operation);
		if (*first == TACHO_NONE ||
		    (is_of_device(node) && !is_of_device(graph_node_at(planner->graph, *first))))
			*first = i;
	}
}

/* The reference's casts at borders: where the plan has other formats, they are not there. */
static gdouble border_factor(const struct planner *planner, guint32 operation)
{
	return planner->forward_ns[operation] + planner->backward_ns[operation] > 0 ? 0 : 1;
}

static void scale_rest(const struct planner *planner, struct graph_node *node)
{
	gdouble factor = node->kind == TACHO_NODE_HOST ? planner->surroundings.between_factor
						       : planner->surroundings.rest_factor;

	graph_change_duration(node, rounded_ns((gdouble)node->duration_ns * factor),
			      ORIGIN_MODELLED);
}

/* How much more, or less, a cell's rank takes in an operation's format than all ranks do. */
static gdouble rank_factor(const struct planner *planner, guint32 cell, guint32 operation,
			   guint pass, guint place)
{
	const struct precision_job *job = planner->job;
	const struct job_run *run = job->run_of[planner->formats[operation]];

	return run ? run_costs_rank_factor(&run->costs, &job->reference->costs,
					   cell / planner->graph->steps->len, operation,
					   (enum layer_pass)pass, (enum layer_place)place)
		   : 1;
}

static void scale_nodes(struct planner *planner)
{
	const struct precision_job *job = planner->job;

	FOR_EACH_AT(struct graph_node, node, i, planner->graph->nodes) {
		guint32 operation = planner->layers->operation_of[i];
		guint pass = planner->layers->pass_of[i], place = is_of_device(node);
		guint32 cell = layers_cell(planner->graph, node);
		gdouble from_ns, to_ns;

		if (!is_work(node) || cell == TACHO_NONE || !is_of_set(planner, cell))
			continue;
		if (operation == TACHO_NONE) {
			scale_rest(planner, node);
			continue;
		}
		if (planner->layers->is_cast[i]) {
			graph_change_duration(node,
					      rounded_ns((gdouble)node->duration_ns *
							 border_factor(planner, operation)),
					      ORIGIN_MODELLED);
			continue;
		}
		from_ns = job->reference->costs.operations[operation].ns[pass][place];
		to_ns = planner->surroundings.costs[operation].ns[pass][place] *
			rank_factor(planner, cell, operation, pass, place);
		if (from_ns > 0)
			graph_change_duration(
				node, rounded_ns((gdouble)node->duration_ns * to_ns / from_ns),
				ORIGIN_MODELLED);
	}
}

/* --- what is put in ----------------------------------------------------------------------------- */

static void put_before(struct planner *planner, guint32 node, gdouble ns)
{
	gdouble *sum;

	if (node == TACHO_NONE || ns <= 0)
		return;
	sum = g_hash_table_lookup(planner->inserted, GUINT_TO_POINTER(node));
	if (!sum) {
		sum = g_new0(gdouble, 1);
		g_hash_table_insert(planner->inserted, GUINT_TO_POINTER(node), sum);
	}
	*sum += ns;
}

/* Where an operation's pass begins in a cell: what is in no recording begins with what follows it. */
static guint32 begin_of(const struct planner *planner, guint32 cell, guint pass, guint32 operation)
{
	guint32 node = *first_at(planner, cell, pass, operation);

	if (pass == LAYER_FORWARD)
		for (guint32 i = operation + 1; node == TACHO_NONE && i < planner->n_operations;
		     i++)
			node = *first_at(planner, cell, LAYER_FORWARD, i);
	if (node == TACHO_NONE) /* the backward pass goes the other way */
		for (guint32 i = pass == LAYER_FORWARD ? planner->n_operations : operation;
		     node == TACHO_NONE && i-- > 0;)
			node = *first_at(planner, cell, LAYER_BACKWARD, i);
	return node;
}

/* What an operation does in its format and not in the reference's. */
static gdouble added_ns(const struct planner *planner, guint32 operation, guint pass)
{
	const struct precision_job *job = planner->job;
	const struct layer_cost *from = &job->reference->costs.operations[operation];
	const struct layer_cost *to = &planner->surroundings.costs[operation];
	gdouble ns = 0;

	for (guint place = 0; place < N_LAYER_PLACES; place++)
		if (from->ns[pass][place] <= 0)
			ns += to->ns[pass][place];
	return ns;
}

static void find_insertions(struct planner *planner)
{
	for (guint32 cell = 0; cell < planner->n_cells; cell++)
		for (guint32 i = 0; i < planner->n_operations && is_of_set(planner, cell); i++)
			for (guint pass = 0; pass < N_LAYER_PASSES; pass++) {
				gdouble ns = (pass == LAYER_FORWARD ? planner->forward_ns
								    : planner->backward_ns)[i] +
					     added_ns(planner, i, pass);

				if (ns > 0)
					put_before(planner, begin_of(planner, cell, pass, i), ns);
			}
}

static void insert(struct planner *planner)
{
	g_autoptr(GArray) insertions = g_array_new(FALSE, FALSE, sizeof(struct insertion));
	guint32 name = tacho_timeline_intern(planner->graph->timeline, "cast", -1);

	for (guint32 i = 0; i < planner->graph->nodes->len; i++) {
		const gdouble *ns = g_hash_table_lookup(planner->inserted, GUINT_TO_POINTER(i));
		struct insertion insertion = {
			i, ns ? rounded_ns(*ns) : 0, ORIGIN_MODELLED, TACHO_NODE_CAST, name, TRUE
		};

		if (ns)
			g_array_append_val(insertions, insertion);
	}
	if (insertions->len > 0)
		change_insert(planner->graph, insertions);
}

/* --- all ---------------------------------------------------------------------------------------- */

static void sum_up(struct planner *planner)
{
	struct plan_prediction *prediction = planner->prediction;

	for (guint32 i = 0; i < planner->n_operations; i++) {
		const struct layer_cost *cost = &planner->surroundings.costs[i];
		gdouble operation_ns = planner->share * layer_cost_ns(cost);
		gdouble forward_ns = planner->share * planner->forward_ns[i];
		gdouble backward_ns = planner->share * planner->backward_ns[i];

		prediction->operation_ns[i] += operation_ns;
		prediction->cast_ns[i] += forward_ns + backward_ns;
		prediction->forward_cast_ns += forward_ns;
		prediction->backward_cast_ns += backward_ns;
		planner->all_ns += operation_ns;
		planner->estimated_ns += cost->is_estimated ? operation_ns : 0;
		planner->changed_ns += forward_ns + backward_ns;
		if (planner->formats[i] == planner->job->reference->format)
			continue;
		planner->square_spread_ns += planner->share * cost->spread_ns * cost->spread_ns;
		planner->changed_ns += operation_ns;
	}
}

/* The steps' own spread, the operations', what recordings in one format differ by, and what a change is off by. */
static void find_interval(const struct planner *planner, const TachoReplay *replay)
{
	struct plan_prediction *prediction = planner->prediction;
	g_autoptr(GArray) steps = replay_step_times(replay);
	guint n_steps = MAX(steps->len, 1u);
	gdouble square = planner->square_spread_ns, deviation, half;

	prediction->step_ns = median_with_deviation(steps, &deviation);
	half = NINE_IN_TEN * MEDIAN_ERROR * deviation * prediction->step_ns / sqrt(n_steps);
	square += half * half + pow(planner->job->recordings_spread * prediction->step_ns, 2);
	square += pow(MODEL_ERROR * MIN(planner->changed_ns, prediction->step_ns), 2);
	prediction->interval_ns[0] = MAX(prediction->step_ns - sqrt(square), 0);
	prediction->interval_ns[1] = prediction->step_ns + sqrt(square);
}

/* When each QUEUE node's collective was queued: [node]; G_MININT64: nothing tells. The caller's. */
static gint64 *find_queued(const TachoGraph *graph, const TachoReplay *replay)
{
	gint64 *queued = g_new(gint64, MAX(graph->nodes->len, 1u));

	for (guint32 i = 0; i < graph->nodes->len; i++)
		queued[i] = G_MININT64;
	FOR_EACH(const struct graph_edge, edge, graph->edges)
		if (edge->kind == TACHO_EDGE_QUEUE)
			queued[edge->to] =
				MAX(queued[edge->to], tacho_replay_end_ns(replay, edge->from));
	return queued;
}

/* When each rank came to each collective: [transfer * n_ranks + rank], G_MININT64: it did not. Hops are of their whole. The caller's. */
static gint64 *find_arrivals(const TachoGraph *graph, const TachoReplay *replay)
{
	guint32 n_ranks = graph->timeline->ranks->len;
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
	g_autofree gint64 *queued = find_queued(graph, replay);
	gsize n = (gsize)graph->transfers->len * n_ranks;
	gint64 *arrivals = g_new(gint64, MAX(n, 1u));

	for (gsize i = 0; i < n; i++)
		arrivals[i] = G_MININT64;
	FOR_EACH_AT(const struct graph_transfer, transfer, i, graph->transfers)
		g_hash_table_insert(numbers, GUINT_TO_POINTER(transfer->node),
				    GUINT_TO_POINTER((transfer->is_hop ? transfer->whole : i) + 1));
	FOR_EACH(const struct graph_edge, edge, graph->edges) {
		const struct graph_node *from = graph_node_at(graph, edge->from);
		guint32 rank = graph_lane_at(graph, from->lane)->rank_index;
		guint32 number = edge->kind == TACHO_EDGE_TRANSFER && from->kind == TACHO_NODE_QUEUE
					 ? GPOINTER_TO_UINT(g_hash_table_lookup(
						   numbers, GUINT_TO_POINTER(edge->to)))
					 : 0;

		if (number == 0 || rank >= n_ranks)
			continue;
		/* a stream takes a collective up when it comes to it; a thread waits in it from when it is queued */
		arrivals[(gsize)(number - 1) * n_ranks + rank] =
			graph_transfer_at(graph, number - 1)->is_device ||
					queued[edge->from] == G_MININT64
				? tacho_replay_end_ns(replay, edge->from)
				: queued[edge->from];
	}
	return arrivals;
}

/* Each rank waits at a collective from when it comes until the last one does; a moment counts once, as in analyze/late_ranks.c. */
static void find_waits(const struct planner *planner, const TachoReplay *replay)
{
	const TachoGraph *graph = planner->graph;
	guint32 n_ranks = graph->timeline->ranks->len, n = graph->transfers->len;
	g_autofree gint64 *arrivals = find_arrivals(graph, replay);
	g_autofree gint64 *last_ns = g_new(gint64, MAX(n, 1u));

	for (guint32 i = 0; i < n; i++) {
		last_ns[i] = G_MININT64;
		for (guint32 rank = 0; rank < n_ranks; rank++)
			last_ns[i] = MAX(last_ns[i], arrivals[(gsize)i * n_ranks + rank]);
	}
	for (guint32 rank = 0; rank < n_ranks; rank++) {
		struct interval_set waits;

		interval_set_init(&waits);
		for (guint32 i = 0; i < n; i++) {
			gint64 own_ns = arrivals[(gsize)i * n_ranks + rank];

			if (own_ns != G_MININT64)
				interval_set_add(&waits, own_ns, last_ns[i]);
		}
		interval_set_normalize(&waits);
		planner->prediction->wait_ns[rank] =
			(gdouble)interval_set_measure(&waits, G_MININT64 / 2, G_MAXINT64 / 2) /
			MAX(graph->steps->len, 1u);
		interval_set_release(&waits);
	}
}

/* What the plan makes of one set of ranks. */
static void edit_set(struct planner *planner, guint32 set)
{
	const struct precision_job *job = planner->job;
	guint8 *formats = rank_formats_of(planner->ranks, set);
	struct plan_prediction *prediction = planner->prediction;

	precision_job_follow(job, formats);
	planner->set = set;
	planner->formats = formats;
	planner->share = (gdouble)g_array_index(planner->ranks->n_of, guint32, set) /
			 MAX(planner->ranks->n_ranks, 1u);
	memset(planner->forward_ns, 0, planner->n_operations * sizeof(gdouble));
	memset(planner->backward_ns, 0, planner->n_operations * sizeof(gdouble));
	surroundings_init(&planner->surroundings, job, formats);
	find_casts(planner);
	find_insertions(planner);
	scale_nodes(planner);
	plan_memory_edit(job, planner->graph, formats, planner->ranks->set_of, set);
	sum_up(planner);
	prediction->saved_bytes = MAX(prediction->saved_bytes, saved_bytes_of_plan(job, formats));
	surroundings_release(&planner->surroundings);
}

static gboolean play(struct planner *planner, GError **error)
{
	struct plan_prediction *prediction = planner->prediction;
	g_autoptr(TachoReplay) replay = NULL;

	find_first_nodes(planner);
	for (guint32 set = 0; set < planner->ranks->sets->len; set++)
		edit_set(planner, set);
	prediction->measured_share =
		planner->all_ns > 0 ? 1 - planner->estimated_ns / planner->all_ns : 1;
	prediction->n_other_widths =
		plan_gradients_edit(planner->job, planner->graph, planner->ranks);
	insert(planner);
	if (!graph_freeze(planner->graph, error))
		return FALSE;
	replay = tacho_replay_run(planner->graph, error);
	if (!replay)
		return FALSE;
	find_interval(planner, replay);
	find_waits(planner, replay);
	prediction->peak_bytes = plan_memory_peak(replay);
	return TRUE;
}

gboolean plan_prediction_of_ranks(struct plan_prediction *prediction,
				  const struct precision_job *job, struct rank_formats *ranks,
				  GError **error)
{
	struct planner planner = { .job = job,
				   .layers = &job->reference->layers,
				   .ranks = ranks,
				   .n_operations = job->identity->operations->len,
				   .prediction = prediction };
	gboolean is_played;

	*prediction = (struct plan_prediction){ .recorded_peak_bytes = -1 };
	planner.graph = graph_copy(job->reference->graph);
	planner.n_cells = planner.graph->timeline->ranks->len * planner.graph->steps->len;
	planner.first_node =
		none_rows_new((gsize)planner.n_cells * N_LAYER_PASSES * planner.n_operations);
	planner.forward_ns = g_new0(gdouble, planner.n_operations);
	planner.backward_ns = g_new0(gdouble, planner.n_operations);
	planner.inserted = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	prediction->operation_ns = g_new0(gdouble, planner.n_operations);
	prediction->cast_ns = g_new0(gdouble, planner.n_operations);
	prediction->wait_ns = g_new0(gdouble, MAX(planner.graph->timeline->ranks->len, 1u));
	is_played = play(&planner, error);
	g_hash_table_unref(planner.inserted);
	g_free(planner.first_node);
	g_free(planner.forward_ns);
	g_free(planner.backward_ns);
	tacho_graph_free(planner.graph);
	return is_played;
}

gboolean plan_prediction_init(struct plan_prediction *prediction, const struct precision_job *job,
			      guint8 *formats, GError **error)
{
	guint32 n_ranks = MAX(job->reference->timeline->ranks->len, 1u);
	guint32 n = job->identity->operations->len;
	struct rank_formats ranks;
	gboolean is_played;

	rank_formats_init(&ranks, n, n_ranks);
	for (guint32 rank = 0; rank < n_ranks; rank++)
		rank_formats_set(&ranks, rank, formats);
	is_played = plan_prediction_of_ranks(prediction, job, &ranks, error);
	memcpy(formats, rank_formats_of(&ranks, 0), n);
	rank_formats_release(&ranks);
	return is_played;
}

void plan_prediction_release(struct plan_prediction *prediction)
{
	g_clear_pointer(&prediction->operation_ns, g_free);
	g_clear_pointer(&prediction->cast_ns, g_free);
	g_clear_pointer(&prediction->wait_ns, g_free);
}
