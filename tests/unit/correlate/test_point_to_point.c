/* Sends and receives of two ranks: which belong together, and what is missing. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

/* "SENDER@BEGIN>RECEIVER@BEGIN" of each row of point-to-point calls, times in ms. */
static gchar *rows_of(const TachoTimeline *timeline)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);
		const guint32 *members =
			&g_array_index(timeline->members, guint32, row->first_member);

		if (!strstr(tacho_timeline_string(timeline, row->name), "end"))
			continue;
		g_assert_cmpuint(row->n_members, ==, 2);
		g_string_append_printf(text, "%d@%d>%d@%d ",
				       tacho_slice_process(timeline, members[0])->rank,
				       (gint)(timeline->slices.start_ns[members[0]] / 1000000),
				       tacho_slice_process(timeline, members[1])->rank,
				       (gint)(timeline->slices.start_ns[members[1]] / 1000000));
	}
	return g_string_free(text, FALSE);
}

static void assert_rows(const gchar *text, const gchar *expected, const gchar *problem)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);
	g_autofree gchar *rows = rows_of(timeline);
	const gchar *found = NULL;

	for (guint i = 0; i < timeline->problems->len; i++) {
		const TachoProblem *row = &g_array_index(timeline->problems, TachoProblem, i);

		if (row->kind == TACHO_PROBLEM_UNMATCHED_COLLECTIVE)
			found = row->where;
	}
	g_assert_cmpstr(rows, ==, expected);
	g_assert_cmpstr(found, ==, problem);
}

/* A pipeline of three: to both neighbours, over one group; in the order of each way, not of all. */
static void test_pipeline(void)
{
	assert_rows("rank 0 thread 1 main\n"
		    " collective send 1..3 bytes=8 peer=1\n"
		    " collective send 4..6 bytes=8 peer=1\n"
		    " collective recv 7..14 bytes=8 peer=1\n"
		    "rank 1 thread 2 main\n"
		    " collective recv 2..3 bytes=8 peer=0\n"
		    " collective send 3..5 bytes=8 peer=2\n"
		    " collective recv 5..6 bytes=8 peer=0\n"
		    " collective recv 8..10 bytes=8 peer=2\n"
		    " collective send 12..14 bytes=8 peer=0\n"
		    "rank 2 thread 3 main\n"
		    " collective recv 1..5 bytes=8 peer=1\n"
		    " collective send 9..10 bytes=8 peer=1\n",
		    "0@1>1@2 0@4>1@5 1@12>0@7 1@3>2@1 2@9>1@8 ", NULL);
}

/* Who the other is follows from the group, where that has two; each group for itself. */
static void test_groups(void)
{
	assert_rows("world 3\n"
		    "rank 0 thread 1 main\n"
		    " mark process_group 0 first=7 text='ranks=0,1'\n"
		    " mark process_group 0 first=8 text='ranks=0,1,2'\n"
		    " collective send 1..3 group=7\n"
		    " collective send 2..3 group=8\n"
		    "rank 1 thread 2 main\n"
		    " mark process_group 0 first=5 text='ranks=0,1'\n"
		    " mark process_group 0 first=6 text='ranks=0,1,2'\n"
		    " collective recv 1..3 group=6\n"
		    " collective recv 2..3 group=5\n"
		    "rank 2 thread 3 main\n",
		    "0@1>1@2 ", NULL);
}

/* Batches belong to batches. */
static void test_batches(void)
{
	assert_rows("world 2\n"
		    "rank 0 thread 1 main\n"
		    " collective ncclDevKernel_SendRecv 1..9\n"
		    " collective ncclDevKernel_SendRecv 11..19\n"
		    "rank 1 thread 2 main\n"
		    " collective ncclDevKernel_SendRecv 5..9\n"
		    " collective ncclDevKernel_SendRecv 10..19\n",
		    "0@1>1@5 0@11>1@10 ", NULL);
}

/* One receive was lost: the others are where they end; what is alone is explained. */
static void test_lost(void)
{
	assert_rows("rank 0 thread 1 main\n"
		    " collective send 1..3 peer=1\n"
		    " collective send 11..13 peer=1\n"
		    " collective send 21..23 peer=1\n"
		    "rank 1 thread 2 main\n"
		    " collective recv 2..3 peer=0\n"
		    " collective recv 20..23 peer=0\n"
		    " op later 30..31\n",
		    "0@1>1@2 0@21>1@20 ",
		    "rank 0: send at 0.011000 s has no counterpart on rank 1");
	/* the peer is not in the run, or its recording was over */
	assert_rows("rank 0 thread 1 main\n"
		    " collective send 1..3 peer=7\n"
		    " collective send 40..43 peer=1\n"
		    "rank 1 thread 2 main\n"
		    " op early 0..5\n",
		    "", NULL);
}

/* gloo does not tell the peer, but the messages do: of the call that queued it, or else of the bytes that came. */
static void test_messages_tell(void)
{
#define FIRST  " local=10.0.0.1:500 peer=10.0.0.2:600\n"
#define SECOND " local=10.0.0.2:600 peer=10.0.0.1:500\n"
#define THIRD  " local=10.0.0.3:700 peer=10.0.0.2:800\n"
#define OTHER  " local=10.0.0.2:800 peer=10.0.0.3:700\n"
	assert_rows("rank 0 host=a thread 1 main\n"
		    " op c10d::send 1..3 in=float32[20]@0x1000\n"
		    "  message m 1.5..2 bytes=128" FIRST
		    " collective gloo:send 3..4 bytes=80 end_tid=1 in=float32[20]@0x1000\n"
		    "rank 1 host=b thread 1 main\n"
		    " op c10d::recv_any_source_ 1..2 in=float32[20]@0x2000\n"
		    " op c10d::send 5..7 in=float32[20]@0x3000\n"
		    "  message m 5.5..6 bytes=128" OTHER "thread 2 loop\n"
		    "  message m 2.5..3 bytes=48 receive" SECOND
		    "  message m 3.5..4 bytes=80 receive" SECOND "thread 1 main\n"
		    " collective gloo:recv 2..5 bytes=80 end_tid=1 in=float32[20]@0x2000\n"
		    " collective gloo:send 7..8 bytes=80 end_tid=1 in=float32[20]@0x3000\n"
		    "rank 2 host=c thread 1 main\n"
		    " op c10d::recv_ 6..7 in=float32[20]@0x4000\n"
		    "  message m 6.5..7 bytes=48" THIRD "thread 2 loop\n"
		    "  message m 7.5..8 bytes=48 receive" THIRD
		    "  message m 8.5..9 bytes=80 receive" THIRD "thread 1 main\n"
		    " collective gloo:recv 7..10 bytes=80 end_tid=1 in=float32[20]@0x4000\n",
		    "0@3>1@2 1@7>2@7 ", NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/point-to-point/pipeline", test_pipeline);
	g_test_add_func("/point-to-point/groups", test_groups);
	g_test_add_func("/point-to-point/batches", test_batches);
	g_test_add_func("/point-to-point/lost", test_lost);
	g_test_add_func("/point-to-point/messages-tell", test_messages_tell);
	return g_test_run();
}
