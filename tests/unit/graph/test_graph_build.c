/* What a timeline becomes as a graph, node by node. Dumps are in microseconds. */
#include <stdlib.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/graph.h>

#include "timeline_text.h"

static gchar *dump(const gchar *text)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(GError) error = NULL;
	gchar *buffer = NULL, *copy;
	gsize size = 0;
	FILE *out = open_memstream(&buffer, &size);

	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
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
	g_autofree gchar *actual = dump(text);

	g_assert_cmpstr(actual, ==, expected);
}

/* An op's own time falls apart at its children; host time follows it. */
static void test_one_thread(void)
{
	assert_dump("unit us\n"
		    "rank 0 thread 1000 main\n"
		    "  annotation ProfilerStep#0 0..100\n"
		    "    op outer 10..60\n"
		    "      kernel gemm 20..50\n",
		    "0 rank 0 main: start  0 us\n"
		    "1 rank 0 main: host ProfilerStep#0 10 us [program 0]\n"
		    "2 rank 0 main: op outer 10 us [program 1]\n"
		    "3 rank 0 main: kernel gemm 30 us [program 2]\n"
		    "4 rank 0 main: op outer 10 us [program 3]\n"
		    "5 rank 0 main: host ProfilerStep#0 40 us [program 4]\n");
}

/* Rank 1 comes 20 us late, so 9 us of rank 0's 29 are transfer and the wait is in no node. */
static const gchar *const two_ranks =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    op a 0..30\n"
	"    op c10d::allreduce_ 30..31\n"
	"    op b 60..100\n"
	"    collective gloo:all_reduce 31..60 bytes=1024 end_tid=9\n"
	"rank 1 thread 1001 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    op a 0..50\n"
	"    op c10d::allreduce_ 50..51\n"
	"    op b 61..100\n"
	"    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n";

static void test_collective(void)
{
	assert_dump(two_ranks,
		    "0 rank 0 main: start  0 us\n"
		    "1 rank 1 main: start  0 us\n"
		    "2 rank 0 main: op a 30 us [program 0]\n"
		    "3 rank 1 main: op a 50 us [program 1]\n"
		    "4 rank 0 main: op c10d::allreduce_ 1 us [program 2]\n"
		    "5 rank 0 communication: queue gloo:all_reduce 0 us [queue 4]\n"
		    "6 rank 1 main: op c10d::allreduce_ 1 us [program 3]\n"
		    "7 rank 1 communication: queue gloo:all_reduce 0 us [queue 6]\n"
		    "8 wires: transfer gloo:all_reduce 9 us [transfer 5, transfer 7]\n"
		    "9 rank 0 communication: complete gloo:all_reduce 0 us [transfer 8]\n"
		    "10 rank 1 communication: complete gloo:all_reduce 0 us [transfer 8]\n"
		    "11 rank 0 main: host ProfilerStep#0 0 us [program 4, wait 9]\n"
		    "12 rank 0 main: op b 40 us [program 11]\n"
		    "13 rank 1 main: host ProfilerStep#0 1 us [program 6, wait 10]\n"
		    "14 rank 1 main: op b 39 us [program 13]\n");
}

/* The root of a broadcast is done before the others have come: it waits for nobody. */
static void test_eager(void)
{
	assert_dump("unit us\n"
		    "rank 0 thread 1000 main\n"
		    "  annotation ProfilerStep#0 0..20\n"
		    "    collective gloo:broadcast 2..5 bytes=64 end_tid=9\n"
		    "rank 1 thread 1001 main\n"
		    "  annotation ProfilerStep#0 0..20\n"
		    "    collective gloo:broadcast 10..12 bytes=64 end_tid=9\n",
		    "0 rank 0 main: start  0 us\n"
		    "1 rank 1 main: start  0 us\n"
		    "2 rank 0 main: host ProfilerStep#0 2 us [program 0]\n"
		    "3 rank 1 main: host ProfilerStep#0 10 us [program 1]\n"
		    "4 rank 0 communication: queue gloo:broadcast 0 us [queue 2]\n"
		    "5 rank 0 communication: complete gloo:broadcast 3 us [transfer 4]\n"
		    "6 rank 0 main: host ProfilerStep#0 15 us [program 2, wait 5]\n"
		    "7 rank 1 communication: queue gloo:broadcast 0 us [queue 3]\n"
		    "8 wires: transfer gloo:broadcast 2 us [transfer 4, transfer 7]\n"
		    "9 rank 1 communication: complete gloo:broadcast 0 us [transfer 8]\n"
		    "10 rank 1 main: host ProfilerStep#0 8 us [program 3, wait 9]\n");
}

/* Backward runs in a thread of its own while the main thread stands in backward(). */
static void test_autograd_thread(void)
{
	assert_dump("unit us\n"
		    "rank 0\n"
		    "thread 1000 main\n"
		    "  annotation ProfilerStep#0 0..100\n"
		    "    op forward 0..30\n"
		    "    op optimizer 80..100\n"
		    "thread 1007 autograd parent=1000\n"
		    "    op MmBackward0 35..50 backward\n"
		    "    op ReluBackward0 55..75 backward\n",
		    "0 rank 0 main: start  0 us\n"
		    "1 rank 0 main: op forward 30 us [program 0]\n"
		    "2 rank 0 main: host ProfilerStep#0 5 us [program 1]\n"
		    "3 rank 0 autograd: op MmBackward0 15 us [thread 2]\n"
		    "4 rank 0 autograd: host  5 us [program 3]\n"
		    "5 rank 0 autograd: op ReluBackward0 20 us [program 4]\n"
		    "6 rank 0 main: host ProfilerStep#0 5 us [program 2, thread 5]\n"
		    "7 rank 0 main: op optimizer 20 us [program 6]\n");
}

/* Two workers at once on one link: each would have taken half the time alone. */
static void test_shared_link(void)
{
	g_autofree gchar *text =
		dump("unit us\n"
		     "rank 0 thread 1000 main\n"
		     "  annotation ProfilerStep#0 0..40\n"
		     "    collective gloo:all_reduce 10..30 bytes=1024 end_tid=8\n"
		     "    collective gloo:all_reduce 10..30 bytes=1024 end_tid=9\n"
		     "rank 1 thread 1001 main\n"
		     "  annotation ProfilerStep#0 0..40\n"
		     "    collective gloo:all_reduce 10..30 bytes=1024 end_tid=8\n"
		     "    collective gloo:all_reduce 10..30 bytes=1024 end_tid=9\n");

	g_assert_nonnull(strstr(text, "wires: transfer gloo:all_reduce 10 us"));
	g_assert_null(strstr(text, "wires: transfer gloo:all_reduce 20 us"));
}

/* A queued collective waits for its worker: that is no transfer. */
static void test_one_worker(void)
{
	g_autofree gchar *text =
		dump("unit us\n"
		     "rank 0 thread 1000 main\n"
		     "  annotation ProfilerStep#0 0..40\n"
		     "    op a 0..10\n"
		     "    collective gloo:all_reduce 10..20 bytes=1024 end_tid=9\n"
		     "    op b 10..12\n"
		     "    collective gloo:all_reduce 12..26 bytes=2048 end_tid=9\n"
		     "rank 1 thread 1001 main\n"
		     "  annotation ProfilerStep#0 0..40\n"
		     "    op a 0..10\n"
		     "    collective gloo:all_reduce 10..20 bytes=1024 end_tid=9\n"
		     "    op b 10..12\n"
		     "    collective gloo:all_reduce 12..26 bytes=2048 end_tid=9\n");

	g_assert_nonnull(strstr(text, "wires: transfer gloo:all_reduce 10 us"));
	g_assert_nonnull(strstr(text, "wires: transfer gloo:all_reduce 6 us"));
}

/* A rank that the run lacks is named, and the rest is played. */
static void test_missing_rank(void)
{
	g_autofree gchar *text = dump("unit us\n"
				      "world 2\n"
				      "rank 0 world=2 thread 1000 main\n"
				      "  annotation ProfilerStep#0 0..40\n"
				      "    op a 0..10\n"
				      "    collective gloo:all_reduce 10..20 bytes=1024 group=5\n");

	g_assert_nonnull(strstr(text, "note: only 1 of 2 ranks were recorded\n"));
	g_assert_nonnull(strstr(text, "wires: transfer gloo:all_reduce 10 us [transfer 2]\n"));
}

/* A rank died in its second step: the first is played, and of the second, which it did not complete, that is said. */
static const gchar *const died = "unit us\n"
				 "rank 0 thread 1000 main\n"
				 "  annotation ProfilerStep#0 0..20\n"
				 "    collective gloo:all_reduce 5..15 bytes=64 end_tid=9\n"
				 "  annotation ProfilerStep#1 20..90\n"
				 "    collective gloo:all_reduce 25..90 bytes=64 end_tid=9\n"
				 "rank 1 end=killed:9 thread 1001 main\n"
				 "  annotation ProfilerStep#0 0..20\n"
				 "    collective gloo:all_reduce 10..15 bytes=64 end_tid=9\n"
				 "  annotation ProfilerStep#1 20..\n";

static void assert_refused(const gchar *text, gint64 step, const gchar *message)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(GError) error = NULL;

	graph = tacho_graph_build(timeline, step, step, &error);
	g_assert_null(graph);
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS);
	g_assert_nonnull(strstr(error->message, message));
}

static void test_no_steps(void)
{
	assert_refused("rank 0 thread 1000 main\nop a 0..10\n", -1,
		       "there is no step that all 1 ranks completed: no step was found");
	assert_refused(two_ranks, 3, "there is no step 3: ");
	assert_refused("unit ms\n", -1, "no ranks");
	assert_refused(died, 1, "not every rank completed step 1; choose another one with --step");
	/* rank 1 died in the step */
	assert_refused("rank 0 thread 1000 main\n  annotation ProfilerStep#0 0..40\n"
		       "rank 1 end=killed:9 thread 1001 main\n  annotation ProfilerStep#0 0..\n"
		       "    op a 0..30\n",
		       -1, "no step that all");
}

/* Steps that are numbered against the order of time are no run of steps. */
static void test_steps_out_of_order(void)
{
	g_autofree gchar *text = dump("rank 0 thread 1000 main\n"
				      "  annotation ProfilerStep#2 0..10\n    op a 1..9\n"
				      "  annotation ProfilerStep#0 20..30\n    op a 21..29\n"
				      "  annotation ProfilerStep#1 30..40\n    op a 31..39\n");

	g_assert_nonnull(strstr(text, "ProfilerStep#0"));
	g_assert_nonnull(strstr(text, "ProfilerStep#1"));
	g_assert_null(strstr(text, "ProfilerStep#2"));
}

static void test_no_times(void)
{
	g_autofree gchar *text = dump("rank 0 thread 1000 main\n"
				      "  annotation ProfilerStep#0 0..10\n    op a 1..9\n"
				      "problem no_times 1 trace.json\n");

	g_assert_nonnull(strstr(text, "note: the trace has the order of the operations but "
				      "not their times"));
}

static void test_rank_died(void)
{
	g_autofree gchar *text = dump(died);

	g_test_message("%s", text);
	g_assert_nonnull(strstr(text, "wires: transfer gloo:all_reduce 5 us"));
	g_assert_null(strstr(text, "ProfilerStep#1"));
	g_assert_nonnull(strstr(text, "note: 1 steps are left out because only some ranks "
				      "completed them; rank 1 did not complete step 1\n"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_build/one_thread", test_one_thread);
	g_test_add_func("/graph_build/collective", test_collective);
	g_test_add_func("/graph_build/eager", test_eager);
	g_test_add_func("/graph_build/autograd_thread", test_autograd_thread);
	g_test_add_func("/graph_build/shared_link", test_shared_link);
	g_test_add_func("/graph_build/one_worker", test_one_worker);
	g_test_add_func("/graph_build/missing_rank", test_missing_rank);
	g_test_add_func("/graph_build/no_steps", test_no_steps);
	g_test_add_func("/graph_build/steps_out_of_order", test_steps_out_of_order);
	g_test_add_func("/graph_build/no_times", test_no_times);
	g_test_add_func("/graph_build/rank_died", test_rank_died);
	return g_test_run();
}
