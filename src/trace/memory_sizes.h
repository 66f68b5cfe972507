/* memory_sizes: most allocators are not told how much they are given back; what was handed out at
 * that address before tells. */
#ifndef TACHO_MEMORY_SIZES_H
#define TACHO_MEMORY_SIZES_H

#include <tacho/timeline.h>

/* Memory events of one thread, by time. */
struct memory_range {
	TachoMemoryEvent *events;
	gsize n;
};

/* Set the bytes of the events of one process that give back memory and do not say how much. Where
 * it was handed out before the recording began, they stay 0. `ranges` are used up. */
void memory_sizes_fill(struct memory_range *ranges, guint n_ranges);

#endif
