/* timeline_join: the rows of one timeline put behind those of another, which then answers for both.
 *
 * (1) What belongs to which process and which track of the other timeline is the caller's to say. Where nothing is said of a
 *     track or a slice, a row is added.
 * (2) The other timeline holds no promise of timeline.h until tacho_timeline_finish().
 * (3) A process that the caller leaves at TACHO_NONE is left out, with all that is told of it.
 * (4) The joined timeline goes on living, behind the source of the other: args are read from there. */
#ifndef TACHO_TIMELINE_JOIN_H
#define TACHO_TIMELINE_JOIN_H

#include <tacho/timeline.h>

struct timeline_join {
	TachoTimeline *to;
	const TachoTimeline *from;
	const guint32 *strings; /* by string of `from`: of `to` */
	guint32 n_strings;
	/* By row of `from`: rows of `to`. Processes must all be filled in before timeline_join_rows(). A track or a slice that
	 * is not TACHO_NONE then is that row already: it is not added, and what refers to it refers to that one. */
	guint32 *processes, *tracks, *slices;
	/* Which time of `to` that time of a process of `from` is. */
	gint64 (*move)(const struct timeline_join *join, guint32 process, gint64 time_ns);
	gconstpointer data; /* for move() */
	guint32 foreign;    /* for timeline_join.c */
};

typedef struct timeline_join TimelineJoin;

/* Fills all but processes, move and data. `from` is taken over, also on failure: there is no room. Release it in any
 * case. TACHO_IMPORT_ERROR_MEMORY. */
gboolean timeline_join_begin(struct timeline_join *join, TachoTimeline *to, TachoTimeline *from,
			     GError **error);
/* The process in row `process` of `from` as it would be in `to`: no clock, and a path that is `from`'s. */
TachoProcess timeline_join_process(const struct timeline_join *join, guint32 process);
/* Put in all rows but processes. */
void timeline_join_rows(struct timeline_join *join);
void timeline_join_release(struct timeline_join *join);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TimelineJoin, timeline_join_release)

#endif
