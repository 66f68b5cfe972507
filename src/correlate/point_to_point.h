/* point_to_point: which receive took which send. */
#ifndef TACHO_POINT_TO_POINT_H
#define TACHO_POINT_TO_POINT_H

#include <tacho/timeline.h>

/* Which way a COLLECTIVE slice goes, by what its trace says or its name; TACHO_WAY_BY_NAME: it is no send and no
 * receive. */
TachoWay point_to_point_way(const TachoTimeline *timeline, guint32 slice);

#endif
