/* held_memory: what the ranks hold while a graph is played. */
#ifndef TACHO_HELD_MEMORY_H
#define TACHO_HELD_MEMORY_H

#include <tacho/table.h>

#include "replay/replay_internal.h"

/* A memory holds more, or less. */
struct held_change {
	gint64 time_ns;	    /* in the replay; G_MININT64: before it, G_MAXINT64: behind it */
	gint64 recorded_ns; /* of the timeline */
	gint64 bytes;	    /* < 0: given back */
	gdouble held_bytes; /* of the memory, after it */
	guint32 device; /* whose memory: 0 the host's, else of the device with the number less 1 */
	guint32 block;
};

/* What the rank holds in the replay, each block from and to its moments: struct held_change, memory by memory, in
 * order of time; the caller's. */
GArray *held_memory_of_rank(const TachoReplay *replay, guint32 rank_index);

/* The most that one memory of a rank, the host's or a device's, holds in the replay. */
struct memory_peak {
	gint64 bytes; /* -1: no memory was recorded */
	guint32 rank_index, device;
	TachoTable *owners; /* "name", "blocks", "bytes": who holds it, most first */
	TachoTable *curve;  /* "at_ms", "held_bytes": of that memory, at most 200 rows */
	TachoTable *peaks;  /* "rank", "memory", "peak_bytes", "at_ms": of all memories */
};

/* With tables, for the caller; those are NULL else, and where nothing is held. */
struct memory_peak replay_memory_peak(const TachoReplay *replay, gboolean with_tables);

#endif
