/* What is played of many ranks is what all of them do, each by itself. */
#include <string.h>

#include "graph/graph_unfold.h"
#include "graph/rank_copies.h"
#include "job_graph.h"
#include "replay/replay_internal.h"

static const struct job_shape two_ranks = {
	.n_ranks = 2,
	.ranks_per_host = 1,
	.n_ops = 400,
	.n_steps = 2,
	.op_ns = 20000,
	.ops_per_collective = 20,
	.ops_to_wait = 15,
	.gradient_bytes = 1000000,
	.gradients_per_collective = 2,
	.n_workers = 2,
	.transfer_ns = 150000,
	.seed = 1,
	.n_distinct = 2,
};

/* When the nodes of each lane end, as text: rank, name of the lane, times. */
static GPtrArray *ends_of_lanes(const TachoReplay *replay)
{
	const TachoGraph *graph = replay->graph;
	GPtrArray *lanes = g_ptr_array_new();

	for (guint32 i = 0; i < graph->lanes->len; i++)
		g_ptr_array_add(lanes, g_array_new(FALSE, FALSE, sizeof(gint64)));
	for (guint32 i = 0; i < replay->n_nodes; i++)
		g_array_append_val(
			(GArray *)g_ptr_array_index(lanes, graph_node_at(graph, i)->lane),
			replay->end_ns[i]);
	return lanes;
}

static void free_lanes(GPtrArray *lanes)
{
	for (guint i = 0; i < lanes->len; i++)
		g_array_unref(g_ptr_array_index(lanes, i));
	g_ptr_array_unref(lanes);
}

/* The `nth` lane of a rank. */
static guint32 lane_of(const TachoGraph *graph, guint32 rank_index, guint32 nth)
{
	for (guint32 i = 0; i < graph->lanes->len; i++)
		if (graph_lane_at(graph, i)->rank_index == rank_index && nth-- == 0)
			return i;
	return TACHO_NONE;
}

/* Each lane of each rank ends its nodes when that of the rank that is played for it does. */
static void assert_alike(const TachoReplay *folded, const TachoReplay *unfolded, guint32 n_ranks)
{
	GPtrArray *few = ends_of_lanes(folded), *many = ends_of_lanes(unfolded);
	guint32 n_checked = 0;

	for (guint32 rank = 0; rank < n_ranks; rank++)
		for (guint32 nth = 0;; nth++) {
			guint32 lane = lane_of(folded->graph,
					       rank_copies_played(folded->graph, rank), nth);
			guint32 copy = lane_of(unfolded->graph, rank, nth);
			const GArray *ends, *copies;

			g_assert_cmpuint(lane == TACHO_NONE, ==, copy == TACHO_NONE);
			if (lane == TACHO_NONE)
				break;
			ends = g_ptr_array_index(few, lane);
			copies = g_ptr_array_index(many, copy);
			g_assert_cmpmem(ends->data, ends->len * sizeof(gint64), copies->data,
					copies->len * sizeof(gint64));
			n_checked += ends->len;
		}
	g_assert_cmpuint(n_checked, >, 0);
	free_lanes(few);
	free_lanes(many);
}

static void check_graph(TachoGraph *graph, guint32 n_ranks)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) folded = tacho_replay_run(graph, &error);
	g_autoptr(TachoGraph) unfolded_graph = NULL;
	g_autoptr(TachoReplay) unfolded = NULL;
	g_autoptr(GArray) few_steps = NULL, many_steps = NULL;

	g_assert_no_error(error);
	unfolded_graph = graph_unfold(graph, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(graph_n_ranks(unfolded_graph), ==, n_ranks);
	unfolded = tacho_replay_run(unfolded_graph, &error);
	g_assert_no_error(error);
	assert_alike(folded, unfolded, n_ranks);
	many_steps = replay_step_times(unfolded);
	few_steps = replay_step_times(folded);
	g_assert_cmpuint(many_steps->len, ==, few_steps->len);
	g_assert_cmpmem(few_steps->data, few_steps->len * sizeof(gint64), many_steps->data,
			many_steps->len * sizeof(gint64));
}

static void check_job(const struct job_shape *shape, guint32 n_ranks)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, shape);
	g_autofree gchar *ranks = g_strdup_printf("ranks=%u", n_ranks);

	g_assert_true(tacho_graph_what_if(graph, ranks, NULL));
	check_graph(graph, n_ranks);
	g_assert_true(tacho_graph_what_if(graph, "bucket_mb=1.5", NULL));
	g_assert_true(tacho_graph_what_if(graph, "straggler:1=1.3", NULL));
	check_graph(graph, n_ranks);
	g_assert_true(tacho_graph_what_if(graph, "straggler:0-1=1.1", NULL));
	check_graph(graph, n_ranks);
	g_assert_true(tacho_graph_what_if(graph, "bucket_mb=3", NULL));
	check_graph(graph, n_ranks);
}

/* As many ranks as recorded, some times as many, and some more. */
static void test_job(void)
{
	static const struct {
		guint32 n_workers, n_cores;
		gdouble taken_share;
	} shapes[] = { { 1, 0, 0 }, { 2, 0, 0 }, { 1, 0, 0.2 }, { 2, 0, 0.2 }, { 2, 1, 0.2 } };

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		struct job_shape shape = two_ranks;

		shape.n_workers = shapes[i].n_workers;
		shape.n_cores = shapes[i].n_cores;
		shape.taken_share = shapes[i].taken_share;
		shape.core_wait_ns = i == 3 ? 5000 : 0;
		check_job(&shape, 2);
		check_job(&shape, 6);
		check_job(&shape, 7);
		shape.n_ranks = shape.n_distinct = 3;
		check_job(&shape, 9);
	}
}

/* Nodes that are not numbered in the order of a walk. */
static void test_unsorted(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &two_ranks);

	g_assert_true(tacho_graph_what_if(graph, "ranks=6", NULL));
	for (guint32 i = 0; i < graph->nodes->len; i++)
		graph_node_at(graph, i)->begin_ns *= -1;
	graph_renumber(graph);
	for (guint32 i = 0; i < graph->nodes->len; i++)
		graph_node_at(graph, i)->begin_ns *= -1;
	g_assert_true(graph_freeze(graph, NULL));
	g_assert_nonnull(graph->order);
	check_graph(graph, 6);
}

/* Every second all-reduce is of a group that is not of all ranks: each pair has one of its own, so two ranks can be six,
 * and not seven. */
static void test_groups(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &two_ranks);
	guint32 n_transfers = graph->transfers->len;
	struct graph_group pair;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoGraph) unfolded = NULL;

	g_assert_true(tacho_graph_what_if(graph, "ranks=6", &error));
	pair = *graph_group_at(graph, 0);
	pair.is_resized = FALSE;
	pair.n_ranks = 2;
	g_array_append_val(graph->groups, pair);
	for (guint32 i = 1; i < n_transfers; i += 2)
		graph_transfer_at(graph, i)->group = 1;
	g_assert_true(graph_freeze(graph, &error));
	check_graph(graph, 6);
	unfolded = graph_unfold(graph, &error);
	g_assert_cmpuint(unfolded->groups->len, ==, 1 + 3);
	g_assert_cmpuint(unfolded->transfers->len, ==, n_transfers / 2 * (1 + 3));
	g_clear_pointer(&unfolded, tacho_graph_free);
	graph_group_at(graph, 0)->n_ranks = 7;
	unfolded = graph_unfold(graph, &error);
	g_assert_null(unfolded);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, "7 ranks"));
}

/* Four thousand million nodes have no numbers. */
static void test_too_many(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct job_shape shape = two_ranks;
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(TachoGraph) unfolded = NULL;
	g_autoptr(GError) error = NULL;

	shape.n_ops = 10000;
	graph = job_graph_new(timeline, &shape);
	g_assert_true(tacho_graph_what_if(graph, "ranks=1000000", NULL));
	unfolded = graph_unfold(graph, &error);
	g_assert_null(unfolded);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE);
}

/* Times of the nodes on the lane of `rank`'s thread, in order. */
static GArray *ends_of(const TachoReplay *replay, guint32 rank)
{
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 i = 0; i < replay->n_nodes; i++)
		if (graph_node_at(replay->graph, i)->lane == rank)
			g_array_append_val(ends, replay->end_ns[i]);
	return ends;
}

/* Two ranks asked to be six give what six give that do as the two do. */
static void check_copies(const struct job_shape *shape)
{
	g_autoptr(TachoTimeline) few_timeline = tacho_timeline_new();
	g_autoptr(TachoTimeline) many_timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) few = job_graph_new(few_timeline, shape);
	struct job_shape many_shape = *shape;
	g_autoptr(TachoGraph) many = NULL;
	g_autoptr(TachoReplay) few_replay = NULL, many_replay = NULL;
	g_autoptr(GError) error = NULL;

	many_shape.n_ranks = 6;
	many = job_graph_new(many_timeline, &many_shape);
	g_assert_true(tacho_graph_what_if(few, "ranks=6", &error));
	g_assert_cmpuint(few->transfers->len, ==, many->transfers->len);
	for (guint32 i = 0; i < few->transfers->len; i++)
		graph_set_transfer(many, i, graph_transfer_at(few, i)->fixed_ns,
				   graph_transfer_at(few, i)->work_ns);
	g_assert_true(graph_freeze(many, &error));
	few_replay = tacho_replay_run(few, &error);
	many_replay = tacho_replay_run(many, &error);
	g_assert_no_error(error);
	for (guint32 rank = 0; rank < many_shape.n_ranks; rank++) {
		g_autoptr(GArray) few_ends = ends_of(few_replay, rank % 2);
		g_autoptr(GArray) many_ends = ends_of(many_replay, rank);

		g_assert_cmpmem(few_ends->data, few_ends->len * sizeof(gint64), many_ends->data,
				many_ends->len * sizeof(gint64));
	}
}

static void test_copies(void)
{
	struct job_shape shape = two_ranks;

	check_copies(&shape);
	shape.taken_share = 0.2;
	check_copies(&shape);
	shape.n_workers = 1;
	check_copies(&shape);
	shape.taken_share = 0;
	check_copies(&shape);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_unfold/copies", test_copies);
	g_test_add_func("/graph_unfold/job", test_job);
	g_test_add_func("/graph_unfold/unsorted", test_unsorted);
	g_test_add_func("/graph_unfold/groups", test_groups);
	g_test_add_func("/graph_unfold/too_many", test_too_many);
	return g_test_run();
}
