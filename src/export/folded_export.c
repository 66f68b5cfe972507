/* folded_export: stacks as flame graph programs read them: "process thread;outer;inner NANOSECONDS", a line
 * a stack, with the time in which nothing further was called. A ";" in a name, which divides frames,
 * becomes ":".
 * The format: github.com/brendangregg/FlameGraph, stackcollapse. */
#include <tacho/export.h>

#include "export/call_tree.h"
#include "export/export_output.h"

static GPtrArray *name_nodes(const struct call_tree *tree)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

	for (guint32 node = 0; node < tree->nodes->len; node++)
		g_ptr_array_add(names, g_strdelimit(call_tree_node_name(tree, node), ";", ':'));
	return names;
}

/* The outermost frame first. `path` is room for the nodes on the way. */
static gboolean write_stack(const struct call_tree *tree, const GPtrArray *names, guint32 node,
			    GArray *path, FILE *out)
{
	gint64 self_ns = call_tree_node(tree, node)->self_ns;

	g_array_set_size(path, 0);
	for (; node != CALL_TREE_ROOT; node = call_tree_node(tree, node)->parent)
		g_array_append_val(path, node);
	for (guint i = path->len; i-- > 0;)
		if (fprintf(out, "%s%c",
			    (const gchar *)names->pdata[g_array_index(path, guint32, i)],
			    i ? ';' : ' ') < 0)
			return FALSE;
	return fprintf(out, "%" G_GINT64_FORMAT "\n", self_ns) >= 0;
}

static void write_stacks(const struct call_tree *tree, FILE *out)
{
	g_autoptr(GPtrArray) names = name_nodes(tree);
	g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 node = 1; node < tree->nodes->len; node++)
		if (call_tree_node(tree, node)->self_ns > 0 &&
		    !write_stack(tree, names, node, path, out))
			return; /* export_output_finish() tells why */
}

gboolean tacho_export_folded(const TachoTimeline *timeline, const TachoExportOptions *options,
			     FILE *out, GError **error)
{
	struct export_scope scope;
	struct call_tree tree;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	call_tree_init(&tree, &scope);
	write_stacks(&tree, out);
	call_tree_release(&tree);
	export_scope_release(&scope);
	return export_output_finish(out, options, error);
}
