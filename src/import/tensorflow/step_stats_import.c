/* step_stats_import: what a session of TensorFlow ran (RunMetadata, or StepStats alone), with what lies beside it:
 * an op log of tfprof, and a graph as text.
 *
 * (1) All files are one run; each RunMetadata is a step of it, numbered in the order of time.
 * (2) A node's record on an executor is a run of the operation; on a stream, a kernel or copy for it. Its name is
 *     what stands before the first ':'.
 * (3) Types and inputs come from the graphs, else from the labels ("name = Type(input, ...)"); shapes from what
 *     was run.
 * (4) A run begins where its node was begun and lasts to the end of its operation, a microsecond at least, as
 *     tfprof has it. */
#include <string.h>

#include "import/tensorflow/graph_link.h"
#include "import/tensorflow/graph_text.h"
#include "import/import_format.h"
#include "import/read/proto_arena.h"
#include "import/tensorflow/tf_ops.h"
#include "import/tensorflow/tf_tracks.h"
#include "import/read/wire_walk.h"

typedef Tacho__Tensorflow__NodeExecStats NodeExecStats;
typedef Tacho__Tensorflow__NodeDef NodeDef;
typedef Tacho__Tensorflow__ThreadName ThreadName;
typedef Tacho__Tensorflow__OpLogEntry OpLogEntry;
typedef Tacho__Tensorflow__IdToString IdToString;

#define NS_PER_US 1000

/* Field numbers. */
enum {
	RUN_STEP_STATS = 1, /* RunMetadata */
	RUN_COST_GRAPH = 2,
	RUN_PARTITION_GRAPHS = 3,
	RUN_FUNCTION_GRAPHS = 4,
	RUN_SESSION = 5,

	STEP_DEVICES = 1, /* StepStats */

	DEVICE_NAME = 1, /* DeviceStepStats */
	DEVICE_NODES = 2,
	DEVICE_THREAD_NAMES = 3,

	GRAPH_NODES = 1, /* GraphDef */
	FUNCTION_PARTITION_GRAPHS = 1,

	LOG_ENTRIES = 1, /* OpLogProto */
	LOG_ID_TO_STRING = 2,
};

enum {
	MAX_MESSAGE_BYTES = 64 * 1024 * 1024,
	MAX_UNPACKED_BYTES = 512 * 1024 * 1024,
	MAX_NAME_BYTES = 64 * 1024,
	MAX_NODES = 1 << 22,
};

struct stats_reading {
	struct import *import;
	struct tf_ops *ops;
	struct tf_tracks *tracks;
	const gchar *graph; /* the last file that is a graph as text; NULL: none is */
	struct proto_arena arena;
	gint64 step; /* of the next file that has one */
	/* The file that is being read: */
	const gchar *path;
	wire_walk *walk;
	guint32 file;
	guint32 device;
	gint64 first_ns, last_ns;
	guint64 n_bad, bad_offset, n_impossible, n_unknown;
};

static void *load_message(struct stats_reading *reading, struct wire_field *field,
			  const ProtobufCMessageDescriptor *descriptor)
{
	void *message = NULL;

	if (wire_walk_load(reading->walk, field, MAX_MESSAGE_BYTES))
		message = proto_arena_unpack(&reading->arena, descriptor, field->bytes,
					     (gsize)field->n_bytes);
	if (!message && !wire_walk_problem(reading->walk) && reading->n_bad++ == 0)
		reading->bad_offset = field->offset;
	return message;
}

/* --- a record ------------------------------------------------------------------------------- */

/* (3): "name = Type(input, ...)". */
static void read_label(struct stats_reading *reading, guint32 node, const gchar *label)
{
	struct tf_ops *ops = reading->ops;
	const gchar *type = strstr(label, " = "), *open, *close;
	struct tf_rows inputs = { .first = ops->inputs->len };
	g_auto(GStrv) names = NULL;
	g_autofree gchar *list = NULL;

	type = type ? type + strlen(" = ") : NULL;
	open = type ? strchr(type, '(') : NULL;
	close = open ? strrchr(open, ')') : NULL;
	if (!close || open == type)
		return;
	if (!tf_ops_node(ops, node)->type)
		tf_ops_node(ops, node)->type = tacho_timeline_intern(reading->import->timeline,
								     type, (gssize)(open - type));
	if (tf_ops_node(ops, node)->inputs.n || close == open + 1)
		return;
	list = g_strndup(open + 1, (gsize)(close - open) - 1);
	names = g_strsplit(list, ", ", -1);
	for (guint i = 0; names[i]; i++) {
		struct tf_input input;

		if (!*names[i] || *names[i] == '^')
			continue;
		input = tf_ops_input(ops, names[i], strlen(names[i]));
		g_array_append_val(ops->inputs, input);
		inputs.n++;
	}
	tf_ops_node(ops, node)->inputs = inputs;
}

static struct tf_rows read_outputs(struct stats_reading *reading, const NodeExecStats *stats)
{
	struct tf_ops *ops = reading->ops;
	struct tf_rows outputs = { .first = ops->tensors->len };

	for (gsize i = 0; i < stats->n_output; i++) {
		const Tacho__Tensorflow__TensorDescription *from =
			stats->output[i]->tensor_description;
		struct tf_tensor tensor = { .slot = (guint32)MAX(stats->output[i]->slot, 0),
					    .bytes = TF_NOT_TOLD };
		gboolean is_known;

		if (!from)
			continue;
		tensor.dtype = from->dtype;
		tensor.dims = tf_ops_dims(ops, from->shape, &is_known);
		if (from->allocation_description)
			tensor.bytes = MAX(from->allocation_description->allocated_bytes,
					   from->allocation_description->requested_bytes);
		if (!is_known && from->shape)
			continue;
		g_array_append_val(ops->tensors, tensor);
		outputs.n++;
	}
	return outputs;
}

static gint64 sum(gint64 a, gint64 b)
{
	gint64 result;

	return __builtin_add_overflow(MAX(a, 0), MAX(b, 0), &result) ? G_MAXINT64 : result;
}

/* Temporary and persistent memory that kernels asked for beside their allocators. */
static void add_stats_memory(const Tacho__Tensorflow__MemoryStats *stats, struct tf_run *run)
{
	gint64 temporary, persistent;

	if (!stats)
		return;
	temporary = sum(stats->temp_memory_size, stats->device_temp_memory_size);
	persistent = sum(stats->persistent_memory_size, stats->device_persistent_memory_size);
	run->allocated_bytes = sum(run->allocated_bytes, sum(temporary, persistent));
	run->peak_bytes = sum(run->peak_bytes, sum(temporary, persistent));
	run->residual_bytes = sum(run->residual_bytes, persistent);
}

static void read_memory(struct stats_reading *reading, const NodeExecStats *stats, gint64 start_ns,
			struct tf_run *run)
{
	for (gsize i = 0; i < stats->n_memory; i++) {
		const Tacho__Tensorflow__AllocatorMemoryUsed *memory = stats->memory[i];

		run->allocated_bytes = sum(run->allocated_bytes, memory->total_bytes);
		run->peak_bytes = sum(run->peak_bytes, memory->peak_bytes);
		run->residual_bytes = sum(run->residual_bytes, memory->live_bytes);
		if (memory->allocator_bytes_in_use > 0)
			tf_tracks_add_sample(reading->tracks, reading->device,
					     tf_ops_intern(reading->ops, &memory->allocator_name),
					     start_ns, memory->allocator_bytes_in_use);
	}
	add_stats_memory(stats->memory_stats, run);
	for (guint32 i = 0; i < run->outputs.n; i++)
		run->output_bytes = sum(run->output_bytes,
					g_array_index(reading->ops->tensors, struct tf_tensor,
						      run->outputs.first + i)
						.bytes);
}

/* (4) */
static gboolean find_times(const NodeExecStats *stats, gint64 *ret_start_ns,
			   gint64 *ret_duration_ns)
{
	gint64 end_ns;

	*ret_start_ns = stats->all_start_nanos;
	*ret_duration_ns = MAX(stats->op_end_rel_nanos, 1);
	if (stats->all_start_nanos <= 0 &&
	    (stats->all_start_micros <= 0 ||
	     __builtin_mul_overflow(stats->all_start_micros, NS_PER_US, ret_start_ns) ||
	     __builtin_mul_overflow(MAX(stats->op_end_rel_micros, 1), NS_PER_US, ret_duration_ns)))
		return FALSE;
	return stats->op_end_rel_micros >= 0 && stats->op_end_rel_nanos >= 0 &&
	       !__builtin_add_overflow(*ret_start_ns, *ret_duration_ns, &end_ns);
}

/* When it was put into the queue of what is ready to run. */
static gint64 find_scheduled(const NodeExecStats *stats, gint64 start_ns)
{
	gint64 scheduled_ns = stats->scheduled_nanos;

	if (scheduled_ns <= 0 &&
	    __builtin_mul_overflow(stats->scheduled_micros, NS_PER_US, &scheduled_ns))
		return start_ns;
	return scheduled_ns > 0 ? MIN(scheduled_ns, start_ns) : start_ns;
}

/* "MEMCPYHtoD 4 bytes (Pinned to Device)" */
static guint64 bytes_of_label(const gchar *label)
{
	const gchar *bytes = strstr(label, " bytes");

	if (!bytes)
		return 0;
	while (bytes > label && g_ascii_isdigit(bytes[-1]))
		bytes--;
	return g_ascii_strtoull(bytes, NULL, 10);
}

/* (2): of an executor the node's name, of a stream what it did for the node. */
static guint32 slice_name(struct stats_reading *reading, const gchar *name, const gchar *colon,
			  const struct tf_run *run)
{
	if (run->is_device && colon && colon[1])
		return tacho_timeline_intern(reading->import->timeline, colon + 1, -1);
	return tf_ops_node(reading->ops, run->node)->name
		       ?: tacho_timeline_intern(reading->import->timeline, name, -1);
}

static void add_run(struct stats_reading *reading, const NodeExecStats *stats, guint64 offset,
		    gint64 start_ns, gint64 duration_ns)
{
	struct tf_ops *ops = reading->ops;
	g_autofree gchar *name = proto_text(&stats->node_name);
	g_autofree gchar *label = proto_text(&stats->timeline_label);
	const gchar *colon = strchr(name, ':');
	struct tf_run run = { .file = reading->file,
			      .place = offset,
			      .is_device =
				      tf_tracks_is_accelerator(reading->tracks, reading->device),
			      .allocated_bytes = TF_NOT_TOLD,
			      .peak_bytes = TF_NOT_TOLD,
			      .residual_bytes = TF_NOT_TOLD,
			      .output_bytes = TF_NOT_TOLD };

	run.node = tf_ops_input(ops, name, strlen(name)).node;
	if (run.is_device) {
		run.moved_bytes = bytes_of_label(label);
	} else {
		read_label(reading, run.node, label);
		run.outputs = read_outputs(reading, stats);
		if (run.outputs.n)
			tf_ops_node(ops, run.node)->outputs = run.outputs;
		read_memory(reading, stats, start_ns, &run);
	}
	tf_tracks_add(reading->tracks, reading->device, stats->thread_id, ops->runs->len,
		      slice_name(reading, name, colon, &run), start_ns, duration_ns);
	g_array_append_val(ops->runs, run);
}

static void read_record(struct stats_reading *reading, struct wire_field *field)
{
	const NodeExecStats *stats =
		load_message(reading, field, &tacho__tensorflow__node_exec_stats__descriptor);
	gint64 start_ns, duration_ns;

	if (!stats)
		return;
	if (!find_times(stats, &start_ns, &duration_ns)) {
		reading->n_impossible++;
		return;
	}
	if (reading->ops->nodes->len >= MAX_NODES) {
		reading->n_unknown++;
		return;
	}
	add_run(reading, stats, field->offset, start_ns, duration_ns);
	reading->first_ns = MIN(reading->first_ns, find_scheduled(stats, start_ns));
	reading->last_ns = MAX(reading->last_ns, start_ns + duration_ns);
}

/* --- devices and graphs --------------------------------------------------------------------- */

static void read_thread_name(struct stats_reading *reading, struct wire_field *field)
{
	const ThreadName *thread =
		load_message(reading, field, &tacho__tensorflow__thread_name__descriptor);

	if (thread)
		tf_tracks_name_thread(reading->tracks, reading->device, thread->key,
				      tf_ops_intern(reading->ops, &thread->value));
}

static enum wire_result read_device(struct stats_reading *reading)
{
	struct wire_field field;
	enum wire_result result;

	reading->device = tf_tracks_device(reading->tracks, "");
	while ((result = wire_walk_next(reading->walk, &field)) == WIRE_FIELD) {
		if (field.number == DEVICE_NAME &&
		    wire_walk_load(reading->walk, &field, MAX_NAME_BYTES)) {
			g_autofree gchar *name =
				g_strndup((const gchar *)field.bytes, (gsize)field.n_bytes);

			reading->device = tf_tracks_device(reading->tracks, name);
		} else if (field.number == DEVICE_NODES) {
			read_record(reading, &field);
		} else if (field.number == DEVICE_THREAD_NAMES) {
			read_thread_name(reading, &field);
		} else if (field.number != DEVICE_NAME) {
			reading->n_unknown++;
		}
	}
	return result;
}

static enum wire_result read_graph(struct stats_reading *reading)
{
	struct wire_field field;
	enum wire_result result;

	while ((result = wire_walk_next(reading->walk, &field)) == WIRE_FIELD) {
		const NodeDef *def = NULL;

		if (field.number == GRAPH_NODES && reading->ops->nodes->len < MAX_NODES)
			def = load_message(reading, &field,
					   &tacho__tensorflow__node_def__descriptor);
		if (def)
			tf_ops_add_node_def(reading->ops, def);
	}
	return result;
}

/* Every message of that number in the one entered is read by `read`. */
static enum wire_result read_each(struct stats_reading *reading, guint32 number,
				  enum wire_result (*read)(struct stats_reading *reading))
{
	struct wire_field field;
	enum wire_result result;

	while ((result = wire_walk_next(reading->walk, &field)) == WIRE_FIELD)
		if (field.number == number && wire_walk_enter(reading->walk) &&
		    read(reading) != WIRE_END)
			return WIRE_BROKEN;
	return result;
}

static enum wire_result read_step_stats(struct stats_reading *reading)
{
	return read_each(reading, STEP_DEVICES, read_device);
}

static enum wire_result read_function_graphs(struct stats_reading *reading)
{
	return read_each(reading, FUNCTION_PARTITION_GRAPHS, read_graph);
}

static enum wire_result read_run_field(struct stats_reading *reading,
				       const struct wire_field *field)
{
	switch (field->number) {
	case RUN_STEP_STATS:
		return wire_walk_enter(reading->walk) ? read_step_stats(reading) : WIRE_END;
	case RUN_PARTITION_GRAPHS:
		return wire_walk_enter(reading->walk) ? read_graph(reading) : WIRE_END;
	case RUN_FUNCTION_GRAPHS:
		return wire_walk_enter(reading->walk) ? read_function_graphs(reading) : WIRE_END;
	case RUN_COST_GRAPH:
	case RUN_SESSION:
		return WIRE_END;
	default:
		reading->n_unknown++;
		return WIRE_END;
	}
}

static void read_run_metadata(struct stats_reading *reading)
{
	struct wire_field field;

	while (wire_walk_next(reading->walk, &field) == WIRE_FIELD)
		if (read_run_field(reading, &field) != WIRE_END)
			return;
}

/* --- op logs -------------------------------------------------------------------------------- */

static void read_log_strings(struct stats_reading *reading, GHashTable *id_to_string)
{
	struct wire_field field;

	while (wire_walk_next(reading->walk, &field) == WIRE_FIELD) {
		const IdToString *entry = NULL;

		if (field.number == LOG_ID_TO_STRING)
			entry = load_message(reading, &field,
					     &tacho__tensorflow__id_to_string__descriptor);
		if (entry && g_hash_table_size(id_to_string) < MAX_NODES)
			g_hash_table_replace(id_to_string,
					     g_memdup2(&entry->key, sizeof(entry->key)),
					     proto_text(&entry->value));
	}
}

static void read_log_entries(struct stats_reading *reading, GHashTable *id_to_string)
{
	struct tf_ops *ops = reading->ops;
	struct wire_field field;

	while (wire_walk_next(reading->walk, &field) == WIRE_FIELD) {
		const OpLogEntry *entry = NULL;
		guint32 node;

		if (field.number == LOG_ENTRIES)
			entry = load_message(reading, &field,
					     &tacho__tensorflow__op_log_entry__descriptor);
		if (!entry || ops->nodes->len >= MAX_NODES)
			continue;
		node = tf_ops_find(ops, tf_ops_intern(ops, &entry->name));
		if (entry->float_ops > 0)
			tf_ops_node(ops, node)->float_ops = (guint64)entry->float_ops;
		for (gsize i = 0; i < entry->n_types; i++)
			tf_ops_add_tag(ops, node, tf_ops_intern(ops, &entry->types[i]));
		tf_ops_add_stack(ops, node, entry->code_def, id_to_string);
	}
}

static void read_op_log(struct stats_reading *reading)
{
	g_autoptr(GHashTable) id_to_string =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);

	read_log_strings(reading, id_to_string);
	if (wire_walk_seek(reading->walk, 0))
		read_log_entries(reading, id_to_string);
}

/* --- which files ---------------------------------------------------------------------------- */

enum stats_file {
	FILE_UNKNOWN,
	FILE_RUN_METADATA,
	FILE_STEP_STATS,
	FILE_OP_LOG,
	FILE_GRAPH_TEXT,
};

/* The bytes of the first field, if it has that tag, as far as they go. */
static gboolean first_bytes(struct wire_cursor *cursor)
{
	guint64 n;

	if (cursor->end - cursor->at < 2 || *cursor->at++ != (1 << 3 | WIRE_BYTES) ||
	    !wire_cursor_varint(cursor, &n))
		return FALSE;
	*cursor = wire_cursor_of(cursor->at, MIN(n, (gsize)(cursor->end - cursor->at)));
	return TRUE;
}

static gboolean is_device_name(struct wire_cursor cursor)
{
	return first_bytes(&cursor) && cursor.end - cursor.at > 2 && cursor.at[0] == '/' &&
	       g_ascii_isalpha((gchar)cursor.at[1]) &&
	       g_utf8_validate((const gchar *)cursor.at, (gssize)(cursor.end - cursor.at), NULL);
}

/* "node { name: "a" op: "MatMul" ...", in lines or without. */
static gboolean is_graph_text(const gchar *head)
{
	const gchar *name = g_str_has_prefix(head, "node {") ? head + strlen("node {") : "";
	const gchar *op;

	name += strspn(name, " \t\r\n");
	op = g_str_has_prefix(name, "name: \"") ? strchr(name, '"') : NULL;
	op = op ? strchr(op + 1, '"') : NULL;
	op = op ? op + 1 + strspn(op + 1, " \t\r\n") : "";
	return g_str_has_prefix(op, "op: \"");
}

/* An op log is known by its name: nearly any message could be one. */
static enum stats_file kind_of_file(const gchar *name, const gchar *head, gsize n)
{
	struct wire_cursor cursor = wire_cursor_of(head, n), inner;

	if (is_graph_text(head))
		return FILE_GRAPH_TEXT;
	if (!first_bytes(&cursor))
		return FILE_UNKNOWN;
	if (strstr(name, "tfprof_log") || strstr(name, "op_log"))
		return wire_looks_like_message(head, n, LOG_ID_TO_STRING) ? FILE_OP_LOG
									  : FILE_UNKNOWN;
	if (is_device_name(cursor))
		return FILE_STEP_STATS;
	inner = cursor;
	return first_bytes(&inner) && is_device_name(inner) ? FILE_RUN_METADATA : FILE_UNKNOWN;
}

static gboolean sniff_step_stats(const struct sniff_input *input)
{
	return kind_of_file(input->name, input->head, input->n_head) != FILE_UNKNOWN;
}

static enum stats_file sniff_path(const gchar *path, GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	g_autofree gchar *head = g_malloc(SNIFF_BYTES + 1);
	g_autofree gchar *name = g_path_get_basename(path);
	gssize n = stream ? byte_stream_read(stream, head, SNIFF_BYTES, error) : -1;

	if (n < 0)
		return FILE_UNKNOWN;
	head[n] = '\0';
	return kind_of_file(name, head, (gsize)n);
}

/* --- all of it ------------------------------------------------------------------------------ */

static void report_file(struct stats_reading *reading)
{
	TachoTimeline *timeline = reading->import->timeline;

	if (wire_walk_problem(reading->walk))
		tacho_timeline_add_problem(timeline, wire_walk_problem_kind(reading->walk), 1, "%s",
					   wire_walk_problem(reading->walk));
	if (reading->n_bad)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, reading->n_bad,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": a record that cannot be read",
					   reading->path, reading->bad_offset);
	if (reading->n_unknown)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
					   reading->n_unknown, "%s: unknown fields", reading->path);
	if (reading->n_impossible)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, reading->n_impossible,
			"%s: records that begin at 0 or end before they begin", reading->path);
}

static void read_messages(struct stats_reading *reading, enum stats_file kind, gint64 step)
{
	reading->first_ns = G_MAXINT64;
	reading->last_ns = G_MININT64;
	reading->n_bad = reading->n_unknown = reading->n_impossible = 0;
	if (kind == FILE_OP_LOG)
		read_op_log(reading);
	else if (kind == FILE_STEP_STATS)
		read_step_stats(reading);
	else
		read_run_metadata(reading);
	if (reading->first_ns < reading->last_ns)
		tf_tracks_add_step(reading->tracks, step, reading->first_ns, reading->last_ns);
	report_file(reading);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct stats_reading *reading = data;
	g_autoptr(GError) failure = NULL;
	enum stats_file kind = sniff_path(path, &failure);

	(void)import;
	if (failure) {
		g_propagate_error(error, g_steal_pointer(&failure));
		return FALSE;
	}
	if (kind == FILE_UNKNOWN)
		return TRUE;
	if (kind == FILE_GRAPH_TEXT) {
		reading->graph = path;
		return graph_text_read(reading->ops, path, error);
	}
	reading->path = path;
	reading->walk = wire_walk_open(path, error);
	if (!reading->walk)
		return FALSE;
	reading->file = tf_ops_add_file(reading->ops, path);
	read_messages(reading, kind, reading->step);
	reading->step += kind != FILE_OP_LOG;
	g_clear_pointer(&reading->walk, wire_walk_close);
	return TRUE;
}

static gboolean place(struct stats_reading *reading, const gchar *path, GError **error)
{
	TachoTimeline *timeline = reading->import->timeline;
	guint32 foreign;

	tf_ops_place_gradients(reading->ops);
	tf_ops_find_outputs(reading->ops);
	tf_tracks_number_steps(reading->tracks);
	timeline->resolution_ns = MAX(timeline->resolution_ns, NS_PER_US);
	foreign = tacho_source_take_foreign(timeline->source, &reading->ops->reader);
	if (foreign == SOURCE_MAX_FOREIGN || tf_tracks_place(reading->tracks, foreign, path))
		return TRUE;
	g_set_error_literal(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "there is not enough memory for the steps' records");
	return FALSE;
}

static gboolean read_step_stats_files(struct import *import, const gchar *const *paths,
				      guint n_paths, GError **error)
{
	struct stats_reading reading = { .import = import };
	gboolean is_read;

	reading.ops = tf_ops_new(import->timeline, &tacho__tensorflow__node_exec_stats__descriptor);
	reading.tracks = tf_tracks_new(import, reading.ops);
	proto_arena_init(&reading.arena, MAX_UNPACKED_BYTES);
	is_read = import_each_path(import, paths, n_paths, read_file, &reading, error);
	if (is_read && reading.ops->runs->len)
		is_read = place(&reading, paths[0], error);
	else {
		if (is_read && reading.graph) /* alone: it is of what others recorded */
			graph_link(import, reading.ops, reading.graph);
		reading.ops->reader.free(&reading.ops->reader);
	}
	tf_tracks_free(reading.tracks);
	proto_arena_release(&reading.arena);
	return is_read;
}

const struct import_format import_step_stats = {
	.name = "step_stats",
	.title = "TensorFlow RunMetadata and StepStats, with op log and graph",
	.files = "run_metadata*.pb, run_meta*, tfprof_log, graph.pbtxt",
	.sniff = sniff_step_stats,
	.read = read_step_stats_files,
};
