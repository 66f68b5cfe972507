/* What the page of the html export carries of a timeline: the longest slices, counters thinned to their extremes,
 * bytes from rank to rank. */
#include <string.h>

#include "export/comm_matrix.h"
#include "export/page_timeline.h"
#include "timeline_text.h"

static const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;

static guint64 value_of(const struct page_column *column, guint32 index)
{
	guint64 value = 0;

	g_assert_cmpuint(index, <, column->n);
	for (guint i = 0; i < column->n_planes; i++)
		value |= (guint64)column->planes[i]->data[index] << (8 * i);
	return value;
}

static gint64 signed_value_of(const struct page_column *column, guint32 index)
{
	guint64 value = value_of(column, index);

	return (gint64)(value >> 1) ^ -(gint64)(value & 1);
}

static const gchar *name_of(const struct page_timeline *page, guint32 slice)
{
	return g_ptr_array_index(page->strings, value_of(&page->name, slice));
}

/* --- columns ------------------------------------------------------------------------------------ */

static void test_column(void)
{
	const guint64 values[] = { 0, 255, 256, 0, G_MAXUINT64, 1 };
	struct page_column column;

	page_column_init(&column);
	for (guint i = 0; i < 3; i++)
		page_column_add(&column, values[i]);
	g_assert_cmpuint(column.n_planes, ==, 2);
	for (guint i = 3; i < G_N_ELEMENTS(values); i++)
		page_column_add(&column, values[i]);
	g_assert_cmpuint(column.n_planes, ==, 8);
	for (guint i = 0; i < G_N_ELEMENTS(values); i++)
		g_assert_cmpuint(value_of(&column, i), ==, values[i]);
	page_column_release(&column);
	g_assert_cmpuint(page_zigzag(G_MININT64), ==, G_MAXUINT64);
	g_assert_cmpuint(page_zigzag(-1), ==, 1);
	g_assert_cmpuint(page_zigzag(1), ==, 2);
}

static void test_varint(void)
{
	static const guint8 expected[] = { 0,	 0x7f, 0x80, 1,	   0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	page_append_varint(bytes, 0);
	page_append_varint(bytes, 127);
	page_append_varint(bytes, 128);
	page_append_varint(bytes, G_MAXUINT64);
	g_assert_cmpmem(bytes->data, bytes->len, expected, sizeof(expected));
}

/* --- slices ------------------------------------------------------------------------------------- */

static const gchar nested[] = "unit us\n"
			      "rank 0  thread 10 main\n"
			      "  op outer 100..200\n"
			      "    op short 110..115\n"
			      "    op long 120..180\n"
			      "      op tiny 130..131\n"
			      "  mark moment 150\n"
			      "  op equal 300..305\n"
			      "  op after 400..460\n";

static void test_slices(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(nested);
	struct page_timeline page;

	g_assert_true(page_timeline_init(&page, timeline, &all, 100, NULL));
	g_assert_cmpuint(page.track.n, ==, 7);
	g_assert_cmpuint(page.n_left_out, ==, 0);
	g_assert_cmpstr(name_of(&page, 2), ==, "long");
	g_assert_cmpuint(value_of(&page.depth, 2), ==, 1);
	g_assert_cmpuint(value_of(&page.duration, 2), ==, 60000);
	g_assert_cmpint(signed_value_of(&page.begin, 0), ==, 100000);
	g_assert_cmpint(signed_value_of(&page.begin, 2), ==, 10000); /* after "short" */
	g_assert_cmpstr(name_of(&page, 4), ==, "moment");
	g_assert_cmpuint(value_of(&page.state, 4), ==, PAGE_SLICE_MOMENT);
	page_timeline_release(&page);
}

/* If two slices last equally long and only one has room, neither is shown; depths stay. */
static void test_longest(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(nested);
	struct page_timeline page;

	g_assert_true(page_timeline_init(&page, timeline, &all, 4, NULL));
	g_assert_cmpint(page.shortest_ns, ==, 5001);
	g_assert_cmpuint(page.n_left_out, ==, 3);
	g_assert_cmpuint(page.track.n, ==, 4); /* with the moment */
	g_assert_cmpstr(name_of(&page, 1), ==, "long");
	g_assert_cmpuint(value_of(&page.depth, 1), ==, 1);
	g_assert_cmpint(signed_value_of(&page.begin, 1), ==, 20000); /* after "outer" */
	page_timeline_release(&page);
}

static void test_no_slices(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n");
	struct page_timeline page;

	g_assert_true(page_timeline_init(&page, timeline, &all, 0, NULL));
	g_assert_cmpuint(page.track.n, ==, 0);
	page_timeline_release(&page);
}

static void test_flows(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(nested);
	TachoFlow flow = { .from = timeline_find(timeline, "outer", 0),
			   .to = timeline_find(timeline, "after", 0),
			   .kind = TACHO_FLOW_LAUNCH };
	TachoFlow hidden = { .from = timeline_find(timeline, "tiny", 0),
			     .to = timeline_find(timeline, "after", 0),
			     .kind = TACHO_FLOW_LAUNCH };
	struct page_timeline page;

	g_array_append_val(timeline->flows, flow);
	g_array_append_val(timeline->flows, hidden);
	g_assert_true(page_timeline_init(&page, timeline, &all, 4, NULL));
	g_assert_cmpuint(page.flow_from.n, ==, 1);
	g_assert_cmpstr(name_of(&page, (guint32)value_of(&page.flow_from, 0)), ==, "outer");
	g_assert_cmpstr(name_of(&page, (guint32)value_of(&page.flow_to, 0)), ==, "after");
	g_assert_cmpuint(value_of(&page.flow_kind, 0), ==, TACHO_FLOW_LAUNCH);
	page_timeline_release(&page);
}

/* --- counters ----------------------------------------------------------------------------------- */

/* However many values there are, the highest and the lowest are among those that stay. */
static void test_counter(void)
{
	const guint n = 3 * PAGE_MAX_COUNTS;
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n sample loss 0 5\n");
	struct page_timeline page;
	gint64 time_ns = 0, value = 0, lowest = 0, highest = 0;

	for (guint i = 1; i < n; i++) {
		TachoSample sample = {
			.time_ns = i,
			.value = i == 7777    ? -100
				 : i == 99999 ? 1000
					      : (gdouble)(i % 10),
			.track = g_array_index(timeline->samples, TachoSample, 0).track
		};

		g_array_append_val(timeline->samples, sample);
	}
	g_assert_true(page_timeline_init(&page, timeline, &all, 10, NULL));
	g_assert_cmpuint(page.n_counts_thinned, ==, 1);
	g_assert_cmpuint(page.count_value.n, <=, PAGE_MAX_COUNTS);
	g_assert_cmpuint(page.count_value.n, >, PAGE_MAX_COUNTS / 2);
	for (guint32 i = 0; i < page.count_value.n; i++) {
		gint64 step_ns = signed_value_of(&page.count_time, i);

		g_assert_cmpint(step_ns, >=, 0);
		time_ns += step_ns;
		value += signed_value_of(&page.count_value, i);
		lowest = MIN(lowest, value);
		highest = MAX(highest, value);
	}
	g_assert_cmpint(lowest, ==, -100);
	g_assert_cmpint(highest, ==, 1000);
	g_assert_cmpint(time_ns, <, n);
	page_timeline_release(&page);
}

/* Fractions are kept with as many decimals as seven digits of the largest need. */
static void test_fractions(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       " sample loss 0 12.5\n"
							       " sample loss 1 -0.33333333\n"
							       " sample tiny 0 0.000012345678\n"
							       " sample whole 0 1e15\n");
	struct page_timeline page;

	g_assert_true(page_timeline_init(&page, timeline, &all, 10, NULL));
	g_assert_cmpint(signed_value_of(&page.count_value, 0), ==, 1250000);
	g_assert_cmpint(signed_value_of(&page.count_value, 1), ==, -33333 - 1250000);
	g_assert_cmpint(signed_value_of(&page.count_value, 2), ==, 1234568);
	g_assert_cmpint(signed_value_of(&page.count_value, 3), ==, 1000000000000000);
	page_timeline_release(&page);
}

/* --- rank to rank --------------------------------------------------------------------------------- */

static const gchar two_hosts[] =
	"rank 0 host=a thread 10 main\n"
	"  message send 1..2 bytes=100 local=10.0.0.1:1 peer=10.0.0.2:2\n"
	"  message send 3..4 bytes=50 local=10.0.0.1:1 peer=10.0.0.2:2\n"
	"  message send 5..6 bytes=7 local=10.0.0.1:1 peer=10.0.0.9:2\n"
	"  collective gloo:all_reduce 10..20 bytes=4096\n"
	"rank 1 host=b thread 10 main\n"
	"  message read 2..3 bytes=150 receive local=10.0.0.2:2 peer=10.0.0.1:1\n"
	"  collective gloo:all_reduce 11..20 bytes=4096\n";

static void add_message(TachoTimeline *timeline, const gchar *name, guint nth, guint32 peer,
			guint64 bytes, gboolean is_receive)
{
	TachoMessage message = { .slice = timeline_find(timeline, name, nth),
				 .peer_process = peer,
				 .bytes = bytes,
				 .is_receive = is_receive != FALSE };

	g_array_append_val(timeline->messages, message);
}

static void add_collective(TachoTimeline *timeline)
{
	TachoCollective collective = { .bytes = 4096, .n_members = 2, .n_expected = 2 };

	for (guint i = 0; i < 2; i++) {
		guint32 slice = timeline_find(timeline, "gloo:all_reduce", i);

		g_array_append_val(timeline->members, slice);
	}
	g_array_append_val(timeline->collectives, collective);
}

static void expect_matrix(TachoTimeline *timeline, enum comm_matrix_source source, guint64 from_0,
			  guint64 from_1, guint64 outside)
{
	struct export_scope scope;
	struct comm_matrix matrix;

	g_assert_true(export_scope_init(&scope, timeline, &all, NULL));
	comm_matrix_init(&matrix, &scope);
	g_assert_cmpint(matrix.source, ==, source);
	g_assert_cmpuint(matrix.bytes[0], ==, 0);
	g_assert_cmpuint(matrix.bytes[1], ==, from_0);
	g_assert_cmpuint(matrix.bytes[2], ==, from_1);
	g_assert_cmpuint(matrix.bytes[3], ==, 0);
	g_assert_cmpuint(matrix.n_outside, ==, outside);
	comm_matrix_release(&matrix);
	export_scope_release(&scope);
}

static void test_matrix(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_hosts);

	expect_matrix(timeline, COMM_MATRIX_NOTHING, 0, 0, 0);
	add_collective(timeline);
	expect_matrix(timeline, COMM_MATRIX_COLLECTIVES, 4096, 4096, 0);
	add_message(timeline, "send", 0, 1, 100, FALSE);
	add_message(timeline, "send", 1, 1, 50, FALSE);
	add_message(timeline, "send", 2, TACHO_NONE, 7, FALSE);
	add_message(timeline, "read", 0, 0, 150, TRUE);
	expect_matrix(timeline, COMM_MATRIX_MESSAGES, 150, 0, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/page-timeline/column", test_column);
	g_test_add_func("/page-timeline/varint", test_varint);
	g_test_add_func("/page-timeline/slices", test_slices);
	g_test_add_func("/page-timeline/longest", test_longest);
	g_test_add_func("/page-timeline/no-slices", test_no_slices);
	g_test_add_func("/page-timeline/flows", test_flows);
	g_test_add_func("/page-timeline/counter", test_counter);
	g_test_add_func("/page-timeline/fractions", test_fractions);
	g_test_add_func("/comm-matrix", test_matrix);
	return g_test_run();
}
