#include "import/ctf/lttng_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <tacho/import.h>
#include <unistd.h>

#include "trace/trace_kinds.h"

enum { MAX_TAIL_BYTES = 1 << 20, MAX_RECORD_BYTES = 1 << 20 };

#define DURATION_OFFSET (sizeof(struct record_header))
#define CHANGED_OFFSET	(sizeof(struct record_header) + sizeof(guint64)) /* behind the duration */

/* A slice that has begun, and may be ended. */
struct begun {
	guint64 position, stamp;
	guint64 offset; /* of its record in the file */
	guint32 size_bytes;
};

struct lttng_stream {
	gchar *path;
	guint32 number, tid;
	guint64 discarded;
	guint64 n_written; /* bytes that are in the file; the tail is behind them */
	GByteArray *tail;
	gboolean has_records;
	guint64 last_position, last_stamp;
	GHashTable *begun; /* position -> struct begun */
	GArray *nest; /* guint64: positions of slices that are open and nest, outermost first */
	int cause;    /* errno of the first write that failed; 0: none did */
};

struct lttng_stream *lttng_stream_new(const gchar *path, guint32 number, guint32 tid)
{
	struct lttng_stream *stream = g_new0(struct lttng_stream, 1);
	struct packet_header none = { 0 };

	stream->path = g_strdup(path);
	stream->number = number;
	stream->tid = tid;
	stream->tail = g_byte_array_new();
	g_byte_array_append(stream->tail, (const guint8 *)&none, sizeof(none));
	stream->begun = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	stream->nest = g_array_new(FALSE, FALSE, sizeof(guint64));
	return stream;
}

void lttng_stream_free(struct lttng_stream *stream)
{
	g_free(stream->path);
	g_byte_array_unref(stream->tail);
	g_hash_table_unref(stream->begun);
	g_array_unref(stream->nest);
	g_free(stream);
}

/* --- the file ------------------------------------------------------------------------------- */

static gboolean write_at(struct lttng_stream *stream, guint64 offset, const void *bytes, gsize n)
{
	int fd = open(stream->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	gsize done = 0;
	gssize written = 0;

	while (fd >= 0 && done < n && written >= 0) {
		written =
			pwrite(fd, (const guint8 *)bytes + done, n - done, (off_t)(offset + done));
		if (written < 0 && errno == EINTR)
			written = 0;
		done += (gsize)MAX(written, 0);
	}
	if ((fd < 0 || written < 0) && !stream->cause)
		stream->cause = errno;
	if (fd >= 0)
		close(fd);
	return done == n;
}

/* Also where that fails, so that offsets of what was in it go on naming the file; lttng_stream_close() says so. */
static void write_tail(struct lttng_stream *stream)
{
	write_at(stream, stream->n_written, stream->tail->data, stream->tail->len);
	stream->n_written += stream->tail->len;
	g_byte_array_set_size(stream->tail, 0);
}

/* Change what was added before. */
static void store(struct lttng_stream *stream, guint64 offset, const void *bytes, gsize n)
{
	if (offset >= stream->n_written)
		memcpy(stream->tail->data + (offset - stream->n_written), bytes, n);
	else
		write_at(stream, offset, bytes, n);
}

/* --- records -------------------------------------------------------------------------------- */

/* Those of the other kinds overlap what follows them. */
static gboolean does_nest(enum trace_kind kind)
{
	return kind != TRACE_KIND_COLLECTIVE && kind != TRACE_KIND_SPAN &&
	       kind != TRACE_KIND_TRANSFER && kind != TRACE_KIND_REQUEST;
}

static void note_begun(struct lttng_stream *stream, guint64 position, guint64 offset,
		       const struct record_header *header, enum trace_kind kind)
{
	struct begun *begun = g_new(struct begun, 1);

	*begun = (struct begun){ .position = position,
				 .stamp = header->stamp,
				 .offset = offset,
				 .size_bytes = header->size_bytes };
	g_hash_table_replace(stream->begun, &begun->position, begun);
	if (does_nest(kind))
		g_array_append_val(stream->nest, position);
}

gboolean lttng_stream_add(struct lttng_stream *stream, guint64 position,
			  const struct record_header *told, const guint64 *words, guint n_words,
			  enum trace_kind kind)
{
	struct record_header header = *told;
	guint64 offset = stream->n_written + stream->tail->len;

	if (n_words > MAX_RECORD_BYTES / sizeof(*words) || (trace_kind_is_slice(kind) && !n_words))
		return FALSE;
	if (stream->has_records &&
	    (position <= stream->last_position || header.stamp < stream->last_stamp))
		return FALSE;
	header.size_bytes = (guint32)(sizeof(header) + n_words * sizeof(*words));
	g_byte_array_append(stream->tail, (const guint8 *)&header, sizeof(header));
	g_byte_array_append(stream->tail, (const guint8 *)words, n_words * sizeof(*words));
	stream->has_records = TRUE;
	stream->last_position = position;
	stream->last_stamp = header.stamp;
	if (trace_kind_is_slice(kind) && words[0] == TRACE_OPEN)
		note_begun(stream, position, offset, &header, kind);
	if (stream->tail->len >= MAX_TAIL_BYTES)
		write_tail(stream);
	return TRUE;
}

static void end_at(struct lttng_stream *stream, const struct begun *begun, guint64 end)
{
	guint64 duration = end > begun->stamp ? end - begun->stamp : 0;

	store(stream, begun->offset + DURATION_OFFSET, &duration, sizeof(duration));
}

/* (2) of lttng_run.h: what is still open within a slice that ends has lost its end. */
static void end_nested(struct lttng_stream *stream, guint64 position, guint64 end)
{
	while (stream->nest->len) {
		guint64 top = g_array_index(stream->nest, guint64, stream->nest->len - 1);
		struct begun *inner = g_hash_table_lookup(stream->begun, &top);

		if (top < position)
			return;
		g_array_set_size(stream->nest, stream->nest->len - 1);
		if (top == position)
			return;
		if (inner) {
			end_at(stream, inner, end);
			g_hash_table_remove(stream->begun, &top);
		}
	}
}

static gboolean is_nested(const struct lttng_stream *stream, guint64 position)
{
	for (guint i = stream->nest->len; i-- > 0;) {
		guint64 other = g_array_index(stream->nest, guint64, i);

		if (other <= position)
			return other == position;
	}
	return FALSE;
}

gboolean lttng_stream_end(struct lttng_stream *stream, guint64 position, guint64 duration,
			  const guint64 *words, guint n_words)
{
	const struct begun *begun = g_hash_table_lookup(stream->begun, &position);

	if (!begun)
		return FALSE;
	store(stream, begun->offset + DURATION_OFFSET, &duration, sizeof(duration));
	if (n_words && n_words <= (begun->size_bytes - CHANGED_OFFSET) / sizeof(*words))
		store(stream, begun->offset + CHANGED_OFFSET, words, n_words * sizeof(*words));
	/* what overlaps others may be ended again: a collective that goes on after all */
	if (!is_nested(stream, position))
		return TRUE;
	end_nested(stream, position, begun->stamp + duration);
	g_hash_table_remove(stream->begun, &position);
	return TRUE;
}

void lttng_stream_set_discarded(struct lttng_stream *stream, guint64 count)
{
	stream->discarded = MAX(stream->discarded, count);
}

gboolean lttng_stream_close(struct lttng_stream *stream, const struct packet_header *told,
			    GError **error)
{
	struct packet_header header = *told;

	if (!stream->has_records)
		return TRUE;
	write_tail(stream);
	header.magic = TRACE_PACKET_MAGIC;
	header.stream_class = 0;
	header.packet_bits = header.content_bits = stream->n_written * 8;
	header.discarded = stream->discarded;
	header.stream = stream->number;
	header.index = 0;
	header.tid = stream->tid;
	header.reserved = 0;
	if (write_at(stream, 0, &header, sizeof(header)) && !stream->cause)
		return TRUE;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", stream->path,
		    g_strerror(stream->cause));
	return FALSE;
}
