#include "import/kineto/kineto_args.h"

#include <pthread.h>
#include <string.h>

#include "import/c10_dtype.h"
#include "import/read/concrete_inputs.h"
#include "import/read/device_args.h"
#include "import/read/json_file.h"
#include "import/kineto/kineto_event.h"
#include "trace/operation.h"

struct input {
	TachoTensor tensor;
	gboolean is_found; /* it has a shape, if perhaps an empty one */
};

/* An operation's inputs are asked for one after the other: they are read together. */
struct kineto_args {
	struct foreign_reader reader;
	struct json_file *file;
	GArray *extras; /* struct kineto_extra */
	pthread_mutex_t lock;
	/* Under the lock: */
	guint64 inputs_offset; /* of the object that `inputs` are of; 0: none */
	GArray *inputs;	       /* struct input */
};

/* --- places --------------------------------------------------------------------------------- */

static const struct kineto_extra *find_extra(const struct kineto_args *args, guint64 place)
{
	guint64 index = place & ~KINETO_PLACE_EXTRA;

	if (!(place & KINETO_PLACE_EXTRA) || index >= args->extras->len)
		return NULL;
	return &g_array_index(args->extras, struct kineto_extra, index);
}

/* The part of the place that says where in the file, 0: nowhere. */
static guint64 file_place(const struct kineto_args *args, guint64 place)
{
	const struct kineto_extra *extra = find_extra(args, place);

	if (extra)
		return extra->place;
	return place & KINETO_PLACE_EXTRA ? 0 : place;
}

/* --- figures -------------------------------------------------------------------------------- */

static gboolean get_op(struct foreign_reader *reader, guint64 place, TachoOpArgs *op)
{
	const struct kineto_args *args = (const struct kineto_args *)reader;
	const struct kineto_extra *extra = find_extra(args, place);

	*op = (TachoOpArgs){ .sequence = -1 };
	op->n_inputs = (guint32)(file_place(args, place) >> 40);
	if (extra) {
		op->sequence = extra->is_collective && extra->way ? -1 : extra->sequence;
		op->forward_thread = extra->is_collective ? 0 : extra->forward_thread;
	}
	return TRUE;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	const struct kineto_extra *extra = find_extra((const struct kineto_args *)reader, place);

	if (!extra)
		return FALSE;
	*kernel = (TachoKernelArgs){ .bytes = extra->bytes, .dtype = "", .text = "" };
	return TRUE;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *collective)
{
	const struct kineto_extra *extra = find_extra((const struct kineto_args *)reader, place);

	if (!extra)
		return FALSE;
	*collective = (TachoCollectiveArgs){ .bytes = extra->bytes,
					     .group = extra->group,
					     .peer = (guint32)extra->peer,
					     .way = extra->way };
	return TRUE;
}

static guint get_operation(struct foreign_reader *reader, guint64 place)
{
	const struct kineto_extra *extra = find_extra((const struct kineto_args *)reader, place);

	return extra && extra->is_collective && extra->operation != OPERATION_WANTED
		       ? extra->operation
		       : OPERATION_UNTOLD;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct kineto_args *args = (struct kineto_args *)reader;
	guint64 offset = file_place(args, place) & (KINETO_MAX_OFFSET - 1);

	return offset ? json_file_copy(args->file, offset) : NULL;
}

/* --- tensors -------------------------------------------------------------------------------- */

static void read_shape(struct json_scan *scan, TachoTensor *tensor)
{
	gint64 size;

	if (!json_enter(scan, '['))
		return;
	while (json_element(scan))
		if (json_fixed(scan, 0, &size) && tensor->n_dims < TACHO_MAX_DIMS)
			tensor->shape[tensor->n_dims++] = size;
}

static void read_dtype(struct json_scan *scan, TachoTensor *tensor)
{
	struct json_text text;

	if (json_peek(scan) != '"' || !json_string(scan, &text))
		return;
	tensor->dtype = c10_dtype_name(text.bytes, text.n);
	tensor->dtype_bytes = (guint8)c10_dtype_bytes(text.bytes, text.n);
}

static struct input *find_input(struct kineto_args *args, guint index)
{
	return index < args->inputs->len ? &g_array_index(args->inputs, struct input, index) : NULL;
}

/* Take "Input Dims" or "Input type" at scan->at; scalars, which have neither shape nor a type that tensors
 * have, are tensors without storage. */
static void read_list(struct kineto_args *args, struct json_scan *scan, gboolean is_dims)
{
	struct input *input;

	if (!json_take(scan, '['))
		return;
	for (guint i = 0; json_element(scan) && (input = find_input(args, i)); i++) {
		struct json_scan value = *scan;

		json_skip(scan);
		input->is_found |= is_dims;
		if (is_dims)
			read_shape(&value, &input->tensor);
		else
			read_dtype(&value, &input->tensor);
	}
}

static void read_inputs(struct kineto_args *args, struct json_scan *scan)
{
	struct json_text key;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		gboolean is_dims = JSON_TEXT_IS(&key, "Input Dims");
		struct json_scan value;

		json_peek(scan);
		value = *scan;
		json_skip(scan);
		if (is_dims || JSON_TEXT_IS(&key, "Input type"))
			read_list(args, &value, is_dims);
	}
}

/* Have the inputs of the object at `offset`; under the lock. */
static void load_inputs(struct kineto_args *args, guint64 offset, guint32 n)
{
	struct json_scan scan;

	g_array_set_size(args->inputs, 0);
	for (guint32 i = 0; i < n; i++) {
		struct input none = { .tensor = { .dtype = "", .device = "", .argument = i } };

		g_array_append_val(args->inputs, none);
	}
	if (json_file_lock(args->file, offset, &scan))
		read_inputs(args, &scan);
	json_file_unlock(args->file);
	args->inputs_offset = offset;
}

static gboolean get_input(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor)
{
	struct kineto_args *args = (struct kineto_args *)reader;
	guint64 where = file_place(args, place), offset = where & (KINETO_MAX_OFFSET - 1);
	guint32 n_inputs = (guint32)(where >> 40);
	const struct input *input;
	gboolean is_found;

	if (!offset || index >= n_inputs)
		return FALSE;
	pthread_mutex_lock(&args->lock);
	if (args->inputs_offset != offset)
		load_inputs(args, offset, n_inputs);
	input = find_input(args, index);
	is_found = input && input->is_found;
	if (is_found)
		*tensor = input->tensor;
	pthread_mutex_unlock(&args->lock);
	return is_found;
}

/* --- the reader ----------------------------------------------------------------------------- */

static void free_args(struct foreign_reader *reader)
{
	struct kineto_args *args = (struct kineto_args *)reader;

	json_file_free(args->file);
	g_array_unref(args->extras);
	g_array_unref(args->inputs);
	pthread_mutex_destroy(&args->lock);
	g_free(args);
}

struct foreign_reader *kineto_args_new(const gchar *path, GArray *extras)
{
	struct kineto_args *args = g_new0(struct kineto_args, 1);

	args->reader = (struct foreign_reader){
		.op = get_op,
		.kernel = get_kernel,
		.collective = get_collective,
		.input = get_input,
		.args_json = get_args_json,
		.launch_shape = device_args_launch_shape,
		.copy = device_args_copy,
		.numbers = concrete_inputs_numbers,
		.operation = get_operation,
		.free = free_args,
	};
	args->file = json_file_new(path);
	args->extras = g_array_ref(extras);
	pthread_mutex_init(&args->lock, NULL);
	args->inputs = g_array_new(FALSE, FALSE, sizeof(struct input));
	return &args->reader;
}
