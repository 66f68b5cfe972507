/* order_lanes: what ranks did in order, a lane a thread, stream or list of collectives (run_order.c). */
#ifndef TACHO_ORDER_LANES_H
#define TACHO_ORDER_LANES_H

#include <tacho/timeline.h>

struct order_item {
	const gchar *name; /* the run's */
	guint32 step;
};

struct order_lane {
	gint32 rank;
	gchar *name;   /* "gpu 0 stream 7" */
	GArray *items; /* struct order_item */
};

/* Without a rank, a name and items. */
struct order_lane *order_lane_new(void);
void order_lane_free(gpointer lane);

/* Where several processes read the run together, each with the lanes (struct order_lane *) of its own ranks: make them those of
 * all, by rank. `names` keeps what their items are called. */
void order_lanes_share(GPtrArray *lanes, GStringChunk *names, const TachoTimeline *timeline);

#endif
