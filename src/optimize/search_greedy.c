/* search_greedy: a walk along the critical path of the schedule. From the last bucket backwards, buckets that follow each other without
 * a pause are the path; the first of them began when its last gradient came. So a step is shorter if that one begins earlier (split
 * it, or end it before its last gradients), or if the path has fewer waits (join two of it), or its bytes move forward (shift an
 * end). Each of these moves is tried and the best is made, until none gains; then those of all other buckets, which gain where buckets
 * share a link or computing is slower beside them. */
#include "optimize/bucket_search.h"

#include <string.h>

#include "optimize/bucket_schedule.h"

struct walk {
	struct bucket_search *search;
	guint32 *ends, *trial, *best; /* room for n */
	guint32 n, n_best;
	gdouble step_ns, best_ns;
	gdouble *over_ns;
};

/* Its ends make a partition: ascending, and where data types change. */
static gboolean is_allowed(const struct bucket_problem *problem, const guint32 *ends, guint32 n)
{
	guint32 begin = 0;

	for (guint32 i = 0; i < n; begin = ends[i++]) {
		if (ends[i] <= begin || ends[i] > problem->n)
			return FALSE;
		for (guint32 j = begin + 1; j < ends[i]; j++)
			if (problem->begins_bucket[j])
				return FALSE;
	}
	return TRUE;
}

static void consider(struct walk *walk, guint32 n)
{
	gdouble step_ns;

	if (!is_allowed(walk->search->problem, walk->trial, n))
		return;
	step_ns = bucket_search_try(walk->search, "greedy", walk->trial, n);
	if (step_ns >= walk->best_ns)
		return;
	walk->best_ns = step_ns;
	walk->n_best = n;
	memcpy(walk->best, walk->trial, n * sizeof(*walk->best));
}

/* The first bucket of the path. */
static guint32 path_begin(struct walk *walk)
{
	const struct bucket_problem *problem = walk->search->problem;
	guint32 first = walk->n - 1;

	bucket_schedule_ns(problem, walk->ends, walk->n, walk->over_ns);
	/* the one before was still under way when this one could have begun */
	while (first > 0 && walk->over_ns[first - 1] > problem->ready_ns[walk->ends[first] - 1] +
							       first * problem->call_ns)
		first--;
	return first;
}

static void try_join(struct walk *walk, guint32 bucket)
{
	memcpy(walk->trial, walk->ends, bucket * sizeof(*walk->trial));
	memcpy(walk->trial + bucket, walk->ends + bucket + 1,
	       (walk->n - bucket - 1) * sizeof(*walk->trial));
	consider(walk, walk->n - 1);
}

static void try_shift(struct walk *walk, guint32 bucket, gint by)
{
	memcpy(walk->trial, walk->ends, walk->n * sizeof(*walk->trial));
	if ((gint64)walk->ends[bucket] + by <= 0)
		return;
	walk->trial[bucket] = (guint32)((gint64)walk->ends[bucket] + by);
	consider(walk, walk->n);
}

static void try_split(struct walk *walk, guint32 bucket, guint32 at)
{
	if (walk->n == walk->search->problem->n)
		return;
	memcpy(walk->trial, walk->ends, bucket * sizeof(*walk->trial));
	walk->trial[bucket] = at;
	memcpy(walk->trial + bucket + 1, walk->ends + bucket,
	       (walk->n - bucket) * sizeof(*walk->trial));
	consider(walk, walk->n + 1);
}

/* A few places of a large bucket, all of a small one. */
static void try_splits(struct walk *walk, guint32 bucket)
{
	guint32 begin = bucket > 0 ? walk->ends[bucket - 1] : 0, end = walk->ends[bucket];
	guint32 pace = MAX((end - begin) / 16, 1u);

	for (guint32 at = begin + 1; at < end; at += pace)
		try_split(walk, bucket, at);
}

/* Try to move the ends of the buckets from `first` on. */
static void try_moves(struct walk *walk, guint32 first)
{
	static const gint shifts[] = { 1, -1, 2, -2, 4, -4, 8, -8 };

	/* the end of the bucket before the path is one of its begins */
	for (guint32 i = first > 0 ? first - 1 : 0;
	     i + 1 < walk->n && !bucket_search_is_over(walk->search); i++) {
		try_join(walk, i);
		for (guint j = 0; j < G_N_ELEMENTS(shifts); j++)
			try_shift(walk, i, shifts[j]);
	}
	for (guint32 i = first; i < walk->n && !bucket_search_is_over(walk->search); i++)
		try_splits(walk, i);
}

static void walk_on(struct walk *walk)
{
	while (!bucket_search_is_over(walk->search)) {
		walk->best_ns = walk->step_ns;
		try_moves(walk, path_begin(walk));
		if (walk->best_ns >= walk->step_ns)
			try_moves(walk, 0);
		if (walk->best_ns >= walk->step_ns)
			return;
		walk->step_ns = walk->best_ns;
		walk->n = walk->n_best;
		memcpy(walk->ends, walk->best, walk->n * sizeof(*walk->ends));
	}
}

void search_greedy(struct bucket_search *search)
{
	gsize n = search->problem->n;
	struct walk walk = { .search = search };

	if (n == 0)
		return;
	walk.ends = g_new(guint32, n + 1);
	walk.trial = g_new(guint32, n + 1);
	walk.best = g_new(guint32, n + 1);
	walk.over_ns = g_new(gdouble, n);
	if (search->n_kept > 0) {
		walk.n = search->kept[0].n_buckets;
		memcpy(walk.ends, search->kept[0].ends, walk.n * sizeof(*walk.ends));
	} else {
		walk.n = bucket_search_allow(search->problem, walk.ends, 0);
	}
	walk.step_ns = bucket_search_try(search, "greedy", walk.ends, walk.n);
	walk_on(&walk);
	g_free(walk.ends);
	g_free(walk.trial);
	g_free(walk.best);
	g_free(walk.over_ns);
}
