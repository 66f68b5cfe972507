/* core_waits: how much longer collectives wait while ranks compute.
 *
 * Who moves a collective's bytes (gloo's thread) needs a core for each segment: to take what has come, to say that it is ready, to send
 * the next one. Where its rank computes on the same core, it waits until the scheduler gives it that; where the rank waits, it has the
 * core at once. So each segment of an all-reduce waits
 *
 *     h        while no rank of its group computes
 *     h + e    while one does: a ring is as slow as the slowest of its ranks
 *
 * A recorded transfer of s segments, of whose work the share y was done beside computing, waited w = s (h + e y). So e is the slope of
 * w / s over y, by least squares: of sums, and not of medians, for a scheduler lets most segments wait for nothing and some for
 * milliseconds, and a step has many. Transfers that waited far longer than others of their kind (mostly beside computing, or mostly not) were
 * held up by something else. What y is depends on e in turn, so it is found in rounds (transfer_parts.c).
 *
 * (1) Where there are not enough of both kinds, or no messages tell what is bytes and what is waits, e is 0.
 * (2) A recorded transfer has the waits that it had: what is not s e y of them depends on nothing that was beside it. One that waited
 *     for less than s e y has as much less of e (core_wait_off). So what was recorded is played as it was. */
#ifndef TACHO_CORE_WAITS_H
#define TACHO_CORE_WAITS_H

#include "graph/traffic.h"

/* Set core_wait_ns of the groups from `first_group` on, by their transfers from `first` on and what these got done with the parts that
 * they have. Returns whether any has changed much. */
gboolean core_waits_find(TachoGraph *graph, const struct moved *moved, guint32 first,
			 guint32 first_group);

#endif
