/* Walks a message by its descriptor: where a field lies in the structure, how often, and of what type. */
#include "import/read/proto_json.h"

#include <string.h>

enum {
	MAX_DEPTH = 12, /* each may be an object in an array */
	MAX_TEXT_BYTES = 64 * 1024,
};

static void write_message(JsonWriter *writer, const ProtobufCMessage *message,
			  const gchar *const *without, guint n_without, guint depth);

static void write_bytes(JsonWriter *writer, const ProtobufCBinaryData *bytes)
{
	const gchar *text = (const gchar *)bytes->data;

	if (!bytes->len) {
		json_writer_string(writer, "");
		return;
	}
	if (bytes->len <= MAX_TEXT_BYTES && g_utf8_validate_len(text, bytes->len, NULL)) {
		json_writer_string_length(writer, text, bytes->len);
		return;
	}
	json_writer_begin_object(writer);
	json_writer_unsigned(json_writer_key(writer, "bytes"), bytes->len);
	json_writer_end_object(writer);
}

/* The value at `at`, which is of the field's type. */
static void write_value(JsonWriter *writer, const ProtobufCFieldDescriptor *field, const void *at,
			guint depth)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_ENUM:
		json_writer_integer(writer, *(const gint32 *)at);
		return;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		json_writer_unsigned(writer, *(const guint32 *)at);
		return;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		json_writer_integer(writer, *(const gint64 *)at);
		return;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		json_writer_unsigned(writer, *(const guint64 *)at);
		return;
	case PROTOBUF_C_TYPE_FLOAT:
		json_writer_number(writer, (gdouble) * (const gfloat *)at);
		return;
	case PROTOBUF_C_TYPE_DOUBLE:
		json_writer_number(writer, *(const gdouble *)at);
		return;
	case PROTOBUF_C_TYPE_BOOL:
		json_writer_boolean(writer, *(const protobuf_c_boolean *)at);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		write_bytes(writer, at);
		return;
	case PROTOBUF_C_TYPE_STRING:
		json_writer_string(writer, *(const gchar *const *)at);
		return;
	case PROTOBUF_C_TYPE_MESSAGE:
		write_message(writer, *(const ProtobufCMessage *const *)at, NULL, 0, depth + 1);
		return;
	}
	json_writer_null(writer);
}

static gsize size_of_value(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_ENUM:
	case PROTOBUF_C_TYPE_FLOAT:
		return 4;
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return 8;
	}
}

static gboolean is_there(const ProtobufCFieldDescriptor *field, const guint8 *structure)
{
	const void *at = structure + field->offset;

	if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
		return *(const void *const *)at != NULL;
	return field->label == PROTOBUF_C_LABEL_REQUIRED ||
	       *(const protobuf_c_boolean *)(structure + field->quantifier_offset);
}

static void write_field(JsonWriter *writer, const ProtobufCFieldDescriptor *field,
			const guint8 *structure, guint depth)
{
	const guint8 *at = structure + field->offset;
	gsize n;

	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		if (!is_there(field, structure))
			return;
		json_writer_key(writer, field->name);
		write_value(writer, field, at, depth);
		return;
	}
	n = *(const size_t *)(structure + field->quantifier_offset);
	if (!n)
		return;
	at = *(const guint8 *const *)at;
	json_writer_begin_array(json_writer_key(writer, field->name));
	for (gsize i = 0; i < n; i++)
		write_value(writer, field, at + i * size_of_value(field->type), depth);
	json_writer_end_array(writer);
}

static gboolean is_left_out(const gchar *name, const gchar *const *without, guint n_without)
{
	for (guint i = 0; i < n_without; i++)
		if (strcmp(without[i], name) == 0)
			return TRUE;
	return FALSE;
}

static void write_message(JsonWriter *writer, const ProtobufCMessage *message,
			  const gchar *const *without, guint n_without, guint depth)
{
	if (depth == MAX_DEPTH) {
		json_writer_null(writer);
		return;
	}
	json_writer_begin_object(writer);
	for (guint i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];

		if (!is_left_out(field->name, without, n_without))
			write_field(writer, field, (const guint8 *)message, depth);
	}
	if (message->n_unknown_fields)
		json_writer_unsigned(json_writer_key(writer, "unknown_fields"),
				     message->n_unknown_fields);
	json_writer_end_object(writer);
}

void proto_json_write(JsonWriter *writer, const ProtobufCMessage *message,
		      const gchar *const *without, guint n_without)
{
	write_message(writer, message, without, n_without, 0);
}
