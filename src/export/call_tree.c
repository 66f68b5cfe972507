/* call_tree: one walk over the slices of a track. A parent stands before its children, so that the node of
 * a slice's parent is known when the slice's turn comes. */
#include "export/call_tree.h"

#include "export/viewer_ids.h"
#include "trace/own_time.h"

static guint64 key_of(guint32 parent, guint32 name)
{
	return (guint64)parent << 32 | name;
}

static struct call_node *node_at(struct call_tree *tree, guint32 node)
{
	return &g_array_index(tree->nodes, struct call_node, node);
}

static guint32 add_node(struct call_tree *tree, guint32 parent, guint32 track, guint32 name)
{
	struct call_node node = { .parent = parent, .track = track, .name = name };

	g_array_append_val(tree->nodes, node);
	return tree->nodes->len - 1;
}

static guint32 child_of(struct call_tree *tree, guint32 parent, guint32 name)
{
	guint64 key = key_of(parent, name);
	gpointer found;
	guint64 *kept;

	if (g_hash_table_lookup_extended(tree->children, &key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	kept = g_new(guint64, 1);
	*kept = key;
	g_hash_table_insert(tree->children, kept, GUINT_TO_POINTER(tree->nodes->len));
	return add_node(tree, parent, TACHO_NONE, name);
}

/* The node of the slice right around `slice`, of its track where none is, or none that goes out. `nodes` has
 * those of the track's slices, `own` is the track's own. */
static guint32 parent_node(const struct call_tree *tree, const guint32 *nodes, guint32 own,
			   guint32 slice)
{
	const TachoSlices *slices = &tree->timeline->slices;
	guint32 parent = slices->parent[slice], node = TACHO_NONE;

	if (parent != TACHO_NONE)
		node = nodes[parent - tacho_timeline_track(tree->timeline, slices->track[slice])
					      ->first_slice];
	return node == TACHO_NONE ? own : node;
}

static void add_track(struct call_tree *tree, const struct export_scope *scope, guint32 index)
{
	const TachoSlices *slices = &tree->timeline->slices;
	const TachoTrack *track = tacho_timeline_track(tree->timeline, index);
	g_autofree guint32 *nodes = g_new(guint32, track->n_slices);
	g_autofree gint64 *own_ns = NULL;
	guint32 own = TACHO_NONE;

	if (track->kind != TACHO_TRACK_ASYNC) /* where nothing is inside another */
		own_ns = own_times(slices, track->first_slice, track->n_slices, NULL);

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i, parent;

		nodes[i] = TACHO_NONE;
		if (own == TACHO_NONE && export_scope_has_slice(scope, slice))
			own = add_node(tree, CALL_TREE_ROOT, index, track->name);
		if (own == TACHO_NONE)
			continue;
		parent = parent_node(tree, nodes, own, slice);
		if (!export_scope_has_slice(scope, slice))
			continue; /* its parent goes out, but not the step that it is in */
		nodes[i] = child_of(tree, parent, slices->name[slice]);
		node_at(tree, nodes[i])->count++;
		node_at(tree, nodes[i])->self_ns += own_ns ? own_ns[i] : slices->duration_ns[slice];
	}
}

void call_tree_init(struct call_tree *tree, const struct export_scope *scope)
{
	tree->timeline = scope->timeline;
	tree->nodes = g_array_new(FALSE, FALSE, sizeof(struct call_node));
	tree->children = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	add_node(tree, TACHO_NONE, TACHO_NONE, 0);
	for (guint32 i = 0; i < scope->timeline->tracks->len; i++)
		add_track(tree, scope, i);
}

void call_tree_release(struct call_tree *tree)
{
	g_array_unref(tree->nodes);
	g_hash_table_unref(tree->children);
}

gchar *call_tree_node_name(const struct call_tree *tree, guint32 node)
{
	const struct call_node *row = call_tree_node(tree, node);
	g_autofree gchar *process = NULL, *track = NULL, *name = NULL;

	if (row->track == TACHO_NONE) {
		name = g_utf8_make_valid(tacho_timeline_string(tree->timeline, row->name), -1);
	} else {
		process = viewer_process_name(
			tree->timeline, tacho_timeline_track(tree->timeline, row->track)->process);
		track = viewer_track_name(tree->timeline, row->track);
		name = g_strdup_printf("%s %s", process, track);
	}
	for (gchar *at = name; *at; at++)
		if (g_ascii_iscntrl(*at))
			*at = ' ';
	return g_steal_pointer(&name);
}
