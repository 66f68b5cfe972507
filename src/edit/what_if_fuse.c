/* what_if_fuse: kernels that follow each other on a stream as parts of one.
 *
 * Kernels that match, follow each other on a stream and were launched by one thread: all but the first are taken
 * to be part of the one before: each goes on where that ends, without a launch and a gap of its own. The call
 * that launched it takes no time, and where operations are named, neither does the operation, for only the
 * first is called: if all that it launches is part of what was before. What a kernel takes stays: that a fused one spares reading and writing what is between its
 * parts is not in it. A kernel that had waited for another stream begins a new one. */
#include <string.h>

#include "base/for_each.h"
#include "edit/change_internal.h"

/* What was last on a stream. */
struct last_work {
	guint32 slice; /* TACHO_NONE: nothing */
	gboolean is_matched;
};

/* A kernel that is part of the one before. */
struct joined {
	guint32 call, op; /* slices; op: that may be spared with it */
};

struct kernel_fusion {
	TachoGraph *graph;
	const gchar *kind;
	const GRegex *regex;
	guint32 *gap_of, *launch_of; /* GAP and LAUNCH before each node, or TACHO_NONE */
	guint8 *has_event;	     /* it had waited for another stream */
	GArray *joined;		     /* struct joined */
	GHashTable *n_left; /* op of a joined -> works that it launches, less those joined */
	GHashTable *spared; /* slices of calls and operations that take no time */
	guint32 n_matched;
};

/* What is before a cast is before its kernel. */
static void find_behind_casts(struct kernel_fusion *fusion)
{
	const TachoGraph *graph = fusion->graph;

	FOR_EACH(const struct graph_edge, edge, graph->edges) {
		if (graph_node_at(graph, edge->from)->kind != TACHO_NODE_CAST)
			continue;
		fusion->has_event[edge->to] |= fusion->has_event[edge->from];
		fusion->gap_of[edge->to] = fusion->gap_of[edge->from];
		fusion->launch_of[edge->to] = fusion->launch_of[edge->from];
	}
}

static void find_edges(struct kernel_fusion *fusion)
{
	const TachoGraph *graph = fusion->graph;
	guint32 n = graph->nodes->len;

	fusion->gap_of = g_new(guint32, MAX(n, 1u));
	fusion->launch_of = g_new(guint32, MAX(n, 1u));
	fusion->has_event = g_new0(guint8, MAX(n, 1u));
	for (guint32 i = 0; i < n; i++)
		fusion->gap_of[i] = fusion->launch_of[i] = TACHO_NONE;
	FOR_EACH(const struct graph_edge, edge, graph->edges) {
		fusion->has_event[edge->to] |= edge->kind == TACHO_EDGE_EVENT;
		if (graph_node_at(graph, edge->from)->kind == TACHO_NODE_GAP)
			fusion->gap_of[edge->to] = edge->from;
		if (graph_node_at(graph, edge->from)->kind == TACHO_NODE_LAUNCH)
			fusion->launch_of[edge->to] = edge->from;
	}
	find_behind_casts(fusion);
}

static gboolean waits_for_event(const struct kernel_fusion *fusion, guint32 node)
{
	for (; node != TACHO_NONE; node = fusion->gap_of[node])
		if (fusion->has_event[node])
			return TRUE;
	return FALSE;
}

/* Work of both was launched by one thread. */
static gboolean have_one_thread(const TachoSlices *slices, guint32 a, guint32 b)
{
	return slices->launch[a] != TACHO_NONE && slices->launch[b] != TACHO_NONE &&
	       slices->track[slices->launch[a]] == slices->track[slices->launch[b]];
}

/* The outermost operation named around the call that the work before was not called in; else the call. */
static guint32 spared_slice(const struct kernel_fusion *fusion, guint32 call, guint32 call_before)
{
	const TachoTimeline *timeline = fusion->graph->timeline;
	const TachoSlices *slices = &timeline->slices;
	guint32 spared = call;

	if (strcmp(fusion->kind, "op") != 0)
		return call;
	for (guint32 op = slices->parent[call]; op != TACHO_NONE; op = slices->parent[op]) {
		if (slices->start_ns[op] <= slices->start_ns[call_before])
			break;
		if (slices->kind[op] == TACHO_SLICE_OP &&
		    g_regex_match(fusion->regex, tacho_slice_name(timeline, op), 0, NULL))
			spared = op;
	}
	return spared;
}

static void add_left(struct kernel_fusion *fusion, guint32 op, gint n)
{
	gpointer key = GUINT_TO_POINTER(op);
	gint known = GPOINTER_TO_INT(g_hash_table_lookup(fusion->n_left, key));

	g_hash_table_insert(fusion->n_left, key, GINT_TO_POINTER(known + n));
}

static void join(struct kernel_fusion *fusion, guint32 index, guint32 slice_before)
{
	TachoGraph *graph = fusion->graph;
	const TachoSlices *slices = &graph->timeline->slices;
	guint32 slice = graph_node_at(graph, index)->slice;
	struct joined joined;

	for (guint32 gap = fusion->gap_of[index]; gap != TACHO_NONE; gap = fusion->gap_of[gap])
		graph_node_at(graph, gap)->duration_ns = 0;
	if (fusion->launch_of[index] != TACHO_NONE)
		graph_node_at(graph, fusion->launch_of[index])->duration_ns = 0;
	if (graph_lane_at(graph, graph_node_at(graph, index)->lane)->set > 0)
		return; /* copies of ranks call what those of the first set call */
	joined.call = slices->launch[slice];
	joined.op = spared_slice(fusion, joined.call, slices->launch[slice_before]);
	g_array_append_val(fusion->joined, joined);
	add_left(fusion, joined.op, -1);
}

static gboolean is_on_stream(const TachoGraph *graph, const struct graph_node *node)
{
	return node->slice != TACHO_NONE && node->kind != TACHO_NODE_REMOVED &&
	       graph_lane_is_stream(graph, graph_lane_at(graph, node->lane));
}

/* Streams are walked side by side: nodes stand by when they began. */
static void join_all(struct kernel_fusion *fusion)
{
	const TachoGraph *graph = fusion->graph;
	g_autofree struct last_work *last = g_new(struct last_work, MAX(graph->lanes->len, 1u));

	for (guint32 i = 0; i < graph->lanes->len; i++)
		last[i] = (struct last_work){ TACHO_NONE, FALSE };
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		struct last_work *before = &last[node->lane], now = { node->slice, FALSE };

		if (!is_on_stream(graph, node) || node->slice == before->slice)
			continue;
		now.is_matched =
			node->kind == TACHO_NODE_DEVICE &&
			change_slice_matches(graph, fusion->kind, fusion->regex, node->slice);
		fusion->n_matched += now.is_matched && graph_lane_at(graph, node->lane)->set == 0;
		if (now.is_matched && before->is_matched &&
		    have_one_thread(&graph->timeline->slices, before->slice, now.slice) &&
		    !waits_for_event(fusion, i))
			join(fusion, i, before->slice);
		*before = now;
	}
}

/* Calls, and the operations that launch nothing but what is part of other kernels. */
static void find_spared(struct kernel_fusion *fusion)
{
	const TachoSlices *slices = &fusion->graph->timeline->slices;

	for (guint32 i = 0; i < slices->n; i++)
		for (guint32 op = slices->launch[i]; op != TACHO_NONE; op = slices->parent[op])
			if (g_hash_table_contains(fusion->n_left, GUINT_TO_POINTER(op)))
				add_left(fusion, op, 1);
	FOR_EACH(const struct joined, joined, fusion->joined) {
		gpointer op = GUINT_TO_POINTER(joined->op);

		g_hash_table_add(fusion->spared, g_hash_table_lookup(fusion->n_left, op)
							 ? GUINT_TO_POINTER(joined->call)
							 : op);
	}
}

/* What threads did in calls and operations that are no longer made. */
static void spare_calls(struct kernel_fusion *fusion)
{
	const TachoGraph *graph = fusion->graph;

	FOR_EACH(struct graph_node, node, graph->nodes) {
		if (node->kind != TACHO_NODE_OP && node->kind != TACHO_NODE_HOST)
			continue;
		for (guint32 slice = node->slice; slice != TACHO_NONE;
		     slice = graph->timeline->slices.parent[slice])
			if (g_hash_table_contains(fusion->spared, GUINT_TO_POINTER(slice)))
				node->duration_ns = 0;
	}
}

static void fuse(struct kernel_fusion *fusion)
{
	fusion->n_left = g_hash_table_new(NULL, NULL);
	fusion->spared = g_hash_table_new(NULL, NULL);
	find_edges(fusion);
	join_all(fusion);
	find_spared(fusion);
	spare_calls(fusion);
	g_hash_table_unref(fusion->n_left);
	g_hash_table_unref(fusion->spared);
	g_free(fusion->gap_of);
	g_free(fusion->launch_of);
	g_free(fusion->has_event);
}

gboolean parse_fuse(struct change *change, const gchar *text, GError **error)
{
	return change_parse_target(change, text, error);
}

gboolean apply_fuse(TachoGraph *graph, const struct change *change, GError **error)
{
	struct kernel_fusion fusion = { .graph = graph,
					.kind = change->kind,
					.regex = change->regex };
	g_autoptr(GArray) joined = g_array_new(FALSE, FALSE, sizeof(struct joined));

	if (!graph_has_devices(graph))
		return change_refuse(error, change, "no kernels of a device were recorded");
	fusion.joined = joined;
	fuse(&fusion);
	if (joined->len == 0)
		return change_refuse(error, change,
				     "no two such kernels follow each other on a stream");
	graph_note(graph,
		   "%u kernels of %u are fused with the one before them; their durations stay as "
		   "recorded",
		   joined->len, fusion.n_matched);
	return TRUE;
}
