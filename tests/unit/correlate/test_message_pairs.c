/* Sends and the receives that took their bytes: whole connections, pieces, partial recordings. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

#define RIGHT " local=10.0.0.1:5000 peer=10.0.0.2:6000\n"
#define LEFT  " local=10.0.0.2:6000 peer=10.0.0.1:5000\n"

static const TachoMessage *message_of(const TachoTimeline *timeline, guint32 slice)
{
	for (guint i = 0; i < timeline->messages->len; i++) {
		const TachoMessage *message = &g_array_index(timeline->messages, TachoMessage, i);

		if (message->slice == slice)
			return message;
	}
	g_assert_not_reached();
}

static guint count_flows(const TachoTimeline *timeline)
{
	guint n = 0;

	for (guint i = 0; i < timeline->flows->len; i++)
		n += g_array_index(timeline->flows, TachoFlow, i).kind == TACHO_FLOW_MESSAGE;
	return n;
}

static guint64 count_problems(const TachoTimeline *timeline)
{
	guint64 count = 0;

	for (guint i = 0; i < timeline->problems->len; i++) {
		const TachoProblem *problem = &g_array_index(timeline->problems, TachoProblem, i);

		if (problem->kind == TACHO_PROBLEM_UNPAIRED_MESSAGE)
			count += problem->count;
	}
	return count;
}

/* The flow between the `from`-th slice named send and the `to`-th named recv. */
static void assert_pair(const TachoTimeline *timeline, guint from, guint to, gboolean is_exact)
{
	guint32 send = timeline_find(timeline, "send", from);
	guint32 receive = timeline_find(timeline, "recv", to);

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_MESSAGE && flow->from == send && flow->to == receive) {
			g_assert_cmpuint(flow->is_exact, ==, is_exact);
			return;
		}
	}
	g_error("send %u and recv %u are no pair", from, to);
}

/* One receive takes a part of a send, the next the rest and all of the one after it. */
static void test_pieces(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"rank 0 host=a thread 1 main\n"
		"message send 10..11 bytes=48" RIGHT "message send 11..12 bytes=100" RIGHT
		"message send 12..13 bytes=20" RIGHT
		"rank 1 host=b thread 2 main\n" /* an hour earlier: no matter */
		"message recv -3600010..-3600009 bytes=48 receive" LEFT
		"message recv -3600008..-3600007 bytes=30 receive" LEFT
		"message recv -3600007..-3600006 bytes=90 receive" LEFT);
	const TachoMessage *message;

	g_assert_cmpuint(timeline->messages->len, ==, 6);
	g_assert_cmpuint(count_flows(timeline), ==, 4);
	assert_pair(timeline, 0, 0, TRUE);
	assert_pair(timeline, 1, 1, TRUE);
	assert_pair(timeline, 1, 2, TRUE);
	assert_pair(timeline, 2, 2, TRUE);
	message = message_of(timeline, timeline_find(timeline, "recv", 2));
	g_assert_cmpuint(message->offset_bytes, ==, 78);
	g_assert_cmpuint(message->paired_bytes, ==, 90);
	g_assert_cmpuint(message->peer_process, ==, 0);
	message = message_of(timeline, timeline_find(timeline, "send", 2));
	g_assert_cmpuint(message->offset_bytes, ==, 148);
	g_assert_cmpuint(message->peer_process, ==, 1);
	g_assert_cmpuint(count_problems(timeline), ==, 0);
}

/* A reader that knows nothing of what was written, and a stream whose end was not read. */
static void test_own_pieces(void)
{
	g_autoptr(TachoTimeline) whole =
		correlated("rank 0 thread 1 main\n"
			   "message send 1..2 bytes=100" RIGHT "message send 2..3 bytes=100" RIGHT
			   "rank 1 thread 2 main\n"
			   "message recv 4..5 bytes=70 receive" LEFT
			   "message recv 5..6 bytes=130 receive" LEFT);
	g_autoptr(TachoTimeline) unread =
		correlated("rank 0 thread 1 main\n"
			   "message send 1..2 bytes=8" RIGHT "message send 2..3 bytes=64" RIGHT
			   "rank 1 thread 2 main\n"
			   "message recv 4..5 bytes=8 receive" LEFT);

	g_assert_cmpuint(count_flows(whole), ==, 3);
	assert_pair(whole, 1, 1, TRUE);
	g_assert_cmpuint(count_flows(unread), ==, 1);
	assert_pair(unread, 0, 0, TRUE);
	g_assert_cmpuint(message_of(unread, timeline_find(unread, "send", 1))->paired_bytes, ==, 0);
}

/* Both ways, on one host and within one process; 127.0.0.1 of two hosts is not one connection. */
static void test_connections(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"rank 0 host=a thread 1 main\n"
		"message send 1..2 bytes=8 local=127.0.0.1:40 peer=127.0.0.1:50\n"
		"message recv 5..6 bytes=5 receive local=127.0.0.1:40 peer=127.0.0.1:50\n"
		"thread 2 store\n"
		"message recv 2..3 bytes=8 receive local=127.0.0.1:50 peer=127.0.0.1:40\n"
		"message send 3..4 bytes=5 local=127.0.0.1:50 peer=127.0.0.1:40\n"
		"rank 1 host=b thread 3 main\n"
		"message send 1..2 bytes=8 local=127.0.0.1:40 peer=127.0.0.1:50\n"
		"message recv 2..3 bytes=8 receive local=[fe80::1]:50 peer=[fe80::2]:40\n");

	g_assert_cmpuint(count_flows(timeline), ==, 2);
	assert_pair(timeline, 0, 1, TRUE);
	assert_pair(timeline, 1, 0, TRUE);
	g_assert_cmpuint(message_of(timeline, timeline_find(timeline, "send", 2))->peer_process, ==,
			 TACHO_NONE);
	g_assert_cmpuint(count_problems(timeline), ==, 0);
}

/* Messages of 48 bytes and some of sizes of their own: the `first`-th and those after it. */
static gchar *stream_text(const gchar *name, const gchar *ends, guint first, guint n)
{
	GString *text = g_string_new(NULL);

	for (guint i = first; i < n; i++)
		g_string_append_printf(text, "message %s %u..%u bytes=%u%s", name, i, i + 1,
				       i % 4 == 3 ? 1000 + i * i : 48, ends);
	return g_string_free(text, FALSE);
}

static TachoTimeline *partial(guint first_send, guint n_sends, guint first_receive,
			      guint n_receives, const gchar *lost)
{
	g_autofree gchar *sends = stream_text("send", RIGHT, first_send, n_sends);
	g_autofree gchar *receives =
		stream_text("recv", " receive" LEFT, first_receive, n_receives);
	g_autofree gchar *text = g_strconcat("rank 0 host=a ", lost, " thread 1 main\n", sends,
					     "rank 1 host=b thread 2 main\n", receives, NULL);

	return correlated(text);
}

/* The two ends were not recorded from the same byte on. */
static void test_shifted(void)
{
	g_autoptr(TachoTimeline) late_receiver = partial(0, 40, 7, 38, "");
	g_autoptr(TachoTimeline) late_sender = partial(9, 44, 4, 44, "");

	g_assert_cmpuint(count_flows(late_receiver), ==, 31);
	assert_pair(late_receiver, 7, 0, FALSE);
	assert_pair(late_receiver, 37, 30, FALSE);
	g_assert_cmpuint(count_flows(late_sender), ==, 35);
	assert_pair(late_sender, 0, 5, FALSE);
	assert_pair(late_sender, 34, 39, FALSE);
	g_assert_cmpuint(
		message_of(late_sender, timeline_find(late_sender, "send", 0))->offset_bytes, ==,
		message_of(late_sender, timeline_find(late_sender, "recv", 5))->offset_bytes);
}

/* Too little in common, and records lost in the middle: nothing is paired, and all are counted. */
static void test_unpaired(void)
{
	g_autoptr(TachoTimeline) too_late = partial(0, 40, 36, 52, "");
	g_autoptr(TachoTimeline) lossy = partial(0, 40, 0, 40, "dropped=3");
	g_autofree gchar *sends = stream_text("send", RIGHT, 0, 20);
	g_autofree gchar *after = stream_text("send", RIGHT, 23, 40);
	g_autofree gchar *receives = stream_text("recv", " receive" LEFT, 0, 40);
	g_autofree gchar *text = g_strconcat("rank 0 dropped=3 thread 1 main\n", sends, after,
					     "rank 1 thread 2 main\n", receives, NULL);
	g_autoptr(TachoTimeline) holed = correlated(text);

	g_assert_cmpuint(count_flows(too_late), ==, 0);
	g_assert_cmpuint(count_problems(too_late), ==, 56);
	g_assert_cmpuint(tacho_trust_score(too_late), <, 100);
	g_assert_cmpuint(count_flows(lossy), ==, 40); /* those lost were others */
	assert_pair(lossy, 39, 39, FALSE);
	g_assert_cmpuint(count_flows(holed), ==, 0);
	g_assert_cmpuint(count_problems(holed), ==, 77);
}

/* Sizes that no file should have. */
static void test_hostile(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("rank 0 thread 1 main\n"
			   "message send 1..2 bytes=18446744073709551615" RIGHT
			   "message send 2..3 bytes=18446744073709551615" RIGHT
			   "message send 3..4 bytes=0" RIGHT "rank 1 thread 2 main\n"
			   "message recv 4..5 bytes=0 receive" LEFT
			   "message recv 5..6 bytes=18446744073709551615 receive" LEFT
			   "message recv 5..6 bytes=7 receive" LEFT);

	g_assert_cmpuint(timeline->messages->len, ==, 6);
	g_assert_cmpuint(count_flows(timeline), ==, 1);
}

/* A stream of headers and bytes, of which one send went out in two parts, and whose receiver was recorded longer. A header
 * later it fits one send better; but then some bytes would have taken the 3 ms that the program computes. */
static void test_repeated(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_rounds = 20;

	for (guint i = 0; i < n_rounds; i++) {
		g_string_append_printf(text, "message send %u..%u.1 bytes=48" RIGHT, 10 * i,
				       10 * i);
		if (i == 0)
			g_string_append(text, "message send 0.2..0.3 bytes=400" RIGHT
					      "message send 3..3.1 bytes=648" RIGHT);
		else
			g_string_append_printf(text, "message send %u..%u.1 bytes=1048" RIGHT,
					       10 * i + 3, 10 * i + 3);
	}
	g_string_append(text, "rank 1 thread 2 main\n");
	for (guint i = 0; i < n_rounds; i++)
		g_string_append_printf(text,
				       "message recv %u.5..%u.6 bytes=48 receive" LEFT
				       "message recv %u.5..%u.6 bytes=48 receive" LEFT
				       "message recv %u.7..%u.8 bytes=1000 receive" LEFT,
				       10 * i, 10 * i, 10 * i + 3, 10 * i + 3, 10 * i + 3,
				       10 * i + 3);
	g_string_append(text, "message recv 201..202 bytes=48 receive" LEFT);
	timeline = correlated(text->str);
	g_assert_cmpuint(count_problems(timeline), ==, 0);
	g_assert_cmpuint(message_of(timeline, timeline_find(timeline, "send", 0))->offset_bytes, ==,
			 0);
	assert_pair(timeline, 3, 3, TRUE);
}

/* Messages of which each has a size of its own: the `first`-th up to the `end`-th. */
static void append_stream(GString *text, const gchar *name, const gchar *ends, guint first,
			  guint end)
{
	for (guint i = first; i < end; i++)
		g_string_append_printf(text, "message %s %u..%u bytes=%u%s", name, 10 * i,
				       10 * i + 1, 1000 + i * i, ends);
}

static guint n_paired(guint first_send, guint end_send, guint first_receive, guint end_receive)
{
	g_autoptr(GString) text = g_string_new("rank 0 host=a thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_calls = end_send - first_send + end_receive - first_receive;

	append_stream(text, "send", RIGHT, first_send, end_send);
	g_string_append(text, "rank 1 host=b thread 2 main\n");
	append_stream(text, "recv", " receive" LEFT, first_receive, end_receive);
	timeline = correlated(text->str);
	if (count_flows(timeline) == 0)
		g_assert_cmpuint(count_problems(timeline), ==, n_calls);
	else if (first_send < first_receive)
		assert_pair(timeline, first_receive - first_send, 0, FALSE);
	else
		assert_pair(timeline, 0, first_send - first_receive, FALSE);
	return count_flows(timeline);
}

/* One end was recorded later by up to 63 calls, and eight that both have must fit. */
static void test_shift_limits(void)
{
	g_assert_cmpuint(n_paired(0, 100, 1, 100), ==, 99);
	g_assert_cmpuint(n_paired(0, 100, 63, 100), ==, 37);
	g_assert_cmpuint(n_paired(0, 100, 64, 100), ==, 0);
	g_assert_cmpuint(n_paired(1, 100, 0, 100), ==, 99);
	g_assert_cmpuint(n_paired(63, 100, 0, 100), ==, 37);
	g_assert_cmpuint(n_paired(64, 100, 0, 100), ==, 0);
	g_assert_cmpuint(n_paired(0, 20, 12, 40), ==, 8);
	g_assert_cmpuint(n_paired(0, 20, 13, 40), ==, 0);
	g_assert_cmpuint(n_paired(12, 40, 0, 20), ==, 8);
	g_assert_cmpuint(n_paired(13, 40, 0, 20), ==, 0);
}

/* Sends of which some went out in two parts, so that the second begins where no receive does; the receiver was recorded longer.
 * Whether what begins alike is nine in ten decides whether that is sure, and a fourth whether it is likely. */
static void check_parts(guint n_whole, guint n_cut, gboolean is_paired, gboolean is_sure)
{
	g_autoptr(GString) text = g_string_new("rank 0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n = n_whole + n_cut, n_parts = 0;

	for (guint i = 0; i < n; i++) {
		guint bytes = 1000 + i * i;

		if (i >= n_whole) {
			g_string_append_printf(text, "message send %u..%u.1 bytes=%u" RIGHT, 10 * i,
					       10 * i, bytes / 3);
			g_string_append_printf(text, "message send %u.2..%u.3 bytes=%u" RIGHT,
					       10 * i, 10 * i, bytes - bytes / 3);
		} else {
			g_string_append_printf(text, "message send %u..%u.1 bytes=%u" RIGHT, 10 * i,
					       10 * i, bytes);
		}
		n_parts += 1 + (i >= n_whole);
	}
	g_string_append(text, "rank 1 thread 2 main\n");
	for (guint i = 0; i < n + 3; i++)
		g_string_append_printf(text, "message recv %u.5..%u.6 bytes=%u receive" LEFT,
				       10 * i, 10 * i, 1000 + i * i);
	timeline = correlated(text->str);
	g_assert_cmpuint(count_flows(timeline), ==, is_paired ? n_parts : 0);
	if (is_paired)
		assert_pair(timeline, 0, 0, is_sure);
}

static void test_parts(void)
{
	check_parts(16, 2, TRUE, TRUE);	 /* 18 of 20 begin where receives do */
	check_parts(15, 2, TRUE, FALSE); /* 17 of 19 */
	check_parts(0, 8, TRUE, FALSE);	 /* 8 of 16 */
	check_parts(0, 7, FALSE, FALSE); /* 7 are too few */
}

/* Messages of one size, ever longer after one another: ten of them, a control step, and `n` more, of which this end has those from
 * `first` on. */
static void add_stretches(GString *text, const gchar *name, const gchar *ends, guint first, guint n,
			  gboolean has_control)
{
	for (guint i = 0; i < 10; i++)
		g_string_append_printf(text, "message %s %u..%u bytes=48%s", name, i * i, i * i + 1,
				       ends);
	if (has_control)
		g_string_append(text, "mark control_step 1000\n");
	for (guint i = first; i < n; i++)
		g_string_append_printf(text, "message %s %u..%u bytes=48%s", name, 2000 + i * i,
				       2000 + i * i + 1, ends);
}

static TachoTimeline *stretches(gboolean has_receiver_control)
{
	g_autoptr(GString) text = g_string_new("rank 0 host=a thread 1 main\n");

	add_stretches(text, "send", RIGHT, 0, 20, TRUE);
	g_string_append(text, "rank 1 host=b thread 2 main\n");
	add_stretches(text, "recv", " receive" LEFT, 2, 20, has_receiver_control);
	return correlated(text->str);
}

/* Where each message begins in its stream, which ends in none of another, and is behind a gap from the eleventh on. */
static void assert_offsets(const TachoTimeline *timeline, const gchar *name, guint64 gap_at)
{
	guint64 end = 0;

	for (guint i = 0; i < (strcmp(name, "send") == 0 ? 30u : 28u); i++) {
		const TachoMessage *message =
			tacho_slice_borrow_message(timeline, timeline_find(timeline, name, i));

		if (i == 10) {
			g_assert_cmpuint(message->offset_bytes, >, gap_at);
			end = message->offset_bytes;
		}
		g_assert_cmpuint(message->offset_bytes, ==, end);
		end += message->bytes;
	}
}

/* Behind a control step, two messages had come before the receiver was recorded again. All fits as if none had, but for the times. */
static void test_control(void)
{
	g_autoptr(TachoTimeline) both = stretches(TRUE);
	g_autoptr(TachoTimeline) one = stretches(FALSE);

	g_assert_cmpuint(count_flows(both), ==, 28);
	assert_pair(both, 9, 9, TRUE);
	assert_pair(both, 12, 10, FALSE);
	assert_pair(both, 29, 27, FALSE);
	g_assert_cmpuint(count_problems(both), ==, 0);
	/* positions go on behind the ten before, of 480 bytes; the receiver missed two */
	assert_offsets(both, "send", 480);
	assert_offsets(both, "recv", 480);
	/* which byte is which is not known where one end alone says when it was not recorded */
	assert_pair(one, 10, 10, TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/message_pairs/pieces", test_pieces);
	g_test_add_func("/message_pairs/own_pieces", test_own_pieces);
	g_test_add_func("/message_pairs/connections", test_connections);
	g_test_add_func("/message_pairs/shifted", test_shifted);
	g_test_add_func("/message_pairs/repeated", test_repeated);
	g_test_add_func("/message_pairs/unpaired", test_unpaired);
	g_test_add_func("/message_pairs/control", test_control);
	g_test_add_func("/message_pairs/hostile", test_hostile);
	g_test_add_func("/message_pairs/shift_limits", test_shift_limits);
	g_test_add_func("/message_pairs/parts", test_parts);
	return g_test_run();
}
