/* pass_copies: the passes of a graph's steps several times. */
#ifndef TACHO_PASS_COPIES_H
#define TACHO_PASS_COPIES_H

#include "edit/pass_nodes.h"

/* Put `n_more` passes before the one of each step of each rank, the first `n_copies` of them (1 or more, at least 4
 * where that is less than `n_more`) as copies of it; the others are taken to be as those that the copies end with, and are
 * one piece of work a thread and stream. The graph is left unfrozen. TACHO_GRAPH_ERROR_CYCLE: it cannot be played. */
gboolean pass_copies_add(TachoGraph *graph, const struct pass_nodes *pass, guint32 n_copies,
			 guint32 n_more, GError **error);

#endif
