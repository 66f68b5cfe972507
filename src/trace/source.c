#include "trace/source.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>

#include "trace/record.h"
#include "trace/string_table.h"

#define HANDLE_KEPT    (G_GUINT64_CONSTANT(1) << 63)
#define HANDLE_FOREIGN (G_GUINT64_CONSTANT(1) << 62)

enum kept_kind { KEPT_OP, KEPT_KERNEL, KEPT_COLLECTIVE, KEPT_MESSAGE, KEPT_ID };

struct kept_args {
	enum kept_kind kind;
	guint32 first_tensor;
	guint32 n_inputs, n_outputs;
	union {
		TachoOpArgs op;
		TachoKernelArgs kernel;
		TachoCollectiveArgs collective;
		TachoMessageArgs message;
		guint64 id;
	};
};

struct source_file {
	struct mapped_file file;
	gsize content_bytes;
	gboolean is_lent;
};

struct tacho_source {
	GArray *kept;	    /* struct kept_args */
	GArray *tensors;    /* TachoTensor of the kept arguments */
	GArray *files;	    /* struct source_file */
	GPtrArray *foreign; /* struct foreign_reader */
	guint64 *outputs;   /* by slice: handle of its OUTPUTS record, 0: none */
	guint32 n_outputs;
	guint32 *twins; /* by slice: whose tensors it has; NULL: all their own */
	guint32 n_twins;
	/* Texts of records that have no NUL of their own, copied when first asked for. */
	pthread_mutex_t texts_lock;
	struct tacho_string_table *texts;
};

static void close_file(gpointer file_pointer)
{
	struct source_file *file = file_pointer;

	if (!file->is_lent)
		mapped_file_close(&file->file);
}

static void free_foreign(gpointer reader)
{
	((struct foreign_reader *)reader)->free(reader);
}

struct tacho_source *tacho_source_new(void)
{
	struct tacho_source *source = g_new0(struct tacho_source, 1);

	source->kept = g_array_new(FALSE, TRUE, sizeof(struct kept_args));
	source->tensors = g_array_new(FALSE, TRUE, sizeof(TachoTensor));
	source->files = g_array_new(FALSE, TRUE, sizeof(struct source_file));
	g_array_set_clear_func(source->files, close_file);
	source->foreign = g_ptr_array_new_with_free_func(free_foreign);
	source->texts = string_table_new();
	pthread_mutex_init(&source->texts_lock, NULL);
	return source;
}

void tacho_source_free(struct tacho_source *source)
{
	if (!source)
		return;
	g_array_free(source->kept, TRUE);
	g_array_free(source->tensors, TRUE);
	g_array_free(source->files, TRUE);
	g_ptr_array_free(source->foreign, TRUE);
	g_free(source->outputs);
	g_free(source->twins);
	string_table_free(source->texts);
	pthread_mutex_destroy(&source->texts_lock);
	g_free(source);
}

/* --- records of files ----------------------------------------------------------------------- */

static guint32 add_file(struct tacho_source *source, const struct mapped_file *file,
			gsize content_bytes, gboolean is_lent)
{
	struct source_file added = { .file = *file,
				     .content_bytes = content_bytes,
				     .is_lent = is_lent };

	g_assert(content_bytes <= file->size_bytes && content_bytes <= SOURCE_MAX_FILE_BYTES);
	g_array_append_val(source->files, added);
	return source->files->len - 1;
}

guint32 tacho_source_take_file(struct tacho_source *source, struct mapped_file *file,
			       gsize content_bytes)
{
	guint32 index = add_file(source, file, content_bytes, FALSE);

	*file = (struct mapped_file){ 0 };
	return index;
}

guint32 tacho_source_lend_file(struct tacho_source *source, const struct mapped_file *file,
			       gsize content_bytes)
{
	return add_file(source, file, content_bytes, TRUE);
}

const guint8 *tacho_source_borrow_file(const struct tacho_source *source, guint32 file,
				       gsize *ret_content_bytes)
{
	const struct source_file *found = &g_array_index(source->files, struct source_file, file);

	*ret_content_bytes = found->content_bytes;
	return found->file.bytes;
}

void tacho_source_preload_file(const struct tacho_source *source, guint32 file)
{
	const struct source_file *found = &g_array_index(source->files, struct source_file, file);

	mapped_file_preload(&found->file, found->content_bytes);
}

void tacho_source_expect_little(const struct tacho_source *source, guint32 file)
{
	mapped_file_expect_little(&g_array_index(source->files, struct source_file, file).file);
}

const void *tacho_source_borrow_record(const struct tacho_source *source, guint64 handle,
				       gsize least_bytes, gsize *ret_size_bytes)
{
	guint64 number = handle >> 32, offset = (handle & G_MAXUINT32) * 8;
	const struct source_file *file;
	const struct record_header *header;
	gsize size_bytes;

	if (!number || (handle & (HANDLE_KEPT | HANDLE_FOREIGN)) || number > source->files->len)
		return NULL;
	file = &g_array_index(source->files, struct source_file, number - 1);
	if (offset > file->content_bytes || file->content_bytes - offset < sizeof(*header))
		return NULL;
	header = (const void *)(file->file.bytes + offset);
	size_bytes = __atomic_load_n(&header->size_bytes, __ATOMIC_RELAXED);
	if (size_bytes < least_bytes || size_bytes > file->content_bytes - offset)
		return NULL;
	*ret_size_bytes = size_bytes;
	return header;
}

void tacho_source_take_outputs(struct tacho_source *source, guint64 *handles, guint32 n)
{
	g_free(source->outputs);
	source->outputs = handles;
	source->n_outputs = n;
}

void tacho_source_take_twins(struct tacho_source *source, guint32 *twins, guint32 n)
{
	g_free(source->twins);
	source->twins = twins;
	source->n_twins = n;
}

/* The slice whose tensors it has: itself, or its twin. */
static guint32 tensor_slice(const TachoTimeline *timeline, guint32 slice)
{
	const struct tacho_source *source = timeline->source;

	if (slice >= source->n_twins || source->twins[slice] == TACHO_NONE)
		return slice;
	return source->twins[slice];
}

static guint64 *move_handles(const guint64 *handles, guint32 n_handles, const guint32 *moved,
			     guint32 n)
{
	guint64 *result = g_new0(guint64, n);

	for (guint32 i = 0; i < n_handles; i++)
		result[moved[i]] = handles[i];
	return result;
}

static guint32 *move_twins(const guint32 *twins, guint32 n_twins, const guint32 *moved, guint32 n)
{
	guint32 *result = g_new(guint32, n);

	memset(result, 0xff, n * sizeof(*result)); /* TACHO_NONE */
	for (guint32 i = 0; i < n_twins; i++)
		if (twins[i] != TACHO_NONE)
			result[moved[i]] = moved[twins[i]];
	return result;
}

void tacho_source_move_slices(struct tacho_source *source, const guint32 *moved, guint32 n)
{
	if (source->n_outputs)
		tacho_source_take_outputs(
			source, move_handles(source->outputs, source->n_outputs, moved, n), n);
	if (source->n_twins)
		tacho_source_take_twins(source,
					move_twins(source->twins, source->n_twins, moved, n), n);
}

/* The record of a slice of that kind, NULL for any other slice. */
static const void *borrow_record(const TachoTimeline *timeline, guint32 slice, TachoSliceKind kind,
				 gsize least_bytes, gsize *ret_size_bytes)
{
	if (timeline->slices.kind[slice] != kind)
		return NULL;
	return tacho_source_borrow_record(timeline->source, timeline->slices.source[slice],
					  least_bytes, ret_size_bytes);
}

static const struct record_outputs *borrow_outputs(const TachoTimeline *timeline, guint32 slice,
						   gsize *ret_size_bytes)
{
	const struct tacho_source *source = timeline->source;

	if (slice >= source->n_outputs)
		return NULL;
	return tacho_source_borrow_record(source, source->outputs[slice],
					  sizeof(struct record_outputs), ret_size_bytes);
}

/* --- arguments kept by hand ----------------------------------------------------------------- */

static guint64 keep(TachoTimeline *timeline, struct kept_args *args, const TachoTensor *tensors)
{
	struct tacho_source *source = timeline->source;

	args->first_tensor = source->tensors->len;
	if (args->n_inputs + args->n_outputs)
		g_array_append_vals(source->tensors, tensors, args->n_inputs + args->n_outputs);
	g_array_append_val(source->kept, *args);
	return HANDLE_KEPT | (source->kept->len - 1);
}

guint64 tacho_timeline_keep_op(TachoTimeline *timeline, const TachoOpArgs *args,
			       const TachoTensor *tensors)
{
	struct kept_args kept = { .kind = KEPT_OP, .op = *args };

	kept.n_inputs = args->n_inputs;
	kept.n_outputs = args->n_outputs;
	return keep(timeline, &kept, tensors);
}

guint64 tacho_timeline_keep_kernel(TachoTimeline *timeline, const TachoKernelArgs *args)
{
	struct kept_args kept = { .kind = KEPT_KERNEL, .kernel = *args };
	guint32 text = tacho_timeline_intern(timeline, args->text ? args->text : "", -1);

	kept.kernel.text = tacho_timeline_string(timeline, text);
	kept.kernel.n_dims = MIN(args->n_dims, TACHO_MAX_DIMS);
	return keep(timeline, &kept, NULL);
}

guint64 tacho_timeline_keep_collective(TachoTimeline *timeline, const TachoCollectiveArgs *args,
				       const TachoTensor *tensors)
{
	struct kept_args kept = { .kind = KEPT_COLLECTIVE, .collective = *args };

	kept.n_inputs = args->n_inputs;
	return keep(timeline, &kept, tensors);
}

guint64 tacho_timeline_keep_message(TachoTimeline *timeline, const TachoMessageArgs *args)
{
	struct kept_args kept = { .kind = KEPT_MESSAGE, .message = *args };

	return keep(timeline, &kept, NULL);
}

guint64 tacho_timeline_keep_id(TachoTimeline *timeline, guint64 id)
{
	struct kept_args kept = { .kind = KEPT_ID, .id = id };

	return keep(timeline, &kept, NULL);
}

/* What was kept for a slice, or NULL. */
static const struct kept_args *find_kept(const TachoTimeline *timeline, guint32 slice)
{
	guint64 handle = timeline->slices.source[slice];

	const GArray *kept = timeline->source->kept;

	/* another process may have told of the slice (trace/stream_exchange.h) */
	if (!(handle & HANDLE_KEPT) || (handle & ~HANDLE_KEPT) >= kept->len)
		return NULL;
	return &g_array_index(kept, struct kept_args, handle & ~HANDLE_KEPT);
}

/* --- foreign traces -------------------------------------------------------------------------- */

guint32 tacho_source_take_foreign(struct tacho_source *source, struct foreign_reader *reader)
{
	if (source->foreign->len >= SOURCE_MAX_FOREIGN) {
		reader->free(reader);
		return SOURCE_MAX_FOREIGN;
	}
	g_ptr_array_add(source->foreign, reader);
	return source->foreign->len - 1;
}

struct foreign_reader *tacho_source_borrow_foreign(const struct tacho_source *source,
						   guint64 handle, guint64 *ret_place)
{
	guint64 index = (handle & ~HANDLE_FOREIGN) >> 48;

	if ((handle & HANDLE_KEPT) || !(handle & HANDLE_FOREIGN) || index >= source->foreign->len)
		return NULL;
	*ret_place = handle & (SOURCE_MAX_PLACE - 1);
	return g_ptr_array_index(source->foreign, index);
}

/* Who read the slice, and the place it is to be asked for; NULL: it is of no foreign trace. */
static struct foreign_reader *find_foreign(const TachoTimeline *timeline, guint32 slice,
					   guint64 *ret_place)
{
	return tacho_source_borrow_foreign(timeline->source, timeline->slices.source[slice],
					   ret_place);
}

gchar *tacho_slice_args_json(const TachoTimeline *timeline, guint32 slice)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->args_json ? foreign->args_json(foreign, place) : NULL;
}

/* --- accessors ------------------------------------------------------------------------------ */

gboolean tacho_slice_op(const TachoTimeline *timeline, guint32 slice, TachoOpArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	const struct record_op *op;
	const struct record_outputs *outputs;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept && kept->kind == KEPT_OP) {
		*args = kept->op;
		return TRUE;
	}
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->op && foreign->op(foreign, place, args);
	op = borrow_record(timeline, slice, TACHO_SLICE_OP, sizeof(*op), &size_bytes);
	if (!op)
		return FALSE;
	args->sequence = op->sequence;
	args->forward_thread = op->forward_thread;
	slice = tensor_slice(timeline, slice);
	op = borrow_record(timeline, slice, TACHO_SLICE_OP, sizeof(*op), &size_bytes);
	args->n_inputs = op ? op->n_inputs : 0;
	outputs = borrow_outputs(timeline, slice, &size_bytes);
	args->n_outputs = outputs ? outputs->n_outputs : 0;
	return TRUE;
}

/* The text with a NUL behind it, good as long as the source. */
static const gchar *borrow_text(struct tacho_source *source, const gchar *text, guint32 n_text)
{
	guint32 id;

	if (!text)
		return "";
	if (memchr(text, '\0', n_text))
		return text;
	pthread_mutex_lock(&source->texts_lock);
	id = string_table_intern(source->texts, text, n_text);
	text = string_table_borrow(source->texts, id);
	pthread_mutex_unlock(&source->texts_lock);
	return text;
}

static gboolean read_kernel(struct tacho_source *source, const struct record_kernel *kernel,
			    gsize size_bytes, TachoKernelArgs *args)
{
	guint32 n_text = kernel->n_text;
	guint32 n_dims = kernel->n_dims;
	gsize text_offset = sizeof(*kernel) + n_dims * sizeof(gint64);

	if (n_dims > TACHO_MAX_DIMS || text_offset > size_bytes)
		return FALSE;
	args->flops = kernel->flops;
	args->bytes = kernel->bytes;
	args->dtype = record_dtype_name(kernel->dtype);
	args->n_dims = n_dims;
	memcpy(args->dims, kernel + 1, n_dims * sizeof(gint64));
	args->text = borrow_text(
		source, record_borrow_text(kernel, size_bytes, text_offset, n_text), n_text);
	return TRUE;
}

gboolean tacho_slice_kernel(const TachoTimeline *timeline, guint32 slice, TachoKernelArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	const struct record_kernel *kernel;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept && kept->kind == KEPT_KERNEL) {
		*args = kept->kernel;
		return TRUE;
	}
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->kernel && foreign->kernel(foreign, place, args);
	kernel = borrow_record(timeline, slice, TACHO_SLICE_KERNEL, sizeof(*kernel), &size_bytes);
	return kernel && read_kernel(timeline->source, kernel, size_bytes, args);
}

gboolean tacho_slice_launch_shape(const TachoTimeline *timeline, guint32 slice,
				  TachoLaunchShape *shape)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->launch_shape && foreign->launch_shape(foreign, place, shape);
}

gboolean tacho_slice_copy(const TachoTimeline *timeline, guint32 slice, TachoCopyArgs *args)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->copy && foreign->copy(foreign, place, args);
}

gboolean tacho_slice_lead(const TachoTimeline *timeline, guint32 slice, TachoDeviceLead *lead)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->lead && foreign->lead(foreign, place, lead);
}

/* A record of a collective without inputs that is as long is one of a transfer. */
static void read_transfer(const struct record_transfer *transfer, TachoCollectiveArgs *args)
{
	static const guint8 ways[TRACE_N_WAYS] = {
		[TRACE_WAY_SEND] = TACHO_WAY_SEND, [TRACE_WAY_RECEIVE] = TACHO_WAY_RECEIVE
	};

	args->way = transfer->way < TRACE_N_WAYS ? ways[transfer->way] : TACHO_WAY_BY_NAME;
	args->peer = transfer->peer >= 0 ? (guint32)transfer->peer + 1 : 0;
	args->tag = transfer->tag;
}

gboolean tacho_slice_collective(const TachoTimeline *timeline, guint32 slice,
				TachoCollectiveArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	const struct record_collective *collective;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept && kept->kind == KEPT_COLLECTIVE) {
		*args = kept->collective;
		return TRUE;
	}
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->collective && foreign->collective(foreign, place, args);
	collective = borrow_record(timeline, slice, TACHO_SLICE_COLLECTIVE, sizeof(*collective),
				   &size_bytes);
	if (!collective)
		return FALSE;
	args->bytes = collective->bytes;
	args->group = collective->group;
	args->end_tid = collective->end_tid;
	args->n_inputs = collective->n_inputs;
	if (!args->n_inputs && size_bytes >= sizeof(struct record_transfer))
		read_transfer((const void *)collective, args);
	else
		args->peer = record_peer(collective, size_bytes);
	return TRUE;
}

gboolean tacho_slice_message(const TachoTimeline *timeline, guint32 slice, TachoMessageArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	const struct record_message *message;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept && kept->kind == KEPT_MESSAGE) {
		*args = kept->message;
		return TRUE;
	}
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->message && foreign->message(foreign, place, args);
	message =
		borrow_record(timeline, slice, TACHO_SLICE_MESSAGE, sizeof(*message), &size_bytes);
	if (!message)
		return FALSE;
	args->bytes = message->bytes;
	args->is_receive = message->is_receive != 0;
	args->fd = message->fd;
	args->local.port = message->local_port;
	args->peer.port = message->peer_port;
	memcpy(args->local.address, message->local_address, sizeof(args->local.address));
	memcpy(args->peer.address, message->peer_address, sizeof(args->peer.address));
	return TRUE;
}

gboolean tacho_slice_request(const TachoTimeline *timeline, guint32 slice, TachoRequestArgs *args)
{
	const struct record_request *request;
	gsize size_bytes;
	guint64 place;

	if (find_kept(timeline, slice) || find_foreign(timeline, slice, &place))
		return FALSE;
	request = borrow_record(timeline, slice, TACHO_SLICE_EVENT, sizeof(*request), &size_bytes);
	/* collectives that failed are events, too */
	if (!request || request->sort != TRACE_REQUEST_SORT)
		return FALSE;
	args->sent_bytes = request->sent_bytes;
	args->received_bytes = request->received_bytes;
	args->n_sent = request->n_sent;
	args->n_received = request->n_received;
	args->sent_ns = (gint64)MIN(request->sent_after_ns, TACHO_MAX_TIME_NS);
	args->received_ns = (gint64)MIN(request->received_after_ns, TACHO_MAX_TIME_NS);
	args->is_server = request->side == TRACE_SIDE_SERVER;
	args->status = request->status;
	args->n_others = request->n_others;
	args->key = request->key;
	args->local.port = request->local_port;
	args->peer.port = request->peer_port;
	memcpy(args->local.address, request->local_address, sizeof(args->local.address));
	memcpy(args->peer.address, request->peer_address, sizeof(args->peer.address));
	return TRUE;
}

gboolean tacho_slice_numbers(const TachoTimeline *timeline, guint32 slice, guint n,
			     TachoNumbers *numbers)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->numbers && foreign->numbers(foreign, place, n, numbers);
}

gboolean tacho_slice_told(const TachoTimeline *timeline, guint32 slice, TachoToldOp *told)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->told && foreign->told(foreign, place, told);
}

guint32 tacho_slice_type(const TachoTimeline *timeline, guint32 slice)
{
	TachoToldOp told;

	return tacho_slice_told(timeline, slice, &told) && told.type ? told.type
								     : timeline->slices.name[slice];
}

guint32 tacho_slice_maker(const TachoTimeline *timeline, guint32 slice, guint32 index)
{
	guint64 place;
	struct foreign_reader *foreign = find_foreign(timeline, slice, &place);

	return foreign && foreign->maker ? foreign->maker(foreign, place, index) : 0;
}

gchar *tacho_endpoint_text(const TachoEndpoint *endpoint)
{
	static const guint8 ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	gchar address[INET6_ADDRSTRLEN] = "";

	if (memcmp(endpoint->address, ipv4_prefix, sizeof(ipv4_prefix)) == 0) {
		inet_ntop(AF_INET, endpoint->address + sizeof(ipv4_prefix), address,
			  sizeof(address));
		return g_strdup_printf("%s:%u", address, endpoint->port);
	}
	inet_ntop(AF_INET6, endpoint->address, address, sizeof(address));
	return g_strdup_printf("[%s]:%u", address, endpoint->port);
}

guint64 tacho_slice_id(const TachoTimeline *timeline, guint32 slice)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	guint8 kind = timeline->slices.kind[slice];
	const struct record_slice *record;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept)
		return kept->kind == KEPT_ID ? kept->id : 0;
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->id ? foreign->id(foreign, place) : 0;
	if (kind != TACHO_SLICE_ANNOTATION && kind != TACHO_SLICE_MODULE &&
	    kind != TACHO_SLICE_WAIT && kind != TACHO_SLICE_RUNTIME)
		return 0;
	record = borrow_record(timeline, slice, kind, sizeof(*record), &size_bytes);
	return record ? record->id : 0;
}

static gboolean read_kept_tensor(const TachoTimeline *timeline, const struct kept_args *kept,
				 guint32 index, TachoTensor *tensor)
{
	*tensor = g_array_index(timeline->source->tensors, TachoTensor, kept->first_tensor + index);
	return TRUE;
}

gboolean tacho_slice_input(const TachoTimeline *timeline, guint32 slice, guint32 index,
			   TachoTensor *tensor)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	const struct record_op *op;
	const struct record_collective *collective;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept)
		return index < kept->n_inputs && read_kept_tensor(timeline, kept, index, tensor);
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->input && foreign->input(foreign, place, index, tensor);
	slice = tensor_slice(timeline, slice);
	op = borrow_record(timeline, slice, TACHO_SLICE_OP, sizeof(*op), &size_bytes);
	if (op)
		return record_read_tensor(op, size_bytes, sizeof(*op), op->n_inputs, index, tensor);
	collective = borrow_record(timeline, slice, TACHO_SLICE_COLLECTIVE, sizeof(*collective),
				   &size_bytes);
	return collective && record_read_tensor(collective, size_bytes, sizeof(*collective),
						collective->n_inputs, index, tensor);
}

gboolean tacho_slice_output(const TachoTimeline *timeline, guint32 slice, guint32 index,
			    TachoTensor *tensor)
{
	const struct kept_args *kept = find_kept(timeline, slice);
	const struct record_outputs *outputs;
	struct foreign_reader *foreign;
	gsize size_bytes;
	guint64 place;

	if (kept)
		return index < kept->n_outputs &&
		       read_kept_tensor(timeline, kept, kept->n_inputs + index, tensor);
	foreign = find_foreign(timeline, slice, &place);
	if (foreign)
		return foreign->output && foreign->output(foreign, place, index, tensor);
	outputs = borrow_outputs(timeline, tensor_slice(timeline, slice), &size_bytes);
	return outputs && record_read_tensor(outputs, size_bytes, sizeof(*outputs),
					     outputs->n_outputs, index, tensor);
}
