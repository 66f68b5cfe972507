#include "import/ctf_stream.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "base/json_append.h"
#include "base/mapped_file.h"

enum { BUFFER_BYTES = 1 << 20 };

struct ctf_reader {
	struct ctf_process *process;
	guint8 *buffer; /* what was read and not yet used */
	gsize n_buffer, n_used, n_allocated;
	guint64 offset; /* of the next record, among all that come */
	GPtrArray *traces, *streams, *classes;
	GHashTable *names; /* of classes of events, theirs */
	GArray *packets;   /* guint64 offsets */
	GArray *partners;  /* struct partner; in the order of begins since somebody asked for one */
	/* Under the lock, when all has been read: */
	pthread_mutex_t lock;
	gboolean is_ready;	/* partners are sorted, and `all` is there if it can be */
	struct mapped_file all; /* the same records, in a file */
	gchar *failure;
	gboolean has_ended;
};

/* Two events that are one interval, by their offsets. */
struct partner {
	guint64 begin, end;
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

struct ctf_reader *ctf_reader_new(struct ctf_process *process)
{
	struct ctf_reader *reader = g_new0(struct ctf_reader, 1);

	reader->process = process;
	reader->traces = g_ptr_array_new_with_free_func(free_trace);
	reader->streams = g_ptr_array_new_with_free_func(free_stream);
	reader->classes = g_ptr_array_new_with_free_func(free_class);
	reader->names = g_hash_table_new(g_str_hash, g_str_equal);
	reader->packets = g_array_new(FALSE, FALSE, sizeof(guint64));
	reader->partners = g_array_new(FALSE, FALSE, sizeof(struct partner));
	pthread_mutex_init(&reader->lock, NULL);
	return reader;
}

void ctf_reader_free(struct ctf_reader *reader)
{
	if (!reader)
		return;
	ctf_process_free(reader->process);
	mapped_file_close(&reader->all);
	g_free(reader->buffer);
	g_ptr_array_unref(reader->streams);
	g_ptr_array_unref(reader->traces);
	g_hash_table_unref(reader->names);
	g_ptr_array_unref(reader->classes);
	g_array_unref(reader->packets);
	g_array_unref(reader->partners);
	pthread_mutex_destroy(&reader->lock);
	g_free(reader->failure);
	g_free(reader);
}

const gchar *ctf_reader_failure(const struct ctf_reader *reader)
{
	return reader->failure;
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

static gboolean add_trace(struct ctf_reader *reader, struct cursor cursor)
{
	const struct ctf_trace_record *record = take(&cursor, sizeof(*record));
	struct ctf_trace *trace;

	if (!record)
		return FALSE;
	trace = g_new0(struct ctf_trace, 1);
	trace->environment = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_ptr_array_add(reader->traces, trace);
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

static gboolean add_stream(struct ctf_reader *reader, struct cursor cursor)
{
	const struct ctf_stream_record *record = take(&cursor, sizeof(*record));
	struct ctf_stream *stream;
	gchar *name = record ? take_string(&cursor) : NULL;

	if (!name || record->trace >= reader->traces->len) {
		g_free(name);
		return FALSE;
	}
	stream = g_new0(struct ctf_stream, 1);
	stream->trace = reader->traces->pdata[record->trace];
	stream->number = reader->streams->len;
	stream->flags = record->flags;
	stream->clock_offset_ns = record->clock_offset_ns;
	stream->name = name;
	g_ptr_array_add(reader->streams, stream);
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

static gboolean add_class(struct ctf_reader *reader, struct cursor cursor)
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
	g_ptr_array_add(reader->classes, class);
	if (!class->is_packet)
		g_hash_table_add(reader->names, class->name);
	for (guint32 i = 0; i < class->n_fields; i++)
		if (!take_field(&cursor, &class->fields[i]))
			return FALSE;
	return TRUE;
}

static struct ctf_class *find_class(const struct ctf_reader *reader, guint32 number,
				    gboolean is_packet)
{
	struct ctf_class *class =
		number < reader->classes->len ? reader->classes->pdata[number] : NULL;

	return class && class->is_packet == is_packet ? class : NULL;
}

static gboolean add_packet(struct ctf_reader *reader, struct cursor cursor)
{
	const struct ctf_packet_record *record = take(&cursor, sizeof(*record));
	const struct ctf_class *class = record ? find_class(reader, record->class, TRUE) : NULL;

	if (!class || record->stream >= reader->streams->len ||
	    !take(&cursor, class->n_fields * sizeof(guint64)))
		return FALSE;
	g_array_append_val(reader->packets, reader->offset);
	return TRUE;
}

static gboolean read_event(const struct ctf_reader *reader, struct cursor cursor,
			   struct ctf_event *event)
{
	const struct ctf_event_record *record = take(&cursor, sizeof(*record));

	if (!record || record->stream >= reader->streams->len)
		return FALSE;
	event->class = find_class(reader, record->class, FALSE);
	if (!event->class || !take(&cursor, event->class->n_fields * sizeof(guint64)))
		return FALSE;
	event->bytes = (const guint8 *)record;
	event->n_bytes = record->head.size_bytes;
	event->stream = reader->streams->pdata[record->stream];
	event->time_ns = record->time_ns;
	event->cpu = record->cpu;
	return TRUE;
}

static gboolean read_discarded(const struct ctf_reader *reader, struct cursor cursor,
			       struct ctf_discarded *discarded)
{
	const struct ctf_discarded_record *record = take(&cursor, sizeof(*record));

	if (!record || record->stream >= reader->streams->len)
		return FALSE;
	*discarded = (struct ctf_discarded){
		.stream = reader->streams->pdata[record->stream],
		.count = record->count,
		.is_known = record->is_known != 0,
		.is_packets = record->is_packets != 0,
	};
	return TRUE;
}

/* --- one after the other -------------------------------------------------------------------- */

static enum ctf_next stop(struct ctf_reader *reader, gchar *failure)
{
	reader->has_ended = TRUE;
	if (!failure)
		return CTF_NEXT_END;
	g_free(reader->failure);
	reader->failure = failure;
	return CTF_NEXT_FAILURE;
}

/* Have `n` bytes from the next record on. */
static gboolean have(struct ctf_reader *reader, gsize n)
{
	while (reader->n_buffer - reader->n_used < n) {
		gsize n_read;

		if (reader->n_used) {
			reader->n_buffer -= reader->n_used;
			memmove(reader->buffer, reader->buffer + reader->n_used, reader->n_buffer);
			reader->n_used = 0;
		}
		if (reader->n_allocated < MAX(n, BUFFER_BYTES)) {
			reader->n_allocated = MAX(n, BUFFER_BYTES);
			reader->buffer = g_realloc(reader->buffer, reader->n_allocated);
		}
		n_read = ctf_process_read(reader->process, reader->buffer + reader->n_buffer,
					  reader->n_allocated - reader->n_buffer);
		if (!n_read)
			return FALSE;
		reader->n_buffer += n_read;
	}
	return TRUE;
}

static enum ctf_next stop_cut(struct ctf_reader *reader)
{
	const gchar *failure = ctf_process_failure(reader->process);

	return stop(reader, g_strdup(failure ? failure : "what is decoded ends too early"));
}

static enum ctf_next stop_failed(struct ctf_reader *reader, struct cursor cursor)
{
	gchar *text;

	take(&cursor, sizeof(struct ctf_failure_record));
	text = take_string(&cursor);
	return stop(reader, text ? text : g_strdup("a broken record"));
}

/* The next whole record; NULL: there is none. */
static const struct ctf_record *peek_record(struct ctf_reader *reader)
{
	struct ctf_record record;

	if (!have(reader, sizeof(record)))
		return NULL;
	memcpy(&record, reader->buffer + reader->n_used, sizeof(record));
	if (record.size_bytes < sizeof(record) || record.size_bytes % 8 ||
	    record.size_bytes > CTF_MAX_RECORD_BYTES || !have(reader, record.size_bytes))
		return NULL;
	return (const struct ctf_record *)(reader->buffer + reader->n_used);
}

static void step_over(struct ctf_reader *reader, const struct ctf_record *record)
{
	reader->offset += record->size_bytes;
	reader->n_used += record->size_bytes;
}

enum ctf_next ctf_reader_next(struct ctf_reader *reader, struct ctf_event *event,
			      struct ctf_discarded *discarded)
{
	while (!reader->has_ended) {
		const struct ctf_record *record = peek_record(reader);
		gboolean is_fine = FALSE;
		struct cursor cursor;

		if (!record)
			return stop_cut(reader);
		cursor.at = (const guint8 *)record;
		cursor.end = cursor.at + record->size_bytes;
		switch (record->kind) {
		case CTF_RECORD_EVENT:
			event->offset = reader->offset;
			step_over(reader, record);
			if (read_event(reader, cursor, event))
				return CTF_NEXT_EVENT;
			return stop(reader, g_strdup("a broken record of an event"));
		case CTF_RECORD_DISCARDED:
			step_over(reader, record);
			if (read_discarded(reader, cursor, discarded))
				return CTF_NEXT_DISCARDED;
			return stop(reader, g_strdup("a broken record of what was discarded"));
		case CTF_RECORD_TRACE:
			is_fine = add_trace(reader, cursor);
			break;
		case CTF_RECORD_STREAM:
			is_fine = add_stream(reader, cursor);
			break;
		case CTF_RECORD_CLASS:
			is_fine = add_class(reader, cursor);
			break;
		case CTF_RECORD_PACKET:
			is_fine = add_packet(reader, cursor);
			break;
		case CTF_RECORD_FAILURE:
			return stop_failed(reader, cursor);
		case CTF_RECORD_END:
			return stop(reader, NULL);
		default:
			break;
		}
		if (!is_fine)
			return stop(reader, g_strdup("a broken record"));
		step_over(reader, record);
	}
	return reader->failure ? CTF_NEXT_FAILURE : CTF_NEXT_END;
}

gboolean ctf_reader_has_class(const struct ctf_reader *reader, const gchar *name)
{
	return g_hash_table_contains(reader->names, name);
}

/* --- values --------------------------------------------------------------------------------- */

gint ctf_class_field(const struct ctf_class *class, const gchar *name)
{
	for (guint32 i = class->n_fields; i-- > 0;) /* the payload comes last */
		if (strcmp(class->fields[i].name, name) == 0)
			return (gint)i;
	return -1;
}

gint ctf_class_context(const struct ctf_class *class, const gchar *name)
{
	for (guint32 i = 0; i < class->n_fields; i++)
		if (class->fields[i].scope < CTF_SCOPE_PAYLOAD &&
		    strcmp(class->fields[i].name, name) == 0)
			return (gint)i;
	return -1;
}

static gdouble real_of(guint64 bits)
{
	gdouble value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

gboolean ctf_event_number(const struct ctf_event *event, gint field, gint64 *ret_value)
{
	gdouble value;

	if (field < 0)
		return FALSE;
	switch (event->class->fields[field].type) {
	case CTF_FIELD_UNSIGNED:
	case CTF_FIELD_SIGNED:
	case CTF_FIELD_BOOLEAN:
		*ret_value = (gint64)ctf_event_slot(event, field);
		return TRUE;
	case CTF_FIELD_REAL:
		value = real_of(ctf_event_slot(event, field));
		if (!isfinite(value))
			return FALSE;
		*ret_value = (gint64)CLAMP(round(value), -9.2e18, 9.2e18);
		return TRUE;
	default:
		return FALSE;
	}
}

/* A text that a slot names, in a record of `n_bytes`. */
static const gchar *text_at(const guint8 *record, guint32 n_bytes, guint64 slot, gsize *ret_n)
{
	guint64 offset = slot & G_MAXUINT32, n = slot >> 32;

	if (offset + n >= n_bytes || record[offset + n] != '\0')
		return NULL;
	*ret_n = n;
	return (const gchar *)record + offset;
}

const gchar *ctf_event_text(const struct ctf_event *event, gint field, gsize *ret_n)
{
	if (field < 0 || event->class->fields[field].type != CTF_FIELD_TEXT)
		return NULL;
	return text_at(event->bytes, event->n_bytes, ctf_event_slot(event, field), ret_n);
}

void ctf_reader_set_partner(struct ctf_reader *reader, guint64 begin, guint64 end)
{
	struct partner partner = { .begin = begin, .end = end };

	g_array_append_val(reader->partners, partner);
}

/* By the begin; of several ends the last one first. */
static gint compare_partners(gconstpointer first, gconstpointer second)
{
	const struct partner *a = first, *b = second;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

/* The offset of what ended the event at `begin`; 0: nothing did. */
static guint64 find_partner(struct ctf_reader *reader, guint64 begin)
{
	struct partner wanted = { .begin = begin, .end = G_MAXUINT64 };
	guint low = 0, high = reader->partners->len;
	const struct partner *found;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		found = &g_array_index(reader->partners, struct partner, middle);
		if (compare_partners(found, &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == reader->partners->len)
		return 0;
	found = &g_array_index(reader->partners, struct partner, low);
	return found->begin == begin ? found->end : 0;
}

/* What somebody who asks for args needs, the first time. */
static void get_ready(struct ctf_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	if (!reader->is_ready) {
		int file = ctf_process_open_all(reader->process);
		g_autofree gchar *path = g_strdup_printf("/proc/self/fd/%d", file);

		if (file >= 0) {
			mapped_file_open(&reader->all, path, NULL);
			close(file);
		}
		g_array_sort(reader->partners, compare_partners);
	}
	reader->is_ready = TRUE;
	pthread_mutex_unlock(&reader->lock);
}

/* --- args ----------------------------------------------------------------------------------- */

static const gchar *find_label(const struct ctf_field *field, guint64 value)
{
	for (guint32 i = 0; i < field->n_labels; i++) {
		const struct ctf_label *label = &field->labels[i];
		gboolean is_inside = field->type == CTF_FIELD_SIGNED
					     ? (gint64)value >= (gint64)label->low &&
						       (gint64)value <= (gint64)label->high
					     : value >= label->low && value <= label->high;

		if (is_inside)
			return label->name;
	}
	return NULL;
}

static void append_integer(GString *json, const struct ctf_field *field, guint64 slot)
{
	const gchar *label = find_label(field, slot);

	if (label)
		json_append_string(json, label, strlen(label));
	else if (field->flags & CTF_FIELD_IS_HEX)
		g_string_append_printf(json, "\"0x%" G_GINT64_MODIFIER "x\"", slot);
	else if (field->type == CTF_FIELD_SIGNED)
		g_string_append_printf(json, "%" G_GINT64_FORMAT, (gint64)slot);
	else
		g_string_append_printf(json, "%" G_GUINT64_FORMAT, slot);
}

static void append_field(GString *json, const struct ctf_field *field, guint64 slot,
			 const guint8 *record, guint32 n_bytes)
{
	const gchar *text;
	gsize n;

	switch (field->type) {
	case CTF_FIELD_UNSIGNED:
	case CTF_FIELD_SIGNED:
		append_integer(json, field, slot);
		return;
	case CTF_FIELD_REAL:
		json_append_number(json, real_of(slot));
		return;
	case CTF_FIELD_BOOLEAN:
		g_string_append(json, slot ? "true" : "false");
		return;
	default:
		text = text_at(record, n_bytes, slot, &n);
		if (!text)
			g_string_append(json, "null");
		else if (field->type == CTF_FIELD_JSON)
			g_string_append_len(json, text, (gssize)n);
		else
			json_append_string(json, text, n);
	}
}

/* What readers of CTF need of a packet, and nobody else. */
static gboolean is_structural(const struct ctf_field *field)
{
	static const gchar *const names[] = { "timestamp_begin", "timestamp_end", "content_size",
					      "packet_size", "events_discarded" };

	if (field->scope != CTF_SCOPE_PACKET)
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(field->name, names[i]) == 0)
			return TRUE;
	return FALSE;
}

/* What is there already with the same value is not told twice; with another one the key gets the prefix. `seen` has
 * keys and values. The context of an event that ends something is that of the one that began it. */
static void append_fields(GString *json, GHashTable *seen, const gchar *prefix,
			  const struct ctf_class *class, const guint8 *record, gsize head_bytes,
			  guint32 n_bytes)
{
	for (guint32 i = 0; i < class->n_fields; i++) {
		const struct ctf_field *field = &class->fields[i];
		const gchar *known = g_hash_table_lookup(seen, field->name);
		g_autofree gchar *key = g_strconcat(known ? prefix : "", field->name, NULL);
		g_autoptr(GString) value = g_string_new(NULL);
		guint64 slot;

		if (is_structural(field) || (known && field->scope < CTF_SCOPE_PAYLOAD))
			continue;
		memcpy(&slot, record + head_bytes + i * sizeof(slot), sizeof(slot));
		append_field(value, field, slot, record, n_bytes);
		if ((known && strcmp(known, value->str) == 0) || g_hash_table_contains(seen, key))
			continue;
		json_append_key(json, key);
		g_string_append(json, value->str);
		g_hash_table_insert(seen, g_steal_pointer(&key), g_strdup(value->str));
	}
}

/* A record of that kind, of at least so many bytes, at `offset`; NULL: there is none. */
static const struct ctf_record *record_at(const struct ctf_reader *reader, guint64 offset,
					  enum ctf_record_kind kind, gsize least_bytes)
{
	const struct ctf_record *record;

	if (offset % 8 || offset > reader->all.size_bytes ||
	    reader->all.size_bytes - offset < least_bytes)
		return NULL;
	record = (const struct ctf_record *)(reader->all.bytes + offset);
	if (record->kind != (guint32)kind || record->size_bytes < least_bytes ||
	    record->size_bytes > reader->all.size_bytes - offset)
		return NULL;
	return record;
}

/* The event at `offset`; false: there is none. */
static gboolean event_at(const struct ctf_reader *reader, guint64 offset, struct ctf_event *event)
{
	const struct ctf_record *record =
		record_at(reader, offset, CTF_RECORD_EVENT, sizeof(struct ctf_event_record));
	struct cursor cursor;

	if (!record)
		return FALSE;
	cursor.at = (const guint8 *)record;
	cursor.end = cursor.at + record->size_bytes;
	event->offset = offset;
	return read_event(reader, cursor, event);
}

static void append_packet(const struct ctf_reader *reader, GString *json, GHashTable *seen,
			  guint32 number)
{
	const struct ctf_packet_record *record;
	const struct ctf_class *class;

	if (number >= reader->packets->len)
		return;
	record = (const struct ctf_packet_record *)record_at(
		reader, g_array_index(reader->packets, guint64, number), CTF_RECORD_PACKET,
		sizeof(*record));
	class = record ? find_class(reader, record->class, TRUE) : NULL;
	if (class && record->head.size_bytes >= sizeof(*record) + class->n_fields * sizeof(guint64))
		append_fields(json, seen, "packet.", class, (const guint8 *)record, sizeof(*record),
			      record->head.size_bytes);
}

gchar *ctf_reader_args_json(struct ctf_reader *reader, guint64 offset)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	struct ctf_event event, end;
	struct ctf_event_record record;
	guint64 partner;
	GString *json;

	get_ready(reader);
	if (!event_at(reader, offset, &event))
		return NULL;
	memcpy(&record, event.bytes, sizeof(record));
	json = g_string_new("{");
	json_append_key(json, "event");
	json_append_string(json, event.class->name, strlen(event.class->name));
	g_hash_table_insert(seen, g_strdup("event"), g_strdup(""));
	append_fields(json, seen, "field.", event.class, event.bytes, sizeof(record),
		      event.n_bytes);
	append_packet(reader, json, seen, record.packet);
	partner = find_partner(reader, offset);
	if (partner && event_at(reader, partner, &end))
		append_fields(json, seen, "end.", end.class, end.bytes, sizeof(record),
			      end.n_bytes);
	g_string_append_c(json, '}');
	return g_string_free(json, FALSE);
}
