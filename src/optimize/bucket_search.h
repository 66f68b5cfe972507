/* bucket_search: partitions of gradients into buckets, tried one after the other on bucket_schedule_ns(), and the best of them.
 *
 * (1) The search goes on until its time or its tries are spent; whenever it is asked, it has the best so far.
 * (2) With a number of tries and no time, it gives the same in every run and on every machine: draws come from the seed
 *     alone, and chains that run on several cores are joined in their order.
 * (3) Ways to search are in files of their own, search_*.c. */
#ifndef TACHO_BUCKET_SEARCH_H
#define TACHO_BUCKET_SEARCH_H

#include "optimize/bucket_problem.h"

#define SEARCH_KEPT 16 /* partitions, the best */

struct bucket_candidate {
	guint32 *ends;
	guint32 n_buckets;
	gdouble step_ns;
	const gchar *strategy; /* static: which way of searching found it first */
};

enum search_way {
#define SEARCH_WAY(enumerator, name, search, is_usual) SEARCH_##enumerator,
#include "optimize/search_ways.def"
#undef SEARCH_WAY
	N_SEARCH_WAYS
};

#define SEARCH_TEMPERATURE 0.02
#define SEARCH_UCB_GAMMA   0.1

/* The best so far became better. */
struct search_point {
	const gchar *strategy; /* static */
	guint64 tries;
	gint64 time_us; /* since the search began */
	gdouble step_ns;
};

struct bucket_search {
	const struct bucket_problem *problem;
	guint64 seed, tries;
	guint64 max_tries;	 /* 0: any number */
	gint64 begin_us, end_us; /* of the monotonic clock; end_us 0: any time */
	struct bucket_candidate
		kept[SEARCH_KEPT]; /* the best first; of two as good, that with fewer buckets */
	guint n_kept;
	GArray *points;	  /* struct search_point */
	gdouble *over_ns; /* for bucket_schedule_ns() */
	guint ways;	  /* 1 << enum search_way; 0: those that are gone where none is named */
	gdouble temperature; /* of mcmc: moves that lose this share of the step are made one time in three at first */
	gdouble ucb_gamma;   /* of mcts: how much what was seldom tried is preferred */
	gboolean ucb_is_max; /* of mcts: a node is worth its largest reward, not the mean */
	/* How long the step takes with a partition, ns; NULL: bucket_schedule_ns(). */
	gdouble (*judge)(const guint32 *ends, guint32 n_buckets, gpointer data);
	gpointer judge_data;
	void (*progress)(const struct bucket_search *search, gpointer data); /* or NULL */
	gpointer progress_data;
};

/* `budget_us` 0: no limit of time; `max_tries` 0: none of tries. */
void bucket_search_init(struct bucket_search *search, const struct bucket_problem *problem,
			guint64 seed, gint64 budget_us, guint64 max_tries);
void bucket_search_release(struct bucket_search *search);

/* How long the step takes with this partition, which counts as one try and is kept if it is one of the best. */
gdouble bucket_search_try(struct bucket_search *search, const gchar *strategy, const guint32 *ends,
			  guint32 n_buckets);
/* The time or the tries are spent. */
gboolean bucket_search_is_over(const struct bucket_search *search);
/* Take over what a search of the same problem kept, and its tries. */
void bucket_search_join(struct bucket_search *search, const struct bucket_search *other);

/* Put ends where the data type changes, of which a partition must have all; returns how many there are then. `ends` has room for
 * problem->n. */
guint32 bucket_search_allow(const struct bucket_problem *problem, guint32 *ends, guint32 n_buckets);

/* The ways to search. */

/* All partitions; only of up to SEARCH_MAX_EXHAUSTIVE gradients, else nothing. */
#define SEARCH_MAX_EXHAUSTIVE 16
void search_exhaustive(struct bucket_search *search);
/* What the packing rules of frameworks give, and as many buckets of about one size as there may be. */
void search_rules(struct bucket_search *search);
/* Dynamic programming: for each number of buckets, and for any, the partition whose last bucket is there first, were there one worker,
 * nothing to copy back and computing not slower while bytes move. Where that is so, the best there is. */
void search_dynamic(struct bucket_search *search);
/* From the best so far on: join, split and shift buckets on the critical path of the schedule, as long as that gains. */
void search_greedy(struct bucket_search *search);
/* Chains of Metropolis and Hastings, from the best so far on, on all cores. */
void search_mcmc(struct bucket_search *search);
/* Partitions that repeat themselves as the model does. */
void search_blocks(struct bucket_search *search);
/* Trees of begins of partitions, by the upper confidence bound, on all cores. */
void search_mcts(struct bucket_search *search);
/* Partitions drawn at random: what the others are held against. */
void search_random(struct bucket_search *search);

/* The ways that are asked for, and the greedy walk once more behind them; where none is named, of few gradients all partitions and nothing else. */
void bucket_search_run(struct bucket_search *search);
/* The way's name. */
const gchar *bucket_search_way_name(enum search_way way);

#endif
