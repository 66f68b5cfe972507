/* profile_tree: what the scope, graph and code views have in common: nodes with metrics, accounted,
 * started, trimmed, shown and summed up as tfprof does. */
#ifndef TACHO_PROFILE_TREE_H
#define TACHO_PROFILE_TREE_H

#include <tacho/analyze.h>
#include <tacho/profile_options.h>

#include "analyze/selection.h"

struct profile_node {
	const gchar *name;  /* whole: "Net/fc/aten::linear"; what expressions match */
	const gchar *label; /* its last part */
	const gchar *type;  /* of the operation; NULL: a prefix, which never counts itself */
	const gchar *phase; /* "forward", ... or NULL */
	const gchar *tags;  /* further types, '\n' between them, the timeline's; NULL: none told */
	gchar *shapes;	    /* of its first run, owned; NULL */
	GString *devices;   /* that it ran on, as op_devices.h says, owned; NULL */
	gdouble self[TACHO_N_METRICS];
	gdouble total[TACHO_N_METRICS];
	guint8 *present;	       /* bit a chosen step: it ran there; NULL: never */
	gboolean is_wrapper;	       /* `type` is that of autograd's engine around a node */
	gboolean is_unknown;	       /* ran, and has no formula for its flops */
	gdouble needed_ns, longest_ns; /* of the graph view; NaN: not known */
	GArray *inputs; /* guint32 nodes: children of a tree, inputs of a graph; NULL: none */

	guint32 above; /* of a tree of places: the node it was made under */

	/* What profile_tree_select() makes. */
	guint32 first, last, next; /* kept children, as a list */
	guint32 shown_parent;
	guint32 definitions; /* itself and below, that count */
	guint levels;	     /* below */
	guint depth;	     /* of its row below the root's: shown ancestors */
	gboolean is_accounted;
	gboolean is_claimed;
};

/* (1) Node 0 is the root of all: it has no self, and every root of the view is its input. */
struct profile_tree {
	const TachoProfileOptions *options;
	GArray *nodes; /* struct profile_node */
	GStringChunk *strings;
	guint n_present_bits;
	gboolean
		keeps_prefixes; /* a node without account stays above those that have; else these go up */
	gboolean trims_node; /* a trimmed node goes with what is below it */
	gboolean has_paths;  /* a node's name is that of the node above, a slash, and its label */
	GArray *rows;	     /* guint32 nodes in order of display, after select */
};

/* `options` NULL: the defaults. They must outlive it. */
void profile_tree_init(struct profile_tree *tree, const TachoProfileOptions *options,
		       const struct selection *selection);
void profile_tree_release(struct profile_tree *tree);
/* Leave nothing but a new root in it. */
void profile_tree_clear(struct profile_tree *tree);

/* A node; strings are copied. */
guint32 profile_tree_add(struct profile_tree *tree, const gchar *name, const gchar *label,
			 const gchar *type);
void profile_tree_link(struct profile_tree *tree, guint32 from, guint32 to);
static inline struct profile_node *profile_node_at(const struct profile_tree *tree, guint32 node)
{
	return &g_array_index(tree->nodes, struct profile_node, node);
}

/* Note that `node` ran in the step with that index among the chosen ones. */
void profile_tree_mark_present(struct profile_tree *tree, guint32 node, guint step);

/* Divide, account, start, show, sum up and sort: afterwards `rows` is what is to be printed. The
 * selection's name is one more expression that a shown node's name must match. */
void profile_tree_select(struct profile_tree *tree, const struct selection *selection);

/* For each node, 1 where it has a row, but not for the root; to be freed with g_free(). One more than there are nodes. */
guint8 *profile_tree_shown(const struct profile_tree *tree);

/* A table of the rows; the caller's. */
TachoTable *profile_tree_table(const struct profile_tree *tree, const gchar *name);

/* Say so where nothing is shown: that nothing was recorded, or which options hide what was. */
void profile_tree_note_hidden(const struct profile_tree *tree, const struct selection *selection,
			      TachoTable *table);
/* The options that hide things, as they are called on the command line; "" if none is set. To be freed with g_free(). */
gchar *profile_hiding_options(const TachoProfileOptions *options);

/* Whether a name matches any of `regexes`. */
gboolean profile_matches(const GPtrArray *regexes, const gchar *name);

#endif
