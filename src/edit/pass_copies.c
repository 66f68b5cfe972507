/* pass_copies: the passes of a graph's steps several times.
 *
 *     what was before --> first copy --> second copy --> ... --> the pass as it was --> what follows it
 *
 * (1) Within a copy all is as within the pass. What the pass had waited for from before is waited for by the first copy.
 *     What it waits for from within its step that is no part of it (collectives of gradients) is so by the last pass only.
 * (2) Pass follows pass on each thread and each stream by itself, so hosts run ahead of devices as far as they do within
 *     the pass. The main thread goes on where it or another thread of its rank had gone on behind the pass.
 * (3) Who waited for the k-th work before the pass on a stream (a full queue, a call that waits for a stream), waits in
 *     each later pass for the k-th before that one.
 * (4) Times of the recording, by which nodes are in order, are moved apart for the copies.
 * (5) Copies have no slices: the slices' times, and memory, are those of the last pass. */
#include "base/for_each.h"
#include "base/partition_point.h"
#include "replay/replay_internal.h"
#include "edit/pass_copies.h"
#include "trace/none_rows.h"

/* From one pass to the next. */
struct following {
	guint32 last, next; /* nodes of the pass: what ends one, what begins the next */
	guint32 kind;	    /* TachoEdgeKind */
};

struct pass_copying {
	TachoGraph *graph;
	const struct pass_nodes *pass;
	guint32 n_copies, n_more;
	guint32 n_edges, n_transfers; /* before */
	guint32 n_of_pass, n_transfers_of_pass;
	guint32 *ordinal, *transfer_ordinal; /* among those of passes */
	gint64 *length_ns;		     /* of each step, what a copy is earlier by */
	gint64 *until_ns; /* of each step: what copies of the steps up to it move what follows by */
	guint32 *gap_before, *cast_before; /* of each work, or TACHO_NONE */
	guint32 *place;			   /* of each work on its stream */
	guint32 *first_work,
		*n_works;   /* [lane * steps + step]: place of the first of a pass; how many */
	GPtrArray *works;   /* by lane: GArray of guint32 */
	GArray *followings; /* struct following */
	guint8 *is_call; /* [node]: of a call that queues what has no copies: a copy queues nothing in it */
};

static guint32 step_of(const struct pass_copying *copying, guint32 node)
{
	return copying->pass->step_of[node];
}

/* The copy of a node of a pass; the last copy is the node itself. */
static guint32 copy_of(const struct pass_copying *copying, guint32 node, guint32 copy)
{
	if (copy == copying->n_copies)
		return node;
	return copying->pass->n_nodes + copy * copying->n_of_pass + copying->ordinal[node];
}

static gsize cell_of(const struct pass_copying *copying, guint32 lane, guint32 step)
{
	return (gsize)lane * copying->pass->n_steps + step;
}

static guint32 n_ranks(const struct pass_copying *copying)
{
	return graph_n_own_ranks(copying->graph);
}

/* --- times of the recording ------------------------------------------------------------------- */

/* How long a step's passes were, of all ranks. */
static void find_lengths(struct pass_copying *copying)
{
	const struct pass_nodes *pass = copying->pass;
	gint64 until_ns = 0;

	copying->length_ns = g_new0(gint64, MAX(pass->n_steps, 1u));
	copying->until_ns = g_new0(gint64, MAX(pass->n_steps, 1u));
	for (guint32 step = 0; step < pass->n_steps; step++) {
		gint64 first_ns = G_MAXINT64, last_ns = G_MININT64;

		for (guint32 rank = 0; rank < n_ranks(copying); rank++) {
			gsize cell = (gsize)rank * pass->n_steps + step;

			first_ns = MIN(first_ns, pass->first_ns[cell]);
			last_ns = MAX(last_ns, pass->last_ns[cell]);
		}
		if (first_ns <= last_ns)
			copying->length_ns[step] = last_ns - first_ns + 1;
		until_ns += copying->n_copies * copying->length_ns[step];
		copying->until_ns[step] = until_ns;
	}
}

/* What is moved by at `time_ns` of a rank: what its passes that had begun by then are. */
static gint64 moved_until_ns(const struct pass_copying *copying, guint32 rank, gint64 time_ns)
{
	const struct pass_nodes *pass = copying->pass;
	const gint64 *first_ns = &pass->first_ns[(gsize)rank * pass->n_steps];
	guint32 n = PARTITION_POINT(i, 0, pass->n_steps, first_ns[i] <= time_ns);

	return n > 0 ? copying->until_ns[n - 1] : 0;
}

/* What a node that is no copy is moved by. */
static gint64 moved_ns(const struct pass_copying *copying, const struct graph_node *node)
{
	guint32 rank = graph_lane_at(copying->graph, node->lane)->rank_index;
	guint32 step = node->step == TACHO_NONE ? TACHO_NONE
						: graph_step_index(copying->graph, node->step);

	if (graph_is_guest_node(copying->graph, node))
		return 0;
	if (step != TACHO_NONE)
		return copying->until_ns[step];
	return moved_until_ns(copying, rank == TACHO_NONE ? 0 : rank, node->begin_ns);
}

static void move_nodes(struct pass_copying *copying)
{
	for (guint32 i = 0; i < copying->pass->n_nodes; i++) {
		struct graph_node *node = graph_node_at(copying->graph, i);

		node->begin_ns += moved_ns(copying, node);
	}
}

/* --- copies ----------------------------------------------------------------------------------- */

static void number_nodes(struct pass_copying *copying)
{
	copying->ordinal = none_rows_new(copying->pass->n_nodes);
	copying->transfer_ordinal = none_rows_new(copying->n_transfers);
	for (guint32 i = 0; i < copying->pass->n_nodes; i++)
		if (step_of(copying, i) != TACHO_NONE)
			copying->ordinal[i] = copying->n_of_pass++;
	for (guint32 i = 0; i < copying->n_transfers; i++)
		if (copying->pass->transfer_step_of[i] != TACHO_NONE)
			copying->transfer_ordinal[i] = copying->n_transfers_of_pass++;
}

static guint32 copy_of_transfer(const struct pass_copying *copying, guint32 transfer, guint32 copy)
{
	return copying->n_transfers + copy * copying->n_transfers_of_pass +
	       copying->transfer_ordinal[transfer];
}

/* By how much a copy is earlier than a node of the step would be. */
static gint64 copy_moved_ns(const struct pass_copying *copying, guint32 step, guint32 copy)
{
	return copying->until_ns[step] - (copying->n_copies - copy) * copying->length_ns[step];
}

static void add_nodes(struct pass_copying *copying, guint32 copy)
{
	TachoGraph *graph = copying->graph;

	for (guint32 i = 0; i < copying->pass->n_nodes; i++) {
		struct graph_node node = *graph_node_at(graph, i);

		if (step_of(copying, i) == TACHO_NONE)
			continue;
		node.begin_ns += copy_moved_ns(copying, step_of(copying, i), copy);
		node.slice = TACHO_NONE;
		if (copying->is_call[i])
			node.duration_ns = 0;
		if (node.transfer != TACHO_NONE)
			node.transfer = copy_of_transfer(copying, node.transfer, copy);
		graph_add_node(graph, node);
	}
}

static void add_transfers(struct pass_copying *copying, guint32 copy)
{
	TachoGraph *graph = copying->graph;

	for (guint32 i = 0; i < copying->n_transfers; i++) {
		struct graph_transfer transfer = *graph_transfer_at(graph, i);
		gint64 moved_by_ns;

		if (copying->transfer_ordinal[i] == TACHO_NONE)
			continue;
		moved_by_ns = copy_moved_ns(copying, copying->pass->transfer_step_of[i], copy);
		if (step_of(copying, transfer.node) != TACHO_NONE)
			transfer.node = copy_of(copying, transfer.node, copy);
		if (transfer.is_hop)
			transfer.whole = copy_of_transfer(copying, transfer.whole, copy);
		transfer.begin_ns += moved_by_ns;
		transfer.end_ns += moved_by_ns;
		g_array_append_val(graph->transfers, transfer);
	}
}

/* --- streams ---------------------------------------------------------------------------------- */

static void find_ways(struct pass_copying *copying)
{
	const TachoGraph *graph = copying->graph;

	copying->gap_before = none_rows_new(copying->pass->n_nodes);
	copying->cast_before = none_rows_new(copying->pass->n_nodes);
	for (guint32 i = 0; i < copying->n_edges; i++) {
		const struct graph_edge *edge = &g_array_index(graph->edges, struct graph_edge, i);
		TachoNodeKind kind = graph_node_at(graph, edge->from)->kind;

		if (graph_node_at(graph, edge->from)->lane != graph_node_at(graph, edge->to)->lane)
			continue;
		if (kind == TACHO_NODE_GAP)
			copying->gap_before[edge->to] = edge->from;
		else if (kind == TACHO_NODE_CAST)
			copying->cast_before[edge->to] = edge->from;
	}
}

/* Where what is before a work on its stream leads to. */
static guint32 entry_of(const struct pass_copying *copying, guint32 work)
{
	if (copying->cast_before[work] != TACHO_NONE)
		work = copying->cast_before[work];
	return copying->gap_before[work] == TACHO_NONE ? work : copying->gap_before[work];
}

static guint32 work_at(const struct pass_copying *copying, guint32 lane, guint32 place)
{
	return g_array_index((GArray *)g_ptr_array_index(copying->works, lane), guint32, place);
}

static void list_works(struct pass_copying *copying)
{
	const TachoGraph *graph = copying->graph;
	gsize n_cells = (gsize)graph->lanes->len * copying->pass->n_steps;

	copying->place = none_rows_new(copying->pass->n_nodes);
	copying->first_work = g_new0(guint32, MAX(n_cells, 1u));
	copying->n_works = g_new0(guint32, MAX(n_cells, 1u));
	copying->works = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	for (guint32 i = 0; i < graph->lanes->len; i++)
		g_ptr_array_add(copying->works, g_array_new(FALSE, FALSE, sizeof(guint32)));
	for (guint32 i = 0; i < copying->pass->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		GArray *works = g_ptr_array_index(copying->works, node->lane);
		gsize cell;

		if (!pass_node_is_stream_work(graph, node))
			continue;
		copying->place[i] = works->len;
		if (step_of(copying, i) != TACHO_NONE) {
			cell = cell_of(copying, node->lane, step_of(copying, i));
			if (copying->n_works[cell]++ == 0)
				copying->first_work[cell] = works->len;
		}
		g_array_append_val(works, i);
	}
}

static void add_following(struct pass_copying *copying, guint32 last, guint32 next,
			  TachoEdgeKind kind)
{
	struct following following = { last, next, kind };

	g_array_append_val(copying->followings, following);
}

/* Works of a pass that others are between: these are not in the copies. */
static void join_works(struct pass_copying *copying, guint32 before, guint32 work)
{
	if (copying->place[work] == copying->place[before] + 1)
		return;
	for (guint32 copy = 0; copy < copying->n_copies; copy++)
		graph_add_edge(copying->graph, copy_of(copying, before, copy),
			       copy_of(copying, entry_of(copying, work), copy), TACHO_EDGE_STREAM);
}

static void follow_on_streams(struct pass_copying *copying)
{
	FOR_EACH_POINTER_AT(const GArray, works, lane, copying->works) {
		for (guint32 step = 0; step < copying->pass->n_steps; step++) {
			gsize cell = cell_of(copying, lane, step);
			guint32 first, last = TACHO_NONE, n_left = copying->n_works[cell];

			if (n_left == 0)
				continue;
			first = work_at(copying, lane, copying->first_work[cell]);
			for (guint32 i = copying->first_work[cell]; i < works->len && n_left > 0;
			     i++) {
				guint32 work = work_at(copying, lane, i);

				if (step_of(copying, work) != step)
					continue;
				if (last != TACHO_NONE)
					join_works(copying, last, work);
				last = work;
				n_left--;
			}
			add_following(copying, last, entry_of(copying, first), TACHO_EDGE_STREAM);
		}
	}
}

/* --- threads ---------------------------------------------------------------------------------- */

/* By rank and step, where the main thread's pass begins; the caller's. */
static guint32 *follow_on_threads(struct pass_copying *copying)
{
	const TachoGraph *graph = copying->graph;
	guint32 n_steps = copying->pass->n_steps;
	gsize n_cells = (gsize)graph->lanes->len * n_steps;
	guint32 *main_first = none_rows_new(n_ranks(copying) * n_steps);
	g_autofree guint32 *first = g_new(guint32, MAX(n_cells, 1u));
	g_autofree guint32 *last = g_new(guint32, MAX(n_cells, 1u));

	for (gsize cell = 0; cell < n_cells; cell++)
		first[cell] = last[cell] = TACHO_NONE;
	for (guint32 i = 0; i < copying->pass->n_nodes; i++) {
		guint32 lane = graph_node_at(graph, i)->lane;
		gsize cell;

		if (step_of(copying, i) == TACHO_NONE || !pass_lane_is_thread(graph, lane))
			continue;
		cell = cell_of(copying, lane, step_of(copying, i));
		if (first[cell] == TACHO_NONE)
			first[cell] = i;
		last[cell] = i;
	}
	for (guint32 lane = 0; lane < graph->lanes->len; lane++)
		for (guint32 step = 0; step < n_steps; step++) {
			gsize cell = cell_of(copying, lane, step);

			if (first[cell] == TACHO_NONE)
				continue;
			add_following(copying, last[cell], first[cell], TACHO_EDGE_PROGRAM);
			if (graph_lane_at(graph, lane)->is_main)
				main_first[graph_lane_at(graph, lane)->rank_index * n_steps +
					   step] = first[cell];
		}
	return main_first;
}

/* Behind the pass a thread goes on, and so the next pass may begin. */
static void follow_exit(struct pass_copying *copying, const struct graph_edge *edge,
			const guint32 *main_first)
{
	const TachoGraph *graph = copying->graph;
	const struct graph_node *from = graph_node_at(graph, edge->from);
	const struct graph_node *to = graph_node_at(graph, edge->to);
	guint32 rank = graph_lane_at(graph, from->lane)->rank_index, next;

	if ((edge->kind != TACHO_EDGE_PROGRAM && edge->kind != TACHO_EDGE_THREAD) ||
	    !pass_lane_is_thread(graph, from->lane) || !pass_lane_is_thread(graph, to->lane) ||
	    graph_lane_at(graph, to->lane)->rank_index != rank || from->step != to->step)
		return;
	next = main_first[rank * copying->pass->n_steps + step_of(copying, edge->from)];
	if (next != TACHO_NONE && graph_node_at(graph, next)->lane != from->lane)
		add_following(copying, edge->from, next, TACHO_EDGE_THREAD);
}

/* --- edges ------------------------------------------------------------------------------------ */

/* The node had waited for nothing of the step or later ones: it is before all passes of it. */
static gboolean is_before(const struct pass_copying *copying, guint32 index, guint32 to)
{
	const TachoGraph *graph = copying->graph;
	const struct graph_node *node = graph_node_at(graph, index);
	guint32 rank = graph_lane_at(graph, graph_node_at(graph, to)->lane)->rank_index;
	guint32 step = node->step == TACHO_NONE ? TACHO_NONE : graph_step_index(graph, node->step);

	if (node->kind == TACHO_NODE_START)
		return TRUE;
	if (step != TACHO_NONE)
		return step < step_of(copying, to);
	return rank != TACHO_NONE &&
	       node->begin_ns <
		       copying->pass
			       ->first_ns[rank * copying->pass->n_steps + step_of(copying, to)];
}

/* (3): of the stream's works in order, passes' copies among them, the one as far before the pass `copy` as `work` was
 * before the first. TACHO_NONE: there is none. */
static guint32 work_as_far_before(const struct pass_copying *copying, guint32 work, guint32 step,
				  guint32 copy)
{
	guint32 lane = graph_node_at(copying->graph, work)->lane;
	gsize cell = cell_of(copying, lane, step);
	gint64 first = copying->first_work[cell], n = copying->n_works[cell];
	gint64 at = copy * n - (first - (gint64)copying->place[work]);

	if (n == 0 || copying->place[work] >= first)
		return TACHO_NONE;
	if (at < 0)
		return first + at < 0 ? TACHO_NONE : work_at(copying, lane, (guint32)(first + at));
	/* works that are not of the pass may be between */
	for (guint32 i = (guint32)(first + at % n); i >= (guint32)first; i--) {
		guint32 before = work_at(copying, lane, i);

		if (step_of(copying, before) == step)
			return copy_of(copying, before, (guint32)(at / n));
		if (i == 0)
			break;
	}
	return TACHO_NONE;
}

/* What the pass had waited for from before. */
static void enter(struct pass_copying *copying, guint32 index)
{
	TachoGraph *graph = copying->graph;
	struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, index);
	guint32 step = step_of(copying, edge.to);

	if (!is_before(copying, edge.from, edge.to))
		return;
	g_array_index(graph->edges, struct graph_edge, index).to = copy_of(copying, edge.to, 0);
	if (copying->place[edge.from] == TACHO_NONE || edge.kind == TACHO_EDGE_STREAM)
		return;
	for (guint32 copy = 1; copy <= copying->n_copies; copy++) {
		guint32 from = work_as_far_before(copying, edge.from, step, copy);

		if (from != TACHO_NONE)
			graph_add_edge(graph, from, copy_of(copying, edge.to, copy), edge.kind);
	}
}

static void copy_edges(struct pass_copying *copying, const guint32 *main_first)
{
	TachoGraph *graph = copying->graph;

	for (guint32 i = 0; i < copying->n_edges; i++) {
		struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);
		guint32 from = step_of(copying, edge.from), to = step_of(copying, edge.to);

		if (to == TACHO_NONE && from != TACHO_NONE)
			follow_exit(copying, &edge, main_first);
		if (to == TACHO_NONE)
			continue;
		if (from != to) {
			enter(copying, i);
			continue;
		}
		for (guint32 copy = 0; copy < copying->n_copies; copy++)
			graph_add_edge(graph, copy_of(copying, edge.from, copy),
				       copy_of(copying, edge.to, copy), edge.kind);
	}
}

static void connect_passes(struct pass_copying *copying)
{
	FOR_EACH(const struct following, following, copying->followings)
		for (guint32 copy = 0; copy < copying->n_copies; copy++)
			graph_add_edge(copying->graph, copy_of(copying, following->last, copy),
				       copy_of(copying, following->next, copy + 1),
				       following->kind);
}

/* --- passes that are not copied --------------------------------------------------------------- */

/* How much later than the one before a pass begins with `next`, in the later half of the copies. */
static gint64 period_ns(const struct pass_copying *copying, const TachoReplay *replay, guint32 next)
{
	guint32 last = copying->n_copies - 1, n = copying->n_copies / 2;
	gint64 apart_ns = replay->begin_ns[copy_of(copying, next, last)] -
			  replay->begin_ns[copy_of(copying, next, last - n)];

	return MAX(apart_ns / n, 0);
}

/* For each node that a pass begins with: when the work of the last copy that it follows is over. The caller's. */
static gint64 *copies_end_ns(const struct pass_copying *copying, const TachoReplay *replay)
{
	gint64 *ends_ns = g_new0(gint64, MAX(copying->pass->n_nodes, 1u));

	FOR_EACH(const struct following, following, copying->followings) {
		guint32 last = copy_of(copying, following->last, copying->n_copies - 1);

		ends_ns[following->next] = MAX(ends_ns[following->next], replay->end_ns[last]);
	}
	return ends_ns;
}

/* Before `next` of the last pass, which then begins as much later as the passes take. Where it had waited for more than
 * what it follows, that is as in the replay with the copies alone. */
static guint32 add_standing(struct pass_copying *copying, const TachoReplay *replay, guint32 next,
			    gint64 copies_ns, guint32 name)
{
	TachoGraph *graph = copying->graph;
	struct graph_node node = *graph_node_at(graph, next);
	guint32 others;

	node.kind = pass_lane_is_thread(graph, node.lane) ? TACHO_NODE_HOST : TACHO_NODE_GAP;
	node.name = name;
	node.begin_ns--; /* behind the copies */
	node.duration_ns =
		(copying->n_more - copying->n_copies) * period_ns(copying, replay, next) +
		MAX(replay->begin_ns[next] - copies_ns, 0);
	node.origin = ORIGIN_MODELLED;
	node.slice = node.transfer = node.pool = TACHO_NONE;
	others = graph_add_node(graph, node);
	graph_add_edge(graph, others, next,
		       node.kind == TACHO_NODE_HOST ? TACHO_EDGE_PROGRAM : TACHO_EDGE_STREAM);
	return others;
}

static void stand_for_others(struct pass_copying *copying, const TachoReplay *replay)
{
	TachoGraph *graph = copying->graph;
	guint32 name = tacho_timeline_intern(graph->timeline, "passes like these", -1);
	g_autofree guint32 *standing = none_rows_new(copying->pass->n_nodes);
	g_autofree gint64 *ends_ns = copies_end_ns(copying, replay);

	FOR_EACH(const struct following, following, copying->followings) {
		guint32 *others = &standing[following->next];

		if (*others == TACHO_NONE)
			*others = add_standing(copying, replay, following->next,
					       ends_ns[following->next], name);
		graph_add_edge(graph, copy_of(copying, following->last, copying->n_copies - 1),
			       *others, following->kind);
	}
}

static gboolean add_others(struct pass_copying *copying, GError **error)
{
	g_autoptr(TachoReplay) replay = NULL;

	if (copying->n_copies == copying->n_more)
		return TRUE;
	if (!graph_freeze(copying->graph, error))
		return FALSE;
	replay = tacho_replay_run(copying->graph, error);
	if (!replay)
		return FALSE;
	stand_for_others(copying, replay);
	return TRUE;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void find_calls(struct pass_copying *copying)
{
	copying->is_call = g_new0(guint8, MAX(copying->pass->n_nodes, 1u));
	FOR_EACH(const struct graph_call, call, copying->graph->calls)
		if (copying->transfer_ordinal[call->transfer] == TACHO_NONE)
			copying->is_call[call->node] = 1;
}

static void pass_copying_init(struct pass_copying *copying)
{
	number_nodes(copying);
	find_lengths(copying);
	find_ways(copying);
	list_works(copying);
	find_calls(copying);
	copying->followings = g_array_new(FALSE, FALSE, sizeof(struct following));
}

static void pass_copying_release(struct pass_copying *copying)
{
	g_free(copying->ordinal);
	g_free(copying->transfer_ordinal);
	g_free(copying->length_ns);
	g_free(copying->until_ns);
	g_free(copying->gap_before);
	g_free(copying->cast_before);
	g_free(copying->place);
	g_free(copying->first_work);
	g_free(copying->n_works);
	g_ptr_array_unref(copying->works);
	g_array_unref(copying->followings);
	g_free(copying->is_call);
}

gboolean pass_copies_add(TachoGraph *graph, const struct pass_nodes *pass, guint32 n_copies,
			 guint32 n_more, GError **error)
{
	struct pass_copying copying = { .graph = graph,
					.pass = pass,
					.n_copies = n_copies,
					.n_more = n_more,
					.n_edges = graph->edges->len,
					.n_transfers = graph->transfers->len };
	g_autofree guint32 *main_first = NULL;
	gboolean is_done;

	pass_copying_init(&copying);
	for (guint32 copy = 0; copy < n_copies; copy++) {
		add_nodes(&copying, copy);
		add_transfers(&copying, copy);
	}
	main_first = follow_on_threads(&copying);
	follow_on_streams(&copying);
	copy_edges(&copying, main_first);
	connect_passes(&copying);
	move_nodes(&copying);
	is_done = add_others(&copying, error);
	pass_copying_release(&copying);
	if (is_done)
		graph_renumber(graph);
	return is_done;
}
