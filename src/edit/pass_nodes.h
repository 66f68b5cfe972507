/* pass_nodes: which nodes of a graph are of the forward and backward pass of their step. */
#ifndef TACHO_PASS_NODES_H
#define TACHO_PASS_NODES_H

#include "edit/change.h"

struct pass_nodes {
	guint32 n_nodes, n_steps;
	guint32 *
		step_of; /* of each node: the place of the step whose pass it is of, or TACHO_NONE */
	guint32 *transfer_step_of; /* of each transfer, the same */
	/* [rank * n_steps + step]: when the first and the last piece of the rank's threads in the pass began in
	 * the recording; first > last: there is none */
	gint64 *first_ns, *last_ns;
};

/* Find the passes of this job's ranks. TACHO_GRAPH_ERROR_WHAT_IF: a rank's step has no backward pass, or none that can be told. To be
 * released in both cases. */
gboolean pass_nodes_find(struct pass_nodes *pass, const TachoGraph *graph,
			 const struct change *change, GError **error);
void pass_nodes_release(struct pass_nodes *pass);

/* A thread of a rank. */
gboolean pass_lane_is_thread(const TachoGraph *graph, guint32 lane);
/* Work of a stream, or a part in a collective. */
gboolean pass_node_is_stream_work(const TachoGraph *graph, const struct graph_node *node);

#endif
