/* What devices did, as a graph, node by node. Dumps are in microseconds. */
#include <stdlib.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/graph.h>
#include <tacho/replay.h>

#include "graph/graph_internal.h"
#include "timeline_text.h"

struct built {
	TachoTimeline *timeline;
	TachoGraph *graph;
	TachoReplay *replay;
};

/* The graph of a text, played: each node where it was measured. */
static struct built build(const gchar *text)
{
	g_autoptr(GError) error = NULL;
	struct built built = { timeline_from_text(text), NULL, NULL };

	tacho_correlate(built.timeline);
	built.graph = tacho_graph_build(built.timeline, -1, -1, &error);
	g_assert_no_error(error);
	built.replay = tacho_replay_run(built.graph, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < tacho_graph_n_nodes(built.graph); i++)
		g_assert_cmpint(tacho_replay_begin_ns(built.replay, i), ==,
				graph_node_at(built.graph, i)->begin_ns);
	return built;
}

static void built_release(struct built *built)
{
	tacho_replay_free(built->replay);
	tacho_graph_free(built->graph);
	tacho_timeline_free(built->timeline);
}

/* The nodes of streams, and what threads do after they have waited for one. */
static gchar *dump(const TachoGraph *graph)
{
	gchar *buffer = NULL, *copy;
	gsize size = 0;
	FILE *out = open_memstream(&buffer, &size);

	tacho_graph_dump(graph, out);
	for (guint i = 0; i < tacho_graph_n_notes(graph); i++)
		fprintf(out, "note: %s\n", tacho_graph_borrow_note(graph, i));
	fclose(out);
	copy = g_strdup(buffer);
	free(buffer);
	return copy;
}

static void assert_dump(const gchar *text, const gchar *expected)
{
	struct built built = build(text);
	g_autofree gchar *actual = dump(built.graph);

	g_assert_cmpstr(actual, ==, expected);
	built_release(&built);
}

/* When the first node of the slice's kind and name begins once the graph is changed, in microseconds. */
static gint64 begin_us_if(struct built *built, const gchar *what_if, TachoNodeKind kind,
			  const gchar *name)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;

	g_assert_true(tacho_graph_what_if(built->graph, what_if, &error));
	g_assert_no_error(error);
	replay = tacho_replay_run(built->graph, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < tacho_graph_n_nodes(built->graph); i++) {
		const struct graph_node *node = graph_node_at(built->graph, i);

		if (node->kind == kind &&
		    strcmp(tacho_timeline_string(built->timeline, node->name), name) == 0)
			return tacho_replay_begin_ns(replay, i) / 1000;
	}
	g_assert_not_reached();
}

/* The first kernel begins when its launch, of 20 us, has come; the second, launched long before, 2 us after
 * the first; the thread then waits for both. */
static const gchar *const one_stream = "unit us\n"
				       "rank 0 thread 1000 main\n"
				       "  annotation ProfilerStep#0 0..200\n"
				       "    runtime launchA 10..15\n"
				       "    runtime launchB 20..25\n"
				       "    runtime cudaDeviceSynchronize 40..120\n"
				       "  stream 7 s7\n"
				       "    kernel A 30..60 launch=launchA\n"
				       "    kernel B 62..110 launch=launchB\n";

static void test_one_stream(void)
{
	assert_dump(one_stream,
		    "0 rank 0 main: start  0 us\n"
		    "1 rank 0 main: host ProfilerStep#0 10 us [program 0]\n"
		    "2 rank 0 s7: launch launchA 20 us [launch 1]\n"
		    "3 rank 0 main: host launchA 5 us [program 1]\n"
		    "4 rank 0 main: host ProfilerStep#0 5 us [program 3]\n"
		    "5 rank 0 s7: launch launchB 20 us [launch 4]\n"
		    "6 rank 0 main: host launchB 5 us [program 4]\n"
		    "7 rank 0 main: host ProfilerStep#0 15 us [program 6]\n"
		    "8 rank 0 s7: device A 30 us [launch 2]\n"
		    "9 rank 0 s7: gap between the work of a stream 2 us [stream 8]\n"
		    "10 rank 0 s7: device B 48 us [launch 5, stream 9]\n"
		    "11 rank 0 main: host cudaDeviceSynchronize 10 us [program 7, sync 10]\n"
		    "12 rank 0 main: host ProfilerStep#0 80 us [program 11]\n");
}

/* With the first kernel gone, the second is held up by its launch; with the launches gone, too, by nothing:
 * the call then only takes what it took after it had waited. */
static void test_what_decides(void)
{
	struct built built = build(one_stream);

	g_assert_cmpint(begin_us_if(&built, "drop:kernel~A", TACHO_NODE_DEVICE, "B"), ==, 40);
	g_assert_cmpint(begin_us_if(&built, "drop:launch~.", TACHO_NODE_DEVICE, "B"), ==, 20);
	g_assert_cmpint(
		begin_us_if(&built, "drop:kernel~B", TACHO_NODE_HOST, "cudaDeviceSynchronize"), ==,
		40);
	built_release(&built);
}

/* What did not decide when a work began takes what it usually takes, when it does decide. */
static void test_usual_delays(void)
{
	struct built idle = build("unit us\n"
				  "rank 0 thread 1000 main\n"
				  "  annotation ProfilerStep#0 0..300\n"
				  "    runtime launchA 10..15\n"
				  "    runtime launchB 20..25\n"
				  "    runtime launchC 150..155\n"
				  "  stream 7 s7\n"
				  "    kernel A 30..60 launch=launchA\n"
				  "    kernel B 62..110 launch=launchB\n"
				  "    kernel C 170..180 launch=launchC\n");
	struct built busy = build("unit us\n"
				  "rank 0 thread 1000 main\n"
				  "  annotation ProfilerStep#0 0..100\n"
				  "    runtime launchA 10..15\n"
				  "    runtime launchB 30..35\n"
				  "  stream 7 s7\n"
				  "    kernel Z 0..50\n"
				  "    kernel A 52..60 launch=launchA\n"
				  "    kernel B 62..70 launch=launchB\n");

	/* C found the stream idle; behind B, which ends at 62 + 3 x 48, the usual gap of 2 comes first */
	g_assert_cmpint(begin_us_if(&idle, "scale:kernel~^B$=3", TACHO_NODE_DEVICE, "C"), ==,
			62 + 3 * 48 + 2);
	/* no launch ever decided: none took longer than the 32 from B's call to its begin */
	g_assert_cmpint(begin_us_if(&busy, "drop:kernel~^Z$", TACHO_NODE_DEVICE, "A"), ==, 10 + 32);
	built_release(&idle);
	built_release(&busy);
}

/* What a module or an op asked of a device is part of it, but a call is only itself. */
static void test_scale_reaches_devices(void)
{
	const gchar *text = "unit us\n"
			    "rank 0 thread 1000 main\n"
			    "  annotation ProfilerStep#0 0..200\n"
			    "    op aten::mm 10..30\n"
			    "      runtime cudaLaunchKernel 12..18\n"
			    "    runtime cudaDeviceSynchronize 40..120\n"
			    "  stream 7 s7\n"
			    "    kernel gemm 30..100 launch=cudaLaunchKernel\n";
	struct built by_op = build(text), by_call = build(text);

	g_assert_cmpint(
		begin_us_if(&by_op, "scale:op~mm=0.5", TACHO_NODE_HOST, "cudaDeviceSynchronize"),
		==, 11 + 18 + 35);
	g_assert_cmpint(begin_us_if(&by_call, "scale:runtime~Launch=0.5", TACHO_NODE_HOST,
				    "cudaDeviceSynchronize"),
			==, 100);
	built_release(&by_op);
	built_release(&by_call);
}

/* The stream of copies waits for the event that came with the kernel; what is launched on it later does not
 * wait anew. */
static void test_event_wait(void)
{
	assert_dump("unit us\n"
		    "rank 0 thread 1000 main\n"
		    "  annotation ProfilerStep#0 0..50\n"
		    "    runtime launchA 0..5\n"
		    "    runtime cudaEventRecord 6..7\n"
		    "    runtime cudaStreamWaitEvent 8..9\n"
		    "    runtime launchB 10..15\n"
		    "  stream 7 s7\n"
		    "    kernel A 10..60 launch=launchA\n"
		    "  stream 9 s9\n"
		    "    sync 'Stream Wait Event' 8..9 launch=cudaStreamWaitEvent waits_for=A\n"
		    "    memcpy B 61..70 launch=launchB\n",
		    "0 rank 0 main: start  0 us\n"
		    "1 rank 0 s7: launch launchA 10 us [launch 0]\n"
		    "2 rank 0 main: host launchA 5 us [program 0]\n"
		    "3 rank 0 main: host ProfilerStep#0 1 us [program 2]\n"
		    "4 rank 0 main: host cudaEventRecord 1 us [program 3]\n"
		    "5 rank 0 main: host ProfilerStep#0 1 us [program 4]\n"
		    "6 rank 0 main: host cudaStreamWaitEvent 1 us [program 5]\n"
		    "7 rank 0 main: host ProfilerStep#0 1 us [program 6]\n"
		    "8 rank 0 s9: launch launchB 10 us [launch 7]\n"
		    "9 rank 0 main: host launchB 5 us [program 7]\n"
		    "10 rank 0 s7: device A 50 us [launch 1]\n"
		    "11 rank 0 main: host ProfilerStep#0 35 us [program 9]\n"
		    "12 rank 0 s9: gap between the work of a stream 1 us [event 10]\n"
		    "13 rank 0 s9: copy B 9 us [launch 8, stream 12]\n");
}

/* The same without rows that tell: from the order of the calls. */
static void test_inferred_event(void)
{
	struct built built = build("unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..50\n"
				   "    runtime launchA 0..5\n"
				   "    runtime hipEventRecord 6..7\n"
				   "    runtime hipStreamWaitEvent 8..9\n"
				   "    runtime launchB 10..15\n"
				   "    runtime launchC 20..25\n"
				   "  stream 7 s7\n"
				   "    kernel A 10..60 launch=launchA\n"
				   "  stream 9 s9\n"
				   "    kernel B 61..70 launch=launchB\n"
				   "    kernel C 72..80 launch=launchC\n");

	g_assert_cmpuint(tacho_graph_n_notes(built.graph), ==, 1);
	g_assert_cmpstr(tacho_graph_borrow_note(built.graph, 0), ==,
			"the trace does not have which stream waited for which; 1 waits are "
			"inferred from the order of the calls");
	g_assert_cmpint(begin_us_if(&built, "scale:kernel~A=2", TACHO_NODE_DEVICE, "B"), ==, 111);
	built_release(&built);
}

/* The last record is of the stream that waits: the one before it, of the other, is meant. */
static void test_inferred_from_other_stream(void)
{
	struct built built = build("unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..50\n"
				   "    runtime launchA 0..5\n"
				   "    runtime cudaEventRecord 6..7\n"
				   "    runtime launchB 10..15\n"
				   "    runtime cudaEventRecord 16..17\n"
				   "    runtime cudaStreamWaitEvent 18..19\n"
				   "    runtime launchC 20..25\n"
				   "  stream 7 s7\n"
				   "    kernel A 10..60 launch=launchA\n"
				   "  stream 9 s9\n"
				   "    kernel B 20..30 launch=launchB\n"
				   "    kernel C 61..70 launch=launchC\n");

	g_assert_cmpint(begin_us_if(&built, "scale:kernel~^A$=2", TACHO_NODE_DEVICE, "C"), ==, 111);
	built_release(&built);
}

/* Work of one launch on two streams. B had waited for A, and C for B, which it followed at once; so D had waited for
 * C, and for nothing else, though E had just ended, too. */
static const gchar *const kernels_of_a_graph = "unit us\n"
					       "rank 0 thread 1000 main\n"
					       "  annotation ProfilerStep#0 0..100\n"
					       "    runtime cudaGraphLaunch 10..15\n"
					       "  stream 7 s7\n"
					       "    kernel A 30..50 launch=cudaGraphLaunch\n"
					       "    kernel C 60..70 launch=cudaGraphLaunch\n"
					       "    kernel D 71..80 launch=cudaGraphLaunch\n"
					       "  stream 9 s9\n"
					       "    kernel B 51..58 launch=cudaGraphLaunch\n"
					       "    kernel E 66..69 launch=cudaGraphLaunch\n";

static void test_graph_of_kernels(void)
{
	struct built of_a = build(kernels_of_a_graph), of_b = build(kernels_of_a_graph);
	struct built of_e = build(kernels_of_a_graph);

	g_assert_cmpint(begin_us_if(&of_a, "scale:kernel~^A$=2", TACHO_NODE_DEVICE, "B"), ==, 71);
	g_assert_cmpint(begin_us_if(&of_b, "scale:kernel~^B$=3", TACHO_NODE_DEVICE, "C"), ==,
			51 + 3 * 7 + 2);
	g_assert_cmpint(begin_us_if(&of_e, "scale:kernel~^E$=10", TACHO_NODE_DEVICE, "D"), ==, 71);
	built_release(&of_a);
	built_release(&of_b);
	built_release(&of_e);
}

/* 48 kernels of 99, 1 apart, from 200 on. The driver takes 40 works: each call behind the 40th waits until one more is
 * over, 1 more, and ends. */
static gchar *full_queue_text(void)
{
	g_autoptr(GString) calls = g_string_new("unit us\nrank 0 thread 1000 main\n"
						"  annotation ProfilerStep#0 0..1500\n");
	g_autoptr(GString) kernels = g_string_new("  stream 7 s7\n");

	for (gint i = 0; i < 48; i++) {
		gint begin = i < 40 ? 3 * i : i == 40 ? 120 : 200 + 100 * (i - 41) + 102;
		gint end = i < 40 ? begin + 2 : 200 + 100 * (i - 40) + 100;

		g_string_append_printf(calls, "    runtime launch%d %d..%d\n", i, begin, end);
		g_string_append_printf(kernels, "    kernel K%d %d..%d launch=launch%d\n", i,
				       200 + 100 * i, 299 + 100 * i, i);
	}
	return g_strconcat(calls->str, kernels->str, NULL);
}

/* 71 kernels of 9, 1 apart, from 1000 on. Five calls take long, each with another number of works outstanding; the
 * last eleven come when all is over that was launched before them. */
static gchar *slow_calls_text(void)
{
	g_autoptr(GString) calls = g_string_new("unit us\nrank 0 thread 1000 main\n"
						"  annotation ProfilerStep#0 0..6000\n");
	g_autoptr(GString) kernels = g_string_new("  stream 7 s7\n");

	for (gint i = 0, at = 0; i < 71; i++) {
		gboolean is_slow = i >= 33 && i <= 41 && i % 2 == 1;

		at = i == 60 ? 5000 : at;
		g_string_append_printf(calls, "    runtime launch%d %d..%d\n", i, at,
				       at + (is_slow ? 25 : 2));
		g_string_append_printf(kernels, "    kernel K%d %d..%d launch=launch%d\n", i,
				       (i < 60 ? 1000 : 4500) + 10 * i,
				       (i < 60 ? 1009 : 4509) + 10 * i, i);
		at += is_slow ? 26 : 3;
	}
	return g_strconcat(calls->str, kernels->str, NULL);
}

static void test_full_queue(void)
{
	g_autofree gchar *full_text = full_queue_text(), *slow_text = slow_calls_text();
	struct built full = build(full_text), slow = build(slow_text);

	/* the last call goes on when K7 is over: eight kernels of 198, and 1 between each two */
	g_assert_cmpint(begin_us_if(&full, "scale:kernel~.=2", TACHO_NODE_HOST, "launch47"), ==,
			200 + 8 * 198 + 7);
	/* they do not agree on how much the driver takes: calls wait for nothing */
	g_assert_cmpint(begin_us_if(&slow, "scale:kernel~.=100", TACHO_NODE_HOST, "launch70"), ==,
			5030);
	built_release(&full);
	built_release(&slow);
}

/* Memory is given back when nothing uses it any more: the call goes on when the kernel is over. */
static void test_free(void)
{
	struct built built = build("unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..100\n"
				   "    runtime launchA 10..15\n"
				   "    runtime cudaFree 20..65\n"
				   "  stream 7 s7\n"
				   "    kernel A 30..60 launch=launchA\n");

	g_assert_cmpint(begin_us_if(&built, "scale:kernel~A=2", TACHO_NODE_HOST, "cudaFree"), ==,
			90);
	built_release(&built);
}

/* A copy that is over when its call returns was waited for; one that goes on is not. */
static void test_blocking_copy(void)
{
	struct built built = build("unit us\n"
				   "rank 0 thread 1000 main\n"
				   "  annotation ProfilerStep#0 0..200\n"
				   "    runtime cudaMemcpy 10..50\n"
				   "    runtime cudaMemcpyAsync 60..70\n"
				   "    op after 100..110\n"
				   "  stream 7 s7\n"
				   "    memcpy HtoD 20..40 launch=cudaMemcpy\n"
				   "    memcpy DtoH 75..150 launch=cudaMemcpyAsync\n");

	g_assert_cmpint(begin_us_if(&built, "scale:memcpy~DtoH=2", TACHO_NODE_OP, "after"), ==,
			100);
	g_assert_cmpint(begin_us_if(&built, "scale:memcpy~HtoD=2", TACHO_NODE_OP, "after"), ==,
			120);
	built_release(&built);
}

/* Two ranks: the second comes 40 us late, and both kernels end together. The first one's kernel lasted 60 us,
 * of which 20 are transfer. */
static const gchar *const two_ranks =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..200\n"
	"    runtime l0 0..5\n"
	"    runtime l1 5..10\n"
	"    runtime cudaStreamSynchronize 20..110\n"
	"  stream 7 s7\n"
	"    collective nccl_AllReduce 10..70 bytes=1000 group=1 launch=l0\n"
	"    kernel next 71..100 launch=l1\n"
	"rank 1 thread 1001 main\n"
	"  annotation ProfilerStep#0 0..200\n"
	"    runtime l0 40..45\n"
	"  stream 7 s7\n"
	"    collective nccl_AllReduce 50..70 bytes=1000 group=1 launch=l0\n";

static void test_collective(void)
{
	struct built built = build(two_ranks);

	g_assert_cmpint(begin_us_if(&built, "bandwidth=2x", TACHO_NODE_DEVICE, "next"), ==, 61);
	g_assert_cmpint(begin_us_if(&built, "latency=+5us", TACHO_NODE_DEVICE, "next"), ==, 71);
	built_release(&built);
}

/* Two groups of the same two devices reduce at once: each alone would take 20 us. On one host they share a device's
 * link; groups within a host and beyond it do not. */
#define REDUCES_OF_A_RANK(rank, host)                                                              \
	"rank " #rank " host=" host " thread 100" #rank " main\n"                                  \
	"  annotation ProfilerStep#0 0..200\n"                                                     \
	"    runtime l0 0..2\n"                                                                    \
	"    runtime l1 2..4\n"                                                                    \
	"    runtime l2 4..6\n"                                                                    \
	"  stream 7 s7\n"                                                                          \
	"    collective nccl_AllReduce 10..50 bytes=1000 group=1 launch=l0\n"                      \
	"    kernel next 51..60 launch=l2\n"                                                       \
	"  stream 20 s20\n"                                                                        \
	"    collective nccl_AllGather 10..50 bytes=1000 group=2 launch=l1\n"

static void assert_alone(const gchar *text, gint64 begin_us)
{
	struct built built = build(text);

	g_assert_cmpuint(built.graph->groups->len, ==, 2);
	g_assert_cmpint(begin_us_if(&built, "drop:collective~AllGather", TACHO_NODE_DEVICE, "next"),
			==, begin_us);
	built_release(&built);
}

static void test_shared_link(void)
{
	assert_alone("unit us\n" REDUCES_OF_A_RANK(0, "a") REDUCES_OF_A_RANK(1, "a"), 31);
	assert_alone("unit us\n" REDUCES_OF_A_RANK(0, "a") REDUCES_OF_A_RANK(1, "b"), 31);
	/* a rank of another host is in the second group, so the two go over links of their own */
	assert_alone("unit us\n" REDUCES_OF_A_RANK(0, "a") REDUCES_OF_A_RANK(
			     1, "a") "rank 2 host=b thread 1002 main\n"
				     "  annotation ProfilerStep#0 0..200\n"
				     "    runtime l1 2..4\n"
				     "  stream 20 s20\n"
				     "    collective nccl_AllGather 10..50 bytes=1000 group=2 "
				     "launch=l1\n",
		     51);
}

/* Eight kernels of 1 ms, then eight of 1.25 ms beside a collective of 10 ms, then one of 1 ms; and what another rank does. */
static gchar *slowed_kernels(const gchar *collective, const gchar *other_rank)
{
	GString *text = g_string_new("unit us\n"
				     "rank 0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 0..30000\n");
	gint begin = 1000;

	for (guint i = 0; i < 18; i++)
		g_string_append_printf(text, "    runtime l%u %u..%u\n", i, 10 * i, 10 * i + 5);
	g_string_append(text, "  stream 7 s7\n");
	for (guint i = 0; i < 17; i++) {
		gint end = begin + (i >= 8 && i < 16 ? 1250 : 1000);

		g_string_append_printf(text, "    kernel %s %d..%d launch=l%u\n",
				       i < 16 ? "gemm" : "last", begin, end, i);
		begin = end;
	}
	g_string_append_printf(text,
			       "  stream 20 s20\n"
			       "    collective %s 9000..19000 bytes=1000 group=1 launch=l17\n%s",
			       collective, other_rank);
	return g_string_free(text, FALSE);
}

/* Kernels last longer beside the collective, wherever it is: four of the eight, then none. */
static void assert_slowed(const gchar *collective, const gchar *other_rank, TachoNodeKind kind,
			  const gchar *half)
{
	g_autofree gchar *text = slowed_kernels(collective, other_rank);
	struct built built = build(text);
	guint n_of_kind = 0;

	for (guint32 i = 0; i < tacho_graph_n_nodes(built.graph); i++)
		n_of_kind += graph_node_at(built.graph, i)->kind == kind;
	g_assert_cmpuint(n_of_kind, ==, 1);
	g_assert_cmpfloat_with_epsilon(built.graph->device_taken_share, 0.2, 1e-6);
	g_assert_cmpfloat(built.graph->taken_share, ==, 0);
	g_assert_cmpint(begin_us_if(&built, half, TACHO_NODE_DEVICE, "last"), ==,
			9000 + 4 * 1250 + 4 * 1000);
	g_assert_cmpint(begin_us_if(&built, "drop:collective~.", TACHO_NODE_DEVICE, "last"), ==,
			9000 + 8 * 1000);
	built_release(&built);
}

static void test_slowed_kernels(void)
{
	assert_slowed("nccl_AllReduce",
		      "rank 1 thread 1001 main\n"
		      "  annotation ProfilerStep#0 0..30000\n"
		      "    runtime l17 0..5\n"
		      "  stream 20 s20\n"
		      "    collective nccl_AllReduce 9000..19000 bytes=1000 group=1 launch=l17\n",
		      TACHO_NODE_TRANSFER, "bandwidth=2x");
}

/* Who received is not known, so it is time of its rank alone, which takes as much. */
static void test_slowed_by_lone_part(void)
{
	assert_slowed("nccl_Send",
		      "rank 1 thread 1001 main\n"
		      "  annotation ProfilerStep#0 0..30000\n"
		      "    runtime l0 0..5\n",
		      TACHO_NODE_PART, "scale:collective~Send=0.5");
}

/* Sixteen kernels of 1 ms of each of two classes, and one of a third, one class after the other; beside an all-reduce, from 17 ms on,
 * one class takes 1.25 and the other 1.6 ms. Of the third there are too few to tell. */
static void test_slowed_classes(void)
{
	GString *calls = g_string_new("unit us\n"
				      "rank 0 thread 1000 main\n"
				      "  annotation ProfilerStep#0 0..60000\n");
	GString *kernels = g_string_new("  stream 7 s7\n");
	g_autofree gchar *text = NULL;
	struct built built;
	gint begin = 1000;

	for (guint i = 0; i < 34; i++) {
		gboolean is_gemm = i % 2;
		gint lasts = i < 16 || i >= 32 ? 1000 : is_gemm ? 1250 : 1600;

		g_string_append_printf(calls, "    runtime l%u %u..%u\n", i, 10 * i, 10 * i + 5);
		g_string_append_printf(kernels, "    kernel %s %d..%d launch=l%u\n",
				       i == 33	 ? "last"
				       : i == 32 ? "unknown"
				       : is_gemm ? "gemm"
						 : "softmax",
				       begin, begin + lasts, i);
		begin += lasts;
	}
	text = g_strconcat(
		calls->str, "    runtime a 400..405\n", kernels->str,
		"  stream 20 s20\n"
		"    collective nccl_AllReduce 17000..39800 bytes=1000 group=1 launch=a\n"
		"rank 1 thread 1001 main\n"
		"  annotation ProfilerStep#0 0..60000\n"
		"    runtime a 0..5\n"
		"  stream 20 s20\n"
		"    collective nccl_AllReduce 17000..39800 bytes=1000 group=1 launch=a\n",
		NULL);
	built = build(text);
	g_assert_cmpfloat_with_epsilon(graph_class_taken(built.graph, KERNEL_GEMM), 0.2, 1e-6);
	g_assert_cmpfloat_with_epsilon(graph_class_taken(built.graph, KERNEL_SOFTMAX), 0.375, 1e-6);
	/* 8 x 0.25 and 8 x 0.6 ms longer, of 22.8 ms */
	g_assert_cmpfloat_with_epsilon(graph_class_taken(built.graph, KERNEL_OTHER), 6.8 / 22.8,
				       1e-6);
	g_assert_cmpfloat_with_epsilon(built.graph->device_taken_share, 6.8 / 22.8, 1e-6);
	/* half the time: four of each, for four last 2 x 1.25 + 2 x 1.6 = 5.7 ms */
	g_assert_cmpint(begin_us_if(&built, "bandwidth=2x", TACHO_NODE_DEVICE, "unknown"), ==,
			17000 + 11400 + 8 * 1000);
	g_assert_cmpint(begin_us_if(&built, "drop:collective~.", TACHO_NODE_DEVICE, "unknown"), ==,
			17000 + 16 * 1000);
	built_release(&built);
	g_string_free(calls, TRUE);
	g_string_free(kernels, TRUE);
}

/* The replay as a timeline: each part in the collective once as measured and once as replayed, on its stream. */
static void test_timeline(void)
{
	struct built built = build(two_ranks);
	g_autoptr(TachoTimeline) timeline = tacho_replay_timeline(built.replay);
	guint n_measured = 0, n_replayed = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		if (timeline->slices.kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		g_assert_cmpint(tacho_slice_end_ns(timeline, i), ==, 70000);
		g_assert_cmpint(tacho_timeline_track(timeline, timeline->slices.track[i])->kind, ==,
				TACHO_TRACK_STREAM);
		if (tacho_slice_process(timeline, i)->is_main)
			n_measured++;
		else
			n_replayed++;
	}
	g_assert_cmpuint(n_measured, ==, 2);
	g_assert_cmpuint(n_replayed, ==, 2);
	built_release(&built);
}

/* A rank died in its step: what is left was one rank's alone. The step that it did not complete is not
 * replayed; with no other there is nothing. */
static void test_rank_died(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  annotation ProfilerStep#0 0..100\n"
		"    runtime l0 10..15\n"
		"  annotation ProfilerStep#1 100..200\n"
		"    runtime l1 110..115\n"
		"  stream 7 s7\n"
		"    collective nccl_AllReduce 20..60 bytes=8 group=1 launch=l0\n"
		"    collective nccl_AllReduce 120..190 bytes=8 group=1 launch=l1\n"
		"rank 1 end=killed:9 thread 1001 main\n"
		"  annotation ProfilerStep#0 0..100\n"
		"    runtime l0 30..35\n"
		"  annotation ProfilerStep#1 100..\n"
		"  stream 7 s7\n"
		"    collective nccl_AllReduce 40..60 bytes=8 group=1 launch=l0\n");
	g_autoptr(TachoGraph) graph = NULL, none = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	g_autoptr(GError) error = NULL;

	tacho_correlate(timeline);
	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(graph->steps->len, ==, 1);
	g_assert_cmpuint(g_array_index(graph->steps, guint32, 0), ==, 0);
	g_assert_cmpuint(graph->transfers->len, ==, 1);
	replay = tacho_replay_run(graph, &error);
	g_assert_no_error(error);
	none = tacho_graph_build(timeline, 1, 1, &error);
	g_assert_null(none);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS);
}

/* A collective lacks a rank: it is played by those who are there, and a note says so. */
static void test_missing_rank(void)
{
	struct built built =
		build("unit us\n"
		      "rank 0 thread 1000 main\n"
		      "  annotation ProfilerStep#0 0..100\n"
		      "    runtime l0 10..15\n"
		      "    runtime l1 30..35\n"
		      "  stream 7 s7\n"
		      "    collective nccl_AllReduce 20..60 bytes=8 group=1 launch=l0\n"
		      "    collective nccl_Send 62..70 bytes=8 group=1 launch=l1\n"
		      "rank 1 thread 1001 main\n"
		      "  annotation ProfilerStep#0 0..100\n"
		      "    runtime l0 30..35\n");
	gboolean is_noted = FALSE;

	for (guint i = 0; i < tacho_graph_n_notes(built.graph); i++)
		is_noted |= strstr(tacho_graph_borrow_note(built.graph, i), "lack a rank") != NULL;
	g_assert_true(is_noted);
	g_assert_cmpint(
		begin_us_if(&built, "scale:collective~AllReduce=2", TACHO_NODE_PART, "nccl_Send"),
		==, 102);
	built_release(&built);
}

/* Two ranks queue two collectives on their streams in opposite orders: nobody could have played that,
 * and the message names the circle. (The times are just possible, with transfers that take none.) */
static void test_circle(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  annotation ProfilerStep#0 0..200\n"
		"    runtime l0 0..5\n"
		"    runtime l1 6..9\n"
		"  stream 7 s7\n"
		"    collective nccl_AllReduce 10..60 bytes=8 group=1 launch=l0\n"
		"    collective nccl_AllGather 60..90 bytes=8 group=1 launch=l1\n"
		"rank 1 thread 1001 main\n"
		"  annotation ProfilerStep#0 0..200\n"
		"    runtime l0 0..5\n"
		"    runtime l1 6..9\n"
		"  stream 7 s7\n"
		"    collective nccl_AllGather 10..60 bytes=8 group=1 launch=l0\n"
		"    collective nccl_AllReduce 60..90 bytes=8 group=1 launch=l1\n");
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	g_autoptr(GError) error = NULL;

	tacho_correlate(timeline);
	graph = tacho_graph_build(timeline, -1, -1, &error);
	if (graph)
		replay = tacho_replay_run(graph, &error);
	g_assert_null(replay);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE);
	g_assert_nonnull(strstr(error->message, "wait for itself"));
}

/* --- properties ------------------------------------------------------------------------------- */

/* Streams whose work begins, overlaps and ends at any times, calls that launch, record, wait and copy at any. */
static gchar *random_text(GRand *rand)
{
	static const gchar *const calls[] = { "cudaEventRecord",       "cudaStreamWaitEvent",
					      "cudaDeviceSynchronize", "cudaStreamSynchronize",
					      "cudaEventSynchronize",  "cudaFree" };
	GString *text = g_string_new("unit us\n");
	gint n_ranks = g_rand_int_range(rand, 1, 4);

	for (gint rank = 0; rank < n_ranks; rank++) {
		g_autoptr(GString) work = g_string_new(NULL);
		gint n_streams = g_rand_int_range(rand, 1, 4), at = 0;

		g_string_append_printf(
			text, "rank %d thread %d main\nannotation ProfilerStep#0 0..1000\n", rank,
			1000 + rank);
		for (gint i = 0; i < 12; i++) {
			gint begin = at + g_rand_int_range(rand, 0, 10);

			at = begin + g_rand_int_range(rand, 0, 60);
			if (g_rand_boolean(rand))
				g_string_append_printf(text, "runtime call%d %d..%d\n", i, begin,
						       at);
			else
				g_string_append_printf(text, "runtime %s %d..%d\n",
						       calls[g_rand_int_range(rand, 0, 6)], begin,
						       at);
		}
		for (gint stream = 0; stream < n_streams; stream++) {
			g_string_append_printf(work, "stream %d s%d\n", stream, stream);
			for (gint i = 0; i < 5; i++) {
				gint begin = g_rand_int_range(rand, -20, 600);
				gint end = begin + g_rand_int_range(rand, 0, 200);
				gint call = g_rand_int_range(rand, 0, 12);
				g_autofree gchar *name = g_strdup_printf("runtime call%d ", call);
				g_autofree gchar *launch = g_strdup_printf(" launch=call%d", call);

				g_string_append_printf(
					work, "%s %d..%d%s\n",
					g_rand_int_range(rand, 0, 4) ? "kernel k"
								     : "collective nccl_AllReduce",
					begin, end,
					g_rand_boolean(rand) && strstr(text->str, name) ? launch
											: "");
			}
		}
		g_string_append(text, work->str);
	}
	return g_string_free(text, FALSE);
}

static gint64 last_end_ns(const TachoGraph *graph)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = tacho_replay_run(graph, &error);
	gint64 last_ns = 0;

	g_assert_no_error(error);
	for (guint32 i = 0; i < tacho_graph_n_nodes(graph); i++)
		last_ns = MAX(last_ns, tacho_replay_end_ns(replay, i));
	return last_ns;
}

/* Whatever was measured plays back as it was, unless it cannot have happened; and more work never ends sooner. */
static void test_random(void)
{
	guint n_played = 0;

	for (guint seed = 0; seed < 300; seed++) {
		g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
		g_autofree gchar *text = random_text(rand);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
		g_autoptr(TachoGraph) graph = NULL;
		g_autoptr(TachoReplay) replay = NULL;
		g_autoptr(GError) error = NULL;
		gint64 before_ns;

		tacho_correlate(timeline);
		graph = tacho_graph_build(timeline, -1, -1, &error);
		if (!graph) {
			g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE);
			continue;
		}
		n_played++;
		replay = tacho_replay_run(graph, &error);
		g_assert_no_error(error);
		for (guint32 i = 0; i < tacho_graph_n_nodes(graph); i++) {
			if (tacho_replay_begin_ns(replay, i) == graph_node_at(graph, i)->begin_ns)
				continue;
			g_test_message("seed %u, node %u: %" G_GINT64_FORMAT
				       " instead of %" G_GINT64_FORMAT "\n%s",
				       seed, i, tacho_replay_begin_ns(replay, i),
				       graph_node_at(graph, i)->begin_ns, text);
			g_test_fail();
			return;
		}
		before_ns = last_end_ns(graph);
		if (tacho_graph_what_if(graph, "scale:kernel~k=2", NULL))
			g_assert_cmpint(last_end_ns(graph), >=, before_ns);
	}
	g_assert_cmpuint(n_played, >, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device-graph/one-stream", test_one_stream);
	g_test_add_func("/device-graph/what-decides", test_what_decides);
	g_test_add_func("/device-graph/usual-delays", test_usual_delays);
	g_test_add_func("/device-graph/scale-reaches-devices", test_scale_reaches_devices);
	g_test_add_func("/device-graph/event-wait", test_event_wait);
	g_test_add_func("/device-graph/inferred-event", test_inferred_event);
	g_test_add_func("/device-graph/inferred-from-other-stream",
			test_inferred_from_other_stream);
	g_test_add_func("/device-graph/graph-of-kernels", test_graph_of_kernels);
	g_test_add_func("/device-graph/full-queue", test_full_queue);
	g_test_add_func("/device-graph/free", test_free);
	g_test_add_func("/device-graph/blocking-copy", test_blocking_copy);
	g_test_add_func("/device-graph/collective", test_collective);
	g_test_add_func("/device-graph/shared-link", test_shared_link);
	g_test_add_func("/device-graph/slowed-kernels", test_slowed_kernels);
	g_test_add_func("/device-graph/slowed-by-lone-part", test_slowed_by_lone_part);
	g_test_add_func("/device-graph/slowed-classes", test_slowed_classes);
	g_test_add_func("/device-graph/timeline", test_timeline);
	g_test_add_func("/device-graph/rank-died", test_rank_died);
	g_test_add_func("/device-graph/missing-rank", test_missing_rank);
	g_test_add_func("/device-graph/circle", test_circle);
	g_test_add_func("/device-graph/random", test_random);
	return g_test_run();
}
