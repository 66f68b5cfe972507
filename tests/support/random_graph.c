#include "random_graph.h"

#include "trace/slice_columns.h"

enum { MAX_RANKS = 5, MAX_GROUPS = 4, N_STREAMS = 2, MAX_PENDING = 3 };

/* What a rank is at. */
struct rank {
	guint32 main_lane, side_lane, stream_lanes[N_STREAMS], communication_lane;
	guint32 main, side, streams[N_STREAMS]; /* the last node of each, or TACHO_NONE */
	guint32 pending[MAX_PENDING];		/* that a later node of the main thread waits for */
	guint n_pending;
	guint32 engine;		   /* pool, or TACHO_NONE */
	guint32 pools[MAX_GROUPS]; /* of its collectives */
};

struct maker {
	GRand *random;
	TachoTimeline *timeline;
	TachoGraph *graph;
	struct rank ranks[MAX_RANKS];
	guint n_ranks, n_hosts, n_steps, n_made, n_wanted;
	guint32 wires;
	gint64 now_ns;
	gboolean has_calls;
};

static gint draw(struct maker *maker, gint most)
{
	return g_rand_int_range(maker->random, 0, most + 1);
}

static gboolean chance(struct maker *maker, gint one_of)
{
	return draw(maker, one_of - 1) == 0;
}

/* --- places ----------------------------------------------------------------------------------- */

static guint32 add_lane(struct maker *maker, guint32 rank_index, guint32 track, gboolean is_main)
{
	struct graph_lane lane = { .rank_index = rank_index, .track = track, .is_main = is_main };

	if (rank_index != TACHO_NONE)
		lane.host = g_array_index(maker->timeline->ranks, TachoRank, rank_index).host;
	g_array_append_val(maker->graph->lanes, lane);
	return maker->graph->lanes->len - 1;
}

static guint32 add_stream(struct maker *maker, guint32 rank_index, gint32 device)
{
	TachoTrack track = { .kind = TACHO_TRACK_STREAM, .device = device };

	g_array_append_val(maker->timeline->tracks, track);
	return add_lane(maker, rank_index, maker->timeline->tracks->len - 1, FALSE);
}

static guint32 add_pool(struct maker *maker, guint32 rank_index, guint32 group, guint32 n_workers,
			gboolean is_engine)
{
	struct graph_pool pool = { rank_index, group, n_workers, is_engine };

	g_array_append_val(maker->graph->pools, pool);
	return maker->graph->pools->len - 1;
}

static void add_rank(struct maker *maker, guint32 index)
{
	static const gchar *const hosts[] = { "h0", "h1", "h2", "h3", "h4" };
	struct rank *rank = &maker->ranks[index];
	TachoRank row = { .rank = (gint32)index };
	gint devices = draw(maker, 1);

	row.host = tacho_timeline_intern(maker->timeline, hosts[index % maker->n_hosts], -1);
	g_array_append_val(maker->timeline->ranks, row);
	rank->main_lane = add_lane(maker, index, TACHO_NONE, TRUE);
	rank->side_lane = add_lane(maker, index, TACHO_NONE, FALSE);
	for (gint i = 0; i < N_STREAMS; i++)
		rank->stream_lanes[i] = add_stream(maker, index, i * devices);
	rank->communication_lane = add_lane(maker, index, TACHO_NONE, FALSE);
	rank->main = rank->side = rank->streams[0] = rank->streams[1] = TACHO_NONE;
	rank->engine = chance(maker, 2) ? add_pool(maker, index, 0, 1, TRUE) : TACHO_NONE;
}

/* A group of all ranks, or hops from one to another. */
static void add_group(struct maker *maker)
{
	TachoGraph *graph = maker->graph;
	struct graph_group group = { .n_ranks = maker->n_ranks, .is_device = chance(maker, 3) };
	guint32 index = graph->groups->len;

	if (maker->n_ranks > 1 && index > 0 && chance(maker, 2)) {
		group.is_hops = TRUE;
		group.n_ranks = 2;
		group.sender = 1 + (guint32)draw(maker, (gint)maker->n_ranks - 1);
		group.receiver = 1 + group.sender % maker->n_ranks;
	}
	g_array_append_val(graph->groups, group);
	for (guint32 i = 0; i < maker->n_ranks; i++) {
		guint32 host = g_array_index(maker->timeline->ranks, TachoRank, i).host;

		maker->ranks[i].pools[index] =
			group.is_device
				? TACHO_NONE
				: add_pool(maker, i, index, 1 + (guint32)draw(maker, 2), FALSE);
		if (group.is_hops && group.sender != i + 1 && group.receiver != i + 1)
			continue;
		if (maker->n_hosts == 1)
			graph_add_group_link(graph, index, host, "local");
		if (maker->n_hosts > 1 && group.receiver != i + 1)
			graph_add_group_link(graph, index, host, "out");
		if (maker->n_hosts > 1 && group.sender != i + 1)
			graph_add_group_link(graph, index, host, "in");
	}
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Often nothing, or what others take, too. */
static gint64 draw_duration(struct maker *maker)
{
	switch (draw(maker, 5)) {
	case 0:
		return 0;
	case 1:
		return 4000;
	default:
		return 1000 * draw(maker, 30) + draw(maker, 999);
	}
}

static guint32 add_node(struct maker *maker, TachoNodeKind kind, guint32 lane, gint64 duration_ns)
{
	struct graph_node node = {
		.kind = kind,
		.duration_ns = duration_ns,
		.begin_ns = maker->now_ns++,
		.slice = TACHO_NONE,
		.lane = lane,
		.step = maker->n_made++ * maker->n_steps / maker->n_wanted,
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};

	node.step = MIN(node.step, maker->n_steps - 1);
	if (chance(maker, 12))
		node.step = TACHO_NONE;
	return graph_add_node(maker->graph, node);
}

static void follow(struct maker *maker, guint32 from, guint32 to, TachoEdgeKind kind)
{
	if (from != TACHO_NONE)
		graph_add_edge(maker->graph, from, to, kind);
}

static void set_pending(struct maker *maker, struct rank *rank, guint32 node)
{
	if (rank->n_pending < MAX_PENDING)
		rank->pending[rank->n_pending++] = node;
	else
		rank->pending[draw(maker, MAX_PENDING - 1)] = node;
}

static void add_work(struct maker *maker, struct rank *rank)
{
	static const TachoNodeKind kinds[] = { TACHO_NODE_OP, TACHO_NODE_OP, TACHO_NODE_KERNEL,
					       TACHO_NODE_HOST, TACHO_NODE_WAIT };
	guint32 node = add_node(maker, kinds[draw(maker, G_N_ELEMENTS(kinds) - 1)], rank->main_lane,
				draw_duration(maker));

	follow(maker, rank->main, node, TACHO_EDGE_PROGRAM);
	if (rank->n_pending > 0 && chance(maker, 2))
		follow(maker, rank->pending[--rank->n_pending], node, TACHO_EDGE_WAIT);
	rank->main = node;
}

static void add_side_work(struct maker *maker, struct rank *rank)
{
	guint32 node = add_node(maker, TACHO_NODE_OP, rank->side_lane, draw_duration(maker));

	follow(maker, rank->main, node, TACHO_EDGE_THREAD);
	follow(maker, rank->side, node, TACHO_EDGE_PROGRAM);
	rank->side = node;
	if (chance(maker, 2))
		set_pending(maker, rank, node);
}

/* A launch, what it launches, and often a gap before it. */
static void add_device_work(struct maker *maker, struct rank *rank)
{
	static const TachoNodeKind kinds[] = { TACHO_NODE_DEVICE, TACHO_NODE_DEVICE,
					       TACHO_NODE_COPY, TACHO_NODE_CAST, TACHO_NODE_PART };
	guint stream = (guint)draw(maker, N_STREAMS - 1);
	guint32 lane = rank->stream_lanes[stream];
	TachoNodeKind kind = kinds[draw(maker, G_N_ELEMENTS(kinds) - 1)];
	guint32 launch = add_node(maker, TACHO_NODE_LAUNCH, lane, 500 * draw(maker, 4));
	guint32 before = rank->streams[stream], work;

	follow(maker, rank->main, launch, TACHO_EDGE_LAUNCH);
	if (before != TACHO_NONE && chance(maker, 2)) {
		guint32 gap = add_node(maker, TACHO_NODE_GAP, lane, 100 * draw(maker, 9));

		follow(maker, before, gap, TACHO_EDGE_STREAM);
		before = gap;
	}
	work = add_node(maker, kind, lane, draw_duration(maker));
	if (kind == TACHO_NODE_COPY && !chance(maker, 4))
		graph_node_at(maker->graph, work)->pool = rank->engine;
	follow(maker, launch, work, TACHO_EDGE_LAUNCH);
	follow(maker, before, work, TACHO_EDGE_STREAM);
	if (chance(maker, 4) && rank->streams[!stream] != before)
		follow(maker, rank->streams[!stream], work, TACHO_EDGE_EVENT);
	rank->streams[stream] = work;
	if (chance(maker, 3))
		set_pending(maker, rank, work);
}

/* Of several workers, the replay takes up with the one that it hears of first, which may not be the first that is free: what
 * their parts take beside the transfer is left out. */
static gint64 draw_part(struct maker *maker, guint32 pool)
{
	gboolean has_several =
		pool != TACHO_NONE &&
		g_array_index(maker->graph->pools, struct graph_pool, pool).n_workers > 1;

	return has_several || chance(maker, 2) ? 0 : draw_duration(maker);
}

static guint32 add_transfer(struct maker *maker, guint32 group)
{
	struct graph_transfer transfer = { .group = group, .n_ranks = maker->n_ranks };
	guint32 node = add_node(maker, TACHO_NODE_TRANSFER, maker->wires, 0);
	const struct graph_group *row = graph_group_at(maker->graph, group);
	gint64 fixed_ns = chance(maker, 2) ? 0 : draw_duration(maker);
	gint64 least_ns = row->is_device || row->is_hops ? 0 : 1000; /* as draw_part() */

	transfer.node = node;
	transfer.is_device = graph_group_at(maker->graph, group)->is_device;
	transfer.pass = TACHO_NONE;
	transfer.sequence = transfer.step = maker->graph->transfers->len;
	graph_node_at(maker->graph, node)->transfer = maker->graph->transfers->len;
	g_array_append_val(maker->graph->transfers, transfer);
	graph_set_transfer(maker->graph, maker->graph->transfers->len - 1, (gdouble)fixed_ns,
			   (gdouble)(least_ns + draw_duration(maker)));
	return node;
}

static void add_hop(struct maker *maker, guint32 group)
{
	const struct graph_group *row = graph_group_at(maker->graph, group);
	guint32 node = add_transfer(maker, group);

	follow(maker, maker->ranks[row->sender - 1].main, node, TACHO_EDGE_TRANSFER);
	set_pending(maker, &maker->ranks[row->receiver - 1], node);
}

/* The main thread's call that queues what comes next. */
static void add_call(struct maker *maker, struct rank *rank, guint32 pool)
{
	guint32 node = add_node(maker, TACHO_NODE_OP, rank->main_lane, draw_duration(maker));
	struct graph_call call = { maker->graph->transfers->len, node };

	graph_node_at(maker->graph, node)->pool = pool;
	follow(maker, rank->main, node, TACHO_EDGE_PROGRAM);
	rank->main = node;
	g_array_append_val(maker->graph->calls, call);
}

/* One part of it for each rank: queued, and complete. Ranks of devices come to it on a stream. */
static void add_collective(struct maker *maker, guint32 group)
{
	gboolean is_device = graph_group_at(maker->graph, group)->is_device;
	guint32 queues[MAX_RANKS], transfer;

	for (guint32 i = 0; i < maker->n_ranks; i++) {
		struct rank *rank = &maker->ranks[i];

		queues[i] = add_node(maker, TACHO_NODE_QUEUE,
				     is_device ? rank->stream_lanes[1] : rank->communication_lane,
				     draw_part(maker, rank->pools[group]));
		follow(maker, rank->main, queues[i], TACHO_EDGE_QUEUE);
		if (is_device)
			follow(maker, rank->streams[1], queues[i], TACHO_EDGE_STREAM);
		else if (maker->has_calls && chance(maker, 2))
			add_call(maker, rank, rank->pools[group]);
	}
	transfer = add_transfer(maker, group);
	for (guint32 i = 0; i < maker->n_ranks; i++) {
		struct rank *rank = &maker->ranks[i];
		guint32 pool = rank->pools[group], complete;

		complete = add_node(maker, TACHO_NODE_COMPLETE,
				    graph_node_at(maker->graph, queues[i])->lane,
				    draw_part(maker, pool));
		graph_node_at(maker->graph, queues[i])->transfer =
			graph_node_at(maker->graph, complete)->transfer =
				graph_node_at(maker->graph, transfer)->transfer;
		graph_node_at(maker->graph, queues[i])->pool =
			graph_node_at(maker->graph, complete)->pool = pool;
		follow(maker, queues[i], transfer, TACHO_EDGE_TRANSFER);
		follow(maker, transfer, complete, TACHO_EDGE_TRANSFER);
		if (is_device)
			rank->streams[1] = complete;
		set_pending(maker, rank, complete);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static void add_places(struct maker *maker)
{
	gint n_groups = 1 + draw(maker, MAX_GROUPS - 1);

	for (guint32 step = 0; step < maker->n_steps; step++)
		g_array_append_val(maker->graph->steps, step);
	for (guint32 i = 0; i < maker->n_ranks; i++)
		add_rank(maker, i);
	maker->wires = add_lane(maker, TACHO_NONE, TACHO_NONE, FALSE);
	for (gint i = 0; i < n_groups; i++)
		add_group(maker);
}

static void add_something(struct maker *maker)
{
	struct rank *rank = &maker->ranks[draw(maker, (gint)maker->n_ranks - 1)];
	guint32 group = (guint32)draw(maker, (gint)maker->graph->groups->len - 1);

	switch (draw(maker, 9)) {
	case 0:
	case 1:
		if (graph_group_at(maker->graph, group)->is_hops)
			add_hop(maker, group);
		else
			add_collective(maker, group);
		break;
	case 2:
		add_side_work(maker, rank);
		break;
	case 3:
	case 4:
		add_device_work(maker, rank);
		break;
	default:
		add_work(maker, rank);
	}
}

/* --- what kernels do -------------------------------------------------------------------------- */

static guint32 add_slice(struct maker *maker, const gchar *name)
{
	TachoSlices *slices = &maker->timeline->slices;
	guint32 slice = slices->n;

	g_assert_true(slice_columns_grow(slices));
	slices->n++;
	slices->start_ns[slice] = slices->duration_ns[slice] = 0;
	slices->source[slice] = 0;
	slices->name[slice] = tacho_timeline_intern(maker->timeline, name, -1);
	slices->track[slice] = 0;
	slices->parent[slice] = slices->launch[slice] = TACHO_NONE;
	slices->kind[slice] = TACHO_SLICE_KERNEL;
	slices->flags[slice] = 0;
	slices->depth[slice] = 0;
	return slice;
}

/* Kernels of three classes, from two of which more is taken, or less. Draws nothing, so that the rest of a graph is as without. */
static void add_classes(struct maker *maker, guint32 seed)
{
	guint32 slices[] = { add_slice(maker, "gemm"), add_slice(maker, "softmax"),
			     add_slice(maker, "unknown") };

	for (guint32 i = 0; i < maker->graph->nodes->len; i++)
		if (graph_node_at(maker->graph, i)->kind == TACHO_NODE_DEVICE)
			graph_node_at(maker->graph, i)->slice = slices[i % G_N_ELEMENTS(slices)];
	maker->graph->class_more_taken[KERNEL_GEMM] = 0.15;
	maker->graph->class_more_taken[KERNEL_SOFTMAX] = seed % 2 ? -0.1 : 0.05;
}

/* Groups whose all-reduces wait for cores. Draws nothing, either. */
static void add_core_waits(struct maker *maker, guint32 seed)
{
	TachoGraph *graph = maker->graph;
	guint32 name = tacho_timeline_intern(maker->timeline, "gloo:all_reduce", -1);

	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);

		if (!group->is_device && !group->is_hops)
			group->core_wait_ns = 500 * (1 + (gdouble)(seed % 7));
	}
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(graph, i);

		transfer->name = name;
		transfer->bytes = 100000;
		transfer->core_wait_off = i % 4 == 0 ? 0.5 : 0;
	}
}

TachoGraph *random_graph_new(TachoTimeline *timeline, guint32 seed)
{
	TachoGraph *graph = graph_new(timeline);
	struct maker maker = { .random = g_rand_new_with_seed(seed),
			       .timeline = timeline,
			       .graph = graph };
	g_autoptr(GError) error = NULL;

	maker.has_calls = seed % 5 < 2;
	maker.n_ranks = 1 + (guint)draw(&maker, MAX_RANKS - 1);
	maker.n_hosts = 1 + (guint)draw(&maker, (gint)maker.n_ranks - 1);
	maker.n_steps = 1 + (guint)draw(&maker, 3);
	maker.n_wanted = 40 + (guint)draw(&maker, 160);
	graph->n_cores = chance(&maker, 2) ? 0 : 1 + (guint32)draw(&maker, 3);
	graph->taken_share = chance(&maker, 2) ? 0 : 0.15 * draw(&maker, 6);
	graph->device_taken_share = chance(&maker, 2) ? 0 : 0.1 * draw(&maker, 5);
	add_places(&maker);
	while (maker.n_made < maker.n_wanted)
		add_something(&maker);
	if (seed % 3 == 0)
		add_classes(&maker, seed);
	if (seed % 2 == 0)
		add_core_waits(&maker, seed);
	g_rand_free(maker.random);
	graph_freeze(graph, &error);
	g_assert_no_error(error);
	return graph;
}
