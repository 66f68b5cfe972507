#include "analyze/device_work.h"

gboolean is_device_work(const TachoTimeline *timeline, guint32 slice)
{
	TachoSliceKind kind = timeline->slices.kind[slice];

	return (kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_MEMCPY ||
		kind == TACHO_SLICE_MEMSET) &&
	       tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
		       TACHO_TRACK_STREAM;
}

guint32 innermost_op(const TachoTimeline *timeline, guint32 slice)
{
	while (slice != TACHO_NONE && timeline->slices.kind[slice] != TACHO_SLICE_OP)
		slice = timeline->slices.parent[slice];
	return slice;
}
