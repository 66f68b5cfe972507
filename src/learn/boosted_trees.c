#include "learn/boosted_trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The limits that are tried of a feature, at most: a bin's number is a byte.
 * Source: cited from XGBoost, whose max_bin is 256 if nothing else is asked for. */
#define MAX_CUTS 255

/* A split that takes less of the squared error away is none.
 * Source: a rule: what rounding leaves. If wrong, trees have a few leaves more or fewer. */
#define MIN_GAIN 1e-7

/* What of all rows is needed while trees are made. */
struct fitting {
	struct boosted_trees *trees;
	const struct boosting *how;
	guint n_rows, n_features;
	guint8 *bins;  /* of each feature all rows: how many of its cuts are at most the value */
	gfloat *cuts;  /* of each feature MAX_CUTS */
	guint *n_cuts; /* of each feature */
	gdouble *left_over; /* of each row: its target less what the trees say */
	guint32 *rows;	    /* sorted by the leaf they are in */
	guint32 *spare;	    /* as many, while a leaf's rows are parted */
};

/* The rows [begin, end) of `rows` are in the node. */
struct leaf {
	guint32 node, begin, end;
	gdouble sum;
};

struct split {
	gdouble gain, left_sum;
	guint feature, cut, n_left;
};

void boosted_trees_init(struct boosted_trees *trees, guint n_features)
{
	trees->n_features = n_features;
	trees->base = 0;
	trees->nodes = g_array_new(FALSE, TRUE, sizeof(struct tree_node));
	trees->roots = g_array_new(FALSE, FALSE, sizeof(guint32));
}

void boosted_trees_release(struct boosted_trees *trees)
{
	g_clear_pointer(&trees->nodes, g_array_unref);
	g_clear_pointer(&trees->roots, g_array_unref);
}

static const struct tree_node *node_at(const struct boosted_trees *trees, guint32 index)
{
	return &g_array_index(trees->nodes, struct tree_node, index);
}

/* --- bins ------------------------------------------------------------------------------------------ */

static int compare_floats(const void *a, const void *b)
{
	gfloat x = *(const gfloat *)a, y = *(const gfloat *)b;

	return x < y ? -1 : x > y;
}

/* Between two values that differ: above the one, and at most the other, whatever rounding does. */
static gfloat between(gfloat low, gfloat high)
{
	gfloat middle = low + (high - low) / 2;

	return middle > low ? middle : high;
}

/* The cuts of a feature: between neighbours where there are few values, else between quantiles. */
static void find_cuts(struct fitting *fitting, const gfloat *features, guint feature,
		      gfloat *sorted)
{
	gfloat *cuts = fitting->cuts + (gsize)feature * MAX_CUTS;
	guint n = fitting->n_rows, n_values = 0, n_cuts = 0;

	for (guint i = 0; i < n; i++)
		sorted[i] = features[(gsize)i * fitting->n_features + feature];
	qsort(sorted, n, sizeof(*sorted), compare_floats);
	for (guint i = 0; i < n; i++)
		n_values += i == 0 || sorted[i] > sorted[i - 1];
	for (guint i = 1, next = 1; i < n; i++) {
		gboolean is_wanted =
			n_values <= MAX_CUTS || i >= (guint64)next * n / (MAX_CUTS + 1);

		if (!(sorted[i] > sorted[i - 1]) || !is_wanted || n_cuts == MAX_CUTS)
			continue;
		cuts[n_cuts++] = between(sorted[i - 1], sorted[i]);
		while ((guint64)next * n / (MAX_CUTS + 1) <= i)
			next++;
	}
	fitting->n_cuts[feature] = n_cuts;
}

/* How many of the cuts are at most the value. */
static guint8 bin_of(const gfloat *cuts, guint n_cuts, gfloat value)
{
	guint low = 0, high = n_cuts;

	while (low < high) {
		guint middle = (low + high) / 2;

		if (cuts[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return (guint8)low;
}

static void make_bins(struct fitting *fitting, const gfloat *features)
{
	g_autofree gfloat *sorted = g_new(gfloat, fitting->n_rows);

	for (guint feature = 0; feature < fitting->n_features; feature++) {
		guint8 *bins = fitting->bins + (gsize)feature * fitting->n_rows;
		const gfloat *cuts = fitting->cuts + (gsize)feature * MAX_CUTS;

		find_cuts(fitting, features, feature, sorted);
		for (guint i = 0; i < fitting->n_rows; i++)
			bins[i] = bin_of(cuts, fitting->n_cuts[feature],
					 features[(gsize)i * fitting->n_features + feature]);
	}
}

/* --- a tree ---------------------------------------------------------------------------------------- */

/* How much less squared error there is in a node with these rows than if its value were 0. */
static gdouble score(const struct fitting *fitting, gdouble sum, guint n)
{
	return sum * sum / ((gdouble)n + fitting->how->shrinkage);
}

static void try_feature(const struct fitting *fitting, const struct leaf *leaf, guint feature,
			struct split *best)
{
	const guint8 *bins = fitting->bins + (gsize)feature * fitting->n_rows;
	gdouble sums[MAX_CUTS + 1] = { 0 }, sum = 0;
	guint counts[MAX_CUTS + 1] = { 0 }, n = 0, n_all = leaf->end - leaf->begin;
	gdouble before = score(fitting, leaf->sum, n_all);

	for (guint32 i = leaf->begin; i < leaf->end; i++) {
		guint8 bin = bins[fitting->rows[i]];

		sums[bin] += fitting->left_over[fitting->rows[i]];
		counts[bin]++;
	}
	for (guint cut = 0; cut < fitting->n_cuts[feature]; cut++) {
		gdouble gain;

		sum += sums[cut];
		n += counts[cut];
		if (n < fitting->how->min_rows || n_all - n < fitting->how->min_rows)
			continue;
		gain = score(fitting, sum, n) + score(fitting, leaf->sum - sum, n_all - n) - before;
		if (gain > best->gain)
			*best = (struct split){ gain, sum, feature, cut, n };
	}
}

/* Those that go left stand before those that go right, in the order in which they were. */
static void part_rows(struct fitting *fitting, const struct leaf *leaf, const struct split *split)
{
	const guint8 *bins = fitting->bins + (gsize)split->feature * fitting->n_rows;
	guint32 left = leaf->begin, n_right = 0;

	for (guint32 i = leaf->begin; i < leaf->end; i++) {
		guint32 row = fitting->rows[i];

		if (bins[row] <= split->cut)
			fitting->rows[left++] = row;
		else
			fitting->spare[n_right++] = row;
	}
	memcpy(fitting->rows + left, fitting->spare, n_right * sizeof(guint32));
}

static guint32 add_node(struct fitting *fitting)
{
	struct tree_node node = { 0 };

	g_array_append_val(fitting->trees->nodes, node);
	return fitting->trees->nodes->len - 1;
}

static void close_leaf(struct fitting *fitting, const struct leaf *leaf)
{
	gdouble value = fitting->how->rate * leaf->sum /
			((gdouble)(leaf->end - leaf->begin) + fitting->how->shrinkage);
	struct tree_node *node =
		&g_array_index(fitting->trees->nodes, struct tree_node, leaf->node);

	node->limit = (gfloat)value;
	for (guint32 i = leaf->begin; i < leaf->end; i++)
		fitting->left_over[fitting->rows[i]] -= node->limit;
}

/* FALSE: nothing is gained by parting its rows. */
static gboolean split_leaf(struct fitting *fitting, const struct leaf *leaf, struct leaf *ret_left,
			   struct leaf *ret_right)
{
	struct split best = { .gain = MIN_GAIN };
	struct tree_node *node;
	guint32 left, right;

	for (guint feature = 0; feature < fitting->n_features; feature++)
		try_feature(fitting, leaf, feature, &best);
	if (best.n_left == 0)
		return FALSE;
	part_rows(fitting, leaf, &best);
	left = add_node(fitting);
	right = add_node(fitting);
	node = &g_array_index(fitting->trees->nodes, struct tree_node, leaf->node);
	*node = (struct tree_node){ left, right, best.feature,
				    fitting->cuts[(gsize)best.feature * MAX_CUTS + best.cut],
				    TRUE };
	*ret_left = (struct leaf){ left, leaf->begin, leaf->begin + best.n_left, best.left_sum };
	*ret_right = (struct leaf){ right, ret_left->end, leaf->end, leaf->sum - best.left_sum };
	return TRUE;
}

static void grow(struct fitting *fitting)
{
	g_autoptr(GArray) leaves = g_array_new(FALSE, FALSE, sizeof(struct leaf));
	struct leaf root = { add_node(fitting), 0, fitting->n_rows, 0 };

	g_array_append_val(fitting->trees->roots, root.node);
	for (guint i = 0; i < fitting->n_rows; i++)
		root.sum += fitting->left_over[i];
	for (guint i = 0; i < fitting->n_rows; i++)
		fitting->rows[i] = i;
	g_array_append_val(leaves, root);
	for (guint level = 0; leaves->len > 0; level++) {
		g_autoptr(GArray) next = g_array_new(FALSE, FALSE, sizeof(struct leaf));

		for (guint i = 0; i < leaves->len; i++) {
			const struct leaf *leaf = &g_array_index(leaves, struct leaf, i);
			struct leaf left, right;

			if (level == fitting->how->depth ||
			    !split_leaf(fitting, leaf, &left, &right)) {
				close_leaf(fitting, leaf);
				continue;
			}
			g_array_append_val(next, left);
			g_array_append_val(next, right);
		}
		g_array_unref(leaves);
		leaves = g_steal_pointer(&next);
	}
}

void boosted_trees_fit(struct boosted_trees *trees, const gfloat *features, const gfloat *targets,
		       guint n_rows, const struct boosting *how)
{
	guint n_features = trees->n_features;
	struct fitting fitting = { .trees = trees,
				   .how = how,
				   .n_rows = n_rows,
				   .n_features = n_features,
				   .bins = g_new(guint8, (gsize)n_rows * n_features),
				   .cuts = g_new(gfloat, (gsize)n_features * MAX_CUTS),
				   .n_cuts = g_new0(guint, n_features),
				   .left_over = g_new(gdouble, n_rows),
				   .rows = g_new(guint32, n_rows),
				   .spare = g_new(guint32, n_rows) };

	g_array_set_size(trees->nodes, 0);
	g_array_set_size(trees->roots, 0);
	trees->base = 0;
	for (guint i = 0; i < n_rows; i++)
		fitting.left_over[i] = targets[i];
	make_bins(&fitting, features);
	for (guint i = 0; i < how->n_trees; i++)
		grow(&fitting);
	g_free(fitting.bins);
	g_free(fitting.cuts);
	g_free(fitting.n_cuts);
	g_free(fitting.left_over);
	g_free(fitting.rows);
	g_free(fitting.spare);
}

/* --- what they say --------------------------------------------------------------------------------- */

static gfloat leaf_value(const struct boosted_trees *trees, guint32 root, const gfloat *features)
{
	const struct tree_node *node = node_at(trees, root);

	while (node->left) {
		gfloat value = features[node->feature];
		gboolean is_left = isnan(value) ? node->is_default_left : value < node->limit;

		node = node_at(trees, is_left ? node->left : node->right);
	}
	return node->limit;
}

gdouble boosted_trees_value(const struct boosted_trees *trees, const gfloat *features)
{
	gdouble sum = trees->base;

	for (guint i = 0; i < trees->roots->len; i++)
		sum += leaf_value(trees, g_array_index(trees->roots, guint32, i), features);
	return sum;
}

/* Every node of a tree is come to once, from one node: then no walk goes round. */
gboolean boosted_trees_check(const struct boosted_trees *trees)
{
	guint n = trees->nodes->len;
	g_autofree guint8 *is_seen = g_new0(guint8, MAX(n, 1u));

	for (guint i = 0; i < trees->roots->len; i++) {
		guint32 root = g_array_index(trees->roots, guint32, i);

		if (root >= n || is_seen[root]++)
			return FALSE;
	}
	for (guint i = 0; i < n; i++) {
		const struct tree_node *node = node_at(trees, i);

		if (!isfinite(node->limit) || node->feature >= MAX(trees->n_features, 1u))
			return FALSE;
		if (node->left == 0)
			continue;
		if (node->left >= n || node->right >= n || is_seen[node->left]++ ||
		    is_seen[node->right]++)
			return FALSE;
	}
	/* a ring of nodes that no root leads to is never walked */
	return TRUE;
}
