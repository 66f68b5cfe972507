/* op_phase: which part of a step an operation is in. */
#ifndef TACHO_OP_PHASE_H
#define TACHO_OP_PHASE_H

#include <tacho/timeline.h>

typedef enum {
	PHASE_FORWARD,
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
	PHASE_COMM,
	PHASE_REPLAY, /* of no slice: graph_replay */
} OpPhase;

const gchar *op_phase_name(OpPhase phase);

/* The OpPhase of each slice of the track, by its place on it. To be freed with g_free(). */
guint8 *op_phases_of_track(const TachoTimeline *timeline, const TachoTrack *track);

#endif
