/* replay_internal: what the files of this stage share. */
#ifndef TACHO_REPLAY_INTERNAL_H
#define TACHO_REPLAY_INTERNAL_H

#include <tacho/replay.h>

#include "graph/graph_internal.h"

struct _TachoReplay {
	const TachoGraph *graph;
	guint32 n_nodes;
	gint64 *begin_ns, *end_ns;
	guint32 *cause; /* whose end let the node begin, or TACHO_NONE */
};

/* A replay's tables for the graph as it is frozen, not played yet. */
TachoReplay *replay_new(const TachoGraph *graph);
/* Where nothing is shared: a node's times, from those of its predecessors. */
void replay_play_node(TachoReplay *replay, guint32 node);

/* Play a graph whose resources are shared. */
gboolean replay_shared(TachoReplay *replay, GError **error);

/* Where the steps of each rank begin and end, for as long as the graph keeps its nodes. A cell is a rank's step:
 * rank * n_steps + step. */
struct step_marks {
	guint32 n_steps, n_ranks;
	/* of each cell: nodes, TACHO_NONE where there is none */
	guint32 *before, *first, *last;
	guint32 *weights; /* [rank]: how many it stands for */
	/* What devices do last of what a step launched: of cell i, from device_first[i] up to
	 * device_first[i + 1]. NULL: there are no devices. */
	guint32 *device_first, *device_nodes;
	/* The lag of each cell of the first n_lag_ranks ranks, of which the others are copies; or NULL. */
	const gint64 *lag_ns;
	guint32 n_lag_ranks;
};

/* A step of a rank in a replay. */
struct step_span {
	gint64 begin_ns, end_ns;
	guint32 node;	    /* whose end it is; TACHO_NONE: the rank does nothing in it */
	gboolean is_device; /* the node is of a device ... */
	gint64 lag_ns;	    /* ... and ends so much later than the step */
};

/* `graph` must not change while the marks are used. */
void step_marks_init(struct step_marks *marks, const TachoGraph *graph);
/* The same of another job, whose steps count from 0. */
void step_marks_init_guest(struct step_marks *marks, const TachoGraph *graph,
			   const struct graph_guest *guest);
void step_marks_release(struct step_marks *marks);
/* Where a rank's step is in the tables; `step` is its place among the graph's. */
gsize step_marks_cell(const struct step_marks *marks, guint32 rank, guint32 step);
/* The steps of a rank where nodes end so: n_steps of them. */
void step_marks_spans(const struct step_marks *marks, const gint64 *end_ns, guint32 rank,
		      struct step_span *ret_spans);
/* The mean over ranks of what each step took where nodes end so, n_steps of them; a rank counts as often as it is
 * played for others. */
void step_marks_mean_ns(const struct step_marks *marks, const gint64 *end_ns, gint64 *ret_mean_ns);
/* How far devices were behind in each cell, appended to `lags` (gint64); nothing where there are none. */
void step_marks_append_lags(const struct step_marks *marks, const gint64 *end_ns, GArray *lags);

/* The steps of a replay: the mean over ranks of how long each took (gint64, ns), one a step. */
GArray *replay_step_times(const TachoReplay *replay);
/* For each step of a replay the span of the rank that ends it last: as many as there are steps, the caller's. */
struct step_span *replay_last_spans(const TachoReplay *replay);
/* Those of them that are over only when a device is. */
guint32 replay_n_device_bound_steps(const TachoReplay *replay);
/* From the replay of what was recorded, how far devices are behind their hosts when steps are over: from then on
 * a step of the graph is not over before they are that near. */
void replay_measure_lags(TachoGraph *graph, const TachoReplay *replay);

/* The median of the steps' times. */
gdouble replay_median_step_ns(const TachoReplay *replay);

/* The share of the time with kernels on a device in which several run; over all devices of this job. */
gdouble replay_kernel_overlap(const TachoReplay *replay);

#endif
