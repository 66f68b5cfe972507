/* chakra_json: a list "workload_graph", and what chakra_jsonizer makes of an .et: nodes one behind the other. */
#include "import/execution/chakra_json.h"

#include <string.h>

#include "import/execution/chakra_node.h"
#include "import/execution/execution_json.h"

static const gchar *const type_names[] = {
	[CHAKRA_METADATA] = "METADATA_NODE",	[CHAKRA_LOAD] = "MEM_LOAD_NODE",
	[CHAKRA_STORE] = "MEM_STORE_NODE",	[CHAKRA_COMPUTE] = "COMP_NODE",
	[CHAKRA_SEND] = "COMM_SEND_NODE",	[CHAKRA_RECEIVE] = "COMM_RECV_NODE",
	[CHAKRA_COLLECTIVE] = "COMM_COLL_NODE", [CHAKRA_STORAGE] = "STORAGE_NODE",
	[CHAKRA_BATCH] = "BATCH_NODE",		[CHAKRA_CHECKPOINT] = "CHECKPOINT_NODE",
};

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
static void read_fact(struct json_scan *scan, const struct json_text *name,
		      struct chakra_facts *facts)
{
	gint64 *number = chakra_facts_find(facts, name->bytes, name->n), value;

	if (number && read_number(scan, &value))
		*number = value;
	else if (JSON_TEXT_IS(name, "pg_name") && json_peek(scan) == '"')
		json_string(scan, &facts->group);
	else if (!number)
		json_skip(scan);
}

/* [{"name": "is_cpu_op", "boolVal": true}, ...] */
static void read_attributes(struct json_scan *scan, struct chakra_facts *facts)
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
	gint64 id, start_us, duration_us; /* proto3 leaves out an id that is 0 */
	gboolean is_node;
	struct json_text name;
	struct json_scan data, control;
	struct chakra_facts facts;
};

static void read_member(struct json_scan *scan, const struct json_text *key, struct raw_node *raw)
{
	gint64 value;

	json_peek(scan);
	switch (member_of(key)) {
	case MEMBER_ID:
		if (read_number(scan, &value)) {
			raw->id = value;
			raw->is_node = value >= 0;
		}
		break;
	case MEMBER_NAME:
		if (json_peek(scan) == '"')
			json_string(scan, &raw->name);
		else
			json_skip(scan);
		break;
	case MEMBER_TYPE:
		raw->facts.type = read_type(scan);
		raw->is_node |= raw->id == 0;
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
	node->start_ns = raw->start_us > 0 ? chakra_ns((guint64)raw->start_us) : -1;
	node->duration_ns = raw->duration_us >= 0 ? chakra_ns((guint64)raw->duration_us) : -1;
	read_dependencies(trace, &raw->data, node, TACHO_FLOW_DATA);
	read_dependencies(trace, &raw->control, node, TACHO_FLOW_CONTROL);
	chakra_facts_use(trace, node, &raw->facts);
}

static gboolean read_node(struct json_scan *scan, guint64 place, gpointer data)
{
	struct execution_trace *trace = data;
	struct raw_node raw = { .duration_us = -1, .facts = CHAKRA_NO_FACTS };
	struct json_text key;

	if (!json_take(scan, '{'))
		return FALSE;
	while (json_member(scan, &key))
		read_member(scan, &key, &raw);
	if (scan->status != JSON_OK)
		return FALSE;
	if (raw.is_node)
		add_raw(trace, &raw, place);
	else if (
		trace->nodes
			->len) /* what chakra_jsonizer writes begins with what tells of the whole */
		trace->n_unknown++;
	return TRUE;
}

gboolean chakra_json_read(struct import *import, struct execution_trace *trace, GError **error)
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
