#include "import/execution/execution_args.h"
#include "import/read/device_args.h"

#include <string.h>

struct execution_args {
	struct foreign_reader reader;
	struct execution_trace *trace;
	GArray *links; /* struct execution_link, or NULL */
};

static const struct execution_link *find_link(const struct execution_args *args, guint64 place)
{
	guint64 index = place & ~EXECUTION_PLACE_LINK;

	if (!(place & EXECUTION_PLACE_LINK) || !args->links || index >= args->links->len)
		return NULL;
	return &g_array_index(args->links, struct execution_link, index);
}

/* The node that the place stands for, or NULL. */
static const struct execution_node *find_node(const struct execution_args *args, guint64 place)
{
	const struct execution_link *link = find_link(args, place);

	if (link)
		place = link->node;
	return place < args->trace->nodes->len ? execution_trace_node(args->trace, (guint32)place)
					       : NULL;
}

/* --- figures -------------------------------------------------------------------------------- */

static gboolean get_op(struct foreign_reader *reader, guint64 place, TachoOpArgs *op)
{
	const struct execution_args *args = (const struct execution_args *)reader;
	const struct execution_link *link = find_link(args, place);
	const struct execution_node *node = find_node(args, place);
	gboolean is_known = link && link->measured && link->measured->op &&
			    link->measured->op(link->measured, link->place, op);

	if (!node || (link && link->is_device))
		return is_known;
	if (!is_known)
		*op = (TachoOpArgs){ .sequence = node->sequence,
				     .forward_thread = node->forward_thread };
	if (node->n_inputs || !is_known)
		op->n_inputs = node->n_inputs;
	op->n_outputs = node->n_outputs;
	return TRUE;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	const struct execution_args *args = (const struct execution_args *)reader;
	const struct execution_link *link = find_link(args, place);
	const struct execution_node *node = find_node(args, place);

	if (link)
		return link->measured && link->measured->kernel &&
		       link->measured->kernel(link->measured, link->place, kernel);
	if (!node || node->role != EXECUTION_DEVICE)
		return FALSE;
	*kernel = (TachoKernelArgs){
		.flops = node->flops, .bytes = node->bytes, .dtype = "", .text = ""
	};
	return TRUE;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *collective)
{
	const struct execution_args *args = (const struct execution_args *)reader;
	const struct execution_link *link = find_link(args, place);
	const struct execution_node *node = find_node(args, place);
	gboolean is_known = link && link->measured && link->measured->collective &&
			    link->measured->collective(link->measured, link->place, collective);

	if (!node || !node->collective)
		return is_known;
	if (!is_known)
		*collective = (TachoCollectiveArgs){ .n_inputs = node->n_inputs };
	if (!collective->bytes)
		collective->bytes = node->bytes;
	if (!collective->group)
		collective->group = node->group;
	return TRUE;
}

static guint get_operation(struct foreign_reader *reader, guint64 place)
{
	const struct execution_link *link = find_link((const struct execution_args *)reader, place);

	return link && link->measured && link->measured->operation
		       ? link->measured->operation(link->measured, link->place)
		       : 0;
}

/* --- tensors -------------------------------------------------------------------------------- */

static void fill_tensor(const struct execution_trace *trace, guint32 index, TachoTensor *tensor)
{
	const struct execution_tensor *found =
		&g_array_index(trace->tensors, struct execution_tensor, index);

	*tensor = (TachoTensor){
		.storage = found->storage,
		.offset_bytes = found->offset_bytes,
		.dtype = found->dtype,
		.dtype_bytes = found->element_bytes,
		.device = tacho_timeline_string(trace->timeline, found->device),
		.argument = found->argument,
		.n_dims = found->n_dims,
	};
	for (guint i = 0; i < found->n_dims; i++)
		tensor->shape[i] = g_array_index(trace->dims, gint64, found->first_dim + i);
}

static gboolean get_input(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor)
{
	const struct execution_args *args = (const struct execution_args *)reader;
	const struct execution_link *link = find_link(args, place);
	const struct execution_node *node = find_node(args, place);

	if (node && node->n_inputs && !(link && link->is_device)) {
		if (index < node->n_inputs)
			fill_tensor(args->trace, node->first_tensor + index, tensor);
		return index < node->n_inputs;
	}
	return link && link->measured && link->measured->input &&
	       link->measured->input(link->measured, link->place, index, tensor);
}

static gboolean get_output(struct foreign_reader *reader, guint64 place, guint32 index,
			   TachoTensor *tensor)
{
	const struct execution_args *args = (const struct execution_args *)reader;
	const struct execution_link *link = find_link(args, place);
	const struct execution_node *node = find_node(args, place);

	if (!node || (link && link->is_device) || index >= node->n_outputs)
		return FALSE;
	fill_tensor(args->trace, node->first_tensor + node->n_inputs + index, tensor);
	return TRUE;
}

/* --- all else ------------------------------------------------------------------------------- */

/* The members of `object` and, as the last of them, "execution_trace": `node`. */
static gchar *join(const gchar *object, const gchar *node)
{
	const gchar *end = strrchr(object, '}'), *last = end;

	if (!end)
		return g_strdup(object);
	while (last > object && g_ascii_isspace(last[-1]))
		last--;
	return g_strdup_printf("%.*s%s\"execution_trace\": %s}", (gint)(last - object), object,
			       last > object && last[-1] == '{' ? "" : ", ", node);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct execution_args *args = (const struct execution_args *)reader;
	const struct execution_link *link = find_link(args, place);
	const struct execution_node *node = find_node(args, place);
	struct foreign_reader *texts = args->trace->texts;
	g_autofree gchar *measured = NULL, *own = NULL;

	if (link && link->measured && link->measured->args_json)
		measured = link->measured->args_json(link->measured, link->place);
	if (node && args->trace->file)
		own = json_file_copy(args->trace->file, node->place);
	else if (node && texts && texts->args_json)
		own = texts->args_json(texts, node->place);
	if (measured && own)
		return join(measured, own);
	return measured ? g_steal_pointer(&measured) : g_steal_pointer(&own);
}

static void free_args(struct foreign_reader *reader)
{
	struct execution_args *args = (struct execution_args *)reader;

	execution_trace_free(args->trace);
	g_clear_pointer(&args->links, g_array_unref);
	g_free(args);
}

struct foreign_reader *execution_args_new(struct execution_trace *trace, GArray *links)
{
	struct execution_args *args = g_new0(struct execution_args, 1);

	args->reader = (struct foreign_reader){
		.op = get_op,
		.kernel = get_kernel,
		.collective = get_collective,
		.operation = get_operation,
		.input = get_input,
		.output = get_output,
		.args_json = get_args_json,
		.launch_shape = device_args_launch_shape,
		.copy = device_args_copy,
		.free = free_args,
	};
	args->trace = trace;
	args->links = links;
	return &args->reader;
}
