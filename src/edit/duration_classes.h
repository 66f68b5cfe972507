/* duration_classes: which nodes are the same thing in other steps, and so measurements of one duration.
 *
 * Those are the nodes of one lane, kind and name (of collectives also group and bytes) that come at the same
 * place among their like within a step. What is in no step is in no class. */
#ifndef TACHO_DURATION_CLASSES_H
#define TACHO_DURATION_CLASSES_H

#include "graph/graph_internal.h"

struct duration_classes {
	guint32 n_classes;
	guint32 *class_of; /* of each node; TACHO_NONE: none */
	guint32 *first;	   /* n_classes + 1, into nodes[] */
	guint32 *nodes;	   /* by class, and in order */
};

/* For as long as the graph keeps its nodes. */
void duration_classes_init(struct duration_classes *classes, const TachoGraph *graph);
void duration_classes_release(struct duration_classes *classes);

#endif
