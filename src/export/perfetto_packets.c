/* perfetto_packets: one packet sequence.
 * (1) A name is defined in the packet that uses it first, so that a file cut anywhere is good up to
 *     there.
 * (2) The first packet says that nothing was defined before; every packet, that it needs what was. */
#include "export/perfetto_packets.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <string.h>

#define SEQUENCE_ID	 1
#define TRACE_PACKET_TAG 0x0a	  /* Trace.packet: field 1, length-delimited */
#define MAX_HEAD_BYTES	 (1 + 10) /* the tag and a length */

void perfetto_packets_init(struct perfetto_packets *packets, FILE *out)
{
	memset(packets, 0, sizeof(*packets));
	packets->out = out;
	packets->bytes = g_byte_array_new();
	for (guint i = 0; i < N_PERFETTO_NAME_KINDS; i++) {
		packets->iids[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		packets->new_names[i] = g_ptr_array_new();
	}
}

void perfetto_packets_release(struct perfetto_packets *packets)
{
	g_byte_array_unref(packets->bytes);
	for (guint i = 0; i < N_PERFETTO_NAME_KINDS; i++) {
		g_hash_table_unref(packets->iids[i]);
		g_ptr_array_unref(packets->new_names[i]);
	}
}

guint64 perfetto_packets_intern(struct perfetto_packets *packets, enum perfetto_name_kind kind,
				const gchar *string)
{
	GHashTable *iids = packets->iids[kind];
	guint64 iid = GPOINTER_TO_SIZE(g_hash_table_lookup(iids, string));
	gchar *copy;

	if (iid)
		return iid;
	/* The table's key is the string as given; what goes out is made valid when it does. */
	copy = g_strdup(string);
	iid = g_hash_table_size(iids) + 1;
	g_hash_table_insert(iids, copy, GSIZE_TO_POINTER(iid));
	g_ptr_array_add(packets->new_names[kind], copy);
	return iid;
}

/* --- definitions ------------------------------------------------------------------------------ */

/* Definitions of the names that the table has grown by since the last packet: so their numbers are its
 * last ones. */
static Perfetto__InternedString **take_names(struct perfetto_packets *packets,
					     enum perfetto_name_kind kind, size_t *ret_n)
{
	GPtrArray *names = packets->new_names[kind];
	guint64 iid = g_hash_table_size(packets->iids[kind]) - names->len;
	Perfetto__InternedString **entries = g_new(Perfetto__InternedString *, names->len);

	for (guint i = 0; i < names->len; i++) {
		Perfetto__InternedString *entry = g_new(Perfetto__InternedString, 1);
		gchar *text = g_utf8_make_valid(g_ptr_array_index(names, i), -1);

		*entry = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
		entry->has_iid = TRUE;
		entry->iid = ++iid;
		entry->has_str = TRUE;
		entry->str.data = (guint8 *)text;
		entry->str.len = strlen(text);
		entries[i] = entry;
	}
	*ret_n = names->len;
	g_ptr_array_set_size(names, 0);
	return entries;
}

static Perfetto__InternedData *take_definitions(struct perfetto_packets *packets)
{
	Perfetto__InternedData *data;
	guint n_new = 0;

	for (guint i = 0; i < N_PERFETTO_NAME_KINDS; i++)
		n_new += packets->new_names[i]->len;
	if (n_new == 0)
		return NULL;
	data = g_new(Perfetto__InternedData, 1);
	*data = (Perfetto__InternedData)PERFETTO__INTERNED_DATA__INIT;
	data->event_categories = take_names(packets, PERFETTO_CATEGORY, &data->n_event_categories);
	data->event_names = take_names(packets, PERFETTO_EVENT, &data->n_event_names);
	data->debug_annotation_names =
		take_names(packets, PERFETTO_ANNOTATION, &data->n_debug_annotation_names);
	data->debug_annotation_string_values =
		take_names(packets, PERFETTO_VALUE, &data->n_debug_annotation_string_values);
	return data;
}

/* protobuf-c frees with the allocator it is given; ours is GLib's. */
static void *allocate(void *data, size_t size)
{
	(void)data;
	return g_malloc(size);
}

static void release(void *data, void *pointer)
{
	(void)data;
	g_free(pointer);
}

static void free_definitions(Perfetto__InternedData *interned)
{
	ProtobufCAllocator allocator = { allocate, release, NULL };

	if (interned)
		perfetto__interned_data__free_unpacked(interned, &allocator);
}

/* --- packets ---------------------------------------------------------------------------------- */

/* The tag and the length, ending where the packet begins; returns how many bytes they take. */
static gsize put_head(guint8 *packet, gsize length)
{
	guint8 head[MAX_HEAD_BYTES] = { TRACE_PACKET_TAG };
	gsize n = 1;
	gsize left = length;

	for (; left >= 0x80; left >>= 7)
		head[n++] = (guint8)(left | 0x80);
	head[n++] = (guint8)left;
	memcpy(packet - n, head, n);
	return n;
}

static void write_bytes(struct perfetto_packets *packets, const guint8 *bytes, gsize length)
{
	if (packets->error)
		return;
	packets->crc = crc32_gzip_refl(packets->crc, bytes, length);
	packets->n_written += length;
	errno = 0;
	if (fwrite_unlocked(bytes, 1, length, packets->out) != length)
		packets->error = errno ? errno : EIO;
}

void perfetto_packets_write(struct perfetto_packets *packets, Perfetto__TracePacket *packet)
{
	Perfetto__InternedData *interned = take_definitions(packets);
	gsize length, head_length;
	guint8 *bytes;

	packet->has_trusted_packet_sequence_id = TRUE;
	packet->trusted_packet_sequence_id = SEQUENCE_ID;
	packet->interned_data = interned;
	packet->has_sequence_flags = TRUE;
	packet->sequence_flags =
		PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	if (!packets->is_begun) {
		packets->is_begun = TRUE;
		packet->sequence_flags |=
			PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
		packet->has_first_packet_on_sequence = TRUE;
		packet->first_packet_on_sequence = TRUE;
		packet->has_previous_packet_dropped = TRUE;
		packet->previous_packet_dropped = TRUE;
	}
	length = perfetto__trace_packet__get_packed_size(packet);
	g_byte_array_set_size(packets->bytes, (guint)(MAX_HEAD_BYTES + length));
	bytes = packets->bytes->data + MAX_HEAD_BYTES;
	perfetto__trace_packet__pack(packet, bytes);
	head_length = put_head(bytes, length);
	write_bytes(packets, bytes - head_length, head_length + length);
	packet->interned_data = NULL;
	free_definitions(interned);
}
