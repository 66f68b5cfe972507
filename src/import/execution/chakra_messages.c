/* chakra_messages: the length of a message before each; the first tells of the whole, every other of a node.
 *
 * (1) A node that is no protocol buffer is passed over and counted; a length that cannot be ends the file. */
#include "import/execution/chakra_messages.h"

#include <string.h>

#include "base/byte_stream.h"
#include "import/execution/chakra_args.h"
#include "import/execution/chakra_node.h"
#include "import/read/proto_arena.h"

/* A file of messages that is being read. */
struct messages {
	struct execution_trace *trace;
	ByteStream *stream;
	GByteArray *bytes; /* read, and not used yet */
	guint64 offset;	   /* of the first of them */
	gboolean is_at_end;
	GError *failure;
	GString *texts[3];
	struct proto_arena arena;
};

/* Have at least `n` bytes, if the file has; false: it has not. */
static gboolean have_bytes(struct messages *messages, gsize n)
{
	while (messages->bytes->len < n && !messages->is_at_end) {
		guint8 buffer[64 * 1024];
		gssize n_read = byte_stream_read(messages->stream, buffer, sizeof(buffer),
						 &messages->failure);

		messages->is_at_end = n_read <= 0;
		if (n_read > 0)
			g_byte_array_append(messages->bytes, buffer, (guint)n_read);
	}
	return messages->bytes->len >= n;
}

static void use_bytes(struct messages *messages, gsize n)
{
	g_byte_array_remove_range(messages->bytes, 0, (guint)n);
	messages->offset += n;
}

/* --- nodes ---------------------------------------------------------------------------------- */

static gint64 integer_of(const ChakraAttribute *attribute)
{
	switch (attribute->value_case) {
	case CHAKRA_ATTRIBUTE__VALUE_INT32_VALUE:
		return attribute->int32_value;
	case CHAKRA_ATTRIBUTE__VALUE_INT64_VALUE:
		return attribute->int64_value;
	case CHAKRA_ATTRIBUTE__VALUE_UINT32_VALUE:
		return attribute->uint32_value;
	case CHAKRA_ATTRIBUTE__VALUE_UINT64_VALUE:
		return (gint64)attribute->uint64_value;
	case CHAKRA_ATTRIBUTE__VALUE_SINT32_VALUE:
		return attribute->sint32_value;
	case CHAKRA_ATTRIBUTE__VALUE_SINT64_VALUE:
		return attribute->sint64_value;
	case CHAKRA_ATTRIBUTE__VALUE_FIXED32_VALUE:
		return attribute->fixed32_value;
	case CHAKRA_ATTRIBUTE__VALUE_FIXED64_VALUE:
		return (gint64)attribute->fixed64_value;
	case CHAKRA_ATTRIBUTE__VALUE_SFIXED32_VALUE:
		return attribute->sfixed32_value;
	case CHAKRA_ATTRIBUTE__VALUE_SFIXED64_VALUE:
		return attribute->sfixed64_value;
	case CHAKRA_ATTRIBUTE__VALUE_BOOL_VALUE:
		return attribute->bool_value != 0;
	default:
		return -1;
	}
}

static void read_attribute(struct chakra_facts *facts, const ChakraAttribute *attribute)
{
	const gchar *name = (const gchar *)attribute->name.data;
	gint64 *number =
		attribute->name.len ? chakra_facts_find(facts, name, attribute->name.len) : NULL;

	if (number)
		*number = integer_of(attribute);
	else if (attribute->name.len == strlen("pg_name") &&
		 memcmp(name, "pg_name", attribute->name.len) == 0 &&
		 attribute->value_case == CHAKRA_ATTRIBUTE__VALUE_TEXT)
		facts->group = (struct json_text){ .bytes = (const gchar *)attribute->text.data,
						   .n = attribute->text.len };
}

/* A text of Python, as repr() prints it, as JSON: quotes are double ones. */
static struct json_text python_text(const ProtobufCBinaryData *text, GString *storage)
{
	gchar quote = 0;

	g_string_truncate(storage, 0);
	for (gsize i = 0; i < text->len; i++) {
		gchar c = (gchar)text->data[i];

		if (c == '\\' && i + 1 < text->len) {
			g_string_append_c(storage, c);
			c = (gchar)text->data[++i];
		} else if (quote && c == quote) {
			quote = 0;
			c = '"';
		} else if (!quote && (c == '"' || c == '\'')) {
			quote = c;
			c = '"';
		} else if (quote && c == '"') {
			g_string_append_c(storage, '\\');
		}
		g_string_append_c(storage, c);
	}
	for (guint i = 0; i < JSON_PADDING; i++)
		g_string_append_c(storage, '"');
	return (struct json_text){ .bytes = storage->str, .n = storage->len - JSON_PADDING };
}

static void add_tensors(struct messages *messages, struct execution_node *node,
			const ChakraTensors *tensors, gboolean are_outputs)
{
	struct json_text values, shapes, types;

	if (!tensors)
		return;
	values = python_text(&tensors->values, messages->texts[0]);
	shapes = python_text(&tensors->shapes, messages->texts[1]);
	types = python_text(&tensors->types, messages->texts[2]);
	execution_trace_add_tensors(messages->trace, node, &values, &shapes, &types, are_outputs);
}

static void add_node(struct messages *messages, const ChakraNode *message, guint64 place)
{
	struct execution_trace *trace = messages->trace;
	struct execution_node *node = execution_trace_begin_node(trace);
	struct chakra_facts facts = CHAKRA_NO_FACTS;

	facts.type = message->type;
	for (gsize i = 0; i < message->n_attributes; i++)
		read_attribute(&facts, message->attributes[i]);
	node->id = message->id;
	node->place = place;
	node->name = message->name.len ? tacho_timeline_intern(trace->timeline,
							       (const gchar *)message->name.data,
							       (gssize)message->name.len)
				       : 0;
	node->start_ns = message->start_us ? chakra_ns(message->start_us) : -1;
	node->duration_ns = chakra_ns(message->duration_us);
	for (gsize i = 0; i < message->n_data_dependencies; i++)
		execution_trace_add_dependency(trace, node, message->data_dependencies[i],
					       TACHO_FLOW_DATA);
	for (gsize i = 0; i < message->n_control_dependencies; i++)
		execution_trace_add_dependency(trace, node, message->control_dependencies[i],
					       TACHO_FLOW_CONTROL);
	add_tensors(messages, node, message->inputs, FALSE);
	add_tensors(messages, node, message->outputs, TRUE);
	chakra_facts_use(trace, node, &facts);
}

/* --- the file ------------------------------------------------------------------------------- */

/* The next message, whole: where it begins in `bytes`, and how long it is. False: there is none. */
static gboolean next_message(struct messages *messages, gsize *ret_begin, gsize *ret_size)
{
	guint64 size = 0;
	gsize begin;

	have_bytes(messages, CHAKRA_MAX_VARINT);
	begin = chakra_read_varint(messages->bytes->data, messages->bytes->len, &size);
	if (!begin || size > CHAKRA_MAX_MESSAGE || !have_bytes(messages, begin + size))
		return FALSE;
	*ret_begin = begin;
	*ret_size = (gsize)size;
	return TRUE;
}

static void report_end(struct messages *messages)
{
	struct execution_trace *trace = messages->trace;

	if (messages->failure)
		tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s",
					   messages->failure->message);
	else if (messages->bytes->len)
		tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": there is no complete node from here on",
					   trace->path, messages->offset);
}

/* The nodes behind the first message, which tells of the whole. */
static void read_messages(struct messages *messages)
{
	guint64 n_broken = 0, broken_offset = 0;
	gboolean is_first = TRUE;
	gsize begin, size;

	while (next_message(messages, &begin, &size)) {
		const ChakraNode *node =
			is_first ? NULL
				 : proto_arena_unpack(&messages->arena, &chakra_node__descriptor,
						      messages->bytes->data + begin, size);

		if (node)
			add_node(messages, node, messages->offset);
		else if (!is_first && n_broken++ == 0)
			broken_offset = messages->offset;
		use_bytes(messages, begin + size);
		is_first = FALSE;
	}
	if (n_broken)
		tacho_timeline_add_problem(
			messages->trace->timeline, TACHO_PROBLEM_CORRUPT_RECORD, n_broken,
			"%s: byte %" G_GUINT64_FORMAT ": a node is not a valid protocol buffer",
			messages->trace->path, broken_offset);
	report_end(messages);
}

gboolean chakra_messages_read(struct execution_trace *trace, GError **error)
{
	struct messages messages = { .trace = trace };

	messages.stream = byte_stream_open(trace->path, error);
	if (!messages.stream)
		return FALSE;
	messages.bytes = g_byte_array_new();
	proto_arena_init(&messages.arena, CHAKRA_MAX_UNPACKED);
	for (guint i = 0; i < G_N_ELEMENTS(messages.texts); i++)
		messages.texts[i] = g_string_new(NULL);
	read_messages(&messages);
	for (guint i = 0; i < G_N_ELEMENTS(messages.texts); i++)
		g_string_free(messages.texts[i], TRUE);
	proto_arena_release(&messages.arena);
	g_byte_array_unref(messages.bytes);
	byte_stream_close(messages.stream);
	g_clear_error(&messages.failure);
	trace->texts = chakra_args_new(trace->path);
	return TRUE;
}
