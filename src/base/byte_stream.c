#include "base/byte_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	INPUT_BYTES = 256 * 1024,
	SKIP_BYTES = 64 * 1024,
	MAX_STATES = 32, /* of a stream; each takes 85 KiB */
	BYTES_A_STATE =
		1024 * 1024, /* decoded, between two; twice as many each time there are too many */
};

/* A place in a gzip file from where decoding can begin. */
struct saved_state {
	guint64 offset;	     /* decoded */
	guint64 file_offset; /* of the next input byte */
	struct inflate_state state;
};

struct _ByteStream {
	gchar *path;
	int fd;
	ByteCoding coding;
	guint64 file_size;
	guint64 file_offset; /* of the end of what is in `input` */
	guint64 offset;	     /* decoded */
	GError *failure;     /* (3) */
	gboolean is_at_end;

	guint8 *input; /* coded bytes: [begin, end) are not decoded yet */
	gsize begin, end;
	struct inflate_state *inflate;
	GPtrArray *states; /* struct saved_state, by offset */
	guint64 bytes_a_state;
	ZSTD_DCtx *zstd;
	gboolean is_in_frame; /* a member (gzip) or frame (zstd) has begun and not ended */
};

G_DEFINE_QUARK(tacho - byte - stream - error - quark, byte_stream_error)

static guint64 input_offset(const ByteStream *stream)
{
	return stream->file_offset - (stream->end - stream->begin);
}

static gboolean fail(ByteStream *stream, ByteStreamError code, const gchar *reason)
{
	g_set_error(&stream->failure, BYTE_STREAM_ERROR, code, "%s: byte %" G_GUINT64_FORMAT ": %s",
		    stream->path, input_offset(stream), reason);
	return FALSE;
}

/* --- opening -------------------------------------------------------------------------------- */

static gboolean read_file(ByteStream *stream, void *buffer, gsize size, gsize *ret_n)
{
	gsize done = 0;

	while (done < size) {
		gssize n = pread(stream->fd, (guint8 *)buffer + done, size - done,
				 (off_t)stream->file_offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int cause = errno;

			g_set_error(&stream->failure, G_FILE_ERROR, g_file_error_from_errno(cause),
				    "%s: byte %" G_GUINT64_FORMAT ": %s", stream->path,
				    stream->file_offset, g_strerror(cause));
			return FALSE;
		}
		if (n == 0)
			break;
		done += (gsize)n;
		stream->file_offset += (guint64)n;
	}
	*ret_n = done;
	return TRUE;
}

static gboolean open_file(ByteStream *stream, GError **error)
{
	struct stat status;
	int cause;

	stream->fd = open(stream->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (stream->fd >= 0 && fstat(stream->fd, &status) == 0) {
		if (S_ISREG(status.st_mode)) {
			stream->file_size = (guint64)status.st_size;
			return TRUE;
		}
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: not a regular file",
			    stream->path);
		return FALSE;
	}
	cause = errno;
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "%s: %s", stream->path,
		    g_strerror(cause));
	return FALSE;
}

static gboolean begin_decoding(ByteStream *stream)
{
	static const guint8 gzip_magic[] = { 0x1f, 0x8b, 8 };
	static const guint8 zstd_magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
	guint8 head[4] = { 0 };
	gsize n;

	if (!read_file(stream, head, sizeof(head), &n))
		return FALSE;
	stream->file_offset = 0;
	if (n >= sizeof(gzip_magic) && memcmp(head, gzip_magic, sizeof(gzip_magic)) == 0)
		stream->coding = BYTE_CODING_GZIP;
	else if (n >= sizeof(zstd_magic) && memcmp(head, zstd_magic, sizeof(zstd_magic)) == 0)
		stream->coding = BYTE_CODING_ZSTD;
	else
		return TRUE;
	stream->input = g_malloc(INPUT_BYTES);
	if (stream->coding == BYTE_CODING_GZIP) {
		stream->inflate = g_new0(struct inflate_state, 1);
		stream->states = g_ptr_array_new_with_free_func(g_free);
		stream->bytes_a_state = BYTES_A_STATE;
		isal_inflate_init(stream->inflate);
		stream->inflate->crc_flag = ISAL_GZIP;
	} else {
		stream->zstd = ZSTD_createDCtx();
		if (!stream->zstd)
			return fail(stream, BYTE_STREAM_ERROR_MEMORY,
				    "there is not enough memory to decode it");
	}
	return TRUE;
}

ByteStream *byte_stream_open(const gchar *path, GError **error)
{
	g_autoptr(ByteStream) stream = g_new0(ByteStream, 1);

	stream->path = g_strdup(path);
	if (!open_file(stream, error))
		return NULL;
	if (!begin_decoding(stream)) {
		g_propagate_error(error, g_steal_pointer(&stream->failure));
		return NULL;
	}
	return g_steal_pointer(&stream);
}

void byte_stream_close(ByteStream *stream)
{
	if (!stream)
		return;
	if (stream->fd >= 0)
		close(stream->fd);
	g_clear_error(&stream->failure);
	g_clear_pointer(&stream->states, g_ptr_array_unref);
	ZSTD_freeDCtx(stream->zstd);
	g_free(stream->inflate);
	g_free(stream->input);
	g_free(stream->path);
	g_free(stream);
}

/* --- decoding ------------------------------------------------------------------------------- */

/* Have input to decode; false: there is no more, or it cannot be read. */
static gboolean fill_input(ByteStream *stream)
{
	gsize n;

	if (stream->begin < stream->end)
		return TRUE;
	stream->begin = stream->end = 0;
	if (!read_file(stream, stream->input, INPUT_BYTES, &n))
		return FALSE;
	stream->end = n;
	return n > 0;
}

/* Keep every other state: of those that come, too. */
static void thin_out_states(ByteStream *stream)
{
	for (guint i = 0; i < stream->states->len; i++)
		g_ptr_array_remove_index(stream->states, i);
	stream->bytes_a_state *= 2;
}

static void save_state(ByteStream *stream)
{
	const struct saved_state *last =
		stream->states->len ? stream->states->pdata[stream->states->len - 1] : NULL;
	struct saved_state *saved;

	if (stream->offset < (last ? last->offset : 0) + stream->bytes_a_state)
		return;
	if (stream->states->len == MAX_STATES) {
		thin_out_states(stream);
		return;
	}
	saved = g_try_new(struct saved_state, 1); /* without, going back takes longer */
	if (!saved)
		return;
	saved->offset = stream->offset;
	saved->file_offset = input_offset(stream);
	saved->state = *stream->inflate;
	g_ptr_array_add(stream->states, saved);
}

/* Whether another member follows the one that has ended; what pads a file to a tape's or disk's block
 * is zeros. */
static gboolean begin_member(ByteStream *stream)
{
	if (!fill_input(stream) || stream->input[stream->begin] == 0)
		return FALSE;
	isal_inflate_reset(stream->inflate);
	stream->inflate->crc_flag = ISAL_GZIP;
	return TRUE;
}

/* Decode into `buffer` until it is full, input is needed, or the file ends. */
static gsize decode_gzip(ByteStream *stream, guint8 *buffer, gsize size)
{
	struct inflate_state *inflate = stream->inflate;
	gsize n_out;
	int status;

	if (inflate->block_state == ISAL_BLOCK_FINISH && !begin_member(stream)) {
		stream->is_at_end = TRUE;
		return 0;
	}
	if (!fill_input(stream)) {
		/* output may be left in the state where the last call had no room for it */
		inflate->avail_in = 0;
	} else {
		inflate->next_in = stream->input + stream->begin;
		inflate->avail_in = (guint32)(stream->end - stream->begin);
	}
	inflate->next_out = buffer;
	inflate->avail_out = (guint32)MIN(size, G_MAXINT32);
	n_out = inflate->avail_out;
	status = isal_inflate(inflate);
	n_out -= inflate->avail_out;
	if (status < 0) {
		fail(stream, BYTE_STREAM_ERROR_CORRUPT, "the gzip data are not valid");
		return n_out;
	}
	if (stream->begin == stream->end && n_out == 0 &&
	    inflate->block_state != ISAL_BLOCK_FINISH && !stream->failure)
		fail(stream, BYTE_STREAM_ERROR_TRUNCATED, "the gzip data end too early");
	stream->begin = stream->end - inflate->avail_in;
	return n_out;
}

static gsize decode_zstd(ByteStream *stream, guint8 *buffer, gsize size)
{
	ZSTD_outBuffer out = { buffer, size, 0 };
	ZSTD_inBuffer in = { stream->input, 0, 0 };
	gboolean has_input = fill_input(stream);
	gsize hint;

	if (!has_input && !stream->is_in_frame) {
		stream->is_at_end = TRUE;
		return 0;
	}
	in.size = stream->end;
	in.pos = stream->begin;
	hint = ZSTD_decompressStream(stream->zstd, &out, &in);
	stream->begin = in.pos;
	if (ZSTD_isError(hint)) {
		fail(stream, BYTE_STREAM_ERROR_CORRUPT, "the zstd data are not valid");
		return out.pos;
	}
	stream->is_in_frame = hint != 0;
	if (!has_input && out.pos == 0 && hint != 0 && !stream->failure)
		fail(stream, BYTE_STREAM_ERROR_TRUNCATED, "the zstd data end too early");
	return out.pos;
}

static gsize read_some(ByteStream *stream, guint8 *buffer, gsize size)
{
	gsize n = 0;

	switch (stream->coding) {
	case BYTE_CODING_NONE:
		if (!read_file(stream, buffer, size, &n))
			return 0;
		stream->is_at_end = n < size;
		break;
	case BYTE_CODING_GZIP:
		n = decode_gzip(stream, buffer, size);
		break;
	case BYTE_CODING_ZSTD:
		n = decode_zstd(stream, buffer, size);
		break;
	}
	stream->offset += n;
	return n;
}

gssize byte_stream_read(ByteStream *stream, void *buffer, gsize size, GError **error)
{
	gsize done = 0;

	while (done < size && !stream->failure && !stream->is_at_end) {
		done += read_some(stream, (guint8 *)buffer + done, size - done);
		if (stream->states && !stream->failure)
			save_state(stream);
	}
	if (done == 0 && size && stream->failure) {
		if (error)
			*error = g_error_copy(stream->failure);
		return -1;
	}
	return (gssize)done;
}

/* --- places --------------------------------------------------------------------------------- */

/* Go back to the last place before `offset` from where decoding can begin. */
static void go_back(ByteStream *stream, guint64 offset)
{
	const struct saved_state *from = NULL;

	for (guint i = 0; stream->states && i < stream->states->len; i++) {
		const struct saved_state *saved = stream->states->pdata[i];

		if (saved->offset <= offset)
			from = saved;
	}
	stream->begin = stream->end = 0;
	stream->is_at_end = stream->is_in_frame = FALSE;
	g_clear_error(&stream->failure);
	stream->offset = from ? from->offset : 0;
	stream->file_offset = from ? from->file_offset : 0;
	if (from) {
		*stream->inflate = from->state;
	} else if (stream->inflate) {
		isal_inflate_init(stream->inflate);
		stream->inflate->crc_flag = ISAL_GZIP;
	} else {
		ZSTD_DCtx_reset(stream->zstd, ZSTD_reset_session_only);
	}
}

gboolean byte_stream_seek(ByteStream *stream, guint64 offset, GError **error)
{
	g_autofree guint8 *skipped = NULL;

	if (stream->coding == BYTE_CODING_NONE) {
		stream->offset = stream->file_offset = MIN(offset, (guint64)G_MAXINT64);
		stream->is_at_end = FALSE;
		g_clear_error(&stream->failure);
		return TRUE;
	}
	if (offset < stream->offset)
		go_back(stream, offset);
	skipped = g_malloc(SKIP_BYTES);
	while (stream->offset < offset) {
		gsize size = (gsize)MIN(offset - stream->offset, (guint64)SKIP_BYTES);
		gssize n = byte_stream_read(stream, skipped, size, error);

		if (n < 0)
			return FALSE;
		if (n == 0)
			break;
	}
	return TRUE;
}

guint64 byte_stream_offset(const ByteStream *stream)
{
	return stream->offset;
}

gdouble byte_stream_done(const ByteStream *stream)
{
	if (stream->file_size == 0)
		return 1;
	return MIN((gdouble)input_offset(stream) / (gdouble)stream->file_size, 1.0);
}

ByteCoding byte_stream_coding(const ByteStream *stream)
{
	return stream->coding;
}
