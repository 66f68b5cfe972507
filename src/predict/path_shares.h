/* path_shares: what the critical path of each step of a replay has of each resource, and where that comes from.
 *
 * Resources are threads, streams and links, and of each rank its waits, launches and gaps; where time comes from is the
 * enum node_origin of what takes it.
 * (1) The resources add up to the step of the rank that ends it last, and the origins of each to the resource, to the
 *     nanosecond.
 * (2) What a node takes longer than its own duration is what it loses to others: bytes on the same link, threads on
 *     the same cores. That is modelled; on devices' links, which no recording shows, guessed. Where a transfer takes less,
 *     because its waits hide behind others' bytes, its parts shrink in proportion. */
#ifndef TACHO_PATH_SHARES_H
#define TACHO_PATH_SHARES_H

#include "replay/replay_internal.h"

enum resource_kind {
	RESOURCE_HOST,
	RESOURCE_DEVICE,
	RESOURCE_LINK,
	RESOURCE_WAIT,
	RESOURCE_LAUNCH,
	RESOURCE_GAP,
	N_RESOURCE_KINDS
};

struct resource {
	enum resource_kind kind;
	gint32 rank; /* -1: of none */
	gchar *name; /* no two have the same */
};

/* What a step has of a resource. */
struct path_share {
	guint32 resource;
	gint64 ns[N_ORIGINS];
};

struct path_shares {
	GArray *resources; /* struct resource */
	GArray *shares;	   /* struct path_share, by step */
	GArray *first;	   /* guint32: of step i, first[i] up to first[i + 1] */
	GArray *ranks;	   /* gint32: which ends each step last; -1: none does */
};

/* Follow all steps of the replay, which is not needed later. The caller's, to end with path_shares_free(). */
struct path_shares *path_shares_new(const TachoReplay *replay);
void path_shares_free(struct path_shares *paths);

#endif
