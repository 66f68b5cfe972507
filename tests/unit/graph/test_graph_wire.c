/* How fast bytes came, as receives tell: on jobs whose pace can be computed by hand. Ranks are on one host, and have its
 * clock. Times are microseconds. */
#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "base/for_each.h"
#include "graph/graph_internal.h"
#include "timeline_text.h"

enum { STEP_US = 1000 };

/* What ranks other than the first get: so many runs of so many calls, `apart_us` from one to the next, on each of the
 * receiver's connections at once. */
struct receives {
	guint n_receivers, n_connections;
	guint n_runs, n_calls;
	guint apart_us;
	const gchar *bytes;
	guint first_us;	    /* when the first run begins */
	gboolean is_paired; /* the sends are there, too, all of rank 0 */
};

static void write_end(GString *text, const gchar *bytes, guint end_us, gboolean is_receive,
		      guint from, guint to, guint connection)
{
	g_string_append_printf(
		text, "message m %u..%u bytes=%s fd=%u%s local=10.0.0.%u:%u peer=10.0.0.%u:%u\n",
		end_us - 1, end_us, bytes, connection + 3, is_receive ? " receive" : "",
		1 + (is_receive ? to : from), 5000 + to * 10 + connection,
		1 + (is_receive ? from : to), 5000 + to * 10 + connection);
}

static void write_ends(GString *text, const struct receives *receives, gboolean is_receive,
		       guint to)
{
	for (guint connection = 0; connection < receives->n_connections; connection++)
		for (guint run = 0; run < receives->n_runs; run++) {
			guint at_us = receives->first_us + run * 100;

			write_end(text, "48", at_us, is_receive, 0, to, connection);
			for (guint i = 0; i < receives->n_calls; i++) {
				at_us += receives->apart_us;
				write_end(text, receives->bytes, at_us, is_receive, 0, to,
					  connection);
			}
		}
}

/* The graph of the job, with these collectives on each rank; the timeline is to be freed after it. */
static TachoGraph *build(const struct receives *receives, const gchar *collectives,
			 TachoTimeline **ret_timeline)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	TachoTimeline *timeline;
	TachoGraph *graph;
	g_autoptr(GError) error = NULL;

	for (guint rank = 0; rank <= receives->n_receivers; rank++) {
		g_string_append_printf(text,
				       "rank %u thread %u main\n"
				       "annotation ProfilerStep#0 0..%d\n"
				       "%s"
				       "thread %u io\n",
				       rank, 1000 + rank, STEP_US, collectives, 2000 + rank);
		if (rank > 0)
			write_ends(text, receives, TRUE, rank);
		for (guint to = 1; rank == 0 && receives->is_paired && to <= receives->n_receivers;
		     to++)
			write_ends(text, receives, FALSE, to);
	}
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
	*ret_timeline = timeline;
	return graph;
}

/* What a byte takes in the group of all, in nanoseconds; 0: that is not known. */
static gdouble pace(const struct receives *receives)
{
	TachoTimeline *timeline;
	TachoGraph *graph =
		build(receives, "collective gloo:all_reduce 10..20 bytes=65536\n", &timeline);
	gdouble ns_per_byte = graph_group_at(graph, 0)->wire_ns_per_byte;

	tacho_graph_free(graph);
	tacho_timeline_free(timeline);
	return ns_per_byte;
}

static void assert_pace(struct receives receives, gdouble expected)
{
	g_assert_cmpfloat_with_epsilon(pace(&receives), expected, 1e-9);
}

/* A call of 8192 bytes every 4 us, the first of each run of which nobody knows since when its bytes came. */
static const struct receives usual = { .n_receivers = 1,
				       .n_connections = 1,
				       .n_runs = 8,
				       .n_calls = 7,
				       .apart_us = 4,
				       .bytes = "8192",
				       .first_us = 50 };
static const gdouble usual_pace = 4000.0 / 8192;

static void test_pace(void)
{
	assert_pace(usual, usual_pace);
	struct receives slow = usual;

	slow.apart_us = 9;
	assert_pace(slow, 9000.0 / 8192);
}

/* Fewer say nothing. */
static void test_too_few(void)
{
	struct receives runs = usual, calls = usual, headers = usual, least = usual;

	runs.n_runs = 7;
	assert_pace(runs, 0);
	calls.n_calls = 5;
	assert_pace(calls, 0);
	calls.n_calls = 6;
	assert_pace(calls, usual_pace);
	headers.bytes = "4095";
	assert_pace(headers, 0);
	least.bytes = "4096";
	assert_pace(least, 4000.0 / 4096);
}

/* All that came to the receiver meanwhile counts; and all that came from its sender, to whomever. */
static void test_shared(void)
{
	struct receives connections = usual, receivers = usual;

	connections.n_connections = 2;
	assert_pace(connections, usual_pace / 2);
	receivers.n_receivers = 3;
	assert_pace(receivers, usual_pace); /* who sent it is not known */
	receivers.is_paired = TRUE;
	assert_pace(receivers, usual_pace / 3);
}

/* What came before the step or after it does not count: runs are 100 apart, and the last begins at 950, 1000 or later. */
static void test_outside(void)
{
	struct receives late = usual;

	late.first_us = 250;
	assert_pace(late, usual_pace);
	late.first_us = 300;
	assert_pace(late, 0);
}

/* Bytes that no sum holds end the run. */
static void test_too_many(void)
{
	struct receives huge = usual;

	huge.bytes = "9223372036854775808";
	assert_pace(huge, 0);
}

/* How long the collective of so many bytes takes in the replay, us. */
static gdouble replayed_us(const TachoGraph *graph, guint64 bytes)
{
	g_autoptr(TachoReplay) replay = tacho_replay_run(graph, NULL);

	FOR_EACH(const struct graph_transfer, transfer, graph->transfers)
		if (transfer->bytes == bytes)
			return (gdouble)(tacho_replay_end_ns(replay, transfer->node) -
					 tacho_replay_begin_ns(replay, transfer->node)) /
			       1000;
	g_assert_not_reached();
}

/* A collective of 32 bytes that ends with a bucket of 200 us of bytes beside it had waited behind those, and waits half as long when
 * they take half as long. One that was alone for as long waited for something else. */
static void test_queued(void)
{
	static const gchar beside[] =
		"collective gloo:all_reduce 600..800 bytes=409600 end_tid=3000\n"
		"collective gloo:all_reduce 600..800 bytes=32 end_tid=3001\n";
	static const gchar alone[] =
		"collective gloo:all_reduce 100..300 bytes=409600 end_tid=3000\n"
		"collective gloo:all_reduce 600..800 bytes=32 end_tid=3001\n";
	TachoTimeline *timelines[2];
	TachoGraph *queued = build(&usual, beside, &timelines[0]);
	TachoGraph *waiting = build(&usual, alone, &timelines[1]);

	g_assert_cmpfloat_with_epsilon(replayed_us(queued, 32), 200, 0.1);
	g_assert_cmpfloat_with_epsilon(replayed_us(waiting, 32), 200, 0.1);
	g_assert_true(tacho_graph_what_if(queued, "bandwidth=2x", NULL));
	g_assert_true(tacho_graph_what_if(waiting, "bandwidth=2x", NULL));
	g_assert_cmpfloat_with_epsilon(replayed_us(queued, 409600), 100, 2);
	g_assert_cmpfloat_with_epsilon(replayed_us(queued, 32), 100, 2);
	g_assert_cmpfloat_with_epsilon(replayed_us(waiting, 32), 200, 0.1);
	tacho_graph_free(queued);
	tacho_graph_free(waiting);
	tacho_timeline_free(timelines[0]);
	tacho_timeline_free(timelines[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_wire/pace", test_pace);
	g_test_add_func("/graph_wire/too_few", test_too_few);
	g_test_add_func("/graph_wire/shared", test_shared);
	g_test_add_func("/graph_wire/outside", test_outside);
	g_test_add_func("/graph_wire/too_many", test_too_many);
	g_test_add_func("/graph_wire/queued", test_queued);
	return g_test_run();
}
