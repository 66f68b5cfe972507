/* graph_replay: what the launch of a graph (CUDA's or HIP's) does again of what was captured. */
#ifndef TACHO_GRAPH_REPLAY_H
#define TACHO_GRAPH_REPLAY_H

#include <tacho/timeline.h>

#include "analyze/selection.h"

/* One operation's share of one launch; or, where the capture was not recorded, one node's. */
struct graph_replay {
	guint32 op;	 /* slice that captured it; TACHO_NONE: not recorded, or there was no op */
	guint32 capture; /* slice in which it was captured; TACHO_NONE: not recorded */
	guint32 work;	 /* slice: the first of what the device did */
	guint32 launch;	 /* TACHO_NONE: not recorded */
	guint n_work;
	guint step; /* index among the chosen */
	gdouble device_ns;
};

/* Call `visit` for every replay that was launched in the chosen steps. */
typedef void (*ReplayVisit)(const struct graph_replay *replay, gpointer data);
void visit_replays(const struct selection *selection, ReplayVisit visit, gpointer data);

/* The name id that a replay has in tables of operations: of its op, or of its work. */
guint32 graph_replay_name(const TachoTimeline *timeline, const struct graph_replay *replay);

/* Its floating-point operations; -1: not known. */
gdouble graph_replay_flops(const TachoTimeline *timeline, const struct graph_replay *replay);

/* How many pieces of work graphs launched, and of how many of them the capture was not recorded. */
guint64 count_graph_work(const TachoTimeline *timeline, guint64 *ret_uncaptured);

#endif
