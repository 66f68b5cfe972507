/* allocator_totals: what an allocator itself said of its memory.
 *
 * With each block handed out or given back, PyTorch's profiler writes what its allocator has handed out in
 * all, and what it has reserved of the device; the import makes counters of them (trace/counter_kind.h). Samples are by
 * counter and time. */
#include "analyze/allocator_totals.h"

#include "base/for_each.h"
#include "base/number.h"

static const TachoSample *sample_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->samples, TachoSample, index);
}

guint32 counter_track_find(const TachoTimeline *timeline, guint32 process, enum counter_kind kind,
			   guint32 memory)
{
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (track->kind == TACHO_TRACK_COUNTER && track->process == process &&
		    counter_kind_of_name(timeline, track->name) == kind &&
		    counter_memory(timeline, track->name) == memory)
			return i;
	return TACHO_NONE;
}

/* The largest, of equals the first; NULL: there is none. */
static const TachoSample *largest_sample(const TachoTimeline *timeline, guint32 track)
{
	const TachoSample *largest = NULL;
	guint first, n = tacho_track_samples(timeline, track, &first);

	for (guint i = first; i < first + n; i++)
		if (!largest || sample_at(timeline, i)->value > largest->value)
			largest = sample_at(timeline, i);
	return largest;
}

/* What the counter was at `time_ns`; 0 before its first sample. */
static gdouble value_at(const TachoTimeline *timeline, guint32 track, gint64 time_ns)
{
	guint first, n = tacho_track_samples(timeline, track, &first);
	gdouble value = 0;

	for (guint i = first; i < first + n && sample_at(timeline, i)->time_ns <= time_ns; i++)
		value = sample_at(timeline, i)->value;
	return value;
}

struct allocator_totals allocator_totals_find(const TachoTimeline *timeline, guint32 process,
					      guint32 device)
{
	guint32 allocated = counter_track_find(timeline, process, COUNTER_ALLOCATED, device);
	guint32 reserved = counter_track_find(timeline, process, COUNTER_RESERVED, device);
	struct allocator_totals totals = { 0 };
	const TachoSample *most;

	if (allocated == TACHO_NONE)
		return totals;
	most = largest_sample(timeline, allocated);
	if (!most || most->value <= 0)
		return totals;
	totals.is_known = TRUE;
	totals.allocated_bytes = number_round(most->value);
	if (reserved != TACHO_NONE)
		totals.reserved_bytes =
			MAX(number_round(value_at(timeline, reserved, most->time_ns)), 0);
	return totals;
}
