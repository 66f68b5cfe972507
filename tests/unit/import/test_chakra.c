/* Chakra's execution traces, in protocol buffers and both forms of JSON. */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "import/execution/chakra.pb-c.h"
#include "timeline_text.h"

/* --- an .et, made by hand ------------------------------------------------------------------- */

struct node {
	guint64 id;
	const gchar *name;
	gint32 type;
	guint64 start_us, duration_us;
	guint64 data[3]; /* 0: none */
	guint64 control;
	gint32 is_host, tid; /* -1: not told */
	gint64 collective, bytes;
};

static void append_message(GByteArray *file, const ProtobufCMessage *message)
{
	gsize n = protobuf_c_message_get_packed_size(message), left = n;
	g_autofree guint8 *bytes = g_malloc(n + 1);

	protobuf_c_message_pack(message, bytes);
	do {
		guint8 byte = (guint8)(left & 0x7f);

		left >>= 7;
		byte |= left ? 0x80 : 0;
		g_byte_array_append(file, &byte, 1);
	} while (left);
	g_byte_array_append(file, bytes, (guint)n);
}

static ProtobufCBinaryData binary(const gchar *text)
{
	return (ProtobufCBinaryData){ .len = strlen(text), .data = (guint8 *)text };
}

static void append_node(GByteArray *file, const struct node *node)
{
	ChakraNode message = CHAKRA_NODE__INIT;
	ChakraAttribute attributes[5];
	ChakraAttribute *list[G_N_ELEMENTS(attributes)];
	ChakraTensors tensors = CHAKRA_TENSORS__INIT;
	guint64 data[3], control = node->control;
	gsize n = 0;

	for (guint i = 0; i < G_N_ELEMENTS(attributes); i++) {
		chakra_attribute__init(&attributes[i]);
		list[i] = &attributes[i];
	}
	message.id = node->id;
	message.name = binary(node->name);
	message.type = node->type;
	message.start_us = node->start_us;
	message.duration_us = node->duration_us;
	for (guint i = 0; i < G_N_ELEMENTS(data); i++)
		if (node->data[i])
			data[message.n_data_dependencies++] = node->data[i];
	message.data_dependencies = data;
	message.n_control_dependencies = control != 0;
	message.control_dependencies = &control;
	if (node->is_host >= 0) {
		attributes[n].name = binary("is_cpu_op");
		attributes[n].value_case = CHAKRA_ATTRIBUTE__VALUE_BOOL_VALUE;
		attributes[n++].bool_value = node->is_host;
	}
	if (node->tid >= 0) {
		attributes[n].name = binary("tid");
		attributes[n].value_case = CHAKRA_ATTRIBUTE__VALUE_UINT64_VALUE;
		attributes[n++].uint64_value = (guint64)node->tid;
	}
	if (node->bytes) {
		attributes[n].name = binary("comm_type");
		attributes[n].value_case = CHAKRA_ATTRIBUTE__VALUE_INT64_VALUE;
		attributes[n++].int64_value = node->collective;
		attributes[n].name = binary("comm_size");
		attributes[n].value_case = CHAKRA_ATTRIBUTE__VALUE_UINT64_VALUE;
		attributes[n++].uint64_value = (guint64)node->bytes;
		attributes[n].name = binary("pg_name");
		attributes[n].value_case = CHAKRA_ATTRIBUTE__VALUE_TEXT;
		attributes[n++].text = binary("7");
	}
	message.n_attributes = n;
	message.attributes = list;
	tensors.values = binary("[[1, 2, 3, 8, 4, 'cuda:0'], True, \"it's\"]");
	tensors.shapes = binary("[[2, 4], [], []]");
	tensors.types = binary("['Tensor(float)', 'Bool', 'String']");
	message.inputs = &tensors;
	append_message(file, &message.base);
}

static GByteArray *make_file(const struct node *nodes, guint n)
{
	GByteArray *file = g_byte_array_new();
	ChakraMetadata metadata = CHAKRA_METADATA__INIT;

	metadata.version = binary("0.0.4");
	append_message(file, &metadata.base);
	for (guint i = 0; i < n; i++)
		append_node(file, &nodes[i]);
	return file;
}

/* Two operations, a kernel of each, an all-reduce of what both made. */
static const struct node two_kernels[] = {
	{ 10, "op a", 4, 0, 5, { 0 }, 0, 1, 1, 0, 0 },
	{ 11, "op b", 4, 0, 5, { 10 }, 0, 1, 1, 0, 0 },
	{ 20, "kernel a", 4, 0, 30, { 10 }, 0, 0, 7, 0, 0 },
	{ 21, "kernel b", 4, 0, 20, { 11 }, 0, 0, 7, 0, 0 },
	{ 30, "nccl", 7, 0, 9, { 20, 21, 99 }, 11, -1, -1, 0, 4096 },
};

static gchar *write_nodes(const gchar *name, const struct node *nodes, guint n)
{
	g_autoptr(GByteArray) file = make_file(nodes, n);

	return foreign_write(name, (const gchar *)file->data, file->len);
}

static guint count_flows(const TachoTimeline *timeline, TachoFlowKind kind)
{
	guint n = 0;

	for (guint i = 0; i < timeline->flows->len; i++)
		n += g_array_index(timeline->flows, TachoFlow, i).kind == kind;
	return n;
}

static void assert_times(const TachoTimeline *timeline, const gchar *name, gint64 start_us,
			 gint64 duration_us)
{
	guint32 slice = timeline_find(timeline, name, 0);

	g_assert_cmpint(timeline->slices.start_ns[slice], ==, start_us * 1000);
	g_assert_cmpint(timeline->slices.duration_ns[slice], ==, duration_us * 1000);
}

static void assert_two_kernels(const TachoTimeline *timeline)
{
	guint32 kernel = timeline_find(timeline, "kernel b", 0);
	guint32 collective = timeline_find(timeline, "nccl", 0);

	assert_times(timeline, "op a", 0, 5);
	assert_times(timeline, "op b", 5, 5);
	assert_times(timeline, "kernel a", 5, 30);
	assert_times(timeline, "kernel b", 35, 20); /* the stream is busy until then */
	assert_times(timeline, "nccl", 55, 9);
	g_assert_cmpuint(timeline->slices.kind[kernel], ==, TACHO_SLICE_KERNEL);
	g_assert_cmpuint(timeline->slices.kind[collective], ==, TACHO_SLICE_COLLECTIVE);
	g_assert_cmpuint(timeline->slices.launch[kernel], ==, timeline_find(timeline, "op b", 0));
	g_assert_cmpuint(count_flows(timeline, TACHO_FLOW_DATA), ==, 5);
	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_COMPUTED_TIMES));
}

static void test_messages(void)
{
	gchar *path = write_nodes("workload.3.et", two_kernels, G_N_ELEMENTS(two_kernels));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	guint32 collective, operation;
	g_autofree gchar *args_json = NULL;
	TachoCollectiveArgs args;
	TachoTensor tensor;

	tacho_correlate(timeline);
	assert_two_kernels(timeline);
	g_assert_cmpuint(count_flows(timeline, TACHO_FLOW_CONTROL), ==, 1);
	g_assert_cmpint(g_array_index(timeline->ranks, TachoRank, 0).rank, ==, 3);
	collective = timeline_find(timeline, "nccl", 0);
	operation = timeline_find(timeline, "op a", 0);
	g_assert_true(tacho_slice_collective(timeline, collective, &args));
	g_assert_cmpuint(args.bytes, ==, 4096);
	g_assert_cmpuint(args.group, !=, 0);
	g_assert_true(tacho_slice_input(timeline, operation, 0, &tensor));
	g_assert_cmpuint(tensor.storage, ==, 2);
	g_assert_cmpuint(tensor.offset_bytes, ==, 12);
	g_assert_cmpint(tensor.shape[1], ==, 4);
	g_assert_cmpstr(tensor.device, ==, "cuda:0");
	g_assert_false(tacho_slice_input(timeline, operation, 1, &tensor));
	args_json = tacho_slice_args_json(timeline, collective);
	g_assert_nonnull(strstr(args_json, "\"data_deps\":[20,21,99]"));
	g_assert_nonnull(strstr(args_json, "\"pg_name\":\"7\""));
	foreign_remove(path);
}

/* The same nodes as "workload_graph", and as chakra_jsonizer writes them. */
static void test_json(void)
{
	static const gchar graph[] =
		"{\"workload_name\": \"w\", \"workload_graph\": ["
		"{\"Id\": 10, \"Name\": \"op a\", \"NodeType\": 4, \"runtime\": 5, \"data_deps\": "
		"[], "
		"\"is_cpu_op\": true},"
		"{\"Id\": 11, \"Name\": \"op b\", \"NodeType\": 4, \"runtime\": 5, \"data_deps\": "
		"[10], "
		"\"is_cpu_op\": true},"
		"{\"Id\": 20, \"Name\": \"kernel a\", \"NodeType\": 4, \"runtime\": 30, "
		"\"data_deps\": [10], \"is_cpu_op\": false},"
		"{\"Id\": 21, \"Name\": \"kernel b\", \"NodeType\": 4, \"runtime\": 20, "
		"\"data_deps\": [11], \"is_cpu_op\": false},"
		"{\"Id\": 30, \"Name\": \"nccl\", \"NodeType\": 7, \"runtime\": 9, \"ctrlDeps\": "
		"[11], "
		"\"data_deps\": [20, 21, 99], \"comm_size\": 4096}], \"ngpus\": 8}";
	static const gchar lines[] =
		"{\n  \"version\": \"0.0.4\"\n}\n"
		"{\"id\": \"10\", \"name\": \"op a\", \"type\": \"COMP_NODE\", \"durationMicros\": "
		"\"5\", \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": true}]}\n"
		"{\"id\": \"11\", \"name\": \"op b\", \"type\": \"COMP_NODE\", \"durationMicros\": "
		"\"5\", \"dataDeps\": [\"10\"], \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": "
		"true}]}\n"
		"{\"id\": \"20\", \"name\": \"kernel a\", \"type\": \"COMP_NODE\", "
		"\"durationMicros\": "
		"\"30\", \"dataDeps\": [\"10\"], \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": "
		"false}]}\n"
		"{\"id\": \"21\", \"name\": \"kernel b\", \"type\": \"COMP_NODE\", "
		"\"durationMicros\": "
		"\"20\", \"dataDeps\": [\"11\"], \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": "
		"false}, {\"name\": \"tid\", \"uint64Val\": \"0\"}]}\n"
		"{\"id\": \"30\", \"name\": \"nccl\", \"type\": \"COMM_COLL_NODE\", "
		"\"durationMicros\": \"9\", \"ctrlDeps\": [\"11\"], \"dataDeps\": [\"20\", \"21\", "
		"\"99\"]}\n";
	g_autoptr(TachoTimeline) first = foreign_open_text("a.0.json", graph);
	g_autoptr(TachoTimeline) second = foreign_open_text("b.0.json", lines);

	assert_two_kernels(first);
	assert_two_kernels(second);
	g_assert_cmpuint(first->problems->len, ==, 1);
	g_assert_cmpuint(second->problems->len, ==, 1);
}

/* Whoever writes proto3 leaves out an id that is 0, in messages and in their JSON. */
static void assert_first_is_0(const TachoTimeline *timeline)
{
	g_assert_cmpuint(timeline->slices.n, ==, 2);
	assert_times(timeline, "first", 0, 5);
	assert_times(timeline, "second", 5, 7);
	g_assert_cmpuint(count_flows(timeline, TACHO_FLOW_DATA), ==, 1);
	g_assert_null(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD));
}

static void test_id_0(void)
{
	/* metadata; { name "first", type 4, 5 us }; { id 1, name "second", type 4, after 0, 7 us } */
	static const gchar messages[] = "\x07\x0a\x05"
					"0.0.4"
					"\x0b\x12\x05"
					"first"
					"\x18\x04\x38\x05"
					"\x11\x08\x01\x12\x06"
					"second"
					"\x18\x04\x2a\x01\x00\x38\x07";
	static const gchar lines[] =
		"{\"version\": \"0.0.4\"}\n"
		"{\"name\": \"first\", \"type\": \"COMP_NODE\", \"durationMicros\": \"5\"}\n"
		"{\"id\": \"1\", \"name\": \"second\", \"type\": \"COMP_NODE\", "
		"\"durationMicros\": \"7\", \"dataDeps\": [\"0\"]}\n";
	gchar *path = foreign_write("zero.0.et", messages, sizeof(messages) - 1);
	g_autoptr(TachoTimeline) binary = foreign_open(path);
	g_autoptr(TachoTimeline) json = foreign_open_text("zero.0.json", lines);

	assert_first_is_0(binary);
	assert_first_is_0(json);
	foreign_remove(path);
}

/* Where nodes tell when they began, that holds. */
static void test_told_times(void)
{
	static const struct node nodes[] = {
		{ 1, "a", 4, 1000, 5, { 0 }, 0, 1, 1, 0, 0 },
		{ 2, "b", 4, 1050, 7, { 1 }, 0, 0, 7, 0, 0 },
	};
	gchar *path = write_nodes("x.0.et", nodes, G_N_ELEMENTS(nodes));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	assert_times(timeline, "a", 0, 5);
	assert_times(timeline, "b", 50, 7);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	foreign_remove(path);
}

/* Nodes that wait for each other, for themselves, for nobody; without any duration at all. */
static void test_circle(void)
{
	static const struct node nodes[] = {
		{ 1, "a", 4, 0, 5, { 2 }, 0, 1, 1, 0, 0 },
		{ 2, "b", 4, 0, 5, { 1 }, 0, 1, 1, 0, 0 },
		{ 3, "c", 4, 0, 5, { 3 }, 0, 1, 1, 0, 0 },
	};
	static const struct node no_times[] = { { 1, "a", 4, 0, 0, { 0 }, 0, 1, 1, 0, 0 } };
	gchar *path = write_nodes("x.0.et", nodes, G_N_ELEMENTS(nodes));
	gchar *second_path = write_nodes("y.0.et", no_times, G_N_ELEMENTS(no_times));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	g_autoptr(TachoTimeline) second = foreign_open(second_path);

	assert_times(timeline, "c", 0, 5);
	assert_times(timeline, "a", 5, 5);
	assert_times(timeline, "b", 10, 5);
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CIRCULAR_DEPENDENCY)->count, ==,
		2);
	g_assert_nonnull(tacho_timeline_find_problem(second, TACHO_PROBLEM_NO_TIMES));
	foreign_remove(path);
	foreign_remove(second_path);
}

static void test_broken(void)
{
	g_autoptr(GByteArray) file = make_file(two_kernels, G_N_ELEMENTS(two_kernels));
	gchar *path = foreign_write("cut.0.et", (const gchar *)file->data, file->len - 3);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	g_assert_cmpuint(timeline->slices.n, ==, 4);
	g_assert_nonnull(
		strstr(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE)->where,
		       "byte "));
	foreign_damage(path, 400);
	foreign_remove(path);
}

/* --- samples -------------------------------------------------------------------------------- */

/* The number that the node has in its trace. */
static guint64 node_id(const TachoTimeline *timeline, guint32 slice)
{
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, slice);
	const gchar *at = strstr(args_json, "\"id\":");

	if (!at)
		at = strstr(args_json, "\"Id\":");
	g_assert_nonnull(at);
	return strtoull(at + strlen("\"id\":"), NULL, 10);
}

static gint compare_ids(gconstpointer first, gconstpointer second)
{
	guint64 a = *(const guint64 *)first, b = *(const guint64 *)second;

	return a < b ? -1 : a > b;
}

/* C1: which nodes may be issued first, and who depends on the first of them. */
static void test_oracle(void)
{
	static const gchar *const names[] = { "chakra/chakra/chakra.0.et",
					      "chakra/chakra/chakra.0.json.gz",
					      "chakra/chakra/small_chakra.0.json" };

	for (guint k = 0; k < G_N_ELEMENTS(names); k++) {
		g_autofree gchar *path = foreign_sample(names[k]);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		g_autoptr(GArray) free_ids = g_array_new(FALSE, FALSE, sizeof(guint64));
		g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(guint64));
		g_autofree gboolean *waits = NULL;

		if (!timeline)
			return;
		waits = g_new0(gboolean, timeline->slices.n);
		for (guint i = 0; i < timeline->flows->len; i++) {
			const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);
			guint64 id;

			if (flow->kind != TACHO_FLOW_DATA)
				continue;
			waits[flow->to] = TRUE;
			if (timeline->slices.start_ns[flow->from] != 0)
				continue; /* the first issued is the first to begin */
			id = node_id(timeline, flow->to);
			g_assert_cmpuint(node_id(timeline, flow->from), ==, 216);
			g_array_append_val(children, id);
		}
		for (guint32 i = 0; i < timeline->slices.n; i++) {
			guint64 id = waits[i] ? 0 : node_id(timeline, i);

			if (id)
				g_array_append_val(free_ids, id);
		}
		g_array_sort(free_ids, compare_ids);
		g_array_sort(children, compare_ids);
		g_assert_cmpuint(g_array_index(free_ids, guint64, 0), ==, 216);
		g_assert_cmpuint(g_array_index(free_ids, guint64, 1), ==, 432);
		g_assert_cmpuint(g_array_index(children, guint64, 0), ==, 217);
		g_assert_cmpuint(g_array_index(children, guint64, 1), ==, 430);
		g_assert_cmpuint(g_array_index(children, guint64, 2), ==, 435);
		g_assert_cmpuint(timeline->slices.n, ==, k == 2 ? 7 : 3664);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc == 3 && strcmp(argv[1], "--make-seed") == 0) { /* of tests/fuzz/corpus */
		g_autoptr(GByteArray) file = make_file(two_kernels, G_N_ELEMENTS(two_kernels));

		return !g_file_set_contents(argv[2], (const gchar *)file->data, file->len, NULL);
	}
	g_test_add_func("/chakra/messages", test_messages);
	g_test_add_func("/chakra/json", test_json);
	g_test_add_func("/chakra/id_0", test_id_0);
	g_test_add_func("/chakra/told_times", test_told_times);
	g_test_add_func("/chakra/circle", test_circle);
	g_test_add_func("/chakra/broken", test_broken);
	g_test_add_func("/chakra/oracle", test_oracle);
	return g_test_run();
}
