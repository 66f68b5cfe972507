/* Small Kineto files become what they say; broken ones what can be saved of them. */
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "timeline_text.h"

static const gchar one_step[] =
	"{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 1700000000000000000,\n"
	"\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 4,"
	" \"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, 1, 2, 3]}]},\n"
	"\"color\": \"green\",\n"
	"\"traceEvents\": [\n"
	"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#7\", \"pid\": 11, "
	"\"tid\": 11,"
	" \"ts\": 100.500, \"dur\": 90},\n"
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 11, \"tid\": 11,"
	" \"ts\": 110.001, \"dur\": 20, \"args\": {\"External id\": 5, \"Sequence number\": 77,"
	" \"Fwd thread id\": 0, \"Input Dims\": [[4, 8], [8, 2], []],"
	" \"Input type\": [\"float\", \"c10::Half\", \"Scalar\"], \"novel\": {\"x\": 1}}},\n"
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 11, "
	"\"tid\": 11,"
	" \"ts\": 115, \"dur\": 5, \"args\": {\"correlation\": 42}},\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7,"
	" \"ts\": 130, \"dur\": 30, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": "
	"42}},\n"
	"{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD\", \"pid\": 0, \"tid\": "
	"7,"
	" \"ts\": 160, \"dur\": 2, \"args\": {\"bytes\": 4096, \"External id\": 5}},\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"pid\": 0, "
	"\"tid\": 24,"
	" \"ts\": 165, \"dur\": 9, \"args\": {\"Collective name\": \"allreduce\", \"In msg "
	"nelems\": 100,"
	" \"dtype\": \"Half\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1, 2, "
	"3]\"}},\n"
	"{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 11, \"tid\": 11, \"ts\": "
	"112,"
	" \"args\": {\"Bytes\": 512, \"Addr\": 99, \"Device Type\": 1, \"Device Id\": 0}},\n"
	"{\"ph\": \"X\", \"cat\": \"what is this\", \"name\": \"new\", \"pid\": 11, \"tid\": 11,"
	" \"ts\": 120, \"dur\": 500},\n"
	"{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 11, \"tid\": 0,"
	" \"args\": {\"name\": \"python3\"}},\n"
	"{\"name\": \"thread_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 0, \"tid\": 7,"
	" \"args\": {\"name\": \"stream 7 \\u00e9\"}},\n"
	"{\"ph\": \"s\", \"id\": 42, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"pid\": 11, \"tid\": "
	"11,"
	" \"ts\": 115},\n"
	"{\"ph\": \"Q\", \"name\": \"no phase\"}\n"
	"], \"traceName\": \"t.json\"}\n";

static gchar *write_text(const gchar *name, const gchar *text, gsize n)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-kineto-XXXXXX", NULL);
	gchar *path = g_build_filename(folder, name, NULL);

	/* without waiting for the disk */
	g_assert_true(g_file_set_contents_full(path, text, (gssize)n, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
	return path;
}

static void remove_file(const gchar *path)
{
	g_autofree gchar *folder = g_path_get_dirname(path);

	g_unlink(path);
	g_rmdir(folder);
}

static TachoTimeline *open_text(const gchar *name, const gchar *text, gsize n, gchar **ret_path)
{
	g_autoptr(GError) error = NULL;
	gchar *path = write_text(name, text, n);
	TachoTimeline *timeline =
		tacho_run_open((const gchar *const *)&path, 1, NULL, NULL, &error);

	g_assert_no_error(error);
	*ret_path = path;
	return timeline;
}

static void test_one_step(void)
{
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", one_step, strlen(one_step), &path);
	const TachoSlices *slices = &timeline->slices;
	guint32 step = timeline_find(timeline, "ProfilerStep#7", 0);
	guint32 mm = timeline_find(timeline, "aten::mm", 0);
	guint32 launch = timeline_find(timeline, "cudaLaunchKernel", 0);
	guint32 kernel = timeline_find(timeline, "gemm", 0);
	guint32 copy = timeline_find(timeline, "Memcpy HtoD", 0);
	guint32 novel = timeline_find(timeline, "new", 0);
	const TachoTrack *stream = tacho_timeline_track(timeline, slices->track[kernel]);
	const TachoProcess *process = tacho_slice_process(timeline, mm);
	const TachoMemoryEvent *memory = &g_array_index(timeline->memory, TachoMemoryEvent, 0);
	g_autofree gchar *args = tacho_slice_args_json(timeline, mm);
	TachoTensor tensor;
	TachoKernelArgs kernel_args;
	TachoOpArgs op;

	g_assert_cmpint(timeline->origin_unix_ns, ==, 1700000000000100500);
	g_assert_cmpint(slices->start_ns[step], ==, 0);
	g_assert_cmpint(slices->start_ns[mm], ==, 9501);
	g_assert_cmpint(slices->duration_ns[mm], ==, 20000);
	g_assert_cmpuint(slices->parent[mm], ==, step);
	g_assert_cmpuint(slices->parent[launch], ==, mm);
	g_assert_cmpuint(slices->launch[kernel], ==, launch);
	g_assert_cmpuint(slices->launch[copy], ==, mm); /* by its external id */
	g_assert_cmpuint(slices->kind[novel], ==, TACHO_SLICE_EVENT);
	g_assert_cmpint(slices->duration_ns[novel], ==, 500000); /* cut by nothing */
	g_assert_cmpint(stream->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpuint(stream->tid, ==, 7);
	g_assert_cmpstr(tacho_timeline_string(timeline, stream->name), ==, "stream 7 \xc3\xa9");
	g_assert_cmpint(process->rank, ==, 3);
	g_assert_cmpuint(process->pid, ==, 11);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==, "python3");
	g_assert_cmpint(timeline->expected_ranks, ==, 4);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_MISSING_RANK)->count,
			 ==, 3);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 2);

	g_assert_true(tacho_slice_op(timeline, mm, &op));
	g_assert_cmpint(op.sequence, ==, 77);
	g_assert_cmpuint(op.n_inputs, ==, 3);
	g_assert_true(tacho_slice_input(timeline, mm, 1, &tensor));
	g_assert_cmpstr(tensor.dtype, ==, "float16");
	g_assert_cmpuint(tensor.n_dims, ==, 2);
	g_assert_cmpint(tensor.shape[0], ==, 8);
	g_assert_false(tacho_slice_input(timeline, mm, 3, &tensor));
	g_assert_nonnull(strstr(args, "\"novel\": {\"x\": 1}"));
	g_assert_true(tacho_slice_kernel(timeline, copy, &kernel_args));
	g_assert_cmpuint(kernel_args.bytes, ==, 4096);
	g_assert_cmpuint(memory->device, ==, 1);
	g_assert_cmpint(memory->bytes, ==, 512);
	g_assert_cmpuint(memory->slice, ==, mm);
	g_assert_cmpstr(
		tacho_timeline_string(timeline, timeline_find_mark(timeline, "color")->text), ==,
		"\"green\"");
	g_assert_cmpstr(
		tacho_timeline_string(timeline, timeline_find_mark(timeline, "traceName")->text),
		==, "\"t.json\"");
	remove_file(path);
}

static void test_collective(void)
{
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", one_step, strlen(one_step), &path);
	guint32 collective = timeline_find(timeline, "ncclDevKernel_AllReduce", 0);
	const TachoMark *group = timeline_find_mark(timeline, "process_group");
	TachoCollectiveArgs args;

	g_assert_cmpuint(timeline->slices.kind[collective], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_true(tacho_slice_collective(timeline, collective, &args));
	g_assert_cmpuint(args.bytes, ==, 200);
	g_assert_cmpint((gint64)args.group, ==, group->first);
	g_assert_cmpstr(tacho_timeline_string(timeline, group->text), ==, "ranks=0,1,2,3 name=0");
	remove_file(path);
}

/* NCCL's kernels of sends and receives have one name: who the other is, and which way it goes, is told beside it. */
static void test_point_to_point(void)
{
	static const gchar text[] =
		"[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv\", "
		"\"pid\": 0,"
		" \"tid\": 7, \"ts\": 40, \"dur\": 5, \"args\": {\"Collective name\": \"send\","
		" \"dtype\": \"Float\", \"In msg nelems\": 8, \"Rank\": 1, \"Dst Rank\": 5}},"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv\", "
		"\"pid\": 0,"
		" \"tid\": 7, \"ts\": 50, \"dur\": 5, \"args\": {\"Collective name\": \"recv\","
		" \"Src Rank\": 0}},"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv\", "
		"\"pid\": 0,"
		" \"tid\": 7, \"ts\": 60, \"dur\": 5, \"args\": {\"Collective name\": "
		"\"coalesced\"}},"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv\", "
		"\"pid\": 0,"
		" \"tid\": 7, \"ts\": 70, \"dur\": 5, \"args\": {\"Collective name\": "
		"\"all_to_allv\","
		" \"Src Rank\": -1}}]";
	static const struct {
		guint32 peer;
		guint8 way;
	} expected[] = { { 6, TACHO_WAY_SEND },
			 { 1, TACHO_WAY_RECEIVE },
			 { 0, TACHO_WAY_BOTH },
			 { 0, TACHO_WAY_BY_NAME } };
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		TachoCollectiveArgs args;

		g_assert_true(tacho_slice_collective(
			timeline, timeline_find(timeline, "ncclDevKernel_SendRecv", i), &args));
		g_assert_cmpuint(args.peer, ==, expected[i].peer);
		g_assert_cmpuint(args.way, ==, expected[i].way);
		g_assert_cmpuint(args.bytes, ==, i ? 0 : 32);
	}
	remove_file(path);
}

/* The ops that ask for what a batch holds tell it: the kernel does not. */
static void test_batched_calls(void)
{
	static const gchar text[] =
		"[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
		"9,"
		" \"tid\": 9, \"ts\": 1, \"dur\": 2, \"args\": {\"Collective name\": \"send\","
		" \"dtype\": \"Float\", \"In msg nelems\": 8, \"Src Rank\": 3, \"Dst Rank\": 5}},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": 9,"
		" \"tid\": 9, \"ts\": 4, \"dur\": 2, \"args\": {\"Collective name\": \"recv\","
		" \"dtype\": \"Half\", \"In msg nelems\": 8, \"Src Rank\": 0, \"Dst Rank\": 3}},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": 9,"
		" \"tid\": 9, \"ts\": 7, \"dur\": 2, \"args\": {\"Collective name\": \"allreduce\","
		" \"Sequence number\": 77, \"dtype\": \"Half\", \"In msg nelems\": 8}}]";
	static const struct {
		guint32 peer;
		guint8 way;
		guint64 bytes;
		gint64 sequence;
	} expected[] = { { 6, TACHO_WAY_SEND, 32, -1 }, { 1, TACHO_WAY_RECEIVE, 16, -1 } };
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);
	TachoCollectiveArgs args;
	TachoOpArgs op;

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		guint32 slice = timeline_find(timeline, "record_param_comms", i);

		g_assert_true(tacho_slice_collective(timeline, slice, &args));
		g_assert_cmpuint(args.peer, ==, expected[i].peer);
		g_assert_cmpuint(args.way, ==, expected[i].way);
		g_assert_cmpuint(args.bytes, ==, expected[i].bytes);
		g_assert_true(tacho_slice_op(timeline, slice, &op));
		g_assert_cmpint(op.sequence, ==, expected[i].sequence);
	}
	g_assert_true(
		tacho_slice_op(timeline, timeline_find(timeline, "record_param_comms", 2), &op));
	g_assert_cmpint(op.sequence, ==, 77);
	remove_file(path);
}

/* A collective that does not say how much it is of: the op around its launch does. */
static void test_collective_of_op(void)
{
	static const gchar text[] =
		"[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
		"11,"
		" \"tid\": 11, \"ts\": 10, \"dur\": 50, \"args\": {\"Sequence number\": 3,"
		" \"Input Dims\": [[[4, 8], [2]], []], \"Input type\": [\"TensorList\", "
		"\"Scalar\"]}},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", \"pid\": "
		"11,"
		" \"tid\": 11, \"ts\": 20, \"dur\": 5, \"args\": {\"Input Dims\": [[64]],"
		" \"Input type\": [\"long\"]}},"
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"launch\", \"pid\": 11,"
		" \"tid\": 11, \"ts\": 30, \"dur\": 5, \"args\": {\"correlation\": 1}},"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
		"\"ncclDevKernel_AllReduce_Sum_f16\","
		" \"pid\": 0, \"tid\": 7, \"ts\": 40, \"dur\": 5, \"args\": {\"correlation\": 1}},"
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"launch\", \"pid\": 11,"
		" \"tid\": 11, \"ts\": 70, \"dur\": 5, \"args\": {\"correlation\": 2}},"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
		"\"ncclDevKernel_AllReduce_Sum_f32\","
		" \"pid\": 0, \"tid\": 7, \"ts\": 80, \"dur\": 5, \"args\": {\"correlation\": 2}}]";
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);
	TachoCollectiveArgs inside, outside;
	TachoOpArgs op;

	g_assert_true(tacho_slice_collective(
		timeline, timeline_find(timeline, "ncclDevKernel_AllReduce_Sum_f16", 0), &inside));
	g_assert_cmpuint(inside.bytes, ==, 2 * (4 * 8 + 2));
	g_assert_true(tacho_slice_collective(
		timeline, timeline_find(timeline, "ncclDevKernel_AllReduce_Sum_f32", 0), &outside));
	g_assert_cmpuint(outside.bytes, ==, 0);
	g_assert_true(
		tacho_slice_op(timeline, timeline_find(timeline, "record_param_comms", 0), &op));
	g_assert_cmpint(op.sequence, ==, 3);
	g_assert_cmpuint(op.forward_thread, ==, 0);
	remove_file(path);
}

/* A wait for an event is a wait for what was last launched on the event's stream before it was recorded: not
 * for what came later, nor for what is on another stream. */
static void test_event_wait(void)
{
#define CALL(name, at, id)                                                                         \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"" name "\", \"pid\": 11,"          \
	" \"tid\": 11, \"ts\": " at ", \"dur\": 1, \"args\": {\"correlation\": " id "}},"
#define KERNEL(name, stream, at, id)                                                               \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                                   \
	"\", \"pid\": 0, \"tid\": " stream ", \"ts\": " at                                         \
	", \"dur\": 5, \"args\": {\"correlation\": " id "}},"
#define WAIT(name, stream, at, id, record, recorded_on)                                            \
	"{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"" name                                \
	"\", \"pid\": 0, \"tid\": " stream ", \"ts\": " at                                         \
	", \"dur\": 1, \"args\": {\"correlation\": " id ", \"wait_on_stream\": " recorded_on       \
	", \"wait_on_cuda_event_record_corr_id\": " record "}},"
	static const gchar text[] = "[" CALL("launch", "1", "1") KERNEL("first", "7", "10", "1")
		CALL("launch", "3", "2") KERNEL("other", "9", "11", "2")
			CALL("cudaEventRecord", "5", "3") CALL("launch", "7", "4") KERNEL(
				"later", "7", "20", "4") WAIT("known", "9", "30", "5", "3", "7")
				WAIT("no such call", "9", "32", "5", "77", "7")
					WAIT("no such stream", "9", "34", "5", "3", "8")
						WAIT("none", "9", "36", "5", "-1", "-1") "{}]";
#undef CALL
#undef KERNEL
#undef WAIT
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);
	const TachoFlow *flow;

	g_assert_cmpuint(timeline->flows->len, ==, 1);
	flow = &g_array_index(timeline->flows, TachoFlow, 0);
	g_assert_cmpuint(flow->kind, ==, TACHO_FLOW_EVENT_WAIT);
	g_assert_cmpuint(flow->from, ==, timeline_find(timeline, "first", 0));
	g_assert_cmpuint(flow->to, ==, timeline_find(timeline, "known", 0));
	remove_file(path);
}

/* What events may lack: they are slices all the same. */
static void test_nameless(void)
{
	static const gchar text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": ["
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 9, \"dur\": 1,"
		" \"args\": {\"Collective name\": \"allreduce\"}},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"ts\": 9, \"dur\": 1}, {\"ph\": \"X\", "
		"\"ts\": 9},"
		"{\"ph\": \"M\"}, {\"ph\": \"C\", \"ts\": 1}, {\"ph\": \"i\", \"ts\": 2}, {},"
		"{\"ph\": \"C\", \"ts\": 3, \"args\": {\"b\\u0075sy\": 4}}]}";
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);
	const TachoSample *sample;
	const TachoTrack *track;

	g_assert_cmpuint(timeline->slices.n, ==, 3);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		g_assert_cmpstr(tacho_slice_name(timeline, i), ==, "");
	g_assert_cmpuint(timeline->samples->len, ==, 1);
	sample = &g_array_index(timeline->samples, TachoSample, 0);
	track = &g_array_index(timeline->tracks, TachoTrack, sample->track);
	g_assert_cmpstr(tacho_timeline_string(timeline, track->name), ==, "busy");
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	remove_file(path);
}

/* A list without anything around it, and without its end, as browsers take it. */
static void test_array_form(void)
{
	const gchar *begin = strchr(strstr(one_step, "\"traceEvents\""), '[');
	gsize n = (gsize)(strstr(begin, "\n]") - begin);
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("rank_2.json", begin, n, &path);

	g_assert_cmpint(timeline->slices.start_ns[timeline_find(timeline, "aten::mm", 0)], ==,
			9501);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 2);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE));
	remove_file(path);
}

/* Cut off anywhere: what stands before the cut and a problem that says so; an error where that is nothing. */
static void test_truncated(void)
{
	gsize n_all = strlen(one_step), n_whole = (gsize)(strrchr(one_step, '}') - one_step) + 1;
	gsize n_first = (gsize)(strchr(strstr(one_step, "ProfilerStep"), '}') - one_step);

	for (gsize n = 0; n < n_all; n += 1 + n % 7) {
		g_autofree gchar *path = write_text("x.json", one_step, n);
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoTimeline) timeline =
			tacho_run_open((const gchar *const *)&path, 1, NULL, NULL, &error);
		const TachoProblem *problem;

		if (!timeline) {
			g_assert_nonnull(strstr(error->message, path));
			g_assert_true(n <= n_first);
		} else if (n < n_whole) {
			problem =
				tacho_timeline_find_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE);
			g_assert_nonnull(problem);
			g_assert_nonnull(strstr(problem->where, path));
		}
		remove_file(path);
	}
}

static gchar *replace(const gchar *text, const gchar *from, const gchar *to)
{
	g_auto(GStrv) parts = g_strsplit(text, from, 2);

	g_assert_nonnull(parts[1]);
	return g_strjoinv(to, parts);
}

static void test_quotes(void)
{
	g_autofree gchar *text = replace(one_step, "aten::mm", "say \"mm\" now");
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	timeline_find(timeline, "say \"mm\" now", 0);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_BAD_TEXT)->count, ==,
			 2);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD));
	timeline_find(timeline, "gemm", 0);
	remove_file(path);
}

static void test_bad_utf8(void)
{
	g_autofree gchar *text = replace(one_step, "aten::mm", "aten::\xff\xfe");
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	timeline_find(timeline, "aten::\xff\xfe", 0);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_BAD_TEXT)->count, ==,
			 1);
	remove_file(path);
}

/* An event that is no JSON costs itself, not the others; the place is told. */
static void test_corrupt_event(void)
{
	g_autofree gchar *text = replace(one_step, "\"cat\": \"cuda_runtime\"", "\"cat\" # ; : [");
	g_autofree gchar *path = NULL, *place = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);
	const TachoProblem *problem =
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD);

	place = g_strdup_printf("byte %d:", (gint)(strstr(text, "# ;") - text));
	g_assert_cmpuint(problem->count, ==, 1);
	g_assert_nonnull(strstr(problem->where, place));
	timeline_find(timeline, "aten::mm", 0);
	timeline_find(timeline, "gemm", 0);
	remove_file(path);
}

static void test_impossible_time(void)
{
	g_autofree gchar *days = replace(one_step, "\"ts\": 110.001", "\"ts\": 0");
	g_autofree gchar *text = replace(days, "\"ts\": 100.500", "\"ts\": 9000000000.5");
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	/* 115 us is the first time: 0 is a time as good as others, as long as they are small */
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME));
	remove_file(path);
}

/* Times of day: 0 among them is none. */
static void test_zero_time(void)
{
	static const gchar text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": ["
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1,"
		" \"ts\": 1700000000000000, \"dur\": 5},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 1, \"tid\": 1,"
		" \"ts\": 0, \"dur\": 3},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"pid\": 1, \"tid\": 1,"
		" \"ts\": 9000000000000000, \"dur\": 3}]}";
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME)->count, ==, 2);
	g_assert_cmpint(timeline->origin_unix_ns, ==, 1700000000000000000);
	g_assert_cmpint(timeline->duration_ns, ==, 5000);
	remove_file(path);
}

/* Many pieces, of which some seem to end where they do not: the same as read in one. */
static void test_many_pieces(void)
{
	g_autoptr(GString) text = g_string_new("{\"schemaVersion\": 1, \"traceEvents\": [");
	const guint n_events = 40000;
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < n_events; i++)
		g_string_append_printf(
			text,
			"%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op %u\", \"pid\": 1,"
			" \"tid\": 1, \"ts\": %u, \"dur\": 1, \"args\": {\"list\": [{\"a\": 1},"
			" {\"name\": \"},{\\\"ph\\\": \\\"X\\\"\"}]}}",
			i ? ", " : "", i % 7, i * 2);
	g_string_append(text, "]}");
	timeline = open_text("x.json", text->str, text->len, &path);
	g_assert_cmpuint(timeline->slices.n, ==, n_events);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	for (guint32 i = 0; i < n_events; i++) {
		g_autofree gchar *name = g_strdup_printf("op %u", i % 7);

		g_assert_cmpint(timeline->slices.start_ns[i], ==, i * 2000);
		g_assert_cmpstr(tacho_slice_name(timeline, i), ==, name);
	}
	remove_file(path);
}

/* What each slice's args say is its own, also where those of a thread lie in more places of the file than are
 * kept at once, and one is larger than what is read at once. */
static void check_args(const TachoTimeline *timeline, guint n_events)
{
	g_assert_cmpuint(timeline->slices.n, ==, n_events);
	for (guint32 i = 0; i < n_events; i++) {
		g_autofree gchar *args = tacho_slice_args_json(timeline, i);
		g_autofree gchar *own =
			g_strdup_printf("{\"n\": \"%s\",", tacho_slice_name(timeline, i));

		g_assert_true(args && g_str_has_prefix(args, own) && g_str_has_suffix(args, "\"}"));
	}
}

static void test_scattered_args(void)
{
	enum { N_PLACES = 6, N_EVENTS = 250, LARGE = 700 };
	g_autoptr(GString) text = g_string_new("[");
	g_autofree gchar *pad = g_strnfill(600, 'x'), *large = g_strnfill(1500000, 'y');
	g_autofree gchar *path = NULL, *packed = NULL;
	g_autoptr(TachoTimeline) plain = NULL, gzipped = NULL;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < N_PLACES * N_EVENTS; i++)
		g_string_append_printf(
			text,
			"%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"e%u\", \"pid\": 1,"
			" \"tid\": 1, \"ts\": %u, \"dur\": 1, \"args\": {\"n\": \"e%u\","
			" \"pad\": \"%s\"}}",
			i ? ",\n" : "", i, i % N_EVENTS * N_PLACES * 2 + i / N_EVENTS * 2, i,
			i == LARGE ? large : pad);
	g_string_append(text, "]");
	plain = open_text("x.json", text->str, text->len, &path);
	check_args(plain, N_PLACES * N_EVENTS);

	packed = g_strconcat(path, ".gz", NULL);
	g_assert_true(g_spawn_sync(NULL, (gchar *[]){ (gchar *)"gzip", (gchar *)"-1k", path, NULL },
				   NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
	gzipped = tacho_run_open((const gchar *const *)&packed, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	check_args(gzipped, N_PLACES * N_EVENTS);
	g_unlink(packed);
	remove_file(path);
}

/* Long enough for many pieces: ops, annotations, functions on a few threads, kernels, counters, names. */
static gchar *make_mixed(gsize *ret_n)
{
	GString *text = g_string_new("[");

	for (guint i = 0; i < 30000; i++)
		g_string_append_printf(text,
				       "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"work %u\", "
				       "\"pid\": %u, \"tid\": "
				       "%u, \"ts\": %u, \"dur\": 3, \"args\": {\"correlation\": "
				       "%u, \"Collective name\": "
				       "\"x\", \"Process Group Name\": \"%u\", \"Process Group "
				       "Ranks\": \"[0, %u%s\"}},\n",
				       i % 2 ? "kernel" : "cuda_runtime", i * 7 % 101,
				       i % 2 ? 0 : 50 + i % 3, i % 2 ? 7 + i % 5 : 90 - i % 11,
				       i * 10, i / 2, i % 13, i % 17, i % 3 ? "]" : "...]");
	for (guint i = 0; i < 200; i++)
		g_string_append_printf(
			text,
			"{\"ph\": \"C\", \"name\": \"c%u\", \"pid\": \"p%u\", \"ts\": %u,"
			" \"args\": {\"v\": %u}},\n",
			i % 7, i % 5, i, i);
	g_string_append(text, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 50, \"tid\": 90,"
			      " \"args\": {\"name\": \"first\"}}]");
	*ret_n = text->len;
	return g_string_free(text, FALSE);
}

static void assert_same(const TachoTimeline *a, const TachoTimeline *b)
{
	g_assert_cmpuint(a->slices.n, ==, b->slices.n);
	g_assert_cmpmem(a->slices.start_ns, a->slices.n * sizeof(gint64), b->slices.start_ns,
			b->slices.n * sizeof(gint64));
	g_assert_cmpmem(a->slices.name, a->slices.n * sizeof(guint32), b->slices.name,
			b->slices.n * sizeof(guint32));
	g_assert_cmpmem(a->slices.track, a->slices.n * sizeof(guint32), b->slices.track,
			b->slices.n * sizeof(guint32));
	g_assert_cmpmem(a->slices.launch, a->slices.n * sizeof(guint32), b->slices.launch,
			b->slices.n * sizeof(guint32));
	g_assert_cmpmem(a->tracks->data, a->tracks->len * sizeof(TachoTrack), b->tracks->data,
			b->tracks->len * sizeof(TachoTrack));
	g_assert_cmpuint(a->marks->len, ==, b->marks->len);
	for (guint i = 0; i < a->marks->len; i++)
		g_assert_cmpstr(
			tacho_timeline_string(a, g_array_index(a->marks, TachoMark, i).text), ==,
			tacho_timeline_string(b, g_array_index(b->marks, TachoMark, i).text));
}

/* However many cores read it, and whichever reads what: the same timeline, to the numbers of its strings. */
static void test_any_cores(void)
{
	gsize n;
	g_autofree gchar *text = make_mixed(&n), *path = NULL, *other_path = NULL;
	g_autoptr(TachoTimeline) all_cores = NULL, one_core = NULL;
	cpu_set_t before, one;

	g_assert_cmpint(sched_getaffinity(0, sizeof(before), &before), ==, 0);
	all_cores = open_text("x.json", text, n, &path);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
	one_core = open_text("x.json", text, n, &other_path);
	g_assert_cmpint(sched_setaffinity(0, sizeof(before), &before), ==, 0);
	assert_same(all_cores, one_core);
	g_assert_cmpuint(g_array_index(all_cores->processes, TachoProcess, 0).pid, ==, 50);
	remove_file(path);
	remove_file(other_path);
}

/* Pid 0 is no process of its own, and who tells no rank is told of as the one it is taken for. */
static void test_pid_zero(void)
{
	static const gchar text[] =
		"[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 11, \"tid\": 11,"
		" \"ts\": 1, \"dur\": 10},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 11, \"tid\": 11,"
		" \"ts\": 5.5, \"dur\": 10},"
		"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"c\", \"pid\": 0, "
		"\"tid\": 0,"
		" \"ts\": 1, \"dur\": 1}]";
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(timeline->tracks->len, ==, 2);
	g_assert_nonnull(strstr(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_OVERLAP)->where,
				"rank 0, process 11"));
	remove_file(path);
}

/* With Python stacks a region begins in the function that enters it and ends in the one that leaves it. The
 * step is the host's, whoever else tells of one of that number. */
static void test_region_in_function(void)
{
	static const gchar text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": ["
		"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"step\", \"pid\": 11,"
		" \"tid\": 11, \"ts\": 100.5, \"dur\": 20},"
		"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#6\", "
		"\"pid\": 11,"
		" \"tid\": 11, \"ts\": 110, \"dur\": 16000},"
		"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#6\", "
		"\"pid\": 11,"
		" \"tid\": 12, \"ts\": 500, \"dur\": 90},"
		"{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#6\","
		" \"pid\": 0, \"tid\": 7, \"ts\": 900, \"dur\": 15000},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 11, "
		"\"tid\": 11,"
		" \"ts\": 700, \"dur\": 900},"
		"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"__exit__\", \"pid\": 11,"
		" \"tid\": 11, \"ts\": 16100, \"dur\": 40}]}";
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);
	const TachoStep *step;
	guint32 mm = timeline_find(timeline, "aten::mm", 0);
	guint32 region = timeline->slices.parent[mm];

	g_assert_cmpstr(tacho_slice_name(timeline, region), ==, "ProfilerStep#6");
	g_assert_cmpint(timeline->slices.duration_ns[region], ==, 16000000);
	g_assert_cmpint(timeline->slices.duration_ns[timeline_find(timeline, "__exit__", 0)], ==,
			40000);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	step = &g_array_index(timeline->steps, TachoStep, 0);
	g_assert_cmpint(step->start_ns, ==, 9500);
	g_assert_cmpint(step->end_ns - step->start_ns, ==, 16000000);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	remove_file(path);
}

/* Numbers of any size are ids, and durations that cannot be are told. */
static void test_odd_numbers(void)
{
	static const gchar text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": ["
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": "
		"9223372036854775807,"
		" \"tid\": 4611686018427387999, \"ts\": 5, \"dur\": -5},"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"b\", \"pid\": "
		"-9223372036854775807,"
		" \"tid\": 4611686018427387904, \"ts\": 9},"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"c\", \"pid\": 1, \"tid\": 1,"
		" \"ts\": 9, \"dur\": 9223372036854775},"
		"{\"ph\": \"C\", \"name\": \"d\", \"pid\": 1, \"ts\": -9e15, \"args\": {\"x\": "
		"1e300, \"y\": 0.125, \"z\": 1e400}}]}";
	g_autofree gchar *path = NULL;
	g_autoptr(TachoTimeline) timeline = open_text("x.json", text, strlen(text), &path);

	g_assert_cmpuint(timeline->slices.n, ==, 3);
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME)->count, ==, 3);
	g_assert_cmpuint(timeline->samples->len, ==, 2); /* without z, which is no number */
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 1e300);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 1).value, ==, 0.125);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		g_assert_cmpint(timeline->slices.duration_ns[i], ==, 0);
	remove_file(path);
}

static void test_unknown_file(void)
{
	g_autofree gchar *path = write_text("x.json", "hello", 5);
	g_autoptr(GError) error = NULL;

	g_assert_null(tacho_run_open((const gchar *const *)&path, 1, NULL, NULL, &error));
	g_assert_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT);
	g_assert_nonnull(strstr(error->message, "kineto"));
	remove_file(path);
}

/* A folder is a run; of two files of one rank the first is read. */
static void test_folder(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-kineto-XXXXXX", NULL);
	static const gchar *const names[] = { "a.json", "b.json", "c.json", "notes.txt" };
	g_autofree gchar *other = replace(one_step, "\"rank\": 3", "\"rank\": 1");
	const gchar *texts[] = { one_step, other, one_step, "no trace" };
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = g_build_filename(folder, names[i], NULL);

		g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
	}
	timeline = tacho_run_open((const gchar *const *)&folder, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 1);
	g_assert_nonnull(
		strstr(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_DUPLICATE_RANK)->where,
		       "c.json"));
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_MISSING_RANK)->count,
			 ==, 2);
	g_assert_cmpuint(timeline->clocks->len, ==, 2); /* both use device 0: two hosts */
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = g_build_filename(folder, names[i], NULL);

		g_unlink(path);
	}
	g_rmdir(folder);
}

/* A file whose clock counts from the machine's start, beside one whose clock counts from 1970. */
static void test_mixed_clocks(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-kineto-XXXXXX", NULL);
	g_autofree gchar *other = replace(one_step, "\"rank\": 3", "\"rank\": 1");
	g_autofree gchar *uptime = replace(other, "1700000000000000000", "0");
	g_autofree gchar *first = g_build_filename(folder, "a.json", NULL);
	g_autofree gchar *second = g_build_filename(folder, "b.json", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	g_assert_true(g_file_set_contents(first, one_step, -1, NULL));
	g_assert_true(g_file_set_contents(second, uptime, -1, NULL));
	timeline = tacho_run_open((const gchar *const *)&folder, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	g_assert_nonnull(strstr(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT)->where, "b.json"));
	g_assert_cmpint(timeline->duration_ns, <, 1000000);
	g_unlink(first);
	g_unlink(second);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kineto/one-step", test_one_step);
	g_test_add_func("/kineto/collective", test_collective);
	g_test_add_func("/kineto/point-to-point", test_point_to_point);
	g_test_add_func("/kineto/batched-calls", test_batched_calls);
	g_test_add_func("/kineto/collective-of-op", test_collective_of_op);
	g_test_add_func("/kineto/nameless", test_nameless);
	g_test_add_func("/kineto/array-form", test_array_form);
	g_test_add_func("/kineto/truncated", test_truncated);
	g_test_add_func("/kineto/quotes", test_quotes);
	g_test_add_func("/kineto/bad-utf8", test_bad_utf8);
	g_test_add_func("/kineto/corrupt-event", test_corrupt_event);
	g_test_add_func("/kineto/impossible-time", test_impossible_time);
	g_test_add_func("/kineto/zero-time", test_zero_time);
	g_test_add_func("/kineto/many-pieces", test_many_pieces);
	g_test_add_func("/kineto/scattered-args", test_scattered_args);
	g_test_add_func("/kineto/any-cores", test_any_cores);
	g_test_add_func("/kineto/pid-zero", test_pid_zero);
	g_test_add_func("/kineto/region-in-function", test_region_in_function);
	g_test_add_func("/kineto/odd-numbers", test_odd_numbers);
	g_test_add_func("/kineto/event-wait", test_event_wait);
	g_test_add_func("/kineto/mixed-clocks", test_mixed_clocks);
	g_test_add_func("/kineto/unknown-file", test_unknown_file);
	g_test_add_func("/kineto/folder", test_folder);
	return g_test_run();
}
