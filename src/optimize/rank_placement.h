/* rank_placement: which rank is to run on which host, so that fewer bytes go from host to host.
 *
 * A group of ranks that is on h hosts sends what goes round its ring once through each of them: h times, or not at all where it is on one. All
 * hosts keep as many ranks as they have. */
#ifndef TACHO_RANK_PLACEMENT_H
#define TACHO_RANK_PLACEMENT_H

#include <glib.h>

struct placed_group {
	GArray *ranks; /* guint32, ascending */
	gdouble bytes; /* round its ring, in all */
};

/* How many bytes go from host to host: `host_of` has a host for each rank. */
gdouble rank_placement_bytes(const GArray *groups, const guint32 *host_of);
/* Exchange ranks of different hosts as long as fewer bytes go; `groups` holds struct placed_group. Returns how many do then. */
gdouble rank_placement_improve(const GArray *groups, guint32 n_ranks, guint32 *host_of);

#endif
