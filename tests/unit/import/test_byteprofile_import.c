/* Folders of byteprofile and files of BytePS: ranks, operations, collectives, NCCL's steps. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
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
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	for (guint i = 0; i < timeline->collectives->len; i++)
		g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, i).n_members,
				 ==, 4);
	g_assert_cmpuint(timeline->steps->len, >=, 4 * 2);
	g_assert_null(foreign_problem(timeline, "orphan_kernel"));
	g_assert_null(foreign_problem(timeline, "unmatched_collective"));
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

static void test_damaged(void)
{
	foreign_damage(TACHO_TEST_DATA "/byteprofile/host0/0/comm_detail.json", 100);
	foreign_damage(TACHO_TEST_DATA "/byteps/comm.json", 100);
	foreign_damage(TACHO_TEST_DATA "/byteps/server.json", 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/byteprofile/trial", test_trial);
	g_test_add_func("/byteprofile/parts", test_parts);
	g_test_add_func("/byteprofile/byteps", test_byteps);
	g_test_add_func("/byteprofile/server", test_server);
	g_test_add_func("/byteprofile/damaged", test_damaged);
	return g_test_run();
}
