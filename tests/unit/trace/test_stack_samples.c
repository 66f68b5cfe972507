/* stack_samples: samples become slices that last as long as samples saw them, whatever is missing of the records. */
#include <string.h>
#include <tacho/timeline.h>

#include "run_builder.h"
#include "trace/function_kind.h"

struct sampled_run {
	gchar *folder;
	struct run_builder *run;
	guint32 main, step, library, stack;
};

static void begin_run(struct sampled_run *sampled)
{
	const struct run_builder_process process = { .pid = 33 };

	sampled->folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	sampled->run = run_builder_new(sampled->folder, &process);
	sampled->main = run_builder_class(sampled->run, TRACE_KIND_FUNCTION, "train.py(10): main");
	sampled->step =
		run_builder_class(sampled->run, TRACE_KIND_FUNCTION, "a(b).py(20): Net.step");
	sampled->library = run_builder_class(sampled->run, TRACE_KIND_FUNCTION,
					     "/usr/lib/python3/dist-packages/torch/x.py(5): f");
	sampled->stack = run_builder_class(sampled->run, TRACE_KIND_STACK, "python");
	run_builder_stream(sampled->run, 99);
}

/* `frames`: class and line in turn, `n` of them. */
static void add_stack(struct sampled_run *sampled, guint64 stamp, guint64 before, guint32 tid,
		      guint32 state, guint32 n_same, guint32 n, const guint32 *frames)
{
	struct record_stack *record =
		run_builder_record(sampled->run, sampled->stack, stamp,
				   (guint32)(sizeof(*record) + n * sizeof(struct record_frame)));

	record->before = before;
	record->tid = tid;
	record->state = state;
	record->n_same = n_same;
	record->n_frames = n;
	if (n)
		memcpy(record + 1, frames, n * sizeof(struct record_frame));
}

static TachoTimeline *end_run(struct sampled_run *sampled)
{
	const gchar *path = sampled->folder;
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline;

	run_builder_end(sampled->run);
	timeline = tacho_timeline_open(&path, 1, &error);
	g_assert_no_error(error);
	run_builder_remove(sampled->folder);
	g_free(sampled->folder);
	return timeline;
}

/* "name start+duration" of each slice of the track, indented by its depth. */
static gchar *slices_text(const TachoTimeline *timeline, guint32 track)
{
	const TachoTrack *row = tacho_timeline_track(timeline, track);
	GString *text = g_string_new(NULL);

	for (guint32 i = row->first_slice; i < row->first_slice + row->n_slices; i++) {
		guint32 parent = timeline->slices.parent[i];

		g_string_append_printf(text, "%*s%s %d+%d%s\n", 2 * timeline->slices.depth[i], "",
				       tacho_slice_name(timeline, i),
				       (gint)timeline->slices.start_ns[i],
				       (gint)timeline->slices.duration_ns[i],
				       timeline->slices.kind[i] == TACHO_SLICE_WAIT ? " wait" : "");
		g_assert_cmpint(parent == TACHO_NONE, ==, timeline->slices.depth[i] == 0);
		if (parent != TACHO_NONE)
			g_assert_cmpuint(timeline->slices.depth[parent] + 1u, ==,
					 timeline->slices.depth[i]);
	}
	return g_string_free(text, FALSE);
}

/* Times count from the first record, at 100. */
static void test_lifetimes(void)
{
	struct sampled_run run;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *text = NULL;

	begin_run(&run);
	add_stack(&run, 100, 0, 7, TRACE_THREAD_RUNNING, 0, 2,
		  (guint32[]){ run.main, 12, run.step, 21 });
	add_stack(&run, 200, 180, 7, TRACE_THREAD_RUNNING, 1, 1, (guint32[]){ run.step, 22 });
	/* the same stack, but it waits; then the same in whole, and still waiting */
	add_stack(&run, 300, 280, 7, TRACE_THREAD_WAITING, 2, 0, NULL);
	add_stack(&run, 350, 340, 7, TRACE_THREAD_WAITING, 0, 2,
		  (guint32[]){ run.main, 12, run.step, 22 });
	add_stack(&run, 400, 380, 7, TRACE_THREAD_RUNNING, 2, 1, (guint32[]){ run.library, 6 });
	add_stack(&run, 500, 480, 7, TRACE_THREAD_RUNNING, 1, 0, NULL);
	add_stack(&run, 600, 580, 7, TRACE_THREAD_UNKNOWN, 0, 0, NULL); /* gone */
	timeline = end_run(&run);
	g_assert_cmpuint(timeline->tracks->len, ==, 1);
	g_assert_cmpint(tacho_timeline_track(timeline, 0)->kind, ==, TACHO_TRACK_SAMPLED);
	g_assert_cmpuint(tacho_timeline_track(timeline, 0)->tid, ==, 7);
	text = slices_text(timeline, 0);
	g_assert_cmpstr(text, ==,
			"train.py(12): main 0+490\n"
			"  a(b).py(21): Net.step 0+90\n"
			"  a(b).py(22): Net.step 90+300\n"
			"    [waiting] 190+100 wait\n"
			"    torch/x.py(6): f 290+100\n");
	g_assert_true(function_is_own(timeline, 0));
	g_assert_true(function_is_own(timeline, 2));
	g_assert_false(function_is_own(timeline, 4));
}

/* What continues a record that is missing is unknown, until a whole stack comes. */
static void test_missing(void)
{
	struct sampled_run run;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *text = NULL;

	begin_run(&run);
	add_stack(&run, 100, 0, 7, TRACE_THREAD_RUNNING, 3, 1, (guint32[]){ run.step, 21 });
	add_stack(&run, 200, 190, 7, TRACE_THREAD_RUNNING, 1, 1, (guint32[]){ run.step, 22 });
	add_stack(&run, 300, 300, 7, TRACE_THREAD_RUNNING, 0, 1, (guint32[]){ run.main, 12 });
	add_stack(&run, 400, 400, 7, TRACE_THREAD_RUNNING, 2, 0, NULL);
	add_stack(&run, 500, 500, 7, TRACE_THREAD_RUNNING, 0, 2,
		  (guint32[]){ run.main, 13, 77, 0 }); /* a class that is none */
	add_stack(&run, 550, 550, 7, TRACE_THREAD_RUNNING, 0, 0, NULL);
	timeline = end_run(&run);
	text = slices_text(timeline, 0);
	g_assert_cmpstr(text, ==,
			"train.py(12): main 200+100\n"
			"train.py(13): main 400+50\n"
			"  [unknown] 400+50\n");
}

/* Threads have tracks of their own; what lasts no time has never been; the end of the process ends all. */
static void test_threads(void)
{
	struct sampled_run run;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *first = NULL, *second = NULL;

	begin_run(&run);
	add_stack(&run, 100, 0, 7, TRACE_THREAD_RUNNING, 0, 1, (guint32[]){ run.main, 12 });
	add_stack(&run, 100, 0, 8, TRACE_THREAD_WAITING, 0, 1, (guint32[]){ run.step, 21 });
	add_stack(&run, 200, 0, 7, TRACE_THREAD_RUNNING, 1, 1, (guint32[]){ run.step, 21 });
	add_stack(&run, 200, 200, 7, TRACE_THREAD_RUNNING, 1, 1, (guint32[]){ run.step, 22 });
	add_stack(&run, 300, 300, 8, TRACE_THREAD_WAITING, 1, 0, NULL);
	timeline = end_run(&run);
	g_assert_cmpuint(timeline->tracks->len, ==, 2);
	first = slices_text(timeline, 0);
	second = slices_text(timeline, 1);
	g_assert_cmpstr(first, ==, "train.py(12): main 0+200\n  a(b).py(22): Net.step 100+100\n");
	g_assert_cmpstr(second, ==, "a(b).py(21): Net.step 0+200\n  [waiting] 0+200 wait\n");
}

/* A stack can be no deeper than one record may be, however many records add to it. */
static void test_hostile(void)
{
	struct sampled_run run;
	g_autofree guint32 *frames = g_new0(guint32, 2 * TRACE_MAX_FRAMES);
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoTrack *track;

	begin_run(&run);
	for (guint i = 0; i < TRACE_MAX_FRAMES; i++)
		frames[2 * i] = run.main;
	add_stack(&run, 100, G_MAXUINT64, 7, 77, 0, TRACE_MAX_FRAMES, frames);
	add_stack(&run, 200, 150, 7, TRACE_THREAD_WAITING, TRACE_MAX_FRAMES, TRACE_MAX_FRAMES,
		  frames);
	add_stack(&run, 300, 0, 7, 0, 0, 1, (guint32[]){ G_MAXUINT32, 3 });
	add_stack(&run, 400, 0, 7, 0, 0, 1, (guint32[]){ run.main, G_MAXUINT32 });
	timeline = end_run(&run);
	track = tacho_timeline_track(timeline, 0);
	g_assert_cmpuint(track->n_slices, >=, TRACE_MAX_FRAMES);
	for (guint32 i = 0; i < track->n_slices; i++)
		g_assert_cmpuint(timeline->slices.depth[i], <, TRACE_MAX_FRAMES);
}

/* Frames beyond the record's end are a broken record. */
static void test_broken(void)
{
	struct sampled_run run;
	g_autoptr(TachoTimeline) timeline = NULL;

	begin_run(&run);
	add_stack(&run, 100, 0, 7, TRACE_THREAD_RUNNING, 0, 1, (guint32[]){ run.main, 12 });
	add_stack(&run, 150, 150, 7, TRACE_THREAD_RUNNING, 1, 0, NULL);
	((struct record_stack *)run_builder_record(run.run, run.stack, 200,
						   sizeof(struct record_stack)))
		->n_frames = 1;
	timeline = end_run(&run);
	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD));
	g_assert_cmpuint(timeline->slices.n, ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stack_samples/lifetimes", test_lifetimes);
	g_test_add_func("/stack_samples/missing", test_missing);
	g_test_add_func("/stack_samples/threads", test_threads);
	g_test_add_func("/stack_samples/hostile", test_hostile);
	g_test_add_func("/stack_samples/broken", test_broken);
	return g_test_run();
}
