/* What bounds two clocks beside collectives and messages: hops of collectives, and servers of parameters. Times in
 * milliseconds; the second host's clock is 5 s ahead. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

#define MS G_GINT64_CONSTANT(1000000)

static const TachoClock *clock_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->clocks, TachoClock, index);
}

static void add_hop(TachoTimeline *timeline, const gchar *name, const gchar *collective, guint nth,
		    gint32 peer, gboolean is_receive, TachoHopWay way, guint32 step)
{
	TachoHop hop = { .slice = timeline_find(timeline, name, 0),
			 .collective =
				 collective ? timeline_find(timeline, collective, nth) : TACHO_NONE,
			 .peer = peer,
			 .step = step,
			 .fed_by = -1,
			 .is_receive = is_receive != FALSE,
			 .way = way };

	g_array_append_val(timeline->hops, hop);
}

/* A broadcast bounds nothing by itself; two of its hops do, one each way. The third has only one end, the fourth has
 * two of the same end. */
static void test_hops(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 host=a thread 1 main\n"
				   " op out 12..13\n"
				   " op in 14..18\n"
				   " op lone 18..19\n"
				   " op twice 18..19\n"
				   " op again 18..19\n"
				   " collective broadcast 10..20\n"
				   "rank 1 host=b thread 2 main\n"
				   " op got 5011..5014\n"
				   " op back 5015..5016\n"
				   " op took 5018..5019\n"
				   " collective broadcast 5010..5020\n");

	add_hop(timeline, "out", "broadcast", 0, 1, FALSE, TACHO_HOP_RING, 0);
	add_hop(timeline, "got", "broadcast", 1, 0, TRUE, TACHO_HOP_RING, 0);
	add_hop(timeline, "back", "broadcast", 1, 0, FALSE, TACHO_HOP_RING, 1);
	add_hop(timeline, "in", "broadcast", 0, 1, TRUE, TACHO_HOP_RING, 1);
	add_hop(timeline, "lone", "broadcast", 0, 1, FALSE, TACHO_HOP_RING, 2);
	add_hop(timeline, "twice", "broadcast", 0, 1, FALSE, TACHO_HOP_RING, 3);
	add_hop(timeline, "again", "broadcast", 0, 1, FALSE, TACHO_HOP_RING, 3);
	add_hop(timeline, "took", "broadcast", 1, 0, TRUE, TACHO_HOP_RING, 3);
	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpint(clock_at(timeline, 1)->evidence, ==, TACHO_CLOCK_BY_HOPS);
	g_assert_cmpuint(clock_at(timeline, 1)->n_bounds, ==, 2);
	/* sent at 12, there by 5014: not more than 5002 ahead; sent at 5015, back by 18: not less than 4997 */
	g_assert_cmpint(ABS(clock_at(timeline, 1)->offset_ns - 5000 * MS), <, 3 * MS);
	g_assert_cmpint(clock_at(timeline, 1)->inner_uncertainty_ns, <, 3 * MS);
	g_assert_cmpint(clock_at(timeline, 1)->inner_uncertainty_ns, >, 2 * MS);
}

static TachoTimeline *make_servers(gboolean is_second_alone)
{
	TachoTimeline *timeline = timeline_from_text("rank 0 host=a thread 1 main\n"
						     " op push0 10..14\n"
						     " op pull0 20..26\n"
						     " collective pushpull 10..26\n"
						     "rank 1 host=b thread 2 main\n"
						     " op push1 5010..5015\n"
						     " op pull1 5020..5025\n"
						     " collective pushpull 5010..5026\n"
						     "process 9 host=c thread 3 server\n"
						     " op got0 111..112\n"
						     " op got1 113..114\n"
						     " op give0 123..124\n"
						     " op give1 124..125\n");

	if (!is_second_alone) {
		add_hop(timeline, "push0", "pushpull", 0, -1, FALSE, TACHO_HOP_SERVER, 0);
		add_hop(timeline, "pull0", "pushpull", 0, -1, TRUE, TACHO_HOP_SERVER, 1);
	}
	add_hop(timeline, "push1", "pushpull", 1, -1, FALSE, TACHO_HOP_SERVER, 0);
	add_hop(timeline, "pull1", "pushpull", 1, -1, TRUE, TACHO_HOP_SERVER, 1);
	add_hop(timeline, "got0", NULL, 0, 0, TRUE, TACHO_HOP_SERVER, 0);
	add_hop(timeline, "give0", NULL, 0, 0, FALSE, TACHO_HOP_SERVER, 1);
	add_hop(timeline, "got1", NULL, 0, 1, TRUE, TACHO_HOP_SERVER, 0);
	add_hop(timeline, "give1", NULL, 0, 1, FALSE, TACHO_HOP_SERVER, 1);
	return timeline;
}

/* The server's clock is 100 ahead: it began to handle what a worker pushed or pulled while that did so. */
static void test_servers(void)
{
	g_autoptr(TachoTimeline) timeline = make_servers(FALSE);
	const TachoClock *server = clock_at(timeline, 2);

	tacho_correlate(timeline);
	g_assert_cmpint(server->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpint(server->evidence, ==, TACHO_CLOCK_BY_HOPS);
	g_assert_cmpuint(server->n_bounds, ==, 4);
	/* of push0: from 97 to 101 ahead; of pull0: from 97 to 103 */
	g_assert_cmpint(ABS(server->offset_ns - 99 * MS), <, 2 * MS);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_ALIGNED);
}

/* Where a worker is not there, nobody knows which of the server's are whose. */
static void test_lacking_worker(void)
{
	g_autoptr(TachoTimeline) timeline = make_servers(TRUE);

	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 2)->state, ==, TACHO_CLOCK_APART);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==,
			TACHO_CLOCK_ALIGNED); /* by the collective */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock-evidence/hops", test_hops);
	g_test_add_func("/clock-evidence/servers", test_servers);
	g_test_add_func("/clock-evidence/lacking-worker", test_lacking_worker);
	return g_test_run();
}
