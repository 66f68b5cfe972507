#include "trace_lines.h"

#include <string.h>

#include "base/order.h"
#include "export/perfetto.pb-c.h"

/* Takes the lines. */
static gchar *sort_lines(GPtrArray *lines)
{
	gchar *text;

	g_ptr_array_sort(lines, order_text);
	g_ptr_array_add(lines, NULL);
	text = g_strjoinv("\n", (gchar **)lines->pdata);
	g_ptr_array_unref(lines);
	return text;
}

static GPtrArray *new_lines(void)
{
	return g_ptr_array_new_with_free_func(g_free);
}

#define ADD_LINE(lines, ...) g_ptr_array_add((lines), g_strdup_printf(__VA_ARGS__))

/* --- of a timeline ---------------------------------------------------------------------------- */

static gchar *process_label(const TachoTimeline *timeline, guint32 process)
{
	const TachoProcess *row = &g_array_index(timeline->processes, TachoProcess, process);

	return g_strdup_printf("rank %d%s (%s, pid %u)", row->rank, row->is_main ? "" : " worker",
			       tacho_timeline_string(timeline, row->host), row->pid);
}

static gchar *track_label(const TachoTimeline *timeline, guint32 track)
{
	const TachoTrack *row = tacho_timeline_track(timeline, track);
	const gchar *name = tacho_timeline_string(timeline, row->name);

	return *name ? g_strdup(name) : g_strdup_printf("thread %u", row->tid);
}

static void add_slices(GPtrArray *lines, const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 track = timeline->slices.track[i];
		g_autofree gchar *process =
			process_label(timeline, tacho_timeline_track(timeline, track)->process);
		g_autofree gchar *thread = track_label(timeline, track);

		ADD_LINE(lines, "slice|%s|%s|%u|%s|%s|%" G_GINT64_FORMAT "|%" G_GINT64_FORMAT,
			 process, thread, timeline->slices.depth[i],
			 tacho_slice_kind_name((TachoSliceKind)timeline->slices.kind[i]),
			 tacho_slice_name(timeline, i), timeline->slices.start_ns[i],
			 tacho_slice_end_ns(timeline, i));
	}
}

static void add_steps(GPtrArray *lines, const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);
		const TachoRank *rank =
			&g_array_index(timeline->ranks, TachoRank, step->rank_index);
		g_autofree gchar *process = process_label(timeline, rank->main_process);

		ADD_LINE(lines,
			 "slice|%s|steps|0|step|step %u|%" G_GINT64_FORMAT "|%" G_GINT64_FORMAT,
			 process, step->number, step->start_ns, step->end_ns);
	}
}

static void add_flows(GPtrArray *lines, const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);
		guint32 first = flow->from, second = flow->to;

		if (timeline->slices.start_ns[second] < timeline->slices.start_ns[first]) {
			first = flow->to;
			second = flow->from;
		}
		ADD_LINE(lines, "flow|%s|%" G_GINT64_FORMAT "|%s|%" G_GINT64_FORMAT,
			 tacho_slice_name(timeline, first), timeline->slices.start_ns[first],
			 tacho_slice_name(timeline, second), timeline->slices.start_ns[second]);
	}
}

static void add_samples(GPtrArray *lines, const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->samples->len; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);
		g_autofree gchar *process = process_label(
			timeline, tacho_timeline_track(timeline, sample->track)->process);
		g_autofree gchar *counter = track_label(timeline, sample->track);

		ADD_LINE(lines, "count|%s|%s|%" G_GINT64_FORMAT "|%.17g", process, counter,
			 sample->time_ns, sample->value);
	}
}

/* Bytes in use after each event: the sum of all events of the process up to it. Quadratic, to be
 * another way than the export's. */
static gint64 bytes_after(const TachoTimeline *timeline, const TachoMemoryEvent *last)
{
	guint32 process = tacho_timeline_track(timeline, last->track)->process;
	gint64 total = 0;

	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);

		if (tacho_timeline_track(timeline, event->track)->process == process &&
		    (event->time_ns < last->time_ns ||
		     (event->time_ns == last->time_ns && event <= last)))
			total += event->bytes;
	}
	return total;
}

static void add_memory(GPtrArray *lines, const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);
		g_autofree gchar *process = process_label(
			timeline, tacho_timeline_track(timeline, event->track)->process);

		ADD_LINE(lines, "count|%s|allocated|%" G_GINT64_FORMAT "|%.17g", process,
			 event->time_ns, (gdouble)bytes_after(timeline, event));
	}
}

static void add_moments(GPtrArray *lines, const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);
		g_autofree gchar *process = process_label(
			timeline, tacho_timeline_track(timeline, mark->track)->process);
		g_autofree gchar *thread = track_label(timeline, mark->track);

		ADD_LINE(lines, "moment|%s|%s|%s|%" G_GINT64_FORMAT, process, thread,
			 tacho_timeline_string(timeline, mark->name), mark->time_ns);
	}
	for (guint i = 0; i < timeline->processes->len; i++) {
		const TachoProcess *row = &g_array_index(timeline->processes, TachoProcess, i);
		g_autofree gchar *process = process_label(timeline, i);

		if (row->end == TACHO_END_KILLED)
			ADD_LINE(lines, "moment|%s|process|killed by signal %d|%" G_GINT64_FORMAT,
				 process, row->exit_status, row->end_ns);
	}
}

gchar *trace_lines_of_timeline(const TachoTimeline *timeline)
{
	GPtrArray *lines = new_lines();

	add_slices(lines, timeline);
	add_steps(lines, timeline);
	add_flows(lines, timeline);
	add_samples(lines, timeline);
	add_memory(lines, timeline);
	add_moments(lines, timeline);
	return sort_lines(lines);
}

/* --- of a Perfetto trace ---------------------------------------------------------------------- */

struct open_slice {
	const gchar *name, *category;
	gint64 begin_ns;
};

struct perfetto_track {
	const Perfetto__TrackDescriptor *descriptor;
	GArray *open; /* struct open_slice */
	gint64 last_ns;
};

struct perfetto_flow {
	const gchar *name;
	gint64 begin_ns;
};

struct perfetto_reader {
	GPtrArray *lines;
	GHashTable *tracks;				       /* uuid -> struct perfetto_track */
	GHashTable *names, *categories, *annotations, *values; /* iid -> string */
	GHashTable *flows[2]; /* id -> struct perfetto_flow: begins, ends */
};

static void free_track(gpointer data)
{
	struct perfetto_track *track = data;

	g_array_unref(track->open);
	g_free(track);
}

static GHashTable *new_numbered(GDestroyNotify free_value)
{
	return g_hash_table_new_full(NULL, NULL, NULL, free_value);
}

static void learn(GHashTable *strings, Perfetto__InternedString **entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const ProtobufCBinaryData *text = &entries[i]->str;

		g_assert_cmpuint(entries[i]->iid, !=, 0);
		g_assert_true(g_utf8_validate((const gchar *)text->data, (gssize)text->len, NULL));
		g_assert_true(g_hash_table_insert(strings, GSIZE_TO_POINTER(entries[i]->iid),
						  g_strndup((gchar *)text->data, text->len)));
	}
}

static void learn_names(struct perfetto_reader *reader, const Perfetto__InternedData *data)
{
	learn(reader->names, data->event_names, data->n_event_names);
	learn(reader->categories, data->event_categories, data->n_event_categories);
	learn(reader->annotations, data->debug_annotation_names, data->n_debug_annotation_names);
	learn(reader->values, data->debug_annotation_string_values,
	      data->n_debug_annotation_string_values);
}

static const gchar *interned(GHashTable *strings, guint64 iid)
{
	const gchar *string = g_hash_table_lookup(strings, GSIZE_TO_POINTER(iid));

	g_assert_nonnull(string);
	return string;
}

static void learn_track(struct perfetto_reader *reader, const Perfetto__TrackDescriptor *descriptor)
{
	struct perfetto_track *track = g_new0(struct perfetto_track, 1);

	track->descriptor = descriptor;
	track->open = g_array_new(FALSE, FALSE, sizeof(struct open_slice));
	if (descriptor->has_parent_uuid)
		g_assert_true(g_hash_table_contains(reader->tracks,
						    GSIZE_TO_POINTER(descriptor->parent_uuid)));
	g_assert_true(
		g_hash_table_insert(reader->tracks, GSIZE_TO_POINTER(descriptor->uuid), track));
}

static const gchar *track_name(const struct perfetto_track *track)
{
	if (track->descriptor->process)
		return "process";
	return track->descriptor->thread ? track->descriptor->thread->thread_name
					 : track->descriptor->name;
}

static const gchar *process_name(struct perfetto_reader *reader, const struct perfetto_track *track)
{
	while (!track->descriptor->process)
		track = g_hash_table_lookup(reader->tracks,
					    GSIZE_TO_POINTER(track->descriptor->parent_uuid));
	return track->descriptor->process->process_name;
}

static void learn_flows(GHashTable *flows, const guint64 *ids, size_t n, const gchar *name,
			gint64 begin_ns)
{
	for (size_t i = 0; i < n; i++) {
		struct perfetto_flow *flow = g_new(struct perfetto_flow, 1);

		*flow = (struct perfetto_flow){ name, begin_ns };
		g_assert_true(g_hash_table_insert(flows, GSIZE_TO_POINTER(ids[i]), flow));
	}
}

static void read_begin(struct perfetto_reader *reader, struct perfetto_track *track,
		       const Perfetto__TrackEvent *event, gint64 time_ns)
{
	struct open_slice slice = { .begin_ns = time_ns };

	g_assert_cmpuint(event->n_category_iids, ==, 1);
	slice.name = interned(reader->names, event->name_iid);
	slice.category = interned(reader->categories, event->category_iids[0]);
	g_array_append_val(track->open, slice);
	learn_flows(reader->flows[0], event->flow_ids, event->n_flow_ids, slice.name, time_ns);
	learn_flows(reader->flows[1], event->terminating_flow_ids, event->n_terminating_flow_ids,
		    slice.name, time_ns);
	for (size_t i = 0; i < event->n_debug_annotations; i++)
		interned(reader->annotations, event->debug_annotations[i]->name_iid);
}

static void read_end(struct perfetto_reader *reader, struct perfetto_track *track, gint64 time_ns)
{
	const struct open_slice *slice;

	g_assert_cmpuint(track->open->len, >, 0);
	slice = &g_array_index(track->open, struct open_slice, track->open->len - 1);
	ADD_LINE(reader->lines, "slice|%s|%s|%u|%s|%s|%" G_GINT64_FORMAT "|%" G_GINT64_FORMAT,
		 process_name(reader, track), track_name(track), track->open->len - 1,
		 slice->category, slice->name, slice->begin_ns, time_ns);
	g_array_set_size(track->open, track->open->len - 1);
}

static void read_event(struct perfetto_reader *reader, const Perfetto__TracePacket *packet)
{
	const Perfetto__TrackEvent *event = packet->track_event;
	struct perfetto_track *track =
		g_hash_table_lookup(reader->tracks, GSIZE_TO_POINTER(event->track_uuid));
	gint64 time_ns = (gint64)packet->timestamp;

	g_assert_nonnull(track);
	g_assert_true(packet->has_timestamp);
	g_assert_cmpint(time_ns, >=, track->last_ns);
	track->last_ns = time_ns;
	if (event->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN)
		read_begin(reader, track, event, time_ns);
	else if (event->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END)
		read_end(reader, track, time_ns);
	else if (event->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER)
		ADD_LINE(reader->lines, "count|%s|%s|%" G_GINT64_FORMAT "|%.17g",
			 process_name(reader, track), track_name(track), time_ns,
			 event->has_double_counter_value ? event->double_counter_value
							 : (gdouble)event->counter_value);
	else
		ADD_LINE(reader->lines, "moment|%s|%s|%s|%" G_GINT64_FORMAT,
			 process_name(reader, track), track_name(track),
			 interned(reader->names, event->name_iid), time_ns);
}

static void end_reading(struct perfetto_reader *reader)
{
	GHashTableIter iter;
	gpointer id, value;

	g_hash_table_iter_init(&iter, reader->tracks);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		g_assert_cmpuint(((struct perfetto_track *)value)->open->len, ==, 0);
	g_assert_cmpuint(g_hash_table_size(reader->flows[0]), ==,
			 g_hash_table_size(reader->flows[1]));
	g_hash_table_iter_init(&iter, reader->flows[0]);
	while (g_hash_table_iter_next(&iter, &id, &value)) {
		const struct perfetto_flow *from = value;
		const struct perfetto_flow *to = g_hash_table_lookup(reader->flows[1], id);

		g_assert_nonnull(to);
		g_assert_cmpint(from->begin_ns, <=, to->begin_ns);
		ADD_LINE(reader->lines, "flow|%s|%" G_GINT64_FORMAT "|%s|%" G_GINT64_FORMAT,
			 from->name, from->begin_ns, to->name, to->begin_ns);
	}
}

static void read_packet(struct perfetto_reader *reader, const Perfetto__TracePacket *packet,
			gboolean is_first)
{
	g_assert_cmpuint(packet->trusted_packet_sequence_id, ==, 1);
	g_assert_cmpuint(packet->sequence_flags, ==, is_first ? 3 : 2);
	g_assert_cmpint(packet->first_packet_on_sequence, ==, is_first);
	if (packet->interned_data)
		learn_names(reader, packet->interned_data);
	if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR)
		learn_track(reader, packet->track_descriptor);
	else if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT)
		read_event(reader, packet);
	else if (packet->data_case != PERFETTO__TRACE_PACKET__DATA__NOT_SET)
		g_assert_cmpint(packet->data_case, ==, PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT);
	else
		g_assert_true(packet->has_tacho_run); /* tacho's own: nothing to see */
}

gchar *trace_lines_of_perfetto(const guint8 *bytes, gsize length)
{
	Perfetto__Trace *trace = perfetto__trace__unpack(NULL, length, bytes);
	struct perfetto_reader reader = {
		.lines = new_lines(),
		.tracks = new_numbered(free_track),
		.names = new_numbered(g_free),
		.categories = new_numbered(g_free),
		.annotations = new_numbered(g_free),
		.values = new_numbered(g_free),
		.flows = { new_numbered(g_free), new_numbered(g_free) },
	};

	g_assert_nonnull(trace);
	for (size_t i = 0; i < trace->n_packet; i++)
		read_packet(&reader, trace->packet[i], i == 0);
	end_reading(&reader);
	g_hash_table_unref(reader.tracks);
	g_hash_table_unref(reader.names);
	g_hash_table_unref(reader.categories);
	g_hash_table_unref(reader.annotations);
	g_hash_table_unref(reader.values);
	g_hash_table_unref(reader.flows[0]);
	g_hash_table_unref(reader.flows[1]);
	perfetto__trace__free_unpacked(trace, NULL);
	return sort_lines(reader.lines);
}

/* --- of Chrome JSON --------------------------------------------------------------------------- */

gchar *trace_lines_of_chrome(const gchar *path)
{
	static const gchar script[] = TACHO_TEST_SUPPORT_DIR "/chrome_lines.py";
	const gchar *argv[] = { "python3", script, path, NULL };
	g_autoptr(GError) error = NULL;
	gchar *text = NULL;
	gint status;

	g_spawn_sync(NULL, (gchar **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, NULL,
		     &status, &error);
	g_assert_no_error(error);
	g_assert_true(g_spawn_check_wait_status(status, &error));
	return text;
}

/* --- exports ---------------------------------------------------------------------------------- */

guint8 *export_to_memory(const TachoExportTarget *target, const TachoTimeline *timeline,
			 const TachoExportOptions *options, gsize *ret_length)
{
	g_autoptr(GError) error = NULL;
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);
	gboolean is_written = target->write(timeline, options, out, &error);
	guint8 *copy;

	g_assert_no_error(error);
	g_assert_true(is_written);
	fclose(out);
	copy = g_memdup2(bytes, length);
	free(bytes);
	*ret_length = length;
	return copy;
}
