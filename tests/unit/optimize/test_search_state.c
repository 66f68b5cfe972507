/* A search that goes on from what another one wrote, and files that it refuses. */
#include <stdlib.h>
#include <string.h>

#include "optimize/search_state.h"

static struct collective_time cost_of_bytes(gconstpointer data, guint64 bytes)
{
	(void)data;
	return (struct collective_time){ 10000, (gdouble)bytes };
}

static struct bucket_problem *problem_of(guint32 n, guint64 last_bytes)
{
	struct bucket_problem *problem = bucket_problem_empty(n);

	for (guint32 i = 0; i < n; i++) {
		problem->bytes[i] = i + 1 < n ? 20000 : last_bytes;
		problem->dtype[i] = "float32";
		problem->ready_ns[i] = 10000 * (i + 1);
	}
	problem->cost = cost_of_bytes;
	return problem;
}

static gchar *written(const struct bucket_search *search)
{
	gchar *text = NULL;
	gsize n;
	FILE *out = open_memstream(&text, &n);

	search_state_write(search, out);
	fclose(out);
	return text;
}

/* By hand: the four gradients in two buckets. */
static void test_format(void)
{
	struct bucket_problem *problem = problem_of(4, 20000);
	struct bucket_search search;
	gchar *text;

	bucket_search_init(&search, problem, 1, 0, 0);
	bucket_search_try(&search, "rules", (const guint32[]){ 2, 4 }, 2);
	text = written(&search);
	g_assert_true(g_str_has_prefix(text, "tacho_search 1 4 "));
	g_assert_nonnull(strstr(text, "\ntries 1\nkept 120000 rules 2 4\n"));
	free(text);
	bucket_search_release(&search);
	bucket_problem_free(problem);
}

/* What was best is best at once, and the tries are counted on. */
static void test_resumed(void)
{
	struct bucket_problem *problem = problem_of(60, 20000);
	struct bucket_search first, second;
	g_autoptr(GError) error = NULL;
	gchar *text;

	bucket_search_init(&first, problem, 1, 0, 5000);
	bucket_search_run(&first);
	text = written(&first);
	bucket_search_init(&second, problem, 1, 0, 5000);
	g_assert_true(search_state_read(&second, text, &error));
	g_assert_no_error(error);
	g_assert_cmpfloat(second.kept[0].step_ns, ==, first.kept[0].step_ns);
	g_assert_cmpuint(second.n_kept, ==, first.n_kept);
	g_assert_cmpuint(second.tries, ==, first.tries + first.n_kept);
	g_assert_true(bucket_search_is_over(&second));
	free(text);
	bucket_search_release(&first);
	bucket_search_release(&second);
	bucket_problem_free(problem);
}

static void assert_refused(const gchar *text, const gchar *reason)
{
	struct bucket_problem *problem = problem_of(4, 20000);
	struct bucket_search search, empty;
	g_autoptr(GError) error = NULL;
	g_autofree gchar *whole = NULL;
	gchar *head;

	bucket_search_init(&empty, problem, 1, 0, 0);
	head = written(&empty);
	whole = g_strconcat(head, text, NULL);
	bucket_search_init(&search, problem, 1, 0, 0);
	g_assert_false(search_state_read(&search, whole, &error));
	g_assert_nonnull(strstr(error->message, reason));
	free(head);
	bucket_search_release(&empty);
	bucket_search_release(&search);
	bucket_problem_free(problem);
}

static void test_wrong(void)
{
	struct bucket_problem *problem = problem_of(4, 20000), *other = problem_of(4, 20004);
	struct bucket_search search, of_other;
	g_autoptr(GError) error = NULL;
	gchar *text;

	assert_refused("kept 1 x 2 2 4\n", "do not ascend");
	assert_refused("kept 1 x 2 5\n", "do not ascend");
	assert_refused("kept 1 x 2 3\n", "does not end with the last gradient");
	assert_refused("kept 1 x\n", "neither tries nor");
	assert_refused("tries -1\n", "neither tries nor");
	assert_refused("else\n", "neither tries nor");
	bucket_search_init(&of_other, other, 1, 0, 0);
	text = written(&of_other);
	bucket_search_init(&search, problem, 1, 0, 0);
	g_assert_false(search_state_read(&search, text, &error));
	g_assert_nonnull(strstr(error->message, "of a job with other gradients"));
	g_clear_error(&error);
	g_assert_false(search_state_read(&search, "", &error));
	g_assert_nonnull(strstr(error->message, "no state of a search"));
	free(text);
	bucket_search_release(&of_other);
	bucket_search_release(&search);
	bucket_problem_free(problem);
	bucket_problem_free(other);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/search_state/format", test_format);
	g_test_add_func("/search_state/resumed", test_resumed);
	g_test_add_func("/search_state/wrong", test_wrong);
	return g_test_run();
}
