/* call_tree: slices by the names of those around them, as profiles want it: how often each stack of
 * names was there, and how long nothing further was called. */
#ifndef TACHO_CALL_TREE_H
#define TACHO_CALL_TREE_H

#include "export/export_scope.h"

#define CALL_TREE_ROOT 0 /* has no name */

struct call_node {
	guint32 parent; /* node; TACHO_NONE of the root */
	guint32 track;	/* of a track's node, the first below the root; else TACHO_NONE */
	guint32 name;	/* string id */
	guint64 count;	/* slices */
	gint64 self_ns; /* of them, by themselves (trace/own_time.h) */
};

struct call_tree {
	const TachoTimeline *timeline;
	GArray *nodes; /* struct call_node; a parent stands before its children */
	GHashTable *children;
};

/* Make the tree of the slices in scope. Tracks without slices in scope have no node. */
void call_tree_init(struct call_tree *tree, const struct export_scope *scope);
void call_tree_release(struct call_tree *tree);

static inline const struct call_node *call_tree_node(const struct call_tree *tree, guint32 node)
{
	return &g_array_index(tree->nodes, struct call_node, node);
}

/* What a node is called: "rank 0 (node7, pid 4711) main" for a track, without control characters. To be
 * freed with g_free(). */
gchar *call_tree_node_name(const struct call_tree *tree, guint32 node);

#endif
