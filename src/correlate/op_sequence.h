/* op_sequence: what a thread does, in order, at the level where its loop shows. */
#ifndef TACHO_OP_SEQUENCE_H
#define TACHO_OP_SEQUENCE_H

#include <tacho/timeline.h>

typedef struct {
	guint32 n;
	guint32 *slice;	      /* in order of time */
	guint32 *token;	      /* equal for equal work */
	guint8 *has_backward; /* the slice is, or holds, an autograd node */
	guint8 *is_module;    /* forward of an outermost module */
	guint8 *is_wait;      /* for the data loader, say */
} OpSequence;

OpSequence *op_sequence_new(const TachoTimeline *timeline, guint32 track);
void op_sequence_free(OpSequence *sequence);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OpSequence, op_sequence_free)

/* How many of the slices begin before `time_ns`. */
guint32 op_sequence_count_before(const OpSequence *sequence, const TachoTimeline *timeline,
				 gint64 time_ns);

/* Find the loop: append to `starts` the position (guint32) at which each turn begins, and after
 * them the position where the last turn ends; `ret_is_whole` says whether that one was run to its
 * end. Returns whether there is a loop of at least three turns. */
gboolean op_sequence_find_loop(const OpSequence *sequence, GArray *starts, gboolean *ret_is_whole);

#endif
