#include "graph/thread_segments.h"

#include "base/partition_point.h"

struct cutter {
	const TachoTimeline *timeline;
	const GArray *cuts_ns;
	guint next_cut;
	gint64 at_ns; /* cut up to here */
	gint64 to_ns;
	GArray *open; /* guint32 slices, innermost last */
	GArray *segments;
};

static void add_piece(struct cutter *cutter, gint64 end_ns, guint32 slice)
{
	struct segment segment = { cutter->at_ns, end_ns, slice, TACHO_NONE, cutter->at_ns, FALSE };

	g_array_append_val(cutter->segments, segment);
	cutter->at_ns = end_ns;
}

static gint64 next_cut_ns(struct cutter *cutter)
{
	while (cutter->cuts_ns && cutter->next_cut < cutter->cuts_ns->len) {
		gint64 cut_ns = g_array_index(cutter->cuts_ns, gint64, cutter->next_cut);

		if (cut_ns > cutter->at_ns)
			return cut_ns;
		cutter->next_cut++;
	}
	return G_MAXINT64;
}

/* All up to `time_ns` is of the innermost open slice. */
static void advance(struct cutter *cutter, gint64 time_ns)
{
	guint32 slice = cutter->open->len
				? g_array_index(cutter->open, guint32, cutter->open->len - 1)
				: TACHO_NONE;

	time_ns = MIN(time_ns, cutter->to_ns);
	while (cutter->at_ns < time_ns)
		add_piece(cutter, MIN(time_ns, next_cut_ns(cutter)), slice);
}

/* Close the slices that end by `time_ns`. */
static void close_until(struct cutter *cutter, gint64 time_ns)
{
	while (cutter->open->len) {
		guint32 top = g_array_index(cutter->open, guint32, cutter->open->len - 1);
		gint64 end_ns = tacho_slice_end_ns(cutter->timeline, top);

		if (end_ns > time_ns)
			return;
		advance(cutter, end_ns);
		g_array_set_size(cutter->open, cutter->open->len - 1);
	}
}

GArray *thread_segments_cut(const TachoTimeline *timeline, guint32 track_index, gint64 from_ns,
			    gint64 to_ns, const GArray *cuts_ns)
{
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
	struct cutter cutter = { timeline, cuts_ns, 0, from_ns, to_ns, open, NULL };

	cutter.segments = g_array_new(FALSE, FALSE, sizeof(struct segment));
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 start_ns = timeline->slices.start_ns[i];

		if (start_ns >= to_ns)
			break;
		if (timeline->slices.kind[i] == TACHO_SLICE_STEP ||
		    timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE ||
		    tacho_slice_end_ns(timeline, i) <= from_ns)
			continue;
		close_until(&cutter, start_ns);
		advance(&cutter, start_ns);
		g_array_append_val(open, i);
	}
	close_until(&cutter, G_MAXINT64);
	advance(&cutter, to_ns);
	return cutter.segments;
}

guint thread_segments_from(const GArray *segments, gint64 time_ns)
{
	return PARTITION_POINT(i, 0, segments->len, segment_at(segments, i)->start_ns < time_ns);
}
