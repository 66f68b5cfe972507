#include "import/ctf/ctf_part.h"

#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

struct ctf_part {
	struct ctf_process *process;
	guint8 *buffer; /* what was read and not yet used */
	gsize n_buffer, n_used, n_allocated;
	guint64 offset; /* of the next record, among all that come */
	GPtrArray *traces, *streams, *classes;
	GHashTable *names;	/* of classes of events; somebody else's */
	GArray *packets;	/* guint64 offsets */
	struct mapped_file all; /* the same records, in a file */
	gchar *failure;
	gboolean has_ended;
};

/* A place in a record, and its end. */
struct cursor {
	const guint8 *at, *end;
};

static void free_trace(gpointer data)
{
	struct ctf_trace *trace = data;

	g_hash_table_unref(trace->environment);
	g_free(trace->facts);
	g_free(trace);
}

static void free_stream(gpointer data)
{
	struct ctf_stream *stream = data;

	g_free(stream->name);
	g_free(stream);
}

static void free_class(gpointer data)
{
	struct ctf_class *class = data;

	for (guint32 i = 0; i < class->n_fields; i++) {
		for (guint32 k = 0; k < class->fields[i].n_labels; k++)
			g_free(class->fields[i].labels[k].name);
		g_free(class->fields[i].labels);
		g_free(class->fields[i].name);
	}
	g_free(class->fields);
	g_free(class->name);
	g_free(class->plan);
	g_free(class);
}

struct ctf_part *ctf_part_new(struct ctf_process *process, GHashTable *names)
{
	struct ctf_part *part = g_new0(struct ctf_part, 1);

	part->process = process;
	part->traces = g_ptr_array_new_with_free_func(free_trace);
	part->streams = g_ptr_array_new_with_free_func(free_stream);
	part->classes = g_ptr_array_new_with_free_func(free_class);
	part->names = names;
	part->packets = g_array_new(FALSE, FALSE, sizeof(guint64));
	return part;
}

void ctf_part_free(struct ctf_part *part)
{
	if (!part)
		return;
	ctf_process_free(part->process);
	mapped_file_close(&part->all);
	g_free(part->buffer);
	g_ptr_array_unref(part->streams);
	g_ptr_array_unref(part->traces);
	g_ptr_array_unref(part->classes);
	g_array_unref(part->packets);
	g_free(part->failure);
	g_free(part);
}

const gchar *ctf_part_failure(const struct ctf_part *part)
{
	return part->failure;
}

/* --- taking records apart ------------------------------------------------------------------- */

static const void *take(struct cursor *cursor, gsize n)
{
	const void *taken = cursor->at;

	if ((gsize)(cursor->end - cursor->at) < n)
		return NULL;
	cursor->at += n;
	return taken;
}

/* A copy of the string that comes next; NULL: it is cut. */
static gchar *take_string(struct cursor *cursor)
{
	const struct ctf_string *string = take(cursor, sizeof(*string));
	const gchar *text;

	if (!string)
		return NULL;
	text = take(cursor, ((gsize)string->n + 8) / 8 * 8);
	return text ? g_utf8_make_valid(text, (gssize)strnlen(text, string->n)) : NULL;
}

static gboolean add_trace(struct ctf_part *part, struct cursor cursor)
{
	const struct ctf_trace_record *record = take(&cursor, sizeof(*record));
	struct ctf_trace *trace;

	if (!record)
		return FALSE;
	trace = g_new0(struct ctf_trace, 1);
	trace->environment = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_ptr_array_add(part->traces, trace);
	for (guint32 i = 0; i < record->n_entries; i++) {
		gchar *name = take_string(&cursor), *value = take_string(&cursor);

		if (!name || !value) {
			g_free(name);
			g_free(value);
			return FALSE;
		}
		g_hash_table_insert(trace->environment, name, value);
	}
	return TRUE;
}

static gboolean add_stream(struct ctf_part *part, struct cursor cursor)
{
	const struct ctf_stream_record *record = take(&cursor, sizeof(*record));
	struct ctf_stream *stream;
	gchar *name = record ? take_string(&cursor) : NULL;

	if (!name || record->trace >= part->traces->len) {
		g_free(name);
		return FALSE;
	}
	stream = g_new0(struct ctf_stream, 1);
	stream->trace = part->traces->pdata[record->trace];
	stream->order = record->order;
	stream->flags = record->flags;
	stream->clock_offset_ns = record->clock_offset_ns;
	stream->name = name;
	g_ptr_array_add(part->streams, stream);
	return TRUE;
}

static gboolean take_labels(struct cursor *cursor, struct ctf_field *field, guint32 n)
{
	/* each takes more bytes than its row here */
	if (n > (gsize)(cursor->end - cursor->at) / sizeof(struct ctf_label_record))
		return FALSE;
	field->labels = g_new0(struct ctf_label, n + 1);
	for (; field->n_labels < n; field->n_labels++) {
		const struct ctf_label_record *record = take(cursor, sizeof(*record));
		struct ctf_label *label = &field->labels[field->n_labels];

		label->name = record ? take_string(cursor) : NULL;
		if (!label->name)
			return FALSE;
		label->low = record->low;
		label->high = record->high;
	}
	return TRUE;
}

static gboolean take_field(struct cursor *cursor, struct ctf_field *field)
{
	const struct ctf_field_record *record = take(cursor, sizeof(*record));

	if (!record || record->type >= CTF_N_FIELD_TYPES || record->scope >= CTF_N_FIELD_SCOPES)
		return FALSE;
	field->type = record->type;
	field->scope = record->scope;
	field->flags = record->flags;
	field->name = take_string(cursor);
	return field->name && take_labels(cursor, field, record->n_labels);
}

static gboolean add_class(struct ctf_part *part, struct cursor cursor)
{
	const struct ctf_class_record *record = take(&cursor, sizeof(*record));
	gchar *name = record ? take_string(&cursor) : NULL;
	struct ctf_class *class;

	if (!name || record->n_fields > CTF_MAX_FIELDS) {
		g_free(name);
		return FALSE;
	}
	class = g_new0(struct ctf_class, 1);
	class->name = name;
	class->is_packet = record->is_packet != 0;
	class->fields = g_new0(struct ctf_field, record->n_fields + 1);
	class->n_fields = record->n_fields;
	g_ptr_array_add(part->classes, class);
	if (!class->is_packet)
		g_hash_table_add(part->names, class->name);
	for (guint32 i = 0; i < class->n_fields; i++)
		if (!take_field(&cursor, &class->fields[i]))
			return FALSE;
	return TRUE;
}

static struct ctf_class *find_class(const struct ctf_part *part, guint32 number, gboolean is_packet)
{
	struct ctf_class *class = number < part->classes->len ? part->classes->pdata[number] : NULL;

	return class && class->is_packet == is_packet ? class : NULL;
}

static gboolean add_packet(struct ctf_part *part, struct cursor cursor)
{
	const struct ctf_packet_record *record = take(&cursor, sizeof(*record));
	const struct ctf_class *class = record ? find_class(part, record->class, TRUE) : NULL;

	if (!class || record->stream >= part->streams->len ||
	    !take(&cursor, class->n_fields * sizeof(guint64)))
		return FALSE;
	g_array_append_val(part->packets, part->offset);
	return TRUE;
}

static gboolean read_event(const struct ctf_part *part, struct cursor cursor,
			   struct ctf_event *event)
{
	const struct ctf_event_record *record = take(&cursor, sizeof(*record));

	if (!record || record->stream >= part->streams->len)
		return FALSE;
	event->class = find_class(part, record->class, FALSE);
	if (!event->class || !take(&cursor, event->class->n_fields * sizeof(guint64)))
		return FALSE;
	event->bytes = (const guint8 *)record;
	event->n_bytes = record->head.size_bytes;
	event->stream = part->streams->pdata[record->stream];
	event->time_ns = record->time_ns;
	event->cpu = record->cpu;
	return TRUE;
}

static gboolean read_discarded(const struct ctf_part *part, struct cursor cursor,
			       struct ctf_discarded *discarded)
{
	const struct ctf_discarded_record *record = take(&cursor, sizeof(*record));

	if (!record || record->stream >= part->streams->len)
		return FALSE;
	*discarded = (struct ctf_discarded){
		.stream = part->streams->pdata[record->stream],
		.count = record->count,
		.is_known = record->is_known != 0,
		.is_packets = record->is_packets != 0,
	};
	return TRUE;
}

/* --- one after the other -------------------------------------------------------------------- */

static enum ctf_next fail(struct ctf_part *part, gchar *failure)
{
	g_free(part->failure);
	part->failure = failure;
	return CTF_NEXT_FAILURE;
}

/* Nothing after it can be understood. */
static enum ctf_next stop(struct ctf_part *part, const gchar *failure)
{
	part->has_ended = TRUE;
	return fail(part, g_strdup(failure));
}

/* Have `n` bytes from the next record on. */
static gboolean have(struct ctf_part *part, gsize n)
{
	while (part->n_buffer - part->n_used < n) {
		gsize n_read;

		if (part->n_used) {
			part->n_buffer -= part->n_used;
			memmove(part->buffer, part->buffer + part->n_used, part->n_buffer);
			part->n_used = 0;
		}
		if (part->n_allocated < MAX(n, BUFFER_BYTES)) {
			part->n_allocated = MAX(n, BUFFER_BYTES);
			part->buffer = g_realloc(part->buffer, part->n_allocated);
		}
		n_read = ctf_process_read(part->process, part->buffer + part->n_buffer,
					  part->n_allocated - part->n_buffer);
		if (!n_read)
			return FALSE;
		part->n_buffer += n_read;
	}
	return TRUE;
}

static enum ctf_next stop_cut(struct ctf_part *part)
{
	const gchar *failure = ctf_process_failure(part->process);

	return stop(part, failure ? failure : "the decoded events end too early");
}

static gchar *take_failure(struct cursor cursor)
{
	gchar *text;

	take(&cursor, sizeof(struct ctf_failure_record));
	text = take_string(&cursor);
	return text ? text : g_strdup("a broken record");
}

/* The next whole record; NULL: there is none. */
static const struct ctf_record *peek_record(struct ctf_part *part)
{
	struct ctf_record record;

	if (!have(part, sizeof(record)))
		return NULL;
	memcpy(&record, part->buffer + part->n_used, sizeof(record));
	if (record.size_bytes < sizeof(record) || record.size_bytes % 8 ||
	    record.size_bytes > CTF_MAX_RECORD_BYTES || !have(part, record.size_bytes))
		return NULL;
	return (const struct ctf_record *)(part->buffer + part->n_used);
}

static void step_over(struct ctf_part *part, const struct ctf_record *record)
{
	part->offset += record->size_bytes;
	part->n_used += record->size_bytes;
}

enum ctf_next ctf_part_next(struct ctf_part *part, struct ctf_event *event,
			    struct ctf_discarded *discarded)
{
	while (!part->has_ended) {
		const struct ctf_record *record = peek_record(part);
		gboolean is_fine = FALSE;
		struct cursor cursor;

		if (!record)
			return stop_cut(part);
		cursor.at = (const guint8 *)record;
		cursor.end = cursor.at + record->size_bytes;
		switch (record->kind) {
		case CTF_RECORD_EVENT:
			event->offset = part->offset;
			step_over(part, record);
			if (read_event(part, cursor, event))
				return CTF_NEXT_EVENT;
			return stop(part, "a broken record of an event");
		case CTF_RECORD_DISCARDED:
			step_over(part, record);
			if (read_discarded(part, cursor, discarded))
				return CTF_NEXT_DISCARDED;
			return stop(part, "a broken record of discarded events");
		case CTF_RECORD_TRACE:
			is_fine = add_trace(part, cursor);
			break;
		case CTF_RECORD_STREAM:
			is_fine = add_stream(part, cursor);
			break;
		case CTF_RECORD_CLASS:
			is_fine = add_class(part, cursor);
			break;
		case CTF_RECORD_PACKET:
			is_fine = add_packet(part, cursor);
			break;
		case CTF_RECORD_FAILURE:
			step_over(part, record);
			return fail(part, take_failure(cursor));
		case CTF_RECORD_END:
			part->has_ended = TRUE;
			continue;
		default:
			break;
		}
		if (!is_fine)
			return stop(part, "a broken record");
		step_over(part, record);
	}
	return CTF_NEXT_END;
}

/* --- once more ------------------------------------------------------------------------------ */

gboolean ctf_part_open_all(struct ctf_part *part)
{
	int file = ctf_process_open_all(part->process);
	g_autofree gchar *path = g_strdup_printf("/proc/self/fd/%d", file);
	gboolean is_open;

	if (file < 0)
		return FALSE;
	is_open = mapped_file_open(&part->all, path, NULL);
	close(file);
	return is_open;
}

/* A record of that kind, of at least so many bytes, at `offset`; NULL: there is none. */
static const struct ctf_record *record_at(const struct ctf_part *part, guint64 offset,
					  enum ctf_record_kind kind, gsize least_bytes)
{
	const struct ctf_record *record;

	if (offset % 8 || offset > part->all.size_bytes ||
	    part->all.size_bytes - offset < least_bytes)
		return NULL;
	record = (const struct ctf_record *)(part->all.bytes + offset);
	if (record->kind != (guint32)kind || record->size_bytes < least_bytes ||
	    record->size_bytes > part->all.size_bytes - offset)
		return NULL;
	return record;
}

gboolean ctf_part_event_at(const struct ctf_part *part, guint64 offset, struct ctf_event *event)
{
	const struct ctf_record *record =
		record_at(part, offset, CTF_RECORD_EVENT, sizeof(struct ctf_event_record));
	struct cursor cursor;

	if (!record)
		return FALSE;
	cursor.at = (const guint8 *)record;
	cursor.end = cursor.at + record->size_bytes;
	event->offset = offset;
	return read_event(part, cursor, event);
}

const struct ctf_packet_record *ctf_part_packet_of(const struct ctf_part *part,
						   const struct ctf_event *event,
						   const struct ctf_class **ret_class)
{
	const struct ctf_packet_record *record;
	struct ctf_event_record told;

	memcpy(&told, event->bytes, sizeof(told));
	if (told.packet >= part->packets->len)
		return NULL;
	record = (const struct ctf_packet_record *)record_at(
		part, g_array_index(part->packets, guint64, told.packet), CTF_RECORD_PACKET,
		sizeof(*record));
	*ret_class = record ? find_class(part, record->class, TRUE) : NULL;
	if (!*ret_class ||
	    record->head.size_bytes < sizeof(*record) + (*ret_class)->n_fields * sizeof(guint64))
		return NULL;
	return record;
}
