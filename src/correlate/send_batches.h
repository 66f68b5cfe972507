/* send_batches: who the other was of kernels that carry out several sends and receives, where the trace does not tell. */
#ifndef TACHO_SEND_BATCHES_H
#define TACHO_SEND_BATCHES_H

#include <glib.h>

struct send_batch {
	guint32 rank_index, slice;
	gint64 begin_ns, end_ns;
	guint64 bytes;	       /* 0: not known */
	guint32 clock;	       /* number of its clock, ... */
	guint32 reference;     /* ... of the one that it was aligned to ... */
	gint64 uncertainty_ns; /* ... to so much */
	guint32 peer;	       /* index of a rank; TACHO_NONE: not decided */
};

/* Set the peers of the batches of one process group, struct send_batch, which are then in the order of their ranks and
 * begins. Where one has a peer, the peer has a batch for it: the n-th of each with the other belong together. */
void send_batches_find_peers(GArray *batches);

#endif
