/* xplane_flows: who made whom do what, by the ids in an XSpace. */
#ifndef TACHO_XPLANE_FLOWS_H
#define TACHO_XPLANE_FLOWS_H

#include "import/xla/xplane_space.h"

struct xplane_flows;

struct xplane_flows *xplane_flows_new(TachoTimeline *timeline);
void xplane_flows_free(struct xplane_flows *flows);

/* Remember the ids of a slice. */
void xplane_flows_note(struct xplane_flows *flows, guint32 row, TachoSliceKind kind,
		       gint64 start_ns, const struct xplane_stats *stats);
/* A program that the device of this plane ran, and an operation of one: whoever launched the program launched
 * the operation. */
void xplane_flows_add_module(struct xplane_flows *flows, guint32 row, gint64 start_ns,
			     gint64 duration_ns);
void xplane_flows_add_work(struct xplane_flows *flows, guint32 row, gint64 start_ns);
/* The modules and operations that come now are another device's. */
void xplane_flows_end_plane(struct xplane_flows *flows);

/* When all is noted: set the launches, and add flows for the rest. */
void xplane_flows_link(struct xplane_flows *flows);

#endif
