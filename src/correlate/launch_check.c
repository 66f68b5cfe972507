/* launch_check: whether each call that launches a kernel has one, and one only, and whether the calls are there.
 *
 * A profiler that keeps all it sees tells of a kernel for each launch that came before the last one it knows
 * the kernel of: what comes later it may have stopped before. A launch without one lost its kernel, or a kernel
 * with its id went to another call; two kernels of one launch have ids that were given twice. Calls within a
 * stream's capture launch nothing, and what a graph launches is not looked at (graph_capture.c).
 *
 * A stream does its work in the order of the calls that asked for it. So behind work whose call is in the trace, work
 * without a call has lost it; before, its call may have come before the recording began. An op that is told beside a
 * kernel is no call: how long the work was queued, and what the host did for it, went with the call. */
#include "correlate/correlate_internal.h"

#include "base/for_each.h"
#include "trace/call_kind.h"

#define MAX_INNER_CALLS 64 /* that are looked at within a call */

struct launches {
	TachoTimeline *timeline;
	guint8 *n_kernels; /* by slice: 0, 1, 2 or more */
	gint64 *last_ns; /* by process: when its last launch began whose kernel is there; G_MININT64 */
};

static enum call_kind call_of(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_RUNTIME ? call_kind_of(timeline, slice)
								   : CALL_OTHER;
}

static void count_kernels(struct launches *launches)
{
	const TachoSlices *slices = &launches->timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 launch = slices->launch[i], process;

		if (launch == TACHO_NONE || slices->kind[i] == TACHO_SLICE_SYNC ||
		    call_of(launches->timeline, launch) != CALL_LAUNCH)
			continue;
		launches->n_kernels[launch] = (guint8)MIN(launches->n_kernels[launch] + 1, 2);
		process = tacho_timeline_track(launches->timeline, slices->track[launch])->process;
		launches->last_ns[process] =
			MAX(launches->last_ns[process], slices->start_ns[launch]);
	}
}

/* The runtime's call and the driver's within it are one launch, whichever has the kernel. */
static gboolean has_kernel(const struct launches *launches, guint32 call)
{
	const TachoSlices *slices = &launches->timeline->slices;
	guint32 parent = slices->parent[call];

	if (launches->n_kernels[call])
		return TRUE;
	if (parent != TACHO_NONE && call_of(launches->timeline, parent) == CALL_LAUNCH)
		return TRUE; /* that one is looked at */
	for (guint32 i = call + 1;
	     i < slices->n && i - call <= MAX_INNER_CALLS &&
	     slices->track[i] == slices->track[call] &&
	     slices->start_ns[i] < tacho_slice_end_ns(launches->timeline, call);
	     i++)
		if (launches->n_kernels[i])
			return TRUE;
	return FALSE;
}

struct finding {
	guint64 n;
	guint32 first;
};

static void note(struct finding *finding, guint32 slice)
{
	if (finding->n++ == 0)
		finding->first = slice;
}

static void check_track(const struct launches *launches, const TachoTrack *track,
			struct finding *missing, struct finding *doubled)
{
	const TachoSlices *slices = &launches->timeline->slices;
	gboolean is_capturing = FALSE;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		enum call_kind call = call_of(launches->timeline, i);

		if (call == CALL_BEGIN_CAPTURE)
			is_capturing = TRUE;
		else if (call == CALL_END_CAPTURE)
			is_capturing = FALSE;
		if (call != CALL_LAUNCH || is_capturing)
			continue;
		if (launches->n_kernels[i] > 1)
			note(doubled, i);
		else if (slices->start_ns[i] < launches->last_ns[track->process] &&
			 !has_kernel(launches, i))
			note(missing, i);
	}
}

static gboolean is_device_work(guint8 kind)
{
	return kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_COLLECTIVE ||
	       kind == TACHO_SLICE_MEMCPY || kind == TACHO_SLICE_MEMSET;
}

static void check_stream(const TachoTimeline *timeline, const TachoTrack *track,
			 struct finding *uncalled)
{
	const TachoSlices *slices = &timeline->slices;
	gboolean has_call = FALSE;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		guint32 launch = slices->launch[i];

		if (!is_device_work(slices->kind[i]))
			continue;
		if (launch != TACHO_NONE && slices->kind[launch] == TACHO_SLICE_RUNTIME)
			has_call = TRUE;
		else if (has_call)
			note(uncalled, i);
	}
}

static void report(TachoTimeline *timeline, TachoProblemKind kind, const gchar *what,
		   guint32 process, const struct finding *finding)
{
	const TachoProcess *row = tacho_timeline_process(timeline, process);

	if (finding->n)
		tacho_timeline_add_problem(
			timeline, kind, finding->n,
			"rank %d, process %u: %s; the first is %s at %.6f s", row->rank, row->pid,
			what, tacho_slice_name(timeline, finding->first),
			(gdouble)timeline->slices.start_ns[finding->first] / 1e9);
}

void check_launches(TachoTimeline *timeline)
{
	struct launches launches = {
		.timeline = timeline,
		.n_kernels = g_new0(guint8, timeline->slices.n),
		.last_ns = g_new(gint64, timeline->processes->len),
	};
	g_autofree struct finding *missing = g_new0(struct finding, timeline->processes->len);
	g_autofree struct finding *doubled = g_new0(struct finding, timeline->processes->len);
	g_autofree struct finding *uncalled = g_new0(struct finding, timeline->processes->len);

	for (guint32 i = 0; i < timeline->processes->len; i++)
		launches.last_ns[i] = G_MININT64;
	count_kernels(&launches);
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (track->kind == TACHO_TRACK_THREAD)
			check_track(&launches, track, &missing[track->process],
				    &doubled[track->process]);
		else if (track->kind == TACHO_TRACK_STREAM)
			check_stream(timeline, track, &uncalled[track->process]);
	}
	for (guint32 i = 0; i < timeline->processes->len; i++) {
		report(timeline, TACHO_PROBLEM_MISSING_KERNEL,
		       "launches without a kernel in the trace", i, &missing[i]);
		report(timeline, TACHO_PROBLEM_MISSING_CALL,
		       "work of a device whose call is not in the trace, behind work whose call is",
		       i, &uncalled[i]);
		report(timeline, TACHO_PROBLEM_DUPLICATE_ID,
		       "launches with several kernels, because the same id was used more than "
		       "once; the match is a guess",
		       i, &doubled[i]);
	}
	g_free(launches.n_kernels);
	g_free(launches.last_ns);
}
