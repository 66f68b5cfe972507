/* slice_promises: what timeline.h promises of the slices, tracks and rows of every timeline, whatever was read, for fuzz targets and tests. */
#ifndef TACHO_SLICE_PROMISES_H
#define TACHO_SLICE_PROMISES_H

#include <tacho/timeline.h>

/* End the program if one of them is broken. */
void slice_promises_check(const TachoTimeline *timeline);

#endif
