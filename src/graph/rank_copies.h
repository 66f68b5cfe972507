/* rank_copies: which ranks are played, and which others each of them stands for.
 *
 * `ranks=N` asks for copies of the R ranks recorded: rank s * R + r is the copy of rank r in set s. As long as sets do
 * the same, one is played for all of them: the first, of the recorded ranks, or where graph_split.h has told
 * some apart, one of each sort. What is played is numbered the same way: rank r of the p-th set that is played has
 * the index p * R + r. */
#ifndef TACHO_RANK_COPIES_H
#define TACHO_RANK_COPIES_H

#include "graph/graph_internal.h"

/* Ranks that the job has: as recorded, or as asked for. */
guint32 rank_copies_n_asked(const TachoGraph *graph);

/* The index of the rank that is played for rank `rank` of those asked for, counted from 0. */
guint32 rank_copies_played(const TachoGraph *graph, guint32 rank);

/* How many ranks each that is played stands for, by index; to be freed with g_free(). Guests are not in it. */
guint32 *rank_copies_weights(const TachoGraph *graph);

/* The number of a rank that is played, or the first of those that it stands for: as the launcher numbers them; with
 * copies they count from 0. */
gint32 rank_copies_number(const TachoGraph *graph, guint32 rank_index);

#endif
