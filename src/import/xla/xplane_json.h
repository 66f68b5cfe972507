/* xplane_json: stats as members of a JSON object. */
#ifndef TACHO_XPLANE_JSON_H
#define TACHO_XPLANE_JSON_H

#include "base/json_writer.h"
#include "import/xla/xplane_space.h"

/* A member for each of `n` stats: named as the plane names it, else "stat 12". Bytes become
 * {"bytes": how many}. */
void xplane_json_stats(JsonWriter *writer, const struct xplane_plane *plane,
		       Tacho__Xplane__XStat *const *values, gsize n, const TachoTimeline *timeline);

#endif
