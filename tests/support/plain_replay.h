/* plain_replay: what docs/replay.md says of a graph whose resources are shared, done as plainly as it can be: time goes from one
 * event to the next, and at each everything is looked at anew. To hold src/replay against, which does it in another way. */
#ifndef TACHO_PLAIN_REPLAY_H
#define TACHO_PLAIN_REPLAY_H

#include "graph/graph_internal.h"

/* When each node of the frozen graph ends; to be freed with g_free(). What waits for ever ends at -1. */
gint64 *plain_replay_ends(const TachoGraph *graph);

#endif
