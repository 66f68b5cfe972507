#include "import/byteprofile/byteprofile_ops.h"

#include <string.h>

#include "import/read/small_file.h"
#include "import/tensorflow/tf_ops.h"
#include "trace/source.h"

enum {
	MAX_NODES = 1 << 20,
	MAX_INPUTS = 1 << 22,
	MAX_DIMS_TOLD = 64, /* of one shape: more are not looked at */
};

struct byteprofile_ops {
	TachoTimeline *timeline;
	struct tf_ops *graph; /* the timeline's; NULL: it has too many readers to take another */
	guint32 foreign;
	guint8 *is_update;     /* by node: (2) */
	GHashTable *gradients; /* number + 1 -> identity, guint64 */
};

/* --- the file ------------------------------------------------------------------------------- */

/* An object that tells of a tensor. */
struct description {
	struct tf_input from; /* the node and output of its name */
	gboolean has_name;
	struct tf_tensor tensor;
};

static gint32 dtype_number(const struct json_text *text)
{
	gsize n = text->n;
	guint8 bytes;

	if (n > 4 && memcmp(text->bytes + n - 4, "_ref", 4) == 0)
		n -= 4;
	for (gint32 dtype = 1; *tf_dtype_name(dtype, &bytes); dtype++)
		if (strlen(tf_dtype_name(dtype, &bytes)) == n &&
		    memcmp(tf_dtype_name(dtype, &bytes), text->bytes, n) == 0)
			return dtype;
	return 0;
}

static void read_shape(struct json_scan *scan, struct tf_ops *graph, struct tf_tensor *tensor)
{
	gint64 sizes[MAX_DIMS_TOLD];
	gboolean is_known = TRUE;
	gsize n = 0;

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		gint64 size = -1;

		is_known &= json_fixed(scan, 0, &size) && size >= 0 && n < MAX_DIMS_TOLD;
		if (is_known)
			sizes[n++] = size;
	}
	if (is_known)
		tensor->dims = tf_ops_tuple(graph, sizes, n);
}

static struct description read_tensor(struct json_scan *scan, struct tf_ops *graph)
{
	struct description told = { .tensor.bytes = TF_NOT_TOLD };
	struct json_text key, text;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "shape")) {
			read_shape(scan, graph, &told.tensor);
		} else if (JSON_TEXT_IS(&key, "dtype") && json_peek(scan) == '"') {
			if (json_string(scan, &text))
				told.tensor.dtype = dtype_number(&text);
		} else if (JSON_TEXT_IS(&key, "name") && json_peek(scan) == '"') {
			told.has_name = json_string(scan, &text);
			if (told.has_name) {
				g_autofree gchar *name = json_text_dup(&text);

				told.from = tf_ops_input(graph, name, strlen(name));
			}
		} else {
			json_skip(scan);
		}
	}
	told.tensor.slot = told.from.slot;
	return told;
}

static gboolean is_full(const struct tf_ops *graph)
{
	return graph->nodes->len >= MAX_NODES || graph->inputs->len >= MAX_INPUTS ||
	       graph->tensors->len >= MAX_INPUTS;
}

static void read_inputs(struct json_scan *scan, struct tf_ops *graph, guint32 node)
{
	struct tf_rows inputs = { .first = graph->inputs->len };

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		struct description told;
		struct tf_node *from;

		if (json_peek(scan) != '{' || is_full(graph)) {
			json_skip(scan);
			continue;
		}
		told = read_tensor(scan, graph);
		if (!told.has_name || told.from.slot >= 1 << 16) /* of control */
			continue;
		g_array_append_val(graph->inputs, told.from);
		inputs.n++;
		from = tf_ops_node(graph, told.from.node);
		if (from->outputs.n || told.from.slot) /* what it gives stands by itself */
			continue;
		from->outputs = (struct tf_rows){ graph->tensors->len, 1 };
		g_array_append_val(graph->tensors, told.tensor);
	}
	tf_ops_node(graph, node)->inputs = inputs;
}

static void read_outputs(struct json_scan *scan, struct tf_ops *graph, guint32 node)
{
	struct tf_rows outputs = { .first = graph->tensors->len };

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		struct description told;

		if (json_peek(scan) != '{' || is_full(graph)) {
			json_skip(scan);
			continue;
		}
		told = read_tensor(scan, graph);
		told.tensor.slot = outputs.n++;
		g_array_append_val(graph->tensors, told.tensor);
	}
	if (outputs.n)
		tf_ops_node(graph, node)->outputs = outputs;
}

static void read_node(struct json_scan *scan, struct tf_ops *graph, guint32 node)
{
	struct json_text key, text;

	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "input")) {
			read_inputs(scan, graph, node);
		} else if (JSON_TEXT_IS(&key, "output")) {
			read_outputs(scan, graph, node);
		} else if (JSON_TEXT_IS(&key, "op") && json_peek(scan) == '"') {
			if (json_string(scan, &text))
				tf_ops_node(graph, node)->type = tacho_timeline_intern(
					graph->timeline, text.bytes, (gssize)text.n);
		} else {
			json_skip(scan);
		}
	}
}

/* {"OP": {"op": "TYPE", "input": [{...}], "output": [{...}]}, ...} */
static void read_graph(const GByteArray *bytes, struct tf_ops *graph)
{
	struct json_scan scan = small_file_scan(bytes);
	struct json_text key;

	if (json_peek(&scan) != '{')
		return;
	json_take(&scan, '{');
	while (json_member(&scan, &key)) {
		g_autofree gchar *name = json_text_dup(&key);

		if (is_full(graph)) {
			json_skip(&scan);
			continue;
		}
		if (json_enter(&scan, '{'))
			read_node(&scan, graph, tf_ops_input(graph, name, strlen(name)).node);
	}
}

/* --- who exchanges gradients ---------------------------------------------------------------- */

/* The numbers of the gradients that a node exchanges: behind the "." or "_" after its kind; NULL: it does not. */
static const gchar *exchanged(const gchar *name)
{
	const gchar *kind = strcasestr(name, "allreduce"), *last = NULL;

	for (; kind; kind = strcasestr(kind + 1, "allreduce"))
		last = kind + strlen("allreduce");
	for (kind = strstr(name, "BytePSPushPull"); kind; kind = strstr(kind + 1, "BytePSPushPull"))
		last = kind + strlen("BytePSPushPull");
	if (!last || (*last != '.' && *last != '_') || !g_ascii_isdigit(last[1]))
		return NULL;
	return last + 1;
}

/* (1): the first input of the node is the first number's. */
static void note_gradients(byteprofile_ops *ops, guint32 node)
{
	const struct tf_ops *graph = ops->graph;
	const struct tf_node *at = tf_ops_node(graph, node);
	const gchar *text = exchanged(tacho_timeline_string(graph->timeline, at->name));

	for (guint32 i = 0; text && i < at->inputs.n && g_ascii_isdigit(*text); i++) {
		const struct tf_input *input =
			&g_array_index(graph->inputs, struct tf_input, at->inputs.first + i);
		guint64 identity = ((guint64)input->node + 1) << 16 | input->slot;
		gchar *end;
		guint64 number = g_ascii_strtoull(text, &end, 10);

		g_hash_table_insert(ops->gradients, g_memdup2(&number, sizeof(number)),
				    g_memdup2(&identity, sizeof(identity)));
		text = *end == '+' || *end == '_' ? end + 1 : end;
	}
}

/* The nodes that take something of each node: of node i, rows[first[i]] up to rows[first[i + 1]]. */
struct users {
	guint32 *first, *rows;
};

static struct users find_users(const struct tf_ops *graph)
{
	struct users users = { g_new0(guint32, (gsize)graph->nodes->len + 2),
			       g_new(guint32, MAX(graph->inputs->len, 1u)) };

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		struct tf_rows inputs = tf_ops_node(graph, i)->inputs;

		for (guint32 j = inputs.first; j < inputs.first + inputs.n; j++)
			users.first[g_array_index(graph->inputs, struct tf_input, j).node + 2]++;
	}
	for (guint i = 2; i < graph->nodes->len + 2; i++)
		users.first[i] += users.first[i - 1];
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		struct tf_rows inputs = tf_ops_node(graph, i)->inputs;

		for (guint32 j = inputs.first; j < inputs.first + inputs.n; j++)
			users.rows
				[users.first[g_array_index(graph->inputs, struct tf_input, j).node +
					     1]++] = i;
	}
	return users;
}

/* (2) */
static void find_updates(byteprofile_ops *ops)
{
	const struct tf_ops *graph = ops->graph;
	struct users users = find_users(graph);
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));

	ops->is_update = g_new0(guint8, MAX(graph->nodes->len, 1u));
	for (guint32 i = 0; i < graph->nodes->len; i++)
		if (exchanged(tacho_timeline_string(graph->timeline, tf_ops_node(graph, i)->name)))
			g_array_append_val(open, i);
	while (open->len) {
		guint32 node = g_array_index(open, guint32, open->len - 1);

		g_array_set_size(open, open->len - 1);
		for (guint32 i = users.first[node]; i < users.first[node + 1]; i++) {
			if (ops->is_update[users.rows[i]])
				continue;
			ops->is_update[users.rows[i]] = 1;
			g_array_append_val(open, users.rows[i]);
		}
	}
	g_free(users.first);
	g_free(users.rows);
}

/* --- the whole ------------------------------------------------------------------------------ */

byteprofile_ops *byteprofile_ops_read(TachoTimeline *timeline, const gchar *const *folders)
{
	byteprofile_ops *ops = g_new0(byteprofile_ops, 1);

	ops->timeline = timeline;
	ops->graph = tf_ops_new(timeline, NULL);
	ops->gradients = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	for (; *folders && !ops->graph->nodes->len; folders++) {
		g_autofree gchar *path = g_build_filename(*folders, "metadata.json", NULL);
		g_autoptr(GByteArray) bytes =
			g_file_test(path, G_FILE_TEST_IS_REGULAR) ? small_file_read(path) : NULL;

		if (bytes)
			read_graph(bytes, ops->graph);
	}
	for (guint32 i = 0; i < ops->graph->nodes->len; i++)
		note_gradients(ops, i);
	find_updates(ops);
	ops->foreign = tacho_source_take_foreign(timeline->source, &ops->graph->reader);
	if (ops->foreign >= SOURCE_MAX_FOREIGN)
		ops->graph = NULL;
	return ops;
}

void byteprofile_ops_free(byteprofile_ops *ops)
{
	if (!ops)
		return;
	g_hash_table_unref(ops->gradients);
	g_free(ops->is_update);
	g_free(ops);
}

/* The node, if the file tells of it; TACHO_NONE: it does not. */
static guint32 find_node(const byteprofile_ops *ops, guint32 name)
{
	gpointer found = ops->graph
				 ? g_hash_table_lookup(ops->graph->by_name, GUINT_TO_POINTER(name))
				 : NULL;
	guint32 node = GPOINTER_TO_UINT(found) - 1;

	return found && tf_ops_node(ops->graph, node)->type ? node : TACHO_NONE;
}

/* Optimizers of Keras call what they do "SGD/SGD/update_3/ResourceApplyGradientDescent". */
static gboolean is_update_name(const gchar *name)
{
	static const gchar *const words[] = { "GradientDescent", "/Assign",  "ResourceApply",
					      "SparseApply",	 "/update/", "/update_",
					      "UPDATE_",	 NULL };
	const gchar *last = strrchr(name, '/');

	for (guint i = 0; words[i]; i++)
		if (strstr(name, words[i]))
			return TRUE;
	return g_str_has_prefix(last ? last + 1 : name, "Apply") ||
	       g_str_has_prefix(name, "Assign") || g_str_has_prefix(name, "SGD");
}

guint8 byteprofile_ops_phase(const byteprofile_ops *ops, const gchar *name)
{
	guint32 node = TACHO_NONE;

	if (ops)
		node = find_node(ops, tacho_timeline_intern(ops->timeline, name, -1));
	if ((node != TACHO_NONE && ops->is_update[node]) || is_update_name(name))
		return TACHO_SLICE_UPDATE;
	if (g_str_has_prefix(name, "gradient_tape") || g_str_has_prefix(name, "gradients") ||
	    g_str_has_prefix(name, "BW.") || strstr(name, "_backward"))
		return TACHO_SLICE_BACKWARD;
	return 0;
}

guint32 byteprofile_ops_add_file(byteprofile_ops *ops, const gchar *path)
{
	return ops->graph ? tf_ops_add_file(ops->graph, path) : 0;
}

guint64 byteprofile_ops_add_run(byteprofile_ops *ops, guint32 name, guint32 file, guint64 place)
{
	struct tf_run run = { .node = find_node(ops, name),
			      .file = file,
			      .place = place,
			      .allocated_bytes = TF_NOT_TOLD,
			      .peak_bytes = TF_NOT_TOLD,
			      .residual_bytes = TF_NOT_TOLD,
			      .output_bytes = TF_NOT_TOLD };

	if (run.node == TACHO_NONE)
		return 0;
	g_array_append_val(ops->graph->runs, run);
	return tacho_source_foreign_handle(ops->foreign, ops->graph->runs->len - 1);
}

guint64 byteprofile_ops_gradient(const byteprofile_ops *ops, guint64 number)
{
	const guint64 *identity = g_hash_table_lookup(ops->gradients, &number);

	return identity ? *identity : 0;
}
