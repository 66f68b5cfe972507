/* queue_view: how much work the host has launched for a device's stream that has not begun.
 *
 * Work is queued from the begin of its launch to its own begin, so what runs is in no queue; this is the
 * queue length of Meta's Holistic Trace Analysis (get_queue_length_time_series). Means weigh a depth by how
 * long it lasted.
 *
 * (1) Work without a recorded launch is in no queue, and counted.
 * (2) What is queued before a step and begins in it is in the queue from the step's begin.
 * (3) With a name filter the queue is that of the work of that name. */
#include <tacho/analyze.h>

#include "analyze/device_work.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"

/* From here on the CUDA runtime lets a launch wait for room: HTA saw it at 1022 to 1024. */
#define FULL_DEPTH 1022

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("device", "device"),
	TEXT_COLUMN("stream", "stream", .is_flexible = TRUE),
	INTEGER_COLUMN("count", "work"),
	NUMBER_COLUMN("mean_depth", "mean", 2),
	INTEGER_COLUMN("max_depth", "most"),
	NUMBER_COLUMN("wait_mean_us", "queued us", 1),
	SHARE_COLUMN("empty_pct", "empty %", 1),
	NUMBER_COLUMN("full_pct", "full %", 1),
	JSON_NUMBER("max_at_ms"),
};

struct change {
	gint64 time_ns;
	gint32 by;
};

struct queue {
	guint count;	     /* work that began in chosen steps */
	gdouble wait_ns;     /* sum over it, from launch to begin */
	gdouble weighted_ns; /* depth times how long */
	gdouble total_ns, filled_ns, full_ns;
	gint32 max_depth;
	gint64 max_ns; /* when it was first reached */
};

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct change *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns) ?: ORDER(x->by, y->by);
}

static gboolean takes_work(const struct selection *selection, guint32 slice)
{
	return selection_takes_name(selection, tacho_slice_name(selection->timeline, slice));
}

/* The changes by all work of the stream, whatever steps were chosen: (2). */
static GArray *find_changes(const struct selection *selection, const TachoTrack *track)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autoptr(GArray) work = stream_work(timeline, track);
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct change));

	for (guint i = 0; i < work->len; i++) {
		guint32 slice = g_array_index(work, guint32, i);
		guint32 launch = timeline->slices.launch[slice];
		gint64 start_ns = timeline->slices.start_ns[slice];
		struct change queued = { .by = 1 }, begun = { start_ns, -1 };

		if (launch == TACHO_NONE || !takes_work(selection, slice))
			continue;
		queued.time_ns = MIN(timeline->slices.start_ns[launch], start_ns);
		g_array_append_val(changes, queued);
		g_array_append_val(changes, begun);
	}
	g_array_sort(changes, compare_changes);
	return changes;
}

/* The depth was that from `begin_ns` to `end_ns`, of which `inside_ns` were chosen. */
static void count_depth(struct queue *queue, gint32 depth, gint64 begin_ns, gint64 inside_ns)
{
	if (depth <= 0 || inside_ns <= 0)
		return;
	queue->weighted_ns += (gdouble)depth * (gdouble)inside_ns;
	queue->filled_ns += (gdouble)inside_ns;
	queue->full_ns += depth >= FULL_DEPTH ? (gdouble)inside_ns : 0;
	if (depth > queue->max_depth) {
		queue->max_depth = depth;
		queue->max_ns = begin_ns;
	}
}

static void measure_depths(struct queue *queue, const GArray *changes,
			   const struct interval_set *chosen)
{
	gint32 depth = 0;

	FOR_EACH_AT(const struct change, change, i, changes) {
		gint64 end_ns = change->time_ns;

		depth += change->by;
		if (i + 1 < changes->len)
			end_ns = g_array_index(changes, struct change, i + 1).time_ns;
		if (depth > 0 && end_ns > change->time_ns)
			count_depth(queue, depth, change->time_ns,
				    interval_set_measure(chosen, change->time_ns, end_ns));
	}
	FOR_EACH(const struct interval, interval, chosen->intervals)
		queue->total_ns += (gdouble)(interval->end_ns - interval->begin_ns);
}

/* Returns how many have no launch. */
static guint64 count_work(struct queue *queue, const struct selection *selection,
			  const TachoTrack *track, guint rank_index)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autoptr(GArray) work = stream_work(timeline, track);
	guint64 n_unknown = 0;
	guint cursor = 0;

	for (guint i = 0; i < work->len; i++) {
		guint32 slice = g_array_index(work, guint32, i);
		guint32 launch = timeline->slices.launch[slice];
		gint64 start_ns = timeline->slices.start_ns[slice];

		if (!selection_takes_time(selection, rank_index, start_ns, &cursor) ||
		    !takes_work(selection, slice))
			continue;
		if (launch == TACHO_NONE) {
			n_unknown++;
			continue;
		}
		queue->count++;
		queue->wait_ns += (gdouble)MAX(start_ns - timeline->slices.start_ns[launch], 0);
	}
	return n_unknown;
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, const TachoTrack *track,
		    const struct queue *queue)
{
	const gchar *name = tacho_timeline_string(timeline, track->name);
	g_autofree gchar *device = device_label(track->device);
	g_autofree gchar *stream =
		*name ? g_strdup(name) : g_strdup_printf("stream %u", track->tid);

	tacho_table_row(table);
	tacho_table_integer(table, rank_of_track(timeline, track));
	tacho_table_text(table, device);
	tacho_table_text(table, stream);
	tacho_table_integer(table, queue->count);
	tacho_table_number(table, queue->weighted_ns / queue->total_ns);
	tacho_table_integer(table, queue->max_depth);
	tacho_table_number(table, US(queue->wait_ns) / queue->count);
	tacho_table_number(table, 100.0 - 100.0 * queue->filled_ns / queue->total_ns);
	tacho_table_number(table, 100.0 * queue->full_ns / queue->total_ns);
	tacho_table_number(table, (gdouble)queue->max_ns / 1e6);
}

/* Returns how much of its work has no launch. */
static guint64 add_stream(TachoTable *table, const struct selection *selection,
			  const TachoTrack *track)
{
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	g_autoptr(GArray) changes = find_changes(selection, track);
	struct interval_set chosen;
	struct queue queue = { 0 };
	guint64 n_unknown = count_work(&queue, selection, track, rank_index);

	if (queue.count == 0)
		return n_unknown;
	selection_moments(selection, rank_index, &chosen);
	measure_depths(&queue, changes, &chosen);
	if (queue.total_ns > 0)
		add_row(table, timeline, track, &queue);
	interval_set_release(&chosen);
	return n_unknown;
}

TachoTable *tacho_view_queue(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("queue", columns, G_N_ELEMENTS(columns));
	struct selection selection;
	guint64 n_unknown = 0;

	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (takes_stream(&selection, tacho_timeline_track(timeline, i)))
			n_unknown +=
				add_stream(table, &selection, tacho_timeline_track(timeline, i));
	if (n_unknown)
		tacho_table_note(table,
				 "The launch of %" G_GUINT64_FORMAT
				 " pieces of work was not recorded, so they are in no queue.",
				 n_unknown);
	else if (tacho_table_n_rows(table) == 0 && selection.filter->name)
		selection_note_empty(&selection, table, "kernels, copies or fills");
	else if (tacho_table_n_rows(table) == 0)
		note_no_streams(table, &selection);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
