/* Several passes a step, on timelines whose results can be computed by hand. Times are microseconds. */
#include <string.h>

#include "foreign_traces.h"
#include "predicted.h"
#include "timeline_text.h"

#define BACKWARD "\"autograd::engine::evaluate_function: AddmmBackward0\""
#define GRADIENT "\"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\""

/* The host launches for 40 what its device needs 235 for: 90, a gap of 5, 140. The call that waits takes 5 to
 * return. */
static const gchar device_bound[] = "unit us\n"
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

static void test_device_bound(void)
{
	assert_predicted(device_bound, "accumulate=1", 300);
	assert_predicted(device_bound, "accumulate=2", 300 + 235);
	assert_predicted(device_bound, "accumulate=3", 300 + 2 * 235);
	/* all that are more than can be played one by one */
	assert_predicted(device_bound, "accumulate=18", 300 + 17 * 235);
	assert_predicted(device_bound, "accumulate=65536", 300 + 65535 * 235);
}

/* Whatever their order, changes are of all passes. */
static void test_other_changes(void)
{
	assert_predicted(device_bound, "scale:kernel~^gemm$=2;accumulate=3", 390 + 2 * 325);
	assert_predicted(device_bound, "accumulate=3;scale:kernel~^gemm$=2", 390 + 2 * 325);
	/* the forward kernel again behind itself, without a gap, for it waited for its launch */
	assert_predicted(device_bound, "accumulate=30;scale:kernel~backward=0.5", 230 + 29 * 165.0);
	assert_predicted(device_bound, "straggler:0=2;accumulate=2", 590 + 465);
}

/* Kernels so short that the host decides. */
static const gchar host_bound[] = "unit us\n"
				  "rank 0 thread 1000 main\n"
				  "  annotation ProfilerStep#0 0..300\n"
				  "    op forward 0..100\n"
				  "      runtime cudaLaunchKernel 10..20\n"
				  "    op " BACKWARD " 100..200\n"
				  "      runtime cudaLaunchKernel#2 110..120\n"
				  "    runtime cudaDeviceSynchronize 200..210\n"
				  "    op optimizer 210..300\n"
				  "stream 7\n"
				  "  kernel gemm 25..45 launch=cudaLaunchKernel\n"
				  "  kernel gemm_backward 125..145 launch=cudaLaunchKernel#2\n";

static void test_host_bound(void)
{
	assert_predicted(host_bound, "accumulate=2", 300 + 200);
	assert_predicted(host_bound, "accumulate=5", 300 + 4 * 200);
	assert_predicted(host_bound, "accumulate=100", 300 + 99 * 200);
}

/* The host waits for the forward pass, and launches the next one while the device is in the backward pass: from one
 * forward kernel to the next it takes 90, 5 until the call returns, 5 more to the launch, 5 of that, and 200. */
static void test_mixed(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..400\n"
				    "    op forward 0..20\n"
				    "      runtime cudaLaunchKernel 5..10\n"
				    "    runtime cudaStreamSynchronize 20..105\n"
				    "    op " BACKWARD " 105..125\n"
				    "      runtime cudaLaunchKernel#2 110..115\n"
				    "    runtime cudaDeviceSynchronize 125..320\n"
				    "    op optimizer 320..400\n"
				    "stream 7\n"
				    "  kernel gemm 10..100 launch=cudaLaunchKernel\n"
				    "  kernel gemm_backward 115..315 launch=cudaLaunchKernel#2\n";

	assert_predicted(text, "accumulate=2", 400 + 305);
	assert_predicted(text, "accumulate=4", 400 + 3 * 305);
	assert_predicted(text, "accumulate=40", 400 + 39 * 305);
}

/* An all-reduce of 100 that a pass of 40 launches by 20 into it, on a stream of its own. */
#define REDUCES(rank, within)                                                                      \
	"rank " rank " thread 100" rank " main\n"                                                  \
	"  annotation ProfilerStep#0 0..200\n"                                                     \
	"    op forward 0..20\n"                                                                   \
	"      runtime cudaLaunchKernel 5..10\n"                                                   \
	"    op " within " 20..30\n"                                                               \
	"      runtime cudaLaunchKernel#2 25..30\n"                                                \
	"    op " GRADIENT " 30..40\n"                                                             \
	"    runtime cudaDeviceSynchronize 40..155\n"                                              \
	"    op optimizer 155..200\n"                                                              \
	"stream 7\n"                                                                               \
	"  kernel gemm 10..50 launch=cudaLaunchKernel\n"                                           \
	"stream 8\n"                                                                               \
	"  collective nccl_AllReduce 50..150 bytes=1000 group=1 launch=cudaLaunchKernel#2\n"

static void test_collectives(void)
{
	/* gradients go out once, 40 later */
	assert_predicted("unit us\n" REDUCES("0", GRADIENT) REDUCES("1", GRADIENT), "accumulate=2",
			 200 + 40);
	assert_predicted("unit us\n" REDUCES("0", GRADIENT) REDUCES("1", GRADIENT), "accumulate=33",
			 200 + 32 * 40);
	/* what layers reduce is reduced in each pass */
	assert_predicted("unit us\n" REDUCES("0", "layer") REDUCES("1", "layer"), "accumulate=2",
			 200 + 100);
	assert_predicted("unit us\n" REDUCES("0", "layer") REDUCES("1", "layer"), "accumulate=33",
			 200 + 32 * 100);
	/* of a recording that lacks the other rank, too */
	assert_predicted("unit us\nworld 2\n" REDUCES("0", GRADIENT), "accumulate=3", 200 + 2 * 40);
	assert_predicted("unit us\nworld 2\n" REDUCES("0", "layer"), "accumulate=3", 200 + 2 * 100);
}

/* Autograd has a thread of its own, for which the main one waits. */
static void test_threads(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..200\n"
				    "    op forward 0..50\n"
				    "    op optimizer 150..200\n"
				    "thread 1001 autograd\n"
				    "  op " BACKWARD " 50..150\n";

	assert_predicted(text, "accumulate=2", 200 + 150);
	assert_predicted(text, "accumulate=20", 200 + 19 * 150);
}

/* Steps of 200, of which the device needs 170 for a pass, and 10 for the optimizer. */
static gchar *running_ahead(void)
{
	GString *text = g_string_new("unit us\nrank 0 thread 1000 main\n");

	for (guint i = 0; i < 6; i++) {
		guint at = 200 * i;

		g_string_append_printf(text,
				       "  annotation ProfilerStep#%u %u..%u\n"
				       "    op forward %u..%u\n"
				       "      runtime launch%ua %u..%u\n"
				       "    op " BACKWARD " %u..%u\n"
				       "      runtime launch%ub %u..%u\n"
				       "    op optimizer %u..%u\n"
				       "      runtime launch%uc %u..%u\n"
				       "      runtime cudaStreamSynchronize %u..%u\n",
				       i, at, at + 200, at, at + 20, i, at + 5, at + 10, at + 20,
				       at + 40, i, at + 25, at + 30, at + 40, at + 200, i, at + 45,
				       at + 50, at + 60, at + 195);
	}
	g_string_append(text, "stream 7\n");
	for (guint i = 0; i < 6; i++) {
		guint at = 200 * i;

		g_string_append_printf(text,
				       "  kernel a %u..%u launch=launch%ua\n"
				       "  kernel b %u..%u launch=launch%ub\n"
				       "  kernel c %u..%u launch=launch%uc\n",
				       at + 10, at + 100, i, at + 100, at + 180, i, at + 180,
				       at + 190, i);
	}
	return g_string_free(text, FALSE);
}

static void test_several_steps(void)
{
	g_autofree gchar *text = running_ahead();

	assert_predicted(text, "accumulate=1", 200);
	assert_predicted(text, "accumulate=2", 200 + 170);
	assert_predicted(text, "accumulate=3", 200 + 2 * 170);
	assert_predicted(text, "accumulate=50", 200 + 49 * 170);
}

/* Each pass begins with a call that waits for the kernel of the one before, of the step before or not: between kernels,
 * of 185, 5 until it returns, 5 more to the launch, and 5 of that. */
static void test_wait_for_the_pass_before(void)
{
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 thread 1000 main\n");

	for (guint i = 0; i < 5; i++) {
		guint at = 200 * i;

		g_string_append_printf(text,
				       "  annotation ProfilerStep#%u %u..%u\n"
				       "    runtime cudaStreamSynchronize %u..%u\n"
				       "    op forward %u..%u\n"
				       "      runtime launch%u %u..%u\n"
				       "    op " BACKWARD " %u..%u\n"
				       "    op optimizer %u..%u\n",
				       i, at, at + 200, at, at + 170, at + 170, at + 185, i,
				       at + 175, at + 180, at + 185, at + 195, at + 195, at + 200);
	}
	g_string_append(text, "stream 7\n");
	for (guint i = 0; i < 5; i++)
		g_string_append_printf(text, "  kernel a %u..%u launch=launch%u\n", 200 * i + 180,
				       200 * i + 365, i);
	assert_predicted(text->str, "accumulate=2", 2 * 200);
	assert_predicted(text->str, "accumulate=3", 3 * 200);
	assert_predicted(text->str, "accumulate=25", 25 * 200);
}

static void test_mistakes(void)
{
	static const gchar no_backward[] = "unit us\n"
					   "rank 0 thread 1000 main\n"
					   "  annotation ProfilerStep#0 0..50\n"
					   "    op forward 0..20\n"
					   "      runtime cudaLaunchKernel 5..10\n"
					   "stream 7\n"
					   "  kernel gemm 10..40 launch=cudaLaunchKernel\n";
	static const gchar one_without[] = "unit us\n"
					   "rank 0 thread 1000 main\n"
					   "  annotation ProfilerStep#0 0..50\n"
					   "    op " BACKWARD " 0..20\n"
					   "rank 1 thread 1001 main\n"
					   "  annotation ProfilerStep#0 0..50\n"
					   "    op forward 0..20\n";

	assert_refused(no_backward, "accumulate=2", "no backward pass");
	assert_refused(one_without, "accumulate=2", "rank 1 shows no backward pass in step 0");
	assert_refused(device_bound, "accumulate=2;accumulate=2", "already");
}

/* An all-reduce of the forward pass, told hop by hop: the second is over at 50, and the rank knows it at 60. */
#define RANK_OF_HOPS(rank, peer)                                                                   \
	"rank " #rank " host=h" #rank " thread 100" #rank " main\n"                                \
	"  annotation ProfilerStep#0 0..300\n"                                                     \
	"    op forward 0..20\n"                                                                   \
	"    collective gloo:all_reduce 20..60 bytes=1000 end_tid=9\n"                             \
	"    op more 60..80\n"                                                                     \
	"    op " BACKWARD " 80..200\n"                                                            \
	"    op optimizer 200..300\n"                                                              \
	"  thread 200" #rank " side\n"                                                             \
	"    hop ring gloo:all_reduce peer=" #peer " step=0 bytes=500 event out 22..30\n"          \
	"    hop ring gloo:all_reduce peer=" #peer " step=0 bytes=500 receive event in 24..32\n"   \
	"    hop ring gloo:all_reduce peer=" #peer " step=1 bytes=500 event out 34..44\n"          \
	"    hop ring gloo:all_reduce peer=" #peer " step=1 bytes=500 receive event in 36..50\n"

/* Its copies in other passes are played as wholes, too, where a change asks for that. */
static void test_hops_in_pass(void)
{
	static const gchar text[] = "unit us\n" RANK_OF_HOPS(0, 1) RANK_OF_HOPS(1, 0);

	assert_predicted(text, "drop:wait", 300);
	assert_predicted(text, "accumulate=2", 500);
	assert_predicted(text, "accumulate=2;drop:wait", 500);
	assert_predicted(text, "accumulate=30;drop:wait", 300 + 29 * 200);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/accumulation/device_bound", test_device_bound);
	g_test_add_func("/accumulation/hops_in_pass", test_hops_in_pass);
	g_test_add_func("/accumulation/other_changes", test_other_changes);
	g_test_add_func("/accumulation/host_bound", test_host_bound);
	g_test_add_func("/accumulation/mixed", test_mixed);
	g_test_add_func("/accumulation/collectives", test_collectives);
	g_test_add_func("/accumulation/threads", test_threads);
	g_test_add_func("/accumulation/several_steps", test_several_steps);
	g_test_add_func("/accumulation/wait_for_the_pass_before", test_wait_for_the_pass_before);
	g_test_add_func("/accumulation/mistakes", test_mistakes);
	return g_test_run();
}
