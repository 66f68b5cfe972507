/* The steps of gloo's ring, from what each rank sent. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

enum { MAX_SENDS = 16, HEADER_BYTES = 48 };

/* A send of a rank for the all-reduce: bytes behind the header, and the step it is of. */
struct sent {
	guint64 bytes;
	guint32 step;
};

/* What a rank sends to the rank before it; ends with 0 bytes. */
typedef struct sent sends_of_rank[MAX_SENDS];

static void add_rank(GString *text, guint rank, guint64 bytes)
{
	g_string_append_printf(text,
			       "rank %u host=h%u thread %u worker\n"
			       "collective gloo:all_reduce 100..900 bytes=%" G_GUINT64_FORMAT
			       " end_tid=%u in=float32[%" G_GUINT64_FORMAT "]@0x1000\n",
			       rank, rank, 10 + rank * 10, bytes, 10 + rank * 10, bytes / 4);
}

static void add_message(GString *text, guint at, guint64 bytes, gboolean is_receive, guint rank,
			guint peer)
{
	g_string_append_printf(text,
			       "message %c%u %u..%u bytes=%" G_GUINT64_FORMAT
			       "%s local=10.0.0.%u:%u peer=10.0.0.%u:%u\n",
			       is_receive ? 'r' : 's', rank, at, at + 1, bytes,
			       is_receive ? " receive" : "", rank + 1, 5000 + peer, peer + 1,
			       5000 + rank);
}

/* A ring all-reduce of `bytes`: workers send, loops receive a header and what is behind it. Slices are
 * called s0 and r0 by rank, in their order. */
static TachoTimeline *correlated_ring(guint n_ranks, guint64 bytes, const sends_of_rank *sends)
{
	GString *text = g_string_new("unit us\n");
	TachoTimeline *timeline;

	for (guint rank = 0; rank < n_ranks; rank++) {
		guint before = (rank + n_ranks - 1) % n_ranks, after = (rank + 1) % n_ranks;

		add_rank(text, rank, bytes);
		for (guint i = 0; sends[rank][i].bytes; i++)
			add_message(text, 110 + 10 * i, HEADER_BYTES + sends[rank][i].bytes, FALSE,
				    rank, before);
		g_string_append_printf(text, "thread %u loop\n", 11 + rank * 10);
		for (guint i = 0; sends[after][i].bytes; i++) {
			add_message(text, 112 + 10 * i, HEADER_BYTES, TRUE, rank, after);
			add_message(text, 114 + 10 * i, sends[after][i].bytes, TRUE, rank, after);
		}
	}
	timeline = timeline_from_text(text->str);
	g_string_free(text, TRUE);
	tacho_correlate(timeline);
	return timeline;
}

static const TachoMessage *message_named(const TachoTimeline *timeline, const gchar *name,
					 guint nth)
{
	const TachoMessage *message =
		tacho_slice_borrow_message(timeline, timeline_find(timeline, name, nth));

	g_assert_nonnull(message);
	return message;
}

/* The steps of what `rank` sent, at both ends. `is_known`: else there are none. */
static void assert_steps(const TachoTimeline *timeline, guint n_ranks, const sends_of_rank *sends,
			 guint rank, gboolean is_known)
{
	g_autofree gchar *send = g_strdup_printf("s%u", rank);
	g_autofree gchar *receive = g_strdup_printf("r%u", (rank + n_ranks - 1) % n_ranks);

	for (guint i = 0; sends[rank][i].bytes; i++) {
		guint32 step = is_known ? sends[rank][i].step : TACHO_NONE;

		g_assert_cmpuint(message_named(timeline, send, i)->ring_step, ==, step);
		g_assert_cmpuint(message_named(timeline, receive, 2 * i)->ring_step, ==, step);
		g_assert_cmpuint(message_named(timeline, receive, 2 * i + 1)->ring_step, ==, step);
		g_assert_true(message_named(timeline, send, i)->is_exact);
	}
}

/* 36 bytes over three ranks: 6 segments of 8 bytes, the fifth has 4 and the sixth none. */
static const sends_of_rank three_ranks[] = {
	{ { 8, 0 }, { 8, 0 }, { 4, 1 }, { 8, 2 }, { 8, 2 }, { 8, 3 }, { 8, 3 } },
	{ { 4, 0 }, { 8, 1 }, { 8, 1 }, { 8, 2 }, { 8, 2 }, { 4, 3 } },
	{ { 8, 0 }, { 8, 0 }, { 8, 1 }, { 8, 1 }, { 4, 2 }, { 8, 3 }, { 8, 3 } },
};

static void test_short_tensor(void)
{
	g_autoptr(TachoTimeline) timeline = correlated_ring(3, 36, three_ranks);

	for (guint rank = 0; rank < 3; rank++)
		assert_steps(timeline, 3, three_ranks, rank, TRUE);
}

/* 5 MiB over two ranks: a segment has no more than 1 MiB, so there are three a chunk, in whole
 * elements. */
static void test_long_tensor(void)
{
	static const sends_of_rank sends[] = {
		{ { 873816, 0 },
		  { 873816, 0 },
		  { 873800, 0 },
		  { 873816, 1 },
		  { 873816, 1 },
		  { 873816, 1 } },
		{ { 873816, 0 },
		  { 873816, 0 },
		  { 873816, 0 },
		  { 873816, 1 },
		  { 873816, 1 },
		  { 873800, 1 } },
	};
	g_autoptr(TachoTimeline) timeline = correlated_ring(2, 5 << 20, sends);

	for (guint rank = 0; rank < 2; rank++)
		assert_steps(timeline, 2, sends, rank, TRUE);
}

/* A segment too few, one too many, one too long: no ring, on that rank. */
static void test_no_ring(void)
{
	static const struct sent instead[][MAX_SENDS] = {
		{ { 8, 0 }, { 8, 0 }, { 4, 1 }, { 8, 2 }, { 8, 2 }, { 8, 3 } },
		{ { 8, 0 }, { 8, 0 }, { 4, 1 }, { 8, 2 }, { 8, 2 }, { 8, 3 }, { 8, 3 }, { 8, 3 } },
		{ { 8, 0 }, { 8, 0 }, { 8, 1 }, { 8, 2 }, { 8, 2 }, { 8, 3 }, { 8, 3 } },
	};

	for (guint i = 0; i < G_N_ELEMENTS(instead); i++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		sends_of_rank sends[3];

		memcpy(sends, three_ranks, sizeof(sends));
		memcpy(sends[0], instead[i], sizeof(sends[0]));
		timeline = correlated_ring(3, 36, sends);
		assert_steps(timeline, 3, sends, 0, FALSE);
		assert_steps(timeline, 3, sends, 1, TRUE);
		assert_steps(timeline, 3, sends, 2, TRUE);
	}
}

/* Nothing is known of a ring where a rank is missing, nor of what was sent to two ranks. */
static void test_unknown(void)
{
	static const gchar text[] =
		"unit us\nworld 2\nrank 0 thread 10 worker\n"
		"collective gloo:all_reduce 100..200 bytes=16 end_tid=10 in=float32[4]@0x10\n"
		"message a 101..102 bytes=52 local=10.0.0.1:1 peer=10.0.0.2:1\n"
		"message b 103..104 bytes=52 local=10.0.0.1:%u peer=10.0.0.2:1\n"
		"message c 105..106 bytes=52 local=10.0.0.1:1 peer=10.0.0.2:1\n"
		"message d 107..108 bytes=52 local=10.0.0.1:1 peer=10.0.0.2:1\n%s";
	static const gchar other[] =
		"rank 1 thread 20 worker\n"
		"collective gloo:all_reduce 100..200 bytes=16 end_tid=20 in=float32[4]@0x10\n";
	g_autofree gchar *whole = g_strdup_printf(text, 1, other);
	g_autofree gchar *two_ways = g_strdup_printf(text, 2, other);
	g_autofree gchar *alone = g_strdup_printf(text, 1, "");
	const gchar *texts[] = { whole, two_ways, alone };

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(TachoTimeline) timeline = timeline_from_text(texts[i]);

		tacho_correlate(timeline);
		g_assert_cmpuint(message_named(timeline, "a", 0)->ring_step, ==,
				 i == 0 ? 0 : TACHO_NONE);
		g_assert_cmpuint(message_named(timeline, "d", 0)->ring_step, ==,
				 i == 0 ? 1 : TACHO_NONE);
	}
}

/* Two all-reduces at once, of 4 and of `n` numbers, whose segments the loop sends by turns as room
 * becomes for them: their lengths tell which is whose. The last goes out in two parts. */
static TachoTimeline *correlated_queue(guint n)
{
	GString *text = g_string_new("unit us\nworld 2\n");
	TachoTimeline *timeline;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text,
				       "rank %u host=h%u thread %u worker\n"
				       "collective gloo:all_reduce 100..900 bytes=16 end_tid=%u "
				       "in=float32[4]@0x10\nthread %u worker\n"
				       "collective gloo:all_reduce 101..900 bytes=%u end_tid=%u "
				       "in=float32[%u]@0x20\nthread %u loop\n",
				       rank, rank, 10 + rank, 10 + rank, 20 + rank, 4 * n,
				       20 + rank, n, 30 + rank);
		for (guint i = 0; i < 4 && rank == 0; i++) {
			add_message(text, 110 + 20 * i, HEADER_BYTES + 4, FALSE, 0, 1);
			add_message(text, 120 + 20 * i, HEADER_BYTES + (i < 3 ? n : 1), FALSE, 0,
				    1);
		}
		if (rank == 0)
			add_message(text, 300, n - 1, FALSE, 0, 1);
		for (guint i = 0; i < 4 && rank == 1; i++) {
			add_message(text, 110 + 20 * i, HEADER_BYTES, TRUE, 1, 0);
			add_message(text, 112 + 20 * i, 4, TRUE, 1, 0);
			add_message(text, 120 + 20 * i, HEADER_BYTES, TRUE, 1, 0);
			add_message(text, 122 + 20 * i, n, TRUE, 1, 0);
		}
	}
	timeline = timeline_from_text(text->str);
	g_string_free(text, TRUE);
	tacho_correlate(timeline);
	return timeline;
}

static void test_queue(void)
{
	g_autoptr(TachoTimeline) timeline = correlated_queue(24);
	g_autoptr(TachoTimeline) alike = correlated_queue(4);

	for (guint i = 0; i < 9; i++) {
		const TachoMessage *message = message_named(timeline, "s0", i);
		guint32 all_reduce = timeline_find(timeline, "gloo:all_reduce", i < 8 ? i % 2 : 1);

		g_assert_cmpuint(message->collective, ==, all_reduce);
		g_assert_cmpuint(message->ring_step, ==, i < 4 ? 0 : 1);
		g_assert_false(message->is_exact);
		g_assert_cmpuint(message_named(alike, "s0", i)->collective, ==, TACHO_NONE);
	}
	for (guint i = 0; i < 16; i++) {
		const TachoMessage *message = message_named(timeline, "r1", i);

		g_assert_cmpuint(message->collective, ==,
				 timeline_find(timeline, "gloo:all_reduce", 2 + i / 2 % 2));
		g_assert_cmpuint(message->ring_step, ==, i / 8);
		g_assert_cmpuint(message->collective_row, ==,
				 message_named(timeline, "s0", i / 2)->collective_row);
		g_assert_cmpuint(message->collective_row, !=, TACHO_NONE);
		g_assert_cmpuint(message_named(alike, "r1", i)->ring_step, ==, TACHO_NONE);
	}
}

/* Sizes as a broken file may have them. */
static void test_hostile_sizes(void)
{
	static const guint64 sizes[] = { 0, 1, G_GUINT64_CONSTANT(1) << 56, G_MAXINT64,
					 G_MAXUINT64 };
	static const sends_of_rank sends[] = {
		{ { G_MAXUINT64 - HEADER_BYTES, 0 }, { 1, 0 }, { G_MAXINT64, 0 } },
		{ { 1, 0 }, { 1, 0 }, { 1, 0 } },
	};

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(TachoTimeline) timeline = correlated_ring(2, sizes[i], sends);

		assert_steps(timeline, 2, sends, 0, FALSE);
		assert_steps(timeline, 2, sends, 1, FALSE);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ring_steps/short_tensor", test_short_tensor);
	g_test_add_func("/ring_steps/long_tensor", test_long_tensor);
	g_test_add_func("/ring_steps/no_ring", test_no_ring);
	g_test_add_func("/ring_steps/unknown", test_unknown);
	g_test_add_func("/ring_steps/queue", test_queue);
	g_test_add_func("/ring_steps/hostile_sizes", test_hostile_sizes);
	return g_test_run();
}
