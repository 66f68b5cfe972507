/* hop_nodes: what hops are made of, whoever tells of them. */
#include "graph/graph_hops.h"

guint32 hop_group(TachoGraph *graph, GHashTable *links, gint64 ends, struct graph_group like,
		  guint32 from, guint32 to)
{
	gpointer known = g_hash_table_lookup(links, &ends);
	guint32 index = graph->groups->len;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	like.n_ranks = 2;
	like.is_hops = TRUE;
	g_array_append_val(graph->groups, like);
	if (from == to) {
		graph_add_group_link(graph, index, from, "local");
	} else {
		if (from != TACHO_NONE)
			graph_add_group_link(graph, index, from, "out");
		if (to != TACHO_NONE)
			graph_add_group_link(graph, index, to, "in");
	}
	g_hash_table_insert(links, g_memdup2(&ends, sizeof(ends)), GUINT_TO_POINTER(index + 1));
	return index;
}

guint32 hop_node(struct graph_builder *builder, guint32 of, guint32 group, const gchar *name,
		 guint64 bytes, gint64 begin_ns, gint64 end_ns)
{
	TachoGraph *graph = builder->graph;
	struct graph_transfer whole = *graph_transfer_at(graph, of);
	struct graph_transfer hop = {
		.group = group,
		.sequence = whole.sequence,
		.name = tacho_timeline_intern(builder->timeline, name, -1),
		.step = whole.step,
		.pass = TACHO_NONE,
		.n_ranks = 2,
		.is_hop = TRUE,
		.whole = of,
		.is_device = graph_group_at(graph, group)->is_device,
		.bytes = bytes,
		.begin_ns = begin_ns,
		.end_ns = MAX(end_ns, begin_ns),
	};
	struct graph_node node = {
		.kind = TACHO_NODE_TRANSFER,
		.duration_ns = hop.end_ns - hop.begin_ns,
		.begin_ns = begin_ns - graph->origin_ns,
		.name = hop.name,
		.slice = TACHO_NONE,
		.lane = graph_node_at(graph, whole.node)->lane,
		.step = whole.step,
		.transfer = graph->transfers->len,
		.pool = TACHO_NONE,
	};

	hop.node = graph_add_node(graph, node);
	g_array_append_val(graph->transfers, hop);
	return hop.node;
}

void hop_last(TachoGraph *graph, guint32 index, gint64 begin_ns, gint64 end_ns)
{
	struct graph_node *node = graph_node_at(graph, index);
	struct graph_transfer *hop = graph_transfer_at(graph, node->transfer);

	hop->begin_ns = begin_ns;
	hop->end_ns = MAX(end_ns, begin_ns);
	node->begin_ns = begin_ns - graph->origin_ns;
	node->duration_ns = hop->end_ns - begin_ns;
}

void hops_complete(struct graph_builder *builder, guint32 first_member, guint32 end_member,
		   const gint64 *last_ns)
{
	TachoGraph *graph = builder->graph;

	for (guint32 i = first_member; i < end_member; i++) {
		const struct build_member *member = build_member_at(builder, i);
		struct graph_node *node = graph_node_at(graph, member->complete_node);
		gint64 begin_ns = MAX(last_ns[i - first_member], member->begin_ns);

		graph_add_edge(graph, member->queue_node, member->complete_node,
			       TACHO_EDGE_TRANSFER);
		node->begin_ns = begin_ns - graph->origin_ns;
		node->duration_ns = MAX(member->end_ns - begin_ns, 0);
	}
}
