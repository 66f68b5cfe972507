#include "trace/device_records.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/activity_args.h"
#include "trace/collective_names.h"
#include "trace/copy_kind.h"
#include "trace/event_waits.h"
#include "trace/launch_index.h"
#include "trace/process_reader.h"
#include "trace/record.h"
#include "trace/slice_columns.h"
#include "trace/source.h"

/* What a broken file has too much of goes to the first. */
enum { MAX_TRACKS = 1 << 16 };

/* A queue of a device, or a counter of one. */
struct late_track {
	gint32 device;
	guint32 queue;	/* of a counter: the string id of its name */
	guint32 name;	/* string id; 0: it has not been told */
	guint32 number; /* of the track in the timeline */
	guint n;	/* slices, samples */
	gboolean is_counter;
};

struct device_records {
	TachoTimeline *timeline;
	const struct process_input *input;
	guint32 process;
	struct activity_args *args; /* NULL: nothing of a device was told */
	GArray *tracks;		    /* struct late_track */
	GHashTable *places; /* struct late_track (device, queue, is_counter) -> index in `tracks` */
	GHashTable *nodes;  /* gint64 id of a graph's node -> struct graph_node */
	struct launch_index *calls; /* NULL: not needed yet */
	GArray *waits;		    /* struct event_wait, of all processes */
	GArray *samples;	    /* TachoSample, of this process */
	guint n_slices;
};

/* --- tracks ----------------------------------------------------------------------------------- */

static guint hash_track(gconstpointer data)
{
	const struct late_track *track = data;

	return (guint)track->device * 0x9E3779B1u ^ track->queue * 0x85EBCA6Bu ^
	       (guint)track->is_counter;
}

static gboolean is_same_track(gconstpointer a, gconstpointer b)
{
	const struct late_track *x = a, *y = b;

	return x->device == y->device && x->queue == y->queue && x->is_counter == y->is_counter;
}

static struct late_track *find_track(struct device_records *records, gint32 device, guint32 queue,
				     gboolean is_counter)
{
	struct late_track key = { .device = device, .queue = queue, .is_counter = is_counter };
	gpointer place;

	if (g_hash_table_lookup_extended(records->places, &key, NULL, &place))
		return &g_array_index(records->tracks, struct late_track, GPOINTER_TO_UINT(place));
	if (records->tracks->len < MAX_TRACKS) {
		g_hash_table_insert(records->places, g_memdup2(&key, sizeof(key)),
				    GUINT_TO_POINTER(records->tracks->len));
		g_array_append_val(records->tracks, key);
		return &g_array_index(records->tracks, struct late_track, records->tracks->len - 1);
	}
	FOR_EACH(struct late_track, track, records->tracks)
		if (track->is_counter == is_counter)
			return track;
	return NULL;
}

static gint compare_tracks(gconstpointer first, gconstpointer second)
{
	const struct late_track *a = first, *b = second;

	return ORDER(a->is_counter, b->is_counter) ?: ORDER(a->device, b->device) ?:
	       ORDER(a->queue, b->queue);
}

static void sort_tracks(struct device_records *records)
{
	g_array_sort(records->tracks, compare_tracks);
	g_hash_table_remove_all(records->places);
	FOR_EACH_AT(const struct late_track, track, i, records->tracks)
		g_hash_table_insert(records->places, g_memdup2(track, sizeof(*track)),
				    GUINT_TO_POINTER(i));
}

static guint32 name_queue(TachoTimeline *timeline, const struct late_track *track)
{
	g_autofree gchar *name = track->queue == TRACE_NO_QUEUE
					 ? g_strdup_printf("device %d", track->device)
					 : g_strdup_printf("stream %u", track->queue);

	return track->name ? track->name : tacho_timeline_intern(timeline, name, -1);
}

/* Those that have something on them get a track, in the order in which they are. */
static void add_tracks(struct device_records *records)
{
	TachoTimeline *timeline = records->timeline;

	FOR_EACH(struct late_track, track, records->tracks) {
		TachoTrack row = { .process = records->process, .device = track->device };

		if (!track->n)
			continue;
		row.kind = track->is_counter ? TACHO_TRACK_COUNTER : TACHO_TRACK_STREAM;
		row.tid = track->is_counter ? 0 : track->queue;
		row.name = track->is_counter ? track->queue : name_queue(timeline, track);
		track->number = timeline->tracks->len;
		g_array_append_val(timeline->tracks, row);
	}
}

/* --- records ---------------------------------------------------------------------------------- */

static gboolean is_activity(guint8 kind)
{
	return kind >= TRACE_KIND_DEVICE_KERNEL && kind <= TRACE_KIND_DEVICE_WORK;
}

/* Looked at again, since the file may have changed; NULL: it has. */
static const void *borrow(const struct device_records *records, const struct stream_late *late,
			  gsize least_bytes)
{
	gsize size_bytes;
	const void *record = tacho_source_borrow_record(records->timeline->source, late->handle,
							least_bytes, &size_bytes);

	return record && !record_find_fault(late->kind, record, size_bytes) ? record : NULL;
}

static void add_device(struct device_records *records, const struct stream_late *late)
{
	const struct record_device *record = borrow(records, late, sizeof(*record));
	TachoTimeline *timeline = records->timeline;
	const gchar *text;
	TachoDevice device;

	if (!record)
		return;
	device = (TachoDevice){
		.process = records->process,
		.number = record->device,
		.name = late->name,
		.n_multiprocessors = record->n_multiprocessors,
		.warp_threads = record->warp_threads,
		.memory_bytes = record->memory_bytes,
		.peak_bytes_per_s = record->peak_bytes_per_s,
		.peak_flops_per_s = record->peak_flops_per_s,
		.clock_hz = record->clock_hz,
		.multiprocessor_threads = record->multiprocessor_threads,
		.multiprocessor_registers = record->multiprocessor_registers,
		.block_threads = record->block_threads,
		.block_registers = record->block_registers,
		.multiprocessor_shared_bytes = record->multiprocessor_shared_bytes,
		.block_shared_bytes = record->block_shared_bytes,
	};
	text = record_borrow_text(record, record->header.size_bytes, sizeof(*record),
				  record->n_text);
	if (text)
		device.architecture = tacho_timeline_intern(timeline, text,
							    (gssize)strnlen(text, record->n_text));
	FOR_EACH(const TachoDevice, known, timeline->devices)
		if (known->process == device.process && known->number == device.number)
			return; /* the first that is told counts */
	g_array_append_val(timeline->devices, device);
}

static void name_track(struct device_records *records, const struct stream_late *late)
{
	const struct record_queue *record = borrow(records, late, sizeof(*record));
	struct late_track *track =
		record ? find_track(records, record->device, record->queue, FALSE) : NULL;

	if (track)
		track->name = late->name;
}

static void count(struct device_records *records, const struct stream_late *late)
{
	const struct record_activity *activity = NULL;
	const struct record_counter *counter = NULL;
	struct late_track *track = NULL;

	if (late->kind == TRACE_KIND_DEVICE) {
		add_device(records, late);
	} else if (late->kind == TRACE_KIND_QUEUE) {
		name_track(records, late);
	} else if (late->kind == TRACE_KIND_COUNTER) {
		counter = borrow(records, late, sizeof(*counter));
		if (counter)
			track = find_track(records, counter->device, late->name, TRUE);
	} else if (is_activity(late->kind)) {
		activity = borrow(records, late, sizeof(*activity));
		if (activity)
			track = find_track(records, activity->device, activity->queue, FALSE);
	}
	if (track) {
		track->n++;
		records->n_slices += activity != NULL;
	}
}

/* --- slices ----------------------------------------------------------------------------------- */

static TachoSliceKind kind_of(const struct device_records *records, const struct stream_late *late)
{
	const gchar *name = tacho_timeline_string(records->timeline, late->name);

	switch (late->kind) {
	case TRACE_KIND_DEVICE_KERNEL:
		return is_communication_kernel(name, strlen(name)) ? TACHO_SLICE_COLLECTIVE
								   : TACHO_SLICE_KERNEL;
	case TRACE_KIND_COPY:
		return TACHO_SLICE_MEMCPY;
	case TRACE_KIND_FILL:
		return TACHO_SLICE_MEMSET;
	case TRACE_KIND_DEVICE_WAIT:
		return TACHO_SLICE_SYNC;
	default:
		return TACHO_SLICE_EVENT;
	}
}

/* The class's name; where that does not tell which way a copy went, and the record does, with that. */
static guint32 name_of(const struct device_records *records, const struct stream_late *late,
		       const struct record_activity *activity)
{
	static const enum copy_kind ways[TRACE_N_DIRECTIONS] = {
		[TRACE_DIRECTION_UNKNOWN] = COPY_OTHER, [TRACE_HOST_TO_DEVICE] = COPY_HTOD,
		[TRACE_DEVICE_TO_HOST] = COPY_DTOH,	[TRACE_DEVICE_TO_DEVICE] = COPY_DTOD,
		[TRACE_PEER_TO_PEER] = COPY_PTOP,	[TRACE_HOST_TO_HOST] = COPY_HTOH,
	};
	const struct record_copy *copy = (const void *)activity;
	g_autofree gchar *name = NULL;
	guint32 direction;

	if (late->kind != TRACE_KIND_COPY)
		return late->name;
	direction = copy->direction;
	if (direction >= TRACE_N_DIRECTIONS || ways[direction] == COPY_OTHER ||
	    copy_kind_of_name(records->timeline, late->name) != COPY_OTHER)
		return late->name;
	name = g_strdup_printf("%s %s", tacho_timeline_string(records->timeline, late->name),
			       copy_kind_name(ways[direction]));
	return tacho_timeline_intern(records->timeline, name, -1);
}

/* The calls of the process by their correlation ids. */
static const struct launch_index *calls_of(struct device_records *records)
{
	const TachoTimeline *timeline = records->timeline;

	if (records->calls)
		return records->calls;
	records->calls = launch_index_new();
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (track->process != records->process || track->kind != TACHO_TRACK_THREAD)
			continue;
		for (guint32 i = 0; i < track->n_slices; i++) {
			guint32 row = track->first_slice + i;
			guint64 id = timeline->slices.kind[row] == TACHO_SLICE_RUNTIME
					     ? tacho_slice_id(timeline, row)
					     : 0;

			if (id)
				launch_index_add(records->calls, (gint64)id,
						 timeline->slices.start_ns[row], row);
		}
	}
	return records->calls;
}

static guint32 find_call(struct device_records *records, guint64 correlation, gint64 time_ns)
{
	if (!correlation)
		return TACHO_NONE;
	return launch_index_find(calls_of(records), (gint64)correlation, time_ns);
}

/* `row` is where the slice is before the tracks are sorted. */
static void note_wait(struct device_records *records, const struct stream_late *late, guint32 row)
{
	const struct record_device_wait *record = late->kind == TRACE_KIND_DEVICE_WAIT
							  ? borrow(records, late, sizeof(*record))
							  : NULL;
	struct event_wait wait = { .row = row };

	if (!record)
		return;
	wait.record = find_call(records, record->event_correlation, late->start_ns);
	wait.stream = record->event_queue;
	if (wait.record != TACHO_NONE)
		g_array_append_val(records->waits, wait);
}

/* What made a node of a graph. */
struct graph_node {
	gint64 id, original; /* 0: it is no clone */
	guint32 slice;
};

static void find_nodes(struct device_records *records)
{
	FOR_EACH(const struct stream_input, stream, records->input->streams) {
		const struct stream_flow *rows = stream->rows.nodes.rows;

		for (gsize i = 0; i < stream->rows.nodes.n; i++) {
			gsize size_bytes;
			const struct record_graph_node *record = tacho_source_borrow_record(
				records->timeline->source, rows[i].handle, sizeof(*record),
				&size_bytes);
			struct graph_node *node;

			if (!record || rows[i].row == TACHO_NONE)
				continue;
			node = g_new(struct graph_node, 1);
			*node = (struct graph_node){ .id = (gint64)record->node,
						     .original = (gint64)record->original,
						     .slice = stream->first_row + rows[i].row };
			g_hash_table_replace(records->nodes, &node->id, node);
		}
	}
}

/* The slice that was captured as the node, or as what the node is a clone of; TACHO_NONE: it was not recorded. */
static guint32 find_capture(const struct device_records *records, gint64 id)
{
	enum { MAX_CLONES = 16 };
	const struct graph_node *node = g_hash_table_lookup(records->nodes, &id), *original;

	for (guint i = 0; i < MAX_CLONES && node && node->original; i++) {
		original = g_hash_table_lookup(records->nodes, &node->original);
		if (!original)
			break;
		node = original;
	}
	return node ? node->slice : TACHO_NONE;
}

/* `row` as in note_wait(): of work that a graph launched. The arrow from the capture is made in settle(). */
static void note_graph_node(struct device_records *records, const struct record_activity *activity,
			    guint32 row)
{
	TachoGraphWork work = { .slice = row, .node = (gint64)activity->graph_node };

	if (!work.node)
		return;
	work.capture = find_capture(records, work.node);
	work.is_exact = work.capture != TACHO_NONE;
	g_array_append_val(records->timeline->graph_work, work);
}

/* Tracks have numbers of their own while the view is filled: their places. */
static void add_slice(struct device_records *records, TachoSlices *view, guint32 first,
		      const struct stream_late *late)
{
	const struct record_activity *activity = borrow(records, late, sizeof(*activity));
	const struct late_track *track =
		activity ? find_track(records, activity->device, activity->queue, FALSE) : NULL;
	guint32 row = view->n;

	if (!track || row == view->capacity)
		return;
	view->start_ns[row] = late->start_ns;
	view->duration_ns[row] = late->duration_ns;
	view->source[row] = activity_args_add(records->args, late->handle, late->kind);
	view->name[row] = name_of(records, late, activity);
	view->track[row] = (guint32)(track - &g_array_index(records->tracks, struct late_track, 0));
	view->parent[row] = TACHO_NONE;
	view->launch[row] = find_call(records, activity->correlation, late->start_ns);
	view->kind[row] = (guint8)kind_of(records, late);
	view->flags[row] = 0;
	view->depth[row] = 0;
	view->n++;
	note_wait(records, late, first + row);
	note_graph_node(records, activity, first + row);
}

/* Rows of the view become rows of the timeline, from `first` on. */
static void settle(struct device_records *records, TachoSlices *view, guint32 first,
		   guint first_wait, guint first_work)
{
	TachoTimeline *timeline = records->timeline;
	g_autofree guint32 *moved = slice_columns_sort(view, records->tracks->len);
	guint32 row = 0;

	for (guint i = first_wait; i < records->waits->len; i++) {
		struct event_wait *wait = &g_array_index(records->waits, struct event_wait, i);

		wait->row = first + moved[wait->row - first];
	}
	for (guint i = first_work; i < timeline->graph_work->len; i++) {
		TachoGraphWork *work = &g_array_index(timeline->graph_work, TachoGraphWork, i);

		work->slice = first + moved[work->slice - first];
		if (work->capture != TACHO_NONE) {
			TachoFlow flow = { work->capture, work->slice, TACHO_FLOW_OTHER, 1 };

			g_array_append_val(timeline->flows, flow);
		}
	}
	FOR_EACH_AT(const struct late_track, track, i, records->tracks) {
		TachoTrack *of;
		guint32 begin = row;

		while (row < view->n && view->track[row] == i)
			row++;
		if (track->is_counter || !track->n)
			continue;
		of = &g_array_index(timeline->tracks, TachoTrack, track->number);
		of->first_slice = first + begin;
		of->n_slices = row - begin;
		slice_columns_nest(view, begin, row - begin, NEST_WITHIN, 0, NULL);
		for (guint32 k = begin; k < row; k++) {
			gint64 end_ns = view->start_ns[k] + view->duration_ns[k];

			view->track[k] = track->number;
			view->parent[k] += view->parent[k] == TACHO_NONE ? 0 : first;
			of->first_ns = k == begin ? view->start_ns[k] : of->first_ns;
			of->last_ns = k == begin ? end_ns : MAX(of->last_ns, end_ns);
		}
	}
}

static void add_sample(struct device_records *records, const struct stream_late *late)
{
	const struct record_counter *record =
		late->kind == TRACE_KIND_COUNTER ? borrow(records, late, sizeof(*record)) : NULL;
	const struct late_track *track =
		record ? find_track(records, record->device, late->name, TRUE) : NULL;
	TachoSample sample = { .time_ns = late->start_ns };

	if (!track || !track->n || !isfinite(record->value))
		return;
	sample.value = record->value;
	sample.track = track->number;
	g_array_append_val(records->samples, sample);
}

static gint compare_samples(gconstpointer first, gconstpointer second)
{
	const TachoSample *a = first, *b = second;

	return ORDER(a->track, b->track) ?: ORDER(a->time_ns, b->time_ns);
}

/* Tracks of a process stand behind those of the processes before it, and so do their samples. */
static void settle_samples(struct device_records *records)
{
	g_array_sort(records->samples, compare_samples);
	FOR_EACH_AT(const TachoSample, sample, i, records->samples) {
		TachoTrack *track =
			&g_array_index(records->timeline->tracks, TachoTrack, sample->track);

		if (!i || sample[-1].track != sample->track)
			track->first_ns = sample->time_ns;
		track->last_ns = sample->time_ns;
	}
	if (records->samples->len)
		g_array_append_vals(records->timeline->samples, records->samples->data,
				    records->samples->len);
	g_array_set_size(records->samples, 0);
}

/* --- one process ------------------------------------------------------------------------------ */

typedef void (*LateVisitor)(struct device_records *records, const struct stream_late *late);

static void visit(struct device_records *records, LateVisitor visitor)
{
	FOR_EACH(const struct stream_input, stream, records->input->streams) {
		const struct stream_late *late = stream->rows.late.rows;

		for (gsize i = 0; i < stream->rows.late.n; i++)
			visitor(records, &late[i]);
	}
}

static gboolean add_slices(struct device_records *records)
{
	TachoSlices *slices = &records->timeline->slices, view;
	guint32 first = slices->n;
	guint first_wait = records->waits->len, first_work = records->timeline->graph_work->len;

	if ((guint64)first + records->n_slices >= TACHO_NONE ||
	    !slice_columns_reserve(slices, first + records->n_slices))
		return FALSE;
	view = slice_columns_view(slices, first, records->n_slices);
	FOR_EACH(const struct stream_input, stream, records->input->streams) {
		const struct stream_late *late = stream->rows.late.rows;

		for (gsize i = 0; i < stream->rows.late.n; i++)
			if (is_activity(late[i].kind))
				add_slice(records, &view, first, &late[i]);
	}
	slices->n += view.n;
	settle(records, &view, first, first_wait, first_work);
	return TRUE;
}

/* What a device did may have been before the first record, and seem to be after the last. */
static void widen(struct device_records *records, guint first_track)
{
	TachoTimeline *timeline = records->timeline;
	TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, records->process);

	for (guint i = first_track; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		process->start_ns = MIN(process->start_ns, track->first_ns);
		process->end_ns = MAX(process->end_ns, track->last_ns);
	}
	timeline->duration_ns = MAX(timeline->duration_ns, process->end_ns);
}

static gboolean add_process(struct device_records *records)
{
	guint first_track = records->timeline->tracks->len;
	gboolean is_added = TRUE;

	records->n_slices = 0;
	records->tracks = g_array_new(FALSE, TRUE, sizeof(struct late_track));
	records->places = g_hash_table_new_full(hash_track, is_same_track, g_free, NULL);
	records->nodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	find_nodes(records);
	visit(records, count);
	sort_tracks(records);
	add_tracks(records);
	if (records->n_slices && !records->args)
		records->args = activity_args_new(records->timeline);
	if (records->args)
		activity_args_set_frequency(records->args, records->input->metadata.frequency_hz);
	if (records->n_slices)
		is_added = records->args && add_slices(records);
	visit(records, add_sample);
	settle_samples(records);
	widen(records, first_track);
	g_clear_pointer(&records->calls, launch_index_free);
	g_array_unref(records->tracks);
	g_hash_table_unref(records->places);
	g_hash_table_unref(records->nodes);
	return is_added;
}

static gint compare_graph_work(gconstpointer first, gconstpointer second)
{
	return ORDER(((const TachoGraphWork *)first)->slice,
		     ((const TachoGraphWork *)second)->slice);
}

static gint compare_devices(gconstpointer first, gconstpointer second)
{
	const TachoDevice *a = first, *b = second;

	return ORDER(a->process, b->process) ?: ORDER(a->number, b->number);
}

gboolean device_records_add(TachoTimeline *timeline, const GArray *inputs, GError **error)
{
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct event_wait));
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(TachoSample));
	struct device_records records = { .timeline = timeline,
					  .waits = waits,
					  .samples = samples };
	const GArray *all_waits = waits;

	FOR_EACH_AT(const struct process_input, input, process, inputs) {
		gboolean has_any = FALSE;

		FOR_EACH(const struct stream_input, stream, input->streams)
			has_any |= stream->rows.late.n > 0;
		records.input = input;
		records.process = process;
		if (!has_any || add_process(&records))
			continue;
		g_set_error_literal(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_MEMORY,
				    "there is not enough memory for what the run's devices did");
		return FALSE;
	}
	g_array_sort(timeline->devices, compare_devices);
	g_array_sort(timeline->graph_work, compare_graph_work);
	event_waits_link(timeline, &all_waits, 1);
	return TRUE;
}
