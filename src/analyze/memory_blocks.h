/* memory_blocks: memory handed out, and when it was given back. */
#ifndef TACHO_MEMORY_BLOCKS_H
#define TACHO_MEMORY_BLOCKS_H

#include <tacho/timeline.h>

struct memory_block {
	gint64 begin_ns, end_ns; /* end: G_MAXINT64 where it was not given back */
	gint64 bytes;
	guint32 slice; /* innermost when it was handed out, or TACHO_NONE */
};

/* The blocks of a process in the order handed out, a new array of struct memory_block. What was
 * handed out before the recording is not among them. */
GArray *memory_blocks_of_process(const TachoTimeline *timeline, guint32 process);

#endif
