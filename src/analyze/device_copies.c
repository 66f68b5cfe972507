/* device_copies: the copies and fills of all streams, each read once. */
#include "analyze/device_copies.h"

#include "analyze/device_work.h"
#include "analyze/stepped_curve.h"
#include "analyze/table_cells.h"
#include "base/order.h"

static gint compare_copies(gconstpointer a, gconstpointer b)
{
	const struct device_copy *x = a, *y = b;

	return ORDER(x->process, y->process) ?: ORDER(x->device, y->device) ?:
	       ORDER(x->rate.kind, y->rate.kind) ?: ORDER(x->begin_ns, y->begin_ns);
}

static void add_stream(GArray *copies, const struct selection *selection, const TachoTrack *track)
{
	const TachoTimeline *timeline = selection->timeline;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		struct device_copy copy = { .process = track->process, .device = track->device };
		TachoSliceKind kind = timeline->slices.kind[i];

		if ((kind != TACHO_SLICE_MEMCPY && kind != TACHO_SLICE_MEMSET) ||
		    !selection_takes_name(selection, tacho_slice_name(timeline, i)) ||
		    !copy_rate_of(timeline, i, &copy.rate))
			continue;
		copy.begin_ns = timeline->slices.start_ns[i];
		copy.end_ns = tacho_slice_end_ns(timeline, i);
		g_array_append_val(copies, copy);
	}
}

GArray *device_copies(const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	GArray *copies = g_array_new(FALSE, FALSE, sizeof(struct device_copy));

	for (guint i = 0; i < timeline->tracks->len; i++)
		if (takes_stream(selection, tacho_timeline_track(timeline, i)))
			add_stream(copies, selection, tacho_timeline_track(timeline, i));
	g_array_sort(copies, compare_copies);
	return copies;
}

guint device_copies_end(const GArray *copies, guint first)
{
	const struct device_copy *all = &g_array_index(copies, struct device_copy, 0);
	guint end = first;

	while (end < copies->len && all[end].process == all[first].process &&
	       all[end].device == all[first].device && all[end].rate.kind == all[first].rate.kind)
		end++;
	return end;
}

gboolean device_copy_is_measured(const struct device_copy *copy)
{
	return copy->rate.gb_per_s > 0 && copy->end_ns > copy->begin_ns;
}

GArray *device_copies_changes(const GArray *copies, guint first, guint end)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct curve_change));

	for (guint i = first; i < end; i++) {
		const struct device_copy *copy = &g_array_index(copies, struct device_copy, i);
		struct curve_change begun = { copy->begin_ns, copy->rate.gb_per_s, 1 };
		struct curve_change ended = { copy->end_ns, -copy->rate.gb_per_s, -1 };

		if (!device_copy_is_measured(copy))
			continue;
		g_array_append_val(changes, begun);
		g_array_append_val(changes, ended);
	}
	return changes;
}

void device_copy_row(TachoTable *table, const TachoTimeline *timeline,
		     const struct device_copy *copy)
{
	guint rank_index = tacho_timeline_process(timeline, copy->process)->rank_index;
	g_autofree gchar *device = device_label(copy->device);

	tacho_table_row(table);
	table_rank(table, timeline, rank_index);
	tacho_table_text(table, device);
	tacho_table_text(table, copy_kind_name(copy->rate.kind));
}

void note_unmeasured_copies(TachoTable *table, guint64 n)
{
	if (n)
		tacho_table_note(
			table,
			n == 1 ? "%" G_GUINT64_FORMAT
				 " copy or fill has no size, takes no time, or would be faster "
				 "than 1,000,000 GB/s; no bandwidth includes it."
			       : "%" G_GUINT64_FORMAT
				 " copies or fills have no size, take no time, or would be faster "
				 "than 1,000,000 GB/s; no bandwidth includes them.",
			n);
}

void note_no_copies(TachoTable *table, const struct selection *selection)
{
	if (selection->filter->device)
		note_no_streams(table, selection);
	else
		selection_note_empty(selection, table, "copies or fills of a device (GPU)");
}
