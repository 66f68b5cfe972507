#include "import/read/csv_reader.h"

#include <string.h>

#include "base/byte_stream.h"

enum { WINDOW_BYTES = 64 * 1024, MAX_ROW_BYTES = 4 * 1024 * 1024, MAX_COLUMNS = 1024 };

struct csv_reader {
	ByteStream *file;
	gchar *path;
	gchar *problem;
	GPtrArray *names;
	GArray *starts; /* gsize: where in `text` each value begins */
	GString *text;	/* the row's values, each ended by a NUL */
	gchar bytes[WINDOW_BYTES];
	gsize at, n;
	guint64 offset;	    /* of bytes[0] */
	guint64 row_offset; /* of the row */
};

/* The next byte, or -1. */
static gint next_byte(struct csv_reader *reader)
{
	g_autoptr(GError) error = NULL;
	gssize n;

	if (reader->at < reader->n)
		return (guchar)reader->bytes[reader->at++];
	reader->offset += reader->n;
	reader->at = reader->n = 0;
	n = byte_stream_read(reader->file, reader->bytes, WINDOW_BYTES, &error);
	if (n < 0 && !reader->problem)
		reader->problem = g_strdup(error->message);
	if (n <= 0)
		return -1;
	reader->n = (gsize)n;
	return (guchar)reader->bytes[reader->at++];
}

static guint64 place(const struct csv_reader *reader)
{
	return reader->offset + reader->at;
}

/* The rest of a value in quotes: up to and with the quote that ends it. */
static void read_quoted(struct csv_reader *reader)
{
	gint c;

	while ((c = next_byte(reader)) >= 0 && reader->text->len < MAX_ROW_BYTES) {
		if (c == '"') {
			c = next_byte(reader);
			if (c != '"') {
				if (c >= 0)
					reader->at--;
				return;
			}
		}
		g_string_append_c(reader->text, (gchar)c);
	}
}

static void begin_value(struct csv_reader *reader)
{
	gsize start = reader->text->len;

	g_array_append_val(reader->starts, start);
}

/* A row, whatever is in it. False: the file ended before it. */
static gboolean read_row(struct csv_reader *reader)
{
	gint c;

	g_string_truncate(reader->text, 0);
	g_array_set_size(reader->starts, 0);
	reader->row_offset = place(reader);
	begin_value(reader);
	while ((c = next_byte(reader)) >= 0 && c != '\n') {
		if (reader->text->len >= MAX_ROW_BYTES || reader->starts->len >= MAX_COLUMNS) {
			reader->problem = g_strdup_printf("%s: byte %" G_GUINT64_FORMAT
							  ": this row is too long",
							  reader->path, reader->row_offset);
			return FALSE;
		}
		if (c == '"') {
			read_quoted(reader);
		} else if (c == ',') {
			g_string_append_c(reader->text, '\0');
			begin_value(reader);
		} else if (c != '\r') {
			g_string_append_c(reader->text, (gchar)c);
		}
	}
	return c >= 0 || reader->text->len || reader->starts->len > 1;
}

static void read_names(struct csv_reader *reader)
{
	if (!read_row(reader))
		return;
	for (guint i = 0; i < reader->starts->len; i++)
		g_ptr_array_add(reader->names,
				g_utf8_make_valid(reader->text->str +
							  g_array_index(reader->starts, gsize, i),
						  -1));
}

struct csv_reader *csv_reader_open(const gchar *path, GError **error)
{
	ByteStream *file = byte_stream_open(path, error);
	struct csv_reader *reader;

	if (!file)
		return NULL;
	reader = g_new0(struct csv_reader, 1);
	reader->file = file;
	reader->path = g_strdup(path);
	reader->names = g_ptr_array_new_with_free_func(g_free);
	reader->starts = g_array_new(FALSE, FALSE, sizeof(gsize));
	reader->text = g_string_new(NULL);
	read_names(reader);
	return reader;
}

void csv_reader_close(struct csv_reader *reader)
{
	if (!reader)
		return;
	byte_stream_close(reader->file);
	g_ptr_array_unref(reader->names);
	g_array_unref(reader->starts);
	g_string_free(reader->text, TRUE);
	g_free(reader->path);
	g_free(reader->problem);
	g_free(reader);
}

gint csv_reader_column(const struct csv_reader *reader, const gchar *name)
{
	for (guint i = 0; i < reader->names->len; i++)
		if (strcmp(reader->names->pdata[i], name) == 0)
			return (gint)i;
	return -1;
}

guint csv_reader_n_columns(const struct csv_reader *reader)
{
	return reader->names->len;
}

const gchar *csv_reader_name(const struct csv_reader *reader, guint column)
{
	return reader->names->pdata[column];
}

gboolean csv_reader_next(struct csv_reader *reader)
{
	while (!reader->problem && read_row(reader))
		if (reader->text->len)
			return TRUE;
	return FALSE;
}

gboolean csv_reader_seek(struct csv_reader *reader, guint64 offset)
{
	reader->at = reader->n = 0;
	reader->offset = offset;
	return byte_stream_seek(reader->file, offset, NULL) && csv_reader_next(reader);
}

guint64 csv_reader_offset(const struct csv_reader *reader)
{
	return reader->row_offset;
}

const gchar *csv_reader_text(const struct csv_reader *reader, gint column)
{
	const gchar *text;

	if (column < 0 || (guint)column >= reader->starts->len)
		return NULL;
	text = reader->text->str + g_array_index(reader->starts, gsize, (guint)column);
	return g_utf8_validate(text, -1, NULL) ? text : NULL;
}

gboolean csv_reader_integer(const struct csv_reader *reader, gint column, gint64 *ret_value)
{
	const gchar *text = csv_reader_text(reader, column);
	const gchar *digits;

	if (!text || !*text)
		return FALSE;
	if (g_str_has_prefix(text, "0x"))
		return g_ascii_string_to_unsigned(text + 2, 16, 0, G_MAXINT64, (guint64 *)ret_value,
						  NULL);
	if (g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, ret_value, NULL))
		return TRUE;
	digits = text + strlen(text);
	while (digits > text && g_ascii_isdigit(digits[-1]))
		digits--;
	return g_ascii_string_to_signed(digits, 10, 0, G_MAXINT64, ret_value, NULL);
}

const gchar *csv_reader_problem(const struct csv_reader *reader)
{
	return reader->problem;
}

gdouble csv_reader_done(const struct csv_reader *reader)
{
	return byte_stream_done(reader->file);
}
