/* Ranks that are changed and were not recorded: what is played of the copies is what they do, each by itself. */
#include <string.h>

#include "graph/graph_split.h"
#include "graph/graph_unfold.h"
#include "graph/rank_copies.h"
#include "job_graph.h"
#include "replay/replay_internal.h"

#define N_RANKS 6

static const struct job_shape two_ranks = {
	.n_ranks = 2,
	.ranks_per_host = 1,
	.n_ops = 200,
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

static void make(TachoGraph *graph, const gchar *changes)
{
	g_auto(GStrv) list = g_strsplit(changes, " ", -1);
	g_autoptr(GError) error = NULL;

	for (guint i = 0; list[i]; i++) {
		tacho_graph_what_if(graph, list[i], &error);
		g_assert_no_error(error);
	}
}

static TachoGraph *copies_of_two(TachoTimeline *timeline, const struct job_shape *shape)
{
	TachoGraph *graph = job_graph_new(timeline, shape);

	g_assert_true(tacho_graph_what_if(graph, "ranks=6", NULL));
	return graph;
}

/* Six ranks that were recorded, and do what the copies do. */
static TachoGraph *six_recorded(TachoTimeline *timeline, const struct job_shape *shape,
				const TachoGraph *copies)
{
	struct job_shape many = *shape;
	TachoGraph *graph;

	many.n_ranks = N_RANKS;
	graph = job_graph_new(timeline, &many);
	g_assert_cmpuint(copies->transfers->len, ==, graph->transfers->len);
	for (guint32 i = 0; i < copies->transfers->len; i++)
		graph_set_transfer(graph, i, graph_transfer_at(copies, i)->fixed_ns,
				   graph_transfer_at(copies, i)->work_ns);
	graph_group_at(graph, 0)->cost = graph_group_at(copies, 0)->cost;
	g_assert_true(graph_freeze(graph, NULL));
	return graph;
}

/* Ends of the rank's own nodes, in order. */
static GArray *ends_of(const TachoReplay *replay, guint32 rank_index)
{
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 i = 0; i < replay->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(replay->graph, i);
		const struct graph_lane *lane = graph_lane_at(replay->graph, node->lane);

		if (lane->rank_index == rank_index && lane->is_main)
			g_array_append_val(ends, replay->end_ns[i]);
	}
	return ends;
}

static TachoReplay *play(const TachoGraph *graph)
{
	g_autoptr(GError) error = NULL;
	TachoReplay *replay = tacho_replay_run(graph, &error);

	g_assert_no_error(error);
	return replay;
}

static void assert_same(const TachoReplay *few, const TachoReplay *many)
{
	g_autoptr(GArray) few_steps = replay_step_times(few), many_steps = replay_step_times(many);

	for (guint32 rank = 0; rank < N_RANKS; rank++) {
		g_autoptr(GArray) a = ends_of(few, rank_copies_played(few->graph, rank));
		g_autoptr(GArray) b = ends_of(many, rank);

		g_assert_cmpuint(a->len, >, 0);
		g_assert_cmpmem(a->data, a->len * sizeof(gint64), b->data, b->len * sizeof(gint64));
	}
	g_assert_cmpmem(few_steps->data, few_steps->len * sizeof(gint64), many_steps->data,
			many_steps->len * sizeof(gint64));
}

/* The changes of copies, of six ranks that were recorded, and of each copy by itself give the same. */
static guint32 check(const struct job_shape *shape, const gchar *changes)
{
	g_autoptr(TachoTimeline) few_timeline = tacho_timeline_new();
	g_autoptr(TachoTimeline) many_timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) few = copies_of_two(few_timeline, shape);
	g_autoptr(TachoGraph) many = six_recorded(many_timeline, shape, few);
	g_autoptr(TachoGraph) unfolded = NULL;
	g_autoptr(TachoReplay) few_replay = NULL, many_replay = NULL, unfolded_replay = NULL;

	make(few, changes);
	make(many, changes);
	few_replay = play(few);
	many_replay = play(many);
	assert_same(few_replay, many_replay);
	unfolded = graph_unfold(few, NULL);
	unfolded_replay = play(unfolded);
	assert_same(few_replay, unfolded_replay);
	return graph_n_own_ranks(few) / 2;
}

static void check_shape(const struct job_shape *shape)
{
	/* one copy: its set, and the two that stay */
	g_assert_cmpuint(check(shape, "straggler:3=1.5"), ==, 2);
	/* both of a set, then one of two sets, of which one is that */
	g_assert_cmpuint(check(shape, "straggler:2-3=1.5 straggler:3,5=1.2"), ==, 3);
	/* all of one rank: nothing is to be told apart, and then the sets are */
	g_assert_cmpuint(check(shape, "straggler:0,2,4=1.5"), ==, 1);
	g_assert_cmpuint(check(shape, "straggler:0=1.1 straggler:2=1.2 straggler:4=1.3"), ==, 3);
	g_assert_cmpuint(check(shape, "straggler:5=2 bucket_mb=1.5 bandwidth=0.5x latency=2x"), ==,
			 2);
	g_assert_cmpuint(check(shape, "straggler:5=2 accumulate=3 straggler:0=1.5"), ==, 3);
	g_assert_cmpuint(check(shape, "straggler:5=2 partition_mb=0.4 algorithm=tree"), ==, 2);
}

static void test_same(void)
{
	struct job_shape shape = two_ranks;

	check_shape(&shape);
	shape.taken_share = 0.2;
	check_shape(&shape);
	shape.n_workers = 1;
	check_shape(&shape);
	shape.taken_share = 0;
	check_shape(&shape);
	shape.n_cores = 1;
	check_shape(&shape);
}

/* Fast ranks wait for the slow one: all have what the slow one needs for its own work, and what moving takes. */
static void test_all_wait(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = copies_of_two(timeline, &two_ranks);
	g_autoptr(TachoReplay) before = play(graph), after = NULL;
	gdouble before_ns = replay_median_step_ns(before), after_ns;

	make(graph, "straggler:5=10");
	after = play(graph);
	after_ns = replay_median_step_ns(after);
	g_assert_cmpfloat(after_ns, >,
			  5 * before_ns); /* ten times its work, and the same transfers */
	g_assert_cmpint(graph_node_rank(graph, graph->nodes->len - 1), <, N_RANKS);
}

/* Seven of two: the last has nobody beside it. */
static void test_last(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = job_graph_new(timeline, &two_ranks);
	g_autofree guint32 *weights = NULL;
	g_autoptr(TachoGraph) unfolded = NULL;
	g_autoptr(TachoReplay) few = NULL, many = NULL;
	g_autoptr(GError) error = NULL;

	make(graph, "ranks=7 straggler:6=3 bucket_mb=1.5");
	weights = rank_copies_weights(graph);
	g_assert_cmpuint(graph_n_own_ranks(graph), ==, 4);
	g_assert_cmpuint(weights[0], ==, 3);
	g_assert_cmpuint(weights[1], ==, 3);
	g_assert_cmpuint(weights[2], ==, 1);
	g_assert_cmpuint(weights[3], ==, 0);
	g_assert_cmpint(rank_copies_number(graph, 2), ==, 6);
	few = play(graph);
	unfolded = graph_unfold(graph, &error);
	g_assert_no_error(error);
	many = play(unfolded);
	g_assert_cmpfloat(replay_median_step_ns(few), ==, replay_median_step_ns(many));
	for (guint32 i = 0; i < graph->lanes->len; i++)
		g_assert_cmpuint(graph_lane_at(graph, i)->rank_index, !=, 3);
}

/* Every second all-reduce is of a pair: who is changed takes its partner along, and with seven ranks one has none. */
static void test_partners(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = copies_of_two(timeline, &two_ranks);
	g_autoptr(TachoGraph) unfolded = NULL;
	g_autoptr(TachoReplay) few = NULL, many = NULL;
	struct graph_group pair = *graph_group_at(graph, 0);
	g_autoptr(GError) error = NULL;

	pair.is_resized = FALSE;
	pair.n_ranks = 2;
	g_array_append_val(graph->groups, pair);
	for (guint32 i = 1; i < graph->transfers->len; i += 2)
		graph_transfer_at(graph, i)->group = 1;
	g_assert_true(graph_freeze(graph, NULL));
	graph_group_at(graph, 0)->n_ranks = 7;
	g_assert_false(tacho_graph_what_if(graph, "straggler:6=2", &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_assert_nonnull(strstr(error->message, "the last of 7 ranks"));
	g_clear_error(&error);
	graph_group_at(graph, 0)->n_ranks = 6;
	make(graph, "straggler:3=2");
	g_assert_cmpuint(graph->groups->len, ==, 3);
	few = play(graph);
	unfolded = graph_unfold(graph, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(unfolded->groups->len, ==, 1 + 3);
	many = play(unfolded);
	assert_same(few, many);
}

/* Its ranks are numbered behind this job's. */
static void refuse_beside_job(TachoGraph *graph)
{
	struct graph_guest guest = { .first_rank = 2 };
	g_autoptr(GError) error = NULL;

	g_array_append_val(graph->guests, guest);
	g_assert_false(tacho_graph_what_if(graph, "straggler:3=2", &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
	g_assert_nonnull(strstr(error->message, "come before jobs="));
	g_array_set_size(graph->guests, 0);
}

/* What would not be numbered is not begun. The tables only say that they are so long. */
static void test_too_many(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = copies_of_two(timeline, &two_ranks);
	const guint8 is_meant[N_RANKS] = { [3] = 1 };
	guint *const lengths[] = { &graph->nodes->len, &graph->edges->len, &graph->lanes->len };
	const guint most[] = { GRAPH_MAX_NODES / 2, GRAPH_MAX_NODES / 2, GRAPH_MAX_LANES / 2 + 1 };

	for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
		guint length = *lengths[i];
		g_autoptr(GError) error = NULL;

		*lengths[i] = i == 1 ? most[i] - graph->nodes->len : most[i];
		g_assert_null(graph_split(graph, is_meant, &error));
		g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_SIZE);
		*lengths[i] = length;
	}
}

static void test_refusals(void)
{
	static const struct {
		const gchar *what_if, *reason;
	} cases[] = {
		{ "straggler:6=2", "no rank 6" },
		{ "straggler:4-6=2", "no rank 6" },
		{ "straggler:3-2=2", "as 4, 4-7" },
		{ "straggler:3-=2", "as 4, 4-7" },
		{ "straggler:3,=2", "as 4, 4-7" },
		{ "straggler:3:op~x=2", "as 4, 4-7" },
		{ "straggler:99999999999999999999=2", "no rank" },
		{ "scale:3:collective~x=2", "to all its ranks" },
		{ "device:H100", "device:RANKS=NAME" },
	};
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(TachoGraph) graph = copies_of_two(timeline, &two_ranks);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(tacho_graph_what_if(graph, cases[i].what_if, &error));
		g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
		g_test_message("%s", error->message);
		g_assert_nonnull(strstr(error->message, cases[i].reason));
	}
	refuse_beside_job(graph);
	make(graph, "straggler:3=2");
	g_assert_false(tacho_graph_what_if(graph, "ranks=8", NULL));
	/* what is refused may have told ranks apart, and can be played */
	g_assert_false(tacho_graph_what_if(graph, "scale:5:op~x=2", NULL));
	tacho_replay_free(play(graph));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_split/same", test_same);
	g_test_add_func("/graph_split/all_wait", test_all_wait);
	g_test_add_func("/graph_split/last", test_last);
	g_test_add_func("/graph_split/partners", test_partners);
	g_test_add_func("/graph_split/too_many", test_too_many);
	g_test_add_func("/graph_split/refusals", test_refusals);
	return g_test_run();
}
