/* Counters of the Radeon Compute Profiler, joined with kernels of a trace: what belongs to which was worked out by hand. */
#include <glib/gstdio.h>
#include <string.h>

#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

/* A run under the profiler: names with entities and the device, cells that are no numbers. */
static const gchar header[] =
	"# ProfilerVersion=5.5.0\n"
	"# Application=/usr/bin/python3\n"
	"# ListSeparator=,\n"
	"Method , ExecutionOrder , ThreadID , GlobalWorkSize , VALUInsts , CacheHit\n";
static const gchar rows[] = "MatMul&#44;&nbsp;float_gfx803, 1, 42, {1024 1 1}, 5120, 87.5\n"
			    "BiasAdd_gfx803, 2, 42, {256 1 1}, 64, 12\n"
			    "MatMul&#44;&nbsp;float_gfx803, 3, 42, {1024 1 1}, 5121, 88.5\n";

/* The same program: a kernel that the profiler did not see stands between the first two. */
static const gchar trace[] =
	"{'schemaVersion': 1, 'traceEvents': ["
	"{'ph': 'X', 'cat': 'kernel', 'name': 'MatMul, float', 'pid': 0, 'tid': 7, 'ts': 100, "
	"'dur': 10,"
	" 'args': {'grid': [4, 1, 1]}},"
	"{'ph': 'X', 'cat': 'kernel', 'name': 'BiasAdd', 'pid': 0, 'tid': 7, 'ts': 120, 'dur': 10},"
	"{'ph': 'X', 'cat': 'kernel', 'name': 'fill', 'pid': 0, 'tid': 8, 'ts': 115, 'dur': 2},"
	"{'ph': 'X', 'cat': 'cpu_op', 'name': 'op', 'pid': 5, 'tid': 5, 'ts': 90, 'dur': 80},"
	"{'ph': 'X', 'cat': 'kernel', 'name': 'MatMul, float', 'pid': 0, 'tid': 7, 'ts': 140, "
	"'dur': 10}]}";

static TachoTimeline *open_both(const gchar *table, gchar **ret_folder)
{
	gchar *folder = g_dir_make_tmp("tacho-rcp-XXXXXX", NULL);
	g_autofree gchar *json = g_strdelimit(g_strdup(trace), "'", '"');
	g_autofree gchar *first = g_build_filename(folder, "trace.json", NULL);
	g_autofree gchar *second = g_build_filename(folder, "Session1.csv", NULL);

	g_assert_true(g_file_set_contents(first, json, -1, NULL));
	g_assert_true(g_file_set_contents(second, table, -1, NULL));
	*ret_folder = folder;
	return foreign_open(folder);
}

static void remove_both(gchar *folder)
{
	g_autofree gchar *first = g_build_filename(folder, "trace.json", NULL);
	g_autofree gchar *second = g_build_filename(folder, "Session1.csv", NULL);

	g_unlink(first);
	g_unlink(second);
	g_rmdir(folder);
	g_free(folder);
}

static void assert_args(TachoTimeline *timeline, const gchar *kernel, guint nth,
			const gchar *expected, const gchar *others)
{
	g_autofree gchar *args =
		tacho_slice_args_json(timeline, timeline_find(timeline, kernel, nth));

	if (!expected) {
		g_assert_true(!args || !strstr(args, "counter."));
		return;
	}
	g_assert_nonnull(args);
	g_assert_nonnull(strstr(args, expected));
	g_assert_nonnull(strstr(args, others));
}

static void test_join(void)
{
	g_autofree gchar *table = g_strconcat(header, rows, NULL);
	gchar *folder;
	g_autoptr(TachoTimeline) timeline = open_both(table, &folder);
	gdouble sum = 0;

	assert_args(timeline, "MatMul, float", 0, "\"counter.VALUInsts\":5120",
		    "\"grid\": [4, 1, 1]");
	assert_args(timeline, "BiasAdd", 0, "\"counter.CacheHit\":12", "\"{256 1 1}\"");
	assert_args(timeline, "MatMul, float", 1, "\"counter.CacheHit\":88.5",
		    "\"counter.ThreadID\":42");
	assert_args(timeline, "fill", 0, NULL, NULL);
	g_assert_cmpuint(timeline->samples->len, ==, 3 * 2); /* order and thread are no counters */
	for (guint i = 0; i < timeline->samples->len; i++)
		sum += g_array_index(timeline->samples, TachoSample, i).value;
	g_assert_cmpfloat(sum, ==, 5120 + 64 + 5121 + 87.5 + 12 + 88.5);
	/* fill has none */
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_COUNTER)->count, ==,
		1);
	remove_both(folder);
}

/* From where the runs differ nothing is joined. */
static void test_other_run(void)
{
	g_autofree gchar *table =
		g_strconcat(header, "MatMul&#44;&nbsp;float_gfx803, 1, 42, {1 1 1}, 7, 1\n",
			    "Softmax_gfx803, 2, 42, {1 1 1}, 8, 1\n",
			    "MatMul&#44;&nbsp;float_gfx803, 3, 42, {1 1 1}, 9, 1\n", NULL);
	gchar *folder;
	g_autoptr(TachoTimeline) timeline = open_both(table, &folder);
	const TachoProblem *problem =
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_COUNTER);

	assert_args(timeline, "MatMul, float", 0, "\"counter.VALUInsts\":7", "grid");
	assert_args(timeline, "MatMul, float", 1, NULL, NULL);
	g_assert_cmpuint(problem->count, ==, 3);
	g_assert_nonnull(strstr(problem->where, "row 2 (Softmax)"));
	remove_both(folder);
}

static void test_alone(void)
{
	g_autofree gchar *table = g_strconcat(header, rows, NULL);
	gchar *path = foreign_write("Session1.csv", table, strlen(table));
	g_autofree gchar *message = foreign_open_fails(path);

	g_assert_nonnull(strstr(message, "counters of 3 kernels, without times"));
	foreign_remove(path);
}

static void test_damaged(void)
{
	g_autofree gchar *table = g_strconcat(header, rows, rows, rows, NULL);
	gchar *path = foreign_write("Session1.csv", table, strlen(table));

	foreign_damage(path, 200);
	foreign_remove(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rcp/join", test_join);
	g_test_add_func("/rcp/other-run", test_other_run);
	g_test_add_func("/rcp/alone", test_alone);
	g_test_add_func("/rcp/damaged", test_damaged);
	return g_test_run();
}
