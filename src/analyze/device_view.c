/* device_view: what each device does with the time, and how much of it is filled.
 *
 *     compute        moments in which a kernel or fill runs that is no collective's
 *     communication  a collective's kernel; exposed: without compute
 *     copy           a copy; exposed: without compute or communication
 *
 * so that busy = compute + exposed communication + exposed copy, and idle is the rest. These are the figures of
 * TraceLens' gpu_timeline (AMD-AGI/TraceLens, Trace2Tree and gpu_event_analyser); how much is filled are those of
 * PyTorch's TensorBoard plug-in (device_load). In a run with steps, the time is from the begin of the first chosen
 * one to the end of the last, as devices live them (device_steps), else from the first begin to the last end of any
 * work of the rank's devices. */
#include <tacho/analyze.h>

#include "analyze/device_load.h"
#include "analyze/device_steps.h"
#include "analyze/device_work.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/region_kind.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("device", "device"),
	NUMBER_COLUMN("duration_ms", "ms", 3),
	NUMBER_COLUMN("busy_ms", "busy", 3),
	NUMBER_COLUMN("idle_ms", "idle", 3),
	SHARE_COLUMN("idle_pct", "%", 1),
	NUMBER_COLUMN("compute_ms", "compute", 3),
	NUMBER_COLUMN("communication_ms", "comm", 3),
	NUMBER_COLUMN("exposed_communication_ms", "exposed", 3),
	NUMBER_COLUMN("memcpy_ms", "copy", 3),
	NUMBER_COLUMN("exposed_memcpy_ms", "exposed", 3),
	NUMBER_COLUMN("utilization_pct", "kernels %", 2),
	NUMBER_COLUMN("sm_efficiency_pct", "SMs %", 2),
	NUMBER_COLUMN("occupancy_pct", "occupancy %", 2),
};

/* What a device does, when; normalized once it is found. */
struct activity {
	struct interval_set compute, communication, exposed_communication, copy, exposed_copy;
};

static void activity_init(struct activity *activity)
{
	interval_set_init(&activity->compute);
	interval_set_init(&activity->communication);
	interval_set_init(&activity->exposed_communication);
	interval_set_init(&activity->copy);
	interval_set_init(&activity->exposed_copy);
}

static void activity_release(struct activity *activity)
{
	interval_set_release(&activity->compute);
	interval_set_release(&activity->communication);
	interval_set_release(&activity->exposed_communication);
	interval_set_release(&activity->copy);
	interval_set_release(&activity->exposed_copy);
}

static void add_work(struct activity *activity, const TachoTimeline *timeline, guint32 slice)
{
	struct interval_set *set = &activity->compute;

	if (timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE ||
	    slice_communicates(timeline, slice))
		set = &activity->communication;
	else if (timeline->slices.kind[slice] == TACHO_SLICE_MEMCPY)
		set = &activity->copy;
	interval_set_add(set, timeline->slices.start_ns[slice],
			 tacho_slice_end_ns(timeline, slice));
}

static void separate(struct activity *activity)
{
	interval_set_normalize(&activity->compute);
	interval_set_normalize(&activity->communication);
	interval_set_normalize(&activity->copy);
	interval_set_add_all(&activity->exposed_communication, &activity->communication);
	interval_set_subtract(&activity->exposed_communication, &activity->compute);
	interval_set_add_all(&activity->exposed_copy, &activity->copy);
	interval_set_subtract(&activity->exposed_copy, &activity->compute);
	interval_set_subtract(&activity->exposed_copy, &activity->communication);
}

static void find_activity(const struct selection *selection, guint32 process, gint32 device,
			  struct activity *activity)
{
	const TachoTimeline *timeline = selection->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint32 end = track->first_slice + track->n_slices;

		if (track->process != process || track->device != device ||
		    !takes_stream(selection, track))
			continue;
		for (guint32 slice = track->first_slice; slice < end; slice++)
			if (is_device_work(timeline, slice))
				add_work(activity, timeline, slice);
	}
	separate(activity);
}

/* From the first begin to the last end of the work of all devices of the rank. */
static struct interval span_of_work(const struct selection *selection, guint rank_index)
{
	const TachoTimeline *timeline = selection->timeline;
	struct interval span = { G_MAXINT64, G_MININT64 };

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);

		if (!is_device_work(timeline, i) || !selection_takes_track(selection, track) ||
		    tacho_slice_process(timeline, i)->rank_index != rank_index)
			continue;
		span.begin_ns = MIN(span.begin_ns, timeline->slices.start_ns[i]);
		span.end_ns = MAX(span.end_ns, tacho_slice_end_ns(timeline, i));
	}
	return span;
}

/* What the view is about: no steps, or none of the rank's: an empty stretch. */
static struct interval find_span(const struct selection *selection, guint rank_index)
{
	g_autoptr(GArray) steps = NULL;

	if (selection->is_whole)
		return span_of_work(selection, rank_index);
	steps = device_steps(selection, rank_index);
	if (steps->len == 0)
		return (struct interval){ 0, 0 };
	return (struct interval){ g_array_index(steps, TachoStep, 0).start_ns,
				  g_array_index(steps, TachoStep, steps->len - 1).end_ns };
}

static void add_load(TachoTable *table, const TachoTimeline *timeline, const TachoTrack *of,
		     struct interval span)
{
	g_autoptr(GArray) runs = device_kernel_runs(timeline, of->process, of->device);

	tacho_table_number(table, device_mean_utilization(runs, span.begin_ns, span.end_ns));
	tacho_table_number(table, device_mean_sm_efficiency(runs, span.begin_ns, span.end_ns));
	tacho_table_number(table, device_mean_occupancy(runs, span.begin_ns, span.end_ns));
}

static void add_activity(TachoTable *table, const struct activity *activity, struct interval span)
{
	const struct interval_set *sets[] = { &activity->compute, &activity->communication,
					      &activity->exposed_communication, &activity->copy,
					      &activity->exposed_copy };
	gint64 length_ns = span.end_ns - span.begin_ns, parts_ns[G_N_ELEMENTS(sets)], busy_ns;

	for (guint i = 0; i < G_N_ELEMENTS(sets); i++)
		parts_ns[i] = interval_set_measure(sets[i], span.begin_ns, span.end_ns);
	busy_ns = parts_ns[0] + parts_ns[2] + parts_ns[4];
	tacho_table_number(table, MS(length_ns));
	tacho_table_number(table, MS(busy_ns));
	tacho_table_number(table, MS(length_ns - busy_ns));
	tacho_table_number(table, 100.0 * (gdouble)(length_ns - busy_ns) / (gdouble)length_ns);
	for (guint i = 0; i < G_N_ELEMENTS(sets); i++)
		tacho_table_number(table, MS(parts_ns[i]));
}

/* The row of the device that the track `of` is on. */
static void add_device(TachoTable *table, const struct selection *selection, const TachoTrack *of)
{
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = tacho_track_process(timeline, of)->rank_index;
	struct interval span = find_span(selection, rank_index);
	g_autofree gchar *label = device_label(of->device);
	struct activity activity;

	if (span.end_ns <= span.begin_ns)
		return;
	activity_init(&activity);
	find_activity(selection, of->process, of->device, &activity);
	tacho_table_row(table);
	tacho_table_integer(table, rank_of_track(timeline, of));
	tacho_table_text(table, label);
	add_activity(table, &activity, span);
	add_load(table, timeline, of, span);
	activity_release(&activity);
}

TachoTable *tacho_view_device(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("device", columns, G_N_ELEMENTS(columns));
	struct selection selection;

	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (is_first_of_device(&selection, i))
			add_device(table, &selection, tacho_timeline_track(timeline, i));
	if (tacho_table_n_rows(table) == 0)
		note_no_streams(table, &selection);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
