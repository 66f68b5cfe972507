#include "import/ctf/ctf_message_records.h"

#include <string.h>

#include "import/ctf/ctf_field_json.h"

void ctf_message_records_init(struct ctf_message_records *records, struct ctf_record_writer *writer)
{
	*records = (struct ctf_message_records){ .writer = writer };
	ctf_class_layouts_init(&records->layouts, writer);
	records->streams = g_hash_table_new(NULL, NULL);
	records->traces = g_hash_table_new(NULL, NULL);
	records->json = g_string_new(NULL);
}

void ctf_message_records_release(struct ctf_message_records *records)
{
	ctf_class_layouts_release(&records->layouts);
	g_hash_table_unref(records->streams);
	g_hash_table_unref(records->traces);
	g_string_free(records->json, TRUE);
}

/* --- values --------------------------------------------------------------------------------- */

static guint64 bits_of(gdouble value)
{
	guint64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static guint64 fetch_value(struct ctf_message_records *records, gsize record, const bt_field *field,
			   enum ctf_fetch fetch)
{
	switch (fetch) {
	case CTF_FETCH_UNSIGNED:
		return bt_field_integer_unsigned_get_value(field);
	case CTF_FETCH_BITS:
		return bt_field_bit_array_get_value_as_integer(field);
	case CTF_FETCH_SIGNED:
		return (guint64)bt_field_integer_signed_get_value(field);
	case CTF_FETCH_SINGLE:
		return bits_of((gdouble)bt_field_real_single_precision_get_value(field));
	case CTF_FETCH_DOUBLE:
		return bits_of(bt_field_real_double_precision_get_value(field));
	case CTF_FETCH_BOOLEAN:
		return bt_field_bool_get_value(field) != 0;
	case CTF_FETCH_TEXT:
		return ctf_record_add_text(records->writer, record,
					   bt_field_string_get_value(field),
					   bt_field_string_get_length(field));
	default:
		g_string_truncate(records->json, 0);
		ctf_field_append_json(records->json, field);
		return ctf_record_add_text(records->writer, record, records->json->str,
					   records->json->len);
	}
}

/* The members of a scope into the slots of the record from `slots` on; `fetch` is how. */
static void fetch_members(struct ctf_message_records *records, gsize record, gsize slots,
			  const bt_field *structure, const guint8 *fetch, guint32 n)
{
	for (guint32 i = 0; structure && i < n; i++) {
		guint64 value = fetch_value(
			records, record,
			bt_field_structure_borrow_member_field_by_index_const(structure, i),
			fetch[i]);

		memcpy((guint8 *)ctf_record_at(records->writer, slots) + i * sizeof(value), &value,
		       sizeof(value));
	}
}

/* --- traces and streams --------------------------------------------------------------------- */

static void add_environment(struct ctf_record_writer *writer, const bt_trace *trace, guint64 index)
{
	const bt_value *value;
	const gchar *name;

	bt_trace_borrow_environment_entry_by_index_const(trace, index, &name, &value);
	ctf_record_add_string(writer, name);
	if (bt_value_is_string(value)) {
		ctf_record_add_string(writer, bt_value_string_get(value));
	} else {
		g_autofree gchar *text =
			g_strdup_printf("%" G_GINT64_FORMAT, bt_value_integer_signed_get(value));

		ctf_record_add_string(writer, text);
	}
}

/* Numbers of things, from 0, kept as number + 1. */
static gboolean number_of(GHashTable *table, const void *key, guint32 *ret_number)
{
	gpointer known = g_hash_table_lookup(table, key);

	*ret_number = known ? GPOINTER_TO_UINT(known) - 1 : g_hash_table_size(table);
	if (known)
		return TRUE;
	g_hash_table_insert(table, (gpointer)key, GUINT_TO_POINTER(*ret_number + 1));
	return FALSE;
}

static guint32 trace_number(struct ctf_message_records *records, const bt_trace *trace)
{
	guint64 n = MIN(bt_trace_get_environment_entry_count(trace), CTF_MAX_FIELDS);
	struct ctf_record_writer *writer = records->writer;
	struct ctf_trace_record *record;
	guint32 number;
	gsize offset;

	if (number_of(records->traces, trace, &number))
		return number;
	offset = ctf_record_begin(writer, CTF_RECORD_TRACE, sizeof(*record));
	record = ctf_record_at(writer, offset);
	record->n_entries = (guint32)n;
	for (guint64 i = 0; i < n; i++)
		add_environment(writer, trace, i);
	ctf_record_end(writer, offset);
	return number;
}

static void describe_clock(const bt_stream *stream, struct ctf_stream_record *record)
{
	const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(
		bt_stream_borrow_class_const(stream));
	gint64 seconds, whole_ns;
	guint64 cycles, frequency;

	if (!clock)
		return;
	record->flags |= CTF_STREAM_HAS_CLOCK;
	if (bt_clock_class_origin_is_unix_epoch(clock))
		record->flags |= CTF_STREAM_UNIX_CLOCK;
	bt_clock_class_get_offset(clock, &seconds, &cycles);
	frequency = MAX(bt_clock_class_get_frequency(clock), 1);
	if (!__builtin_mul_overflow(seconds, G_GINT64_CONSTANT(1000000000), &whole_ns))
		record->clock_offset_ns =
			whole_ns + (gint64)((gdouble)cycles * 1e9 / (gdouble)frequency);
}

/* All classes of the stream: who reads their events wants to know which others may come. */
static void add_classes(struct ctf_message_records *records, const bt_stream_class *class)
{
	guint64 n = bt_stream_class_get_event_class_count(class);

	for (guint64 i = 0; i < n; i++)
		ctf_event_layout(&records->layouts,
				 bt_stream_class_borrow_event_class_by_index_const(class, i));
}

static guint32 stream_number(struct ctf_message_records *records, const bt_stream *stream,
			     guint32 order)
{
	struct ctf_record_writer *writer = records->writer;
	struct ctf_stream_record *record;
	guint32 number, trace;
	gsize offset;

	if (number_of(records->streams, stream, &number))
		return number;
	trace = trace_number(records, bt_stream_borrow_trace_const(stream));
	offset = ctf_record_begin(writer, CTF_RECORD_STREAM, sizeof(*record));
	record = ctf_record_at(writer, offset);
	record->trace = trace;
	record->order = order;
	describe_clock(stream, record);
	ctf_record_add_string(writer, bt_stream_get_name(stream));
	ctf_record_end(writer, offset);
	add_classes(records, bt_stream_borrow_class_const(stream));
	return number;
}

static void begin_stream(struct ctf_message_records *records, struct ctf_stream_place *place,
			 const bt_stream *stream)
{
	place->stream = stream;
	place->number = stream_number(records, stream, place->order);
	place->packet = place->cpu = G_MAXUINT32;
	place->has_clock = bt_stream_class_borrow_default_clock_class_const(
				   bt_stream_borrow_class_const(stream)) != NULL;
}

/* --- packets -------------------------------------------------------------------------------- */

static void begin_packet(struct ctf_message_records *records, struct ctf_stream_place *place,
			 const bt_packet *packet)
{
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	struct ctf_record_writer *writer = records->writer;
	const struct ctf_class_layout *layout;
	struct ctf_packet_record *record;
	gsize offset;

	place->n_packets++;
	place->packet = place->cpu = G_MAXUINT32;
	if (!context)
		return;
	layout = ctf_packet_layout(&records->layouts, bt_stream_borrow_class_const(place->stream));
	place->packet = records->n_packets++;
	if (layout->cpu_member >= 0)
		place->cpu = (guint32)bt_field_integer_unsigned_get_value(
			bt_field_structure_borrow_member_field_by_index_const(
				context, (guint64)layout->cpu_member));
	offset = ctf_record_begin(writer, CTF_RECORD_PACKET,
				  sizeof(*record) + layout->n_fields * sizeof(guint64));
	record = ctf_record_at(writer, offset);
	record->class = layout->number;
	record->stream = place->number;
	record->cpu = place->cpu;
	fetch_members(records, offset, offset + sizeof(*record), context, layout->fetch,
		      layout->n_fields);
	ctf_record_end(writer, offset);
}

static void add_discarded(struct ctf_message_records *records, const struct ctf_stream_place *place,
			  gboolean is_packets, guint64 count, gboolean is_known)
{
	gsize offset = ctf_record_begin(records->writer, CTF_RECORD_DISCARDED,
					sizeof(struct ctf_discarded_record));
	struct ctf_discarded_record *record = ctf_record_at(records->writer, offset);

	record->stream = place->number;
	record->is_packets = (guint32)is_packets;
	record->count = count;
	record->is_known = (guint32)is_known;
	ctf_record_end(records->writer, offset);
}

/* --- messages ------------------------------------------------------------------------------- */

void ctf_add_event(struct ctf_message_records *records, const struct ctf_stream_place *place,
		   const bt_event *event, gint64 time_ns)
{
	const struct ctf_class_layout *layout =
		ctf_event_layout(&records->layouts, bt_event_borrow_class_const(event));
	const guint32 *n = layout->n_members;
	const guint8 *fetch = layout->fetch;
	struct ctf_event_record *record;
	gsize offset, slots;

	offset = ctf_record_begin(records->writer, CTF_RECORD_EVENT,
				  sizeof(*record) + layout->n_fields * sizeof(guint64));
	record = ctf_record_at(records->writer, offset);
	record->class = layout->number;
	record->stream = place->number;
	record->packet = place->packet;
	record->cpu = place->cpu;
	record->time_ns = time_ns;
	slots = offset + sizeof(*record);
	if (n[CTF_SCOPE_COMMON])
		fetch_members(records, offset, slots,
			      bt_event_borrow_common_context_field_const(event), fetch,
			      n[CTF_SCOPE_COMMON]);
	slots += n[CTF_SCOPE_COMMON] * sizeof(guint64);
	fetch += n[CTF_SCOPE_COMMON];
	if (n[CTF_SCOPE_SPECIFIC])
		fetch_members(records, offset, slots,
			      bt_event_borrow_specific_context_field_const(event), fetch,
			      n[CTF_SCOPE_SPECIFIC]);
	slots += n[CTF_SCOPE_SPECIFIC] * sizeof(guint64);
	fetch += n[CTF_SCOPE_SPECIFIC];
	if (n[CTF_SCOPE_PAYLOAD])
		fetch_members(records, offset, slots, bt_event_borrow_payload_field_const(event),
			      fetch, n[CTF_SCOPE_PAYLOAD]);
	ctf_record_end(records->writer, offset);
}

void ctf_add_message(struct ctf_message_records *records, struct ctf_stream_place *place,
		     const bt_message *message)
{
	guint64 count = 0;
	gboolean is_known;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		begin_stream(records, place,
			     bt_message_stream_beginning_borrow_stream_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		begin_packet(records, place,
			     bt_message_packet_beginning_borrow_packet_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		place->packet = place->cpu = G_MAXUINT32;
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		is_known = bt_message_discarded_events_get_count(message, &count) ==
			   BT_PROPERTY_AVAILABILITY_AVAILABLE;
		add_discarded(records, place, FALSE, count, is_known);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		is_known = bt_message_discarded_packets_get_count(message, &count) ==
			   BT_PROPERTY_AVAILABILITY_AVAILABLE;
		add_discarded(records, place, TRUE, count, is_known);
		break;
	default:
		break;
	}
}
