/* Messages by what they carried out: by hand. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)
#define THERE " local=10.0.0.1:4 peer=10.0.0.2:5\n"
#define BACK  " local=10.0.0.2:5 peer=10.0.0.1:4\n"

/* A number in four segments, over two ranks, sent by rank 0 only; and a word with the store. */
static const gchar text[] =
	"world 2\n"
	"rank 0 host=a thread 10 worker\n"
	"collective gloo:all_reduce 100..200 bytes=16 end_tid=10 in=float32[4]@0x10\n"
	"message send 101..102 bytes=52" THERE "message send 103..104 bytes=52" THERE
	"message send 105..106 bytes=52" THERE "message send 107..109 bytes=52" THERE
	"message store 300..302 bytes=10 receive local=10.0.0.1:6 peer=10.0.0.9:7\n"
	"rank 1 host=b thread 20 worker\n"
	"collective gloo:all_reduce 100..200 bytes=16 end_tid=20 in=float32[4]@0x20\n"
	"thread 21 loop\n"
	"message recv 110..111 bytes=48 receive" BACK "message recv 112..113 bytes=4 receive" BACK
	"message recv 114..115 bytes=48 receive" BACK "message recv 116..117 bytes=4 receive" BACK
	"message recv 118..119 bytes=48 receive" BACK "message recv 120..121 bytes=4 receive" BACK
	"message recv 122..123 bytes=48 receive" BACK "message recv 124..126 bytes=4 receive" BACK;

static TachoTable *view_of(const gchar *name, gint32 rank)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);
	g_autoptr(GRegex) regex = name ? g_regex_new(name, 0, 0, NULL) : NULL;
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.name = regex;
	filter.rank = rank;
	return tacho_view_message(timeline, &filter);
}

/* The row with that rank and direction. */
static guint find_row(TachoTable *table, gint32 rank, const gchar *direction)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if ((gint32)tacho_table_cell_number(table, row, "rank") == rank &&
		    g_strcmp0(tacho_table_cell_text(table, row, "direction"), direction) == 0)
			return row;
	g_error("no row of rank %d, %s", rank, direction);
}

static void test_by_hand(void)
{
	g_autoptr(TachoTable) table = view_of(NULL, -1);
	guint sent = find_row(table, 0, "send"), received = find_row(table, 1, "receive");
	guint other = find_row(table, 0, "receive");

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(table, sent, "name"), ==, "gloo:all_reduce");
	EXPECT(table, sent, "peer_rank", 1);
	EXPECT(table, sent, "count", 4);
	EXPECT(table, sent, "bytes", 4 * 52);
	EXPECT(table, sent, "mean_bytes", 52);
	EXPECT(table, sent, "gb_per_s", 208 / 8e6);
	EXPECT(table, sent, "call_ms", 5);
	EXPECT(table, sent, "ring_steps", 2);
	EXPECT(table, sent, "paired_pct", 100);
	EXPECT(table, sent, "inferred_pct", 0);
	EXPECT(table, received, "peer_rank", 0);
	EXPECT(table, received, "count", 8);
	EXPECT(table, received, "bytes", 208);
	EXPECT(table, received, "gb_per_s", 208 / 16e6);
	EXPECT(table, received, "ring_steps", 2);
	g_assert_null(tacho_table_cell_text(table, other, "name"));
	EXPECT(table, other, "bytes", 10);
	EXPECT(table, other, "paired_pct", 0);
	g_assert_cmpuint(other, ==, 2); /* least bytes last */
}

static void test_filters(void)
{
	g_autoptr(TachoTable) named = view_of("all_reduce", -1);
	g_autoptr(TachoTable) of_rank = view_of(NULL, 1);
	g_autoptr(TachoTable) none = view_of("broadcast", -1);

	g_assert_cmpuint(tacho_table_n_rows(named), ==, 2);
	g_assert_cmpuint(tacho_table_n_rows(of_rank), ==, 1);
	EXPECT(of_rank, 0, "rank", 1);
	g_assert_cmpuint(tacho_table_n_rows(none), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/message_view/by_hand", test_by_hand);
	g_test_add_func("/message_view/filters", test_filters);
	return g_test_run();
}
