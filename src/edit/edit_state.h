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
	gdouble factor; /* of what its kernels' work takes, as recorded */
	gdouble cast_ns; /* what the CAST before them took, when it was put there; 0: there is none */
};

/* By how much all kernels of a rank and step together may take less, or more, than predicted: no model says how their times go with
 * their work, but bounds are known. */
struct kernel_doubt {
	gdouble less_ns, more_ns;
};

struct edit_state {
	struct graph_companion companion;
	gboolean has_precision;	 /* operations have had numbers of another width */
	gboolean has_recomputed; /* devices do something again, which has no slices */
	gboolean has_passes;	 /* steps have several passes, of which only the last has slices */
	gboolean has_no_waits;	 /* each rank has its collectives to itself */
	guint8 gradient_rate; /* enum device_rate: what all-reduces carry in the place of 32 bits */
	guint32 guest_rounds; /* times as many rounds of other jobs' recordings as seem enough */
	gdouble batch_factor; /* the number of samples, as a multiple of that recorded */
	GArray *batched;      /* guint8, of each slice: it goes with that; empty: none does */
	struct kernel_doubt batch_doubt, precision_doubt;
	GArray *precisions; /* struct changed_precision, of the operations that have one */
	GArray *devices; /* const gchar *, static, of the first ranks played: what their kernels were
			  * put on; NULL, or none: as recorded */
};

/* What the kernel's work, as recorded, has been made by changes before: of its batch, 1 where it does not go with that. */
gdouble edit_state_batch_of(const struct edit_state *state, guint32 slice);

/* The graph's. */
struct edit_state *edit_state_of(TachoGraph *graph);
/* The same to read; where there is none, one that remembers nothing. */
const struct edit_state *edit_state_read(const TachoGraph *graph);

#endif
