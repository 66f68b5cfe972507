/* message_hops: collectives of hosts by who sends to whom, each of which ends when its last byte has come.
 *
 *     QUEUE of the sender -------------------.
 *     QUEUE of the receiver --> "ready" ------`--> "flight" --> "hop" --> "hop", in the socket --> COMPLETE of the receiver
 *                                                                `--> COMPLETE of the sender
 *
 * Each way (message_ways.h) is a hop on the links between the two hosts, or one for each part that a ring passes on.
 *
 * (1) What a sender may send, the receiver has asked for (gloo/transport/tcp: unbound buffers). So a way begins when the
 *     sender has come, and the receiver's word is there, which takes the latency. The first byte takes it, too ("flight").
 * (2) A send is over for its rank when the kernel has the bytes. Where that was sooner than they came, the hop is two: up to
 *     what had come by then, which the sender waits for, and the rest, which was in sockets.
 * (3) Who passes on what it receives (broadcast: all of it; the rounds of a ring: that of the round before) sends it after
 *     that has come. gloo passes a ring on in halves, and asks for a half of a round when that of the round before has come
 *     (gloo/allgather.cc): while one half is asked for and on its way, the other comes. A reduce goes round in the same way, and
 *     then to the root, who asks for that when the ring is over for it (gloo/reduce.cc). A barrier's rounds are words alone, each
 *     asked for and sent when that of the round before has come (gloo/barrier.cc).
 * (4) A connection is a queue: what one rank sends to another in a process group comes in the order in which it was sent, so
 *     the bytes of a way begin to come when those before it are over, unless the recording shows that they were mixed. Its
 *     first byte was on its way meanwhile: behind other bytes it comes at once, whatever the latency.
 *
 * As with the hops of an importer (graph_hops.c), a collective's own transfer stays as a node of no time, and comes back
 * where a change needs it (graph_fold_hops). */
#include "base/for_each.h"
#include "graph/graph_hops.h"
#include "graph/message_ways.h"

/* A share of a way's bytes: less is none, and nearly all is all.
 * Source: a rule: as near as ways are known (MIN_ALL of message_ways.c). If wrong, a sender waits for bytes that were in its
 * sockets, or does not wait for its last. */
#define MIN_PART 0.02
#define NO_TIME	 G_MININT64

struct message_hops {
	struct graph_builder *builder;
	struct way_finder finder;
	GHashTable *links; /* from << 32 | to, indexes of ranks -> index of a group + 1 */
	GArray *queued;	   /* struct queued */
	guint n_unfolded;
};

/* A way of a connection, of which a process group has one from each rank to each other one. */
struct queued {
	guint32 of_group, group; /* of the collective, and of the way's hops */
	guint32 first_node, last_node;
	gint64 first_end_ns, end_ns;
};

/* --- nodes ------------------------------------------------------------------------------------ */

/* A hop is what one rank sends to another one. */
static guint32 add_hop(struct message_hops *hops, const struct way *way, const gchar *name,
		       guint64 bytes, gint64 begin_ns, gint64 end_ns)
{
	struct graph_builder *builder = hops->builder;
	guint32 from = build_member_at(builder, way->from)->rank_index;
	guint32 to = build_member_at(builder, way->to)->rank_index;
	struct graph_group like = { .sender = from + 1, .receiver = to + 1 };
	guint32 group = hop_group(builder->graph, hops->links, (gint64)((guint64)from << 32 | to),
				  like, build_host_of(builder, from), build_host_of(builder, to));

	return hop_node(builder, hops->finder.transfer, group, name, bytes, begin_ns, end_ns);
}

static guint32 add_bytes_hop(struct message_hops *hops, const struct way *way, guint64 bytes,
			     gint64 begin_ns, gint64 end_ns)
{
	TachoGraph *graph = hops->builder->graph;
	guint32 node = add_hop(hops, way, "hop", bytes, begin_ns, end_ns);

	graph_transfer_at(graph, graph_node_at(graph, node)->transfer)->is_pipelined = TRUE;
	return node;
}

static void add_edges_from(TachoGraph *graph, const GArray *nodes, guint32 to)
{
	for (guint i = 0; i < nodes->len; i++)
		graph_add_edge(graph, g_array_index(nodes, guint32, i), to, TACHO_EDGE_TRANSFER);
}

/* The member's part cannot end before the node does. */
static void end_with(struct message_hops *hops, guint32 member, guint32 node, gint64 end_ns,
		     gint64 *last_ns)
{
	graph_add_edge(hops->builder->graph, node,
		       build_member_at(hops->builder, member)->complete_node, TACHO_EDGE_TRANSFER);
	last_ns[member - hops->finder.first_member] =
		MAX(last_ns[member - hops->finder.first_member], end_ns);
}

/* What takes the latency and no bytes, begun by `after`, a node that is over at begin_ns; it is over by limit_ns, as the recording
 * shows. Returns when, and the node's number into *ret_node. */
static gint64 add_latency(struct message_hops *hops, const struct way *way, const gchar *name,
			  const GArray *after, gint64 begin_ns, gint64 limit_ns, guint32 *ret_node)
{
	TachoGraph *graph = hops->builder->graph;
	gint64 end_ns = MIN(begin_ns + hops->builder->latency_ns, MAX(limit_ns, begin_ns));

	*ret_node = add_hop(hops, way, name, 0, begin_ns, end_ns);
	graph_transfer_at(graph, graph_node_at(graph, *ret_node)->transfer)->fixed_origin =
		ORIGIN_MODELLED;
	add_edges_from(graph, after, *ret_node);
	return end_ns;
}

/* What members must have received before a part of a way, as `member`'s own end of it: (3). Adds nodes; returns when they were
 * over. */
static gint64 follow_rounds(struct message_hops *hops, guint32 member, guint half, GArray *nodes)
{
	gint64 over_ns = NO_TIME;

	FOR_EACH(const struct way, feeder, hops->finder.ways) {
		if (feeder->to != member || feeder->half_node[half] == TACHO_NONE)
			continue;
		g_array_append_val(nodes, feeder->half_node[half]);
		over_ns = MAX(over_ns, feeder->half_end_ns[half]);
	}
	return over_ns;
}

/* (1): when the receiver's word for the part is there, which is added to `nodes`. */
static gint64 add_ready(struct message_hops *hops, const struct way *way, guint part,
			gint64 limit_ns, GArray *nodes)
{
	const struct build_member *receiver = build_member_at(hops->builder, way->to);
	g_autoptr(GArray) after = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint half = part % hops->finder.n_fed;
	gint64 begin_ns = receiver->begin_ns, over_ns, end_ns;
	guint32 ready;

	if (part > way->first_part) {
		begin_ns = way->half_end_ns[half];
		g_array_append_val(after, way->half_node[half]);
	} else {
		g_array_append_val(after, receiver->queue_node);
		over_ns = follow_rounds(hops, way->to, half, after);
		begin_ns = MAX(begin_ns, over_ns);
	}
	end_ns = add_latency(hops, way, "ready", after, begin_ns, limit_ns, &ready);
	g_array_append_val(nodes, ready);
	return end_ns;
}

/* What the sender must have received before, added to `nodes`: (3). Returns when it had. */
static gint64 follow_received(struct message_hops *hops, enum way_shape shape,
			      const struct way *way, guint part, GArray *nodes)
{
	gint64 over_ns = NO_TIME;

	if (shape != SHAPE_TREE)
		return shape == SHAPE_PAIRS
			       ? NO_TIME
			       : follow_rounds(hops, way->from, part % hops->finder.n_fed, nodes);
	FOR_EACH(const struct way, feeder, hops->finder.ways) {
		if (feeder->to != way->from || feeder->node == TACHO_NONE)
			continue;
		g_array_append_val(nodes, feeder->node);
		over_ns = MAX(over_ns, feeder->node_end_ns);
	}
	return over_ns;
}

/* (2): until when the sender's part waits for its last part, which could go at begin_ns, after `nodes`. */
static void end_way(struct message_hops *hops, const struct way *way, gdouble share, guint32 first,
		    gint64 sent_ns, const GArray *nodes, gint64 begin_ns, gint64 *last_ns)
{
	end_with(hops, way->to, way->node, way->node_end_ns, last_ns);
	if (share >= MIN_PART)
		end_with(hops, way->from, first, sent_ns, last_ns);
	else if (way->sent_ns >= begin_ns) /* the kernel took all as soon as it could go */
		for (guint i = 0; i < nodes->len; i++)
			end_with(hops, way->from, g_array_index(nodes, guint32, i), begin_ns,
				 last_ns);
}

/* What of the last of the way's parts had come when the kernel of the sender had all; 1, where that is not known. */
static gdouble share_sent(const struct way *way, gint64 begin_ns)
{
	if (way->sent_ns == NO_TIME)
		return 1;
	return CLAMP(way_share_come(way, begin_ns, way->sent_ns) * way->n_parts -
			     (way->n_parts - 1),
		     0.0, 1.0);
}

/* The bytes of a part, which can go at go_ns, after `nodes`, and whose first one has come at begin_ns, after `first_byte` (TACHO_NONE:
 * it follows others). */
static void add_bytes(struct message_hops *hops, struct way *way, gint64 go_ns, const GArray *nodes,
		      gint64 begin_ns, guint32 first_byte, gint64 end_ns, gboolean is_last,
		      gint64 *last_ns)
{
	TachoGraph *graph = hops->builder->graph;
	guint64 bytes = way->bytes / way->n_parts;
	gdouble share = is_last ? share_sent(way, begin_ns) : 1;
	gboolean is_split = share >= MIN_PART && share <= 1 - MIN_PART;
	gint64 sent_ns = is_split ? CLAMP(way->sent_ns, begin_ns, MAX(end_ns, begin_ns)) : end_ns;
	guint64 first_bytes = is_split ? (guint64)(share * (gdouble)bytes) : bytes;
	guint32 first = add_bytes_hop(hops, way, first_bytes, begin_ns, sent_ns);

	if (first_byte != TACHO_NONE)
		graph_add_edge(graph, first_byte, first, TACHO_EDGE_TRANSFER);
	if (way->node != TACHO_NONE)
		graph_add_edge(graph, way->node, first, TACHO_EDGE_ORDER);
	if (way->first_node == TACHO_NONE)
		way->first_node = first;
	way->node = first;
	way->node_end_ns = MAX(end_ns, begin_ns);
	if (is_split) {
		way->node = add_bytes_hop(hops, way, bytes - first_bytes, sent_ns, end_ns);
		graph_add_edge(graph, first, way->node, TACHO_EDGE_ORDER);
	}
	if (is_last)
		end_way(hops, way, share, first, MAX(sent_ns, begin_ns), nodes, go_ns, last_ns);
}

/* A barrier's word, which has come with its first byte. */
static void end_word(struct message_hops *hops, struct way *way, guint32 node, gint64 end_ns,
		     gint64 *last_ns)
{
	way->first_node = way->node = node;
	way->node_end_ns = end_ns;
	end_with(hops, way->to, node, end_ns, last_ns);
}

/* In a way's first round, the second half follows the first. */
static void add_part(struct message_hops *hops, enum way_shape shape, struct way *way, guint part,
		     gint64 *last_ns)
{
	const struct way_finder *finder = &hops->finder;
	const struct build_member *sender = build_member_at(hops->builder, way->from);
	g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint own_part = part - way->first_part;
	gint64 end_ns = way_time_of_share(way, (own_part + 1.0) / way->n_parts);
	gint64 go_ns = follow_received(hops, shape, way, part, nodes), begin_ns;
	gint64 ready_ns = NO_TIME;
	guint32 first_byte = TACHO_NONE;

	if (own_part == 0) {
		go_ns = MAX(go_ns, sender->begin_ns);
		g_array_append_val(nodes, sender->queue_node);
	}
	if (own_part == 0 || (own_part >= finder->n_fed && finder->n_fed > 1))
		ready_ns = add_ready(hops, way, part, end_ns, nodes);
	go_ns = MAX(go_ns, ready_ns);
	if (nodes->len > 0)
		begin_ns = add_latency(hops, way, "flight", nodes, go_ns, end_ns, &first_byte);
	else
		begin_ns = go_ns = way->node_end_ns;
	if (shape == SHAPE_BARRIER) {
		end_word(hops, way, first_byte, begin_ns, last_ns);
		return;
	}
	if (own_part > 0)
		begin_ns = MAX(begin_ns, way->node_end_ns);
	add_bytes(hops, way, go_ns, nodes, begin_ns, first_byte, end_ns,
		  own_part + 1 == way->n_parts, last_ns);
}

static gboolean has_part(const struct way *way, guint part)
{
	return part >= way->first_part && part < way->first_part + way->n_parts;
}

static void add_ways(struct message_hops *hops, enum way_shape shape, gint64 *last_ns)
{
	struct way_finder *finder = &hops->finder;

	FOR_EACH(struct way, way, finder->ways)
		way->first_node = way->node = way->half_node[0] = way->half_node[1] = TACHO_NONE;
	for (guint part = 0; part < finder->n_parts; part++) {
		FOR_EACH(struct way, way, finder->ways)
			if (has_part(way, part))
				add_part(hops, shape, way, part, last_ns);
		FOR_EACH(struct way, way, finder->ways) {
			if (!has_part(way, part))
				continue;
			way->half_node[part % finder->n_fed] = way->node;
			way->half_end_ns[part % finder->n_fed] = way->node_end_ns;
		}
	}
}

/* --- connections ------------------------------------------------------------------------------ */

static gint64 node_end_ns(const TachoGraph *graph, guint32 node)
{
	return graph_transfer_at(graph, graph_node_at(graph, node)->transfer)->end_ns;
}

/* The ways of the collective that was just unfolded. */
static void keep_queued(struct message_hops *hops)
{
	const TachoGraph *graph = hops->builder->graph;

	for (guint i = 0; i < hops->finder.ways->len; i++) {
		const struct way *way = &g_array_index(hops->finder.ways, struct way, i);
		guint32 hop = graph_node_at(graph, way->first_node)->transfer;
		struct queued queued = {
			.of_group = graph_transfer_at(graph, hops->finder.transfer)->group,
			.group = graph_transfer_at(graph, hop)->group,
			.first_node = way->first_node,
			.last_node = way->node,
			.first_end_ns = node_end_ns(graph, way->first_node),
			.end_ns = way->node_end_ns,
		};

		g_array_append_val(hops->queued, queued);
	}
}

static gint compare_queued(gconstpointer a, gconstpointer b)
{
	const struct queued *x = a, *y = b;

	if (x->of_group != y->of_group)
		return x->of_group < y->of_group ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return (x->first_node > y->first_node) - (x->first_node < y->first_node);
}

/* (4) */
static void queue_ways(struct message_hops *hops)
{
	TachoGraph *graph = hops->builder->graph;

	g_array_sort(hops->queued, compare_queued);
	for (guint i = 1; i < hops->queued->len; i++) {
		const struct queued *before = &g_array_index(hops->queued, struct queued, i - 1);
		const struct queued *way = &g_array_index(hops->queued, struct queued, i);
		const struct graph_transfer *hop;

		if (before->of_group != way->of_group || before->group != way->group ||
		    before->end_ns > way->first_end_ns)
			continue;
		graph_add_edge(graph, before->last_node, way->first_node, TACHO_EDGE_ORDER);
		hop = graph_transfer_at(graph, graph_node_at(graph, way->first_node)->transfer);
		hop_last(graph, way->first_node, MAX(hop->begin_ns, before->end_ns), hop->end_ns);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static void unfold(struct message_hops *hops)
{
	struct graph_builder *builder = hops->builder;
	guint32 first = hops->finder.first_member, n_members = hops->finder.end_member - first;
	enum way_shape shape = way_finder_find(&hops->finder);
	g_autofree gint64 *last_ns = g_new(gint64, MAX(n_members, 1u));
	struct graph_transfer *whole;

	if (shape == SHAPE_NONE)
		return;
	for (guint32 i = 0; i < n_members; i++)
		last_ns[i] = NO_TIME;
	add_ways(hops, shape, last_ns);
	keep_queued(hops);
	hops_complete(builder, first, hops->finder.end_member, last_ns);
	whole = graph_transfer_at(builder->graph, hops->finder.transfer);
	for (guint32 i = 0; i < n_members; i++)
		whole->end_ns = MAX(whole->end_ns, last_ns[i]);
	whole->is_unfolded = whole->is_removed = TRUE;
	graph_set_transfer(builder->graph, hops->finder.transfer, 0, 0);
	hops->n_unfolded++;
}

/* What the hops of a collective, transfers [first, end), take on the busiest of its links. */
static gdouble busiest_ns(const TachoGraph *graph, guint32 first, guint32 end, gdouble *load_ns)
{
	gdouble busiest = 0;

	for (guint32 i = first; i < end; i++) {
		const struct graph_transfer *hop = graph_transfer_at(graph, i);
		const struct graph_group *group = graph_group_at(graph, hop->group);

		for (guint32 j = 0; j < group->n_links; j++) {
			guint32 link =
				g_array_index(graph->group_links, guint32, group->first_link + j);

			load_ns[link] += hop->work_ns;
			busiest = MAX(busiest, load_ns[link]);
		}
	}
	for (guint32 i = first; i < end; i++) {
		const struct graph_group *group =
			graph_group_at(graph, graph_transfer_at(graph, i)->group);

		for (guint32 j = 0; j < group->n_links; j++)
			load_ns[g_array_index(graph->group_links, guint32, group->first_link + j)] =
				0;
	}
	return busiest;
}

/* What each collective took as a whole: the bytes on its busiest link, and the rest of its time. Hops of one are together. */
static void keep_wholes(TachoGraph *graph, guint32 first_hop)
{
	g_autofree gdouble *load_ns = g_new0(gdouble, MAX(graph->links->len, 1u));

	for (guint32 first = first_hop, end; first < graph->transfers->len; first = end) {
		struct graph_transfer *whole =
			graph_transfer_at(graph, graph_transfer_at(graph, first)->whole);

		for (end = first + 1;
		     end < graph->transfers->len && graph_transfer_at(graph, end)->whole ==
							    graph_transfer_at(graph, first)->whole;)
			end++;
		whole->whole_work_ns = busiest_ns(graph, first, end, load_ns);
		whole->whole_fixed_ns =
			MAX((gdouble)(whole->end_ns - whole->begin_ns) - whole->whole_work_ns, 0.0);
	}
}

/* As slow as the slower of its two ranks' wires. */
static void set_wires(const struct graph_builder *builder, guint32 first_group)
{
	for (guint32 i = first_group; i < builder->graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(builder->graph, i);

		group->wire_ns_per_byte = MAX(builder->wire_ns_per_byte[group->sender - 1],
					      builder->wire_ns_per_byte[group->receiver - 1]);
	}
}

/* Weights tell hops of one job from each other: in the mean over their bytes they are even, so that another job beside it has its
 * part. */
static void level_weights(TachoGraph *graph, guint32 first_hop)
{
	gdouble weights = 0, work_ns = 0;

	for (guint32 i = first_hop; i < graph->transfers->len; i++) {
		const struct graph_transfer *hop = graph_transfer_at(graph, i);

		weights += graph_transfer_weight(hop) * hop->work_ns;
		work_ns += hop->work_ns;
	}
	for (guint32 i = first_hop; i < graph->transfers->len && work_ns > 0; i++) {
		struct graph_transfer *hop = graph_transfer_at(graph, i);
		gdouble weight =
			graph_transfer_weight(hop) * GRAPH_WEIGHT_ONE * (work_ns / weights);

		hop->weight = (guint32)MAX(weight, 1.0);
	}
}

/* The latency of a hop's wait is what small messages take; the rest was something else, which no latency changes. */
static void set_latencies(const struct graph_builder *builder, guint32 first_group)
{
	for (guint32 i = first_group; i < builder->graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(builder->graph, i);

		group->hop_ns = (gdouble)builder->latency_ns;
		group->cost.fixed_ns = 0;
	}
}

static void unfold_all(struct message_hops *hops)
{
	struct graph_builder *builder = hops->builder;
	struct way_finder *finder = &hops->finder;

	for (guint32 from = 0, to; from < builder->members->len; from = to) {
		finder->transfer = build_member_at(builder, from)->transfer;
		for (to = from + 1; to < builder->members->len &&
				    build_member_at(builder, to)->transfer == finder->transfer;)
			to++;
		finder->first_member = from;
		finder->end_member = to;
		unfold(hops);
	}
}

void builder_unfold_messages(struct graph_builder *builder)
{
	TachoGraph *graph = builder->graph;
	guint32 n_wholes = graph->transfers->len, n_groups = graph->groups->len;
	g_autoptr(GHashTable) links =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GArray) queued = g_array_new(FALSE, FALSE, sizeof(struct queued));
	struct message_hops hops = { .builder = builder, .links = links, .queued = queued };

	way_finder_init(&hops.finder, builder);
	unfold_all(&hops);
	way_finder_release(&hops.finder);
	if (hops.n_unfolded == 0)
		return;
	queue_ways(&hops);
	graph_cut_wholes(graph);
	set_wires(builder, n_groups);
	builder_cost_transfers(builder, n_wholes, n_groups);
	level_weights(graph, n_wholes);
	set_latencies(builder, n_groups);
	keep_wholes(graph, n_wholes);
	graph_keep_hop_sums(graph);
}
