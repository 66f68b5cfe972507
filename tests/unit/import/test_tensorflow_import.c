/* Small profiles of TensorFlow become what they say: ProfileProto, RunMetadata with an op log and a graph. The
 * figures of the first are tfprof's own test vectors, as its specification has them. */
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "analyze/op_flops.h"
#include "foreign_traces.h"
#include "proto_text.h"
#include "timeline_text.h"

static gchar *data_path(const gchar *name)
{
	return g_build_filename(TACHO_TEST_DATA, "tensorflow", name, NULL);
}

/* The files beside the texts are what the texts say. */
static void test_files(void)
{
	static const gchar *const names[] = { "profile_2", "steps/run_meta", "steps/tfprof_log" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = data_path(names[i]), *text = NULL, *file = NULL;
		g_autofree gchar *text_path = g_strdup_printf("%s.txt", path);
		g_autoptr(GByteArray) bytes = NULL;
		gsize n;

		g_assert_true(g_file_get_contents(text_path, &text, NULL, NULL));
		g_assert_true(g_file_get_contents(path, &file, &n, NULL));
		bytes = proto_text_bytes(text);
		g_assert_cmpmem(file, n, bytes->data, bytes->len);
	}
}

static void check_step(const TachoTimeline *timeline, guint row, guint32 number, gint64 duration_ns)
{
	const TachoStep *step = &g_array_index(timeline->steps, TachoStep, row);

	g_assert_cmpuint(step->number, ==, number);
	g_assert_cmpint(step->end_ns - step->start_ns, ==, duration_ns);
	g_assert_true(step->is_complete);
}

static void check_matmul(const TachoTimeline *timeline, guint32 slice)
{
	TachoToldOp told;
	TachoTensor tensor;

	g_assert_cmpuint(timeline->slices.kind[slice], ==, TACHO_SLICE_OP);
	g_assert_true(tacho_slice_told(timeline, slice, &told));
	g_assert_cmpstr(tacho_timeline_string(timeline, told.type), ==, "MatMul");
	g_assert_cmpfloat(told.flops, ==, 192);
	g_assert_cmpfloat(op_flops(timeline, slice), ==, 192);
	g_assert_true(isnan(told.parameters));
	g_assert_true(tacho_slice_input(timeline, slice, 1, &tensor));
	g_assert_cmpuint(tensor.n_dims, ==, 2);
	g_assert_cmpint(tensor.shape[0], ==, 4);
	g_assert_cmpint(tensor.shape[1], ==, 3);
	g_assert_false(tacho_slice_input(timeline, slice, 2, &tensor));
	g_assert_true(tacho_slice_output(timeline, slice, 0, &tensor));
	g_assert_cmpint(tensor.shape[0], ==, 8);
	g_assert_cmpstr(tacho_timeline_string(timeline, tacho_slice_maker(timeline, slice, 0)), ==,
			"train.py:3 <module>");
}

static void test_profile(void)
{
	g_autofree gchar *path = data_path("profile_2"), *args = NULL;
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;
	guint32 matmul = timeline_find(timeline, "layer/MatMul", 0);
	guint32 variable = timeline_find(timeline, "w", 0);
	guint32 kernel = timeline_find(timeline, "MatMul", 0);
	TachoToldOp told;

	tacho_correlate(timeline);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 12);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 6);
	check_matmul(timeline, matmul);
	g_assert_cmpint(slices->duration_ns[matmul], ==, 10000);
	g_assert_cmpint(slices->duration_ns[kernel], ==, 50000);
	g_assert_cmpuint(slices->launch[kernel], ==, matmul);
	g_assert_cmpuint(slices->launch[timeline_find(timeline, "MatMul", 1)], ==,
			 timeline_find(timeline, "layer/MatMul", 1));
	g_assert_true(tacho_slice_told(timeline, variable, &told));
	g_assert_cmpfloat(told.parameters, ==, 12);
	g_assert_cmpfloat(told.allocated_bytes, ==, 1001);
	g_assert_cmpfloat(told.peak_bytes, ==, 501);
	g_assert_cmpfloat(told.residual_bytes, ==, 101);
	g_assert_cmpfloat(told.output_bytes, ==, 96);
	g_assert_nonnull(
		strstr(tacho_timeline_string(timeline, told.tags), "_trainable_variables"));
	args = tacho_slice_args_json(timeline, variable);
	g_assert_nonnull(strstr(args, "\"op\":\"VariableV2\""));
	g_assert_null(strstr(args, "execs"));
	g_assert_cmpuint(timeline->samples->len, ==, 6);
	g_assert_cmpuint(timeline->steps->len, ==, 2);
	check_step(timeline, 0, 0, 5003000);
	check_step(timeline, 1, 1, 5006000);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

static void check_streams(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "MatMul", 0), copy;
	TachoKernelArgs args;

	/* told twice, counted once */
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 2);
	if (slices->kind[kernel] == TACHO_SLICE_ANNOTATION)
		kernel = timeline_find(timeline, "MatMul", 1);
	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "layer/MatMul", 0));
	g_assert_cmpuint(tacho_timeline_track(timeline, slices->track[kernel])->tid, ==, 12);
	copy = timeline_find(timeline, "MEMCPYHtoD", 0);
	if (slices->kind[copy] == TACHO_SLICE_ANNOTATION)
		copy = timeline_find(timeline, "MEMCPYHtoD", 1);
	g_assert_true(tacho_slice_kernel(timeline, copy, &args));
	g_assert_cmpuint(args.bytes, ==, 128);
}

static void test_steps(void)
{
	g_autofree gchar *path = data_path("steps");
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;
	guint32 matmul = timeline_find(timeline, "layer/MatMul", 0);
	guint32 x = timeline_find(timeline, "x", 0), late = timeline_find(timeline, "late", 0);
	guint32 variable = timeline_find(timeline, "w", 0);
	g_autofree gchar *args = tacho_slice_args_json(timeline, matmul);
	TachoToldOp told;
	TachoTensor tensor;

	tacho_correlate(timeline);
	check_matmul(timeline, matmul);
	check_streams(timeline);
	g_assert_true(tacho_slice_told(timeline, matmul, &told));
	g_assert_cmpfloat(told.allocated_bytes, ==, 1024 + 16 + 8);
	g_assert_cmpfloat(told.peak_bytes, ==, 512 + 16 + 8);
	g_assert_cmpfloat(told.residual_bytes, ==, 256 + 8);
	g_assert_cmpfloat(told.output_bytes, ==, 256);
	g_assert_true(tacho_slice_told(timeline, variable, &told));
	g_assert_cmpfloat(told.parameters, ==, 12);
	g_assert_cmpstr(tacho_timeline_string(timeline, told.tags), ==, "_trainable_variables");
	g_assert_true(tacho_slice_output(timeline, variable, 0, &tensor));
	g_assert_cmpstr(tensor.dtype, ==, "float32");
	g_assert_nonnull(strstr(args, "\"timeline_label\":\"layer/MatMul = MatMul(x, w)\""));
	/* they overlap on one thread: two lanes of it */
	g_assert_cmpuint(slices->track[x], !=, slices->track[late]);
	g_assert_cmpstr(tacho_timeline_string(
				timeline, tacho_timeline_track(timeline, slices->track[x])->name),
			==, "executor");
	g_assert_cmpstr(
		tacho_timeline_string(timeline,
				      tacho_timeline_track(timeline, slices->track[late])->name),
		==, "executor (2)");
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	check_step(timeline, 0, 0, 90000); /* from when x was scheduled to the kernel's end */
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 65536);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

static void test_tasks(void)
{
	gchar *path = proto_text_write(
		"run_meta",
		"1 { 1 { 1: \"/job:worker/replica:0/task:1/cpu:0\" 2 { 1: \"a\" 2: 5 4: 2 } }\n"
		"    1 { 1: \"/job:ps/replica:0/task:0/cpu:0\" 2 { 1: \"b\" 2: 6 4: 2 } }\n"
		"    1 { 1: \"/job:worker/replica:0/task:0/cpu:0\" 2 { 1: \"c\" 2: 7 4: 2 } } }");
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoProcess *of_b = tacho_slice_process(timeline, timeline_find(timeline, "b", 0));
	const TachoProcess *of_a = tacho_slice_process(timeline, timeline_find(timeline, "a", 0));

	g_assert_cmpuint(timeline->ranks->len, ==, 3);
	g_assert_cmpint(of_b->rank, ==, 0);
	g_assert_cmpint(of_a->rank, ==, 2);
	g_assert_cmpstr(tacho_timeline_string(timeline, of_a->command), ==, "worker 1");
	foreign_remove(path);
}

/* StepStats alone, of nanoseconds. */
static void test_nanoseconds(void)
{
	gchar *path =
		proto_text_write("step", "1 { 1: \"/job:localhost/replica:0/task:0/device:CPU:0\"\n"
					 "  2 { 1: \"a\" 2: 1 4: 1 13: 1500 15: 777 } }");
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	g_assert_cmpint(timeline->origin_unix_ns, ==, 1500);
	g_assert_cmpint(timeline->slices.duration_ns[timeline_find(timeline, "a", 0)], ==, 777);
	foreign_remove(path);
}

static void check_timeline_memory(const TachoTimeline *timeline, guint32 matmul)
{
	const TachoMemoryEvent *memory = &g_array_index(timeline->memory, TachoMemoryEvent, 0);

	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpint(memory[0].bytes, ==, 256);
	g_assert_cmpuint(memory[0].address, ==, 4096);
	g_assert_cmpuint(memory[0].device, ==, 1);
	g_assert_cmpuint(memory[0].slice, ==, matmul);
	g_assert_cmpint(memory[1].bytes, ==, -256);
	g_assert_cmpint(memory[1].time_ns, ==, 18000);
}

/* What the StepStats said, from a Chrome trace made of them. */
static void test_timeline(void)
{
	g_autofree gchar *path = data_path("timeline.json"), *args = NULL;
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;
	guint32 matmul = timeline_find(timeline, "layer/MatMul", 0);
	guint32 relu = timeline_find(timeline, "layer/Relu", 0);
	guint32 kernel = timeline_find(timeline, "MatMul", 0);
	TachoTensor input, output;

	if (slices->kind[kernel] != TACHO_SLICE_KERNEL)
		kernel = timeline_find(timeline, "MatMul", 1);
	g_assert_cmpuint(slices->launch[kernel], ==, matmul);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpstr(tacho_timeline_string(timeline, tacho_slice_type(timeline, relu)), ==,
			"Relu");
	g_assert_cmpuint(slices->track[matmul], !=, slices->track[relu]); /* they overlap */
	g_assert_true(tacho_slice_input(timeline, matmul, 1, &input));
	g_assert_false(tacho_slice_input(timeline, matmul, 2, &output));
	args = tacho_slice_args_json(timeline, relu);
	g_assert_nonnull(strstr(args, "\"novel\": 7"));
	check_timeline_memory(timeline, matmul);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 256);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
}

static gchar *write_timeline(const gchar *name, const gchar *from_us)
{
#define PROCESS                                                                                    \
	"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": "           \
	"\"%s\"}},\n"
	g_autofree gchar *text =
		g_strdup_printf("{\"traceEvents\": [\n" PROCESS PROCESS PROCESS
				"{\"ph\": \"X\", \"name\": \"MatMul\", \"pid\": 1, \"tid\": 0, "
				"\"ts\": %s, \"dur\": 10,\n"
				" \"args\": {\"name\": \"MatMul\", \"op\": \"MatMul\"}}]}",
				0, "Allocators", 1, "/cpu:0 Compute", 2, "/cpu:0 Tensors", from_us);
#undef PROCESS

	return foreign_write(name, text, strlen(text));
}

/* Steps are numbered in the order of time, not of their files' names. */
static void test_step_order(void)
{
	gchar *late = write_timeline("timeline-100.json", "1500000000000500");
	gchar *early = write_timeline("timeline-20.json", "1500000000000100");
	const gchar *paths[] = { late, early };
	g_autoptr(TachoTimeline) timeline = tacho_run_open(paths, 2, NULL, NULL, NULL);

	g_assert_nonnull(timeline);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 2);
	check_step(timeline, 0, 0, 10000);
	check_step(timeline, 1, 1, 10000);
	foreign_remove(late);
	foreign_remove(early);
}

static void expect_problem(const gchar *name, const gchar *text, TachoProblemKind kind,
			   const gchar *where)
{
	gchar *path = proto_text_write(name, text);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	g_assert_nonnull(problem);
	if (!strstr(problem->where, where))
		g_error("'%s' is not in: %s", where, problem->where);
	foreign_remove(path);
}

static void test_broken(void)
{
	expect_problem("run_meta", "1 { 1 { 1: \"/cpu:0\" 2: \"?\" 2 { 1: \"a\" 2: 5 4: 2 } } }",
		       TACHO_PROBLEM_CORRUPT_RECORD, "byte 12: ");
	expect_problem("run_meta",
		       "1 { 1 { 1: \"/cpu:0\" 2 { 1: \"a\" 2: 5 4: 2 } 2 { 1: \"b\" 4: 2 } } }",
		       TACHO_PROBLEM_IMPOSSIBLE_TIME, "run_meta");
	expect_problem("run_meta", "1 { 1 { 1: \"/cpu:0\" 2 { 1: \"a\" 2: 5 4: 2 } } } 77: 1",
		       TACHO_PROBLEM_UNKNOWN_RECORD, "run_meta");
	expect_problem("profile_1",
		       "1 { 1: 0 2 { 1: \"a\" 9: \"A\" 12 { 1: 1 2 { 5 { 1: \"/cpu:0\"\n"
		       "  2 { 1 { 1: 5 1: 7 } 1 { 1: 0 1: 7 } } } } } } } 5: 1",
		       TACHO_PROBLEM_LOST_RECORDS, "own times");
	expect_problem("profile_1",
		       "1 { 1: 0 2 { 1: \"a\" 9: \"A\" 12 { 1: 1 2 { 5 { 1: \"/cpu:0\"\n"
		       "  2 { 1 { 1: 5 1: 7 } } } } } } } 1: \"??\"",
		       TACHO_PROBLEM_CORRUPT_RECORD, "byte 36: ");
}

/* Cut anywhere, each is an error, or what came before the cut. */
static void cut_anywhere(const gchar *name)
{
	g_autofree gchar *from = data_path(name), *bytes = NULL;
	g_autofree gchar *base = g_path_get_basename(name);
	gsize n_bytes;

	g_assert_true(g_file_get_contents(from, &bytes, &n_bytes, NULL));
	for (gsize n = 0; n < n_bytes; n += n < 64 ? 1 : 7) {
		gchar *path = foreign_write(base, bytes, n);
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoTimeline) timeline =
			tacho_run_open((const gchar *const *)&path, 1, NULL, NULL, &error);

		if (timeline)
			foreign_use(timeline);
		else
			g_assert_nonnull(strstr(error->message, base));
		foreign_remove(path);
	}
}

static void test_truncated(void)
{
	cut_anywhere("profile_2");
	cut_anywhere("steps/run_meta");
	cut_anywhere("timeline.json");
}

static void test_damaged(void)
{
	static const gchar *const names[] = { "profile_2", "steps/run_meta", "steps/graph.pbtxt",
					      "timeline.json" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = data_path(names[i]);

		foreign_damage(path, 100);
	}
}

/* A graph that is broken costs its rest. */
static void test_graph_text(void)
{
	static const gchar *const texts[] = {
		"node { name: \"w\" op: \"VariableV2\" attr { key: \"shape\" value { shape {\n"
		" dim { size: 5 } dim { size: 7 } } } } } node { name: \"z\" op: \"unended",
		"node { name: \"w\" op: \"VariableV2\" attr < key: \"shape\" value: { shape {\n"
		" dim: { size: 5 }, dim < size: 7 > } } > } }",
	};
	g_autofree gchar *meta = data_path("steps/run_meta");

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		gchar *graph = foreign_write("graph.pbtxt", texts[i], strlen(texts[i]));
		const gchar *paths[] = { graph, meta };
		g_autoptr(TachoTimeline) timeline =
			tacho_run_open(paths, G_N_ELEMENTS(paths), NULL, NULL, NULL);
		TachoToldOp told;

		g_assert_nonnull(timeline);
		g_assert_true(tacho_slice_told(timeline, timeline_find(timeline, "w", 0), &told));
		g_assert_cmpfloat(told.parameters, ==, 35);
		g_assert_nonnull(
			tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD));
		foreign_remove(graph);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tensorflow/files", test_files);
	g_test_add_func("/tensorflow/profile", test_profile);
	g_test_add_func("/tensorflow/steps", test_steps);
	g_test_add_func("/tensorflow/timeline", test_timeline);
	g_test_add_func("/tensorflow/step_order", test_step_order);
	g_test_add_func("/tensorflow/tasks", test_tasks);
	g_test_add_func("/tensorflow/nanoseconds", test_nanoseconds);
	g_test_add_func("/tensorflow/broken", test_broken);
	g_test_add_func("/tensorflow/truncated", test_truncated);
	g_test_add_func("/tensorflow/damaged", test_damaged);
	g_test_add_func("/tensorflow/graph_text", test_graph_text);
	return g_test_run();
}
