/* rocprof's (v1) JSON becomes what it says: a small one of ours, and real ones. */
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar small[] = TACHO_TEST_DATA "/rocm/result.json";

static void test_small(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(small);
	const TachoSlices *slices = &timeline->slices;
	guint32 kernel = timeline_find(timeline, "gemm", 0);
	guint32 copy = timeline_find(timeline, "CopyHostToDevice", 0);
	const TachoTrack *queue = tacho_timeline_track(timeline, slices->track[kernel]);
	g_autofree gchar *args =
		tacho_slice_args_json(timeline, timeline_find(timeline, "hipMemcpy", 0));

	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(tacho_slice_process(timeline, kernel)->pid, ==, 70);
	g_assert_cmpint(queue->device, ==, 1);
	g_assert_cmpuint(queue->tid, ==, 3);
	g_assert_cmpint(slices->start_ns[kernel], ==, 60001 - 10000);
	g_assert_cmpint(slices->duration_ns[kernel], ==, 9000);
	g_assert_cmpuint(slices->launch[kernel], ==, timeline_find(timeline, "hipLaunchKernel", 0));
	g_assert_cmpuint(slices->launch[copy], ==, timeline_find(timeline, "hipMemcpy", 0));
	g_assert_nonnull(strstr(args, "sizeBytes(4096)"));
	g_assert_cmpint(slices->kind[timeline_find(timeline, "step 1", 0)], ==,
			TACHO_SLICE_ANNOTATION);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	foreign_use(timeline);
}

static void test_damaged(void)
{
	foreign_damage(small, 300);
}

/* The same runs as their databases, event by event. */
static void test_samples(void)
{
	static const struct {
		const gchar *name;
		guint n_kernels, n_calls, n_copies;
	} samples[] = {
		{ "rocprof/hip_course/v1/result.json.gz", 1, 44 + 9570, 3 },
		{ "rocprof/hip_course/hip_only/result.json", 1, 46, 3 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *path = foreign_sample(samples[i].name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

		if (!timeline)
			return;
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==,
				 samples[i].n_kernels);
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==,
				 samples[i].n_calls);
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==,
				 samples[i].n_copies);
		for (guint32 k = 0; k < timeline->slices.n; k++)
			if (timeline->slices.kind[k] == TACHO_SLICE_KERNEL ||
			    timeline->slices.kind[k] == TACHO_SLICE_MEMCPY)
				g_assert_cmpuint(timeline->slices.launch[k], !=, TACHO_NONE);
		g_assert_cmpuint(timeline->problems->len, ==, 0);
		foreign_use(timeline);
	}
}

/* If a folder has a run as a database and as JSON, only one of them is read. */
static void test_folder(void)
{
	g_autofree gchar *folder = foreign_sample("rocprof/hip_course/hip_only");
	g_autoptr(TachoTimeline) timeline = folder ? foreign_open(folder) : NULL;

	if (!timeline)
		return;
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rocprof_json/small", test_small);
	g_test_add_func("/rocprof_json/damaged", test_damaged);
	g_test_add_func("/rocprof_json/samples", test_samples);
	g_test_add_func("/rocprof_json/folder", test_folder);
	return g_test_run();
}
