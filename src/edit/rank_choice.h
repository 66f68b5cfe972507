/* rank_choice: the ranks that a change is of, as it names them: "4", "4-7", "0,4-7". */
#ifndef TACHO_RANK_CHOICE_H
#define TACHO_RANK_CHOICE_H

#include "edit/change.h"

struct rank_choice {
	guint8 *is_meant; /* of each rank asked for (graph/rank_copies.h); NULL: all are */
	guint8 *flags;	  /* of each that is played, once they have been told apart; NULL: all */
	guint32 n_flags;
};

/* The ranks of the change, in this graph. The caller releases the choice, whatever is returned.
 * TACHO_GRAPH_ERROR_WHAT_IF: the job has no such rank. */
gboolean rank_choice_init(struct rank_choice *choice, const TachoGraph *graph,
			  const struct change *change, GError **error);

/* Let ranks that are meant be played apart from those that are not: nodes get other numbers (graph/graph_split.h). */
gboolean rank_choice_split(struct rank_choice *choice, TachoGraph *graph,
			   const struct change *change, GError **error);

/* After that: whether it is of the rank, and of what a node does; what is of no rank, or of another job, is not. */
gboolean rank_choice_has(const struct rank_choice *choice, guint32 rank_index);
gboolean rank_choice_has_node(const struct rank_choice *choice, const TachoGraph *graph,
			      const struct graph_node *node);

void rank_choice_release(struct rank_choice *choice);

#endif
