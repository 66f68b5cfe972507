#include "import/execution/execution_trace.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/execution/execution_args.h"
#include "import/c10_dtype.h"
#include "trace/mark_kind.h"
#include "trace/source.h"

enum {
	MAX_DEPTH = 16,	   /* of lists of lists of tensors */
	TENSOR_VALUES = 5, /* numbers that a tensor is told by */
};

/* --- making --------------------------------------------------------------------------------- */

struct execution_trace *execution_trace_new(TachoTimeline *timeline, const gchar *path)
{
	struct execution_trace *trace = g_new0(struct execution_trace, 1);

	trace->timeline = timeline;
	trace->path = g_strdup(path);
	trace->nodes = g_array_new(FALSE, TRUE, sizeof(struct execution_node));
	trace->tensors = g_array_new(FALSE, TRUE, sizeof(struct execution_tensor));
	trace->dims = g_array_new(FALSE, FALSE, sizeof(gint64));
	trace->dependencies = g_array_new(FALSE, FALSE, sizeof(guint64));
	trace->groups = g_array_new(FALSE, TRUE, sizeof(struct execution_group));
	trace->pid = -1;
	return trace;
}

void execution_trace_free(struct execution_trace *trace)
{
	if (!trace)
		return;
	json_file_free(trace->file);
	if (trace->texts)
		trace->texts->free(trace->texts);
	g_array_unref(trace->nodes);
	g_array_unref(trace->tensors);
	g_array_unref(trace->dims);
	g_array_unref(trace->dependencies);
	g_array_unref(trace->groups);
	g_free(trace->path);
	g_free(trace);
}

struct execution_node *execution_trace_begin_node(struct execution_trace *trace)
{
	struct execution_node node = {
		.record_function = -1,
		.sequence = -1,
		.start_ns = -1,
		.duration_ns = -1,
		.first_tensor = trace->tensors->len,
		.first_dependency = trace->dependencies->len,
		.parent_index = TACHO_NONE,
		.kind = TACHO_SLICE_OP,
		.role = EXECUTION_HOST,
	};

	g_array_append_val(trace->nodes, node);
	return execution_trace_node(trace, trace->nodes->len - 1);
}

void execution_trace_add_dependency(struct execution_trace *trace, struct execution_node *node,
				    guint64 id, TachoFlowKind kind)
{
	g_array_append_val(trace->dependencies, id);
	node->n_dependencies++;
	node->n_data_dependencies += kind == TACHO_FLOW_DATA;
}

void execution_trace_add_group(struct execution_trace *trace, guint32 name, const gchar *ranks)
{
	struct execution_group group = { .name = name };

	for (guint i = 0; i < trace->groups->len; i++)
		if (g_array_index(trace->groups, struct execution_group, i).name == name)
			return;
	group.ranks = tacho_timeline_intern(trace->timeline, ranks, -1);
	g_array_append_val(trace->groups, group);
}

/* --- tensors -------------------------------------------------------------------------------- */

static void read_dims(struct execution_trace *trace, struct json_scan *shape,
		      struct execution_tensor *tensor)
{
	gint64 size;

	tensor->first_dim = trace->dims->len;
	if (json_peek(shape) != '[')
		return;
	json_take(shape, '[');
	while (json_element(shape))
		if (json_fixed(shape, 0, &size) && tensor->n_dims < TACHO_MAX_DIMS) {
			g_array_append_val(trace->dims, size);
			tensor->n_dims++;
		}
}

/* "float" of "Tensor(float)" */
static void read_dtype(const struct json_text *type, struct execution_tensor *tensor)
{
	gsize n_prefix = strlen("Tensor(");

	tensor->dtype = "";
	if (type->n > n_prefix && type->bytes[type->n - 1] == ')')
		tensor->dtype = c10_dtype_name(type->bytes + n_prefix, type->n - n_prefix - 1);
}

static gboolean read_tensor(struct execution_trace *trace, struct json_scan *value,
			    struct json_scan *shape, const struct json_text *type, guint argument)
{
	struct execution_tensor tensor = { .argument = (guint16)MIN(argument, G_MAXUINT16) };
	gint64 numbers[TENSOR_VALUES] = { 0 };
	struct json_text device = { 0 };
	guint n = 0;

	json_take(value, '[');
	for (; json_element(value); n++) {
		if (n < TENSOR_VALUES)
			json_fixed(value, 0, &numbers[n]);
		else if (n == TENSOR_VALUES && json_peek(value) == '"')
			json_string(value, &device);
		else
			json_skip(value);
	}
	if (n < TENSOR_VALUES)
		return FALSE;
	read_dtype(type, &tensor);
	read_dims(trace, shape, &tensor);
	tensor.tensor = (guint64)numbers[0];
	tensor.storage = (guint64)numbers[1];
	tensor.element_bytes = (guint8)CLAMP(numbers[4], 0, G_MAXUINT8);
	if (numbers[2] < 0 ||
	    __builtin_mul_overflow((guint64)numbers[2], tensor.element_bytes, &tensor.offset_bytes))
		tensor.offset_bytes = 0;
	if (device.n)
		tensor.device =
			tacho_timeline_intern(trace->timeline, device.bytes, (gssize)device.n);
	g_array_append_val(trace->tensors, tensor);
	return TRUE;
}

static gboolean is_tensor_type(const struct json_text *type)
{
	return type->n >= strlen("Tensor(") &&
	       memcmp(type->bytes, "Tensor(", strlen("Tensor(")) == 0;
}

/* The types inside "GenericList[A,B[C,D]]", one at each call; false: there are no more. */
static gboolean next_type(struct json_text *rest, struct json_text *type)
{
	gint depth = 0;
	gsize n = 0;

	if (!rest->n)
		return FALSE;
	for (; n < rest->n && (depth || rest->bytes[n] != ','); n++) {
		gchar c = rest->bytes[n];

		depth += (c == '[' || c == '(') - (c == ']' || c == ')');
	}
	*type = (struct json_text){ .bytes = rest->bytes, .n = n };
	n += n < rest->n;
	rest->bytes += n;
	rest->n -= n;
	return TRUE;
}

/* What is between the brackets of a list's type; none: it is no list. */
static struct json_text types_inside(const struct json_text *type)
{
	const gchar *open = type->n ? memchr(type->bytes, '[', type->n) : NULL;
	gsize n_before = open ? (gsize)(open + 1 - type->bytes) : 0;

	if (!open || type->bytes[type->n - 1] != ']' || type->n <= n_before)
		return (struct json_text){ 0 };
	return (struct json_text){ .bytes = open + 1, .n = type->n - n_before - 1 };
}

static guint read_value(struct execution_trace *trace, struct json_scan *value,
			struct json_scan *shape, const struct json_text *type, guint argument,
			guint depth);

static guint read_list(struct execution_trace *trace, struct json_scan *value,
		       struct json_scan *shape, struct json_text types, guint argument, guint depth)
{
	gboolean has_shapes = json_peek(shape) == '[' && json_take(shape, '[');
	struct json_text type;
	guint n = 0;

	json_take(value, '[');
	while (json_element(value)) {
		struct json_scan nothing = { 0 };

		has_shapes = has_shapes && json_element(shape);
		if (next_type(&types, &type)) {
			n += read_value(trace, value, has_shapes ? shape : &nothing, &type,
					argument, depth);
			continue;
		}
		json_skip(value);
		if (has_shapes)
			json_skip(shape);
	}
	while (has_shapes && json_element(shape))
		json_skip(shape);
	return n;
}

/* Read a value of that type, or pass over it, and over its shape; how many tensors were in it. */
static guint read_value(struct execution_trace *trace, struct json_scan *value,
			struct json_scan *shape, const struct json_text *type, guint argument,
			guint depth)
{
	struct json_scan shape_here;
	struct json_text inside;
	guint n = 0;

	json_peek(shape);
	shape_here = *shape;
	json_skip(shape);
	if (json_peek(value) != '[' || depth > MAX_DEPTH) {
		json_skip(value);
		return 0;
	}
	inside = types_inside(type);
	if (is_tensor_type(type))
		n = read_tensor(trace, value, &shape_here, type, argument);
	else if (inside.n)
		n = read_list(trace, value, &shape_here, inside, argument, depth + 1);
	else
		json_skip(value);
	return n;
}

/* A scan of the member's text; of nothing where the node does not have the member. */
static struct json_scan scan_of(const struct json_text *text)
{
	const gchar *bytes = text->bytes ? text->bytes : "";

	return (struct json_scan){ .at = bytes, .end = bytes + text->n };
}

void execution_trace_add_tensors(struct execution_trace *trace, struct execution_node *node,
				 const struct json_text *values, const struct json_text *shapes,
				 const struct json_text *types, gboolean are_outputs)
{
	struct json_scan value = scan_of(values), shape = scan_of(shapes), type = scan_of(types);
	gboolean has_shapes = json_peek(&shape) == '[' && json_take(&shape, '[');
	guint n = 0, argument = 0;
	struct json_text text;

	if (json_peek(&value) != '[' || json_peek(&type) != '[')
		return;
	json_take(&value, '[');
	json_take(&type, '[');
	for (; json_element(&value) && json_element(&type); argument++) {
		struct json_scan nothing = { 0 };

		if (json_peek(&type) != '"' || !json_string(&type, &text))
			break;
		has_shapes = has_shapes && json_element(&shape);
		n += read_value(trace, &value, has_shapes ? &shape : &nothing, &text, argument, 0);
	}
	if (are_outputs)
		node->n_outputs += n;
	else
		node->n_inputs += n;
}

/* --- order ---------------------------------------------------------------------------------- */

static gint compare_nodes(gconstpointer first, gconstpointer second)
{
	const struct execution_node *a = first, *b = second;

	return ORDER(a->id, b->id) ?: ORDER(a->place, b->place);
}

guint32 execution_trace_find(const struct execution_trace *trace, guint64 id)
{
	guint n = ROWS_BEFORE(trace->nodes, struct execution_node, row, row->id < id);

	return n < trace->nodes->len && execution_trace_node(trace, n)->id == id ? n : TACHO_NONE;
}

void execution_trace_sort(struct execution_trace *trace)
{
	g_array_sort(trace->nodes, compare_nodes);
	FOR_EACH_AT(struct execution_node, node, i, trace->nodes) {
		guint32 parent = execution_trace_find(trace, node->parent);

		node->last_index = i;
		node->parent_index = TACHO_NONE;
		if (parent == TACHO_NONE || parent >= i)
			continue;
		node->parent_index = parent;
		execution_trace_node(trace, parent)->has_children = TRUE;
	}
	for (guint32 i = trace->nodes->len; i-- > 0;) {
		const struct execution_node *node = execution_trace_node(trace, i);
		struct execution_node *parent;

		if (node->parent_index == TACHO_NONE)
			continue;
		parent = execution_trace_node(trace, node->parent_index);
		if (parent->tid == node->tid)
			parent->last_index = MAX(parent->last_index, node->last_index);
	}
}

guint32 execution_trace_find_collective(const struct execution_trace *trace, guint32 index)
{
	while (index != TACHO_NONE && !execution_trace_node(trace, index)->collective)
		index = execution_trace_node(trace, index)->parent_index;
	return index;
}

/* --- what depends on what ------------------------------------------------------------------- */

struct edge_finder {
	const struct execution_trace *trace;
	GArray *edges;
	GHashTable *makers;  /* tensor -> index + 1 of who made it */
	GHashTable *writers; /* storage -> index + 1 of who wrote it last */
	guint32 *ending;     /* of each index the last node that ends with it ... */
	guint32 *ends_next;  /* ... and the next such, TACHO_NONE: none */
};

static guint32 look_up(GHashTable *table, guint64 id)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(table, &id)) - 1;
}

static void keep(GHashTable *table, guint64 id, guint32 index)
{
	g_hash_table_insert(table, g_memdup2(&id, sizeof(id)), GUINT_TO_POINTER(index + 1));
}

static void add_edge(GArray *edges, guint32 from, guint32 to, TachoFlowKind kind)
{
	struct execution_edge edge = { from, to, (guint8)kind };

	for (guint i = edges->len; i-- > 0;) { /* of a node there are few */
		const struct execution_edge *known =
			&g_array_index(edges, struct execution_edge, i);

		if (known->to != to)
			break;
		if (known->from == from && known->kind == edge.kind)
			return;
	}
	g_array_append_val(edges, edge);
}

static const struct execution_tensor *tensor_at(const struct execution_trace *trace, guint32 index)
{
	return &g_array_index(trace->tensors, struct execution_tensor, index);
}

static void find_makers(struct edge_finder *finder, guint32 index)
{
	const struct execution_node *node = execution_trace_node(finder->trace, index);

	for (guint32 i = 0; i < node->n_inputs; i++) {
		const struct execution_tensor *tensor =
			tensor_at(finder->trace, node->first_tensor + i);
		guint32 maker = look_up(finder->makers, tensor->tensor);
		guint32 writer = look_up(finder->writers, tensor->storage);
		guint32 from = maker == TACHO_NONE    ? writer
			       : writer == TACHO_NONE ? maker
						      : MAX(maker, writer);

		if (from != TACHO_NONE && from != index)
			add_edge(finder->edges, from, index, TACHO_FLOW_DATA);
	}
}

/* Whether the node has the tensor among its inputs, or at least one of the same storage. */
static gboolean takes(const struct execution_trace *trace, const struct execution_node *node,
		      const struct execution_tensor *tensor, gboolean is_same_storage)
{
	for (guint32 i = 0; i < node->n_inputs; i++) {
		const struct execution_tensor *input = tensor_at(trace, node->first_tensor + i);

		if (is_same_storage ? input->storage == tensor->storage
				    : input->tensor == tensor->tensor)
			return TRUE;
	}
	return FALSE;
}

/* The node has ended: what it made or wrote is there; unless one inside it did that. A tensor that is new in a
 * storage that was given is a view: nothing was written. */
static void note_outputs(struct edge_finder *finder, guint32 index)
{
	const struct execution_node *node = execution_trace_node(finder->trace, index);

	for (guint32 i = 0; i < node->n_outputs; i++) {
		const struct execution_tensor *tensor =
			tensor_at(finder->trace, node->first_tensor + node->n_inputs + i);
		guint32 maker = look_up(finder->makers, tensor->tensor);
		guint32 writer = look_up(finder->writers, tensor->storage);

		if (maker == TACHO_NONE || maker < index)
			keep(finder->makers, tensor->tensor, index);
		if ((writer == TACHO_NONE || writer < index) &&
		    (takes(finder->trace, node, tensor, FALSE) ||
		     !takes(finder->trace, node, tensor, TRUE)))
			keep(finder->writers, tensor->storage, index);
	}
}

static void end_nodes(struct edge_finder *finder, guint32 index)
{
	for (guint32 i = finder->ending[index]; i != TACHO_NONE; i = finder->ends_next[i])
		note_outputs(finder, i);
}

static void find_by_tensors(struct edge_finder *finder)
{
	const struct execution_trace *trace = finder->trace;
	guint32 n = trace->nodes->len;

	finder->ending = g_new(guint32, n + 1);
	finder->ends_next = g_new(guint32, n + 1);
	memset(finder->ending, 0xff, (n + 1) * sizeof(guint32));
	for (guint32 i = 0; i < n; i++) { /* the innermost comes to stand first */
		guint32 last = execution_trace_node(trace, i)->last_index;

		finder->ends_next[i] = finder->ending[last];
		finder->ending[last] = i;
	}
	for (guint32 i = 0; i < n; i++) {
		if (!execution_trace_node(trace, i)->has_children)
			find_makers(finder, i);
		end_nodes(finder, i);
	}
	g_free(finder->ending);
	g_free(finder->ends_next);
}

static void find_told(struct edge_finder *finder)
{
	const struct execution_trace *trace = finder->trace;

	FOR_EACH_AT(const struct execution_node, node, i, trace->nodes) {
		for (guint32 k = 0; k < node->n_dependencies; k++) {
			guint32 from = execution_trace_find(
				trace, g_array_index(trace->dependencies, guint64,
						     node->first_dependency + k));
			struct execution_edge edge = { from, i, TACHO_FLOW_CONTROL };

			if (from == TACHO_NONE || from == i)
				continue;
			if (k < node->n_data_dependencies)
				edge.kind = TACHO_FLOW_DATA;
			g_array_append_val(finder->edges, edge);
		}
	}
}

GArray *execution_trace_edges(const struct execution_trace *trace)
{
	struct edge_finder finder = { .trace = trace };

	finder.edges = g_array_new(FALSE, FALSE, sizeof(struct execution_edge));
	if (trace->dependencies->len) {
		find_told(&finder);
		return finder.edges;
	}
	finder.makers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	finder.writers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	find_by_tensors(&finder);
	g_hash_table_unref(finder.makers);
	g_hash_table_unref(finder.writers);
	return finder.edges;
}

/* --- process groups and ranks --------------------------------------------------------------- */

void execution_trace_mark_groups(const struct execution_trace *trace, guint32 track, gint64 time_ns)
{
	TachoTimeline *timeline = trace->timeline;

	FOR_EACH(const struct execution_group, group, trace->groups) {
		const gchar *name = tacho_timeline_string(timeline, group->name);
		const gchar *ranks = tacho_timeline_string(timeline, group->ranks);
		g_autofree gchar *text = *ranks ? g_strdup_printf("ranks=%s name=%s", ranks, name)
						: g_strdup_printf("name=%s", name);
		TachoMark mark = { .time_ns = time_ns, .first = group->name, .track = track };

		mark.name = tacho_timeline_intern(timeline, mark_kind_name(MARK_PROCESS_GROUP), -1);
		mark.text = tacho_timeline_intern(timeline, text, -1);
		g_array_append_val(timeline->marks, mark);
	}
}

gint32 execution_trace_rank(const gchar *path)
{
	g_autofree gchar *name = g_path_get_basename(path);
	gint32 rank = import_rank_of_name(path);
	const gchar *at = strstr(name, "_et_");

	if (rank >= 0)
		return rank;
	if (at)
		at += strlen("_et_");
	for (const gchar *dot = name; !at && (dot = strchr(dot, '.')); dot++) {
		gsize n = strspn(dot + 1, "0123456789");

		/* "workload.3.et", and "workload.3.json", but not "1.0.3.json" */
		if (n && (g_str_has_prefix(dot + 1 + n, ".et") ||
			  (g_str_has_prefix(dot + 1 + n, ".json") && dot == strchr(name, '.') &&
			   !g_ascii_isdigit(name[0]))))
			at = dot + 1;
	}
	if (!at || !g_ascii_isdigit(*at) || strspn(at, "0123456789") > 6)
		return -1;
	return (gint32)g_ascii_strtoll(at, NULL, 10);
}

/* --- a timeline of its own ------------------------------------------------------------------ */

/* A trace on its way into the timeline. */
struct placing {
	struct import *import;
	struct execution_trace *trace;
	gint64 base_ns;
	guint32 process, foreign;
	GHashTable *tracks; /* tid, role -> row + 1 */
	guint32 *rows;	    /* of the nodes' slices */
};

static guint32 find_track(struct placing *placing, TachoTrackKind kind, guint32 tid)
{
	gint64 key = (gint64)kind << 32 | tid;
	guint32 track = GPOINTER_TO_UINT(g_hash_table_lookup(placing->tracks, &key)) - 1;
	g_autofree gchar *name = NULL;

	if (track != TACHO_NONE)
		return track;
	name = kind == TACHO_TRACK_STREAM  ? g_strdup_printf("stream %u", tid)
	       : kind == TACHO_TRACK_ASYNC ? g_strdup("collectives")
					   : g_strdup_printf("thread %u", tid);
	track = import_add_track(placing->import, kind, placing->process, tid, name);
	g_hash_table_insert(placing->tracks, g_memdup2(&key, sizeof(key)),
			    GUINT_TO_POINTER(track + 1));
	return track;
}

static void place_node(struct placing *placing, guint32 index)
{
	const struct execution_node *node = execution_trace_node(placing->trace, index);
	TachoTimeline *timeline = placing->import->timeline;
	guint64 handle = tacho_source_foreign_handle(placing->foreign, index);
	TachoTrackKind kind =
		node->role == EXECUTION_DEVICE ? TACHO_TRACK_STREAM : TACHO_TRACK_THREAD;
	gint64 start_ns = placing->base_ns + (node->start_ns >= 0 ? node->start_ns : index);
	gint64 duration_ns =
		node->duration_ns >= 0 ? node->duration_ns : (gint64)(node->last_index - index) + 1;
	guint8 flags =
		node->forward_thread && node->sequence >= 0 && node->kind == TACHO_SLICE_OP &&
				!g_str_has_prefix(tacho_timeline_string(timeline, node->name),
						  "autograd::engine::evaluate_function")
			? TACHO_SLICE_BACKWARD
			: 0;

	placing->rows[index] = TACHO_NONE;
	if (node->role == EXECUTION_STRUCTURE)
		return;
	placing->rows[index] = tacho_timeline_add_slice(
		timeline, (TachoSliceKind)node->kind, find_track(placing, kind, node->tid),
		node->name, start_ns, duration_ns, flags, handle);
	if (node->collective && node->kind != TACHO_SLICE_COLLECTIVE)
		tacho_timeline_add_slice(timeline, TACHO_SLICE_COLLECTIVE,
					 find_track(placing, TACHO_TRACK_ASYNC, node->tid),
					 node->collective, start_ns, duration_ns, 0, handle);
}

/* What launched a device's node: the first operation of the host that it depends on. */
static guint32 find_launch(const struct placing *placing, guint32 index)
{
	const struct execution_trace *trace = placing->trace;
	const struct execution_node *node = execution_trace_node(trace, index);

	for (guint32 i = 0; i < node->n_dependencies; i++) {
		guint32 from =
			execution_trace_find(trace, g_array_index(trace->dependencies, guint64,
								  node->first_dependency + i));

		if (from != TACHO_NONE && execution_trace_node(trace, from)->role == EXECUTION_HOST)
			return from;
	}
	return TACHO_NONE;
}

static void place_launches(struct placing *placing)
{
	for (guint32 i = 0; i < placing->trace->nodes->len; i++) {
		guint32 launch = execution_trace_node(placing->trace, i)->role == EXECUTION_DEVICE
					 ? find_launch(placing, i)
					 : TACHO_NONE;

		if (launch != TACHO_NONE)
			tacho_timeline_set_launch(placing->import->timeline, placing->rows[i],
						  placing->rows[launch]);
	}
}

static void place_edges(struct placing *placing)
{
	g_autoptr(GArray) edges = execution_trace_edges(placing->trace);

	FOR_EACH(const struct execution_edge, edge, edges) {
		TachoFlow flow = { placing->rows[edge->from], placing->rows[edge->to], edge->kind,
				   1 };

		if (flow.from != TACHO_NONE && flow.to != TACHO_NONE)
			g_array_append_val(placing->import->timeline->flows, flow);
	}
}

void execution_trace_place(struct import *import, struct execution_trace *trace, gint64 base_ns)
{
	struct placing placing = { .import = import, .trace = trace, .base_ns = base_ns };
	TachoProcess process = {
		.rank = execution_trace_rank(trace->path),
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = trace->path,
	};
	g_autofree guint32 *rows = g_new(guint32, trace->nodes->len + 1);

	process.host = tacho_timeline_intern(import->timeline, "unknown", -1);
	if (trace->pid >= 0 && trace->pid <= G_MAXUINT32)
		process.pid = (guint32)trace->pid;
	placing.rows = rows;
	placing.tracks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	placing.process = import_add_process(import, &process, import_new_file(import));
	placing.foreign = tacho_source_take_foreign(import->timeline->source,
						    execution_args_new(trace, NULL));
	for (guint32 i = 0; i < trace->nodes->len; i++)
		place_node(&placing, i);
	place_launches(&placing);
	place_edges(&placing);
	if (trace->groups->len)
		execution_trace_mark_groups(trace, find_track(&placing, TACHO_TRACK_ASYNC, 0),
					    base_ns);
	g_hash_table_unref(placing.tracks);
}
