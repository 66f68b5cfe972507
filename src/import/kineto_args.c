#include "import/kineto_args.h"

#include <pthread.h>
#include <string.h>

#include "base/byte_stream.h"
#include "import/json_scan.h"
#include "import/kineto_event.h"

/* The slices of a thread lie in several places of a file, by category: each place keeps its window. Going back
 * in a compressed file is dear, so that windows of one are larger. */
enum {
	N_WINDOWS = 4,
	WINDOW_BYTES = 64 * 1024,
	DECODED_WINDOW_BYTES = 512 * 1024,
	MAX_ARGS_BYTES = 64 * 1024 * 1024,
};

struct window {
	guint8 *bytes; /* decoded, from `offset` on, and JSON_PADDING */
	guint64 offset;
	gsize n;
	guint64 use; /* the larger, the later it was used */
};

struct kineto_args {
	struct foreign_reader reader;
	gchar *path;
	GArray *extras; /* struct kineto_extra */
	pthread_mutex_t lock;
	/* Under the lock: */
	ByteStream *stream;
	gboolean is_broken; /* cannot be opened (any more) */
	struct window windows[N_WINDOWS];
	guint64 n_uses;
};

/* --- reading the file ----------------------------------------------------------------------- */

static gboolean open_stream(struct kineto_args *args)
{
	if (!args->stream && !args->is_broken)
		args->stream = byte_stream_open(args->path, NULL);
	args->is_broken = !args->stream;
	return !args->is_broken;
}

/* Have `n` bytes from `offset` on in the window, or as many as there are. */
static gboolean load_window(struct kineto_args *args, struct window *window, guint64 offset,
			    gsize n)
{
	gssize n_read;

	window->n = 0;
	g_free(window->bytes);
	window->bytes = g_try_malloc(n + JSON_PADDING);
	if (!window->bytes || !byte_stream_seek(args->stream, offset, NULL))
		return FALSE;
	n_read = byte_stream_read(args->stream, window->bytes, n, NULL);
	window->n = (gsize)MAX(n_read, 0);
	window->offset = offset;
	memset(window->bytes + window->n, '"', JSON_PADDING);
	return window->n > 0;
}

static gsize usual_size(const struct kineto_args *args)
{
	return byte_stream_coding(args->stream) == BYTE_CODING_NONE ? WINDOW_BYTES
								    : DECODED_WINDOW_BYTES;
}

/* The window that has the byte at `offset`; where none has, the one not used for longest, loaded from there
 * on. NULL: there is no such byte. */
static struct window *find_window(struct kineto_args *args, guint64 offset)
{
	struct window *oldest = args->windows;

	for (guint i = 0; i < N_WINDOWS; i++) {
		struct window *window = &args->windows[i];

		if (offset >= window->offset && offset - window->offset < window->n) {
			window->use = ++args->n_uses;
			return window;
		}
		if (window->use < oldest->use)
			oldest = window;
	}
	oldest->use = ++args->n_uses;
	return load_window(args, oldest, offset, usual_size(args)) ? oldest : NULL;
}

/* A scan at the object at `offset`, all of which is in a window. */
static gboolean find_object(struct kineto_args *args, guint64 offset, struct json_scan *scan)
{
	struct window *window = open_stream(args) ? find_window(args, offset) : NULL;

	if (!window)
		return FALSE;
	for (gsize n = usual_size(args); n <= MAX_ARGS_BYTES; n *= 2) {
		const gchar *bytes = (const gchar *)window->bytes;
		struct json_scan trial = { .at = bytes + (offset - window->offset),
					   .end = bytes + window->n,
					   .is_tolerant = TRUE };

		*scan = trial;
		if (json_peek(&trial) != '{')
			return FALSE;
		scan->at = trial.at;
		json_skip(&trial);
		if (trial.status == JSON_OK) {
			scan->end = trial.at;
			return TRUE;
		}
		if (trial.status == JSON_BROKEN || !load_window(args, window, offset, n))
			return FALSE;
	}
	return FALSE;
}

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
		op->sequence = extra->sequence;
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
	*collective = (TachoCollectiveArgs){ .bytes = extra->bytes, .group = extra->group };
	return TRUE;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct kineto_args *args = (struct kineto_args *)reader;
	guint64 offset = file_place(args, place) & (KINETO_MAX_OFFSET - 1);
	struct json_scan scan;
	gchar *text = NULL;

	if (!offset)
		return NULL;
	pthread_mutex_lock(&args->lock);
	if (find_object(args, offset, &scan))
		text = g_strndup(scan.at, (gsize)(scan.end - scan.at));
	pthread_mutex_unlock(&args->lock);
	return text;
}

/* --- tensors -------------------------------------------------------------------------------- */

static void read_shape(struct json_scan *scan, TachoTensor *tensor)
{
	gint64 size;

	if (json_peek(scan) != '[') {
		json_skip(scan);
		return;
	}
	json_take(scan, '[');
	while (json_element(scan))
		if (json_fixed(scan, 0, &size) && tensor->n_dims < TACHO_MAX_DIMS)
			tensor->shape[tensor->n_dims++] = size;
}

/* The `index`-th value of the array at scan->at comes next; false: there is none. */
static gboolean go_to_element(struct json_scan *scan, guint32 index)
{
	if (!json_take(scan, '['))
		return FALSE;
	for (guint32 i = 0; json_element(scan); i++) {
		if (i == index)
			return TRUE;
		json_skip(scan);
	}
	return FALSE;
}

static void read_dtype(struct json_scan *scan, TachoTensor *tensor)
{
	struct json_text text;

	if (json_peek(scan) != '"' || !json_string(scan, &text))
		return;
	tensor->dtype = kineto_dtype_name(text.bytes, text.n);
	tensor->dtype_bytes = (guint8)kineto_dtype_bytes(text.bytes, text.n);
}

/* The args' member `index` of "Input Dims" and "Input type"; scalars, which have neither shape nor a type
 * that tensors have, are tensors without storage. */
static gboolean read_tensor(struct json_scan *scan, guint32 index, TachoTensor *tensor)
{
	gboolean is_found = FALSE;
	struct json_text key;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		gboolean is_dims = JSON_TEXT_IS(&key, "Input Dims");
		struct json_scan value;

		json_peek(scan);
		value = *scan;
		json_skip(scan);
		if ((!is_dims && !JSON_TEXT_IS(&key, "Input type")) ||
		    !go_to_element(&value, index))
			continue;
		is_found |= is_dims;
		if (is_dims)
			read_shape(&value, tensor);
		else
			read_dtype(&value, tensor);
	}
	return is_found;
}

static gboolean get_input(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor)
{
	struct kineto_args *args = (struct kineto_args *)reader;
	guint64 where = file_place(args, place), offset = where & (KINETO_MAX_OFFSET - 1);
	TachoTensor found = { .dtype = "", .device = "", .argument = index };
	gboolean is_found = FALSE;
	struct json_scan scan;

	if (!offset || index >= where >> 40)
		return FALSE;
	pthread_mutex_lock(&args->lock);
	if (find_object(args, offset, &scan))
		is_found = read_tensor(&scan, index, &found);
	pthread_mutex_unlock(&args->lock);
	if (is_found)
		*tensor = found;
	return is_found;
}

/* --- the reader ----------------------------------------------------------------------------- */

static void free_args(struct foreign_reader *reader)
{
	struct kineto_args *args = (struct kineto_args *)reader;

	byte_stream_close(args->stream);
	for (guint i = 0; i < N_WINDOWS; i++)
		g_free(args->windows[i].bytes);
	g_array_unref(args->extras);
	pthread_mutex_destroy(&args->lock);
	g_free(args->path);
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
		.free = free_args,
	};
	args->path = g_strdup(path);
	args->extras = g_array_ref(extras);
	pthread_mutex_init(&args->lock, NULL);
	return &args->reader;
}
