/* Partitions of gradients into buckets: how long a step takes with one, by hand and by an independent count; that searches find the
 * best of all where all can be tried, and better ones than chance where they cannot; that they give the same again. */
#include <math.h>
#include <string.h>

#include "optimize/bucket_schedule.h"
#include "optimize/random_stream.h"

/* 10 us and a nanosecond a byte. */
struct line {
	gdouble fixed_ns, ns_per_byte;
};

static struct collective_time cost_of_line(gconstpointer data, guint64 bytes)
{
	const struct line *line = data;

	return (struct collective_time){ line->fixed_ns, line->ns_per_byte * (gdouble)bytes };
}

static const struct line ten_us = { 10000, 1 };

/* Gradients of `bytes` each, one every `every_ns`. */
static struct bucket_problem *even_problem(guint32 n, guint64 bytes, gdouble every_ns)
{
	struct bucket_problem *problem = bucket_problem_empty(n);

	for (guint32 i = 0; i < n; i++) {
		problem->bytes[i] = bytes;
		problem->ready_ns[i] = every_ns * (i + 1);
	}
	problem->cost = cost_of_line;
	problem->cost_data = &ten_us;
	return problem;
}

static void assert_step(const struct bucket_problem *problem, const gchar *ends_text,
			gdouble expected_ns)
{
	g_auto(GStrv) words = g_strsplit(ends_text, " ", -1);
	guint32 ends[16], n = 0;
	gdouble over_ns[16];

	for (; words[n]; n++)
		ends[n] = (guint32)g_ascii_strtoull(words[n], NULL, 10);
	g_assert_cmpfloat_with_epsilon(bucket_schedule_ns(problem, ends, n, over_ns), expected_ns,
				       1);
}

/* By hand. */
static void test_schedule(void)
{
	struct bucket_problem *problem = even_problem(4, 20000, 10000);

	problem->tail_ns = 5000;
	assert_step(problem, "4", 40000 + 10000 + 80000 + 5000);
	/* 20 + 50 us, and then, as the second waits for the only worker, 50 more */
	assert_step(problem, "2 4", 20000 + 50000 + 50000 + 5000);
	assert_step(problem, "1 4", 10000 + 30000 + 70000 + 5000);
	/* copies of what came first are made while the last is under way, when the pass is over */
	for (guint i = 0; i < 4; i++)
		problem->copy_ns[i] = 1000;
	assert_step(problem, "2 4", 20000 + 50000 + 50000 + 2000 + 5000);
	assert_step(problem, "4", 40000 + 90000 + 4000 + 5000);
	bucket_problem_free(problem);
}

/* Two workers: both buckets are under way from 20 us on, and each waits while the other's bytes move. */
static void test_two_workers(void)
{
	struct bucket_problem *problem = even_problem(2, 20000, 10000);
	gdouble pace;

	problem->n_workers = 2;
	problem->ready_ns[0] = 20000;
	pace = graph_transfer_pace(10000, 20000, (struct graph_sharing){ 2, 2 });
	assert_step(problem, "1 2", 20000 + 20000 / pace);
	g_assert_cmpfloat(20000 / pace, <, 2 * 30000);
	bucket_problem_free(problem);
}

/* While the first bucket moves for 30 us, half is computed: the last gradient comes 15 us later. */
static void test_slower_computing(void)
{
	struct bucket_problem *problem = even_problem(2, 20000, 10000);

	problem->taken = 0.5;
	problem->ready_ns[1] = 100000;
	assert_step(problem, "1 2", 100000 + 15000 + 30000);
	assert_step(problem, "2", 100000 + 50000);
	bucket_problem_free(problem);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bucket_search/schedule", test_schedule);
	g_test_add_func("/bucket_search/two_workers", test_two_workers);
	g_test_add_func("/bucket_search/slower_computing", test_slower_computing);
	return g_test_run();
}
