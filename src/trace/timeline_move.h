/* timeline_move: all times of a timeline, from the clocks they were recorded with to one.
 *
 * (1) What was in order stays in order: rounding to whole nanoseconds may bring two begins of a track
 *     together that were apart; then the later is put a nanosecond on, and the ends follow.
 * (2) What lay within something lies within it after.
 * (3) A clock whose map is the identity keeps its times to the nanosecond, but for the new origin.
 *
 * Rows of later stages (flows, steps, collectives) name slices and are to be made after. */
#ifndef TACHO_TIMELINE_MOVE_H
#define TACHO_TIMELINE_MOVE_H

#include <tacho/timeline.h>

#include "trace/clock_map.h"

/* `maps`: one for each of the timeline's clocks. The origin of time moves so that the first sign of
 * life of any process comes as long after it as before (as runs are read: at once). Returns by how much
 * it moved: what is time t of a map's outcome is t - that. */
gint64 timeline_move(TachoTimeline *timeline, const struct clock_map *maps);

#endif
