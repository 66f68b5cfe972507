/* layers: which work of a recording is of which operation of a model: in the forward pass, in the backward pass, and the casts at its
 * borders.
 *
 * (1) A step's outermost operations of the forward pass are aligned with the identity's (align.h), by module and kind, never by which
 *     of its name one is. What is left over between two is glue (a cast, a copy that this format needs): it belongs to the operation of
 *     its module, or else to the next.
 * (2) The backward pass of an operation is what autograd's nodes that it made do (correlate/forward_backward.c).
 * (3) The host's time between two pieces of a pass belongs to the second: frameworks prepare calls before they make them.
 * (4) A cast of what the operation reads, or in the backward pass of the gradient of that, is at its border, and told apart, since
 *     whether it is there depends on its neighbours. Casts of weights and of their gradients are the operation's own. */
#ifndef TACHO_PRECISION_LAYERS_H
#define TACHO_PRECISION_LAYERS_H

#include "graph/graph_internal.h"
#include "precision/identity.h"
#include "precision/registry.h"

enum layer_pass { LAYER_FORWARD, LAYER_BACKWARD, N_LAYER_PASSES };

/* A cast at a border, as recorded. */
struct layer_cast {
	guint32 operation;
	enum layer_pass pass;
	enum number_format from, to;
	gdouble elements;
	gint64 duration_ns; /* host */
};

struct layers {
	const TachoGraph *graph;
	guint32 n_operations;
	/* Of each node of the graph: operation, or TACHO_NONE; enum layer_pass; whether it is a cast at a border. */
	guint32 *operation_of;
	guint8 *pass_of, *is_cast;
	GArray *casts; /* struct layer_cast, all steps */
	/* Of the identity's operations the share that was found, and of the time of the steps' main threads and devices that which is of
	 * some operation; 0 to 1, over all ranks and steps. */
	gdouble found_share, time_share;
	guint32 *n_found;     /* [operation]: in so many (rank, step) */
	guint32 n_cells;      /* (rank, step) */
	gchar *first_missing; /* operation that was not found; or NULL */
};

/* The operations that a recording shows: of the first step of its first rank, each outermost operation of the forward pass, with the
 * dataflow by the memory of its tensors. Products are chosen, all else is promoted. Never NULL; without operations there is none. The registry, here
 * and below, may be NULL (recorded_pass.h). */
struct identity *layers_identity(const TachoGraph *graph, const KernelRegistry *registry);

/* Find all of it. `layers` is to be released; the graph must keep its nodes. */
void layers_init(struct layers *layers, const TachoGraph *graph, const struct identity *identity,
		 const KernelRegistry *registry);
void layers_release(struct layers *layers);

/* Step of a node on a rank: rank * steps + step, as the graph numbers both; TACHO_NONE: none, or of a guest. */
guint32 layers_cell(const TachoGraph *graph, const struct graph_node *node);

#endif
