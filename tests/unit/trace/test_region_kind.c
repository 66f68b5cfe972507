/* region_kind: regions and operations of PyTorch by name; what is behind some names; who takes batches how. */
#include "trace/data_loading.h"
#include "trace/region_kind.h"

static const struct {
	const gchar *name;
	enum region_kind kind;
} regions[] = {
	{ "ProfilerStep#12", REGION_STEP },
	{ "a ProfilerStep#12", REGION_OTHER },
	{ "PyTorch Profiler (0)", REGION_PROFILER },
	{ "Optimizer.step#SGD.step", REGION_OPTIMIZER_STEP },
	{ "Optimizer.zero_grad#SGD.zero_grad", REGION_OTHER },
	{ "autograd::engine::evaluate_function: AddmmBackward0", REGION_EVALUATE },
	{ "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
	  REGION_EVALUATE_ACCUMULATE },
	{ "autograd::engine::add", REGION_ENGINE },
	{ "torch::autograd::AccumulateGrad", REGION_ACCUMULATE },
	{ "torch.distributed.ddp.reducer::copy_bucket_to_grad", REGION_COPY_GRADIENT },
	{ "torch.distributed.ddp.reducer::search_unused_parameters", REGION_REDUCER },
	{ "c10d::allreduce_", REGION_QUEUE },
	{ "nccl:all_reduce", REGION_COLLECTIVE },
	{ "gloo:broadcast", REGION_COLLECTIVE },
	{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL", REGION_LIBRARY },
	{ "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", REGION_LOADING_WORKERS },
	{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", REGION_LOADING_INLINE },
	{ "enumerate(DataPipe)#BatcherIterDataPipe", REGION_LOADING_INLINE },
	{ "enumerate(DataLoader)#Mine.__next__", REGION_LOADING },
	{ "DataLoader workers", REGION_LOADER_WORKERS },
	{ "my dataloader", REGION_LOADER },
	{ "send_request_tensor", REGION_TENSOR_REQUEST },
	{ "prepare_response_tensor", REGION_TENSOR_RESPONSE },
	{ "set_proto_from_gpu", REGION_TENSOR_COPY },
	{ "rendezvous", REGION_RENDEZVOUS },
	{ "aten::addmm", REGION_OTHER },
	{ "", REGION_OTHER },
};

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(regions); i++) {
		guint32 name = tacho_timeline_intern(timeline, regions[i].name, -1);

		g_assert_cmpint(region_kind_of_name(timeline, name), ==, regions[i].kind);
	}
}

static void test_behind_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	guint32 node = tacho_timeline_intern(
		timeline, "autograd::engine::evaluate_function: MulBackward0", -1);
	guint32 step = tacho_timeline_intern(timeline, "ProfilerStep#12", -1);

	g_assert_cmpstr(region_evaluated(timeline, node), ==, "MulBackward0");
	g_assert_cmpstr(region_evaluated(timeline, step), ==, "ProfilerStep#12");
	g_assert_cmpint(region_step_number(timeline, step), ==, 12);
}

/* A region of the user's may be called as a wait is. */
static void test_loading(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	TachoProcess process = { .rank = 0 };
	TachoTrack track = { .kind = TACHO_TRACK_THREAD };
	guint32 name = tacho_timeline_intern(timeline, "DataLoader workers", -1), wait, region;

	g_array_append_val(timeline->processes, process);
	g_array_append_val(timeline->tracks, track);
	wait = tacho_timeline_add_slice(timeline, TACHO_SLICE_WAIT, 0, name, 0, 5, 0, 0);
	region = tacho_timeline_add_slice(timeline, TACHO_SLICE_ANNOTATION, 0, name, 6, 5, 0, 0);
	g_assert_cmpint(data_loading_of(timeline, wait), ==, DATA_LOADING_WORKERS);
	g_assert_cmpint(data_loading_of(timeline, region), ==, DATA_LOADING_NONE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/region_kind/names", test_names);
	g_test_add_func("/region_kind/behind-names", test_behind_names);
	g_test_add_func("/region_kind/loading", test_loading);
	return g_test_run();
}
