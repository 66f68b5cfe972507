/* graph_view: operations by what they need: each above the operations whose results it reads.
 *
 * A node is the n-th operation of its name at its place in a step ("Net/aten::relu", then
 * "Net/aten::relu#1"); it stands for the outermost operation that has tensors, with all that runs
 * inside. An operation reads what another wrote when one of its inputs lies in a storage that the other
 * was the last to have among its outputs, in the same step of the same rank.
 *
 * (1) total is tfprof's: an operation and all it needs that none before it has claimed; it hangs on the
 *     order of names. (2) needed is an operation and all it needs, and longest the longest chain of
 *     them: neither hangs on any order. (3) Steps are not connected, so what one step's optimizer wrote
 *     is the next one's beginning; circles come only from steps that differ, and are cut. */
#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "analyze/scope_places.h"
#include "base/for_each.h"
#include "base/order.h"

#define MAX_WALK 200000000u /* edges looked at for `needed`; beyond, it is not known */

/* The slice that a node stands for in one step, or the work of a device that it did again. */
struct graph_slice {
	guint32 slice, node;
};

struct graph_count {
	struct scope_places *places;
	struct op_facts facts;
	struct profile_tree *tree; /* of the graph */
	GArray *slices;		   /* struct graph_slice */
	GHashTable *by_name;	   /* name -> node, borrowed */
	GHashTable *edges;	   /* gint64 from << 32 | to */
	GHashTable *writers;	   /* storage -> node, in this step */
	GHashTable *seen;	   /* place -> how often in this step */
	guint step;
	GArray *runs; /* struct op_run of one rank and step, all threads */
};

static gboolean has_tensors(const TachoTimeline *timeline, guint32 slice)
{
	TachoOpArgs args;

	return tacho_slice_op(timeline, slice, &args) && (args.n_inputs || args.n_outputs);
}

/* The outermost operation with tensors at or around `slice`, or `slice` itself. */
static guint32 graph_op(const TachoTimeline *timeline, guint32 slice)
{
	guint32 outermost = slice;

	for (guint32 at = slice; at != TACHO_NONE; at = timeline->slices.parent[at])
		if (timeline->slices.kind[at] == TACHO_SLICE_OP && has_tensors(timeline, at))
			outermost = at;
	return outermost;
}

/* The last two parts of a name: the module, mostly, and the operation. */
static const gchar *short_label(const gchar *name)
{
	const gchar *label = strrchr(name, '/');

	while (label && label > name && label[-1] != '/')
		label--;
	return label ? label : name;
}

/* The name of a place; `other` where it is none: nobody looked at the operation. */
static const gchar *name_of_place(const struct graph_count *count, guint32 place,
				  const gchar *other)
{
	return place < count->places->tree->nodes->len
		       ? profile_node_at(count->places->tree, place)->name
		       : other;
}

/* The node of that name, made when new. */
static guint32 take_node(struct graph_count *count, const gchar *name, const gchar *label,
			 const gchar *type)
{
	gpointer found = g_hash_table_lookup(count->by_name, name);
	guint32 node;

	if (found)
		return GPOINTER_TO_UINT(found);
	node = profile_tree_add(count->tree, name, label, type);
	g_hash_table_insert(count->by_name, (gpointer)profile_node_at(count->tree, node)->name,
			    GUINT_TO_POINTER(node));
	return node;
}

static guint32 find_node(struct graph_count *count, guint32 slice)
{
	const TachoTimeline *timeline = count->places->timeline;
	guint32 place = count->places->nodes[slice];
	const gchar *base = name_of_place(count, place, tacho_slice_name(timeline, slice));
	guint nth = GPOINTER_TO_UINT(g_hash_table_lookup(count->seen, GUINT_TO_POINTER(place + 1)));
	g_autofree gchar *name = nth ? g_strdup_printf("%s#%u", base, nth) : g_strdup(base);

	g_hash_table_insert(count->seen, GUINT_TO_POINTER(place + 1), GUINT_TO_POINTER(nth + 1));
	return take_node(count, name, short_label(name),
			 tacho_timeline_string(timeline, tacho_slice_type(timeline, slice)));
}

static void add_edge(struct graph_count *count, guint32 from, guint32 to)
{
	gint64 key = (gint64)from << 32 | to;

	if (from == to || g_hash_table_contains(count->edges, &key))
		return;
	g_hash_table_add(count->edges, g_memdup2(&key, sizeof(key)));
	profile_tree_link(count->tree, from, to);
}

static void connect(struct graph_count *count, guint32 node, guint32 slice)
{
	const TachoTimeline *timeline = count->places->timeline;
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++) {
		gpointer writer = g_hash_table_lookup(count->writers, &tensor.storage);

		if (tensor.storage && writer)
			add_edge(count, node, GPOINTER_TO_UINT(writer));
	}
	for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &tensor); i++)
		if (tensor.storage)
			g_hash_table_insert(count->writers,
					    g_memdup2(&tensor.storage, sizeof(tensor.storage)),
					    GUINT_TO_POINTER(node));
}

static gint compare_runs(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoTimeline *timeline = data;
	const struct op_run *x = a, *y = b;
	gint64 x_ns = timeline->slices.start_ns[x->slice];
	gint64 y_ns = timeline->slices.start_ns[y->slice];

	return ORDER(x->step, y->step) ?: ORDER(x_ns, y_ns) ?: ORDER(x->slice, y->slice);
}

static void collect_run(const struct op_run *run, gpointer data)
{
	g_array_append_val((GArray *)data, *run);
}

static void begin_step(struct graph_count *count, guint step)
{
	count->step = step;
	g_hash_table_remove_all(count->writers);
	g_hash_table_remove_all(count->seen);
}

/* Runs are in the order of time: an operation before those inside it. */
static void add_runs(struct graph_count *count)
{
	const TachoTimeline *timeline = count->places->timeline;
	g_autoptr(GHashTable) nodes = g_hash_table_new(NULL, NULL); /* slice -> node */

	FOR_EACH_AT(const struct op_run, run, i, count->runs) {
		guint32 slice = graph_op(timeline, run->slice);
		guint32 node;

		if (i == 0 || run->step != count->step) {
			begin_step(count, run->step);
			g_hash_table_remove_all(nodes);
		}
		node = GPOINTER_TO_UINT(g_hash_table_lookup(nodes, GUINT_TO_POINTER(slice)));
		if (!node) {
			struct graph_slice row = { .slice = slice };

			node = row.node = find_node(count, slice);
			g_array_append_val(count->slices, row);
			g_hash_table_insert(nodes, GUINT_TO_POINTER(slice), GUINT_TO_POINTER(node));
			connect(count, node, slice);
		}
		profile_add_run(count->tree, node, timeline, &count->facts, run);
		if (slice != run->slice)
			profile_node_at(count->tree, node)->self[TACHO_METRIC_RUNS]--;
	}
}

/* What graphs did again reads what nobody recorded: it stands by itself, by the place of what was captured. */
static void add_replay(const struct graph_replay *replay, gpointer data)
{
	struct graph_count *count = data;
	const TachoTimeline *timeline = count->places->timeline;
	guint32 place = replay->op == TACHO_NONE ? TACHO_NONE : count->places->nodes[replay->op];
	g_autofree gchar *name = g_strdup_printf(
		"[replay]/%s",
		name_of_place(
			count, place,
			tacho_timeline_string(timeline, graph_replay_name(timeline, replay))));
	guint32 node = take_node(count, name, name, NULL);
	struct graph_slice row;

	profile_add_replay(count->tree, node, timeline, replay);
	row = (struct graph_slice){ replay->work, node };
	g_array_append_val(count->slices, row);
}

static gint compare_names(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct profile_tree *tree = data;

	return strcmp(profile_node_at(tree, *(const guint32 *)a)->name,
		      profile_node_at(tree, *(const guint32 *)b)->name);
}

/* Roots are what nobody needs; of a circle that nobody else needs, the first by name. */
static void add_roots(struct profile_tree *tree)
{
	g_autofree guint8 *is_needed = g_new0(guint8, tree->nodes->len);
	g_autoptr(GArray) roots = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint n_roots = 0;

	for (guint i = 1; i < tree->nodes->len; i++) {
		const GArray *inputs = profile_node_at(tree, i)->inputs;

		for (guint j = 0; inputs && j < inputs->len; j++)
			is_needed[g_array_index(inputs, guint32, j)] = 1;
	}
	for (guint pass = 0; pass < 2; pass++) {
		for (guint32 i = 1; i < tree->nodes->len; i++)
			if (is_needed[i] == pass)
				g_array_append_val(roots, i);
		if (roots->len > n_roots)
			g_qsort_with_data(roots->data + n_roots * sizeof(guint32),
					  (gint)(roots->len - n_roots), sizeof(guint32),
					  compare_names, tree);
		n_roots = roots->len;
	}
	for (guint i = 0; i < roots->len; i++)
		profile_tree_link(tree, 0, g_array_index(roots, guint32, i));
}

/* --- what hangs on no order ------------------------------------------------------------------- */

struct visit {
	guint32 node;
	guint next; /* input to look at */
};

/* Depth first, inputs before what needs them; an input on the way itself would close a circle. */
static void find_longest(struct profile_tree *tree)
{
	g_autofree guint8 *is_seen = g_new0(guint8, tree->nodes->len);
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(struct visit));
	struct visit root = { 0, 0 };

	g_array_append_val(stack, root);
	while (stack->len) {
		struct visit *top = &g_array_index(stack, struct visit, stack->len - 1);
		struct profile_node *node = profile_node_at(tree, top->node);
		gdouble longest_ns = 0;

		if (node->inputs && top->next < node->inputs->len) {
			struct visit below = { g_array_index(node->inputs, guint32, top->next++),
					       0 };

			if (!is_seen[below.node]) {
				is_seen[below.node] = 1;
				g_array_append_val(stack, below);
			}
			continue;
		}
		for (guint i = 0; node->inputs && i < node->inputs->len; i++) {
			guint32 input = g_array_index(node->inputs, guint32, i);

			longest_ns = MAX(longest_ns, profile_node_at(tree, input)->longest_ns);
		}
		node->longest_ns = longest_ns + node->self[TACHO_METRIC_TIME];
		g_array_set_size(stack, stack->len - 1);
	}
}

/* The time of `from` and all it needs; `seen` holds the number of the walk that saw a node last. */
static gdouble walk_needed(const struct profile_tree *tree, guint32 from, guint32 *seen,
			   guint64 *n_looked)
{
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint32));
	gdouble needed_ns = 0;

	g_array_append_val(stack, from);
	seen[from] = from + 1;
	while (stack->len) {
		const struct profile_node *node =
			profile_node_at(tree, g_array_index(stack, guint32, stack->len - 1));

		g_array_set_size(stack, stack->len - 1);
		needed_ns += node->self[TACHO_METRIC_TIME];
		for (guint i = 0; node->inputs && i < node->inputs->len; i++) {
			guint32 input = g_array_index(node->inputs, guint32, i);

			++*n_looked;
			if (seen[input] == from + 1)
				continue;
			seen[input] = from + 1;
			g_array_append_val(stack, input);
		}
	}
	return needed_ns;
}

static void find_needed(struct profile_tree *tree)
{
	g_autofree guint32 *seen = g_new0(guint32, tree->nodes->len);
	guint64 n_looked = 0;

	for (guint i = 0; i < tree->rows->len; i++) {
		guint32 node = g_array_index(tree->rows, guint32, i);

		profile_node_at(tree, node)->needed_ns =
			n_looked < MAX_WALK ? walk_needed(tree, node, seen, &n_looked)
					    : (gdouble)NAN;
	}
}

/* --- the view --------------------------------------------------------------------------------- */

struct graph_profile {
	struct selection selection;
	struct profile_tree places_tree, tree;
	struct scope_places places;
	struct graph_count count;
};

static void graph_profile_init(struct graph_profile *profile, const TachoTimeline *timeline,
			       const TachoFilter *filter)
{
	struct graph_count *count = &profile->count;

	*count = (struct graph_count){ .places = &profile->places, .tree = &profile->tree };
	selection_init(&profile->selection, timeline, filter);
	profile_tree_init(&profile->places_tree, NULL, &profile->selection);
	profile_tree_init(&profile->tree, filter ? filter->profile : NULL, &profile->selection);
	scope_places_init(&profile->places, &profile->places_tree, &profile->selection, FALSE);
	op_facts_init(&count->facts, timeline, TRUE);
	count->by_name = g_hash_table_new(g_str_hash, g_str_equal);
	count->edges = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	count->writers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	count->seen = g_hash_table_new(NULL, NULL);
	count->runs = g_array_new(FALSE, FALSE, sizeof(struct op_run));
	count->slices = g_array_new(FALSE, FALSE, sizeof(struct graph_slice));
	visit_ops(&profile->selection, collect_run, count->runs);
	g_array_sort_with_data(count->runs, compare_runs, (gpointer)timeline);
	add_runs(count);
	visit_replays(&profile->selection, add_replay, count);
	add_roots(&profile->tree);
	profile_tree_select(&profile->tree, &profile->selection);
}

static void graph_profile_release(struct graph_profile *profile)
{
	struct graph_count *count = &profile->count;

	g_hash_table_unref(count->by_name);
	g_hash_table_unref(count->edges);
	g_hash_table_unref(count->writers);
	g_hash_table_unref(count->seen);
	g_array_unref(count->runs);
	g_array_unref(count->slices);
	op_facts_release(&count->facts);
	scope_places_release(&profile->places);
	profile_tree_release(&profile->places_tree);
	profile_tree_release(&profile->tree);
	selection_release(&profile->selection);
}

TachoTable *tacho_view_graph(const TachoTimeline *timeline, const TachoFilter *filter)
{
	struct graph_profile profile;
	TachoTable *table;

	graph_profile_init(&profile, timeline, filter);
	find_longest(&profile.tree);
	find_needed(&profile.tree);
	table = profile_tree_table(&profile.tree, "graph");
	profile_tree_note_hidden(&profile.tree, &profile.selection, table);
	selection_note(&profile.selection, table);
	graph_profile_release(&profile);
	return table;
}

/* A node stands for what runs inside its operation, too, so the calls there launch for it. */
static void mark_launches(const TachoTimeline *timeline, guint8 *slices)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 at = timeline->slices.launch[i];

		while (at != TACHO_NONE && !slices[at])
			at = timeline->slices.parent[at];
		slices[i] |= at != TACHO_NONE;
	}
}

guint8 *graph_slices(const TachoTimeline *timeline, const TachoFilter *filter)
{
	struct graph_profile profile;
	guint8 *slices = g_new0(guint8, timeline->slices.n + 1);
	g_autofree guint8 *is_shown = NULL;

	graph_profile_init(&profile, timeline, filter);
	is_shown = profile_tree_shown(&profile.tree);
	FOR_EACH(const struct graph_slice, row, profile.count.slices)
		slices[row->slice] |= is_shown[row->node];
	mark_launches(timeline, slices);
	graph_profile_release(&profile);
	return slices;
}
