#include "import/read/json_stream.h"

#include "base/byte_stream.h"

enum { WINDOW_BYTES = 1024 * 1024, MAX_KEY_BYTES = 64 * 1024 };

struct json_stream {
	ByteStream *file;
	gchar *path;
	gchar *bytes; /* decoded, JSON_PADDING '"' behind them */
	gsize at, n, capacity;
	guint64 offset;	 /* of the first byte */
	gboolean is_end; /* of the file */
	gchar *problem;
};

struct json_stream *json_stream_open(const gchar *path, GError **error)
{
	ByteStream *file = byte_stream_open(path, error);
	struct json_stream *stream;

	if (!file)
		return NULL;
	stream = g_new0(struct json_stream, 1);
	stream->file = file;
	stream->path = g_strdup(path);
	stream->capacity = WINDOW_BYTES;
	stream->bytes = g_malloc(stream->capacity + JSON_PADDING);
	memset(stream->bytes, '"', JSON_PADDING);
	return stream;
}

void json_stream_close(struct json_stream *stream)
{
	if (!stream)
		return;
	byte_stream_close(stream->file);
	g_free(stream->path);
	g_free(stream->bytes);
	g_free(stream->problem);
	g_free(stream);
}

const gchar *json_stream_problem(const struct json_stream *stream)
{
	return stream->problem;
}

gdouble json_stream_done(const struct json_stream *stream)
{
	return byte_stream_done(stream->file);
}

static void fail(struct json_stream *stream, const gchar *what)
{
	if (!stream->problem)
		stream->problem = g_strdup_printf("%s: byte %" G_GUINT64_FORMAT ": %s",
						  stream->path, stream->offset + stream->at, what);
	stream->is_end = TRUE;
	stream->n = stream->at;
}

/* Have more bytes behind those that are not used yet; false: there are none, or no memory. */
static gboolean fill(struct json_stream *stream)
{
	g_autoptr(GError) error = NULL;
	gsize n_kept = stream->n - stream->at;
	gssize n;

	if (stream->is_end)
		return FALSE;
	if (n_kept > stream->capacity / 2) {
		gchar *more = g_try_realloc(stream->bytes, stream->capacity * 2 + JSON_PADDING);

		if (!more)
			return FALSE;
		stream->bytes = more;
		stream->capacity *= 2;
	}
	memmove(stream->bytes, stream->bytes + stream->at, n_kept);
	stream->offset += stream->at;
	stream->at = 0;
	n = byte_stream_read(stream->file, stream->bytes + n_kept, stream->capacity - n_kept,
			     &error);
	stream->n = n_kept + (gsize)MAX(n, 0);
	memset(stream->bytes + stream->n, '"', JSON_PADDING);
	stream->is_end = n <= 0;
	if (n < 0 && !stream->problem)
		stream->problem = g_strdup(error->message);
	return n > 0;
}

/* The next byte that is no space, 0 at the end. */
static gchar peek(struct json_stream *stream)
{
	do {
		while (stream->at < stream->n && (guchar)stream->bytes[stream->at] <= ' ')
			stream->at++;
	} while (stream->at == stream->n && fill(stream));
	return stream->at < stream->n ? stream->bytes[stream->at] : 0;
}

gboolean json_stream_enter(struct json_stream *stream, gchar bracket)
{
	if (peek(stream) != bracket)
		return FALSE;
	stream->at++;
	return TRUE;
}

/* Past a comma, to what comes; false: the closing bracket has been passed, or (2). */
static gboolean go_on(struct json_stream *stream, gchar closing)
{
	gchar next = peek(stream);

	while (next == ',') {
		stream->at++;
		next = peek(stream);
	}
	if (next == closing) {
		stream->at++;
		return FALSE;
	}
	if (next == 0)
		fail(stream, "the file ends too early");
	return next != 0;
}

gboolean json_stream_member(struct json_stream *stream, GString *key)
{
	struct json_scan scan;
	struct json_text text;
	guint64 offset;

	if (!go_on(stream, '}'))
		return FALSE;
	if (peek(stream) != '"' || !json_stream_load(stream, MAX_KEY_BYTES, &scan, &offset) ||
	    !json_string(&scan, &text)) {
		fail(stream, "the name of a member is missing");
		return FALSE;
	}
	g_string_truncate(key, 0);
	g_string_append_len(key, text.bytes, (gssize)text.n);
	if (json_stream_enter(stream, ':'))
		return TRUE;
	fail(stream, "the colon after the name of a member is missing");
	return FALSE;
}

gboolean json_stream_element(struct json_stream *stream)
{
	return go_on(stream, ']');
}

gboolean json_stream_load(struct json_stream *stream, gsize max_bytes, struct json_scan *ret_scan,
			  guint64 *ret_offset)
{
	if (!peek(stream)) {
		fail(stream, "the file ends too early");
		return FALSE;
	}
	for (;;) {
		const gchar *begin = stream->bytes + stream->at;
		struct json_scan trial = { .at = begin,
					   .end = stream->bytes + stream->n,
					   .is_tolerant = TRUE };

		*ret_scan = trial;
		*ret_offset = stream->offset + stream->at;
		json_skip(&trial);
		/* a number may go on behind the window */
		if (trial.status == JSON_OK && (trial.at < trial.end || stream->is_end)) {
			/* with the byte behind it, where there is one: it ends a number */
			ret_scan->end = MIN(trial.at + 1, trial.end);
			stream->at = (gsize)(trial.at - stream->bytes);
			return TRUE;
		}
		if (trial.status == JSON_BROKEN) {
			fail(stream, "the JSON is not valid");
			return FALSE;
		}
		if (stream->n - stream->at > max_bytes) {
			json_stream_skip(stream);
			return FALSE;
		}
		if (!fill(stream) && !stream->is_end) {
			fail(stream, "there is not enough memory for a value");
			return FALSE;
		}
		if (stream->is_end && trial.status != JSON_OK) {
			fail(stream, "the file ends inside this value");
			return FALSE;
		}
	}
}

/* Pass over a string whose first quote is next. */
static gboolean skip_string(struct json_stream *stream)
{
	gboolean is_escaped = FALSE;

	stream->at++;
	do {
		for (; stream->at < stream->n; stream->at++) {
			gchar c = stream->bytes[stream->at];

			if (c == '"' && !is_escaped) {
				stream->at++;
				return TRUE;
			}
			is_escaped = c == '\\' && !is_escaped;
		}
	} while (fill(stream));
	return FALSE;
}

void json_stream_skip(struct json_stream *stream)
{
	guint64 depth = 0;
	gchar next;

	do {
		next = peek(stream);
		switch (next) {
		case 0:
			fail(stream, "the file ends too early");
			return;
		case '"':
			if (!skip_string(stream)) {
				fail(stream, "the file ends inside a text");
				return;
			}
			break;
		case '{':
		case '[':
			depth++;
			stream->at++;
			break;
		case '}':
		case ']':
			if (depth == 0) {
				fail(stream, "the JSON is not valid");
				return;
			}
			depth--;
			stream->at++;
			break;
		default: /* a letter of a number or word, a comma, a colon */
			stream->at++;
			if (depth == 0 && !g_ascii_isalnum(next) && !strchr("+-.", next)) {
				fail(stream, "the JSON is not valid");
				return;
			}
			while (depth == 0) { /* to its end */
				next = stream->at < stream->n || fill(stream)
					       ? stream->bytes[stream->at]
					       : 0;
				if (!g_ascii_isalnum(next) && (!next || !strchr("+-.", next)))
					return;
				stream->at++;
			}
		}
	} while (depth);
}
