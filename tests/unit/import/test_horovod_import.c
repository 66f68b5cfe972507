/* A Horovod timeline: collectives with what they wait for, and who was ready when. */
#include <string.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar sample[] = TACHO_TEST_DATA "/horovod/timeline.json";

static guint count_marks(const TachoTimeline *timeline, const gchar *name)
{
	guint n = 0;

	for (guint i = 0; i < timeline->marks->len; i++)
		n += strcmp(tacho_timeline_string(
				    timeline, g_array_index(timeline->marks, TachoMark, i).name),
			    name) == 0;
	return n;
}

static const TachoFlow *flow_to(const TachoTimeline *timeline, guint32 slice)
{
	for (guint i = 0; i < timeline->flows->len; i++)
		if (g_array_index(timeline->flows, TachoFlow, i).to == slice)
			return &g_array_index(timeline->flows, TachoFlow, i);
	return NULL;
}

static void test_two_tensors(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(sample);
	const TachoSlices *slices = &timeline->slices;
	guint32 first = timeline_find(timeline, "allreduce", 0);
	guint32 second = timeline_find(timeline, "allreduce", 1);
	guint32 outer = timeline_find(timeline, "ALLREDUCE", 0);
	guint32 nccl = timeline_find(timeline, "NCCL_ALLREDUCE", 0);
	const TachoFlow *flow = flow_to(timeline, first);
	TachoCollectiveArgs args;
	TachoTensor tensor;

	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 2);
	g_assert_cmpint(timeline->origin_unix_ns, ==, 1600000000000090000);
	g_assert_cmpint(slices->start_ns[first], ==, 40000);
	g_assert_cmpint(slices->duration_ns[first], ==, 60000);
	g_assert_true(tacho_slice_collective(timeline, first, &args));
	g_assert_cmpuint(args.bytes, ==, 64 * 10 * 4);
	g_assert_true(tacho_slice_collective(timeline, second, &args));
	g_assert_cmpuint(args.bytes, ==, 20);
	g_assert_true(tacho_slice_input(timeline, second, 0, &tensor));
	g_assert_cmpstr(tensor.dtype, ==, "float16");
	g_assert_cmpuint(slices->parent[nccl], ==, outer);
	g_assert_cmpstr(
		tacho_timeline_string(timeline,
				      tacho_timeline_track(timeline, slices->track[nccl])->name),
		==, "grad/dense");
	g_assert_cmpuint(slices->kind[timeline_find(timeline, "QUEUE", 0)], ==, TACHO_SLICE_WAIT);
	g_assert_cmpuint(timeline->flows->len, ==, 2);
	g_assert_cmpuint(flow->from, ==, timeline_find(timeline, "NEGOTIATE_ALLREDUCE", 0));
	g_assert_cmpuint(count_marks(timeline, "ready"), ==, 4);
	g_assert_cmpuint(count_marks(timeline, "CYCLE_START"), ==, 1);
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpint(timeline->expected_ranks, ==, 2);
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_MISSING_RANK)->count,
			 ==, 1);
}

static void test_damaged(void)
{
	foreign_damage(sample, 300);
}

/* "227 rows, B 75 = E 75": of 25 tensors a negotiation, a broadcast and its MPI call, and 25 ticks. */
static void test_cpu_sample(void)
{
	g_autofree gchar *path = foreign_sample("timeline/horovod/timeline_cpu_n1.json");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

	if (!timeline)
		return;
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 25);
	g_assert_cmpuint(timeline->slices.n, ==, 75 + 25);
	g_assert_cmpuint(count_marks(timeline, "ready"), ==, 25);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* "22,784 instants" */
static void test_gpu_sample(void)
{
	g_autofree gchar *path = foreign_sample("timeline/horovod/timeline_gpu_n1.json.gz");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

	if (!timeline)
		return;
	g_assert_cmpuint(count_marks(timeline, "CYCLE_START"), ==, 22784);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 25);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/horovod/two-tensors", test_two_tensors);
	g_test_add_func("/horovod/damaged", test_damaged);
	g_test_add_func("/horovod/cpu-sample", test_cpu_sample);
	g_test_add_func("/horovod/gpu-sample", test_gpu_sample);
	return g_test_run();
}
