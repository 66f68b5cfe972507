#include "trace/record.h"

#include <string.h>

static const struct {
	const gchar *name;
	guint8 bytes;
} dtypes[TRACE_N_DTYPES] = {
#define DTYPE_ROW(enumerator, name, bytes) { #name, bytes },
	TRACE_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

static const gchar *const devices[] = {
	[TRACE_DEVICE_UNKNOWN] = "unknown", [TRACE_DEVICE_CPU] = "cpu",
	[TRACE_DEVICE_CUDA] = "cuda",	    [TRACE_DEVICE_HIP] = "hip",
	[TRACE_DEVICE_META] = "meta",	    [TRACE_DEVICE_OTHER] = "other",
};

const gchar *record_dtype_name(guint32 dtype)
{
	return dtypes[dtype < TRACE_N_DTYPES ? dtype : TRACE_DTYPE_UNKNOWN].name;
}

/* Where the tensor at `offset` ends; 0: it does not fit. */
static inline gsize tensor_end(const guint8 *record, gsize size_bytes, gsize offset)
{
	const struct record_tensor *tensor = (const void *)(record + offset);
	guint n_dims;

	if (size_bytes - offset < sizeof(*tensor))
		return 0;
	n_dims = __atomic_load_n(&tensor->n_dims, __ATOMIC_RELAXED);
	offset += sizeof(*tensor);
	if (n_dims > TRACE_MAX_DIMS || (size_bytes - offset) / sizeof(gint64) < n_dims)
		return 0;
	return offset + n_dims * sizeof(gint64);
}

static const gchar *find_tensor_fault(const void *record, gsize size_bytes, gsize offset, guint32 n)
{
	if (n > TRACE_MAX_TENSORS)
		return "claims too many tensors";
	for (guint32 i = 0; i < n; i++) {
		offset = tensor_end(record, size_bytes, offset);
		if (!offset)
			return "has a tensor that does not fit into it";
	}
	return NULL;
}

static const gchar *find_text_fault(gsize size_bytes, gsize offset, guint32 n_text)
{
	if (n_text % 8 || n_text > size_bytes - offset)
		return "has a text that does not fit into it";
	return NULL;
}

static const gchar *find_kernel_fault(const struct record_kernel *kernel, gsize size_bytes)
{
	guint32 n_dims = kernel->n_dims;
	gsize dims_bytes = n_dims * sizeof(gint64);

	if (n_dims > TRACE_MAX_DIMS || dims_bytes > size_bytes - sizeof(*kernel))
		return "has dimensions that do not fit into it";
	return find_text_fault(size_bytes, sizeof(*kernel) + dims_bytes, kernel->n_text);
}

static const gchar *find_stack_fault(const struct record_stack *stack, gsize size_bytes)
{
	guint32 n_frames = __atomic_load_n(&stack->n_frames, __ATOMIC_RELAXED);

	if (n_frames > TRACE_MAX_FRAMES || stack->n_same > TRACE_MAX_FRAMES ||
	    n_frames > (size_bytes - sizeof(*stack)) / sizeof(struct record_frame))
		return "has frames that do not fit into it";
	return NULL;
}

static const gchar *find_late_fault(const struct record_late *late)
{
	switch (late->slice_kind) {
	case TRACE_KIND_ANNOTATION:
	case TRACE_KIND_MODULE:
	case TRACE_KIND_WAIT:
	case TRACE_KIND_FUNCTION:
	case TRACE_KIND_RUNTIME:
		return NULL;
	default:
		return "is a slice of a kind that cannot be told late";
	}
}

static const gchar *find_flow_fault(const struct record_flow *flow)
{
	if (flow->phase >= TRACE_N_FLOW_PHASES || flow->scope >= TRACE_N_FLOW_SCOPES)
		return "is a flow of no known phase or scope";
	return NULL;
}

static const gchar *find_transfer_fault(const struct record_transfer *transfer)
{
	return transfer->collective.n_inputs || transfer->way >= TRACE_N_WAYS
		       ? "is a transfer of no known way"
		       : NULL;
}

static const gchar *find_request_fault(const struct record_request *request)
{
	return request->sort != TRACE_REQUEST_SORT || request->side >= TRACE_N_SIDES
		       ? "is a request of no known side"
		       : NULL;
}

static const gsize least_bytes[TRACE_N_KINDS] = {
	[TRACE_KIND_OP] = sizeof(struct record_op),
	[TRACE_KIND_ANNOTATION] = sizeof(struct record_slice),
	[TRACE_KIND_MODULE] = sizeof(struct record_slice),
	[TRACE_KIND_WAIT] = sizeof(struct record_slice),
	[TRACE_KIND_KERNEL] = sizeof(struct record_kernel),
	[TRACE_KIND_COLLECTIVE] = sizeof(struct record_collective),
	[TRACE_KIND_OUTPUTS] = sizeof(struct record_outputs),
	[TRACE_KIND_ALLOC] = sizeof(struct record_memory),
	[TRACE_KIND_FREE] = sizeof(struct record_memory),
	[TRACE_KIND_MARK] = sizeof(struct record_mark),
	[TRACE_KIND_THREAD] = sizeof(struct record_mark),
	[TRACE_KIND_EXIT] = sizeof(struct record_mark),
	[TRACE_KIND_COST] = sizeof(struct record_cost),
	[TRACE_KIND_CLOCK] = sizeof(struct record_clock),
	[TRACE_KIND_MESSAGE] = sizeof(struct record_message),
	[TRACE_KIND_FUNCTION] = sizeof(struct record_slice),
	[TRACE_KIND_STACK] = sizeof(struct record_stack),
	[TRACE_KIND_RUNTIME] = sizeof(struct record_slice),
	[TRACE_KIND_LATE] = sizeof(struct record_late),
	[TRACE_KIND_DEVICE_KERNEL] = sizeof(struct record_device_kernel),
	[TRACE_KIND_COPY] = sizeof(struct record_copy),
	[TRACE_KIND_FILL] = sizeof(struct record_copy),
	[TRACE_KIND_DEVICE_WAIT] = sizeof(struct record_device_wait),
	[TRACE_KIND_DEVICE_WORK] = sizeof(struct record_activity),
	[TRACE_KIND_DEVICE] = sizeof(struct record_device),
	[TRACE_KIND_QUEUE] = sizeof(struct record_queue),
	[TRACE_KIND_DEVICE_ALLOC] = sizeof(struct record_device_memory),
	[TRACE_KIND_DEVICE_FREE] = sizeof(struct record_device_memory),
	[TRACE_KIND_COUNTER] = sizeof(struct record_counter),
	[TRACE_KIND_FLOW] = sizeof(struct record_flow),
	[TRACE_KIND_SPAN] = sizeof(struct record_slice),
	[TRACE_KIND_GRAPH_NODE] = sizeof(struct record_graph_node),
	[TRACE_KIND_TRANSFER] = sizeof(struct record_transfer),
	[TRACE_KIND_REQUEST] = sizeof(struct record_request),
};

const gchar *record_find_fault(enum trace_kind kind, const void *record, gsize size_bytes)
{
	const struct record_op *op = record;
	const struct record_collective *collective = record;
	const struct record_outputs *outputs = record;

	if (size_bytes < least_bytes[kind])
		return "is shorter than its kind";
	switch (kind) {
	case TRACE_KIND_OP:
		return find_tensor_fault(record, size_bytes, sizeof(*op), op->n_inputs);
	case TRACE_KIND_COLLECTIVE:
		return find_tensor_fault(record, size_bytes, sizeof(*collective),
					 collective->n_inputs);
	case TRACE_KIND_TRANSFER:
		return find_transfer_fault(record);
	case TRACE_KIND_REQUEST:
		return find_request_fault(record);
	case TRACE_KIND_OUTPUTS:
		return find_tensor_fault(record, size_bytes, sizeof(*outputs), outputs->n_outputs);
	case TRACE_KIND_KERNEL:
		return find_kernel_fault(record, size_bytes);
	case TRACE_KIND_STACK:
		return find_stack_fault(record, size_bytes);
	case TRACE_KIND_LATE:
		return find_late_fault(record);
	case TRACE_KIND_FLOW:
		return find_flow_fault(record);
	case TRACE_KIND_DEVICE:
		return find_text_fault(size_bytes, sizeof(struct record_device),
				       ((const struct record_device *)record)->n_text);
	case TRACE_KIND_MARK:
	case TRACE_KIND_THREAD:
	case TRACE_KIND_EXIT:
		return find_text_fault(size_bytes, sizeof(struct record_mark),
				       ((const struct record_mark *)record)->n_text);
	default:
		return NULL;
	}
}

guint32 record_peer(const struct record_collective *record, gsize size_bytes)
{
	gsize offset = sizeof(*record);

	for (guint32 i = 0; i < record->n_inputs && offset; i++)
		offset = tensor_end((const guint8 *)record, size_bytes, offset);
	if (!offset || size_bytes - offset < sizeof(struct record_peer))
		return 0;
	return ((const struct record_peer *)((const guint8 *)record + offset))->peer;
}

gboolean record_read_tensor(const void *record, gsize size_bytes, gsize offset, guint32 n,
			    guint32 index, TachoTensor *tensor)
{
	const struct record_tensor *found;
	gsize end;

	if (index >= n || index >= TRACE_MAX_TENSORS)
		return FALSE;
	for (guint32 i = 0; i < index && offset; i++)
		offset = tensor_end(record, size_bytes, offset);
	end = offset ? tensor_end(record, size_bytes, offset) : 0;
	if (!end)
		return FALSE;
	found = (const void *)((const guint8 *)record + offset);
	tensor->storage = found->storage;
	tensor->offset_bytes = found->offset_bytes;
	tensor->dtype = record_dtype_name(found->dtype);
	tensor->dtype_bytes = found->dtype < TRACE_N_DTYPES ? dtypes[found->dtype].bytes : 0;
	tensor->device = devices[found->device < G_N_ELEMENTS(devices) ? found->device : 0];
	tensor->argument = found->argument;
	tensor->n_dims = (guint32)((end - offset - sizeof(*found)) / sizeof(gint64));
	memcpy(tensor->shape, found + 1, tensor->n_dims * sizeof(gint64));
	return TRUE;
}

const gchar *record_borrow_text(const void *record, gsize size_bytes, gsize offset, guint32 n_text)
{
	if (offset > size_bytes || n_text > size_bytes - offset)
		return NULL;
	return (const gchar *)record + offset;
}
