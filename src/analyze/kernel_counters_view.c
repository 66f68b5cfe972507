/* kernel_counters_view: what was counted while kernels ran, by kernel, counter, and the operation that launched it.
 *
 * Profilers that count in hardware kernel by kernel tell each value at the begin of its kernel.
 *
 * (1) A counter is one of kernels if nearly all of its samples lie exactly at the begin of a kernel of its process. What is
 *     sampled by a clock of its own does not.
 * (2) Values of one counter for one kernel are those of its instances (parts of the device), and are added up.
 * (3) Where several kernels of a process begin at once, nobody knows whose a value is: it is left out, and counted.
 * (4) A kernel that is told without a device's stream (a range of CUPTI's) is known by what launched it. */
#include <tacho/analyze.h>

#include "analyze/device_work.h"
#include "analyze/keyed_rows.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"

/* (1): rounding, and what was mended, moves a few. */
#define LEAST_SHARE 0.9

static const TachoColumn columns[] = {
	NAME_COLUMN("name", "kernel"),
	TEXT_COLUMN("op", "launched by", .is_flexible = TRUE),
	TEXT_COLUMN("counter", "counter", .is_flexible = TRUE),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("total", "total", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("mean", "mean", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("min", "least", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("max", "most", 0, .is_any_size = TRUE),
	NUMBER_COLUMN("kernel_total_ms", "total ms", 3),
	JSON_TEXT("stack"),
};

struct counted {
	guint32 name, op, counter; /* string ids; op 0: not known */
	guint32 launch;		   /* of the first: slice, or TACHO_NONE */
	guint64 n;
	gdouble total, min, max, kernels_ns;
};

struct kernel_counters {
	const struct selection *selection;
	GHashTable *
		kernels; /* process + 1 -> GHashTable: begin (gint64 of the timeline) -> slice + 1 */
	GHashTable *ranges;	/* of list_ranges() */
	struct keyed_rows rows; /* struct counted */
	guint64 n_ambiguous;
};

/* --- kernels by their begins -------------------------------------------------------------------- */

#define SEVERAL GSIZE_TO_POINTER(G_MAXSIZE)

static gboolean is_on_stream(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
	       TACHO_TRACK_STREAM;
}

/* (4): what was launched and is on no stream -> its launch, slices + 1. */
static GHashTable *list_ranges(const TachoTimeline *timeline)
{
	GHashTable *ranges = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_LAUNCH && !is_on_stream(timeline, flow->to))
			g_hash_table_insert(ranges, GSIZE_TO_POINTER((gsize)flow->to + 1),
					    GSIZE_TO_POINTER((gsize)flow->from + 1));
	return ranges;
}

static gsize range_launch(const struct kernel_counters *counters, guint32 slice)
{
	return GPOINTER_TO_SIZE(
		g_hash_table_lookup(counters->ranges, GSIZE_TO_POINTER((gsize)slice + 1)));
}

static guint32 launch_of(const struct kernel_counters *counters, guint32 slice)
{
	gsize launch = range_launch(counters, slice);

	return launch ? (guint32)(launch - 1) : counters->selection->timeline->slices.launch[slice];
}

static gboolean is_counted_work(const struct kernel_counters *counters, guint32 slice)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	TachoSliceKind kind = timeline->slices.kind[slice];

	if (!is_on_stream(timeline, slice))
		return range_launch(counters, slice) != 0;
	return kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_COLLECTIVE;
}

static void list_kernels_of_track(const struct kernel_counters *counters, GHashTable *kernels,
				  const TachoTrack *track)
{
	const TachoTimeline *timeline = counters->selection->timeline;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 *begin_ns = &timeline->slices.start_ns[i];
		gboolean is_first = !g_hash_table_contains(kernels, begin_ns);

		if (is_counted_work(counters, i))
			g_hash_table_insert(kernels, begin_ns,
					    is_first ? GSIZE_TO_POINTER((gsize)i + 1) : SEVERAL);
	}
}

static GHashTable *list_kernels(const struct kernel_counters *counters, guint32 process)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	GHashTable *kernels = g_hash_table_new(g_int64_hash, g_int64_equal);

	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->process == process)
			list_kernels_of_track(counters, kernels, track);
	return kernels;
}

static GHashTable *kernels_of(struct kernel_counters *counters, guint32 process)
{
	gpointer key = GSIZE_TO_POINTER((gsize)process + 1);
	GHashTable *kernels = g_hash_table_lookup(counters->kernels, key);

	if (!kernels) {
		kernels = list_kernels(counters, process);
		g_hash_table_insert(counters->kernels, key, kernels);
	}
	return kernels;
}

/* --- values ------------------------------------------------------------------------------------- */

/* `cursor` as in selection_takes_time(). */
static gboolean takes_kernel(const struct selection *selection, guint32 slice, guint *cursor)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);

	if (track->kind == TACHO_TRACK_STREAM
		    ? !takes_stream(selection, track)
		    : selection->filter->device != NULL || !selection_takes_track(selection, track))
		return FALSE;
	return selection_takes_time(selection, tacho_track_process(timeline, track)->rank_index,
				    timeline->slices.start_ns[slice], cursor) &&
	       selection_takes_name(selection, tacho_slice_name(timeline, slice));
}

static void count_value(struct kernel_counters *counters, guint32 slice, guint32 counter,
			gdouble value)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	guint32 launch = launch_of(counters, slice);
	guint32 op = launch == TACHO_NONE ? TACHO_NONE : innermost_op(timeline, launch);
	struct counted first = { .name = timeline->slices.name[slice],
				 .op = op == TACHO_NONE ? 0 : timeline->slices.name[op],
				 .counter = counter,
				 .launch = launch,
				 .min = value,
				 .max = value };
	struct counted *counted;

	counted = keyed_rows_find(&counters->rows, &first, "%u %u %u", first.name, first.op,
				  first.counter);
	counted->n++;
	counted->total += value;
	counted->min = MIN(counted->min, value);
	counted->max = MAX(counted->max, value);
	counted->kernels_ns += (gdouble)timeline->slices.duration_ns[slice];
}

static const TachoSample *sample_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->samples, TachoSample, index);
}

/* (1) of the samples [first, last). */
static gboolean is_of_kernels(const TachoTimeline *timeline, GHashTable *kernels, guint first,
			      guint last)
{
	guint n = 0;

	for (guint i = first; i < last; i++)
		n += g_hash_table_contains(kernels, &sample_at(timeline, i)->time_ns);
	return n > 0 && (gdouble)n >= LEAST_SHARE * (last - first);
}

/* The samples [first, last) of `track`. */
static void count_samples(struct kernel_counters *counters, const TachoTrack *track,
			  GHashTable *kernels, guint first, guint last)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	guint32 rank_index = tacho_track_process(timeline, track)->rank_index;
	guint next, cursor = 0;

	for (guint i = first; i < last; i = next) {
		gint64 time_ns = sample_at(timeline, i)->time_ns;
		gpointer kernel = g_hash_table_lookup(kernels, &time_ns);
		guint32 slice = (guint32)(GPOINTER_TO_SIZE(kernel) - 1);
		gdouble value = 0;

		/* (2) */
		for (next = i; next < last && sample_at(timeline, next)->time_ns == time_ns; next++)
			value += sample_at(timeline, next)->value;
		if (kernel == SEVERAL)
			counters->n_ambiguous += (guint)selection_takes_time(
				counters->selection, rank_index, time_ns, &cursor);
		else if (kernel && takes_kernel(counters->selection, slice, &cursor))
			count_value(counters, slice, track->name, value);
	}
}

static void count_counter(struct kernel_counters *counters, guint32 track_index)
{
	const TachoTimeline *timeline = counters->selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	guint32 rank_index = tacho_track_process(timeline, track)->rank_index;
	guint first, n = tacho_track_samples(timeline, track_index, &first);
	GHashTable *kernels;

	if (n == 0 || !selection_takes_rank(counters->selection, rank_index))
		return;
	kernels = kernels_of(counters, track->process);
	if (is_of_kernels(timeline, kernels, first, first + n))
		count_samples(counters, track, kernels, first, first + n);
}

/* --- the table ---------------------------------------------------------------------------------- */

static void add_row(TachoTable *table, const TachoTimeline *timeline, const struct counted *counted)
{
	g_autofree gchar *stack =
		counted->launch == TACHO_NONE ? NULL : stack_text(timeline, counted->launch);

	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(timeline, counted->name));
	if (counted->op)
		tacho_table_text(table, tacho_timeline_string(timeline, counted->op));
	else
		tacho_table_null(table);
	tacho_table_text(table, tacho_timeline_string(timeline, counted->counter));
	tacho_table_integer(table, (gint64)counted->n);
	tacho_table_number(table, counted->total);
	tacho_table_number(table, counted->total / (gdouble)counted->n);
	tacho_table_number(table, counted->min);
	tacho_table_number(table, counted->max);
	tacho_table_number(table, MS(counted->kernels_ns));
	if (stack)
		tacho_table_text(table, stack);
	else
		tacho_table_null(table);
}

static void note_counters(TachoTable *table, const struct kernel_counters *counters)
{
	if (counters->n_ambiguous)
		tacho_table_note(
			table,
			"%" G_GUINT64_FORMAT
			" values are left out: several kernels of their process began then.",
			counters->n_ambiguous);
	if (tacho_table_n_rows(table) == 0 && counters->selection->filter->device)
		tacho_table_note(table,
				 "No counters of kernels on a stream that matches '%s' were "
				 "recorded in the chosen ranks and steps.",
				 g_regex_get_pattern(counters->selection->filter->device));
	else
		selection_note_empty(counters->selection, table, "counters of kernels");
}

TachoTable *tacho_view_kernel_counters(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("kernel_counters", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) kernels =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
	g_autoptr(GHashTable) ranges = list_ranges(timeline);
	struct selection selection;
	struct kernel_counters counters = { .selection = &selection,
					    .kernels = kernels,
					    .ranges = ranges };

	keyed_rows_init(&counters.rows, sizeof(struct counted));
	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (tacho_timeline_track(timeline, i)->kind == TACHO_TRACK_COUNTER)
			count_counter(&counters, i);
	for (guint i = 0; i < counters.rows.rows->len; i++)
		add_row(table, timeline, &g_array_index(counters.rows.rows, struct counted, i));
	tacho_table_sort(table, "kernel_total_ms", TRUE);
	note_counters(table, &counters);
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&counters.rows);
	return table;
}
