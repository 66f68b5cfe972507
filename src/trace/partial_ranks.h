/* partial_ranks: ranks of which steps, regions and collectives alone were recorded (tacho record --ranks). Their collectives and
 * steps are as those of the others; what they did between is not known. */
#ifndef TACHO_PARTIAL_RANKS_H
#define TACHO_PARTIAL_RANKS_H

#include <tacho/timeline.h>

gboolean rank_is_partial(const TachoTimeline *timeline, guint32 rank_index);

/* A sentence about them, for views and predictions to give: "Of rank 1-3 only ...". The caller's; NULL: there are none. */
gchar *partial_ranks_sentence(const TachoTimeline *timeline);

#endif
