/* offload_view: what work goes through before, in and after a device, by kind of work, and transfers by direction and size.
 *
 *     call                 begin         end              end of a wait
 *      |--- call ---|       |             |                |
 *                   |queued |-- device ---|----- seen -----|
 *
 * call     how long the host was in the call that launched it; a call that launches several pieces is shared out to them.
 * queued   from the end of that call to the begin of the work; 0 where it began before.
 * device   how long it took there.
 * seen     from its end to the end of the next wait for a device of the thread that launched it: from then on the program can use the result. What the thread
 *          waits for may be another stream, so this is a bound from below where programs have several.
 *
 * (1) Work counts in the step in which it begins.
 * (2) A mean is over the work of which the figure is known. */
#include <tacho/analyze.h>

#include "analyze/copy_rate.h"
#include "analyze/device_work.h"
#include "analyze/keyed_rows.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "analyze/thread_calls.h"
#include "base/time_units.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("device", "device"),
	TEXT_COLUMN("kind", "work"),
	TEXT_COLUMN("size", "size"),
	INTEGER_COLUMN("count", "count"),
	INTEGER_COLUMN("bytes", "bytes"),
	NUMBER_COLUMN("call_mean_us", "call us", 1),
	NUMBER_COLUMN("queued_mean_us", "queued us", 1),
	NUMBER_COLUMN("device_mean_us", "device us", 1),
	NUMBER_COLUMN("seen_mean_us", "seen us", 1),
	NUMBER_COLUMN("mean_gb_per_s", "GB/s", 3),
	NUMBER_COLUMN("device_total_ms", "total ms", 3),
	JSON_INTEGER("least_bytes"),
};

/* Transfers from so many bytes on; the first is of those that do not tell. */
static const struct {
	gdouble least_bytes;
	const gchar *name;
} sizes[] = {
	{ 0, "" },
	{ 1, "to 4 KiB" },
	{ 4096 + 1, "to 64 KiB" },
	{ 65536 + 1, "to 1 MiB" },
	{ 1048576 + 1, "to 16 MiB" },
	{ 16777216 + 1, "to 256 MiB" },
	{ 268435456 + 1, "more" },
};

/* Kinds of work: kernels, collectives, and behind them the kinds of copies. */
enum { WORK_KERNEL, WORK_COLLECTIVE, WORK_COPIES, N_WORK_KINDS = WORK_COPIES + N_COPY_KINDS };

struct mean {
	guint n;
	gdouble sum_ns;
};

struct group {
	guint32 process;
	gint32 device;
	guint kind, size;
	guint count;
	gdouble bytes, told_bytes, told_ns;
	struct mean call, queued, device_time, seen;
};

struct offload {
	const struct selection *selection;
	GHashTable *shares; /* of count_launched_work() */
	struct thread_calls *waits;
	struct keyed_rows groups;
};

static void add_to(struct mean *mean, gint64 ns)
{
	mean->n++;
	mean->sum_ns += (gdouble)MAX(ns, 0);
}

/* --- groups ----------------------------------------------------------------------------------- */

static guint size_of(gdouble bytes)
{
	guint size = 0;

	while (size + 1 < G_N_ELEMENTS(sizes) && bytes >= sizes[size + 1].least_bytes)
		size++;
	return size;
}

static struct group *find_group(struct offload *offload, const TachoTrack *track, guint kind,
				guint size)
{
	const struct group first = {
		.process = track->process, .device = track->device, .kind = kind, .size = size
	};

	return keyed_rows_find(&offload->groups, &first, "%u %d %u %u", first.process, first.device,
			       kind, size);
}

static void count_host(struct offload *offload, struct group *group, guint32 slice)
{
	const TachoTimeline *timeline = offload->selection->timeline;
	guint32 launch = timeline->slices.launch[slice];
	gint64 start_ns = timeline->slices.start_ns[slice], seen_ns;

	if (launch == TACHO_NONE)
		return;
	add_to(&group->call, timeline->slices.duration_ns[launch] /
				     MAX(launched_work_of(offload->shares, launch), 1u));
	add_to(&group->queued, start_ns - tacho_slice_end_ns(timeline, launch));
	seen_ns = thread_calls_next_end(offload->waits, timeline->slices.track[launch],
					tacho_slice_end_ns(timeline, slice));
	if (seen_ns != G_MAXINT64)
		add_to(&group->seen, seen_ns - tacho_slice_end_ns(timeline, slice));
}

static void count_work(struct offload *offload, const TachoTrack *track, guint32 slice)
{
	const TachoTimeline *timeline = offload->selection->timeline;
	struct copy_rate rate = { 0 };
	gboolean is_copy = copy_rate_of(timeline, slice, &rate);
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	guint kind = WORK_KERNEL;
	struct group *group;

	if (is_copy)
		kind = WORK_COPIES + rate.kind;
	else if (timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE)
		kind = WORK_COLLECTIVE;
	group = find_group(offload, track, kind, is_copy ? size_of(rate.bytes) : 0);
	group->count++;
	add_to(&group->device_time, duration_ns);
	group->bytes += rate.bytes;
	if (rate.bytes > 0 && rate.gb_per_s > 0 && duration_ns > 0) {
		group->told_bytes += rate.bytes;
		group->told_ns += (gdouble)duration_ns;
	}
	count_host(offload, group, slice);
}

static void count_stream(struct offload *offload, const TachoTrack *track)
{
	const struct selection *selection = offload->selection;
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	g_autoptr(GArray) work = stream_work(timeline, track);
	guint cursor = 0;

	for (guint i = 0; i < work->len; i++) {
		guint32 slice = g_array_index(work, guint32, i);

		if (selection_takes_time(selection, rank_index, timeline->slices.start_ns[slice],
					 &cursor) &&
		    selection_takes_name(selection, tacho_slice_name(timeline, slice)))
			count_work(offload, track, slice);
	}
}

/* --- the table -------------------------------------------------------------------------------- */

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	const struct group *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

static const gchar *work_name(guint kind)
{
	static const gchar *const names[WORK_COPIES] = { "kernel", "collective" };

	return kind < WORK_COPIES ? names[kind]
				  : copy_kind_name((enum copy_kind)(kind - WORK_COPIES));
}

static void add_mean(TachoTable *table, const struct mean *mean)
{
	table_number_if(table, mean->n > 0, US(mean->sum_ns) / mean->n);
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, const struct group *group)
{
	g_autofree gchar *device = device_label(group->device);

	tacho_table_row(table);
	table_rank(table, timeline, tacho_timeline_process(timeline, group->process)->rank_index);
	tacho_table_text(table, device);
	tacho_table_text(table, work_name(group->kind));
	tacho_table_text(table, sizes[group->size].name);
	tacho_table_integer(table, group->count);
	if (group->bytes > 0 && group->bytes < 0x1p63)
		tacho_table_integer(table, (gint64)group->bytes);
	else
		tacho_table_null(table);
	add_mean(table, &group->call);
	add_mean(table, &group->queued);
	add_mean(table, &group->device_time);
	add_mean(table, &group->seen);
	table_number_if(table, group->told_ns > 0, group->told_bytes / group->told_ns);
	tacho_table_number(table, MS(group->device_time.sum_ns));
	tacho_table_integer(table, (gint64)sizes[group->size].least_bytes);
}

TachoTable *tacho_view_offload(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("offload", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) shares = count_launched_work(timeline);
	g_autoptr(thread_calls) waits = thread_calls_new(timeline, is_device_wait, NULL);
	struct selection selection;
	struct offload offload = { .selection = &selection, .shares = shares, .waits = waits };

	keyed_rows_init(&offload.groups, sizeof(struct group));
	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (takes_stream(&selection, tacho_timeline_track(timeline, i)))
			count_stream(&offload, tacho_timeline_track(timeline, i));
	g_array_sort(offload.groups.rows, compare_groups);
	for (guint i = 0; i < offload.groups.rows->len; i++)
		add_row(table, timeline, &g_array_index(offload.groups.rows, struct group, i));
	if (!tacho_table_n_rows(table) && selection.filter->name)
		selection_note_empty(&selection, table, "kernels, copies or fills");
	else if (!tacho_table_n_rows(table))
		note_no_streams(table, &selection);
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&offload.groups);
	return table;
}
