/* stream_check: a device queue runs one kernel after the other, so two at once mean wrong times.
 * The other impossible times (negative, beyond their parent) are mended and counted where the
 * timeline is made. */
#include "correlate/correlate_internal.h"

#include "base/for_each.h"

#define MAX_NAME_BYTES 80 /* of a kernel, in a problem: names of templates fill pages */

static guint64 count_overlaps(const TachoTimeline *timeline, const TachoTrack *track,
			      guint32 *ret_first)
{
	const TachoSlices *slices = &timeline->slices;
	gint64 busy_until_ns = G_MININT64 / 2; /* so that differences fit */
	guint64 count = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (slices->kind[i] != TACHO_SLICE_KERNEL)
			continue; /* regions that an importer put around kernels */
		if (busy_until_ns - slices->start_ns[i] > timeline->resolution_ns && count++ == 0)
			*ret_first = i;
		busy_until_ns = MAX(busy_until_ns, tacho_slice_end_ns(timeline, i));
	}
	return count;
}

void check_streams(TachoTimeline *timeline)
{
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
		const TachoProcess *process = track_process(timeline, i);
		guint32 first = TACHO_NONE;
		guint64 count;

		if (track->kind != TACHO_TRACK_STREAM || !process)
			continue;
		count = count_overlaps(timeline, track, &first);
		if (count)
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_STREAM_OVERLAP, count,
						   "rank %d, process %u, stream %u: %.*s begins at "
						   "%.6f s, before the previous kernel ended",
						   process->rank, process->pid, track->tid,
						   MAX_NAME_BYTES,
						   tacho_slice_name(timeline, first),
						   (gdouble)timeline->slices.start_ns[first] / 1e9);
	}
}
