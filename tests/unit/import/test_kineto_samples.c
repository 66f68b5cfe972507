/* Real Kineto traces, with what their origins expect of them: the README beside them names each. They are
 * looked for in $TACHO_SHARED or beside the source, and the tests are skipped where they are not. */
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "base/interval_set.h"
#include "foreign_traces.h"
#include "timeline_text.h"

static TachoTimeline *open_sample(const gchar *name)
{
	g_autofree gchar *below = g_build_filename("kineto", name, NULL);

	return foreign_open_sample(below);
}

static guint count_kind(const TachoTimeline *timeline, TachoSliceKind kind)
{
	guint count = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		count += timeline->slices.kind[i] == kind;
	return count;
}

/* How long any slice of the kinds is open, a set of bits. */
static gint64 measure_union(const TachoTimeline *timeline, guint kinds)
{
	struct interval_set set;
	gint64 measured_ns;

	interval_set_init(&set);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (kinds & 1u << timeline->slices.kind[i])
			interval_set_add(&set, timeline->slices.start_ns[i],
					 tacho_slice_end_ns(timeline, i));
	interval_set_normalize(&set);
	measured_ns = interval_set_measure(&set, G_MININT64 / 2, G_MAXINT64 / 2);
	interval_set_release(&set);
	return measured_ns;
}

#define BIT(kind) (1u << TACHO_SLICE_##kind)
#define KERNELS	  (BIT(KERNEL) | BIT(COLLECTIVE))
#define BUSY	  (KERNELS | BIT(MEMCPY) | BIT(MEMSET))

/* The text of the first mark of that name, NULL: there is none. */
static const gchar *mark_text(const TachoTimeline *timeline, const gchar *name)
{
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);

		if (strcmp(tacho_timeline_string(timeline, mark->name), name) == 0)
			return tacho_timeline_string(timeline, mark->text);
	}
	return NULL;
}

/* A3 */
static void test_rank_from_content(void)
{
	const gchar *distributed;
	g_autofree gchar *devices = NULL;

	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz");

	if (!timeline)
		return;
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 34);
	g_assert_cmpint(timeline->expected_ranks, ==, 300);
	g_assert_cmpstr(mark_text(timeline, "schemaVersion"), ==, "1");
	distributed = mark_text(timeline, "distributedInfo");
	g_assert_nonnull(strstr(distributed, "\"backend\": \"gloo\""));
	g_assert_nonnull(strstr(distributed, "\"pg_count\": 10"));
	devices = g_strdup(mark_text(timeline, "deviceProperties"));
	g_assert_cmpstr(g_strstrip(g_strdelimit(devices, "[]\n", ' ')), ==, "");
}

/* "Ranks": without one it is rank 0, with a warning where it is one of several. */
static void test_rank_unknown(void)
{
	g_autoptr(TachoTimeline) unavailable =
		open_sample("hta/rank_unavailable/rank_not_found.json.gz");
	g_autoptr(TachoTimeline) listed =
		open_sample("hta/trace_file_list/inference_rank_1.json.gz");

	if (!unavailable || !listed)
		return;
	g_assert_cmpint(g_array_index(unavailable->ranks, TachoRank, 0).rank, ==, 0);
	g_assert_nonnull(tacho_timeline_find_problem(unavailable, TACHO_PROBLEM_UNKNOWN_RANK));
	g_assert_cmpint(g_array_index(listed->ranks, TachoRank, 0).rank, ==, 1);
	g_assert_cmpuint(count_kind(listed, TACHO_SLICE_KERNEL), ==, 4); /* old categories */
	g_assert_cmpuint(count_kind(listed, TACHO_SLICE_RUNTIME), ==, 8);
}

/* The operations that a thread runs at a time: the outermost and the innermost. */
static void find_ops_at(const TachoTimeline *timeline, gint64 time_ns, const gchar **ret_outermost,
			const gchar **ret_innermost)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		if (timeline->slices.kind[i] != TACHO_SLICE_OP ||
		    timeline->slices.start_ns[i] > time_ns ||
		    tacho_slice_end_ns(timeline, i) <= time_ns)
			continue;
		if (!*ret_outermost) /* a parent stands before its children */
			*ret_outermost = tacho_slice_name(timeline, i);
		*ret_innermost = tacho_slice_name(timeline, i);
	}
}

static gint compare_times(gconstpointer a, gconstpointer b, gpointer data)
{
	const gint64 *start_ns = data;
	gint64 left_ns = start_ns[*(const guint32 *)a], right_ns = start_ns[*(const guint32 *)b];

	return (left_ns > right_ns) - (left_ns < right_ns);
}

/* A9: as many ranges, and the one of row 5 of them by time, with its counter and the operations around it. */
static void test_profiler_ranges(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz");
	g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(guint32));
	const gchar *outermost = NULL, *innermost = NULL;
	g_autofree gchar *args = NULL;
	guint32 fifth;

	if (!timeline)
		return;
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		g_autofree gchar *told = tacho_slice_args_json(timeline, i);

		if (timeline->slices.kind[i] == TACHO_SLICE_EVENT && told &&
		    strstr(told, "smsp__sass"))
			g_array_append_val(ranges, i);
	}
	g_assert_cmpuint(ranges->len, ==, 77);
	g_array_sort_with_data(ranges, compare_times, timeline->slices.start_ns);
	fifth = g_array_index(ranges, guint32, 5);
	args = tacho_slice_args_json(timeline, fifth);
	g_assert_nonnull(strstr(tacho_slice_name(timeline, fifth), "fft2d_r2c_32x32"));
	g_assert_nonnull(strstr(args, "fadd_pred_on.sum\": 86114304"));
	find_ops_at(timeline, timeline->slices.start_ns[fifth], &outermost, &innermost);
	g_assert_cmpstr(outermost, ==, "aten::conv2d");
	g_assert_cmpstr(innermost, ==, "aten::cudnn_convolution");
}

/* A12; the origin leaves out the profiler's own events (category "Trace") where it looks for the begin. */
static void test_base_time(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/triton_example/triton_example.json.gz");
	gint64 first_ns = G_MAXINT64;
	guint n_triton = 0;

	if (!timeline)
		return;
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		g_autofree gchar *args = tacho_slice_args_json(timeline, i);

		if (timeline->slices.kind[i] != TACHO_SLICE_EVENT)
			first_ns = MIN(first_ns, timeline->slices.start_ns[i]);
		if (args && strstr(args, "\"triton\"")) {
			g_assert_cmpstr(tacho_slice_name(timeline, i), ==,
					"triton_poi_fused_add_cos_sin_0");
			g_assert_nonnull(strstr(
				args, "cqaokwf2bph4egogzevc22vluasiyuui4i54zpemp6knbsggfbuu"));
			n_triton++;
		}
	}
	g_assert_cmpuint(n_triton, ==, 1);
	g_assert_cmpint(
		ABS(timeline->origin_unix_ns + first_ns -
		    (G_GINT64_CONSTANT(2413669096090100) + G_GINT64_CONSTANT(1727743122000000000))),
		<=, 1000);
}

/* A14 */
static void test_collective_args(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("hta/nccl_parser_config/nccl_data.json.gz");
	static const gchar *const told[] = {
		"\"Collective name\": \"allreduce\"",
		"\"In msg nelems\": 2049000",
		"\"Out msg nelems\": 2049000",
		"\"In split size\": \"[]\"",
		"\"Out split size\": \"[]\"",
		"\"Process Group Name\": \"0\"",
		"\"Process Group Description\": \"default_pg\"",
		"\"Process Group Ranks\": \"[0, 1]\"",
	};
	guint32 longest = TACHO_NONE;
	g_autofree gchar *json = NULL;
	TachoCollectiveArgs args;

	if (!timeline)
		return;
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 21);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    (longest == TACHO_NONE ||
		     timeline->slices.duration_ns[i] > timeline->slices.duration_ns[longest]))
			longest = i;
	g_assert_true(tacho_slice_collective(timeline, longest, &args));
	g_assert_cmpuint(args.bytes, ==, 2049000 * 4);
	g_assert_cmpuint(args.group, !=, 0);
	g_assert_cmpstr(mark_text(timeline, "process_group"), ==, "ranks=0,1 name=0");
	json = tacho_slice_args_json(timeline, longest);
	for (guint i = 0; i < G_N_ELEMENTS(told); i++)
		g_assert_nonnull(strstr(json, told[i]));
}

/* Whether a slice of that name is around what launched `slice`. */
static gboolean is_launched_in(const TachoTimeline *timeline, guint32 slice, const gchar *name)
{
	for (guint32 i = timeline->slices.launch[slice]; i != TACHO_NONE;
	     i = timeline->slices.parent[i])
		if (strcmp(tacho_slice_name(timeline, i), name) == 0)
			return TRUE;
	return FALSE;
}

/* A15: the user's annotations; what was launched in which. The origin leaves out the last step, which it
 * calls incomplete: its annotation, what was launched after its begin, and annotations of the device that
 * begin after it. Here it is part of the trace. */
static void test_launches(void)
{
	static const gchar last_step[] = "ProfilerStep#105";
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz");
	g_autoptr(GHashTable) host = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) device = g_hash_table_new(NULL, NULL);
	guint n_found = 0, n_device = 0, n_optimizer = 0;
	gint64 last_step_ns;

	if (!timeline)
		return;
	g_assert_cmpint(timeline->resolution_ns, ==, 0);
	last_step_ns = timeline->slices.start_ns[timeline_find(timeline, last_step, 0)];
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);
		guint8 kind = timeline->slices.kind[i];
		g_autofree gchar *args = NULL;

		if (kind == TACHO_SLICE_ANNOTATION &&
		    strcmp(tacho_slice_name(timeline, i), last_step) != 0)
			g_hash_table_add(track->kind == TACHO_TRACK_STREAM ? device : host,
					 GUINT_TO_POINTER(timeline->slices.name[i]));
		if (!(BUSY & 1u << kind))
			continue;
		g_assert_cmpuint(timeline->slices.launch[i], !=, TACHO_NONE);
		if (timeline->slices.start_ns[timeline->slices.launch[i]] < last_step_ns) {
			n_device++;
			n_optimizer += timeline->slices.start_ns[i] < last_step_ns &&
				       is_launched_in(timeline, i, "Optimizer.step#SGD.step");
		}
		if (kind == TACHO_SLICE_MEMCPY || strstr(tacho_slice_name(timeline, i), "multi_"))
			args = tacho_slice_args_json(timeline, i);
		if (args && strstr(args, "\"correlation\": 135139,")) {
			g_assert_true(
				is_launched_in(timeline, i, "DistributedDataParallel.forward"));
			n_found++;
		} else if (args && strstr(args, "\"correlation\": 164926,")) {
			g_assert_true(is_launched_in(timeline, i, "Optimizer.step#SGD.step"));
			n_found++;
		}
	}
	g_assert_cmpuint(n_found, ==, 2);
	g_assert_cmpuint(n_device, ==, 4876);
	g_assert_cmpuint(n_optimizer, ==, 27);
	g_assert_cmpuint(g_hash_table_size(host), ==, 12);
	g_assert_cmpuint(g_hash_table_size(device), ==, 3);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_ORPHAN_KERNEL));
}

/* A1: what AMD's runtime launched, each by its own call. */
static void test_amd(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz");
	guint n_device = 0;

	if (!timeline)
		return;
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		if (!(BUSY & 1u << timeline->slices.kind[i]))
			continue;
		g_assert_cmpuint(timeline->slices.launch[i], !=, TACHO_NONE);
		g_assert_true(g_str_has_prefix(
			tacho_slice_name(timeline, timeline->slices.launch[i]), "hip"));
		n_device++;
	}
	g_assert_cmpuint(n_device, >, 0);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
}

/* A2. The origin goes on from the autograd thread's outermost op to what the main thread does meanwhile; here a
 * slice's parents are of its own thread. */
static void test_call_stack(void)
{
	static const gchar *const stack[] = {
		"cudaLaunchKernel", "aten::mm", "AddmmBackward0",
		"autograd::engine::evaluate_function: AddmmBackward0"
	};
	g_autoptr(TachoTimeline) timeline = open_sample("hta/call_stack/backward_thread.json");
	guint32 kernel, at;

	if (!timeline)
		return;
	g_assert_cmpuint(timeline->slices.n, ==, 7);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	kernel = timeline_find(
		timeline,
		"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>", 0);
	at = timeline->slices.launch[kernel];
	for (guint i = 0; i < G_N_ELEMENTS(stack); i++) {
		g_assert_cmpuint(at, !=, TACHO_NONE);
		g_assert_cmpstr(tacho_slice_name(timeline, at), ==, stack[i]);
		at = timeline->slices.parent[at];
	}
	g_assert_cmpuint(at, ==, TACHO_NONE);
	g_assert_cmpuint(timeline->slices.parent[timeline_find(timeline, "## backward ##", 0)], ==,
			 timeline_find(timeline, "ProfilerStep#552", 0));
}

/* A6: waits for a whole device stand on a queue of their own. */
static void test_device_waits(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/critical_path/cuda_event_sync/event_sync_trace.json.gz");
	guint n_device = 0, n_stream = 0;

	if (!timeline)
		return;
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);
		gboolean is_sync = timeline->slices.kind[i] == TACHO_SLICE_SYNC;

		n_device += is_sync && track->tid == G_MAXUINT32;
		n_stream += is_sync && track->tid == 7;
	}
	g_assert_cmpuint(n_device, ==, 3);
	g_assert_cmpuint(n_stream, ==, 1);
}

/* A7: the event recorded third (by the call with correlation 1385) came with the first product, though that
 * was not the last work launched before it. */
static void test_event_of_stream(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample(
		"hta/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz");
	guint32 wait, from = TACHO_NONE;

	if (!timeline)
		return;
	wait = timeline_find(timeline, "Stream Wait Event", 0);
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_EVENT_WAIT && flow->to == wait)
			from = flow->from;
	}
	g_assert_cmpuint(from, ==, timeline_find(timeline, "ampere_sgemm_128x64_nn", 0));
	g_assert_cmpuint(tacho_timeline_track(timeline, timeline->slices.track[from])->tid, ==, 20);
}

/* Whether `slice`, or what launched it, is `around` or inside it. */
static gboolean is_under(const TachoTimeline *timeline, guint32 slice, guint32 around)
{
	if (timeline->slices.launch[slice] != TACHO_NONE)
		slice = timeline->slices.launch[slice];
	while (slice != TACHO_NONE && slice != around)
		slice = timeline->slices.parent[slice];
	return slice == around;
}

/* A10: what lies within a stretch of time, and what an operator does on host and device. */
static void test_filters(void)
{
	static const gint64 from_us = 1682725898237042, to_us = 1682725898240570;
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/timeline_analysis/sampled_rank-0.json.gz");
	guint n_within = 0, n_under = 0;
	guint32 forward;

	if (!timeline)
		return;
	forward = timeline_find(timeline, "forward", 0);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gint64 begin_ns = timeline->origin_unix_ns + timeline->slices.start_ns[i];

		n_within += timeline->slices.kind[i] != TACHO_SLICE_EVENT &&
			    begin_ns >= from_us * 1000 &&
			    begin_ns + timeline->slices.duration_ns[i] <= to_us * 1000;
		n_under += is_under(timeline, i, forward);
	}
	g_assert_cmpuint(n_within, ==, 93);
	g_assert_cmpuint(n_under, ==, 146);
}

/* A11: rows and "base totals" of step 1010; what was added and removed holds tests/cli/diff/oracle.sh. */
static void test_trace_compare(void)
{
	static const struct {
		const gchar *name;
		gint64 us;
	} expected[] = { { "ProfilerStep#1010", 122149 }, { "cudaEventQuery", 4 },
			 { "cudaLaunchKernel", 4 },	  { "nccl:all_reduce", 67 },
			 { "aten::as_strided", 0 },	  { "aten::empty", 0 } };
	g_autoptr(TachoTimeline) timeline = open_sample("hta/trace_compare/base/base.json.gz");
	gint64 total_us[G_N_ELEMENTS(expected)] = { 0 }, begin_ns, end_ns;
	guint n_host = 0, n_device = 0;
	guint32 step;

	if (!timeline)
		return;
	step = timeline_find(timeline, "ProfilerStep#1010", 0);
	begin_ns = timeline->slices.start_ns[step];
	end_ns = tacho_slice_end_ns(timeline, step);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		for (guint k = 0; k < G_N_ELEMENTS(expected); k++)
			if (timeline->slices.start_ns[i] >= begin_ns &&
			    timeline->slices.start_ns[i] < end_ns &&
			    strcmp(tacho_slice_name(timeline, i), expected[k].name) == 0)
				total_us[k] += timeline->slices.duration_ns[i] / 1000;
	for (guint k = 0; k < G_N_ELEMENTS(expected); k++)
		g_assert_cmpint(total_us[k], ==, expected[k].us);
	for (guint32 i = 0; i < timeline->slices.n; i++) { /* work counts where it was launched */
		guint32 launch = timeline->slices.launch[i];
		guint32 at = launch == TACHO_NONE ? i : launch;
		gboolean is_work = BUSY >> timeline->slices.kind[i] & 1;

		if (timeline->slices.start_ns[at] < begin_ns ||
		    timeline->slices.start_ns[at] >= end_ns)
			continue;
		n_device += is_work && launch != TACHO_NONE;
		n_host += !is_work;
	}
	g_assert_cmpuint(n_host, ==, 6);
	g_assert_cmpuint(n_device, ==, 1);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 1);
}

/* "Ranks": of two files of one rank the first is read. */
static void assert_step(const gchar *name, gint64 duration_ns)
{
	g_autoptr(TachoTimeline) timeline = open_sample(name);
	const TachoStep *step;

	if (!timeline)
		return;
	step = &g_array_index(timeline->steps, TachoStep, 0);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	g_assert_cmpint(step->end_ns - step->start_ns, ==, duration_ns);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_OVERLAP));
}

/* Python stacks: the region of the step begins in profiler.step() and outlasts it. */
static void test_python_stacks(void)
{
	assert_step("tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz", 7894065);
	assert_step("tracelens/mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
		    1096360466);
}

static void test_two_of_a_rank(void)
{
	g_autofree gchar *first = foreign_sample("kineto/hta/trace_compare/base/base.json.gz");
	g_autofree gchar *second = foreign_sample("kineto/hta/trace_compare/test/test.json.gz");
	const gchar *paths[] = { first, second };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GError) error = NULL;

	if (!first || !second)
		return;
	timeline = tacho_run_open(paths, G_N_ELEMENTS(paths), NULL, NULL, &error);
	g_assert_no_error(error);
	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_DUPLICATE_RANK));
	g_assert_cmpuint(timeline->slices.n, ==, 33);
}

/* A13: without work of a device its queues and copies are nothing, and that is no error. */
static void test_no_device(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("hta/rank_non_gpu/rank_non_gpu.json.gz");
	g_autoptr(TachoTable) queue = NULL, kernels = NULL, device = NULL;

	if (!timeline)
		return;
	for (guint i = 0; i < timeline->tracks->len; i++)
		g_assert_cmpint(tacho_timeline_track(timeline, i)->kind, !=, TACHO_TRACK_STREAM);
	queue = tacho_view_queue(timeline, NULL);
	kernels = tacho_view_kernel(timeline, NULL);
	device = tacho_view_device(timeline, NULL);
	g_assert_cmpuint(tacho_table_n_rows(queue), ==, 0);
	g_assert_cmpuint(tacho_table_n_rows(kernels), ==, 0);
	g_assert_cmpuint(tacho_table_n_rows(device), ==, 0);
	g_assert_cmpuint(tacho_table_n_notes(queue), >, 0);
}

#define NCCL_DATA "hta/nccl_parser_config/nccl_data.json.gz"
#define RESNET_0  "kineto/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
#define RESNET_4  "kineto/samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"
#define NS_TRACE  "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"

/* The highest value of the rows whose `by` is `what`. */
static gdouble highest(const TachoTable *table, const gchar *by, const gchar *what,
		       const gchar *key)
{
	gdouble most = 0;

	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, by), what) == 0)
			most = MAX(most, tacho_table_cell_number(table, row, key));
	return most;
}

/* HTA's get_queue_length_time_series() and get_memory_bw_time_series(), of all that was recorded
 * (include_last_profiler_step). HTA counts queues in whole microseconds, so the time that all work is queued is the
 * same but for those. Each piece of work is two rows of HTA's. */
static void test_curves(void)
{
	static const struct {
		const gchar *file, *by, *what;
		guint rows;
		gdouble most, queued_us;
	} expected[] = {
		{ NCCL_DATA, "kind", "DtoD", 1920, 605.200946, 0 },
		{ NCCL_DATA, "kind", "memset", 228, 1925.218225, 0 },
		{ NCCL_DATA, "stream", "stream 7 ", 7506, 10, 137097 },
		{ NCCL_DATA, "stream", "stream 40 ", 42, 1, 1942 },
		{ RESNET_4, "kind", "HtoD", 24, 6.678772, 0 },
		{ RESNET_4, "kind", "memset", 756, 1057.298714, 0 },
		{ RESNET_4, "stream", "stream 7", 18516, 522, 54419803 },
		{ RESNET_0, "kind", "HtoD", 24, 10.720610, 0 },
		{ RESNET_0, "kind", "memset", 624, 1048.576, 0 },
		{ RESNET_0, "stream", "stream 7", 18192, 569, 100310427 },
		{ NS_TRACE, "kind", "DtoD", 3200, 405.705230, 0 },
		{ NS_TRACE, "kind", "memset", 290, 904.638037, 0 },
		{ NS_TRACE, "stream", "stream 7 ", 12190, 1022, 418903257 },
	};
	TachoFilter whole = TACHO_FILTER_INIT;

	whole.is_whole = TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autoptr(TachoTimeline) timeline = open_sample(expected[i].file);
		gboolean is_queue = strcmp(expected[i].by, "stream") == 0;
		g_autoptr(TachoTable) sums = NULL, curve = NULL;

		if (!timeline)
			return;
		sums = is_queue ? tacho_view_queue(timeline, &whole)
				: tacho_view_bandwidth(timeline, &whole);
		curve = is_queue ? tacho_view_queue_curve(timeline, &whole)
				 : tacho_view_bandwidth_curve(timeline, &whole);
		g_assert_cmpfloat(highest(sums, expected[i].by, expected[i].what, "count"), ==,
				  expected[i].rows / 2);
		g_assert_cmpfloat_with_epsilon(highest(curve, expected[i].by, expected[i].what,
						       is_queue ? "depth" : "gb_per_s"),
					       expected[i].most, 1e-6);
		if (is_queue)
			g_assert_cmpfloat_with_epsilon(
				highest(sums, "stream", expected[i].what, "wait_mean_us") *
					expected[i].rows / 2,
				expected[i].queued_us, expected[i].rows / 40.0);
	}
}

/* A16: a device of a kind of its own, no steps, and each row of the file is there. */
static void test_other_device(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("hta/mtia_inference_trace/mtia_inference_rank_0.json.gz");

	if (!timeline)
		return;
	g_assert_cmpuint(timeline->slices.n, ==, 10346 + 1696 + 1313 + 823 + 1);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_OP), ==, 10346);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 1696);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1313);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_RUNTIME), ==, 823);
	g_assert_cmpint(tacho_step_source(timeline), !=, TACHO_STEPS_ANNOTATED);
	g_assert_nonnull(strstr(mark_text(timeline, "deviceProperties"), "\"ARTEMIS\""));
}

/* K2: "the union of all Kernel rows". */
static void test_kernel_union(void)
{
	g_autoptr(TachoTimeline) none = open_sample(
		"kineto/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz");
	g_autoptr(TachoTimeline) four = open_sample(
		"kineto/samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz");

	if (!none || !four)
		return;
	g_assert_cmpint(measure_union(none, KERNELS), ==, 591532000);
	g_assert_cmpint(measure_union(four, KERNELS), ==, 594868000);
	g_assert_cmpuint(none->steps->len, ==, 6);
}

/* Megatron TP8: eight ranks, and each of their 84 all-reduces on all of them. */
static void test_eight_ranks(void)
{
	static const gint64 nccl_us[] = { 241191, 481306, 413325, 472390,
					  495240, 490928, 263846, 481865 };
	g_autoptr(TachoTimeline) timeline = open_sample("megatron_tp8");
	gint64 total_ns[8] = { 0 }, last_ns[8] = { 0 };
	guint n_kernels[8] = { 0 }, n_collectives[8] = { 0 }, n_activations = 0;

	if (!timeline)
		return;
	g_assert_cmpuint(timeline->ranks->len, ==, 8);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gint rank = tacho_slice_process(timeline, i)->rank;

		n_kernels[rank] += (KERNELS >> timeline->slices.kind[i]) & 1;
		if (timeline->slices.kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		n_collectives[rank]++;
		total_ns[rank] += timeline->slices.duration_ns[i];
		last_ns[rank] = MAX(last_ns[rank], tacho_slice_end_ns(timeline, i));
	}
	for (guint rank = 0; rank < 8; rank++) {
		gint64 last_us = (timeline->origin_unix_ns + last_ns[rank]) / 1000;

		g_assert_cmpuint(n_kernels[rank], ==, 690);
		g_assert_cmpuint(n_collectives[rank], ==, 84);
		g_assert_cmpint(total_ns[rank], ==, nccl_us[rank] * 1000);
		g_assert_true(last_us == 1706850123448799 || last_us == 1706850123448800);
	}
	g_assert_cmpuint(timeline->collectives->len, ==, 84);
	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *collective =
			&g_array_index(timeline->collectives, TachoCollective, i);

		g_assert_cmpuint(collective->n_members, ==, 8);
		n_activations += collective->bytes == 2 * 4 * 2048 * 4096;
	}
	/* of half precision, [4, 2048, 4096] as record_param_comms says */
	g_assert_cmpuint(n_activations, ==, 81);
	g_assert_cmpuint(timeline->steps->len, ==, 8);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_ORPHAN_KERNEL));
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_MISSING_RANK));
}

/* HTA's get_idle_time_breakdown() of each stream, all that was recorded, in microseconds: until the host had launched
 * the next kernel, gaps of up to 30 us, and others. */
static void test_idle(void)
{
	static const struct {
		const gchar *file, *stream;
		gdouble host_us, kernel_us, other_us;
	} expected[] = {
		{ "hta/trace_diff/control/control.json.gz", "stream 7", 133311, 17152, 32751 },
		{ "hta/trace_diff/control/control.json.gz", "stream 20", 424456, 739, 9684 },
		{ "hta/timeline_analysis/sampled_rank-0.json.gz", "stream 7", 397917, 3765,
		  598335 },
		{ "hta/timeline_analysis/sampled_rank-0.json.gz", "stream 25", 560120, 35, 100413 },
		{ "hta/trace_filter/sampled_rank-1.json.gz", "stream 84", 715850, 0, 62586 },
		{ "hta/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz",
		  "stream 24", 0, 15, 0 },
		{ RESNET_0, "stream 7", 382676, 10243, 0 },
		{ RESNET_4, "stream 7", 175026, 10642, 1469 },
	};
	TachoFilter whole = TACHO_FILTER_INIT;

	whole.is_whole = TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autoptr(TachoTimeline) timeline = open_sample(expected[i].file);
		g_autoptr(TachoTable) table = NULL;
		guint row = 0;

		if (!timeline)
			return;
		table = tacho_view_idle(timeline, &whole);
		while (row < tacho_table_n_rows(table)) {
			g_autofree gchar *stream =
				g_strdup(tacho_table_cell_text(table, row, "stream"));

			if (stream && strcmp(g_strstrip(stream), expected[i].stream) == 0)
				break;
			row++;
		}
		g_assert_cmpuint(row, <, tacho_table_n_rows(table));
		g_assert_cmpfloat_with_epsilon(
			1e3 * tacho_table_cell_number(table, row, "host_wait_ms"),
			expected[i].host_us, 0.5);
		g_assert_cmpfloat_with_epsilon(
			1e3 * tacho_table_cell_number(table, row, "kernel_wait_ms"),
			expected[i].kernel_us, 0.5);
		g_assert_cmpfloat_with_epsilon(
			1e3 * tacho_table_cell_number(table, row, "other_ms"), expected[i].other_us,
			0.5);
	}
}

static void test_damaged(void)
{
	g_autofree gchar *path = foreign_sample("kineto/hta/call_stack/backward_thread.json");

	if (path)
		foreign_damage(path, 300);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kineto_samples/rank-from-content", test_rank_from_content);
	g_test_add_func("/kineto_samples/rank-unknown", test_rank_unknown);
	g_test_add_func("/kineto_samples/idle", test_idle);
	g_test_add_func("/kineto_samples/profiler-ranges", test_profiler_ranges);
	g_test_add_func("/kineto_samples/base-time", test_base_time);
	g_test_add_func("/kineto_samples/collective-args", test_collective_args);
	g_test_add_func("/kineto_samples/launches", test_launches);
	g_test_add_func("/kineto_samples/amd", test_amd);
	g_test_add_func("/kineto_samples/call-stack", test_call_stack);
	g_test_add_func("/kineto_samples/device-waits", test_device_waits);
	g_test_add_func("/kineto-samples/event-of-stream", test_event_of_stream);
	g_test_add_func("/kineto_samples/trace-compare", test_trace_compare);
	g_test_add_func("/kineto_samples/python-stacks", test_python_stacks);
	g_test_add_func("/kineto_samples/two-of-a-rank", test_two_of_a_rank);
	g_test_add_func("/kineto_samples/no-device", test_no_device);
	g_test_add_func("/kineto_samples/curves", test_curves);
	g_test_add_func("/kineto_samples/other-device", test_other_device);
	g_test_add_func("/kineto_samples/kernel-union", test_kernel_union);
	g_test_add_func("/kineto_samples/eight-ranks", test_eight_ranks);
	g_test_add_func("/kineto_samples/damaged", test_damaged);
	g_test_add_func("/kineto_samples/filters", test_filters);
	return g_test_run();
}
