#include "import/read/json_chunks.h"

#include <pthread.h>
#include <string.h>

#include "import/read/json_scan.h"

enum {
	CHUNK_BYTES = 2 * 1024 * 1024,
	HEAD_BYTES = 256 * 1024,
	MAX_ELEMENT_BYTES = 256 * 1024 * 1024,
};

struct _JsonChunks {
	ByteStream *stream;
	pthread_mutex_t lock;
	gboolean is_careful;
	/* Under the lock: */
	GByteArray *carried; /* read, and not handed out yet */
	guint64 offset;	     /* of the first byte of `carried` */
	guint n_chunks;
	gboolean is_at_end;
	GError *failure;    /* of the file; what was read before it is handed out first */
	gint done_permille; /* atomic */
};

/* --- cuts ----------------------------------------------------------------------------------- */

static const gchar *pass_space(const gchar *at, const gchar *end)
{
	while (at < end && (guchar)*at <= ' ')
		at++;
	return at;
}

/* Whether an event may begin with the member whose name is at `at`. */
static gboolean is_first_member(const gchar *at, const gchar *end)
{
	static const gchar *const names[] = { "ph\"",  "name\"", "cat\"", "pid\"", "tid\"", "ts\"",
					      "dur\"", "args\"", "id\"",  "s\"",   "bp\"" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		gsize n = strlen(names[i]);

		if ((gsize)(end - at) > n && memcmp(at, names[i], n) == 0)
			return TRUE;
	}
	return FALSE;
}

/* Whether the '}' at `at` ends an element with another one behind it; where that begins. */
static const gchar *find_begin(const gchar *at, const gchar *end)
{
	const gchar *begin;

	at = pass_space(at + 1, end);
	if (at >= end || *at != ',')
		return NULL;
	begin = at = pass_space(at + 1, end);
	if (at >= end || *at != '{')
		return NULL;
	at = pass_space(at + 1, end);
	return at < end && *at == '"' && is_first_member(at + 1, end) ? begin : NULL;
}

gsize json_chunks_find_cut(const gchar *bytes, gsize n)
{
	const gchar *end = bytes + n, *at = end, *begin;

	while ((at = memrchr(bytes, '}', (gsize)(at - bytes)))) {
		begin = find_begin(at, end);
		if (begin)
			return (gsize)(begin - bytes);
	}
	return 0;
}

gsize json_chunks_find_next(const gchar *bytes, gsize n, gsize from)
{
	const gchar *end = bytes + n, *at = bytes + from, *begin;

	for (; at < end && (at = memchr(at, '}', (gsize)(end - at))); at++) {
		begin = find_begin(at, end);
		if (begin)
			return (gsize)(begin - bytes);
	}
	return n;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Read up to `size` bytes; how many there were. Where they are fewer, that is the end of the file, or of
 * what can be read of it. */
static gsize read_stream(JsonChunks *chunks, gpointer buffer, gsize size)
{
	gssize n = byte_stream_read(chunks->stream, buffer, size, &chunks->failure);
	gchar none;

	chunks->is_at_end = n < (gssize)size;
	if (chunks->is_at_end && n >= 0) /* an error comes after what was before it */
		byte_stream_read(chunks->stream, &none, 1, &chunks->failure);
	__atomic_store_n(&chunks->done_permille, (gint)(byte_stream_done(chunks->stream) * 1000),
			 __ATOMIC_RELAXED);
	return (gsize)MAX(n, 0);
}

/* --- opening -------------------------------------------------------------------------------- */

/* Read up to `n` bytes more behind what is carried; false: nothing came. */
static gboolean read_more(JsonChunks *chunks, gsize n)
{
	guint before = chunks->carried->len;
	gsize n_read;

	if (chunks->is_at_end)
		return FALSE;
	g_byte_array_set_size(chunks->carried, before + (guint)n);
	n_read = read_stream(chunks, chunks->carried->data + before, n);
	g_byte_array_set_size(chunks->carried, before + (guint)n_read);
	return n_read > 0;
}

static gboolean pass_head(JsonChunks *chunks, JsonHead head, gpointer data, GError **error)
{
	gsize n_head = 0, n_wanted = HEAD_BYTES;
	gboolean is_found = FALSE;

	while (!is_found) {
		gboolean has_more = read_more(chunks, n_wanted);

		is_found = head((const gchar *)chunks->carried->data, chunks->carried->len,
				chunks->is_at_end, data, &n_head);
		if (!is_found && (!has_more || chunks->carried->len > MAX_ELEMENT_BYTES))
			break;
		n_wanted = chunks->carried->len;
	}
	if (!is_found) {
		if (chunks->failure)
			g_propagate_error(error, g_steal_pointer(&chunks->failure));
		return FALSE;
	}
	g_byte_array_remove_range(chunks->carried, 0, (guint)n_head);
	chunks->offset = n_head;
	return TRUE;
}

JsonChunks *json_chunks_open(const gchar *path, gboolean is_careful, JsonHead head, gpointer data,
			     GError **error)
{
	ByteStream *stream = byte_stream_open(path, error);
	JsonChunks *chunks;

	if (!stream)
		return NULL;
	chunks = g_new0(JsonChunks, 1);
	chunks->stream = stream;
	chunks->is_careful = is_careful;
	chunks->carried = g_byte_array_new();
	pthread_mutex_init(&chunks->lock, NULL);
	if (!pass_head(chunks, head, data, error)) {
		json_chunks_close(chunks);
		return NULL;
	}
	return chunks;
}

void json_chunks_close(JsonChunks *chunks)
{
	if (!chunks)
		return;
	byte_stream_close(chunks->stream);
	g_byte_array_unref(chunks->carried);
	g_clear_error(&chunks->failure);
	pthread_mutex_destroy(&chunks->lock);
	g_free(chunks);
}

/* --- pieces --------------------------------------------------------------------------------- */

static gboolean make_room(struct json_chunk *chunk, gsize n)
{
	gchar *room;

	if (n + JSON_PADDING <= chunk->capacity)
		return TRUE;
	room = g_try_realloc(chunk->bytes, n + JSON_PADDING);
	if (!room)
		return FALSE;
	chunk->bytes = room;
	chunk->capacity = n + JSON_PADDING;
	return TRUE;
}

/* Fill the chunk with what is carried and as much more; then keep what is behind the last cut. */
static gboolean fill(JsonChunks *chunks, struct json_chunk *chunk)
{
	gsize wanted = MAX(CHUNK_BYTES, chunks->carried->len), cut;

	chunk->n = 0;
	chunk->offset = chunks->offset;
	chunk->index = chunks->n_chunks++;
	for (;;) {
		gsize n_carried = chunks->carried->len;

		if (!make_room(chunk, n_carried + chunk->n + wanted))
			return FALSE;
		if (n_carried) {
			memcpy(chunk->bytes, chunks->carried->data, n_carried);
			chunk->n = n_carried;
			g_byte_array_set_size(chunks->carried, 0);
		}
		if (!chunks->is_at_end)
			chunk->n += read_stream(chunks, chunk->bytes + chunk->n, wanted);
		if (chunks->is_careful || chunks->is_at_end)
			break;
		cut = json_chunks_find_cut(chunk->bytes, chunk->n);
		if (cut) {
			g_byte_array_append(chunks->carried, (const guint8 *)chunk->bytes + cut,
					    (guint)(chunk->n - cut));
			chunk->n = cut;
			break;
		}
		if (chunk->n > MAX_ELEMENT_BYTES)
			break; /* then it ends inside an element, which is found out */
		wanted = chunk->n;
	}
	chunk->is_last = chunks->is_at_end && !chunks->carried->len;
	chunks->offset = chunk->offset + chunk->n;
	memset(chunk->bytes + chunk->n, '"', JSON_PADDING);
	return TRUE;
}

gboolean json_chunks_next(JsonChunks *chunks, struct json_chunk *chunk, GError **error)
{
	gboolean is_filled = FALSE;

	pthread_mutex_lock(&chunks->lock);
	if (!chunks->is_at_end || chunks->carried->len) {
		is_filled = fill(chunks, chunk);
		if (!is_filled)
			g_set_error_literal(error, BYTE_STREAM_ERROR, BYTE_STREAM_ERROR_MEMORY,
					    "there is not enough memory for a piece of the trace");
	} else if (chunks->failure) {
		g_propagate_error(error, g_steal_pointer(&chunks->failure));
	}
	pthread_mutex_unlock(&chunks->lock);
	return is_filled;
}

void json_chunks_give_back(JsonChunks *chunks, const struct json_chunk *chunk, gsize n_used)
{
	g_assert(chunks->is_careful && n_used <= chunk->n);
	g_byte_array_append(chunks->carried, (const guint8 *)chunk->bytes + n_used,
			    (guint)(chunk->n - n_used));
	chunks->offset = chunk->offset + n_used;
}

void json_chunk_release(struct json_chunk *chunk)
{
	g_free(chunk->bytes);
	*chunk = (struct json_chunk){ 0 };
}

gdouble json_chunks_done(const JsonChunks *chunks)
{
	return __atomic_load_n(&chunks->done_permille, __ATOMIC_RELAXED) / 1000.0;
}
