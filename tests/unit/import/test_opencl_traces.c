/* Traces of OpenCL: Intel's Intercept Layer and TAU. */
#include <string.h>
#include <tacho/import.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const TachoTrack *track_of(const TachoTimeline *timeline, const gchar *name)
{
	return tacho_timeline_track(timeline,
				    timeline->slices.track[timeline_find(timeline, name, 0)]);
}

#define HEAD                                                                                       \
	"[\n{'ph':'M','name':'process_name','pid':8,'tid':0,'args':{'name':'app'}},\n"             \
	"{'ph':'M','name':'clintercept_start_time','pid':8,'tid':0,'args':{'start_time':50}},\n"

/* Calls of a thread and commands of queue 2, the second of which is of no call that was seen. */
static void test_calls_and_commands(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"clintercept_trace.json",
		HEAD "{'ph':'M','name':'thread_name','pid':8,'tid':-2,'args':{'name':'IOQ gpu'}},\n"
		     "{'ph':'X','pid':8,'tid':77,'name':'clEnqueueNDRangeKernel( saxpy )',"
		     "'ts':10.000,'dur':4.500,'args':{'id':1}},\n"
		     "{'ph':'X','pid':8,'tid':77,'name':'clFinish','ts':20.000,'dur':30.000},\n"
		     "{'ph':'X','pid':8,'tid':-2,'name':'saxpy','ts':21.000,'dur':20.000,"
		     "'args':{'id':1}},\n"
		     "{'ph':'X','pid':8,'tid':-2,'name':'clEnqueueFillBuffer','ts':42.000,"
		     "'dur':1.000,'args':{'id':9}},\n");
	guint32 kernel = timeline_find(timeline, "saxpy", 0);

	g_assert_cmpint(timeline->origin_unix_ns, ==, 60000); /* 50 and 10 us */
	timeline_assert_slice(timeline, "clFinish", 0, "runtime", 10000, 30000);
	timeline_assert_slice(timeline, "saxpy", 0, "kernel", 11000, 20000);
	timeline_assert_slice(timeline, "clEnqueueFillBuffer", 0, "memset", 32000, 1000);
	g_assert_cmpint(track_of(timeline, "saxpy")->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpuint(track_of(timeline, "saxpy")->tid, ==, 2);
	g_assert_cmpuint(timeline->slices.launch[kernel], ==,
			 timeline_find(timeline, "clEnqueueNDRangeKernel( saxpy )", 0));
	g_assert_cmpuint(timeline->slices.launch[timeline_find(timeline, "clEnqueueFillBuffer", 0)],
			 ==, TACHO_NONE);
}

/* In stages each command has a row of its own: those of one queue are one stream here. */
static void test_stages(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"clintercept_trace.json",
		HEAD "{'ph':'X','pid':8,'tid':1.3,'name':'saxpy (Queued)','ts':1.0,'dur':2.0,"
		     "'args':{'id':1}},\n"
		     "{'ph':'X','pid':8,'tid':1.3,'name':'saxpy (Submitted)','ts':3.0,'dur':1.0,"
		     "'args':{'id':1}},\n"
		     "{'ph':'X','pid':8,'tid':1.3,'name':'saxpy (Execution)','ts':4.0,'dur':5.0,"
		     "'args':{'id':1}},\n"
		     "{'ph':'X','pid':8,'tid':2.3,'name':'relu (Execution)','ts':9.0,'dur':1.0,"
		     "'args':{'id':2}}\n]\n");

	timeline_assert_slice(timeline, "saxpy", 0, "kernel", 3000, 5000);
	timeline_assert_slice(timeline, "saxpy (Queued)", 0, "event", 0, 2000);
	g_assert_true(track_of(timeline, "saxpy") == track_of(timeline, "relu"));
	g_assert_cmpuint(track_of(timeline, "relu")->tid, ==, 3);
	g_assert_true(track_of(timeline, "saxpy (Queued)") != track_of(timeline, "saxpy"));
}

static void test_clintercept_sample(void)
{
	g_autofree gchar *path = foreign_sample("opencl/intercept/clintercept_trace.json");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
	gint64 others_ns = 0;

	if (!timeline)
		return;
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (!g_str_has_prefix(tacho_slice_name(timeline, i), "cl"))
			others_ns += timeline->slices.duration_ns[i];
	g_assert_cmpuint(timeline->slices.n, ==, 4);
	g_assert_cmpint(others_ns, ==, 2569820334); /* the origin: 2569.820334 ms */
}

#define TAU(phase, name, ts, tid)                                                                  \
	"{'name': '" name "', 'cat': 'TAU', 'ph': '" phase "', 'ts': '" ts                         \
	"', 'pid': '0', 'tid': '" tid "' },\n"

static void test_tau(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"trace.json",
		"[\n" TAU("B", ".TAU application ", "0.000000", "2") TAU("B", ".TAU application ",
									 "1.000000", "0")
			TAU("B", "cl_int clEnqueueNDRangeKernel(cl_command_queue, size_t *) C ",
			    "10.000000", "0")
				TAU("E",
				    "cl_int clEnqueueNDRangeKernel(cl_command_queue, size_t *) C ",
				    "14.000000", "0") TAU("B", "mat_mult ", "20.000000", "2")
					TAU("E", "mat_mult ", "50.000000", "2")
						TAU("E", ".TAU application ", "90.000000", "0"));
	guint32 kernel = timeline_find(timeline, "mat_mult", 0);

	timeline_assert_slice(timeline, "clEnqueueNDRangeKernel", 0, "runtime", 10000, 4000);
	timeline_assert_slice(timeline, "mat_mult", 0, "kernel", 20000, 30000);
	g_assert_cmpint(track_of(timeline, "mat_mult")->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpuint(timeline->slices.launch[kernel], ==,
			 timeline_find(timeline, "clEnqueueNDRangeKernel", 0));
	/* the device's whole life is no work of it */
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
}

static void test_tau_sample(void)
{
	g_autofree gchar *path = foreign_sample("opencl/opencl_course/trace.json");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

	if (!timeline)
		return;
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 3);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==, 72);
	timeline_assert_slice(timeline, "mat_mult", 0, "kernel", 389529000, 448000);
}

static void test_damaged(void)
{
	static const gchar *const names[] = { "opencl/intercept/clintercept_trace.json",
					      "opencl/opencl_course/trace.json" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = foreign_sample(names[i]);

		if (path)
			foreign_damage(path, 200);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/opencl-traces/calls-and-commands", test_calls_and_commands);
	g_test_add_func("/opencl-traces/stages", test_stages);
	g_test_add_func("/opencl-traces/clintercept-sample", test_clintercept_sample);
	g_test_add_func("/opencl-traces/tau", test_tau);
	g_test_add_func("/opencl-traces/tau-sample", test_tau_sample);
	g_test_add_func("/opencl-traces/damaged", test_damaged);
	return g_test_run();
}
