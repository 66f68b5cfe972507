/* Who has how much of a link, by hand: two jobs, links of 20 ns a byte, so that TCP's slow start ends with 300,000 bytes under way. */
#include <glib.h>

#include "graph/graph_internal.h"

#define NS_PER_BYTE 20

enum { OUT_A, IN_B, OUT_C, N_LINKS };

struct fixture {
	TachoGraph *graph;
	struct link_load *loads;
};

static void add_group(TachoGraph *graph, guint32 job, guint32 first, guint32 second)
{
	static const gchar *const directions[N_LINKS] = { "out", "in", "out" };
	struct graph_group group = { .n_ranks = 2, .job = job };
	guint32 index = graph->groups->len;

	g_array_append_val(graph->groups, group);
	graph_add_group_link(graph, index, first, directions[first]);
	graph_add_group_link(graph, index, second, directions[second]);
}

static struct fixture fixture_new(TachoTimeline *timeline)
{
	struct fixture fixture = { .graph = graph_new(timeline) };
	struct graph_guest guest = { .n_ranks = 3, .n_steps = 1 };

	g_array_append_val(fixture.graph->guests, guest);
	add_group(fixture.graph, 0, OUT_A, IN_B); /* this job's */
	add_group(fixture.graph, 1, OUT_A, IN_B); /* the other one's */
	add_group(fixture.graph, 1, OUT_C, IN_B);
	fixture.loads = g_new0(struct link_load, graph_n_loads(fixture.graph));
	return fixture;
}

static void fixture_release(struct fixture *fixture)
{
	g_free(fixture->loads);
	tacho_graph_free(fixture->graph);
}

/* On its links; it waits for fixed_ns beside its bytes. Returns its index. */
static guint32 add(struct fixture *fixture, guint32 group, gboolean is_hop, guint64 bytes,
		   gdouble fixed_ns)
{
	struct graph_transfer transfer = {
		.group = group,
		.n_ranks = 2,
		.is_hop = is_hop,
		.bytes = bytes,
		.fixed_ns = fixed_ns,
		.work_ns = NS_PER_BYTE * (gdouble)bytes,
		.name = tacho_timeline_intern(fixture->graph->timeline,
					      is_hop ? "hop" : "gloo:all_reduce", -1),
	};

	g_array_append_val(fixture->graph->transfers, transfer);
	graph_change_load(fixture->graph, &transfer, 1, fixture->loads);
	return fixture->graph->transfers->len - 1;
}

static void assert_sharing(const struct fixture *fixture, guint32 transfer, gdouble n_own,
			   gdouble n_all)
{
	struct graph_sharing sharing = graph_n_sharing(
		fixture->graph, graph_transfer_at(fixture->graph, transfer), fixture->loads, 1);

	g_assert_cmpfloat_with_epsilon(sharing.n_own, n_own, 1e-9);
	g_assert_cmpfloat_with_epsilon(sharing.n_all, n_all, 1e-9);
}

/* A ring of two passes 200,000 bytes in four segments, of which two are under way; of a hop, half of it is, on average. The other job
 * has a hop of `bytes`, that waits for fixed_ns; the ring has the link to a share of 1 / n_all. */
static void assert_beside_hop(guint64 bytes, gdouble fixed_ns, gdouble n_all)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct fixture fixture = fixture_new(timeline);
	guint32 ring = add(&fixture, 0, FALSE, 200000, 0);

	assert_sharing(&fixture, ring, 1, 1);
	add(&fixture, 1, TRUE, bytes, fixed_ns);
	assert_sharing(&fixture, ring, 1, n_all);
	fixture_release(&fixture);
}

static void test_in_flight(void)
{
	assert_beside_hop(200000, 0, 2);
	assert_beside_hop(400000, 0, 3);
	/* it is there for half of the time alone */
	assert_beside_hop(400000, NS_PER_BYTE * 400000, 2);
}

static void test_slow_start(void)
{
	/* of the million bytes that half of it are, 300,000 wait before the link */
	assert_beside_hop(2000000, 0, 4);
}

/* Two large hops from one host have the window of one: what they keep waiting before the link is as much. */
static void test_one_queue(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct fixture fixture = fixture_new(timeline);
	guint32 ring = add(&fixture, 0, FALSE, 200000, 0), hop;

	hop = add(&fixture, 1, TRUE, 2000000, 0);
	add(&fixture, 1, TRUE, 2000000, 0);
	assert_sharing(&fixture, ring, 1, 4);
	/* two of a job have half each of what it has, and the ring a third of that beside it */
	assert_sharing(&fixture, hop, 2, 2 * (1 + 1.0 / 3));
	fixture_release(&fixture);
}

/* Two hosts send to one: twice as fast as its link is, so half of what they have under way waits before that, two halves of a
 * million. */
static void test_several_senders(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct fixture fixture = fixture_new(timeline);
	guint32 ring = add(&fixture, 0, FALSE, 200000, 0), hop;

	hop = add(&fixture, 1, TRUE, 2000000, 0);
	add(&fixture, 2, TRUE, 2000000, 0);
	assert_sharing(&fixture, ring, 1, 1 + 10);
	assert_sharing(&fixture, hop, 2, 2 * (1 + 0.1));
	fixture_release(&fixture);
}

/* What leaves is as if it had not been. */
static void test_leaving(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct fixture fixture = fixture_new(timeline);
	guint32 ring = add(&fixture, 0, FALSE, 200000, 0);
	guint32 hop = add(&fixture, 2, TRUE, 2000000, 1000);

	graph_change_load(fixture.graph, graph_transfer_at(fixture.graph, hop), -1, fixture.loads);
	assert_sharing(&fixture, ring, 1, 1);
	for (gsize i = 0; i < graph_n_loads(fixture.graph); i++)
		g_assert_cmpuint(fixture.loads[i].n_hops, ==, 0);
	fixture_release(&fixture);
}

/* Kernels of devices tell nothing of what they have under way: each counts alike. */
static void test_devices(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct fixture fixture = fixture_new(timeline);
	struct graph_transfer kernel = {
		.group = 1, .n_ranks = 2, .is_device = TRUE, .bytes = 1, .work_ns = 1
	};
	guint32 ring = add(&fixture, 0, FALSE, 200000, 0);

	graph_change_load(fixture.graph, &kernel, 1, fixture.loads);
	graph_change_load(fixture.graph, &kernel, 1, fixture.loads);
	assert_sharing(&fixture, ring, 1, 3);
	fixture_release(&fixture);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_loads/in_flight", test_in_flight);
	g_test_add_func("/graph_loads/slow_start", test_slow_start);
	g_test_add_func("/graph_loads/one_queue", test_one_queue);
	g_test_add_func("/graph_loads/several_senders", test_several_senders);
	g_test_add_func("/graph_loads/leaving", test_leaving);
	g_test_add_func("/graph_loads/devices", test_devices);
	return g_test_run();
}
