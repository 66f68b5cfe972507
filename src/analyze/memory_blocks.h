/* memory_blocks: memory handed out, and when it was given back. */
#ifndef TACHO_MEMORY_BLOCKS_H
#define TACHO_MEMORY_BLOCKS_H

#include <tacho/timeline.h>

struct memory_block {
	gint64 begin_ns, end_ns; /* end: G_MAXINT64 where it was not given back */
	gint64 bytes;
	guint32 device; /* 0: the host's memory, else the device's number plus 1 */
	guint32 slice;	/* innermost when it was handed out, or TACHO_NONE */
	guint64 address;
	guint32 begin_track, end_track; /* threads; end: TACHO_NONE where it was not given back */
	guint8 layer;			/* TachoMemoryLayer */
};

/* What is held of one memory becomes more, or less. */
struct memory_change {
	gint64 time_ns;
	gint64 bytes; /* < 0: given back */
};

/* The blocks of a process in the order handed out, a new array of struct memory_block. What was
 * handed out before the recording is not among them. What was given back in control steps ends where these begin (memory_gaps.h). Each byte counts once: what a driver handed out is left out of a device's
 * memory of which an allocator tells, too. */
GArray *memory_blocks_of_process(const TachoTimeline *timeline, guint32 process);
/* The same of all layers: bytes that an allocator took of the driver are there twice. */
GArray *memory_blocks_of_layers(const TachoTimeline *timeline, guint32 process);
/* Those of one layer of one memory, a new array. */
GArray *memory_blocks_select(const GArray *blocks, guint32 device, TachoMemoryLayer layer);

#define MEMORY_ALL_DEVICES G_MAXUINT32

/* What the blocks of that device (or all) say, in order of time, what is given back first: a new array of struct
 * memory_change. What was not given back is held to the end. */
GArray *memory_changes(const GArray *blocks, guint32 device);

/* The most that one memory of a process held, the host's or a device's; -1: none was recorded. */
gint64 memory_peak_of_process(const TachoTimeline *timeline, guint32 process);

/* "host", "gpu 0"; the caller's. */
gchar *memory_label(guint32 device);
/* Whether a driver handed out any memory that is known of; else all is of allocators. */
gboolean has_driver_memory(const TachoTimeline *timeline);

/* A memory of a process, in one layer. */
struct memory_place {
	guint32 device;
	guint8 layer;
};

/* Those of blocks, in order: a new array of struct memory_place. */
GArray *memory_places(const GArray *blocks);

#endif
