#include "import/tensorflow/tf_ops.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/for_each.h"
#include "base/json_memory.h"
#include "import/read/device_args.h"
#include "import/read/json_file.h"
#include "import/read/proto_arena.h"
#include "import/read/proto_json.h"
#include "import/read/wire_walk.h"

typedef Tacho__Tensorflow__AttrValue AttrValue;

enum {
	MAX_MESSAGE_BYTES = 64 * 1024 * 1024,
	MAX_UNPACKED_BYTES = 256 * 1024 * 1024,
	MAX_SLOTS = 1 << 16,
	REFERENCE_DTYPES = 100, /* DT_FLOAT_REF is DT_FLOAT + 100 */
};

/* The file that was asked last. */
struct tf_file {
	pthread_mutex_t lock;
	wire_walk *walk;
	guint32 index;
	struct proto_arena arena;
};

/* --- types ---------------------------------------------------------------------------------- */

const gchar *tf_dtype_name(gint32 dtype, guint8 *ret_bytes)
{
	static const struct {
		const gchar *name;
		guint8 bytes;
	} types[] = {
		[1] = { "float32", 4 },	 [2] = { "float64", 8 },   [3] = { "int32", 4 },
		[4] = { "uint8", 1 },	 [5] = { "int16", 2 },	   [6] = { "int8", 1 },
		[7] = { "string", 0 },	 [8] = { "complex64", 8 }, [9] = { "int64", 8 },
		[10] = { "bool", 1 },	 [11] = { "qint8", 1 },	   [12] = { "quint8", 1 },
		[13] = { "qint32", 4 },	 [14] = { "bfloat16", 2 }, [15] = { "qint16", 2 },
		[16] = { "quint16", 2 }, [17] = { "uint16", 2 },   [18] = { "complex128", 16 },
		[19] = { "float16", 2 }, [20] = { "resource", 0 }, [21] = { "variant", 0 },
		[22] = { "uint32", 4 },	 [23] = { "uint64", 8 },
	};

	if (dtype > REFERENCE_DTYPES)
		dtype -= REFERENCE_DTYPES;
	if (dtype < 1 || dtype >= (gint32)G_N_ELEMENTS(types)) {
		*ret_bytes = 0;
		return "";
	}
	*ret_bytes = types[dtype].bytes;
	return types[dtype].name;
}

guint32 tf_ops_add_file(struct tf_ops *ops, const gchar *path)
{
	g_ptr_array_add(ops->paths, g_strdup(path));
	if (!ops->descriptor)
		g_ptr_array_add(ops->json_files, json_file_new(path));
	return ops->paths->len - 1;
}

/* --- nodes ---------------------------------------------------------------------------------- */

guint32 tf_ops_find(struct tf_ops *ops, guint32 name)
{
	struct tf_node node = { .name = name, .parameters = TF_NOT_TOLD };
	gpointer found = g_hash_table_lookup(ops->by_name, GUINT_TO_POINTER(name));

	if (found)
		return GPOINTER_TO_UINT(found) - 1;
	g_array_append_val(ops->nodes, node);
	g_hash_table_insert(ops->by_name, GUINT_TO_POINTER(name),
			    GUINT_TO_POINTER(ops->nodes->len));
	return ops->nodes->len - 1;
}

guint32 tf_ops_intern(struct tf_ops *ops, const ProtobufCBinaryData *text)
{
	return text->len ? tacho_timeline_intern(ops->timeline, (const gchar *)text->data,
						 (gssize)text->len)
			 : 0;
}

struct tf_input tf_ops_input(struct tf_ops *ops, const gchar *text, gsize n)
{
	struct tf_input input = { 0 };
	const gchar *colon;

	if (!n) {
		input.node = tf_ops_find(ops, 0);
		return input;
	}
	if (text[0] == '^') { /* of control: no data comes this way */
		text++;
		n--;
		input.slot = MAX_SLOTS;
	}
	colon = memchr(text, ':', n);
	if (colon && input.slot != MAX_SLOTS) {
		g_autofree gchar *digits = g_strndup(colon + 1, (gsize)(text + n - colon) - 1);

		input.slot = (guint32)MIN(g_ascii_strtoull(digits, NULL, 10), MAX_SLOTS - 1);
	}
	if (colon)
		n = (gsize)(colon - text);
	input.node = tf_ops_find(ops, tacho_timeline_intern(ops->timeline, text, (gssize)n));
	return input;
}

struct tf_rows tf_ops_tuple(struct tf_ops *ops, const gint64 *sizes, gsize n)
{
	struct tf_rows dims = { ops->dims->len, (guint32)MIN(n, TACHO_MAX_DIMS) };

	g_array_append_vals(ops->dims, sizes, dims.n);
	return dims;
}

struct tf_rows tf_ops_dims(struct tf_ops *ops, const Tacho__Tensorflow__TensorShape *shape,
			   gboolean *ret_is_known)
{
	struct tf_rows dims = { .first = ops->dims->len };

	*ret_is_known = shape && !shape->unknown_rank;
	for (gsize i = 0; *ret_is_known && i < shape->n_dim && i < TACHO_MAX_DIMS; i++) {
		*ret_is_known = shape->dim[i]->size >= 0;
		g_array_append_val(ops->dims, shape->dim[i]->size);
		dims.n++;
	}
	if (*ret_is_known)
		return dims;
	g_array_set_size(ops->dims, dims.first);
	return (struct tf_rows){ 0 };
}

gint64 tf_ops_elements(const struct tf_ops *ops, struct tf_rows dims)
{
	gint64 n = 1;

	for (guint32 i = 0; i < dims.n; i++) {
		gint64 size = g_array_index(ops->dims, gint64, dims.first + i);

		if (size < 0 || __builtin_mul_overflow(n, size, &n))
			return TF_NOT_TOLD;
	}
	return n;
}

void tf_ops_add_tag(struct tf_ops *ops, guint32 node, guint32 tag)
{
	struct tf_node *at = tf_ops_node(ops, node);
	const gchar *text = tacho_timeline_string(ops->timeline, tag);
	g_autofree gchar *all = NULL;

	at->is_trainable |= strcmp(text, "_trainable_variables") == 0;
	if (at->tags)
		all = g_strdup_printf("%s\n%s", tacho_timeline_string(ops->timeline, at->tags),
				      text);
	at->tags = all ? tacho_timeline_intern(ops->timeline, all, -1) : tag;
}

gboolean tf_ops_is_variable(const struct tf_ops *ops, guint32 node)
{
	static const gchar *const types[] = { "Variable", "VariableV2", "AutoReloadVariable",
					      "VarHandleOp" };

	const struct tf_node *at = tf_ops_node(ops, node);
	const gchar *type = tacho_timeline_string(ops->timeline, at->type);

	for (guint i = 0; i < G_N_ELEMENTS(types); i++)
		if (strcmp(types[i], type) == 0)
			return TRUE;
	return at->is_trainable;
}

static const AttrValue *find_attr(Tacho__Tensorflow__Attr *const *attrs, gsize n, const gchar *name)
{
	for (gsize i = 0; i < n; i++)
		if (attrs[i]->key.len == strlen(name) &&
		    memcmp(attrs[i]->key.data, name, attrs[i]->key.len) == 0)
			return attrs[i]->value;
	return NULL;
}

static void add_output_shapes(struct tf_ops *ops, guint32 node, const AttrValue *shapes,
			      gint32 dtype)
{
	struct tf_rows outputs = { .first = ops->tensors->len };

	for (gsize i = 0; i < shapes->list->n_shape && i < MAX_SLOTS; i++) {
		struct tf_tensor tensor = { .slot = (guint32)i,
					    .dtype = dtype,
					    .bytes = TF_NOT_TOLD };
		gboolean is_known;

		tensor.dims = tf_ops_dims(ops, shapes->list->shape[i], &is_known);
		if (!is_known)
			continue;
		g_array_append_val(ops->tensors, tensor);
		outputs.n++;
	}
	tf_ops_node(ops, node)->outputs = outputs;
}

void tf_ops_add_attrs(struct tf_ops *ops, guint32 node, Tacho__Tensorflow__Attr *const *attrs,
		      gsize n)
{
	const AttrValue *shapes = find_attr(attrs, n, "_output_shapes");
	const AttrValue *shape = find_attr(attrs, n, "shape");
	const AttrValue *dtype = find_attr(attrs, n, "T") ?: find_attr(attrs, n, "dtype");
	struct tf_node *at = tf_ops_node(ops, node);
	gboolean is_known;
	struct tf_rows dims;

	if (shapes && shapes->list && !at->outputs.n)
		add_output_shapes(ops, node, shapes, dtype ? dtype->type : 0);
	if (!shape || !shape->shape || at->parameters != TF_NOT_TOLD ||
	    !tf_ops_is_variable(ops, node))
		return;
	dims = tf_ops_dims(ops, shape->shape, &is_known);
	if (is_known)
		at->parameters = tf_ops_elements(ops, dims);
}

void tf_ops_add_node_def(struct tf_ops *ops, const Tacho__Tensorflow__NodeDef *def)
{
	guint32 node = tf_ops_find(ops, tf_ops_intern(ops, &def->name));
	struct tf_rows inputs = { .first = ops->inputs->len };

	for (gsize i = 0; i < def->n_input; i++) {
		struct tf_input input =
			tf_ops_input(ops, (const gchar *)def->input[i].data, def->input[i].len);

		if (input.slot == MAX_SLOTS)
			continue;
		g_array_append_val(ops->inputs, input);
		inputs.n++;
	}
	if (inputs.n)
		tf_ops_node(ops, node)->inputs = inputs;
	if (def->op.len)
		tf_ops_node(ops, node)->type = tf_ops_intern(ops, &def->op);
	tf_ops_add_attrs(ops, node, def->attr, def->n_attr);
}

void tf_ops_find_outputs(struct tf_ops *ops)
{
	FOR_EACH(const struct tf_input, input, ops->inputs) {
		struct tf_node *node = tf_ops_node(ops, input->node);

		if (!node->outputs.n && input->slot < MAX_SLOTS)
			node->n_read = MAX(node->n_read, input->slot + 1);
	}
}

/* --- who made them -------------------------------------------------------------------------- */

static const gchar *text_of_id(GHashTable *id_to_string, gint64 id)
{
	const gchar *text = id_to_string ? g_hash_table_lookup(id_to_string, &id) : NULL;

	return text ? text : "";
}

/* "train.py:12 main": as tfprof calls a frame. */
static guint32 frame_name(struct tf_ops *ops, const Tacho__Tensorflow__CodeDef__Trace *trace,
			  GHashTable *id_to_string)
{
	g_autofree gchar *file = trace->file.len
					 ? proto_text(&trace->file)
					 : g_strdup(text_of_id(id_to_string, trace->file_id));
	g_autofree gchar *function =
		trace->function.len ? proto_text(&trace->function)
				    : g_strdup(text_of_id(id_to_string, trace->function_id));
	g_autofree gchar *base = g_path_get_basename(*file ? file : "?");
	g_autofree gchar *name =
		g_strdup_printf("%s:%d %s", base, trace->lineno, *function ? function : "?");

	return tacho_timeline_intern(ops->timeline, name, -1);
}

void tf_ops_add_stack(struct tf_ops *ops, guint32 node, const Tacho__Tensorflow__CodeDef *code,
		      GHashTable *id_to_string)
{
	struct tf_rows makers = { .first = ops->makers->len };

	if (!code || !code->n_traces)
		return;
	for (gsize i = 0; i < code->n_traces; i++) {
		guint32 name = frame_name(ops, code->traces[i], id_to_string);

		g_array_append_val(ops->makers, name);
		makers.n++;
	}
	tf_ops_node(ops, node)->makers = makers;
}

/* The node whose gradient "...gradients/FORWARD_grad/..." computes; TACHO_NONE: it is none. */
static guint32 forward_node(struct tf_ops *ops, guint32 node)
{
	const gchar *name = tacho_timeline_string(ops->timeline, tf_ops_node(ops, node)->name);
	const gchar *forward = strstr(name, "gradients/"), *end;
	g_autofree gchar *plain = NULL;
	gpointer found;

	if (!forward)
		return TACHO_NONE;
	forward += strlen("gradients/");
	end = strstr(forward, "_grad/");
	if (!end)
		return TACHO_NONE;
	plain = g_strndup(forward, (gsize)(end - forward));
	found = g_hash_table_lookup(
		ops->by_name, GUINT_TO_POINTER(tacho_timeline_intern(ops->timeline, plain, -1)));
	return GPOINTER_TO_UINT(found) - 1;
}

void tf_ops_place_gradients(struct tf_ops *ops)
{
	guint n = ops->nodes->len;

	for (guint32 i = 0; i < n; i++) {
		guint32 forward = forward_node(ops, i);
		struct tf_rows makers = { .first = ops->makers->len }, from;

		if (forward == TACHO_NONE || !tf_ops_node(ops, forward)->makers.n)
			continue;
		from = tf_ops_node(ops, forward)->makers;
		for (guint32 k = 0; k < from.n; k++) {
			g_autofree gchar *name = g_strdup_printf(
				"%s (gradient)",
				tacho_timeline_string(
					ops->timeline,
					g_array_index(ops->makers, guint32, from.first + k)));
			guint32 frame = tacho_timeline_intern(ops->timeline, name, -1);

			g_array_append_val(ops->makers, frame);
			makers.n++;
		}
		tf_ops_node(ops, i)->makers = makers;
	}
}

/* --- the accessors -------------------------------------------------------------------------- */

/* NULL: no such run of an operation. */
static const struct tf_run *find_run(const struct tf_ops *ops, guint64 place)
{
	const struct tf_run *run = place < ops->runs->len ? tf_ops_run(ops, (guint32)place) : NULL;

	return run && !run->is_device ? run : NULL;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	const struct tf_ops *ops = (const struct tf_ops *)reader;

	if (place >= ops->runs->len || !tf_ops_run(ops, (guint32)place)->is_device)
		return FALSE;
	*kernel = (TachoKernelArgs){ .dtype = "", .text = "" };
	kernel->bytes = tf_ops_run(ops, (guint32)place)->moved_bytes;
	return TRUE;
}

static guint32 count_outputs(const struct tf_ops *ops, const struct tf_run *run)
{
	const struct tf_node *node = tf_ops_node(ops, run->node);

	if (run->outputs.n)
		return run->outputs.n;
	return node->outputs.n ? node->outputs.n : node->n_read;
}

static gboolean get_op(struct foreign_reader *reader, guint64 place, TachoOpArgs *args)
{
	const struct tf_ops *ops = (const struct tf_ops *)reader;
	const struct tf_run *run = find_run(ops, place);

	if (!run)
		return FALSE;
	*args = (TachoOpArgs){ .sequence = -1 };
	args->n_inputs = tf_ops_node(ops, run->node)->inputs.n;
	args->n_outputs = count_outputs(ops, run);
	return TRUE;
}

static void fill_tensor(const struct tf_ops *ops, guint32 node, const struct tf_tensor *from,
			guint32 slot, TachoTensor *tensor)
{
	*tensor = (TachoTensor){ .dtype = "", .device = "" };
	tensor->storage = ((guint64)node + 1) << 16 | (slot & (MAX_SLOTS - 1));
	tensor->argument = slot;
	if (!from)
		return;
	tensor->dtype = tf_dtype_name(from->dtype, &tensor->dtype_bytes);
	tensor->n_dims = from->dims.n;
	for (guint32 i = 0; i < from->dims.n; i++)
		tensor->shape[i] = g_array_index(ops->dims, gint64, from->dims.first + i);
}

/* The output of that number; NULL: nothing is told of it. */
static const struct tf_tensor *find_output(const struct tf_ops *ops, struct tf_rows outputs,
					   guint32 slot)
{
	for (guint32 i = 0; i < outputs.n; i++) {
		const struct tf_tensor *tensor =
			&g_array_index(ops->tensors, struct tf_tensor, outputs.first + i);

		if (tensor->slot == slot)
			return tensor;
	}
	return NULL;
}

static gboolean get_input(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor)
{
	const struct tf_ops *ops = (const struct tf_ops *)reader;
	const struct tf_run *run = find_run(ops, place);
	const struct tf_input *input;
	struct tf_rows inputs;

	if (!run)
		return FALSE;
	inputs = tf_ops_node(ops, run->node)->inputs;
	if (index >= inputs.n)
		return FALSE;
	input = &g_array_index(ops->inputs, struct tf_input, inputs.first + index);
	fill_tensor(ops, input->node,
		    find_output(ops, tf_ops_node(ops, input->node)->outputs, input->slot),
		    input->slot, tensor);
	tensor->argument = index;
	return TRUE;
}

static gboolean get_output(struct foreign_reader *reader, guint64 place, guint32 index,
			   TachoTensor *tensor)
{
	const struct tf_ops *ops = (const struct tf_ops *)reader;
	const struct tf_run *run = find_run(ops, place);
	const struct tf_tensor *output;
	struct tf_rows outputs;

	if (!run)
		return FALSE;
	outputs = run->outputs.n ? run->outputs : tf_ops_node(ops, run->node)->outputs;
	if (!outputs.n && index < tf_ops_node(ops, run->node)->n_read) {
		fill_tensor(ops, run->node, NULL, index, tensor);
		return TRUE;
	}
	if (index >= outputs.n)
		return FALSE;
	output = &g_array_index(ops->tensors, struct tf_tensor, outputs.first + index);
	fill_tensor(ops, run->node, output, output->slot, tensor);
	return TRUE;
}

static gdouble told_number(gint64 number)
{
	return number == TF_NOT_TOLD ? NAN : (gdouble)number;
}

static gboolean get_told(struct foreign_reader *reader, guint64 place, TachoToldOp *told)
{
	const struct tf_ops *ops = (const struct tf_ops *)reader;
	const struct tf_run *run = find_run(ops, place);
	const struct tf_node *node;

	if (!run)
		return FALSE;
	node = tf_ops_node(ops, run->node);
	*told = (TachoToldOp){
		.type = node->type,
		.tags = node->tags,
		.flops = node->float_ops ? (gdouble)node->float_ops : NAN,
		.parameters = told_number(node->parameters),
		.allocated_bytes = told_number(run->allocated_bytes),
		.peak_bytes = told_number(run->peak_bytes),
		.residual_bytes = told_number(run->residual_bytes),
		.output_bytes = told_number(run->output_bytes),
	};
	return TRUE;
}

static guint32 get_maker(struct foreign_reader *reader, guint64 place, guint32 index)
{
	const struct tf_ops *ops = (const struct tf_ops *)reader;
	const struct tf_run *run = find_run(ops, place);
	struct tf_rows makers;

	if (!run)
		return 0;
	makers = tf_ops_node(ops, run->node)->makers;
	return index < makers.n ? g_array_index(ops->makers, guint32, makers.first + index) : 0;
}

/* --- args ----------------------------------------------------------------------------------- */

/* The message that tells of the run, unpacked; under the lock. NULL: it cannot be read any more. */
static const ProtobufCMessage *read_message(struct tf_ops *ops, const struct tf_run *run)
{
	struct tf_file *file = ops->file;
	struct wire_field field;

	if (file->walk && file->index != run->file)
		g_clear_pointer(&file->walk, wire_walk_close);
	if (!file->walk)
		file->walk = wire_walk_open(g_ptr_array_index(ops->paths, run->file), NULL);
	file->index = run->file;
	if (!file->walk || !wire_walk_seek(file->walk, run->place) ||
	    wire_walk_next(file->walk, &field) != WIRE_FIELD ||
	    !wire_walk_load(file->walk, &field, MAX_MESSAGE_BYTES))
		return NULL;
	return proto_arena_unpack(&file->arena, ops->descriptor, field.bytes, (gsize)field.n_bytes);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	static const gchar *const without[] = { "execs" };
	struct tf_ops *ops = (struct tf_ops *)reader;
	const struct tf_run *run = place < ops->runs->len ? tf_ops_run(ops, (guint32)place) : NULL;
	const ProtobufCMessage *message;
	struct json_memory memory;
	JsonWriter *writer = NULL;
	gchar *text = NULL;

	if (!run || !run->place)
		return NULL;
	if (!ops->descriptor)
		return json_file_copy(g_ptr_array_index(ops->json_files, run->file), run->place);
	pthread_mutex_lock(&ops->file->lock);
	message = read_message(ops, run);
	if (message && message->descriptor == &tacho__tensorflow__profile_node_entry__descriptor) {
		const Tacho__Tensorflow__ProfileNodeEntry *entry =
			(const Tacho__Tensorflow__ProfileNodeEntry *)message;

		message = entry->value ? &entry->value->base : NULL;
	}
	if (message)
		writer = json_memory_begin(&memory);
	if (writer) {
		proto_json_write(writer, message, without, G_N_ELEMENTS(without));
		text = json_memory_take(&memory, writer);
	}
	pthread_mutex_unlock(&ops->file->lock);
	return text;
}

/* --- the reader ----------------------------------------------------------------------------- */

static void free_ops(struct foreign_reader *reader)
{
	struct tf_ops *ops = (struct tf_ops *)reader;

	wire_walk_close(ops->file->walk);
	proto_arena_release(&ops->file->arena);
	pthread_mutex_destroy(&ops->file->lock);
	g_free(ops->file);
	g_array_unref(ops->nodes);
	g_array_unref(ops->runs);
	g_array_unref(ops->inputs);
	g_array_unref(ops->tensors);
	g_array_unref(ops->dims);
	g_array_unref(ops->makers);
	g_hash_table_unref(ops->by_name);
	g_ptr_array_unref(ops->paths);
	g_ptr_array_unref(ops->json_files);
	g_free(ops);
}

struct tf_ops *tf_ops_new(TachoTimeline *timeline, const ProtobufCMessageDescriptor *descriptor)
{
	struct tf_ops *ops = g_new0(struct tf_ops, 1);

	ops->reader = (struct foreign_reader){
		.op = get_op,
		.kernel = get_kernel,
		.input = get_input,
		.output = get_output,
		.args_json = get_args_json,
		.launch_shape = device_args_launch_shape,
		.copy = device_args_copy,
		.told = get_told,
		.maker = get_maker,
		.free = free_ops,
	};
	ops->timeline = timeline;
	ops->descriptor = descriptor;
	ops->paths = g_ptr_array_new_with_free_func(g_free);
	ops->json_files = g_ptr_array_new_with_free_func((GDestroyNotify)json_file_free);
	ops->nodes = g_array_new(FALSE, FALSE, sizeof(struct tf_node));
	ops->runs = g_array_new(FALSE, FALSE, sizeof(struct tf_run));
	ops->inputs = g_array_new(FALSE, FALSE, sizeof(struct tf_input));
	ops->tensors = g_array_new(FALSE, FALSE, sizeof(struct tf_tensor));
	ops->dims = g_array_new(FALSE, FALSE, sizeof(gint64));
	ops->makers = g_array_new(FALSE, FALSE, sizeof(guint32));
	ops->by_name = g_hash_table_new(NULL, NULL);
	ops->file = g_new0(struct tf_file, 1);
	pthread_mutex_init(&ops->file->lock, NULL);
	proto_arena_init(&ops->file->arena, MAX_UNPACKED_BYTES);
	return ops;
}
