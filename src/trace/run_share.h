/* run_share: the share of a run that this process has read, where several make one report together (tacho/peers.h).
 *
 * (1) The timeline has all processes, ranks, threads and marks of the run; what each process of tacho has of the threads of
 *     others, which it does not own, is what ranks do with each other: collectives, messages, requests, what queued them, and
 *     what had not ended.
 * (2) A rank is owned as a whole. Owners have consecutive ranks, in the order of their numbers: what comes first by process
 *     comes first by owner.
 * (3) What follows from those rows is found by every owner for itself, and is the same. What follows from others is found by
 *     the owner, and told.
 *
 * Where a timeline is read by one process alone, these functions do nothing and say that it owns everything. All exchange
 * something: every process calls them in the same order. */
#ifndef TACHO_RUN_SHARE_H
#define TACHO_RUN_SHARE_H

#include <tacho/peers.h>
#include <tacho/timeline.h>

#include "base/packed_bytes.h"

struct tacho_run_share {
	TachoPeers *peers;
	guint32 n_strings; /* of the timeline's strings, those that all have under these numbers */
	GArray *is_own;	   /* gboolean, by process of the run */
	GPtrArray *
		kept; /* by track: GArray of guint32, those of its slices that all have, by their place on it; NULL: none
			  * is kept back by the owner, or the track is another's */
};

struct tacho_run_share *run_share_new(TachoPeers *peers);
void run_share_free(struct tacho_run_share *share);

/* Whether all of the process's records were read here. */
gboolean run_share_owns(const TachoTimeline *timeline, guint32 process);
/* The same of the rank's main process. */
gboolean run_share_owns_rank(const TachoTimeline *timeline, guint32 rank_index);

/* Make each of `n` numbers the sum of all owners'. Those of one owner alone, where the others have 0, so come to all. */
void run_share_sum(const TachoTimeline *timeline, const gchar *what, guint64 *values, guint n);
/* The same of times and other whole numbers that are reals: exact below 2^53. */
void run_share_sum_reals(const TachoTimeline *timeline, const gchar *what, gdouble *values,
			 guint n);
/* Reals of one owner alone, where the others have 0, come to all, bit for bit. */
void run_share_tell_reals(const TachoTimeline *timeline, const gchar *what, gdouble *values,
			  guint n);
/* What the owners alone can tell of their processes: what recording cost, where names have costs of their own; and, once
 * what devices did is there, which may have been before and behind all that threads did, when they began and ended. */
void run_share_costs(TachoTimeline *timeline);
void run_share_lives(TachoTimeline *timeline);
/* Slices of each TachoSliceKind, of all owners. Returns how many there are in all. */
guint64 run_share_count_kinds(const TachoTimeline *timeline, guint64 *ret_counts);
/* The problems from row `first` on are of the processes that this one owns: they become those of all, by owner. */
void run_share_problems(TachoTimeline *timeline, guint first);
/* The same of flows, which are between slices that all have, and in the order of the slices that they go to. */
void run_share_flows(TachoTimeline *timeline, guint first);
/* Have all know the strings that any has; their numbers may differ. */
void run_share_strings(TachoTimeline *timeline);
/* Have `read` called with what each owner has, in the order of their ranks; alone: with `bytes`. */
void run_share_exchange(const TachoTimeline *timeline, const gchar *what, const GByteArray *bytes,
			TachoPeerReader read, gpointer data);

/* The processes that share the timeline; NULL: it is one process's. */
TachoPeers *run_share_borrow_peers(const TachoTimeline *timeline);
/* FALSE, with why the processes failed together, or, where they did not, with `reason`. */
gboolean run_share_fail(const TachoTimeline *timeline, const gchar *reason, GError **error);

/* Whether the sum of this and what the other owners have is the same in whatever order it is made: a whole number, and all
 * together below 2^53. */
gboolean run_share_adds_up(const TachoTimeline *timeline, gdouble value);

#endif
