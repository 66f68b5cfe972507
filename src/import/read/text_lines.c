#include "import/read/text_lines.h"

#include <pthread.h>
#include <string.h>

#include "base/byte_stream.h"

enum {
	BLOCK_BYTES = 64 * 1024,
	FIRST_BYTES = 1024, /* of a line that is asked for again; most are shorter */
};

struct _TextLines {
	ByteStream *stream;
	gchar block[BLOCK_BYTES];
	gsize n, at;	/* bytes in the block, and of these handed out */
	guint64 offset; /* of the block */
	GString *line;
	gboolean is_at_end;
};

TextLines *text_lines_open(const gchar *path, GError **error)
{
	ByteStream *stream = byte_stream_open(path, error);
	TextLines *lines;

	if (!stream)
		return NULL;
	lines = g_new0(TextLines, 1);
	lines->stream = stream;
	lines->line = g_string_new(NULL);
	return lines;
}

void text_lines_close(TextLines *lines)
{
	if (!lines)
		return;
	byte_stream_close(lines->stream);
	g_string_free(lines->line, TRUE);
	g_free(lines);
}

static gboolean read_block(TextLines *lines, GError **error)
{
	gssize n;

	lines->offset += lines->n;
	lines->n = lines->at = 0;
	if (lines->is_at_end)
		return FALSE;
	n = byte_stream_read(lines->stream, lines->block, sizeof(lines->block), error);
	lines->is_at_end = n <= 0;
	lines->n = (gsize)MAX(n, 0);
	return n > 0;
}

gchar *text_lines_next(TextLines *lines, gsize *ret_n, guint64 *ret_offset, GError **error)
{
	gboolean is_whole = FALSE;
	guint64 offset;

	if (lines->at == lines->n && !read_block(lines, error))
		return NULL;
	offset = lines->offset + lines->at;
	g_string_truncate(lines->line, 0);
	do {
		const gchar *begin = lines->block + lines->at;
		gsize n_left = lines->n - lines->at, n = n_left;
		const gchar *end = memchr(begin, '\n', n_left);

		if (end) {
			n = (gsize)(end - begin);
			is_whole = TRUE;
		}
		lines->at += n + is_whole;
		n = MIN(n, TEXT_MAX_LINE - MIN(lines->line->len, TEXT_MAX_LINE));
		g_string_append_len(lines->line, begin, (gssize)n);
	} while (!is_whole && read_block(lines, NULL)); /* an error comes with the next call */
	if (lines->line->len && lines->line->str[lines->line->len - 1] == '\r')
		g_string_truncate(lines->line, lines->line->len - 1);
	*ret_n = lines->line->len;
	*ret_offset = offset;
	return lines->line->str;
}

gdouble text_lines_done(const TextLines *lines)
{
	return byte_stream_done(lines->stream);
}

/* --- a line again --------------------------------------------------------------------------- */

struct text_file {
	gchar *path;
	pthread_mutex_t lock;
	/* Under the lock: */
	ByteStream *stream;
	gboolean is_broken; /* cannot be opened (any more) */
};

struct text_file *text_file_new(const gchar *path)
{
	struct text_file *file = g_new0(struct text_file, 1);

	file->path = g_strdup(path);
	pthread_mutex_init(&file->lock, NULL);
	return file;
}

void text_file_free(struct text_file *file)
{
	if (!file)
		return;
	byte_stream_close(file->stream);
	pthread_mutex_destroy(&file->lock);
	g_free(file->path);
	g_free(file);
}

static gchar *read_line(struct text_file *file, guint64 offset)
{
	g_autofree gchar *bytes = NULL;

	if (!file->stream && !file->is_broken)
		file->stream = byte_stream_open(file->path, NULL);
	file->is_broken = !file->stream;
	for (gsize size = FIRST_BYTES; !file->is_broken && size <= TEXT_MAX_LINE; size *= 4) {
		const gchar *end;
		gssize n;

		g_free(bytes);
		bytes = g_malloc(size + 1);
		if (!byte_stream_seek(file->stream, offset, NULL))
			return NULL;
		n = byte_stream_read(file->stream, bytes, size, NULL);
		if (n <= 0)
			return NULL;
		end = memchr(bytes, '\n', (gsize)n);
		if (!end && (gsize)n == size && size < TEXT_MAX_LINE)
			continue;
		n = end ? end - bytes : n;
		n -= n > 0 && bytes[n - 1] == '\r';
		bytes[n] = '\0';
		return g_steal_pointer(&bytes);
	}
	return NULL;
}

gchar *text_file_line(struct text_file *file, guint64 offset)
{
	gchar *line;

	pthread_mutex_lock(&file->lock);
	line = read_line(file, offset);
	pthread_mutex_unlock(&file->lock);
	return line;
}
