/* Messages and the collectives that they carry out: gloo's workers, its loops, and its ring. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

#define LEFT  " local=10.0.0.1:5000 peer=10.0.0.2:6000\n"
#define RIGHT " local=10.0.0.2:6000 peer=10.0.0.1:5000\n"
#define STORE " local=10.0.0.1:40 peer=10.0.0.9:50\n"

/* 24 numbers over two ranks: 2 chunks of 2 segments, 24 bytes each, behind a header of 48. Rank 0
 * sends all four of them, the last in two parts; rank 1 says that it is ready, four times. */
static const gchar ring[] =
	"unit us\n"
	"rank 0 host=a thread 9 main\n"
	"message asks 150..151 bytes=48" STORE "thread 10 worker\n"
	"collective gloo:all_reduce 100..200 bytes=96 end_tid=10 in=float32[24]@0x1000\n"
	"message ready 101..102 bytes=48" LEFT "message segment0 103..104 bytes=72" LEFT
	"thread 11 loop\n"
	"message hears1 110..111 bytes=48 receive" LEFT "message segment1 111..112 bytes=72" LEFT
	"message hears2 120..121 bytes=48 receive" LEFT "message segment2 121..122 bytes=72" LEFT
	"message hears3 130..131 bytes=48 receive" LEFT "message segment3 131..132 bytes=50" LEFT
	"wait epoll_wait 133..160\n"
	"message rest3 161..162 bytes=22" LEFT
	/* an hour earlier, by its own clock */
	"rank 1 host=b thread 20 worker\n"
	"collective gloo:all_reduce -3600000100..-3600000010 bytes=96 end_tid=20 "
	"in=float32[24]@0x7000\n"
	"message ready1 -3600000099..-3600000098 bytes=48" RIGHT
	"message ready2 -3600000097..-3600000096 bytes=48" RIGHT
	"message ready3 -3600000095..-3600000094 bytes=48" RIGHT "thread 21 loop\n"
	"message hears -3600000090..-3600000089 bytes=48 receive" RIGHT
	"message head0 -3600000088..-3600000087 bytes=48 receive" RIGHT
	"message tail0 -3600000086..-3600000085 bytes=24 receive" RIGHT
	"message head1 -3600000084..-3600000083 bytes=48 receive" RIGHT
	"message tail1 -3600000082..-3600000081 bytes=24 receive" RIGHT
	"message head2 -3600000080..-3600000079 bytes=48 receive" RIGHT
	"message tail2 -3600000078..-3600000077 bytes=24 receive" RIGHT
	"message head3 -3600000076..-3600000075 bytes=48 receive" RIGHT
	"message tail3 -3600000074..-3600000073 bytes=24 receive" RIGHT;

static const TachoMessage *message_named(const TachoTimeline *timeline, const gchar *name)
{
	const TachoMessage *message =
		tacho_slice_borrow_message(timeline, timeline_find(timeline, name, 0));

	g_assert_nonnull(message);
	return message;
}

static void assert_message(const TachoTimeline *timeline, const gchar *name, guint32 collective,
			   guint32 ring_step, gboolean is_exact)
{
	const TachoMessage *message = message_named(timeline, name);

	g_assert_cmpuint(message->collective, ==, collective);
	g_assert_cmpuint(message->ring_step, ==, ring_step);
	g_assert_cmpuint(message->is_exact, ==, is_exact);
}

static void test_ring(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(ring);
	guint32 first = timeline_find(timeline, "gloo:all_reduce", 0);
	guint32 second = timeline_find(timeline, "gloo:all_reduce", 1);

	g_assert_cmpuint(timeline->collectives->len, ==, 1);
	assert_message(timeline, "asks", TACHO_NONE, TACHO_NONE, FALSE);
	assert_message(timeline, "ready", first, TACHO_NONE, TRUE);
	assert_message(timeline, "segment0", first, 0, TRUE);
	assert_message(timeline, "segment1", first, 0, TRUE);
	assert_message(timeline, "segment2", first, 1, TRUE);
	assert_message(timeline, "segment3", first, 1, TRUE);
	assert_message(timeline, "rest3", first, 1, TRUE);
	assert_message(timeline, "hears1", first, TACHO_NONE, TRUE);
	assert_message(timeline, "ready1", second, TACHO_NONE, TRUE);
	assert_message(timeline, "hears", second, TACHO_NONE, TRUE);
	assert_message(timeline, "head0", second, 0, TRUE);
	assert_message(timeline, "tail1", second, 0, TRUE);
	assert_message(timeline, "head2", second, 1, TRUE);
	assert_message(timeline, "tail3", second, 1, TRUE);
}

static void test_roles(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(ring);
	static const struct {
		guint32 tid;
		TachoThreadRole role;
	} expected[] = { { 9, TACHO_ROLE_NONE },
			 { 10, TACHO_ROLE_WORKER },
			 { 11, TACHO_ROLE_MESSAGE_LOOP },
			 { 20, TACHO_ROLE_WORKER },
			 { 21, TACHO_ROLE_MESSAGE_LOOP } };
	guint n_seen = 0;

	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		for (guint k = 0; k < G_N_ELEMENTS(expected); k++)
			if (track->kind == TACHO_TRACK_THREAD && track->tid == expected[k].tid) {
				g_assert_cmpuint(track->role, ==, expected[k].role);
				n_seen++;
			}
	}
	g_assert_cmpuint(n_seen, ==, G_N_ELEMENTS(expected));
}

/* The other rank is not in the run: what the loop moves is inferred while one collective is under way,
 * and of none while there are two. */
static void test_one_side(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\n"
			   "rank 0 host=a thread 10 worker\n"
			   "collective gloo:all_reduce 100..200 bytes=96 end_tid=10\n"
			   "message ready 101..102 bytes=48" LEFT "thread 12 worker\n"
			   "collective gloo:broadcast 150..300 bytes=8 end_tid=12\n"
			   "thread 11 loop\n"
			   "message alone 120..121 bytes=24 receive" LEFT
			   "message between 160..161 bytes=24 receive" LEFT
			   "message last 250..251 bytes=8 receive" LEFT
			   "message after 310..311 bytes=8 receive" LEFT
			   "message elsewhere 120..121 bytes=8 receive" STORE);

	assert_message(timeline, "alone", timeline_find(timeline, "gloo:all_reduce", 0), TACHO_NONE,
		       FALSE);
	assert_message(timeline, "between", TACHO_NONE, TACHO_NONE, FALSE);
	assert_message(timeline, "last", timeline_find(timeline, "gloo:broadcast", 0), TACHO_NONE,
		       FALSE);
	assert_message(timeline, "after", TACHO_NONE, TACHO_NONE, FALSE);
	assert_message(timeline, "elsewhere", TACHO_NONE, TACHO_NONE, FALSE);
	g_assert_cmpuint(message_named(timeline, "alone")->peer_process, ==, TACHO_NONE);
}

/* A backend that tells of a collective where it is queued: that thread's own messages are none of it. */
static void test_queued_elsewhere(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 10 main\n"
			   "collective nccl:all_reduce 100..200 bytes=96 end_tid=33\n"
			   "message asks 110..111 bytes=48" STORE);

	assert_message(timeline, "asks", TACHO_NONE, TACHO_NONE, FALSE);
}

/* The loop waited after the header: what it sent then was queued before, for whatever collective. If it
 * is as long as only one of them would send now, that one is inferred. */
static void test_late_answer(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 host=a thread 10 worker\n"
				    "collective gloo:all_reduce 100..200 bytes=96 end_tid=10\n"
				    "message ready 101..102 bytes=48" LEFT "thread 12 worker\n"
				    "collective gloo:broadcast 100..200 bytes=8 end_tid=12\n"
				    "rank 1 host=b thread 20 worker\n"
				    "collective gloo:all_reduce 100..200 bytes=96 end_tid=20\n"
				    "thread 22 worker\n"
				    "collective gloo:broadcast 100..200 bytes=8 end_tid=22\n"
				    "thread 21 loop\n"
				    "message hears 110..111 bytes=48 receive" RIGHT "%s"
				    "message answer 130..131 bytes=%u" RIGHT;
	static const gchar wait[] = "wait epoll_wait 112..129\n";
	g_autofree gchar *at_once = g_strdup_printf(text, "", 72);
	g_autofree gchar *late = g_strdup_printf(text, wait, 72);
	g_autofree gchar *longer = g_strdup_printf(text, wait, 73);
	g_autoptr(TachoTimeline) answered = correlated(at_once);
	g_autoptr(TachoTimeline) waited = correlated(late);
	g_autoptr(TachoTimeline) other = correlated(longer);

	assert_message(answered, "answer", timeline_find(answered, "gloo:all_reduce", 1),
		       TACHO_NONE, TRUE);
	assert_message(waited, "answer", timeline_find(waited, "gloo:all_reduce", 1), TACHO_NONE,
		       FALSE);
	assert_message(other, "answer", TACHO_NONE, TACHO_NONE, FALSE);
}

/* A collective of the main thread itself does not make it a worker. */
static void test_main_thread(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 pid=10 thread 10 main\n"
			   "collective mpi:all_reduce 100..200 bytes=96 end_tid=10\n"
			   "message sends 110..111 bytes=48" LEFT);

	assert_message(timeline, "sends", timeline_find(timeline, "mpi:all_reduce", 0), TACHO_NONE,
		       TRUE);
	g_assert_cmpuint(
		tacho_timeline_track(timeline,
				     timeline->slices.track[timeline_find(timeline, "sends", 0)])
			->role,
		==, TACHO_ROLE_NONE);
}

/* A header that came in two pieces is one, and what follows the tail of a send is not. */
static void test_split_header(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"unit us\n"
		"rank 0 host=a thread 10 worker\n"
		"collective gloo:broadcast 100..200 bytes=100 end_tid=10\n"
		"message first 101..102 bytes=100" LEFT "thread 11 loop\n"
		"wait epoll_wait 103..299\n"
		"message rest 300..301 bytes=48" LEFT "message other 302..303 bytes=148" LEFT
		"rank 1 host=b thread 20 worker\n"
		"collective gloo:broadcast 100..400 bytes=100 end_tid=20\n"
		"thread 21 loop\n"
		"message head 110..111 bytes=20 receive" RIGHT
		"message head 112..113 bytes=28 receive" RIGHT
		"message tail 114..115 bytes=100 receive" RIGHT
		"message next 116..117 bytes=48 receive" RIGHT
		"message tail 118..119 bytes=100 receive" RIGHT);
	guint32 first = timeline_find(timeline, "gloo:broadcast", 0);

	assert_message(timeline, "first", first, TACHO_NONE, TRUE);
	assert_message(timeline, "rest", first, TACHO_NONE, TRUE);
	assert_message(timeline, "other", TACHO_NONE, TACHO_NONE, FALSE);
}

#define FIRST "-4611686018427387903"
#define LAST  "4611686018427387903"
#define MOST  "18446744073709551615"

/* Times and sizes as far apart as there are. */
static void test_hostile(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"unit ns\n"
		"rank 0 host=a thread 10 worker\n"
		"collective gloo:all_reduce " FIRST "..-1 bytes=" MOST " end_tid=10\n"
		"collective gloo:all_reduce 0.." LAST " bytes=" MOST " end_tid=10\n"
		"message early " FIRST ".." FIRST " bytes=" MOST LEFT "message late " LAST ".." LAST
		" bytes=" MOST LEFT "thread 11 loop\n"
		"message whole " FIRST "..-1 bytes=48 receive" LEFT
		"message empty 0..0 bytes=0 receive" LEFT "rank 1 host=b thread 20 worker\n"
		"collective gloo:all_reduce " LAST ".." LAST " bytes=" MOST " end_tid=20\n"
		"collective gloo:all_reduce " FIRST ".." FIRST " bytes=" MOST " end_tid=20\n"
		"message back " FIRST ".." FIRST " bytes=48" RIGHT "message again " LAST ".." LAST
		" bytes=0" RIGHT "thread 21 loop\n"
		"message hears -2..-1 bytes=" MOST " receive" RIGHT);
	static const struct {
		const gchar *name;
		guint nth;
	} expected[] = { { "early", 0 }, { "late", 1 }, { "back", 2 }, { "again", 3 } };

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
		assert_message(timeline, expected[i].name,
			       timeline_find(timeline, "gloo:all_reduce", expected[i].nth),
			       TACHO_NONE, TRUE);
}

/* An all-reduce before a control step and one after it, each of which sends its last bytes in two parts. In the numbers of its own
 * stretch, `rest1` would follow `part1`, and `rest2` `part2` only if nothing of the other stretch lay between. */
static void test_control(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\n"
			   "rank 0 host=a thread 9 main\n"
			   "mark control_step 1000\n"
			   "thread 10 worker\n"
			   "collective gloo:broadcast 100..200 bytes=96 end_tid=10\n"
			   "collective gloo:broadcast 2100..2200 bytes=96 end_tid=10\n"
			   "message part1 101..102 bytes=100" LEFT
			   "message part2 2101..2102 bytes=80" LEFT "thread 11 loop\n"
			   "message rest1 150..151 bytes=44" LEFT
			   "message rest2 2150..2151 bytes=64" LEFT "rank 1 host=b thread 21 loop\n"
			   "mark control_step 1000\n"
			   "message head1 120..121 bytes=48 receive" RIGHT
			   "message tail1 160..161 bytes=96 receive" RIGHT
			   "message head2 2120..2121 bytes=48 receive" RIGHT
			   "message tail2 2160..2161 bytes=96 receive" RIGHT);
	guint32 first = timeline_find(timeline, "gloo:broadcast", 0);
	guint32 second = timeline_find(timeline, "gloo:broadcast", 1);

	g_assert_cmpuint(message_named(timeline, "part1")->collective, ==, first);
	g_assert_cmpuint(message_named(timeline, "rest1")->collective, ==, first);
	g_assert_cmpuint(message_named(timeline, "part2")->collective, ==, second);
	g_assert_cmpuint(message_named(timeline, "rest2")->collective, ==, second);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/message_collective/ring", test_ring);
	g_test_add_func("/message_collective/roles", test_roles);
	g_test_add_func("/message_collective/one_side", test_one_side);
	g_test_add_func("/message_collective/queued_elsewhere", test_queued_elsewhere);
	g_test_add_func("/message_collective/late_answer", test_late_answer);
	g_test_add_func("/message_collective/main_thread", test_main_thread);
	g_test_add_func("/message_collective/split_header", test_split_header);
	g_test_add_func("/message_collective/hostile", test_hostile);
	g_test_add_func("/message_collective/control", test_control);
	return g_test_run();
}
