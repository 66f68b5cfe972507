/* call_kind: calls of CUDA and HIP by name, and that a name is judged once and then known. */
#include "trace/call_kind.h"

static const struct {
	const gchar *name;
	enum call_kind kind;
} calls[] = {
	{ "cudaLaunchKernel", CALL_LAUNCH },
	{ "cudaLaunchKernelExC", CALL_LAUNCH },
	{ "cuLaunchKernelEx", CALL_LAUNCH },
	{ "cudaLaunchCooperativeKernel", CALL_LAUNCH },
	{ "hipExtModuleLaunchKernel", CALL_LAUNCH },
	{ "cudaGraphLaunch", CALL_GRAPH_LAUNCH },
	{ "hipGraphLaunch", CALL_GRAPH_LAUNCH },
	{ "cudaStreamBeginCapture", CALL_BEGIN_CAPTURE },
	{ "cuStreamEndCapture", CALL_END_CAPTURE },
	{ "cudaMemcpy", CALL_COPY_SYNC },
	{ "hipMemcpyAsync", CALL_COPY_ASYNC },
	{ "cudaMemcpy2D", CALL_COPY_SHAPED_SYNC },
	{ "cudaMemcpy2DAsync", CALL_COPY },
	{ "cuMemcpyHtoDAsync_v2", CALL_COPY },
	{ "cudaMemsetAsync", CALL_FILL },
	{ "cudaEventRecordWithFlags", CALL_EVENT_RECORD },
	{ "hipStreamWaitEvent", CALL_EVENT_WAIT },
	{ "cudaEventQuery", CALL_EVENT_QUERY },
	{ "cudaDeviceSynchronize", CALL_DEVICE_SYNC },
	{ "cuCtxSynchronize", CALL_DEVICE_SYNC },
	{ "hipStreamSynchronize", CALL_STREAM_SYNC },
	{ "cudaEventSynchronize", CALL_EVENT_SYNC },
	{ "zeFenceHostSynchronize", CALL_SYNC },
	{ "cudaFree", CALL_FREE },
	{ "cudaFreeHost", CALL_OTHER },
	{ "cudaFreeAsync", CALL_OTHER },
	{ "cudaGetDevice", CALL_OTHER },
	{ "", CALL_OTHER },
	{ "Context Sync", CALL_DEVICE_SYNC },
	{ "Stream Sync", CALL_STREAM_SYNC },
	{ "zeCommandQueueSynchronize", CALL_SYNC },
	{ "clFinish", CALL_WAIT },
	{ "clWaitForEvents", CALL_WAIT },
	{ "hsa_signal_wait_scacquire", CALL_WAIT },
	{ "hsa_amd_signal_wait_any", CALL_WAIT },
	{ "hsa_signal_store_screlease", CALL_OTHER },
	{ "Event Sync", CALL_EVENT_SYNC },
	{ "Stream Wait Event", CALL_EVENT_WAIT },
};

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		guint32 name = tacho_timeline_intern(timeline, calls[i].name, -1);

		g_assert_cmpint(call_kind_of_name(timeline, name), ==, calls[i].kind);
	}
	/* the second time they are known; what came since has not disturbed them */
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		guint32 name = tacho_timeline_intern(timeline, calls[i].name, -1);

		g_assert_cmpint(call_kind_of_name(timeline, name), ==, calls[i].kind);
	}
	g_assert_cmpint(call_kind_of_name(timeline, TACHO_NONE), ==, CALL_OTHER);
}

static void test_groups(void)
{
	g_assert_true(call_kind_copies(CALL_COPY) && call_kind_copies(CALL_COPY_SHAPED_SYNC));
	g_assert_false(call_kind_copies(CALL_FILL) || call_kind_copies(CALL_GRAPH_LAUNCH));
	g_assert_true(call_kind_syncs(CALL_DEVICE_SYNC) && call_kind_syncs(CALL_SYNC));
	g_assert_false(call_kind_syncs(CALL_COPY_SYNC) || call_kind_syncs(CALL_FREE) ||
		       call_kind_syncs(CALL_EVENT_WAIT));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/call_kind/names", test_names);
	g_test_add_func("/call_kind/groups", test_groups);
	return g_test_run();
}
