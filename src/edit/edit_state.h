/* edit_state: what changes remember of those before them. It is a companion of the graph: it is copied, split and
 * freed with it, and the graph knows nothing of it. */
#ifndef TACHO_EDIT_STATE_H
#define TACHO_EDIT_STATE_H

#include "graph/graph_internal.h"

/* The numbers that an operation of the ranks of a set is done with. Rates are of enum device_rate. */
struct changed_precision {
	guint32 set, slice;
	guint8 rate;
	guint8 stored;	/* what its weights are kept in; DEVICE_N_RATES: as recorded */
	gdouble factor; /* of its kernels' times, as recorded */
	gdouble cast_ns; /* what the CAST before them took, when it was put there; 0: there is none */
};

struct edit_state {
	struct graph_companion companion;
	gboolean has_precision;	 /* operations have had numbers of another width */
	gboolean has_recomputed; /* devices do something again, which has no slices */
	gboolean has_passes;	 /* steps have several passes, of which only the last has slices */
	gboolean has_no_waits;	 /* each rank has its collectives to itself */
	guint8 gradient_rate; /* enum device_rate: what all-reduces carry in the place of 32 bits */
	guint32 guest_rounds; /* times as many rounds of other jobs' recordings as seem enough */
	GArray *precisions;   /* struct changed_precision, of the operations that have one */
	GArray *devices; /* const gchar *, static, of the first ranks played: what their kernels were
			  * put on; NULL, or none: as recorded */
};

/* The graph's. */
struct edit_state *edit_state_of(TachoGraph *graph);
/* The same to read; where there is none, one that remembers nothing. */
const struct edit_state *edit_state_read(const TachoGraph *graph);

#endif
