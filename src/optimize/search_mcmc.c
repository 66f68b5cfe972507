/* search_mcmc: chains that wander over partitions. A move joins two buckets, splits one or shifts an end; it is made if it gains, and
 * else with a probability of exp(-loss / temperature), where the temperature falls from a share of the step to nothing in each round
 * (N. Metropolis and others, 1953; S. Kirkpatrick and others, 1983).
 *
 * (1) There are always CHAINS chains, each with draws of its own, and on as many cores as there are. A round has a fixed number of tries;
 *     after it, every second chain begins anew at the best of all, and the others at a partition drawn at random, so that what looks
 *     best does not hold all of them. So what comes out depends on the seed and
 *     the number of rounds alone.
 * (2) Without limits of time or tries it ends after ROUNDS_WITHOUT_GAIN rounds in which nothing was gained. */
#include "optimize/bucket_search.h"

#include <math.h>
#include <string.h>

#include "base/worker_pool.h"
#include "optimize/random_stream.h"

#define CHAINS		    4
#define TRIES_OF_A_ROUND    1000 /* of each chain */
#define ROUNDS_WITHOUT_GAIN 20

struct chain {
	struct bucket_search search; /* its own: tries and what it kept */
	struct random_stream random;
	guint32 *ends, *trial; /* room for n */
	guint32 n;
	gdouble step_ns;
};

struct chains {
	struct chain chain[CHAINS];
};

/* A neighbour of the chain's partition into `trial`; returns its number of buckets, 0: it is none. */
static guint32 draw_neighbour(struct chain *chain)
{
	const struct bucket_problem *problem = chain->search.problem;
	guint32 move = random_stream_below(&chain->random, 3);
	guint32 bucket = random_stream_below(&chain->random, chain->n);
	guint32 begin = bucket > 0 ? chain->ends[bucket - 1] : 0, end = chain->ends[bucket];
	guint32 n = chain->n;

	memcpy(chain->trial, chain->ends, n * sizeof(guint32));
	if (move == 0) {
		if (bucket + 1 == n || problem->begins_bucket[end])
			return 0;
		memmove(chain->trial + bucket, chain->trial + bucket + 1,
			(n - bucket - 1) * sizeof(guint32));
		return n - 1;
	}
	if (move == 1) {
		if (end - begin < 2)
			return 0;
		memmove(chain->trial + bucket + 1, chain->trial + bucket,
			(n - bucket) * sizeof(guint32));
		chain->trial[bucket] =
			begin + 1 + random_stream_below(&chain->random, end - begin - 1);
		return n + 1;
	}
	if (bucket + 1 == n || problem->begins_bucket[end] || chain->ends[bucket + 1] - begin < 3)
		return 0;
	chain->trial[bucket] =
		begin + 1 +
		random_stream_below(&chain->random, chain->ends[bucket + 1] - begin - 1);
	return n;
}

static void step_on(struct chain *chain, gdouble temperature_ns)
{
	guint32 n = draw_neighbour(chain);
	gdouble step_ns, draw;
	guint32 *ends = chain->ends;

	if (n == 0) {
		chain->search.tries++; /* so that a round ends where there are no neighbours */
		return;
	}
	step_ns = bucket_search_try(&chain->search, "mcmc", chain->trial, n);
	draw = random_stream_share(&chain->random);
	if (step_ns > chain->step_ns &&
	    (temperature_ns <= 0 || draw >= exp((chain->step_ns - step_ns) / temperature_ns)))
		return;
	chain->ends = chain->trial;
	chain->trial = ends;
	chain->n = n;
	chain->step_ns = step_ns;
}

static void run_round(guint index, gpointer data)
{
	struct chain *chain = &((struct chains *)data)->chain[index];
	guint64 first = chain->search.tries;

	while (chain->search.tries - first < TRIES_OF_A_ROUND) {
		gdouble share = 1 - (gdouble)(chain->search.tries - first) / TRIES_OF_A_ROUND;

		step_on(chain, chain->step_ns * chain->search.temperature * share * share * share);
	}
}

static void chain_begin_at(struct chain *chain, const struct bucket_candidate *candidate)
{
	chain->n = candidate->n_buckets;
	chain->step_ns = candidate->step_ns;
	memcpy(chain->ends, candidate->ends, chain->n * sizeof(guint32));
}

/* Few and many buckets are equally likely. */
static void chain_begin_anywhere(struct chain *chain)
{
	const struct bucket_problem *problem = chain->search.problem;
	gdouble share = random_stream_share(&chain->random);

	chain->n = 0;
	for (guint32 i = 1; i < problem->n; i++)
		if (problem->begins_bucket[i] ||
		    random_stream_share(&chain->random) < share * share)
			chain->ends[chain->n++] = i;
	chain->ends[chain->n++] = problem->n;
	chain->step_ns = bucket_search_try(&chain->search, "mcmc", chain->ends, chain->n);
}

static void chain_init(struct chain *chain, const struct bucket_search *search, guint number)
{
	bucket_search_init(&chain->search, search->problem, search->seed, 0, 0);
	chain->search.temperature = search->temperature;
	chain->random = random_stream_of(search->seed, number);
	chain->ends = g_new(guint32, (gsize)search->problem->n + 1);
	chain->trial = g_new(guint32, (gsize)search->problem->n + 1);
	chain_begin_at(chain, &search->kept[0]);
}

static void chain_release(struct chain *chain)
{
	bucket_search_release(&chain->search);
	g_free(chain->ends);
	g_free(chain->trial);
}

static void join_chains(struct bucket_search *search, struct chains *chains)
{
	for (guint i = 0; i < CHAINS; i++) {
		bucket_search_join(search, &chains->chain[i].search);
		chains->chain[i].search.tries = 0;
	}
	for (guint i = 0; i < CHAINS; i += 2)
		chain_begin_at(&chains->chain[i], &search->kept[0]);
	for (guint i = 1; i < CHAINS; i += 2)
		chain_begin_anywhere(&chains->chain[i]);
}

void search_mcmc(struct bucket_search *search)
{
	struct chains chains;
	guint n_idle = 0;

	if (search->problem->n < 2)
		return;
	if (search->n_kept == 0) {
		g_autofree guint32 *ends = g_new(guint32, search->problem->n);

		bucket_search_try(search, "mcmc", ends,
				  bucket_search_allow(search->problem, ends, 0));
	}
	for (guint i = 0; i < CHAINS; i++)
		chain_init(&chains.chain[i], search, i);
	while (!bucket_search_is_over(search) && n_idle < ROUNDS_WITHOUT_GAIN) {
		gdouble before_ns = search->kept[0].step_ns;

		worker_pool_run(CHAINS, run_round, &chains);
		join_chains(search, &chains);
		n_idle = search->kept[0].step_ns < before_ns ? 0 : n_idle + 1;
	}
	for (guint i = 0; i < CHAINS; i++)
		chain_release(&chains.chain[i]);
}
