/* Collectives whose worker went on with what was hung on their end: they were over when it did. */
#include <tacho/correlate.h>

#include "timeline_text.h"

/* Of the first collective of that name. */
static gint64 end_ms(const gchar *text, const gchar *name)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

	tacho_correlate(timeline);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    g_strcmp0(tacho_slice_name(timeline, i), name) == 0)
			return tacho_slice_end_ns(timeline, i) / 1000000;
	g_assert_not_reached();
}

/* PowerSGD's: what came is worked on, and queues the next. What was before it on the thread does not count. */
static void test_hook(void)
{
	g_assert_cmpint(end_ms("rank 0 thread 10 main\n"
			       "  op c10d::allreduce_ 9..11 in=float32[4]@0x1000\n"
			       "  collective gloo:all_reduce 10..100 bytes=16 end_tid=12 "
			       "in=float32[4]@0x1000\n"
			       "thread 12\n"
			       "  op aten::mul 2..5\n"
			       "  op aten::div_ 40..60\n"
			       "    op aten::copy_ 45..50\n"
			       "  op c10d::allreduce_ 60..61\n",
			       "gloo:all_reduce"),
			==, 40);
}

/* Without another collective, its operations are its own. */
static void test_own_operations(void)
{
	static const gchar gather[] = "rank 0 thread 10 main\n"
				      "  collective gloo:all_gather 10..100 end_tid=12\n"
				      "thread 12\n"
				      "  op aten::copy_ 40..60\n";
	g_autofree gchar *both = g_strconcat(gather, "  op c10d::_allgather_base_ 60..61\n", NULL);

	g_assert_cmpint(end_ms(gather, "gloo:all_gather"), ==, 100);
	g_assert_cmpint(end_ms(both, "gloo:all_gather"), ==, 40);
}

/* A thread that was in an operation when it began; one that did nothing; one that is not known; and a collective that had not ended. */
static void test_others(void)
{
	g_assert_cmpint(end_ms("rank 0 thread 10 main\n"
			       "  op c10d::allreduce_ 5..110\n"
			       "    op aten::copy_ 20..30\n"
			       "  collective gloo:all_reduce 10..100 end_tid=10\n",
			       "gloo:all_reduce"),
			==, 100);
	g_assert_cmpint(end_ms("rank 0 thread 10 main\n"
			       "  collective gloo:all_reduce 10..100 end_tid=12\n"
			       "thread 12\n"
			       "  op c10d::allreduce_ 100..120\n",
			       "gloo:all_reduce"),
			==, 100);
	/* the first thread of the process, which waits for a receive */
	g_assert_cmpint(end_ms("rank 0 pid=10 thread 10 main\n"
			       "  collective gloo:recv 10..100 end_tid=10\n"
			       "  op aten::mul 20..30\n"
			       "  op c10d::send 40..41\n",
			       "gloo:recv"),
			==, 100);
	g_assert_cmpint(end_ms("rank 0 thread 10 main\n"
			       "  collective gloo:all_reduce 10..100 end_tid=99\n"
			       "thread 12\n"
			       "  op c10d::allreduce_ 40..60\n",
			       "gloo:all_reduce"),
			==, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/chained_collective/hook", test_hook);
	g_test_add_func("/chained_collective/own_operations", test_own_operations);
	g_test_add_func("/chained_collective/others", test_others);
	return g_test_run();
}
