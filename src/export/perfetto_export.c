/* perfetto_export: a timeline as a Perfetto trace, each track of the walk one of Perfetto's.
 * Timestamps are those of the timeline; a clock snapshot ties them to the time of day. Packets of a field of ours, at the
 * end, hold what tacho knows of the run (import/exported_run.h); the first packet of all has an empty one, to say so. */
#include <tacho/export.h>

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "export/export_walk.h"
#include "export/exported_rows.h"
#include "export/perfetto_packets.h"

typedef Perfetto__TracePacket Packet;
typedef Perfetto__TrackEvent Event;
typedef Perfetto__DebugAnnotation Annotation;

struct perfetto_export {
	const TachoTimeline *timeline;
	struct perfetto_packets packets;

	/* Parts of the event being written. */
	Annotation annotations[N_SLICE_ARGS];
	Annotation *annotation_pointers[N_SLICE_ARGS];
	guint64 category_iid;
	GArray *flow_ids, *terminating_flow_ids; /* guint64 */
};

/* --- tracks ----------------------------------------------------------------------------------- */

static void write_descriptor(struct perfetto_export *export, Perfetto__TrackDescriptor *descriptor)
{
	Packet packet = PERFETTO__TRACE_PACKET__INIT;

	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	packet.track_descriptor = descriptor;
	perfetto_packets_write(&export->packets, &packet);
}

/* The root of all tracks, number 0, says that processes have an order of their own. */
static void write_root(struct perfetto_export *export)
{
	Perfetto__TrackDescriptor root = PERFETTO__TRACK_DESCRIPTOR__INIT;

	root.has_uuid = TRUE;
	root.has_process_ordering = TRUE;
	root.process_ordering =
		PERFETTO__TRACK_DESCRIPTOR__PROCESS_ORDERING__PROCESS_ORDERING_EXPLICIT;
	write_descriptor(export, &root);
}

static void write_process(struct perfetto_export *export, const struct export_track *track,
			  Perfetto__TrackDescriptor *descriptor)
{
	const TachoProcess *row = tacho_timeline_process(export->timeline, track->process);
	Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	g_autofree gchar *command =
		g_utf8_make_valid(tacho_timeline_string(export->timeline, row->command), -1);

	process.has_pid = TRUE;
	process.pid = track->pid;
	process.process_name = (gchar *)track->name;
	if (*command) {
		process.n_cmdline = 1;
		process.cmdline = &command;
	}
	process.has_start_timestamp_ns = TRUE;
	process.start_timestamp_ns = MAX(row->start_ns, 0);
	descriptor->process = &process;
	descriptor->has_child_ordering = TRUE;
	descriptor->child_ordering = PERFETTO__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__EXPLICIT;
	write_descriptor(export, descriptor);
}

static void write_thread(struct perfetto_export *export, const struct export_track *track,
			 Perfetto__TrackDescriptor *descriptor)
{
	Perfetto__ThreadDescriptor thread = PERFETTO__THREAD_DESCRIPTOR__INIT;

	thread.has_pid = TRUE;
	thread.pid = track->pid;
	thread.has_tid = TRUE;
	thread.tid = track->tid;
	thread.thread_name = (gchar *)track->name;
	descriptor->thread = &thread;
	write_descriptor(export, descriptor);
}

static void write_counter(struct perfetto_export *export, const struct export_track *track,
			  Perfetto__TrackDescriptor *descriptor)
{
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	counter.has_unit = TRUE;
	counter.unit = track->kind == EXPORT_TRACK_BYTES
			       ? PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES
			       : PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_UNSPECIFIED;
	descriptor->name = (gchar *)track->name;
	descriptor->counter = &counter;
	write_descriptor(export, descriptor);
}

static void write_track(const struct export_track *track, gpointer data)
{
	struct perfetto_export *export = data;
	Perfetto__TrackDescriptor descriptor = PERFETTO__TRACK_DESCRIPTOR__INIT;

	descriptor.has_uuid = TRUE;
	descriptor.uuid = track->number;
	descriptor.has_parent_uuid = track->kind != EXPORT_TRACK_PROCESS;
	descriptor.parent_uuid = track->process_number;
	descriptor.has_sibling_order_rank = TRUE;
	descriptor.sibling_order_rank = track->order;
	switch (track->kind) {
	case EXPORT_TRACK_PROCESS:
		write_process(export, track, &descriptor);
		break;
	case EXPORT_TRACK_THREAD:
		write_thread(export, track, &descriptor);
		break;
	case EXPORT_TRACK_BYTES:
	case EXPORT_TRACK_COUNTER:
	case EXPORT_TRACK_SHARE:
		write_counter(export, track, &descriptor);
		break;
	case EXPORT_TRACK_STEPS:
	case EXPORT_TRACK_LANE:
		descriptor.name = (gchar *)track->name;
		write_descriptor(export, &descriptor);
		break;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static Event new_event(Perfetto__TrackEvent__Type type, const struct export_track *track)
{
	Event event = PERFETTO__TRACK_EVENT__INIT;

	event.has_type = TRUE;
	event.type = type;
	event.has_track_uuid = TRUE;
	event.track_uuid = track->number;
	return event;
}

static void write_event(struct perfetto_export *export, gint64 time_ns, Event *event)
{
	Packet packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = TRUE;
	packet.timestamp = (guint64)MAX(time_ns, 0);
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = event;
	perfetto_packets_write(&export->packets, &packet);
}

static void set_name(struct perfetto_export *export, Event *event, const gchar *name,
		     const gchar *category)
{
	event->name_field_case = PERFETTO__TRACK_EVENT__NAME_FIELD_NAME_IID;
	event->name_iid = perfetto_packets_intern(&export->packets, PERFETTO_EVENT, name);
	export->category_iid =
		perfetto_packets_intern(&export->packets, PERFETTO_CATEGORY, category);
	event->n_category_iids = 1;
	event->category_iids = &export->category_iid;
}

static void set_value(struct perfetto_export *export, Annotation *annotation,
		      const struct slice_arg *arg)
{
	switch (arg->type) {
	case SLICE_ARG_TYPE_TRUE:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_BOOL_VALUE;
		annotation->bool_value = TRUE;
		break;
	case SLICE_ARG_TYPE_INTEGER:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
		annotation->int_value = arg->integer;
		break;
	case SLICE_ARG_TYPE_UNSIGNED:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
		annotation->uint_value = arg->number;
		break;
	case SLICE_ARG_TYPE_STRING:
		annotation->value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
		annotation->string_value_iid =
			perfetto_packets_intern(&export->packets, PERFETTO_VALUE, arg->string);
		break;
	}
}

static void set_args(struct perfetto_export *export, Event *event, const struct slice_args *args)
{
	for (guint i = 0; i < args->n; i++) {
		Annotation *annotation = &export->annotations[i];

		*annotation = (Annotation)PERFETTO__DEBUG_ANNOTATION__INIT;
		annotation->name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID;
		annotation->name_iid =
			perfetto_packets_intern(&export->packets, PERFETTO_ANNOTATION,
						slice_arg_key_name(args->args[i].key));
		set_value(export, annotation, &args->args[i]);
		export->annotation_pointers[i] = annotation;
	}
	event->n_debug_annotations = args->n;
	event->debug_annotations = export->annotation_pointers;
}

static void set_flows(struct perfetto_export *export, Event *event, const struct slice_link *links,
		      guint32 n_links)
{
	g_array_set_size(export->flow_ids, 0);
	g_array_set_size(export->terminating_flow_ids, 0);
	for (guint32 i = 0; i < n_links; i++) {
		guint64 id = (guint64)links[i].row + 1; /* 0 is no flow */

		if (links[i].kind == SLICE_LINK_FLOW_BEGIN)
			g_array_append_val(export->flow_ids, id);
		else if (links[i].kind == SLICE_LINK_FLOW_END)
			g_array_append_val(export->terminating_flow_ids, id);
	}
	event->n_flow_ids = export->flow_ids->len;
	event->flow_ids = (guint64 *)(gpointer) export->flow_ids->data;
	event->n_terminating_flow_ids = export->terminating_flow_ids->len;
	event->terminating_flow_ids = (guint64 *)(gpointer) export->terminating_flow_ids->data;
}

static void write_begin(const struct export_track *track, const struct export_slice *slice,
			gpointer data)
{
	struct perfetto_export *export = data;
	Event event = new_event(PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track);

	set_name(export, &event, slice->name, slice->category);
	set_args(export, &event, slice->args);
	set_flows(export, &event, slice->links, slice->n_links);
	write_event(export, slice->start_ns, &event);
}

static void write_end(const struct export_track *track, gint64 end_ns, gpointer data)
{
	Event event = new_event(PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, track);

	write_event(data, end_ns, &event);
}

static void write_moment(const struct export_track *track, const struct export_moment *moment,
			 gpointer data)
{
	struct perfetto_export *export = data;
	Event event = new_event(PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, track);

	set_name(export, &event, moment->name, moment->category);
	set_args(export, &event, moment->args);
	write_event(export, moment->time_ns, &event);
}

static void write_count(const struct export_track *track, gint64 time_ns, gdouble value,
			gpointer data)
{
	Event event = new_event(PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER, track);

	event.has_counter_value = number_is_whole(value);
	event.counter_value = event.has_counter_value ? (gint64)value : 0;
	event.has_double_counter_value = !event.has_counter_value;
	event.double_counter_value = value;
	write_event(data, time_ns, &event);
}

static void write_share(const struct export_track *track, gint64 time_ns, gdouble percent,
			gpointer data)
{
	Event event = new_event(PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER, track);

	event.has_double_counter_value = TRUE;
	event.double_counter_value = percent;
	write_event(data, time_ns, &event);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The trace's clock (viewers take it to be BOOTTIME) began at the timeline's origin. */
static void write_clocks(struct perfetto_export *export)
{
	Packet packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock trace = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__ClockSnapshot__Clock day = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__ClockSnapshot__Clock *clocks[] = { &trace, &day };

	trace.has_clock_id = TRUE;
	trace.clock_id = PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__BOOTTIME;
	trace.has_timestamp = TRUE;
	day.has_clock_id = TRUE;
	day.clock_id = PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__REALTIME;
	day.has_timestamp = TRUE;
	day.timestamp = (guint64)MAX(export->timeline->origin_unix_ns, 0);
	snapshot.n_clocks = G_N_ELEMENTS(clocks);
	snapshot.clocks = clocks;
	snapshot.has_primary_trace_clock = TRUE;
	snapshot.primary_trace_clock = PERFETTO__CLOCK_SNAPSHOT__BUILTIN_CLOCK__BOOTTIME;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	packet.clock_snapshot = &snapshot;
	packet.has_tacho_run = TRUE;
	perfetto_packets_write(&export->packets, &packet);
}

static void write_block(const guint8 *block, gsize n_bytes, gpointer data)
{
	struct perfetto_export *export = data;
	Packet packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_tacho_run = TRUE;
	packet.tacho_run.data = (guint8 *)block;
	packet.tacho_run.len = n_bytes;
	perfetto_packets_write(&export->packets, &packet);
}

/* First how much stands before it, and its sum. */
static gboolean write_run(struct perfetto_export *export, const TachoExportOptions *options,
			  GError **error)
{
	g_autofree gchar *sum = g_strdup_printf("%" G_GUINT64_FORMAT " %u",
						export->packets.n_written, export->packets.crc);

	write_block((const guint8 *)sum, strlen(sum), export);
	return exported_rows_write(export->timeline, options, write_block, export, error);
}

static gboolean has_failed(gpointer data)
{
	return ((struct perfetto_export *)data)->packets.error != 0;
}

static gboolean write_all(struct perfetto_export *export, const TachoExportOptions *options,
			  FILE *out, GError **error)
{
	static const struct export_target target = {
		write_track, write_begin, write_end,  write_moment,
		write_count, write_share, has_failed,
	};

	write_clocks(export);
	write_root(export);
	if (!export_walk(export->timeline, options, &target, export, error) ||
	    !write_run(export, options, error))
		return FALSE;
	if (!export->packets.error && fflush(out) != 0)
		export->packets.error = errno;
	if (export->packets.error)
		g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
				    g_strerror(export->packets.error));
	return !export->packets.error;
}

gboolean tacho_export_perfetto(const TachoTimeline *timeline, const TachoExportOptions *options,
			       FILE *out, GError **error)
{
	struct perfetto_export export = { .timeline = timeline };
	gboolean is_written;

	perfetto_packets_init(&export.packets, out);
	export.flow_ids = g_array_new(FALSE, FALSE, sizeof(guint64));
	export.terminating_flow_ids = g_array_new(FALSE, FALSE, sizeof(guint64));
	is_written = write_all(&export, options, out, error);
	g_array_unref(export.flow_ids);
	g_array_unref(export.terminating_flow_ids);
	perfetto_packets_release(&export.packets);
	return is_written;
}
