/* pytorch_et_import: PyTorch's execution traces (ExecutionTraceObserver), of the schemas 1.0.0 to 1.1.1 and
 * their "-chakra" forms: every operation with the tensors it took and made, and without any time.
 *
 * (1) A file is one process. In schema 1.0.1 and before, a node's members are plain; later schemas have them as
 *     "attrs", and tensors in "inputs" and "outputs". Both are read wherever they stand.
 * (2) Where the Kineto trace of the same process is opened with it, the nodes enrich that
 *     (execution_link.h). Else it is a timeline in the order of the program, and a problem says that its
 *     times are none.
 * (3) docs/formats.md says what becomes of each field. */
#include <string.h>

#include "import/execution/execution_json.h"
#include "import/execution/execution_link.h"
#include "import/c10_dtype.h"
#include "import/sniff_evidence.h"

enum {
	MAX_GROUP_SIZE = 1 << 16,
	USER_SCOPE = 7, /* at::RecordScope::USER_SCOPE */
};

/* A file that is being read. */
struct reading {
	struct execution_trace *trace;
	GString *plain;
	GHashTable *backends; /* number of a process group's backend -> name of the group */
};

/* Lists that go side by side. */
struct io_texts {
	struct json_text values, shapes, types;
};

/* A node as it stands in the file. */
struct raw_node {
	gint64 id, parent, record_function, sequence, forward_tid, scope, tid;
	gint64 in_elements;
	struct json_text name, collective, dtype, group_name;
	struct io_texts inputs, outputs;
};

/* --- members -------------------------------------------------------------------------------- */

/* The value that comes next, as it stands. */
static struct json_text take_value(struct json_scan *scan)
{
	const gchar *begin;

	json_peek(scan);
	begin = scan->at;
	json_skip(scan);
	return (struct json_text){ .bytes = begin, .n = (gsize)(scan->at - begin) };
}

static void read_integer(struct json_scan *scan, gint64 *value)
{
	gint64 read;

	if (json_fixed(scan, 0, &read))
		*value = read;
}

static void read_string(struct json_scan *scan, struct json_text *text)
{
	if (json_peek(scan) == '"')
		json_string(scan, text);
	else
		json_skip(scan);
}

/* {"values": ..., "shapes": ..., "types": ...}, or the list of values itself */
static void read_io(struct json_scan *scan, struct io_texts *io)
{
	struct json_text key;

	if (json_peek(scan) != '{') {
		io->values = take_value(scan);
		return;
	}
	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "values"))
			io->values = take_value(scan);
		else if (JSON_TEXT_IS(&key, "shapes"))
			io->shapes = take_value(scan);
		else if (JSON_TEXT_IS(&key, "types"))
			io->types = take_value(scan);
		else
			json_skip(scan);
	}
}

/* A member of a node, or one of its "attrs". False: not known; nothing was read. */
static gboolean read_fact(struct json_scan *scan, const struct json_text *key, struct raw_node *raw)
{
	if (JSON_TEXT_IS(key, "rf_id"))
		read_integer(scan, &raw->record_function);
	else if (JSON_TEXT_IS(key, "seq_id"))
		read_integer(scan, &raw->sequence);
	else if (JSON_TEXT_IS(key, "fw_tid"))
		read_integer(scan, &raw->forward_tid);
	else if (JSON_TEXT_IS(key, "tid"))
		read_integer(scan, &raw->tid);
	else if (JSON_TEXT_IS(key, "scope"))
		read_integer(scan, &raw->scope);
	else if (JSON_TEXT_IS(key, "collective_name"))
		read_string(scan, &raw->collective);
	else if (JSON_TEXT_IS(key, "dtype"))
		read_string(scan, &raw->dtype);
	else if (JSON_TEXT_IS(key, "in_msg_nelems"))
		read_integer(scan, &raw->in_elements);
	else if (JSON_TEXT_IS(key, "pg_name"))
		read_string(scan, &raw->group_name);
	else
		return FALSE;
	return TRUE;
}

/* [{"name": "rf_id", "type": "uint64", "value": 2}, ...] */
static void read_attributes(struct json_scan *scan, struct raw_node *raw)
{
	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		struct json_text key, name = { 0 }, value = { 0 };
		struct json_scan inner;

		if (!json_enter(scan, '{'))
			continue;
		while (json_member(scan, &key)) {
			if (JSON_TEXT_IS(&key, "name"))
				read_string(scan, &name);
			else if (JSON_TEXT_IS(&key, "value"))
				value = take_value(scan);
			else
				json_skip(scan);
		}
		/* a number is complete where something follows it */
		inner = (struct json_scan){ .at = value.bytes, .end = scan->end };
		if (value.n)
			read_fact(&inner, &name, raw);
	}
}

static void read_member(struct json_scan *scan, const struct json_text *key, struct raw_node *raw)
{
	if (JSON_TEXT_IS(key, "id"))
		read_integer(scan, &raw->id);
	else if (JSON_TEXT_IS(key, "name"))
		read_string(scan, &raw->name);
	else if (JSON_TEXT_IS(key, "parent") || JSON_TEXT_IS(key, "ctrl_deps"))
		read_integer(scan, &raw->parent);
	else if (JSON_TEXT_IS(key, "inputs"))
		read_io(scan, &raw->inputs);
	else if (JSON_TEXT_IS(key, "outputs"))
		read_io(scan, &raw->outputs);
	else if (JSON_TEXT_IS(key, "input_shapes"))
		raw->inputs.shapes = take_value(scan);
	else if (JSON_TEXT_IS(key, "input_types"))
		raw->inputs.types = take_value(scan);
	else if (JSON_TEXT_IS(key, "output_shapes"))
		raw->outputs.shapes = take_value(scan);
	else if (JSON_TEXT_IS(key, "output_types"))
		raw->outputs.types = take_value(scan);
	else if (JSON_TEXT_IS(key, "attrs"))
		read_attributes(scan, raw);
	else if (!read_fact(scan, key, raw))
		json_skip(scan);
}

/* --- process groups and collectives --------------------------------------------------------- */

static guint32 intern(struct reading *reading, const struct json_text *text)
{
	struct json_text plain = json_text_plain(text, reading->plain);

	return plain.n ? tacho_timeline_intern(reading->trace->timeline, plain.bytes,
					       (gssize)plain.n)
		       : 0;
}

static struct json_scan scan_of(const struct json_text *text)
{
	return (struct json_scan){ .at = text->bytes, .end = text->bytes + text->n };
}

/* "0,1,2" of "[0, 1, 2]" */
static void read_ranks(struct json_scan *scan, GString *ranks)
{
	gint64 rank;

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan))
		if (json_fixed(scan, 0, &rank))
			g_string_append_printf(ranks, "%s%" G_GINT64_FORMAT, ranks->len ? "," : "",
					       rank);
}

/* One group of what "## process_group:init ##" was given. No ranks are all of them. */
static void read_group(struct reading *reading, struct json_scan *scan)
{
	g_autoptr(GString) ranks = g_string_new(NULL);
	struct json_text key, name = { 0 };
	gint64 backend = 0, size = 0;
	gboolean are_all;
	guint32 id;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "pg_name"))
			read_string(scan, &name);
		else if (JSON_TEXT_IS(&key, "backend_id"))
			read_integer(scan, &backend);
		else if (JSON_TEXT_IS(&key, "group_size"))
			read_integer(scan, &size);
		else if (JSON_TEXT_IS(&key, "ranks"))
			read_ranks(scan, ranks);
		else
			json_skip(scan);
	}
	are_all = !ranks->len && size <= MAX_GROUP_SIZE;
	for (gint64 i = 0; are_all && i < size; i++)
		g_string_append_printf(ranks, "%" G_GINT64_FORMAT "%s", i, i + 1 < size ? "," : "");
	if (!name.n)
		return;
	id = tacho_timeline_intern(reading->trace->timeline, name.bytes, (gssize)name.n);
	execution_trace_add_group(reading->trace, id, ranks->str);
	if (backend)
		g_hash_table_insert(reading->backends, g_memdup2(&backend, sizeof(backend)),
				    GUINT_TO_POINTER(id));
}

/* The node's first value is the groups, as JSON in a text. */
static void read_groups(struct reading *reading, const struct raw_node *raw)
{
	struct json_scan values = scan_of(&raw->inputs.values), scan = { 0 };
	g_autoptr(GString) padded = g_string_new(NULL);
	struct json_text text;

	if (json_peek(&values) != '[')
		return;
	json_take(&values, '[');
	if (!json_element(&values) || json_peek(&values) != '"' || !json_string(&values, &text))
		return;
	text = json_text_plain(&text, reading->plain);
	g_string_append_len(padded, text.bytes, (gssize)text.n);
	for (guint i = 0; i < JSON_PADDING; i++)
		g_string_append_c(padded, '"');
	scan.at = padded->str;
	scan.end = padded->str + text.n;
	if (json_peek(&scan) != '[')
		return;
	json_take(&scan, '[');
	while (json_element(&scan))
		read_group(reading, &scan);
}

/* What record_param_comms was given: (tensors,) sequence, group, rank, name ...; a group is the number of its
 * backend, later its name and a description. */
static void read_collective(struct reading *reading, const struct raw_node *raw,
			    struct execution_node *node)
{
	struct json_scan values = scan_of(&raw->inputs.values), types = scan_of(&raw->inputs.types);
	guint n_integers = 0;
	struct json_text type;

	if (json_peek(&values) != '[' || json_peek(&types) != '[')
		return;
	json_take(&values, '[');
	json_take(&types, '[');
	while (json_element(&values) && json_element(&types)) {
		struct json_text text = { 0 };
		gint64 number;

		if (json_peek(&types) != '"' || !json_string(&types, &type))
			return;
		if (JSON_TEXT_IS(&type, "String") && json_peek(&values) == '"') {
			json_string(&values, &text);
			if (!node->collective)
				node->collective = intern(reading, &text);
		} else if (JSON_TEXT_IS(&type, "Tuple[String,String]") &&
			   json_peek(&values) == '[') {
			json_take(&values, '[');
			for (guint i = 0; json_element(&values); i++) {
				read_string(&values, &text);
				if (i == 0)
					node->group = intern(reading, &text);
			}
		} else if (JSON_TEXT_IS(&type, "Int") && ++n_integers == 2 && !node->group) {
			if (json_fixed(&values, 0, &number))
				node->group = GPOINTER_TO_UINT(
					g_hash_table_lookup(reading->backends, &number));
		} else {
			json_skip(&values);
		}
	}
}

static guint64 input_bytes(const struct execution_trace *trace, const struct execution_node *node)
{
	guint64 bytes = 0;

	for (guint32 i = 0; i < node->n_inputs; i++) {
		const struct execution_tensor *tensor = &g_array_index(
			trace->tensors, struct execution_tensor, node->first_tensor + i);
		guint64 size = tensor->element_bytes;

		for (guint k = 0; k < tensor->n_dims; k++) {
			gint64 dim = g_array_index(trace->dims, gint64, tensor->first_dim + k);

			if (dim < 0 || __builtin_mul_overflow(size, (guint64)dim, &size))
				return 0;
		}
		if (__builtin_add_overflow(bytes, size, &bytes))
			return 0;
	}
	return bytes;
}

static void fill_collective(struct reading *reading, const struct raw_node *raw,
			    struct execution_node *node)
{
	guint64 bytes;

	read_collective(reading, raw, node);
	if (raw->collective.n)
		node->collective = intern(reading, &raw->collective);
	if (raw->group_name.n)
		node->group = intern(reading, &raw->group_name);
	if (node->collective &&
	    strcmp(tacho_timeline_string(reading->trace->timeline, node->collective), "wait") == 0)
		node->collective = 0; /* waits for one, and asks for none */
	node->bytes = input_bytes(reading->trace, node);
	if (raw->in_elements > 0 &&
	    !__builtin_mul_overflow((guint64)raw->in_elements,
				    c10_dtype_bytes(raw->dtype.bytes, raw->dtype.n), &bytes) &&
	    bytes)
		node->bytes = bytes;
}

/* --- nodes ---------------------------------------------------------------------------------- */

static gboolean is_structure(const struct json_text *name)
{
	static const gchar prefix[] = "[pytorch|profiler|execution_";

	return name->n > strlen(prefix) && memcmp(name->bytes, prefix, strlen(prefix)) == 0;
}

static void add_node(struct reading *reading, const struct raw_node *raw, guint64 place)
{
	struct execution_node *node = execution_trace_begin_node(reading->trace);

	node->id = (guint64)raw->id;
	node->parent = (guint64)MAX(raw->parent, 0);
	node->record_function = raw->record_function;
	node->sequence = raw->sequence;
	node->forward_thread = (guint64)MAX(raw->forward_tid, 0);
	node->tid = (guint32)CLAMP(raw->tid, 0, (gint64)G_MAXUINT32);
	node->name = intern(reading, &raw->name);
	node->place = place;
	node->kind = raw->scope == USER_SCOPE ? TACHO_SLICE_ANNOTATION : TACHO_SLICE_OP;
	if (is_structure(&raw->name))
		node->role = EXECUTION_STRUCTURE;
	execution_trace_add_tensors(reading->trace, node, &raw->inputs.values, &raw->inputs.shapes,
				    &raw->inputs.types, FALSE);
	execution_trace_add_tensors(reading->trace, node, &raw->outputs.values,
				    &raw->outputs.shapes, &raw->outputs.types, TRUE);
	if (JSON_TEXT_IS(&raw->name, "record_param_comms"))
		fill_collective(reading, raw, node);
	else if (JSON_TEXT_IS(&raw->name, "## process_group:init ##"))
		read_groups(reading, raw);
}

static gboolean read_node(struct json_scan *scan, guint64 place, gpointer data)
{
	struct reading *reading = data;
	struct raw_node raw = { .record_function = -1, .sequence = -1, .id = -1 };
	struct json_text key;

	if (!json_take(scan, '{'))
		return FALSE;
	while (json_member(scan, &key))
		read_member(scan, &key, &raw);
	if (scan->status != JSON_OK)
		return FALSE;
	if (raw.id >= 0)
		add_node(reading, &raw, place);
	else
		reading->trace->n_unknown++;
	return TRUE;
}

/* --- files ---------------------------------------------------------------------------------- */

static void read_header(struct json_scan *scan, const struct json_text *key, gpointer data)
{
	struct reading *reading = data;

	if (JSON_TEXT_IS(key, "pid"))
		read_integer(scan, &reading->trace->pid);
	else
		json_skip(scan);
}

/* (2) */
static void use_trace(struct import *import, struct execution_trace *trace)
{
	trace->file = json_file_new(trace->path);
	execution_trace_sort(trace);
	if (execution_link(import, trace))
		return;
	tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_NO_TIMES, 1,
				   "%s: the trace has the order of operations but not their times; "
				   "each is shown as one nanosecond",
				   trace->path);
	execution_trace_place(import, trace, import_base_time(import));
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct reading reading = { .trace = execution_trace_new(import->timeline, path) };
	struct execution_json json = { .import = import,
				       .trace = reading.trace,
				       .list = "nodes",
				       .read_header = read_header,
				       .read_node = read_node,
				       .data = &reading };
	gboolean is_read;

	(void)data;
	reading.plain = g_string_new(NULL);
	reading.backends = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	is_read = execution_json_read(&json, error);
	if (is_read && reading.trace->nodes->len)
		use_trace(import, reading.trace);
	else
		execution_trace_free(reading.trace);
	g_string_free(reading.plain, TRUE);
	g_hash_table_unref(reading.backends);
	return is_read;
}

static gboolean sniff_pytorch_et(const struct sniff_input *input)
{
	const gchar *nodes = strstr(input->head, "\"nodes\"");

	return nodes &&
	       (json_head_has(input, "nodes", 1, "[") ||
		json_head_has_text(input, "schema", 1, "1.")) &&
	       !strstr(input->head, "\"traceEvents\"") &&
	       (strstr(nodes, "\"rf_id\"") || strstr(nodes, "\"op_schema\"") ||
		strstr(nodes, "[pytorch|profiler|execution_"));
}

const struct import_format import_pytorch_et = {
	.name = "pytorch_et",
	.title = "PyTorch execution trace, also gzip or zstd",
	.files = "*_et.json, *.json.gz",
	.sniff = sniff_pytorch_et,
	.read_file = read_file,
};
