#include "import/execution/chakra_args.h"

#include <pthread.h>
#include <string.h>

#include "base/byte_stream.h"
#include "base/json_memory.h"
#include "import/read/device_args.h"
#include "import/read/proto_arena.h"

struct chakra_args {
	struct foreign_reader reader;
	gchar *path;
	pthread_mutex_t lock;
	/* Under the lock: */
	ByteStream *stream;
	struct proto_arena arena;
};

gsize chakra_read_varint(const guint8 *bytes, gsize n, guint64 *ret_value)
{
	guint64 value = 0;

	for (gsize i = 0; i < n && i < CHAKRA_MAX_VARINT; i++) {
		value |= (guint64)(bytes[i] & 0x7f) << (7 * i);
		if (bytes[i] & 0x80)
			continue;
		*ret_value = value;
		return i + 1;
	}
	return 0;
}

/* --- as JSON -------------------------------------------------------------------------------- */

static void write_text(JsonWriter *writer, const gchar *key, const ProtobufCBinaryData *text)
{
	if (!text->len)
		return;
	json_writer_string_length(json_writer_key(writer, key), (const gchar *)text->data,
				  (gsize)text->len);
}

static void write_numbers(JsonWriter *writer, const gchar *key, const guint64 *numbers, gsize n)
{
	if (!n)
		return;
	json_writer_begin_array(json_writer_key(writer, key));
	for (gsize i = 0; i < n; i++)
		json_writer_unsigned(writer, numbers[i]);
	json_writer_end_array(writer);
}

static void write_tensors(JsonWriter *writer, const gchar *key, const ChakraTensors *tensors)
{
	if (!tensors)
		return;
	json_writer_begin_object(json_writer_key(writer, key));
	write_text(writer, "values", &tensors->values);
	write_text(writer, "shapes", &tensors->shapes);
	write_text(writer, "types", &tensors->types);
	json_writer_end_object(writer);
}

#define WRITE_LIST(list, write, type)                                                              \
	do {                                                                                       \
		json_writer_begin_array(writer);                                                   \
		for (gsize i = 0; i < (list)->n_values; i++)                                       \
			write(writer, (type)(list)->values[i]);                                    \
		json_writer_end_array(writer);                                                     \
	} while (0)

static void write_texts(JsonWriter *writer, const ChakraStrings *texts)
{
	json_writer_begin_array(writer);
	for (gsize i = 0; i < texts->n_values; i++)
		json_writer_string_length(writer, (const gchar *)texts->values[i].data,
					  texts->values[i].len);
	json_writer_end_array(writer);
}

static void write_list(JsonWriter *writer, const ChakraAttribute *attribute)
{
	switch (attribute->value_case) {
	case CHAKRA_ATTRIBUTE__VALUE_DOUBLES:
		WRITE_LIST(attribute->doubles, json_writer_number, gdouble);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_FLOATS:
		WRITE_LIST(attribute->floats, json_writer_number, gdouble);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_INT32S:
		WRITE_LIST(attribute->int32s, json_writer_integer, gint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_INT64S:
		WRITE_LIST(attribute->int64s, json_writer_integer, gint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_UINT32S:
		WRITE_LIST(attribute->uint32s, json_writer_unsigned, guint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_UINT64S:
		WRITE_LIST(attribute->uint64s, json_writer_unsigned, guint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SINT32S:
		WRITE_LIST(attribute->sint32s, json_writer_integer, gint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SINT64S:
		WRITE_LIST(attribute->sint64s, json_writer_integer, gint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_FIXED32S:
		WRITE_LIST(attribute->fixed32s, json_writer_unsigned, guint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_FIXED64S:
		WRITE_LIST(attribute->fixed64s, json_writer_unsigned, guint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SFIXED32S:
		WRITE_LIST(attribute->sfixed32s, json_writer_integer, gint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SFIXED64S:
		WRITE_LIST(attribute->sfixed64s, json_writer_integer, gint64);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_BOOLS:
		WRITE_LIST(attribute->bools, json_writer_boolean, gboolean);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_TEXTS:
		write_texts(writer, attribute->texts);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_BYTES_LIST:
		write_texts(writer, attribute->bytes_list);
		break;
	default:
		json_writer_null(writer);
	}
}

static void write_value(JsonWriter *writer, const ChakraAttribute *attribute)
{
	switch (attribute->value_case) {
	case CHAKRA_ATTRIBUTE__VALUE_DOUBLE_VALUE:
		json_writer_number(writer, attribute->double_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_FLOAT_VALUE:
		json_writer_number(writer, (gdouble)attribute->float_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_INT32_VALUE:
		json_writer_integer(writer, attribute->int32_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_INT64_VALUE:
		json_writer_integer(writer, attribute->int64_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_UINT32_VALUE:
		json_writer_unsigned(writer, attribute->uint32_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_UINT64_VALUE:
		json_writer_unsigned(writer, attribute->uint64_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SINT32_VALUE:
		json_writer_integer(writer, attribute->sint32_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SINT64_VALUE:
		json_writer_integer(writer, attribute->sint64_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_FIXED32_VALUE:
		json_writer_unsigned(writer, attribute->fixed32_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_FIXED64_VALUE:
		json_writer_unsigned(writer, attribute->fixed64_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SFIXED32_VALUE:
		json_writer_integer(writer, attribute->sfixed32_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_SFIXED64_VALUE:
		json_writer_integer(writer, attribute->sfixed64_value);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_BOOL_VALUE:
		json_writer_boolean(writer, attribute->bool_value != 0);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_TEXT:
		json_writer_string_length(writer, (const gchar *)attribute->text.data,
					  attribute->text.len);
		break;
	case CHAKRA_ATTRIBUTE__VALUE_BYTES_VALUE:
		json_writer_string_length(writer, (const gchar *)attribute->bytes_value.data,
					  attribute->bytes_value.len);
		break;
	default:
		write_list(writer, attribute);
	}
}

/* What nothing here reads is told by its field number, and how many bytes it has. */
static void write_unknown(JsonWriter *writer, const ProtobufCMessage *message)
{
	for (guint i = 0; i < message->n_unknown_fields; i++) {
		g_autofree gchar *key =
			g_strdup_printf("field %u, bytes", message->unknown_fields[i].tag);

		json_writer_unsigned(json_writer_key(writer, key), message->unknown_fields[i].len);
	}
}

static void write_node(JsonWriter *writer, const ChakraNode *node)
{
	json_writer_begin_object(writer);
	json_writer_unsigned(json_writer_key(writer, "id"), node->id);
	json_writer_integer(json_writer_key(writer, "type"), node->type);
	write_numbers(writer, "ctrl_deps", node->control_dependencies,
		      node->n_control_dependencies);
	write_numbers(writer, "data_deps", node->data_dependencies, node->n_data_dependencies);
	if (node->start_us)
		json_writer_unsigned(json_writer_key(writer, "start_time_micros"), node->start_us);
	json_writer_unsigned(json_writer_key(writer, "duration_micros"), node->duration_us);
	write_tensors(writer, "inputs", node->inputs);
	write_tensors(writer, "outputs", node->outputs);
	for (gsize i = 0; i < node->n_attributes; i++) {
		const ProtobufCBinaryData *name = &node->attributes[i]->name;
		g_autofree gchar *key = g_strndup((const gchar *)name->data, name->len);

		json_writer_key(writer, key ? key : "");
		write_value(writer, node->attributes[i]);
	}
	write_unknown(writer, &node->base);
	json_writer_end_object(writer);
}

static gchar *tell_node(const ChakraNode *node)
{
	struct json_memory memory;
	JsonWriter *writer = json_memory_begin(&memory);

	if (!writer)
		return NULL;
	write_node(writer, node);
	return json_memory_take(&memory, writer);
}

/* --- from the file -------------------------------------------------------------------------- */

/* Under the lock; good until the next. */
static const ChakraNode *read_node(struct chakra_args *args, guint64 place)
{
	guint8 head[CHAKRA_MAX_VARINT];
	g_autofree guint8 *bytes = NULL;
	guint64 size = 0;
	gssize n_head;
	gsize n_length;

	if (!args->stream)
		args->stream = byte_stream_open(args->path, NULL);
	if (!args->stream || !byte_stream_seek(args->stream, place, NULL))
		return NULL;
	n_head = byte_stream_read(args->stream, head, sizeof(head), NULL);
	n_length = n_head > 0 ? chakra_read_varint(head, (gsize)n_head, &size) : 0;
	if (!n_length || size > CHAKRA_MAX_MESSAGE)
		return NULL;
	bytes = g_try_malloc(size + 1);
	if (!bytes || !byte_stream_seek(args->stream, place + n_length, NULL) ||
	    byte_stream_read(args->stream, bytes, size, NULL) != (gssize)size)
		return NULL;
	return proto_arena_unpack(&args->arena, &chakra_node__descriptor, bytes, size);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct chakra_args *args = (struct chakra_args *)reader;
	const ChakraNode *node;
	gchar *text;

	pthread_mutex_lock(&args->lock);
	node = read_node(args, place);
	text = node ? tell_node(node) : NULL;
	pthread_mutex_unlock(&args->lock);
	return text;
}

static void free_args(struct foreign_reader *reader)
{
	struct chakra_args *args = (struct chakra_args *)reader;

	byte_stream_close(args->stream);
	proto_arena_release(&args->arena);
	pthread_mutex_destroy(&args->lock);
	g_free(args->path);
	g_free(args);
}

struct foreign_reader *chakra_args_new(const gchar *path)
{
	struct chakra_args *args = g_new0(struct chakra_args, 1);

	args->reader = (struct foreign_reader){ .args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.copy = device_args_copy,
						.free = free_args };
	args->path = g_strdup(path);
	proto_arena_init(&args->arena, CHAKRA_MAX_UNPACKED);
	pthread_mutex_init(&args->lock, NULL);
	return &args->reader;
}
