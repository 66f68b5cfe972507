/* job_graph: the graph of a made-up data-parallel job, for tests and benchmarks of the replay.
 *
 * Each rank is a thread of operations of random length. After every so many, an all-reduce of what
 * gradients came meanwhile is queued, and so many operations later it is waited for. */
#ifndef TACHO_JOB_GRAPH_H
#define TACHO_JOB_GRAPH_H

#include "graph/graph_internal.h"

struct job_shape {
	guint32 n_ranks, ranks_per_host;
	guint32 n_ops; /* of a rank, in all steps */
	guint32 n_steps;
	guint32 ops_per_collective, ops_to_wait;
	guint32 gradients_per_collective; /* 0: a collective is not a bucket */
	guint64 gradient_bytes;
	guint32 n_workers; /* of a rank */
	guint32 n_cores;
	gdouble taken_share;
	gdouble core_wait_ns; /* of a segment, while a rank computes; 0: none */
	gint64 op_ns;	      /* from half of it to one and a half times it */
	gint64 transfer_ns;   /* of which an eighth is waits */
	guint32 n_distinct;   /* ranks; the others do as these do, in turn; 0: all */
	guint32 seed;
};

/* The ranks are added to `timeline`, which must outlive the graph. Not frozen. */
TachoGraph *job_graph_new(TachoTimeline *timeline, const struct job_shape *shape);

#endif
