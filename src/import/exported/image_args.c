#include "import/exported/image_args.h"

#include <pthread.h>
#include <string.h>

#include "base/partition_point.h"
#include "import/read/concrete_inputs.h"
#include "import/read/device_args.h"
#include "trace/image_reader.h"

/* As image_tensor and image_kernel, but for their dims, which stand in a list of all. */
struct tensor {
	guint32 slice, index;
	guint8 is_output, dtype_bytes;
	guint8 n_dims;
	guint32 argument;
	const gchar *dtype, *device;
	guint64 storage, offset_bytes;
	guint64 first_dim;
};

struct kernel {
	guint32 slice, n_dims;
	guint64 flops, bytes;
	const gchar *dtype, *text;
	guint64 first_dim;
};

struct text {
	guint32 slice, n_bytes;
	guint32 block;
	guint32 offset; /* in its block, unpacked */
};

struct packed {
	guint8 *bytes;
	gsize n_bytes;
};

struct _ImageArgs {
	struct foreign_reader reader;
	GArray *rows
		[N_IMAGE_TABLES]; /* of the tables that are kept: structs above, or as they came */
	GArray *dims;		  /* gint64 */
	GArray *blocks;		  /* struct packed */
	guint n_new_texts;	  /* that wait to be told their block */
	pthread_mutex_t lock;
	/* Under the lock: the block that was unpacked last. */
	GByteArray *unpacked;
	guint32 unpacked_block;
};

gboolean image_args_has(enum image_table table)
{
	return table >= IMAGE_OP && table <= IMAGE_JSON;
}

static guint stored_bytes(enum image_table table)
{
	switch (table) {
	case IMAGE_TENSOR:
		return sizeof(struct tensor);
	case IMAGE_KERNEL:
		return sizeof(struct kernel);
	case IMAGE_JSON:
		return sizeof(struct text);
	default:
		return run_image_forms()[table].n_bytes;
	}
}

/* --- looking up ----------------------------------------------------------------------------- */

static guint32 slice_of(const GArray *rows, guint i)
{
	guint stride = g_array_get_element_size((GArray *)rows);

	/* the first field of all of them */
	return *(const guint32 *)(gconstpointer)(rows->data + (gsize)i * stride);
}

/* The first row of the slice; FALSE: there is none. */
static gboolean find_first(const GArray *rows, guint64 slice, guint *ret_row)
{
	guint n = PARTITION_POINT(i, 0, rows->len, slice_of(rows, i) < slice);

	*ret_row = n;
	return n < rows->len && slice_of(rows, n) == slice;
}

static gconstpointer find(struct foreign_reader *reader, enum image_table table, guint64 slice)
{
	const GArray *rows = ((const ImageArgs *)reader)->rows[table];
	guint row;

	if (!find_first(rows, slice, &row))
		return NULL;
	return rows->data + (gsize)row * g_array_get_element_size((GArray *)rows);
}

static gboolean get_op(struct foreign_reader *reader, guint64 slice, TachoOpArgs *args)
{
	const struct image_op *row = find(reader, IMAGE_OP, slice);

	if (row)
		*args = (TachoOpArgs){ row->sequence, row->forward_thread, row->n_inputs,
				       row->n_outputs };
	return row != NULL;
}

static void copy_dims(const ImageArgs *args, guint64 first, guint32 n, gint64 *ret_dims)
{
	if (n)
		memcpy(ret_dims, &g_array_index(args->dims, gint64, first), n * sizeof(gint64));
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 slice, TachoKernelArgs *args)
{
	const struct kernel *row = find(reader, IMAGE_KERNEL, slice);

	if (!row)
		return FALSE;
	*args = (TachoKernelArgs){ .flops = row->flops,
				   .bytes = row->bytes,
				   .dtype = row->dtype,
				   .n_dims = row->n_dims,
				   .text = row->text };
	copy_dims((const ImageArgs *)reader, row->first_dim, row->n_dims, args->dims);
	return TRUE;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 slice,
			       TachoCollectiveArgs *args)
{
	const struct image_call *row = find(reader, IMAGE_CALL, slice);

	if (row)
		*args = row->call;
	return row != NULL;
}

static guint get_operation(struct foreign_reader *reader, guint64 slice)
{
	const struct image_operation *row = find(reader, IMAGE_OPERATION, slice);

	return row ? row->operation : OPERATION_UNTOLD;
}

static gboolean get_message(struct foreign_reader *reader, guint64 slice, TachoMessageArgs *args)
{
	const struct image_sent *row = find(reader, IMAGE_SENT, slice);

	if (!row)
		return FALSE;
	*args = (TachoMessageArgs){ .bytes = row->bytes,
				    .is_receive = row->is_receive,
				    .fd = row->fd };
	args->local.port = row->local_port;
	args->peer.port = row->peer_port;
	memcpy(args->local.address, row->local, sizeof(args->local.address));
	memcpy(args->peer.address, row->peer, sizeof(args->peer.address));
	return TRUE;
}

static guint64 get_id(struct foreign_reader *reader, guint64 slice)
{
	const struct image_id *row = find(reader, IMAGE_ID, slice);

	return row ? row->id : 0;
}

static gboolean get_told(struct foreign_reader *reader, guint64 slice, TachoToldOp *told)
{
	const struct image_told *row = find(reader, IMAGE_TOLD, slice);

	if (row)
		*told = row->told;
	return row != NULL;
}

static guint32 get_maker(struct foreign_reader *reader, guint64 slice, guint32 index)
{
	const GArray *rows = ((const ImageArgs *)reader)->rows[IMAGE_MAKER];
	guint row;

	if (!find_first(rows, slice, &row) || index >= rows->len - row ||
	    slice_of(rows, row + index) != slice)
		return 0;
	return g_array_index(rows, struct image_maker, row + index).name;
}

static gboolean get_tensor(const ImageArgs *args, guint64 slice, guint32 index, gboolean is_output,
			   TachoTensor *tensor)
{
	const GArray *rows = args->rows[IMAGE_TENSOR];
	guint row;

	if (!find_first(rows, slice, &row))
		return FALSE;
	for (; row < rows->len; row++) {
		const struct tensor *at = &g_array_index(rows, struct tensor, row);

		if (at->slice != slice)
			return FALSE;
		if (at->is_output != is_output || at->index != index)
			continue;
		*tensor = (TachoTensor){ .storage = at->storage,
					 .offset_bytes = at->offset_bytes,
					 .dtype = at->dtype,
					 .dtype_bytes = at->dtype_bytes,
					 .device = at->device,
					 .argument = at->argument,
					 .n_dims = at->n_dims };
		copy_dims(args, at->first_dim, at->n_dims, tensor->shape);
		return TRUE;
	}
	return FALSE;
}

static gboolean get_input(struct foreign_reader *reader, guint64 slice, guint32 index,
			  TachoTensor *tensor)
{
	return get_tensor((const ImageArgs *)reader, slice, index, FALSE, tensor);
}

static gboolean get_output(struct foreign_reader *reader, guint64 slice, guint32 index,
			   TachoTensor *tensor)
{
	return get_tensor((const ImageArgs *)reader, slice, index, TRUE, tensor);
}

/* --- texts ---------------------------------------------------------------------------------- */

/* Under the lock. */
static const GByteArray *unpack(ImageArgs *args, guint32 block)
{
	const struct packed *packed = &g_array_index(args->blocks, struct packed, block);

	if (args->unpacked && args->unpacked_block == block)
		return args->unpacked;
	g_clear_pointer(&args->unpacked, g_byte_array_unref);
	args->unpacked = image_block_unpack(packed->bytes, packed->n_bytes);
	args->unpacked_block = block;
	return args->unpacked;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 slice)
{
	ImageArgs *args = (ImageArgs *)reader;
	const struct text *row = find(reader, IMAGE_JSON, slice);
	const GByteArray *block;
	gchar *text = NULL;

	if (!row || row->block >= args->blocks->len)
		return NULL;
	pthread_mutex_lock(&args->lock);
	block = unpack(args, row->block);
	if (block && row->offset <= block->len && row->n_bytes <= block->len - row->offset)
		text = g_strndup((const gchar *)block->data + row->offset, row->n_bytes);
	pthread_mutex_unlock(&args->lock);
	return text;
}

void image_args_keep_texts(ImageArgs *args, const guint8 *block, gsize n_bytes, gsize texts)
{
	struct packed packed = { g_memdup2(block, n_bytes), n_bytes };
	GArray *rows = args->rows[IMAGE_JSON];

	for (guint i = rows->len - args->n_new_texts; i < rows->len; i++) {
		struct text *row = &g_array_index(rows, struct text, i);

		row->block = args->blocks->len;
		row->offset = (guint32)MIN(texts, G_MAXUINT32);
		texts += row->n_bytes;
	}
	args->n_new_texts = 0;
	g_array_append_val(args->blocks, packed);
}

/* --- adding --------------------------------------------------------------------------------- */

static guint64 add_dims(ImageArgs *args, const gint64 *dims, guint32 n)
{
	guint64 first = args->dims->len;

	g_array_append_vals(args->dims, dims, n);
	return first;
}

static void add_row(ImageArgs *args, enum image_table table, const void *row)
{
	const struct image_tensor *tensor = row;
	const struct image_kernel *kernel = row;
	const struct image_json *json = row;

	if (table == IMAGE_TENSOR) {
		const TachoTensor *from = &tensor->tensor;
		struct tensor to = { .slice = tensor->slice,
				     .index = tensor->index,
				     .is_output = tensor->is_output,
				     .dtype_bytes = from->dtype_bytes,
				     .n_dims = (guint8)from->n_dims,
				     .argument = from->argument,
				     .dtype = from->dtype,
				     .device = from->device,
				     .storage = from->storage,
				     .offset_bytes = from->offset_bytes,
				     .first_dim = add_dims(args, from->shape, from->n_dims) };

		g_array_append_val(args->rows[table], to);
	} else if (table == IMAGE_KERNEL) {
		const TachoKernelArgs *from = &kernel->kernel;
		struct kernel to = { .slice = kernel->slice,
				     .n_dims = from->n_dims,
				     .flops = from->flops,
				     .bytes = from->bytes,
				     .dtype = from->dtype,
				     .text = from->text,
				     .first_dim = add_dims(args, from->dims, from->n_dims) };

		g_array_append_val(args->rows[table], to);
	} else if (table == IMAGE_JSON) {
		struct text to = { json->slice, json->n_bytes, G_MAXUINT32, 0 };

		args->n_new_texts++;
		g_array_append_val(args->rows[table], to);
	} else {
		g_array_append_vals(args->rows[table], row, 1);
	}
}

gboolean image_args_add(ImageArgs *args, enum image_table table, const void *rows, guint n_rows)
{
	guint n_bytes = run_image_forms()[table].n_bytes;
	gboolean may_repeat = table == IMAGE_TENSOR || table == IMAGE_MAKER;
	const GArray *kept = args->rows[table];

	for (guint i = 0; i < n_rows; i++) {
		const guint8 *row = (const guint8 *)rows + (gsize)i * n_bytes;
		guint32 slice = *(const guint32 *)(gconstpointer)row;
		guint32 before = kept->len ? slice_of(kept, kept->len - 1) : 0;

		if (kept->len && (slice < before || (slice == before && !may_repeat)))
			return FALSE;
		add_row(args, table, row);
	}
	return TRUE;
}

/* --- the whole ------------------------------------------------------------------------------ */

static void free_packed(gpointer packed)
{
	g_free(((struct packed *)packed)->bytes);
}

void image_args_free(ImageArgs *args)
{
	if (!args)
		return;
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		if (args->rows[i])
			g_array_unref(args->rows[i]);
	g_array_unref(args->dims);
	g_array_unref(args->blocks);
	if (args->unpacked)
		g_byte_array_unref(args->unpacked);
	pthread_mutex_destroy(&args->lock);
	g_free(args);
}

static void free_reader(struct foreign_reader *reader)
{
	image_args_free((ImageArgs *)reader);
}

ImageArgs *image_args_new(void)
{
	ImageArgs *args = g_new0(ImageArgs, 1);

	args->reader = (struct foreign_reader){ .op = get_op,
						.kernel = get_kernel,
						.collective = get_collective,
						.input = get_input,
						.output = get_output,
						.args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.lead = device_args_lead,
						.copy = device_args_copy,
						.numbers = concrete_inputs_numbers,
						.message = get_message,
						.id = get_id,
						.told = get_told,
						.maker = get_maker,
						.operation = get_operation,
						.free = free_reader };
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		if (image_args_has((enum image_table)i))
			args->rows[i] =
				g_array_new(FALSE, FALSE, stored_bytes((enum image_table)i));
	args->dims = g_array_new(FALSE, FALSE, sizeof(gint64));
	args->blocks = g_array_new(FALSE, FALSE, sizeof(struct packed));
	g_array_set_clear_func(args->blocks, free_packed);
	pthread_mutex_init(&args->lock, NULL);
	return args;
}

void image_args_hand_over(ImageArgs *args, TachoTimeline *timeline)
{
	guint32 index = tacho_source_take_foreign(timeline->source, &args->reader);

	if (index >= SOURCE_MAX_FOREIGN) /* and it is freed */
		return;
	for (guint i = 0; i < N_IMAGE_TABLES; i++)
		for (guint k = 0; args->rows[i] && k < args->rows[i]->len; k++) {
			guint32 slice = slice_of(args->rows[i], k);

			timeline->slices.source[slice] = tacho_source_foreign_handle(index, slice);
		}
}
