#include <tacho/analyze.h>

#include <string.h>

#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)

/* The row of that checker, or -1. */
static gint find(const TachoTable *table, const gchar *checker)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, "checker"), checker) == 0)
			return (gint)row;
	return -1;
}

static gboolean says(const TachoTable *table, const gchar *checker, const gchar *key,
		     const gchar *what)
{
	gint row = find(table, checker);
	const gchar *text = row < 0 ? NULL : tacho_table_cell_text(table, (guint)row, key);

	return text && strstr(text, what);
}

static gboolean has_note(const TachoTable *table, const gchar *what)
{
	for (guint i = 0; i < tacho_table_n_notes(table); i++)
		if (strstr(tacho_table_borrow_note(table, i), what))
			return TRUE;
	return FALSE;
}

/* Each rank of the timeline has a step of 100 ms. */
static TachoTimeline *timeline_of(const gchar *text)
{
	TachoTimeline *timeline = timeline_from_text(text);

	for (guint rank = 0; rank < timeline->ranks->len; rank++)
		add_step(timeline, rank, 0, 0, 100);
	return timeline;
}

static void test_nothing(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of("rank 0 thread 1 main\n"
							"  op aten::mm 0..98\n"
							"  collective sum 50..80 bytes=9\n"
							"rank 1 thread 2 main\n"
							"  op aten::mm 0..97\n"
							"  collective sum 50..80 bytes=9\n");
	g_autoptr(TachoTable) table = NULL;

	add_collective(timeline, "sum", 9);
	table = tacho_view_advise(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
	g_assert_true(has_note(table, "There is no advice"));
	g_assert_true(has_note(table, "device_idle (no work of a device was recorded)"));
}

/* Of 40 ms of transfer 10 are hidden. */
static TachoTable *communicate(const gchar *bytes, guint n_buckets)
{
	g_autofree gchar *text = g_strdup_printf("rank 0 thread 1 main\n"
						 "  op aten::mm 0..60\n"
						 "  collective sum 50..90 bytes=%s\n"
						 "  op aten::add_ 90..100\n",
						 bytes);
	g_autoptr(TachoTimeline) timeline = timeline_of(text);
	TachoBucket bucket = { .bytes = g_ascii_strtoull(bytes, NULL, 10),
			       .slice = timeline_find(timeline, "sum", 0) };

	for (guint i = 0; i < n_buckets; i++)
		g_array_append_val(timeline->buckets, bucket);
	return tacho_view_advise(timeline, NULL);
}

static void test_communication(void)
{
	g_autoptr(TachoTable) large = communicate("80000000", 0);
	g_autoptr(TachoTable) small = communicate("8000", 0);
	g_autoptr(TachoTable) many = communicate("80000", 8);
	g_autoptr(TachoTable) one = communicate("167772160", 1);

	g_assert_cmpuint(tacho_table_n_rows(large), ==, 1);
	EXPECT(large, 0, "id", 1);
	EXPECT(large, 0, "gain_ms", 30);
	EXPECT(large, 0, "gain_pct", 30);
	EXPECT(large, 0, "value", 30);
	EXPECT(large, 0, "threshold", 5);
	EXPECT(large, 0, "first_step", 0);
	EXPECT(large, 0, "last_step", 0);
	g_assert_cmpstr(tacho_table_cell_text(large, 0, "where"), ==, "sum");
	g_assert_true(says(large, "communication", "evidence", "30.00 of 40.00 ms"));
	g_assert_true(says(large, "communication", "evidence", "1.0 collectives of 80.000 MB"));
	g_assert_true(says(large, "communication", "evidence", "which were not recorded"));
	g_assert_true(says(large, "communication", "action", "bandwidth=2x"));
	g_assert_true(has_note(large, "1: Of the communication, 30.00 of 40.00 ms"));
	g_assert_true(says(small, "communication", "action", "latency=0.5x"));
	g_assert_true(says(many, "communication", "action", "bucket_mb=25"));
	/* a quarter is hidden, which is more than few */
	g_assert_true(says(one, "communication", "action", "bandwidth=2x"));
}

/* One bucket that nothing hides: four of a quarter might. */
static void test_one_bucket(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_of("rank 0 thread 1 main\n"
			    "  op aten::mm 0..50\n"
			    "  collective sum 50..90 bytes=167772160\n");
	TachoBucket bucket = { .bytes = 167772160, .slice = timeline_find(timeline, "sum", 0) };
	g_autoptr(TachoTable) table = NULL;

	g_array_append_val(timeline->buckets, bucket);
	table = tacho_view_advise(timeline, NULL);
	g_assert_true(says(table, "communication", "action", "bucket_mb=40"));
}

/* A figure at its threshold is told, one below is not. */
static void test_threshold(void)
{
	static const gchar *const texts[] = {
		"rank 0 thread 1 main\n  op aten::mm 0..95\n  collective sum 90..100 bytes=9\n",
		"rank 0 thread 1 main\n  op aten::mm 0..95.1\n  collective sum 90..100 bytes=9\n",
	};

	for (guint i = 0; i < 2; i++) {
		g_autoptr(TachoTimeline) timeline = timeline_of(texts[i]);
		g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

		g_assert_cmpuint(tacho_table_n_rows(table), ==, 1 - i);
	}
}

/* Rank 1 comes 20 late to one collective; with `is_even`, rank 0 comes 20 late to the next. */
static TachoTimeline *late_ranks(gboolean is_even)
{
	TachoTimeline *timeline = timeline_of(is_even ? "rank 0 thread 1 main\n"
							"  op aten::mm 0..30\n"
							"  collective one 30..52\n"
							"  op aten::mm 52..90\n"
							"  collective two 90..92\n"
							"  op aten::add_ 92..100\n"
							"rank 1 host=h1 thread 2 main\n"
							"  op aten::mm 0..50\n"
							"  collective one 50..52\n"
							"  op aten::mm 52..70\n"
							"  collective two 70..92\n"
							"  op aten::add_ 92..100\n"
						      : "rank 0 thread 1 main\n"
							"  op aten::mm 0..30\n"
							"  collective one 30..52\n"
							"  op aten::add_ 52..100\n"
							"rank 1 host=h1 thread 2 main\n"
							"  op aten::mm 0..50\n"
							"  collective one 50..52\n"
							"  op aten::add_ 52..100\n");

	add_collective(timeline, "one", 9);
	if (is_even)
		add_collective(timeline, "two", 9);
	return timeline;
}

static void test_straggler(void)
{
	g_autoptr(TachoTimeline) timeline = late_ranks(FALSE);
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);
	TachoFilter filter = TACHO_FILTER_INIT;

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "rank", 1);
	EXPECT(table, 0, "gain_ms", 20);
	EXPECT(table, 0, "gain_pct", 20);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "where"), ==, "aten::mm");
	g_assert_true(says(table, "straggler", "evidence", "20.00 ms more in compute"));
	g_assert_true(says(table, "straggler", "evidence", "aten::mm (20.00 ms)"));
	/* 98 ms of computing would have to be 78 */
	g_assert_true(says(table, "straggler", "action", "straggler:1=0.80"));
	g_clear_pointer(&table, tacho_table_free);
	filter.rank = 0; /* who is nobody's burden */
	table = tacho_view_advise(timeline, &filter);
	g_assert_cmpint(find(table, "straggler"), <, 0);
}

static void test_late_in_turn(void)
{
	g_autoptr(TachoTimeline) timeline = late_ranks(TRUE);
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

	g_assert_cmpint(find(table, "straggler"), <, 0);
	/* but what they wait has an advice, which says for whom */
	g_assert_cmpint(find(table, "waiting"), >=, 0);
	g_assert_true(says(table, "waiting", "evidence", "of all waiting is for rank"));
}

/* Who is late is not known where clocks are not, or no better than that. */
static void test_clocks(void)
{
	g_autoptr(TachoTimeline) timeline = late_ranks(FALSE);
	TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, 0);
	g_autoptr(TachoTable) table = NULL;

	clock->uncertainty_ns = 20000000;
	table = tacho_view_advise(timeline, NULL);
	g_assert_cmpint(find(table, "straggler"), <, 0);
	g_clear_pointer(&table, tacho_table_free);
	clock->uncertainty_ns = 19999999;
	table = tacho_view_advise(timeline, NULL);
	g_assert_cmpint(find(table, "straggler"), ==, 0);
	g_clear_pointer(&table, tacho_table_free);
	clock->state = TACHO_CLOCK_APART;
	table = tacho_view_advise(timeline, NULL);
	g_assert_cmpint(find(table, "straggler"), <, 0);
	g_assert_true(has_note(table, "straggler (the clocks of some ranks are not aligned)"));
}

/* Rank 1 waits longest for data; both are idle for 12 ms, rank 1 for 2 more. */
static void test_idle_hosts(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of("rank 0 thread 1 main\n"
							"  wait DataLoader 0..3\n"
							"  op aten::mm 15..100\n"
							"rank 1 thread 2 main\n"
							"  wait DataLoader 0..9\n"
							"  op aten::mm 23..100\n");
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);
	TachoFilter filter = TACHO_FILTER_INIT;

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpint(find(table, "host_idle"), ==, 0); /* the largest gain first */
	EXPECT(table, 0, "gain_ms", 12);
	EXPECT(table, 0, "threshold", 10);
	g_assert_true(says(table, "host_idle", "evidence", "this is the minimum of 2 ranks"));
	EXPECT(table, 1, "gain_ms",
	       6); /* the step is the mean of ranks that do not wait for each other */
	EXPECT(table, 1, "rank", 1);
	g_assert_true(says(table, "data_loader", "evidence", "1 of the chosen ranks wait"));
	g_clear_pointer(&table, tacho_table_free);
	filter.rank = 0; /* waits for less than is worth a word */
	table = tacho_view_advise(timeline, &filter);
	g_assert_cmpint(find(table, "data_loader"), <, 0);
	g_assert_cmpint(find(table, "host_idle"), ==, 0);
	g_clear_pointer(&table, tacho_table_free);
	filter.rank = -1;
	filter.name = g_regex_new("^data", 0, 0, NULL); /* the checkers of that name */
	table = tacho_view_advise(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpint(find(table, "data_loader"), ==, 0);
	g_assert_false(has_note(table, "Not checked"));
	g_regex_unref(filter.name);
}

/* The device works 20 + 50 of the 100 ms from its first work to its last; the next was launched late. */
#define DEVICE                                                                                     \
	"rank 0 thread 1 main\n"                                                                   \
	"  wait DataLoader 20..26\n"                                                               \
	"  runtime first 0..1\n"                                                                   \
	"  runtime second 49..50\n"                                                                \
	"  stream 7\n"                                                                             \
	"  kernel a 0..20 launch=first\n"                                                          \
	"  kernel b 50..100 launch=second\n"

static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of(DEVICE);
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

	g_assert_cmpint(find(table, "device_idle"), ==, 0);
	EXPECT(table, 0, "value", 30);
	EXPECT(table, 0, "gain_ms", 24); /* without waiting for data */
	EXPECT(table, 0, "rank", 0);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "where"), ==, "gpu 0");
	g_assert_true(says(table, "device_idle", "evidence", "works for 70 % of the time"));
	g_assert_true(says(table, "device_idle", "evidence", "1 of 1 devices"));
	g_assert_true(says(table, "device_idle", "action", "Free the host"));
	g_assert_cmpint(find(table, "data_loader"), ==, 1);
	g_assert_true(has_note(table, "host_idle (devices do the work)"));
}

/* A stream that hides the gap of another: the device is not idle. */
static void test_busy_device(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of(DEVICE "  stream 8\n"
							       "  kernel c 0..99\n");
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

	g_assert_cmpint(find(table, "device_idle"), <, 0);
}

/* Kernels that take less than their launches. */
static void test_short_kernels(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of("rank 0 thread 1 main\n"
							"  runtime first 0..10\n"
							"  runtime second 11..40\n"
							"  runtime third 49..90\n"
							"  stream 7\n"
							"  kernel a 5..10 launch=first\n"
							"  kernel b 40..48 launch=second\n"
							"  kernel c 90..95 launch=third\n");
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

	g_assert_true(says(table, "device_idle", "evidence", "100 % of its work took less"));
	g_assert_true(says(table, "device_idle", "action", "Launch fewer"));
}

/* The first call waits 12 for a, and the device has nothing to do for 8 after it; the second waits 1 for b, and the
 * device has nothing to do for 20; while the third waits, another stream works on; after the last comes nothing. */
#define BLOCKED                                                                                    \
	"rank 0 thread 1 main\n"                                                                   \
	"  function \"train.py(7): main\" 0..100\n"                                                \
	"  function \"torch/_tensor.py(9): item\" 1..100\n"                                        \
	"  op aten::item 8..22\n"                                                                  \
	"  runtime cudaStreamSynchronize 8..20\n"                                                  \
	"  op aten::copy_ 39..41\n"                                                                \
	"  runtime cudaMemcpy 39..40\n"                                                            \
	"  runtime cudaMemcpyAsync 41..60\n"                                                       \
	"  runtime cudaDeviceSynchronize 65..75\n"                                                 \
	"  runtime cudaDeviceSynchronize 90..100\n"                                                \
	"  stream 7\n"                                                                             \
	"  kernel a 0..20\n"                                                                       \
	"  kernel b 28..40\n"                                                                      \
	"  kernel c 60..75\n"                                                                      \
	"  stream 8\n"                                                                             \
	"  kernel d 70..90\n"

static void test_blocking_calls(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of(BLOCKED);
	g_autoptr(TachoTimeline) busy = timeline_of(BLOCKED "  stream 9\n"
							    "  kernel e 0..100\n");
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);
	g_autoptr(TachoTable) nothing = tacho_view_advise(busy, NULL);
	gint row = find(table, "blocking_calls");

	g_assert_cmpint(row, >=, 0);
	EXPECT(table, (guint)row, "gain_ms", 8 + 1);
	EXPECT(table, (guint)row, "rank", 0);
	g_assert_cmpstr(tacho_table_cell_text(table, (guint)row, "where"), ==, "aten::item");
	g_assert_cmpstr(tacho_table_cell_text(table, (guint)row, "file"), ==, "train.py(7): main");
	g_assert_true(says(table, "blocking_calls", "evidence", "In 4.0 calls a step"));
	g_assert_true(says(table, "blocking_calls", "evidence", "33.00 ms for its device"));
	g_assert_true(says(table, "blocking_calls", "evidence",
			   "cudaStreamSynchronize, called by "
			   "train.py(7): main"));
	g_assert_cmpint(find(nothing, "blocking_calls"), <, 0);
}

static void test_layout(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_of("rank 0 thread 1 main\n"
			    "  stream 7\n"
			    "  kernel \"void nchwToNhwcKernel<float>()\" 0..4\n"
			    "  kernel conv 4..90\n"
			    "  kernel \"void nhwcToNchwKernel<float>()\" 90..93\n");
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	EXPECT(table, 0, "gain_ms", 7);
	g_assert_true(says(table, "layout", "evidence", "2.0 kernels"));
	g_assert_true(says(table, "layout", "action", "channels_last"));
}

/* Own times, of host and device together: 10 + 60 of 100, 30 of 100. */
static void test_expensive(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_of("rank 0 thread 1 main\n"
							"  op aten::mm 0..10\n"
							"  runtime launch 1..2\n"
							"  op aten::relu 10..40\n"
							"  stream 7\n"
							"  kernel gemm 20..80 launch=launch\n");
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

	g_assert_true(has_note(table, "Most expensive operations: aten::mm in forward (70 %), "
				      "aten::relu in forward (30 %)."));
}

/* Of 1000 MB held at the most handed out, 300 are free; later more is, which is left from then. */
static void test_fragmentation(void)
{
	static const gchar text[] = "rank 0 thread 1 main\n"
				    "  op aten::empty 0..100\n"
				    "  alloc 10 address=16 bytes=1000 device=%u\n"
				    "  sample \"allocated bytes, device 0\" 10 %u000000\n"
				    "  sample \"reserved bytes, device 0\" 10 1000000000\n"
				    "  sample \"allocated bytes, device 0\" 50 1000\n"
				    "  sample \"reserved bytes, device 0\" 50 2000000000\n";
	static const struct {
		guint device, allocated_mb;
		gboolean is_told;
	} cases[] = { { 0, 700, TRUE }, { 0, 740, FALSE }, { 1, 700, FALSE } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *of_case =
			g_strdup_printf(text, cases[i].device, cases[i].allocated_mb);
		g_autoptr(TachoTimeline) timeline = timeline_of(of_case);
		g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);

		g_assert_cmpuint(tacho_table_n_rows(table), ==, cases[i].is_told);
		g_assert_true(has_note(table, "no totals of an allocator") ==
			      (cases[i].device == 1));
		if (!cases[i].is_told)
			continue;
		EXPECT(table, 0, "gain_bytes", 300e6);
		EXPECT(table, 0, "gain_ms", 0);
		EXPECT(table, 0, "value", 30);
		g_assert_cmpstr(tacho_table_cell_text(table, 0, "where"), ==, "gpu 0");
		g_assert_true(says(table, "fragmentation", "evidence", "hands out 700 MB"));
	}
}

static void test_no_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(DEVICE);
	g_autoptr(TachoTable) table = tacho_view_advise(timeline, NULL);
	g_autoptr(TachoTimeline) empty = timeline_from_text("rank 0 thread 1 main\n");
	g_autoptr(TachoTable) nothing = tacho_view_advise(empty, NULL);

	EXPECT(table, 0, "gain_ms", 24);
	g_assert_true(says(table, "data_loader", "evidence", "6.00 ms in all"));
	g_assert_cmpuint(tacho_table_n_rows(nothing), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/advise_view/nothing", test_nothing);
	g_test_add_func("/advise_view/communication", test_communication);
	g_test_add_func("/advise_view/one_bucket", test_one_bucket);
	g_test_add_func("/advise_view/threshold", test_threshold);
	g_test_add_func("/advise_view/straggler", test_straggler);
	g_test_add_func("/advise_view/late_in_turn", test_late_in_turn);
	g_test_add_func("/advise_view/clocks", test_clocks);
	g_test_add_func("/advise_view/idle_hosts", test_idle_hosts);
	g_test_add_func("/advise_view/device", test_device);
	g_test_add_func("/advise_view/busy_device", test_busy_device);
	g_test_add_func("/advise_view/short_kernels", test_short_kernels);
	g_test_add_func("/advise_view/blocking_calls", test_blocking_calls);
	g_test_add_func("/advise_view/layout", test_layout);
	g_test_add_func("/advise_view/expensive", test_expensive);
	g_test_add_func("/advise_view/fragmentation", test_fragmentation);
	g_test_add_func("/advise_view/no_steps", test_no_steps);
	return g_test_run();
}
