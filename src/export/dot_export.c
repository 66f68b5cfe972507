/* dot_export: which operation calls which, as a graph for Graphviz: a node a distinct name, with its time,
 * an arrow a caller and callee, with how often. Redder and larger is what takes longer by itself.
 * (1) A name that calls itself is one node with an arrow to itself.
 * (2) Nodes and arrows stand in the order in which the run first has them. */
#include <tacho/export.h>

#include "base/time_units.h"
#include "export/call_tree.h"
#include "export/export_output.h"

#define MIN_FONT 10 /* points */
#define MAX_FONT 24

struct name_sum {
	guint32 name;
	guint64 count;
	gint64 self_ns;
};

struct dot_export {
	const struct call_tree *tree;
	GHashTable *rows; /* of sums, by name */
	GArray *sums;	  /* struct name_sum, by first sight */
	GHashTable *arrow_rows;
	GArray *arrows; /* struct arrow, by first sight */
	gint64 most_self_ns;
};

struct arrow {
	guint64 ends; /* rows of sums: from, to */
	guint64 count;
};

static guint row_of_name(struct dot_export *export, guint32 name)
{
	struct name_sum sum = { .name = name };
	gpointer found;

	if (g_hash_table_lookup_extended(export->rows, GUINT_TO_POINTER(name), NULL, &found))
		return GPOINTER_TO_UINT(found);
	g_hash_table_insert(export->rows, GUINT_TO_POINTER(name),
			    GUINT_TO_POINTER(export->sums->len));
	g_array_append_val(export->sums, sum);
	return export->sums->len - 1;
}

static void add_arrow(struct dot_export *export, guint from, guint to, guint64 count)
{
	struct arrow arrow = { (guint64)from << 32 | to, count };
	gpointer found;
	guint64 *key;

	if (g_hash_table_lookup_extended(export->arrow_rows, &arrow.ends, NULL, &found)) {
		g_array_index(export->arrows, struct arrow, GPOINTER_TO_UINT(found)).count += count;
		return;
	}
	key = g_new(guint64, 1);
	*key = arrow.ends;
	g_hash_table_insert(export->arrow_rows, key, GUINT_TO_POINTER(export->arrows->len));
	g_array_append_val(export->arrows, arrow);
}

static void sum_up(struct dot_export *export)
{
	const struct call_tree *tree = export->tree;

	for (guint32 i = 1; i < tree->nodes->len; i++) {
		const struct call_node *node = call_tree_node(tree, i), *parent;
		guint row;

		if (node->track != TACHO_NONE)
			continue;
		row = row_of_name(export, node->name);
		g_array_index(export->sums, struct name_sum, row).count += node->count;
		g_array_index(export->sums, struct name_sum, row).self_ns += node->self_ns;
		parent = call_tree_node(tree, node->parent);
		if (parent->track == TACHO_NONE)
			add_arrow(export, row_of_name(export, parent->name), row, node->count);
	}
	for (guint i = 0; i < export->sums->len; i++)
		export->most_self_ns = MAX(export->most_self_ns,
					   g_array_index(export->sums, struct name_sum, i).self_ns);
}

/* Between quotation marks. */
static gchar *quoted(const gchar *name)
{
	g_autofree gchar *valid = g_utf8_make_valid(name, -1);
	GString *text = g_string_new(NULL);

	for (const gchar *at = valid; *at; at++) {
		if (*at == '"' || *at == '\\')
			g_string_append_c(text, '\\');
		g_string_append_c(text, g_ascii_iscntrl(*at) ? ' ' : *at);
	}
	return g_string_free(text, FALSE);
}

static gboolean write_node(const struct dot_export *export, guint row, FILE *out)
{
	const struct name_sum *sum = &g_array_index(export->sums, struct name_sum, row);
	g_autofree gchar *name = quoted(tacho_timeline_string(export->tree->timeline, sum->name));
	gdouble share = (gdouble)sum->self_ns / (gdouble)MAX(export->most_self_ns, 1);

	/* Graphviz' colours are hue, saturation and value. */
	return fprintf(out,
		       "  n%u [label=\"%s\\n%.3f ms itself, %" G_GUINT64_FORMAT
		       " times\", fillcolor=\"0.000 %.3f 1.000\", fontsize=%u];\n",
		       row, name, MS(sum->self_ns), sum->count, share,
		       MIN_FONT + (guint)(share * (MAX_FONT - MIN_FONT))) >= 0;
}

static gboolean write_arrow(const struct arrow *arrow, FILE *out)
{
	return fprintf(out, "  n%u -> n%u [label=\"%" G_GUINT64_FORMAT "\"];\n",
		       (guint)(arrow->ends >> 32), (guint)arrow->ends, arrow->count) >= 0;
}

/* Where a write fails, it ends; export_output_finish() tells why. */
static void write_graph(const struct dot_export *export, FILE *out)
{
	if (fputs("digraph tacho {\n"
		  "  rankdir=LR;\n"
		  "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n",
		  out) < 0)
		return;
	for (guint i = 0; i < export->sums->len; i++)
		if (!write_node(export, i, out))
			return;
	for (guint i = 0; i < export->arrows->len; i++)
		if (!write_arrow(&g_array_index(export->arrows, struct arrow, i), out))
			return;
	fputs("}\n", out);
}

static void dot_export_init(struct dot_export *export, const struct call_tree *tree)
{
	export->tree = tree;
	export->rows = g_hash_table_new(NULL, NULL);
	export->sums = g_array_new(FALSE, FALSE, sizeof(struct name_sum));
	export->arrow_rows = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	export->arrows = g_array_new(FALSE, FALSE, sizeof(struct arrow));
	export->most_self_ns = 0;
	sum_up(export);
}

static void dot_export_release(struct dot_export *export)
{
	g_hash_table_unref(export->rows);
	g_array_unref(export->sums);
	g_hash_table_unref(export->arrow_rows);
	g_array_unref(export->arrows);
}

gboolean tacho_export_dot(const TachoTimeline *timeline, const TachoExportOptions *options,
			  FILE *out, GError **error)
{
	struct export_scope scope;
	struct call_tree tree;
	struct dot_export export;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	call_tree_init(&tree, &scope);
	dot_export_init(&export, &tree);
	write_graph(&export, out);
	dot_export_release(&export);
	call_tree_release(&tree);
	export_scope_release(&scope);
	return export_output_finish(out, options, error);
}
