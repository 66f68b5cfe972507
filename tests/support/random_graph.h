/* random_graph: graphs that chance has drawn, for tests of the replay: ranks on hosts, with threads beside each other, streams
 * with engines that copy, groups of all ranks and hops between two, workers, links and cores that are shared. */
#ifndef TACHO_RANDOM_GRAPH_H
#define TACHO_RANDOM_GRAPH_H

#include "graph/graph_internal.h"

/* The same for the same seed. Ranks and streams are added to `timeline`, which must outlive the graph. Frozen. */
TachoGraph *random_graph_new(TachoTimeline *timeline, guint32 seed);

#endif
