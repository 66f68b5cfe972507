/* search_dynamic: let over(k, j) be the soonest that the first j gradients can be there in k buckets, one after the other:
 *
 *     over(k, j) = min over i < j of max(over(k - 1, i), ready(j - 1) + (k - 1) * call) + cost(bytes of i to j)
 *
 * An earlier end of what goes before is never worse, so the minimum over partitions is found so, in n * n steps for each k. Each k's
 * best partition is tried, for with several workers, copies and slower computing another k than the best here may be the best.
 *
 * (1) Costs of all pairs are asked for once, where there are few enough of them to be kept.
 * (2) Of very many gradients, neighbours are taken together first, to MAX_UNITS of about one size. */
#include "optimize/bucket_search.h"

#include <math.h>
#include <string.h>

/* Gradients, or what they are taken together to. Source: a rule: a million pairs of 8 bytes, and a second of search. */
#define MAX_UNITS   1000
#define MAX_BUCKETS 64 /* more are seldom better, and the others find them */

struct dynamic {
	struct bucket_search *search;
	guint32 n;	       /* units */
	guint32 *unit_ends;    /* gradients */
	guint8 *begins_bucket; /* [unit] */
	gdouble *
		cost_ns; /* [i * n + j - 1]: of units i up to j; INFINITY: they are not of one type */
	gdouble *ready_ns;	      /* [unit] */
	gdouble *before_ns, *over_ns; /* [j] with one bucket fewer, and with this many */
	guint32 *cut;		      /* [k * (n + 1) + j]: where the last bucket begins */
};

static void make_units(struct dynamic *dynamic)
{
	const struct bucket_problem *problem = dynamic->search->problem;
	guint64 all_bytes = 0, bytes = 0, in_units = 0;
	guint32 most = MIN(problem->n, MAX_UNITS);

	dynamic->unit_ends = g_new(guint32, (gsize)problem->n + 1);
	dynamic->begins_bucket = g_new0(guint8, (gsize)problem->n + 1);
	for (guint32 i = 0; i < problem->n; i++)
		all_bytes += problem->bytes[i];
	for (guint32 i = 0; i < problem->n; i++) {
		gboolean is_last = i + 1 == problem->n || problem->begins_bucket[i + 1];

		bytes += problem->bytes[i];
		if (most < problem->n && !is_last &&
		    (gdouble)(bytes - in_units) < (gdouble)all_bytes / most)
			continue;
		in_units = bytes;
		dynamic->unit_ends[dynamic->n++] = i + 1;
		if (i + 1 < problem->n)
			dynamic->begins_bucket[dynamic->n] = problem->begins_bucket[i + 1];
	}
}

static void ask_costs(struct dynamic *dynamic)
{
	const struct bucket_problem *problem = dynamic->search->problem;
	guint32 n = dynamic->n;

	dynamic->cost_ns = g_new(gdouble, (gsize)n * n);
	dynamic->ready_ns = g_new(gdouble, n);
	for (guint32 i = 0; i < n; i++) {
		guint64 bytes = 0;
		guint32 gradient = i > 0 ? dynamic->unit_ends[i - 1] : 0;
		gboolean is_mixed = FALSE;

		dynamic->ready_ns[i] = problem->ready_ns[dynamic->unit_ends[i] - 1];
		for (guint32 j = i + 1; j <= n; j++) {
			struct collective_time time;

			for (; gradient < dynamic->unit_ends[j - 1]; gradient++)
				bytes += problem->bytes[gradient];
			is_mixed |= j > i + 1 && dynamic->begins_bucket[j - 1];
			if (!is_mixed)
				time = problem->cost(problem->cost_data, bytes);
			dynamic->cost_ns[(gsize)i * n + j - 1] =
				is_mixed ? INFINITY : time.fixed_ns + time.work_ns;
		}
	}
}

static void add_bucket(struct dynamic *dynamic, guint32 k)
{
	guint32 n = dynamic->n;
	guint32 *cut = dynamic->cut + (gsize)k * (n + 1);
	gdouble calls_ns = k * dynamic->search->problem->call_ns;

	for (guint32 j = 0; j <= n; j++)
		dynamic->over_ns[j] = INFINITY;
	for (guint32 i = 0; i < n; i++) {
		const gdouble *cost_ns = dynamic->cost_ns + (gsize)i * n;

		if (dynamic->before_ns[i] == INFINITY)
			continue;
		for (guint32 j = i + 1; j <= n; j++) {
			gdouble over_ns =
				MAX(dynamic->before_ns[i], dynamic->ready_ns[j - 1] + calls_ns) +
				cost_ns[j - 1];

			if (over_ns < dynamic->over_ns[j]) {
				dynamic->over_ns[j] = over_ns;
				cut[j] = i;
			}
		}
	}
}

static void try_buckets(struct dynamic *dynamic, guint32 n_buckets)
{
	g_autofree guint32 *ends = g_new(guint32, n_buckets);
	guint32 end = dynamic->n;

	if (dynamic->over_ns[end] == INFINITY)
		return;
	for (guint32 k = n_buckets; k-- > 0;) {
		ends[k] = dynamic->unit_ends[end - 1];
		end = dynamic->cut[(gsize)k * (dynamic->n + 1) + end];
	}
	bucket_search_try(dynamic->search, "dynamic", ends, n_buckets);
}

void search_dynamic(struct bucket_search *search)
{
	struct dynamic dynamic = { .search = search };
	guint32 most;

	if (search->problem->n == 0)
		return;
	make_units(&dynamic);
	ask_costs(&dynamic);
	most = MIN(dynamic.n, MAX_BUCKETS);
	dynamic.before_ns = g_new(gdouble, dynamic.n + 1);
	dynamic.over_ns = g_new(gdouble, dynamic.n + 1);
	dynamic.cut = g_new0(guint32, (gsize)most * (dynamic.n + 1));
	for (guint32 j = 0; j <= dynamic.n; j++)
		dynamic.before_ns[j] = j == 0 ? -INFINITY : INFINITY;
	for (guint32 k = 0; k < most && !bucket_search_is_over(search); k++) {
		add_bucket(&dynamic, k);
		try_buckets(&dynamic, k + 1);
		memcpy(dynamic.before_ns, dynamic.over_ns, (dynamic.n + 1) * sizeof(gdouble));
	}
	g_free(dynamic.unit_ends);
	g_free(dynamic.begins_bucket);
	g_free(dynamic.cost_ns);
	g_free(dynamic.ready_ns);
	g_free(dynamic.before_ns);
	g_free(dynamic.over_ns);
	g_free(dynamic.cut);
}
