/* track_walk: the slices of a track as begins and ends in the order of time, which viewers want.
 * They nest strictly within a lane; what overlaps (collectives in flight, a broken trace) goes to
 * another lane of the track. */
#ifndef TACHO_TRACK_WALK_H
#define TACHO_TRACK_WALK_H

#include "export/export_scope.h"

struct track_walk_handlers {
	void (*begin)(guint32 slice, guint lane, gpointer data);
	void (*end)(guint32 slice, guint lane, gpointer data); /* NULL: not wanted */
	void (*mark)(guint32 row, gpointer data);	       /* of marks; lane 0 */
};

/* `marks` are `n_marks` rows of the timeline's marks, by time. Begins come in slice order. */
void track_walk(const struct export_scope *scope, guint32 track, const guint32 *marks,
		guint32 n_marks, const struct track_walk_handlers *handlers, gpointer data);

#endif
