/* Which traces that others made have steps, and by what. */
#include <tacho/correlate.h>

#include "foreign_traces.h"

static void assert_steps(const gchar *name, TachoStepSource source, guint n)
{
	g_autofree gchar *path = foreign_sample(name);
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

	if (!timeline)
		return;
	tacho_correlate(timeline);
	g_assert_cmpint(tacho_step_source(timeline), ==, source);
	g_assert_cmpuint(timeline->steps->len, ==, n);
}

/* Layers, iterations of a benchmark's set-up, and calls of a runtime are no steps. */
static void test_without(void)
{
	static const gchar *const names[] = {
		"kineto/tracelens/inference/vllm_prefilldecode_piecewise/graph_execution.json.gz",
		"kineto/tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz",
		("kineto/hta/critical_path/simple_add/"
		 "benchmark_result_493459_1694039959_trace.json.gz"),
		"kineto/hta/cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz",
		"perfetto/hip_course/rocprofv3_output_results.pftrace",
		"rocprof/hip_course/v3",
		"rocprof/hip_course/wave2d_sync/wave2d_sync.db.gz",
		"ctf/tracecompass/cyg-profile/glxgears-cyg-profile",
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		assert_steps(names[i], TACHO_STEPS_NONE, 0);
}

/* One step, whose region begins within profiler.step(): the five images in it are none. */
static void test_with(void)
{
	assert_steps("kineto/tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
		     TACHO_STEPS_ANNOTATED, 1);
	assert_steps("kineto/tracelens/mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
		     TACHO_STEPS_ANNOTATED, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/step_samples/without", test_without);
	g_test_add_func("/step_samples/with", test_with);
	return g_test_run();
}
