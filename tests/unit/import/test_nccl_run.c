/* Records of NCCL's Inspector, and of a plug-in of its profiler: collectives of all ranks with bytes and times. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar inspector[] = TACHO_TEST_DATA "/nccl/inspector.log";
static const gchar profiler[] = TACHO_TEST_DATA "/nccl/profiler.jsonl";

static void test_inspector(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(inspector);
	const TachoSlices *slices = &timeline->slices;
	guint32 reduce = timeline_find(timeline, "allreduce", 0);
	guint32 scatter = timeline_find(timeline, "reducescatter", 1);
	guint32 channel = timeline_find(timeline, "channel 3", 1);
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, reduce);
	TachoCollectiveArgs args;

	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(g_array_index(timeline->processes, TachoProcess, 1).pid, ==, 101);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 4);
	g_assert_cmpint(slices->duration_ns[reduce], ==, 100000);
	g_assert_cmpint(timeline->origin_unix_ns + tacho_slice_end_ns(timeline, reduce), ==,
			1700000000001000000);
	g_assert_true(tacho_slice_collective(timeline, reduce, &args));
	g_assert_cmpuint(args.bytes, ==, 1048576);
	g_assert_cmpuint(args.group, ==, 0x7f01);
	g_assert_true(tacho_slice_collective(timeline, scatter, &args));
	g_assert_cmpuint(args.bytes, ==, 2 * 4096);
	/* it ended with its kernel */
	g_assert_cmpint(tacho_slice_end_ns(timeline, scatter), ==,
			tacho_slice_end_ns(timeline, channel));
	g_assert_nonnull(strstr(args_json, "\"coll_sn\": 1"));
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, 0).n_members, ==, 2);
}

static void test_profiler(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(profiler);
	const TachoSlices *slices = &timeline->slices;
	guint32 first = timeline_find(timeline, "allreduce", 0);
	guint32 kernel = timeline_find(timeline, "ncclDevKernel", 1);
	TachoCollectiveArgs args;

	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->processes->len, ==, 2);	 /* of one pid */
	g_assert_cmpint(slices->duration_ns[first], ==, 100125); /* to the end of its channel */
	g_assert_true(tacho_slice_collective(timeline, first, &args));
	g_assert_cmpuint(args.bytes, ==, 512);
	g_assert_cmpuint(args.group, ==, G_MAXUINT64);
	/* of the rank that launched it, whatever GPU the record says */
	g_assert_cmpint(tacho_slice_process(timeline, kernel)->rank, ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==, 2);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->collectives->len, ==, 1);
	g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, 0).n_members, ==, 2);
}

static void add_send(GString *text, guint communicator, guint rank, guint peer, const gchar *way,
		     guint start_us, guint stop_us)
{
	g_string_append_printf(
		text,
		"{'recordType':'event','type':'ncclProfileP2p','commId':%u,'rank':%u,"
		"'start':{'ts':%u.0,'pid':%u},'stop':{'ts':%u.0,'pid':%u},'eventAddr':'0x0',"
		"'details':{'func':'%s','peer':%u,'count':4,'dtype':'ncclFloat32'}}\n",
		communicator, rank, start_us, 100 + (communicator == 7 ? rank : 2 - rank), stop_us,
		100 + (communicator == 7 ? rank : 2 - rank), way, peer);
}

/* Three processes; a second communicator has the last two of them, the other way round: its peers are not the job's. */
static void test_sends(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < 5; i++)
		g_string_append_printf(text,
				       "{'type':'ProfilerLifecycle','func':'ProfilerInit',"
				       "'commId':%u,'rank':%u,'start':{'ts':1.0,'pid':%u},"
				       "'stop':{'ts':1.0},'details':{'nranks':%u}}\n",
				       i < 3 ? 7 : 9, i % 3, i < 3 ? 100 + i : 105 - i,
				       i < 3 ? 3 : 2);
	add_send(text, 7, 0, 1, "Send", 10, 14);
	add_send(text, 7, 1, 0, "Recv", 11, 15);
	add_send(text, 7, 1, 2, "Send", 20, 24);
	add_send(text, 7, 2, 1, "Recv", 21, 25);
	add_send(text, 9, 0, 1, "Send", 30, 34);
	add_send(text, 9, 1, 0, "Recv", 31, 35);
	add_send(text, 7, 2, 9, "Send", 40, 44); /* to nobody */
	timeline = foreign_open_json("sends.jsonl", text->str);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->ranks->len, ==, 3);
	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	for (guint i = 0; i < 3; i++) {
		static const gint32 RANKS[][2] = { { 0, 1 }, { 1, 2 }, { 2, 1 } };
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);

		for (guint k = 0; k < 2; k++)
			g_assert_cmpint(tacho_slice_process(
						timeline, g_array_index(timeline->members, guint32,
									row->first_member + k))
						->rank,
					==, RANKS[i][k]);
		g_assert_cmpuint(row->bytes, ==, 16);
	}
}

static void test_damaged(void)
{
	foreign_damage(inspector, 200);
	foreign_damage(profiler, 200);
}

/* The documentation's two records, printed wide. */
static void test_inspector_sample(void)
{
	g_autofree gchar *path = foreign_sample("nccl/inspector/readme_samples.json.txt");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
	guint32 reduce, scatter;
	TachoCollectiveArgs args;

	if (!timeline)
		return;
	reduce = timeline_find(timeline, "allreduce", 0);
	scatter = timeline_find(timeline, "reducescatter", 0);
	g_assert_cmpint(timeline->slices.duration_ns[reduce], ==, 61974000);
	g_assert_cmpint(timeline->slices.duration_ns[scatter], ==, 41057000);
	/* so that the bandwidths are those of the records: 277.210914 and 418.439467 GB/s */
	g_assert_true(tacho_slice_collective(timeline, reduce, &args));
	g_assert_cmpfloat_with_epsilon((gdouble)args.bytes / 61974e3, 277.210914, 0.001);
	g_assert_true(tacho_slice_collective(timeline, scatter, &args));
	g_assert_cmpfloat_with_epsilon((gdouble)args.bytes / 41057e3, 418.439467, 0.01);
}

/* One all-reduce of 128 MiB on four GPUs of one process. */
static void test_profiler_sample(void)
{
	g_autofree gchar *path = foreign_sample("nccl/nccl_profiler/allreduce_single_node.jsonl");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
	const TachoCollective *collective;

	if (!timeline)
		return;
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->ranks->len, ==, 4);
	g_assert_cmpuint(timeline->collectives->len, ==, 1);
	collective = &g_array_index(timeline->collectives, TachoCollective, 0);
	g_assert_cmpuint(collective->n_members, ==, 4);
	g_assert_cmpuint(collective->bytes, ==, 33554432 * 4);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	/* 287 lines: 8 of the life of the profiler, 142 states; the others are slices */
	g_assert_cmpuint(timeline->slices.n, ==, 287 - 8 - 138);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/nccl/inspector", test_inspector);
	g_test_add_func("/nccl/profiler", test_profiler);
	g_test_add_func("/nccl/sends", test_sends);
	g_test_add_func("/nccl/damaged", test_damaged);
	g_test_add_func("/nccl/inspector-sample", test_inspector_sample);
	g_test_add_func("/nccl/profiler-sample", test_profiler_sample);
	return g_test_run();
}
