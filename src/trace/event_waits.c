#include "trace/event_waits.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"

/* Work of a device, by its track and when it was launched. */
struct launched {
	guint32 track, row;
	gint64 launch_ns;
};

static gint compare_launched(gconstpointer first, gconstpointer second)
{
	const struct launched *a = first, *b = second;

	return ORDER(a->track, b->track) ?: ORDER(a->launch_ns, b->launch_ns) ?:
	       ORDER(a->row, b->row);
}

static GArray *collect_launched(const TachoSlices *slices)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct launched));

	for (guint32 row = 0; row < slices->n; row++) {
		struct launched launched = { slices->track[row], row, 0 };

		if (slices->launch[row] == TACHO_NONE || slices->kind[row] == TACHO_SLICE_SYNC)
			continue;
		launched.launch_ns = slices->start_ns[slices->launch[row]];
		g_array_append_val(all, launched);
	}
	g_array_sort(all, compare_launched);
	return all;
}

/* The row of what was last launched on `track` before `time_ns`, or TACHO_NONE. */
static guint32 last_launched(const GArray *all, guint32 track, gint64 time_ns)
{
	struct launched key = { track, 0, time_ns };
	const struct launched *before =
		LAST_BEFORE(all, struct launched, row, compare_launched(row, &key) < 0);

	return before && before->track == track ? before->row : TACHO_NONE;
}

/* The track of a stream of the device that `beside` is of, or TACHO_NONE. */
static guint32 find_stream(const TachoTimeline *timeline, guint32 beside, guint32 stream)
{
	const TachoTrack *known = tacho_timeline_track(timeline, beside);

	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (track->kind == TACHO_TRACK_STREAM && track->process == known->process &&
		    track->device == known->device && track->tid == stream)
			return i;
	return TACHO_NONE;
}

static void link_wait(TachoTimeline *timeline, const GArray *all, const struct event_wait *wait)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 track = find_stream(timeline, slices->track[wait->row], wait->stream);
	TachoFlow flow = { TACHO_NONE, wait->row, TACHO_FLOW_EVENT_WAIT, 1 };

	if (track == TACHO_NONE)
		return;
	flow.from = last_launched(all, track, slices->start_ns[wait->record]);
	if (flow.from != TACHO_NONE)
		g_array_append_val(timeline->flows, flow);
}

void event_waits_link(TachoTimeline *timeline, const GArray *const *waits, guint n_waits)
{
	g_autoptr(GArray) all = NULL;

	for (guint i = 0; i < n_waits; i++) {
		if (waits[i]->len && !all)
			all = collect_launched(&timeline->slices);
		for (guint k = 0; k < waits[i]->len; k++)
			link_wait(timeline, all, &g_array_index(waits[i], struct event_wait, k));
	}
}
