#include "trace/rank_table.h"

#include "base/for_each.h"
#include "trace/partial_ranks.h"

#define MAX_NAMED_RANKS 8

static TachoProcess *process_at(TachoTimeline *timeline, guint process)
{
	return &g_array_index(timeline->processes, TachoProcess, process);
}

/* The lowest rank that a launcher gave in this run, or -1. */
static gint32 lowest_rank(TachoTimeline *timeline, const struct rank_candidate *candidates,
			  guint run)
{
	gint32 lowest = -1;

	for (guint i = 0; i < timeline->processes->len; i++) {
		gint32 rank = process_at(timeline, i)->rank;

		if (candidates[i].run == run && rank >= 0 && (lowest < 0 || rank < lowest))
			lowest = rank;
	}
	return lowest;
}

static gint32 free_rank(GHashTable *taken)
{
	gint32 rank = 0;

	while (g_hash_table_contains(taken, GINT_TO_POINTER(rank)))
		rank++;
	return rank;
}

/* The rank of each process: (2), (3). */
static gint32 *assign_ranks(TachoTimeline *timeline, const struct rank_candidate *candidates)
{
	guint n = timeline->processes->len;
	gint32 *ranks = g_new(gint32, n);
	g_autoptr(GHashTable) taken = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) by_run = g_hash_table_new(NULL, NULL); /* run -> rank */

	for (guint i = 0; i < n; i++) {
		ranks[i] = process_at(timeline, i)->rank;
		if (ranks[i] >= 0)
			g_hash_table_add(taken, GINT_TO_POINTER(ranks[i]));
	}
	for (guint i = 0; i < n; i++) {
		gpointer run = GUINT_TO_POINTER(candidates[i].run), known;
		gint32 rank;

		if (ranks[i] >= 0)
			continue;
		if (g_hash_table_lookup_extended(by_run, run, NULL, &known)) {
			ranks[i] = GPOINTER_TO_INT(known);
			continue;
		}
		rank = lowest_rank(timeline, candidates, candidates[i].run);
		if (rank < 0)
			rank = free_rank(taken);
		g_hash_table_add(taken, GINT_TO_POINTER(rank));
		g_hash_table_insert(by_run, run, GINT_TO_POINTER(rank));
		ranks[i] = rank;
	}
	return ranks;
}

static gint compare_ranks(gconstpointer first, gconstpointer second)
{
	const TachoRank *a = first, *b = second;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void make_ranks(TachoTimeline *timeline, const gint32 *ranks)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) index = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < timeline->processes->len; i++) {
		TachoRank rank = { .rank = ranks[i], .main_process = TACHO_NONE };

		if (g_hash_table_add(seen, GINT_TO_POINTER(ranks[i])))
			g_array_append_val(timeline->ranks, rank);
	}
	g_array_sort(timeline->ranks, compare_ranks);
	for (guint i = 0; i < timeline->ranks->len; i++)
		g_hash_table_insert(index, GINT_TO_POINTER(tacho_timeline_rank(timeline, i)->rank),
				    GUINT_TO_POINTER(i));
	for (guint i = 0; i < timeline->processes->len; i++)
		process_at(timeline, i)->rank_index =
			GPOINTER_TO_UINT(g_hash_table_lookup(index, GINT_TO_POINTER(ranks[i])));
}

/* A process's place in its rank, for looking up parents. A launcher, which has no rank itself, is
 * nobody's parent here. */
static gchar *place_key(const TachoProcess *process, guint32 pid)
{
	return g_strdup_printf("%u %d %u %u", process->rank_index, process->rank, process->host,
			       pid);
}

/* Whether `a` is more likely the main process of its rank than `b`. */
static gboolean is_better(TachoTimeline *timeline, const struct rank_candidate *candidates,
			  const gboolean *has_parent, guint a, guint b)
{
	gboolean a_is_ranked = process_at(timeline, a)->rank >= 0;
	gboolean b_is_ranked = process_at(timeline, b)->rank >= 0;

	if (a_is_ranked != b_is_ranked)
		return a_is_ranked;
	if (!candidates[a].n_ops != !candidates[b].n_ops)
		return candidates[a].n_ops > 0;
	if (has_parent[a] != has_parent[b])
		return !has_parent[a];
	return candidates[a].n_ops > candidates[b].n_ops;
}

static void choose_main(TachoTimeline *timeline, const struct rank_candidate *candidates)
{
	guint n = timeline->processes->len;
	g_autofree gboolean *has_parent = g_new0(gboolean, n);
	g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < n; i++)
		g_hash_table_add(places,
				 place_key(process_at(timeline, i), process_at(timeline, i)->pid));
	for (guint i = 0; i < n; i++) {
		const TachoProcess *process = process_at(timeline, i);
		g_autofree gchar *key = place_key(process, process->ppid);

		/* 0: not known, though foreign traces may have a process of that number. */
		has_parent[i] = process->ppid && process->ppid != process->pid &&
				g_hash_table_contains(places, key);
	}
	for (guint i = 0; i < n; i++) {
		TachoRank *rank = &g_array_index(timeline->ranks, TachoRank,
						 process_at(timeline, i)->rank_index);

		if (rank->main_process == TACHO_NONE ||
		    is_better(timeline, candidates, has_parent, i, rank->main_process))
			rank->main_process = i;
	}
	FOR_EACH(TachoRank, rank, timeline->ranks) {
		TachoProcess *process = process_at(timeline, rank->main_process);

		process->is_main = TRUE;
		rank->host = process->host;
	}
}

/* Name the ranks in [from, to). */
static void name_ranks(GString *names, guint *n_named, gint32 from, gint32 to)
{
	if (from >= to)
		return;
	if ((*n_named)++ >= MAX_NAMED_RANKS) {
		if (*n_named == MAX_NAMED_RANKS + 1)
			g_string_append(names, ", ...");
		return;
	}
	g_string_append_printf(names, "%s%d", names->len ? ", " : "", from);
	if (to - from > 1)
		g_string_append_printf(names, "-%d", to - 1);
}

static void find_missing(TachoTimeline *timeline)
{
	g_autoptr(GString) names = g_string_new(NULL);
	gint32 expected = timeline->expected_ranks, next = 0;
	guint64 n_missing = 0;
	guint n_named = 0;

	for (guint i = 0; i < timeline->ranks->len; i++) {
		gint32 rank = MIN(tacho_timeline_rank(timeline, i)->rank, expected);

		n_missing += (guint64)MAX(rank - next, 0);
		name_ranks(names, &n_named, next, rank);
		next = MAX(next, rank + 1);
	}
	n_missing += (guint64)MAX(expected - next, 0);
	name_ranks(names, &n_named, next, expected);
	if (n_missing)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_MISSING_RANK, n_missing,
					   "rank %s of %d left no trace here", names->str,
					   expected);
}

static void find_partial(TachoTimeline *timeline)
{
	guint n = 0;
	g_autofree gchar *sentence = partial_ranks_sentence(timeline);

	for (guint i = 0; i < timeline->ranks->len; i++)
		n += rank_is_partial(timeline, i);
	if (n)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_PARTIAL_RANK, n, "%s", sentence);
}

void rank_table_fill(TachoTimeline *timeline, const struct rank_candidate *candidates,
		     gint launched_ranks)
{
	g_autofree gint32 *ranks = NULL;

	ranks = assign_ranks(timeline, candidates);
	make_ranks(timeline, ranks);
	choose_main(timeline, candidates);
	for (guint i = 0; i < timeline->processes->len; i++)
		timeline->expected_ranks =
			MAX(timeline->expected_ranks, process_at(timeline, i)->world_size);
	if (timeline->expected_ranks < 0 && launched_ranks > 0)
		timeline->expected_ranks = launched_ranks;
	if (timeline->processes->len)
		find_missing(timeline);
	find_partial(timeline);
}

static void drop_found(GArray *problems)
{
	for (guint i = problems->len; i-- > 0;) {
		TachoProblemKind kind = g_array_index(problems, TachoProblem, i).kind;

		if (kind == TACHO_PROBLEM_MISSING_RANK || kind == TACHO_PROBLEM_PARTIAL_RANK)
			g_array_remove_index(problems, i);
	}
}

void rank_table_refill(TachoTimeline *timeline, const struct rank_candidate *candidates)
{
	g_array_set_size(timeline->ranks, 0);
	FOR_EACH(TachoProcess, process, timeline->processes)
		process->is_main = FALSE;
	drop_found(timeline->problems);
	rank_table_fill(timeline, candidates, 0);
}
