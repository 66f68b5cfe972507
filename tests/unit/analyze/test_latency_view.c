#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

static void add_flow(TachoTimeline *timeline, TachoFlowKind kind, guint32 from, guint32 to)
{
	TachoFlow flow = { .from = from, .to = to, .kind = (guint8)kind, .is_exact = 1 };

	g_array_append_val(timeline->flows, flow);
}

/* The row of that kind; there must be exactly one. */
static guint find_row(const TachoTable *table, const gchar *kind)
{
	guint found = G_MAXUINT;

	for (guint i = 0; i < tacho_table_n_rows(table); i++) {
		if (strcmp(tacho_table_cell_text(table, i, "kind"), kind) != 0)
			continue;
		g_assert_cmpuint(found, ==, G_MAXUINT);
		found = i;
	}
	g_assert_cmpuint(found, !=, G_MAXUINT);
	return found;
}

/* Times in us. The first send's bytes came in with two receives: 10 to 50. The second took 20 to 35. */
static const gchar messages[] = "unit us\n"
				"rank 0 thread 1 main\n"
				"  message out 10..12 bytes=8\n"
				"  message out 20..21 bytes=4\n"
				"rank 1 thread 2 main\n"
				"  message in 14..30 bytes=4 receive\n"
				"  message in 30..50 bytes=4 receive\n"
				"  message in 52..55 bytes=4 receive\n";

static TachoTimeline *with_messages(void)
{
	TachoTimeline *timeline = timeline_from_text(messages);
	guint32 first = timeline_find(timeline, "out", 0),
		second = timeline_find(timeline, "out", 1);

	add_flow(timeline, TACHO_FLOW_MESSAGE, first, timeline_find(timeline, "in", 1));
	add_flow(timeline, TACHO_FLOW_MESSAGE, first, timeline_find(timeline, "in", 0));
	add_flow(timeline, TACHO_FLOW_MESSAGE, second, timeline_find(timeline, "in", 2));
	add_flow(timeline, TACHO_FLOW_LAUNCH, second, timeline_find(timeline, "in", 0));
	return timeline;
}

static void test_messages(void)
{
	g_autoptr(TachoTimeline) timeline = with_messages();
	g_autoptr(TachoTable) table = tacho_view_latency(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "kind"), ==, "message");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "out");
	EXPECT(table, 0, "from_rank", 0);
	EXPECT(table, 0, "to_rank", 1);
	EXPECT(table, 0, "count", 2);
	EXPECT(table, 0, "mean_us", 37.5);
	EXPECT(table, 0, "median_us", 37.5);
	EXPECT(table, 0, "p90_us", 39.5);
	EXPECT(table, 0, "max_us", 40);
	EXPECT(table, 0, "min_us", 35);
	EXPECT(table, 0, "total_ms", 0.075);
	EXPECT(table, 0, "below_zero", 0);
	/* 35000 and 40000 are below 65536 and not below 32768 */
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "histogram"), ==, "65536:2");
}

static void test_filters(void)
{
	g_autoptr(TachoTimeline) timeline = with_messages();
	TachoFilter other = { .rank = 1, .first_step = -1, .last_step = -1 };
	g_autoptr(TachoTable) table = tacho_view_latency(timeline, &other);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0); /* rank 1 sends nothing */
}

/* Both ends of a request, what is between the spans, and a request whose clocks are not one. */
static void test_requests(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit us\n"
							       "rank 0 thread 1 main\n"
							       "  event 'send A' 10..10\n"
							       "  event 'send A' 100..100\n"
							       "rank 1 thread 2 main\n"
							       "  event 'receive A' 17..17\n"
							       "  event 'receive A' 97..97\n");
	g_autoptr(TachoTable) table = NULL;
	guint row;

	for (guint i = 0; i < 2; i++)
		add_flow(timeline, TACHO_FLOW_MESSAGE, timeline_find(timeline, "send A", i),
			 timeline_find(timeline, "receive A", i));
	table = tacho_view_latency(timeline, NULL);
	row = find_row(table, "request");
	EXPECT(table, row, "count", 2);
	EXPECT(table, row, "min_us", -3);
	EXPECT(table, row, "max_us", 7);
	EXPECT(table, row, "below_zero", 1);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "histogram"), ==, "1:1 8192:1");
	g_assert_nonnull(strstr(tacho_table_borrow_note(table, 0), "1 ended before they began"));
}

static void test_collectives(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit us\n"
							       "rank 0 thread 1 main\n"
							       "  collective sum 100..180\n"
							       "rank 1 thread 2 main\n"
							       "  collective sum 130..190\n");
	g_autoptr(TachoTable) table = NULL;
	guint whole, transfer;

	add_collective(timeline, "sum", 64);
	table = tacho_view_latency(timeline, NULL);
	whole = find_row(table, "collective");
	transfer = find_row(table, "transfer");
	EXPECT(table, whole, "count", 2);
	EXPECT(table, whole, "mean_us", 70);
	EXPECT(table, transfer, "mean_us", 55); /* 50 and 60, from 130 on */
	g_assert_true(isnan(tacho_table_cell_number(table, whole, "from_rank")));
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n  op a 0..1\n");
	g_autoptr(TachoTable) table = tacho_view_latency(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_cmpuint(tacho_table_n_notes(table), >=, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/latency-view/messages", test_messages);
	g_test_add_func("/latency-view/filters", test_filters);
	g_test_add_func("/latency-view/requests", test_requests);
	g_test_add_func("/latency-view/collectives", test_collectives);
	g_test_add_func("/latency-view/nothing", test_nothing);
	return g_test_run();
}
