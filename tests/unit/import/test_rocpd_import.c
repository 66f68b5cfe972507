/* Databases of AMD's profilers become what they say: made here, in both forms of rocpd's schema, and, of rocprof v1,
 * those that others made. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "sqlite_text.h"
#include "timeline_text.h"

static const gchar with_times[] =
	"PRAGMA page_size = 512;"
	"CREATE TABLE rocpd_string_a (id INTEGER PRIMARY KEY, string TEXT);"
	"INSERT INTO rocpd_string_a VALUES (1, 'hipLaunchKernel'), (2, 'HIP_RUNTIME_API'),"
	" (3, 'MEMORY_COPY_DEVICE_TO_HOST'), (4, 'MARKER_CORE_RANGE_API'), (5, 'roctxRangePush'),"
	" (6, 'hipMemcpy'), (7, 'RCCL_API'), (8, 'ncclAllReduce'), (9, 'KERNEL_DISPATCH');"
	"CREATE TABLE rocpd_info_node_a (id INTEGER, hostname TEXT);"
	"INSERT INTO rocpd_info_node_a VALUES (1, 'node1');"
	"CREATE TABLE rocpd_info_process_a (id INTEGER, nid INTEGER, pid INTEGER, command TEXT,"
	" environment TEXT);"
	"INSERT INTO rocpd_info_process_a VALUES (1, 1, 700, 'train',"
	" '{\"HOME\": [1], \"RANK\": \"2\", \"WORLD_SIZE\": \"4\"}');"
	"CREATE TABLE rocpd_info_thread_a (id INTEGER, nid INTEGER, pid INTEGER, tid INTEGER,"
	" name TEXT);"
	"INSERT INTO rocpd_info_thread_a VALUES (5, 1, 1, 701, 'worker');"
	"CREATE TABLE rocpd_info_agent_a (id INTEGER, type TEXT, type_index INTEGER, name TEXT,"
	" product_name TEXT, extdata TEXT);"
	"INSERT INTO rocpd_info_agent_a VALUES (1, 'CPU', 0, 'EPYC', 'EPYC', '{}'),"
	" (2, 'GPU', 3, 'gfx942', 'AMD Instinct MI300X', '{\"cu_count\": 304, \"name\": \"x\","
	" \"caches\": [{\"cu_count\": 1}], \"wave_front_size\": 64, \"max_waves_per_cu\": 32,"
	" \"lds_size_in_kb\": 64, \"workgroup_max_size\": 1024,"
	" \"max_engine_clk_fcompute\": 2100}');"
	"CREATE TABLE rocpd_info_kernel_symbol_a (id INTEGER, kernel_name TEXT, display_name TEXT);"
	"INSERT INTO rocpd_info_kernel_symbol_a VALUES (1, '_Z4gemm.kd', 'gemm.kd');"
	"CREATE TABLE rocpd_event_a (id INTEGER, category_id INTEGER, stack_id INTEGER,"
	" correlation_id INTEGER, extdata TEXT);"
	"INSERT INTO rocpd_event_a VALUES (1, 2, 11, 0, '{}'), (2, 9, 11, 0, '{}'),"
	" (3, 4, 12, 0, '{\"color\": 1, \"message\": \"iteration 7\"}'), (4, 2, 0, 14, '{}'),"
	" (5, 9, 0, 14, '{}'), (6, 7, 15, 0, '{}');"
	"CREATE TABLE rocpd_region_a (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid "
	"INTEGER,"
	" start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER);"
	"INSERT INTO rocpd_region_a VALUES (1, 1, 1, 5, 1000, 1100, 1, 1),"
	" (2, 1, 1, 5, 900, 5000, 5, 3), (3, 1, 1, 5, 2000, 2500, 6, 4),"
	" (4, 1, 1, 5, 3000, 3100, 8, 6), (5, 1, 1, 5, NULL, 3100, 8, 6);"
	"CREATE TABLE rocpd_kernel_dispatch_a (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
	" agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT,"
	" end BIGINT, grid_size_x INTEGER, event_id INTEGER);"
	"INSERT INTO rocpd_kernel_dispatch_a VALUES (1, 1, 5, 2, 1, 6, 9, 1500, 1900, 64, 2),"
	" (2, 1, 5, 2, 1, 6, NULL, 1950, 1990, 64, NULL);"
	"CREATE TABLE rocpd_memory_copy_a (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
	" start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER,"
	" size INTEGER, event_id INTEGER);"
	"INSERT INTO rocpd_memory_copy_a VALUES (1, 1, 5, 2100, 2400, 3, 1, 2, 8192, 5);"
	"CREATE TABLE rocpd_memory_allocate_a (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,"
	" agent_id INTEGER, type TEXT, start BIGINT, end BIGINT, address INTEGER, size INTEGER);"
	"INSERT INTO rocpd_memory_allocate_a VALUES (1, 1, 5, 2, 'ALLOC', 910, 920, 64, 100),"
	" (2, 1, 5, 2, 'FREE', 4000, 4010, 64, 0), (3, 1, 5, 2, 'RECLAIM', 4020, 4030, 64, 0);"
	"CREATE TABLE rocpd_info_pmc_a (id INTEGER, agent_id INTEGER, symbol TEXT);"
	"INSERT INTO rocpd_info_pmc_a VALUES (1, 2, 'SQ_WAVES');"
	"CREATE TABLE rocpd_pmc_event_a (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER,"
	" value REAL);"
	"INSERT INTO rocpd_pmc_event_a VALUES (1, 2, 1, 41.6), (2, 99, 1, 1.0);";

/* The form with rocpd_timestamp and tracks, beside the other: another process. */
static const gchar with_stamps[] =
	"CREATE TABLE rocpd_string_b (id INTEGER PRIMARY KEY, string TEXT);"
	"INSERT INTO rocpd_string_b VALUES (1, 'hsa_queue_create'), (2, 'HSA_CORE_API');"
	"CREATE TABLE rocpd_timestamp_b (id INTEGER, value BIGINT);"
	"INSERT INTO rocpd_timestamp_b VALUES (1, 7000), (2, 7100), (3, 7200), (4, 7300);"
	"CREATE TABLE rocpd_info_process_b (id INTEGER, pid INTEGER);"
	"INSERT INTO rocpd_info_process_b VALUES (1, 700);"
	"CREATE TABLE rocpd_info_kernel_symbol_b (id INTEGER, kernel_name TEXT);"
	"INSERT INTO rocpd_info_kernel_symbol_b VALUES (4, 'ncclDevKernel_Generic');"
	"CREATE TABLE rocpd_event_b (id INTEGER, category_id INTEGER, stack_id INTEGER);"
	"INSERT INTO rocpd_event_b VALUES (1, 2, 1);"
	"CREATE TABLE rocpd_track_b (id INTEGER, pid INTEGER, tid INTEGER, queue_id INTEGER);"
	"INSERT INTO rocpd_track_b VALUES (8, 1, NULL, 2);"
	"CREATE TABLE rocpd_region_b (id INTEGER PRIMARY KEY, track_id INTEGER, name_id INTEGER,"
	" start_id INTEGER, end_id INTEGER, event_id INTEGER);"
	"INSERT INTO rocpd_region_b VALUES (1, 8, 1, 1, 2, 1);"
	"CREATE TABLE rocpd_kernel_dispatch_b (id INTEGER PRIMARY KEY, track_id INTEGER,"
	" kernel_id INTEGER, start_id INTEGER, end_id INTEGER);"
	"INSERT INTO rocpd_kernel_dispatch_b VALUES (1, 8, 4, 3, 4), (2, 8, 4, 3, 77);";

static void test_times(void)
{
	gchar *path = sqlite_text_write("1_results.db", with_times);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoDevice *device;
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "gemm", 0);
	guint32 copy = timeline_find(timeline, "MEMORY_COPY_DEVICE_TO_HOST", 0);
	guint32 range = timeline_find(timeline, "iteration 7", 0);
	const TachoTrack *stream = tacho_timeline_track(timeline, slices->track[kernel]);
	const TachoProcess *process = tacho_slice_process(timeline, range);
	g_autofree gchar *args = tacho_slice_args_json(timeline, kernel);
	TachoKernelArgs bytes;

	g_assert_cmpint(process->rank, ==, 2);
	g_assert_cmpint(process->world_size, ==, 4);
	g_assert_cmpuint(process->pid, ==, 700);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->host), ==, "node1");
	g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==, "train");
	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_cmpuint(slices->launch[copy], ==, timeline_find(timeline, "hipMemcpy", 0));
	g_assert_cmpint(stream->device, ==, 3);
	g_assert_cmpuint(stream->tid, ==, 9);
	g_assert_cmpstr(tacho_timeline_string(
				timeline,
				tacho_timeline_track(
					timeline, slices->track[timeline_find(timeline, "gemm", 1)])
					->name),
			==, "queue 6");
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[copy])->device, ==, 3);
	g_assert_true(tacho_slice_kernel(timeline, copy, &bytes));
	g_assert_cmpuint(bytes.bytes, ==, 8192);
	g_assert_nonnull(strstr(args, "\"grid_size_x\":64"));
	g_assert_cmpint(slices->kind[range], ==, TACHO_SLICE_ANNOTATION);
	g_assert_cmpint(slices->kind[timeline_find(timeline, "ncclAllReduce", 0)], ==,
			TACHO_SLICE_EVENT);
	g_assert_cmpuint(timeline->devices->len, ==, 1);
	device = &g_array_index(timeline->devices, TachoDevice, 0);
	g_assert_cmpint(device->number, ==, 3);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "AMD Instinct MI300X");
	g_assert_cmpstr(tacho_timeline_string(timeline, device->architecture), ==, "gfx942");
	g_assert_cmpuint(device->n_multiprocessors, ==, 304);
	g_assert_cmpuint(device->warp_threads, ==, 64);
	g_assert_cmpuint(device->multiprocessor_threads, ==, 32 * 64);
	g_assert_cmpuint(device->multiprocessor_shared_bytes, ==, 64 * 1024);
	g_assert_cmpuint(device->block_threads, ==, 1024);
	g_assert_cmpuint(device->clock_hz, ==, 2100000000);
	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->memory, TachoMemoryEvent, 0).bytes, ==, 100);
	g_assert_cmpint(g_array_index(timeline->memory, TachoMemoryEvent, 1).bytes, ==, 0);
	timeline_find(timeline, "RECLAIM", 0);
	g_assert_cmpuint(timeline->samples->len, ==, 1);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 41.6);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	foreign_remove(path);
}

static void test_two_recordings(void)
{
	g_autofree gchar *sql = g_strconcat(with_times, with_stamps, NULL);
	gchar *path = sqlite_text_write("2_results.db", sql);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	guint32 kernel = timeline_find(timeline, "ncclDevKernel_Generic", 0);

	g_assert_cmpuint(timeline->processes->len, ==, 2); /* of one pid */
	g_assert_cmpint(timeline->slices.kind[kernel], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_cmpint(timeline->slices.start_ns[kernel], ==, 7200 - 900);
	g_assert_cmpint(timeline->slices.duration_ns[kernel], ==, 100);
	g_assert_cmpint(timeline->slices.kind[timeline_find(timeline, "hsa_queue_create", 0)], ==,
			TACHO_SLICE_RUNTIME);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 2);
	foreign_use(timeline);
	foreign_remove(path);
}

static void test_damaged(void)
{
	g_autofree gchar *sql = g_strconcat(with_times, with_stamps, NULL);
	gchar *path = sqlite_text_write("3_results.db", sql);

	foreign_damage(path, 300);
	foreign_remove(path);
}

/* --- rocprof v1 ----------------------------------------------------------------------------- */

static const gchar version_one[] =
	"PRAGMA page_size = 512;"
	"CREATE TABLE HIP (BeginNs INTEGER, EndNs INTEGER, pid INTEGER, tid INTEGER, Name TEXT,"
	" args TEXT, \"Index\" INTEGER);"
	"INSERT INTO HIP VALUES (100, 200, 7, 7, 'hipLaunchKernel', '', 1),"
	" (300, 900, 7, 7, 'hipMemcpy', '', 2), (950, 960, 7, 7, 'hipFree', '', 3);"
	"CREATE TABLE KERN (\"Index\" INTEGER, KernelName TEXT, \"gpu-id\" INTEGER,"
	" \"queue-id\" INTEGER, pid INTEGER, tid INTEGER, DispatchNs INTEGER, BeginNs INTEGER,"
	" EndNs INTEGER);"
	"INSERT INTO KERN VALUES (0, '\"gemm(float*) [clone .kd]\"', 1, 4, 7, 7, 150, 250, 290),"
	" (1, '\"late.kd\"', 1, 4, 7, 7, 940, 950, 990);"
	"CREATE TABLE COPY (BeginNs INTEGER, EndNs INTEGER, Name TEXT, pid INTEGER, tid INTEGER,"
	" \"Index\" INTEGER);"
	"INSERT INTO COPY VALUES (400, 800, 'CopyDeviceToHost', 7, 7, 2),"
	" (910, 920, 'async-copy', 7, 7, 3);";

static void test_version_one(void)
{
	gchar *path = sqlite_text_write("result.db", version_one);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "gemm(float*)", 0);

	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_cmpuint(slices->launch[timeline_find(timeline, "late", 0)], ==, TACHO_NONE);
	g_assert_cmpuint(slices->launch[timeline_find(timeline, "CopyDeviceToHost", 0)], ==,
			 timeline_find(timeline, "hipMemcpy", 0));
	/* hipFree copies nothing */
	g_assert_cmpuint(slices->launch[timeline_find(timeline, "async-copy", 0)], ==, TACHO_NONE);
	g_assert_cmpuint(tacho_timeline_track(timeline, slices->track[kernel])->tid, ==, 4);
	foreign_use(timeline);
	foreign_damage(path, 200);
	foreign_remove(path);
}

/* The counts that the samples' README measured. */
static void test_samples(void)
{
	static const struct {
		const gchar *name;
		guint n_kernels, n_calls, n_copies, n_launched;
	} samples[] = {
		{ "rocprof/hip_course/v1/result.db", 1, 44 + 9570, 3, 1 },
		{ "rocprof/hip_course/hip_only/result.db", 1, 46, 3, 4 },
		{ "rocprof/hip_course/wave2d_sync/wave2d_sync.db.gz", 643, 3223 + 19626, 638,
		  643 + 638 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *path = foreign_sample(samples[i].name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		guint n_launched = 0;

		if (!timeline)
			return;
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==,
				 samples[i].n_kernels);
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==,
				 samples[i].n_calls);
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==,
				 samples[i].n_copies);
		for (guint32 k = 0; k < timeline->slices.n; k++)
			n_launched += timeline->slices.launch[k] != TACHO_NONE;
		g_assert_cmpuint(n_launched, ==, samples[i].n_launched);
		g_assert_cmpuint(timeline->problems->len, ==, 0);
		foreign_use(timeline);
	}
}

static void test_damaged_sample(void)
{
	g_autofree gchar *path = foreign_sample("rocprof/hip_course/hip_only/result.db");

	if (path)
		foreign_damage(path, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rocpd/times", test_times);
	g_test_add_func("/rocpd/two-recordings", test_two_recordings);
	g_test_add_func("/rocpd/damaged", test_damaged);
	g_test_add_func("/rocprof_db/version-one", test_version_one);
	g_test_add_func("/rocprof_db/samples", test_samples);
	g_test_add_func("/rocprof_db/damaged-sample", test_damaged_sample);
	return g_test_run();
}
