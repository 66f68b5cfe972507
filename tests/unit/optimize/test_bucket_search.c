/* Partitions of gradients into buckets: how long a step takes with one, by hand and by an independent count; that searches find the
 * best of all where all can be tried, and better ones than chance where they cannot; that they give the same again. */
#include <math.h>
#include <string.h>

#include "optimize/bucket_schedule.h"
#include "optimize/bucket_search.h"
#include "optimize/random_stream.h"

#ifdef __SANITIZE_THREAD__ /* what threads do is the same in each */
#define N_SEEDS 30
#else
#define N_SEEDS 300
#endif

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

/* Two ranks: a bucket has four segments, each of which waits for 1 us longer while gradients are still to come. */
static void test_core_waits(void)
{
	struct bucket_problem *problem = even_problem(4, 20000, 10000);
	gdouble beside = 40000 / 54000.0, after = 40000 / 50000.0, first_ns;

	problem->core_wait_ns = 1000;
	problem->n_ranks = 2;
	problem->operation = OPERATION_ALL_REDUCE;
	assert_step(problem, "4", 40000 + 90000);
	/* the first is beside the pass for 20 us */
	first_ns = 40000 + (40000 - 20000 * beside) / after;
	assert_step(problem, "2 4", first_ns + 50000);
	/* of one gradient 34 us beside it, and 30 after: the first beside all of 10 to 40 us */
	beside = 20000 / 34000.0;
	after = 20000 / 30000.0;
	first_ns = 40000 + (20000 - 30000 * beside) / after;
	assert_step(problem, "1 2 3 4", first_ns + 3 * 30000);
	bucket_problem_free(problem);
}

/* --- all partitions ------------------------------------------------------------------------------ */

struct random_problem {
	struct bucket_problem *problem;
	struct line line;
};

/* Any of what there may be: several types, workers, copies, slower computing. */
static void random_problem_init(struct random_problem *random, guint32 n, guint64 seed,
				gboolean is_plain)
{
	struct random_stream stream = random_stream_of(seed, n);
	struct bucket_problem *problem = bucket_problem_empty(n);
	gdouble now_ns = 0;

	random->line = (struct line){ 1000 * random_stream_below(&stream, 200),
				      0.1 + 2 * random_stream_share(&stream) };
	for (guint32 i = 0; i < n; i++) {
		now_ns += random_stream_below(&stream, 40000);
		problem->ready_ns[i] = now_ns;
		problem->bytes[i] = 1 + random_stream_below(&stream, 1u << (8 + i % 10));
		if (is_plain)
			continue;
		problem->copy_ns[i] = random_stream_below(&stream, 3000);
		problem->begins_bucket[i] = i > 0 && random_stream_below(&stream, 12) == 0;
	}
	if (!is_plain) {
		problem->n_workers = 1 + random_stream_below(&stream, 2);
		problem->taken = random_stream_below(&stream, 2) ? 0.3 : 0;
		problem->tail_ns = random_stream_below(&stream, 50000);
	}
	problem->cost = cost_of_line;
	problem->cost_data = &random->line;
	random->problem = problem;
}

/* The best there is, counted here: every bit says whether a gap is an end. */
static gdouble count_all(const struct bucket_problem *problem)
{
	gdouble best_ns = INFINITY, over_ns[16];
	guint32 ends[16];

	for (guint32 gaps = 0; gaps < 1u << (problem->n - 1); gaps++) {
		guint32 n = 0;
		gboolean is_allowed = TRUE;

		for (guint32 i = 1; i <= problem->n; i++) {
			gboolean is_end = i == problem->n || gaps >> (i - 1) & 1;

			if (is_end)
				ends[n++] = i;
			else if (problem->begins_bucket[i])
				is_allowed = FALSE;
		}
		if (is_allowed)
			best_ns = MIN(best_ns, bucket_schedule_ns(problem, ends, n, over_ns));
	}
	return best_ns;
}

/* With one worker and nothing else, by the formula: none of the schedule's code. */
static gdouble plain_step_ns(const struct bucket_problem *problem, const struct line *line,
			     const guint32 *order, const guint32 *n_of, guint32 n_buckets)
{
	gdouble over_ns = 0, ready_ns = 0;

	for (guint32 i = 0; i < n_buckets; i++) {
		gdouble bytes = 0;

		for (guint32 j = 0; j < n_of[i]; j++, order++) {
			bytes += (gdouble)problem->bytes[*order];
			ready_ns = MAX(ready_ns, problem->ready_ns[*order]);
		}
		over_ns = MAX(over_ns, ready_ns) + line->fixed_ns + line->ns_per_byte * bytes;
	}
	return over_ns;
}

static gdouble find(const struct bucket_problem *problem, void (*way)(struct bucket_search *))
{
	struct bucket_search search;
	gdouble best_ns;

	bucket_search_init(&search, problem, 1, 0, 0);
	way(&search);
	best_ns = search.kept[0].step_ns;
	for (guint i = 1; i < search.n_kept; i++)
		g_assert_cmpfloat(search.kept[i - 1].step_ns, <=, search.kept[i].step_ns);
	bucket_search_release(&search);
	return best_ns;
}

/* All that is searched finds the best of all. */
static void test_optimum(void)
{
	for (guint64 seed = 1; seed <= N_SEEDS; seed++) {
		struct random_problem random;

		random_problem_init(&random, 1 + (guint32)(seed % 10), seed, FALSE);
		g_assert_cmpfloat_with_epsilon(find(random.problem, bucket_search_run),
					       count_all(random.problem), 1e-3);
		bucket_problem_free(random.problem);
	}
}

static void rules_dynamic_greedy_mcmc(struct bucket_search *search)
{
	search_rules(search);
	search_dynamic(search);
	search_greedy(search);
	search_mcmc(search);
	search_mcts(search);
	search_greedy(search);
}

/* So do the ways for many gradients, without trying all. */
static void test_optimum_otherwise(void)
{
	for (guint64 seed = 1; seed <= N_SEEDS; seed++) {
		struct random_problem random;

		random_problem_init(&random, 1 + (guint32)(seed % 10), seed, FALSE);
		g_assert_cmpfloat_with_epsilon(find(random.problem, rules_dynamic_greedy_mcmc),
					       count_all(random.problem), 1e-3);
		bucket_problem_free(random.problem);
	}
}

/* Monte Carlo trees alone find the best of all, where all ends are offered: of up to eight gradients and some more. */
static void test_mcts(void)
{
	for (guint64 seed = 1; seed <= N_SEEDS / 3; seed++) {
		struct random_problem random;

		random_problem_init(&random, 1 + (guint32)(seed % 10), seed, FALSE);
		g_assert_cmpfloat_with_epsilon(find(random.problem, search_mcts),
					       count_all(random.problem), 1e-3);
		bucket_problem_free(random.problem);
	}
}

/* Twelve blocks of three gradients behind a head: the best partition ends a bucket behind each block, as waits are long and a block's
 * gradients come together. */
static void test_blocks(void)
{
	struct bucket_problem *problem = bucket_problem_empty(38);
	struct bucket_search search;

	for (guint32 i = 0; i < 38; i++) {
		guint32 block = i < 2 ? 0 : 1 + (i - 2) / 3;

		problem->bytes[i] = i < 2 ? 500 + i : (i - 2) % 3 == 0 ? 40000 : 1000;
		problem->ready_ns[i] = 1000 + 60000 * block;
	}
	problem->cost = cost_of_line;
	problem->cost_data = &ten_us;
	bucket_search_init(&search, problem, 1, 0, 0);
	search_blocks(&search);
	g_assert_cmpuint(search.n_kept, >, 0);
	g_assert_cmpfloat_with_epsilon(search.kept[0].step_ns, find(problem, bucket_search_run), 1);
	for (guint32 i = 0; i + 1 < search.kept[0].n_buckets; i++)
		g_assert_cmpuint((search.kept[0].ends[i] - 2) % 3, ==, 0);
	bucket_search_release(&search);
	bucket_problem_free(problem);
	/* nothing repeats itself */
	problem = even_problem(3, 100, 1);
	problem->bytes[1] = 200;
	problem->bytes[2] = 300;
	bucket_search_init(&search, problem, 1, 0, 0);
	search_blocks(&search);
	g_assert_cmpuint(search.tries, ==, 0);
	bucket_search_release(&search);
	bucket_problem_free(problem);
}

/* Only what is asked for is gone. */
static void test_ways(void)
{
	struct random_problem random;

	random_problem_init(&random, 60, 3, FALSE);
	for (guint way = 0; way < N_SEARCH_WAYS; way++) {
		struct bucket_search search;

		bucket_search_init(&search, random.problem, 1, 0, 20000);
		search.ways = 1u << way;
		bucket_search_run(&search);
		for (guint i = 0; i < search.points->len; i++)
			g_assert_cmpstr(
				g_array_index(search.points, struct search_point, i).strategy, ==,
				bucket_search_way_name((enum search_way)way));
		bucket_search_release(&search);
	}
	bucket_problem_free(random.problem);
}

/* Dynamic programming alone, where there is one worker and nothing else. */
static void test_dynamic(void)
{
	for (guint64 seed = 1; seed <= N_SEEDS; seed++) {
		struct random_problem random;

		random_problem_init(&random, 1 + (guint32)(seed % 14), seed, TRUE);
		g_assert_cmpfloat_with_epsilon(find(random.problem, search_dynamic),
					       count_all(random.problem), 1e-3);
		bucket_problem_free(random.problem);
	}
}

/* The least of all ordered partitions into sets: gradients in any order. `left` of them are in no bucket yet. */
static gdouble best_of_sets(const struct random_problem *random, guint32 *order, guint32 *n_of,
			    guint32 n_buckets, guint32 n_ordered, guint32 left)
{
	gdouble best_ns = INFINITY;

	if (left == 0)
		return plain_step_ns(random->problem, &random->line, order, n_of, n_buckets);
	for (guint32 set = left; set > 0; set = (set - 1) & left) {
		guint32 n = 0;

		for (guint32 i = 0; i < random->problem->n; i++)
			if (set >> i & 1)
				order[n_ordered + n++] = i;
		n_of[n_buckets] = n;
		best_ns = MIN(best_ns, best_of_sets(random, order, n_of, n_buckets + 1,
						    n_ordered + n, left & ~set));
	}
	return best_ns;
}

/* No partition into sets in any order is better than the best one that keeps the order of arrival, so that no other need be tried. */
static void test_any_order(void)
{
	for (guint64 seed = 1; seed <= N_SEEDS / 5; seed++) {
		struct random_problem random;
		guint32 order[8], n_of[8], n = 1 + (guint32)(seed % 6);

		random_problem_init(&random, n, seed, TRUE);
		g_assert_cmpfloat_with_epsilon(
			best_of_sets(&random, order, n_of, 0, 0, (1u << n) - 1),
			count_all(random.problem), 1e-3);
		bucket_problem_free(random.problem);
	}
}

/* --- many gradients ------------------------------------------------------------------------------ */

static gdouble find_in(const struct bucket_problem *problem, guint64 tries,
		       void (*way)(struct bucket_search *))
{
	struct bucket_search search;
	gdouble best_ns;

	bucket_search_init(&search, problem, 7, 0, tries);
	way(&search);
	best_ns = search.kept[0].step_ns;
	bucket_search_release(&search);
	return best_ns;
}

/* With as many tries, never worse than chance, and often better: of some problems chance finds the best there is, too. */
static void test_random(void)
{
	guint n_better = 0, n_cases = 0;

	for (guint32 n = 40; n <= 200; n += 40)
		for (guint64 seed = 1; seed <= 2; seed++) {
			struct random_problem random;
			gdouble found_ns, drawn_ns;

			random_problem_init(&random, n, seed, FALSE);
			found_ns = find_in(random.problem, 100000, bucket_search_run);
			drawn_ns = find_in(random.problem, 100000, search_random);
			g_assert_cmpfloat(found_ns, <=, drawn_ns + 1e-3);
			/* trees alone, whose ends are not all there are, come near */
			g_assert_cmpfloat(find_in(random.problem, 100000, search_mcts), <=,
					  1.005 * drawn_ns);
			n_better += found_ns < drawn_ns - 1e-3;
			n_cases++;
			bucket_problem_free(random.problem);
		}
	g_test_message("better than chance in %u of %u", n_better, n_cases);
	g_assert_cmpuint(n_better * 3, >=, n_cases);
}

/* The same seed gives the same partition; another one may give another, but none that is worse by more than a hundredth. */
static void test_seed(void)
{
	struct random_problem random;
	struct bucket_search search[3];

	random_problem_init(&random, 150, 5, FALSE);
	for (guint i = 0; i < 3; i++) {
		bucket_search_init(&search[i], random.problem, i < 2 ? 3 : 4, 0, 60000);
		bucket_search_run(&search[i]);
	}
	g_assert_cmpuint(search[0].tries, ==, search[1].tries);
	g_assert_cmpuint(search[0].n_kept, ==, search[1].n_kept);
	for (guint i = 0; i < search[0].n_kept; i++) {
		const struct bucket_candidate *a = &search[0].kept[i], *b = &search[1].kept[i];

		g_assert_cmpuint(a->n_buckets, ==, b->n_buckets);
		g_assert_cmpint(memcmp(a->ends, b->ends, a->n_buckets * sizeof(*a->ends)), ==, 0);
	}
	g_assert_cmpfloat(search[2].kept[0].step_ns, <=, 1.01 * search[0].kept[0].step_ns);
	for (guint i = 0; i < 3; i++)
		bucket_search_release(&search[i]);
	bucket_problem_free(random.problem);
}

/* It ends when it should: by its tries, by its time, and by itself. Points of the trajectory go down. */
static void test_limits(void)
{
	struct random_problem random;
	struct bucket_search search;

	random_problem_init(&random, 100, 1, FALSE);
	bucket_search_init(&search, random.problem, 1, 50000, 0);
	bucket_search_run(&search);
	g_assert_cmpuint(search.n_kept, >, 0);
	g_assert_cmpint(g_get_monotonic_time() - search.begin_us, <, 10 * G_USEC_PER_SEC);
	for (guint i = 1; i < search.points->len; i++)
		g_assert_cmpfloat(g_array_index(search.points, struct search_point, i).step_ns, <=,
				  g_array_index(search.points, struct search_point, i - 1).step_ns);
	bucket_search_release(&search);
	bucket_search_init(&search, random.problem, 1, 0, 1);
	bucket_search_run(&search);
	g_assert_cmpuint(search.n_kept, >, 0);
	bucket_search_release(&search);
	bucket_problem_free(random.problem);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bucket_search/schedule", test_schedule);
	g_test_add_func("/bucket_search/two_workers", test_two_workers);
	g_test_add_func("/bucket_search/slower_computing", test_slower_computing);
	g_test_add_func("/bucket_search/core_waits", test_core_waits);
	g_test_add_func("/bucket_search/optimum", test_optimum);
	g_test_add_func("/bucket_search/optimum_otherwise", test_optimum_otherwise);
	g_test_add_func("/bucket_search/mcts", test_mcts);
	g_test_add_func("/bucket_search/blocks", test_blocks);
	g_test_add_func("/bucket_search/ways", test_ways);
	g_test_add_func("/bucket_search/dynamic", test_dynamic);
	g_test_add_func("/bucket_search/any_order", test_any_order);
	g_test_add_func("/bucket_search/random", test_random);
	g_test_add_func("/bucket_search/seed", test_seed);
	g_test_add_func("/bucket_search/limits", test_limits);
	return g_test_run();
}
