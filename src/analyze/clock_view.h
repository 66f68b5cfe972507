/* clock_view: the clocks of a run, for `tacho info`. */
#ifndef TACHO_CLOCK_VIEW_H
#define TACHO_CLOCK_VIEW_H

#include <tacho/table.h>
#include <tacho/timeline.h>

/* A row a clock (docs/json.md); the caller's. */
TachoTable *clock_view_new(const TachoTimeline *timeline);

#endif
