/* What runs are of a job, by what their processes say of themselves. */
#include <string.h>

#include "run_builder.h"
#include "trace/job_parts.h"

#define MAX_RUNS 4

struct runs {
	gchar *folder;
	gchar *paths[MAX_RUNS];
	guint n;
};

static void runs_init(struct runs *runs, const struct run_builder_process *processes, guint n)
{
	g_autoptr(GError) error = NULL;

	*runs = (struct runs){ .n = n };
	runs->folder = g_dir_make_tmp("tacho-test-XXXXXX", &error);
	g_assert_no_error(error);
	for (guint i = 0; i < n; i++) {
		struct run_builder *run;

		runs->paths[i] = g_strdup_printf("%s/run%u", runs->folder, i);
		run = run_builder_new(runs->paths[i], &processes[i]);
		run_builder_stream(run, processes[i].pid);
		run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, "op"), 1, 9, 0);
		run_builder_end(run);
	}
}

static void runs_release(struct runs *runs)
{
	run_builder_remove(runs->folder);
	for (guint i = 0; i < runs->n; i++)
		g_free(runs->paths[i]);
	g_free(runs->folder);
}

static gboolean look(const struct runs *runs, JobParts *parts, GError **error)
{
	return job_parts_look((const gchar *const *)runs->paths, runs->n, parts, error);
}

static void check(const struct run_builder_process *processes, guint n, guint n_ranks,
		  guint n_hosts, gint64 world_size, const gchar *missing)
{
	g_auto(JobParts) parts = { 0 };
	g_autoptr(GError) error = NULL;
	struct runs runs;

	runs_init(&runs, processes, n);
	look(&runs, &parts, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(parts.n_processes, ==, n);
	g_assert_cmpuint(parts.n_ranks, ==, n_ranks);
	g_assert_cmpuint(parts.n_hosts, ==, n_hosts);
	g_assert_cmpint(parts.world_size, ==, world_size);
	g_assert_cmpstr(parts.missing, ==, missing);
	runs_release(&runs);
}

static void test_parts(void)
{
	static const struct run_builder_process processes[] = {
		{ .pid = 7, .rank = 1, .world_size = 9, .host = "h1" },
		{ .pid = 8, .rank = 3, .world_size = 9, .host = "h2" },
		{ .pid = 9, .rank = 6, .world_size = 9, .host = "h1" },
	};
	static const struct run_builder_process whole[] = {
		{ .pid = 7, .rank = 0, .world_size = 2 },
		{ .pid = 8, .rank = 1, .world_size = 2 },
	};
	static const struct run_builder_process unknown[] = {
		{ .pid = 7, .rank = -1, .world_size = -1 },
	};

	check(processes, 3, 3, 2, 9, "0, 2, 4-5, 7-8");
	check(whole, 2, 2, 1, 2, NULL);
	check(unknown, 1, 0, 1, -1, NULL);
}

static void check_refused(const struct run_builder_process *processes, const gchar *reason)
{
	g_auto(JobParts) parts = { 0 };
	g_autoptr(GError) error = NULL;
	struct runs runs;

	runs_init(&runs, processes, 2);
	g_assert_false(look(&runs, &parts, &error));
	g_assert_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_NOT_A_RUN);
	if (!strstr(error->message, reason))
		g_error("'%s' is not in: %s", reason, error->message);
	runs_release(&runs);
}

static void test_refused(void)
{
	static const struct run_builder_process same_rank[] = {
		{ .pid = 7, .rank = 1, .world_size = 2 },
		{ .pid = 8, .rank = 1, .world_size = 2 },
	};
	static const struct run_builder_process other_world[] = {
		{ .pid = 7, .rank = 1, .world_size = 2 },
		{ .pid = 8, .rank = 2, .world_size = 3 },
	};
	/* what `report` of runs that were named takes with a doubt */
	static const struct run_builder_process other_name[] = {
		{ .pid = 7, .rank = 0, .world_size = 2, .job = "first" },
		{ .pid = 8, .rank = 1, .world_size = 2, .job = "second" },
	};

	check_refused(same_rank, "both have rank 1");
	check_refused(other_world, "of 2 ranks, the other of one of 3");
	check_refused(other_name, "the job first, the other of second");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/job_parts/parts", test_parts);
	g_test_add_func("/job_parts/refused", test_refused);
	return g_test_run();
}
