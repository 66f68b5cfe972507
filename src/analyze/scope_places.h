/* scope_places: where in the program's structure each slice belongs: modules, regions, operations. */
#ifndef TACHO_SCOPE_PLACES_H
#define TACHO_SCOPE_PLACES_H

#include "analyze/graph_replay.h"
#include "analyze/op_facts.h"
#include "analyze/op_phase.h"
#include "analyze/profile_tree.h"

/* When nodes are made. */
enum place_stage {
	PLACE_SAMPLED,	   /* functions that samples saw */
	PLACE_FIRST_PASS,  /* slices */
	PLACE_SECOND_PASS, /* those that had to wait for another's place */
	PLACE_COUNTED, /* what has no slice of its own: replays, waiting and loading between samples */
	N_PLACE_STAGES
};

struct scope_places {
	struct profile_tree *tree;
	const TachoTimeline *timeline;
	gboolean by_function; /* places are the functions called, not modules and regions */
	guint32 *nodes;	      /* of each slice: its node in the tree; TACHO_NONE: not looked at */
	guint32 *sampled;     /* by function, of each track: that of the samples of its thread */
	GHashTable *children; /* gint64 parent << 32 | label -> node */
	GHashTable *labels;   /* text -> its number, from 1 */
	GHashTable *forward;  /* slice of an autograd node -> its forward operation's + 1 */
	guint stage;	      /* at work: enum place_stage */
	GByteArray *stages;   /* of each node: the stage that it was made in */
};

/* Put a node into the tree for every place that a slice of a selected track is at. `by_function`:
 * functions of the program inside each other, and in them operations, not inside each other. */
void scope_places_init(struct scope_places *places, struct profile_tree *tree,
		       const struct selection *selection, gboolean by_function);
void scope_places_release(struct scope_places *places);
/* The node of that label below `parent`, which is made where there is none. */
guint32 scope_places_child(struct scope_places *places, guint32 parent, const gchar *label);
/* Leave the root alone in the tree. */
void scope_places_clear(struct scope_places *places);

/* One operation of a chosen step. */
struct op_run {
	guint32 slice;
	guint step; /* index among the chosen */
	OpPhase phase;
	gdouble self_ns;
	gdouble flops; /* -1: no formula */
};

/* Call `visit` for every operation of the chosen steps, track by track in order of time; of several processes, of this one's
 * ranks. */
typedef void (*OpVisit)(const struct op_run *run, gpointer data);
void visit_ops(const struct selection *selection, OpVisit visit, gpointer data);

/* Add what a run took to a node, which becomes one of that operation type. */
void profile_add_run(struct profile_tree *tree, guint32 node, const TachoTimeline *timeline,
		     const struct op_facts *facts, const struct op_run *run);

/* The same of what a graph did again. */
void profile_add_replay(struct profile_tree *tree, guint32 node, const TachoTimeline *timeline,
			const struct graph_replay *replay);

/* The table of a tree of such places. */
TachoTable *places_view(const gchar *name, const TachoTimeline *timeline, const TachoFilter *filter,
			gboolean by_function);
/* For each slice, whether it is at a place that the table has a row of, or what one there launched; to be freed with
 * g_free(). */
guint8 *places_slices(const TachoTimeline *timeline, const TachoFilter *filter,
		      gboolean by_function);
/* The same of the graph view, whose rows are operations with all that runs inside them. */
guint8 *graph_slices(const TachoTimeline *timeline, const TachoFilter *filter);

#endif
