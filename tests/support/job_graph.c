#include "job_graph.h"
#include "trace/operation.h"

struct job {
	TachoTimeline *timeline;
	TachoGraph *graph;
	const struct job_shape *shape;
	guint32 random;
	guint32 *first_op; /* a rank's first node; the others follow it */
	guint32 name;
};

/* Lanes are the ranks' threads, then the ranks' communication, then the wires. */
static struct graph_node node_at(const struct job *job, TachoNodeKind kind, guint32 lane,
				 guint32 op)
{
	struct graph_node node = { .kind = kind,
				   .lane = lane,
				   .begin_ns = (gint64)op * job->shape->op_ns,
				   .slice = TACHO_NONE,
				   .step = op / (job->shape->n_ops / job->shape->n_steps),
				   .transfer = TACHO_NONE,
				   .pool = TACHO_NONE };

	node.step = MIN(node.step, job->shape->n_steps - 1);
	return node;
}

/* The ranks' communication, and the wires. */
static void add_other_lanes(struct job *job)
{
	for (guint32 rank = 0; rank <= job->shape->n_ranks; rank++) {
		struct graph_lane lane = { .rank_index = rank, .track = TACHO_NONE };

		if (rank == job->shape->n_ranks)
			lane.rank_index = TACHO_NONE;
		else
			lane.host = rank / job->shape->ranks_per_host;
		g_array_append_val(job->graph->lanes, lane);
	}
}

static void add_ranks(struct job *job)
{
	const struct job_shape *shape = job->shape;
	guint32 n_hosts = (shape->n_ranks + shape->ranks_per_host - 1) / shape->ranks_per_host;
	struct graph_group group = { .n_ranks = shape->n_ranks };

	g_array_append_val(job->graph->groups, group);
	for (guint32 host = 0; host < n_hosts; host++) {
		graph_add_group_link(job->graph, 0, host, n_hosts > 1 ? "out" : "local");
		if (n_hosts > 1)
			graph_add_group_link(job->graph, 0, host, "in");
	}
	for (guint32 rank = 0; rank < shape->n_ranks; rank++) {
		TachoRank row = { .rank = (gint32)rank, .host = rank / shape->ranks_per_host };
		struct graph_lane lane = {
			.rank_index = rank, .host = row.host, .track = TACHO_NONE, .is_main = TRUE
		};
		struct graph_pool pool = { .rank_index = rank, .n_workers = shape->n_workers };

		g_array_append_val(job->timeline->ranks, row);
		g_array_append_val(job->graph->lanes, lane);
		g_array_append_val(job->graph->pools, pool);
	}
	add_other_lanes(job);
}

/* Numerical Recipes' generator. */
static guint32 draw(struct job *job)
{
	job->random = job->random * 1664525 + 1013904223;
	return job->random >> 8;
}

static void add_ops(struct job *job, guint32 rank)
{
	const struct job_shape *shape = job->shape;

	job->random = shape->seed + 7919 * (shape->n_distinct ? rank % shape->n_distinct : rank);
	job->first_op[rank] = job->graph->nodes->len;
	for (guint32 op = 0; op < shape->n_ops; op++) {
		struct graph_node node = node_at(job, TACHO_NODE_OP, rank, op);
		guint32 index;

		node.duration_ns = shape->op_ns / 2 + draw(job) % MAX(shape->op_ns, 1);
		index = graph_add_node(job->graph, node);
		if (op > 0)
			graph_add_edge(job->graph, index - 1, index, TACHO_EDGE_PROGRAM);
	}
}

static void connect_rank(struct job *job, guint32 rank, guint32 op, const struct graph_node *node,
			 guint32 transfer_node)
{
	struct graph_node part = node_at(job, TACHO_NODE_QUEUE, job->shape->n_ranks + rank, op + 1);
	guint32 queue, complete;

	part.step = node->step;
	part.transfer = node->transfer;
	part.pool = rank;
	queue = graph_add_node(job->graph, part);
	part.kind = TACHO_NODE_COMPLETE;
	part.begin_ns += job->shape->transfer_ns;
	complete = graph_add_node(job->graph, part);
	graph_add_edge(job->graph, job->first_op[rank] + op, queue, TACHO_EDGE_QUEUE);
	graph_add_edge(job->graph, queue, transfer_node, TACHO_EDGE_TRANSFER);
	graph_add_edge(job->graph, transfer_node, complete, TACHO_EDGE_TRANSFER);
	if (op + job->shape->ops_to_wait < job->shape->n_ops)
		graph_add_edge(job->graph, complete,
			       job->first_op[rank] + op + job->shape->ops_to_wait, TACHO_EDGE_WAIT);
}

/* An all-reduce after operation `op` of each rank. */
static void add_collective(struct job *job, guint32 op)
{
	const struct job_shape *shape = job->shape;
	struct graph_node node = node_at(job, TACHO_NODE_TRANSFER, 2 * shape->n_ranks, op);
	struct graph_transfer transfer = {
		.n_ranks = shape->n_ranks,
		.name = job->name,
		.step = node.step,
		.sequence = job->graph->transfers->len,
		.pass = shape->gradients_per_collective ? node.step : TACHO_NONE,
		.bytes = shape->gradient_bytes * shape->gradients_per_collective,
		.begin_ns = (gint64)(op + 1) * shape->op_ns,
	};

	node.begin_ns = transfer.begin_ns;
	transfer.end_ns = transfer.begin_ns + shape->transfer_ns;
	node.transfer = job->graph->transfers->len;
	transfer.node = graph_add_node(job->graph, node);
	g_array_append_val(job->graph->transfers, transfer);
	graph_set_transfer(job->graph, node.transfer, (gdouble)shape->transfer_ns / 8,
			   (gdouble)shape->transfer_ns * 7 / 8);
	for (guint32 rank = 0; rank < shape->n_ranks; rank++)
		connect_rank(job, rank, op, &node, transfer.node);
}

/* Evenly over the operations before the one after which the collective is queued. */
static void add_gradients(struct job *job, guint32 rank, guint32 op)
{
	const struct job_shape *shape = job->shape;

	for (guint32 i = 0; i < shape->gradients_per_collective; i++) {
		guint32 before = (shape->gradients_per_collective - 1 - i) *
				 shape->ops_per_collective / shape->gradients_per_collective;
		struct graph_gradient gradient = {
			.bytes = shape->gradient_bytes,
			.dtype = "float32",
			.ready_node = job->first_op[rank] + op - 1 - before,
			.copy_node = TACHO_NONE,
		};

		g_array_append_val(job->graph->gradients, gradient);
	}
}

static void add_pass(struct job *job, guint32 rank, guint32 step)
{
	const struct job_shape *shape = job->shape;
	guint32 step_ops = shape->n_ops / shape->n_steps;
	struct graph_pass pass = {
		.rank_index = rank,
		.ordinal = step,
		.step = step,
		.first_gradient = job->graph->gradients->len,
		.finish_node = job->first_op[rank] + (step + 1) * step_ops - 1,
	};

	for (guint32 op = shape->ops_per_collective - 1; op < shape->n_ops;
	     op += shape->ops_per_collective)
		if (MIN(op / step_ops, shape->n_steps - 1) == step)
			add_gradients(job, rank, op);
	pass.n_gradients = job->graph->gradients->len - pass.first_gradient;
	g_array_append_val(job->graph->passes, pass);
}

TachoGraph *job_graph_new(TachoTimeline *timeline, const struct job_shape *shape)
{
	TachoGraph *graph = graph_new(timeline);
	g_autofree guint32 *first_op = g_new(guint32, MAX(shape->n_ranks, 1u));
	struct job job = { timeline, graph, shape, shape->seed, first_op, 0 };

	job.name = tacho_timeline_intern(timeline, "gloo:all_reduce", -1);
	for (guint32 step = 0; step < shape->n_steps; step++)
		g_array_append_val(graph->steps, step);
	graph->n_cores = shape->n_cores;
	graph->taken_share = graph->taken_by_bytes = shape->taken_share;
	add_ranks(&job);
	for (guint32 rank = 0; rank < shape->n_ranks; rank++)
		add_ops(&job, rank);
	for (guint32 op = shape->ops_per_collective - 1; op < shape->n_ops;
	     op += shape->ops_per_collective)
		add_collective(&job, op);
	for (guint32 rank = 0; rank < shape->n_ranks && shape->gradients_per_collective; rank++)
		for (guint32 step = 0; step < shape->n_steps; step++)
			add_pass(&job, rank, step);
	if (graph->groups->len > 0)
		graph_group_at(graph, 0)->core_wait_ns = shape->core_wait_ns;
	if (shape->gradient_bytes > 0 && shape->gradients_per_collective > 0) {
		struct graph_group *group = graph_group_at(graph, 0);
		gdouble wire_bytes = transfer_wire_bytes(
			OPERATION_ALL_REDUCE,
			shape->gradient_bytes * shape->gradients_per_collective, shape->n_ranks);

		group->cost =
			(struct transfer_cost){ (gdouble)shape->transfer_ns / 8,
						(gdouble)shape->transfer_ns * 7 / 8 / wire_bytes, 2,
						0 };
	}
	graph_renumber(graph);
	return graph;
}
