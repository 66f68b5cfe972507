/* bucket_trial: partitions of gradients, judged one after the other on one graph that is changed in place.
 *
 * bucket_judge_fusion_ms() copies the graph, packs its buckets, and freezes it, for each partition. Here that is done once, with a bucket for
 * each gradient; a partition then turns off those that it does not have, and moves what waits for them. The times are to the bit those of the
 * graph that would be built. */
#ifndef TACHO_BUCKET_TRIAL_H
#define TACHO_BUCKET_TRIAL_H

#include "optimize/bucket_problem.h"

struct bucket_trial;

/* Of the problem that was read off the graph. NULL: its passes differ too much for that, and each partition must be built. The graph must
 * outlive it. */
struct bucket_trial *bucket_trial_new(const TachoGraph *graph,
				      const struct bucket_problem *problem);
void bucket_trial_free(struct bucket_trial *trial);

/* The median step with this partition (bucket_problem.h), ms, as bucket_judge_fusion_ms() says. NAN: the error is set. */
gdouble bucket_trial_step_ms(struct bucket_trial *trial, const guint32 *ends, guint32 n_buckets,
			     GError **error);

#endif
