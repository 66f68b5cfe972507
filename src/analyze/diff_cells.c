#include "analyze/diff_cells.h"

#include "analyze/group_exchange.h"
#include "base/for_each.h"

void diff_cells_init(struct diff_cells *cells)
{
	cells->rows = g_array_new(FALSE, FALSE, sizeof(struct diff_name));
	cells->cells = g_array_new(FALSE, FALSE, sizeof(struct diff_cell));
	cells->by_name = g_hash_table_new(NULL, NULL);
	cells->by_cell = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void diff_cells_release(struct diff_cells *cells)
{
	g_array_unref(cells->rows);
	g_array_unref(cells->cells);
	g_hash_table_unref(cells->by_name);
	g_hash_table_unref(cells->by_cell);
}

static guint32 find_row(struct diff_cells *cells, guint32 name)
{
	gpointer key = GUINT_TO_POINTER(name);
	guint32 place = GPOINTER_TO_UINT(g_hash_table_lookup(cells->by_name, key));
	struct diff_name row = { name, TACHO_NONE };

	if (place)
		return place - 1;
	g_array_append_val(cells->rows, row);
	g_hash_table_insert(cells->by_name, key, GUINT_TO_POINTER(cells->rows->len));
	return cells->rows->len - 1;
}

static guint32 look_up_cell(struct diff_cells *cells, guint32 row, guint32 step)
{
	gint64 key = (gint64)((guint64)row << 32 | step);
	guint32 place = GPOINTER_TO_UINT(g_hash_table_lookup(cells->by_cell, &key));
	struct diff_cell cell = { .row = row, .step = step };

	if (place)
		return place - 1;
	g_array_append_val(cells->cells, cell);
	g_hash_table_insert(cells->by_cell, g_memdup2(&key, sizeof(key)),
			    GUINT_TO_POINTER(cells->cells->len));
	return cells->cells->len - 1;
}

/* The cell, which is made where there is none. */
static struct diff_cell *find_cell(struct diff_cells *cells, guint32 name, guint32 step)
{
	guint32 row = find_row(cells, name);
	guint32 latest = g_array_index(cells->rows, struct diff_name, row).latest;

	if (latest == TACHO_NONE ||
	    g_array_index(cells->cells, struct diff_cell, latest).step != step)
		latest = look_up_cell(cells, row, step);
	g_array_index(cells->rows, struct diff_name, row).latest = latest;
	return &g_array_index(cells->cells, struct diff_cell, latest);
}

void diff_cells_add(struct diff_cells *cells, guint32 name, guint32 step, gdouble ns)
{
	struct diff_cell *cell = find_cell(cells, name, step);

	cell->ns += ns;
	cell->count++;
}

/* --- cells of several processes ------------------------------------------------------------------ */

static const struct group_field cell_fields[] = {
	GROUP_FIELD(struct diff_cell, ns, GROUP_SUM),
	GROUP_FIELD(struct diff_cell, count, GROUP_COUNT),
};

static const struct group_kind cell_kind = { "diff", "cells", cell_fields,
					     G_N_ELEMENTS(cell_fields) };

struct exchange {
	const TachoTimeline *timeline;
	struct diff_cells *cells;
	guint32 n_steps;
	DiffNamer namer;
	gpointer data;
	guint from;    /* whose names these are */
	GArray *names; /* guint32 string ids: of that process's rows */
};

/* Names come once, before the cells. */
static void pack_cells(GByteArray *bytes, const TachoTimeline *timeline,
		       const struct diff_cells *cells)
{
	pack_uint32(bytes, cells->rows->len);
	FOR_EACH(const struct diff_name, row, cells->rows)
		group_pack_string(bytes, timeline, row->name);
	FOR_EACH(const struct diff_cell, cell, cells->cells) {
		pack_uint32(bytes, cell->row);
		pack_uint32(bytes, cell->step);
		group_pack(bytes, timeline, &cell_kind, cell);
	}
}

static gboolean take_names(struct exchange *exchange, struct packed_bytes *packed)
{
	guint32 n, name;

	g_array_set_size(exchange->names, 0);
	if (!unpack_count(packed, &n, sizeof(guint32)))
		return FALSE;
	while (n--) {
		if (!group_unpack_string(packed, exchange->timeline, &name))
			return FALSE;
		if (exchange->namer)
			name = exchange->namer(exchange->data, name);
		g_array_append_val(exchange->names, name);
	}
	return TRUE;
}

/* A process's cells stand as it met them, and so they are met here. */
static gboolean take_cell(guint from, struct packed_bytes *packed, gpointer exchange_pointer)
{
	struct exchange *exchange = exchange_pointer;
	guint32 row, step;

	if (from != exchange->from) {
		exchange->from = from;
		if (!take_names(exchange, packed))
			return FALSE;
		if (!packed->n_left) /* it has none */
			return exchange->names->len == 0;
	}
	return unpack_bytes(packed, &row, sizeof(row)) && row < exchange->names->len &&
	       unpack_bytes(packed, &step, sizeof(step)) && step < exchange->n_steps &&
	       group_unpack(packed, &cell_kind,
			    find_cell(exchange->cells, g_array_index(exchange->names, guint32, row),
				      step));
}

void diff_cells_share(struct diff_cells *cells, const TachoTimeline *timeline, guint32 n_steps,
		      DiffNamer namer, gpointer data)
{
	struct exchange exchange = { timeline, cells, n_steps, namer, data, G_MAXUINT, NULL };
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	pack_cells(bytes, timeline, cells);
	diff_cells_release(cells);
	diff_cells_init(cells);
	exchange.names = g_array_new(FALSE, FALSE, sizeof(guint32));
	group_exchange(timeline, cell_kind.what, bytes, take_cell, &exchange);
	g_array_unref(exchange.names);
}
