/* Exports of Nsight Systems become what they say: one made here with every table that is read, and those that
 * others made. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "sqlite_text.h"
#include "timeline_text.h"
#include "trace/call_kind.h"

/* Process 7 with the threads 7 and 8, on machine 256: (256 << 24 | 7) << 24. */
#define PID  "72057594155368448"
#define TID7 "72057594155368455"
#define TID8 "72057594155368456"

static const gchar all_tables[] =
	"PRAGMA page_size = 512;"
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm<float>'), (3, "
	"'gemm'),"
	" (4, 'main thread'), (5, 'cudaEventSynchronize_v3020'), (6, 'read'), (7, "
	"'cudaGraphLaunch'),"
	" (8, 'MPI_Allreduce'), (9, 'step 5'), (10, 'step 6'), (11, 'leaf'), (12, 'caller'),"
	" (13, 'cudaMalloc_v3020'), (14, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),"
	" (15, 'cudaGraphAddKernelNode'), (16, 'clEnqueue');"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);"
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '');"
	"CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
	"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('CpuCores', '16'), ('Hostname', 'node7');"
	"CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER,"
	" memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, cuDevice INTEGER,"
	" maxShmemPerBlock INTEGER, maxShmemPerSm INTEGER, maxRegistersPerBlock INTEGER,"
	" maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER,"
	" maxThreadsPerBlock INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
	"INSERT INTO TARGET_INFO_GPU VALUES"
	" (0, 'unused', 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1),"
	" (1, 'NVIDIA L4', 24000000000, 300000000000, 2040000000, 58, 1,"
	" 49152, 102400, 65536, 65535, 32, 48, 1024, 8, 9);"
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"INSERT INTO PROCESSES VALUES (" PID ", 7, 'train'), (1, 9, 'somebody else');"
	"CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
	"INSERT INTO ThreadNames VALUES (4, 20, " TID7 ");"
	"CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
	"INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'SLURM_PROCID=9'),"
	" ('PROCESS_0:ENVIRONMENT_VARIABLE', 'RANK=3'), ('X', 'RANK=4'),"
	" ('PROCESS_0:ENVIRONMENT_VARIABLE', 'WORLD_SIZE=8');"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"
	" globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 0, " TID7 ", 1, 1, 0),"
	" (2000, 9000, 0, " TID7 ", 2, 5, 0), (9100, 9200, 0, " TID7 ", 3, 7, 0),"
	" (9300, 9400, 0, " TID7 ", 4, 13, 0), (9500, 9600, 0, " TID7 ", 5, 1, 0),"
	" (9700, 9710, 0, " TID7 ", 6, 1, 0);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
	" streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,"
	" shortName INTEGER, gridX INTEGER, graphNodeId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3000, 8000, 1, 13, 1, " PID
	", 2, 3, 64, NULL),"
	" (9150, 9250, 1, 13, 3, " PID ", 2, 3, 64, 77), (9600, 9900, 1, 14, 5, " PID
	", 14, 14, 2, NULL);"
	"CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, end INTEGER, nameId INTEGER,"
	" globalTid INTEGER, graphNodeId INTEGER);"
	"INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (500, 510, 15, " TID7 ", 77);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,"
	" streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,"
	" copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (8100, 8200, 1, 13, 99, " PID
	", 4096, 1, 0, 2);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER,"
	" streamId INTEGER, globalPid INTEGER, bytes INTEGER, memKind INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (8300, 8310, 1, 13, " PID ", 64, 2);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER,"
	" deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
	" syncType INTEGER, eventId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
	" (2100, 8900, 1, 4294967295, 2, " PID ", 2, 5), (8950, 8960, 1, 13, 0, " PID ", 3, 5);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, eventId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (1, 13, 6, " PID
	", 5), (1, 13, 666, " PID ", 5);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId "
	"INTEGER,"
	" streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (9950, 9990, 1, 13, 3, " PID ", 12);"
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER,"
	" deviceId INTEGER, address INTEGER, bytes INTEGER, memoryOperationType INTEGER,"
	" correlationId INTEGER);"
	"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (9350, " PID ", 1, 4660, 1000, 0, 4),"
	" (9980, " PID ", 1, 4660, 1000, 1, 0);"
	"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
	" textId INTEGER, globalTid INTEGER, endGlobalTid INTEGER);"
	"INSERT INTO NVTX_EVENTS VALUES (900, 9950, 59, NULL, 9, " TID7 ", NULL),"
	" (9960, 20000, 59, NULL, 10, " TID7 ", NULL),"
	" (950, 1600, 59, 'aten::mm, seq = 12, op_id = 4', NULL, " TID7 ", NULL),"
	" (100, 9990, 60, 'whole', NULL, " TID7 ", " TID8 "), (300, NULL, 34, 'here', NULL, " TID8
	", NULL), (9970, NULL, 59, 'never ended', NULL, " TID7 ", NULL),"
	" (0, NULL, 75, 'a domain', NULL, " TID7 ", NULL);"
	"CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER,"
	" textId INTEGER, size INTEGER);"
	"INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (9800, 9850, " TID7 ", 8, 512);"
	"CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
	"INSERT INTO OSRT_API VALUES (200, 250, " TID8 ", 6);"
	"CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER, isSchedIn INTEGER,"
	" globalTid INTEGER);"
	"INSERT INTO SCHED_EVENTS VALUES (100, 4, 1, " TID7 "), (700, 4, 0, " TID7 "),"
	" (800, 4, 1, " TID8 ");"
	"CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER,"
	" globalTid INTEGER);"
	"INSERT INTO COMPOSITE_EVENTS VALUES (1, 450, 4, " TID7 ");"
	"CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, stackDepth INTEGER);"
	"INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 11, 0), (1, 12, 1);"
	"CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);"
	"INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 3, 'SM Active');"
	"CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER,"
	" value INTEGER);"
	"INSERT INTO GPU_METRICS VALUES (600, 1, 3, 42.625), (NULL, 1, 3, 43);"
	"CREATE TABLE OPENCL_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
	"INSERT INTO OPENCL_API VALUES (260, 270, " TID8 ", 16), ('soon', 270, " TID8 ", 16);";

static guint32 slice_on(const TachoTimeline *timeline, const gchar *name, gint64 start_ns)
{
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (strcmp(tacho_slice_name(timeline, i), name) == 0 &&
		    timeline->slices.start_ns[i] == start_ns)
			return i;
	g_error("no slice %s at %" G_GINT64_FORMAT, name, start_ns);
}

/* Times are since the first one, 100. */
static TachoTimeline *open_all(gchar **ret_path)
{
	*ret_path = sqlite_text_write("rank-1.sqlite", all_tables);
	return foreign_open(*ret_path);
}

/* A graph's node that was captured in an op, and launched as the clone of its clone; another process has a node
 * of that number, too. */
static const gchar cloned_nodes[] =
	"PRAGMA page_size = 512;"
	"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO StringIds VALUES (1, 'aten::mm, op_id = 1'), (2, 'gemm'),"
	" (3, 'cudaGraphLaunch_v10000'), (4, 'Graph Node Creation'), (5, 'aten::relu, op_id = 2');"
	"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, textId INTEGER,"
	" globalTid INTEGER);"
	"INSERT INTO NVTX_EVENTS VALUES (1000, 2000, 59, 1, " TID7 "), (2100, 3000, 59, 5, " TID7
	");"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,"
	" correlationId INTEGER, nameId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5000, 5100, " TID7 ", 9, 3);"
	"CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, end INTEGER, nameId INTEGER,"
	" globalTid INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER);"
	"INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (1500, 1510, 4, " TID7 ", 40, NULL),"
	" (4000, 4001, 4, " TID7 ", 50, 40), (4100, 4101, 4, " TID7 ", 60, 50),"
	" (4200, 4201, 4, " TID7 ", 60, NULL), (2200, 2210, 4, 1, 40, NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
	" streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER,"
	" graphNodeId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (6000, 7000, 0, 7, 9, " PID ", 2, 60),"
	" (7000, 7500, 0, 7, 9, " PID ", 2, 61);";

static void test_cloned_nodes(void)
{
	gchar *path = sqlite_text_write("x.sqlite", cloned_nodes);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	guint32 captured = timeline_find(timeline, "gemm", 0);
	guint32 other = timeline_find(timeline, "gemm", 1);
	const TachoGraphWork *work;

	tacho_correlate(timeline);
	work = tacho_slice_borrow_graph_work(timeline, captured);
	g_assert_nonnull(work);
	g_assert_cmpint(work->node, ==, 60);
	g_assert_true(work->is_exact);
	g_assert_cmpuint(tacho_kernel_op(timeline, captured), ==,
			 timeline_find(timeline, "aten::mm", 0));
	/* of this one nothing tells who made it */
	work = tacho_slice_borrow_graph_work(timeline, other);
	g_assert_nonnull(work);
	g_assert_cmpuint(work->capture, ==, TACHO_NONE);
	foreign_remove(path);
}

static void test_device(void)
{
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_all(&path);
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = slice_on(timeline, "gemm<float>", 2900);
	guint32 in_graph = slice_on(timeline, "gemm<float>", 9050);
	guint32 copy = timeline_find(timeline, "Memcpy HtoD (Pageable -> Device)", 0);
	const TachoTrack *stream = tacho_timeline_track(timeline, slices->track[kernel]);
	g_autofree gchar *args = tacho_slice_args_json(timeline, kernel);
	TachoKernelArgs kernel_args;
	const TachoFlow *flow;

	g_assert_cmpint(stream->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpuint(stream->tid, ==, 13);
	g_assert_cmpint(stream->device, ==, 1);
	g_assert_cmpuint(slices->launch[kernel], ==,
			 timeline_find(timeline, "cudaLaunchKernel", 0));
	g_assert_cmpstr(args, ==,
			"{\"start\":3000,\"end\":8000,\"deviceId\":1,\"streamId\":13,"
			"\"correlationId\":1,\"globalPid\":" PID
			",\"demangledName\":2,\"shortName\":3,\"gridX\":64}");
	g_assert_false(tacho_slice_kernel(timeline, kernel, &kernel_args));
	g_assert_true(tacho_slice_kernel(timeline, copy, &kernel_args));
	g_assert_cmpuint(kernel_args.bytes, ==, 4096);
	g_assert_cmpuint(slices->launch[copy], ==, TACHO_NONE);
	/* of a graph: launched by it, made elsewhere */
	g_assert_cmpuint(slices->launch[in_graph], ==,
			 timeline_find(timeline, "cudaGraphLaunch", 0));
	g_assert_cmpuint(timeline->flows->len, ==, 1);
	flow = &g_array_index(timeline->flows, TachoFlow, 0);
	g_assert_cmpuint(flow->from, ==, timeline_find(timeline, "cudaGraphAddKernelNode", 0));
	g_assert_cmpuint(flow->to, ==, in_graph);
	timeline_find(timeline, "CUDA graph 12", 0);
	timeline_find(timeline, "Memset (Device)", 0);
	/* one is named by its call, the other by its type */
	g_assert_cmpint(call_kind_of(timeline, timeline_find(timeline, "Event sync", 0)), ==,
			CALL_EVENT_SYNC);
	g_assert_cmpint(call_kind_of(timeline, timeline_find(timeline, "Stream sync", 0)), ==,
			CALL_STREAM_SYNC);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 2);
	g_assert_cmpint(timeline_find_mark(timeline, "event recorded")->time_ns, ==, 9600);
	g_assert_cmpint(timeline_find_mark(timeline, "event recorded")->first, ==, 5);
	foreign_remove(path);
}

/* Of the devices of a machine those are kept that the process used. */
static void test_device_table(void)
{
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_all(&path);
	const TachoDevice *device = &g_array_index(timeline->devices, TachoDevice, 0);

	g_assert_cmpuint(timeline->devices->len, ==, 1);
	g_assert_cmpint(device->number, ==, 1);
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, device->process).pid, ==,
			 7);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "NVIDIA L4");
	g_assert_cmpstr(tacho_timeline_string(timeline, device->architecture), ==, "8.9");
	g_assert_cmpuint(device->memory_bytes, ==, 24000000000);
	g_assert_cmpuint(device->peak_bytes_per_s, ==, 300000000000);
	g_assert_cmpuint(device->clock_hz, ==, 2040000000);
	g_assert_cmpuint(device->n_multiprocessors, ==, 58);
	g_assert_cmpuint(device->warp_threads, ==, 32);
	g_assert_cmpuint(device->multiprocessor_threads, ==, 48 * 32);
	g_assert_cmpuint(device->multiprocessor_registers, ==, 65535);
	g_assert_cmpuint(device->multiprocessor_shared_bytes, ==, 102400);
	g_assert_cmpuint(device->block_threads, ==, 1024);
	g_assert_cmpuint(device->block_registers, ==, 65536);
	g_assert_cmpuint(device->block_shared_bytes, ==, 49152);
	foreign_remove(path);
}

static void test_host(void)
{
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_all(&path);
	const TachoSlices *slices = &timeline->slices;
	guint32 op = timeline_find(timeline, "aten::mm", 0);
	guint32 open = timeline_find(timeline, "never ended", 0);
	const TachoProcess *process = tacho_slice_process(timeline, op);
	const TachoMemoryEvent *memory = &g_array_index(timeline->memory, TachoMemoryEvent, 0);
	const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, 0);
	TachoCollectiveArgs collective;
	TachoOpArgs args;

	g_assert_cmpint(timeline->origin_unix_ns, ==, G_GINT64_CONSTANT(1700000000000000100));
	g_assert_cmpuint(timeline->processes->len, ==, 2); /* metrics are of no process */
	g_assert_cmpuint(process->pid, ==, 7);
	g_assert_cmpint(process->rank, ==, 3); /* the environment, not the file's name */
	g_assert_cmpint(process->world_size, ==, 8);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->host), ==, "node7");
	g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==, "train");
	g_assert_cmpstr(tacho_timeline_string(
				timeline, tacho_timeline_track(timeline, slices->track[op])->name),
			==, "main thread");
	g_assert_cmpint(slices->kind[op], ==, TACHO_SLICE_OP);
	g_assert_true(tacho_slice_op(timeline, op, &args));
	g_assert_cmpint(args.sequence, ==, 12);
	g_assert_cmpuint(slices->parent[timeline_find(timeline, "cudaLaunchKernel", 0)], ==, op);
	g_assert_true(slices->flags[open] & TACHO_SLICE_OPEN);
	g_assert_cmpint(slices->start_ns[open] + slices->duration_ns[open], ==, 19900);
	g_assert_true(tacho_slice_collective(timeline, timeline_find(timeline, "MPI_Allreduce", 0),
					     &collective));
	g_assert_cmpuint(collective.bytes, ==, 512);
	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpint(memory->bytes, ==, 1000);
	g_assert_cmpuint(memory->device, ==, 2);
	g_assert_cmpuint(memory->slice, ==, timeline_find(timeline, "cudaMalloc", 0));
	g_assert_cmpfloat(sample->value, ==, 42.625);
	g_assert_cmpstr(
		tacho_timeline_string(timeline, timeline_find_mark(timeline, "sample")->text), ==,
		"leaf < caller");
	g_assert_cmpstr(
		tacho_timeline_string(timeline, timeline_find_mark(timeline, "NVTX mark")->text),
		==, "here");
	/* who had core 4 */
	g_assert_cmpint(slices->duration_ns[timeline_find(timeline, "main thread", 0)], ==, 600);
	g_assert_true(slices->flags[timeline_find(timeline, "thread 8", 0)] & TACHO_SLICE_OPEN);
	timeline_find(timeline, "clEnqueue", 0);
	/* a metric without time, an unknown table's row without begin */
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 2);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->steps, TachoStep, 0).start_ns, ==, 800);
	foreign_remove(path);
}

static void test_no_session_time(void)
{
	gchar *path = sqlite_text_write(
		"old.sqlite", "CREATE TABLE StringIds (id INTEGER, value TEXT);"
			      "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER);"
			      "INSERT INTO OSRT_API VALUES (5, 4, 1), (6, 7, NULL),"
			      " (9223372036854775807, -9223372036854775808, 1);");
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	g_assert_cmpuint(timeline->slices.n, ==, 3);
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME)->count, >=, 2);
	foreign_use(timeline);
	foreign_remove(path);
}

static void test_nothing(void)
{
	gchar *path =
		sqlite_text_write("no.sqlite", "CREATE TABLE StringIds (id INTEGER, value TEXT);");
	g_autofree gchar *message = foreign_open_fails(path);

	g_assert_nonnull(strstr(message, "no events"));
	foreign_remove(path);
}

static void test_damaged(void)
{
	gchar *path = sqlite_text_write("all.sqlite", all_tables);

	foreign_damage(path, 300);
	foreign_remove(path);
}

/* The counts that the samples' README measured. */
static void test_samples(void)
{
	g_autofree gchar *path =
		foreign_sample("nsys/hip_course/nsys_trace_example/results.sqlite");
	g_autofree gchar *old = foreign_sample("nsys/hip_course/nsys_trace/results.sqlite");
	g_autoptr(TachoTimeline) timeline = NULL, without = NULL;
	guint n_launched = 0, n_os = 0;

	if (!path || !old)
		return;
	timeline = foreign_open(path);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 3);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==, 38);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_SYNC), ==, 9);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);

		n_launched += timeline->slices.launch[i] != TACHO_NONE;
		n_os += g_str_has_prefix(tacho_timeline_string(timeline, track->name),
					 "OSRT_API of thread ");
	}
	g_assert_cmpuint(n_launched, ==, 1 + 3 + 9);
	g_assert_cmpuint(n_os, ==, 2435);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD));
	foreign_use(timeline);
	/* an older schema, without a table of the device */
	without = foreign_open(old);
	g_assert_cmpuint(foreign_count_kind(without, TACHO_SLICE_EVENT), ==, 679 + 6);
	g_assert_cmpuint(foreign_count_kind(without, TACHO_SLICE_KERNEL), ==, 0);
	foreign_use(without);
}

static void test_damaged_sample(void)
{
	g_autofree gchar *path =
		foreign_sample("nsys/hip_course/nsys_trace_example/results.sqlite");

	if (path)
		foreign_damage(path, 40);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/nsys/device", test_device);
	g_test_add_func("/nsys/device-table", test_device_table);
	g_test_add_func("/nsys/host", test_host);
	g_test_add_func("/nsys/no-session-time", test_no_session_time);
	g_test_add_func("/nsys/nothing", test_nothing);
	g_test_add_func("/nsys/damaged", test_damaged);
	g_test_add_func("/nsys/samples", test_samples);
	g_test_add_func("/nsys/damaged-sample", test_damaged_sample);
	g_test_add_func("/nsys_import/cloned_nodes", test_cloned_nodes);
	return g_test_run();
}
