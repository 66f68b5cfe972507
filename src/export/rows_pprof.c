/* rows_pprof: the rows of a profile view as a profile for pprof. */
#include <tacho/export.h>

#include <math.h>

#include "export/pprof_writer.h"
#include "export/source_place.h"

static const struct {
	const gchar *key;
	struct pprof_type type;
	gdouble scale; /* from the table's unit */
} metrics[TACHO_N_METRICS] = {
	[TACHO_METRIC_TIME] = { "total_ms", { "time", "nanoseconds" }, 1e6 },
	[TACHO_METRIC_DEVICE] = { "total_device_ms", { "device", "nanoseconds" }, 1e6 },
	[TACHO_METRIC_HOST] = { "total_host_ms", { "host", "nanoseconds" }, 1e6 },
	[TACHO_METRIC_ALLOCATED] = { "total_allocated_bytes", { "requested", "bytes" }, 1 },
	[TACHO_METRIC_PEAK] = { "total_peak_bytes", { "peak", "bytes" }, 1 },
	[TACHO_METRIC_RESIDUAL] = { "total_residual_bytes", { "residual", "bytes" }, 1 },
	[TACHO_METRIC_OUTPUT] = { "total_output_bytes", { "output", "bytes" }, 1 },
	[TACHO_METRIC_PARAMS] = { "total_params", { "parameters", "count" }, 1 },
	[TACHO_METRIC_FLOPS] = { "total_flops", { "flops", "count" }, 1 },
	[TACHO_METRIC_RUNS] = { "total_runs", { "runs", "count" }, 1 },
};

enum { RUNS, VALUE, N_VALUES };

struct row {
	guint64 function;
	guint parent; /* row; 0 is the root */
	gdouble own[N_VALUES];
};

static guint64 add_function(pprof_writer *writer, const gchar *label)
{
	g_autofree gchar *name = g_utf8_make_valid(label, -1);
	g_autofree gchar *file = NULL;
	const gchar *function;
	gint64 line;

	for (gchar *at = name; *at; at++)
		if (g_ascii_iscntrl(*at))
			*at = ' ';
	file = source_place_take_file(name, &line, &function);
	return pprof_writer_function(writer, name, file, line);
}

/* Rows stand behind the one that they are under; what theirs is, is not that one's own. */
static struct row *read_rows(pprof_writer *writer, const TachoTable *table, TachoMetric metric)
{
	guint n = tacho_table_n_rows(table);
	struct row *rows = g_new0(struct row, n + 1);
	g_autoptr(GHashTable) row_of = g_hash_table_new(NULL, NULL); /* id -> row */

	for (guint i = 1; i < n; i++) {
		gdouble total[N_VALUES] = {
			tacho_table_cell_number(table, i, "total_runs"),
			tacho_table_cell_number(table, i, metrics[metric].key) *
				metrics[metric].scale,
		};
		guint id = (guint)tacho_table_cell_number(table, i, "id");
		guint above = (guint)tacho_table_cell_number(table, i, "parent_id");

		g_hash_table_insert(row_of, GUINT_TO_POINTER(id), GUINT_TO_POINTER(i));
		rows[i].function = add_function(writer, tacho_table_cell_text(table, i, "label"));
		rows[i].parent =
			GPOINTER_TO_UINT(g_hash_table_lookup(row_of, GUINT_TO_POINTER(above)));
		for (guint value = 0; value < N_VALUES; value++) {
			rows[i].own[value] += total[value];
			rows[rows[i].parent].own[value] -= total[value];
		}
	}
	return rows;
}

static void add_sample(pprof_writer *writer, const struct row *rows, guint at)
{
	gint64 values[N_VALUES] = { llround(rows[at].own[RUNS]), llround(rows[at].own[VALUE]) };
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint64));

	if (!values[RUNS] && !values[VALUE])
		return;
	for (; at; at = rows[at].parent)
		g_array_append_val(stack, rows[at].function);
	pprof_writer_sample(writer, (const guint64 *)stack->data, stack->len, values);
}

gboolean tacho_export_rows_pprof(const TachoTable *table, const TachoTimeline *timeline,
				 TachoMetric metric, FILE *out, GError **error)
{
	struct pprof_type types[N_VALUES] = { { "count", "count" }, metrics[metric].type };
	pprof_writer *writer = pprof_writer_new(timeline, types, N_VALUES);
	g_autofree struct row *rows = read_rows(writer, table, metric);
	gboolean is_written;

	for (guint i = 1; i < tacho_table_n_rows(table); i++)
		add_sample(writer, rows, i);
	is_written = pprof_writer_write(writer, out, error);
	pprof_writer_free(writer);
	return is_written;
}
