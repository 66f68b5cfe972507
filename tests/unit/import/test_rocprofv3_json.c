/* rocprofv3's JSON becomes what it says: a small one of ours with records of every kind, and a real one. */
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar small[] = TACHO_TEST_DATA "/rocm/7_results.json";

static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(small);
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "gemm(float*)", 0);
	guint32 collective = timeline_find(timeline, "ncclDevKernel_Generic", 0);
	guint32 copy = timeline_find(timeline, "MEMORY_COPY_HOST_TO_DEVICE", 0);
	const TachoTrack *stream = tacho_timeline_track(timeline, slices->track[kernel]);
	g_autofree gchar *args = tacho_slice_args_json(timeline, kernel);
	TachoKernelArgs bytes;

	g_assert_cmpint(stream->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpint(stream->device, ==, 3);
	g_assert_cmpuint(stream->tid, ==, 9);
	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_nonnull(strstr(args, "\"grid_size\": {\"x\": 64"));
	g_assert_cmpint(slices->kind[collective], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_cmpuint(slices->launch[collective], ==, TACHO_NONE);
	g_assert_cmpstr(
		tacho_timeline_string(
			timeline, tacho_timeline_track(timeline, slices->track[collective])->name),
		==, "queue 6");
	g_assert_cmpuint(slices->launch[copy], ==, timeline_find(timeline, "hipMemcpy", 0));
	g_assert_true(tacho_slice_kernel(timeline, copy, &bytes));
	g_assert_cmpuint(bytes.bytes, ==, 8192);
}

static void test_host(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(small);
	const TachoSlices *slices = &timeline->slices;
	guint32 range = timeline_find(timeline, "step 4", 0);
	const TachoProcess *process = tacho_slice_process(timeline, range);
	const TachoMemoryEvent *memory = (const TachoMemoryEvent *)timeline->memory->data;
	g_autoptr(TachoTable) table = NULL;
	TachoFilter whole = TACHO_FILTER_INIT;

	whole.is_whole = TRUE;
	g_assert_cmpuint(process->pid, ==, 70);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->host), ==, "node9");
	g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==, "python3 train.py");
	g_assert_cmpint(slices->kind[range], ==, TACHO_SLICE_ANNOTATION);
	g_assert_cmpint(slices->kind[timeline_find(timeline, "ncclAllReduce", 0)], ==,
			TACHO_SLICE_EVENT);
	/* an operation beyond the list is called after its kind */
	g_assert_cmpint(slices->kind[timeline_find(timeline, "HIP_RUNTIME_API", 0)], ==,
			TACHO_SLICE_RUNTIME);
	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpint(memory[0].bytes, ==, 100);
	g_assert_cmpuint(memory[0].address, ==, 4660);
	g_assert_cmpuint(memory[0].device, ==, 4);
	g_assert_cmpint(memory[1].bytes, ==, 0);
	g_assert_cmpuint(timeline->samples->len, ==, 1);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 41.6);
	/* a sample of the program counter, counters without their dispatch */
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 2);
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	table = tacho_view_kernel_counters(timeline, &whole);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "counter"), ==, "GPU 3: SQ_WAVES");
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "stack"), ==, "step 4 > hipLaunchKernel");
	g_assert_cmpfloat(tacho_table_cell_number(table, 0, "total"), ==, 41.6);
	foreign_use(timeline);
}

static void test_damaged(void)
{
	foreign_damage(small, 500);
}

/* R1: kernels have all that the origin asks for; busy and idle make up the whole. */
static void test_sample(void)
{
	g_autofree gchar *path = foreign_sample("rocprof/tracelens/908_results.json.gz");
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoDevice *device;
	gint64 total_ns = 0;
	guint n = 0;

	if (!path)
		return;
	timeline = foreign_open(path);
	g_assert_cmpuint(timeline->slices.n, ==, 43915);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL) +
				 foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE),
			 ==, 43915);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		total_ns += timeline->slices.duration_ns[i];
		g_assert_cmpstr(tacho_slice_name(timeline, i), !=, "");
		if (i % 4000 == 0) {
			g_autofree gchar *args = tacho_slice_args_json(timeline, i);

			g_assert_nonnull(strstr(args, "\"grid_size\""));
			g_assert_nonnull(strstr(args, "\"workgroup_size\""));
			g_assert_nonnull(strstr(args, "\"stream_id\""));
			n++;
		}
	}
	g_assert_cmpuint(n, ==, 11);
	g_assert_cmpint(total_ns, ==, G_GINT64_CONSTANT(4441741378)); /* summed from the file */
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, 0).pid, ==, 908);
	device = &g_array_index(timeline->devices, TachoDevice, 0);
	g_assert_cmpuint(timeline->devices->len, >, 0);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "AMD Instinct MI350X");
	g_assert_cmpstr(tacho_timeline_string(timeline, device->architecture), ==, "gfx950");
	g_assert_cmpuint(device->n_multiprocessors, ==, 256);
	g_assert_cmpuint(device->multiprocessor_threads, ==, 32 * 64);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	tacho_correlate(timeline);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rocprofv3_json/device", test_device);
	g_test_add_func("/rocprofv3_json/host", test_host);
	g_test_add_func("/rocprofv3_json/damaged", test_damaged);
	g_test_add_func("/rocprofv3_json/sample", test_sample);
	return g_test_run();
}
