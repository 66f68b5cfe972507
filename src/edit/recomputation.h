/* recomputation: parts of the forward pass that are computed again, for recomputation.c, which finds them, and
 * device_recomputation.c, which puts them in where devices were recorded. */
#ifndef TACHO_RECOMPUTATION_H
#define TACHO_RECOMPUTATION_H

#include "edit/change_internal.h"

/* What is computed again before one backward pass. */
struct again {
	struct insertion insertion; /* of the time of its host's work */
	gint64 begin_ns;	    /* of that backward pass, in the recording */
	GArray *nodes; /* guint32: of the part, on threads and streams, in order; not the way between them */
};

/* Let devices do it again: each of `agains`, which holds struct again by when they begin. Nodes get other numbers. */
void recompute_on_devices(TachoGraph *graph, const GArray *agains);

#endif
