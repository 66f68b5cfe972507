/* graph_split: ranks that are not to do what those do that they are copies of. */
#ifndef TACHO_GRAPH_SPLIT_H
#define TACHO_GRAPH_SPLIT_H

#include "graph/graph_internal.h"

/* Tell ranks apart: afterwards each rank that is played stands for ranks of which all are meant, or none is.
 * `is_meant` has a flag for each rank asked for (rank_copies_n_asked()), in order. Sets of copies with other ranks meant
 * than the first of those that they are played with get nodes of their own, with all that belongs to them; the
 * graph means what it did before. Nodes get other numbers, and it is left unfrozen, where there was something to do.
 * Returns the flags of the ranks that are played, by index; to be freed with g_free().
 * NULL: TACHO_GRAPH_ERROR_SIZE, or TACHO_GRAPH_ERROR_WHAT_IF: a set that lacks ranks would be without those that it
 * works with, or another job is beside this one. */
guint8 *graph_split(TachoGraph *graph, const guint8 *is_meant, GError **error);

#endif
