/* replay_memory: what the ranks hold while a graph is played, and how what-ifs change it. */
#ifndef TACHO_REPLAY_MEMORY_H
#define TACHO_REPLAY_MEMORY_H

#include "replay/replay_internal.h"

/* Find the blocks that the ranks held during the graph's steps, as recorded; before durations are changed. */
void replay_find_memory(TachoGraph *graph);

/* Where in a graph's nodes a moment of a thread (a track; TACHO_NONE: the rank's main one) is. `time_ns` is of the
 * timeline. The graph is borrowed, and must not get other nodes. */
struct memory_places;
struct memory_places *memory_places_new(const TachoGraph *graph);
void memory_places_free(struct memory_places *places);
struct graph_moment memory_places_find(const struct memory_places *places, guint32 rank_index,
				       guint32 track, gint64 time_ns);

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

/* The same passes several times a step: gradients are there from the first on. */
void memory_accumulate(TachoGraph *graph);

/* A part of a rank's forward pass, [begin_ns, end_ns), that is computed again at again_ns. Memory handed out in it that
 * outlasts it, and that nothing reads in between, is given back at the part's end (that of last_node), and is there again
 * from the begin of again_node on. */
struct memory_recomputation {
	guint32 rank_index;
	gint64 begin_ns, end_ns, again_ns; /* of the timeline */
	guint32 last_node, again_node;
};
/* `parts` holds struct memory_recomputation, and is sorted. */
void memory_recompute(TachoGraph *graph, GArray *parts);

#endif
