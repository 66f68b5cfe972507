/* rank_activity: what a rank did with its time. */
#ifndef TACHO_RANK_ACTIVITY_H
#define TACHO_RANK_ACTIVITY_H

#include <tacho/timeline.h>

#include "base/interval_set.h"

/* All normalized. compute, exposed, wait and data_wait have no moment in common; transfer is all of
 * it, exposed the part that nothing computes beside. */
struct rank_activity {
	struct interval_set compute;
	struct interval_set transfer;
	struct interval_set exposed;
	struct interval_set wait;
	struct interval_set data_wait;
};

/* Each member slice's collective; the caller's. */
GHashTable *index_collectives(const TachoTimeline *timeline);

/* `collectives` is index_collectives() of the timeline, to be made once for all ranks. */
void rank_activity_init(struct rank_activity *activity, const TachoTimeline *timeline,
			guint rank_index, GHashTable *collectives);
void rank_activity_release(struct rank_activity *activity);

#endif
