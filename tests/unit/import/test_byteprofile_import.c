/* Folders of byteprofile and files of BytePS: ranks, operations, collectives, NCCL's steps. */
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "import/byteprofile/byteprofile_tensors.h"
#include "import/byteprofile/gml_graph.h"
#include "timeline_text.h"

static const gchar trial[] = TACHO_TEST_DATA "/byteprofile";

static const TachoTrack *track_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice]);
}

static void test_trial(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(trial);
	guint32 forward = timeline_find(timeline, "net/conv1/Conv2D", 0);
	guint32 backward = timeline_find(timeline, "gradient_tape/net/conv1/MatMul", 0);
	guint32 kernel = timeline_find(timeline, "volta_sgemm", 0);
	guint32 send = timeline_find(timeline, "Comm.0.SEND", 0);
	TachoCollectiveArgs args;
	guint n_data = 0;

	g_assert_cmpuint(timeline->ranks->len, ==, 4);
	g_assert_cmpuint(timeline->processes->len, ==, 4);
	g_assert_cmpint(timeline->expected_ranks, ==, 4);
	for (guint i = 0; i < 4; i++) {
		const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		g_assert_cmpint(process->rank, ==, (gint)i);
		g_assert_cmpint(process->local_rank, ==, (gint)i % 2);
		g_assert_cmpstr(tacho_timeline_string(timeline, process->host), ==,
				i < 2 ? "host0" : "host1");
	}
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 4 * 3 * 2);
	g_assert_cmpuint(timeline->slices.flags[forward], ==, 0);
	g_assert_cmpuint(timeline->slices.flags[backward], ==, TACHO_SLICE_BACKWARD);
	g_assert_cmpuint(timeline->slices.launch[kernel], ==, forward);
	g_assert_cmpint(track_of(timeline, kernel)->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpstr(tacho_timeline_string(timeline, track_of(timeline, send)->name), ==,
			"channel 1 send");
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 4 * 3);
	g_assert_true(
		tacho_slice_collective(timeline, timeline_find(timeline, "allreduce", 0), &args));
	g_assert_cmpuint(args.bytes, ==, 3 * 3 * 3 * 64 * 4); /* of the gradient of its number */
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind != TACHO_FLOW_DATA)
			continue;
		g_assert_cmpstr(tacho_slice_name(timeline, flow->from), ==, "net/conv1/Conv2D");
		g_assert_cmpint(tacho_slice_end_ns(timeline, flow->from), ==,
				timeline->slices.start_ns[flow->to]);
		n_data++;
	}
	g_assert_cmpuint(n_data, ==, 4 * 3);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	for (guint i = 0; i < timeline->collectives->len; i++)
		g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, i).n_members,
				 ==, 4);
	g_assert_cmpuint(timeline->steps->len, >=, 4 * 2);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_ORPHAN_KERNEL));
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE));
}

/* A worker, and a GPU, of a trial: the ranks that NCCL's files tell. */
static void test_parts(void)
{
	g_autofree gchar *worker = g_build_filename(trial, "host1", NULL);
	g_autofree gchar *gpu = g_build_filename(trial, "host0", "1", NULL);
	g_autoptr(TachoTimeline) two = foreign_open(worker);
	g_autoptr(TachoTimeline) one = foreign_open(gpu);

	g_assert_cmpuint(two->ranks->len, ==, 2);
	g_assert_cmpint(g_array_index(two->ranks, TachoRank, 0).rank, ==, 2);
	g_assert_cmpint(g_array_index(two->ranks, TachoRank, 1).rank, ==, 3);
	g_assert_cmpuint(one->ranks->len, ==, 1);
}

/* BytePS: a gradient is a collective, its partitions' stages stand by themselves. */
static void test_byteps(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(TACHO_TEST_DATA "/byteps/comm.json");
	guint32 total = timeline_find(timeline, "pushpull", 0);
	guint32 push = timeline_find(timeline, "PUSH", 0);

	g_assert_cmpuint(timeline->slices.kind[total], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_cmpint(timeline->slices.duration_ns[total], ==, 900000);
	g_assert_cmpstr(tacho_timeline_string(timeline, track_of(timeline, total)->name), ==,
			"Comm.byteps.gradient_0 total");
	g_assert_cmpstr(tacho_timeline_string(timeline, track_of(timeline, push)->name), ==,
			"Comm.byteps.gradient_0 65536");
	g_assert_cmpuint(timeline->slices.kind[timeline_find(timeline, "COORDINATE_PUSH", 0)], ==,
			 TACHO_SLICE_WAIT);
}

static void check_server(const gchar *path, const gchar *first, gint64 first_us,
			 const gchar *second, gint64 second_us)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;

	g_assert_cmpint(slices->duration_ns[timeline_find(timeline, first, 0)], ==,
			first_us * 1000);
	g_assert_cmpint(slices->duration_ns[timeline_find(timeline, second, 0)], ==,
			second_us * 1000);
	g_assert_cmpuint(slices->flags[timeline_find(timeline, "pull-9", 0)], ==, TACHO_SLICE_OPEN);
}

static void test_server(void)
{
	g_autofree gchar *sample = foreign_sample("byteps/docs/server_profile_27000832.json");

	check_server(TACHO_TEST_DATA "/byteps/server.json", "push-9", 36, "push-11", 40);
	if (sample) /* "push-9 36 us, push-11 33 us; pull-9 is still open" */
		check_server(sample, "push-9", 36, "push-11", 33);
}

/* Messages between nodes, and the work of a server. */
static void test_logs(void)
{
	g_autoptr(TachoTimeline) worker = foreign_open(TACHO_TEST_DATA "/byteps/worker_9.log");
	g_autoptr(TachoTimeline) server = foreign_open(TACHO_TEST_DATA "/byteps/server_0.txt");
	guint32 push = timeline_find(worker, "push request", 0);
	guint32 open = timeline_find(worker, "push request", 1);
	guint32 response = timeline_find(worker, "push response", 0);
	guint32 sum = timeline_find(server, "SUM", 0);
	g_autofree gchar *args = tacho_slice_args_json(worker, push);

	g_assert_cmpint(worker->origin_unix_ns, ==, 1650000000300000000);
	g_assert_cmpint(worker->slices.duration_ns[push], ==, 450000);
	g_assert_cmpuint(worker->slices.flags[open], ==, TACHO_SLICE_OPEN);
	g_assert_cmpstr(tacho_timeline_string(worker, track_of(worker, push)->name), ==, "9 -> 8");
	g_assert_cmpstr(tacho_timeline_string(worker, track_of(worker, response)->name), ==,
			"8 -> 9");
	g_assert_nonnull(strstr(args, " 131072 9 8"));
	g_assert_cmpuint(tacho_timeline_find_problem(worker, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(tacho_timeline_find_problem(worker, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	g_assert_cmpint(server->slices.duration_ns[sum], ==, 40000);
	g_assert_cmpuint(server->problems->len, ==, 1); /* its rank is none */
	g_assert_cmpuint(tacho_timeline_find_problem(server, TACHO_PROBLEM_MISSING_RANK)->count, ==,
			 1);
}

/* What stands beside the traces may be broken, too. */
static void check_broken_graph(const gchar *text, guint n_expected)
{
	gchar *path = foreign_write("dag.gml", text, strlen(text));
	struct gml_graph *graph = gml_graph_read(path);

	g_assert_cmpuint(graph ? graph->edges->len : 0, ==, n_expected);
	gml_graph_free(graph);
	foreign_remove(path);
}

static void test_graphs(void)
{
	check_broken_graph("", 0);
	check_broken_graph("graph [ node [ id 0 label \"a\" ] node [ id 1 label \"b\" ]"
			   " edge [ source 0 target 1 ] edge [ source 0 target 9 ] ]",
			   1);
	check_broken_graph("node [ id 0 label \"a", 0);
	check_broken_graph("]]]] node [ id 0 graphics [ id 5 ] label \"a\" ]"
			   " edge [ source 0 target 0 ] [",
			   1);
}

static void check_sizes(const gchar *names, const gchar *metadata, const gchar *numbers,
			guint64 expected)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-tensors-XXXXXX", NULL);
	g_autofree gchar *first = g_build_filename(folder, "gradient_name_list.json", NULL);
	g_autofree gchar *second = g_build_filename(folder, "metadata.json", NULL);
	const gchar *folders[] = { folder, NULL };
	g_autoptr(GArray) tensors = NULL;

	g_assert_true(g_file_set_contents(first, names, -1, NULL));
	g_assert_true(g_file_set_contents(second, metadata, -1, NULL));
	tensors = byteprofile_tensors_read(folders);
	g_assert_cmpuint(byteprofile_tensors_sum(tensors, numbers, strlen(numbers)), ==, expected);
	g_unlink(first);
	g_unlink(second);
	g_rmdir(folder);
}

static void test_sizes(void)
{
	static const gchar names[] = "{\"gradient_name_list\": [\"a\", \"b;shape=(4, "
				     "5);dtype=float16\", 7, \"none\"]}";
	static const gchar metadata[] =
		"{\"op\": {\"output\": [{\"name\": \"a\", \"shape\": [6], \"dtype\": "
		"\"int64\"}, {\"name\": \"none\", \"shape\": [-1], \"dtype\": \"int64\"}, 3]}, "
		"\"x\": 1}";

	check_sizes(names, metadata, "0", 48);
	check_sizes(names, metadata, "0+1", 48 + 40);
	check_sizes(names, metadata, "3", 0);
	check_sizes(names, metadata, "9", 0);
	check_sizes(names, metadata, "0x1", 0);
	check_sizes(names, metadata, "", 0);
	check_sizes(names, "[", "1", 40);
	check_sizes("{\"gradient_name_list\": [\"a\"", metadata, "0", 48);
}

static void test_damaged(void)
{
	foreign_damage(TACHO_TEST_DATA "/byteps/worker_9.log", 100);
	foreign_damage(TACHO_TEST_DATA "/byteps/server_0.txt", 100);
	foreign_damage(TACHO_TEST_DATA "/byteprofile/host0/0/comm_detail.json", 100);
	foreign_damage(TACHO_TEST_DATA "/byteps/comm.json", 100);
	foreign_damage(TACHO_TEST_DATA "/byteps/server.json", 100);
	foreign_damage(TACHO_TEST_DATA "/dpro/tf_horovod/host0/0/comm.json", 100);
	foreign_damage(TACHO_TEST_DATA "/dpro/tf_byteps/zmq/zmq_worker_0.log", 100);
	foreign_damage(TACHO_TEST_DATA "/dpro/byteps_derived/comm_timeline.json", 100);
	foreign_damage(TACHO_TEST_DATA "/dpro/byteps_derived/server_timeline.json", 100);
}

static void copy(const gchar *from, const gchar *folder, const gchar *name)
{
	g_autofree gchar *source = g_build_filename(from, name, NULL);
	g_autofree gchar *target = g_build_filename(folder, name, NULL);
	g_autofree gchar *text = NULL;
	gsize n;

	g_assert_true(g_file_get_contents(source, &text, &n, NULL));
	g_assert_true(g_file_set_contents(target, text, (gssize)n, NULL));
}

/* A graph that is cut off, or has something else anywhere, is read as far as it can be. */
static void test_broken_metadata(void)
{
	static const gchar from[] = TACHO_TEST_DATA "/dpro/tf_horovod/host0/0";
	static const gchar *const names[] = { "trace.json", "comm.json", "gradient_name_list.json",
					      "metadata.json" };
	g_autofree gchar *folder = g_dir_make_tmp("tacho-graph-XXXXXX", NULL);
	g_autofree gchar *path = g_build_filename(folder, "metadata.json", NULL);
	g_autofree gchar *text = NULL;
	gsize n;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		copy(from, folder, names[i]);
	g_assert_true(g_file_get_contents(path, &text, &n, NULL));
	for (gsize at = 0; at < n; at += 53) {
		g_autofree gchar *broken = g_memdup2(text, n);
		g_autoptr(TachoTimeline) cut = NULL, changed = NULL;

		g_assert_true(g_file_set_contents(path, text, (gssize)at, NULL));
		cut = foreign_open(folder);
		tacho_correlate(cut);
		broken[at] = "]}{[9\"-:"[at % 8];
		g_assert_true(g_file_set_contents(path, broken, (gssize)n, NULL));
		changed = foreign_open(folder);
		tacho_correlate(changed);
		g_assert_cmpuint(foreign_count_kind(changed, TACHO_SLICE_OP), ==, 21);
	}
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *file = g_build_filename(folder, names[i], NULL);

		g_unlink(file);
	}
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/byteprofile/trial", test_trial);
	g_test_add_func("/byteprofile/parts", test_parts);
	g_test_add_func("/byteprofile/byteps", test_byteps);
	g_test_add_func("/byteprofile/server", test_server);
	g_test_add_func("/byteprofile/logs", test_logs);
	g_test_add_func("/byteprofile/graphs", test_graphs);
	g_test_add_func("/byteprofile/sizes", test_sizes);
	g_test_add_func("/byteprofile/damaged", test_damaged);
	g_test_add_func("/byteprofile/broken-metadata", test_broken_metadata);
	return g_test_run();
}
