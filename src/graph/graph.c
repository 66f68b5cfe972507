/* graph: the tables behind TachoGraph: made, copied, added to, taken from, and its nodes numbered. What a
 * table means is in graph_internal.h; graph_freeze.c makes of them what a replay walks. */
#include "graph/graph_internal.h"

#include <math.h>
#include <string.h>

#include "analyze/kernel_demands.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "graph/rank_copies.h"

/* What a transfer takes, at most: a third of a year.
 * Source: derived from G_MAXINT64, which is 9.2e18: hundreds of them are still a time. */
#define MAX_TRANSFER_NS 1e16
/* The change of a part of a transfer that counts as one. Source: derived from times in whole nanoseconds, to which all else is rounded. */
#define LEAST_CHANGE_NS 0.5

G_DEFINE_QUARK(tacho - graph - error - quark, tacho_graph_error)

static const struct {
	const gchar *name, *category;
} node_kinds[] = {
#define NODE_KIND_ROW(enumerator, name, category) { #name, category },
	TACHO_NODE_KINDS(NODE_KIND_ROW)
#undef NODE_KIND_ROW
};

static const gchar *const edge_kinds[] = {
#define EDGE_KIND_ROW(enumerator, name) #name,
	TACHO_EDGE_KINDS(EDGE_KIND_ROW)
#undef EDGE_KIND_ROW
};

const gchar *tacho_node_kind_name(TachoNodeKind kind)
{
	return node_kinds[kind].name;
}

const gchar *tacho_node_kind_category(TachoNodeKind kind)
{
	return node_kinds[kind].category;
}

const gchar *tacho_edge_kind_name(TachoEdgeKind kind)
{
	return edge_kinds[kind];
}

/* The tables of a graph: their members, their rows, and whether rows are zero where none was written. */
#define GRAPH_TABLES(TABLE)                                                                        \
	TABLE(steps, guint32, TRUE)                                                                \
	TABLE(sets, guint32, FALSE)                                                                \
	TABLE(lags, gint64, FALSE)                                                                 \
	TABLE(nodes, struct graph_node, FALSE)                                                     \
	TABLE(edges, struct graph_edge, FALSE)                                                     \
	TABLE(lanes, struct graph_lane, FALSE)                                                     \
	TABLE(links, struct graph_link, FALSE)                                                     \
	TABLE(group_links, guint32, FALSE)                                                         \
	TABLE(pools, struct graph_pool, FALSE)                                                     \
	TABLE(groups, struct graph_group, FALSE)                                                   \
	TABLE(transfers, struct graph_transfer, FALSE)                                             \
	TABLE(gradients, struct graph_gradient, FALSE)                                             \
	TABLE(passes, struct graph_pass, FALSE)                                                    \
	TABLE(calls, struct graph_call, FALSE)                                                     \
	TABLE(blocks, struct graph_block, FALSE)                                                   \
	TABLE(guests, struct graph_guest, FALSE)                                                   \
	TABLE(guest_steps, gint64, FALSE)                                                          \
	TABLE(guest_lags, gint64, FALSE)

struct graph_told *graph_told_new(const TachoTimeline *timeline)
{
	struct graph_told *told = g_atomic_rc_box_new0(struct graph_told);

	told->n_slices = g_new0(guint64, timeline->ranks->len + 1u);
	told->peak_bytes = -1;
	told->blocks = g_array_new(FALSE, FALSE, sizeof(struct told_block));
	return told;
}

static void clear_told(gpointer told_pointer)
{
	struct graph_told *told = told_pointer;

	g_free(told->n_slices);
	g_array_unref(told->blocks);
}

TachoGraph *graph_new(TachoTimeline *timeline)
{
	TachoGraph *graph = g_new0(TachoGraph, 1);

	graph->timeline = timeline;
	graph->notes = g_ptr_array_new_with_free_func(g_free);
#define NEW_TABLE(member, type, is_cleared)                                                        \
	graph->member = g_array_new(FALSE, is_cleared, sizeof(type));
	GRAPH_TABLES(NEW_TABLE)
#undef NEW_TABLE
	return graph;
}

void tacho_graph_free(TachoGraph *graph)
{
	if (!graph)
		return;
	graph_thaw(graph);
#define FREE_TABLE(member, type, is_cleared) g_array_unref(graph->member);
	GRAPH_TABLES(FREE_TABLE)
#undef FREE_TABLE
	g_ptr_array_unref(graph->notes);
	if (graph->told)
		g_atomic_rc_box_release_full(graph->told, clear_told);
	if (graph->companion)
		graph->companion->class->free(graph->companion);
	g_free(graph);
}

static gpointer copy_string(gconstpointer string, gpointer data)
{
	(void)data;
	return g_strdup(string);
}

/* For a copy made member by member, whose frozen arrays still belong to the original. */
static void forget_frozen(TachoGraph *graph)
{
	graph->n_frozen = 0;
	graph->duration_ns = NULL;
	graph->pred_first = graph->pred = graph->succ_first = graph->succ = NULL;
	graph->order = graph->pool_first = graph->pool_node = NULL;
}

TachoGraph *graph_copy(const TachoGraph *graph)
{
	TachoGraph *copy = g_memdup2(graph, sizeof(*graph));

	forget_frozen(copy);
#define COPY_TABLE(member, type, is_cleared) copy->member = g_array_copy(graph->member);
	GRAPH_TABLES(COPY_TABLE)
#undef COPY_TABLE
	copy->notes = g_ptr_array_copy(graph->notes, copy_string, NULL);
	g_ptr_array_set_free_func(copy->notes, g_free);
	if (graph->told)
		g_atomic_rc_box_acquire(graph->told);
	if (graph->companion)
		copy->companion = graph->companion->class->copy(graph->companion);
	return copy;
}

guint32 graph_step_index(const TachoGraph *graph, guint32 number)
{
	guint n = ROWS_BEFORE(graph->steps, guint32, row, *row < number);

	if (n == graph->steps->len || g_array_index(graph->steps, guint32, n) != number)
		return TACHO_NONE;
	return n;
}

guint32 tacho_graph_n_nodes(const TachoGraph *graph)
{
	return graph->nodes->len;
}

guint32 tacho_graph_n_edges(const TachoGraph *graph)
{
	return graph->edges->len;
}

guint tacho_graph_n_notes(const TachoGraph *graph)
{
	return graph->notes->len;
}

const gchar *tacho_graph_borrow_note(const TachoGraph *graph, guint index)
{
	return index < graph->notes->len ? g_ptr_array_index(graph->notes, index) : NULL;
}

void graph_note(TachoGraph *graph, const gchar *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(graph->notes, g_strdup_vprintf(format, args));
	va_end(args);
}

guint32 graph_add_node(TachoGraph *graph, struct graph_node node)
{
	g_array_append_val(graph->nodes, node);
	return graph->nodes->len - 1;
}

void graph_add_edge(TachoGraph *graph, guint32 from, guint32 to, TachoEdgeKind kind)
{
	struct graph_edge edge = { from, to, kind };

	g_array_append_val(graph->edges, edge);
}

static guint32 take_link(TachoGraph *graph, guint32 host, const gchar *direction)
{
	struct graph_link link = { .host = host, .direction = direction };

	FOR_EACH_AT(const struct graph_link, known, i, graph->links)
		if (known->host == host && strcmp(known->direction, direction) == 0)
			return i;
	g_array_append_val(graph->links, link);
	return graph->links->len - 1;
}

void graph_add_group_link(TachoGraph *graph, guint32 index, guint32 host, const gchar *direction)
{
	struct graph_group *group = graph_group_at(graph, index);
	guint32 link = take_link(graph, host, direction);

	if (group->n_links == 0)
		group->first_link = graph->group_links->len;
	for (guint32 i = 0; i < group->n_links; i++)
		if (g_array_index(graph->group_links, guint32, group->first_link + i) == link)
			return;
	g_array_append_val(graph->group_links, link);
	group->n_links++;
}

guint32 graph_n_ranks(const TachoGraph *graph)
{
	guint32 n_ranks = graph_n_own_ranks(graph);

	for (guint i = 0; i < graph->guests->len; i++)
		n_ranks += g_array_index(graph->guests, struct graph_guest, i).n_ranks;
	return n_ranks;
}

const struct graph_guest *graph_guest_of(const TachoGraph *graph, guint32 rank_index)
{
	FOR_EACH(const struct graph_guest, guest, graph->guests)
		if (rank_index >= guest->first_rank &&
		    rank_index - guest->first_rank < guest->n_ranks)
			return guest;
	return NULL;
}

gboolean graph_is_guest_node(const TachoGraph *graph, const struct graph_node *node)
{
	guint32 rank_index = graph_lane_at(graph, node->lane)->rank_index;

	if (node->transfer != TACHO_NONE)
		return graph_group_at(graph, graph_transfer_at(graph, node->transfer)->group)->job >
		       0;
	return graph->guests->len > 0 && rank_index != TACHO_NONE &&
	       rank_index >= graph_n_own_ranks(graph);
}

gboolean graph_has_devices(const TachoGraph *graph)
{
	FOR_EACH(const struct graph_node, node, graph->nodes)
		if (node->kind == TACHO_NODE_DEVICE && !graph_is_guest_node(graph, node))
			return TRUE;
	return FALSE;
}

gdouble graph_taken_share(const TachoGraph *graph, guint32 rank_index)
{
	const struct graph_guest *guest = graph_guest_of(graph, rank_index);

	return MIN(guest ? guest->taken_share : graph->taken_share, GRAPH_MAX_TAKEN);
}

gdouble graph_device_taken(const TachoGraph *graph, guint32 rank_index)
{
	const struct graph_guest *guest = graph_guest_of(graph, rank_index);

	return guest ? guest->device_taken_share : graph->device_taken_share;
}

gdouble graph_class_taken(const TachoGraph *graph, enum kernel_class class)
{
	return CLAMP(graph->device_taken_share + graph->class_more_taken[class], 0.0,
		     GRAPH_MAX_TAKEN);
}

gboolean graph_has_class_shares(const TachoGraph *graph)
{
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		if (graph->class_more_taken[class] != 0)
			return TRUE;
	return FALSE;
}

enum kernel_class graph_kernel_class(const TachoGraph *graph, const struct graph_node *node)
{
	if (node->slice == TACHO_NONE || graph_is_guest_node(graph, node))
		return KERNEL_OTHER;
	return kernel_class_of(graph->timeline, node->slice);
}

gdouble graph_kernel_taken(const TachoGraph *graph, const struct graph_node *node)
{
	if (graph_is_guest_node(graph, node) || !graph_has_class_shares(graph))
		return graph_device_taken(graph, graph_lane_at(graph, node->lane)->rank_index);
	return graph_class_taken(graph, graph_kernel_class(graph, node));
}

gboolean graph_takes_from_device(const TachoGraph *graph, guint32 rank_index)
{
	if (graph_guest_of(graph, rank_index))
		return graph_device_taken(graph, rank_index) > 0;
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		if (graph_class_taken(graph, class) > 0)
			return TRUE;
	return FALSE;
}

gboolean graph_is_lone_part(const TachoGraph *graph, const struct graph_node *node)
{
	return node->kind == TACHO_NODE_PART &&
	       (graph_is_guest_node(graph, node) ||
		graph_lane_is_stream(graph, graph_lane_at(graph, node->lane)));
}

gboolean graph_has_cores(const TachoGraph *graph)
{
	if (graph->n_cores > 0 || graph->taken_share > 0 || graph_has_core_waits(graph))
		return TRUE;
	for (guint i = 0; i < graph->guests->len; i++)
		if (g_array_index(graph->guests, struct graph_guest, i).taken_share > 0)
			return TRUE;
	return FALSE;
}

gint32 graph_node_rank(const TachoGraph *graph, guint32 node)
{
	guint32 rank_index = graph_lane_at(graph, graph_node_at(graph, node)->lane)->rank_index;

	return rank_index < graph_n_own_ranks(graph) ? rank_copies_number(graph, rank_index) : -1;
}

void graph_set_transfer(TachoGraph *graph, guint32 index, gdouble fixed_ns, gdouble work_ns)
{
	struct graph_transfer *transfer = graph_transfer_at(graph, index);

	transfer->fixed_ns = CLAMP(fixed_ns, 0.0, MAX_TRANSFER_NS);
	transfer->work_ns = CLAMP(work_ns, 0.0, MAX_TRANSFER_NS);
	graph_node_at(graph, transfer->node)->duration_ns =
		llround(transfer->fixed_ns + transfer->work_ns);
}

/* A part that is the same but for rounding comes from where it came. */
static guint8 origin_of_part(guint8 before, gdouble before_ns, gdouble after_ns,
			     enum node_origin origin)
{
	return ABS(after_ns - before_ns) < LEAST_CHANGE_NS ? before : MAX(before, (guint8)origin);
}

void graph_change_transfer(TachoGraph *graph, guint32 index, gdouble fixed_ns, gdouble work_ns,
			   enum node_origin origin)
{
	struct graph_transfer *transfer = graph_transfer_at(graph, index);
	gdouble fixed_before_ns = transfer->fixed_ns, work_before_ns = transfer->work_ns;

	graph_set_transfer(graph, index, fixed_ns, work_ns);
	transfer->fixed_origin =
		origin_of_part(transfer->fixed_origin, fixed_before_ns, transfer->fixed_ns, origin);
	transfer->work_origin =
		origin_of_part(transfer->work_origin, work_before_ns, transfer->work_ns, origin);
}

void graph_remove_nodes(TachoGraph *graph, const guint8 *is_removed)
{
	guint n_kept = 0;

	for (guint i = 0; i < graph->edges->len; i++) {
		struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);

		if (!is_removed[edge.from] && !is_removed[edge.to])
			g_array_index(graph->edges, struct graph_edge, n_kept++) = edge;
	}
	g_array_set_size(graph->edges, n_kept);
	FOR_EACH_AT(struct graph_node, node, i, graph->nodes) {
		if (!is_removed[i])
			continue;
		node->kind = TACHO_NODE_REMOVED;
		node->duration_ns = 0;
		node->pool = TACHO_NONE;
	}
}

/* --- numbering ------------------------------------------------------------------------------ */

/* The order of nodes that begin at one moment: a rank comes to a collective, the transfer begins, a rank has the result, and
 * only then work goes on. */
static guint order_of_kind(TachoNodeKind kind)
{
	return MIN((guint)kind, (guint)TACHO_NODE_OP);
}

static gint compare_nodes(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoGraph *graph = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	const struct graph_node *node_x = graph_node_at(graph, x);
	const struct graph_node *node_y = graph_node_at(graph, y);
	guint kind_x = order_of_kind(node_x->kind), kind_y = order_of_kind(node_y->kind);

	return ORDER(node_x->begin_ns, node_y->begin_ns) ?: ORDER(kind_x, kind_y) ?: ORDER(x, y);
}

static void renumber_references(TachoGraph *graph, const guint32 *number)
{
	FOR_EACH(struct graph_edge, edge, graph->edges) {
		edge->from = number[edge->from];
		edge->to = number[edge->to];
	}
	for (guint i = 0; i < graph->transfers->len; i++)
		graph_transfer_at(graph, i)->node = number[graph_transfer_at(graph, i)->node];
	FOR_EACH(struct graph_gradient, gradient, graph->gradients) {
		gradient->ready_node = number[gradient->ready_node];
		if (gradient->copy_node != TACHO_NONE)
			gradient->copy_node = number[gradient->copy_node];
	}
	FOR_EACH(struct graph_pass, pass, graph->passes)
		pass->finish_node = number[pass->finish_node];
	FOR_EACH(struct graph_call, call, graph->calls)
		call->node = number[call->node];
	FOR_EACH(struct graph_block, block, graph->blocks) {
		if (block->begin.node != TACHO_NONE)
			block->begin.node = number[block->begin.node];
		if (block->end.node != TACHO_NONE)
			block->end.node = number[block->end.node];
	}
}

void graph_renumber(TachoGraph *graph)
{
	guint32 n = graph->nodes->len;
	g_autofree guint32 *order = g_new(guint32, n);
	g_autofree guint32 *number = g_new(guint32, n);
	g_autoptr(GArray) nodes = graph->nodes;

	for (guint32 i = 0; i < n; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)n, sizeof(*order), compare_nodes, graph);
	graph->nodes = g_array_sized_new(FALSE, FALSE, sizeof(struct graph_node), n);
	for (guint32 i = 0; i < n; i++) {
		number[order[i]] = i;
		g_array_append_val(graph->nodes, g_array_index(nodes, struct graph_node, order[i]));
	}
	renumber_references(graph, number);
}
