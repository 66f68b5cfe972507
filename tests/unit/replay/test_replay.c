/* Replays with results computed by hand, and what holds for every graph. Times are microseconds. */
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "graph/graph_internal.h"
#include "job_text.h"
#include "predicted.h"
#include "replay/replay_internal.h"
#include "timeline_text.h"
#include "predict/prediction.h"
#include "edit/bucket_plan.h"

static void test_nothing_changed(void)
{
	assert_predicted(job_late_rank, "", 100);
	assert_predicted(job_shared_link, "", 40);
	assert_predicted(job_buckets, "", 60);
}

static void test_bandwidth(void)
{
	assert_predicted(job_late_rank, "bandwidth=2x", 95.5);	/* 51 + 4.5 + 40 */
	assert_predicted(job_late_rank, "bandwidth=0.5x", 109); /* 51 + 18 + 40 */
	assert_predicted(job_shared_link, "bandwidth=2x", 30);	/* 10 + 2 * 5 + 10 */
	/* 1024 bytes at 1.024 Gbit/s: 8 us */
	assert_predicted(job_late_rank, "bandwidth=1.024gbit", 99);
	/* bucket 1: 2 + 12 / 2; bucket 0 was over before */
	assert_predicted(job_buckets, "bandwidth=2x", 40 + 2 + 6 + 6);
	/* bucket 0 from 10 to 10 + 2 + 40, then bucket 1 takes 2 + 120 */
	assert_predicted(job_buckets, "bandwidth=0.1x", 52 + 122 + 6);
}

static void test_latency(void)
{
	/* n = 2: two halves of two segments with one latency each */
	assert_predicted(job_late_rank, "latency=+3us", 112);
	/* of 2 us fixed, all is four latencies of 0.5 us: each becomes 1 us */
	assert_predicted(job_buckets, "latency=2x", 62);
	assert_predicted(job_buckets, "latency=0us", 58);
}

static void test_work(void)
{
	/* rank 1: 60 + 1.2, 9 more, 48; rank 0: 40 after 70.2 */
	assert_predicted(job_late_rank, "straggler:1=1.2", (118.2 + 110.2) / 2);
	/* rank 0 was waiting anyway, but for b */
	assert_predicted(job_late_rank, "straggler:0=1.5", (120 + 100) / 2.0);
	assert_predicted(job_late_rank, "scale:op~^a$=0.5x", 75); /* 25 + 1 + 9 + 40 */
	assert_predicted(job_late_rank, "drop:op~^b$", 60);
	assert_predicted(job_late_rank, "drop:collective~all_reduce", 91);
	/* two ranks on one core of the host: a ends at 60 and 80 instead of 30 and 50; rank 0's
	 * collective waits until 81; both b share from 90 on, until 170 */
	assert_predicted(job_late_rank, "cores=1", 171);
	assert_predicted(job_late_rank, "cores=2", 100);
}

static void test_buckets(void)
{
	assert_predicted(job_buckets, "bucket_mb=25", 60); /* as it was */
	assert_predicted(job_buckets, "bucket_mb=1", 52);  /* the last: 40 + 2 + 4, then 6 */
	/* 1, 2, 1: the second from 30 to 40, the third from 40 to 46 */
	assert_predicted(job_buckets, "bucket_mb=2", 52);
	assert_refused(job_late_rank, "bucket_mb=8", "bucket_mb"); /* no gradients */
}

/* Two buckets of a gradient each, 10..30 and 20..40 by two workers on one link, so 15 us each alone.
 * DDP waits for the first until 30, looks at it and copies; waits for the second until 40. That the
 * second is over its worker tells only at 44, for the main thread has its core by then. */
#define COPIES_OF_A_RANK                                                                           \
	"  annotation ProfilerStep#0 0..60\n" JOB_MIB_GRADIENT(0, 10) JOB_MIB_GRADIENT(            \
		10, 20) "    collective gloo:all_reduce 10..30 bytes=1048576 end_tid=8\n"          \
			"    collective gloo:all_reduce 20..44 bytes=1048576 end_tid=9\n"          \
			"    op aten::view 30..31\n"                                               \
			"    op torch.distributed.ddp.reducer::copy_bucket_to_grad 31..33\n"       \
			"    op aten::view 40..41\n"                                               \
			"    op torch.distributed.ddp.reducer::copy_bucket_to_grad 41..43\n"       \
			"    op optimizer 43..60\n"

static void test_bucket_copies(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n" COPIES_OF_A_RANK
				    "rank 1 thread 1001 main\n" COPIES_OF_A_RANK;

	assert_predicted(text, "", 60);
	/* 10..17.5 and 20..27.5: view and copy 20..23, the same after 27.5, then 17 */
	assert_predicted(text, "bandwidth=2x", 47.5);
	/* the first from 10, the second from 20, 30 us each alone: over at 60 and 70 */
	assert_predicted(text, "bandwidth=0.5x", 70 + 3 + 17);
}

/* The same where a hook sends halves: a bucket has the numbers of its gradients, and half of their bytes. */
#define HALVES_OF_A_RANK                                                                           \
	"  annotation ProfilerStep#0 0..60\n" JOB_MIB_GRADIENT(0, 10) JOB_MIB_GRADIENT(            \
		10, 20) "    collective gloo:all_reduce 10..30 bytes=524288 end_tid=8 "            \
			"in=float16[262144]\n"                                                     \
			"    collective gloo:all_reduce 20..44 bytes=524288 end_tid=9 "            \
			"in=float16[262144]\n"                                                     \
			"    op aten::view 30..31\n"                                               \
			"    op torch.distributed.ddp.reducer::copy_bucket_to_grad 31..33\n"       \
			"    op aten::view 40..41\n"                                               \
			"    op torch.distributed.ddp.reducer::copy_bucket_to_grad 41..43\n"       \
			"    op optimizer 43..60\n"

static void test_half_copies(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n" HALVES_OF_A_RANK
				    "rank 1 thread 1001 main\n" HALVES_OF_A_RANK;

	assert_predicted(text, "", 60);
	assert_predicted(text, "bandwidth=2x", 47.5);
	assert_predicted(text, "bandwidth=0.5x", 70 + 3 + 17);
}

/* Gradients of which nothing is known. The main thread stands still until 3000, when the worker has told the bucket's future; it says
 * that the collective is over 50 us later. The main thread's next gap waited for nothing. */
#define WOKEN_OF_A_RANK                                                                            \
	"  annotation ProfilerStep#0 0..6000\n"                                                    \
	"    op torch::autograd::AccumulateGrad 0..1000 backward\n"                                \
	"    collective gloo:all_reduce 1000..3050 bytes=1048576 end_tid=8\n"                      \
	"    op aten::copy_ 3000..3100\n"                                                          \
	"    op optimizer 4000..6000\n"

static void test_woken_before_end(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n" WOKEN_OF_A_RANK
				    "rank 1 thread 1001 main\n" WOKEN_OF_A_RANK;

	assert_predicted(text, "", 6000);
	assert_predicted(text, "bandwidth=2x", 5000);
	assert_predicted(text, "bandwidth=0.5x", 8000);
}

/* 3 us fixed and 9 us a MiB, as three transfers of 1 MiB and one of 2 MiB say; then two of 1 MiB at
 * once: while two share the link, two thirds of the waits of each hide behind the other's bytes, so
 * that they take 2 * (9 + 3 / 3). */
#define FIXED_OF_A_RANK                                                                            \
	"  annotation ProfilerStep#0 0..90\n"                                                      \
	"    collective gloo:all_reduce 0..12 bytes=1048576 end_tid=8\n"                           \
	"    collective gloo:all_reduce 12..24 bytes=1048576 end_tid=8\n"                          \
	"    collective gloo:all_reduce 24..36 bytes=1048576 end_tid=8\n"                          \
	"    collective gloo:all_reduce 36..57 bytes=2097152 end_tid=8\n"                          \
	"    collective gloo:all_reduce 57..77 bytes=1048576 end_tid=8\n"                          \
	"    collective gloo:all_reduce 57..77 bytes=1048576 end_tid=9\n"                          \
	"    op a 77..90\n"

static void test_fixed_part(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n" FIXED_OF_A_RANK
				    "rank 1 thread 1001 main\n" FIXED_OF_A_RANK;

	assert_predicted(text, "", 90);
	assert_predicted(text, "bandwidth=2x", 3 * 7.5 + 12 + 2 * (4.5 + 3 / 3.0) + 13);
}

/* Eight gradients of 1 MiB, from 1 to 80; each is a bucket, and one worker reduces them one after the
 * other in 100 us each. In these 100 us, the transfer of a MiB takes 64 us: it was received in sixteen
 * calls, 4 us from one to the next. The other 36 are waits, 9 for each of the four segments. */
static gchar *received_text(void)
{
	GString *text = g_string_new("unit us\n");

	for (gint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text,
				       "rank %d thread %d main\n"
				       "  annotation ProfilerStep#0 0..900\n",
				       rank, 1000 + rank);
		for (gint i = 0; i < 8; i++)
			g_string_append_printf(text,
					       "    op torch::autograd::AccumulateGrad %d..%d "
					       "backward in=float32[262144]\n"
					       "    collective gloo:all_reduce %d..%d "
					       "bytes=1048576 end_tid=9\n",
					       MAX(10 * i, 1), 10 * i + 10, 10 * i + 10,
					       100 * i + 110);
		g_string_append_printf(text, "    op optimizer 810..900\n  thread %d io\n",
				       1010 + rank);
		for (gint i = 0; i < 8; i++)
			for (gint j = 0; j < 17; j++) /* a header, and sixteen parts */
				g_string_append_printf(
					text,
					"    message recv %d..%d bytes=%d receive fd=3 "
					"local=10.0.0.1:1 peer=10.0.0.2:2\n",
					100 * i + 4 * j + 14, 100 * i + 4 * j + 15,
					j == 0 ? 48 : 65536);
	}
	return g_string_free(text, FALSE);
}

static void test_received(void)
{
	g_autofree gchar *text = received_text();

	assert_predicted(text, "", 900);
	assert_predicted(text, "bandwidth=2x", 10 + 8 * (32 + 36) + 90);
	assert_predicted(text, "bandwidth=0.5x", 10 + 8 * (128 + 36) + 90);
	assert_predicted(text, "latency=+1us", 10 + 8 * (64 + 40) + 90);
	assert_predicted(text, "latency=0us", 10 + 8 * 64 + 90);
	/* 1 MiB, then seven: four segments for each rank's half, so eight */
	assert_predicted(text, "bucket_mb=25", 10 + 100 + (7 * 64 + 8 * 9) + 90);
}

/* Four events of 2 us: each of seven pieces of work holds 1 us of them; of one that is only 0.5 us long,
 * the next holds the rest. */
static void test_recording_cost(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 cost_ns=8000 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n"
				    "    op a 10..40\n"
				    "    op b 50..90\n"
				    "    op c 92..92.5\n";

	assert_predicted(text, "", 93);
	assert_predicted(text, "scale:op~^a$=2x", 93 + 29);
	assert_predicted(text, "drop:op~^c$", 93);
	assert_predicted(text, "drop:host~.", 29 + 39);
}

/* Steps of 100 us that are shorter where nothing is recorded; events are said to take 7 us of one. */
static void assert_unrecorded(guint control_us)
{
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 cost_ns=32000 thread 1000 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(GError) error = NULL;

	for (gint i = 0; i < 4; i++)
		g_string_append_printf(text,
				       "  annotation ProfilerStep#%d %d..%d\n"
				       "    op a %d..%d\n    op b %d..%d\n    op c %d..%d.5\n",
				       i, 100 * i, 100 * i + 100, 100 * i + 10, 100 * i + 40,
				       100 * i + 50, 100 * i + 90, 100 * i + 92, 100 * i + 92);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	for (guint32 i = 4; i < 7; i++) {
		TachoStep step = { 0, i, 1000000 * i, 1000000 * i + 1000 * (gint64)control_us,
				   TRUE };

		g_array_append_val(timeline->control_steps, step);
	}
	prediction = tacho_predict(timeline, NULL, 0, -1, -1, &error);
	g_assert_no_error(error);
	g_assert_cmpfloat_with_epsilon(prediction->baseline_step_ms, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(prediction->unrecorded_step_ms, control_us / 1e3, 1e-4);
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms, control_us / 1e3, 1e-4);
}

static void test_control_steps(void)
{
	static const guint control_us[] = { 80, 86, 90, 94, 96, 98 };

	for (guint i = 0; i < G_N_ELEMENTS(control_us); i++)
		assert_unrecorded(control_us[i]);
}

/* Control steps 4 to 6 of 80 us; of steps that are not beside them it is known by what share the recording makes them
 * longer, a quarter. */
static void test_far_control_steps(void)
{
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 cost_ns=80000 thread 1000 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(GError) error = NULL;

	for (gint i = 0; i < 13; i++)
		if (i < 4 || i > 6)
			g_string_append_printf(text,
					       "  annotation ProfilerStep#%d %d..%d\n"
					       "    op a %d..%d\n    op b %d..%d\n",
					       i, 100 * i, 100 * i + 100, 100 * i + 10,
					       100 * i + 40, 100 * i + 50, 100 * i + 90);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	for (guint32 i = 4; i < 7; i++) {
		TachoStep step = { 0, i, 100000 * i, 100000 * i + 80000, TRUE };

		g_array_append_val(timeline->control_steps, step);
	}
	prediction = tacho_predict(timeline, NULL, 0, 10, 12, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(prediction->n_steps, ==, 3);
	g_assert_cmpfloat_with_epsilon(prediction->baseline_step_ms, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(prediction->unrecorded_step_ms, 0.08, 2e-4);
}

/* A rank's steps 0 to 3 and 6 to 9, of 100 us, with an operation of 50 us in each. Steps 4 and 5 were
 * not seen. */
static TachoTimeline *interrupted_timeline(gboolean has_control)
{
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 thread 1000 main\n");
	TachoTimeline *timeline;

	for (gint i = 0; i < 10; i++)
		if (i != 4 && i != 5)
			g_string_append_printf(text,
					       "  annotation ProfilerStep#%d %d..%d\n"
					       "    op a %d..%d\n",
					       i, 100 * i, 100 * i + 100, 100 * i + 10,
					       100 * i + 60);
	timeline = timeline_from_text(text->str);
	for (guint32 i = 4; has_control && i < 6; i++) {
		TachoStep step = { 0, i, 100000 * i, 100000 * i + 100000, TRUE };

		g_array_append_val(timeline->control_steps, step);
	}
	tacho_correlate(timeline);
	return timeline;
}

/* What was recorded on both sides of control steps is one graph, in which these take no time. */
static void test_across_control_steps(void)
{
	g_autoptr(TachoTimeline) timeline = interrupted_timeline(TRUE);
	g_autoptr(TachoPrediction) prediction = NULL;
	const gchar *half = "scale:op~^a$=0.5x";
	g_autoptr(GError) error = NULL;

	prediction = tacho_predict(timeline, &half, 1, 2, -1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(prediction->n_steps, ==, 6);
	g_assert_cmpuint(prediction->first_step, ==, 2);
	g_assert_cmpuint(prediction->last_step, ==, 9);
	g_assert_cmpfloat_with_epsilon(prediction->baseline_step_ms, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(prediction->steps_interval_ms[0], 0.075, 1e-9);
	g_assert_cmpfloat_with_epsilon(prediction->steps_interval_ms[1], 0.075, 1e-9);
}

/* Steps that are missing for another reason are not passed over. */
static void test_across_a_hole(void)
{
	g_autoptr(TachoTimeline) timeline = interrupted_timeline(FALSE);
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(GError) error = NULL;

	prediction = tacho_predict(timeline, NULL, 0, 1, -1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(prediction->n_steps, ==, 4);
	g_assert_cmpuint(prediction->first_step, ==, 6);
}

/* Eight operations of 1 ms, then eight that a transfer of 10 ms overlaps and that take 1.25 ms, though
 * they are the same: a fifth is taken from them. Then another of 1 ms. */
static gchar *overlapped_text(gboolean with_messages)
{
	GString *text = g_string_new("unit us\n");

	for (gint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text,
				       "rank %d thread %d main\n"
				       "  annotation ProfilerStep#0 0..19000\n"
				       "    collective gloo:all_reduce 8000..18000 bytes=1048576 "
				       "end_tid=9\n",
				       rank, 1000 + rank);
		for (gint i = 0; i < 8; i++)
			g_string_append_printf(text, "    op a %d..%d\n", 1000 * i, 1000 * (i + 1));
		for (gint i = 0; i < 8; i++)
			g_string_append_printf(text, "    op a %d..%d\n", 8000 + 1250 * i,
					       8000 + 1250 * (i + 1));
		g_string_append(text, "    op b 18000..19000\n");
		if (with_messages)
			g_string_append_printf(text,
					       "thread %d io\n"
					       "  message send 8000..9000 bytes=1048576 fd=3 "
					       "local=10.0.0.1:1 peer=10.0.0.2:2\n",
					       1010 + rank);
	}
	return g_string_free(text, FALSE);
}

static void test_taken_cores(void)
{
	g_autofree gchar *text = overlapped_text(FALSE);

	assert_predicted(text, "", 19000);
	/* four of the eight are overlapped now */
	assert_predicted(text, "bandwidth=2x", 8000 + 4 * 1250 + 4 * 1000 + 1000);
	/* the last is, too */
	assert_predicted(text, "bandwidth=0.5x", 8000 + 9 * 1250);
	/* without the transfer, nothing is */
	assert_predicted(text, "drop:collective~all_reduce", 17000);
	/* of the host's cores, moving bytes takes a fifth of one for each rank: nothing where three are there */
	assert_predicted(text, "cores=2", 19000);
	assert_predicted(text, "cores=3", 17000);
	/* of one, half for each rank, and while bytes move three tenths */
	assert_predicted(text, "cores=1", 8000 / 0.5 + 10000 + (9000 - 3000) / 0.5);
}

/* Sixteen operations of 1 ms; beside a transfer of 10 ms the same, of which the fifth takes 3 ms: who moves bytes had
 * the core for 2 ms then. So a fifth is taken, of the ones beside it as of that one. */
static gchar *in_slices_text(void)
{
	GString *text = g_string_new("unit us\n");

	for (gint rank = 0; rank < 2; rank++) {
		gint at = 0;

		g_string_append_printf(text,
				       "rank %d thread %d main\n"
				       "  annotation ProfilerStep#0 0..27000\n"
				       "    collective gloo:all_reduce 16000..26000 bytes=1048576 "
				       "end_tid=9\n",
				       rank, 1000 + rank);
		for (gint i = 0; i < 24; i++, at += i == 21 ? 3000 : 1000)
			g_string_append_printf(text, "    op a %d..%d\n", at,
					       at + (i == 20 ? 3000 : 1000));
		g_string_append(text, "    op b 26000..27000\n");
	}
	return g_string_free(text, FALSE);
}

static void test_taken_in_slices(void)
{
	g_autofree gchar *text = in_slices_text();

	assert_predicted(text, "", 27000);
	assert_predicted(text, "drop:collective~all_reduce", 25000);
}

/* Eight operations of 1 ms, then eight that take 1.2 ms, each beside a transfer only for its first 800 us: a quarter of
 * the time that bytes moved was taken, and none was beside them from begin to end. */
static gchar *beyond_text(void)
{
	GString *text = g_string_new("unit us\n");

	for (gint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text,
				       "rank %d thread %d main\n"
				       "  annotation ProfilerStep#0 0..18680\n",
				       rank, 1000 + rank);
		for (gint i = 0; i < 8; i++)
			g_string_append_printf(text, "    op a %d..%d\n", 1000 * i, 1000 * (i + 1));
		for (gint i = 0, at = 8000; i < 8; i++, at += 1210)
			g_string_append_printf(
				text,
				"    collective gloo:all_reduce %d..%d bytes=1048576 "
				"end_tid=9\n"
				"    op short %d..%d\n"
				"    op a %d..%d\n",
				at, at + 810, at, at + 10, at + 10, at + 1210);
		g_string_append(text, "    op b 17680..18680\n");
	}
	return g_string_free(text, FALSE);
}

static void test_taken_beyond(void)
{
	g_autofree gchar *text = beyond_text();
	gdouble both_us = 10 * 0.75 + 1000; /* undisturbed */

	assert_predicted(text, "", 18680);
	assert_predicted(text, "drop:collective~all_reduce", 8000 + 8 * both_us + 1000);
	/* a transfer takes 1620 us, longer than what is computed from one to the next: there always is one */
	assert_predicted(text, "bandwidth=0.5x", 8000 + (8 * both_us + 1000) / 0.75);
}

/* Half of what is taken are calls that send, a tenth of the time: with twice the bandwidth, a fifth.
 * So for 5 ms, 0.3 of each is taken, and 5.5 of the 9 ms of work are left then. */
static void test_taken_by_bytes(void)
{
	g_autofree gchar *text = overlapped_text(TRUE);

	assert_predicted(text, "", 19000);
	assert_predicted(text, "bandwidth=2x", 8000 + 5000 + 5500);
	/* more than can be taken, and back */
	assert_predicted(text, "bandwidth=100x;bandwidth=0.01x", 19000);
}

/* A record of the second step was lost: it keeps its buckets, the other two do not. */
static void test_lost_gradient(void)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(GError) error = NULL;
	const gchar *what_if = "bucket_mb=1";

	for (gint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %d thread %d main\n", rank, 1000 + rank);
		for (gint step = 0; step < 3; step++) {
			gint at = 100 * step;

			g_string_append_printf(text, "  annotation ProfilerStep#%d %d..%d\n", step,
					       at, at + 100);
			for (gint i = step == 1; i < 4; i++)
				g_string_append_printf(text,
						       "    op torch::autograd::AccumulateGrad "
						       "%d..%d backward in=float32[262144]\n",
						       at + 10 * i, at + 10 * i + 10);
			g_string_append_printf(
				text,
				"    collective gloo:all_reduce %d..%d bytes=1048576 end_tid=9\n"
				"    collective gloo:all_reduce %d..%d bytes=3145728 end_tid=9\n"
				"    op optimizer %d..%d\n",
				at + 15, at + 21, at + 40, at + 54, at + 54, at + 100);
		}
	}
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	prediction = tacho_predict(timeline, &what_if, 1, 0, -1, &error);
	g_assert_no_error(error);
	/* 2 us a MiB less are waited for: 92, 100 and 92 */
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms, 0.092, 1e-6);
	g_assert_cmpuint(prediction->notes->len, >=, 1);
	g_assert_nonnull(strstr(g_ptr_array_index(prediction->notes, 0),
				"1 of 3 backward passes keep their buckets"));
}

static void test_mistakes(void)
{
	static const gchar *const mistakes[] = {
		";", /* empty ones */
		"bandwidth",
		"bandwidth=",
		"bandwidth=10",
		"bandwidth=-1x",
		"bandwidth=0x",
		"bandwidth=nan",
		"bandwidth=1furlong",
		"bandwidth=+1x",
		"latency=1",
		"latency=1gbit",
		"bucket_mb=0",
		"bucket_mb=8x",
		"bucket_mb=1e99",
		"scale:op~a",
		"scale:op=2",
		"scale:a=2",
		"scale:op~(=2",
		"scale:op~nobody=2",
		"drop:op~nobody",
		"drop:",
		"straggler:9=2",
		"straggler:x=2",
		"straggler:0",
		"straggler:0=-1",
		"cores=0",
		"cores=1.5",
		"cores=2x",
		"nothing=1",
	};

	for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++)
		assert_refused(job_late_rank, mistakes[i], "what-if '");
}

/* --- graphs made by hand -------------------------------------------------------------------- */

static TachoTimeline *blank_timeline(guint n_ranks)
{
	g_autoptr(GString) text = g_string_new("");

	for (guint i = 0; i < n_ranks; i++)
		g_string_append_printf(text, "rank %u thread %u main\n", i, 1000 + i);
	return timeline_from_text(text->str);
}

static void add_lanes(TachoGraph *graph)
{
	for (guint32 i = 0; i < graph->timeline->ranks->len; i++) {
		struct graph_lane lane = { .rank_index = i, .track = TACHO_NONE };

		g_array_append_val(graph->lanes, lane);
	}
}

static guint32 add_work(TachoGraph *graph, guint32 lane, gint64 begin_ns, gint64 duration_ns)
{
	struct graph_node node = { .kind = TACHO_NODE_OP,
				   .lane = lane,
				   .begin_ns = begin_ns,
				   .duration_ns = duration_ns,
				   .slice = TACHO_NONE,
				   .step = TACHO_NONE,
				   .transfer = TACHO_NONE,
				   .pool = TACHO_NONE };

	return graph_add_node(graph, node);
}

static void test_cycle(void)
{
	g_autoptr(TachoTimeline) timeline = blank_timeline(1);
	g_autoptr(TachoGraph) graph = graph_new(timeline);
	g_autoptr(GError) error = NULL;

	add_lanes(graph);
	for (guint i = 0; i < 5; i++)
		add_work(graph, 0, i, 1);
	graph_add_edge(graph, 0, 1, TACHO_EDGE_PROGRAM);
	graph_add_edge(graph, 1, 2, TACHO_EDGE_PROGRAM);
	graph_add_edge(graph, 2, 3, TACHO_EDGE_PROGRAM);
	graph_add_edge(graph, 3, 1, TACHO_EDGE_WAIT);
	graph_add_edge(graph, 3, 4, TACHO_EDGE_PROGRAM);
	g_assert_false(graph_freeze(graph, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE);
	g_assert_nonnull(strstr(error->message, "over 3 nodes"));
}

/* Two ranks queue two collectives in opposite orders. */
static TachoGraph *opposite_orders(TachoTimeline *timeline, guint32 n_workers)
{
	TachoGraph *graph = graph_new(timeline);
	struct graph_group group = { .n_ranks = 2 };

	add_lanes(graph);
	g_array_append_val(graph->groups, group);
	graph_add_group_link(graph, 0, 0, "local");
	for (guint32 rank = 0; rank < 2; rank++) {
		struct graph_pool pool = { .rank_index = rank, .n_workers = n_workers };

		g_array_append_val(graph->pools, pool);
	}
	for (guint32 i = 0; i < 2; i++) {
		struct graph_transfer transfer = { .node = add_work(graph, 0, 10, 0),
						   .n_ranks = 2 };

		graph_node_at(graph, transfer.node)->kind = TACHO_NODE_TRANSFER;
		graph_node_at(graph, transfer.node)->transfer = i;
		g_array_append_val(graph->transfers, transfer);
		graph_set_transfer(graph, i, 0, 100);
		for (guint32 rank = 0; rank < 2; rank++) {
			guint32 queue = add_work(graph, rank, i == rank ? 0 : 1, 0);
			guint32 complete = add_work(graph, rank, 20, 0);

			graph_node_at(graph, queue)->kind = TACHO_NODE_QUEUE;
			graph_node_at(graph, complete)->kind = TACHO_NODE_COMPLETE;
			graph_node_at(graph, queue)->pool = rank;
			graph_node_at(graph, complete)->pool = rank;
			graph_node_at(graph, queue)->transfer = i;
			graph_node_at(graph, complete)->transfer = i;
			graph_add_edge(graph, queue, transfer.node, TACHO_EDGE_TRANSFER);
			graph_add_edge(graph, transfer.node, complete, TACHO_EDGE_TRANSFER);
		}
	}
	return graph;
}

static void test_blocked(void)
{
	g_autoptr(TachoTimeline) timeline = blank_timeline(2);
	g_autoptr(TachoGraph) one = opposite_orders(timeline, 1);
	g_autoptr(TachoGraph) two = opposite_orders(timeline, 2);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;

	g_assert_false(graph_freeze(one, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE);
	g_clear_error(&error);
	/* two workers a rank: both run, at half the pace */
	g_assert_true(graph_freeze(two, &error));
	replay = tacho_replay_run(two, &error);
	g_assert_no_error(error);
	g_assert_cmpint(tacho_replay_end_ns(replay, graph_transfer_at(two, 0)->node), ==, 200);
}

/* With three collectives and two workers, of which the ranks take up different ones first. */
static void test_blocked_pool(void)
{
	g_autoptr(TachoTimeline) timeline = blank_timeline(2);
	g_autoptr(TachoGraph) graph = graph_new(timeline);
	g_autoptr(GError) error = NULL;
	struct graph_group group = { .n_ranks = 2 };
	struct graph_pool pool = { .n_workers = 2 };

	add_lanes(graph);
	g_array_append_val(graph->groups, group);
	g_array_append_val(graph->pools, pool);
	for (guint i = 0; i < 3; i++) { /* never released */
		guint32 queue = add_work(graph, 0, i, 0);
		struct graph_transfer transfer = { .node = queue, .sequence = 7 + i };

		graph_node_at(graph, queue)->kind = TACHO_NODE_QUEUE;
		graph_node_at(graph, queue)->pool = 0;
		graph_node_at(graph, queue)->transfer = graph->transfers->len;
		g_array_append_val(graph->transfers, transfer);
	}
	g_assert_true(graph_freeze(graph, &error));
	g_assert_null(tacho_replay_run(graph, &error));
	g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE);
	g_assert_nonnull(strstr(error->message, "1 of 3 nodes"));
	g_assert_nonnull(strstr(error->message, "number 9 of its group"));
}

static TachoGraph *random_graph(TachoTimeline *timeline, guint32 n_nodes)
{
	TachoGraph *graph = graph_new(timeline);

	add_lanes(graph);
	for (guint32 i = 0; i < n_nodes; i++)
		add_work(graph, (guint32)g_test_rand_int_range(0, 2), i,
			 g_test_rand_int_range(0, 1000));
	for (guint32 i = 0; i < 2 * n_nodes; i++) {
		guint32 from = (guint32)g_test_rand_int_range(0, (gint)n_nodes - 1);
		guint32 to = (guint32)g_test_rand_int_range((gint)from + 1, (gint)n_nodes);

		graph_add_edge(graph, from, to, TACHO_EDGE_THREAD);
	}
	return graph;
}

static gint64 makespan_ns(const TachoReplay *replay)
{
	gint64 end_ns = 0;

	for (guint32 i = 0; i < replay->n_nodes; i++)
		end_ns = MAX(end_ns, replay->end_ns[i]);
	return end_ns;
}

/* The walk in order and the events give the same; more work never makes it shorter. */
static void test_properties(void)
{
	g_autoptr(TachoTimeline) timeline = blank_timeline(2);

	for (guint round = 0; round < 50; round++) {
		g_autoptr(TachoGraph) graph = random_graph(timeline, 200);
		g_autoptr(TachoReplay) ordered = NULL, shared = NULL, longer = NULL;
		guint32 node = (guint32)g_test_rand_int_range(0, 200);

		g_assert_true(graph_freeze(graph, NULL));
		ordered = tacho_replay_run(graph, NULL);
		graph->is_shared = TRUE;
		shared = tacho_replay_run(graph, NULL);
		g_assert_cmpmem(ordered->begin_ns, 200 * sizeof(gint64), shared->begin_ns,
				200 * sizeof(gint64));
		g_assert_cmpmem(ordered->end_ns, 200 * sizeof(gint64), shared->end_ns,
				200 * sizeof(gint64));
		graph_node_at(graph, node)->duration_ns += 500;
		g_assert_true(graph_freeze(graph, NULL));
		longer = tacho_replay_run(graph, NULL);
		g_assert_cmpint(makespan_ns(longer), >=, makespan_ns(ordered));
	}
}

/* Numbers out of order: the graph is sorted, and the times are those of the sorted one. */
static void test_unsorted(void)
{
	g_autoptr(TachoTimeline) timeline = blank_timeline(1);
	g_autoptr(TachoGraph) graph = graph_new(timeline);
	g_autoptr(TachoReplay) replay = NULL;

	add_lanes(graph);
	add_work(graph, 0, 0, 5);
	add_work(graph, 0, 1, 7);
	add_work(graph, 0, 2, 11);
	graph_add_edge(graph, 2, 1, TACHO_EDGE_PROGRAM);
	graph_add_edge(graph, 1, 0, TACHO_EDGE_PROGRAM);
	g_assert_true(graph_freeze(graph, NULL));
	replay = tacho_replay_run(graph, NULL);
	g_assert_cmpint(tacho_replay_begin_ns(replay, 0), ==, 18);
	g_assert_cmpint(tacho_replay_end_ns(replay, 0), ==, 23);
}

/* A thread with slices, collectives and gradients anywhere in two steps. */
static void append_random_thread(GString *text)
{
	for (guint i = 0; i < 40; i++) {
		gint begin = g_test_rand_int_range(0, 2000);
		gint end = MIN(begin + g_test_rand_int_range(0, 300), begin / 1000 * 1000 + 1000);

		switch (g_test_rand_int_range(0, 5)) {
		case 0:
			g_string_append_printf(text,
					       "  collective gloo:all_reduce %d..%d bytes=%d "
					       "end_tid=%d in=float32[8]@%d\n",
					       begin, begin + g_test_rand_int_range(0, 300),
					       g_test_rand_int_range(0, 3) * 32,
					       g_test_rand_int_range(0, 4),
					       g_test_rand_int_range(0, 4) * 4096);
			break;
		case 1:
			g_string_append_printf(text,
					       "  op torch::autograd::AccumulateGrad %d..%d "
					       "backward in=float32[8]\n",
					       begin, end);
			break;
		case 2:
			g_string_append_printf(text, "  wait data %d..%d\n", begin, end);
			break;
		default:
			g_string_append_printf(text, "  op mm %d..%d in=float32[8]@%d\n", begin,
					       end, g_test_rand_int_range(0, 4) * 4096);
		}
	}
}

/* The same graph, played again. */
static void assert_same_bytes(const TachoReplay *replay)
{
	g_autoptr(TachoReplay) again = tacho_replay_run(replay->graph, NULL);

	g_assert_cmpmem(replay->begin_ns, replay->n_nodes * sizeof(gint64), again->begin_ns,
			again->n_nodes * sizeof(gint64));
	g_assert_cmpmem(replay->end_ns, replay->n_nodes * sizeof(gint64), again->end_ns,
			again->n_nodes * sizeof(gint64));
	g_assert_cmpmem(replay->cause, replay->n_nodes * sizeof(guint32), again->cause,
			again->n_nodes * sizeof(guint32));
}

/* Whatever the timeline, a replay ends, with times or with a reason, and always the same. */
static void test_random_timelines(void)
{
	static const gchar *const what_ifs[] = { "bandwidth=0.1x", "latency=+1ms", "cores=1",
						 "straggler:1=3", "bucket_mb=0.00001" };
	guint n_played = 0;

	for (guint round = 0; round < 200; round++) {
		g_autoptr(GString) text = g_string_new("unit us\n");
		g_autoptr(TachoTimeline) timeline = NULL;

		for (guint rank = 0; rank < 3; rank++) {
			g_string_append_printf(text,
					       "rank %u thread %u main\n"
					       "  annotation ProfilerStep#0 0..1000\n"
					       "  annotation ProfilerStep#1 1000..2000\n",
					       rank, 1000 + rank);
			append_random_thread(text);
			if (g_test_rand_bit()) {
				g_string_append_printf(text, "thread %u other\n", 2000 + rank);
				append_random_thread(text);
			}
		}
		timeline = timeline_from_text(text->str);
		tacho_correlate(timeline);
		for (guint i = 0; i <= G_N_ELEMENTS(what_ifs); i++) {
			g_autoptr(GError) error = NULL;
			g_autoptr(TachoPrediction) prediction =
				tacho_predict(timeline, what_ifs + i,
					      i < G_N_ELEMENTS(what_ifs) ? 1 : 0, -1, -1, &error);

			g_assert_true(prediction != NULL || error != NULL);
			n_played += prediction != NULL;
			if (prediction) {
				g_autoptr(TachoTimeline) replayed =
					tacho_replay_timeline(prediction->replay);

				g_assert_cmpuint(replayed->processes->len, ==, 6);
				assert_same_bytes(prediction->replay);
			}
		}
	}
	g_assert_cmpuint(n_played, >, 500); /* of 1200 */
}

static void test_bucket_plan(void)
{
	struct graph_gradient gradients[] = {
		{ 60, "float32", 0, 0 },  { 50, "float32", 0, 0 }, { 10, "float16", 0, 0 },
		{ 150, "float32", 0, 0 }, { 60, "float32", 0, 0 }, { 10, "float32", 0, 0 },
		{ 100, "float16", 0, 0 },
	};
	/* Closed in this order: float32 (60, 50) of at least 100, float32 (150) of at least 150,
	 * float16 (10, 100), its type's first; float32 (60, 10) is left. */
	const guint32 expected[] = { 0, 0, 2, 1, 3, 3, 2 };
	guint32 actual[G_N_ELEMENTS(gradients)];

	g_assert_cmpuint(bucket_plan(gradients, G_N_ELEMENTS(gradients), 100, 150, actual), ==, 4);
	g_assert_cmpmem(actual, sizeof(actual), expected, sizeof(expected));
}

static void test_peak_memory(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1000 main\n"
				   "alloc 1 address=16 bytes=100\nalloc 2 address=32 bytes=50\n"
				   "free 3 address=16 bytes=0\nalloc 4 address=48 bytes=70\n"
				   "free 5 address=99 bytes=1000\n");
	g_autoptr(TachoTimeline) silent = blank_timeline(1);

	g_autoptr(TachoGraph) graph = graph_new(timeline);
	g_autoptr(TachoGraph) silent_graph = graph_new(silent);

	g_assert_cmpint(peak_memory_bytes(graph), ==, 150);
	g_assert_cmpint(peak_memory_bytes(silent_graph), ==, -1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/replay/nothing_changed", test_nothing_changed);
	g_test_add_func("/replay/bandwidth", test_bandwidth);
	g_test_add_func("/replay/latency", test_latency);
	g_test_add_func("/replay/work", test_work);
	g_test_add_func("/replay/taken_cores", test_taken_cores);
	g_test_add_func("/replay/taken_by_bytes", test_taken_by_bytes);
	g_test_add_func("/replay/taken_in_slices", test_taken_in_slices);
	g_test_add_func("/replay/taken_beyond", test_taken_beyond);
	g_test_add_func("/replay/fixed_part", test_fixed_part);
	g_test_add_func("/replay/received", test_received);
	g_test_add_func("/replay/recording_cost", test_recording_cost);
	g_test_add_func("/replay/control_steps", test_control_steps);
	g_test_add_func("/replay/far_control_steps", test_far_control_steps);
	g_test_add_func("/replay/across_control_steps", test_across_control_steps);
	g_test_add_func("/replay/across_a_hole", test_across_a_hole);
	g_test_add_func("/replay/bucket_copies", test_bucket_copies);
	g_test_add_func("/replay/half_copies", test_half_copies);
	g_test_add_func("/replay/woken_before_end", test_woken_before_end);
	g_test_add_func("/replay/buckets", test_buckets);
	g_test_add_func("/replay/lost_gradient", test_lost_gradient);
	g_test_add_func("/replay/mistakes", test_mistakes);
	g_test_add_func("/replay/cycle", test_cycle);
	g_test_add_func("/replay/blocked", test_blocked);
	g_test_add_func("/replay/blocked_pool", test_blocked_pool);
	g_test_add_func("/replay/properties", test_properties);
	g_test_add_func("/replay/unsorted", test_unsorted);
	g_test_add_func("/replay/random_timelines", test_random_timelines);
	g_test_add_func("/replay/bucket_plan", test_bucket_plan);
	g_test_add_func("/replay/peak_memory", test_peak_memory);
	return g_test_run();
}
