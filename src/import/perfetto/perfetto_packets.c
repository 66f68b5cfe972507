#include "import/perfetto/perfetto_file.h"

/* Fields, of the messages they are called after. */
enum {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLEARED = 41,
	PACKET_DROPPED = 42,
	PACKET_COMPRESSED = 50,
	PACKET_GPU_COUNTERS = 52,
	PACKET_GPU_STAGE = 53,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_DESCRIPTOR = 60,
	PACKET_FIRST = 87,

	FLAG_CLEARED = 1,
	FLAG_NEEDS_STATE = 2,
};

/* What a packet has around its content. */
struct packet {
	struct wire_cursor content;
	guint32 kind; /* field of the content; 0: none that is known */
	struct wire_cursor interned, defaults;
	guint64 timestamp;
	gint64 clock;
	guint32 sequence, flags;
	gboolean has_timestamp, is_dropped, is_first;
};

guint32 perfetto_intern(struct perfetto_file *file, const struct wire_field *field)
{
	g_autofree gchar *valid =
		g_utf8_make_valid((const gchar *)field->bytes, (gssize)field->n_bytes);

	return tacho_timeline_intern(file->timeline, valid, -1);
}

void perfetto_count_broken(struct perfetto_file *file, const gchar *what)
{
	track_book_count_broken(file->book, "byte %" G_GUINT64_FORMAT ": %s", file->offset, what);
}

void perfetto_add_numbers(GArray *numbers, const struct wire_field *field)
{
	struct wire_cursor packed = perfetto_cursor(field);
	guint64 number;

	if (field->type != WIRE_BYTES) {
		g_array_append_val(numbers, field->value);
		return;
	}
	while (wire_cursor_varint(&packed, &number))
		g_array_append_val(numbers, number);
}

/* --- sequences ------------------------------------------------------------------------------ */

static struct perfetto_sequence *find_sequence(struct perfetto_file *file, guint32 id)
{
	struct perfetto_sequence *sequence = perfetto_find_id(file->sequences, id);

	if (sequence)
		return sequence;
	sequence = g_new0(struct perfetto_sequence, 1);
	sequence->id = id;
	sequence->is_known = TRUE;
	sequence->generation = perfetto_args_take_generation(file->args, perfetto_generation_new());
	perfetto_keep_id(file->sequences, id, sequence);
	return sequence;
}

static void note_packet_field(struct packet *packet, const struct wire_field *field)
{
	switch (field->number) {
	case PACKET_TIMESTAMP:
		packet->timestamp = field->value;
		packet->has_timestamp = TRUE;
		break;
	case PACKET_CLOCK:
		packet->clock = (gint64)(field->value & G_MAXUINT32);
		break;
	case PACKET_SEQUENCE:
		packet->sequence = (guint32)field->value;
		break;
	case PACKET_FLAGS:
		packet->flags |= (guint32)field->value;
		break;
	case PACKET_CLEARED:
		packet->flags |= field->value ? FLAG_CLEARED : 0;
		break;
	case PACKET_DROPPED:
		packet->is_dropped = field->value != 0;
		break;
	case PACKET_FIRST:
		packet->is_first = field->value != 0;
		break;
	case PACKET_INTERNED:
		packet->interned = perfetto_cursor(field);
		break;
	case PACKET_DEFAULTS:
		packet->defaults = perfetto_cursor(field);
		break;
	case PACKET_FTRACE:
	case PACKET_PROCESS_TREE:
	case PACKET_CLOCKS:
	case PACKET_TRACK_EVENT:
	case PACKET_COMPRESSED:
	case PACKET_GPU_COUNTERS:
	case PACKET_GPU_STAGE:
	case PACKET_DESCRIPTOR:
		packet->kind = field->number;
		packet->content = perfetto_cursor(field);
		break;
	default: /* how the trace was made, and data sources that are not read */
		break;
	}
}

/* TracePacketDefaults: 58 clock; 11 of track events, of which 11 is the track. */
static void read_defaults(struct perfetto_sequence *sequence, struct wire_cursor defaults)
{
	struct wire_field field, part;

	while (wire_cursor_next(&defaults, &field) == WIRE_FIELD) {
		struct wire_cursor of_events = perfetto_cursor(&field);

		if (field.number == PACKET_CLOCK && field.type == WIRE_VARINT)
			sequence->default_clock = (gint64)(field.value & G_MAXUINT32);
		if (field.number != PACKET_TRACK_EVENT)
			continue;
		while (wire_cursor_next(&of_events, &part) == WIRE_FIELD)
			if (part.number == 11 && part.type == WIRE_VARINT)
				sequence->default_track = part.value;
	}
}

static void update_sequence(struct perfetto_file *file, struct perfetto_sequence *sequence,
			    const struct packet *packet)
{
	if (packet->is_dropped && !packet->is_first && sequence->is_begun) {
		file->n_lost++;
		sequence->is_known = FALSE;
	}
	sequence->is_begun = TRUE;
	if (packet->flags & FLAG_CLEARED) {
		sequence->is_known = TRUE;
		sequence->generation =
			perfetto_args_take_generation(file->args, perfetto_generation_new());
		sequence->default_track = 0;
		sequence->default_clock = 0;
	}
	if (packet->defaults.at)
		read_defaults(sequence, packet->defaults);
	if (packet->interned.at &&
	    !perfetto_generation_add(
		    perfetto_args_borrow_generation(file->args, sequence->generation),
		    file->timeline, packet->interned))
		perfetto_count_broken(file, "broken names");
}

static void read_trace(struct perfetto_file *file, struct wire_cursor trace);

static void unpack_packets(struct perfetto_file *file, struct wire_cursor compressed)
{
	g_autoptr(GByteArray) unpacked =
		perfetto_inflate(compressed.at, (gsize)(compressed.end - compressed.at));

	if (file->inner)
		perfetto_count_broken(file, "packets that are compressed twice");
	else if (!unpacked)
		perfetto_count_broken(file, "packets that cannot be decompressed");
	else
		read_trace(file, wire_cursor_of(unpacked->data, unpacked->len));
}

static gboolean is_timed(guint32 kind)
{
	return kind == PACKET_TRACK_EVENT || kind == PACKET_GPU_STAGE ||
	       kind == PACKET_GPU_COUNTERS;
}

static void use_packet(struct perfetto_file *file, const struct packet *packet)
{
	struct perfetto_sequence *sequence = find_sequence(file, packet->sequence);
	gint64 clock, time_ns;

	update_sequence(file, sequence, packet);
	clock = packet->clock		  ? packet->clock
		: sequence->default_clock ? sequence->default_clock
					  : PERFETTO_BOOTTIME;
	time_ns = packet->has_timestamp
			  ? perfetto_clocks_convert(&file->clocks, packet->sequence, clock,
						    packet->timestamp, is_timed(packet->kind))
			  : 0;
	switch (packet->kind) {
	case PACKET_CLOCKS:
		if (!perfetto_clocks_note(&file->clocks, packet->sequence, packet->content))
			perfetto_count_broken(file, "a broken snapshot of clocks");
		break;
	case PACKET_TRACK_EVENT:
		if (!packet->has_timestamp)
			track_book_count_unknown(file->book,
						 "byte %" G_GUINT64_FORMAT
						 ": an event without a time of its own",
						 file->offset);
		else if (!sequence->is_known && packet->flags & FLAG_NEEDS_STATE)
			file->n_lost++;
		else
			perfetto_read_track_event(file, sequence, packet->content, time_ns);
		break;
	case PACKET_FTRACE:
		perfetto_read_ftrace(file, packet->content);
		break;
	case PACKET_GPU_STAGE:
		perfetto_read_gpu_stage(file, sequence, packet->content, time_ns);
		break;
	case PACKET_GPU_COUNTERS:
		perfetto_read_gpu_counters(file, packet->content, time_ns);
		break;
	default:
		break;
	}
}

void perfetto_read_packet(struct perfetto_file *file, struct wire_cursor bytes)
{
	struct packet packet = { 0 };
	enum wire_result result;
	struct wire_field field;

	while ((result = wire_cursor_next(&bytes, &field)) == WIRE_FIELD)
		note_packet_field(&packet, &field);
	if (result != WIRE_END) {
		if (!file->is_first_pass)
			perfetto_count_broken(file, "a broken packet");
		return;
	}
	if (packet.kind == PACKET_COMPRESSED)
		unpack_packets(file, packet.content);
	else if (!file->is_first_pass)
		use_packet(file, &packet);
	else if (packet.kind == PACKET_DESCRIPTOR)
		perfetto_read_descriptor(file, packet.content);
	else if (packet.kind == PACKET_PROCESS_TREE)
		perfetto_read_process_tree(file, packet.content);
}

/* Read a trace within a packet: decompressed packets. */
static void read_trace(struct perfetto_file *file, struct wire_cursor trace)
{
	struct wire_field field;

	while (wire_cursor_next(&trace, &field) == WIRE_FIELD)
		if (field.number == PERFETTO_TRACE_PACKET && field.type == WIRE_BYTES) {
			file->inner++;
			perfetto_read_packet(file, perfetto_cursor(&field));
		}
	file->inner = 0;
}

/* --- what is one ---------------------------------------------------------------------------- */

/* What is in every packet, and the types of some fields that other formats use otherwise. */
gboolean perfetto_is_packet(struct wire_cursor packet, gboolean *ret_is_sure)
{
	struct wire_field field;
	enum wire_result result;

	while ((result = wire_cursor_next(&packet, &field)) == WIRE_FIELD) {
		gboolean is_number = field.number == PACKET_TIMESTAMP ||
				     field.number == PACKET_SEQUENCE || field.number == 3;
		gboolean is_message = field.number == PACKET_FTRACE || field.number == 2 ||
				      field.number == PACKET_CLOCKS ||
				      field.number == PACKET_TRACK_EVENT;

		if ((is_number && field.type != WIRE_VARINT) ||
		    (is_message && field.type != WIRE_BYTES))
			return FALSE;
		*ret_is_sure |= field.number == PACKET_SEQUENCE;
	}
	return result == WIRE_END;
}
