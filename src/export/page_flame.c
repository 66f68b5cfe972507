#include "export/page_flame.h"

#include "base/for_each.h"
#include "base/json_writer.h"
#include "export/call_tree.h"
#include "trace/function_kind.h"

#define LEAST_SHARE 4000 /* a pixel of a wide screen */

struct flame {
	const struct call_tree *tree;
	JsonWriter *json;
	gint64 *total_ns;  /* by node */
	guint32 *thread;   /* by node: the node of its thread; of the root: TACHO_NONE */
	GArray *shown;	   /* guint32 nodes; a parent stands before its children */
	gint32 *place;	   /* by node: in `shown`, -1: it is not */
	GHashTable *names; /* text -> its index + 1, owned */
	GPtrArray *texts;
	GArray *is_own; /* gboolean, by text */
};

static void sum_up(struct flame *flame)
{
	const struct call_tree *tree = flame->tree;

	for (guint32 node = tree->nodes->len; node-- > 1;) {
		const struct call_node *row = call_tree_node(tree, node);

		flame->total_ns[node] += row->self_ns;
		flame->total_ns[row->parent] += flame->total_ns[node];
	}
	for (guint32 node = 1; node < tree->nodes->len; node++) {
		guint32 parent = call_tree_node(tree, node)->parent;

		flame->thread[node] = parent == CALL_TREE_ROOT ? node : flame->thread[parent];
	}
}

static gboolean is_sampled(const struct flame *flame, guint32 node)
{
	guint32 track = call_tree_node(flame->tree, flame->thread[node])->track;

	return tacho_timeline_track(flame->tree->timeline, track)->kind == TACHO_TRACK_SAMPLED;
}

static void choose(struct flame *flame, gboolean sampled)
{
	for (guint32 node = 1; node < flame->tree->nodes->len; node++) {
		gint64 thread_ns = flame->total_ns[flame->thread[node]];

		if (is_sampled(flame, node) != sampled || flame->total_ns[node] <= 0 ||
		    flame->total_ns[node] < thread_ns / LEAST_SHARE)
			continue;
		flame->place[node] = (gint32)flame->shown->len;
		g_array_append_val(flame->shown, node);
	}
}

static guint name_index(struct flame *flame, guint32 node)
{
	gchar *name = call_tree_node_name(flame->tree, node);
	gboolean is_own;
	guint index = GPOINTER_TO_UINT(g_hash_table_lookup(flame->names, name));

	if (index) {
		g_free(name);
		return index - 1;
	}
	is_own = function_name_is_own(flame->tree->timeline,
				      call_tree_node(flame->tree, node)->name);
	g_ptr_array_add(flame->texts, name);
	g_array_append_val(flame->is_own, is_own);
	g_hash_table_insert(flame->names, name, GUINT_TO_POINTER(flame->texts->len));
	return flame->texts->len - 1;
}

static gint64 parent_place(const struct flame *flame, guint32 node)
{
	guint32 parent = call_tree_node(flame->tree, node)->parent;

	return parent == CALL_TREE_ROOT ? -1 : flame->place[parent];
}

static void write_columns(struct flame *flame)
{
	JsonWriter *json = flame->json;

	json_writer_begin_array(json_writer_key(json, "parent"));
	FOR_EACH(const guint32, node, flame->shown)
		json_writer_integer(json, parent_place(flame, *node));
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "name"));
	FOR_EACH(const guint32, node, flame->shown)
		json_writer_unsigned(json, name_index(flame, *node));
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "total_ns"));
	FOR_EACH(const guint32, node, flame->shown)
		json_writer_integer(json, flame->total_ns[*node]);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "self_ns"));
	FOR_EACH(const guint32, node, flame->shown)
		json_writer_integer(json, call_tree_node(flame->tree, *node)->self_ns);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "names"));
	FOR_EACH_POINTER(const gchar, text, flame->texts)
		json_writer_string(json, text);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "is_own"));
	FOR_EACH(const gboolean, is_own, flame->is_own)
		json_writer_unsigned(json, *is_own != 0);
	json_writer_end_array(json);
}

void page_flame_write_json(const struct export_scope *scope, JsonWriter *json)
{
	struct call_tree tree;
	struct flame flame = { .tree = &tree, .json = json };

	call_tree_init(&tree, scope);
	flame.total_ns = g_new0(gint64, tree.nodes->len);
	flame.thread = g_new0(guint32, tree.nodes->len);
	flame.place = g_new0(gint32, tree.nodes->len);
	flame.shown = g_array_new(FALSE, FALSE, sizeof(guint32));
	flame.names = g_hash_table_new(g_str_hash, g_str_equal);
	flame.is_own = g_array_new(FALSE, FALSE, sizeof(gboolean));
	flame.texts = g_ptr_array_new_with_free_func(g_free);
	sum_up(&flame);
	choose(&flame, TRUE);
	choose(&flame, FALSE);
	json_writer_begin_object(json);
	write_columns(&flame);
	json_writer_end_object(json);
	g_hash_table_unref(flame.names);
	g_ptr_array_unref(flame.texts);
	g_array_unref(flame.is_own);
	g_array_unref(flame.shown);
	g_free(flame.place);
	g_free(flame.thread);
	g_free(flame.total_ns);
	call_tree_release(&tree);
}
