/* Which capture made which of many graphs: by when calls were made, by the kinds of nodes, and by ids. Times are microseconds.
 *
 * A launch that is called cudaGraphLaunch/3 is of work that `launch=cudaGraphLaunch/3` says. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

/* The op that made the node of the nth slice of that name; "": it is not known. */
static const gchar *maker_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	const TachoGraphWork *work =
		tacho_slice_borrow_graph_work(timeline, timeline_find(timeline, name, nth));
	guint32 slice;

	g_assert_nonnull(work);
	slice = work->capture;
	while (slice != TACHO_NONE && timeline->slices.kind[slice] != TACHO_SLICE_OP)
		slice = timeline->slices.parent[slice];
	return slice == TACHO_NONE ? "" : tacho_slice_name(timeline, slice);
}

static const TachoGraphWork *work_of(const TachoTimeline *timeline, const gchar *name)
{
	return tacho_slice_borrow_graph_work(timeline, timeline_find(timeline, name, 0));
}

/* What an importer tells of the work of a slice. To be called in the order of slices. */
static void tell_node(TachoTimeline *timeline, const gchar *name, gint64 node)
{
	TachoGraphWork work = { .slice = timeline_find(timeline, name, 0),
				.capture = TACHO_NONE,
				.node = node };

	g_array_append_val(timeline->graph_work, work);
}

static guint64 n_uncaptured(const TachoTimeline *timeline)
{
	return timeline_count_problems(timeline, TACHO_PROBLEM_UNCAPTURED_GRAPH);
}

/* --- which calls are of a capture --------------------------------------------------------------- */

#define N_CAPTURES 7

static const gchar *const shapes[N_CAPTURES] = { "k", "kk", "ks", "sk", "kc", "ck", "kkk" };

/* A call that makes a node of a kind, in an op called `op`/`i`, from `at` to `at` + 4. */
static void add_call(GString *text, gchar kind, const gchar *op, guint i, guint at)
{
	const gchar *call = kind == 'k'	  ? "cudaLaunchKernel"
			    : kind == 'c' ? "cudaMemcpyAsync"
					  : "cudaMemsetAsync";

	g_string_append_printf(text, "op %s/%u %u..%u\n  runtime %s %u..%u\n", op, i, at, at + 4,
			       call, at + 1, at + 3);
}

/* One capture after the other, each of other kinds of calls, with calls between them which launch nothing, either. */
static void add_captures(GString *text, const gchar *op, guint from)
{
	for (guint i = 0; i < N_CAPTURES; i++) {
		guint at = from + 100 * i;

		add_call(text, 'k', "outside", i, at);
		g_string_append_printf(text, "runtime cudaStreamBeginCapture %u..%u\n", at + 10,
				       at + 12);
		for (guint k = 0; shapes[i][k]; k++)
			add_call(text, shapes[i][k], op, 10 * i + k, at + 20 + 10 * k);
		g_string_append_printf(text, "runtime cudaStreamEndCapture %u..%u\n", at + 80,
				       at + 82);
	}
	add_call(text, 'k', "outside", N_CAPTURES, from + 100 * N_CAPTURES);
}

static void add_launches(GString *text, guint from)
{
	for (guint i = 0; i < N_CAPTURES; i++)
		g_string_append_printf(text, "runtime cudaGraphLaunch/%u %u..%u\n", i,
				       from + 10 * i, from + 10 * i + 5);
	g_string_append(text, "stream 7\n");
	for (guint i = 0; i < N_CAPTURES; i++)
		for (guint k = 0; shapes[i][k]; k++)
			g_string_append_printf(text,
					       "%s node/%u/%u %u..%u launch=cudaGraphLaunch/%u\n",
					       shapes[i][k] == 'k'   ? "kernel"
					       : shapes[i][k] == 'c' ? "memcpy"
								     : "memset",
					       i, k, from + 1000 + 100 * i + 10 * k,
					       from + 1005 + 100 * i + 10 * k, i);
}

/* Two processes capture at the same time; each graph is of the capture of its own process that has its kinds of nodes. */
static void test_many_captures(void)
{
	static const gchar *const ops[] = { "first", "second", "third" };
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint rank = 0; rank < 3; rank++) {
		g_string_append_printf(text, "rank %u thread %u main\n", rank, 10 * rank + 1);
		add_captures(text, ops[rank], rank == 1 ? 30 : 50 * rank);
		add_launches(text, 2000);
	}
	timeline = correlated(text->str);
	for (guint rank = 0; rank < 3; rank++)
		for (guint i = 0; i < N_CAPTURES; i++)
			for (guint k = 0; shapes[i][k]; k++) {
				g_autofree gchar *node = g_strdup_printf("node/%u/%u", i, k);
				g_autofree gchar *op =
					g_strdup_printf("%s/%u", ops[rank], 10 * i + k);

				g_assert_cmpstr(maker_of(timeline, node, rank), ==, op);
			}
	g_assert_cmpuint(n_uncaptured(timeline), ==, 0);
	/* graphs of two processes are two, and in the order of their launches */
	g_assert_cmpuint(work_of(timeline, "node/0/0")->graph, ==, 0);
	g_assert_cmpuint(work_of(timeline, "node/6/2")->graph, ==, N_CAPTURES - 1);
	g_assert_cmpuint(work_of(timeline, "node/6/2")->number, ==, 2);
	g_assert_cmpuint(
		tacho_slice_borrow_graph_work(timeline, timeline_find(timeline, "node/0/0", 1))
			->graph,
		==, N_CAPTURES);
}

#define GRAPH_OF_ONE                                                                               \
	"runtime cudaGraphLaunch 100..101\n"                                                       \
	"stream 7\n"                                                                               \
	"kernel k 150..160 launch=cudaGraphLaunch\n"

/* A capture is from the end of the call that begins it to the begin of the one that ends it, on one thread; a call of any
 * thread then is of it, and the innermost op around the call made the node. */
static void test_bounds(void)
{
	static const struct {
		const gchar *text, *maker;
	} cases[] = {
		{ "runtime cudaStreamBeginCapture 10..12\nop in 12..20\n  runtime cudaLaunchKernel "
		  "12..14\n"
		  "runtime cudaStreamEndCapture 20..22\n",
		  "in" },
		{ "runtime cudaStreamBeginCapture 10..12\nop in 13..19\n  runtime cudaLaunchKernel "
		  "14..15\nop late 20..30\n  runtime cudaLaunchKernel 20..21\n"
		  "thread 2\nruntime cudaStreamEndCapture 19..19\n",
		  "" }, /* begun on one thread, ended on another: nobody does */
		{ "runtime cudaStreamBeginCapture 10..12\nop in 13..19\n  runtime cudaLaunchKernel "
		  "14..15\n"
		  "runtime cudaStreamEndCapture 20..22\n"
		  "thread 2\nop beside 20..30\n  runtime cudaLaunchKernel 20..25\n",
		  "in" },
		{ "runtime cudaStreamBeginCapture 10..12\nruntime cudaStreamEndCapture 20..22\n"
		  "thread 2\nop beside 11..30\n  op inner 14..20\n    runtime cudaLaunchKernel "
		  "15..18\n",
		  "inner" },
		/* begun twice: the first led to nothing */
		{ "runtime cudaStreamBeginCapture 10..12\nop in 13..17\n  runtime cudaLaunchKernel "
		  "14..15\n"
		  "runtime cudaStreamBeginCapture 18..19\nop again 20..24\n  runtime "
		  "cudaLaunchKernel 21..22\n"
		  "runtime cudaStreamEndCapture 30..32\n",
		  "again" },
		/* ended twice */
		{ "runtime cudaStreamBeginCapture 10..12\nop in 13..17\n  runtime cudaLaunchKernel "
		  "14..15\n"
		  "runtime cudaStreamEndCapture 18..19\nop again 20..24\n  runtime "
		  "cudaLaunchKernel 21..22\n"
		  "runtime cudaStreamEndCapture 30..32\n",
		  "in" },
		{ "op in 13..17\n  runtime cudaLaunchKernel 14..15\nruntime cudaStreamEndCapture "
		  "18..19\n",
		  "" },
		/* an op of such a name is not the call */
		{ "op cudaStreamBeginCapture 10..12\nop in 13..17\n  runtime cudaLaunchKernel "
		  "14..15\n"
		  "op cudaStreamEndCapture 18..19\n",
		  "" },
		/* outside of all ops it is known which call made the node, and no op */
		{ "runtime cudaStreamBeginCapture 10..12\nruntime cudaLaunchKernel 14..15\n"
		  "runtime cudaStreamEndCapture 18..19\n",
		  "" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *text =
			g_strconcat("unit us\nrank 0 thread 1 main\n", cases[i].text,
				    "thread 3 launcher\n", GRAPH_OF_ONE, NULL);
		g_autoptr(TachoTimeline) timeline = correlated(text);

		g_test_message("%u", i);
		g_assert_cmpstr(maker_of(timeline, "k", 0), ==, cases[i].maker);
		g_assert_cmpint(work_of(timeline, "k")->capture == TACHO_NONE, ==,
				!*cases[i].maker && i + 1 < G_N_ELEMENTS(cases));
	}
}

/* What launches work itself is not captured; a driver's call within one of the runtime that makes a node is the same one, but
 * within another it is its own. */
static void test_calls_in_calls(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\nrank 0 thread 1 main\n"
			   "runtime cudaStreamBeginCapture 10..12\n"
			   "op eager 13..17\n  runtime cuLaunchKernel/eager 14..15\n"
			   "op in 20..40\n"
			   "  runtime cudaLaunchKernel 21..29\n    runtime cuLaunchKernel 22..23\n"
			   "  runtime cudaEventQuery 30..39\n    runtime cuMemsetD8Async 31..32\n"
			   "runtime cudaStreamEndCapture 50..52\n"
			   "runtime cudaGraphLaunch 100..101\n"
			   "stream 7\n"
			   "kernel now 60..61 launch=cuLaunchKernel/eager\n"
			   "kernel k 150..160 launch=cudaGraphLaunch\n"
			   "memset s 160..161 launch=cudaGraphLaunch\n");

	g_assert_cmpstr(maker_of(timeline, "k", 0), ==, "in");
	g_assert_cmpstr(maker_of(timeline, "s", 0), ==, "in");
	g_assert_cmpuint(work_of(timeline, "s")->capture, ==,
			 timeline_find(timeline, "cuMemsetD8Async", 0));
	g_assert_null(tacho_slice_borrow_graph_work(timeline, timeline_find(timeline, "now", 0)));
	g_assert_cmpuint(timeline->graph_work->len, ==, 2);
}

/* ROCm copies and fills by kernels. Work that no graph launched, or that runs on no stream, is no node. */
static void test_kinds_of_work(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\nrank 0 thread 1 main\n"
			   "runtime hipStreamBeginCapture 10..12\n"
			   "op copy 13..14\n  runtime hipMemcpyAsync 13..14\n"
			   "op fill 15..16\n  runtime hipMemsetAsync 15..16\n"
			   "op reduce 17..18\n  runtime hipLaunchKernel 17..18\n"
			   "runtime hipStreamEndCapture 50..52\n"
			   "runtime hipGraphLaunch 100..105\n"
			   "op beside 106..107 launch=hipGraphLaunch\n"
			   "stream 7\n"
			   "kernel __amd_rocclr_copyBuffer 150..160 launch=hipGraphLaunch\n"
			   "kernel __amd_rocclr_fillBufferAligned 160..170 launch=hipGraphLaunch\n"
			   "collective ncclDevKernel_AllReduce 170..180 launch=hipGraphLaunch\n"
			   "kernel alone 180..190\n"
			   "annotation region 190..195 launch=hipGraphLaunch\n");

	g_assert_cmpuint(timeline->graph_work->len, ==, 3);
	g_assert_cmpstr(maker_of(timeline, "__amd_rocclr_copyBuffer", 0), ==, "copy");
	g_assert_cmpstr(maker_of(timeline, "__amd_rocclr_fillBufferAligned", 0), ==, "fill");
	g_assert_cmpstr(maker_of(timeline, "ncclDevKernel_AllReduce", 0), ==, "reduce");
}

/* --- ids ---------------------------------------------------------------------------------------- */

#define CAPTURE(at, op)                                                                            \
	"runtime cudaStreamBeginCapture " #at "1.." #at "2\n"                                      \
	"op " op " " #at "3.." #at "5\n  runtime cudaLaunchKernel " #at "3.." #at "4\n"            \
	"runtime cudaStreamEndCapture " #at "8.." #at "9\n"

/* Launched in another order than captured, as ids tell. */
#define THREE_GRAPHS                                                                               \
	"unit us\nrank 0 thread 1 main\n" CAPTURE(1, "a") CAPTURE(2, "b") CAPTURE(                 \
		3, "c") "runtime cudaGraphLaunch/1 100..101\nruntime cudaGraphLaunch/2 102..103\n" \
			"runtime cudaGraphLaunch/3 104..105\nruntime cudaGraphLaunch/4 106..107\n" \
			"stream 7\n"                                                               \
			"kernel x 150..160 launch=cudaGraphLaunch/1\n"                             \
			"kernel y 160..170 launch=cudaGraphLaunch/2\n"                             \
			"kernel z 170..180 launch=cudaGraphLaunch/3\n"

/* As many graphs with ids as captures: in the order of their ids. */
static void test_by_ids(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(THREE_GRAPHS);

	tell_node(timeline, "x", 30);
	tell_node(timeline, "y", 10);
	tell_node(timeline, "z", 20);
	tacho_correlate(timeline);
	g_assert_cmpstr(maker_of(timeline, "x", 0), ==, "c");
	g_assert_cmpstr(maker_of(timeline, "y", 0), ==, "a");
	g_assert_cmpstr(maker_of(timeline, "z", 0), ==, "b");
	g_assert_cmpuint(n_uncaptured(timeline), ==, 0);
	g_assert_cmpuint(work_of(timeline, "y")->graph, ==, 1);
}

/* Without the id of one of them, or with one graph more or less than captures, none is known. */
static void test_lacking_ids(void)
{
	g_autoptr(TachoTimeline) lacks = timeline_from_text(THREE_GRAPHS);
	g_autoptr(TachoTimeline) more =
		timeline_from_text(THREE_GRAPHS "kernel w 180..190 launch=cudaGraphLaunch/4\n");

	tell_node(lacks, "x", 30);
	tell_node(lacks, "y", 10);
	tacho_correlate(lacks);
	g_assert_cmpstr(maker_of(lacks, "x", 0), ==, "");
	g_assert_cmpuint(n_uncaptured(lacks), ==, 3);
	tell_node(more, "x", 30);
	tell_node(more, "y", 10);
	tell_node(more, "z", 20);
	tell_node(more, "w", 40);
	tacho_correlate(more);
	g_assert_cmpstr(maker_of(more, "y", 0), ==, "");
	g_assert_cmpuint(n_uncaptured(more), ==, 4);
}

/* More graphs than captures, which all made the same: of whichever, it is the same op. */
static void test_same_captures(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"unit us\nrank 0 thread 1 main\n" CAPTURE(1, "a") CAPTURE(2, "a")
			CAPTURE(3, "a") "runtime cudaGraphLaunch/1 100..101\nruntime "
					"cudaGraphLaunch/2 102..103\n"
					"stream 7\n"
					"kernel x 150..160 launch=cudaGraphLaunch/1\n"
					"kernel y 160..170 launch=cudaGraphLaunch/2\n");

	tacho_correlate(timeline);
	g_assert_cmpstr(maker_of(timeline, "x", 0), ==, "a");
	g_assert_cmpstr(maker_of(timeline, "y", 0), ==, "a");
	g_assert_cmpuint(work_of(timeline, "y")->capture, ==,
			 timeline_find(timeline, "cudaLaunchKernel", 0));
}

/* One graph on two streams: in the order of its ids, whenever its nodes ran. */
static void test_order_of_ids(void)
{
	static const gchar text[] =
		"unit us\nrank 0 thread 1 main\n"
		"runtime cudaStreamBeginCapture 10..12\n"
		"op a 13..14\n  runtime cudaLaunchKernel 13..14\n"
		"op b 15..16\n  runtime cudaLaunchKernel 15..16\n"
		"op c 17..18\n  runtime cudaLaunchKernel 17..18\n"
		"runtime cudaStreamEndCapture 20..22\n"
		"runtime cudaGraphLaunch/1 100..101\nruntime cudaGraphLaunch/2 102..103\n"
		"stream 7\n"
		"kernel x 150..160 launch=cudaGraphLaunch/1\n"
		"kernel y 180..190 launch=cudaGraphLaunch/1\n"
		"stream 8\n"
		"kernel z 155..160 launch=cudaGraphLaunch/1\n";
	g_autoptr(TachoTimeline) told = timeline_from_text(text);
	g_autoptr(TachoTimeline) half_told = timeline_from_text(text);

	tell_node(told, "x", 12);
	tell_node(told, "y", 10);
	tell_node(told, "z", 11);
	tacho_correlate(told);
	g_assert_cmpstr(maker_of(told, "y", 0), ==, "a");
	g_assert_cmpstr(maker_of(told, "z", 0), ==, "b");
	g_assert_cmpstr(maker_of(told, "x", 0), ==, "c");
	g_assert_cmpuint(work_of(told, "z")->number, ==, 1);
	tell_node(half_told, "x", 12);
	tell_node(half_told, "y", 10);
	tacho_correlate(half_told);
	g_assert_cmpstr(maker_of(half_told, "x", 0), ==, "");
}

/* Launches of the same work are of one graph; other names, other ids or another process make another one. */
static void test_which_graph(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"unit us\nrank 0 thread 1 main\n"
		"runtime cudaGraphLaunch/1 10..11\nruntime cudaGraphLaunch/2 12..13\n"
		"runtime cudaGraphLaunch/3 14..15\nruntime cudaGraphLaunch/4 16..17\n"
		"stream 7\n"
		"kernel x 20..25 launch=cudaGraphLaunch/1\nkernel y 25..30 "
		"launch=cudaGraphLaunch/1\n"
		"kernel x 30..35 launch=cudaGraphLaunch/2\nkernel z 35..40 "
		"launch=cudaGraphLaunch/2\n"
		"kernel x 40..45 launch=cudaGraphLaunch/3\nkernel y 45..50 "
		"launch=cudaGraphLaunch/3\n"
		"kernel y 50..55 launch=cudaGraphLaunch/4\nkernel x 55..60 "
		"launch=cudaGraphLaunch/4\n"
		"rank 1 thread 2 main\n"
		"runtime cudaGraphLaunch/5 10..11\n"
		"stream 7\n"
		"kernel x 20..25 launch=cudaGraphLaunch/5\nkernel y 25..30 "
		"launch=cudaGraphLaunch/5\n");
	static const guint32 graphs[] = { 0, 1, 0, 2, 3 };
	guint row = 0;

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->graph_work->len, ==, 2 * G_N_ELEMENTS(graphs));
	for (guint i = 0; i < G_N_ELEMENTS(graphs); i++)
		for (guint32 number = 0; number < 2; number++, row++) {
			const TachoGraphWork *work =
				&g_array_index(timeline->graph_work, TachoGraphWork, row);

			g_assert_cmpuint(work->graph, ==, graphs[i]);
			g_assert_cmpuint(work->number, ==, number);
		}
	g_assert_cmpuint(n_uncaptured(timeline), ==, 10);
	g_assert_nonnull(strstr(g_array_index(timeline->problems, TachoProblem, 0).where,
				"rank 0, process 1000"));
}

/* --- told by the trace -------------------------------------------------------------------------- */

/* A trace tells when a node was made beside the thread that did it: what was open there then made it. What it tells of a thread
 * stays, and of the rest of such a graph nothing is guessed. */
static void test_told(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("unit us\nrank 0 thread 1 main\n"
				   "op a 10..20\n  op b 12..18\n"
				   "collective made 15..16\n"
				   "collective lost 30..31\n"
				   "runtime cudaGraphLaunch 100..101\n"
				   "stream 7\n"
				   "kernel x 150..160 launch=cudaGraphLaunch\n"
				   "kernel y 160..170 launch=cudaGraphLaunch\n"
				   "kernel z 170..180 launch=cudaGraphLaunch\n");
	static const gchar *const kernels[] = { "x", "y", "z" };
	static const gchar *const told[] = { "made", "lost", "a" };

	for (guint i = 0; i < 3; i++) {
		TachoGraphWork work = { .slice = timeline_find(timeline, kernels[i], 0),
					.capture = timeline_find(timeline, told[i], 0),
					.node = i + 1,
					.is_exact = TRUE };

		g_array_append_val(timeline->graph_work, work);
	}
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->graph_work->len, ==, 3);
	g_assert_cmpstr(maker_of(timeline, "x", 0), ==, "b");
	g_assert_cmpuint(work_of(timeline, "y")->capture, ==, timeline_find(timeline, "lost", 0));
	g_assert_cmpstr(maker_of(timeline, "z", 0), ==, "a");
	g_assert_true(work_of(timeline, "x")->is_exact);
	g_assert_cmpuint(n_uncaptured(timeline), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_nodes/many_captures", test_many_captures);
	g_test_add_func("/graph_nodes/bounds", test_bounds);
	g_test_add_func("/graph_nodes/calls_in_calls", test_calls_in_calls);
	g_test_add_func("/graph_nodes/kinds_of_work", test_kinds_of_work);
	g_test_add_func("/graph_nodes/by_ids", test_by_ids);
	g_test_add_func("/graph_nodes/lacking_ids", test_lacking_ids);
	g_test_add_func("/graph_nodes/same_captures", test_same_captures);
	g_test_add_func("/graph_nodes/order_of_ids", test_order_of_ids);
	g_test_add_func("/graph_nodes/which_graph", test_which_graph);
	g_test_add_func("/graph_nodes/told", test_told);
	return g_test_run();
}
