/* thread_nodes: the pieces of threads as nodes.
 *
 *     START --PROGRAM--> piece of the main thread --PROGRAM--> piece ...
 *                          |                                     ^
 *                       THREAD                                 THREAD
 *                          v                                     |
 *                        first piece of a burst --PROGRAM--> last piece
 *
 * Of a burst that is a collective's sequel, the collective is before the first piece, and no piece of the main thread
 * (collective_nodes.c).
 *
 * A piece that had waited begins, in the graph, when what it waited for was over. What the host did before it began
 * to wait cannot be seen, and is taken as nothing. */
#include "graph/graph_builder.h"

#include "base/for_each.h"

static TachoNodeKind node_kind(const struct graph_builder *builder, const struct segment *segment)
{
	if (segment->slice == TACHO_NONE)
		return TACHO_NODE_HOST;
	switch (builder->timeline->slices.kind[segment->slice]) {
	case TACHO_SLICE_OP:
		return TACHO_NODE_OP;
	case TACHO_SLICE_KERNEL:
		return TACHO_NODE_KERNEL;
	case TACHO_SLICE_WAIT:
		return TACHO_NODE_WAIT;
	default:
		return TACHO_NODE_HOST;
	}
}

static void add_start(struct graph_builder *builder, guint32 rank_index)
{
	struct build_window *window = &builder->windows[rank_index];
	struct graph_node node = {
		.kind = TACHO_NODE_START,
		.duration_ns = window->from_ns - builder->graph->origin_ns,
		.begin_ns = 0,
		.slice = TACHO_NONE,
		.lane = build_thread_at(builder, window->main_thread)->lane,
		.step = TACHO_NONE,
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};

	window->start_node = graph_add_node(builder->graph, node);
}

static void add_segment_node(struct graph_builder *builder, const struct build_thread *thread,
			     struct segment *segment)
{
	const TachoTimeline *timeline = builder->timeline;
	struct graph_node node = {
		.kind = node_kind(builder, segment),
		.duration_ns = segment->end_ns - segment->blocked_ns,
		.begin_ns = segment->blocked_ns - builder->graph->origin_ns,
		.name = segment->slice == TACHO_NONE ? 0 : timeline->slices.name[segment->slice],
		.slice = segment->slice,
		.lane = thread->lane,
		.step = builder_step_at(builder, thread->rank_index, segment->start_ns),
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};

	segment->node = graph_add_node(builder->graph, node);
}

guint32 builder_node_before(const struct graph_builder *builder, guint32 index, gint64 time_ns)
{
	const struct build_thread *thread = build_thread_at(builder, index);
	const struct build_window *window = &builder->windows[thread->rank_index];
	guint next = thread_segments_from(thread->segments, time_ns);

	if (next > 0)
		return segment_at(thread->segments, next - 1)->node;
	if (!thread->is_main)
		return builder_node_before(builder, window->main_thread, time_ns);
	return window->start_node;
}

static void chain_main(struct graph_builder *builder, const struct build_thread *thread)
{
	guint32 before = builder->windows[thread->rank_index].start_node;

	for (guint i = 0; i < thread->segments->len; i++) {
		guint32 node = segment_at(thread->segments, i)->node;

		graph_add_edge(builder->graph, before, node, TACHO_EDGE_PROGRAM);
		before = node;
	}
}

static void chain_bursts(struct graph_builder *builder, const struct build_thread *thread)
{
	guint32 main_index = builder->windows[thread->rank_index].main_thread;
	const struct build_thread *main_thread = build_thread_at(builder, main_index);

	FOR_EACH_AT(const struct segment, segment, i, thread->segments) {
		guint next;

		if (i > 0)
			graph_add_edge(builder->graph, segment_at(thread->segments, i - 1)->node,
				       segment->node, TACHO_EDGE_PROGRAM);
		if (!segment->is_sequel && (i == 0 || builder_ends_burst(thread, i - 1)))
			graph_add_edge(builder->graph,
				       builder_node_before(builder, main_index, segment->start_ns),
				       segment->node, TACHO_EDGE_THREAD);
		next = thread_segments_from(main_thread->segments, segment->end_ns);
		if (!builder_ends_burst(thread, i) || next == 0)
			continue;
		if (segment_at(main_thread->segments, next - 1)->blocked_ns >= segment->end_ns &&
		    segment_at(main_thread->segments, next - 1)->start_ns < segment->end_ns)
			graph_add_edge(builder->graph, segment->node,
				       segment_at(main_thread->segments, next - 1)->node,
				       TACHO_EDGE_THREAD);
	}
}

static void place_member(const struct graph_builder *builder, struct build_member *member)
{
	const struct build_thread *thread = build_thread_at(builder, member->thread);

	member->from_node = builder_node_before(builder, member->thread, member->queue_ns);
	if (member->wait_segment != TACHO_NONE)
		member->wait_node = segment_at(thread->segments, member->wait_segment)->node;
	if (member->sequel_segment != TACHO_NONE)
		member->sequel_node =
			segment_at(build_thread_at(builder, member->sequel_thread)->segments,
				   member->sequel_segment)
				->node;
}

void builder_add_thread_nodes(struct graph_builder *builder)
{
	for (guint32 i = 0; i < builder->n_ranks; i++)
		add_start(builder, i);
	FOR_EACH(const struct build_thread, thread, builder->threads)
		for (guint i = 0; i < thread->segments->len; i++)
			add_segment_node(builder, thread, segment_at(thread->segments, i));
	for (guint32 t = 0; t < builder->threads->len; t++)
		if (build_thread_at(builder, t)->is_main)
			chain_main(builder, build_thread_at(builder, t));
		else
			chain_bursts(builder, build_thread_at(builder, t));
	FOR_EACH(struct build_member, member, builder->members)
		if (member->work == TACHO_NONE && build_thread_at(builder, member->thread)->is_own)
			place_member(builder, member);
}
