/* graph_unfold: the ranks that were asked for, each by itself.
 *
 * `ranks=N` leaves the graph as it is, for copies of a rank do what it does at the same time (rank_copies.h): only
 * collectives take longer. Here each copy gets nodes of its own, so that a replay of them checks that, and shows what
 * N ranks cost to play. */
#ifndef TACHO_GRAPH_UNFOLD_H
#define TACHO_GRAPH_UNFOLD_H

#include "graph/graph_internal.h"

/* The frozen graph with nodes for all ranks asked of it; frozen, to be played and not to be edited: it has no
 * list of edges, no gradients and no passes. A rank's nodes on a lane are those of the rank that is played for it, in the
 * same order. Groups of some of the ranks have copies, too; a group of all ranks is there once. The caller's, to end with
 * tacho_graph_free().
 * TACHO_GRAPH_ERROR_SIZE: more than 32-bit indices can number. TACHO_GRAPH_ERROR_WHAT_IF: the last copies would lack
 * ranks that they work with; or there are guests. */
TachoGraph *graph_unfold(const TachoGraph *graph, GError **error);

#endif
