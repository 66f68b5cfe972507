/* Kineto files of one rank: the cycles of one profiler, and copies. */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

/* A file of one step, `step`, that begins at `start_us`; rank < 0: it tells none. */
static gchar *make_cycle(gint rank, guint pid, guint step, guint start_us)
{
	g_autofree gchar *told = rank < 0 ? g_strdup("") : g_strdup_printf("\"rank\": %d, ", rank);

	return g_strdup_printf(
		"{\"schemaVersion\": 1, \"distributedInfo\": {%s\"world_size\": 2}, "
		"\"traceEvents\": [\n"
		"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%u\", "
		"\"pid\": %u,"
		" \"tid\": %u, \"ts\": %u, \"dur\": 90, \"args\": {\"External id\": 1}},\n"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": %u, "
		"\"tid\": %u,"
		" \"ts\": %u, \"dur\": 20, \"args\": {\"External id\": 2, \"step\": %u}},\n"
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
		"\"pid\": %u,"
		" \"tid\": %u, \"ts\": %u, \"dur\": 5, \"args\": {\"correlation\": 9}},\n"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7,"
		" \"ts\": %u, \"dur\": 30, \"args\": {\"correlation\": 9}}\n]}\n",
		told, step, pid, pid, start_us, pid, pid, start_us + 10, step, pid, pid,
		start_us + 12, start_us + 40);
}

/* The timeline of `n` files, called a.json, b.json ... in a folder, which is removed. Texts are freed. */
static TachoTimeline *open_files(gchar **texts, guint n, gchar **ret_args_json)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-cycles-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline;

	for (guint i = 0; i < n; i++) {
		g_autofree gchar *path = g_strdup_printf("%s/%c.json", folder, 'a' + i);

		g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
		g_free(texts[i]);
	}
	timeline = tacho_run_open((const gchar *const *)&folder, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	tacho_correlate(timeline);
	if (ret_args_json)
		*ret_args_json =
			tacho_slice_args_json(timeline, timeline_find(timeline, "aten::mm", 1));
	for (guint i = 0; i < n; i++) {
		g_autofree gchar *path = g_strdup_printf("%s/%c.json", folder, 'a' + i);

		g_unlink(path);
	}
	g_rmdir(folder);
	return timeline;
}

/* In time order, whatever the files are called; ids that come again in the next file mean others. */
static void test_cycles(void)
{
	gchar *texts[] = { make_cycle(1, 50, 7, 5000), make_cycle(1, 50, 3, 1000) };
	g_autofree gchar *args_json = NULL;
	g_autoptr(TachoTimeline) timeline = open_files(texts, G_N_ELEMENTS(texts), &args_json);
	const TachoSlices *slices = &timeline->slices;

	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_DUPLICATE_RANK));
	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpuint(timeline->ranks->len, ==, 1);
	g_assert_cmpuint(timeline->tracks->len, ==, 2 + 1); /* marks of the files have one, too */
	g_assert_cmpuint(slices->n, ==, 8);
	g_assert_cmpuint(timeline->steps->len, ==, 2);
	for (guint32 nth = 0; nth < 2; nth++) {
		guint32 kernel = timeline_find(timeline, "gemm", nth);

		g_assert_cmpint(slices->start_ns[kernel], ==, nth * 4000000 + 40000);
		g_assert_cmpuint(slices->launch[kernel], ==,
				 timeline_find(timeline, "cudaLaunchKernel", nth));
	}
	g_assert_nonnull(strstr(args_json, "\"step\": 7"));
}

/* The same times again are a copy, whatever is in it. */
static void test_copy(void)
{
	gchar *texts[] = { make_cycle(1, 50, 3, 1000), make_cycle(1, 50, 3, 1000),
			   make_cycle(1, 50, 7, 5000), make_cycle(0, 51, 3, 1000) };
	g_autoptr(TachoTimeline) timeline = open_files(texts, G_N_ELEMENTS(texts), NULL);

	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_DUPLICATE_RANK)->count,
			 ==, 1);
	g_assert_nonnull(
		strstr(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_DUPLICATE_RANK)->where,
		       "b.json"));
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->slices.n, ==, 12);
}

/* Files that tell no rank: cycles where the pid is the same at other times, other ranks else. */
static void test_without_ranks(void)
{
	gchar *cycles[] = { make_cycle(-1, 50, 3, 1000), make_cycle(-1, 50, 7, 5000) };
	gchar *ranks[] = { make_cycle(-1, 50, 3, 1000), make_cycle(-1, 50, 3, 1010),
			   make_cycle(-1, 51, 7, 5000) };
	g_autoptr(TachoTimeline) one = open_files(cycles, G_N_ELEMENTS(cycles), NULL);
	g_autoptr(TachoTimeline) three = open_files(ranks, G_N_ELEMENTS(ranks), NULL);

	g_assert_cmpuint(one->ranks->len, ==, 1);
	g_assert_cmpuint(one->slices.n, ==, 8);
	g_assert_cmpuint(three->ranks->len, ==, 3);
	g_assert_cmpuint(three->slices.n, ==, 12);
	g_assert_null(tacho_timeline_find_problem(three, TACHO_PROBLEM_DUPLICATE_RANK));
}

/* As many files are open as there are cores, however many ranks there are. */
static void test_many(void)
{
	guint n_files = 2 * g_get_num_processors() + 40;
	g_autofree gchar *folder = g_dir_make_tmp("tacho-cycles-XXXXXX", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(TachoTimeline) timeline = NULL;
	struct rlimit before, few;

	for (guint i = 0; i < n_files; i++) {
		gchar *path = g_strdup_printf("%s/rank%u.json", folder, i);
		g_autofree gchar *text = make_cycle((gint)i, 50 + i, 3, 1000);

		g_assert_true(g_file_set_contents(path, text, -1, NULL));
		g_ptr_array_add(paths, path);
	}
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
	few = before;
	few.rlim_cur = MIN(before.rlim_cur, g_get_num_processors() + 24);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
	timeline = tacho_run_open((const gchar *const *)&folder, 1, NULL, NULL, NULL);
	setrlimit(RLIMIT_NOFILE, &before);
	g_assert_nonnull(timeline);
	g_assert_cmpuint(timeline->ranks->len, ==, n_files);
	g_assert_cmpuint(timeline->slices.n, ==, 4 * n_files);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE));
	for (guint i = 0; i < n_files; i++)
		g_unlink(paths->pdata[i]);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kineto_cycles/cycles", test_cycles);
	g_test_add_func("/kineto_cycles/copy", test_copy);
	g_test_add_func("/kineto_cycles/without_ranks", test_without_ranks);
	g_test_add_func("/kineto_cycles/many", test_many);
	return g_test_run();
}
