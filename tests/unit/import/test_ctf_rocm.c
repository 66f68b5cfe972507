/* AMD's own tracepoints of HIP and HSA, in the forms that they have had. */
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "ctf_lines.h"
#include "foreign_traces.h"
#include "timeline_text.h"

static TachoTimeline *open_lines(const gchar *text)
{
	gchar *folder = ctf_lines_new(text);
	TachoTimeline *timeline = foreign_open(folder);

	tacho_correlate(timeline);
	ctf_lines_remove(folder);
	return timeline;
}

static void expect_parent(const TachoTimeline *timeline, const gchar *child, const gchar *parent)
{
	guint32 inside = timeline->slices.parent[timeline_find(timeline, child, 0)];

	g_assert_cmpuint(inside, ==, timeline_find(timeline, parent, 0));
}

/* A launch in which HIP calls HSA and gives a packet to a queue, and beside it another thread's call of the same name. The
 * arguments that did not fit are a moment, and end no call. */
static void test_functions(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"pid 7\n"
		"100 7 rocm_hip:hipLaunchKernel phase=i:0 stream=x:0x10 retstatus=i:0\n"
		"101 7 rocm_hip:hipLaunchKernel_2 phase=i:0 extra=u:1\n"
		"110 7 rocm_hip:hip_kernel_dispatch_enqueue kernel_name=gemm stream=x:0x10\n"
		"115 8 rocm_hip:hipLaunchKernel phase=i:0 stream=x:0x20 retstatus=i:0\n"
		"120 7 rocm_hsa:hsa_signal_store_screlease phase=i:0 value=i:3\n"
		"125 7 rocm_hsa:hsa_doorbell_ring queue_id=u:1 write_idx=i:3 packet_type=u:0\n"
		"130 7 rocm_hsa:hsa_signal_store_screlease phase=i:1 value=i:0\n"
		"140 7 rocm_hip:hipLaunchKernel phase=i:1 stream=x:0 retstatus=i:0\n"
		"141 7 rocm_hip:hipLaunchKernel_2 phase=i:1 extra=u:0\n"
		"155 8 rocm_hip:hipLaunchKernel phase=i:1 stream=x:0 retstatus=i:0\n");

	timeline_assert_slice(timeline, "hipLaunchKernel", 0, "runtime", 0, 40);
	timeline_assert_slice(timeline, "hipLaunchKernel", 1, "runtime", 15, 40);
	timeline_assert_slice(timeline, "hsa_signal_store_screlease", 0, "runtime", 20, 10);
	timeline_assert_slice(timeline, "enqueue gemm", 0, "event", 10, 0);
	timeline_assert_slice(timeline, "rocm_hip:hipLaunchKernel_2", 1, "event", 41, 0);
	expect_parent(timeline, "enqueue gemm", "hipLaunchKernel");
	expect_parent(timeline, "hsa_signal_store_screlease", "hipLaunchKernel");
	expect_parent(timeline, "rocm_hsa:hsa_doorbell_ring", "hsa_signal_store_screlease");
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* A name that ends like a further part is a function, if there is no whole. */
static void test_own_number(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines("pid 7\n"
						       "100 7 rocm_hip:hipThing_2 phase=i:0\n"
						       "130 7 rocm_hip:hipThing_2 phase=i:1\n");

	timeline_assert_slice(timeline, "hipThing_2", 0, "runtime", 0, 30);
}

/* As earlier versions wrote them. */
static void test_enter_and_exit(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"pid 7\n"
		"100 7 rocm_hip:hip_api_enter api_name=hipMalloc corr_id=u:1\n"
		"110 7 rocm_hsa:hsa_api_enter api_name=hsa_amd_memory_pool_allocate corr_id=u:2\n"
		"120 7 rocm_hsa:hsa_api_exit_status api_name=hsa_amd_memory_pool_allocate "
		"corr_id=u:2 status=i:0\n"
		"150 7 rocm_hip:hip_api_exit_status api_name=hipMalloc corr_id=u:1 status=i:0\n"
		"160 7 rocm_hip:hip_api_enter api_name=hipApiName corr_id=u:3\n"
		"165 7 rocm_hip:hip_api_exit_ptr api_name=hipApiName corr_id=u:3 "
		"retval_ptr=x:0x1\n");

	timeline_assert_slice(timeline, "hipMalloc", 0, "runtime", 0, 50);
	timeline_assert_slice(timeline, "hsa_amd_memory_pool_allocate", 0, "runtime", 10, 10);
	timeline_assert_slice(timeline, "hipApiName", 0, "runtime", 60, 5);
	expect_parent(timeline, "hsa_amd_memory_pool_allocate", "hipMalloc");
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* What has lost its begin ends nothing; what has lost its end lasts to the end. */
static void test_lost(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines("pid 7\n"
						       "100 7 rocm_hip:hipMalloc phase=i:0\n"
						       "110 7 rocm_hip:hipMalloc phase=i:1\n"
						       "120 7 rocm_hip:hipFree phase=i:1\n"
						       "130 7 rocm_hip:hipMalloc phase=i:0\n"
						       "150 7 rocm_hip:hipMalloc phase=i:7\n");

	timeline_assert_slice(timeline, "hipMalloc", 0, "runtime", 0, 10);
	timeline_assert_slice(timeline, "hipMalloc", 1, "runtime", 30, 20);
	timeline_assert_slice(timeline, "rocm_hip:hipFree", 0, "event", 20, 0);
	timeline_assert_slice(timeline, "rocm_hip:hipMalloc", 0, "event", 50, 0);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_UNMATCHED_END), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ctf-rocm/functions", test_functions);
	g_test_add_func("/ctf-rocm/own-number", test_own_number);
	g_test_add_func("/ctf-rocm/enter-and-exit", test_enter_and_exit);
	g_test_add_func("/ctf-rocm/lost", test_lost);
	return g_test_run();
}
