/* costs: what each operation takes in each format, in its forward and its backward pass, on the host and on devices: from recordings of
 * one job in one format each.
 *
 * (1) An operation's time in a pass is the sum of its nodes' durations in a step, without casts at its borders (layers.h): the median over
 *     steps and ranks, with a spread.
 * (2) Recordings are made one after the other, and machines are not equally fast at all times. Operations that are fixed, and the work
 *     of steps that is of none, are the same in all of them: by how much these take longer, the median weighed by their time, all times of
 *     a recording are made shorter.
 * (3) What was not found in a recording, or in a format of which there is none, is estimated: what it takes in the reference's format times
 *     the ratio of operations of its kind that were measured in both, the nearest in size; then of all. It is flagged, and never 0
 *     where the reference's is not.
 * (4) Ranks may have unequal work, of which what an operation takes has a part that goes with it and one that does not. So what each rank
 *     takes, by what all take, is known for each recording, too. */
#ifndef TACHO_PRECISION_COSTS_H
#define TACHO_PRECISION_COSTS_H

#include "precision/layers.h"

enum layer_place { LAYER_HOST, LAYER_DEVICE, N_LAYER_PLACES };

struct layer_cost {
	gdouble ns[N_LAYER_PASSES][N_LAYER_PLACES];
	gdouble spread_ns; /* half the width of an interval that holds the median of both passes nine times in ten */
	gboolean is_known, is_estimated;
};

struct run_costs {
	guint32 n_operations;
	struct layer_cost *operations; /* [operation] */
	/* A step's work that is of no operation, and the host's time beside it: medians. */
	gdouble rest_ns, between_ns;
	guint32 n_ranks;
	gdouble *
		rank_shares; /* (4): rank_share_at(); NULL: of one rank, or of too many for the samples */
	gdouble speed; /* (2): by so much this recording was slower than the reference; 1: not known */
	gboolean is_speed_known;
};

/* As recorded; the graph is as it is to count, without what recording took, say. */
void run_costs_init(struct run_costs *costs, const struct layers *layers);
void run_costs_release(struct run_costs *costs);

/* (4): how many times as long a rank takes in this format by what it takes in the reference's, as all ranks together. 1: not known. */
gdouble run_costs_rank_factor(const struct run_costs *costs, const struct run_costs *reference,
			      guint32 rank, guint32 operation, enum layer_pass pass,
			      enum layer_place place);

/* (2): make them comparable with the reference's. */
void run_costs_adjust(struct run_costs *costs, const struct run_costs *reference,
		      const struct identity *identity);
/* (3): fill in what is not known, from the reference. */
void run_costs_estimate(struct run_costs *costs, const struct run_costs *reference,
			const struct identity *identity);

/* All passes and places. */
gdouble layer_cost_ns(const struct layer_cost *cost);
gdouble layer_cost_pass_ns(const struct layer_cost *cost, enum layer_pass pass);

#endif
