/* Who waits for an event, and for what: a "cuda_sync" row names the call that recorded the event, and the
 * stream on which it did. The event comes when all that had been queued on that stream has been done: so
 * with the last work that a call before the recording one had launched there. */
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/kineto/kineto_merge.h"
#include "import/launch_index.h"

struct event_wait {
	guint32 row;	/* SYNC */
	guint32 record; /* the call's row */
	guint32 stream;
};

/* Work of a device, by its track and when it was launched. */
struct launched {
	guint32 track, row;
	gint64 launch_ns;
};

GArray *kineto_event_waits_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct event_wait));
}

static void note(struct kineto_part *part, const struct kineto_rows *rows, gsize k)
{
	const struct kineto_row *row = (const struct kineto_row *)rows->slices.rows + k;
	const struct kineto_extra *extra =
		&g_array_index(part->extras, struct kineto_extra,
			       rows->first_extra + (row->place & ~KINETO_PLACE_EXTRA));
	struct event_wait wait = { rows->first_row + (guint32)k, TACHO_NONE, 0 };

	if (extra->event_record < 0 || extra->event_stream > G_MAXUINT32)
		return;
	wait.stream = (guint32)extra->event_stream;
	wait.record = launch_index_find(part->calls, extra->event_record, row->start_ns);
	if (wait.record != TACHO_NONE)
		g_array_append_val(part->event_waits, wait);
}

void kineto_event_waits_note(struct kineto_part *part, const struct kineto_rows *rows)
{
	const struct kineto_row *slices = rows->slices.rows;

	for (gsize k = 0; k < rows->slices.n; k++)
		if (slices[k].kind == TACHO_SLICE_SYNC && (slices[k].place & KINETO_PLACE_EXTRA))
			note(part, rows, k);
}

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

void kineto_event_waits_link(struct kineto_merge *merge)
{
	g_autoptr(GArray) all = NULL;

	for (guint i = 0; i < merge->files.n; i++) {
		const GArray *waits = merge->parts[i].event_waits;

		if (waits->len && !all)
			all = collect_launched(&merge->timeline->slices);
		for (guint k = 0; k < waits->len; k++)
			link_wait(merge->timeline, all,
				  &g_array_index(waits, struct event_wait, k));
	}
}
