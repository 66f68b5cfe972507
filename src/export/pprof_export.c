/* pprof_export: a profile for pprof and the many that read its format: a sample a stack of names, with
 * how often it was there and the time in which nothing further was called. The outermost frame is the
 * thread. */
#include <tacho/export.h>

#include "export/call_tree.h"
#include "export/export_output.h"
#include "export/pprof_writer.h"
#include "export/source_place.h"

static const struct pprof_type types[] = { { "calls", "count" }, { "time", "nanoseconds" } };

static void add_sample(pprof_writer *writer, const struct call_tree *tree, guint32 node,
		       const guint64 *function_of)
{
	const struct call_node *row = call_tree_node(tree, node);
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint64));
	gint64 values[] = { (gint64)row->count, row->self_ns };

	for (; node != CALL_TREE_ROOT; node = call_tree_node(tree, node)->parent)
		g_array_append_val(stack, function_of[node]);
	pprof_writer_sample(writer, (const guint64 *)stack->data, stack->len, values);
}

static void add_samples(pprof_writer *writer, const struct call_tree *tree)
{
	g_autofree guint64 *function_of = g_new0(guint64, tree->nodes->len);

	for (guint32 node = 1; node < tree->nodes->len; node++) {
		g_autofree gchar *name = call_tree_node_name(tree, node);
		const gchar *function;
		gint64 line;
		g_autofree gchar *file = source_place_take_file(name, &line, &function);

		function_of[node] = pprof_writer_function(writer, name, file, line);
	}
	for (guint32 node = 1; node < tree->nodes->len; node++)
		if (call_tree_node(tree, node)->count)
			add_sample(writer, tree, node, function_of);
}

gboolean tacho_export_pprof(const TachoTimeline *timeline, const TachoExportOptions *options,
			    FILE *out, GError **error)
{
	pprof_writer *writer = pprof_writer_new(timeline, types, G_N_ELEMENTS(types));
	struct export_scope scope;
	struct call_tree tree;
	gboolean is_written = FALSE;

	if (export_scope_init(&scope, timeline, options, error)) {
		call_tree_init(&tree, &scope);
		add_samples(writer, &tree);
		call_tree_release(&tree);
		export_scope_release(&scope);
		is_written = pprof_writer_write(writer, out, error);
	}
	pprof_writer_free(writer);
	return is_written && export_output_finish(out, options, error);
}
