/* bandwidth_view: how fast each device copied and filled memory, by kind of copy.
 *
 * (1) A copy counts in the step in which it begins.
 * (2) The mean is bytes by the time of the copies, added up; the most is of copies that overlap together, as in
 *     bandwidth_curve. */
#include <tacho/analyze.h>

#include "analyze/device_copies.h"
#include "analyze/device_work.h"
#include "analyze/stepped_curve.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"

static const TachoColumn columns[] = {
	DEVICE_COPY_COLUMNS,
	INTEGER_COLUMN("count", "count"),
	INTEGER_COLUMN("bytes", "bytes"),
	NUMBER_COLUMN("total_ms", "total ms", 3),
	NUMBER_COLUMN("mean_gb_per_s", "mean GB/s", 3),
	NUMBER_COLUMN("max_gb_per_s", "most", 3),
	JSON_NUMBER("max_at_ms"),
};

struct sums {
	guint count;
	gdouble bytes, total_ns;
	gdouble told_bytes, told_ns; /* of those that tell their bytes, and take time */
};

static struct sums sum_up(const GArray *copies, guint first, guint end)
{
	struct sums sums = { 0 };

	for (guint i = first; i < end; i++) {
		const struct device_copy *copy = &g_array_index(copies, struct device_copy, i);
		gdouble length_ns = (gdouble)(copy->end_ns - copy->begin_ns);

		sums.count++;
		sums.bytes += copy->rate.bytes;
		sums.total_ns += length_ns;
		if (!device_copy_is_measured(copy) || copy->rate.bytes <= 0)
			continue;
		sums.told_bytes += copy->rate.bytes;
		sums.told_ns += length_ns;
	}
	return sums;
}

static struct curve_point find_most(const GArray *copies, guint first, guint end)
{
	g_autoptr(GArray) changes = device_copies_changes(copies, first, end);
	g_autoptr(GArray) points = stepped_curve(changes, G_MININT64, G_MAXINT64, NULL);
	struct curve_point most = { 0 };

	FOR_EACH(const struct curve_point, point, points)
		if (point->value > most.value)
			most = *point;
	return most;
}

static void add_row(TachoTable *table, const struct selection *selection, const GArray *copies,
		    guint first, guint end)
{
	struct sums sums = sum_up(copies, first, end);
	struct curve_point most = find_most(copies, first, end);

	device_copy_row(table, selection->timeline,
			&g_array_index(copies, struct device_copy, first));
	tacho_table_integer(table, sums.count);
	if (sums.bytes > 0 && sums.bytes < 0x1p63)
		tacho_table_integer(table, (gint64)sums.bytes);
	else
		tacho_table_null(table);
	tacho_table_number(table, sums.total_ns / 1e6);
	table_number_if(table, sums.told_ns > 0, sums.told_bytes / sums.told_ns);
	table_number_if(table, most.value > 0, most.value);
	table_number_if(table, most.value > 0, (gdouble)most.time_ns / 1e6);
}

/* The copies that begin in chosen steps. */
static GArray *take_chosen(const struct selection *selection, const GArray *copies)
{
	const TachoTimeline *timeline = selection->timeline;
	GArray *chosen = g_array_new(FALSE, FALSE, sizeof(struct device_copy));

	for (guint first = 0, end; first < copies->len; first = end) {
		guint cursor = 0;

		end = device_copies_end(copies, first);
		for (guint i = first; i < end; i++) {
			struct device_copy copy = g_array_index(copies, struct device_copy, i);
			const TachoProcess *process =
				tacho_timeline_process(timeline, copy.process);

			if (selection_takes_time(selection, process->rank_index, copy.begin_ns,
						 &cursor))
				g_array_append_val(chosen, copy);
		}
	}
	return chosen;
}

TachoTable *tacho_view_bandwidth(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("bandwidth", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) copies = NULL, all = NULL;
	struct selection selection;
	guint64 n_unmeasured = 0;

	selection_init(&selection, timeline, filter);
	all = device_copies(&selection);
	copies = take_chosen(&selection, all);
	for (guint first = 0, end; first < copies->len; first = end) {
		end = device_copies_end(copies, first);
		add_row(table, &selection, copies, first, end);
	}
	for (guint i = 0; i < copies->len; i++)
		n_unmeasured +=
			!device_copy_is_measured(&g_array_index(copies, struct device_copy, i));
	if (!tacho_table_n_rows(table))
		note_no_copies(table, &selection);
	note_unmeasured_copies(table, n_unmeasured);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
