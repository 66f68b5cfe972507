/* data_loading: which slices are a thread's way to its next batch, and by whom it is read.
 *
 * PyTorch names the region after the iterator's class: _SingleProcessDataLoaderIter reads in the thread
 * itself, _MultiProcessingDataLoaderIter waits for workers. Its pipes read in the thread, too. */
#include "trace/data_loading.h"

#include <string.h>

enum data_loading data_loading_of(const TachoTimeline *timeline, guint32 slice)
{
	TachoSliceKind kind = timeline->slices.kind[slice];
	const gchar *name;

	if (kind != TACHO_SLICE_WAIT && kind != TACHO_SLICE_ANNOTATION)
		return DATA_LOADING_NONE;
	name = tacho_slice_name(timeline, slice);
	if (kind == TACHO_SLICE_WAIT) {
		if (strcmp(name, "DataLoader workers") == 0)
			return DATA_LOADING_WORKERS;
		return strstr(name, "DataLoader") || strstr(name, "dataloader")
			       ? DATA_LOADING_UNKNOWN
			       : DATA_LOADING_NONE;
	}
	if (g_str_has_prefix(name, "enumerate(DataPipe)#"))
		return DATA_LOADING_INLINE;
	if (!g_str_has_prefix(name, "enumerate(DataLoader)#"))
		return DATA_LOADING_NONE;
	if (strstr(name, "_MultiProcessing"))
		return DATA_LOADING_WORKERS;
	return strstr(name, "_SingleProcess") ? DATA_LOADING_INLINE : DATA_LOADING_UNKNOWN;
}
