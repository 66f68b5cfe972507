/* Sets of cores that are played ahead of each other give, to the bit, what the order of time gives: trials begin from
 * a replay in that order. */
#include "job_graph.h"
#include "replay/replay_trial.h"

#define N_JOBS 150

/* Few nanoseconds an operation make rounding, and ends at one time, the rule. */
static struct job_shape random_shape(void)
{
	struct job_shape shape = {
		.n_ranks = (guint32)g_test_rand_int_range(1, 10),
		.ranks_per_host = (guint32)g_test_rand_int_range(1, 5),
		.n_ops = (guint32)g_test_rand_int_range(30, 400),
		.n_steps = 2,
		.op_ns = g_test_rand_bit() ? g_test_rand_int_range(1, 6)
					   : g_test_rand_int_range(6, 30000),
		.ops_per_collective = (guint32)g_test_rand_int_range(5, 60),
		.ops_to_wait = (guint32)g_test_rand_int_range(1, 80),
		.n_workers = (guint32)g_test_rand_int_range(2, 4),
		.n_distinct = (guint32)g_test_rand_int_range(0, 3),
		.seed = (guint32)g_test_rand_int(),
	};

	shape.transfer_ns = shape.op_ns * g_test_rand_int_range(0, 60);
	shape.taken_share = g_test_rand_double_range(0.01, 0.5);
	shape.n_cores = g_test_rand_bit() ? 0 : (guint32)g_test_rand_int_range(1, 6);
	if (g_test_rand_bit())
		shape.core_wait_ns = g_test_rand_double_range(0, 0.2) * (gdouble)shape.transfer_ns;
	return shape;
}

/* Some that take no time, or hardly any. */
static void shorten_some(TachoGraph *graph)
{
	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (graph_node_at(graph, i)->kind == TACHO_NODE_OP &&
		    g_test_rand_int_range(0, 8) == 0)
			graph_node_at(graph, i)->duration_ns = g_test_rand_int_range(0, 2);
}

static guint32 random_op(const TachoGraph *graph)
{
	guint32 node;

	do
		node = (guint32)g_test_rand_int_range(0, (gint)graph->nodes->len);
	while (graph_node_at(graph, node)->kind != TACHO_NODE_OP);
	return node;
}

/* Operations that begin later never come before: whatever is between them goes forward. */
static gboolean is_later(const TachoGraph *graph, guint32 node, guint32 other)
{
	return graph_node_at(graph, node)->begin_ns > graph_node_at(graph, other)->begin_ns;
}

/* Ranks that wait for others in the middle of what they do. */
static void let_ranks_wait(TachoGraph *graph)
{
	for (gint i = g_test_rand_int_range(0, 30); i > 0; i--) {
		guint32 from = random_op(graph), to = random_op(graph);

		if (is_later(graph, to, from))
			graph_add_edge(graph, from, to, TACHO_EDGE_THREAD);
	}
}

/* Work of another thread, of no thread, or of the device, which an operation of the rank may wait for. */
static void add_threads(TachoGraph *graph, const struct job_shape *shape)
{
	static const TachoNodeKind kinds[] = { TACHO_NODE_OP, TACHO_NODE_HOST, TACHO_NODE_GAP,
					       TACHO_NODE_DEVICE };

	for (gint i = g_test_rand_int_range(0, 40); i > 0; i--) {
		guint32 from = random_op(graph), to = random_op(graph), index;
		struct graph_node node = *graph_node_at(graph, from);

		node.kind = kinds[g_test_rand_int_range(0, G_N_ELEMENTS(kinds))];
		node.duration_ns = g_test_rand_int_range(0, (gint)(4 * shape->op_ns));
		index = graph_add_node(graph, node);
		graph_add_edge(graph, from, index, TACHO_EDGE_THREAD);
		if (is_later(graph, to, from) && graph_node_at(graph, to)->lane == node.lane)
			graph_add_edge(graph, index, to, TACHO_EDGE_THREAD);
	}
}

static void assert_same_replay(const TachoReplay *a, const TachoReplay *b)
{
	gsize n = a->n_nodes;

	g_assert_cmpuint(a->n_nodes, ==, b->n_nodes);
	g_assert_cmpmem(a->begin_ns, n * sizeof(gint64), b->begin_ns, n * sizeof(gint64));
	g_assert_cmpmem(a->end_ns, n * sizeof(gint64), b->end_ns, n * sizeof(gint64));
	g_assert_cmpmem(a->cause, n * sizeof(guint32), b->cause, n * sizeof(guint32));
}

static void check_job(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct job_shape shape = random_shape();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &shape);
	g_autoptr(TachoReplay) ahead = NULL;
	struct trial_base *in_order;

	shorten_some(graph);
	let_ranks_wait(graph);
	add_threads(graph, &shape);
	graph->device_taken_share = g_test_rand_bit() ? 0 : 0.3;
	graph_group_at(graph, 0)->is_device = graph->device_taken_share > 0 && g_test_rand_bit();
	graph_renumber(graph);
	g_assert_true(graph_freeze(graph, NULL));
	g_assert_true(graph->is_shared);
	ahead = tacho_replay_run(graph, NULL);
	in_order = trial_base_new(graph, NULL);
	g_assert_nonnull(ahead);
	g_assert_nonnull(in_order);
	assert_same_replay(ahead, trial_base_borrow_replay(in_order));
	trial_base_free(in_order);
}

static void test_ahead(void)
{
	for (guint i = 0; i < N_JOBS; i++)
		check_job();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared_cores/ahead", test_ahead);
	return g_test_run();
}
