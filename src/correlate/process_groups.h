/* process_groups: which process group each collective belongs to, numbered alike on all ranks. */
#ifndef TACHO_PROCESS_GROUPS_H
#define TACHO_PROCESS_GROUPS_H

#include <tacho/timeline.h>

/* One rank's collectives in a group. */
typedef struct {
	guint32 rank_index;
	GArray *slices; /* guint32, in order of their begins */
} GroupRank;

typedef struct {
	guint32 n_expected; /* ranks it has, as far as known */
	gint64 first_ns;    /* of its creation, or first use */
	GPtrArray *ranks;   /* GroupRank, by rank_index; only ranks that used it */
} ProcessGroup;

/* The groups that the ranks' main processes used, ProcessGroup by number. */
GPtrArray *process_groups_new(const TachoTimeline *timeline);

#endif
