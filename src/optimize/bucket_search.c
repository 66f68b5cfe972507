#include "optimize/bucket_search.h"

#include <string.h>

#include "base/order.h"
#include "optimize/bucket_schedule.h"

void bucket_search_init(struct bucket_search *search, const struct bucket_problem *problem,
			guint64 seed, gint64 budget_us, guint64 max_tries)
{
	*search = (struct bucket_search){ .problem = problem,
					  .seed = seed,
					  .max_tries = max_tries,
					  .temperature = SEARCH_TEMPERATURE,
					  .ucb_gamma = SEARCH_UCB_GAMMA,
					  .begin_us = g_get_monotonic_time() };
	search->end_us = budget_us > 0 ? search->begin_us + budget_us : 0;
	search->points = g_array_new(FALSE, FALSE, sizeof(struct search_point));
	search->over_ns = g_new(gdouble, MAX(problem->n, 1u));
}

void bucket_search_release(struct bucket_search *search)
{
	for (guint i = 0; i < search->n_kept; i++)
		g_free(search->kept[i].ends);
	g_array_unref(search->points);
	g_free(search->over_ns);
}

gboolean bucket_search_is_over(const struct bucket_search *search)
{
	return (search->max_tries > 0 && search->tries >= search->max_tries) ||
	       (search->end_us > 0 && g_get_monotonic_time() >= search->end_us);
}

/* Which of two is better: -1 the first. Equally long ones are told apart by what they are, so that the order does not matter in which
 * they were tried. */
static gint compare(const struct bucket_candidate *a, const struct bucket_candidate *b)
{
	gint order = ORDER(a->step_ns, b->step_ns) ?: ORDER(a->n_buckets, b->n_buckets);

	for (guint32 i = 0; order == 0 && i < a->n_buckets; i++)
		order = ORDER(a->ends[i], b->ends[i]);
	return order;
}

static void note_point(struct bucket_search *search)
{
	struct search_point point = { search->kept[0].strategy, search->tries,
				      g_get_monotonic_time() - search->begin_us,
				      search->kept[0].step_ns };

	g_array_append_val(search->points, point);
}

/* Keep a copy of it, if it is one of the best and not there yet. */
static void offer(struct bucket_search *search, const struct bucket_candidate *candidate)
{
	struct bucket_candidate copy = *candidate;
	guint place = 0;
	gint order = 1;

	while (place < search->n_kept && (order = compare(candidate, &search->kept[place])) > 0)
		place++;
	if (place == SEARCH_KEPT || (place < search->n_kept && order == 0))
		return;
	if (search->n_kept == SEARCH_KEPT)
		g_free(search->kept[--search->n_kept].ends);
	memmove(search->kept + place + 1, search->kept + place,
		(search->n_kept - place) * sizeof(*search->kept));
	copy.ends = g_memdup2(candidate->ends, candidate->n_buckets * sizeof(guint32));
	search->kept[place] = copy;
	search->n_kept++;
	if (place == 0)
		note_point(search);
	if (place == 0 && search->progress)
		search->progress(search, search->progress_data);
}

gdouble bucket_search_try(struct bucket_search *search, const gchar *strategy, const guint32 *ends,
			  guint32 n_buckets)
{
	struct bucket_candidate candidate = { (guint32 *)ends, n_buckets, 0, strategy };

	candidate.step_ns = search->judge ? search->judge(ends, n_buckets, search->judge_data)
					  : bucket_schedule_ns(search->problem, ends, n_buckets,
							       search->over_ns);
	search->tries++;
	if (search->n_kept < SEARCH_KEPT ||
	    candidate.step_ns <= search->kept[search->n_kept - 1].step_ns)
		offer(search, &candidate);
	return candidate.step_ns;
}

void bucket_search_join(struct bucket_search *search, const struct bucket_search *other)
{
	search->tries += other->tries;
	for (guint i = 0; i < other->n_kept; i++)
		offer(search, &other->kept[i]);
}

guint32 bucket_search_allow(const struct bucket_problem *problem, guint32 *ends, guint32 n_buckets)
{
	g_autofree guint8 *is_end = g_new0(guint8, (gsize)problem->n + 1);
	guint32 n = 0;

	for (guint32 i = 0; i < n_buckets; i++)
		is_end[ends[i]] = 1;
	for (guint32 i = 1; i <= problem->n; i++)
		if (is_end[i] || i == problem->n || problem->begins_bucket[i])
			ends[n++] = i;
	return n;
}

static const struct {
	const gchar *name;
	void (*run)(struct bucket_search *search);
	gboolean is_usual;
} ways[N_SEARCH_WAYS] = {
#define SEARCH_WAY(enumerator, name, search, is_usual) { name, search, is_usual },
#include "optimize/search_ways.def"
#undef SEARCH_WAY
};

const gchar *bucket_search_way_name(enum search_way way)
{
	return ways[way].name;
}

static gboolean is_asked_for(const struct bucket_search *search, guint way)
{
	return search->ways ? (search->ways >> way & 1) != 0 : ways[way].is_usual;
}

/* What goes on as long as it gains has this share of what is left, so that those behind it have some, too. */
static void run_within(struct bucket_search *search, guint way, guint of)
{
	guint64 max_tries = search->max_tries;
	gint64 end_us = search->end_us;

	if (max_tries > search->tries)
		search->max_tries -= (max_tries - search->tries) / of;
	if (end_us > 0)
		search->end_us -= MAX(end_us - g_get_monotonic_time(), 0) / of;
	ways[way].run(search);
	search->max_tries = max_tries;
	search->end_us = end_us;
}

void bucket_search_run(struct bucket_search *search)
{
	if (search->problem->recorded_ends)
		bucket_search_try(search, "recorded", search->problem->recorded_ends,
				  search->problem->n_recorded);
	if (search->problem->n <= SEARCH_MAX_EXHAUSTIVE && !search->ways) {
		search_exhaustive(search);
		return;
	}
	for (guint way = 0; way < N_SEARCH_WAYS; way++)
		if (is_asked_for(search, way))
			run_within(search, way, way == SEARCH_MCMC || way == SEARCH_MCTS ? 3 : 10);
	if (!search->ways || is_asked_for(search, SEARCH_GREEDY))
		search_greedy(search);
}
