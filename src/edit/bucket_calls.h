/* bucket_calls: what a rank's threads take to queue buckets of gradients.
 *
 * A call that queues a collective wakes a worker of the backend, which takes the core at once if there is no other. So it
 * lasts longer than what it does itself, and gradients behind it come later. Where all workers are at others, nobody wakes. Buckets that are
 * packed anew have such calls behind the gradients that complete them (docs/decisions/0064-calls-of-buckets.md):
 *
 *     call = alone * free workers / workers         as it finds them
 *     alone = sum of recorded calls / sum of their free workers / workers
 *
 * by sums, for most calls take little, and some milliseconds. */
#ifndef TACHO_BUCKET_CALLS_H
#define TACHO_BUCKET_CALLS_H

#include "graph/graph_internal.h"

struct bucket_calls {
	TachoGraph *graph;
	gint64 *alone_ns; /* [rank]: of a call that finds all workers free; 0: not known */
	guint32 *like;	  /* [rank]: the node of one; TACHO_NONE */
	GArray *added;	  /* struct added_call */
};

/* Of a graph whose buckets are as they were. To be released. */
void bucket_calls_init(struct bucket_calls *calls, TachoGraph *graph);
void bucket_calls_release(struct bucket_calls *calls);
/* A rank queues a transfer behind the node `ready`, by its node `queue`. */
void bucket_calls_add(struct bucket_calls *calls, guint32 ready, guint32 queue);
/* Make those that were added, and take away those of the first n_transfers transfers that are dropped. */
void bucket_calls_finish(struct bucket_calls *calls, const guint8 *is_dropped, guint32 n_transfers);

#endif
