/* data_loading: which slices are a thread's way to its next batch, and by whom it is read. */
#ifndef TACHO_DATA_LOADING_H
#define TACHO_DATA_LOADING_H

#include <tacho/timeline.h>

enum data_loading {
	DATA_LOADING_NONE,    /* something else */
	DATA_LOADING_UNKNOWN, /* a batch is taken; by whom it is read is not told */
	DATA_LOADING_INLINE,  /* the thread reads it itself */
	DATA_LOADING_WORKERS, /* it waits for worker processes */
};

/* A WAIT for the data loader, or the region in which PyTorch takes a batch from it
 * ("enumerate(DataLoader)#..."). */
enum data_loading data_loading_of(const TachoTimeline *timeline, guint32 slice);

#endif
