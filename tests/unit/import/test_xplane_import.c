/* Small XSpaces become what they say; broken ones what can be saved of them. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "proto_text.h"
#include "timeline_text.h"

/* tests/data/xplane/NAME.txt, to be freed. */
static gchar *load_text(const gchar *name)
{
	g_autofree gchar *path = g_strdup_printf("%s/xplane/%s.txt", TACHO_TEST_DATA, name);
	gchar *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

/* The files beside the texts are what the texts say. */
static void test_files(void)
{
	static const gchar *const names[] = { "gpu", "tpu" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path =
			g_strdup_printf("%s/xplane/%s.xplane.pb", TACHO_TEST_DATA, names[i]);
		g_autofree gchar *text = load_text(names[i]), *file = NULL;
		g_autoptr(GByteArray) bytes = proto_text_bytes(text);
		gsize n;

		g_assert_true(g_file_get_contents(path, &file, &n, NULL));
		g_assert_cmpmem(file, n, bytes->data, bytes->len);
	}
}

static TachoTimeline *open_text(const gchar *text, gchar **ret_path)
{
	*ret_path = proto_text_write("rank2.xplane.pb", text);
	return foreign_open(*ret_path);
}

static void check_host(TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 step = timeline_find(timeline, "train", 0);
	guint32 execute = timeline_find(timeline, "Execute", 0);
	guint32 call = timeline_find(timeline, "hipLaunchKernel", 0);
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[execute]);

	g_assert_cmpint(timeline->origin_unix_ns, ==, 1700000000000001100);
	g_assert_cmpint(slices->start_ns[step], ==, 0);
	g_assert_cmpint(slices->duration_ns[step], ==, 9000); /* 1000.5 to 10000.5 */
	g_assert_cmpuint(slices->kind[step], ==, TACHO_SLICE_ANNOTATION);
	g_assert_cmpuint(slices->kind[execute], ==, TACHO_SLICE_OP);
	g_assert_cmpuint(slices->parent[execute], ==, step);
	g_assert_cmpuint(slices->kind[call], ==, TACHO_SLICE_RUNTIME);
	g_assert_cmpint(slices->duration_ns[call], ==, 1001); /* 2500.999 to 3501.000 */
	g_assert_cmpuint(slices->parent[call], ==, execute);
	g_assert_cmpuint(slices->kind[timeline_find(timeline, "$a.py:1 f", 0)], ==,
			 TACHO_SLICE_FUNCTION);
	g_assert_cmpuint(slices->kind[timeline_find(timeline, "point", 0)], ==, TACHO_SLICE_EVENT);
	g_assert_cmpstr(tacho_timeline_string(timeline, track->name), ==, "main");
	g_assert_cmpuint(track->tid, ==, 77);
	g_assert_cmpint(tacho_slice_process(timeline, step)->rank, ==, 2);
	g_assert_cmpstr(tacho_timeline_string(timeline, tacho_slice_process(timeline, step)->host),
			==, "node7");
}

static void check_device(TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "gemm", 0);
	guint32 copy = timeline_find(timeline, "MemcpyD2D", 0);
	guint32 collective = timeline_find(timeline, "ncclDevKernel_AllReduce", 0);
	guint32 region = timeline_find(timeline, "dot.1", 0);
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[kernel]);
	g_autofree gchar *json = tacho_slice_args_json(timeline, kernel);
	TachoKernelArgs args;

	g_assert_cmpuint(slices->kind[kernel], ==, TACHO_SLICE_KERNEL);
	g_assert_cmpuint(slices->kind[copy], ==, TACHO_SLICE_MEMCPY);
	g_assert_cmpuint(slices->kind[collective], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_cmpuint(slices->kind[region], ==, TACHO_SLICE_ANNOTATION); /* no second kernel */
	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_cmpuint(slices->launch[copy], ==, timeline_find(timeline, "hipLaunchKernel", 1));
	g_assert_cmpint(track->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpint(track->device, ==, 1);
	g_assert_cmpuint(track->tid, ==, 14);
	g_assert_true(tacho_slice_kernel(timeline, kernel, &args));
	g_assert_cmpuint(args.flops, ==, 1000);
	g_assert_cmpuint(args.bytes, ==, 2000);
	g_assert_cmpstr(args.text, ==, "grid:4,1,1 block:64");
	g_assert_true(tacho_slice_kernel(timeline, copy, &args));
	g_assert_cmpuint(args.bytes, ==, 4096);
	g_assert_cmpstr(json, ==,
			"{\"correlation_id\":42,\"kernel_details\":\"grid:4,1,1 block:64\","
			"\"hlo_op\":\"dot.1\",\"stat 77\":1.5,\"blob\":{\"bytes\":3},"
			"\"unknown_fields\":1,\"flops\":1000,\"bytes_accessed\":2000}");
}

static void check_moments(const TachoTimeline *timeline)
{
	const TachoMemoryEvent *memory = &g_array_index(timeline->memory, TachoMemoryEvent, 0);
	const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, 0);
	gboolean has_vendor = FALSE;

	g_assert_cmpuint(timeline->memory->len, ==, 2);
	g_assert_cmpint(memory[0].bytes, ==, 4096);
	g_assert_cmpuint(memory[0].address, ==, 64);
	g_assert_cmpuint(memory[0].device, ==, 2);
	g_assert_cmpint(memory[0].time_ns, ==, 5500);
	g_assert_cmpuint(memory[0].slice, ==, timeline_find(timeline, "$a.py:1 f", 0));
	g_assert_cmpint(memory[1].bytes, ==, -4096);
	g_assert_cmpfloat(sample->value, ==, 8192);
	g_assert_cmpstr(tacho_timeline_string(timeline,
					      tacho_timeline_track(timeline, sample->track)->name),
			==, "GPU_1_bfc allocated");
	for (guint i = 0; i < timeline->marks->len; i++)
		has_vendor |=
			strcmp(tacho_timeline_string(
				       timeline, g_array_index(timeline->marks, TachoMark, i).text),
			       "{\"device_vendor\":\"AMD\"}") == 0;
	g_assert_true(has_vendor);
}

static void check_correlated(const TachoTimeline *timeline)
{
	const TachoStep *step = &g_array_index(timeline->steps, TachoStep, 0);
	gboolean has_flow = FALSE;

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind != TACHO_FLOW_OTHER)
			continue;
		has_flow = TRUE;
		g_assert_cmpuint(flow->from, ==, timeline_find(timeline, "give", 0));
		g_assert_cmpuint(flow->to, ==, timeline_find(timeline, "take", 0));
	}
	g_assert_true(has_flow);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	g_assert_cmpint(step->start_ns, ==, 0);
	g_assert_cmpint(step->end_ns, ==, 9000);
	g_assert_true(step->is_complete);
}

static void test_gpu(void)
{
	g_autofree gchar *text = load_text("gpu");
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(text, &path);

	check_host(timeline);
	check_device(timeline);
	check_moments(timeline);
	tacho_correlate(timeline);
	check_correlated(timeline);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	foreign_remove(path);
}

static void check_kinds(const TachoTimeline *timeline)
{
	static const struct {
		const gchar *name;
		guint index;
		TachoSliceKind kind;
	} expected[] = {
		{ "jit_f(1)", 0, TACHO_SLICE_ANNOTATION },
		{ "while.1", 0, TACHO_SLICE_ANNOTATION },
		{ "dot.2", 0, TACHO_SLICE_KERNEL },
		{ "all-reduce.3", 0, TACHO_SLICE_COLLECTIVE },
		{ "copy-start", 0, TACHO_SLICE_EVENT },
		{ "copy-done", 0, TACHO_SLICE_SYNC },
		{ "copy-start", 1, TACHO_SLICE_MEMCPY },
		{ "wait", 0, TACHO_SLICE_ANNOTATION },
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpuint(timeline->slices.kind[timeline_find(timeline, expected[i].name,
								     expected[i].index)],
				 ==, expected[i].kind);
}

static void test_tpu(void)
{
	g_autofree gchar *text = load_text("tpu");
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(text, &path);
	const TachoSlices *slices = &timeline->slices;
	guint32 dot = timeline_find(timeline, "dot.2", 0);
	guint32 reduce = timeline_find(timeline, "all-reduce.3", 0);
	TachoKernelArgs kernel;
	TachoCollectiveArgs collective;

	check_kinds(timeline);
	g_assert_cmpuint(slices->parent[dot], ==, timeline_find(timeline, "while.1", 0));
	g_assert_cmpuint(slices->launch[dot], ==, timeline_find(timeline, "Enqueue", 0));
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[dot])->device, ==, 3);
	g_assert_true(tacho_slice_kernel(timeline, dot, &kernel));
	g_assert_cmpuint(kernel.flops, ==, 128);
	g_assert_true(tacho_slice_collective(timeline, reduce, &collective));
	g_assert_cmpuint(collective.bytes, ==, 256);
	/* what overlaps lies on two lanes */
	g_assert_cmpuint(slices->track[timeline_find(timeline, "copy-start", 1)], !=,
			 slices->track[timeline_find(timeline, "copy-start", 2)]);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 2);
	g_assert_cmpint(g_array_index(timeline->steps, TachoStep, 0).end_ns -
				g_array_index(timeline->steps, TachoStep, 0).start_ns,
			==, 1000);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	foreign_remove(path);
}

static void expect_problem(const gchar *text, TachoProblemKind kind, const gchar *where)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoProblem *problem;
	gchar *path;

	timeline = open_text(text, &path);
	problem = tacho_timeline_find_problem(timeline, kind);
	g_assert_nonnull(problem);
	if (!strstr(problem->where, where))
		g_error("'%s' is not in: %s", where, problem->where);
	foreign_remove(path);
}

static void test_broken(void)
{
	expect_problem("1 { 2: \"/host:CPU\" 3 { 4 { 1: 1 2: -5 3: 7 } 4 { 1: 1 2: 9 3: 7 } } }",
		       TACHO_PROBLEM_IMPOSSIBLE_TIME, "rank2.xplane.pb");
	expect_problem("1 { 2: \"/host:CPU\" 3 { 4 { 1: 1 5: 12 } 4 { 1: 1 2: 9 3: 7 } } }",
		       TACHO_PROBLEM_UNKNOWN_RECORD, "summed up");
	expect_problem("1 { 2: \"/host:CPU\" 3 { 77: 1 4 { 1: 1 2: 9 3: 7 } } }",
		       TACHO_PROBLEM_UNKNOWN_RECORD, "fields");
	/* an event that is none */
	expect_problem("1 { 2: \"/host:CPU\" 3 { 4: \"?\" 4 { 1: 1 2: 9 3: 7 } } }",
		       TACHO_PROBLEM_CORRUPT_RECORD, "byte 15: ");
	/* a plane that is none, and one behind it */
	expect_problem("1 { 2: \"/host:CPU\" 3: \"???\" } 1 { 2: \"/host:CPU\" 3 { 4 { 1: 1 2: 9 "
		       "3: 7 } } }",
		       TACHO_PROBLEM_CORRUPT_RECORD, "byte 15: ");
}

/* Cut anywhere, it is an error, or what came before the cut with a problem. */
static void test_truncated(void)
{
	g_autofree gchar *text = load_text("gpu");
	g_autoptr(GByteArray) whole = proto_text_bytes(text);

	for (guint n = 0; n < whole->len; n++) {
		gchar *path = foreign_write("x.xplane.pb", (const gchar *)whole->data, n);
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoTimeline) timeline =
			tacho_run_open((const gchar *const *)&path, 1, NULL, NULL, &error);

		if (timeline) {
			g_assert_cmpuint(timeline->slices.n, >, 0);
			/* between planes nothing is missing that could be told */
			if (!tacho_timeline_find_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE))
				g_assert_true(whole->data[n] == 0x0a || whole->data[n] == 0x22);
			foreign_use(timeline);
		} else {
			g_assert_nonnull(strstr(error->message, "x.xplane.pb"));
		}
		foreign_remove(path);
	}
}

static void test_nothing(void)
{
	gchar *path = proto_text_write("x.xplane.pb", "1 { 2: \"/host:CPU\" }");
	g_autofree gchar *message = foreign_open_fails(path);

	g_assert_nonnull(strstr(message, "the trace has no events"));
	foreign_remove(path);
}

/* Stats by their ids, then kinds of events, of a host that runs XLA's programs itself. Fields: 5 names of stats, 4 kinds of
 * events, 3 lines. */
#define HOST_NAMES                                                                                 \
	"5 { 1: 1 2 { 1: 1 2: \"hlo_op\" } } 5 { 1: 2 2 { 1: 2 2: \"hlo_module\" } }\n"            \
	"5 { 1: 3 2 { 1: 3 2: \"run_id\" } } 5 { 1: 4 2 { 1: 4 2: \"device_ordinal\" } }\n"        \
	"5 { 1: 5 2 { 1: 5 2: \"step_num\" } } 5 { 1: 6 2 { 1: 6 2: \"jit_f\" } }\n"               \
	"4 { 1: 1 2 { 1: 1 2: \"dot.1\" } } 4 { 1: 2 2 { 1: 2 2: \"all-reduce.2\" } }\n"           \
	"4 { 1: 3 2 { 1: 3 2: \"ThunkExecutor::Execute\" } }\n"                                    \
	"4 { 1: 4 2 { 1: 4 2: \"np.asarray(jax.Array)\" } }\n"                                     \
	"4 { 1: 5 2 { 1: 5 2: \"tacho_step\" } } 4 { 1: 6 2 { 1: 6 2: \"train\" } }\n"
/* An operation of run `run` on device `ordinal`, and a region of step `number`; offsets and durations in microseconds. */
#define HOST_OP(kind, offset, duration, run, ordinal)                                              \
	"4 { 1: " #kind " 2: " #offset "000000 3: " #duration "000000 4 { 1: 1 5: \"x\" }\n"       \
	"4 { 1: 2 7: 6 } 4 { 1: 3 4: " #run " } 4 { 1: 4 4: " #ordinal " } }\n"
#define HOST_STEP(kind, offset, duration, number)                                                  \
	"4 { 1: " #kind " 2: " #offset "000000 3: " #duration "000000 4 { 1: 5 4: " #number " } "  \
	"}\n"
#define HOST_EVENT(kind, offset, duration)                                                         \
	"4 { 1: " #kind " 2: " #offset "000000 3: " #duration "000000 }\n"
#define HOST_LINE(id, events) "3 { 1: " #id " 2: \"t\" 3: 1700000000000000000\n" events "}\n"

/* Without devices, the host's threads run the programs. */
static void test_host(void)
{
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(
		"1 { 1: 1 2: \"/host:CPU\"\n" HOST_NAMES HOST_LINE(
			1, HOST_EVENT(3, 0, 100) HOST_OP(1, 10, 20, 7, 0) HOST_OP(2, 40, 50, 7, 0)
				   HOST_OP(1, 210, 20, 8, 0))
			HOST_LINE(2, HOST_OP(1, 15, 20, 7, 1) HOST_EVENT(4, 50, 100)) "}\n",
		&path);

	timeline_assert_slice(timeline, "dot.1", 0, "op", 10000, 20000);
	timeline_assert_slice(timeline, "all-reduce.2", 0, "collective", 40000, 50000);
	timeline_assert_slice(timeline, "ThunkExecutor::Execute", 0, "annotation", 0, 100000);
	timeline_assert_slice(timeline, "np.asarray(jax.Array)", 0, "wait", 50000, 100000);
	/* two runs on the first device, one on the second */
	timeline_assert_slice(timeline, "jit_f", 0, "annotation", 10000, 80000);
	timeline_assert_slice(timeline, "jit_f", 1, "annotation", 210000, 20000);
	timeline_assert_slice(timeline, "jit_f", 2, "annotation", 15000, 20000);
	foreign_remove(path);
}

/* What the hook drew are steps, unless the program draws its own. */
static void test_own_steps(void)
{
	gchar *path, *other_path;
	g_autoptr(TachoTimeline) drawn =
		open_text("1 { 1: 1 2: \"/host:CPU\"\n" HOST_NAMES HOST_LINE(
				  1, HOST_STEP(5, 0, 50, 3) HOST_STEP(5, 50, 50, 4)) "}\n",
			  &path);
	g_autoptr(TachoTimeline) both =
		open_text("1 { 1: 1 2: \"/host:CPU\"\n" HOST_NAMES HOST_LINE(
				  1, HOST_STEP(5, 0, 50, 3) HOST_STEP(6, 10, 20, 8)
					     HOST_STEP(6, 40, 20, 9) HOST_STEP(5, 50, 50, 4)) "}\n",
			  &other_path);

	g_assert_cmpint(timeline_find_mark(drawn, "step")->first, ==, 3);
	g_assert_cmpint(timeline_find_mark(drawn, "step")->second, ==, 50000);
	g_assert_cmpint(timeline_find_mark(both, "step")->first, ==, 8);
	g_assert_cmpint(timeline_find_mark(both, "step")->second, ==, 20000);
	foreign_remove(path);
	foreign_remove(other_path);
}

/* The program's own numbers begin again, in each epoch; another thread has a part of some steps. */
static void test_epochs(void)
{
	const gint64 begins_us[] = { 0, 100, 200, 300, 400 };
	gchar *path;
	g_autoptr(TachoTimeline) timeline = open_text(
		"1 { 1: 1 2: \"/host:CPU\"\n" HOST_NAMES HOST_LINE(
			1, HOST_STEP(6, 100, 90, 8) HOST_STEP(6, 0, 90, 7) HOST_STEP(6, 200, 90, 0)
				   HOST_STEP(6, 300, 90, 1) HOST_STEP(6, 400, 90, 0))
			HOST_LINE(2, HOST_STEP(6, 110, 85, 8) HOST_STEP(6, 220, 10, 0)) "}\n",
		&path);
	guint n = 0;

	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);

		if (strcmp(tacho_timeline_string(timeline, mark->name), "step") != 0)
			continue;
		g_assert_cmpuint(n, <, G_N_ELEMENTS(begins_us));
		g_assert_cmpint(mark->first, ==, 7 + n);
		g_assert_cmpint(mark->time_ns, ==, begins_us[n] * 1000);
		g_assert_cmpint(mark->second, ==, n == 1 ? 95000 : 90000);
		n++;
	}
	g_assert_cmpuint(n, ==, G_N_ELEMENTS(begins_us));
	foreign_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/xplane/files", test_files);
	g_test_add_func("/xplane/gpu", test_gpu);
	g_test_add_func("/xplane/tpu", test_tpu);
	g_test_add_func("/xplane/host", test_host);
	g_test_add_func("/xplane/own_steps", test_own_steps);
	g_test_add_func("/xplane/epochs", test_epochs);
	g_test_add_func("/xplane/broken", test_broken);
	g_test_add_func("/xplane/truncated", test_truncated);
	g_test_add_func("/xplane/nothing", test_nothing);
	return g_test_run();
}
