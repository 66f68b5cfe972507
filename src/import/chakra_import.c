/* chakra_import: Chakra execution traces (MLCommons), as feeders and simulators take them: .et, a row of protocol
 * buffers; "workload_graph" in JSON; and what chakra_jsonizer makes of an .et, nodes one behind the other.
 *
 * (1) A file is one process: one rank, which its name tells ("workload.3.et").
 * (2) Nodes have durations, and some traces begins. Without begins, nodes begin as early as their data
 *     dependencies and the thread or stream they are on allow (execution_schedule.h), and a problem says so.
 * (3) docs/formats.md says what becomes of each field. */
#include <string.h>

#include "base/byte_stream.h"
#include "import/chakra_args.h"
#include "import/execution_json.h"
#include "import/execution_schedule.h"
#include "import/proto_arena.h"

enum chakra_type {
	CHAKRA_METADATA = 1,
	CHAKRA_LOAD,
	CHAKRA_STORE,
	CHAKRA_COMPUTE,
	CHAKRA_SEND,
	CHAKRA_RECEIVE,
	CHAKRA_COLLECTIVE,
	CHAKRA_STORAGE,
	CHAKRA_BATCH,
	CHAKRA_CHECKPOINT,
};

/* What a node tells beside its own fields, in any of the forms. */
struct facts {
	gint64 type;
	gint64 is_host; /* "is_cpu_op"; -1: not told */
	gint64 tid;	/* -1: not told */
	gint64 sequence, record_function, forward_thread;
	gint64 collective; /* "comm_type", -1: not told */
	gint64 bytes, n_operations;
	struct json_text group; /* "pg_name" */
};

#define NO_FACTS                                                                                   \
	{                                                                                          \
		.is_host = -1, .tid = -1, .sequence = -1, .record_function = -1, .collective = -1  \
	}

static const gchar *const type_names[] = {
	[CHAKRA_METADATA] = "METADATA_NODE",	[CHAKRA_LOAD] = "MEM_LOAD_NODE",
	[CHAKRA_STORE] = "MEM_STORE_NODE",	[CHAKRA_COMPUTE] = "COMP_NODE",
	[CHAKRA_SEND] = "COMM_SEND_NODE",	[CHAKRA_RECEIVE] = "COMM_RECV_NODE",
	[CHAKRA_COLLECTIVE] = "COMM_COLL_NODE", [CHAKRA_STORAGE] = "STORAGE_NODE",
	[CHAKRA_BATCH] = "BATCH_NODE",		[CHAKRA_CHECKPOINT] = "CHECKPOINT_NODE",
};

static const gchar *const collective_names[] = {
	"all_reduce", "reduce",		"all_gather",		"gather",  "scatter", "broadcast",
	"all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier",
};

/* --- nodes ---------------------------------------------------------------------------------- */

static gboolean is_communication(gint64 type)
{
	return type == CHAKRA_SEND || type == CHAKRA_RECEIVE || type == CHAKRA_COLLECTIVE;
}

static TachoSliceKind device_kind(gint64 type, const gchar *name)
{
	if (is_communication(type))
		return TACHO_SLICE_COLLECTIVE;
	if (type == CHAKRA_LOAD || type == CHAKRA_STORE || g_str_has_prefix(name, "Memcpy"))
		return TACHO_SLICE_MEMCPY;
	if (g_str_has_prefix(name, "Memset"))
		return TACHO_SLICE_MEMSET;
	return type == CHAKRA_COMPUTE ? TACHO_SLICE_KERNEL : TACHO_SLICE_EVENT;
}

static TachoSliceKind host_kind(gint64 type)
{
	if (type == CHAKRA_LOAD || type == CHAKRA_STORE)
		return TACHO_SLICE_MEMCPY;
	return type == CHAKRA_COMPUTE || is_communication(type) ? TACHO_SLICE_OP
								: TACHO_SLICE_EVENT;
}

/* Where nothing says whose work it is, communication and what loads and stores are a device's; a device whose
 * streams are not told has one for communication and one for the rest. */
static void use_facts(struct execution_trace *trace, struct execution_node *node,
		      const struct facts *facts)
{
	TachoTimeline *timeline = trace->timeline;
	gboolean is_host = facts->is_host >= 0
				   ? facts->is_host != 0
				   : !is_communication(facts->type) && facts->type != CHAKRA_LOAD &&
					     facts->type != CHAKRA_STORE;

	node->role = is_host ? EXECUTION_HOST : EXECUTION_DEVICE;
	node->kind = (guint8)(is_host ? host_kind(facts->type)
				      : device_kind(facts->type,
						    tacho_timeline_string(timeline, node->name)));
	node->tid = facts->tid >= 0 ? (guint32)MIN(facts->tid, (gint64)G_MAXUINT32 - 1)
				    : (guint32)(!is_host && is_communication(facts->type));
	node->sequence = facts->sequence;
	node->record_function = facts->record_function;
	node->forward_thread = (guint64)MAX(facts->forward_thread, 0);
	node->bytes = (guint64)MAX(facts->bytes, 0);
	node->flops = (guint64)MAX(facts->n_operations, 0);
	if (node->kind != TACHO_SLICE_COLLECTIVE)
		return;
	if (facts->collective >= 0 && facts->collective < (gint64)G_N_ELEMENTS(collective_names))
		node->collective =
			tacho_timeline_intern(timeline, collective_names[facts->collective], -1);
	else
		node->collective =
			tacho_timeline_intern(timeline,
					      facts->type == CHAKRA_SEND      ? "send"
					      : facts->type == CHAKRA_RECEIVE ? "recv"
									      : "collective",
					      -1);
	if (facts->group.n)
		node->group =
			tacho_timeline_intern(timeline, facts->group.bytes, (gssize)facts->group.n);
}

/* Microseconds in nanoseconds; -1: more than can be. */
static gint64 to_ns(guint64 us)
{
	return us <= (guint64)TACHO_MAX_TIME_NS / 1000 ? (gint64)us * 1000 : -1;
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

/* --- .et ------------------------------------------------------------------------------------ */

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

/* The fact of that name that is a number, or NULL. */
static gint64 *find_fact(struct facts *facts, const gchar *name, gsize n)
{
	const struct {
		const gchar *name;
		gint64 *value;
	} numbers[] = {
		{ "is_cpu_op", &facts->is_host },     { "tid", &facts->tid },
		{ "seq_id", &facts->sequence },	      { "rf_id", &facts->record_function },
		{ "fw_tid", &facts->forward_thread }, { "comm_type", &facts->collective },
		{ "comm_size", &facts->bytes },	      { "num_ops", &facts->n_operations },
		{ "tensor_size", &facts->bytes },
	};

	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		if (strlen(numbers[i].name) == n && memcmp(numbers[i].name, name, n) == 0)
			return numbers[i].value;
	return NULL;
}

static void read_attribute(struct facts *facts, const ChakraAttribute *attribute)
{
	const gchar *name = (const gchar *)attribute->name.data;
	gint64 *number = attribute->name.len ? find_fact(facts, name, attribute->name.len) : NULL;

	if (number)
		*number = integer_of(attribute);
	else if (attribute->name.len == strlen("pg_name") &&
		 memcmp(name, "pg_name", attribute->name.len) == 0 &&
		 attribute->value_case == CHAKRA_ATTRIBUTE__VALUE_TEXT)
		facts->group = (struct json_text){ .bytes = (const gchar *)attribute->text.data,
						   .n = attribute->text.len };
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
	struct facts facts = NO_FACTS;

	facts.type = message->type;
	for (gsize i = 0; i < message->n_attributes; i++)
		read_attribute(&facts, message->attributes[i]);
	node->id = message->id;
	node->place = place;
	node->name = message->name.len ? tacho_timeline_intern(trace->timeline,
							       (const gchar *)message->name.data,
							       (gssize)message->name.len)
				       : 0;
	node->start_ns = message->start_us ? to_ns(message->start_us) : -1;
	node->duration_ns = to_ns(message->duration_us);
	for (gsize i = 0; i < message->n_data_dependencies; i++)
		execution_trace_add_dependency(trace, node, message->data_dependencies[i],
					       TACHO_FLOW_DATA);
	for (gsize i = 0; i < message->n_control_dependencies; i++)
		execution_trace_add_dependency(trace, node, message->control_dependencies[i],
					       TACHO_FLOW_CONTROL);
	add_tensors(messages, node, message->inputs, FALSE);
	add_tensors(messages, node, message->outputs, TRUE);
	use_facts(trace, node, &facts);
}

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
		tacho_timeline_add_problem(trace->timeline, "truncated_file", 1, "%s",
					   messages->failure->message);
	else if (messages->bytes->len)
		tacho_timeline_add_problem(trace->timeline, "truncated_file", 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": no whole node from here on",
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
		tacho_timeline_add_problem(messages->trace->timeline, "corrupt_record", n_broken,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": a node that is no protocol buffer",
					   messages->trace->path, broken_offset);
	report_end(messages);
}

static gboolean read_et(struct execution_trace *trace, GError **error)
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

/* --- JSON ----------------------------------------------------------------------------------- */

/* The members of a node in either JSON form, by their names in both. */
enum member {
	MEMBER_ID,
	MEMBER_NAME,
	MEMBER_TYPE,
	MEMBER_CONTROL,
	MEMBER_DATA,
	MEMBER_START,
	MEMBER_DURATION,
	MEMBER_ATTRIBUTES,
	MEMBER_OTHER,
};

static enum member member_of(const struct json_text *key)
{
	static const struct {
		const gchar *name;
		enum member member;
	} names[] = {
		{ "Id", MEMBER_ID },
		{ "id", MEMBER_ID },
		{ "Name", MEMBER_NAME },
		{ "name", MEMBER_NAME },
		{ "NodeType", MEMBER_TYPE },
		{ "type", MEMBER_TYPE },
		{ "ctrlDeps", MEMBER_CONTROL },
		{ "ctrl_deps", MEMBER_CONTROL },
		{ "dataDeps", MEMBER_DATA },
		{ "data_deps", MEMBER_DATA },
		{ "startTimeMicros", MEMBER_START },
		{ "start_time_micros", MEMBER_START },
		{ "runtime", MEMBER_DURATION },
		{ "durationMicros", MEMBER_DURATION },
		{ "duration_micros", MEMBER_DURATION },
		{ "attr", MEMBER_ATTRIBUTES },
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (json_text_is(key, names[i].name, strlen(names[i].name)))
			return names[i].member;
	return MEMBER_OTHER;
}

/* A number, also in quotes, or true, or false. */
static gboolean read_number(struct json_scan *scan, gint64 *value)
{
	gchar c = json_peek(scan);

	if (c == 't' || c == 'f') {
		*value = c == 't';
		json_skip(scan);
		return TRUE;
	}
	return json_fixed(scan, 0, value);
}

static gint64 read_type(struct json_scan *scan)
{
	struct json_text text;
	gint64 type = 0;

	if (json_peek(scan) != '"') {
		json_fixed(scan, 0, &type);
		return type;
	}
	json_string(scan, &text);
	for (guint i = CHAKRA_METADATA; i < G_N_ELEMENTS(type_names); i++)
		if (json_text_is(&text, type_names[i], strlen(type_names[i])))
			return i;
	return 0;
}

static void read_dependencies(struct execution_trace *trace, struct json_scan *scan,
			      struct execution_node *node, TachoFlowKind kind)
{
	gint64 id;

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan))
		if (json_fixed(scan, 0, &id))
			execution_trace_add_dependency(trace, node, (guint64)id, kind);
}

/* A member that is a fact, or the value of an attribute of that name. */
static void read_fact(struct json_scan *scan, const struct json_text *name, struct facts *facts)
{
	gint64 *number = find_fact(facts, name->bytes, name->n), value;

	if (number && read_number(scan, &value))
		*number = value;
	else if (JSON_TEXT_IS(name, "pg_name") && json_peek(scan) == '"')
		json_string(scan, &facts->group);
	else if (!number)
		json_skip(scan);
}

/* [{"name": "is_cpu_op", "boolVal": true}, ...] */
static void read_attributes(struct json_scan *scan, struct facts *facts)
{
	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		struct json_text key, name = { 0 };

		if (!json_enter(scan, '{'))
			continue;
		while (json_member(scan, &key)) {
			if (JSON_TEXT_IS(&key, "name") && json_peek(scan) == '"')
				json_string(scan, &name);
			else
				read_fact(scan, &name, facts);
		}
	}
}

/* Lists of dependencies are read in a second look: data first. */
struct raw_node {
	gint64 id, start_us, duration_us;
	struct json_text name;
	struct json_scan data, control;
	struct facts facts;
};

static void read_member(struct json_scan *scan, const struct json_text *key, struct raw_node *raw)
{
	gint64 value;

	json_peek(scan);
	switch (member_of(key)) {
	case MEMBER_ID:
		if (read_number(scan, &value))
			raw->id = value;
		break;
	case MEMBER_NAME:
		if (json_peek(scan) == '"')
			json_string(scan, &raw->name);
		else
			json_skip(scan);
		break;
	case MEMBER_TYPE:
		raw->facts.type = read_type(scan);
		break;
	case MEMBER_CONTROL:
		raw->control = *scan;
		json_skip(scan);
		break;
	case MEMBER_DATA:
		raw->data = *scan;
		json_skip(scan);
		break;
	case MEMBER_START:
		if (read_number(scan, &value))
			raw->start_us = value;
		break;
	case MEMBER_DURATION:
		if (read_number(scan, &value))
			raw->duration_us = value;
		break;
	case MEMBER_ATTRIBUTES:
		read_attributes(scan, &raw->facts);
		break;
	case MEMBER_OTHER:
		read_fact(scan, key, &raw->facts);
	}
}

static void add_raw(struct execution_trace *trace, struct raw_node *raw, guint64 place)
{
	struct execution_node *node = execution_trace_begin_node(trace);
	g_autoptr(GString) storage = g_string_new(NULL);
	struct json_text name = json_text_plain(&raw->name, storage);

	node->id = (guint64)raw->id;
	node->place = place;
	node->name =
		name.n ? tacho_timeline_intern(trace->timeline, name.bytes, (gssize)name.n) : 0;
	node->start_ns = raw->start_us > 0 ? to_ns((guint64)raw->start_us) : -1;
	node->duration_ns = raw->duration_us >= 0 ? to_ns((guint64)raw->duration_us) : -1;
	read_dependencies(trace, &raw->data, node, TACHO_FLOW_DATA);
	read_dependencies(trace, &raw->control, node, TACHO_FLOW_CONTROL);
	use_facts(trace, node, &raw->facts);
}

static gboolean read_node(struct json_scan *scan, guint64 place, gpointer data)
{
	struct execution_trace *trace = data;
	struct raw_node raw = { .id = -1, .duration_us = -1, .facts = NO_FACTS };
	struct json_text key;

	if (!json_take(scan, '{'))
		return FALSE;
	while (json_member(scan, &key))
		read_member(scan, &key, &raw);
	if (scan->status != JSON_OK)
		return FALSE;
	if (raw.id >= 0)
		add_raw(trace, &raw, place);
	else if (
		trace->nodes
			->len) /* what chakra_jsonizer writes begins with what tells of the whole */
		trace->n_unknown++;
	return TRUE;
}

static gboolean read_json(struct import *import, struct execution_trace *trace, GError **error)
{
	struct execution_json json = { .import = import,
				       .trace = trace,
				       .list = "workload_graph",
				       .may_be_bare = TRUE,
				       .read_node = read_node,
				       .data = trace };

	trace->file = json_file_new(trace->path);
	return execution_json_read(&json, error);
}

/* --- times ---------------------------------------------------------------------------------- */

/* (2) */
static void settle_times(struct execution_trace *trace)
{
	guint32 n_starts = 0, n_durations = 0, n_left;
	gint64 first_ns = G_MAXINT64;

	for (guint32 i = 0; i < trace->nodes->len; i++) {
		const struct execution_node *node = execution_trace_node(trace, i);

		n_starts += node->start_ns >= 0;
		n_durations += node->duration_ns > 0;
		if (node->start_ns >= 0)
			first_ns = MIN(first_ns, node->start_ns);
	}
	if (!n_starts && !n_durations) {
		tacho_timeline_add_problem(trace->timeline, "no_times", 1,
					   "%s: has neither begins nor durations: each node takes "
					   "a nanosecond here",
					   trace->path);
		for (guint32 i = 0; i < trace->nodes->len; i++)
			execution_trace_node(trace, i)->duration_ns = -1;
		return;
	}
	if (n_starts) {
		for (guint32 i = 0; i < trace->nodes->len; i++) {
			struct execution_node *node = execution_trace_node(trace, i);

			node->start_ns = MAX(node->start_ns, first_ns) - first_ns;
			node->duration_ns = MAX(node->duration_ns, 0);
		}
		return;
	}
	n_left = execution_schedule(trace);
	tacho_timeline_add_problem(
		trace->timeline, "computed_times", 1,
		"%s: tells how long nodes took, not when they began: each begins "
		"as early as what it depends on allows",
		trace->path);
	if (n_left)
		tacho_timeline_add_problem(trace->timeline, "circular_dependency", n_left,
					   "%s: nodes that wait for each other in a circle, or for "
					   "such; they come last",
					   trace->path);
}

/* --- files ---------------------------------------------------------------------------------- */

/* How the file begins: decoded. */
static gboolean begins_with_brace(const gchar *path, GError **error, gboolean *ret_is_json)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	gchar head[256];
	gssize n = stream ? byte_stream_read(stream, head, sizeof(head), error) : -1;
	gssize at = 0;

	while (at < n && g_ascii_isspace(head[at]))
		at++;
	/* 0x7b is 123, too: of a first message as long as that there is no space, and its field follows */
	*ret_is_json = at < n && head[at] == '{' &&
		       !(at == 0 && n > 1 && (head[1] == 0x0a || head[1] == 0x12) &&
			 !memchr(head + 1, '"', (gsize)MIN(n - 1, 16)));
	return n >= 0;
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct execution_trace *trace = execution_trace_new(import->timeline, path);
	gboolean is_json, is_read = begins_with_brace(path, error, &is_json);

	(void)data;
	if (is_read)
		is_read = is_json ? read_json(import, trace, error) : read_et(trace, error);
	if (!is_read || !trace->nodes->len) {
		execution_trace_free(trace);
		return is_read;
	}
	execution_trace_sort(trace);
	settle_times(trace);
	execution_trace_place(import, trace, import_base_time(import));
	return TRUE;
}

static gboolean read_chakra(struct import *import, const gchar *const *paths, guint n_paths,
			    GError **error)
{
	return import_each_path(import, paths, n_paths, read_file, NULL, error);
}

/* Whether `bytes` are fields of numbers up to `max_number`, as far as there are bytes; of which those in the
 * sets are there as varints or with a length. */
static gboolean is_message(const guint8 *bytes, gsize n, guint max_number, guint32 varints,
			   guint32 lengths)
{
	guint32 seen = 0;
	gsize at = 0;

	while (at < n) {
		guint64 tag, value;
		gsize n_tag = chakra_read_varint(bytes + at, n - at, &tag);
		guint64 number = tag >> 3;

		at += n_tag;
		if (!n_tag || !number || number > max_number)
			return FALSE;
		if (!((tag & 7) == 0 ? varints & 1u << number
				     : (tag & 7) == 2 && lengths & 1u << number))
			return FALSE;
		seen |= 1u << number;
		n_tag = chakra_read_varint(bytes + at, n - at, &value);
		at += n_tag;
		if (!n_tag || ((tag & 7) == 2 && value > n - at))
			return FALSE;
		at += (tag & 7) == 2 ? (gsize)value : 0;
	}
	return !varints || (seen & 1u << 1 && seen & 1u << 2);
}

/* A message of texts and attributes, and one of a node, each behind its length. */
static gboolean sniff_messages(const guint8 *bytes, gsize n)
{
	guint64 size;
	gsize at = chakra_read_varint(bytes, n, &size);

	if (!at || size > n - at || !is_message(bytes + at, (gsize)size, 2, 0, 1u << 1 | 1u << 2))
		return FALSE;
	bytes += at + size;
	n -= at + (gsize)size;
	at = chakra_read_varint(bytes, n, &size);
	/* id, type, times; name, dependencies, tensors, attributes, storage */
	return at && size && size <= n - at &&
	       is_message(bytes + at, (gsize)size, 11,
			  0x3 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7,
			  1u << 2 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11);
}

static gboolean sniff_chakra(const struct sniff_input *input)
{
	const gchar *at = input->head;

	if (input->is_folder)
		return FALSE;
	while (g_ascii_isspace(*at))
		at++;
	if (*at == '{' && (strstr(at, "\"workload_graph\"") || strstr(at, "\"dataDeps\"") ||
			   strstr(at, "\"durationMicros\"") || strstr(at, "\"COMP_NODE\"") ||
			   strstr(at, "\"COMM_COLL_NODE\"")))
		return TRUE;
	return sniff_messages((const guint8 *)input->head, input->n_head);
}

const struct import_format import_chakra = {
	.name = "chakra",
	.title = "Chakra execution trace: protocol buffers, JSON, also gzip or zstd",
	.files = "*.et, *.json",
	.sniff = sniff_chakra,
	.read = read_chakra,
};
