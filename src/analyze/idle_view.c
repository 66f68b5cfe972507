/* idle_view: why a device waits between two pieces of work.
 *
 *     host     the next was launched only after the one before had ended: the host is too slow
 *     kernel   it was launched in time and began within 30 us, or within what the recording's times are
 *              rounded to: what going from one to the next costs
 *     other    it was launched in time and began later: it waited for another stream, for an event ...
 *     unknown  nobody recorded the launch
 *
 * The classes and the limit are those of Meta's Holistic Trace Analysis (get_idle_time_breakdown), whose
 * "other" holds what is unknown here. Its text says 30 ns, but what it compares are the microseconds of the trace.
 * Between kernels that follow at once lie 1 to 10 us in traces of today's devices, and few gaps are between 10 and
 * 100. Unlike there, work that overlaps on a stream makes no negative gap: a gap begins when all work before has
 * ended.
 *
 * A device with several streams has a row of its own: it waits while none of them works, and what ends the
 * waiting says why.
 *
 * (1) The part of a gap that is in chosen steps counts; work counts as a whole where it begins in one.
 * (2) idle = host + kernel + other + unknown. The time before a stream's first work and after its last is
 *     in none of them: nothing says what was waited for. */
#include <tacho/analyze.h>

#include "analyze/device_work.h"
#include "analyze/table_columns.h"
#include "base/time_units.h"
#include "trace/slice_columns.h"

#define KERNEL_WAIT_NS 30000 /* a gap shorter than this */

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("device", "device"),
	TEXT_COLUMN("stream", "stream", .is_flexible = TRUE),
	INTEGER_COLUMN("count", "work"),
	NUMBER_COLUMN("busy_ms", "busy ms", 3),
	NUMBER_COLUMN("idle_ms", "idle ms", 3),
	SHARE_COLUMN("idle_pct", "%", 1),
	NUMBER_COLUMN("host_wait_ms", "host wait", 3),
	NUMBER_COLUMN("kernel_wait_ms", "kernel wait", 3),
	NUMBER_COLUMN("other_ms", "other", 3),
	NUMBER_COLUMN("unknown_ms", "unknown", 3),
	JSON_INTEGER("gaps"),
	NUMBER_COLUMN("longest_us", "longest us", 1),
	NAME_COLUMN("longest_before", "before"),
};

enum { WAIT_HOST, WAIT_KERNEL, WAIT_OTHER, WAIT_UNKNOWN, N_WAITS };

struct idle {
	guint count, n_gaps;
	gdouble busy_ns, waits_ns[N_WAITS];
	gint64 longest_ns;
	guint32 longest_before; /* the work that ended the longest gap */
};

/* The streams of one device of one rank, and what was chosen of its time. */
struct device {
	const struct selection *selection;
	guint rank_index;
	gint32 rank, number;
	struct interval_set chosen;
	guint n_streams;
	GArray *work; /* guint32 slices of all its streams */
};

static gint wait_of(const TachoTimeline *timeline, guint32 next, gint64 idle_since_ns)
{
	guint32 launch = timeline->slices.launch[next];
	gint64 gap_ns = timeline->slices.start_ns[next] - idle_since_ns;

	if (launch == TACHO_NONE)
		return WAIT_UNKNOWN;
	if (timeline->slices.start_ns[launch] > idle_since_ns)
		return WAIT_HOST;
	if (gap_ns < KERNEL_WAIT_NS || gap_ns <= timeline->resolution_ns)
		return WAIT_KERNEL;
	return WAIT_OTHER;
}

static void count_gap(struct idle *idle, const struct device *device, guint32 next,
		      gint64 idle_since_ns)
{
	const TachoTimeline *timeline = device->selection->timeline;
	gint64 gap_ns = interval_set_measure(&device->chosen, idle_since_ns,
					     timeline->slices.start_ns[next]);

	if (gap_ns <= 0)
		return;
	idle->n_gaps++;
	idle->waits_ns[wait_of(timeline, next, idle_since_ns)] += (gdouble)gap_ns;
	if (gap_ns > idle->longest_ns) {
		idle->longest_ns = gap_ns;
		idle->longest_before = next;
	}
}

/* `work` is all that a stream did, in order of time. With a name filter the work of that name counts,
 * and the gaps before it. */
static struct idle measure(const struct device *device, const GArray *work)
{
	const struct selection *selection = device->selection;
	const TachoTimeline *timeline = selection->timeline;
	gint64 idle_since_ns = G_MAXINT64; /* before the first work there is no gap */
	struct idle idle = { 0 };
	guint cursor = 0;

	for (guint i = 0; i < work->len; i++) {
		guint32 slice = g_array_index(work, guint32, i);
		gint64 start_ns = timeline->slices.start_ns[slice];
		gint64 end_ns = tacho_slice_end_ns(timeline, slice);
		gint64 free_ns = i ? MAX(start_ns, idle_since_ns) : start_ns;
		gboolean is_chosen =
			selection_takes_time(selection, device->rank_index, start_ns, &cursor);

		if (selection_takes_name(selection, tacho_slice_name(timeline, slice))) {
			if (start_ns > idle_since_ns)
				count_gap(&idle, device, slice, idle_since_ns);
			if (is_chosen && end_ns > free_ns)
				idle.busy_ns += (gdouble)(end_ns - free_ns);
			idle.count += is_chosen;
		}
		idle_since_ns = i ? MAX(idle_since_ns, end_ns) : end_ns;
	}
	return idle;
}

static void add_row(TachoTable *table, const struct device *device, const gchar *stream,
		    const GArray *work)
{
	struct idle idle = measure(device, work);
	g_autofree gchar *label = device_label(device->number);
	gdouble idle_ns = 0;

	if (idle.count == 0)
		return;
	for (guint i = 0; i < N_WAITS; i++)
		idle_ns += idle.waits_ns[i];
	tacho_table_row(table);
	tacho_table_integer(table, device->rank);
	tacho_table_text(table, label);
	tacho_table_text(table, stream);
	tacho_table_integer(table, idle.count);
	tacho_table_number(table, MS(idle.busy_ns));
	tacho_table_number(table, MS(idle_ns));
	tacho_table_number(table, idle_ns > 0 ? 100.0 * idle_ns / (idle_ns + idle.busy_ns) : 0);
	for (guint i = 0; i < N_WAITS; i++)
		tacho_table_number(table, MS(idle.waits_ns[i]));
	tacho_table_integer(table, idle.n_gaps);
	tacho_table_number(table, (gdouble)idle.longest_ns / 1e3);
	tacho_table_text(table, idle.n_gaps ? tacho_slice_name(device->selection->timeline,
							       idle.longest_before)
					    : NULL);
}

static void add_stream(TachoTable *table, struct device *device, const TachoTrack *track)
{
	const TachoTimeline *timeline = device->selection->timeline;
	const gchar *name = tacho_timeline_string(timeline, track->name);
	g_autofree gchar *label = *name ? g_strdup(name) : g_strdup_printf("stream %u", track->tid);
	g_autoptr(GArray) work = stream_work(timeline, track);

	if (work->len == 0)
		return;
	add_row(table, device, label, work);
	device->n_streams++;
	g_array_append_vals(device->work, work->data, work->len);
}

/* The rows of the streams of the device that `first` is on, of its rank, and of the device. */
static void add_device(TachoTable *table, const struct selection *selection, guint first)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoTrack *of = tacho_timeline_track(timeline, first);
	const TachoProcess *process = tacho_track_process(timeline, of);
	struct device device = { .selection = selection,
				 .rank_index = process->rank_index,
				 .rank = rank_of_track(timeline, of),
				 .number = of->device,
				 .work = g_array_new(FALSE, FALSE, sizeof(guint32)) };

	selection_moments(selection, process->rank_index, &device.chosen);
	for (guint i = first; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->process == of->process && track->device == of->device &&
		    takes_stream(selection, track))
			add_stream(table, &device, track);
	}
	if (device.n_streams > 1) {
		g_array_sort_with_data(device.work, slice_columns_order,
				       (gpointer)&timeline->slices);
		add_row(table, &device, NULL, device.work);
	}
	interval_set_release(&device.chosen);
	g_array_unref(device.work);
}

static void note_why(TachoTable *table, const gdouble waits_ns[N_WAITS], gdouble idle_ns)
{
	static const gchar *const reasons[N_WAITS] = {
		"the host had not launched the next work",
		"the next kernel was about to begin",
		"the next work was launched, but waited for something else",
		"the launch was not recorded",
	};
	gint most = 0;

	for (gint i = 1; i < N_WAITS; i++)
		if (waits_ns[i] > waits_ns[most])
			most = i;
	if (idle_ns > 0)
		tacho_table_note(table, "For %.0f %% of the streams' waiting time %s.",
				 100.0 * waits_ns[most] / idle_ns, reasons[most]);
}

/* What most waiting of the streams, not of the devices, was for. */
static void note_idle(TachoTable *table)
{
	static const gchar *const keys[N_WAITS] = { "host_wait_ms", "kernel_wait_ms", "other_ms",
						    "unknown_ms" };
	gdouble waits_ms[N_WAITS] = { 0 }, idle_ms = 0;

	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		if (!tacho_table_cell_text(table, row, "stream"))
			continue;
		for (guint i = 0; i < N_WAITS; i++)
			waits_ms[i] += tacho_table_cell_number(table, row, keys[i]);
		idle_ms += tacho_table_cell_number(table, row, "idle_ms");
	}
	note_why(table, waits_ms, idle_ms);
}

TachoTable *tacho_view_idle(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("idle", columns, G_N_ELEMENTS(columns));
	struct selection selection;

	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (is_first_of_device(&selection, i))
			add_device(table, &selection, i);
	note_idle(table);
	if (tacho_table_n_rows(table) == 0)
		note_no_streams(table, &selection);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
