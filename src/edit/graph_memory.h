/* graph_memory: the memory that ranks held, in the graph's nodes, and how changes of the graph change it. */
#ifndef TACHO_GRAPH_MEMORY_H
#define TACHO_GRAPH_MEMORY_H

#include "graph/graph_internal.h"

/* Find the blocks that the ranks held during the graph's steps, as recorded; before durations are changed. */
void graph_find_memory(TachoGraph *graph);

/* Where in a graph's nodes a moment of a thread (a track; TACHO_NONE: the rank's main one) is. `time_ns` is of the
 * timeline. The graph is borrowed, and must not get other nodes. */
struct memory_places;
struct memory_places *memory_places_new(const TachoGraph *graph);
void memory_places_free(struct memory_places *places);
struct graph_moment memory_places_find(const struct memory_places *places, guint32 rank_index,
				       guint32 track, gint64 time_ns);

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
