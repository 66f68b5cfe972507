/* allocator_totals: what an allocator itself said of its memory. */
#ifndef TACHO_ALLOCATOR_TOTALS_H
#define TACHO_ALLOCATOR_TOTALS_H

#include <tacho/timeline.h>

#include "trace/counter_kind.h"

struct allocator_totals {
	gboolean is_known;	/* it was counted */
	gint64 allocated_bytes; /* handed out, at most: what was before the recording included */
	gint64 reserved_bytes; /* what it held of the device then, handed out or not; 0: not told */
};

/* A process's counter of that kind, and of that memory (counter_memory()): its track, or TACHO_NONE. */
guint32 counter_track_find(const TachoTimeline *timeline, guint32 process, enum counter_kind kind,
			   guint32 memory);

/* The totals of a process's memory; `device` as in struct memory_block. */
struct allocator_totals allocator_totals_find(const TachoTimeline *timeline, guint32 process,
					      guint32 device);

#endif
