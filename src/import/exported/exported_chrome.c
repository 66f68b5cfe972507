#include <isa-l/crc.h>
#include <string.h>

#include "base/byte_stream.h"
#include "import/exported/exported_run.h"
#include "trace/run_image.h"

#define CHUNK_BYTES	(256 * 1024)
#define HEAD_BYTES	4096
#define MAX_BLOCK_CHARS (RUN_IMAGE_MAX_BLOCK_BYTES / 3 * 4)

static const gchar head[] = "\"producer\":\"tacho ";
/* Behind traceEvents, as chrome_export.c has it; no text of JSON can hold it, for its line. */
static const gchar mark[] = ",\n\t\"tachoRun\":{\"bytes\":";
#define N_MARK (sizeof(mark) - 1)

/* A file, a chunk at a time, with what is left of the last one before it. */
struct chunks {
	ByteStream *stream;
	guint8 *bytes;
	gsize n, at;
	GError *failure;
};

/* Have more behind what is left; FALSE: there is no more, or it cannot be read. */
static gboolean load_more(struct chunks *chunks)
{
	gssize n;

	memmove(chunks->bytes, chunks->bytes + chunks->at, chunks->n - chunks->at);
	chunks->n -= chunks->at;
	chunks->at = 0;
	n = byte_stream_read(chunks->stream, chunks->bytes + chunks->n, CHUNK_BYTES - chunks->n,
			     &chunks->failure);
	chunks->n += (gsize)MAX(n, 0);
	return n > 0;
}

/* The next byte, -1 at the end. */
static gint next_byte(struct chunks *chunks)
{
	if (chunks->at == chunks->n && !load_more(chunks))
		return -1;
	return chunks->bytes[chunks->at++];
}

gboolean exported_chrome_sniff(const struct sniff_input *input)
{
	return !input->is_folder && input->n_head > 0 && *input->head == '{' &&
	       g_strstr_len(input->head, (gssize)MIN(input->n_head, HEAD_BYTES), head);
}

/* Go behind the mark; FALSE: there is none. */
static gboolean find_mark(struct chunks *chunks, guint64 *ret_n, guint32 *ret_crc)
{
	guint64 n = 0;
	guint32 crc = 0;

	do {
		const guint8 *found = memmem(chunks->bytes, chunks->n, mark, N_MARK);
		gsize n_before = found		      ? (gsize)(found - chunks->bytes)
				 : chunks->n < N_MARK ? 0
						      : chunks->n - N_MARK + 1;

		crc = crc32_gzip_refl(crc, chunks->bytes, n_before);
		n += n_before;
		chunks->at = n_before;
		if (found) {
			chunks->at += N_MARK;
			*ret_n = n;
			*ret_crc = crc;
			return TRUE;
		}
	} while (load_more(chunks));
	return FALSE;
}

static gboolean take(struct chunks *chunks, const gchar *text)
{
	for (; *text; text++)
		if (next_byte(chunks) != *text)
			return FALSE;
	return TRUE;
}

/* Digits up to `end`. */
static gboolean take_number(struct chunks *chunks, gchar end, guint64 *ret_number)
{
	guint64 number = 0;
	gint byte;

	while ((byte = next_byte(chunks)) >= '0' && byte <= '9')
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (guint64)(byte - '0'), &number))
			return FALSE;
	*ret_number = number;
	return byte == end;
}

/* The next text of the array, up to its second quote; FALSE: there is none. */
static gboolean take_text(struct chunks *chunks, GString *text)
{
	gint byte = next_byte(chunks);

	while (byte == ',' || byte == '\n' || byte == '\t')
		byte = next_byte(chunks);
	g_string_truncate(text, 0);
	if (byte != '"')
		return FALSE;
	while ((byte = next_byte(chunks)) >= 0 && byte != '"' && text->len < MAX_BLOCK_CHARS)
		g_string_append_c(text, (gchar)byte);
	return byte == '"';
}

static gboolean read_image(struct chunks *chunks, RestoredRun *run, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint64 n, n_told, crc_told;
	guint32 crc;

	if (!find_mark(chunks, &n, &crc))
		return FALSE;
	if (!take_number(chunks, ',', &n_told) || !take(chunks, "\"crc32\":") ||
	    !take_number(chunks, ',', &crc_told) || !take(chunks, "\"blocks\":[") || n != n_told ||
	    crc != crc_told) {
		g_propagate_error(error, exported_run_changed());
		return FALSE;
	}
	while (take_text(chunks, text)) {
		gsize n_bytes = 0;

		if (text->len < 2) /* what g_base64_decode_inplace() asks for */
			continue;
		g_base64_decode_inplace(text->str, &n_bytes);
		if (!restored_run_block(run, (const guint8 *)text->str, n_bytes, error))
			return FALSE;
	}
	return TRUE;
}

gboolean exported_chrome_read(struct import *import, const gchar *path, gboolean *ret_is_read,
			      GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	g_autofree guint8 *bytes = g_malloc(CHUNK_BYTES);
	g_autoptr(RestoredRun) run = restored_run_new(path);
	struct chunks chunks = { stream, bytes, 0, 0, NULL };
	struct sniff_input input = { .head = (const gchar *)bytes };
	GError *failure = NULL;

	*ret_is_read = FALSE;
	if (!stream)
		return FALSE;
	if (!load_more(&chunks)) {
		g_clear_error(&chunks.failure); /* who reads what it shows will tell */
		return TRUE;
	}
	input.n_head = chunks.n;
	if (!exported_chrome_sniff(&input) || (!read_image(&chunks, run, &failure) && !failure)) {
		g_clear_error(&chunks.failure);
		return TRUE; /* of an older tacho */
	}
	g_clear_error(&chunks.failure);
	return exported_run_settle(import, run, path, failure, ret_is_read, error);
}
