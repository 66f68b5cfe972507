/* Which op made an autograd node, on tapes small enough to follow by hand. */
#include <tacho/correlate.h>

#include "timeline_text.h"

enum { NO_FLOW = -1, INFERRED = 0, EXACT = 1 };

/* How the `nth` slice `node` is tied to the `nth_op` slice `op`. */
static gint tie(const TachoTimeline *timeline, const gchar *op, guint nth_op, const gchar *node,
		guint nth)
{
	guint32 from = timeline_find(timeline, op, nth_op), to = timeline_find(timeline, node, nth);

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_FORWARD_BACKWARD && flow->from == from &&
		    flow->to == to)
			return flow->is_exact;
	}
	return NO_FLOW;
}

static guint count_ties(const TachoTimeline *timeline)
{
	guint count = 0;

	for (guint i = 0; i < timeline->flows->len; i++)
		count += g_array_index(timeline->flows, TachoFlow, i).kind ==
			 TACHO_FLOW_FORWARD_BACKWARD;
	return count;
}

/* linear makes nodes 0 (t) and 1 (addmm), relu 2, the loss 3; size and item make none. */
static void test_interval_rule(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op aten::size 0..5 seq=0\n"
			   "op aten::linear 10..20 seq=0\n"
			   "  op aten::t 11..12 seq=0\n"
			   "  op aten::addmm 13..19 seq=1\n"
			   "op aten::relu 21..30 seq=2\n"
			   "op aten::dim 31..32 seq=3\n"
			   "op aten::mse_loss 33..40 seq=3\n"
			   "op aten::item 41..42 seq=4\n"
			   "op MseLossBackward0 50..55 backward seq=3 fwd=1\n"
			   "op ReluBackward0 56..60 backward seq=2 fwd=1\n"
			   "op AddmmBackward0 61..70 backward seq=1 fwd=1\n"
			   "op torch::autograd::AccumulateGrad 71..72 backward\n"
			   "op TBackward0 73..75 backward seq=0 fwd=1\n"
			   "op torch::autograd::AccumulateGrad 76..77 backward\n");

	/* dim shares the loss's low, and the later one is right */
	g_assert_cmpint(tie(timeline, "aten::mse_loss", 0, "MseLossBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::relu", 0, "ReluBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::linear", 0, "AddmmBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::linear", 0, "TBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::linear", 0, "torch::autograd::AccumulateGrad", 0), ==,
			INFERRED);
	g_assert_cmpint(tie(timeline, "aten::linear", 0, "torch::autograd::AccumulateGrad", 1), ==,
			INFERRED);
	g_assert_cmpuint(count_ties(timeline), ==, 6);
}

/* Under autocast the outermost op has no number, an inner one has; and a node whose number no
 * record carries is inferred. */
static void test_low_of_subtree(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op aten::embedding 0..5 seq=0\n"
			   "op aten::linear 10..20\n"
			   "  op aten::to 11..12\n"
			   "  op aten::linear_inner 13..19\n"
			   "    op aten::addmm 14..18 seq=1\n"
			   "op aten::norm 21..30 seq=6\n"
			   "op aten::quiet 31..32\n"
			   "op NormBackward0 40..41 backward seq=6 fwd=1\n"
			   "op LateBackward0 42..43 backward seq=5 fwd=1\n"
			   "op AddmmBackward0 44..45 backward seq=1 fwd=1\n");

	g_assert_cmpint(tie(timeline, "aten::norm", 0, "NormBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::linear", 0, "LateBackward0", 0), ==, INFERRED);
	g_assert_cmpint(tie(timeline, "aten::linear", 0, "AddmmBackward0", 0), ==, EXACT);
}

/* The counter goes on from iteration to iteration; wrappers and modules are no owners. */
static void test_iterations(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "module net 0..9\n"
			   "  op aten::mm 1..8 seq=0\n"
			   "op autograd::engine::evaluate_function:MmBackward0 10..20\n"
			   "  op MmBackward0 11..19 backward seq=0 fwd=1\n"
			   "    op aten::mm 12..18\n"
			   "module net 30..39\n"
			   "  op aten::mm 31..38 seq=1\n"
			   "op autograd::engine::evaluate_function:MmBackward0 40..50\n"
			   "  op MmBackward0 41..49 backward seq=1 fwd=1\n"
			   "    op aten::mm 42..48\n");

	g_assert_cmpint(tie(timeline, "aten::mm", 0, "MmBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::mm", 2, "MmBackward0", 1), ==, EXACT);
	g_assert_cmpuint(count_ties(timeline), ==, 2);
}

/* A checkpoint's node runs its forward again: the ops recomputed own the nodes they make, which run
 * in an engine entered once more within the node. */
static void test_checkpoint(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op aten::embedding 0..5 seq=0\n"
			   "op CheckpointFunction 6..10 seq=1\n"
			   "  op aten::mm 7..9\n"
			   "op aten::sum 11..12 seq=2\n"
			   "op SumBackward0 20..21 backward seq=2 fwd=1\n"
			   "op CheckpointFunctionBackward 22..50 backward seq=1 fwd=1\n"
			   "  op aten::mm 23..30 seq=3\n"
			   "  op aten::tanh 31..35 seq=4\n"
			   "  op TanhBackward0 36..40 backward seq=4 fwd=1\n"
			   "  op MmBackward0 41..49 backward seq=3 fwd=1\n"
			   "op EmbeddingBackward0 51..52 backward seq=0 fwd=1\n");

	g_assert_cmpint(tie(timeline, "aten::sum", 0, "SumBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "CheckpointFunction", 0, "CheckpointFunctionBackward", 0), ==,
			EXACT);
	g_assert_cmpint(tie(timeline, "aten::tanh", 0, "TanhBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::mm", 1, "MmBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::embedding", 0, "EmbeddingBackward0", 0), ==, EXACT);
}

/* An op that calls backward holds nodes, whose numbers are not its own. */
static void test_backward_inside_op(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op aten::mm 0..5 seq=0\n"
			   "op aten::sum 6..8 seq=1\n"
			   "op aten::_backward 10..30 seq=2\n"
			   "  op SumBackward0 11..12 backward seq=1 fwd=1\n"
			   "  op MmBackward0 13..14 backward seq=0 fwd=1\n");

	g_assert_cmpint(tie(timeline, "aten::sum", 0, "SumBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::mm", 0, "MmBackward0", 0), ==, EXACT);
}

#define TWO_THREADS                                                                                \
	"thread 1 main\n"                                                                          \
	"%s"                                                                                       \
	"op first::a 0..5 seq=0\n"                                                                 \
	"op first::b 6..8 seq=1\n"                                                                 \
	"thread 2 other\n"                                                                         \
	"%s"                                                                                       \
	"op second::a 1..4 seq=0\n"                                                                \
	"op second::b 5..9 seq=1\n"                                                                \
	"op second::c 10..12 seq=2\n"                                                              \
	"thread 3 engine\n"                                                                        \
	"op NodeC 20..21 backward seq=2 fwd=%d\n"                                                  \
	"op NodeB 22..23 backward seq=1 fwd=%d\n"                                                  \
	"op NodeB 24..25 backward seq=1 fwd=%d\n"                                                  \
	"op NodeA 26..27 backward seq=0 fwd=%d\n"

/* Marks tell which thread an id is. Here the main thread is 9, although 4 is the lower id. */
static void test_marked_threads(void)
{
	g_autofree gchar *text =
		g_strdup_printf("rank 0 " TWO_THREADS, "mark autograd_thread 0 first=9\n",
				"mark autograd_thread 0 first=4\n", 4, 9, 4, 9);
	g_autoptr(TachoTimeline) timeline = correlated(text);

	g_assert_cmpint(tie(timeline, "second::c", 0, "NodeC", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "first::b", 0, "NodeB", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "second::b", 0, "NodeB", 1), ==, EXACT);
	g_assert_cmpint(tie(timeline, "first::a", 0, "NodeA", 0), ==, EXACT);
}

/* Without marks: id 7 has a number 2, which only thread 2 made; id 5 takes the other. */
static void test_unmarked_threads(void)
{
	g_autofree gchar *text = g_strdup_printf("rank 0 " TWO_THREADS, "", "", 7, 5, 7, 5);
	g_autoptr(TachoTimeline) timeline = correlated(text);

	g_assert_cmpint(tie(timeline, "second::c", 0, "NodeC", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "first::b", 0, "NodeB", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "second::b", 0, "NodeB", 1), ==, EXACT);
	g_assert_cmpint(tie(timeline, "first::a", 0, "NodeA", 0), ==, EXACT);
}

/* Nothing is tied to an op that begins after the node, nor across processes. */
static void test_nothing_to_tie(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op AloneBackward0 0..5 backward seq=0 fwd=1\n"
			   "op torch::autograd::AccumulateGrad 6..7 backward\n"
			   "op aten::mm 10..20 seq=0\n"
			   "rank 1 thread 2 main\n"
			   "op StrangeBackward0 30..35 backward seq=0 fwd=1\n");

	g_assert_cmpuint(count_ties(timeline), ==, 0);
}

/* Two threads with the same numbers: the lower id is of the thread that ran a numbered operation first, here the second. */
static void test_equal_threads(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0 thread 1 main\n"
						       "op quiet 0..1\n"
						       "op first::a 5..6 seq=0\n"
						       "op first::b 6..8 seq=1\n"
						       "thread 2 other\n"
						       "op second::a 4..6 seq=0\n"
						       "op second::b 6..9 seq=1\n"
						       "thread 3 engine\n"
						       "op NodeB 22..23 backward seq=1 fwd=8\n"
						       "op NodeB 24..25 backward seq=1 fwd=3\n"
						       "op NodeA 26..27 backward seq=0 fwd=8\n"
						       "op NodeA 28..29 backward seq=0 fwd=3\n");

	g_assert_cmpint(tie(timeline, "second::b", 0, "NodeB", 1), ==, EXACT);
	g_assert_cmpint(tie(timeline, "second::a", 0, "NodeA", 1), ==, EXACT);
	g_assert_cmpint(tie(timeline, "first::b", 0, "NodeB", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "first::a", 0, "NodeA", 0), ==, EXACT);
}

/* Many nodes of an id are not all looked at, but enough: of 200, half of whose numbers each thread has, and one some more. What a
 * thread ran after the nodes is none of theirs. */
static void test_most_numbers(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 thread 1 main\nunit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < 130; i++)
		g_string_append_printf(text, "op low%u %u..%u seq=%u\n", i, 10 * i, 10 * i + 5, i);
	g_string_append(text, "thread 2 other\n");
	for (guint i = 100; i < 200; i++)
		g_string_append_printf(text, "op high%u %u..%u seq=%u\n", i, 10 * i, 10 * i + 5, i);
	g_string_append(text, "thread 4 late\n");
	for (guint i = 0; i < 200; i++)
		g_string_append_printf(text, "op late%u %u..%u seq=%u\n", i, 90000 + 10 * i,
				       90005 + 10 * i, i);
	g_string_append(text, "thread 3 engine\n");
	for (guint i = 0; i < 200; i++)
		g_string_append_printf(text, "op Node%u %u..%u backward seq=%u fwd=1\n", 199 - i,
				       5000 + 10 * i, 5005 + 10 * i, 199 - i);
	timeline = correlated(text->str);
	g_assert_cmpint(tie(timeline, "low0", 0, "Node0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "low129", 0, "Node129", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "low129", 0, "Node150", 0), ==, INFERRED);
	g_assert_cmpuint(count_ties(timeline), ==, 200);
}

/* An operation that begins with a node is before it where it stands before it; a node without a number follows the one before it
 * on its own thread only. */
static void test_moments(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "op aten::a 0..5 seq=0\n"
			   "op aten::b 10..15 seq=1\n"
			   "op aten::c 20..25 seq=2\n"
			   "thread 2 engine\n"
			   "op BeforeBackward0 9..10 backward seq=1 fwd=1\n"
			   "op AtBackward0 20..21 backward seq=2 fwd=1\n"
			   "op torch::autograd::AccumulateGrad 22..23 backward\n"
			   "thread 3 other\n"
			   "op torch::autograd::AccumulateGrad 30..31 backward\n");

	g_assert_cmpint(tie(timeline, "aten::a", 0, "BeforeBackward0", 0), ==, INFERRED);
	g_assert_cmpint(tie(timeline, "aten::c", 0, "AtBackward0", 0), ==, EXACT);
	g_assert_cmpint(tie(timeline, "aten::c", 0, "torch::autograd::AccumulateGrad", 0), ==,
			INFERRED);
	g_assert_cmpuint(count_ties(timeline), ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/forward_backward/interval_rule", test_interval_rule);
	g_test_add_func("/forward_backward/low_of_subtree", test_low_of_subtree);
	g_test_add_func("/forward_backward/iterations", test_iterations);
	g_test_add_func("/forward_backward/checkpoint", test_checkpoint);
	g_test_add_func("/forward_backward/backward_inside_op", test_backward_inside_op);
	g_test_add_func("/forward_backward/marked_threads", test_marked_threads);
	g_test_add_func("/forward_backward/unmarked_threads", test_unmarked_threads);
	g_test_add_func("/forward_backward/nothing_to_tie", test_nothing_to_tie);
	g_test_add_func("/forward_backward/equal_threads", test_equal_threads);
	g_test_add_func("/forward_backward/most_numbers", test_most_numbers);
	g_test_add_func("/forward_backward/moments", test_moments);
	return g_test_run();
}
