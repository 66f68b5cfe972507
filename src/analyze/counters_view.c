/* counters_view: how low and how high each counter was, and what its rank ran when it was highest.
 *
 * A sample holds until the next of the same counter; the mean weighs each by how long it held. Samples count for
 * the time that they held in chosen steps, so one from before a step counts, too; the last holds for no time. What
 * a counter counts, and in which unit, is the recorder's to say: its name does.
 *
 * What ran is the call stack of the rank's main thread at the time. */
#include <tacho/analyze.h>

#include "analyze/device_work.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "correlate/thread_index.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("name", "counter", .is_flexible = TRUE),
	INTEGER_COLUMN("samples", "samples"),
	NUMBER_COLUMN("min", "least", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("mean", "mean", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("max", "most", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("max_at_ms", "at ms", 3),
	TEXT_COLUMN("max_in", "in", .is_flexible = TRUE),
	JSON_TEXT("max_stack"),
	NUMBER_COLUMN("first", "first", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("last", "last", 0, .is_any_size = TRUE),
	JSON_INTEGER("pid"),
};

struct counter {
	guint n_values;	 /* that held in chosen steps, or were taken in them */
	guint n_samples; /* of them, those taken in chosen steps */
	gdouble first, last, min, max;
	gint64 max_ns;
	gdouble held_ns, weighted, sum;
};

struct counters {
	const struct selection *selection;
	TachoTable *table;
	struct thread_index *threads;
};

static const TachoSample *sample_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->samples, TachoSample, index);
}

/* `held_ns`: for how long of the chosen steps. */
static void count_sample(struct counter *counter, const TachoSample *sample, gint64 held_ns)
{
	if (counter->n_values++ == 0) {
		counter->first = counter->min = counter->max = sample->value;
		counter->max_ns = sample->time_ns;
	}
	if (sample->value > counter->max) {
		counter->max = sample->value;
		counter->max_ns = sample->time_ns;
	}
	counter->min = MIN(counter->min, sample->value);
	counter->last = sample->value;
	counter->sum += sample->value;
	counter->held_ns += (gdouble)held_ns;
	counter->weighted += sample->value * (gdouble)held_ns;
}

/* The samples [first, last) are one counter's. */
static struct counter measure(const struct selection *selection, guint rank_index, guint first,
			      guint last)
{
	const TachoTimeline *timeline = selection->timeline;
	struct counter counter = { 0 };
	struct interval_set chosen;
	guint cursor = 0;

	selection_moments(selection, rank_index, &chosen);
	for (guint i = first; i < last; i++) {
		const TachoSample *sample = sample_at(timeline, i);
		gint64 until_ns = sample_at(timeline, MIN(i + 1, last - 1))->time_ns;
		gint64 held_ns = interval_set_measure(&chosen, sample->time_ns, until_ns);
		gboolean is_inside =
			selection_takes_time(selection, rank_index, sample->time_ns, &cursor);

		counter.n_samples += is_inside;
		if (is_inside || held_ns > 0)
			count_sample(&counter, sample, held_ns);
	}
	interval_set_release(&chosen);
	return counter;
}

/* --- what ran --------------------------------------------------------------------------------- */

/* The thread that has the process's number, else its first. */
static guint32 main_thread(const TachoTimeline *timeline, guint rank_index)
{
	guint32 process = tacho_timeline_rank(timeline, rank_index)->main_process;
	guint32 pid = tacho_timeline_process(timeline, process)->pid;
	guint32 found = TACHO_NONE;

	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
		if (track->process != process || track->kind != TACHO_TRACK_THREAD)
			continue;
		if (track->tid == pid)
			return i;
		if (found == TACHO_NONE)
			found = i;
	}
	return found;
}

static void add_place(TachoTable *table, const struct counters *counters, guint rank_index,
		      gint64 time_ns)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	guint32 thread = main_thread(timeline, rank_index);
	guint32 slice = thread == TACHO_NONE
				? TACHO_NONE
				: thread_index_open_slice(counters->threads, thread, time_ns);
	guint32 op = innermost_op(timeline, slice);
	g_autofree gchar *stack = NULL;

	if (slice == TACHO_NONE) {
		tacho_table_null(table);
		tacho_table_null(table);
		return;
	}
	stack = stack_text(timeline, slice);
	tacho_table_text(table, tacho_slice_name(timeline, op == TACHO_NONE ? slice : op));
	tacho_table_text(table, stack);
}

/* --- the table -------------------------------------------------------------------------------- */

static void add_row(const struct counters *counters, const TachoTrack *track,
		    const struct counter *counter)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	const TachoProcess *process = tacho_track_process(timeline, track);
	TachoTable *table = counters->table;

	tacho_table_row(table);
	tacho_table_integer(table, rank_of_track(timeline, track));
	tacho_table_text(table, tacho_timeline_string(timeline, track->name));
	tacho_table_integer(table, counter->n_samples);
	tacho_table_number(table, counter->min);
	tacho_table_number(table, counter->held_ns > 0 ? counter->weighted / counter->held_ns
						       : counter->sum / counter->n_values);
	tacho_table_number(table, counter->max);
	tacho_table_number(table, MS(counter->max_ns));
	add_place(table, counters, process->rank_index, counter->max_ns);
	tacho_table_number(table, counter->first);
	tacho_table_number(table, counter->last);
	tacho_table_integer(table, process->pid);
}

static void add_counter(const struct counters *counters, guint first, guint last)
{
	const struct selection *selection = counters->selection;
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, sample_at(timeline, first)->track);
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	struct counter counter;

	if (!selection_takes_rank(selection, rank_index) ||
	    !selection_takes_name(selection, tacho_timeline_string(timeline, track->name)))
		return;
	counter = measure(selection, rank_index, first, last);
	if (counter.n_values)
		add_row(counters, track, &counter);
}

TachoTable *tacho_view_counters(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("counters", columns, G_N_ELEMENTS(columns));
	g_autoptr(thread_index) threads = thread_index_new(timeline);
	struct selection selection;
	struct counters counters = { &selection, table, threads };
	guint n = timeline->samples->len, last;

	selection_init(&selection, timeline, filter);
	for (guint first = 0; first < n; first = last) {
		for (last = first + 1; last < n; last++)
			if (sample_at(timeline, last)->track != sample_at(timeline, first)->track)
				break;
		add_counter(&counters, first, last);
	}
	selection_note_empty(&selection, table, "counters");
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
