/* resource_name: what threads, streams and links of a graph are called, for people. */
#ifndef TACHO_RESOURCE_NAME_H
#define TACHO_RESOURCE_NAME_H

#include "graph/graph_internal.h"

/* "rank 0 thread 1000 main", "rank 0 stream 7 of device 0", "rank 0 communication"; the caller's. The lane is of a rank
 * of this job. */
gchar *resource_name_of_lane(const TachoGraph *graph, const struct graph_lane *lane);

/* "link a out"; of hosts of copies that are played, too, also who is there. The caller's. */
gchar *resource_name_of_link(const TachoGraph *graph, const struct graph_link *link);

/* What the transfers of the group go over: "link a out, link b in", "links between a and b", or where these are more,
 * "links of group 3, of 8 ranks". The caller's. */
gchar *resource_name_of_group(const TachoGraph *graph, guint32 group);

#endif
