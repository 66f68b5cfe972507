/* PyTorch's execution traces: alone, and beside the Kineto trace of the same process. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static gchar *data_path(const gchar *name)
{
	return g_build_filename(TACHO_TEST_DATA, "execution_trace", name, NULL);
}

/* One timeline of both; correlated. */
static TachoTimeline *open_two(const gchar *first, const gchar *second)
{
	const gchar *paths[] = { first, second };
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline =
		tacho_run_open(paths, second ? G_N_ELEMENTS(paths) : 1, NULL, NULL, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	return timeline;
}

static gboolean has_flow(const TachoTimeline *timeline, const gchar *from, const gchar *to)
{
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_DATA &&
		    strcmp(tacho_slice_name(timeline, flow->from), from) == 0 &&
		    strcmp(tacho_slice_name(timeline, flow->to), to) == 0)
			return TRUE;
	}
	return FALSE;
}

static guint count_flows(const TachoTimeline *timeline, TachoFlowKind kind)
{
	guint n = 0;

	for (guint i = 0; i < timeline->flows->len; i++)
		n += g_array_index(timeline->flows, TachoFlow, i).kind == kind;
	return n;
}

/* The mark of that name, NULL: there is none. */
static const TachoMark *find_mark(const TachoTimeline *timeline, const gchar *name)
{
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);

		if (strcmp(tacho_timeline_string(timeline, mark->name), name) == 0)
			return mark;
	}
	return NULL;
}

static void assert_tensors(const TachoTimeline *timeline, guint32 mm)
{
	TachoTensor tensor;
	TachoOpArgs args;

	g_assert_true(tacho_slice_op(timeline, mm, &args));
	g_assert_cmpuint(args.n_inputs, ==, 2);
	g_assert_cmpuint(args.n_outputs, ==, 1);
	g_assert_true(tacho_slice_input(timeline, mm, 1, &tensor));
	g_assert_cmpuint(tensor.storage, ==, 13);
	g_assert_cmpuint(tensor.argument, ==, 1);
	g_assert_cmpuint(tensor.n_dims, ==, 2);
	g_assert_cmpint(tensor.shape[0], ==, 8);
	g_assert_cmpint(tensor.shape[1], ==, 2);
	g_assert_cmpstr(tensor.dtype, ==, "float32");
	g_assert_cmpstr(tensor.device, ==, "cuda:0");
	g_assert_false(tacho_slice_input(timeline, mm, 2, &tensor));
	g_assert_true(tacho_slice_output(timeline, mm, 0, &tensor));
	g_assert_cmpuint(tensor.storage, ==, 21);
	g_assert_false(tacho_slice_output(timeline, mm, 1, &tensor));
}

/* Who made a tensor: the innermost operation; who changed it in its place: one that was given the view. */
static void assert_data_flows(const TachoTimeline *timeline)
{
	g_assert_true(has_flow(timeline, "aten::mm", "aten::view"));
	g_assert_false(has_flow(timeline, "aten::matmul", "aten::view"));
	g_assert_true(has_flow(timeline, "aten::view", "aten::add_"));
	g_assert_true(has_flow(timeline, "aten::add_", "nccl:all_reduce"));
	g_assert_false(has_flow(timeline, "aten::mm", "nccl:all_reduce"));
	g_assert_true(has_flow(timeline, "record_param_comms", "MmBackward0"));
	g_assert_cmpuint(count_flows(timeline, TACHO_FLOW_DATA), ==, 4);
}

static void test_alone(void)
{
	g_autofree gchar *path = data_path("small_et_0.json");
	g_autoptr(TachoTimeline) timeline = open_two(path, NULL);
	const TachoSlices *slices = &timeline->slices;
	guint32 matmul = timeline_find(timeline, "aten::matmul", 0);
	guint32 mm = timeline_find(timeline, "aten::mm", 0);
	guint32 backward = timeline_find(timeline, "MmBackward0", 0);
	guint32 collective = timeline_find(timeline, "allreduce", 0);
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, mm);
	TachoCollectiveArgs args;

	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_NO_TIMES));
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(tacho_slice_process(timeline, mm)->pid, ==, 4711);
	g_assert_cmpint(tacho_slice_process(timeline, mm)->rank, ==, 0);
	g_assert_cmpuint(slices->parent[mm], ==, matmul);
	g_assert_cmpuint(slices->flags[backward] & TACHO_SLICE_BACKWARD, !=, 0);
	g_assert_cmpuint(slices->track[backward], !=, slices->track[mm]);
	g_assert_cmpint(slices->start_ns[backward], >, slices->start_ns[mm]);
	g_assert_cmpuint(slices->kind[timeline_find(timeline, "nccl:all_reduce", 0)], ==,
			 TACHO_SLICE_ANNOTATION);
	g_assert_cmpuint(count_flows(timeline, TACHO_FLOW_FORWARD_BACKWARD), ==, 1);
	g_assert_cmpuint(slices->kind[collective], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_true(tacho_slice_collective(timeline, collective, &args));
	g_assert_cmpuint(args.bytes, ==, 8 * 4);
	g_assert_cmpuint(args.group, !=, 0);
	g_assert_cmpstr(tacho_timeline_string(timeline, find_mark(timeline, "process_group")->text),
			==, "ranks=0,1 name=0");
	g_assert_nonnull(strstr(args_json, "\"strides\""));
	assert_tensors(timeline, mm);
	assert_data_flows(timeline);
}

/* The Kineto trace says when, the execution trace with which tensors: in whichever order they are named. */
static void test_linked(void)
{
	g_autofree gchar *execution = data_path("small_et_0.json");
	g_autofree gchar *kineto = data_path("small_kineto.json");
	g_autoptr(TachoTimeline) measured = open_two(kineto, NULL);

	for (guint order = 0; order < 2; order++) {
		g_autoptr(TachoTimeline) timeline =
			order ? open_two(kineto, execution) : open_two(execution, kineto);
		guint32 mm = timeline_find(timeline, "aten::mm", 0);
		guint32 kernel = timeline_find(timeline, "ncclDevKernel_AllReduce", 0);
		g_autofree gchar *args_json = tacho_slice_args_json(timeline, mm);
		const TachoMark *mark = find_mark(timeline, "execution_trace");
		TachoCollectiveArgs args;

		g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_NO_TIMES));
		g_assert_cmpuint(timeline->slices.n, ==, measured->slices.n);
		g_assert_cmpint(timeline->slices.duration_ns[mm], ==, 20000);
		g_assert_cmpint(mark->first, ==, 8);
		g_assert_cmpint(mark->second, ==, 9); /* the profiler began behind "init" */
		g_assert_nonnull(
			strstr(tacho_timeline_string(timeline, mark->text), "External id"));
		assert_tensors(timeline, mm);
		assert_data_flows(timeline);
		g_assert_nonnull(strstr(args_json, "\"External id\": 43, \"execution_trace\": {"));
		g_assert_true(tacho_slice_collective(timeline, kernel, &args));
		g_assert_cmpuint(args.bytes, ==, 32);
		g_assert_cmpuint(args.group, !=, 0);
		g_assert_nonnull(find_mark(timeline, "process_group"));
	}
}

/* The trace of another process becomes a timeline of its own, beside the other. */
static void test_not_linked(void)
{
	static const gchar other[] = "{\"schema\": \"1.0.1\", \"pid\": 1, \"nodes\": [{\"id\": 2, "
				     "\"parent\": 1, \"name\": "
				     "\"aten::exp\", \"rf_id\": 3, \"tid\": 1, \"seq_id\": -1}]}";
	g_autofree gchar *kineto = data_path("small_kineto.json");
	gchar *path = foreign_write("rank1_et.json", other, strlen(other));
	g_autoptr(TachoTimeline) timeline = open_two(path, kineto);

	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_NO_TIMES));
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpint(
		tacho_slice_process(timeline, timeline_find(timeline, "aten::exp", 0))->rank, ==,
		1);
	foreign_remove(path);
}

static void test_broken(void)
{
	static const gchar cut[] = "{\"schema\": \"1.0.1\", \"nodes\": [{\"id\": 2, \"rf_id\": 1, "
				   "\"name\": \"a\"}, {\"id\": 3, \"na";
	static const gchar broken[] =
		"{\"schema\": \"1.0.1\", \"nodes\": [{\"id\": 2, \"rf_id\": 1, \"name\": \"a\"}, "
		"{\"id\" 3}, {\"name\": \"b\", \"id\": 4}, {\"rf_id\": 4}]}";
	static const gchar none[] = "{\"schema\": \"1.0.1\", \"nodes\": 5, \"rf_id\": 1}";
	g_autoptr(TachoTimeline) first = foreign_open_text("cut_et.json", cut);
	g_autoptr(TachoTimeline) second = foreign_open_text("broken_et.json", broken);
	gchar *path = foreign_write("none_et.json", none, strlen(none));
	g_autofree gchar *failure = foreign_open_fails(path);

	g_assert_nonnull(
		strstr(tacho_timeline_find_problem(first, TACHO_PROBLEM_TRUNCATED_FILE)->where,
		       "byte 66: "));
	g_assert_cmpuint(first->slices.n, ==, 1);
	g_assert_nonnull(
		strstr(tacho_timeline_find_problem(second, TACHO_PROBLEM_CORRUPT_RECORD)->where,
		       "byte 72: "));
	g_assert_cmpuint(tacho_timeline_find_problem(second, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(second->slices.n, ==, 2);
	g_assert_nonnull(strstr(failure, "byte 29: "));
	foreign_remove(path);
}

/* Ids that come twice, parents in a circle, tensors that are none. */
static void test_hostile(void)
{
	static const gchar text[] =
		"{\"nodes\": [{\"id\": 5, \"rf_id\": 1, \"name\": \"a\", \"parent\": 6, \"tid\": "
		"1}, "
		"{\"id\": 6, \"name\": \"b\", \"parent\": 5, \"tid\": 1}, "
		"{\"id\": 6, \"name\": \"c\", \"parent\": 6, \"tid\": -4, \"inputs\": [[1, 2], 7, "
		"[[[3]]]],"
		" \"input_shapes\": [], \"input_types\": [\"Tensor(float)\", \"Tensor(int)\", "
		"\"GenericList[GenericList[Tensor(float)]]\"]}]}";
	g_autoptr(TachoTimeline) timeline = foreign_open_text("x_et.json", text);
	TachoTensor tensor;

	g_assert_cmpuint(timeline->slices.n, ==, 3);
	g_assert_false(tacho_slice_input(timeline, timeline_find(timeline, "c", 0), 0, &tensor));
}

static void test_damaged(void)
{
	g_autofree gchar *execution = data_path("small_et_0.json");

	foreign_damage(execution, 400);
}

/* --- samples -------------------------------------------------------------------------------- */

static TachoTimeline *open_samples(const gchar *first, const gchar *second)
{
	g_autofree gchar *path = foreign_sample(first);
	g_autofree gchar *beside = path && second ? foreign_sample(second) : NULL;

	return path && (beside || !second) ? open_two(path, beside) : NULL;
}

/* C2; nodes of threads and of the program itself are no operations. */
static void test_oracle(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_samples("chakra/param/1.0.3-chakra.0.0.4_resnet_1gpu_et.json.gz", NULL);
	guint n_communication = 0, n_triton = 0;

	if (!timeline)
		return;
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), >, 1000);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const gchar *name = tacho_slice_name(timeline, i);

		n_communication += strcmp(name, "record_param_comms") == 0;
		n_triton += strstr(name, "triton_") != NULL;
	}
	g_assert_cmpuint(n_communication, ==, 27);
	g_assert_cmpuint(n_triton, ==, 0);
	/* of the 27, those that wait or only begin are no collectives */
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 21);
}

/* The measured numbers of nodes; a program and its threads are nodes, too. */
static void test_node_counts(void)
{
	static const struct {
		const gchar *name;
		guint n_nodes, n_structure;
	} samples[] = {
		{ "chakra/megatron_tp8/megatron_et_5.json.gz", 5424, 2 },
		{ "chakra/param/linear_et.json.gz", 931, 3 },
		{ "chakra/param/1.0.3-chakra.0.0.4_resnet_1gpu_et.json.gz", 14391, 3 },
		{ "chakra/chakra/1.0.2-chakra.0.0.4.json", 263, 2 },
		{ "kineto/hta/execution_trace/benchmark_simple_add_et.json.gz", 38, 2 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autoptr(TachoTimeline) timeline = open_samples(samples[i].name, NULL);

		if (!timeline)
			return;
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP) +
					 foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION) +
					 samples[i].n_structure,
				 ==, samples[i].n_nodes);
	}
}

/* Every operation of the execution traces is found in what was measured: by number, or, where the profiler
 * saw other iterations of the program, by the order of names. */
static void test_linked_samples(void)
{
	static const struct {
		const gchar *execution, *kineto, *how;
		guint n_operations;
	} pairs[] = {
		{ "chakra/megatron_tp8/megatron_et_3.json.gz",
		  "kineto/megatron_tp8/megatron_kineto_3.json.gz", "External id", 5422 },
		{ "kineto/hta/execution_trace/benchmark_simple_add_et.json.gz",
		  "kineto/hta/execution_trace/benchmark_simple_add_trace.json.gz", "External id",
		  36 },
		{ "chakra/param/linear_et.json.gz", "kineto/param/linear_kineto.json.gz",
		  "the order of names", 928 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
		g_autoptr(TachoTimeline) timeline =
			open_samples(pairs[i].execution, pairs[i].kineto);
		const TachoMark *mark;

		if (!timeline)
			return;
		mark = find_mark(timeline, "execution_trace");
		g_assert_cmpint(mark->first, ==, pairs[i].n_operations);
		g_assert_cmpint(mark->second, ==, pairs[i].n_operations);
		g_assert_true(g_str_has_suffix(tacho_timeline_string(timeline, mark->text),
					       pairs[i].how));
		g_assert_cmpuint(count_flows(timeline, TACHO_FLOW_DATA), >, 0);
		g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_NO_TIMES));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pytorch_et/alone", test_alone);
	g_test_add_func("/pytorch_et/linked", test_linked);
	g_test_add_func("/pytorch_et/not_linked", test_not_linked);
	g_test_add_func("/pytorch_et/broken", test_broken);
	g_test_add_func("/pytorch_et/hostile", test_hostile);
	g_test_add_func("/pytorch_et/damaged", test_damaged);
	g_test_add_func("/pytorch_et/oracle", test_oracle);
	g_test_add_func("/pytorch_et/node_counts", test_node_counts);
	g_test_add_func("/pytorch_et/linked_samples", test_linked_samples);
	return g_test_run();
}
