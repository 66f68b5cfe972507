/* What PyTorch's profiler exports without Kineto: what names tell, devices, clocks, broken files. */
#include <string.h>

#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar folder[] = TACHO_TEST_DATA "/pytorch_legacy/ranks";
static const gchar single[] = TACHO_TEST_DATA "/pytorch_legacy/single.json.gz";

static guint kind_of(const TachoTimeline *timeline, const gchar *name)
{
	return timeline->slices.kind[timeline_find(timeline, name, 0)];
}

/* A job on one process, with regions of its own; tests/data/README.md. */
static void test_single(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(single);

	g_assert_cmpuint(timeline->slices.n, ==, 410);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 395);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 15);
	g_assert_cmpuint(kind_of(timeline, "forward pass"), ==, TACHO_SLICE_ANNOTATION);
	g_assert_cmpuint(kind_of(timeline, "backward"), ==, TACHO_SLICE_ANNOTATION);
	g_assert_cmpuint(kind_of(timeline, "AddmmBackward0"), ==, TACHO_SLICE_OP);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 3);
	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_ANNOTATED);
}

/* Two ranks with gloo: each has a clock of its own, and collectives tie these. */
static void test_ranks(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(folder);
	const TachoClock *second;

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	tacho_correlate(timeline);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 6);
	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	for (guint i = 0; i < timeline->collectives->len; i++)
		g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, i).n_members,
				 ==, 2);
	second = &g_array_index(timeline->clocks, TachoClock, 1);
	g_assert_cmpuint(second->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpuint(second->evidence, ==, TACHO_CLOCK_BY_COLLECTIVES);
}

/* PyTorch before 1.7: operations without a namespace, and what a device did behind its operation. */
static void test_devices(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"trace.json",
		"[{'name': 'linear', 'ph': 'X', 'ts': 10, 'dur': 20, 'tid': 1, 'pid': 'CPU "
		"functions', 'args': {}},"
		" {'name': 'linear', 'ph': 's', 'ts': 10, 'tid': 1, 'pid': 'CPU functions', 'id': "
		"0,"
		"  'cat': 'cpu_to_cuda', 'args': {}},"
		" {'name': 'linear', 'ph': 'f', 'ts': 100, 'tid': 0, 'pid': 'CUDA functions', "
		"'id': 0,"
		"  'cat': 'cpu_to_cuda', 'args': {}},"
		" {'name': 'linear', 'ph': 'X', 'ts': 100, 'dur': 50, 'tid': 0, 'pid': 'CUDA "
		"functions', 'args': {}},"
		" {'name': 'addmm', 'ph': 'X', 'ts': 12, 'dur': 10, 'tid': 1, 'pid': 'CPU "
		"functions', 'args': {}},"
		" {'name': 'addmm', 'ph': 'X', 'ts': 101, 'dur': 40, 'tid': 0, 'pid': 'CUDA "
		"functions', 'args': {}},"
		" {'name': 'Optimizer.step#SGD.step', 'ph': 'X', 'ts': 40, 'dur': 5, 'tid': 1,"
		"  'pid': 'CPU functions', 'args': {}},"
		" {'name': 'my region', 'ph': 'X', 'ts': 50, 'dur': 5, 'tid': 1, 'pid': 'CPU "
		"functions', 'args': {}}]");
	guint32 op = timeline_find(timeline, "addmm", 0);
	guint32 kernel = timeline_find(timeline, "addmm", 1);

	if (timeline->slices.kind[op] == TACHO_SLICE_KERNEL) {
		guint32 other = op;

		op = kernel;
		kernel = other;
	}
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
	g_assert_cmpuint(timeline->slices.kind[op], ==, TACHO_SLICE_OP);
	g_assert_cmpuint(timeline->slices.launch[kernel], ==, op);
	g_assert_cmpint(timeline->slices.duration_ns[kernel], ==, 40000);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 2);
	g_assert_cmpuint(kind_of(timeline, "Optimizer.step#SGD.step"), ==, TACHO_SLICE_ANNOTATION);
	g_assert_cmpuint(kind_of(timeline, "my region"), ==, TACHO_SLICE_OP);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* libtorch's RecordProfile has a capital F, and no rank. */
static void test_libtorch(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_json(
		"trace.json", "[{'name': 'aten::mm', 'ph': 'X', 'ts': 1.5, 'dur': 2, 'tid': 0,"
			      "  'pid': 'CPU Functions', 'args': {}},"
			      " {'name': 'aten::mm', 'ph': 'X', 'ts': 3, 'dur': 4, 'tid': 0,"
			      "  'pid': 'CUDA Functions', 'args': {}}]");

	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 1);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 1);
}

/* A function of the user, which has a node, is an operation; so is detach, which has no namespace. */
static void test_functions(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open_json("trace.json", "[{'name': 'F', 'ph': 'X', 'ts': 1, 'dur': 9, "
						"'tid': 0, 'pid': 'CPU functions', 'args': {}},"
						" {'name': 'aten::detach', 'ph': 'X', 'ts': 2, "
						"'dur': 4, 'tid': 0, 'pid': 'CPU functions',"
						"  'args': {}},"
						" {'name': 'detach', 'ph': 'X', 'ts': 3, 'dur': 2, "
						"'tid': 0, 'pid': 'CPU functions', 'args': {}},"
						" {'name': 'G', 'ph': 'X', 'ts': 11, 'dur': 9, "
						"'tid': 0, 'pid': 'CPU functions', 'args': {}},"
						" {'name': 'FBackward', 'ph': 'X', 'ts': 20, "
						"'dur': 9, 'tid': 0, 'pid': 'CPU functions',"
						"  'args': {}}]");

	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 4);
	g_assert_cmpuint(kind_of(timeline, "F"), ==, TACHO_SLICE_OP);
	g_assert_cmpuint(kind_of(timeline, "G"), ==, TACHO_SLICE_ANNOTATION);
}

static void test_damaged(void)
{
	foreign_damage(single, 200);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pytorch-legacy/single", test_single);
	g_test_add_func("/pytorch-legacy/ranks", test_ranks);
	g_test_add_func("/pytorch-legacy/devices", test_devices);
	g_test_add_func("/pytorch-legacy/libtorch", test_libtorch);
	g_test_add_func("/pytorch-legacy/functions", test_functions);
	g_test_add_func("/pytorch-legacy/damaged", test_damaged);
	return g_test_run();
}
