/* profile_tree: select nodes as tfprof does.
 *
 *     divide   what several steps summed up becomes a mean
 *     account  depth first from the root, each node once (a node of a graph belongs to the first that
 *              reaches it): nodes whose types match count; totals are sums over what is below
 *     start    the first match on each way down becomes a root
 *     show     nodes that pass; the children of one that does not go up to the nearest that does
 *     sum up   with displayed_only: totals anew, over what is shown
 *     sort     the children of each shown node
 *
 * (1) Without displayed_only hidden nodes count in totals; nodes not accounted never do.
 * (2) The root is always shown. Its totals are those of the whole, wherever the view starts.
 * (3) Nothing recurses: a graph may be as deep as it has nodes. */
#include "analyze/profile_tree.h"

#include "analyze/op_devices.h"
#include "base/for_each.h"
#include "import/tensorflow/tensor_bundle.h"

#include <math.h>
#include <string.h>

static void add_root(struct profile_tree *tree)
{
	profile_tree_add(tree, "", "(all)", NULL);
}

void profile_tree_init(struct profile_tree *tree, const TachoProfileOptions *options,
		       const struct selection *selection)
{
	static const TachoProfileOptions defaults = { .order = TACHO_METRIC_TIME,
						      .select = 1u << TACHO_METRIC_TIME };
	guint n_steps = selection_n_steps(selection);

	*tree = (struct profile_tree){ .options = options ? options : &defaults,
				       .nodes = g_array_new(FALSE, TRUE,
							    sizeof(struct profile_node)),
				       .strings = g_string_chunk_new(4096),
				       .rows = g_array_new(FALSE, FALSE, sizeof(guint32)) };
	tree->n_present_bits = n_steps ? n_steps : MAX(selection->timeline->ranks->len, 1u);
	add_root(tree);
}

static void remove_nodes(struct profile_tree *tree)
{
	FOR_EACH(struct profile_node, node, tree->nodes) {
		g_free(node->shapes);
		if (node->devices)
			g_string_free(node->devices, TRUE);
		g_free(node->present);
		g_clear_pointer(&node->inputs, g_array_unref);
	}
	g_array_set_size(tree->nodes, 0);
}

void profile_tree_clear(struct profile_tree *tree)
{
	remove_nodes(tree);
	add_root(tree);
}

void profile_tree_release(struct profile_tree *tree)
{
	remove_nodes(tree);
	g_array_unref(tree->nodes);
	g_array_unref(tree->rows);
	g_string_chunk_free(tree->strings);
}

guint32 profile_tree_add(struct profile_tree *tree, const gchar *name, const gchar *label,
			 const gchar *type)
{
	struct profile_node node = {
		.name = g_string_chunk_insert_const(tree->strings, name),
		.label = g_string_chunk_insert_const(tree->strings, label),
		.needed_ns = NAN,
		.longest_ns = NAN,
		.type = type ? g_string_chunk_insert_const(tree->strings, type) : NULL,
	};

	g_array_append_val(tree->nodes, node);
	return tree->nodes->len - 1;
}

void profile_tree_link(struct profile_tree *tree, guint32 from, guint32 to)
{
	struct profile_node *node = profile_node_at(tree, from);

	if (!node->inputs)
		node->inputs = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_val(node->inputs, to);
}

void profile_tree_mark_present(struct profile_tree *tree, guint32 node, guint step)
{
	struct profile_node *at = profile_node_at(tree, node);

	if (step >= tree->n_present_bits)
		return;
	if (!at->present)
		at->present = g_malloc0((tree->n_present_bits + 7) / 8);
	at->present[step / 8] |= (guint8)(1 << step % 8);
}

gboolean profile_matches(const GPtrArray *regexes, const gchar *name)
{
	if (!name || !g_utf8_validate(name, -1, NULL))
		return FALSE;
	for (guint i = 0; i < regexes->len; i++)
		if (g_regex_match(g_ptr_array_index(regexes, i), name, 0, NULL))
			return TRUE;
	return FALSE;
}

/* --- divide ----------------------------------------------------------------------------------- */

static guint count_present(const struct profile_tree *tree, const struct profile_node *node)
{
	guint n = 0;

	for (guint i = 0; node->present && i < (tree->n_present_bits + 7) / 8; i++)
		n += (guint)__builtin_popcount(node->present[i]);
	return n;
}

/* Parameters are there whether or not a step uses them: always those of a step that does. */
static void divide(struct profile_tree *tree)
{
	FOR_EACH(struct profile_node, node, tree->nodes) {
		guint n_present = MAX(count_present(tree, node), 1u);
		guint by = 1;

		if (tree->options->mean == TACHO_MEAN_ALL)
			by = tree->n_present_bits;
		else if (tree->options->mean == TACHO_MEAN_PRESENT)
			by = n_present;
		for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
			node->self[metric] /= metric == TACHO_METRIC_PARAMS ? n_present : by;
	}
}

/* --- account ---------------------------------------------------------------------------------- */

static gboolean matches_tag(const GPtrArray *regexes, const gchar *tags)
{
	g_auto(GStrv) all = g_strsplit(tags, "\n", -1);

	for (guint i = 0; all[i]; i++)
		if (profile_matches(regexes, all[i]))
			return TRUE;
	return FALSE;
}

/* What is trainable is told by tags, or by its gradients. */
static gboolean matches_kind(const GPtrArray *regexes, const struct profile_node *node)
{
	if (node->tags)
		return matches_tag(regexes, node->tags);
	return node->self[TACHO_METRIC_PARAMS] > 0 &&
	       profile_matches(regexes, "_trainable_variables");
}

static gboolean is_in_checkpoint(const struct profile_tree *tree, const struct profile_node *node)
{
	return tree->options->checkpoint &&
	       profile_matches(tree->options->account, "_checkpoint_variables") &&
	       tensor_bundle_has(tree->options->checkpoint, node->name);
}

static gboolean is_accounted(const struct profile_tree *tree, const struct profile_node *node)
{
	const GPtrArray *regexes = tree->options->account;

	if (!node->type)
		return FALSE;
	return !regexes || profile_matches(regexes, node->type) ||
	       profile_matches(regexes, node->phase) || matches_kind(regexes, node) ||
	       is_in_checkpoint(tree, node) ||
	       (node->devices && op_devices_match(regexes, node->devices->str)) ||
	       (node->self[TACHO_METRIC_DEVICE] > 0 && profile_matches(regexes, "device"));
}

/* Put the list [first, last] behind the children of `parent`. */
static void append_children(struct profile_tree *tree, guint32 parent, guint32 first, guint32 last)
{
	struct profile_node *node = profile_node_at(tree, parent);

	if (first == TACHO_NONE)
		return;
	if (node->first == TACHO_NONE)
		node->first = first;
	else
		profile_node_at(tree, node->last)->next = first;
	node->last = last;
}

/* All below `index` are finished. */
static void finish(struct profile_tree *tree, guint32 index, guint32 parent)
{
	struct profile_node *node = profile_node_at(tree, index);

	node->is_accounted = is_accounted(tree, node);
	node->definitions = node->is_accounted;
	for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
		node->total[metric] = node->is_accounted ? node->self[metric] : 0;
	for (guint32 i = node->first; i != TACHO_NONE; i = profile_node_at(tree, i)->next) {
		const struct profile_node *child = profile_node_at(tree, i);

		for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
			node->total[metric] += child->total[metric];
		node->definitions += child->definitions;
		node->levels = MAX(node->levels, child->levels + 1);
	}
	if (parent == TACHO_NONE)
		return;
	if (node->is_accounted || (tree->keeps_prefixes && node->first != TACHO_NONE))
		append_children(tree, parent, index, index);
	else
		append_children(tree, parent, node->first, node->last);
}

struct visit {
	guint32 node, parent;
	guint next; /* input to look at */
};

static void account(struct profile_tree *tree)
{
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(struct visit));
	struct visit root = { 0, TACHO_NONE, 0 };

	FOR_EACH(struct profile_node, node, tree->nodes)
		node->first = node->last = node->next = node->shown_parent = TACHO_NONE;
	g_array_append_val(stack, root);
	while (stack->len) {
		struct visit *top = &g_array_index(stack, struct visit, stack->len - 1);
		const struct profile_node *node = profile_node_at(tree, top->node);
		guint32 input;

		if (!node->inputs || top->next >= node->inputs->len) {
			struct visit done = *top;

			g_array_set_size(stack, stack->len - 1);
			finish(tree, done.node, done.parent);
			continue;
		}
		input = g_array_index(node->inputs, guint32, top->next++);
		if (!profile_node_at(tree, input)->is_claimed) {
			struct visit below = { input, top->node, 0 };

			profile_node_at(tree, input)->is_claimed = TRUE;
			g_array_append_val(stack, below);
		}
	}
}

/* --- start and show --------------------------------------------------------------------------- */

struct place {
	guint32 node, shown_parent;
	guint depth;
	gboolean is_started;
};

static gboolean passes(const struct profile_tree *tree, const struct selection *selection,
		       const struct profile_node *node, guint depth)
{
	const TachoProfileOptions *options = tree->options;

	for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
		if (node->total[metric] < options->min_total[metric] ||
		    (options->min_self[metric] > 0 &&
		     (!node->is_accounted || node->self[metric] < options->min_self[metric])))
			return FALSE;
	return (!options->max_depth || depth <= options->max_depth) &&
	       selection_takes_name(selection, node->name) &&
	       (!options->show || profile_matches(options->show, node->name)) &&
	       !(options->hide && profile_matches(options->hide, node->name));
}

/* Children onto the stack so that the first is on top. */
static void push_children(const struct profile_tree *tree, GArray *stack, guint32 parent,
			  struct place below)
{
	guint begin = stack->len;

	for (guint32 i = profile_node_at(tree, parent)->first; i != TACHO_NONE;
	     i = profile_node_at(tree, i)->next) {
		below.node = i;
		g_array_append_val(stack, below);
	}
	for (guint low = begin, high = stack->len; low + 1 < high; low++) {
		struct place swap = g_array_index(stack, struct place, low);

		high--;
		g_array_index(stack, struct place, low) = g_array_index(stack, struct place, high);
		g_array_index(stack, struct place, high) = swap;
	}
}

/* Fill `rows`, parents before children. */
static void show(struct profile_tree *tree, const struct selection *selection)
{
	const TachoProfileOptions *options = tree->options;
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(struct place));
	struct place below = { .depth = 2, .is_started = !options->start };
	guint32 root = 0;

	g_array_append_val(tree->rows, root);
	push_children(tree, stack, 0, below);
	while (stack->len) {
		struct place at = g_array_index(stack, struct place, stack->len - 1);
		struct profile_node *node = profile_node_at(tree, at.node);
		gboolean is_trimmed;

		g_array_set_size(stack, stack->len - 1);
		if (!at.is_started && profile_matches(options->start, node->name)) {
			at.is_started = TRUE;
			at.depth = 2;
		}
		is_trimmed = at.is_started && options->trim &&
			     profile_matches(options->trim, node->name);
		if (is_trimmed && tree->trims_node)
			continue;
		below = (struct place){ .shown_parent = at.shown_parent,
					.depth = at.depth + 1,
					.is_started = at.is_started };
		if (at.is_started && passes(tree, selection, node, at.depth)) {
			node->shown_parent = at.shown_parent;
			g_array_append_val(tree->rows, at.node);
			below.shown_parent = at.node;
		}
		if (!is_trimmed &&
		    (!options->max_depth || !at.is_started || at.depth < options->max_depth))
			push_children(tree, stack, at.node, below);
	}
}

/* --- sum up and sort -------------------------------------------------------------------------- */

static void sum_displayed(struct profile_tree *tree)
{
	for (guint i = 0; i < tree->rows->len; i++) {
		struct profile_node *node =
			profile_node_at(tree, g_array_index(tree->rows, guint32, i));

		for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
			node->total[metric] = node->is_accounted ? node->self[metric] : 0;
		node->definitions = node->is_accounted;
	}
	for (guint i = tree->rows->len; i-- > 1;) {
		struct profile_node *node =
			profile_node_at(tree, g_array_index(tree->rows, guint32, i));
		struct profile_node *parent = profile_node_at(tree, node->shown_parent);

		for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
			parent->total[metric] += node->total[metric];
		parent->definitions += node->definitions;
	}
}

/* By parent first, so that each node's children come together; then as asked for, reversed, because
 * they will lie on a stack. */
static gint compare_rows(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct profile_tree *tree = data;
	const struct profile_node *left = profile_node_at(tree, *(const guint32 *)a);
	const struct profile_node *right = profile_node_at(tree, *(const guint32 *)b);
	guint order = tree->options->order;

	if (left->shown_parent != right->shown_parent)
		return left->shown_parent < right->shown_parent ? -1 : 1;
	if (order < TACHO_N_METRICS && left->total[order] != right->total[order])
		return left->total[order] < right->total[order] ? -1 : 1;
	if (order == TACHO_ORDER_LEVELS && left->levels != right->levels)
		return left->levels < right->levels ? -1 : 1;
	return -strcmp(left->name, right->name);
}

static void sort_rows(struct profile_tree *tree)
{
	g_autoptr(GArray) children = g_array_copy(tree->rows);
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autofree guint *first = g_new0(guint, tree->nodes->len + 1);
	guint32 root = 0;

	g_array_remove_index(children, 0);
	g_array_sort_with_data(children, compare_rows, tree);
	for (guint i = 0; i < children->len; i++)
		first[profile_node_at(tree, g_array_index(children, guint32, i))->shown_parent +
		      1]++;
	for (guint i = 0; i < tree->nodes->len; i++)
		first[i + 1] += first[i];
	g_array_set_size(tree->rows, 0);
	g_array_append_val(stack, root);
	while (stack->len) {
		guint32 node = g_array_index(stack, guint32, stack->len - 1);

		g_array_set_size(stack, stack->len - 1);
		if (node != 0)
			profile_node_at(tree, node)->depth =
				1 + profile_node_at(tree, profile_node_at(tree, node)->shown_parent)
					    ->depth;
		g_array_append_val(tree->rows, node);
		for (guint i = first[node]; i < first[node + 1]; i++)
			g_array_append_val(stack, g_array_index(children, guint32, i));
	}
}

void profile_tree_select(struct profile_tree *tree, const struct selection *selection)
{
	divide(tree);
	account(tree);
	show(tree, selection);
	if (tree->options->is_displayed_only)
		sum_displayed(tree);
	sort_rows(tree);
}

/* --- what is shown ---------------------------------------------------------------------------- */

guint8 *profile_tree_shown(const struct profile_tree *tree)
{
	guint8 *is_shown = g_new0(guint8, tree->nodes->len + 1);

	for (guint i = 1; i < tree->rows->len; i++)
		is_shown[g_array_index(tree->rows, guint32, i)] = 1;
	return is_shown;
}
