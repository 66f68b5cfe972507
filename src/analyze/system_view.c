/* system_view: what the operating system's kernel did with the threads of the job: who took their cores and for how long, how long they were
 * ready and had none, what they waited in, page faults, memory reclaimed, block devices, retransmits (trace/kernel_event.h).
 *
 * (1) An event counts as a whole where it begins in a chosen step; a counter by how much it grew in the chosen steps, between its samples
 *     in proportion.
 * (2) Processes that are no rank's main one have rows, too, where everything is taken or they are of a chosen rank. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/keyed_rows.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/partition_point.h"
#include "base/time_units.h"
#include "trace/kernel_event.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	IDENTIFIER_COLUMN("pid", "pid"),
	IDENTIFIER_COLUMN("tid", "thread"),
	TEXT_COLUMN("thread_name", "called", .is_flexible = TRUE),
	TEXT_COLUMN("kind", "what"),
	TEXT_COLUMN("detail", "by, in, or of", .is_flexible = TRUE),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("total_ms", "ms", 2),
	NUMBER_COLUMN("mean_us", "mean us", 1),
	NUMBER_COLUMN("max_us", "max us", 1),
	NUMBER_COLUMN("ms_per_step", "ms a step", 3),
	JSON_TEXT("name"),
	JSON_BOOLEAN("is_own"),
};

struct system_group {
	guint32 track, name;
	enum kernel_event_kind kind;
	guint64 count;
	gint64 total_ns, max_ns;
};

struct system_sums {
	const struct selection *selection;
	struct keyed_rows groups; /* struct system_group, by track << 32 | name */
};

static const gchar *thread_name(const TachoTimeline *timeline, const TachoTrack *track)
{
	if (!track->tid)
		return NULL;
	FOR_EACH(const TachoTrack, other, timeline->tracks)
		if (other->kind == TACHO_TRACK_THREAD && other->process == track->process &&
		    other->tid == track->tid)
			return tacho_timeline_string(timeline, other->name);
	return NULL;
}

static void count_slice(struct system_sums *sums, guint32 track, guint32 slice,
			enum kernel_event_kind kind)
{
	const TachoTimeline *timeline = sums->selection->timeline;
	struct system_group group = { .track = track,
				      .name = timeline->slices.name[slice],
				      .kind = kind };
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	struct system_group *row =
		keyed_rows_find_number(&sums->groups, &group, (gsize)track << 32 | group.name);

	row->count++;
	row->total_ns += duration_ns;
	row->max_ns = MAX(row->max_ns, duration_ns);
}

static void count_track(struct system_sums *sums, guint32 track)
{
	const struct selection *selection = sums->selection;
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *row = tacho_timeline_track(timeline, track);
	guint rank_index = tacho_track_process(timeline, row)->rank_index;
	guint cursor = 0;

	for (guint32 i = row->first_slice; i < row->first_slice + row->n_slices; i++) {
		enum kernel_event_kind kind = kernel_event_of(timeline, i);

		if (kind != KERNEL_EVENT_NONE &&
		    selection_takes_name(selection, tacho_slice_name(timeline, i)) &&
		    selection_takes_time(selection, rank_index, timeline->slices.start_ns[i],
					 &cursor))
			count_slice(sums, track, i, kind);
	}
}

static void add_who(TachoTable *table, const TachoTimeline *timeline, const TachoTrack *track)
{
	const TachoProcess *process = tacho_track_process(timeline, track);
	const gchar *name = thread_name(timeline, track);

	tacho_table_row(table);
	table_rank(table, timeline, process->rank_index);
	tacho_table_integer(table, process->pid);
	if (track->tid)
		tacho_table_integer(table, track->tid);
	else
		tacho_table_null(table);
	tacho_table_text(table, name && *name ? name : NULL);
}

static guint n_stretches(const struct selection *selection, guint rank_index)
{
	g_autoptr(GArray) stretches = selection_stretches(selection, rank_index);

	return stretches->len;
}

static void add_group(TachoTable *table, const struct selection *selection,
		      const struct system_group *group)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, group->track);
	guint n_steps = n_stretches(selection, tacho_track_process(timeline, track)->rank_index);
	const gchar *detail = kernel_event_detail(timeline, group->name, group->kind);

	add_who(table, timeline, track);
	tacho_table_text(table, kernel_event_word(group->kind));
	tacho_table_text(table, *detail ? detail : NULL);
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, MS(group->total_ns));
	tacho_table_number(table, (gdouble)group->total_ns / 1e3 / (gdouble)group->count);
	tacho_table_number(table, (gdouble)group->max_ns / 1e3);
	tacho_table_number(table,
			   selection->is_whole || !n_steps ? NAN : MS(group->total_ns) / n_steps);
	tacho_table_text(table, tacho_timeline_string(timeline, group->name));
	tacho_table_boolean(table, kernel_event_is_own(timeline, group->name, group->kind));
}

/* --- sums that the kernel keeps ------------------------------------------------------------------- */

/* The counter at a moment: between two samples in proportion, before the first and behind the last as there. */
static gdouble value_at(const TachoSample *samples, guint n, gint64 time_ns)
{
	guint next = PARTITION_POINT(i, 0, n, samples[i].time_ns <= time_ns);
	gdouble share;

	if (next == 0 || next == n)
		return samples[next ? n - 1 : 0].value;
	share = (gdouble)(time_ns - samples[next - 1].time_ns) /
		(gdouble)(samples[next].time_ns - samples[next - 1].time_ns);
	return samples[next - 1].value + share * (samples[next].value - samples[next - 1].value);
}

static gboolean is_time(enum kernel_counter counter)
{
	return counter == KERNEL_COUNTER_RUN_MS || counter == KERNEL_COUNTER_READY_MS ||
	       counter == KERNEL_COUNTER_IO_WAIT_MS;
}

static void add_counter(TachoTable *table, const struct selection *selection, guint32 track)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *row = tacho_timeline_track(timeline, track);
	enum kernel_counter counter = kernel_counter_of(timeline, row->name);
	g_autoptr(GArray) stretches =
		selection_stretches(selection, tacho_track_process(timeline, row)->rank_index);
	guint first, n = tacho_track_samples(timeline, track, &first);
	const TachoSample *samples;
	gdouble grown = 0;

	if (counter == KERNEL_COUNTER_NONE || n == 0)
		return;
	samples = &g_array_index(timeline->samples, TachoSample, first);
	FOR_EACH(const struct interval, stretch, stretches)
		grown += value_at(samples, n, stretch->end_ns) -
			 value_at(samples, n, stretch->begin_ns);
	if (!(grown >= (is_time(counter) ? 0.01 : 0.5)) ||
	    !selection_takes_name(selection, tacho_timeline_string(timeline, row->name)))
		return;
	add_who(table, timeline, row);
	tacho_table_text(table, kernel_counter_word(counter));
	tacho_table_null(table);
	table_integer_if(table, !is_time(counter), (gint64)llround(grown));
	tacho_table_number(table, is_time(counter) ? grown : NAN);
	tacho_table_null(table);
	tacho_table_null(table);
	tacho_table_number(table, is_time(counter) && !selection->is_whole && stretches->len
					  ? grown / stretches->len
					  : NAN);
	tacho_table_text(table, tacho_timeline_string(timeline, row->name));
	tacho_table_boolean(table, FALSE);
}

TachoTable *tacho_view_system(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("system", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	struct system_sums sums = { .selection = &selection };

	selection_init(&selection, timeline, filter);
	keyed_rows_init(&sums.groups, sizeof(struct system_group));
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (selection_takes_rank(&selection,
					 tacho_track_process(timeline, track)->rank_index) &&
		    track->kind == TACHO_TRACK_ASYNC)
			count_track(&sums, i);
	}
	FOR_EACH(const struct system_group, group, sums.groups.rows)
		add_group(table, &selection, group);
	keyed_rows_release(&sums.groups);
	tacho_table_sort(table, "total_ms", TRUE);
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind == TACHO_TRACK_COUNTER &&
		    selection_takes_rank(&selection,
					 tacho_track_process(timeline, track)->rank_index))
			add_counter(table, &selection, i);
	}
	if (!kernel_events_are_in(timeline))
		tacho_table_note(table, "The kernel was not recorded: tacho record --probes "
					"all,kernel does it, and tacho add takes a trace of "
					"LTTng's kernel tracer.");
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
