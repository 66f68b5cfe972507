/* every_view: all views of a timeline, for tests that want to see none of them crash. */
#ifndef TACHO_EVERY_VIEW_H
#define TACHO_EVERY_VIEW_H

#include <tacho/analyze.h>

void every_view_use(const TachoTimeline *timeline, const TachoFilter *filter);

#endif
