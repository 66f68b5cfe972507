/* Chrome traces of no known tool: slices, threads, counters, arrows, objects, and what is broken. */
#include <string.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar sample[] = TACHO_TEST_DATA "/chrome/tool-rank3.json";

static void test_tool(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(sample);
	const TachoSlices *slices = &timeline->slices;
	guint32 parse = timeline_find(timeline, "parse", 0),
		lex = timeline_find(timeline, "lex", 0);
	guint32 emit = timeline_find(timeline, "emit", 0),
		late = timeline_find(timeline, "late", 0);
	guint32 load = timeline_find(timeline, "load", 0),
		object = timeline_find(timeline, "obj", 0);
	const TachoTrack *front = tacho_timeline_track(timeline, slices->track[parse]);
	const TachoTrack *back = tacho_timeline_track(timeline, slices->track[emit]);
	const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, 0);
	g_autofree gchar *parse_args = tacho_slice_args_json(timeline, parse);
	g_autofree gchar *emit_args = tacho_slice_args_json(timeline, emit);

	g_assert_cmpint(timeline->origin_unix_ns, ==, 100000);
	g_assert_cmpint(slices->duration_ns[parse], ==, 50000);
	g_assert_cmpint(slices->start_ns[lex], ==, 1250);
	g_assert_cmpuint(slices->parent[lex], ==, parse);
	g_assert_cmpuint(slices->kind[parse], ==, TACHO_SLICE_OP);
	g_assert_cmpuint(slices->kind[load], ==, TACHO_SLICE_EVENT);
	g_assert_cmpint(slices->duration_ns[load], ==, 2000);
	g_assert_cmpint(slices->duration_ns[object], ==, 5000);
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[load])->kind, ==,
			TACHO_TRACK_ASYNC);
	g_assert_cmpuint(slices->flags[late], ==, TACHO_SLICE_OPEN);
	g_assert_cmpstr(tacho_timeline_string(timeline, front->name), ==, "front");
	g_assert_cmpstr(tacho_timeline_string(timeline, back->name), ==, "back");
	g_assert_cmpuint(front->tid, ==, 6);
	g_assert_nonnull(strstr(parse_args, "\"a.c\""));
	g_assert_null(emit_args);
	g_assert_cmpuint(timeline->flows->len, ==, 1);
	g_assert_cmpuint(flow->from, ==, lex);
	g_assert_cmpuint(flow->to, ==, emit);
	g_assert_cmpuint(timeline->samples->len, ==, 2);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value +
				  g_array_index(timeline->samples, TachoSample, 1).value,
			  ==, 7 + 2.6);
	g_assert_cmpint(timeline_find_mark(timeline, "now")->time_ns, ==, 20000);
	g_assert_cmpint(timeline_find_mark(timeline, "half")->time_ns, ==, 6000);
	g_assert_cmpstr(
		tacho_timeline_string(timeline, timeline_find_mark(timeline, "otherData")->text),
		==, "{\"a\": 1}");
	g_assert_nonnull(strstr(
		tacho_timeline_string(timeline, timeline_find_mark(timeline, "version")->text),
		"3"));
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 3);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 1);
}

/* Categories that many tools use are what they say, and others then events. */
static void test_categories(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"trace.json",
		"[{'ph': 'X', 'cat': 'my_kernel', 'name': 'k', 'tid': 7, 'ts': 1, 'dur': 2},"
		" {'ph': 'X', 'cat': 'nvtx-range', 'name': 'r', 'tid': 1, 'ts': 1, 'dur': 9},"
		" {'ph': 'X', 'cat': 'some', 'name': 'other', 'tid': 1, 'ts': 2, 'dur': 3}");
	guint32 kernel = timeline_find(timeline, "k", 0);

	g_assert_cmpuint(timeline->slices.kind[kernel], ==, TACHO_SLICE_KERNEL);
	g_assert_cmpint(tacho_timeline_track(timeline, timeline->slices.track[kernel])->kind, ==,
			TACHO_TRACK_STREAM);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_EVENT), ==, 1);
}

/* Slices of a "thread" that is none overlap, and stay as long as they are. */
static void test_overlap(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"trace.json", "[{'ph': 'X', 'name': 'a', 'tid': 1, 'ts': 10, 'dur': 20},"
			      " {'ph': 'X', 'name': 'b', 'tid': 1, 'ts': 20, 'dur': 30},"
			      " {'ph': 'X', 'name': 'c', 'tid': 2, 'ts': 20, 'dur': -3}]");
	guint32 slice = timeline_find(timeline, "b", 0);

	g_assert_cmpint(timeline->slices.duration_ns[slice], ==, 30000);
	g_assert_cmpint(tacho_timeline_track(timeline, timeline->slices.track[slice])->kind, ==,
			TACHO_TRACK_ASYNC);
	g_assert_cmpint(timeline->slices.duration_ns[timeline_find(timeline, "c", 0)], ==, 0);
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME)->count, ==, 1);
}

static void test_damaged(void)
{
	foreign_damage(sample, 300);
}

/* As many slices as its README says. */
static void test_sample(void)
{
	g_autofree gchar *path = foreign_sample("rocprof/hip_course/hip_only/result.json");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

	if (timeline)
		g_assert_cmpuint(timeline->slices.n, ==, 46 + 1 + 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/chrome/tool", test_tool);
	g_test_add_func("/chrome/categories", test_categories);
	g_test_add_func("/chrome/overlap", test_overlap);
	g_test_add_func("/chrome/damaged", test_damaged);
	g_test_add_func("/chrome/sample", test_sample);
	return g_test_run();
}
