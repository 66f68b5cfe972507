/* chained_collective: when a collective was over whose worker went on with what was hung on its end.
 *
 * A worker of a backend that is done with a collective calls what waits for its future (the then() of a communication hook: PowerSGD's
 * queues another collective so), and PyTorch tells of the end only when that has returned. So all that the worker did in it seems to
 * be of the collective. Where the worker queued another one in it, it was over when the worker began with the first operation.
 *
 * (1) Operations alone do not tell that something was hung on it: some collectives put what came in its place by them, and are over when
 *     they have.
 * (2) A thread that was in an operation when the collective began has queued it, and so may have the process's first one, which trains: they
 *     are no workers, and what they did meanwhile has nothing to do with its end (sends and receives end where they are waited for). */
#include "correlate/correlate_internal.h"

#include "base/partition_point.h"
#include "trace/region_kind.h"
#include "trace/run_share.h"

/* The worker's first operation in the collective, if that was hung on it; TACHO_NONE: nothing was. */
static guint32 find_first(const TachoTimeline *timeline, guint32 collective, guint32 track_index)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	gint64 begin_ns = slices->start_ns[collective];
	gint64 end_ns = tacho_slice_end_ns(timeline, collective);
	guint32 end = track->first_slice + track->n_slices, first = TACHO_NONE;

	for (guint32 i = PARTITION_POINT(row, track->first_slice, end,
					 slices->start_ns[row] < begin_ns);
	     i < end && slices->start_ns[i] < end_ns; i++) {
		if (slices->kind[i] != TACHO_SLICE_OP)
			continue;
		if (first == TACHO_NONE)
			first = i;
		if (region_kind_of(timeline, i) == REGION_QUEUE)
			return first;
	}
	return TACHO_NONE;
}

/* The track of the worker that carried it out, or TACHO_NONE. */
static guint32 find_worker(const TachoTimeline *timeline, const struct thread_index *threads,
			   guint32 collective)
{
	guint32 process = process_of_slice(timeline, collective), track;
	gint64 begin_ns = timeline->slices.start_ns[collective];
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(timeline, collective, &args);
	if (!args.end_tid || !run_share_owns(timeline, process) ||
	    args.end_tid == tacho_slice_process(timeline, collective)->pid)
		return TACHO_NONE;
	track = thread_index_track(threads, process, args.end_tid, begin_ns);
	if (track == TACHO_NONE || thread_index_open_slice(threads, track, begin_ns) != TACHO_NONE)
		return TACHO_NONE;
	return track;
}

/* By how much the collective was over before its end was told. */
static guint64 find_excess_ns(const TachoTimeline *timeline, const struct thread_index *threads,
			      guint32 collective)
{
	guint32 worker, first = TACHO_NONE;

	if (timeline->slices.flags[collective] & TACHO_SLICE_OPEN)
		return 0;
	worker = find_worker(timeline, threads, collective);
	if (worker != TACHO_NONE)
		first = find_first(timeline, collective, worker);
	return first == TACHO_NONE ? 0
				   : (guint64)(tacho_slice_end_ns(timeline, collective) -
					       timeline->slices.start_ns[first]);
}

/* Those that stand beside threads, and not on streams of devices. */
static gboolean is_of_host(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE &&
	       tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
		       TACHO_TRACK_ASYNC;
}

GArray *end_chained_collectives(TachoTimeline *timeline, const struct thread_index *threads)
{
	g_autoptr(GArray) collectives = g_array_new(FALSE, FALSE, sizeof(guint32));
	GArray *changed = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autofree guint64 *excess_ns = NULL;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (is_of_host(timeline, i))
			g_array_append_val(collectives, i);
	excess_ns = g_new0(guint64, MAX(collectives->len, 1u));
	for (guint i = 0; i < collectives->len; i++)
		excess_ns[i] =
			find_excess_ns(timeline, threads, g_array_index(collectives, guint32, i));
	run_share_sum(timeline, "ends of collectives", excess_ns, collectives->len);
	for (guint i = 0; i < collectives->len; i++) {
		guint32 slice = g_array_index(collectives, guint32, i);
		gint64 *duration_ns = &timeline->slices.duration_ns[slice];

		if (excess_ns[i] == 0)
			continue;
		*duration_ns -= (gint64)MIN(excess_ns[i], (guint64)MAX(*duration_ns, 0));
		g_array_append_val(changed, slice);
	}
	return changed;
}
