/* A replay as a timeline beside what was measured: which slices are there, and when. Times are microseconds from the begin of the
 * first step that is replayed. */
#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "predicted.h"
#include "timeline_text.h"

struct picture {
	TachoTimeline *timeline, *out;
	TachoPrediction *prediction;
};

static void picture_init(struct picture *picture, const gchar *text, const gchar *what_ifs)
{
	g_autoptr(GError) error = NULL;

	picture->timeline = timeline_from_text(text);
	picture->prediction = predict(picture->timeline, what_ifs, &error);
	g_assert_no_error(error);
	picture->out = tacho_replay_timeline(picture->prediction->replay);
}

static void picture_release(struct picture *picture)
{
	tacho_timeline_free(picture->out);
	tacho_prediction_free(picture->prediction);
	tacho_timeline_free(picture->timeline);
}

/* The slices of that name in one process of the picture, as "begin-end begin-end". */
static gchar *times_of(const TachoTimeline *timeline, guint32 process, const gchar *name)
{
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		if (g_strcmp0(tacho_slice_name(timeline, i), name) != 0 ||
		    tacho_timeline_track(timeline, timeline->slices.track[i])->process != process)
			continue;
		g_string_append_printf(text, "%s%g-%g", text->len ? " " : "",
				       (gdouble)timeline->slices.start_ns[i] / 1e3,
				       (gdouble)tacho_slice_end_ns(timeline, i) / 1e3);
	}
	return g_string_free(text, FALSE);
}

/* As it was measured, and as it was replayed, on the rank. */
static void check_slices(const struct picture *picture, guint32 rank, const gchar *name,
			 const gchar *measured, const gchar *replayed)
{
	g_autofree gchar *before = times_of(picture->out, 2 * rank, name);
	g_autofree gchar *after = times_of(picture->out, 2 * rank + 1, name);

	g_test_message("%s", name);
	g_assert_cmpstr(before, ==, measured);
	g_assert_cmpstr(after, ==, replayed);
}

static void check_process(const struct picture *picture, guint32 index, gint32 rank,
			  const gchar *command, gboolean is_main)
{
	const TachoProcess *process = tacho_timeline_process(picture->out, index);

	g_assert_cmpint(process->rank, ==, rank);
	g_assert_cmpstr(tacho_timeline_string(picture->out, process->command), ==, command);
	g_assert_cmpint(process->is_main, ==, is_main);
	for (guint32 i = 0; i < index; i++)
		g_assert_cmpuint(tacho_timeline_process(picture->out, i)->pid, !=, process->pid);
}

/* The first step is not replayed, nor is what was before and behind. An operation is where its pieces and those in it are. */
static void test_slices(void)
{
	struct picture picture;

	picture_init(&picture,
		     "unit us\nrank 0 thread 1000 main\n"
		     "    op before 50..60\n"
		     "  annotation ProfilerStep#0 100..200\n    op a 100..200\n"
		     "  annotation ProfilerStep#1 200..300\n"
		     "    op a 210..250\n      op inner 220..230\n"
		     "    op b 260..300\n"
		     "  annotation ProfilerStep#2 300..400\n"
		     "    op a 310..350\n      op inner 320..330\n"
		     "    op b 360..400\n"
		     "    op behind 450..500\n",
		     "scale:op~inner=2");
	check_slices(&picture, 0, "before", "", "");
	check_slices(&picture, 0, "behind", "", "");
	check_slices(&picture, 0, "a", "10-50 110-150", "10-60 120-170");
	check_slices(&picture, 0, "inner", "20-30 120-130", "20-40 130-150");
	check_slices(&picture, 0, "b", "60-100 160-200", "70-110 180-220");
	g_assert_cmpuint(picture.out->ranks->len, ==, 1);
	g_assert_cmpuint(picture.out->processes->len, ==, 2);
	g_assert_cmpint(tacho_step_source(picture.out), ==, TACHO_STEPS_ANNOTATED);
	check_process(&picture, 0, 0, "measured", TRUE);
	check_process(&picture, 1, 0, "replayed", FALSE);
	g_assert_cmpuint(tacho_timeline_rank(picture.out, 0)->main_process, ==, 0);
	g_assert_cmpint(picture.out->origin_unix_ns - picture.timeline->origin_unix_ns, ==, 200000);
	for (guint i = 0; i < picture.out->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(picture.out, i);

		if (track->kind == TACHO_TRACK_THREAD)
			g_assert_cmpuint(track->tid, ==,
					 tacho_timeline_process(picture.out, track->process)->pid);
	}
	picture_release(&picture);
}

/* Two ranks of which the second comes 20 us late to an all-reduce that takes 9; each is in it from when it came. */
static const gchar late_rank[] = "unit us\n"
				 "rank 0 thread 1000 main\n"
				 "  annotation ProfilerStep#0 0..100\n"
				 "    op a 0..30\n"
				 "    op c10d::allreduce_ 30..31\n"
				 "    op b 60..100\n"
				 "    collective gloo:all_reduce 31..60 bytes=1024 end_tid=9\n"
				 "rank 1 thread 1001 main\n"
				 "  annotation ProfilerStep#0 0..100\n"
				 "    op a 0..50\n"
				 "    op c10d::allreduce_ 50..51\n"
				 "    op b 60..100\n"
				 "    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n";

static void test_collectives(void)
{
	struct picture picture;

	picture_init(&picture, late_rank, "scale:1:op~^a$=0.8");
	g_assert_cmpuint(picture.out->processes->len, ==, 4);
	check_process(&picture, 2, 1, "measured", TRUE);
	check_process(&picture, 3, 1, "replayed", FALSE);
	check_slices(&picture, 0, "gloo:all_reduce", "31-60", "31-50");
	check_slices(&picture, 1, "gloo:all_reduce", "51-60", "41-50");
	check_slices(&picture, 0, "b", "60-100", "50-90");
	check_slices(&picture, 1, "a", "0-50", "0-40");
	picture_release(&picture);
}

/* The steps of a rank, as "number: begin-end number: begin-end". */
static gchar *steps_of(const TachoTimeline *timeline, guint32 rank_index)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

		if (step->rank_index == rank_index)
			g_string_append_printf(text, "%s%u: %g-%g", text->len ? " " : "",
					       step->number, (gdouble)step->start_ns / 1e3,
					       (gdouble)step->end_ns / 1e3);
	}
	return g_string_free(text, FALSE);
}

/* Of a rank that was measured, as it was; of a copy, as replayed. The third takes twice as long for everything (a until 100, the
 * call until 102, b from the end of the all-reduce on), and on four ranks an all-reduce moves 1.5 times the bytes of two: 13.5 us. */
static void check_steps_of_copies(const TachoTimeline *timeline)
{
	guint n_seen = 0;

	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		gint32 rank = tacho_timeline_rank(timeline, i)->rank;
		g_autofree gchar *steps = steps_of(timeline, i);

		g_assert_cmpstr(steps, ==,
				rank < 2    ? "0: 0-100"
				: rank == 3 ? "0: 0-195.5"
					    : "0: 0-155.5");
		n_seen += rank == 3;
	}
	g_assert_cmpuint(n_seen, ==, 1);
}

/* Ranks that were not measured are there as replayed, with numbers of their own. */
static void test_copies(void)
{
	struct picture picture;

	picture_init(&picture, late_rank, "ranks=4;straggler:3=2");
	g_assert_cmpuint(picture.out->ranks->len, >, 2);
	for (guint32 i = 0; i < picture.out->ranks->len; i++) {
		const TachoRank *rank = tacho_timeline_rank(picture.out, i);
		const TachoProcess *process =
			tacho_timeline_process(picture.out, rank->main_process);

		g_assert_cmpint(process->rank, ==, rank->rank);
		g_assert_true(process->is_main);
		g_assert_cmpstr(tacho_timeline_string(picture.out, process->command), ==,
				rank->rank < 2 ? "measured" : "replayed");
		if (rank->rank != 3)
			continue;
		for (guint32 other = 0; other < picture.out->processes->len; other++) {
			g_autofree gchar *times = NULL;

			if (other != rank->main_process)
				continue;
			times = times_of(picture.out, other, "a");
			g_assert_cmpstr(times, ==, "0-100"); /* twice 50 */
		}
	}
	check_steps_of_copies(picture.out);
	picture_release(&picture);
}

/* A stream stands beside the thread that launched its work; what is removed is not there. */
static void test_streams(void)
{
	struct picture picture;

	picture_init(
		&picture,
		"unit us\n"
		"rank 0 thread 1000 main\n"
		"  annotation ProfilerStep#0 0..100\n"
		"    runtime k0 10..15\n    runtime k1 20..25\n    runtime cudaDeviceSynchronize "
		"25..100\n"
		"  stream 7 s7\n"
		"    kernel K 20..50 launch=k0\n"
		"    kernel L 50..90 launch=k1\n",
		"drop:kernel~K");
	check_slices(&picture, 0, "K", "20-50", "20-20");
	check_slices(&picture, 0, "k0", "10-15", "10-15");
	picture_release(&picture);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/replay_timeline/slices", test_slices);
	g_test_add_func("/replay_timeline/collectives", test_collectives);
	g_test_add_func("/replay_timeline/copies", test_copies);
	g_test_add_func("/replay_timeline/streams", test_streams);
	return g_test_run();
}
