/* The same collective seen by its ranks: partners, groups, and what is missing. */
#include <tacho/correlate.h>

#include "timeline_text.h"

static const TachoCollective *row(const TachoTimeline *timeline, guint index)
{
	g_assert_cmpuint(index, <, timeline->collectives->len);
	return &g_array_index(timeline->collectives, TachoCollective, index);
}

static void assert_row(const TachoTimeline *timeline, guint index, const gchar *name, guint group,
		       guint sequence, guint n_members)
{
	const TachoCollective *collective = row(timeline, index);

	g_assert_cmpstr(tacho_timeline_string(timeline, collective->name), ==, name);
	g_assert_cmpuint(collective->group, ==, group);
	g_assert_cmpuint(collective->sequence, ==, sequence);
	g_assert_cmpuint(collective->n_members, ==, n_members);
}

static gboolean has_flow(const TachoTimeline *timeline, TachoFlowKind kind, guint32 from,
			 guint32 to)
{
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == kind && flow->from == from && flow->to == to)
			return TRUE;
	}
	return FALSE;
}

static void test_two_ranks(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("world 2\n"
			   "rank 0 thread 1 main\n"
			   "op c10d::allreduce_ 10..12\n"
			   "collective gloo:all_reduce 11..30 bytes=64 end_tid=9\n"
			   "collective gloo:broadcast 40..50 bytes=8 end_tid=9\n"
			   "rank 1 thread 2 main\n"
			   "collective gloo:all_reduce 20..31 bytes=64 end_tid=8\n"
			   "collective gloo:broadcast 41..52 bytes=8 end_tid=8\n");
	guint32 first = timeline_find(timeline, "gloo:all_reduce", 0);
	guint32 second = timeline_find(timeline, "gloo:all_reduce", 1);

	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	assert_row(timeline, 0, "gloo:all_reduce", 0, 0, 2);
	assert_row(timeline, 1, "gloo:broadcast", 0, 1, 2);
	g_assert_cmpuint(row(timeline, 0)->bytes, ==, 64);
	g_assert_cmpuint(row(timeline, 0)->n_expected, ==, 2);
	g_assert_cmpint(row(timeline, 0)->last_begin_ns, ==, 20000000);
	g_assert_cmpuint(g_array_index(timeline->members, guint32, 0), ==, first);
	g_assert_cmpuint(g_array_index(timeline->members, guint32, 1), ==, second);
	g_assert_true(has_flow(timeline, TACHO_FLOW_COLLECTIVE, second, first));
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::allreduce_", 0), first));
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Two threads of the backend begin neighbours in any order; gloo tells of them only then. */
static void test_begun_in_other_order(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 pid=1 thread 1 main\n"
			   "op Reducer 0..30\n"
			   "thread 11\n"
			   "collective gloo:broadcast 10..20 bytes=64\n"
			   "collective gloo:all_reduce 21..30 bytes=8\n"
			   "collective gloo:all_reduce 21.05..30 bytes=8\n"
			   "thread 12\n"
			   "collective gloo:broadcast 10.1..20 bytes=32\n"
			   "rank 1 pid=2 thread 2 main\n"
			   "thread 21\n"
			   "collective gloo:broadcast 10..20 bytes=32\n"
			   "collective gloo:all_reduce 21..30 bytes=8\n"
			   "collective gloo:all_reduce 21..30 bytes=8\n"
			   "thread 22\n"
			   "collective gloo:broadcast 10.1..20 bytes=64\n");
	guint n_inferred = 0;

	g_assert_cmpuint(timeline->collectives->len, ==, 4);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpuint(row(timeline, i)->n_members, ==, 2);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE) {
			g_assert_false(flow->is_exact);
			g_assert_cmpuint(flow->from, ==, timeline_find(timeline, "Reducer", 0));
			n_inferred++;
		}
	}
	/* the second all-reduce was waiting for its thread: who queued it is not known */
	g_assert_cmpuint(n_inferred, ==, 3);
}

/* The operation that queued a collective ran on another thread, with the same tensor; a second one
 * on it was queued before the first had begun. */
static void test_queued_with_tensor(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 pid=1 thread 1 main\n"
			   "op c10d::broadcast_ 0..1 in=float32[4]@0x100+64\n"
			   "op c10d::allreduce_ 2..3 in=float32[4]@0x100\n"
			   "op c10d::allreduce_ 4..5 in=float32[4]@0x100\n"
			   "thread 11\n"
			   "collective gloo:all_reduce 10..20 in=float32[4]@0x100\n"
			   "collective gloo:all_reduce 20..30 in=float32[4]@0x100\n"
			   "thread 12\n"
			   "collective gloo:broadcast 11..12 in=float32[4]@0x100+64\n");
	guint32 first = timeline_find(timeline, "gloo:all_reduce", 0);

	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::allreduce_", 0), first));
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::allreduce_", 1), first + 1));
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::broadcast_", 0),
			       timeline_find(timeline, "gloo:broadcast", 0)));
}

/* An operation that tells of what it gives, and a collective of what it takes, which the next operation gives back: each has its
 * own. */
static void test_queued_without_tensor(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 pid=1 thread 1 main\n"
			   "op c10d::scatter_ 0..1 in=float32[4]@0x100\n"
			   "op c10d::scatter_ 30..31 in=float32[4]@0x300\n"
			   "thread 11\n"
			   "collective gloo:scatter 2..20 in=float32[4]@0x200\n"
			   "collective gloo:scatter 32..50 in=float32[4]@0x100\n");
	guint32 first = timeline_find(timeline, "gloo:scatter", 0);

	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::scatter_", 0), first));
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::scatter_", 1), first + 1));
}

/* Two reductions of one size, begun in another order than they were queued in. */
static void test_order_of_queue(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 pid=1 thread 1 main\n"
			   "op c10d::allreduce_ 0..1 in=float32[4]@0xa0\n"
			   "op c10d::allreduce_ 2..3 in=float32[4]@0xb0\n"
			   "thread 11\n"
			   "collective gloo:all_reduce 10..20 bytes=16 in=float32[4]@0xa0\n"
			   "collective gloo:all_reduce 11..31 bytes=16 in=float32[4]@0xb0\n"
			   "rank 1 pid=2 thread 2 main\n"
			   "op c10d::allreduce_ 0..1 in=float32[4]@0xc0\n"
			   "op c10d::allreduce_ 2..3 in=float32[4]@0xd0\n"
			   "thread 21\n"
			   "collective gloo:all_reduce 9..31 bytes=16 in=float32[4]@0xd0\n"
			   "collective gloo:all_reduce 10..20 bytes=16 in=float32[4]@0xc0\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	g_assert_cmpuint(g_array_index(timeline->members, guint32, 0), ==,
			 timeline_find(timeline, "gloo:all_reduce", 0));
	g_assert_cmpuint(g_array_index(timeline->members, guint32, 1), ==,
			 timeline_find(timeline, "gloo:all_reduce", 3));
}

/* Rank 1 never barriers, and gathers once too often. */
static void test_unlike_calls(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 end=exited:0 thread 1 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:barrier 30..40\n"
			   "collective gloo:all_reduce 50..60 bytes=32\n"
			   "collective gloo:all_reduce 70..80 bytes=16\n"
			   "rank 1 end=exited:0 thread 2 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:all_reduce 50..60 bytes=32\n"
			   "collective gloo:allgather 61..62 bytes=4\n"
			   "collective gloo:all_reduce 70..80 bytes=16\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 5);
	assert_row(timeline, 0, "gloo:all_reduce", 0, 0, 2);
	assert_row(timeline, 1, "gloo:barrier", 0, 1, 1);
	assert_row(timeline, 2, "gloo:all_reduce", 0, 2, 2);
	assert_row(timeline, 3, "gloo:allgather", 0, 3, 1);
	assert_row(timeline, 4, "gloo:all_reduce", 0, 4, 2);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==,
			 2);
	g_assert_cmpstr(g_array_index(timeline->problems, TachoProblem, 0).where, ==,
			"rank 0 has no gloo:allgather at 0.061000 s, sequence 3 of group 0");
	g_assert_cmpstr(g_array_index(timeline->problems, TachoProblem, 1).where, ==,
			"rank 1 has no gloo:barrier at 0.030000 s, sequence 1 of group 0");
}

/* All alike, and rank 1 lost the second: only times can tell. */
static void test_lost_among_equals(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 end=exited:0 thread 1 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:all_reduce 30..40 bytes=64\n"
			   "collective gloo:all_reduce 50..60 bytes=64\n"
			   "collective gloo:all_reduce 70..80 bytes=64\n"
			   "rank 1 end=exited:0 thread 2 main\n"
			   "collective gloo:all_reduce 11..20 bytes=64\n"
			   "collective gloo:all_reduce 51..60 bytes=64\n"
			   "collective gloo:all_reduce 71..80 bytes=64\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 4);
	assert_row(timeline, 0, "gloo:all_reduce", 0, 0, 2);
	assert_row(timeline, 1, "gloo:all_reduce", 0, 1, 1);
	assert_row(timeline, 2, "gloo:all_reduce", 0, 2, 2);
	assert_row(timeline, 3, "gloo:all_reduce", 0, 3, 2);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==,
			 1);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_CLOCK_DOUBT), ==, 0);
	for (guint i = 0; i < timeline->flows->len; i++) { /* what came before is sure */
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		g_assert_cmpuint(flow->is_exact, ==,
				 timeline->slices.start_ns[flow->from] < 20000000);
	}
}

/* Rank 1 was killed: what rank 0 did after that needs no other explanation. */
static void test_dead_rank(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 end=exited:1 thread 1 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:all_reduce 30..40 bytes=64\n"
			   "collective gloo:all_reduce 50.. bytes=64\n"
			   "op aten::x 100..101\n"
			   "rank 1 end=killed:9 thread 2 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:all_reduce 31..40 bytes=64\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	assert_row(timeline, 2, "gloo:all_reduce", 0, 2, 1);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==,
			 0);
}

/* A rank whose recording began later lacks nothing; a rank that is not in the run neither. */
static void test_late_and_absent_rank(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("world 3\n"
			   "rank 0 end=exited:0 thread 1 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:all_reduce 30..40 bytes=64\n"
			   "collective gloo:all_reduce 50..60 bytes=64\n"
			   "rank 1 end=exited:0 thread 2 main\n"
			   "op aten::x 45..46\n"
			   "collective gloo:all_reduce 51..60 bytes=64\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	assert_row(timeline, 0, "gloo:all_reduce", 0, 0, 1);
	assert_row(timeline, 1, "gloo:all_reduce", 0, 1, 1);
	assert_row(timeline, 2, "gloo:all_reduce", 0, 2, 2);
	g_assert_cmpuint(row(timeline, 2)->n_expected, ==, 3);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==,
			 0);
}

/* Equal numbers of equal collectives belong together whatever the clock says, but then it is doubted.
 * (Of different hosts the clocks would be aligned: test_clock_alignment.c.) */
static void test_clock_doubt(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "collective gloo:all_reduce 10..20 bytes=64\n"
			   "collective gloo:broadcast 30..31 bytes=64\n"
			   "rank 1 thread 2 main\n"
			   "collective gloo:all_reduce 25..35 bytes=64\n"
			   "collective gloo:broadcast 45..46 bytes=64\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	assert_row(timeline, 0, "gloo:all_reduce", 0, 0, 2);
	assert_row(timeline, 1, "gloo:broadcast", 0, 1, 2); /* its root need not wait */
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_CLOCK_DOUBT), ==, 1);
	g_assert_cmpstr(g_array_index(timeline->problems, TachoProblem, 0).where, ==,
			"rank 0 ended gloo:all_reduce 5.000 ms before rank 1 began it; collectives "
			"with this problem: 1");
}

/* Four ranks, pairs of two. Addresses differ in every process; DDP's collectives have none, but
 * they are completed by the threads of their group. However ranks are listed, they are the same. */
static void test_groups(void)
{
	static const gchar *const PAIRS[] = { "0,1", "1-1,0", "2-3,2", "3-1,3,2" };
	g_autoptr(GString) text = g_string_new("world 4\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (gint rank = 0; rank < 4; rank++)
		g_string_append_printf(
			text,
			"rank %d thread %d main\n"
			"mark process_group 1 text='name=world backend=gloo ranks=0-3 tids=1%d0'\n"
			"mark process_group 2 text='name=pair backend=gloo ranks=%s "
			"tids=2%d0,2%d1'\n"
			"collective gloo:all_reduce 10..20 bytes=64 group=%d end_tid=2%d0\n"
			"collective gloo:all_reduce 30..40 bytes=64 end_tid=1%d0\n"
			"collective gloo:all_reduce 50..60 bytes=64 end_tid=2%d1\n",
			rank, rank + 1, rank, PAIRS[rank], rank, rank, 1000 - rank, rank, rank,
			rank);
	timeline = correlated(text->str);

	g_assert_cmpuint(timeline->collectives->len, ==, 5);
	assert_row(timeline, 0, "gloo:all_reduce", 0, 0, 4); /* the world was created first */
	assert_row(timeline, 1, "gloo:all_reduce", 1, 0, 2);
	assert_row(timeline, 2, "gloo:all_reduce", 1, 1, 2);
	assert_row(timeline, 3, "gloo:all_reduce", 2, 0, 2);
	assert_row(timeline, 4, "gloo:all_reduce", 2, 1, 2);
	g_assert_cmpuint(row(timeline, 1)->n_expected, ==, 2);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Two groups of all ranks, known by address alone: as many-th by first use. */
static void test_groups_by_address(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "collective gloo:barrier 10..20 group=7 end_tid=21\n"
			   "collective gloo:barrier 30..40 group=5 end_tid=22\n"
			   "collective gloo:barrier 50..60 end_tid=21\n"
			   "rank 1 thread 2 main\n"
			   "collective gloo:barrier 10..20 group=3 end_tid=33\n"
			   "collective gloo:barrier 30..40 group=9 end_tid=34\n"
			   "collective gloo:barrier 50..60 end_tid=33\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	assert_row(timeline, 0, "gloo:barrier", 0, 0, 2);
	assert_row(timeline, 1, "gloo:barrier", 0, 1, 2);
	assert_row(timeline, 2, "gloo:barrier", 1, 0, 2);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* A scatter's root has more input than the others, and a send is no collective but a pair of its own. */
static void test_unequal_bytes(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0 thread 1 main\n"
						       "collective gloo:send 1..2 bytes=4\n"
						       "collective gloo:scatter 10..20 bytes=128\n"
						       "rank 1 thread 2 main\n"
						       "collective gloo:recv 1..2 bytes=4\n"
						       "collective gloo:scatter 10..20\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	assert_row(timeline, 0, "gloo:scatter", 0, 0, 2);
	assert_row(timeline, 1, "gloo:send", 1, 0, 2); /* with the receive */
	g_assert_cmpuint(row(timeline, 0)->bytes, ==, 128);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* The allocator gave the gather the memory of the tensor that was scattered, of which no collective was told. */
static void test_memory_used_again(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 10 main\n"
		"  op c10d::scatter_ 100..101 in=float32[8]@0x1000\n"
		"  op c10d::gather_ 110..111 in=float32[8]@0x1000\n"
		"  thread 12 worker\n"
		"  collective gloo:gather 112..120 end_tid=12 in=float32[8]@0x1000\n");

	tacho_correlate(timeline);
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::gather_", 0),
			       timeline_find(timeline, "gloo:gather", 0)));
}

/* What an operation asks for is what it does, not how its name begins. */
static void test_asks_for_its_like(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 10 main\n"
		"  op c10d::reduce_ 100..101 in=float32[8]@0x1000\n"
		"  op c10d::_reduce_scatter_base_ 110..111 in=float32[8]@0x1000\n"
		"  op c10d::recv_ 120..121 in=float32[8]@0x2000\n"
		"  op c10d::send 130..131 in=float32[8]@0x2000\n"
		"  thread 12 worker\n"
		"  collective gloo:reduce_scatter 112..118 end_tid=12 in=float32[8]@0x1000\n"
		"  collective gloo:send 132..140 end_tid=12 in=float32[8]@0x2000\n");

	tacho_correlate(timeline);
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::_reduce_scatter_base_", 0),
			       timeline_find(timeline, "gloo:reduce_scatter", 0)));
	g_assert_true(has_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE,
			       timeline_find(timeline, "c10d::send", 0),
			       timeline_find(timeline, "gloo:send", 0)));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/collective_matcher/two_ranks", test_two_ranks);
	g_test_add_func("/collective_matcher/begun_in_other_order", test_begun_in_other_order);
	g_test_add_func("/collective_matcher/queued_with_tensor", test_queued_with_tensor);
	g_test_add_func("/collective_matcher/queued_without_tensor", test_queued_without_tensor);
	g_test_add_func("/collective_matcher/order_of_queue", test_order_of_queue);
	g_test_add_func("/collective_matcher/unlike_calls", test_unlike_calls);
	g_test_add_func("/collective_matcher/lost_among_equals", test_lost_among_equals);
	g_test_add_func("/collective_matcher/dead_rank", test_dead_rank);
	g_test_add_func("/collective_matcher/late_and_absent_rank", test_late_and_absent_rank);
	g_test_add_func("/collective_matcher/clock_doubt", test_clock_doubt);
	g_test_add_func("/collective_matcher/groups", test_groups);
	g_test_add_func("/collective_matcher/groups_by_address", test_groups_by_address);
	g_test_add_func("/collective_matcher/unequal_bytes", test_unequal_bytes);
	g_test_add_func("/collective_matcher/memory-used-again", test_memory_used_again);
	g_test_add_func("/collective_matcher/asks_for_its_like", test_asks_for_its_like);
	return g_test_run();
}
