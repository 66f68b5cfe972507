/* event_waits: who waits for an event of a device, and for what. A recorder tells of a wait by the call that recorded the
 * event, and the stream on which it did. The event comes when all that had been queued on that stream has been done: so
 * with the last work that a call before the recording one had launched there. */
#ifndef TACHO_EVENT_WAITS_H
#define TACHO_EVENT_WAITS_H

#include <tacho/timeline.h>

struct event_wait {
	guint32 row;	/* SYNC, on a STREAM track */
	guint32 record; /* row of the call that recorded the event */
	guint32 stream; /* number of a stream of the device that `row` is of */
};

/* Add a flow (TACHO_FLOW_EVENT_WAIT) for each of the waits (struct event_wait) in `n_waits` arrays of which it is known
 * what it waits for. All rows have their launches. */
void event_waits_link(TachoTimeline *timeline, const GArray *const *waits, guint n_waits);

#endif
