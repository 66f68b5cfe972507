#include "import/read/json_file.h"

#include <pthread.h>

#include "base/byte_stream.h"

/* The slices of a thread lie in several places of a file, by category: each place keeps its window. Going back
 * in a compressed file is dear, so that windows of one are larger. */
enum {
	N_WINDOWS = 4,
	WINDOW_BYTES = 64 * 1024,
	DECODED_WINDOW_BYTES = 512 * 1024,
	MAX_OBJECT_BYTES = 64 * 1024 * 1024,
};

struct window {
	guint8 *bytes; /* decoded, from `offset` on, and JSON_PADDING */
	guint64 offset;
	gsize n;
	guint64 use; /* the larger, the later it was used */
};

struct json_file {
	gchar *path;
	pthread_mutex_t lock;
	/* Under the lock: */
	ByteStream *stream;
	gboolean is_broken; /* cannot be opened (any more) */
	struct window windows[N_WINDOWS];
	guint64 n_uses;
};

struct json_file *json_file_new(const gchar *path)
{
	struct json_file *file = g_new0(struct json_file, 1);

	file->path = g_strdup(path);
	pthread_mutex_init(&file->lock, NULL);
	return file;
}

void json_file_free(struct json_file *file)
{
	if (!file)
		return;
	byte_stream_close(file->stream);
	for (guint i = 0; i < N_WINDOWS; i++)
		g_free(file->windows[i].bytes);
	pthread_mutex_destroy(&file->lock);
	g_free(file->path);
	g_free(file);
}

static gboolean open_stream(struct json_file *file)
{
	if (!file->stream && !file->is_broken)
		file->stream = byte_stream_open(file->path, NULL);
	file->is_broken = !file->stream;
	return !file->is_broken;
}

/* Have `n` bytes from `offset` on in the window, or as many as there are. */
static gboolean load_window(struct json_file *file, struct window *window, guint64 offset, gsize n)
{
	gssize n_read;

	window->n = 0;
	g_free(window->bytes);
	window->bytes = g_try_malloc(n + JSON_PADDING);
	if (!window->bytes || !byte_stream_seek(file->stream, offset, NULL))
		return FALSE;
	n_read = byte_stream_read(file->stream, window->bytes, n, NULL);
	window->n = (gsize)MAX(n_read, 0);
	window->offset = offset;
	memset(window->bytes + window->n, '"', JSON_PADDING);
	return window->n > 0;
}

static gsize usual_size(const struct json_file *file)
{
	return byte_stream_coding(file->stream) == BYTE_CODING_NONE ? WINDOW_BYTES
								    : DECODED_WINDOW_BYTES;
}

/* The window that has the byte at `offset`; where none has, the one not used for longest, loaded from there
 * on. NULL: there is no such byte. */
static struct window *find_window(struct json_file *file, guint64 offset)
{
	struct window *oldest = file->windows;
	gsize size;

	for (guint i = 0; i < N_WINDOWS; i++) {
		struct window *window = &file->windows[i];

		if (offset >= window->offset && offset - window->offset < window->n) {
			window->use = ++file->n_uses;
			return window;
		}
		if (window->use < oldest->use)
			oldest = window;
	}
	oldest->use = ++file->n_uses;
	size = usual_size(file);
	/* what is asked for next may stand shortly before: an operation is written when it has ended */
	if (!load_window(file, oldest, offset - MIN(offset, size / 4), size))
		return NULL;
	return offset - oldest->offset < oldest->n ? oldest : NULL;
}

gboolean json_file_lock(struct json_file *file, guint64 offset, struct json_scan *scan)
{
	struct window *window;

	pthread_mutex_lock(&file->lock);
	window = open_stream(file) ? find_window(file, offset) : NULL;
	if (!window)
		return FALSE;
	for (gsize n = usual_size(file); n <= MAX_OBJECT_BYTES; n *= 2) {
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
		if (trial.status == JSON_BROKEN || !load_window(file, window, offset, n))
			return FALSE;
	}
	return FALSE;
}

void json_file_unlock(struct json_file *file)
{
	pthread_mutex_unlock(&file->lock);
}

gchar *json_file_copy(struct json_file *file, guint64 offset)
{
	struct json_scan scan;
	gchar *text = NULL;

	if (json_file_lock(file, offset, &scan))
		text = g_strndup(scan.at, (gsize)(scan.end - scan.at));
	json_file_unlock(file);
	return text;
}
