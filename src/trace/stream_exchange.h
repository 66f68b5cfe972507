/* stream_exchange: what the owner of a stream (run_share.h) tells the others of it, once it has read it.
 *
 * (1) What a process is, and how it ended, follows from all its streams' moments and figures: these all have whole.
 * (2) Of slices all have those that ranks do with each other, what queued them, what flows name, and what had not ended.
 * (3) Samples, memory events, and what devices did stay with their owner. */
#ifndef TACHO_STREAM_EXCHANGE_H
#define TACHO_STREAM_EXCHANGE_H

#include <tacho/timeline.h>

/* Send the streams of the processes (struct process_input) that are this process's, and take in those of the others. Those
 * of others then have all but the rows of their slices, which wait in `lent` and `lent_queued`. */
gboolean stream_exchange(const TachoTimeline *timeline, TachoPeers *peers, GArray *processes,
			 GError **error);

#endif
