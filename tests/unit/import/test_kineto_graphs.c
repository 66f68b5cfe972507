/* Kernels that a CUDA or HIP graph launched: each is the work of the one call that launched the graph, and of what is
 * around it. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar one_launch[] =
	"{\"schemaVersion\": 1, \"traceEvents\": [\n"
	"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"decode\", \"pid\": 5, \"tid\": "
	"5,"
	" \"ts\": 100, \"dur\": 50},\n"
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"replay\", \"pid\": 5, \"tid\": 5,"
	" \"ts\": 110, \"dur\": 30, \"args\": {\"External id\": 3}},\n"
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaGraphLaunch\", \"pid\": 5,"
	" \"tid\": 5, \"ts\": 112, \"dur\": 20, \"args\": {\"correlation\": 8}},\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": "
	"140,"
	" \"dur\": 30, \"args\": {\"correlation\": 8, \"graph id\": 2, \"graph node id\": 11}},\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"relu\", \"pid\": 0, \"tid\": 7, \"ts\": "
	"170,"
	" \"dur\": 10, \"args\": {\"correlation\": 8, \"graph id\": 2, \"graph node id\": 12}},\n"
	"{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy DtoD\", \"pid\": 0, \"tid\": "
	"13,"
	" \"ts\": 150, \"dur\": 5, \"args\": {\"correlation\": 8, \"bytes\": 64, \"graph id\": 2,"
	" \"graph node id\": 13}}\n]}\n";

/* On whichever stream, and with the op and the annotation around the launch. */
static void test_one_launch(void)
{
	static const gchar *const work[] = { "gemm", "relu", "Memcpy DtoD" };
	gchar *path = foreign_write("x.json", one_launch, strlen(one_launch));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	guint32 launch = timeline_find(timeline, "cudaGraphLaunch", 0);
	g_autofree gchar *args_json = NULL;

	tacho_correlate(timeline);
	for (guint i = 0; i < G_N_ELEMENTS(work); i++) {
		guint32 slice = timeline_find(timeline, work[i], 0);

		g_assert_cmpuint(timeline->slices.launch[slice], ==, launch);
		g_assert_cmpuint(tacho_kernel_op(timeline, slice), ==,
				 timeline_find(timeline, "replay", 0));
	}
	args_json = tacho_slice_args_json(timeline, timeline_find(timeline, "relu", 0));
	g_assert_nonnull(strstr(args_json, "\"graph node id\": 12"));
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_ORPHAN_KERNEL));
	foreign_remove(path);
}

struct event {
	const gchar *category, *name, *track, *args;
	gint ts, dur;
};

static gchar *make_trace(const struct event *events, guint n)
{
	GString *text = g_string_new("{\"schemaVersion\": 1, \"traceEvents\": [\n");

	for (guint i = 0; i < n; i++)
		g_string_append_printf(text,
				       "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", %s,"
				       " \"ts\": %d, \"dur\": %d, \"args\": {%s}}\n",
				       i ? "," : "", events[i].category, events[i].name,
				       events[i].track, events[i].ts, events[i].dur,
				       events[i].args);
	g_string_append(text, "]}\n");
	return g_string_free(text, FALSE);
}

#define HOST	  "\"pid\": 5, \"tid\": 5"
#define STREAM(n) "\"pid\": 0, \"tid\": " n
#define NODE(n)	  "\"correlation\": 8, \"graph node id\": " n

/* Nodes were captured in the order of their ids, which is not that in which they ran, on two streams. */
static void test_capture(void)
{
	static const struct event events[] = {
		{ "cuda_runtime", "cudaStreamBeginCapture", HOST, "", 100, 1 },
		{ "cpu_op", "aten::mm", HOST, "", 110, 5 },
		{ "cuda_runtime", "cudaLaunchKernel", HOST, "\"correlation\": 1", 111, 2 },
		{ "cpu_op", "aten::relu", HOST, "", 120, 5 },
		{ "cuda_driver", "cuLaunchKernel", HOST, "\"correlation\": 2", 121, 2 },
		{ "cuda_runtime", "cudaStreamEndCapture", HOST, "", 130, 1 },
		{ "cuda_runtime", "cudaGraphLaunch", HOST, "\"correlation\": 8", 140, 3 },
		{ "kernel", "relu", STREAM("7"), NODE("22"), 150, 9 },
		{ "kernel", "gemm", STREAM("8"), NODE("21"), 160, 5 },
	};
	g_autofree gchar *text = make_trace(events, G_N_ELEMENTS(events));
	gchar *path = foreign_write("x.json", text, strlen(text));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	guint32 gemm = timeline_find(timeline, "gemm", 0);
	guint32 relu = timeline_find(timeline, "relu", 0);

	tacho_correlate(timeline);
	g_assert_cmpuint(tacho_kernel_op(timeline, gemm), ==,
			 timeline_find(timeline, "aten::mm", 0));
	g_assert_cmpuint(tacho_kernel_op(timeline, relu), ==,
			 timeline_find(timeline, "aten::relu", 0));
	g_assert_cmpint(tacho_slice_borrow_graph_work(timeline, relu)->node, ==, 22);
	foreign_remove(path);
}

/* What each graph launched, counted from the files by correlation id. */
static void test_samples(void)
{
	static const struct {
		const gchar *name;
		guint n_launches, n_work;
	} samples[] = {
		{ "sglang_decode/sglang_Qwen3-8B_decode.json.gz", 1, 544 },
		{ "vllm_decode_full/graph_execution.json.gz", 1, 421 },
		{ "vllm_prefilldecode_piecewise/graph_execution.json.gz", 25, 361 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *name =
			g_strconcat("kineto/tracelens/inference/", samples[i].name, NULL);
		g_autofree gchar *path = foreign_sample(name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		guint n_launches = 0, n_work = 0;

		if (!timeline)
			return;
		for (guint32 k = 0; k < timeline->slices.n; k++) {
			guint32 launch = timeline->slices.launch[k];

			n_launches += strcmp(tacho_slice_name(timeline, k), "hipGraphLaunch") == 0;
			n_work += launch != TACHO_NONE &&
				  strcmp(tacho_slice_name(timeline, launch), "hipGraphLaunch") == 0;
		}
		g_assert_cmpuint(n_launches, ==, samples[i].n_launches);
		g_assert_cmpuint(n_work, ==, samples[i].n_work);
		/* none of them has its capture */
		tacho_correlate(timeline);
		g_assert_cmpuint(timeline->graph_work->len, ==, n_work);
		for (guint k = 0; k < timeline->graph_work->len; k++)
			g_assert_cmpuint(
				g_array_index(timeline->graph_work, TachoGraphWork, k).capture, ==,
				TACHO_NONE);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kineto_graphs/one_launch", test_one_launch);
	g_test_add_func("/kineto_graphs/capture", test_capture);
	g_test_add_func("/kineto_graphs/samples", test_samples);
	return g_test_run();
}
