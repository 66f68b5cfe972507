#include "analyze/copy_rate.h"

/* What is beyond is broken, and would drown all else: no memory moves a PB/s, and no copy has 8 PiB. */
#define MAX_GB_PER_S 1e6
#define MAX_BYTES    0x1p53

gboolean copy_rate_of(const TachoTimeline *timeline, guint32 slice, struct copy_rate *ret_rate)
{
	TachoSliceKind kind = timeline->slices.kind[slice];
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	struct copy_rate rate = { 0 };
	TachoKernelArgs args;
	TachoCopyArgs copy;

	if (kind != TACHO_SLICE_MEMCPY && kind != TACHO_SLICE_MEMSET)
		return FALSE;
	rate.kind = copy_kind_of(timeline, slice);
	if (tacho_slice_copy(timeline, slice, &copy)) {
		rate.bytes = (gdouble)copy.bytes;
		rate.gb_per_s = copy.gb_per_s;
	}
	if (rate.bytes <= 0 && tacho_slice_kernel(timeline, slice, &args))
		rate.bytes = (gdouble)args.bytes <= MAX_BYTES ? (gdouble)args.bytes : 0;
	if (rate.gb_per_s <= 0 && duration_ns > 0)
		rate.gb_per_s = rate.bytes / (gdouble)duration_ns;
	if (rate.gb_per_s > MAX_GB_PER_S)
		rate.gb_per_s = 0;
	*ret_rate = rate;
	return TRUE;
}
