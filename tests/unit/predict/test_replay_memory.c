/* Memory moved along with the replay, and changed by what-ifs: peaks that can be computed by hand. Times are
 * microseconds. */
#include <string.h>

#include "predicted.h"
#include "timeline_text.h"

/* At 25: 100 saved for the backward pass, 60 that came out of the linear, 200 of the relu. */
#define FORWARD_AND_BACKWARD(relu_reads)                                                           \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n"                                                                \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op aten::linear 0..20 seq=0\n"                                                        \
	"    op aten::relu 20..30 seq=1" relu_reads "\n"                                           \
	"    op ReluBackward0 40..50 backward seq=1 fwd=1\n"                                       \
	"    op AddmmBackward0 50..70 backward seq=0 fwd=1\n"                                      \
	"    op optimizer 70..100\n"                                                               \
	"  alloc 5 address=4096 bytes=100\n"                                                       \
	"  alloc 10 address=8192 bytes=40\n"                                                       \
	"  free 15 address=8192 bytes=40\n"                                                        \
	"  alloc 18 address=12288 bytes=60\n"                                                      \
	"  alloc 25 address=16384 bytes=200\n"                                                     \
	"  free 45 address=16384 bytes=200\n"                                                      \
	"  free 55 address=12288 bytes=60\n"                                                       \
	"  free 65 address=4096 bytes=100\n"

static const gchar saved[] = FORWARD_AND_BACKWARD(" in=float32[15]@12288");
static const gchar unread[] = FORWARD_AND_BACKWARD("");

/* From 102 to 104, the step before's gradient and 1050; from 132 to 135, 1000 of the forward pass and the
 * gradient of 100. */
#define GRADIENT_OF_A_RANK                                                                         \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op torch::autograd::AccumulateGrad 34..40 backward in=float32[25]@4096\n"             \
	"    collective gloo:all_reduce 40..45 bytes=100 end_tid=9\n"                              \
	"    op optimizer 45..100\n"                                                               \
	"  annotation ProfilerStep#1 100..200\n"                                                   \
	"    op zero 100..110\n"                                                                   \
	"    op forward 110..130\n"                                                                \
	"    op torch::autograd::AccumulateGrad 134..140 backward in=float32[25]@8192\n"           \
	"    collective gloo:all_reduce 140..145 bytes=100 end_tid=9\n"                            \
	"    op optimizer 145..200\n"                                                              \
	"  alloc 32 address=4096 bytes=100\n"                                                      \
	"  alloc 102 address=20480 bytes=1050\n"                                                   \
	"  free 104 address=20480 bytes=1050\n"                                                    \
	"  free 105 address=4096 bytes=100\n"                                                      \
	"  alloc 115 address=16384 bytes=1000\n"                                                   \
	"  alloc 132 address=8192 bytes=100\n"                                                     \
	"  free 135 address=16384 bytes=1000\n"

static const gchar gradients[] = "unit us\nrank 0 thread 1000 main\n" GRADIENT_OF_A_RANK
				 "rank 1 thread 1001 main\n" GRADIENT_OF_A_RANK;

/* 500 for a while, beside 100 that stay: of an operation that takes no time, too. */
static const gchar passing[] = "unit us\n"
			       "rank 0 thread 1000 main\n"
			       "  annotation ProfilerStep#0 0..100\n"
			       "    op a 0..50\n"
			       "    op b 50..100\n"
			       "  alloc 5 address=4096 bytes=100\n"
			       "  alloc 10 address=8192 bytes=500\n"
			       "  free 15 address=8192 bytes=500\n";

static void assert_peak(const gchar *text, const gchar *what_ifs, gint64 before_bytes,
			gint64 after_bytes)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	g_test_message("%s: %" G_GINT64_FORMAT " B", what_ifs,
		       prediction->predicted_peak_memory_bytes);
	g_assert_cmpint(prediction->baseline_peak_memory_bytes, ==, before_bytes);
	g_assert_cmpint(prediction->predicted_peak_memory_bytes, ==, after_bytes);
}

static void test_recompute(void)
{
	/* the linear's 100 are given back at its end, and there again for its backward pass */
	assert_peak(saved, "recompute:op~linear", 360, 260);
	/* nobody reads what came out of it: at 25 there are 200, later 160 */
	assert_peak(unread, "recompute:op~linear", 360, 200);
	assert_peak(saved, "recompute:op~relu", 360, 360);
}

static void test_drop(void)
{
	assert_peak(saved, "drop:op~relu$", 360, 160);
	assert_peak(saved, "drop:op~linear", 360, 200);
	assert_peak(saved, "drop:op~^aten", 360, 0);
	/* work that takes no time hands out in the order of the recording, and so does what takes longer */
	assert_peak(saved, "scale:op~.=0", 360, 360);
	assert_peak(saved, "scale:op~relu=7", 360, 360);
	assert_peak(passing, "scale:op~.=0", 600, 600);
}

static void test_accumulate(void)
{
	assert_peak(gradients, "accumulate=1", 1150, 1150);
	/* the gradient of the first pass is held from 105 on, and that of the second comes to it at 132 */
	assert_peak(gradients, "accumulate=2", 1150, 1200);
	assert_peak(gradients, "accumulate=4", 1150, 1200);
	assert_peak(gradients, "bucket_mb=1;accumulate=2", 1150, 1200);
}

/* Another thread's 70 are given back at 28, before the main thread's 100 come at 45; were it half as fast, at
 * 46. */
static void test_threads(void)
{
	static const gchar threads[] = "unit us\n"
				       "rank 0 thread 1000 main\n"
				       "  annotation ProfilerStep#0 0..100\n"
				       "    op a 0..50\n"
				       "    op b 60..100\n"
				       "  alloc 45 address=4096 bytes=100\n"
				       "  free 70 address=4096 bytes=100\n"
				       "thread 1001 helper\n"
				       "  op c 10..30\n"
				       "  alloc 12 address=8192 bytes=70\n"
				       "  free 28 address=8192 bytes=70\n";

	assert_peak(threads, "scale:op~^c$=1.5", 100, 100);
	assert_peak(threads, "scale:op~^c$=2", 100, 170);
}

static void test_owners(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(saved);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "", &error);
	const TachoTable *owners;

	g_assert_no_error(error);
	owners = prediction->peak_owners;
	g_assert_cmpuint(tacho_table_n_rows(owners), ==, 2);
	g_assert_cmpstr(tacho_table_cell_text(owners, 0, "name"), ==, "aten::relu");
	g_assert_cmpfloat(tacho_table_cell_number(owners, 0, "bytes"), ==, 200);
	g_assert_cmpstr(tacho_table_cell_text(owners, 1, "name"), ==, "aten::linear");
	g_assert_cmpfloat(tacho_table_cell_number(owners, 1, "blocks"), ==, 2);
	g_assert_cmpfloat(tacho_table_cell_number(owners, 1, "bytes"), ==, 160);
	g_assert_cmpint(prediction->peak_rank, ==, 0);
}

/* The operation around what is no operation itself has it; the one around that has not. */
static void test_innermost_owner(void)
{
	static const gchar nested[] = "unit us\n"
				      "rank 0 thread 1000 main\n"
				      "  annotation ProfilerStep#0 0..100\n"
				      "    op outer 0..50\n"
				      "      op inner 10..40\n"
				      "        runtime cudaMalloc 20..30\n"
				      "  alloc 25 address=4096 bytes=100\n";
	g_autoptr(TachoTimeline) timeline = timeline_from_text(nested);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "", &error);

	g_assert_no_error(error);
	g_assert_cmpuint(tacho_table_n_rows(prediction->peak_owners), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(prediction->peak_owners, 0, "name"), ==, "inner");
}

/* Fewer ranks: those that are gone hold nothing. Without allocations, nothing is known. */
static void test_ranks(void)
{
	static const gchar unequal[] = "unit us\n"
				       "rank 0 thread 1000 main\n"
				       "  annotation ProfilerStep#0 0..100\n"
				       "    op a 0..50\n"
				       "    collective gloo:all_reduce 50..60 bytes=100 end_tid=9\n"
				       "    op b 60..100\n"
				       "  alloc 5 address=4096 bytes=10\n"
				       "rank 1 thread 1001 main\n"
				       "  annotation ProfilerStep#0 0..100\n"
				       "    op a 0..50\n"
				       "    collective gloo:all_reduce 50..60 bytes=100 end_tid=9\n"
				       "    op b 60..100\n"
				       "  alloc 5 address=4096 bytes=20\n"
				       "rank 2 thread 1002 main\n"
				       "  annotation ProfilerStep#0 0..100\n"
				       "    op a 0..50\n"
				       "    collective gloo:all_reduce 50..60 bytes=100 end_tid=9\n"
				       "    op b 60..100\n"
				       "  alloc 5 address=4096 bytes=30\n";
	static const gchar silent[] = "unit us\nrank 0 thread 1000 main\n"
				      "  annotation ProfilerStep#0 0..10\n    op a 0..10\n";

	assert_peak(unequal, "ranks=2", 30, 20);
	assert_peak(silent, "scale:op~a=2", -1, -1);
}

/* Each device has a memory of its own, and so has the host: they do not add up. */
static void test_devices(void)
{
	static const gchar devices[] = "unit us\n"
				       "rank 0 thread 1000 main\n"
				       "  annotation ProfilerStep#0 0..100\n"
				       "    op a 0..50\n"
				       "    op b 50..100\n"
				       "  alloc 5 address=4096 bytes=100 device=0\n"
				       "  alloc 10 address=8192 bytes=60\n"
				       "  alloc 55 address=12288 bytes=150 device=1\n"
				       "  alloc 60 address=16384 bytes=20 device=0\n";
	g_autoptr(TachoTimeline) timeline = timeline_from_text(devices);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "", &error);
	const TachoTable *peaks;

	g_assert_no_error(error);
	g_assert_cmpint(prediction->peak_memory_bytes, ==, 150);
	g_assert_cmpint(prediction->predicted_peak_memory_bytes, ==, 150);
	g_assert_cmpstr(prediction->peak_memory, ==, "gpu 1");
	peaks = prediction->memory_peaks;
	g_assert_cmpuint(tacho_table_n_rows(peaks), ==, 3);
	g_assert_cmpstr(tacho_table_cell_text(peaks, 0, "memory"), ==, "host");
	g_assert_cmpfloat(tacho_table_cell_number(peaks, 0, "peak_bytes"), ==, 60);
	g_assert_cmpstr(tacho_table_cell_text(peaks, 1, "memory"), ==, "gpu 0");
	g_assert_cmpfloat(tacho_table_cell_number(peaks, 1, "peak_bytes"), ==, 120);
	g_assert_cmpfloat(tacho_table_cell_number(peaks, 1, "at_ms"), ==, 0.06);
	g_assert_cmpstr(tacho_table_cell_text(peaks, 2, "memory"), ==, "gpu 1");
	g_assert_cmpuint(tacho_table_n_rows(prediction->peak_owners), ==, 1);
	assert_peak(devices, "drop:op~^b$", 150, 100);
}

/* The relu takes twice as long: what it has handed out halfway is so much later, and so is all that follows. */
static void test_curve(void)
{
	static const struct {
		gdouble at_ms, bytes;
	} expected[] = { { 0.005, 100 }, { 0.010, 140 }, { 0.015, 100 }, { 0.018, 160 },
			 { 0.030, 360 }, { 0.055, 160 }, { 0.065, 100 }, { 0.075, 0 } };
	g_autoptr(TachoTimeline) timeline = timeline_from_text(saved);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "scale:op~relu$=2", &error);
	const TachoTable *curve;

	g_assert_no_error(error);
	curve = prediction->memory_curve;
	g_assert_cmpuint(tacho_table_n_rows(curve), ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(curve, i, "at_ms"),
					       expected[i].at_ms, 1e-9);
		g_assert_cmpfloat(tacho_table_cell_number(curve, i, "held_bytes"), ==,
				  expected[i].bytes);
	}
}

/* A thousand blocks: no more than 200 points, and the peak is one of them. */
static void test_long_curve(void)
{
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 thread 1000 main\n"
					       "  annotation ProfilerStep#0 0..10000\n"
					       "    op a 0..10000\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	gdouble most = 0;

	for (guint i = 0; i < 1000; i++)
		g_string_append_printf(text,
				       "  alloc %u address=4096 bytes=%u\n"
				       "  free %u address=4096 bytes=%u\n",
				       10 * i + 1, i == 501 ? 999 : 100, 10 * i + 4,
				       i == 501 ? 999 : 100);
	timeline = timeline_from_text(text->str);
	prediction = predict(timeline, "", &error);
	g_assert_no_error(error);
	g_assert_cmpuint(tacho_table_n_rows(prediction->memory_curve), ==, 200);
	for (guint i = 0; i < 200; i++)
		most = MAX(most,
			   tacho_table_cell_number(prediction->memory_curve, i, "held_bytes"));
	g_assert_cmpfloat(most, ==, 999);
}

/* When the counter of a process of the exported replay first had that value, ns; -1: never. */
static gint64 when_held(const TachoTimeline *timeline, guint32 process, gdouble bytes)
{
	for (guint i = 0; i < timeline->samples->len; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);
		const TachoTrack *track = tacho_timeline_track(timeline, sample->track);

		if (track->process == process && sample->value == bytes &&
		    strcmp(tacho_timeline_string(timeline, track->name), "bytes held, host") == 0)
			return sample->time_ns;
	}
	return -1;
}

/* What was held as measured, and beside it as replayed. */
static void test_counters(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(saved);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction =
		predict(timeline, "scale:op~relu$=2;drop:op~Addmm", &error);
	g_autoptr(TachoTimeline) picture = NULL;

	g_assert_no_error(error);
	picture = tacho_replay_timeline(prediction->replay);
	g_assert_cmpint(when_held(picture, 0, 360), ==, 25000);
	g_assert_cmpint(when_held(picture, 0, 0), ==, 65000);
	g_assert_cmpint(when_held(picture, 1, 360), ==, 30000);
	g_assert_cmpint(when_held(picture, 1, 160), ==, 18000);
	g_assert_cmpint(when_held(picture, 1, 0), ==, 60000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/replay_memory/recompute", test_recompute);
	g_test_add_func("/replay_memory/drop", test_drop);
	g_test_add_func("/replay_memory/accumulate", test_accumulate);
	g_test_add_func("/replay_memory/threads", test_threads);
	g_test_add_func("/replay_memory/owners", test_owners);
	g_test_add_func("/replay_memory/innermost_owner", test_innermost_owner);
	g_test_add_func("/replay_memory/ranks", test_ranks);
	g_test_add_func("/replay_memory/devices", test_devices);
	g_test_add_func("/replay_memory/curve", test_curve);
	g_test_add_func("/replay_memory/long_curve", test_long_curve);
	g_test_add_func("/replay_memory/counters", test_counters);
	return g_test_run();
}
