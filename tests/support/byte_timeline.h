/* byte_timeline: a timeline of whatever bytes, for fuzz targets that want any timeline.
 *
 * The bytes are commands, each a byte and what it takes: a process, a track, a slice, or a whole rank with steps as a
 * training job has them. Names are of a list of what tacho knows the meaning of, and of what exporters have to escape;
 * times are near each other or, by a command of its own, any 64 bits. So a few bytes at random are already a timeline,
 * and a fuzzer finds the commands by itself. */
#ifndef TACHO_BYTE_TIMELINE_H
#define TACHO_BYTE_TIMELINE_H

#include <tacho/timeline.h>

/* As an importer would have made it, and correlated. The caller's. */
TachoTimeline *byte_timeline_new(const guint8 *bytes, gsize n);

#endif
