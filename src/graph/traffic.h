/* traffic: which transfers were under way beside which, and beside which ranks' computing, while time passes over a recording. */
#ifndef TACHO_TRAFFIC_H
#define TACHO_TRAFFIC_H

#include "graph/graph_builder.h"

/* What a transfer would have got done in its time, ns of its work alone, at the pace that its parts give it. */
struct moved {
	gdouble work_ns;
	gdouble beside_ns; /* of that: while a rank of its group computed; 0 where no messages tell how fast wires are */
};

struct traffic;

/* When transfers were under way, and when ranks computed, by the nodes that there are. The graph's transfers may change their parts
 * as long as it is used, but not their times. */
struct traffic *traffic_new(const struct graph_builder *builder);
void traffic_free(struct traffic *traffic);

/* Collectives of the group tell by messages what its wire is like, so that what else they wait for can be told from it. */
gboolean traffic_tells(const struct graph_group *group);

/* Of each transfer of the graph. */
void traffic_find_moved(const struct traffic *traffic, struct moved *moved);

#endif
