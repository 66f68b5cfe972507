/* tfprof_import: profiles of TensorFlow's profiler tfprof (ProfileProto: what ProfileContext dumps, "profile_100").
 *
 * (1) The file is walked twice: for the texts that call stacks name by number, then for the nodes, each with all
 *     its runs. Inputs name nodes by number, and are resolved when all are known.
 * (2) What executors ran are operations, what "stream:all" ran is device work; a node's memory is that of its
 *     runs, one after the other where there are as many records as runs, else all with the first.
 * (3) A step lasts from its first begin to its last end. Nodes that never ran have no time to be put at. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/read/id_table.h"
#include "import/import_format.h"
#include "import/read/proto_arena.h"
#include "import/tensorflow/tf_ops.h"
#include "import/tensorflow/tf_tracks.h"
#include "import/read/wire_walk.h"

typedef Tacho__Tensorflow__ProfileNode ProfileNode;
typedef Tacho__Tensorflow__ProfileNodeEntry NodeEntry;
typedef Tacho__Tensorflow__ExecProfile ExecProfile;
typedef Tacho__Tensorflow__ExecMemory ExecMemory;
typedef Tacho__Tensorflow__DeviceExecTime DeviceExecTime;
typedef Tacho__Tensorflow__IdToString IdToString;

#define NS_PER_US 1000

/* Field numbers of ProfileProto. */
enum {
	PROFILE_NODES = 1,
	PROFILE_HAS_TRACE = 2,
	PROFILE_STEPS = 3,
	PROFILE_ID_TO_STRING = 4,
	PROFILE_MISSES_STREAM = 5,
	PROFILE_LAST_FIELD = 6,
};

enum {
	MAX_NODE_BYTES = 256 * 1024 * 1024,
	MAX_UNPACKED_BYTES = 1024 * 1024 * 1024,
	MAX_NODES = 1 << 22,
	MAX_STRINGS = 1 << 22,
	MIN_RUN_US = 1, /* the finest that TensorFlow's clock told */
};

/* An input that names its source by number. */
struct pending {
	guint32 node;
	gint32 index; /* of the input */
	gint64 source;
	guint32 slot;
};

struct tfprof_file {
	struct import *import;
	const gchar *path;
	wire_walk *walk;
	struct proto_arena arena;
	struct tf_ops *ops;
	struct tf_tracks *tracks;
	guint32 file;		   /* index into the paths of ops */
	GHashTable *id_to_string;  /* gint64 -> text */
	struct id_table node_rows; /* by number in the file */
	GArray *pending;	   /* struct pending */
	GHashTable *steps;	   /* gint64 number -> struct span */
	gboolean misses_stream;
	guint64 n_bad, bad_offset, n_impossible, n_unknown;
};

struct span {
	gint64 number, start_ns, end_ns;
};

/* --- texts ---------------------------------------------------------------------------------- */

static void *load_message(struct tfprof_file *file, struct wire_field *field,
			  const ProtobufCMessageDescriptor *descriptor)
{
	void *message = NULL;

	if (wire_walk_load(file->walk, field, MAX_NODE_BYTES))
		message = proto_arena_unpack(&file->arena, descriptor, field->bytes,
					     (gsize)field->n_bytes);
	if (!message && !wire_walk_problem(file->walk) && file->n_bad++ == 0)
		file->bad_offset = field->offset;
	return message;
}

static void read_string(struct tfprof_file *file, struct wire_field *field)
{
	const IdToString *entry =
		load_message(file, field, &tacho__tensorflow__id_to_string__descriptor);

	if (entry && g_hash_table_size(file->id_to_string) < MAX_STRINGS)
		g_hash_table_replace(file->id_to_string, g_memdup2(&entry->key, sizeof(entry->key)),
				     proto_text(&entry->value));
}

static void read_strings(struct tfprof_file *file)
{
	struct wire_field field;

	while (wire_walk_next(file->walk, &field) == WIRE_FIELD) {
		if (field.number == PROFILE_ID_TO_STRING)
			read_string(file, &field);
		else if (field.number == PROFILE_MISSES_STREAM)
			file->misses_stream = field.value != 0;
		else if (field.number > PROFILE_LAST_FIELD)
			file->n_unknown++;
	}
}

/* --- what a node is ------------------------------------------------------------------------- */

static guint32 slot_of_source(const ProfileNode *node, gint64 source)
{
	for (gsize i = 0; i < node->n_src_output_index; i++)
		if (node->src_output_index[i]->key == source &&
		    node->src_output_index[i]->value >= 0)
			return (guint32)node->src_output_index[i]->value;
	return 0;
}

static void add_inputs(struct tfprof_file *file, guint32 row, const ProfileNode *node)
{
	for (gsize i = 0; i < node->n_inputs; i++) {
		struct pending pending = { .node = row,
					   .index = node->inputs[i]->key,
					   .source = node->inputs[i]->value };

		pending.slot = slot_of_source(node, pending.source);
		g_array_append_val(file->pending, pending);
	}
}

static void add_outputs(struct tfprof_file *file, guint32 row, const ProfileNode *node)
{
	struct tf_ops *ops = file->ops;
	struct tf_rows outputs = { .first = ops->tensors->len };

	for (gsize i = 0; i < node->n_output_shapes; i++) {
		const Tacho__Tensorflow__Int32ToTuple *entry = node->output_shapes[i];
		struct tf_tensor tensor = { .bytes = TF_NOT_TOLD };

		if (!entry->value || entry->key < 0)
			continue;
		tensor.slot = (guint32)entry->key;
		tensor.dims =
			tf_ops_tuple(ops, entry->value->int64_values, entry->value->n_int64_values);
		if (tf_ops_elements(ops, tensor.dims) == TF_NOT_TOLD)
			continue;
		g_array_append_val(ops->tensors, tensor);
		outputs.n++;
	}
	if (outputs.n)
		tf_ops_node(ops, row)->outputs = outputs;
}

static guint32 add_node(struct tfprof_file *file, const NodeEntry *entry)
{
	struct tf_ops *ops = file->ops;
	const ProfileNode *node = entry->value;
	guint32 row = tf_ops_find(ops, tf_ops_intern(ops, &node->name));
	struct tf_node *at = tf_ops_node(ops, row);

	id_table_set(&file->node_rows, entry->key, row);
	at->type = tf_ops_intern(ops, &node->op);
	at->float_ops = (guint64)MAX(node->float_ops, 0);
	for (gsize i = 0; i < node->n_op_types; i++) {
		guint32 tag = tf_ops_intern(ops, &node->op_types[i]);

		if (tag && tag != at->type)
			tf_ops_add_tag(ops, row, tag);
	}
	if (node->n_shape && tf_ops_is_variable(ops, row)) /* placeholders have a shape, too */
		tf_ops_node(ops, row)->parameters =
			tf_ops_elements(ops, tf_ops_tuple(ops, node->shape, node->n_shape));
	add_outputs(file, row, node);
	tf_ops_add_attrs(ops, row, node->attrs, node->n_attrs);
	tf_ops_add_stack(ops, row, node->trace, file->id_to_string);
	add_inputs(file, row, node);
	return row;
}

/* --- what it ran ---------------------------------------------------------------------------- */

static void widen_step(struct tfprof_file *file, gint64 number, gint64 start_ns, gint64 end_ns)
{
	struct span *span = g_hash_table_lookup(file->steps, &number);

	if (!span) {
		span = g_new(struct span, 1);
		*span = (struct span){ number, start_ns, end_ns };
		g_hash_table_insert(file->steps, &span->number, span);
	}
	span->start_ns = MIN(span->start_ns, start_ns);
	span->end_ns = MAX(span->end_ns, end_ns);
}

static gboolean find_times(const Tacho__Tensorflow__Tuple *tuple, gint64 *ret_start_ns,
			   gint64 *ret_duration_ns)
{
	gint64 end_ns;

	return tuple->n_int64_values >= 2 && tuple->int64_values[0] > 0 &&
	       tuple->int64_values[1] >= 0 &&
	       !__builtin_mul_overflow(tuple->int64_values[0], NS_PER_US, ret_start_ns) &&
	       !__builtin_mul_overflow(MAX(tuple->int64_values[1], MIN_RUN_US), NS_PER_US,
				       ret_duration_ns) &&
	       !__builtin_add_overflow(*ret_start_ns, *ret_duration_ns, &end_ns);
}

struct node_runs {
	guint32 node;
	gint64 step;
	guint64 offset;
	guint32 first_run, n_runs; /* of executors */
};

static void add_run(struct tfprof_file *file, struct node_runs *runs, guint32 device,
		    const Tacho__Tensorflow__Tuple *tuple)
{
	struct tf_run run = {
		.node = runs->node,
		.file = file->file,
		.place = runs->offset,
		.is_device = tf_tracks_is_accelerator(file->tracks, device),
		.allocated_bytes = TF_NOT_TOLD,
		.peak_bytes = TF_NOT_TOLD,
		.residual_bytes = TF_NOT_TOLD,
		.output_bytes = TF_NOT_TOLD,
	};
	const struct tf_node *node = tf_ops_node(file->ops, runs->node);
	gint64 start_ns, duration_ns;

	if (!find_times(tuple, &start_ns, &duration_ns)) {
		file->n_impossible++;
		return;
	}
	runs->n_runs += !run.is_device;
	tf_tracks_add(file->tracks, device, 0, file->ops->runs->len,
		      run.is_device && node->type ? node->type : node->name, start_ns, duration_ns);
	g_array_append_val(file->ops->runs, run);
	widen_step(file, runs->step, start_ns, start_ns + duration_ns);
}

static void add_runs(struct tfprof_file *file, struct node_runs *runs, DeviceExecTime *const *execs,
		     gsize n)
{
	for (gsize i = 0; i < n; i++) {
		g_autofree gchar *name = proto_text(&execs[i]->key);
		guint32 device = tf_tracks_device(file->tracks, name);

		for (gsize k = 0; execs[i]->value && k < execs[i]->value->n_times; k++)
			add_run(file, runs, device, execs[i]->value->times[k]);
	}
}

static void add_bytes(gint64 *to, gint64 bytes)
{
	if (bytes < 0 || __builtin_add_overflow(MAX(*to, 0), bytes, to))
		*to = MAX(*to, 0);
}

/* (2) */
static void add_memory(struct tfprof_file *file, const struct node_runs *runs,
		       const ExecProfile *exec)
{
	for (gsize i = 0; i < exec->n_memory_execs && runs->n_runs; i++) {
		const ExecMemory *memory = exec->memory_execs[i];
		guint32 nth = exec->n_memory_execs == runs->n_runs ? (guint32)i : 0;
		struct tf_run *run = tf_ops_run(file->ops, runs->first_run + nth);

		add_bytes(&run->allocated_bytes, memory->requested_bytes);
		add_bytes(&run->peak_bytes, memory->peak_bytes);
		add_bytes(&run->residual_bytes, memory->residual_bytes);
		add_bytes(&run->output_bytes, memory->output_bytes);
	}
}

/* Only allocators of devices tell how much they have handed out. */
static void add_samples(struct tfprof_file *file, const ProfileNode *node, const ExecProfile *exec)
{
	g_autofree gchar *name = proto_text(&node->canonical_device);
	guint32 device = tf_tracks_device(file->tracks, name), label;

	label = tacho_timeline_intern(file->import->timeline, "device memory", -1);
	for (gsize i = 0; i < exec->n_memory_execs; i++) {
		const ExecMemory *memory = exec->memory_execs[i];
		gint64 time_ns;

		if (memory->allocator_bytes_in_use > 0 && memory->memory_micros > 0 &&
		    !__builtin_mul_overflow(memory->memory_micros, NS_PER_US, &time_ns))
			tf_tracks_add_sample(file->tracks, device, label, time_ns,
					     memory->allocator_bytes_in_use);
	}
}

static void add_exec(struct tfprof_file *file, const ProfileNode *node,
		     const Tacho__Tensorflow__StepExecProfile *entry, struct node_runs *runs)
{
	const ExecProfile *exec = entry->value;

	if (!exec)
		return;
	runs->step = entry->key;
	runs->first_run = file->ops->runs->len;
	runs->n_runs = 0;
	add_runs(file, runs, exec->cpu_execs, exec->n_cpu_execs);
	add_memory(file, runs, exec);
	add_runs(file, runs, exec->accelerator_execs, exec->n_accelerator_execs);
	if (node->canonical_device.len)
		add_samples(file, node, exec);
}

static void read_node(struct tfprof_file *file, struct wire_field *field)
{
	const NodeEntry *entry =
		load_message(file, field, &tacho__tensorflow__profile_node_entry__descriptor);
	struct node_runs runs = { .offset = field->offset };

	if (!entry || !entry->value)
		return;
	if (file->ops->nodes->len >= MAX_NODES || !entry->value->name.len) {
		file->n_unknown++;
		return;
	}
	runs.node = add_node(file, entry);
	for (gsize i = 0; i < entry->value->n_execs; i++)
		add_exec(file, entry->value, entry->value->execs[i], &runs);
}

static void read_nodes(struct tfprof_file *file)
{
	struct wire_field field;

	while (wire_walk_next(file->walk, &field) == WIRE_FIELD) {
		if (field.number != PROFILE_NODES)
			continue;
		read_node(file, &field);
		if (file->import->progress && file->ops->nodes->len % 64 == 0)
			file->import->progress(wire_walk_done(file->walk),
					       file->import->progress_data);
	}
}

/* --- all of it ------------------------------------------------------------------------------ */

static gint compare_pending(gconstpointer a, gconstpointer b)
{
	const struct pending *x = a, *y = b;

	return ORDER(x->node, y->node) ?: ORDER(x->index, y->index);
}

static void resolve_inputs(struct tfprof_file *file)
{
	struct tf_ops *ops = file->ops;

	g_array_sort(file->pending, compare_pending);
	FOR_EACH(const struct pending, pending, file->pending) {
		struct tf_input input = { id_table_find(&file->node_rows, pending->source),
					  pending->slot };
		struct tf_rows *inputs = &tf_ops_node(ops, pending->node)->inputs;

		if (input.node == TACHO_NONE)
			continue;
		if (!inputs->n)
			inputs->first = ops->inputs->len;
		g_array_append_val(ops->inputs, input);
		inputs->n++;
	}
}

static gint compare_spans(gconstpointer a, gconstpointer b)
{
	const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;

	return ORDER(x->start_ns, y->start_ns);
}

static void add_steps(struct tfprof_file *file)
{
	g_autoptr(GPtrArray) spans = g_ptr_array_new();

	FOR_EACH_ENTRY(entry, file->steps)
		g_ptr_array_add(spans, entry.value);
	g_ptr_array_sort(spans, compare_spans);
	FOR_EACH_POINTER(const struct span, span, spans)
		tf_tracks_add_step(file->tracks, span->number, span->start_ns, span->end_ns);
}

static void report(const struct tfprof_file *file)
{
	TachoTimeline *timeline = file->import->timeline;

	if (wire_walk_problem(file->walk))
		tacho_timeline_add_problem(timeline, wire_walk_problem_kind(file->walk), 1, "%s",
					   wire_walk_problem(file->walk));
	if (file->n_bad)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, file->n_bad,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": a node or a text cannot be read",
					   file->path, file->bad_offset);
	if (file->n_unknown)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, file->n_unknown,
					   "%s: unknown fields, or nodes without a name",
					   file->path);
	if (file->n_impossible)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, file->n_impossible,
			"%s: runs that begin at 0 or end before they begin", file->path);
	if (file->misses_stream)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_LOST_RECORDS, 1,
					   "%s: the device's own times were not recorded",
					   file->path);
}

/* FALSE: no memory. */
static gboolean place(struct tfprof_file *file)
{
	TachoTimeline *timeline = file->import->timeline;
	guint32 foreign;

	resolve_inputs(file);
	tf_ops_place_gradients(file->ops);
	tf_ops_find_outputs(file->ops);
	add_steps(file);
	report(file);
	timeline->resolution_ns = MAX(timeline->resolution_ns, NS_PER_US);
	foreign = tacho_source_take_foreign(timeline->source, &file->ops->reader);
	if (foreign == SOURCE_MAX_FOREIGN)
		return TRUE; /* which freed it */
	return tf_tracks_place(file->tracks, foreign, file->path);
}

static void begin(struct tfprof_file *file)
{
	proto_arena_init(&file->arena, MAX_UNPACKED_BYTES);
	file->ops = tf_ops_new(file->import->timeline,
			       &tacho__tensorflow__profile_node_entry__descriptor);
	file->tracks = tf_tracks_new(file->import, file->ops);
	file->file = tf_ops_add_file(file->ops, file->path);
	file->id_to_string = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	file->steps = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	file->pending = g_array_new(FALSE, FALSE, sizeof(struct pending));
	id_table_init(&file->node_rows);
}

/* What place() has not given away. */
static void end(struct tfprof_file *file)
{
	proto_arena_release(&file->arena);
	tf_tracks_free(file->tracks);
	g_hash_table_unref(file->id_to_string);
	g_hash_table_unref(file->steps);
	g_array_unref(file->pending);
	id_table_release(&file->node_rows);
	wire_walk_close(file->walk);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct tfprof_file file = { .import = import, .path = path };
	gboolean is_placed = TRUE;

	(void)data;
	file.walk = wire_walk_open(path, error);
	if (!file.walk)
		return FALSE;
	begin(&file);
	read_strings(&file);
	if (wire_walk_seek(file.walk, 0))
		read_nodes(&file);
	if (file.ops->runs->len) {
		is_placed = place(&file);
	} else {
		report(&file);
		file.ops->reader.free(&file.ops->reader);
	}
	end(&file);
	if (!is_placed)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "%s: there is not enough memory for the profile's runs", path);
	return is_placed;
}

/* --- which files ---------------------------------------------------------------------------- */

/* Whether the bytes begin a ProfileNode, as far as they go: a name, and what kind of operation it is. */
static gboolean is_node(const guint8 *bytes, gsize n)
{
	struct wire_cursor cursor = wire_cursor_of(bytes, n);
	struct wire_field field;

	return wire_looks_like_message(bytes, n, 16) &&
	       wire_cursor_next(&cursor, &field) == WIRE_FIELD && field.number == 1 &&
	       field.type == WIRE_BYTES && field.n_bytes &&
	       g_utf8_validate((const gchar *)field.bytes, (gssize)field.n_bytes, NULL);
}

/* An entry of a map: a number, and a node. */
static gboolean sniff_tfprof(const struct sniff_input *input)
{
	struct wire_cursor cursor = wire_cursor_of(input->head, input->n_head);
	struct wire_field field;
	guint64 n;

	if (input->n_head < 8 || *cursor.at++ != (PROFILE_NODES << 3 | WIRE_BYTES) ||
	    !wire_cursor_varint(&cursor, &n))
		return FALSE;
	cursor = wire_cursor_of(cursor.at, MIN(n, (gsize)(cursor.end - cursor.at)));
	if (wire_cursor_next(&cursor, &field) != WIRE_FIELD || field.number != 1 ||
	    field.type != WIRE_VARINT || cursor.at >= cursor.end ||
	    *cursor.at++ != (2 << 3 | WIRE_BYTES) || !wire_cursor_varint(&cursor, &n))
		return FALSE;
	return is_node(cursor.at, MIN(n, (gsize)(cursor.end - cursor.at)));
}

const struct import_format import_tfprof = {
	.name = "tfprof",
	.title = "tfprof: profiles of TensorFlow's profiler (ProfileProto)",
	.files = "profile_100, profile_100.gz",
	.sniff = sniff_tfprof,
	.read_file = read_file,
};
