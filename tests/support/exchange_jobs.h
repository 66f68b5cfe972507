/* exchange_jobs: jobs of exchange_text.h that tests of several stages look at. Each rank computes `compute_us`[rank] at a
 * time. To be ended with exchange_release(). */
#ifndef TACHO_EXCHANGE_JOBS_H
#define TACHO_EXCHANGE_JOBS_H

#include "exchange_text.h"

/* Each sends to the next and receives from the one before, in one batch, `n_rounds` times. */
void exchange_ring(struct exchange *job, guint n_ranks, guint n_rounds, const gint64 *compute_us);
/* A pipeline of stages that pass on what they have computed while they receive the next. */
void exchange_pipeline(struct exchange *job, guint n_ranks, guint n_micro_batches,
		       const gint64 *compute_us);
/* Two stages, one forward and one backward (1F1B): both send and receive in one batch, but for the first and last. */
void exchange_two_stages(struct exchange *job, guint n_micro_batches, const gint64 *compute_us);
/* A ring in which each exchanges with both neighbours in one batch: two sends and two receives. */
void exchange_both_ways(struct exchange *job, guint n_ranks, guint n_rounds,
			const gint64 *compute_us);

#endif
