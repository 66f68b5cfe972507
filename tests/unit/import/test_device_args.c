/* How kernels were launched, and what copies moved, in the words of each recorder. */
#include "import/read/device_args.h"

#include <math.h>

#include "foreign_traces.h"
#include "timeline_text.h"

/* A reader whose places are the texts themselves. */
static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	(void)reader;
	return g_strdup(GSIZE_TO_POINTER((gsize)place));
}

static struct foreign_reader reader = { .args_json = get_args_json };

static gboolean ask_shape(const gchar *json, TachoLaunchShape *shape)
{
	return device_args_launch_shape(&reader, GPOINTER_TO_SIZE(json), shape);
}

static gboolean ask_copy(const gchar *json, TachoCopyArgs *copy)
{
	return device_args_copy(&reader, GPOINTER_TO_SIZE(json), copy);
}

/* 6 x 2 x 1 blocks of 32 x 4 x 1 threads in each. */
static const gchar *const launches[] = {
	/* PyTorch's profiler */
	"{\"device\": 0, \"grid\": [6, 2, 1], \"block\": [32, 4, 1], \"registers per thread\": 40,"
	" \"shared memory\": 1024}",
	/* Nsight Systems */
	"{\"gridX\": 6, \"gridY\": 2, \"gridZ\": 1, \"blockX\": 32, \"blockY\": 4, \"blockZ\": 1,"
	" \"registersPerThread\": 40, \"staticSharedMemory\": 1000, \"dynamicSharedMemory\": 24}",
	/* XLA */
	"{\"kernel_details\": \"regs:40 static_shared:24 dynamic_shared:1000 grid:6,2,1 "
	"block:32,4,1 occ_pct:100\"}",
	/* rocpd, whose grid is of threads; the last block is not full */
	"{\"grid_size_x\": 192, \"grid_size_y\": 7, \"grid_size_z\": 1, \"workgroup_size_x\": 32,"
	" \"workgroup_size_y\": 4, \"workgroup_size_z\": 1, \"group_segment_size\": 1024}",
	/* rocprofv3, as CSV and as JSON */
	"{\"Workgroup_Size_X\": 32, \"Workgroup_Size_Y\": 4, \"Workgroup_Size_Z\": 1,"
	" \"Grid_Size_X\": 192, \"Grid_Size_Y\": 8, \"Grid_Size_Z\": 1,"
	" \"Group_Segment_Size\": 1024}",
	"{\"kind\": 11, \"dispatch_info\": {\"agent_id\": {\"handle\": 1},"
	" \"group_segment_size\": 1024, \"workgroup_size\": {\"x\": 32, \"y\": 4, \"z\": 1},"
	" \"grid_size\": {\"x\": 192, \"y\": 8, \"z\": 1}}}",
};

static void test_launches(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(launches); i++) {
		TachoLaunchShape shape;

		g_assert_true(ask_shape(launches[i], &shape));
		g_assert_cmpuint(shape.grid[0], ==, 6);
		g_assert_cmpuint(shape.grid[1], ==, 2);
		g_assert_cmpuint(shape.grid[2], ==, 1);
		g_assert_cmpuint(shape.block[0], ==, 32);
		g_assert_cmpuint(shape.block[1], ==, 4);
		g_assert_cmpuint(shape.block[2], ==, 1);
		g_assert_cmpuint(shape.shared_bytes, ==, 1024);
		g_assert_cmpuint(shape.registers, ==, i < 3 ? 40 : 0);
		g_assert_true(isnan(shape.blocks_per_sm) && isnan(shape.occupancy_pct));
	}
}

static void test_figures(void)
{
	TachoLaunchShape shape;

	g_assert_true(ask_shape("{\"blocks per SM\": 0.5, \"warps per SM\": \"2.25\","
				" \"est. achieved occupancy %\": 40}",
				&shape));
	g_assert_cmpfloat(shape.blocks_per_sm, ==, 0.5);
	g_assert_cmpfloat(shape.warps_per_sm, ==, 2.25);
	g_assert_cmpfloat(shape.occupancy_pct, ==, 40);
	/* no kernel has no blocks; an occupancy of 0 is rounded */
	g_assert_true(
		ask_shape("{\"blocks per SM\": 0, \"est. achieved occupancy %\": 0}", &shape));
	g_assert_true(isnan(shape.blocks_per_sm));
	g_assert_cmpfloat(shape.occupancy_pct, ==, 0);
}

/* Nothing is told by what cannot be, and by what ends early. */
static void test_broken(void)
{
	static const gchar *const cases[] = {
		"",
		"[1]",
		"{}",
		"{\"grid\": 5, \"block\": [-1, 1e30, \"x\"]}",
		"{\"grid\": [",
		"{\"registers per thread\": -4, \"shared memory\": null}",
		"{\"blocks per SM\": \"nan\", \"est. achieved occupancy %\": -1}",
		"{\"grid_size_x\": 192}",
		"{\"kernel_details\": \"grid: block regs:x :5\"}",
		"{\"dispatch_info\": {\"dispatch_info\": {\"group_segment_size\": 1}}}",
	};
	TachoLaunchShape shape = { .registers = 77 };
	TachoCopyArgs copy = { .bytes = 77 };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_assert_false(ask_shape(cases[i], &shape));
		g_assert_cmpuint(shape.registers, ==, 77);
		g_assert_false(ask_copy(cases[i], &copy));
	}
	g_assert_cmpuint(copy.bytes, ==, 77);
}

static void test_copies(void)
{
	TachoCopyArgs copy;

	g_assert_true(ask_copy("{\"bytes\": 4096, \"memory bandwidth (GB/s)\": 12.5}", &copy));
	g_assert_cmpuint(copy.bytes, ==, 4096);
	g_assert_cmpfloat(copy.gb_per_s, ==, 12.5);
	g_assert_true(ask_copy("{\"Bytes\": 8}", &copy));
	g_assert_cmpuint(copy.bytes, ==, 8);
	g_assert_cmpfloat(copy.gb_per_s, ==, 0);
	/* more than any memory has, or moves */
	g_assert_false(ask_copy("{\"bytes\": 1e17, \"memory bandwidth (GB/s)\": 1e7}", &copy));
}

/* From the file, by the slice; and none of a thread's slice, or of what no importer read. */
static void test_slices(void)
{
	static const gchar text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": [\n"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 5,"
		" \"tid\": 5, \"ts\": 1, \"dur\": 2},\n"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7,"
		" \"ts\": 3, \"dur\": 2, \"args\": {\"grid\": [8, 1, 1], \"block\": [64, 1, 1]}},\n"
		"{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy DtoD\", \"pid\": 0,"
		" \"tid\": 7, \"ts\": 6, \"dur\": 2, \"args\": {\"bytes\": 2000}}\n]}";
	gchar *path = foreign_write("x.json", text, sizeof(text) - 1);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	g_autoptr(TachoTimeline) bare =
		timeline_from_text("rank 0 thread 1 main\n  kernel a 0..1 bytes=8\n");
	TachoLaunchShape shape;
	TachoCopyArgs copy;

	g_assert_true(
		tacho_slice_launch_shape(timeline, timeline_find(timeline, "gemm", 0), &shape));
	g_assert_cmpuint(shape.grid[0], ==, 8);
	g_assert_cmpuint(shape.block[0], ==, 64);
	g_assert_false(
		tacho_slice_launch_shape(timeline, timeline_find(timeline, "aten::mm", 0), &shape));
	g_assert_true(tacho_slice_copy(timeline, timeline_find(timeline, "Memcpy DtoD", 0), &copy));
	g_assert_cmpuint(copy.bytes, ==, 2000);
	g_assert_false(tacho_slice_launch_shape(bare, 0, &shape));
	g_assert_false(tacho_slice_copy(bare, 0, &copy));
	foreign_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device_args/launches", test_launches);
	g_test_add_func("/device_args/figures", test_figures);
	g_test_add_func("/device_args/broken", test_broken);
	g_test_add_func("/device_args/copies", test_copies);
	g_test_add_func("/device_args/slices", test_slices);
	return g_test_run();
}
