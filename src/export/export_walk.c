#include "export/export_walk.h"

#include "analyze/device_load.h"
#include "base/for_each.h"
#include "export/memory_total.h"
#include "export/row_buckets.h"
#include "export/track_walk.h"
#include "export/viewer_ids.h"
#include "trace/region_kind.h"

#define PROGRESS_EVERY 16384 /* events */

struct walk {
	const TachoTimeline *timeline;
	const TachoExportOptions *options;
	const struct export_target *target;
	gpointer data;

	struct export_scope scope;
	struct slice_links links;
	struct viewer_ids ids;
	struct slice_args args;
	struct row_buckets marks;
	guint64 n_done, n_all; /* events, for the progress */

	guint32 n_described;
	struct export_track *processes; /* by process; number 0: out of scope */
	gint32 *n_children;		/* by process: tracks described so far */
	guint32 track;			/* row of the timeline being walked */
	GArray *lanes;			/* struct export_track, of that row */
};

static void report_progress(struct walk *walk)
{
	if (walk->n_done++ % PROGRESS_EVERY == 0 && walk->options->progress)
		walk->options->progress((gdouble)walk->n_done / (gdouble)(walk->n_all + 1),
					walk->options->progress_data);
}

/* --- descriptions ----------------------------------------------------------------------------- */

static void describe(struct walk *walk, struct export_track *track, const gchar *name)
{
	g_autofree gchar *valid_name = g_utf8_make_valid(name, -1);

	track->number = ++walk->n_described;
	track->name = valid_name;
	walk->target->track(track, walk->data);
	track->name = NULL;
}

static void describe_process(struct walk *walk, guint32 process)
{
	struct export_track *track = &walk->processes[process];
	g_autofree gchar *name = viewer_process_name(walk->timeline, process);

	track->kind = EXPORT_TRACK_PROCESS;
	track->process = process;
	track->process_number = walk->n_described + 1;
	track->pid = walk->ids.pids[process];
	track->order = viewer_process_order(walk->timeline, process);
	describe(walk, track, name);
}

static struct export_track new_track(struct walk *walk, enum export_track_kind kind,
				     guint32 process)
{
	return (struct export_track){
		.kind = kind,
		.process = process,
		.process_number = walk->processes[process].number,
		.pid = walk->ids.pids[process],
		.order = walk->n_children[process]++,
	};
}

/* The track for a lane of the row being walked; described when it is new. A thread's first lane is
 * the thread. */
static const struct export_track *lane_track(struct walk *walk, guint lane)
{
	const TachoTrack *row = tacho_timeline_track(walk->timeline, walk->track);

	while (lane >= walk->lanes->len) {
		gboolean is_thread = row->kind == TACHO_TRACK_THREAD && walk->lanes->len == 0;
		struct export_track track = new_track(
			walk, is_thread ? EXPORT_TRACK_THREAD : EXPORT_TRACK_LANE, row->process);
		g_autofree gchar *name = viewer_track_name(walk->timeline, walk->track);

		track.tid = is_thread ? walk->ids.tids[walk->track] : viewer_ids_new(&walk->ids);
		describe(walk, &track, name);
		g_array_append_val(walk->lanes, track);
	}
	return &g_array_index(walk->lanes, struct export_track, lane);
}

/* --- slices and marks ------------------------------------------------------------------------- */

static void begin_slice(guint32 row, guint lane, gpointer data)
{
	struct walk *walk = data;
	const TachoTimeline *timeline = walk->timeline;
	struct export_slice slice = {
		.start_ns = timeline->slices.start_ns[row],
		.end_ns = tacho_slice_end_ns(timeline, row),
		.name = tacho_slice_name(timeline, row),
		.category = tacho_slice_kind_name((TachoSliceKind)timeline->slices.kind[row]),
		.is_open = timeline->slices.flags[row] & TACHO_SLICE_OPEN,
		.args = &walk->args,
	};

	slice.links = slice_links_next(&walk->links, row, &slice.n_links);
	slice_args_of_slice(&walk->args, timeline, row,
			    slice_links_membership(timeline, slice.links, slice.n_links));
	walk->target->begin(lane_track(walk, lane), &slice, walk->data);
	report_progress(walk);
}

static void end_slice(guint32 row, guint lane, gpointer data)
{
	struct walk *walk = data;

	if (walk->target->end)
		walk->target->end(lane_track(walk, lane), tacho_slice_end_ns(walk->timeline, row),
				  walk->data);
}

static void tell_mark(guint32 row, gpointer data)
{
	struct walk *walk = data;
	const TachoMark *mark = &g_array_index(walk->timeline->marks, TachoMark, row);
	struct export_moment moment = {
		.time_ns = mark->time_ns,
		.name = tacho_timeline_string(walk->timeline, mark->name),
		.category = "mark",
		.args = &walk->args,
	};

	slice_args_of_mark(&walk->args, walk->timeline, mark);
	walk->target->moment(lane_track(walk, 0), &moment, walk->data);
}

static void tell_row(struct walk *walk, guint32 track)
{
	static const struct track_walk_handlers handlers = { begin_slice, end_slice, tell_mark };
	guint32 first_mark = walk->marks.first[track];

	walk->track = track;
	g_array_set_size(walk->lanes, 0);
	track_walk(&walk->scope, track, walk->marks.rows + first_mark,
		   walk->marks.first[track + 1] - first_mark, &handlers, walk);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void tell_step(struct walk *walk, const struct export_track *track, const TachoStep *step)
{
	gchar name[32];
	struct export_slice slice = {
		.start_ns = step->start_ns,
		.end_ns = MAX(step->start_ns, step->end_ns),
		.name = name,
		.category = tacho_slice_kind_name(TACHO_SLICE_STEP),
		.args = &walk->args,
	};

	g_snprintf(name, sizeof(name), "step %u", step->number);
	slice_args_of_step(&walk->args, step);
	walk->target->begin(track, &slice, walk->data);
	if (walk->target->end)
		walk->target->end(track, slice.end_ns, walk->data);
}

static void tell_steps(struct walk *walk)
{
	const TachoTimeline *timeline = walk->timeline;
	struct export_track track = { 0 };
	guint32 rank_index = G_MAXUINT32;

	FOR_EACH(const TachoStep, step, timeline->steps) {
		if (!export_scope_has_step(&walk->scope, step))
			continue;
		if (step->rank_index != rank_index) {
			rank_index = step->rank_index;
			track = new_track(walk, EXPORT_TRACK_STEPS,
					  tacho_timeline_rank(timeline, rank_index)->main_process);
			track.tid = viewer_ids_new(&walk->ids);
			describe(walk, &track, "steps");
		}
		tell_step(walk, &track, step);
	}
}

/* --- counters --------------------------------------------------------------------------------- */

/* Each byte counts once: what a driver handed out is left out where an allocator tells of that memory, too. Returns how many
 * of `rows` are left. */
static guint32 leave_out_driver(const TachoTimeline *timeline, guint32 *rows, guint32 n)
{
	const TachoMemoryEvent *events =
		(const TachoMemoryEvent *)(gconstpointer)timeline->memory->data;
	g_autoptr(GHashTable) of_allocators = g_hash_table_new(NULL, NULL);
	guint32 n_kept = 0;

	for (guint32 i = 0; i < n; i++)
		if (events[rows[i]].layer == TACHO_MEMORY_OF_ALLOCATOR)
			g_hash_table_add(of_allocators, GUINT_TO_POINTER(events[rows[i]].device));
	for (guint32 i = 0; i < n; i++)
		if (events[rows[i]].layer == TACHO_MEMORY_OF_ALLOCATOR ||
		    !g_hash_table_contains(of_allocators, GUINT_TO_POINTER(events[rows[i]].device)))
			rows[n_kept++] = rows[i];
	return n_kept;
}

static void tell_memory(struct walk *walk, guint32 process, const guint32 *rows, guint32 n)
{
	const TachoTimeline *timeline = walk->timeline;
	gint64 total = memory_total_start(timeline, rows, n);
	struct export_track track = { 0 };

	for (guint32 i = 0; i < n; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, rows[i]);

		total = memory_total_after(total, event);
		if (!export_scope_has_moment(&walk->scope, event->track, event->time_ns))
			continue;
		if (!track.number) {
			track = new_track(walk, EXPORT_TRACK_BYTES, process);
			describe(walk, &track, "allocated");
		}
		walk->target->count(&track, event->time_ns, (gdouble)total, walk->data);
		report_progress(walk);
	}
}

static void tell_all_memory(struct walk *walk)
{
	const TachoTimeline *timeline = walk->timeline;
	g_autofree guint32 *process_of_track = g_new(guint32, timeline->tracks->len);
	struct row_buckets memory;

	for (guint32 i = 0; i < timeline->tracks->len; i++)
		process_of_track[i] = tacho_timeline_track(timeline, i)->process;
	row_buckets_init(&memory, timeline->memory, offsetof(TachoMemoryEvent, track),
			 process_of_track, timeline->processes->len);
	for (guint32 i = 0; i < timeline->processes->len; i++) {
		guint32 *rows = memory.rows + memory.first[i];

		tell_memory(
			walk, i, rows,
			leave_out_driver(timeline, rows, memory.first[i + 1] - memory.first[i]));
	}
	row_buckets_release(&memory);
}

static void tell_counter(struct walk *walk, guint32 row, const guint32 *rows, guint32 n)
{
	const TachoTimeline *timeline = walk->timeline;
	const TachoTrack *counter = tacho_timeline_track(timeline, row);
	struct export_track track = { 0 };

	for (guint32 i = 0; i < n; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, rows[i]);

		if (!export_scope_has_moment(&walk->scope, row, sample->time_ns))
			continue;
		if (!track.number) {
			track = new_track(walk, EXPORT_TRACK_COUNTER, counter->process);
			describe(walk, &track, tacho_timeline_string(timeline, counter->name));
		}
		walk->target->count(&track, sample->time_ns, sample->value, walk->data);
		report_progress(walk);
	}
}

static void tell_counters(struct walk *walk)
{
	const TachoTimeline *timeline = walk->timeline;
	struct row_buckets samples;

	row_buckets_init(&samples, timeline->samples, offsetof(TachoSample, track), NULL,
			 timeline->tracks->len);
	for (guint32 row = 0; row < timeline->tracks->len; row++)
		tell_counter(walk, row, samples.rows + samples.first[row],
			     samples.first[row + 1] - samples.first[row]);
	row_buckets_release(&samples);
}

/* --- how full devices are ---------------------------------------------------------------------- */

/* How long a process was looked at: the profiler's own event, where it has one. */
static void find_window(const TachoTimeline *timeline, guint32 process, gint64 *ret_begin_ns,
			gint64 *ret_end_ns)
{
	const TachoProcess *row = tacho_timeline_process(timeline, process);

	*ret_begin_ns = row->start_ns;
	*ret_end_ns = row->end_ns;
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint32 end = track->first_slice + track->n_slices;

		if (track->process != process || track->kind != TACHO_TRACK_ASYNC)
			continue;
		for (guint32 slice = track->first_slice; slice < end; slice++)
			if (timeline->slices.kind[slice] == TACHO_SLICE_EVENT &&
			    region_kind_of(timeline, slice) == REGION_PROFILER) {
				*ret_begin_ns = timeline->slices.start_ns[slice];
				*ret_end_ns = tacho_slice_end_ns(timeline, slice);
				return;
			}
	}
}

/* Each stretch from its begin on, and 0 at its end, where no other begins. */
static void tell_shares(struct walk *walk, guint32 row, const gchar *what, const GArray *stretches)
{
	const TachoTrack *stream = tacho_timeline_track(walk->timeline, row);
	g_autofree gchar *name = g_strdup_printf("gpu %d %s %%", stream->device, what);
	struct export_track track = { 0 };

	FOR_EACH_AT(const struct share_stretch, at, i, stretches) {
		gboolean is_last = i + 1 == stretches->len || at[1].begin_ns != at->end_ns;

		if (!export_scope_has_moment(&walk->scope, row, at->begin_ns))
			continue;
		if (!track.number) {
			track = new_track(walk, EXPORT_TRACK_SHARE, stream->process);
			describe(walk, &track, name);
		}
		walk->target->share(&track, at->begin_ns, 100.0 * at->share, walk->data);
		if (is_last)
			walk->target->share(&track, at->end_ns, 0, walk->data);
		report_progress(walk);
	}
}

static gboolean is_first_of_device(const TachoTimeline *timeline, guint32 row)
{
	const TachoTrack *track = tacho_timeline_track(timeline, row);

	for (guint32 i = 0; i < row; i++) {
		const TachoTrack *other = tacho_timeline_track(timeline, i);

		if (other->kind == TACHO_TRACK_STREAM && other->process == track->process &&
		    other->device == track->device)
			return FALSE;
	}
	return TRUE;
}

static void tell_loads(struct walk *walk)
{
	const TachoTimeline *timeline = walk->timeline;

	FOR_EACH_AT(const TachoTrack, track, row, timeline->tracks) {
		g_autoptr(GArray) runs = NULL;
		g_autoptr(GArray) utilization = NULL;
		g_autoptr(GArray) efficiency = NULL;
		gint64 begin_ns, end_ns;

		if (track->kind != TACHO_TRACK_STREAM ||
		    !export_scope_has_process(&walk->scope, track->process) ||
		    !is_first_of_device(timeline, row))
			continue;
		runs = device_kernel_runs(timeline, track->process, track->device);
		if (runs->len == 0)
			continue;
		find_window(timeline, track->process, &begin_ns, &end_ns);
		utilization = device_utilization(runs, begin_ns, end_ns);
		efficiency = device_sm_efficiency(runs);
		tell_shares(walk, row, "utilization", utilization);
		tell_shares(walk, row, "SM efficiency", efficiency);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static void tell_process_end(struct walk *walk, guint32 process)
{
	const TachoProcess *row = tacho_timeline_process(walk->timeline, process);
	g_autofree gchar *end = viewer_process_end(walk->timeline, process);
	struct export_moment moment = { row->end_ns, end, "process", &walk->args };

	if (!end)
		return;
	walk->args.n = 0;
	walk->target->moment(&walk->processes[process], &moment, walk->data);
}

static void tell_all(struct walk *walk)
{
	const TachoTimeline *timeline = walk->timeline;

	for (guint32 i = 0; i < timeline->processes->len; i++)
		if (export_scope_has_process(&walk->scope, i))
			describe_process(walk, i);
	tell_steps(walk);
	tell_all_memory(walk);
	tell_counters(walk);
	tell_loads(walk);
	for (guint32 i = 0; i < timeline->tracks->len && !walk->target->has_failed(walk->data); i++)
		tell_row(walk, i);
	for (guint32 i = 0; i < timeline->processes->len; i++)
		if (export_scope_has_process(&walk->scope, i))
			tell_process_end(walk, i);
	if (walk->options->progress)
		walk->options->progress(1.0, walk->options->progress_data);
}

gboolean export_walk(const TachoTimeline *timeline, const TachoExportOptions *options,
		     const struct export_target *target, gpointer data, GError **error)
{
	struct walk walk = {
		.timeline = timeline, .options = options, .target = target, .data = data
	};

	if (!export_scope_init(&walk.scope, timeline, options, error))
		return FALSE;
	slice_links_init(&walk.links, &walk.scope);
	viewer_ids_init(&walk.ids, timeline);
	slice_args_init(&walk.args);
	row_buckets_init(&walk.marks, timeline->marks, offsetof(TachoMark, track), NULL,
			 timeline->tracks->len);
	walk.n_all = (guint64)timeline->slices.n + timeline->memory->len + timeline->samples->len;
	walk.processes = g_new0(struct export_track, timeline->processes->len);
	walk.n_children = g_new0(gint32, timeline->processes->len);
	walk.lanes = g_array_new(FALSE, FALSE, sizeof(struct export_track));

	tell_all(&walk);

	g_array_unref(walk.lanes);
	g_free(walk.n_children);
	g_free(walk.processes);
	row_buckets_release(&walk.marks);
	slice_args_release(&walk.args);
	viewer_ids_release(&walk.ids);
	slice_links_release(&walk.links);
	export_scope_release(&walk.scope);
	return TRUE;
}
