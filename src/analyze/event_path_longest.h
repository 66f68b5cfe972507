/* event_path_longest: the path of most weight through the edges of an event path. */
#ifndef TACHO_EVENT_PATH_LONGEST_H
#define TACHO_EVENT_PATH_LONGEST_H

#include <tacho/event_path.h>

/* Find path->path from path->edges. FALSE, with the error set: there is no edge (TACHO_GRAPH_ERROR_NO_STEPS), or events
 * wait for themselves (TACHO_GRAPH_ERROR_CYCLE). */
gboolean event_path_find_longest(TachoEventPath *path, GError **error);

#endif
