/* boosted_trees: gradient-boosted regression trees, in the form in which XGBoost keeps its models.
 *
 * The sum of many small trees, each fitted to what those before it leave of squared error (J. Friedman, "Greedy Function
 * Approximation: A Gradient Boosting Machine", 2001), with the regularised gain of T. Chen and C. Guestrin, "XGBoost: A Scalable
 * Tree Boosting System", 2016, and splits looked for between quantiles of each feature, as its "hist" does.
 *
 * (1) Nothing is drawn: the same rows in the same order give the same trees, on every machine.
 * (2) A node with `left` 0 is a leaf. A walk from the root comes to a leaf: whoever fills trees in sees to it, boosted_trees_check()
 *     holds it.
 * (3) Features are floats; a row goes left where its feature is less than the node's limit, as in XGBoost. */
#ifndef TACHO_BOOSTED_TREES_H
#define TACHO_BOOSTED_TREES_H

#include <glib.h>

/* Source: a rule: no model that was trained for this has as many. If wrong, a file is refused. */
#define BOOSTED_MAX_TREES 10000u
#define BOOSTED_MAX_NODES (1u << 22) /* of all trees */

struct tree_node {
	guint32 left, right; /* places in `nodes`; left 0: a leaf */
	guint32 feature;
	gfloat limit;		  /* of a leaf: its value */
	gboolean is_default_left; /* where a row goes that has no such feature (NaN) */
};

struct boosted_trees {
	guint n_features;
	gfloat base;   /* where the sum begins */
	GArray *nodes; /* struct tree_node, of all trees */
	GArray *roots; /* guint32, places in `nodes` */
};

struct boosting {
	guint n_trees, depth;
	guint min_rows;	   /* of a leaf */
	gdouble rate;	   /* of what a tree finds, so much is added */
	gdouble shrinkage; /* added to a leaf's number of rows: XGBoost's lambda */
};

void boosted_trees_init(struct boosted_trees *trees, guint n_features);
void boosted_trees_release(struct boosted_trees *trees);

/* Fit trees to `targets`, of `n_rows` rows (n_rows > 0) of `n_features` finite features each, one row after the other. `trees` is
 * initialised, and what was in it goes. */
void boosted_trees_fit(struct boosted_trees *trees, const gfloat *features, const gfloat *targets,
		       guint n_rows, const struct boosting *how);

/* What the trees say of a row. */
gdouble boosted_trees_value(const struct boosted_trees *trees, const gfloat *features);

/* Whether (2) holds, and all places and features exist. */
gboolean boosted_trees_check(const struct boosted_trees *trees);

#endif
