/* server_hops: which push or pull of a worker is which of a parameter server, where both recorded it.
 *
 * (1) A server calls the workers by numbers, which are those of the workers' ranks in their order; where it saw
 *     more or fewer workers than there are, nobody knows which.
 * (2) A worker's are those of the server that have its number and the same key, as many-th by as many-th; where they
 *     are not equally many of a key, none is known. */
#ifndef TACHO_SERVER_HOPS_H
#define TACHO_SERVER_HOPS_H

#include <tacho/timeline.h>

/* The slices of one push or pull, at its worker and at its server. */
typedef void (*ServerHopVisit)(guint32 worker, guint32 server, gpointer data);

/* `step` 0: pushes, 1: pulls. Compares no times of different processes. */
void server_hops_visit(const TachoTimeline *timeline, guint32 step, ServerHopVisit visit,
		       gpointer data);

#endif
