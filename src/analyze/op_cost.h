/* op_cost: what each operation of a track took by itself. */
#ifndef TACHO_OP_COST_H
#define TACHO_OP_COST_H

#include <tacho/timeline.h>

struct op_cost {
	gdouble self_ns; /* without the operations inside */
	gdouble flops;	 /* 0 where an operation inside tells them; -1: nothing has one */
};

/* One a slice of the track, by its place on it; zero for what is no operation. With `with_flops`
 * FALSE flops are 0, and no tensor is read. To be freed with g_free(). */
struct op_cost *op_costs_of_track(const TachoTimeline *timeline, const TachoTrack *track,
				  gboolean with_flops);

/* "64x128 128x10": the input tensors' sizes. The caller's. */
gchar *op_shapes_text(const TachoTimeline *timeline, guint32 slice);

#endif
