/* device_nodes: the work of devices as nodes.
 *
 *     piece of a thread --LAUNCH--> work --GAP--> work that follows on the stream
 *                                     `--GAP--> work of a stream that waited for it
 *                                     `-------> piece of a thread that waited for it
 *
 * Work can begin when its launch has reached the device and what its stream waits for is over. The later of the two
 * decided, and all the time from there to the begin was its: from the begin of the call, if the device was free by
 * then (the launch took so long), else from the end of what the stream waited for (the device took so long to go
 * on). The other took as long as is usual on that rank (median), or less where there was less time. So each work
 * begins in the replay when it did, and when something changes, either may be what is waited for.
 *
 * A part in a collective is a QUEUE node when it begins, and a COMPLETE node for what it lasts after the
 * transfer. A kernel of several sends and receives has a QUEUE node for each, one after the other in no time, and
 * one COMPLETE node after all transfers. Where work begins before the one before it has ended (streams that were recorded coarsely,
 * kernels that overlap on purpose) the longer one is cut there, and the other had waited for its first
 * piece; so, too, where a call returned a moment before what it waited for had ended. */
#include "base/for_each.h"
#include "base/order.h"
#include "base/quantile.h"
#include "graph/graph_builder.h"

/* A moment at which a work is cut. */
struct cut {
	guint32 work;
	gint64 time_ns;
};

/* What is usual on a rank. */
struct delays {
	GArray *launch_ns, *gap_ns; /* gint64: where they decided */
	gint64 least_launch_ns;
	gint64 usual_launch_ns, usual_gap_ns;
};

/* When a work could begin, but for its launch. */
struct arrival {
	guint32 before;	  /* work, on its stream, or TACHO_NONE */
	gint64 before_ns; /* end of that, or of its piece */
	guint first_event, n_events;
	gint64 ready_ns; /* the latest of them; G_MININT64: there are none */
};

struct device_nodes {
	struct graph_builder *builder;
	GArray *cuts;		  /* struct cut */
	struct arrival *arrivals; /* one a work */
	struct delays *delays;	  /* one a rank */
	guint32 gap_name;
};

static guint32 rank_of(const struct device_nodes *nodes, const struct build_work *work)
{
	return build_stream_at(nodes->builder, work->stream)->rank_index;
}

/* --- what each waits for ---------------------------------------------------------------------- */

static void add_cut(struct device_nodes *nodes, guint32 work, gint64 time_ns)
{
	struct cut cut = { work, time_ns };

	g_array_append_val(nodes->cuts, cut);
}

/* The piece of the work before that this one had waited for. */
static void find_before(struct device_nodes *nodes, guint32 index, struct arrival *arrival)
{
	const struct build_work *work = build_work_at(nodes->builder, index);
	const struct build_stream *stream = build_stream_at(nodes->builder, work->stream);
	const struct build_work *before;

	arrival->before = TACHO_NONE;
	if (index == stream->first_work)
		return;
	before = build_work_at(nodes->builder, index - 1);
	if (before->end_ns > work->begin_ns && before->begin_ns == work->begin_ns)
		return;
	arrival->before = index - 1;
	arrival->before_ns = MIN(before->end_ns, work->begin_ns);
	arrival->ready_ns = arrival->before_ns;
	if (before->end_ns > work->begin_ns)
		add_cut(nodes, index - 1, work->begin_ns);
}

static void find_arrivals(struct device_nodes *nodes)
{
	const struct graph_builder *builder = nodes->builder;
	guint next = 0;

	for (guint32 i = 0; i < builder->work->len; i++) {
		struct arrival *arrival = &nodes->arrivals[i];

		arrival->ready_ns = G_MININT64;
		find_before(nodes, i, arrival);
		arrival->first_event = next;
		while (next < builder->events->len) {
			const struct build_event *event =
				&g_array_index(builder->events, struct build_event, next);

			if (event->work != i)
				break;
			arrival->ready_ns =
				MAX(arrival->ready_ns, build_work_at(builder, event->from)->end_ns);
			next++;
		}
		arrival->n_events = next - arrival->first_event;
	}
}

/* The launch, and not the device, decided when the work began. */
static gboolean is_bound_by_launch(const struct build_work *work, const struct arrival *arrival)
{
	return work->call != TACHO_NONE && arrival->ready_ns <= work->launch_ns;
}

static void find_delays(struct device_nodes *nodes)
{
	const struct graph_builder *builder = nodes->builder;

	FOR_EACH_AT(const struct build_work, work, i, builder->work) {
		const struct arrival *arrival = &nodes->arrivals[i];
		struct delays *delays = &nodes->delays[rank_of(nodes, work)];
		gint64 delay_ns;

		if (work->call != TACHO_NONE) {
			delay_ns = work->begin_ns - work->launch_ns;
			delays->least_launch_ns = MIN(delays->least_launch_ns, delay_ns);
			if (is_bound_by_launch(work, arrival))
				g_array_append_val(delays->launch_ns, delay_ns);
		}
		if (arrival->ready_ns != G_MININT64 && !is_bound_by_launch(work, arrival)) {
			delay_ns = work->begin_ns - arrival->ready_ns;
			g_array_append_val(delays->gap_ns, delay_ns);
		}
	}
	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		struct delays *delays = &nodes->delays[rank];

		delays->usual_launch_ns = delays->launch_ns->len
						  ? (gint64)quantile(delays->launch_ns, 0.5)
						  : delays->least_launch_ns;
		if (delays->gap_ns->len)
			delays->usual_gap_ns = (gint64)quantile(delays->gap_ns, 0.5);
	}
}

/* --- pieces of works -------------------------------------------------------------------------- */

static struct graph_node make_node(const struct device_nodes *nodes, const struct build_work *work,
				   TachoNodeKind kind, gint64 begin_ns, gint64 duration_ns)
{
	const struct graph_builder *builder = nodes->builder;
	const struct build_stream *stream = build_stream_at(builder, work->stream);

	return (struct graph_node){
		.kind = kind,
		.duration_ns = duration_ns,
		.begin_ns = begin_ns - builder->graph->origin_ns,
		.name = builder->timeline->slices.name[work->slice],
		.slice = work->slice,
		.lane = stream->lane,
		.step = builder_step_at(builder, stream->rank_index,
					work->call == TACHO_NONE ? work->begin_ns
								 : work->launch_ns),
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};
}

static TachoNodeKind work_kind(const struct device_nodes *nodes, const struct build_work *work)
{
	switch ((TachoSliceKind)nodes->builder->timeline->slices.kind[work->slice]) {
	case TACHO_SLICE_COLLECTIVE:
		return TACHO_NODE_PART;
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return TACHO_NODE_COPY;
	default:
		return TACHO_NODE_DEVICE;
	}
}

/* A piece of the work, after those that it has. */
static void add_piece(struct device_nodes *nodes, struct build_work *work, TachoNodeKind kind,
		      gint64 begin_ns, gint64 end_ns)
{
	TachoGraph *graph = nodes->builder->graph;
	guint32 node = graph_add_node(
		graph, make_node(nodes, work, kind, begin_ns, MAX(end_ns - begin_ns, 0)));

	if (work->n_nodes > 0)
		graph_add_edge(graph, node - 1, node, TACHO_EDGE_STREAM);
	else
		work->first_node = node;
	work->n_nodes++;
}

/* The parts in collectives: what comes first of them; returns from when on the rest is there. */
static gint64 add_member_nodes(struct device_nodes *nodes, struct build_work *work)
{
	struct graph_builder *builder = nodes->builder;
	TachoGraph *graph = builder->graph;
	guint32 before = TACHO_NONE;
	gint64 end_ns = work->begin_ns;

	for (guint32 i = work->member; i != TACHO_NONE; i = build_member_at(builder, i)->next) {
		struct build_member *member = build_member_at(builder, i);
		const struct graph_transfer *transfer = graph_transfer_at(graph, member->transfer);
		struct graph_node node =
			make_node(nodes, work, TACHO_NODE_QUEUE, work->begin_ns, 0);

		node.transfer = member->transfer;
		member->queue_node = graph_add_node(graph, node);
		if (before != TACHO_NONE)
			graph_add_edge(graph, before, member->queue_node, TACHO_EDGE_STREAM);
		before = member->queue_node;
		graph_add_edge(graph, member->queue_node, transfer->node, TACHO_EDGE_TRANSFER);
		if (!member->is_eager)
			end_ns = MAX(end_ns, transfer->end_ns);
	}
	return end_ns;
}

/* What is left of the work when its transfers are over is of the one that was the last. */
static void complete_members(struct device_nodes *nodes, const struct build_work *work)
{
	struct graph_builder *builder = nodes->builder;
	TachoGraph *graph = builder->graph;
	struct graph_node *node = graph_node_at(graph, work->first_node);
	gint64 last_ns = G_MININT64;

	node->kind = TACHO_NODE_COMPLETE;
	for (guint32 i = work->member; i != TACHO_NONE; i = build_member_at(builder, i)->next) {
		struct build_member *member = build_member_at(builder, i);
		const struct graph_transfer *transfer = graph_transfer_at(graph, member->transfer);
		gint64 end_ns = member->is_eager ? work->begin_ns : transfer->end_ns;

		if (end_ns > last_ns)
			node->transfer = member->transfer;
		last_ns = MAX(last_ns, end_ns);
		member->complete_node = work->first_node;
		graph_add_edge(graph, member->is_eager ? member->queue_node : transfer->node,
			       work->first_node, TACHO_EDGE_TRANSFER);
	}
}

static void add_pieces(struct device_nodes *nodes, guint32 index, guint *next_cut)
{
	struct graph_builder *builder = nodes->builder;
	struct build_work *work = build_work_at(builder, index);
	TachoNodeKind kind = work_kind(nodes, work);
	gint64 from_ns = work->begin_ns;

	work->n_nodes = 0;
	if (work->member != TACHO_NONE)
		from_ns = add_member_nodes(nodes, work);
	for (; *next_cut < nodes->cuts->len; (*next_cut)++) {
		const struct cut *cut = &g_array_index(nodes->cuts, struct cut, *next_cut);

		if (cut->work != index)
			break;
		if (cut->time_ns <= from_ns || cut->time_ns >= work->end_ns)
			continue;
		add_piece(nodes, work, kind, from_ns, cut->time_ns);
		from_ns = cut->time_ns;
	}
	add_piece(nodes, work, kind, from_ns, work->end_ns);
	if (work->n_nodes == 1) /* between the pieces of others nobody comes */
		graph_node_at(builder->graph, work->first_node)->pool = work->engine;
	if (work->member != TACHO_NONE)
		complete_members(nodes, work);
}

/* Where the work begins. */
static guint32 first_node(const struct device_nodes *nodes, const struct build_work *work)
{
	if (work->member == TACHO_NONE)
		return work->first_node;
	return build_member_at(nodes->builder, work->member)->queue_node;
}

/* The last node of the work that had ended by `time_ns`; its end into ret_ns. */
static guint32 node_ended_by(const struct device_nodes *nodes, const struct build_work *work,
			     gint64 time_ns, gint64 *ret_ns)
{
	const TachoGraph *graph = nodes->builder->graph;
	guint32 last = TACHO_NONE;

	if (work->member != TACHO_NONE) {
		last = first_node(nodes, work);
		*ret_ns = work->begin_ns;
	}
	for (guint32 i = 0; i < work->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, work->first_node + i);
		gint64 end_ns = graph->origin_ns + node->begin_ns + node->duration_ns;

		if (end_ns > time_ns)
			break;
		last = work->first_node + i;
		*ret_ns = end_ns;
	}
	return last;
}

/* --- edges ------------------------------------------------------------------------------------ */

static gint64 node_end_ns(const TachoGraph *graph, guint32 node)
{
	return graph->origin_ns + graph_node_at(graph, node)->begin_ns +
	       graph_node_at(graph, node)->duration_ns;
}

/* The piece of a thread that ended when the call began; when that was, into ret_ns. Where the call begins
 * a burst of its thread, that is a piece of the main thread, which began the burst. */
static guint32 launching_node(const struct graph_builder *builder, const struct build_work *work,
			      gint64 *ret_ns)
{
	const struct build_thread *thread = build_thread_at(builder, work->thread);
	guint32 node = builder_node_before(builder, work->thread, work->launch_ns);

	if (node_end_ns(builder->graph, node) != work->launch_ns && !thread->is_main)
		node = builder_node_before(
			builder, builder->windows[thread->rank_index].main_thread, work->launch_ns);
	*ret_ns = node_end_ns(builder->graph, node);
	return node;
}

static void connect_launch(struct device_nodes *nodes, const struct build_work *work,
			   const struct arrival *arrival)
{
	struct graph_builder *builder = nodes->builder;
	gint64 from_ns, delay_ns = work->begin_ns - work->launch_ns;
	guint32 from = launching_node(builder, work, &from_ns), launch;
	struct graph_node node;

	if (!is_bound_by_launch(work, arrival))
		delay_ns = MIN(delay_ns, nodes->delays[rank_of(nodes, work)].usual_launch_ns);
	delay_ns += work->launch_ns - from_ns;
	if (delay_ns <= 0) {
		graph_add_edge(builder->graph, from, first_node(nodes, work), TACHO_EDGE_LAUNCH);
		return;
	}
	node = make_node(nodes, work, TACHO_NODE_LAUNCH, from_ns, delay_ns);
	node.origin = is_bound_by_launch(work, arrival) ? ORIGIN_MEASURED : ORIGIN_MODELLED;
	node.name = builder->timeline->slices.name[work->call];
	node.slice = TACHO_NONE;
	launch = graph_add_node(builder->graph, node);
	graph_add_edge(builder->graph, from, launch, TACHO_EDGE_LAUNCH);
	graph_add_edge(builder->graph, launch, first_node(nodes, work), TACHO_EDGE_LAUNCH);
}

/* A GAP before `to`; where it takes no time, `to` itself. */
static guint32 add_gap(struct device_nodes *nodes, const struct build_work *work, gint64 begin_ns,
		       gint64 duration_ns, guint32 to, TachoEdgeKind kind)
{
	TachoGraph *graph = nodes->builder->graph;
	struct graph_node node;
	guint32 gap;

	if (duration_ns <= 0)
		return to;
	node = make_node(nodes, work, TACHO_NODE_GAP, begin_ns, duration_ns);
	node.name = nodes->gap_name;
	node.slice = TACHO_NONE;
	gap = graph_add_node(graph, node);
	graph_add_edge(graph, gap, to, kind);
	return gap;
}

static void connect_device(struct device_nodes *nodes, const struct build_work *work,
			   const struct arrival *arrival)
{
	struct graph_builder *builder = nodes->builder;
	gint64 gap_ns = work->begin_ns - arrival->ready_ns, end_ns = 0;
	guint32 to;

	if (is_bound_by_launch(work, arrival))
		gap_ns = MIN(gap_ns, nodes->delays[rank_of(nodes, work)].usual_gap_ns);
	to = add_gap(nodes, work, arrival->ready_ns, gap_ns, first_node(nodes, work),
		     TACHO_EDGE_STREAM);
	if (to != first_node(nodes, work) && is_bound_by_launch(work, arrival))
		graph_node_at(builder->graph, to)->origin = ORIGIN_MODELLED;
	if (arrival->before != TACHO_NONE) {
		guint32 from = node_ended_by(nodes, build_work_at(builder, arrival->before),
					     arrival->before_ns, &end_ns);

		/* a part in a collective is not cut before its transfer has ended */
		graph_add_edge(builder->graph, from,
			       end_ns == arrival->before_ns
				       ? to
				       : add_gap(nodes, work, end_ns, arrival->before_ns - end_ns,
						 to, TACHO_EDGE_STREAM),
			       TACHO_EDGE_STREAM);
	}
	for (guint i = 0; i < arrival->n_events; i++) {
		const struct build_event *event = &g_array_index(
			builder->events, struct build_event, arrival->first_event + i);
		const struct build_work *from = build_work_at(builder, event->from);

		graph_add_edge(builder->graph, from->first_node + from->n_nodes - 1, to,
			       TACHO_EDGE_EVENT);
	}
}

/* What nothing in the steps let begin: it began when it did. */
static void connect_start(struct device_nodes *nodes, const struct build_work *work)
{
	TachoGraph *graph = nodes->builder->graph;
	struct graph_node node = make_node(nodes, work, TACHO_NODE_START, graph->origin_ns,
					   work->begin_ns - graph->origin_ns);
	guint32 start;

	node.slice = TACHO_NONE;
	node.step = TACHO_NONE;
	start = graph_add_node(graph, node);
	graph_add_edge(graph, start, first_node(nodes, work), TACHO_EDGE_STREAM);
}

static void connect_work(struct device_nodes *nodes, guint32 index)
{
	const struct build_work *work = build_work_at(nodes->builder, index);
	const struct arrival *arrival = &nodes->arrivals[index];

	if (work->call != TACHO_NONE)
		connect_launch(nodes, work, arrival);
	if (arrival->ready_ns != G_MININT64)
		connect_device(nodes, work, arrival);
	else if (work->call == TACHO_NONE)
		connect_start(nodes, work);
}

static void connect_syncs(struct device_nodes *nodes)
{
	struct graph_builder *builder = nodes->builder;

	FOR_EACH(const struct build_sync, sync, builder->syncs) {
		const struct build_work *work = build_work_at(builder, sync->work);
		guint32 piece =
			segment_at(build_thread_at(builder, sync->thread)->segments, sync->segment)
				->node;
		gint64 end_ns = sync->until_ns;
		guint32 from = node_ended_by(nodes, work, sync->until_ns, &end_ns);

		if (from != TACHO_NONE)
			graph_add_edge(builder->graph, from,
				       add_gap(nodes, work, end_ns, sync->until_ns - end_ns, piece,
					       TACHO_EDGE_SYNC),
				       TACHO_EDGE_SYNC);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static gint compare_cuts(gconstpointer a, gconstpointer b)
{
	const struct cut *x = a, *y = b;

	return ORDER(x->work, y->work) ?: ORDER(x->time_ns, y->time_ns);
}

static void cut_at_syncs(struct device_nodes *nodes)
{
	const GArray *syncs = nodes->builder->syncs;

	FOR_EACH(const struct build_sync, sync, syncs)
		if (sync->until_ns < build_work_at(nodes->builder, sync->work)->end_ns)
			add_cut(nodes, sync->work, sync->until_ns);
}

static void device_nodes_init(struct device_nodes *nodes, struct graph_builder *builder)
{
	nodes->builder = builder;
	nodes->cuts = g_array_new(FALSE, FALSE, sizeof(struct cut));
	nodes->arrivals = g_new0(struct arrival, builder->work->len);
	nodes->delays = g_new0(struct delays, builder->n_ranks);
	nodes->gap_name =
		tacho_timeline_intern(builder->timeline, "between the work of a stream", -1);
	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		nodes->delays[rank].launch_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
		nodes->delays[rank].gap_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
		nodes->delays[rank].least_launch_ns = G_MAXINT64;
	}
}

static void device_nodes_release(struct device_nodes *nodes)
{
	for (guint32 rank = 0; rank < nodes->builder->n_ranks; rank++) {
		g_array_unref(nodes->delays[rank].launch_ns);
		g_array_unref(nodes->delays[rank].gap_ns);
	}
	g_array_unref(nodes->cuts);
	g_free(nodes->arrivals);
	g_free(nodes->delays);
}

void builder_add_device_nodes(struct graph_builder *builder)
{
	struct device_nodes nodes;
	guint next_cut = 0;

	if (builder->work->len == 0)
		return;
	builder_find_engines(builder);
	device_nodes_init(&nodes, builder);
	find_arrivals(&nodes);
	find_delays(&nodes);
	cut_at_syncs(&nodes);
	g_array_sort(nodes.cuts, compare_cuts);
	for (guint32 i = 0; i < builder->work->len; i++)
		add_pieces(&nodes, i, &next_cut);
	for (guint32 i = 0; i < builder->work->len; i++)
		connect_work(&nodes, i);
	connect_syncs(&nodes);
	device_nodes_release(&nodes);
}
