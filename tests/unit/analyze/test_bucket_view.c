/* Buckets and the gradients in them: by hand. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "timeline_text.h"

#define EXPECT(table, row, key, value)                                                             \
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, key), value, 1e-9)
#define EVALUATE   "op \"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\" "
#define ACCUMULATE "op torch::autograd::AccumulateGrad "

/* A step of a rank that begins at `at`: two gradients in a bucket of 120 bytes, ready 13 and 23 after
 * it, queued at 30, taken up at 40, done at `end`. */
static void add_step_of_rank(GString *text, guint step, guint at)
{
	g_string_append_printf(
		text,
		"annotation ProfilerStep#%u %u..%u\n"
		"module \"Net.fc (Linear)\" %u..%u\nop aten::linear %u..%u seq=%u\n"
		"op AddmmBackward0 %u..%u seq=%u backward\n" EVALUATE "%u..%u\n" ACCUMULATE
		"%u..%u backward in=float32[2,5]@0x500\n"
		"op aten::mul %u..%u in=float32[2,5]@0x500 out=float32[2,5]@0xb000+80\n" EVALUATE
		"%u..%u\n" ACCUMULATE "%u..%u backward in=float32[20]@0x600\n"
		"op aten::mul %u..%u in=float32[20]@0x600 out=float32[20]@0xb000\n"
		"op c10d::allreduce_ %u..%u in=float32[30]@0xb000\n",
		step, at, at + 100, at + 1, at + 4, at + 2, at + 3, step, at + 5, at + 6, step,
		at + 10, at + 19, at + 11, at + 13, at + 14, at + 15, at + 20, at + 39, at + 21,
		at + 23, at + 24, at + 25, at + 30, at + 35);
}

/* Rank 1 does all 5 later than rank 0, both are done at 80. */
static TachoTimeline *two_ranks(void)
{
	GString *text = g_string_new("world 2\n");
	TachoTimeline *timeline;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread %u main\n", rank, 1 + rank);
		for (guint step = 0; step < 3; step++)
			add_step_of_rank(text, step, step * 1000 + rank * 5);
		g_string_append_printf(text, "thread %u worker\n", 11 + rank);
		for (guint step = 0; step < 3; step++)
			g_string_append_printf(text,
					       "collective gloo:all_reduce %u..%u bytes=120 "
					       "end_tid=%u in=float32[30]@0xb000\n",
					       step * 1000 + rank * 5 + 40, step * 1000 + 80,
					       11 + rank);
	}
	timeline = timeline_from_text(text->str);
	g_string_free(text, TRUE);
	tacho_correlate(timeline);
	return timeline;
}

static void test_buckets(void)
{
	g_autoptr(TachoTimeline) timeline = two_ranks();
	g_autoptr(TachoTable) table = tacho_view_bucket(timeline, NULL);

	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	for (guint rank = 0; rank < 2; rank++) {
		EXPECT(table, rank, "rank", rank);
		EXPECT(table, rank, "bucket", 0);
		EXPECT(table, rank, "bytes", 120);
		EXPECT(table, rank, "gradients", 2);
		EXPECT(table, rank, "count", 2); /* the first step is warm-up */
		EXPECT(table, rank, "calls_per_step", 1);
		EXPECT(table, rank, "whole_pct", 100);
		EXPECT(table, rank, "ready_ms", 23);
		EXPECT(table, rank, "queue_ms", 7);
		EXPECT(table, rank, "pickup_ms", 10);
		EXPECT(table, rank, "wait_ms", rank == 0 ? 5 : 0);
		EXPECT(table, rank, "transfer_ms", 35);
		EXPECT(table, rank, "done_ms", rank == 0 ? 80 : 75);
	}
}

static void test_gradients(void)
{
	g_autoptr(TachoTimeline) timeline = two_ranks();
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;

	filter.rank = 1;
	table = tacho_view_gradient(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "shape"), ==, "float32[2,5]");
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "shape"), ==, "float32[20]");
	EXPECT(table, 0, "bytes", 40);
	EXPECT(table, 0, "offset_bytes", 80);
	EXPECT(table, 0, "ready_ms", 13);
	EXPECT(table, 0, "wait_ms", 17);
	EXPECT(table, 1, "offset_bytes", 0);
	EXPECT(table, 1, "ready_ms", 23);
	EXPECT(table, 1, "wait_ms", 7);
	for (guint row = 0; row < 2; row++) {
		g_assert_cmpstr(tacho_table_cell_text(table, row, "module"), ==, "Net.fc (Linear)");
		EXPECT(table, row, "rank", 1);
		EXPECT(table, row, "count", 2);
		EXPECT(table, row, "bucket_bytes", 120);
		EXPECT(table, row, "exact_pct", 100);
	}
}

static void test_empty(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("rank 0 thread 1 main\nop a 1..2\n");
	g_autoptr(TachoTable) buckets = NULL;
	g_autoptr(TachoTable) gradients = NULL;

	buckets = tacho_view_bucket(timeline, NULL);
	gradients = tacho_view_gradient(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(buckets), ==, 0);
	g_assert_cmpuint(tacho_table_n_rows(gradients), ==, 0);
}

/* A second step in which the first bucket is smaller than in the one before: rows stand by bucket and size, not by when they are
 * first seen. */
static void test_order(void)
{
	static const guint floats[] = { 30, 20, 10, 20 };
	g_autoptr(GString) text = g_string_new("rank 0 thread 1 main\n"
					       "annotation ProfilerStep#0 0..10\nop a 0..1\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoTable) table = NULL;

	for (guint step = 1; step <= 2; step++)
		g_string_append_printf(text, "annotation ProfilerStep#%u %u..%u\n", step,
				       step * 100, step * 100 + 100);
	for (guint i = 0; i < G_N_ELEMENTS(floats); i++)
		g_string_append_printf(
			text,
			EVALUATE "%u..%u\n" ACCUMULATE "%u..%u backward in=float32[%u]@0x500\n"
				 "op c10d::allreduce_ %u..%u in=float32[%u]@0x%u000\n",
			100 + 50 * i, 119 + 50 * i, 101 + 50 * i, 102 + 50 * i, floats[i],
			104 + 50 * i, 105 + 50 * i, floats[i], i + 1);
	g_string_append(text, "thread 2 worker\n");
	for (guint i = 0; i < G_N_ELEMENTS(floats); i++)
		g_string_append_printf(text,
				       "collective gloo:all_reduce %u..%u bytes=%u end_tid=2 "
				       "in=float32[%u]@0x%u000\n",
				       110 + 50 * i, 120 + 50 * i, 4 * floats[i], floats[i], i + 1);
	timeline = correlated(text->str);
	table = tacho_view_bucket(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
	EXPECT(table, 0, "bucket", 0);
	EXPECT(table, 0, "bytes", 40);
	EXPECT(table, 1, "bucket", 0);
	EXPECT(table, 1, "bytes", 120);
	EXPECT(table, 2, "bucket", 1);
	EXPECT(table, 2, "count", 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bucket_view/buckets", test_buckets);
	g_test_add_func("/bucket_view/order", test_order);
	g_test_add_func("/bucket_view/gradients", test_gradients);
	g_test_add_func("/bucket_view/empty", test_empty);
	return g_test_run();
}
