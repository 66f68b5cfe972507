/* launch_view: what it takes to bring work to a device, and what comes after, by the name of the work.
 *
 *     last call            call              begin         end           end of a wait
 *      ---|---- before ----|---- call ----|    |             |                |
 *                                         |delay|-- device --|----- seen -----|
 *
 * before   the thread's time between its last call that launched something, or waited for a device, and the call that
 *          launched this: what the host took to get there. Before and call of all that a thread launched add up to its time
 *          from the first of these calls to the last, but for its waits and the time before each of them.
 * call     how long the host was in the call that launched it. A call that launches several pieces (a CUDA
 *          graph) is shared out to them equally, and so is the time before it.
 * replays  how many of them were launched so.
 * delay    from the end of that call to the begin of the work; 0 where it began before.
 * since queued, since submitted
 *          from when the driver took it, and from when the device had it, to its begin; of runs of tacho's
 * seen     from its end to the end of the thread's next wait for a device (thread_calls.h).
 * short    it took less than its call: such work alone cannot keep the device busy.
 *
 * "short" is that of Meta's Holistic Trace Analysis (get_cuda_kernel_launch_stats). Its launch delay adds the
 * duration of the call where it means to take it off (cuda_kernel_launch_stats()), so it is larger than ours
 * by two calls. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/device_work.h"
#include "analyze/keyed_rows.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "analyze/thread_calls.h"
#include "base/quantile.h"
#include "base/time_units.h"

static const TachoColumn columns[] = {
	NAME_COLUMN("name", "work"),
	INTEGER_COLUMN("count", "count"),
	INTEGER_COLUMN("replays", "replays"),
	NUMBER_COLUMN("total_ms", "total ms", 3),
	NUMBER_COLUMN("before_mean_us", "before us", 1),
	NUMBER_COLUMN("call_mean_us", "call us", 1),
	NUMBER_COLUMN("delay_mean_us", "delay us", 1),
	NUMBER_COLUMN("delay_median_us", "median", 1),
	NUMBER_COLUMN("delay_p99_us", "99 %", 1),
	JSON_NUMBER("delay_max_us"),
	NUMBER_COLUMN("queued_mean_us", "since queued", 1),
	NUMBER_COLUMN("submitted_mean_us", "since submitted", 1),
	NUMBER_COLUMN("mean_us", "device us", 1),
	NUMBER_COLUMN("seen_mean_us", "seen us", 1),
	INTEGER_COLUMN("short", "short"),
	NUMBER_COLUMN("short_pct", "%", 0),
};

struct launch_group {
	guint32 name;
	guint64 n_short, n_replays, n_before, n_seen, n_queued, n_submitted;
	gdouble total_ns, before_ns, call_ns, delay_ns, seen_ns, queued_ns, submitted_ns;
	GArray *delays; /* gint64 ns */
};

struct launches {
	const struct selection *selection;
	GHashTable *shares;	    /* of count_launched_work() */
	struct thread_calls *calls; /* that launch something or wait for a device */
	struct thread_calls *waits; /* those that wait */
	struct keyed_rows groups;   /* struct launch_group, by name id */
	guint64 n, n_unknown, n_short, n_leads;
};

static void release_group(gpointer group)
{
	g_array_unref(((struct launch_group *)group)->delays);
}

static struct launch_group *find_group(struct launches *launches, guint32 name)
{
	struct launch_group first = { .name = name };
	struct launch_group *group = keyed_rows_find_number(&launches->groups, &first, name);

	if (!group->delays)
		group->delays = g_array_new(FALSE, FALSE, sizeof(gint64));
	return group;
}

/* A ThreadCallsTake; `shares` is that of count_launched_work(). */
static gboolean launches_or_waits(const TachoTimeline *timeline, guint32 slice,
				  gconstpointer shares)
{
	return launched_work_of((GHashTable *)shares, slice) ||
	       is_device_wait(timeline, slice, NULL);
}

static void count_host(const struct launches *launches, struct launch_group *group, guint32 slice,
		       guint n_launched)
{
	const TachoTimeline *timeline = launches->selection->timeline;
	guint32 launch = timeline->slices.launch[slice], thread = timeline->slices.track[launch];
	gint64 call_begin_ns = timeline->slices.start_ns[launch];
	gint64 work_end_ns = tacho_slice_end_ns(timeline, slice);
	gint64 last_ns = thread_calls_last_end(launches->calls, thread, call_begin_ns);
	gint64 seen_ns = thread_calls_next_end(launches->waits, thread, work_end_ns);

	if (last_ns != G_MININT64) {
		group->n_before++;
		group->before_ns += (gdouble)(call_begin_ns - last_ns) / n_launched;
	}
	if (seen_ns != G_MAXINT64) {
		group->n_seen++;
		group->seen_ns += (gdouble)(seen_ns - work_end_ns);
	}
}

static void count_lead(struct launches *launches, struct launch_group *group, guint32 slice)
{
	TachoDeviceLead lead;

	if (!tacho_slice_lead(launches->selection->timeline, slice, &lead))
		return;
	launches->n_leads++;
	if (!isnan(lead.queued_ns)) {
		group->n_queued++;
		group->queued_ns += lead.queued_ns;
	}
	if (!isnan(lead.submitted_ns)) {
		group->n_submitted++;
		group->submitted_ns += lead.submitted_ns;
	}
}

static void count_work(struct launches *launches, guint32 slice)
{
	const TachoTimeline *timeline = launches->selection->timeline;
	guint32 launch = timeline->slices.launch[slice];
	gdouble duration_ns = (gdouble)timeline->slices.duration_ns[slice], call_ns;
	gint64 delay_ns;
	struct launch_group *group;
	guint n_launched;

	launches->n++;
	if (launch == TACHO_NONE) {
		launches->n_unknown++;
		return;
	}
	n_launched = MAX(launched_work_of(launches->shares, launch), 1u);
	call_ns = (gdouble)timeline->slices.duration_ns[launch] / n_launched;
	delay_ns = MAX(timeline->slices.start_ns[slice] - tacho_slice_end_ns(timeline, launch), 0);
	group = find_group(launches, timeline->slices.name[slice]);
	group->n_replays += tacho_slice_borrow_graph_work(timeline, slice) != NULL;
	group->total_ns += duration_ns;
	group->call_ns += call_ns;
	group->delay_ns += (gdouble)delay_ns;
	count_host(launches, group, slice, n_launched);
	count_lead(launches, group, slice);
	group->n_short += duration_ns < call_ns;
	launches->n_short += duration_ns < call_ns;
	g_array_append_val(group->delays, delay_ns);
}

static void count_stream(struct launches *launches, const TachoTrack *track)
{
	const struct selection *selection = launches->selection;
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	g_autoptr(GArray) work = stream_work(timeline, track);
	guint cursor = 0;

	for (guint i = 0; i < work->len; i++) {
		guint32 slice = g_array_index(work, guint32, i);

		if (selection_takes_time(selection, rank_index, timeline->slices.start_ns[slice],
					 &cursor) &&
		    selection_takes_name(selection, tacho_slice_name(timeline, slice)))
			count_work(launches, slice);
	}
}

static void add_row(TachoTable *table, const TachoTimeline *timeline,
		    const struct launch_group *group)
{
	guint n = group->delays->len;

	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(timeline, group->name));
	tacho_table_integer(table, n);
	tacho_table_integer(table, (gint64)group->n_replays);
	tacho_table_number(table, MS(group->total_ns));
	table_number_if(table, group->n_before, US(group->before_ns) / (gdouble)group->n_before);
	tacho_table_number(table, US(group->call_ns) / n);
	tacho_table_number(table, US(group->delay_ns) / n);
	tacho_table_number(table, US(quantile(group->delays, 0.5)));
	tacho_table_number(table, US(quantile(group->delays, 0.99)));
	tacho_table_number(table, US(quantile(group->delays, 1)));
	table_number_if(table, group->n_queued, US(group->queued_ns) / (gdouble)group->n_queued);
	table_number_if(table, group->n_submitted,
			US(group->submitted_ns) / (gdouble)group->n_submitted);
	tacho_table_number(table, US(group->total_ns) / n);
	table_number_if(table, group->n_seen, US(group->seen_ns) / (gdouble)group->n_seen);
	tacho_table_integer(table, (gint64)group->n_short);
	tacho_table_number(table, 100.0 * (gdouble)group->n_short / n);
}

static void note_launches(TachoTable *table, const struct launches *launches)
{
	guint64 n_known = launches->n - launches->n_unknown;

	if (n_known)
		tacho_table_note(
			table, "%.0f %% of the work took less time than the call that launched it.",
			100.0 * (gdouble)launches->n_short / (gdouble)n_known);
	if (launches->n_unknown)
		tacho_table_note(table,
				 "The launch of %" G_GUINT64_FORMAT
				 " pieces of work was not recorded, so they are not shown.",
				 launches->n_unknown);
	else if (n_known == 0 && launches->selection->filter->name)
		selection_note_empty(launches->selection, table, "kernels, copies or fills");
	else if (n_known == 0)
		note_no_streams(table, launches->selection);
}

TachoTable *tacho_view_launch(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("launch", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) shares = count_launched_work(timeline);
	g_autoptr(thread_calls) calls = thread_calls_new(timeline, launches_or_waits, shares);
	g_autoptr(thread_calls) waits = thread_calls_new(timeline, is_device_wait, NULL);
	struct selection selection;
	struct launches launches = {
		.selection = &selection, .shares = shares, .calls = calls, .waits = waits
	};

	keyed_rows_init(&launches.groups, sizeof(struct launch_group));
	g_array_set_clear_func(launches.groups.rows, release_group);
	if (timeline->graph_work->len == 0)
		table_hide_column(table, "replays");
	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (takes_stream(&selection, tacho_timeline_track(timeline, i)))
			count_stream(&launches, tacho_timeline_track(timeline, i));
	if (!launches.n_leads) {
		table_hide_column(table, "queued_mean_us");
		table_hide_column(table, "submitted_mean_us");
	}
	for (guint i = 0; i < launches.groups.rows->len; i++)
		add_row(table, timeline,
			&g_array_index(launches.groups.rows, struct launch_group, i));
	tacho_table_sort(table, "total_ms", TRUE);
	note_launches(table, &launches);
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&launches.groups);
	return table;
}
