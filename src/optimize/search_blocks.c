/* search_blocks: models repeat themselves, so partitions that do so are tried: the same places of every block, or of every second, third ...
 * block, end a bucket. A model of twelve equal blocks has so few of these that they cost nothing, and mostly holds the best of them near
 * the best there is.
 *
 * A block is a run of gradients whose sizes and types come again behind it. The period is the shortest one with which most gradients are
 * as the one a period before (REPEATED); the first gradient that is so tells where blocks begin. */
#include "optimize/bucket_search.h"

#include <string.h>

/* Of the gradients, at least, for a period to be one.
 * Source: a rule: embeddings and heads of a model are none of its blocks. If wrong, the search does without blocks, or tries some hundred
 * partitions that say nothing. */
#define REPEATED      0.6
#define MAX_PERIOD    512
#define MAX_STRIDE    16 /* blocks a bucket */
#define MAX_PER_BLOCK 3	 /* ends in a block */

static gboolean is_same(const struct bucket_problem *problem, guint32 a, guint32 b)
{
	return problem->bytes[a] == problem->bytes[b] && problem->dtype[a] == problem->dtype[b];
}

/* The shortest period, and where it holds first; 0: there is none. */
static guint32 find_period(const struct bucket_problem *problem, guint32 *ret_first)
{
	for (guint32 period = 2; period <= MIN(problem->n / 2, MAX_PERIOD); period++) {
		guint32 n_same = 0, first = problem->n;

		for (guint32 i = 0; i + period < problem->n; i++)
			if (is_same(problem, i, i + period)) {
				n_same++;
				first = MIN(first, i);
			}
		if (n_same >= REPEATED * problem->n) {
			*ret_first = first;
			return period;
		}
	}
	return 0;
}

/* Ends at these places of every `stride`-th block. */
static void try_places(struct bucket_search *search, guint32 first, guint32 period, guint32 stride,
		       const guint32 *places, guint n_places, guint32 *ends)
{
	const struct bucket_problem *problem = search->problem;
	guint32 n = 0;

	for (guint64 block = first; block < problem->n; block += (guint64)period * stride)
		for (guint i = 0; i < n_places; i++)
			if (block + places[i] < problem->n && block + places[i] > 0)
				ends[n++] = (guint32)block + places[i];
	if (n == 0 || ends[n - 1] != problem->n)
		ends[n++] = problem->n;
	n = bucket_search_allow(problem, ends, n);
	bucket_search_try(search, "blocks", ends, n);
}

/* All sets of up to MAX_PER_BLOCK places, the first of which is `places[0 .. n)`, ascending. */
static void try_sets(struct bucket_search *search, guint32 first, guint32 period, guint32 *places,
		     guint n, guint32 *ends)
{
	guint32 begin = n > 0 ? places[n - 1] + 1 : 0;
	guint32 step = n < 2 ? 1 : MAX(period / 16, 1u); /* thirds need not be everywhere */

	for (guint32 place = begin; place < period && !bucket_search_is_over(search);
	     place += step) {
		places[n] = place;
		try_places(search, first, period, 1, places, n + 1, ends);
		if (n + 1 < MAX_PER_BLOCK)
			try_sets(search, first, period, places, n + 1, ends);
	}
}

void search_blocks(struct bucket_search *search)
{
	const struct bucket_problem *problem = search->problem;
	g_autofree guint32 *ends = g_new(guint32, (gsize)problem->n + 2);
	guint32 first = 0, period = find_period(problem, &first), places[MAX_PER_BLOCK];

	if (period == 0)
		return;
	for (guint32 stride = 1; stride <= MAX_STRIDE && (guint64)stride * period < problem->n;
	     stride++)
		for (guint32 place = 0; place < period && !bucket_search_is_over(search); place++)
			try_places(search, first, period, stride, &place, 1, ends);
	if (period <= 64)
		try_sets(search, first, period, places, 0, ends);
}
