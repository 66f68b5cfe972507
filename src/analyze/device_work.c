#include "analyze/device_work.h"

gboolean is_device_work(const TachoTimeline *timeline, guint32 slice)
{
	TachoSliceKind kind = timeline->slices.kind[slice];

	return (kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_MEMCPY ||
		kind == TACHO_SLICE_MEMSET || kind == TACHO_SLICE_COLLECTIVE) &&
	       tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
		       TACHO_TRACK_STREAM;
}

guint32 innermost_op(const TachoTimeline *timeline, guint32 slice)
{
	while (slice != TACHO_NONE && timeline->slices.kind[slice] != TACHO_SLICE_OP)
		slice = timeline->slices.parent[slice];
	return slice;
}

gchar *stack_text(const TachoTimeline *timeline, guint32 slice)
{
	GString *text = g_string_new(NULL);

	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice]) {
		if (text->len)
			g_string_prepend(text, " > ");
		g_string_prepend(text, tacho_slice_name(timeline, slice));
	}
	return g_string_free(text, FALSE);
}

gchar *device_label(gint32 device)
{
	return g_strdup_printf("gpu %d", device);
}

gchar *stream_label(const TachoTimeline *timeline, const TachoTrack *track)
{
	const gchar *name = tacho_timeline_string(timeline, track->name);

	if (*name && g_utf8_validate(name, -1, NULL))
		return g_strdup_printf("gpu %d %s", track->device, name);
	return g_strdup_printf("gpu %d stream %u", track->device, track->tid);
}

gboolean takes_stream(const struct selection *selection, const TachoTrack *track)
{
	GRegex *regex = selection->filter->device;
	g_autofree gchar *label = NULL;

	if (track->kind != TACHO_TRACK_STREAM || !selection_takes_track(selection, track))
		return FALSE;
	if (!regex)
		return TRUE;
	label = stream_label(selection->timeline, track);
	return g_regex_match(regex, label, 0, NULL);
}

gboolean is_first_of_device(const struct selection *selection, guint index)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, index);

	if (!takes_stream(selection, track))
		return FALSE;
	for (guint i = 0; i < index; i++) {
		const TachoTrack *other = tacho_timeline_track(timeline, i);

		if (other->process == track->process && other->device == track->device &&
		    takes_stream(selection, other))
			return FALSE;
	}
	return TRUE;
}

gint32 rank_of_track(const TachoTimeline *timeline, const TachoTrack *track)
{
	guint32 rank_index = tacho_track_process(timeline, track)->rank_index;

	return tacho_timeline_rank(timeline, rank_index)->rank;
}

void note_no_streams(TachoTable *table, const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	GRegex *regex = selection->filter->device;
	gboolean has_streams = FALSE;

	for (guint i = 0; i < timeline->tracks->len; i++)
		has_streams |= tacho_timeline_track(timeline, i)->kind == TACHO_TRACK_STREAM;
	if (!has_streams)
		tacho_table_note(table, "No work of a device (GPU) was recorded; this view shows "
					"the streams of devices.");
	else if (regex)
		tacho_table_note(
			table,
			"No device stream with work in the chosen ranks and steps matches '%s'.",
			g_regex_get_pattern(regex));
	else
		tacho_table_note(table,
				 "No work of a device (GPU) begins in the chosen ranks and steps.");
}

GArray *stream_work(const TachoTimeline *timeline, const TachoTrack *track)
{
	GArray *work = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (is_device_work(timeline, i))
			g_array_append_val(work, i);
	return work;
}

/* By slice + 1, for a key of 0 is none. */
static gpointer launch_key(guint32 launch)
{
	return GSIZE_TO_POINTER((gsize)launch + 1);
}

GHashTable *count_launched_work(const TachoTimeline *timeline)
{
	GHashTable *counts = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 launch = timeline->slices.launch[i];

		if (launch != TACHO_NONE && is_device_work(timeline, i))
			g_hash_table_insert(counts, launch_key(launch),
					    GUINT_TO_POINTER(launched_work_of(counts, launch) + 1));
	}
	return counts;
}

guint launched_work_of(GHashTable *counts, guint32 launch)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(counts, launch_key(launch)));
}
