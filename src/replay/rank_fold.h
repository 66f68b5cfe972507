/* rank_fold: ranks that do the same at the same times, of which one is played for all.
 *
 * Two ranks are alike when their nodes, in order, are of the same kinds and durations and hang together in the same
 * way, among each other and with the transfers that they share. Whatever makes one of them another (a straggler, a
 * longer operation) ends that. Measured ranks are never alike to the nanosecond; those of made-up or copied traces are. */
#ifndef TACHO_RANK_FOLD_H
#define TACHO_RANK_FOLD_H

#include "replay/replay_internal.h"

struct rank_fold;

/* Find ranks of a frozen graph, which must outlive the result, that do the same. NULL: no two ranks are alike, or they share cores, of which each then
 * takes its part. */
struct rank_fold *rank_fold_new(const TachoGraph *graph);
void rank_fold_free(struct rank_fold *fold);

/* The node is not played. */
gboolean rank_fold_has(const struct rank_fold *fold, guint32 node);
/* How many are not. */
guint32 rank_fold_n_nodes(const struct rank_fold *fold);
/* Give the nodes that were not played the times of those that were played for them. */
void rank_fold_fill_in(const struct rank_fold *fold, TachoReplay *replay);

#endif
