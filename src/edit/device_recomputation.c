/* device_recomputation: what hosts launch again, and devices do again.
 *
 *     ... --> first of the backward pass              before
 *     ... --> anchor --> a' --> b' --> first ...      after: copies of what the host did in the part
 *                         `launch' --> kernel' --> what the backward pass launches first on that stream
 *
 * (1) Copies of the host's pieces follow each other where the backward pass begins, on its thread. Work of the part that
 *     none of them launched is launched by the anchor, which takes no time.
 * (2) Copies of a stream's work follow each other behind what was launched on it before the backward pass, with
 *     the gaps that they had; all that was launched later comes after them. Where nothing was, who waits for the
 *     stream later waits for them.
 * (3) Waits for events, and calls that wait for devices, are copied where both ends are within the part. */
#include "edit/recomputation.h"
#include "trace/none_rows.h"

struct repetition {
	TachoGraph *graph;
	guint32 n_nodes, n_edges; /* before */
	guint32 *first_in, *in;	  /* edges into node i: in[first_in[i]] up to in[first_in[i + 1]] */
	guint32 *copy_of;	  /* in the part in hand, or TACHO_NONE */
	guint32 *anchor_of;	  /* what is put before a node, or TACHO_NONE */
	GPtrArray *works;	  /* by lane: GArray of guint32, what streams did, in order */
	guint *next_work;	  /* by lane: of these, the first launched after the part in hand */
	guint32 *put_before;	  /* the last copy put before a work, or TACHO_NONE */
	guint32 *put_last;	  /* by lane: the same where no work follows */
	guint32 *tail; /* by lane: what the next copy of the part in hand follows, or TACHO_NONE */
};

static gboolean is_device_work(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_DEVICE || node->kind == TACHO_NODE_COPY;
}

/* Whether the node is on a stream; parts in collectives are, too. */
static gboolean is_on_stream(const TachoGraph *graph, const struct graph_node *node)
{
	return (is_device_work(node) || node->kind == TACHO_NODE_PART ||
		node->kind == TACHO_NODE_QUEUE || node->kind == TACHO_NODE_COMPLETE) &&
	       graph_lane_is_stream(graph, graph_lane_at(graph, node->lane));
}

/* --- edges and streams ------------------------------------------------------------------------ */

static void index_edges(struct repetition *repetition)
{
	const TachoGraph *graph = repetition->graph;
	guint32 n = repetition->n_nodes;

	repetition->first_in = g_new0(guint32, (gsize)n + 2);
	repetition->in = g_new(guint32, MAX(repetition->n_edges, 1u));
	for (guint32 i = 0; i < repetition->n_edges; i++)
		repetition->first_in[g_array_index(graph->edges, struct graph_edge, i).to + 2]++;
	for (guint32 i = 2; i < n + 2; i++)
		repetition->first_in[i] += repetition->first_in[i - 1];
	for (guint32 i = 0; i < repetition->n_edges; i++) {
		guint32 to = g_array_index(graph->edges, struct graph_edge, i).to;

		repetition->in[repetition->first_in[to + 1]++] = i;
	}
}

static void list_works(struct repetition *repetition)
{
	const TachoGraph *graph = repetition->graph;

	repetition->works = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	for (guint32 i = 0; i < graph->lanes->len; i++)
		g_ptr_array_add(repetition->works, g_array_new(FALSE, FALSE, sizeof(guint32)));
	for (guint32 i = 0; i < repetition->n_nodes; i++)
		if (is_on_stream(graph, graph_node_at(graph, i)))
			g_array_append_val(
				(GArray *)g_ptr_array_index(repetition->works,
							    graph_node_at(graph, i)->lane),
				i);
}

static void repetition_init(struct repetition *repetition, TachoGraph *graph)
{
	guint32 n = graph->nodes->len, n_lanes = graph->lanes->len;

	*repetition =
		(struct repetition){ .graph = graph, .n_nodes = n, .n_edges = graph->edges->len };
	index_edges(repetition);
	list_works(repetition);
	repetition->copy_of = none_rows_new(n);
	repetition->anchor_of = none_rows_new(n);
	repetition->put_before = none_rows_new(n);
	repetition->put_last = none_rows_new(n_lanes);
	repetition->tail = none_rows_new(n_lanes);
	repetition->next_work = g_new0(guint, MAX(n_lanes, 1u));
}

static void repetition_release(struct repetition *repetition)
{
	g_ptr_array_unref(repetition->works);
	g_free(repetition->first_in);
	g_free(repetition->in);
	g_free(repetition->copy_of);
	g_free(repetition->anchor_of);
	g_free(repetition->put_before);
	g_free(repetition->put_last);
	g_free(repetition->tail);
	g_free(repetition->next_work);
}

static const struct graph_edge *edge_into(const struct repetition *repetition, guint32 i)
{
	return &g_array_index(repetition->graph->edges, struct graph_edge, repetition->in[i]);
}

/* What of that kind leads to the node first, or TACHO_NONE. */
static guint32 leading_to(const struct repetition *repetition, guint32 node, TachoNodeKind kind)
{
	for (guint32 i = repetition->first_in[node]; i < repetition->first_in[node + 1]; i++) {
		guint32 from = edge_into(repetition, i)->from;

		if (graph_node_at(repetition->graph, from)->kind == kind)
			return from;
	}
	return TACHO_NONE;
}

/* Where what a work waits for leads to: the cast before it, or itself. */
static guint32 entry_of(const struct repetition *repetition, guint32 work)
{
	guint32 cast = leading_to(repetition, work, TACHO_NODE_CAST);

	return cast == TACHO_NONE ? work : cast;
}

/* --- a part again ----------------------------------------------------------------------------- */

/* At the begin of the backward pass. */
static guint32 copy_node(struct repetition *repetition, const struct again *again, guint32 index)
{
	const struct graph_node *next = graph_node_at(repetition->graph, again->insertion.next);
	struct graph_node node = *graph_node_at(repetition->graph, index);

	node.begin_ns = next->begin_ns;
	node.step = next->step;
	node.slice = node.transfer = TACHO_NONE;
	if (node.kind != TACHO_NODE_COPY) /* of an engine */
		node.pool = TACHO_NONE;
	return graph_add_node(repetition->graph, node);
}

static guint32 add_anchor(struct repetition *repetition, const struct again *again)
{
	struct graph_node node = *graph_node_at(repetition->graph, again->insertion.next);

	node.kind = again->insertion.kind;
	node.name = again->insertion.name;
	node.duration_ns = 0;
	node.slice = node.transfer = node.pool = TACHO_NONE;
	return graph_add_node(repetition->graph, node);
}

/* (1); returns the last of it. */
static guint32 copy_host(struct repetition *repetition, const struct again *again, guint32 anchor)
{
	TachoGraph *graph = repetition->graph;
	guint32 last = anchor;

	for (guint i = 0; i < again->nodes->len; i++) {
		guint32 index = g_array_index(again->nodes, guint32, i), copy;

		if (is_device_work(graph_node_at(graph, index)))
			continue;
		copy = copy_node(repetition, again, index);
		graph_node_at(graph, copy)->lane =
			graph_node_at(graph, again->insertion.next)->lane;
		graph_add_edge(graph, last, copy, TACHO_EDGE_PROGRAM);
		repetition->copy_of[index] = last = copy;
	}
	return last;
}

/* What the first copy on each stream of the part follows. */
static void find_tails(struct repetition *repetition, const struct again *again)
{
	const TachoGraph *graph = repetition->graph;
	const TachoSlices *slices = &graph->timeline->slices;

	for (guint i = 0; i < again->nodes->len; i++) {
		guint32 index = g_array_index(again->nodes, guint32, i);
		guint32 lane = graph_node_at(graph, index)->lane;
		const GArray *works = g_ptr_array_index(repetition->works, lane);
		guint *next = &repetition->next_work[lane];
		guint32 put;

		if (!is_device_work(graph_node_at(graph, index)))
			continue;
		for (; *next < works->len; (*next)++) {
			guint32 slice =
				graph_node_at(graph, g_array_index(works, guint32, *next))->slice;

			if (slice != TACHO_NONE && slices->launch[slice] != TACHO_NONE &&
			    slices->start_ns[slices->launch[slice]] >= again->begin_ns)
				break;
		}
		put = *next < works->len
			      ? repetition->put_before[g_array_index(works, guint32, *next)]
			      : repetition->put_last[lane];
		if (put == TACHO_NONE && *next > 0)
			put = g_array_index(works, guint32, *next - 1);
		repetition->tail[lane] = put;
	}
}

static guint32 copied_or(const struct repetition *repetition, guint32 node, guint32 otherwise)
{
	return repetition->copy_of[node] == TACHO_NONE ? otherwise : repetition->copy_of[node];
}

/* Behind what is before it on its stream, after a gap if it had one. */
static void follow_stream(struct repetition *repetition, const struct again *again, guint32 entry,
			  guint32 copy)
{
	TachoGraph *graph = repetition->graph;
	guint32 tail = repetition->tail[graph_node_at(graph, copy)->lane];
	guint32 gap = leading_to(repetition, entry, TACHO_NODE_GAP), gap_copy;

	if (tail == TACHO_NONE)
		return;
	if (gap != TACHO_NONE) {
		gap_copy = copy_node(repetition, again, gap);
		graph_add_edge(graph, gap_copy, copy, TACHO_EDGE_STREAM);
		copy = gap_copy;
	}
	graph_add_edge(graph, tail, copy, TACHO_EDGE_STREAM);
}

/* By the copy of who launched it, or the anchor. */
static void launch(struct repetition *repetition, const struct again *again, guint32 anchor,
		   guint32 entry, guint32 copy)
{
	TachoGraph *graph = repetition->graph;

	for (guint32 i = repetition->first_in[entry]; i < repetition->first_in[entry + 1]; i++) {
		const struct graph_edge edge = *edge_into(repetition, i);
		guint32 from = edge.from, to = copy;

		if (edge.kind != TACHO_EDGE_LAUNCH)
			continue;
		if (graph_node_at(graph, from)->kind == TACHO_NODE_LAUNCH) {
			to = copy_node(repetition, again, from);
			graph_add_edge(graph, to, copy, TACHO_EDGE_LAUNCH);
			from = repetition->first_in[from] < repetition->first_in[from + 1]
				       ? edge_into(repetition, repetition->first_in[from])->from
				       : TACHO_NONE;
		}
		graph_add_edge(graph,
			       from == TACHO_NONE ? anchor : copied_or(repetition, from, anchor),
			       to, TACHO_EDGE_LAUNCH);
	}
}

/* (3) for what waited for `to` or the gap before it. */
static void copy_waits(struct repetition *repetition, const struct again *again, guint32 to,
		       guint32 copy, TachoEdgeKind kind)
{
	TachoGraph *graph = repetition->graph;

	for (guint32 i = repetition->first_in[to]; i < repetition->first_in[to + 1]; i++) {
		const struct graph_edge edge = *edge_into(repetition, i);

		if (graph_node_at(graph, edge.from)->kind == TACHO_NODE_GAP) {
			guint32 to_wait = copy;

			if (kind == TACHO_EDGE_SYNC) { /* from its end to the call's */
				to_wait = copy_node(repetition, again, edge.from);
				graph_add_edge(graph, to_wait, copy, kind);
			}
			copy_waits(repetition, again, edge.from, to_wait, kind);
		} else if ((TachoEdgeKind)edge.kind == kind &&
			   repetition->copy_of[edge.from] != TACHO_NONE) {
			graph_add_edge(graph, repetition->copy_of[edge.from], copy, kind);
		}
	}
}

static void copy_work(struct repetition *repetition, const struct again *again, guint32 anchor,
		      guint32 index)
{
	TachoGraph *graph = repetition->graph;
	guint32 entry = entry_of(repetition, index);
	guint32 copy = copy_node(repetition, again, index), first = copy;

	if (entry != index) {
		first = copy_node(repetition, again, entry);
		graph_add_edge(graph, first, copy, TACHO_EDGE_PROGRAM);
	}
	follow_stream(repetition, again, entry, first);
	launch(repetition, again, anchor, entry, first);
	copy_waits(repetition, again, entry, first, TACHO_EDGE_EVENT);
	repetition->copy_of[index] = copy;
	repetition->tail[graph_node_at(graph, copy)->lane] = copy;
}

/* Nothing was launched on the stream later: who waits for it then waits for the copies. */
static void let_wait(struct repetition *repetition, const struct again *again, guint32 lane)
{
	TachoGraph *graph = repetition->graph;
	gint64 from_ns = graph_node_at(graph, again->insertion.next)->begin_ns;

	for (guint32 i = 0; i < repetition->n_edges; i++) {
		const struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);
		const struct graph_node *to = graph_node_at(graph, edge.to);

		if (edge.kind == TACHO_EDGE_SYNC && to->lane != lane && to->begin_ns >= from_ns &&
		    graph_node_at(graph, edge.from)->lane == lane)
			graph_add_edge(graph, repetition->tail[lane], edge.to, TACHO_EDGE_SYNC);
	}
}

/* (2): what was launched later on a stream that copies were put on comes after them. */
static void put_before_others(struct repetition *repetition, const struct again *again,
			      guint32 lane)
{
	TachoGraph *graph = repetition->graph;
	const GArray *works = g_ptr_array_index(repetition->works, lane);
	guint32 next, entry, gap;

	if (repetition->next_work[lane] == works->len) {
		let_wait(repetition, again, lane);
		repetition->put_last[lane] = repetition->tail[lane];
		return;
	}
	next = g_array_index(works, guint32, repetition->next_work[lane]);
	entry = entry_of(repetition, next);
	gap = leading_to(repetition, entry, TACHO_NODE_GAP);
	graph_add_edge(graph, repetition->tail[lane], gap == TACHO_NONE ? entry : gap,
		       TACHO_EDGE_STREAM);
	repetition->put_before[next] = repetition->tail[lane];
}

static void forget_copies(struct repetition *repetition, const struct again *again)
{
	for (guint i = 0; i < again->nodes->len; i++) {
		guint32 index = g_array_index(again->nodes, guint32, i);

		repetition->copy_of[index] = TACHO_NONE;
		repetition->tail[graph_node_at(repetition->graph, index)->lane] = TACHO_NONE;
	}
}

static void repeat(struct repetition *repetition, const struct again *again)
{
	TachoGraph *graph = repetition->graph;
	guint32 anchor = add_anchor(repetition, again);
	guint32 last = copy_host(repetition, again, anchor);

	graph_add_edge(graph, last, again->insertion.next, TACHO_EDGE_PROGRAM);
	repetition->anchor_of[again->insertion.next] = anchor;
	find_tails(repetition, again);
	for (guint i = 0; i < again->nodes->len; i++) {
		guint32 index = g_array_index(again->nodes, guint32, i);

		if (is_device_work(graph_node_at(graph, index)))
			copy_work(repetition, again, anchor, index);
	}
	for (guint i = 0; i < again->nodes->len; i++) {
		guint32 index = g_array_index(again->nodes, guint32, i);
		guint32 lane = graph_node_at(graph, index)->lane;

		if (!is_device_work(graph_node_at(graph, index))) {
			copy_waits(repetition, again, index, repetition->copy_of[index],
				   TACHO_EDGE_SYNC);
		} else if (repetition->tail[lane] != TACHO_NONE) {
			put_before_others(repetition, again, lane);
			repetition->tail[lane] = TACHO_NONE; /* once a stream */
		}
	}
	forget_copies(repetition, again);
}

void recompute_on_devices(TachoGraph *graph, const GArray *agains)
{
	struct repetition repetition;

	repetition_init(&repetition, graph);
	for (guint i = 0; i < agains->len; i++)
		repeat(&repetition, &g_array_index(agains, struct again, i));
	for (guint32 i = 0; i < repetition.n_edges; i++) {
		struct graph_edge *edge = &g_array_index(graph->edges, struct graph_edge, i);

		if (repetition.anchor_of[edge->to] != TACHO_NONE)
			edge->to = repetition.anchor_of[edge->to];
	}
	repetition_release(&repetition);
	graph_renumber(graph);
}
