/* queue_curve_view: how much work is queued for each device stream over time, in a bounded number of points.
 *
 * What is queued is what queue_view says: work from the begin of its launch to its own begin.
 *
 * (1) A row is a moment from which on that much is queued, until the next row of the stream (stepped_curve).
 * (2) The whole recording is shown, warm-up included, unless steps are asked for by number. */
#include <tacho/analyze.h>

#include "analyze/device_work.h"
#include "analyze/stepped_curve.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("device", "device"),
	TEXT_COLUMN("stream", "stream", .is_flexible = TRUE),
	NUMBER_COLUMN("at_ms", "at ms", 3),
	INTEGER_COLUMN("depth", "queued"),
};

/* What a table of curves has to say at its end. */
struct told {
	guint64 n_unknown; /* work without a launch */
	guint n_thinned;   /* curves */
};

static GArray *list_changes(const struct selection *selection, const TachoTrack *track,
			    guint64 *n_unknown)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autoptr(GArray) work = stream_work(timeline, track);
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct curve_change));

	for (guint i = 0; i < work->len; i++) {
		guint32 slice = g_array_index(work, guint32, i);
		guint32 launch = timeline->slices.launch[slice];
		struct curve_change begun = { timeline->slices.start_ns[slice], -1, -1 };
		struct curve_change queued = { .by = 1, .count = 1 };

		if (!selection_takes_name(selection, tacho_slice_name(timeline, slice)))
			continue;
		if (launch == TACHO_NONE) {
			(*n_unknown)++;
			continue;
		}
		queued.time_ns = timeline->slices.start_ns[launch];
		if (queued.time_ns >= begun.time_ns)
			continue;
		g_array_append_val(changes, queued);
		g_array_append_val(changes, begun);
	}
	return changes;
}

static void add_stream(TachoTable *table, const struct selection *selection,
		       const TachoTrack *track, struct told *told)
{
	const TachoTimeline *timeline = selection->timeline;
	const gchar *name = tacho_timeline_string(timeline, track->name);
	g_autofree gchar *device = device_label(track->device);
	g_autofree gchar *stream =
		*name ? g_strdup(name) : g_strdup_printf("stream %u", track->tid);
	g_autoptr(GArray) changes = list_changes(selection, track, &told->n_unknown);
	g_autoptr(GArray) points = NULL;
	gint64 begin_ns, end_ns;
	gboolean is_thinned;

	if (!curve_range(selection, tacho_track_process(timeline, track)->rank_index, &begin_ns,
			 &end_ns))
		return;
	points = stepped_curve(changes, begin_ns, end_ns, &is_thinned);
	told->n_thinned += is_thinned;
	FOR_EACH(const struct curve_point, point, points) {
		tacho_table_row(table);
		tacho_table_integer(table, rank_of_track(timeline, track));
		tacho_table_text(table, device);
		tacho_table_text(table, stream);
		tacho_table_number(table, (gdouble)point->time_ns / 1e6);
		tacho_table_integer(table, (gint64)point->value);
	}
}

TachoTable *tacho_view_queue_curve(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("queue_curve", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	struct told told = { 0 };

	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (takes_stream(&selection, tacho_timeline_track(timeline, i)))
			add_stream(table, &selection, tacho_timeline_track(timeline, i), &told);
	if (told.n_unknown)
		tacho_table_note(table,
				 "The launch of %" G_GUINT64_FORMAT
				 " pieces of work was not recorded, so they are in no queue.",
				 told.n_unknown);
	else if (tacho_table_n_rows(table) == 0 && selection.filter->name)
		selection_note_empty(&selection, table, "kernels, copies or fills");
	else if (tacho_table_n_rows(table) == 0)
		note_no_streams(table, &selection);
	note_thinned_curves(table, told.n_thinned);
	selection_release(&selection);
	return table;
}
