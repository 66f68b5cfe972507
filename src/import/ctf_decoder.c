/* ctf_decoder: libbabeltrace2's part of reading CTF: from a folder to records (ctf_records.h).
 *
 * A graph of two components, a source.ctf.fs and a sink of ours. The source has a port a stream; the sink
 * puts the streams in order by itself, by a heap of the next event of each, which costs a fraction of what
 * flt.utils.muxer does. What an event class has in it is looked up once (struct plan): an event's values are
 * then fetched by index.
 *
 * The only file that knows libbabeltrace2; it runs in a process of its own (ctf_process.c). */
#include "import/ctf_records.h"

#ifdef TACHO_HAVE_BABELTRACE

#include <babeltrace2/babeltrace.h>
#include <string.h>
#include <unistd.h>

#include "base/json_append.h"

enum {
	FLUSH_BYTES = 256 << 10,
	MAX_NESTING = 32,
	MAX_LABELS = 4096, /* of an enumeration */
	N_RECENT = 256,	   /* classes found without searching */
};

/* What a class has in it, as its record says. */
struct plan {
	guint32 number;
	guint32 n_fields;
	guint32 n_members[CTF_N_FIELD_SCOPES];
	gint32 cpu_member; /* of a packet's context, -1: it has none */
	guint8 *types;	   /* enum ctf_field_type */
	bt_field_class_type *classes;
};

/* What of a packet its events need, by its address, which is good between its two messages. */
struct packet {
	guint32 number, cpu;
};

/* The messages of one port that were fetched and not yet used. */
struct port {
	bt_message_iterator *iterator;
	bt_message_array_const messages;
	guint64 n, next;
	gint64 time_ns; /* of the event that is next */
	/* What its last event was of: */
	const bt_stream *stream;
	guint32 stream_number;
	const bt_packet *packet; /* NULL: none, or one that has ended */
	struct packet known;
};

struct decoder {
	gint out;
	GByteArray *bytes;  /* not yet written */
	gboolean is_broken; /* nothing can be written any more */
	struct {
		const bt_event_class *class;
		const struct plan *plan;
	} recent[N_RECENT]; /* by address */
	GHashTable *plans;  /* bt_event_class or bt_stream_class -> struct plan */
	GHashTable *streams, *traces, *packets; /* pointer -> number */
	guint32 n_classes, n_packets;
	guint64 n_ports;
	struct port *ports;
	struct port **heap; /* the port with the earliest event first */
	guint64 n_heap;
	gint64 n_unclocked; /* events so far of streams without a clock */
	GString *json;
	const gchar *failure; /* NULL: none of ours */
};

/* --- records -------------------------------------------------------------------------------- */

static void flush(struct decoder *decoder)
{
	const guint8 *at = decoder->bytes->data;
	gsize n = decoder->bytes->len;

	while (n && !decoder->is_broken) {
		gssize n_done = write(decoder->out, at, n);

		if (n_done <= 0) {
			decoder->is_broken = TRUE;
			break;
		}
		at += n_done;
		n -= (gsize)n_done;
	}
	g_byte_array_set_size(decoder->bytes, 0);
}

static void *add_bytes(struct decoder *decoder, gsize n)
{
	guint offset = decoder->bytes->len;

	g_byte_array_set_size(decoder->bytes, offset + (guint)n);
	memset(decoder->bytes->data + offset, 0, n);
	return decoder->bytes->data + offset;
}

static void add_string(struct decoder *decoder, const gchar *text)
{
	gsize n = text ? strlen(text) : 0;
	struct ctf_string *string;

	n = MIN(n, G_MAXUINT16);
	string = add_bytes(decoder, sizeof(*string) + (n + 8) / 8 * 8);
	string->n = (guint32)n;
	if (n)
		memcpy(string + 1, text, n);
}

/* Begin a record; returns where. Its size is set by end_record(). */
static guint begin_record(struct decoder *decoder, enum ctf_record_kind kind, gsize size_bytes)
{
	guint offset = decoder->bytes->len;
	struct ctf_record *record = add_bytes(decoder, size_bytes);

	record->kind = kind;
	return offset;
}

static void end_record(struct decoder *decoder, guint offset)
{
	guint padding = -decoder->bytes->len & 7;
	struct ctf_record *record;

	if (padding)
		add_bytes(decoder, padding);
	record = (struct ctf_record *)(decoder->bytes->data + offset);
	record->size_bytes = decoder->bytes->len - offset;
	if (record->size_bytes > CTF_MAX_RECORD_BYTES) {
		g_byte_array_set_size(decoder->bytes, offset);
		decoder->failure = "an event of more than 64 MiB";
	}
	if (decoder->bytes->len >= FLUSH_BYTES)
		flush(decoder);
}

/* --- values as JSON ------------------------------------------------------------------------- */

static void append_value(GString *json, const bt_field *field, guint depth);

static void append_structure(GString *json, const bt_field *field, guint depth)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	guint64 n = bt_field_class_structure_get_member_count(class);

	g_string_append_c(json, '{');
	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(class, i);

		json_append_key(json, bt_field_class_structure_member_get_name(member));
		append_value(json, bt_field_structure_borrow_member_field_by_index_const(field, i),
			     depth + 1);
	}
	g_string_append_c(json, '}');
}

static void append_array(GString *json, const bt_field *field, guint depth)
{
	guint64 n = bt_field_array_get_length(field);

	g_string_append_c(json, '[');
	for (guint64 i = 0; i < n && json->len < CTF_MAX_RECORD_BYTES; i++) {
		if (i)
			g_string_append_c(json, ',');
		append_value(json, bt_field_array_borrow_element_field_by_index_const(field, i),
			     depth + 1);
	}
	g_string_append_c(json, ']');
}

static void append_option(GString *json, const bt_field *field, guint depth)
{
	const bt_field *inner = bt_field_option_borrow_field_const(field);

	if (inner)
		append_value(json, inner, depth + 1);
	else
		g_string_append(json, "null");
}

static void append_scalar(GString *json, const bt_field *field, bt_field_class_type type)
{
	if (type == BT_FIELD_CLASS_TYPE_BOOL)
		g_string_append(json, bt_field_bool_get_value(field) ? "true" : "false");
	else if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY)
		g_string_append_printf(json, "%" G_GUINT64_FORMAT,
				       bt_field_bit_array_get_value_as_integer(field));
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		g_string_append_printf(json, "%" G_GUINT64_FORMAT,
				       bt_field_integer_unsigned_get_value(field));
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		g_string_append_printf(json, "%" G_GINT64_FORMAT,
				       bt_field_integer_signed_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		json_append_number(json, bt_field_real_single_precision_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		json_append_number(json, bt_field_real_double_precision_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_STRING)
		json_append_string(json, bt_field_string_get_value(field),
				   bt_field_string_get_length(field));
	else
		g_string_append(json, "null");
}

static void append_value(GString *json, const bt_field *field, guint depth)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (depth > MAX_NESTING || json->len > CTF_MAX_RECORD_BYTES)
		g_string_append(json, "null");
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRUCTURE))
		append_structure(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		append_array(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION))
		append_option(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT))
		append_value(json, bt_field_variant_borrow_selected_option_field_const(field),
			     depth + 1);
	else
		append_scalar(json, field, type);
}

/* --- classes -------------------------------------------------------------------------------- */

static enum ctf_field_type field_type(bt_field_class_type type)
{
	if (type == BT_FIELD_CLASS_TYPE_BOOL)
		return CTF_FIELD_BOOLEAN;
	if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY ||
	    bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return CTF_FIELD_UNSIGNED;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return CTF_FIELD_SIGNED;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_REAL))
		return CTF_FIELD_REAL;
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return CTF_FIELD_TEXT;
	return CTF_FIELD_JSON;
}

static guint32 add_unsigned_labels(struct decoder *decoder, const bt_field_class *class)
{
	guint64 n = MIN(bt_field_class_enumeration_get_mapping_count(class), MAX_LABELS);
	guint32 n_labels = 0;

	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_enumeration_unsigned_mapping *mapping =
			bt_field_class_enumeration_unsigned_borrow_mapping_by_index_const(class, i);
		const bt_integer_range_set_unsigned *ranges =
			bt_field_class_enumeration_unsigned_mapping_borrow_ranges_const(mapping);
		guint64 n_ranges = bt_integer_range_set_get_range_count(
			bt_integer_range_set_unsigned_as_range_set_const(ranges));

		for (guint64 k = 0; k < n_ranges && n_labels < MAX_LABELS; k++, n_labels++) {
			const bt_integer_range_unsigned *range =
				bt_integer_range_set_unsigned_borrow_range_by_index_const(ranges,
											  k);
			struct ctf_label_record *label = add_bytes(decoder, sizeof(*label));

			label->low = bt_integer_range_unsigned_get_lower(range);
			label->high = bt_integer_range_unsigned_get_upper(range);
			add_string(
				decoder,
				bt_field_class_enumeration_mapping_get_label(
					bt_field_class_enumeration_unsigned_mapping_as_mapping_const(
						mapping)));
		}
	}
	return n_labels;
}

static guint32 add_signed_labels(struct decoder *decoder, const bt_field_class *class)
{
	guint64 n = MIN(bt_field_class_enumeration_get_mapping_count(class), MAX_LABELS);
	guint32 n_labels = 0;

	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_enumeration_signed_mapping *mapping =
			bt_field_class_enumeration_signed_borrow_mapping_by_index_const(class, i);
		const bt_integer_range_set_signed *ranges =
			bt_field_class_enumeration_signed_mapping_borrow_ranges_const(mapping);
		guint64 n_ranges = bt_integer_range_set_get_range_count(
			bt_integer_range_set_signed_as_range_set_const(ranges));

		for (guint64 k = 0; k < n_ranges && n_labels < MAX_LABELS; k++, n_labels++) {
			const bt_integer_range_signed *range =
				bt_integer_range_set_signed_borrow_range_by_index_const(ranges, k);
			struct ctf_label_record *label = add_bytes(decoder, sizeof(*label));

			label->low = (guint64)bt_integer_range_signed_get_lower(range);
			label->high = (guint64)bt_integer_range_signed_get_upper(range);
			add_string(
				decoder,
				bt_field_class_enumeration_mapping_get_label(
					bt_field_class_enumeration_signed_mapping_as_mapping_const(
						mapping)));
		}
	}
	return n_labels;
}

static guint8 field_flags(const bt_field_class *class, bt_field_class_type type)
{
	guint8 flags = 0;

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ENUMERATION))
		flags |= CTF_FIELD_IS_ENUM;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER) &&
	    bt_field_class_integer_get_preferred_display_base(class) ==
		    BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL)
		flags |= CTF_FIELD_IS_HEX;
	return flags;
}

static void add_field(struct decoder *decoder, enum ctf_field_scope scope, const gchar *name,
		      const bt_field_class *class)
{
	guint offset = decoder->bytes->len;
	bt_field_class_type type = bt_field_class_get_type(class);
	struct ctf_field_record *field = add_bytes(decoder, sizeof(*field));
	guint32 n_labels = 0;

	field->type = (guint8)field_type(type);
	field->scope = (guint8)scope;
	field->flags = field_flags(class, type);
	add_string(decoder, name);
	if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
		n_labels = add_unsigned_labels(decoder, class);
	else if (type == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION)
		n_labels = add_signed_labels(decoder, class);
	field = (struct ctf_field_record *)(decoder->bytes->data + offset);
	field->n_labels = n_labels;
}

/* The members of one scope; NULL: the class does not have it. */
static void add_scope(struct decoder *decoder, struct plan *plan, enum ctf_field_scope scope,
		      const bt_field_class *structure)
{
	guint64 n = structure ? bt_field_class_structure_get_member_count(structure) : 0;

	n = MIN(n, CTF_MAX_FIELDS - plan->n_fields);
	plan->n_members[scope] = (guint32)n;
	plan->types = g_realloc(plan->types, plan->n_fields + n + 1);
	plan->classes = g_renew(bt_field_class_type, plan->classes, plan->n_fields + n + 1);
	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(structure, i);
		const bt_field_class *class =
			bt_field_class_structure_member_borrow_field_class_const(member);
		const gchar *name = bt_field_class_structure_member_get_name(member);
		bt_field_class_type type = bt_field_class_get_type(class);

		plan->types[plan->n_fields] = (guint8)field_type(type);
		plan->classes[plan->n_fields++] = type;
		add_field(decoder, scope, name, class);
		if (scope == CTF_SCOPE_PACKET && strcmp(name, "cpu_id") == 0 &&
		    field_type(type) == CTF_FIELD_UNSIGNED)
			plan->cpu_member = (gint32)i;
	}
}

static void free_plan(gpointer data)
{
	struct plan *plan = data;

	g_free(plan->types);
	g_free(plan->classes);
	g_free(plan);
}

static struct plan *begin_plan(struct decoder *decoder, const void *key, const gchar *name,
			       guint *ret_offset)
{
	struct plan *plan = g_new0(struct plan, 1);

	plan->number = decoder->n_classes++;
	plan->cpu_member = -1;
	g_hash_table_insert(decoder->plans, (gpointer)key, plan);
	*ret_offset = begin_record(decoder, CTF_RECORD_CLASS, sizeof(struct ctf_class_record));
	add_string(decoder, name);
	return plan;
}

static void end_plan(struct decoder *decoder, const struct plan *plan, guint offset,
		     gboolean is_packet)
{
	struct ctf_class_record *record =
		(struct ctf_class_record *)(decoder->bytes->data + offset);

	record->n_fields = plan->n_fields;
	record->is_packet = (guint32)is_packet;
	end_record(decoder, offset);
}

static const struct plan *find_event_plan(struct decoder *decoder, const bt_event_class *class)
{
	struct plan *plan = g_hash_table_lookup(decoder->plans, class);
	const bt_stream_class *stream_class;
	const gchar *name;
	guint offset;

	if (plan)
		return plan;
	stream_class = bt_event_class_borrow_stream_class_const(class);
	name = bt_event_class_get_name(class);
	plan = begin_plan(decoder, class, name ? name : "", &offset);
	add_scope(decoder, plan, CTF_SCOPE_COMMON,
		  bt_stream_class_borrow_event_common_context_field_class_const(stream_class));
	add_scope(decoder, plan, CTF_SCOPE_SPECIFIC,
		  bt_event_class_borrow_specific_context_field_class_const(class));
	add_scope(decoder, plan, CTF_SCOPE_PAYLOAD,
		  bt_event_class_borrow_payload_field_class_const(class));
	end_plan(decoder, plan, offset, FALSE);
	return plan;
}

static const struct plan *find_packet_plan(struct decoder *decoder, const bt_stream_class *class)
{
	struct plan *plan = g_hash_table_lookup(decoder->plans, class);
	guint offset;

	if (plan)
		return plan;
	plan = begin_plan(decoder, class, "", &offset);
	add_scope(decoder, plan, CTF_SCOPE_PACKET,
		  bt_stream_class_borrow_packet_context_field_class_const(class));
	end_plan(decoder, plan, offset, TRUE);
	return plan;
}

/* --- values --------------------------------------------------------------------------------- */

/* Put a text behind the record at `record`; returns what its slot says. */
static guint64 add_text(struct decoder *decoder, guint record, const gchar *text, gsize n)
{
	guint offset = decoder->bytes->len - record;

	if (n >= CTF_MAX_RECORD_BYTES || offset >= CTF_MAX_RECORD_BYTES) {
		decoder->failure = "a text of more than 64 MiB";
		return 0;
	}
	memcpy(add_bytes(decoder, n + 1), text, n);
	return (guint64)n << 32 | offset;
}

static guint64 fetch_real(const bt_field *field, bt_field_class_type type)
{
	gdouble value = type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL
				? (gdouble)bt_field_real_single_precision_get_value(field)
				: bt_field_real_double_precision_get_value(field);
	guint64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static guint64 fetch_value(struct decoder *decoder, guint record, const bt_field *field,
			   enum ctf_field_type type, bt_field_class_type class)
{
	switch (type) {
	case CTF_FIELD_UNSIGNED:
		return class == BT_FIELD_CLASS_TYPE_BIT_ARRAY
			       ? bt_field_bit_array_get_value_as_integer(field)
			       : bt_field_integer_unsigned_get_value(field);
	case CTF_FIELD_SIGNED:
		return (guint64)bt_field_integer_signed_get_value(field);
	case CTF_FIELD_REAL:
		return fetch_real(field, class);
	case CTF_FIELD_BOOLEAN:
		return bt_field_bool_get_value(field) != 0;
	case CTF_FIELD_TEXT:
		return add_text(decoder, record, bt_field_string_get_value(field),
				bt_field_string_get_length(field));
	default:
		g_string_truncate(decoder->json, 0);
		append_value(decoder->json, field, 0);
		return add_text(decoder, record, decoder->json->str, decoder->json->len);
	}
}

/* The members of one scope into the slots from number `first` on of the record at `record`. */
static guint fetch_scope(struct decoder *decoder, const struct plan *plan, guint record,
			 gsize slots_offset, guint first, enum ctf_field_scope scope,
			 const bt_field *structure)
{
	guint n = plan->n_members[scope];

	for (guint i = 0; structure && i < n; i++) {
		guint index = first + i;
		guint64 value = fetch_value(
			decoder, record,
			bt_field_structure_borrow_member_field_by_index_const(structure, i),
			plan->types[index], plan->classes[index]);

		memcpy(decoder->bytes->data + record + slots_offset + index * sizeof(value), &value,
		       sizeof(value));
	}
	return first + n;
}

/* --- traces, streams and packets ------------------------------------------------------------ */

static void add_environment(struct decoder *decoder, const bt_trace *trace, guint64 index)
{
	const bt_value *value;
	const gchar *name;

	bt_trace_borrow_environment_entry_by_index_const(trace, index, &name, &value);
	add_string(decoder, name);
	if (bt_value_is_string(value)) {
		add_string(decoder, bt_value_string_get(value));
	} else {
		g_autofree gchar *text =
			g_strdup_printf("%" G_GINT64_FORMAT, bt_value_integer_signed_get(value));

		add_string(decoder, text);
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

static guint32 trace_number(struct decoder *decoder, const bt_trace *trace)
{
	guint64 n = MIN(bt_trace_get_environment_entry_count(trace), CTF_MAX_FIELDS);
	struct ctf_trace_record *record;
	guint32 number;
	guint offset;

	if (number_of(decoder->traces, trace, &number))
		return number;
	offset = begin_record(decoder, CTF_RECORD_TRACE, sizeof(*record));
	record = (struct ctf_trace_record *)(decoder->bytes->data + offset);
	record->n_entries = (guint32)n;
	for (guint64 i = 0; i < n; i++)
		add_environment(decoder, trace, i);
	end_record(decoder, offset);
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
static void add_classes(struct decoder *decoder, const bt_stream_class *class)
{
	guint64 n = bt_stream_class_get_event_class_count(class);

	for (guint64 i = 0; i < n; i++)
		find_event_plan(decoder,
				bt_stream_class_borrow_event_class_by_index_const(class, i));
}

static guint32 stream_number(struct decoder *decoder, const bt_stream *stream)
{
	struct ctf_stream_record *record;
	guint32 number, trace;
	guint offset;

	if (number_of(decoder->streams, stream, &number))
		return number;
	trace = trace_number(decoder, bt_stream_borrow_trace_const(stream));
	offset = begin_record(decoder, CTF_RECORD_STREAM, sizeof(*record));
	record = (struct ctf_stream_record *)(decoder->bytes->data + offset);
	record->trace = trace;
	describe_clock(stream, record);
	add_string(decoder, bt_stream_get_name(stream));
	end_record(decoder, offset);
	add_classes(decoder, bt_stream_borrow_class_const(stream));
	return number;
}

static void begin_packet(struct decoder *decoder, const bt_packet *packet)
{
	const bt_stream *stream = bt_packet_borrow_stream_const(packet);
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	guint32 number = stream_number(decoder, stream);
	struct ctf_packet_record *record;
	const struct plan *plan;
	struct packet *known;
	guint offset;
	gsize slots;

	if (!context)
		return;
	plan = find_packet_plan(decoder, bt_stream_borrow_class_const(stream));
	known = g_new0(struct packet, 1);
	known->number = decoder->n_packets++;
	known->cpu = G_MAXUINT32;
	if (plan->cpu_member >= 0)
		known->cpu = (guint32)bt_field_integer_unsigned_get_value(
			bt_field_structure_borrow_member_field_by_index_const(
				context, (guint64)plan->cpu_member));
	g_hash_table_insert(decoder->packets, (gpointer)packet, known);
	slots = plan->n_fields * sizeof(guint64);
	offset = begin_record(decoder, CTF_RECORD_PACKET, sizeof(*record) + slots);
	record = (struct ctf_packet_record *)(decoder->bytes->data + offset);
	record->class = plan->number;
	record->stream = number;
	record->cpu = known->cpu;
	fetch_scope(decoder, plan, offset, sizeof(*record), 0, CTF_SCOPE_PACKET, context);
	end_record(decoder, offset);
}

static void add_discarded(struct decoder *decoder, const bt_stream *stream, gboolean is_packets,
			  guint64 count, gboolean is_known)
{
	guint32 number = stream_number(decoder, stream);
	guint offset =
		begin_record(decoder, CTF_RECORD_DISCARDED, sizeof(struct ctf_discarded_record));
	struct ctf_discarded_record *record =
		(struct ctf_discarded_record *)(decoder->bytes->data + offset);

	record->stream = number;
	record->is_packets = (guint32)is_packets;
	record->count = count;
	record->is_known = (guint32)is_known;
	end_record(decoder, offset);
}

/* --- messages ------------------------------------------------------------------------------- */

static const struct plan *recall_plan(struct decoder *decoder, const bt_event_class *class)
{
	guint slot = (guint)(GPOINTER_TO_SIZE(class) >> 5) % N_RECENT;

	if (decoder->recent[slot].class != class) {
		decoder->recent[slot].plan = find_event_plan(decoder, class);
		decoder->recent[slot].class = class;
	}
	return decoder->recent[slot].plan;
}

/* Make the port remember which stream and packet the event is in. */
static void look_up_place(struct decoder *decoder, struct port *port, const bt_event *event)
{
	const bt_stream *stream = bt_event_borrow_stream_const(event);
	const bt_packet *packet = NULL;
	const struct packet *known;

	if (port->stream != stream)
		port->stream_number = stream_number(decoder, stream);
	port->stream = stream;
	if (bt_stream_class_supports_packets(bt_stream_borrow_class_const(stream)))
		packet = bt_event_borrow_packet_const(event);
	if (packet && port->packet == packet)
		return;
	known = packet ? g_hash_table_lookup(decoder->packets, packet) : NULL;
	port->packet = known ? packet : NULL;
	port->known = known ? *known : (struct packet){ G_MAXUINT32, G_MAXUINT32 };
}

static void add_event(struct decoder *decoder, struct port *port, const bt_event *event)
{
	const struct plan *plan = recall_plan(decoder, bt_event_borrow_class_const(event));
	struct ctf_event_record *record;
	guint offset, field = 0;

	look_up_place(decoder, port, event);
	offset = begin_record(decoder, CTF_RECORD_EVENT,
			      sizeof(*record) + plan->n_fields * sizeof(guint64));
	record = (struct ctf_event_record *)(decoder->bytes->data + offset);
	record->class = plan->number;
	record->stream = port->stream_number;
	record->packet = port->known.number;
	record->cpu = port->known.cpu;
	record->time_ns = port->time_ns;
	field = fetch_scope(decoder, plan, offset, sizeof(*record), field, CTF_SCOPE_COMMON,
			    bt_event_borrow_common_context_field_const(event));
	field = fetch_scope(decoder, plan, offset, sizeof(*record), field, CTF_SCOPE_SPECIFIC,
			    bt_event_borrow_specific_context_field_const(event));
	fetch_scope(decoder, plan, offset, sizeof(*record), field, CTF_SCOPE_PAYLOAD,
		    bt_event_borrow_payload_field_const(event));
	end_record(decoder, offset);
}

/* Everything but events: when it comes in its stream is soon enough. */
static void use_message(struct decoder *decoder, struct port *port, const bt_message *message)
{
	guint64 count = 0;
	gboolean is_known;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		stream_number(decoder, bt_message_stream_beginning_borrow_stream_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		begin_packet(decoder, bt_message_packet_beginning_borrow_packet_const(message));
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		port->packet = NULL; /* its address may come again */
		g_hash_table_remove(decoder->packets,
				    bt_message_packet_end_borrow_packet_const(message));
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		is_known = bt_message_discarded_events_get_count(message, &count) ==
			   BT_PROPERTY_AVAILABILITY_AVAILABLE;
		add_discarded(decoder, bt_message_discarded_events_borrow_stream_const(message),
			      FALSE, count, is_known);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		is_known = bt_message_discarded_packets_get_count(message, &count) ==
			   BT_PROPERTY_AVAILABILITY_AVAILABLE;
		add_discarded(decoder, bt_message_discarded_packets_borrow_stream_const(message),
			      TRUE, count, is_known);
		break;
	default:
		break;
	}
}

static gint64 event_time_ns(struct decoder *decoder, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	const bt_clock_snapshot *snapshot;
	gint64 time_ns;

	if (!bt_stream_class_borrow_default_clock_class_const(
		    bt_stream_borrow_class_const(bt_event_borrow_stream_const(event))))
		return decoder->n_unclocked++;
	snapshot = bt_message_event_borrow_default_clock_snapshot_const(message);
	if (bt_clock_snapshot_get_ns_from_origin(snapshot, &time_ns) !=
	    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return G_MAXINT64;
	return time_ns;
}

enum advance { ADVANCE_EVENT, ADVANCE_END, ADVANCE_ERROR };

/* Go on to the port's next event; it is then messages[next]. */
static enum advance advance_port(struct decoder *decoder, struct port *port)
{
	while (TRUE) {
		const bt_message *message;

		if (port->next == port->n) {
			bt_message_iterator_next_status status =
				bt_message_iterator_next(port->iterator, &port->messages, &port->n);

			port->next = 0;
			if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
				port->n = 0;
			if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
				return ADVANCE_END;
			if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
				continue;
			if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
				return ADVANCE_ERROR;
			continue;
		}
		message = port->messages[port->next];
		if (bt_message_get_type(message) == BT_MESSAGE_TYPE_EVENT) {
			port->time_ns = event_time_ns(decoder, message);
			return ADVANCE_EVENT;
		}
		use_message(decoder, port, message);
		bt_message_put_ref(message);
		port->next++;
	}
}

/* --- the order of streams ------------------------------------------------------------------- */

static void sift_down(struct decoder *decoder, guint64 place)
{
	struct port *moving = decoder->heap[place];

	while (TRUE) {
		guint64 child = 2 * place + 1;

		if (child >= decoder->n_heap)
			break;
		if (child + 1 < decoder->n_heap &&
		    decoder->heap[child + 1]->time_ns < decoder->heap[child]->time_ns)
			child++;
		if (decoder->heap[child]->time_ns >= moving->time_ns)
			break;
		decoder->heap[place] = decoder->heap[child];
		place = child;
	}
	decoder->heap[place] = moving;
}

static gboolean fill_heap(struct decoder *decoder)
{
	gboolean is_fine = TRUE;

	for (guint64 i = 0; i < decoder->n_ports; i++) {
		enum advance advance = advance_port(decoder, &decoder->ports[i]);

		if (advance == ADVANCE_EVENT)
			decoder->heap[decoder->n_heap++] = &decoder->ports[i];
		is_fine &= advance != ADVANCE_ERROR;
	}
	for (guint64 i = decoder->n_heap / 2; i-- > 0;)
		sift_down(decoder, i);
	return is_fine;
}

/* All events in the order of time. What a broken stream has up to where it is broken is used, and so are
 * the others. */
static gboolean merge_ports(struct decoder *decoder)
{
	gboolean is_fine = fill_heap(decoder);

	while (decoder->n_heap && !decoder->is_broken && !decoder->failure) {
		struct port *port = decoder->heap[0];
		const bt_message *message = port->messages[port->next++];
		enum advance advance;

		add_event(decoder, port, bt_message_event_borrow_event_const(message));
		bt_message_put_ref(message);
		advance = advance_port(decoder, port);
		is_fine &= advance != ADVANCE_ERROR;
		if (advance != ADVANCE_EVENT)
			decoder->heap[0] = decoder->heap[--decoder->n_heap];
		if (decoder->n_heap)
			sift_down(decoder, 0);
	}
	return is_fine && !decoder->failure;
}

/* --- the graph ------------------------------------------------------------------------------ */

static bt_component_class_initialize_method_status
init_sink(bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,
	  const bt_value *params, void *data)
{
	struct decoder *decoder = data;

	(void)configuration;
	(void)params;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), decoder);
	for (guint64 i = 0; i < decoder->n_ports; i++) {
		gchar name[32];

		g_snprintf(name, sizeof(name), "in%" G_GUINT64_FORMAT, i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) !=
		    BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status
configure_sink(bt_self_component_sink *self)
{
	struct decoder *decoder =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

	for (guint64 i = 0; i < decoder->n_ports; i++)
		if (bt_message_iterator_create_from_sink_component(
			    self, bt_self_component_sink_borrow_input_port_by_index(self, i),
			    &decoder->ports[i].iterator) !=
		    BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
			return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_sink_consume_method_status run_sink(bt_self_component_sink *self)
{
	struct decoder *decoder =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

	return merge_ports(decoder) ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END
				    : BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
}

static const bt_component_source *add_source(bt_graph *graph, const gchar *folder)
{
	const bt_plugin *plugin = NULL;
	const bt_component_class_source *class;
	const bt_component_source *source = NULL;
	bt_value *params, *inputs;

	/* not from the user's own folder: a trace is data, and shall not load code from there */
	if (bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	class = bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	params = bt_value_map_create();
	if (!class || !params ||
	    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) !=
		    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
	    bt_value_array_append_string_element(inputs, folder) !=
		    BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK ||
	    bt_graph_add_source_component(graph, class, "source", params, BT_LOGGING_LEVEL_NONE,
					  &source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return NULL;
	return source;
}

static const bt_component_sink *add_sink(bt_graph *graph, struct decoder *decoder)
{
	bt_component_class_sink *class = bt_component_class_sink_create("records", run_sink);
	const bt_component_sink *sink = NULL;

	if (!class)
		return NULL;
	bt_component_class_sink_set_initialize_method(class, init_sink);
	bt_component_class_sink_set_graph_is_configured_method(class, configure_sink);
	if (bt_graph_add_sink_component_with_initialize_method_data(
		    graph, class, "sink", NULL, decoder, BT_LOGGING_LEVEL_NONE, &sink) !=
	    BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return NULL;
	return sink;
}

static gboolean run_graph(struct decoder *decoder, const gchar *folder)
{
	bt_graph *graph = bt_graph_create(0);
	const bt_component_source *source = graph ? add_source(graph, folder) : NULL;
	const bt_component_sink *sink;

	if (!source)
		return FALSE;
	decoder->n_ports = bt_component_source_get_output_port_count(source);
	if (decoder->n_ports == 0)
		return TRUE;
	decoder->ports = g_new0(struct port, decoder->n_ports);
	decoder->heap = g_new0(struct port *, decoder->n_ports);
	sink = add_sink(graph, decoder);
	for (guint64 i = 0; sink && i < decoder->n_ports; i++)
		if (bt_graph_connect_ports(
			    graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			    bt_component_sink_borrow_input_port_by_index_const(sink, i),
			    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return FALSE;
	return sink && bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
}

/* --- failure -------------------------------------------------------------------------------- */

/* The innermost cause, which knows most: it names file and offset. */
static void add_failure(struct decoder *decoder)
{
	guint offset = begin_record(decoder, CTF_RECORD_FAILURE, sizeof(struct ctf_failure_record));
	const bt_error *error = bt_current_thread_take_error();
	guint64 n = error ? bt_error_get_cause_count(error) : 0;

	if (decoder->failure)
		add_string(decoder, decoder->failure);
	else if (n)
		add_string(decoder,
			   bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
	else
		add_string(decoder, "libbabeltrace2 cannot read it");
	end_record(decoder, offset);
}

/* What libbabeltrace2 holds is not given back: the process ends. */
gboolean ctf_decode(const gchar *folder, int out)
{
	struct decoder decoder = { .out = out };
	gboolean is_read;

	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	decoder.bytes = g_byte_array_sized_new(2 * FLUSH_BYTES);
	decoder.plans = g_hash_table_new_full(NULL, NULL, NULL, free_plan);
	decoder.streams = g_hash_table_new(NULL, NULL);
	decoder.traces = g_hash_table_new(NULL, NULL);
	decoder.packets = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	decoder.json = g_string_new(NULL);
	is_read = run_graph(&decoder, folder);
	if (!is_read)
		add_failure(&decoder);
	else
		end_record(&decoder,
			   begin_record(&decoder, CTF_RECORD_END, sizeof(struct ctf_record)));
	flush(&decoder);
	g_hash_table_unref(decoder.plans);
	g_hash_table_unref(decoder.streams);
	g_hash_table_unref(decoder.traces);
	g_hash_table_unref(decoder.packets);
	g_byte_array_unref(decoder.bytes);
	g_string_free(decoder.json, TRUE);
	g_free(decoder.ports);
	g_free(decoder.heap);
	return is_read && !decoder.is_broken;
}

#else

gboolean ctf_decode(const gchar *folder, int out)
{
	(void)folder;
	(void)out;
	return FALSE;
}

#endif
