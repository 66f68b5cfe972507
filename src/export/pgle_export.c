/* pgle_export: what XLA's instructions took, as text of its ProfiledInstructionsProto, for its latency hiding scheduler
 * (--xla_gpu_pgle_profile_file_or_directory_path).
 *
 *     costs { name: "all-reduce-start.1" cost_us: 840.125 }
 *
 * The cost of an instruction is the mean of what was recorded of it, as in XLA's own converter; of a collective, from when the last rank
 * had begun, so that what a rank waited for others is in none. */
#include <tacho/export.h>

#include <errno.h>
#include <string.h>

#include "export/collective_times.h"
#include "export/export_output.h"
#include "export/export_scope.h"
#include "import/read/json_scan.h"

struct cost {
	gdouble sum_ns;
	guint64 n;
};

/* The instruction that a device, or the host in its place, carried out; NULL: none is told. The caller's. */
static gchar *instruction_of(const TachoTimeline *timeline, guint32 slice)
{
	g_autofree gchar *json = NULL;
	g_autofree gchar *copy = NULL;
	struct json_scan scan;
	struct json_text key, text;

	switch (timeline->slices.kind[slice]) {
	case TACHO_SLICE_OP:
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_COLLECTIVE:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		break;
	default:
		return NULL;
	}
	json = tacho_slice_args_json(timeline, slice);
	if (!json)
		return NULL;
	copy = json_scan_copy(&scan, json);
	if (!json_take(&scan, '{'))
		return NULL;
	while (json_member(&scan, &key)) {
		if (JSON_TEXT_IS(&key, "hlo_op") && json_peek(&scan) == '"')
			return json_string(&scan, &text) ? json_text_dup(&text) : NULL;
		json_skip(&scan);
	}
	return NULL;
}

static gdouble duration_ns(const TachoTimeline *timeline, const guint32 *collective_of,
			   guint32 slice)
{
	gint64 busy_ns = 0;

	if (collective_of[slice] != TACHO_NONE)
		busy_ns = collective_busy_ns(timeline,
					     &g_array_index(timeline->collectives, TachoCollective,
							    collective_of[slice]));
	return (gdouble)(busy_ns > 0 ? busy_ns : timeline->slices.duration_ns[slice]);
}

static GHashTable *sum_costs(const TachoTimeline *timeline, const struct export_scope *scope)
{
	GHashTable *costs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree guint32 *collective_of = collective_of_slices(timeline);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gchar *name = NULL;
		struct cost *cost;

		if ((timeline->slices.flags[i] & TACHO_SLICE_OPEN) ||
		    !export_scope_has_slice(scope, i) || !(name = instruction_of(timeline, i)))
			continue;
		cost = g_hash_table_lookup(costs, name);
		if (!cost) {
			cost = g_new0(struct cost, 1);
			g_hash_table_insert(costs, name, cost);
		} else {
			g_free(name);
		}
		cost->sum_ns += duration_ns(timeline, collective_of, i);
		cost->n++;
	}
	return costs;
}

/* As protobuf's text has it: quotes and what is no letter with a backslash. */
static void write_cost(const gchar *name, const struct cost *cost, FILE *out)
{
	g_autofree gchar *escaped = g_strescape(name, NULL);
	gchar us[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_formatd(us, sizeof(us), "%.6g", cost->sum_ns / (gdouble)cost->n * 1e-3);
	fprintf(out, "costs { name: \"%s\" cost_us: %s }\n", escaped, us);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

gboolean tacho_export_pgle(const TachoTimeline *timeline, const TachoExportOptions *options,
			   FILE *out, GError **error)
{
	struct export_scope scope;
	g_autoptr(GHashTable) costs = NULL;
	g_autoptr(GList) names = NULL;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	costs = sum_costs(timeline, &scope);
	export_scope_release(&scope);
	if (g_hash_table_size(costs) == 0) {
		g_set_error_literal(
			error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE,
			"no instruction of XLA was recorded (hlo_op, in a profile of JAX "
			"or TensorFlow)");
		return FALSE;
	}
	names = g_list_sort(g_hash_table_get_keys(costs), compare_names);
	for (const GList *name = names; name; name = name->next)
		write_cost(name->data, g_hash_table_lookup(costs, name->data), out);
	return export_output_finish(out, options, error);
}
