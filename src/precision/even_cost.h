/* even_cost: what recording took, taken out of operations evenly.
 *
 * predict/recording_cost.c takes it out of pieces of threads one after the other, and what a short piece cannot hold out of the next: of a
 * thread as a whole that is right, but an operation behind many short pieces would lose all its time. Here each operation, in each pass, and
 * what is of none, loses in proportion to how many pieces it has, over all steps; all its pieces then keep the same share. */
#ifndef TACHO_EVEN_COST_H
#define TACHO_EVEN_COST_H

#include "precision/layers.h"

/* Durations of a graph's nodes as they are; to be freed with g_free(). */
gint64 *even_cost_durations(const TachoGraph *graph);

/* Durations were `recorded` before recording was taken out of the graph: set them anew, with as much taken out in all. The graph is frozen
 * again. TACHO_GRAPH_ERROR_CYCLE: it cannot be. */
gboolean even_cost_spread(TachoGraph *graph, const struct layers *layers, const gint64 *recorded,
			  GError **error);

#endif
