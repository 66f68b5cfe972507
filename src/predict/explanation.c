#include "predict/explanation.h"

#include <string.h>

#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/order.h"

static const gchar *const kind_names[N_RESOURCE_KINDS] = {
	[RESOURCE_HOST] = "host", [RESOURCE_DEVICE] = "device", [RESOURCE_LINK] = "link",
	[RESOURCE_WAIT] = "wait", [RESOURCE_LAUNCH] = "launch", [RESOURCE_GAP] = "gap",
};

static const TachoColumn columns[] = {
	TEXT_COLUMN("resource", "resource", .is_flexible = TRUE),
	NUMBER_COLUMN("before_ms", "before ms", 3),
	NUMBER_COLUMN("after_ms", "ms", 3),
	NUMBER_COLUMN("change_ms", "change", 3),
	NUMBER_COLUMN("measured_ms", "measured", 3),
	NUMBER_COLUMN("scaled_ms", "scaled", 3),
	NUMBER_COLUMN("modelled_ms", "modelled", 3),
	NUMBER_COLUMN("guessed_ms", "guessed", 3),
	JSON_TEXT("kind"),
	JSON_INTEGER("rank"),
	JSON_NUMBER("before_measured_ms"),
	JSON_NUMBER("before_scaled_ms"),
	JSON_NUMBER("before_modelled_ms"),
	JSON_NUMBER("before_guessed_ms"),
};

/* A resource before and after the change. */
struct row {
	const struct resource *resource;
	gint64 before_ns[N_ORIGINS], after_ns[N_ORIGINS];
};

static gint64 sum_of(const gint64 *ns)
{
	gint64 sum_ns = 0;

	for (guint i = 0; i < N_ORIGINS; i++)
		sum_ns += ns[i];
	return sum_ns;
}

static void add_to(gint64 *ns, const gint64 *more_ns)
{
	for (guint i = 0; i < N_ORIGINS; i++)
		ns[i] += more_ns[i];
}

static struct row *find_row(GArray *rows, const struct resource *resource)
{
	struct row row = { .resource = resource };

	for (guint i = 0; i < rows->len; i++)
		if (strcmp(g_array_index(rows, struct row, i).resource->name, resource->name) == 0)
			return &g_array_index(rows, struct row, i);
	g_array_append_val(rows, row);
	return &g_array_index(rows, struct row, rows->len - 1);
}

static void add_shares(GArray *rows, const struct path_shares *paths, guint32 step,
		       gboolean is_after)
{
	for (guint32 i = g_array_index(paths->first, guint32, step);
	     i < g_array_index(paths->first, guint32, step + 1); i++) {
		const struct path_share *share =
			&g_array_index(paths->shares, struct path_share, i);
		struct row *row = find_row(
			rows, &g_array_index(paths->resources, struct resource, share->resource));

		add_to(is_after ? row->after_ns : row->before_ns, share->ns);
	}
}

static gint64 most_of(const struct row *row)
{
	return MAX(sum_of(row->before_ns), sum_of(row->after_ns));
}

static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const struct row *x = a, *y = b;

	return ORDER(most_of(y), most_of(x)) ?: strcmp(x->resource->name, y->resource->name);
}

static void add_row(TachoTable *table, const gchar *name, const gchar *kind, gint32 rank,
		    const gint64 *before_ns, const gint64 *after_ns)
{
	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_number(table, (gdouble)sum_of(before_ns) / 1e6);
	tacho_table_number(table, (gdouble)sum_of(after_ns) / 1e6);
	tacho_table_number(table, (gdouble)(sum_of(after_ns) - sum_of(before_ns)) / 1e6);
	for (guint i = 0; i < N_ORIGINS; i++)
		tacho_table_number(table, (gdouble)after_ns[i] / 1e6);
	tacho_table_text(table, kind);
	table_integer_if(table, rank >= 0, rank);
	for (guint i = 0; i < N_ORIGINS; i++)
		tacho_table_number(table, (gdouble)before_ns[i] / 1e6);
}

TachoTable *explanation_table(const struct path_shares *before, const struct path_shares *after,
			      guint32 step, gboolean is_changed)
{
	TachoTable *table = tacho_table_new("explanation", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	gint64 before_ns[N_ORIGINS] = { 0 }, after_ns[N_ORIGINS] = { 0 };
	gint32 rank = g_array_index(after->ranks, gint32, step);

	add_shares(rows, before, step, FALSE);
	add_shares(rows, after, step, TRUE);
	g_array_sort(rows, compare_rows);
	for (guint i = 0; i < rows->len; i++) {
		add_to(before_ns, g_array_index(rows, struct row, i).before_ns);
		add_to(after_ns, g_array_index(rows, struct row, i).after_ns);
	}
	add_row(table, "the whole step", "step", rank, before_ns, after_ns);
	FOR_EACH(const struct row, row, rows)
		add_row(table, row->resource->name, kind_names[row->resource->kind],
			row->resource->rank, row->before_ns, row->after_ns);
	if (!is_changed) {
		table_hide_column(table, "before_ms");
		table_hide_column(table, "change_ms");
	}
	return table;
}
