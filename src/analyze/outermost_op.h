/* outermost_op: operations that no other operation runs. */
#ifndef TACHO_OUTERMOST_OP_H
#define TACHO_OUTERMOST_OP_H

#include <tacho/timeline.h>

static inline gboolean is_outermost_op(const TachoTimeline *timeline, guint32 slice)
{
	if (timeline->slices.kind[slice] != TACHO_SLICE_OP)
		return FALSE;
	while ((slice = timeline->slices.parent[slice]) != TACHO_NONE)
		if (timeline->slices.kind[slice] == TACHO_SLICE_OP)
			return FALSE;
	return TRUE;
}

#endif
