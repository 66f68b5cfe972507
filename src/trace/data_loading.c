#include "trace/data_loading.h"

#include "trace/region_kind.h"

enum data_loading data_loading_of(const TachoTimeline *timeline, guint32 slice)
{
	TachoSliceKind kind = timeline->slices.kind[slice];

	gboolean is_wait = kind == TACHO_SLICE_WAIT;

	if (!is_wait && kind != TACHO_SLICE_ANNOTATION)
		return DATA_LOADING_NONE;
	switch (region_kind_of(timeline, slice)) {
	case REGION_LOADING_WORKERS:
		return DATA_LOADING_WORKERS;
	case REGION_LOADING_INLINE:
		return DATA_LOADING_INLINE;
	case REGION_LOADING:
		return DATA_LOADING_UNKNOWN;
	case REGION_LOADER_WORKERS:
		return is_wait ? DATA_LOADING_WORKERS : DATA_LOADING_NONE;
	case REGION_LOADER:
		return is_wait ? DATA_LOADING_UNKNOWN : DATA_LOADING_NONE;
	default:
		return DATA_LOADING_NONE;
	}
}
