/* graph_hops: collectives hop by hop, where the recording tells of hops (TachoHop).
 *
 *     QUEUE of the sender's host, and of the receiver
 *                `--> hop --ORDER--> next hop on the connection
 *                      `--TRANSFER--> hop that sends on what has come --> ... --> COMPLETE of a rank
 *
 * A hop is a transfer of its own, on the links between two hosts. It begins when the hop before it on the
 * connection has ended and what it passes on has come, and ends when it had come in the recording; so each ends in
 * the replay when it did. A collective's own transfer stays as a node of no time, and comes back with what was
 * measured of it as a whole when a change needs it (graph_fold_hops).
 *
 * (1) What a rank sends may have come to another one of its host, over ways that are not recorded. So all ranks of
 *     the sender's host must have come.
 * (2) In a tree, what is sent up needs all that has come from below, and what is sent down what has come from
 *     above; at the root, all that has come from below.
 * (3) A part that ends with no hop that is known ends with all. */
#include "graph/graph_hops.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"

/* The nodes of a graph with those of hops, at most.
 * Source: a rule: 2.4 GiB of them. If wrong, collectives beyond are played whole though there was room, or memory runs out. */
#define MAX_HOPS (64 * 1000 * 1000)

/* --- nodes ----------------------------------------------------------------------------------- */

/* The host of a rank, or TACHO_NONE of a server. */
static guint32 host_at(const struct hop_unfolding *unfolding, guint32 end)
{
	return end == TACHO_NONE ? TACHO_NONE : unfolding_host(unfolding, end);
}

void unfolding_add_node(struct hop_unfolding *unfolding, struct hop *hop, const gchar *name,
			gint64 begin_ns)
{
	struct graph_builder *builder = unfolding->builder;
	struct graph_group like = { .is_device = TRUE };
	guint32 from = host_at(unfolding, hop->from), to = host_at(unfolding, hop->to);
	guint32 group = hop_group(builder->graph, unfolding->links,
				  (gint64)((guint64)from << 32 | to), like, from, to);

	hop->node = hop_node(builder, unfolding->transfer, group, name, hop->bytes, begin_ns,
			     hop->end_ns);
}

/* --- what a hop waits for ---------------------------------------------------------------------- */

static gint64 wait_for(struct hop_unfolding *unfolding, guint32 node,
		       const struct build_member *member)
{
	graph_add_edge(unfolding->builder->graph, member->queue_node, node, TACHO_EDGE_TRANSFER);
	return member->begin_ns;
}

gint64 unfolding_wait_for_ranks(struct hop_unfolding *unfolding, const struct hop *hop)
{
	gint64 begin_ns = G_MININT64;

	for (guint32 i = unfolding->first_member; i < unfolding->end_member; i++) {
		const struct build_member *member = build_member_at(unfolding->builder, i);
		gboolean is_of_sender = hop->from != TACHO_NONE &&
					unfolding_host(unfolding, member->rank_index) ==
						unfolding_host(unfolding, hop->from); /* (1) */

		if (is_of_sender || member->rank_index == hop->to)
			begin_ns = MAX(begin_ns, wait_for(unfolding, hop->node, member));
	}
	return begin_ns;
}

/* The hop before this one on its connection, which is forgotten for this one; NULL: it is the first. */
static const struct hop *take_turn(struct hop_unfolding *unfolding, guint index)
{
	const struct hop *hop = hop_at(unfolding, index);
	g_autofree gchar *key = g_strdup_printf("%u %u %u", hop->from, hop->to, hop->channel);
	gpointer last = g_hash_table_lookup(unfolding->last_on, key);

	g_hash_table_insert(unfolding->last_on, g_steal_pointer(&key), GUINT_TO_POINTER(index + 1));
	return last ? hop_at(unfolding, GPOINTER_TO_UINT(last) - 1) : NULL;
}

static gint64 follow(struct hop_unfolding *unfolding, const struct hop *from, const struct hop *to,
		     TachoEdgeKind kind)
{
	graph_add_edge(unfolding->builder->graph, from->node, to->node, kind);
	return from->end_ns;
}

static gboolean is_alike(const struct hop *a, const struct hop *b, guint32 step)
{
	return a->loop == b->loop && a->part == b->part && a->channel == b->channel &&
	       a->step == step;
}

static gint64 follow_ring(struct hop_unfolding *unfolding, const struct hop *hop)
{
	gint64 begin_ns = G_MININT64;

	if (hop->fed_by < 0 || hop->fed_step >= hop->step)
		return begin_ns;
	for (guint i = unfolding_find_first(unfolding, hop, hop->fed_step);
	     i < unfolding->hops->len; i++) {
		const struct hop *feeder = hop_at(unfolding, i);

		if (!is_alike(feeder, hop, hop->fed_step))
			break;
		if (feeder->to == (guint32)hop->fed_by)
			begin_ns =
				MAX(begin_ns, follow(unfolding, feeder, hop, TACHO_EDGE_TRANSFER));
	}
	return begin_ns;
}

/* Whether what came by `feeder` is what `hop` passes on. In one step, the hop that came first was first: whatever
 * tree was recorded, nothing goes in a circle. */
static gboolean feeds(const struct hop_unfolding *unfolding, const struct hop *feeder,
		      const struct hop *hop)
{
	if (feeder == hop ||
	    unfolding_host(unfolding, feeder->to) != unfolding_host(unfolding, hop->from))
		return FALSE;
	if (feeder->step < hop->step)
		return TRUE;
	return feeder->end_ns != hop->end_ns ? feeder->end_ns < hop->end_ns : feeder < hop;
}

/* From those of the step. */
static gint64 follow_step(struct hop_unfolding *unfolding, const struct hop *hop, guint32 step)
{
	gint64 begin_ns = G_MININT64;

	for (guint i = unfolding_find_first(unfolding, hop, step); i < unfolding->hops->len; i++) {
		const struct hop *feeder = hop_at(unfolding, i);

		if (!is_alike(feeder, hop, step))
			break;
		if (feeds(unfolding, feeder, hop))
			begin_ns =
				MAX(begin_ns, follow(unfolding, feeder, hop, TACHO_EDGE_TRANSFER));
	}
	return begin_ns;
}

/* (2) */
static gint64 follow_tree(struct hop_unfolding *unfolding, const struct hop *hop)
{
	gint64 begin_ns = follow_step(unfolding, hop, hop->step);

	if (begin_ns == G_MININT64 && hop->step > 0)
		begin_ns = follow_step(unfolding, hop, 0);
	return begin_ns;
}

void unfolding_begin_at(struct hop_unfolding *unfolding, const struct hop *hop, gint64 begin_ns)
{
	hop_last(unfolding->builder->graph, hop->node, begin_ns, hop->end_ns);
}

/* All nodes are there: connect one, and let it begin when the last that it waited for had ended. */
static void connect_hop(struct hop_unfolding *unfolding, guint index)
{
	const struct hop *hop = hop_at(unfolding, index);
	const struct hop *before = take_turn(unfolding, index);
	gint64 begin_ns = before ? follow(unfolding, before, hop, TACHO_EDGE_ORDER)
				 : unfolding_wait_for_ranks(unfolding, hop);

	begin_ns = MAX(begin_ns, hop->way == TACHO_HOP_RING ? follow_ring(unfolding, hop)
							    : follow_tree(unfolding, hop));
	unfolding_begin_at(unfolding, hop, begin_ns);
}

/* --- what a rank's part ends with -------------------------------------------------------------- */

void unfolding_end_with(struct hop_unfolding *unfolding, struct build_member *member,
			const struct hop *hop, gint64 *last_ns)
{
	guint32 index = (guint32)(member - build_member_at(unfolding->builder, 0)) -
			unfolding->first_member;

	graph_add_edge(unfolding->builder->graph, hop->node, member->complete_node,
		       TACHO_EDGE_TRANSFER);
	last_ns[index] = MAX(last_ns[index], hop->end_ns);
}

/* By receiver, channel and step; of one of these, in order. */
static gint compare_receivers(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct hop_unfolding *unfolding = data;
	guint32 i = *(const guint32 *)a, j = *(const guint32 *)b;
	const struct hop *x = hop_at(unfolding, i), *y = hop_at(unfolding, j);

	return ORDER(x->to, y->to) ?: ORDER(x->channel, y->channel) ?: ORDER(x->step, y->step) ?:
	       ORDER(i, j);
}

static GArray *sort_by_receiver(struct hop_unfolding *unfolding)
{
	GArray *sorted = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < unfolding->hops->len; i++)
		g_array_append_val(sorted, i);
	g_array_sort_with_data(sorted, compare_receivers, unfolding);
	return sorted;
}

/* The last of the channel's hops of that step to the rank; NULL: there is none. */
static const struct hop *find_last(const struct hop_unfolding *unfolding, const GArray *by_receiver,
				   guint32 rank_index, guint32 channel, guint32 step)
{
	const struct hop *last;
	guint n = ROWS_BEFORE(by_receiver, guint32, row, ({
				      const struct hop *hop = hop_at(unfolding, *row);
				      (ORDER(hop->to, rank_index) ?: ORDER(hop->channel, channel) ?:
				       ORDER(hop->step, step)) <= 0;
			      }));

	if (n == 0)
		return NULL;
	last = hop_at(unfolding, g_array_index(by_receiver, guint32, n - 1));
	return last->to == rank_index && last->channel == channel && last->step == step ? last
											: NULL;
}

/* The rows of the importer: what a rank's part in a ring ends with. */
static void end_ring(struct hop_unfolding *unfolding, const GArray *by_receiver,
		     struct build_member *member, gint64 *last_ns)
{
	const TachoHop *row;

	for (guint i = unfolding_first_row(unfolding, member);
	     (row = unfolding_row_at(unfolding, i)); i++) {
		const struct hop *last;

		if (row->collective != member->slice)
			break;
		if (row->slice != TACHO_NONE || row->fed_by < 0)
			continue;
		last = find_last(unfolding, by_receiver,
				 unfolding_find_rank(unfolding, row->fed_by), row->channel,
				 row->fed_step);
		if (last)
			unfolding_end_with(unfolding, member, last, last_ns);
	}
}

/* The last hop of the step on each connection to the member's host. Returns whether there is any. */
static gboolean end_with_step(struct hop_unfolding *unfolding, struct build_member *member,
			      guint32 step, gint64 *last_ns)
{
	gboolean is_found = FALSE;

	FOR_EACH(const struct hop, hop, unfolding->hops) {
		if (hop->step != step || unfolding_host(unfolding, hop->to) !=
						 unfolding_host(unfolding, member->rank_index))
			continue;
		unfolding_end_with(unfolding, member, hop, last_ns);
		is_found = TRUE;
	}
	return is_found;
}

static void end_tree(struct hop_unfolding *unfolding, struct build_member *member, gint64 *last_ns)
{
	if (!end_with_step(unfolding, member, 1, last_ns))
		end_with_step(unfolding, member, 0, last_ns);
}

/* (3) */
static void end_with_all(struct hop_unfolding *unfolding, struct build_member *member,
			 gint64 *last_ns)
{
	FOR_EACH_ENTRY(entry, unfolding->last_on)
		unfolding_end_with(unfolding, member,
				   hop_at(unfolding, GPOINTER_TO_UINT(entry.value) - 1), last_ns);
}

/* --- the whole --------------------------------------------------------------------------------- */

static void unfold_ranks(struct hop_unfolding *unfolding, gint64 *last_ns)
{
	gboolean is_ring = hop_at(unfolding, 0)->way == TACHO_HOP_RING;
	g_autoptr(GArray) by_receiver = is_ring ? sort_by_receiver(unfolding) : NULL;

	for (guint i = 0; i < unfolding->hops->len; i++)
		unfolding_add_node(unfolding, hop_at(unfolding, i), "hop",
				   hop_at(unfolding, i)->end_ns);
	for (guint i = 0; i < unfolding->hops->len; i++)
		connect_hop(unfolding, i);
	for (guint32 i = unfolding->first_member; i < unfolding->end_member; i++) {
		struct build_member *member = build_member_at(unfolding->builder, i);

		if (is_ring)
			end_ring(unfolding, by_receiver, member, last_ns);
		else
			end_tree(unfolding, member, last_ns);
		if (last_ns[i - unfolding->first_member] == G_MININT64)
			end_with_all(unfolding, member, last_ns);
	}
}

/* Hops of one way, and members that all waited for the collective. */
static gboolean can_unfold(const struct hop_unfolding *unfolding)
{
	for (guint i = 0; i < unfolding->hops->len; i++)
		if (hop_at(unfolding, i)->way != hop_at(unfolding, 0)->way)
			return FALSE;
	for (guint32 i = unfolding->first_member; i < unfolding->end_member; i++)
		if (build_member_at(unfolding->builder, i)->is_eager ||
		    build_member_at(unfolding->builder, i)->work != TACHO_NONE)
			return FALSE;
	return unfolding->hops->len > 0 &&
	       unfolding->builder->graph->nodes->len + unfolding->hops->len < MAX_HOPS;
}

static void unfold(struct hop_unfolding *unfolding)
{
	TachoGraph *graph = unfolding->builder->graph;
	guint32 n_members = unfolding->end_member - unfolding->first_member;
	g_autofree gint64 *last_ns = g_new(gint64, MAX(n_members, 1u));
	struct graph_transfer *whole;

	unfolding_collect_hops(unfolding);
	if (!can_unfold(unfolding))
		return;
	for (guint32 i = 0; i < n_members; i++)
		last_ns[i] = G_MININT64;
	if (hop_at(unfolding, 0)->way == TACHO_HOP_SERVER)
		server_work_unfold(unfolding, last_ns);
	else
		unfold_ranks(unfolding, last_ns);
	hops_complete(unfolding->builder, unfolding->first_member, unfolding->end_member, last_ns);
	whole = graph_transfer_at(graph, unfolding->transfer);
	whole->is_unfolded = whole->is_removed = TRUE;
	whole->whole_fixed_ns = whole->fixed_ns;
	whole->whole_work_ns = whole->work_ns;
	graph_set_transfer(graph, unfolding->transfer, 0, 0);
}

void graph_cut_wholes(TachoGraph *graph)
{
	guint n_kept = 0;

	for (guint i = 0; i < graph->edges->len; i++) {
		struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);
		const struct graph_node *from = graph_node_at(graph, edge.from);

		if (from->kind != TACHO_NODE_TRANSFER ||
		    !graph_transfer_at(graph, from->transfer)->is_unfolded)
			g_array_index(graph->edges, struct graph_edge, n_kept++) = edge;
	}
	g_array_set_size(graph->edges, n_kept);
}

/* Sizes that a line could be fitted to, at most, on one way; 0: no bytes are known. */
static guint count_sizes(const TachoGraph *graph)
{
	guint n_sizes = 0;

	for (guint32 i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->is_hops)
			n_sizes = MAX(n_sizes, graph_group_at(graph, i)->cost.n_sizes);
	return n_sizes;
}

static void note_hops(TachoGraph *graph, guint32 n_wholes)
{
	guint32 n_unfolded = 0;

	for (guint32 i = 0; i < n_wholes; i++)
		n_unfolded += graph_transfer_at(graph, i)->is_unfolded;
	if (n_unfolded == 0)
		return;
	graph_note(graph, "%u collectives are played hop by hop, as they were recorded, in %u hops",
		   n_unfolded, graph->transfers->len - n_wholes);
	if (count_sizes(graph) == 0)
		graph_note(graph, "the trace does not have the bytes of the hops, so a change of "
				  "the bandwidth does not change them");
	else if (count_sizes(graph) == 1)
		graph_note(
			graph,
			"all hops have about the same size, so their latency counts as bandwidth");
}

void builder_unfold_collectives(struct graph_builder *builder)
{
	TachoGraph *graph = builder->graph;
	guint32 n_wholes = graph->transfers->len, n_groups = graph->groups->len;
	struct hop_unfolding unfolding;

	unfolding_init(&unfolding, builder);
	for (guint32 from = 0, to; from < builder->members->len; from = to) {
		guint32 transfer = build_member_at(builder, from)->transfer;

		for (to = from + 1; to < builder->members->len &&
				    build_member_at(builder, to)->transfer == transfer;)
			to++;
		unfolding.transfer = transfer;
		unfolding.first_member = from;
		unfolding.end_member = to;
		unfold(&unfolding);
	}
	server_work_order(unfolding.servers);
	unfolding_release(&unfolding);
	graph_cut_wholes(graph);
	builder_cost_transfers(builder, n_wholes, n_groups);
	graph_keep_hop_sums(graph);
	note_hops(graph, n_wholes);
}
