/* collective_nodes: collectives as nodes.
 *
 *     piece that queued it --QUEUE--> QUEUE --TRANSFER--> TRANSFER --TRANSFER--> COMPLETE --WAIT--> piece that waited
 *
 * with one TRANSFER, and a QUEUE and a COMPLETE for each rank. Parts that are kernels are made by device_nodes.c. */
#include "graph/graph_builder.h"

#include "base/for_each.h"

static guint32 add_member_node(struct graph_builder *builder, const struct build_member *member,
			       guint32 lane, TachoNodeKind kind, gint64 begin_ns,
			       gint64 duration_ns)
{
	struct graph_node node = {
		.kind = kind,
		.duration_ns = MAX(duration_ns, 0),
		.begin_ns = begin_ns - builder->graph->origin_ns,
		.name = builder->timeline->slices.name[member->slice],
		.slice = member->slice,
		.lane = lane,
		.step = builder_step_at(builder, member->rank_index, member->queue_ns),
		.transfer = member->transfer,
		.pool = member->pool,
	};

	return graph_add_node(builder->graph, node);
}

static void add_transfer_node(struct graph_builder *builder, guint32 index, guint32 lane)
{
	struct graph_transfer *transfer = graph_transfer_at(builder->graph, index);
	struct graph_node node = {
		.kind = TACHO_NODE_TRANSFER,
		.duration_ns = transfer->end_ns - transfer->begin_ns,
		.begin_ns = transfer->begin_ns - builder->graph->origin_ns,
		.name = transfer->name,
		.slice = TACHO_NONE,
		.lane = lane,
		.step = transfer->step,
		.transfer = index,
		.pool = TACHO_NONE,
	};

	transfer->node = graph_add_node(builder->graph, node);
}

/* A lane a rank for its part in collectives, and one for the wires; returns the first. */
static guint32 add_communication_lanes(struct graph_builder *builder)
{
	guint32 first = builder->graph->lanes->len;

	for (guint32 i = 0; i < builder->n_ranks; i++)
		builder_add_lane(builder, i, TACHO_NONE,
				 tacho_timeline_intern(builder->timeline, "communication", -1),
				 FALSE);
	builder_add_lane(builder, TACHO_NONE, TACHO_NONE,
			 tacho_timeline_intern(builder->timeline, "wires", -1), FALSE);
	return first;
}

static void connect_member(struct graph_builder *builder, struct build_member *member, guint32 lane)
{
	const struct graph_transfer *transfer = graph_transfer_at(builder->graph, member->transfer);
	TachoGraph *graph = builder->graph;

	member->queue_node = add_member_node(builder, member, lane, TACHO_NODE_QUEUE,
					     member->queue_ns, member->begin_ns - member->free_ns);
	graph_add_edge(graph, member->from_node, member->queue_node, TACHO_EDGE_QUEUE);
	graph_add_edge(graph, member->queue_node, transfer->node, TACHO_EDGE_TRANSFER);
	if (member->is_eager)
		member->complete_node =
			add_member_node(builder, member, lane, TACHO_NODE_COMPLETE,
					member->begin_ns, member->end_ns - member->begin_ns);
	else
		member->complete_node =
			add_member_node(builder, member, lane, TACHO_NODE_COMPLETE,
					transfer->end_ns, member->end_ns - transfer->end_ns);
	graph_add_edge(graph, member->is_eager ? member->queue_node : transfer->node,
		       member->complete_node, TACHO_EDGE_TRANSFER);
	if (member->wait_node != TACHO_NONE)
		graph_add_edge(graph, member->complete_node, member->wait_node, TACHO_EDGE_WAIT);
	if (member->sequel_node != TACHO_NONE)
		graph_add_edge(graph, member->complete_node, member->sequel_node, TACHO_EDGE_WAIT);
}

void builder_add_collective_nodes(struct graph_builder *builder)
{
	guint32 first_lane = add_communication_lanes(builder);

	for (guint32 i = 0; i < builder->graph->transfers->len; i++)
		add_transfer_node(builder, i, first_lane + builder->n_ranks);
	FOR_EACH(struct build_member, member, builder->members)
		if (member->work == TACHO_NONE)
			connect_member(builder, member, first_lane + member->rank_index);
}
