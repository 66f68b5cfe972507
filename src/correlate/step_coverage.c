/* step_coverage: whether steps that nobody annotated hold what the process did. */
#include "correlate/step_coverage.h"

#include "base/for_each.h"
#include "base/partition_point.h"
#include "correlate/correlate_internal.h"

gboolean step_coverage_holds(const GArray *steps, gint64 time_ns)
{
	const TachoStep *step = LAST_BEFORE(steps, TachoStep, row, row->start_ns <= time_ns);

	return step && time_ns < step->end_ns;
}

/* A device's work, in ns, or a thread's, in slices. */
struct coverage {
	gdouble all, inside;
};

static void count(struct coverage *coverage, const GArray *steps, gint64 time_ns, gdouble amount)
{
	coverage->all += amount;
	if (step_coverage_holds(steps, time_ns))
		coverage->inside += amount;
}

static gboolean is_most(const struct coverage *coverage)
{
	return coverage->inside * 2 >= coverage->all;
}

static gboolean is_work(TachoSliceKind kind)
{
	return kind != TACHO_SLICE_ANNOTATION && kind != TACHO_SLICE_SYNC &&
	       kind != TACHO_SLICE_STEP && kind != TACHO_SLICE_EVENT;
}

/* A device's work counts where it ran, not where it was launched: what launches much faster than the device can
 * work is a part of a step, such as a model's layers. */
static void count_track(const TachoTimeline *timeline, const TachoTrack *track, const GArray *steps,
			struct coverage *device, struct coverage *host)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (!is_work(slices->kind[i]))
			continue;
		if (track->kind == TACHO_TRACK_STREAM)
			count(device, steps, slices->start_ns[i], (gdouble)slices->duration_ns[i]);
		else if (track->kind == TACHO_TRACK_THREAD)
			count(host, steps, slices->start_ns[i], 1);
	}
}

gboolean step_coverage_is_most(const TachoTimeline *timeline, guint32 process, const GArray *steps)
{
	struct coverage device = { 0, 0 }, host = { 0, 0 };

	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->process == process)
			count_track(timeline, track, steps, &device, &host);
	return is_most(&device) && is_most(&host);
}
