/* profile_table: the rows of a profile tree as a table. In text, names are indented by their depth and
 * only the selected columns are shown; the JSON has them all. */
#include <math.h>
#include <string.h>

#include "analyze/profile_tree.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "import/tensorflow/tensor_bundle.h"

#define INDENT	   2
#define MAX_VALUES 100 /* of a variable */
#define MAX_LEVELS 40u /* indented; what is deeper stands where these do */

static const TachoColumn columns[] = {
	TEXT_COLUMN("label", "name", .is_flexible = TRUE),
	NUMBER_COLUMN("self_params", "params self", 0),
	NUMBER_COLUMN("total_params", "params", 0),
	NUMBER_COLUMN("self_flops", "flops self", 0),
	NUMBER_COLUMN("total_flops", "flops", 0),
	NUMBER_COLUMN("gflop_per_s", "GFLOP/s", 1),
	NUMBER_COLUMN("self_allocated_bytes", "requested self", 0),
	NUMBER_COLUMN("total_allocated_bytes", "requested B", 0),
	NUMBER_COLUMN("self_peak_bytes", "peak self", 0),
	NUMBER_COLUMN("total_peak_bytes", "peak B", 0),
	NUMBER_COLUMN("self_residual_bytes", "residual self", 0),
	NUMBER_COLUMN("total_residual_bytes", "residual B", 0),
	NUMBER_COLUMN("self_output_bytes", "output self", 0),
	NUMBER_COLUMN("total_output_bytes", "output B", 0),
	SHARE_COLUMN("share_pct", "%", 1),
	NUMBER_COLUMN("self_ms", "self ms", 3),
	NUMBER_COLUMN("total_ms", "total ms", 3),
	NUMBER_COLUMN("self_device_ms", "device self", 3),
	NUMBER_COLUMN("total_device_ms", "device ms", 3),
	NUMBER_COLUMN("self_host_ms", "host self", 3),
	NUMBER_COLUMN("total_host_ms", "host ms", 3),
	NUMBER_COLUMN("needed_ms", "needed ms", 3),
	NUMBER_COLUMN("longest_ms", "longest", 3),
	TEXT_COLUMN("type", "type", .is_flexible = TRUE),
	TEXT_COLUMN("phase", "phase"),
	TEXT_COLUMN("device", "device", .is_flexible = TRUE),
	NUMBER_COLUMN("self_runs", "runs self", 1),
	NUMBER_COLUMN("total_runs", "runs", 1),
	INTEGER_COLUMN("definitions", "defined"),
	TEXT_COLUMN("input_shapes", "inputs", .is_flexible = TRUE),
	TEXT_COLUMN("tensor_value", "value", .is_flexible = TRUE),
	JSON_TEXT("name"),
	JSON_INTEGER("id"),
	JSON_INTEGER("parent_id"),
	JSON_INTEGER("depth"),
	JSON_BOOLEAN("is_accounted"),
};

/* Which columns a selected metric brings into the text; the times bring a share. */
static const struct {
	guint select;
	const gchar *keys[5];
} selected[] = {
	{ TACHO_METRIC_PARAMS, { "self_params", "total_params" } },
	{ TACHO_METRIC_FLOPS, { "self_flops", "total_flops", "gflop_per_s" } },
	{ TACHO_METRIC_ALLOCATED, { "self_allocated_bytes", "total_allocated_bytes" } },
	{ TACHO_METRIC_PEAK, { "self_peak_bytes", "total_peak_bytes" } },
	{ TACHO_METRIC_RESIDUAL, { "self_residual_bytes", "total_residual_bytes" } },
	{ TACHO_METRIC_OUTPUT, { "self_output_bytes", "total_output_bytes" } },
	{ TACHO_METRIC_TIME,
	  { "share_pct", "self_ms", "total_ms", "total_device_ms", "total_host_ms" } },
	{ TACHO_METRIC_DEVICE, { "self_device_ms", "total_device_ms" } },
	{ TACHO_METRIC_HOST, { "self_host_ms", "total_host_ms" } },
	{ TACHO_METRIC_RUNS, { "self_runs", "total_runs", "definitions" } },
	{ TACHO_SELECT_TYPES, { "type", "phase" } },
	{ TACHO_SELECT_SHAPES, { "input_shapes" } },
	{ TACHO_SELECT_DEVICE, { "device" } },
	{ TACHO_SELECT_VALUE, { "tensor_value" } },
};

static gboolean is_selected(const TachoProfileOptions *options, const gchar *key)
{
	gboolean is_chosen = FALSE, is_known = FALSE;

	for (guint i = 0; i < G_N_ELEMENTS(selected); i++)
		for (guint j = 0; j < G_N_ELEMENTS(selected[i].keys) && selected[i].keys[j]; j++)
			if (g_str_equal(selected[i].keys[j], key)) {
				is_known = TRUE;
				is_chosen |= options->select >> selected[i].select & 1;
			}
	return is_chosen || !is_known;
}

static void add_pair(TachoTable *table, const struct profile_node *node, TachoMetric metric,
		     gdouble scale)
{
	table_number_if(table, node->is_accounted, node->self[metric] / scale);
	tacho_table_number(table, node->total[metric] / scale);
}

/* What the checkpoint has for the node, where that is asked for. */
static void add_value(TachoTable *table, const struct profile_tree *tree,
		      const struct profile_node *node)
{
	const TachoProfileOptions *options = tree->options;
	g_autofree gchar *values = NULL;

	if (options->checkpoint && options->select >> TACHO_SELECT_VALUE & 1)
		values = tensor_bundle_values(options->checkpoint, node->name, MAX_VALUES);
	tacho_table_text(table, values);
}

/* Where what stands between a row and the one above it is hidden, the row is called by its path from there. */
static const gchar *shown_label(const struct profile_tree *tree, const struct profile_node *node)
{
	const gchar *above = profile_node_at(tree, node->shown_parent)->name;
	gsize n = strlen(above);

	if (!tree->has_paths || !g_str_has_prefix(node->name, above))
		return node->label;
	if (!n)
		return *node->name ? node->name : node->label;
	return node->name[n] == '/' && node->name[n + 1] ? node->name + n + 1 : node->label;
}

static void add_row(TachoTable *table, const struct profile_tree *tree, guint32 index)
{
	const struct profile_node *node = profile_node_at(tree, index);
	const struct profile_node *root = profile_node_at(tree, 0);

	tacho_table_row(table);
	table_text_indented(table, index ? shown_label(tree, node) : node->label,
			    MIN(node->depth, MAX_LEVELS) * INDENT);
	add_pair(table, node, TACHO_METRIC_PARAMS, 1);
	add_pair(table, node, TACHO_METRIC_FLOPS, 1);
	table_flop_rate(table, node->total);
	add_pair(table, node, TACHO_METRIC_ALLOCATED, 1);
	add_pair(table, node, TACHO_METRIC_PEAK, 1);
	add_pair(table, node, TACHO_METRIC_RESIDUAL, 1);
	add_pair(table, node, TACHO_METRIC_OUTPUT, 1);
	tacho_table_number(table, root->total[TACHO_METRIC_TIME] > 0
					  ? 100.0 * node->total[TACHO_METRIC_TIME] /
						    root->total[TACHO_METRIC_TIME]
					  : (gdouble)NAN);
	add_pair(table, node, TACHO_METRIC_TIME, 1e6);
	add_pair(table, node, TACHO_METRIC_DEVICE, 1e6);
	add_pair(table, node, TACHO_METRIC_HOST, 1e6);
	tacho_table_number(table, node->needed_ns / 1e6);
	tacho_table_number(table, node->longest_ns / 1e6);
	tacho_table_text(table, node->type);
	tacho_table_text(table, node->phase);
	tacho_table_text(table, node->devices && node->devices->len ? node->devices->str : NULL);
	add_pair(table, node, TACHO_METRIC_RUNS, 1);
	tacho_table_integer(table, node->definitions);
	tacho_table_text(table, node->shapes);
	add_value(table, tree, node);
	tacho_table_text(table, node->name);
	tacho_table_integer(table, index);
	table_integer_if(table, index, node->shown_parent);
	tacho_table_integer(table, node->depth);
	tacho_table_boolean(table, node->is_accounted);
}

static void note_mean(const struct profile_tree *tree, TachoTable *table)
{
	static const gchar *const notes[] = {
		"Figures are means over all chosen steps and ranks.",
		"Figures are means over the steps and ranks in which a node ran.",
		"Figures are sums over the chosen steps and ranks.",
	};

	tacho_table_note(table, "%s", notes[tree->options->mean]);
}

/* How much of the time has no formula for its floating-point operations. */
static void note_unknown(const struct profile_tree *tree, TachoTable *table)
{
	gdouble all_ns = 0, unknown_ns = 0;
	guint n_unknown = 0;

	FOR_EACH(const struct profile_node, node, tree->nodes) {
		if (!node->is_accounted)
			continue;
		all_ns += node->self[TACHO_METRIC_TIME];
		if (node->is_unknown) {
			unknown_ns += node->self[TACHO_METRIC_TIME];
			n_unknown++;
		}
	}
	if (all_ns > 0 && tree->options->select >> TACHO_METRIC_FLOPS & 1)
		tacho_table_note(table,
				 "%u operations, %.0f %% of the time, have no formula for their "
				 "floating-point operations.",
				 n_unknown, 100.0 * unknown_ns / all_ns);
}

gchar *profile_hiding_options(const TachoProfileOptions *options)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	gboolean has_minimum = FALSE;

	for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
		has_minimum |= options->min_self[metric] > 0 || options->min_total[metric] > 0;
	if (options->account)
		g_ptr_array_add(names, "--account");
	if (options->start)
		g_ptr_array_add(names, "--start");
	if (options->trim)
		g_ptr_array_add(names, "--trim");
	if (options->show)
		g_ptr_array_add(names, "--show");
	if (options->hide)
		g_ptr_array_add(names, "--hide");
	if (has_minimum)
		g_ptr_array_add(names, "--min");
	if (options->max_depth)
		g_ptr_array_add(names, "--max-depth");
	g_ptr_array_add(names, NULL);
	return g_strjoinv(", ", (gchar **)names->pdata);
}

void profile_tree_note_hidden(const struct profile_tree *tree, const struct selection *selection,
			      TachoTable *table)
{
	g_autofree gchar *hiding = profile_hiding_options(tree->options);
	guint n = 0;

	for (guint i = 1; i < tree->nodes->len; i++)
		n += profile_node_at(tree, i)->type != NULL;
	if (tree->rows->len > 1)
		return;
	if (!n)
		tacho_table_note(table,
				 "No operations were recorded in the chosen ranks and steps.");
	else if (*hiding)
		tacho_table_note(table,
				 "%u operations were recorded in the chosen ranks and steps; %s "
				 "hides them all.",
				 n, hiding);
	else if (selection->filter->name)
		tacho_table_note(table, "No operations in the chosen ranks and steps match '%s'.",
				 g_regex_get_pattern(selection->filter->name));
}

TachoTable *profile_tree_table(const struct profile_tree *tree, const gchar *name)
{
	TachoTable *table = tacho_table_new(name, columns, G_N_ELEMENTS(columns));

	for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
		if (!is_selected(tree->options, columns[i].key))
			table_hide_column(table, columns[i].key);
	if (!isfinite(profile_node_at(tree, 0)->longest_ns)) {
		table_hide_column(table, "needed_ms");
		table_hide_column(table, "longest_ms");
	}
	for (guint i = 0; i < tree->rows->len; i++)
		add_row(table, tree, g_array_index(tree->rows, guint32, i));
	note_unknown(tree, table);
	note_mean(tree, table);
	if (tree->options->select >> TACHO_SELECT_VALUE & 1 && !tree->options->checkpoint)
		tacho_table_note(
			table,
			"tensor_value comes from a checkpoint; name it with --checkpoint PREFIX.");
	return table;
}
