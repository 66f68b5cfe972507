/* What hosts launch again and devices do again before a backward pass, on timelines whose results can be computed by
 * hand. Times are microseconds. */
#include <string.h>

#include "foreign_traces.h"
#include "kernel_shares.h"
#include "predicted.h"
#include "timeline_text.h"

/* Two layers forward and backward, 100 each on the device, which the host waits for at 40; then 100 more. */
#define LAYERS(second_stream)                                                                      \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n"                                                                \
	"  annotation ProfilerStep#0 0..620\n"                                                     \
	"    op aten::linear 0..10 seq=0\n"                                                        \
	"      runtime cudaLaunchKernel 2..6\n"                                                    \
	"    op aten::gelu 10..20 seq=1\n"                                                         \
	"      runtime cudaLaunchKernel#2 12..16\n"                                                \
	"    op GeluBackward0 20..30 backward seq=1 fwd=1\n"                                       \
	"      runtime cudaLaunchKernel#3 22..26\n"                                                \
	"    op AddmmBackward0 30..40 backward seq=0 fwd=1\n"                                      \
	"      runtime cudaLaunchKernel#4 32..36\n"                                                \
	"    runtime cudaDeviceSynchronize 40..520\n"                                              \
	"    op optimizer 520..620\n"                                                              \
	"  alloc 5 address=4096 bytes=100\n"                                                       \
	"  alloc 15 address=8192 bytes=60\n"                                                       \
	"  free 28 address=8192 bytes=60\n"                                                        \
	"  free 38 address=4096 bytes=100\n"                                                       \
	"stream 7\n"                                                                               \
	"  kernel gemm 100..200 launch=cudaLaunchKernel\n"                                         \
	"  kernel gelu 205..305 launch=cudaLaunchKernel#2\n" second_stream

static const gchar one_stream[] =
	LAYERS("  kernel gelu_backward 310..410 launch=cudaLaunchKernel#3\n"
	       "  kernel gemm_backward 415..515 launch=cudaLaunchKernel#4\n");

/* A kernel of the part has a gap of 5 before it as it had, where it had one. */
static void test_one_stream(void)
{
	/* the linear's kernel: behind the gelu's backward pass, without a gap, for it waited for its launch */
	assert_predicted(one_stream, "recompute:op~linear", 620 + 100);
	assert_predicted(one_stream, "recompute:op~gelu", 620 + 105);
	assert_predicted(one_stream, "recompute:op~^aten::", 620 + 205);
	assert_predicted(one_stream, "recompute:op~^aten::linear$;recompute:op~^aten::gelu$",
			 620 + 205);
	/* what was changed before is what is done again */
	assert_predicted(one_stream, "scale:kernel~^gelu$=2;recompute:op~gelu", 620 + 305);
	assert_predicted(one_stream, "scale:kernel~^gelu$=0.5;recompute:op~gelu", 620 + 5);
}

/* All of the host's time is there once more: with kernels that take none, the launches decide. */
static void test_host(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..200\n"
				    "    op aten::linear 0..40 seq=0\n"
				    "      runtime cudaLaunchKernel 10..20\n"
				    "    op AddmmBackward0 50..80 backward seq=0 fwd=1\n"
				    "      runtime cudaLaunchKernel#2 55..60\n"
				    "    runtime cudaDeviceSynchronize 80..90\n"
				    "    op optimizer 90..200\n"
				    "stream 7\n"
				    "  kernel gemm 22..24 launch=cudaLaunchKernel\n"
				    "  kernel gemm_backward 67..69 launch=cudaLaunchKernel#2\n";

	assert_predicted(text, "recompute:op~linear", 200 + 40);
	assert_predicted(text, "scale:op~linear=2;recompute:op~linear", 200 + 40 + 80);
	assert_predicted(text, "scale:launch~.=0;recompute:op~linear", 200 + 40);
}

/* The host waits in the part for what the part launched. */
static void test_wait(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..400\n"
				    "    op aten::linear 0..130 seq=0\n"
				    "      runtime cudaLaunchKernel 0..10\n"
				    "      runtime cudaStreamSynchronize 10..120\n"
				    "    op AddmmBackward0 140..160 backward seq=0 fwd=1\n"
				    "      runtime cudaLaunchKernel#2 145..150\n"
				    "    runtime cudaDeviceSynchronize 160..300\n"
				    "    op optimizer 300..400\n"
				    "stream 7\n"
				    "  kernel gemm 20..115 launch=cudaLaunchKernel\n"
				    "  kernel gemm_backward 170..295 launch=cudaLaunchKernel#2\n";

	assert_predicted(text, "recompute:op~linear", 400 + 130);
	assert_predicted(text, "scale:kernel~^gemm$=2;recompute:op~linear", 400 + 130 + 2 * 95);
}

/* A stream has nothing to do later: the host waits for its copies, too. With two streams, each gets its
 * own copies. */
static void test_streams(void)
{
	static const gchar two_streams[] = LAYERS("stream 8\n"
						  "  kernel gelu_backward 100..400 "
						  "launch=cudaLaunchKernel#3\n"
						  "  kernel gemm_backward 405..515 "
						  "launch=cudaLaunchKernel#4\n");

	/* the copy ends at 410 on its stream; the other one's work is launched by 10 later, as the host is */
	assert_predicted(two_streams, "recompute:op~gelu", 620 + 10);
	assert_predicted(two_streams, "recompute:op~gelu;recompute:op~linear", 620 + 10);
	/* 300 from 205 on, and again behind a gap of 5, for which the host waits then; the call takes 5 to return */
	assert_predicted(two_streams, "scale:kernel~^gelu$=3;recompute:op~gelu",
			 205 + 300 + 5 + 300 + 5 + 100);
}

static gdouble predicted_us(TachoTimeline *timeline, const gchar *what_ifs)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	if (strstr(what_ifs, "ranks=8")) {
		tacho_prediction_unfold(prediction, &error);
		g_assert_no_error(error);
		g_assert_cmpfloat(prediction->unfolded_step_ms, ==, prediction->predicted_step_ms);
	}
	return prediction->predicted_step_ms * 1000;
}

/* Changes some of the copies, and then all. */
static void check_copies(const gchar *text)
{
	static const gchar *const some[] = {
		"ranks=8;recompute:op~^aten::mm$",
		"ranks=8;recompute:5:op~^aten::mm$",
		"ranks=8;recompute:4-7:op~^aten::mm$;scale:3:op~^b$=1",
		"ranks=8;scale:3:op~^b$=1;recompute:op~^aten::mm$",
	};
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	gdouble before_us = predicted_us(timeline, "ranks=8");

	for (guint i = 0; i < G_N_ELEMENTS(some); i++) {
		g_autoptr(TachoTimeline) again = timeline_from_text(text);

		g_assert_cmpfloat_with_epsilon(predicted_us(again, some[i]), before_us + 200, 0.01);
	}
}

/* The host of a real trace takes nearly all of the time: repeated convolutions make the step as much
 * longer as dropped ones make it shorter. */
static void test_sample(void)
{
	static const gchar name[] = "kineto/kineto/samples/resnet50_num_workers_0/"
				    "worker0.1623143089861.pt.trace.json.gz";
	static const gchar *const what_ifs[] = { "scale:op~^aten::conv2d$=1",
						 "drop:op~^aten::conv2d$",
						 "recompute:op~^aten::conv2d$" };
	g_autofree gchar *path = foreign_sample(name);
	gdouble us[G_N_ELEMENTS(what_ifs)];

	for (guint i = 0; path && i < G_N_ELEMENTS(what_ifs); i++) {
		g_autoptr(TachoTimeline) timeline = foreign_open(path);

		us[i] = predicted_us(timeline, what_ifs[i]);
	}
	if (!path)
		return;
	g_assert_cmpfloat(us[0] - us[1], >, 0.05 * us[0]);
	g_assert_cmpfloat_with_epsilon(us[2] - us[0], us[0] - us[1], 0.1 * (us[0] - us[1]));
}

/* With everything before it, casts, too, and of one rank of two, for whom the other waits. */
static void test_composed(void)
{
#define RANK                                                                                       \
	"  device 0 'Tesla V100-SXM2-16GB'\n"                                                      \
	"  annotation ProfilerStep#0 0..600\n"                                                     \
	"    op aten::mm 0..10 seq=0 in=float32[1000,1000] in=float32[1000,1000] "                 \
	"out=float32[1000,1000]\n"                                                                 \
	"      runtime cudaLaunchKernel 0..10\n"                                                   \
	"    op MmBackward0 10..20 backward seq=0 fwd=1\n"                                         \
	"      runtime cudaLaunchKernel#2 10..20\n"                                                \
	"    runtime cudaDeviceSynchronize 20..500\n"                                              \
	"    op c10d::allreduce_ 500..501\n"                                                       \
	"    op b 541..600\n"                                                                      \
	"    collective gloo:all_reduce 501..541 bytes=1024 end_tid=9\n"                           \
	"stream 7\n"                                                                               \
	"  kernel sgemm 100..300 launch=cudaLaunchKernel\n"                                        \
	"  kernel backward 300..500 launch=cudaLaunchKernel#2\n"
	static const gchar two[] =
		"unit us\nrank 0 thread 1000 main\n" RANK "rank 1 thread 1001 main\n" RANK;
	const struct kernel_demand mm = { KERNEL_GEMM, DEVICE_FP32, 2e9, 12e6, 4e6 };
	gdouble half_us =
		200 * precision_factor_on("V100", "V100", mm, 200, DEVICE_FP16) + 2 * 6e6 / 900e3;

	assert_predicted(two, "recompute:op~^aten::mm$", 800);
	assert_predicted(two, "recompute:1:op~^aten::mm$", 800);
	assert_predicted(two, "recompute:1:op~^aten::mm$;recompute:0:op~^aten::mm$", 800);
	assert_predicted(two, "precision:op~^aten::mm$=fp16;recompute:op~^aten::mm$",
			 600 - 200 + 2 * half_us);
	assert_predicted(two, "recompute:op~^aten::mm$;precision:op~^aten::mm$=fp16",
			 600 - 200 + 2 * half_us);
	assert_predicted(two, "device=T4,efficiency:equal;recompute:op~^aten::mm$",
			 100 + 2 * 200 * 15.7 / 8.1 + 200 * 900 / 320.0 + 100);
	check_copies(two);
	assert_refused(two, "recompute:2:op~^aten::mm$", "no rank 2");
	assert_refused(two, "recompute:1=op~x", "as 4, 4-7");
#undef RANK
}

static void test_memory(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_stream);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "recompute:op~linear", &error);

	g_assert_no_error(error);
	/* 100 of the linear, and 60 of the gelu: then one after the other */
	g_assert_cmpint(prediction->baseline_peak_memory_bytes, ==, 160);
	g_assert_cmpint(prediction->predicted_peak_memory_bytes, ==, 100);
}

/* What is launched again is felt: twice its share. */
static void test_sensitivity(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(one_stream);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, "recompute:op~linear", &error);
	g_autoptr(TachoTable) table = NULL;

	g_assert_no_error(error);
	table = tacho_replay_sensitivity(prediction->graph, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < tacho_table_n_rows(table); i++)
		if (strcmp(tacho_table_cell_text(table, i, "name"), "gemm") == 0) {
			g_assert_cmpfloat(tacho_table_cell_number(table, i, "pieces"), ==, 2);
			g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, i, "busy_ms"),
						       0.2, 1e-9);
			return;
		}
	g_assert_not_reached();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device_recomputation/one_stream", test_one_stream);
	g_test_add_func("/device_recomputation/host", test_host);
	g_test_add_func("/device_recomputation/wait", test_wait);
	g_test_add_func("/device_recomputation/streams", test_streams);
	g_test_add_func("/device_recomputation/composed", test_composed);
	g_test_add_func("/device_recomputation/sample", test_sample);
	g_test_add_func("/device_recomputation/memory", test_memory);
	g_test_add_func("/device_recomputation/sensitivity", test_sensitivity);
	return g_test_run();
}
