/* Several runs in one folder, or named one by one: those of one job are one run, others are refused by name. */
#include <glib/gstdio.h>
#include <string.h>

#include <tacho/import.h>

#include "run_builder.h"
#include "trace/one_job.h"

#define S G_GUINT64_CONSTANT(1000000000)

/* One run of one process, with an operation from begin to end. */
struct part {
	struct run_builder_process process;
	guint64 begin_ns, end_ns;
};

static gchar *make_folder(void)
{
	g_autoptr(GError) error = NULL;
	gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", &error);

	g_assert_no_error(error);
	return folder;
}

static void write_facts(const gchar *run, const gchar *text)
{
	g_autofree gchar *path = g_build_filename(run, TRACE_RUN_FILE, NULL);
	g_autoptr(GError) error = NULL;

	g_mkdir(run, 0700);
	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

/* The run's folder, to be freed. */
static gchar *write_part(const gchar *folder, const gchar *name, const struct part *part)
{
	gchar *path = g_build_filename(folder, name, NULL);
	struct run_builder *run = run_builder_new(path, &part->process);
	g_autofree gchar *facts = NULL;

	run_builder_stream(run, part->process.pid);
	run_builder_op(run, run_builder_class(run, TRACE_KIND_OP, "op"), part->begin_ns,
		       part->end_ns, 0);
	run_builder_end(run);
	facts = g_strdup_printf("[run]\nend_unix_ns=1\n[child 0]\npid=%u\nstatus=exit=0\n",
				part->process.pid);
	write_facts(path, facts);
	return path;
}

static TachoTimeline *open_paths(gchar *const *paths, guint n, GError **error)
{
	return tacho_run_open((const gchar *const *)paths, n, NULL, NULL, error);
}

static void assert_problem(const TachoTimeline *timeline, TachoProblemKind kind, const gchar *first,
			   const gchar *second)
{
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	if (!problem)
		g_error("no problem '%s'", tacho_problem_name(kind));
	if (!strstr(problem->where, first) || !strstr(problem->where, second))
		g_error("'%s' and '%s' are not both in: %s", first, second, problem->where);
}

static void assert_refused(TachoTimeline *timeline, const GError *error, const gchar *reason)
{
	g_assert_null(timeline);
	g_assert_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_NOT_A_RUN);
	if (!strstr(error->message, "/a ") || !strstr(error->message, "/b ") ||
	    !strstr(error->message, reason))
		g_error("'a', 'b' and '%s' are not all in: %s", reason, error->message);
}

/* --- which runs are one job -------------------------------------------------------------------- */

static const struct pair {
	const gchar *what;
	struct part a, b;
	const gchar *in_folder, *named; /* why it is refused, or "": it is one job */
	TachoProblemKind problem;	/* named; TACHO_N_PROBLEMS: none */
} pairs[] = {
	{ "two ranks",
	  { { .pid = 7, .rank = 0, .world_size = 2 }, 0, 9 },
	  { { .pid = 8, .rank = 1, .world_size = 2 }, 5, 9 },
	  "",
	  "",
	  TACHO_N_PROBLEMS },
	{ "two ranks of two hosts",
	  { { .pid = 7, .rank = 0, .world_size = 2, .job = "j" }, 0, S },
	  { { .pid = 7 + 256, .rank = 1, .world_size = 2, .host = "h1" }, 500 * S, 501 * S },
	  "",
	  "",
	  TACHO_N_PROBLEMS },
	{ "the same rank",
	  { { .pid = 7, .rank = 1, .world_size = 2 }, 0, 9 },
	  { { .pid = 8, .rank = 1, .world_size = 2 }, 5, 9 },
	  "both have rank 1",
	  "both have rank 1",
	  TACHO_N_PROBLEMS },
	{ "a copy",
	  { { .pid = 7, .rank = -1 }, 0, 9 },
	  { { .pid = 7, .rank = -1 }, 0, 9 },
	  "both have a trace of process 7",
	  "both have a trace of process 7",
	  TACHO_N_PROBLEMS },
	{ "another world",
	  { { .pid = 7, .rank = 0, .world_size = 2 }, 0, 9 },
	  { { .pid = 8, .rank = 1, .world_size = 4 }, 0, 9 },
	  "one is of a job of 2 ranks, the other of one of 4",
	  "one is of a job of 2 ranks, the other of one of 4",
	  TACHO_N_PROBLEMS },
	{ "another job",
	  { { .pid = 7, .rank = 0, .job = "12" }, 0, 9 },
	  { { .pid = 8, .rank = 1, .job = "34" }, 0, 9 },
	  "one is of the job 12, the other of 34",
	  "",
	  TACHO_PROBLEM_OTHER_JOB },
	{ "a rank and no rank",
	  { { .pid = 7, .rank = 0 }, 0, 9 },
	  { { .pid = 8, .rank = -1 }, 0, 9 },
	  "has a rank number",
	  "",
	  TACHO_PROBLEM_OTHER_JOB },
	{ "no ranks, at one time",
	  { { .pid = 7, .rank = -1 }, 0, 9 },
	  { { .pid = 8, .rank = -1 }, 8, 20 },
	  "",
	  "",
	  TACHO_N_PROBLEMS },
	{ "no ranks, one after the other",
	  { { .pid = 7, .rank = -1 }, 2 * S, 3 * S },
	  { { .pid = 8, .rank = -1 }, 0, S },
	  "began 1.000 s after the end",
	  "began 1.000 s after the end",
	  TACHO_N_PROBLEMS },
	{ "no ranks, one after the other, by two clocks",
	  { { .pid = 7, .rank = -1 }, 0, S },
	  { { .pid = 8, .rank = -1, .host = "h1" }, 3 * S, 4 * S },
	  "by the clocks of their machines",
	  "",
	  TACHO_PROBLEM_OTHER_JOB },
	{ "a rank that failed at once",
	  { { .pid = 7, .rank = 0, .world_size = 2 }, 0, S },
	  { { .pid = 8, .rank = 1, .world_size = 2 }, 60 * S, 61 * S },
	  "",
	  "",
	  TACHO_N_PROBLEMS },
	{ "a rank of yesterday",
	  { { .pid = 7, .rank = 0, .world_size = 2 }, 86400 * S, 86401 * S },
	  { { .pid = 8, .rank = 1, .world_size = 2 }, 0, S },
	  "86399.000 s after the end",
	  "86399.000 s after the end",
	  TACHO_N_PROBLEMS },
	{ "a rank of yesterday, on another host",
	  { { .pid = 7, .rank = 0, .world_size = 2 }, 0, S },
	  { { .pid = 8, .rank = 1, .world_size = 2, .host = "h1" }, 86400 * S, 86401 * S },
	  "86399.000 s after the end",
	  "",
	  TACHO_PROBLEM_OTHER_JOB },
};

static void check_opened(const struct pair *pair, gchar *const *paths, guint n_paths,
			 const gchar *refusal, TachoProblemKind kind)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = open_paths(paths, n_paths, &error);

	g_test_message("%s, %s", pair->what, n_paths == 1 ? "in a folder" : "named");
	if (*refusal) {
		assert_refused(timeline, error, refusal);
		return;
	}
	g_assert_no_error(error);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	g_assert_cmpuint(timeline->slices.n, ==, 2);
	if (kind < TACHO_N_PROBLEMS)
		assert_problem(timeline, kind, paths[0], paths[1]);
	else
		g_assert_cmpuint(timeline->problems->len, ==, 0);
}

static void test_pairs(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
		gchar *folder = make_folder();
		gchar *paths[] = { write_part(folder, "a", &pairs[i].a),
				   write_part(folder, "b", &pairs[i].b) };

		check_opened(&pairs[i], paths, 2, pairs[i].named, pairs[i].problem);
		check_opened(&pairs[i], &folder, 1, pairs[i].in_folder, TACHO_N_PROBLEMS);
		g_free(paths[0]);
		g_free(paths[1]);
		run_builder_remove(folder);
		g_free(folder);
	}
}

/* A launcher has a rank of its own, among the launchers. */
static void test_launchers(void)
{
	gchar *folder = make_folder();
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint node = 0; node < 2; node++) {
		g_autofree gchar *name = g_strdup_printf("node%u", node);

		for (guint i = 0; i < 3; i++) {
			struct part part = { .process = { .pid = 10 * (node + 1) + i,
							  .ppid = i ? 10 * (node + 1) : 1,
							  .rank = (gint)(i ? 2 * node + i - 1
									   : node),
							  .world_size = i ? 4 : 2 },
					     .end_ns = 9 };

			g_free(write_part(folder, name, &part));
		}
	}
	timeline = open_paths(&folder, 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(timeline->ranks->len, ==, 4);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_OTHER_JOB));
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_MISSING_RANK));
	run_builder_remove(folder);
	g_free(folder);
}

/* Processes of one run, of which each was named: a child has its parent's rank, and may be over before another
 * begins. */
static void test_traces(void)
{
	gchar *folder = make_folder();
	const struct part parts[] = {
		{ { .pid = 1, .rank = 0, .world_size = 2 }, 0, S },
		{ { .pid = 2, .rank = 0, .world_size = 2 }, 0, S },
		{ { .pid = 3, .rank = 1, .world_size = 2 }, 900 * S, 901 * S }
	};
	gchar *paths[3];
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < 3; i++) {
		g_free(write_part(folder, ".", &parts[i]));
		paths[i] =
			g_strdup_printf("%s/%sh0-%u", folder, i ? "./" : "", parts[i].process.pid);
	}
	timeline = open_paths(paths, 3, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	for (guint i = 0; i < 3; i++)
		g_free(paths[i]);
	run_builder_remove(folder);
	g_free(folder);
}

/* --- runs that are not whole ------------------------------------------------------------------- */

/* Runs below a folder of each host, one of them hidden, one without anything, one not ended, one broken. */
static void test_told(void)
{
	gchar *folder = make_folder();
	const struct part parts[] = { { { .pid = 1, .rank = 0, .world_size = 6 }, 0, 9 },
				      { { .pid = 2, .rank = 1, .world_size = 6 }, 0, 9 },
				      { { .pid = 3, .rank = 2, .world_size = 6 }, 0, 9 },
				      { { .pid = 4, .rank = 3, .world_size = 6 }, 0, 9 } };
	g_autofree gchar *host = g_build_filename(folder, "host", NULL);
	g_autofree gchar *whole = write_part(host, "r0", &parts[0]);
	g_autofree gchar *nested = write_part(whole, "r1", &parts[1]);
	g_autofree gchar *hidden = write_part(folder, ".r2", &parts[2]);
	g_autofree gchar *broken = write_part(folder, "r3", &parts[3]);
	g_autofree gchar *empty = g_build_filename(folder, "r4", NULL);
	g_autofree gchar *metadata = g_build_filename(broken, "h0-4", TRACE_METADATA_FILE, NULL);
	g_autofree gchar *strange = g_build_filename(host, "strange", NULL);
	g_autofree gchar *trace = g_build_filename(folder, "other.json", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	write_facts(nested, "[run]\nstart_unix_ns=1\n[child 0]\npid=2\nstatus=exit=0\n");
	write_facts(empty, "[run]\nend_unix_ns=1\n");
	write_facts(strange, "[program]\nranks=7\n"); /* of somebody else */
	g_assert_true(g_file_set_contents(metadata, "/* CTF", -1, NULL));
	g_assert_true(g_file_set_contents(trace,
					  "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", "
					  "\"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}]}",
					  -1, NULL));
	timeline = open_paths(&folder, 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(timeline->ranks->len, ==, 2);
	assert_problem(timeline, TACHO_PROBLEM_UNFINISHED_RUN, nested, "has not finished");
	assert_problem(timeline, TACHO_PROBLEM_EMPTY_RUN, broken, "no record");
	assert_problem(timeline, TACHO_PROBLEM_UNREADABLE_TRACE, metadata, "byte 0");
	assert_problem(timeline, TACHO_PROBLEM_MISSING_RANK, "rank 2-5", "of 6");
	assert_problem(timeline, TACHO_PROBLEM_LEFT_OUT, hidden, "hidden");
	g_assert_cmpuint(timeline->problems->len, ==, 7); /* two are left out, two are empty */
	run_builder_remove(folder);
	g_free(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/one_job/pairs", test_pairs);
	g_test_add_func("/one_job/launchers", test_launchers);
	g_test_add_func("/one_job/traces", test_traces);
	g_test_add_func("/one_job/told", test_told);
	return g_test_run();
}
