/* Runs of every version of the format, recorded when it was current, still open: tests/data/. */
#include <string.h>
#include <tacho/timeline.h>

static guint count_kind(const TachoTimeline *timeline, TachoSliceKind kind)
{
	guint count = 0;

	for (guint32 row = 0; row < timeline->slices.n; row++)
		count += timeline->slices.kind[row] == kind;
	return count;
}

static guint32 find_slice(const TachoTimeline *timeline, const gchar *name)
{
	for (guint32 row = 0; row < timeline->slices.n; row++)
		if (strcmp(tacho_slice_name(timeline, row), name) == 0)
			return row;
	g_error("no slice '%s'", name);
	return TACHO_NONE;
}

static void check_processes(const TachoTimeline *timeline)
{
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpint(timeline->expected_ranks, ==, 2);
	g_assert_cmpuint(timeline->n_events, ==, 2552);
	g_assert_cmpuint(timeline->n_dropped, ==, 0);
	g_assert_cmpuint(timeline->memory->len, ==, 496);
	for (guint i = 0; i < timeline->memory->len; i++)
		g_assert_cmpuint(g_array_index(timeline->memory, TachoMemoryEvent, i).device, ==,
				 0);
	for (guint i = 0; i < timeline->processes->len; i++) {
		const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		g_assert_cmpint(process->rank, ==, i);
		g_assert_true(process->is_main);
		g_assert_cmpint(process->end, ==, TACHO_END_EXITED);
		g_assert_cmpint(process->exit_status, ==, 0);
		g_assert_cmpuint(process->cost_ns, >, 0);
		g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==,
				"/usr/bin/python3 train.py");
	}
}

/* The slices are from the forward of Linear(64, 32) on 16 rows. */
static void check_linear(const TachoTimeline *timeline)
{
	guint32 linear = find_slice(timeline, "aten::linear");
	guint32 addmm = find_slice(timeline, "aten::addmm");
	TachoOpArgs args;
	TachoTensor tensor;

	g_assert_true(tacho_slice_op(timeline, linear, &args));
	g_assert_cmpuint(args.n_inputs, ==, 3);
	g_assert_true(tacho_slice_input(timeline, linear, 0, &tensor));
	g_assert_cmpstr(tensor.dtype, ==, "float32");
	g_assert_cmpstr(tensor.device, ==, "cpu");
	g_assert_cmpuint(tensor.n_dims, ==, 2);
	g_assert_cmpint(tensor.shape[0], ==, 16);
	g_assert_cmpint(tensor.shape[1], ==, 64);
	g_assert_true(tacho_slice_output(timeline, linear, 0, &tensor));
	g_assert_cmpint(tensor.shape[1], ==, 32);
	g_assert_cmpuint(timeline->slices.parent[addmm], ==, linear);
}

static void check_kernel(const TachoTimeline *timeline)
{
	guint32 sgemm = find_slice(timeline, "sgemm");
	TachoKernelArgs args;

	g_assert_true(tacho_slice_kernel(timeline, sgemm, &args));
	g_assert_cmpuint(args.flops, ==, 2 * 32 * 64 * 16);
	g_assert_cmpstr(tacho_slice_name(timeline, timeline->slices.parent[sgemm]), ==,
			"aten::addmm");
}

static void test_version_1(void)
{
	const gchar *path = TACHO_TEST_DATA "/two_ranks";
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_timeline_open(&path, 1, &error);

	g_assert_no_error(error);
	check_processes(timeline);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_OP), ==, 1044);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 24);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_MODULE), ==, 16);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_KERNEL), ==, 16);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 18);
	check_linear(timeline);
	check_kernel(timeline);
}

/* Of tests/job/device_records_job.c: two threads of 100 calls each. */
static void test_version_2(void)
{
	const gchar *path = TACHO_TEST_DATA "/devices";
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_timeline_open(&path, 1, &error);
	guint32 gemm, copy;
	TachoLaunchShape shape;
	TachoCopyArgs args;
	guint n_queues = 0;

	g_assert_no_error(error);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(timeline->n_events, ==, 439);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_RUNTIME), ==, 200);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_KERNEL), ==, 174);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 26);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_SYNC), ==, 4);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_FUNCTION), ==, 4);
	g_assert_cmpuint(timeline->samples->len, ==, 4);
	g_assert_cmpuint(timeline->memory->len, ==, 4);
	g_assert_cmpuint(timeline->devices->len, ==, 2);
	g_assert_cmpuint(timeline->flows->len, ==, 4);
	for (guint32 i = 0; i < timeline->tracks->len; i++)
		n_queues += tacho_timeline_track(timeline, i)->kind == TACHO_TRACK_STREAM;
	g_assert_cmpuint(n_queues, ==, 4);
	gemm = find_slice(timeline, "gemm");
	g_assert_true(tacho_slice_launch_shape(timeline, gemm, &shape));
	g_assert_cmpuint(shape.grid[0], ==, 4);
	g_assert_cmpuint(shape.block[0], ==, 128);
	g_assert_cmpstr(tacho_slice_name(timeline, timeline->slices.launch[gemm]), ==,
			"cudaLaunchKernel");
	copy = find_slice(timeline, "Memcpy HtoD (Pinned -> Device)");
	g_assert_true(tacho_slice_copy(timeline, copy, &args));
	g_assert_cmpuint(args.bytes, ==, 4096);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kept-runs/version-1", test_version_1);
	g_test_add_func("/kept-runs/version-2", test_version_2);
	return g_test_run();
}
