/* Data loading, batches and waits as what-ifs, on timelines whose results can be computed by hand. Times are
 * microseconds. */
#include <math.h>
#include <string.h>

#include "foreign_traces.h"
#include "job_text.h"
#include "predicted.h"
#include "timeline_text.h"

#define SINGLE	"\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\""
#define WORKERS "\"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\""

/* A thread that reads its batches itself, for 80 of 100. */
static const gchar reads[] = "unit us\n"
			     "rank 0 thread 1000 main\n"
			     "  annotation ProfilerStep#0 0..100\n"
			     "    annotation " SINGLE " 0..80\n"
			     "      op aten::stack 20..40\n"
			     "    op a 80..100\n";

static void test_inline(void)
{
	assert_predicted(reads, "drop:loader", 20);
	assert_predicted(reads, "scale:loader=0.5", 60);
	assert_predicted(reads, "scale:loader=2x", 180);
	assert_predicted(reads, "scale:0:loader=0.5", 60);
	assert_predicted(reads, "scale:loader=0.5;scale:loader=0.5", 40);
	/* a batch is ready all 80 / N, and 20 of them are computed meanwhile */
	assert_predicted(reads, "workers=0", 100);
	assert_predicted(reads, "workers=1", 80);
	assert_predicted(reads, "workers=2", 40);
	assert_predicted(reads, "workers=8", 20);
	assert_predicted(reads, "scale:loader=0.5;workers=1", 40);
	assert_refused(reads, "workers=two", "write workers=N");
	assert_refused(reads, "workers=4:2", "without workers");
	assert_refused(reads, "drop:loaders", "KIND~REGEX");
	assert_refused(reads, "scale:loader=fast", "scale:loader=F");
	assert_refused(job_late_rank, "drop:loader", "no recorded data loading");
	assert_refused(job_late_rank, "workers=2", "no recorded data loading");
}

/* Waits for workers that make a batch in 100, while 40 of them are computed. */
static const gchar waits[] = "unit us\n"
			     "rank 0 thread 1000 main\n"
			     "  annotation ProfilerStep#0 0..100\n"
			     "    annotation " WORKERS " 0..60\n"
			     "    op a 60..100\n";
/* The same as tacho records it: by two workers. */
static const gchar own_waits[] = "unit us\n"
				 "rank 0 thread 1000 main\n"
				 "  annotation ProfilerStep#0 0..100\n"
				 "    wait \"DataLoader workers\" 0..60\n"
				 "    op a 60..100\n"
				 "process 2001 thread 2001 worker\n  op aten::ones 0..90\n"
				 "process 2002 thread 2002 worker\n  op aten::ones 5..95\n";

static void test_workers(void)
{
	assert_predicted(waits, "drop:loader", 40);
	assert_predicted(waits, "scale:loader=0.5", 50);
	assert_predicted(waits, "scale:loader=0.2", 40); /* they keep up */
	assert_predicted(waits, "scale:loader=2x", 200);
	assert_predicted(waits, "workers=8:4", 50);
	assert_predicted(waits, "workers=2:4", 200);
	assert_predicted(waits, "workers=0:4", 400 + 40);
	assert_refused(waits, "workers=8", "name it, as in workers=8:4");
	assert_predicted(own_waits, "workers=4", 50);
	assert_predicted(own_waits, "workers=2", 100);
	assert_predicted(own_waits, "workers=1", 200);
	assert_predicted(own_waits, "workers=0", 200 + 40);
	assert_predicted(own_waits, "scale:wait~Loader=0.5", 70); /* the wait itself, by its name */
}

static const gchar keeps_up[] = "unit us\n"
				"rank 0 thread 1000 main\n"
				"  annotation ProfilerStep#0 0..100\n"
				"    annotation " WORKERS " 0..2\n"
				"    op a 2..100\n";

static void test_keeps_up(void)
{
	assert_predicted(keeps_up, "scale:loader=0.5", 100);
	assert_predicted(keeps_up, "workers=8:4", 100);
	assert_predicted(keeps_up, "drop:loader", 98);
	assert_refused(keeps_up, "scale:loader=2x", "keep up");
	assert_refused(keeps_up, "workers=2:4", "keep up");
}

/* Each at its own pace: 31 and 9 and 40, 51 and 9 and 40. */
static void test_waits(void)
{
	assert_predicted(job_late_rank, "drop:wait", (80 + 100) / 2.0);
	assert_predicted(job_late_rank, "bandwidth=0.5x;drop:wait", (89 + 109) / 2.0);
	assert_refused(job_late_rank, "scale:wait=0.5", "drop:wait");
	assert_refused(job_late_rank, "drop:0:wait", "drop:wait");
	assert_refused(reads, "drop:wait", "no collective");
}

#define BACKWARD "\"autograd::engine::evaluate_function: AddmmBackward0\""
#define GRADIENT "\"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\""

/* A quarter of the pieces takes 2, which is what calling an operation takes. */
static const gchar on_host[] = "unit us\n"
			       "rank 0 thread 1000 main\n"
			       "  annotation ProfilerStep#0 0..100\n"
			       "    annotation " SINGLE " 0..10\n"
			       "    op aten::view 10..12\n"
			       "    op aten::view 12..14\n"
			       "    op aten::mm 14..40\n"
			       "    op " BACKWARD " 40..70\n"
			       "    op " GRADIENT " 70..80\n"
			       "    op optimizer 80..100\n"
			       "  alloc 5 address=4096 bytes=1000\n" /* samples */
			       "  alloc 30 address=8192 bytes=100\n" /* an activation */
			       "  alloc 50 address=12288 bytes=10\n" /* a gradient */
			       "  free 60 address=8192 bytes=100\n"
			       "  free 95 address=4096 bytes=1000\n";

static const gchar on_device[] = "unit us\n"
				 "rank 0 thread 1000 main\n"
				 "  annotation ProfilerStep#0 0..300\n"
				 "    op forward 0..20\n"
				 "      runtime cudaLaunchKernel 5..10\n"
				 "    op " BACKWARD " 20..40\n"
				 "      runtime cudaLaunchKernel#2 25..30\n"
				 "    runtime cudaDeviceSynchronize 40..250\n"
				 "    op optimizer 250..300\n"
				 "stream 7\n"
				 "  kernel gemm 10..100 launch=cudaLaunchKernel\n"
				 "  kernel gemm_backward 105..245 launch=cudaLaunchKernel#2\n";

static void assert_peak(const gchar *what_ifs, gint64 expected_bytes)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(on_host);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_ifs, &error);

	g_assert_no_error(error);
	g_assert_cmpint(prediction->predicted_peak_memory_bytes, ==, expected_bytes);
}

static void test_batch(void)
{
	/* loading 20, views 2 + 2, 2 + 48, 2 + 56, gradient and optimizer as they are */
	assert_predicted(on_host, "batch=2x", 20 + 4 + 50 + 58 + 10 + 20);
	assert_predicted(on_host, "batch=0.5", 5 + 4 + 14 + 16 + 10 + 20);
	assert_predicted(on_host, "batch=1x", 100);
	/* of kernels of which nothing is known all but 10 goes with the batch: 90 and 140 become 170 and 270, from 10 on, and 5 between */
	assert_predicted(on_device, "batch=2x", 300 + 80 + 130);
	assert_predicted(on_device, "batch=2x;batch=0.5", 300);
	assert_peak("", 1110);
	assert_peak("batch=2x", 2 * 1100 + 10); /* gradients are as large as the model */
	assert_refused(on_host, "batch=64", "write batch=F");
	assert_refused(on_host, "batch=0", "write batch=F");
	assert_refused(reads, "batch=2x", "no backward pass");
}

/* The same job of the same machine, recorded with 0 workers and with 4: what the one says of the other. */
static void test_foreign_workers(void)
{
	g_autofree gchar *path = foreign_sample("kineto/kineto/samples/resnet50_num_workers_0");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;

	if (!path)
		return;
	timeline = foreign_open(path);
	prediction = predict(timeline, "workers=4", &error);
	g_assert_no_error(error);
	/* measured there: 126.27 ms in the middle, here 176.47 */
	g_assert_cmpfloat_with_epsilon(prediction->predicted_step_ms / 126.27, 1, 0.1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if_loader/inline", test_inline);
	g_test_add_func("/what_if_loader/workers", test_workers);
	g_test_add_func("/what_if_loader/keeps_up", test_keeps_up);
	g_test_add_func("/what_if_loader/waits", test_waits);
	g_test_add_func("/what_if_loader/batch", test_batch);
	g_test_add_func("/what_if_loader/foreign_workers", test_foreign_workers);
	return g_test_run();
}
