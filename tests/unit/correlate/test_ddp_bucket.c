/* DDP's buckets, and the gradients in each. */
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

#define EVALUATE   "op \"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\" "
#define ACCUMULATE "op torch::autograd::AccumulateGrad "

static const TachoBucket *bucket_at(const TachoTimeline *timeline, guint index)
{
	g_assert_cmpuint(index, <, timeline->buckets->len);
	return &g_array_index(timeline->buckets, TachoBucket, index);
}

static const TachoGradient *gradient_at(const TachoTimeline *timeline, guint bucket, guint index)
{
	const TachoBucket *row = bucket_at(timeline, bucket);

	g_assert_cmpuint(index, <, row->n_gradients);
	return &g_array_index(timeline->gradients, TachoGradient, row->first_gradient + index);
}

static void assert_gradient(const TachoTimeline *timeline, guint bucket, guint index, guint64 bytes,
			    guint64 offset_bytes, gint64 ready_ns)
{
	const TachoGradient *gradient = gradient_at(timeline, bucket, index);

	g_assert_cmpuint(gradient->bytes, ==, bytes);
	g_assert_cmpuint(gradient->offset_bytes, ==, offset_bytes);
	g_assert_cmpint(gradient->ready_ns, ==, ready_ns);
	g_assert_true(gradient->is_exact);
}

/* Copied into one bucket, which the second gradient completes; a third is alone in the next one. */
static void test_copied(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"unit ns\n"
		"rank 0 thread 1 main\n"
		"annotation ProfilerStep#7 50..175\n" EVALUATE "100..110\n" ACCUMULATE
		"101..103 backward in=float32[10]@0x500\n"
		"op aten::mul 104..105 in=float32[10]@0x500 out=float32[10]@0xb000+80\n" EVALUATE
		"120..140\n" ACCUMULATE "121..123 backward in=float32[20]@0x600\n"
		"op aten::mul 124..125 in=float32[20]@0x600 out=float32[20]@0xb000\n"
		"op c10d::allreduce_ 130..135 in=float32[30]@0xb000\n" EVALUATE
		"150..170\n" ACCUMULATE "151..153 backward in=float32[5]@0x700\n"
		"op aten::mul 154..155 in=float32[5]@0x700 out=float32[5]@0xc000\n"
		"op c10d::allreduce_ 160..165 in=float32[5]@0xc000\n"
		"op c10d::allreduce_ 180..181 in=float32[1]@0xd000\n" /* of no gradient */
		"thread 2 worker\n"
		"collective gloo:all_reduce 140..180 bytes=120 end_tid=2 in=float32[30]@0xb000\n"
		"collective gloo:all_reduce 190..200 bytes=20 end_tid=2 in=float32[5]@0xc000\n"
		"collective gloo:all_reduce 210..220 bytes=4 end_tid=2 in=float32[1]@0xd000\n");
	const TachoBucket *bucket = bucket_at(timeline, 0);

	g_assert_cmpuint(timeline->buckets->len, ==, 2);
	g_assert_cmpuint(timeline->gradients->len, ==, 3);
	g_assert_cmpuint(bucket->slice, ==, timeline_find(timeline, "gloo:all_reduce", 0));
	g_assert_cmpuint(bucket->bytes, ==, 120);
	g_assert_cmpuint(bucket->n_gradients, ==, 2);
	g_assert_cmpuint(bucket->index, ==, 0);
	g_assert_cmpuint(bucket->step, ==, 0);
	g_assert_cmpint(bucket->ready_ns, ==, 123);
	g_assert_cmpint(bucket->queued_ns, ==, 130);
	g_assert_true(bucket->is_whole);
	assert_gradient(timeline, 0, 0, 40, 80, 103);
	assert_gradient(timeline, 0, 1, 80, 0, 123);
	g_assert_cmpuint(bucket_at(timeline, 1)->index, ==, 1);
	g_assert_cmpint(bucket_at(timeline, 1)->queued_ns, ==, 160);
	assert_gradient(timeline, 1, 0, 20, 0, 153);
}

/* Gradients that are views of their buckets; a pass under no_sync() before the one that counts; and
 * the same buckets again in the next pass. */
static void test_views(void)
{
	GString *text = g_string_new("unit ns\nrank 0 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint pass = 0; pass < 4; pass++) {
		guint at = pass * 1000;

		g_string_append_printf(
			text,
			EVALUATE "%u..%u\n" ACCUMULATE "%u..%u backward in=float32[10]@0x500\n"
				 "op aten::add_ %u..%u in=float32[10]@0xb000 "
				 "in=float32[10]@0x500\n" EVALUATE "%u..%u\n" ACCUMULATE
				 "%u..%u backward in=float32[20]@0x600\n"
				 "op aten::add_ %u..%u in=float32[20]@0xb000+40 "
				 "in=float32[20]@0x600\n",
			at + 10, at + 30, at + 11, at + 15, at + 12, at + 14, at + 40, at + 90,
			at + 41, at + 45, at + 42, at + 44);
		if (pass % 2 == 1)
			g_string_append_printf(text,
					       "op c10d::allreduce_ %u..%u in=float32[30]@0xb000\n",
					       at + 50, at + 60);
	}
	g_string_append(text, "thread 2 worker\n");
	for (guint pass = 1; pass < 4; pass += 2)
		g_string_append_printf(text,
				       "collective gloo:all_reduce %u..%u bytes=120 end_tid=2 "
				       "in=float32[30]@0xb000\n",
				       pass * 1000 + 70, pass * 1000 + 99);
	timeline = correlated(text->str);
	g_string_free(text, TRUE);
	g_assert_cmpuint(timeline->buckets->len, ==, 2);
	g_assert_cmpuint(timeline->gradients->len, ==, 4);
	for (guint i = 0; i < 2; i++) {
		g_assert_cmpuint(bucket_at(timeline, i)->index, ==, 0);
		g_assert_true(bucket_at(timeline, i)->is_whole);
		assert_gradient(timeline, i, 0, 40, 0, (2 * i + 1) * 1000 + 15);
		assert_gradient(timeline, i, 1, 80, 40, (2 * i + 1) * 1000 + 45);
	}
}

/* Nothing shows where the gradients went: sizes decide, and where they do not fit, nothing does. */
static void test_by_size(void)
{
	static const gchar pass[] =
		"unit ns\nrank 0 thread 1 main\n" ACCUMULATE
		"101..103 backward in=float32[7]@0x400\n" ACCUMULATE
		"111..113 backward in=float32[10]@0x500\n" EVALUATE "120..140\n" ACCUMULATE
		"121..123 backward in=float32[20]@0x600\n"
		"op c10d::allreduce_ 130..135 in=float32[%u]@0xb000\n"
		"thread 2 worker\n"
		"collective gloo:all_reduce 140..180 bytes=%u end_tid=2 in=float32[%u]@0xb000\n";
	g_autofree gchar *fitting = g_strdup_printf(pass, 30, 120, 30);
	g_autofree gchar *other = g_strdup_printf(pass, 29, 116, 29);
	g_autoptr(TachoTimeline) inferred = correlated(fitting);
	g_autoptr(TachoTimeline) unknown = correlated(other);

	g_assert_true(bucket_at(inferred, 0)->is_whole);
	g_assert_cmpuint(bucket_at(inferred, 0)->n_gradients, ==, 2);
	g_assert_cmpint(gradient_at(inferred, 0, 0)->ready_ns, ==, 113);
	g_assert_false(gradient_at(inferred, 0, 0)->is_exact);
	g_assert_cmpuint(unknown->buckets->len, ==, 1);
	g_assert_false(bucket_at(unknown, 0)->is_whole);
	g_assert_cmpuint(bucket_at(unknown, 0)->n_gradients, ==, 0);
	g_assert_cmpint(bucket_at(unknown, 0)->ready_ns, ==, 130);
}

/* What the pass before has left over is in no bucket of this one: 80 bytes are not 120. */
static void test_left_over(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"unit ns\nrank 0 thread 1 main\n"
		"annotation ProfilerStep#0 50..250\n" EVALUATE "100..140\n" ACCUMULATE
		"101..103 backward in=float32[10]@0x500\n"
		"op c10d::allreduce_ 130..135 in=float32[1]@0xa000\n"
		"annotation ProfilerStep#1 300..550\n" EVALUATE "400..440\n" ACCUMULATE
		"401..403 backward in=float32[20]@0x600\n"
		"op c10d::allreduce_ 430..435 in=float32[30]@0xb000\n"
		"annotation ProfilerStep#2 600..850\n" EVALUATE "700..740\n" ACCUMULATE
		"701..703 backward in=float32[20]@0x600\n"
		"op c10d::allreduce_ 730..735 in=float32[40]@0xc000\n"
		"thread 2 worker\n"
		"collective gloo:all_reduce 140..180 bytes=4 end_tid=2 in=float32[1]@0xa000\n"
		"collective gloo:all_reduce 440..480 bytes=120 end_tid=2 in=float32[30]@0xb000\n"
		"collective gloo:all_reduce 740..780 bytes=160 end_tid=2 in=float32[40]@0xc000\n");

	g_assert_cmpuint(timeline->buckets->len, ==, 3);
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpuint(bucket_at(timeline, i)->step, ==, i);
		g_assert_false(bucket_at(timeline, i)->is_whole);
		g_assert_cmpuint(bucket_at(timeline, i)->n_gradients, ==, 0);
	}
}

/* A gradient stands where memory of an earlier bucket was, which has been given back since. */
static void test_memory_again(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"unit ns\n"
		"rank 0 thread 1 main\n" EVALUATE "100..190\n" ACCUMULATE
		"101..103 backward in=float32[10]@0x500\n"
		"op aten::mul 104..105 in=float32[10]@0x500 out=float32[10]@0xb000\n"
		"op c10d::allreduce_ 110..120 in=float32[10]@0xb000\n" EVALUATE
		"300..390\n" ACCUMULATE "301..303 backward in=float32[10]@0xb000\n"
		"op aten::mul 304..305 in=float32[10]@0xb000 out=float32[10]@0xe000+40\n" EVALUATE
		"400..490\n" ACCUMULATE "401..403 backward in=float32[10]@0x500\n"
		"op aten::mul 404..405 in=float32[10]@0x500 out=float32[10]@0xe000\n"
		"op c10d::allreduce_ 410..420 in=float32[20]@0xe000\n"
		"thread 2 worker\n"
		"collective gloo:all_reduce 130..140 bytes=40 end_tid=2 in=float32[10]@0xb000\n"
		"collective gloo:all_reduce 430..440 bytes=80 end_tid=2 in=float32[20]@0xe000\n");

	g_assert_cmpuint(timeline->buckets->len, ==, 2);
	g_assert_true(bucket_at(timeline, 1)->is_whole);
	assert_gradient(timeline, 0, 0, 40, 0, 103);
	assert_gradient(timeline, 1, 0, 40, 40, 303);
	assert_gradient(timeline, 1, 1, 40, 0, 403);
}

/* The places of buckets in their pass begin again with each step, on each rank by itself; what a
 * worker process of a rank does is none of it. */
static void test_steps(void)
{
	GString *text = g_string_new("unit ns\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread 1 main\n", rank);
		for (guint step = 0; step < 3; step++) {
			guint at = step * 1000 + rank * 100;

			g_string_append_printf(text, "annotation ProfilerStep#%u %u..%u\n", step,
					       at, at + 900);
			for (guint bucket = 0; bucket < 2; bucket++)
				g_string_append_printf(
					text,
					EVALUATE "%u..%u\n" ACCUMULATE
						 "%u..%u backward in=float32[4]@0x500\n"
						 "op c10d::allreduce_ %u..%u in=float32[4]@0x%u\n",
					at + 200 * bucket + 10, at + 200 * bucket + 90,
					at + 200 * bucket + 11, at + 200 * bucket + 20,
					at + 200 * bucket + 30, at + 200 * bucket + 40,
					6000 + step * 10 + bucket);
		}
		g_string_append(text, "thread 2 worker\n");
		for (guint i = 0; i < 6; i++)
			g_string_append_printf(text,
					       "collective gloo:all_reduce %u..%u bytes=16 "
					       "end_tid=2 in=float32[4]@0x%u\n",
					       i / 2 * 1000 + i % 2 * 200 + rank * 100 + 50,
					       i / 2 * 1000 + i % 2 * 200 + rank * 100 + 60,
					       6000 + i / 2 * 10 + i % 2);
	}
	g_string_append(text, "process 77\nthread 7 other\n" ACCUMULATE
			      "101..190 backward in=float32[4]@0x500\n"
			      "op c10d::allreduce_ 110..120 in=float32[4]@0x9000\n"
			      "thread 8 worker\n"
			      "collective gloo:all_reduce 130..140 bytes=16 end_tid=8 "
			      "in=float32[4]@0x9000\n");
	timeline = correlated(text->str);
	g_string_free(text, TRUE);
	g_assert_cmpuint(timeline->buckets->len, ==, 12);
	for (guint i = 0; i < 12; i++) {
		const TachoBucket *bucket = bucket_at(timeline, i);

		g_assert_cmpuint(bucket->rank_index, ==, i / 6);
		g_assert_cmpuint(bucket->step, ==, i % 6 / 2);
		g_assert_cmpuint(bucket->index, ==, i % 2);
		g_assert_true(bucket->is_whole);
		g_assert_cmpuint(bucket->n_gradients, ==, 1);
	}
}

/* Times, sizes and places as a broken file may have them: what cannot be is in no bucket. */
static void test_hostile(void)
{
	static const gchar *const tensors[] = {
		"float32[9223372036854775807,9223372036854775807]@0xb000",
		"float32[10]@0xb000+18446744073709551615",
		"float32[4611686018427387904]@0xb000",
		"float32[-1]@0xb000",
		"float32[0]@0xb000",
		"float32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,10]@0xb000+4",
	};

	for (guint i = 0; i < G_N_ELEMENTS(tensors); i++) {
		g_autofree gchar *text = g_strdup_printf(
			"unit ns\n"
			"rank 0 thread 1 main\n" EVALUATE "-4611686018427387903..-1\n" ACCUMULATE
			"-4611686018427387903..-4611686018427387903 backward in=%s\n"
			"op aten::mul -4611686018427387903..-4 in=%s out=%s\n"
			"op c10d::allreduce_ -3..-2 in=float32[10]@0xb000\n" EVALUATE
			"0..4611686018427387903\n" ACCUMULATE
			"4611686018427387903..4611686018427387903 backward in=%s\n"
			"op c10d::allreduce_ 4611686018427387903..4611686018427387903 in=%s\n"
			"thread 2 worker\n"
			"collective gloo:all_reduce -2..4611686018427387903 "
			"bytes=18446744073709551615 end_tid=2 in=float32[10]@0xb000\n"
			"collective gloo:all_reduce 4611686018427387903..4611686018427387903 "
			"end_tid=2 in=%s\n",
			tensors[i], tensors[i], tensors[i], tensors[i], tensors[i], tensors[i]);
		g_autoptr(TachoTimeline) timeline = correlated(text);

		g_assert_cmpuint(timeline->buckets->len, >=, 1);
		g_assert_cmpuint(bucket_at(timeline, 0)->bytes, ==, G_MAXUINT64);
		g_assert_false(bucket_at(timeline, 0)->is_whole);
		g_assert_cmpuint(bucket_at(timeline, 0)->n_gradients, ==, 0);
	}
}

static void test_none(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"rank 0 thread 1 main\n"
		"op c10d::allreduce_ 10..12 in=float32[4]@0x1\n" ACCUMULATE "20..30\n"
		"thread 2 worker\n"
		"collective gloo:all_reduce 11..30 bytes=16 end_tid=2 in=float32[4]@0x1\n");

	g_assert_cmpuint(timeline->buckets->len, ==, 0);
	g_assert_cmpuint(timeline->gradients->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ddp_bucket/copied", test_copied);
	g_test_add_func("/ddp_bucket/views", test_views);
	g_test_add_func("/ddp_bucket/by_size", test_by_size);
	g_test_add_func("/ddp_bucket/left_over", test_left_over);
	g_test_add_func("/ddp_bucket/none", test_none);
	g_test_add_func("/ddp_bucket/memory_again", test_memory_again);
	g_test_add_func("/ddp_bucket/steps", test_steps);
	g_test_add_func("/ddp_bucket/hostile", test_hostile);
	return g_test_run();
}
