/* The trust score: its values, that it never rises with more problems, and that the documentation
 * has every kind. */
#include <string.h>

#include <tacho/correlate.h>

#include "correlate/trust.h"
#include "timeline_text.h"

static TachoTimeline *new_timeline(void)
{
	TachoTimeline *timeline = timeline_from_text("world 4\n"
						     "rank 0 thread 1 main\n"
						     "op aten::a 0..10\n  kernel k 1..2\n"
						     "kernel k 3..4\nkernel k 5..6\nkernel k 7..8\n"
						     "collective gloo:barrier 20..30\n");

	timeline->n_events = 10000;
	return timeline;
}

static guint score_of(TachoProblemKind kind, guint64 count)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();

	tacho_timeline_add_problem(timeline, kind, count, "here");
	return tacho_trust_score(timeline);
}

static void test_values(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();

	g_assert_cmpuint(tacho_trust_score(timeline), ==, 100);
	g_assert_cmpuint(score_of(TACHO_PROBLEM_LOST_RECORDS, 0), ==, 100);
	g_assert_cmpuint(score_of(TACHO_PROBLEM_LOST_RECORDS, 1), ==,
			 99); /* 100 - 90 x sqrt(1/10000) */
	g_assert_cmpuint(score_of(TACHO_PROBLEM_LOST_RECORDS, 100), ==, 91);   /* 90 x 0.1 */
	g_assert_cmpuint(score_of(TACHO_PROBLEM_LOST_RECORDS, 5000), ==, 36);  /* 90 x 0.7071 */
	g_assert_cmpuint(score_of(TACHO_PROBLEM_LOST_RECORDS, 10000), ==, 10); /* 90 */
	g_assert_cmpuint(score_of(TACHO_PROBLEM_LOST_RECORDS, G_MAXUINT64), ==, 10);
	g_assert_cmpuint(score_of(TACHO_PROBLEM_KILLED_PROCESS, 1), ==, 95);
	g_assert_cmpuint(score_of(TACHO_PROBLEM_KILLED_PROCESS, 2), ==, 92); /* 7.5 */
	g_assert_cmpuint(score_of(TACHO_PROBLEM_MISSING_RANK, 1), ==, 85);   /* 30 / 2 */
	g_assert_cmpuint(score_of(TACHO_PROBLEM_MISSING_RANK, 127), ==, 70);
	g_assert_cmpuint(score_of(TACHO_PROBLEM_ORPHAN_KERNEL, 1), ==, 90); /* 20 x sqrt(1/4) */
	g_assert_cmpuint(score_of(tacho_problem_of_name("something_new"), 1), ==, 85);

	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_KILLED_PROCESS, 1, "rank 0");
	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_KILLED_PROCESS, 1, "rank 1");
	g_assert_cmpuint(tacho_trust_score(timeline), ==, 92); /* rows do not matter */
	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_OVERLAP, 1, "rank 1");
	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_MISSING_RANK, 1, "rank 3");
	g_assert_cmpuint(tacho_trust_score(timeline), ==,
			 65); /* 92.5 x (1 - 0.4 x sqrt(1/6)) x 0.85 */
	g_assert_cmpuint(tacho_trust_present_score(timeline), ==, 83); /* only what overlaps */
}

/* Only a run with nothing in it has no trust at all, however it came to be empty. */
static void test_nothing(void)
{
	g_autoptr(TachoTimeline) empty = timeline_from_text("rank 0 thread 1 main\n");
	g_autoptr(TachoTimeline) filled = new_timeline();

	tacho_correlate(empty);
	tacho_correlate(filled);
	g_assert_nonnull(tacho_timeline_find_problem(empty, TACHO_PROBLEM_NOTHING_RECORDED));
	g_assert_cmpuint(tacho_trust_score(empty), ==, 0);
	g_assert_cmpuint(tacho_trust_present_score(empty), ==, 0);
	g_assert_null(tacho_timeline_find_problem(filled, TACHO_PROBLEM_NOTHING_RECORDED));
}

/* Nobody waits for missing ranks where there are no collectives. */
static void test_nobody_waits(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("world 300\n"
							       "rank 34 thread 1 main\n"
							       "op aten::a 0..10\n");

	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_MISSING_RANK, 299, "the others");
	g_assert_cmpuint(tacho_trust_score(timeline), ==, 91);
	g_assert_cmpuint(tacho_trust_present_score(timeline), ==, 100);
}

static void test_monotone(void)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(7);

	for (gint round = 0; round < 50; round++) {
		g_autoptr(TachoTimeline) timeline = new_timeline();
		guint before = tacho_trust_score(timeline);

		for (gint i = 0; i < 40; i++) {
			guint kind = g_rand_int_range(random, 0, TACHO_N_PROBLEMS);
			guint after;

			tacho_timeline_add_problem(timeline, kind,
						   1u << g_rand_int_range(random, 0, 16), "here");
			after = tacho_trust_score(timeline);
			g_assert_cmpuint(after, <=, before);
			g_assert_cmpuint(after, <, 100);
			before = after;
		}
	}
}

static void test_documentation(void)
{
	g_autofree gchar *folder = g_path_get_dirname(__FILE__);
	g_autofree gchar *path =
		g_build_filename(folder, "..", "..", "..", "docs", "trust.md", NULL);
	g_autofree gchar *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL)) {
		g_test_skip("the sources are not there");
		return;
	}
	for (guint kind = 0; kind < TACHO_N_PROBLEMS; kind++) {
		g_autofree gchar *row = g_strdup_printf("\n| `%s` |", tacho_problem_name(kind));
		g_autofree gchar *points = g_strdup_printf("| %u |\n", trust_points(kind));
		const gchar *found = strstr(text, row);

		if (!found)
			g_error("docs/trust.md has no row for %s", tacho_problem_name(kind));
		found = strchr(found + 1, '\n');
		g_assert_nonnull(found);
		g_assert_cmpint(strncmp(found + 1 - strlen(points), points, strlen(points)), ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trust/values", test_values);
	g_test_add_func("/trust/nothing", test_nothing);
	g_test_add_func("/trust/nobody-waits", test_nobody_waits);
	g_test_add_func("/trust/monotone", test_monotone);
	g_test_add_func("/trust/documentation", test_documentation);
	return g_test_run();
}
