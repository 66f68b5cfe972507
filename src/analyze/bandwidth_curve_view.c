/* bandwidth_curve_view: how fast each device copies and fills memory over time, in a bounded number of points.
 *
 * Each copy adds its rate while it lasts, by kind; this is the memory bandwidth of Meta's Holistic Trace Analysis
 * (get_memory_bw_time_series).
 *
 * (1) A row is a moment from which on copies of that kind move that much together, until the next row of the device and
 *     kind (stepped_curve).
 * (2) The whole recording is shown, warm-up included, unless steps are asked for by number. */
#include <tacho/analyze.h>

#include "analyze/device_copies.h"
#include "analyze/device_work.h"
#include "analyze/stepped_curve.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"

static const TachoColumn columns[] = {
	DEVICE_COPY_COLUMNS,
	NUMBER_COLUMN("at_ms", "at ms", 3),
	NUMBER_COLUMN("gb_per_s", "GB/s", 3),
};

/* Returns whether the curve has not every moment. */
static gboolean add_kind(TachoTable *table, const struct selection *selection, const GArray *copies,
			 guint first, guint end)
{
	const TachoTimeline *timeline = selection->timeline;
	const struct device_copy *copy = &g_array_index(copies, struct device_copy, first);
	guint rank_index = tacho_timeline_process(timeline, copy->process)->rank_index;
	g_autoptr(GArray) changes = device_copies_changes(copies, first, end);
	g_autoptr(GArray) points = NULL;
	gint64 begin_ns, end_ns;
	gboolean is_thinned;

	if (!curve_range(selection, rank_index, &begin_ns, &end_ns))
		return FALSE;
	points = stepped_curve(changes, begin_ns, end_ns, &is_thinned);
	FOR_EACH(const struct curve_point, point, points) {
		device_copy_row(table, timeline, copy);
		tacho_table_number(table, (gdouble)point->time_ns / 1e6);
		tacho_table_number(table, point->value);
	}
	return is_thinned;
}

TachoTable *tacho_view_bandwidth_curve(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("bandwidth_curve", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) copies = NULL;
	struct selection selection;
	guint64 n_unmeasured = 0;
	guint n_thinned = 0;

	selection_init(&selection, timeline, filter);
	copies = device_copies(&selection);
	for (guint first = 0, end; first < copies->len; first = end) {
		end = device_copies_end(copies, first);
		n_thinned += add_kind(table, &selection, copies, first, end);
	}
	for (guint i = 0; i < copies->len; i++)
		n_unmeasured +=
			!device_copy_is_measured(&g_array_index(copies, struct device_copy, i));
	if (!tacho_table_n_rows(table) && !n_unmeasured)
		note_no_copies(table, &selection);
	note_unmeasured_copies(table, n_unmeasured);
	note_thinned_curves(table, n_thinned);
	selection_release(&selection);
	return table;
}
