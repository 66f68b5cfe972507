/* The tables of AMD's profilers become one run: a set of ours of every sort, and real ones. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "import/read/csv_reader.h"
#include "timeline_text.h"

static const gchar set[] = TACHO_TEST_DATA "/rocm_csv";

static void test_reader(void)
{
	static const gchar text[] =
		"a,\"b c\",d\r\n1,\"x \"\"y\"\",\nz\",\n\n\"0x10\",Agent 42\n-7";
	gchar *path = foreign_write("x.csv", text, strlen(text));
	g_autoptr(csv_reader) csv = csv_reader_open(path, NULL);
	gint64 number;

	g_assert_cmpuint(csv_reader_n_columns(csv), ==, 3);
	g_assert_cmpint(csv_reader_column(csv, "b c"), ==, 1);
	g_assert_cmpint(csv_reader_column(csv, "e"), ==, -1);
	g_assert_true(csv_reader_next(csv));
	g_assert_true(csv_reader_integer(csv, 0, &number));
	g_assert_cmpint(number, ==, 1);
	g_assert_cmpstr(csv_reader_text(csv, 1), ==, "x \"y\",\nz");
	g_assert_cmpstr(csv_reader_text(csv, 2), ==, "");
	g_assert_false(csv_reader_integer(csv, 2, &number));
	g_assert_null(csv_reader_text(csv, 3));
	g_assert_true(csv_reader_next(csv)); /* past the empty line */
	g_assert_true(text[csv_reader_offset(csv)] == '"');
	g_assert_true(csv_reader_integer(csv, 0, &number));
	g_assert_cmpint(number, ==, 16);
	g_assert_true(csv_reader_integer(csv, 1, &number));
	g_assert_cmpint(number, ==, 42);
	g_assert_true(csv_reader_next(csv));
	g_assert_true(csv_reader_integer(csv, 0, &number));
	g_assert_cmpint(number, ==, -7);
	g_assert_false(csv_reader_next(csv));
	g_assert_true(csv_reader_seek(csv, 10));
	g_assert_cmpstr(csv_reader_text(csv, 0), ==, "1");
	foreign_remove(path);
}

static void test_set(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(set);
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "void gemm<float, 4>(float*)", 0);
	guint32 copy = timeline_find(timeline, "MEMORY_COPY_DEVICE_TO_HOST", 0);
	const TachoTrack *stream = tacho_timeline_track(timeline, slices->track[kernel]);
	const TachoMemoryEvent *memory = (const TachoMemoryEvent *)timeline->memory->data;
	g_autofree gchar *args = tacho_slice_args_json(timeline, kernel);

	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, 0).pid, ==, 70);
	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_cmpuint(slices->launch[copy], ==, timeline_find(timeline, "hipMemcpy", 0));
	g_assert_cmpint(stream->device, ==, 1); /* the second GPU */
	g_assert_cmpuint(stream->tid, ==, 9);
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[copy])->device, ==, 0);
	g_assert_nonnull(strstr(args, "\"Agent_Id\":\"Agent 6\""));
	g_assert_nonnull(strstr(args, "\"Grid_Size_X\":64"));
	g_assert_cmpint(slices->kind[timeline_find(timeline, "step 4, \"warm\"", 0)], ==,
			TACHO_SLICE_ANNOTATION);
	timeline_find(timeline, "SCRATCH_MEMORY_ALLOC", 0);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 1);
	g_assert_cmpuint(timeline->memory->len, ==, 1);
	g_assert_cmpint(memory->bytes, ==, 1048576);
	g_assert_cmpuint(memory->address, ==, 0x1234);
	g_assert_cmpuint(memory->device, ==, 1);
	g_assert_cmpuint(memory->slice, ==, timeline_find(timeline, "hipMalloc", 0));
	g_assert_cmpuint(timeline->samples->len, ==, 2);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 1);
	foreign_use(timeline);
}

/* Counters alone tell their kernels, each once. */
static void test_counters_alone(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open(TACHO_TEST_DATA "/rocm_csv/out_counter_collection.csv");

	g_assert_cmpuint(timeline->slices.n, ==, 1);
	g_assert_cmpuint(timeline->samples->len, ==, 2);
	timeline_find(timeline, "gemm", 0);
}

static void test_sums_are_none(void)
{
	gchar *path = foreign_write("result.stats.csv", "\"Name\",\"Calls\"\n\"a\",1\n", 22);
	g_autofree gchar *message = foreign_open_fails(path);

	g_assert_nonnull(strstr(message, "is not a run or a trace"));
	foreign_remove(path);
}

static void test_damaged(void)
{
	foreign_damage(TACHO_TEST_DATA "/rocm_csv/out_kernel_trace.csv", 300);
	foreign_damage(TACHO_TEST_DATA "/rocm_csv/out_hip_api_trace.csv", 100);
}

/* Rows as the README beside them counts lines, less the one of names. */
static void test_samples(void)
{
	g_autofree gchar *version_3 = foreign_sample("rocprof/hip_course/v3");
	g_autofree gchar *version_1 =
		foreign_sample("rocprof/hip_course/wave2d_sync/wave2d_sync.csv");
	g_autoptr(TachoTimeline) timeline = NULL, kernels = NULL;
	const TachoDevice *device;

	if (!version_3 || !version_1)
		return;
	timeline = foreign_open(version_3);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==, 48 + 681);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 3);
	g_assert_cmpuint(timeline->memory->len, ==, 18);
	g_assert_cmpuint(timeline->devices->len, ==, 1);
	device = &g_array_index(timeline->devices, TachoDevice, 0);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "AMD Radeon Graphics");
	g_assert_cmpstr(tacho_timeline_string(timeline, device->architecture), ==, "gfx1035");
	g_assert_cmpuint(device->n_multiprocessors, ==, 12);
	g_assert_cmpuint(device->multiprocessor_threads, ==, 32 * 32);
	g_assert_cmpuint(device->clock_hz, ==, 2200000000);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_KERNEL)
			g_assert_cmpuint(timeline->slices.launch[i], !=, TACHO_NONE);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	foreign_use(timeline);
	kernels = foreign_open(version_1);
	g_assert_cmpuint(foreign_count_kind(kernels, TACHO_SLICE_KERNEL), ==, 643);
	g_assert_cmpuint(kernels->problems->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rocprof_csv/reader", test_reader);
	g_test_add_func("/rocprof_csv/set", test_set);
	g_test_add_func("/rocprof_csv/counters-alone", test_counters_alone);
	g_test_add_func("/rocprof_csv/sums-are-none", test_sums_are_none);
	g_test_add_func("/rocprof_csv/damaged", test_damaged);
	g_test_add_func("/rocprof_csv/samples", test_samples);
	return g_test_run();
}
