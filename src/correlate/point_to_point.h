/* point_to_point: which receive took which send. */
#ifndef TACHO_POINT_TO_POINT_H
#define TACHO_POINT_TO_POINT_H

#include <tacho/timeline.h>

/* Which way a COLLECTIVE slice goes, by what its trace says or its name; TACHO_WAY_BY_NAME: it is no send and no
 * receive. */
TachoWay point_to_point_way(const TachoTimeline *timeline, guint32 slice);

/* A send and the receive that took it: slices of two ranks. */
struct sent {
	guint32 send, receive;
	guint8 is_batch; /* several sends and receives each: which way they go is not known */
	guint8 is_exact; /* surely the same */
};

typedef void (*SentVisit)(const struct sent *sent, gpointer data);

/* Pair sends and receives as pair_sends() does, and show each pair to `visit`; the timeline stays as it is.
 * `is_by_order`: without comparing times of different ranks. Returns whether any lacked its partner. */
gboolean sends_visit(TachoTimeline *timeline, gboolean is_by_order, SentVisit visit, gpointer data);

#endif
