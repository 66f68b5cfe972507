/* Profiles of ONNX Runtime. */
#include <string.h>
#include <tacho/import.h>

#include "foreign_traces.h"
#include "timeline_text.h"

#define HEAD                                                                                       \
	"[\n{'cat' : 'Session','pid' :9,'tid' :9,'dur' :7,'ts' :1,'ph' : 'X',"                     \
	"'name' :'session_initialization','args' : {}},\n"                                         \
	"{'cat' : 'Node','pid' :9,'tid' :9,'dur' :4,'ts' :10,'ph' : 'X',"                          \
	"'name' :'layer/add_kernel_time','args' : {'op_name' : 'Add','provider' : 'CPU'}}"

static void test_nodes(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"profile.json",
		HEAD ",\n{'cat' : 'Node','pid' :9,'tid' :9,'dur' :0,'ts' :9,'ph' : 'X',"
		     "'name' :'layer/add_fence_before','args' : {'op_name' : 'Add'}},\n"
		     "{'cat' : 'Session','pid' :9,'tid' :9,'dur' :6,'ts' :9,'ph' : 'X',"
		     "'name' :'model_run','args' : {}}\n]\n");

	g_assert_cmpuint(timeline->slices.n, ==, 3);
	timeline_assert_slice(timeline, "session_initialization", 0, "annotation", 0, 7000);
	timeline_assert_slice(timeline, "model_run", 0, "annotation", 8000, 6000);
	timeline_assert_slice(timeline, "Add", 0, "op", 9000, 4000);
}

/* A device's kernels stand on a stream of the process that ran, though they tell no process. */
static void test_device(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"profile.json",
		HEAD ",\n{'cat' : 'Kernel','pid' :-1,'tid' :-1,'dur' :2,'ts' :12,'ph' : 'X',"
		     "'name' :'add_kernel','args' : {'stream' : '7','block_x' : '64'}}\n]\n");
	guint32 kernel = timeline_find(timeline, "add_kernel", 0);
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[kernel]);

	timeline_assert_slice(timeline, "add_kernel", 0, "kernel", 11000, 2000);
	g_assert_cmpint(track->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpuint(track->tid, ==, 7);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
}

/* Any other Chrome trace, though it has sessions. */
static void test_others(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"trace.json", "[{'cat':'Session','pid':9,'tid':9,'dur':7,'ts':1,'ph':'X',"
			      "'name':'login','args':{}}]");

	timeline_assert_slice(timeline, "login", 0, "op", 0, 7000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/onnxruntime/nodes", test_nodes);
	g_test_add_func("/onnxruntime/device", test_device);
	g_test_add_func("/onnxruntime/others", test_others);
	return g_test_run();
}
