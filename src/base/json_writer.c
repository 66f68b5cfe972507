/* json_writer: JSON, written as it goes to a FILE.
 * An export writes millions of small values, so they are put into a buffer of our own by hand;
 * stdio sees it a buffer at a time.
 * (1) What was written is always the beginning of some valid JSON text: wrong nesting is a bug of
 *     the caller, and asserted.
 * (2) The text is valid UTF-8, whatever the strings were.
 * (3) After a failed write nothing is written any more, and finish() says so. */
#include "base/json_writer.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <math.h>
#include <string.h>

#include "base/number.h"

#define BUFFER_BYTES	 65536
#define MAX_DEPTH	 32
#define MAX_NUMBER_BYTES 32

enum level_kind {
	LEVEL_TOP,
	LEVEL_OBJECT,
	LEVEL_ARRAY,
};

struct level {
	guint8 kind;
	gboolean has_items;
};

struct _JsonWriter {
	FILE *out;
	gint error;  /* errno of the first failed write, 0: none */
	guint32 crc; /* of all that went out, and how much it was */
	guint64 n_written;
	guint depth;
	gboolean has_key;    /* a key waits for its value */
	gboolean wants_line; /* json_writer_line() was called */
	struct level levels[MAX_DEPTH];
	gsize used;
	gchar buffer[BUFFER_BYTES];
};

JsonWriter *json_writer_new(FILE *out)
{
	JsonWriter *writer = g_malloc(sizeof(*writer));

	memset(writer, 0, offsetof(JsonWriter, buffer));
	writer->out = out;
	return writer;
}

void json_writer_free(JsonWriter *writer)
{
	g_free(writer);
}

gboolean json_writer_failed(const JsonWriter *writer)
{
	return writer->error != 0;
}

static void write_out(JsonWriter *writer, const gchar *bytes, gsize length)
{
	if (writer->error || length == 0)
		return;
	errno = 0;
	writer->crc = crc32_gzip_refl(writer->crc, (const guint8 *)bytes, length);
	writer->n_written += length;
	if (fwrite(bytes, 1, length, writer->out) != length)
		writer->error = errno ? errno : EIO;
}

static void flush(JsonWriter *writer)
{
	write_out(writer, writer->buffer, writer->used);
	writer->used = 0;
}

void json_writer_sum(JsonWriter *writer, guint64 *ret_n_bytes, guint32 *ret_crc)
{
	flush(writer);
	*ret_n_bytes = writer->n_written;
	*ret_crc = writer->crc;
}

static void put(JsonWriter *writer, const gchar *bytes, gsize length)
{
	if (length > BUFFER_BYTES - writer->used) {
		flush(writer);
		if (length > BUFFER_BYTES) {
			write_out(writer, bytes, length);
			return;
		}
	}
	memcpy(writer->buffer + writer->used, bytes, length);
	writer->used += length;
}

static void put_char(JsonWriter *writer, gchar c)
{
	if (writer->used == BUFFER_BYTES)
		flush(writer);
	writer->buffer[writer->used++] = c;
}

static void put_line(JsonWriter *writer, guint depth)
{
	put_char(writer, '\n');
	for (guint i = 0; i < depth; i++)
		put_char(writer, '\t');
	writer->wants_line = FALSE;
}

/* --- nesting ---------------------------------------------------------------------------------- */

/* Before a key, or a value of an array or of the top: the comma and the line that are due. */
static void begin_item(JsonWriter *writer)
{
	struct level *level = &writer->levels[writer->depth];

	if (level->has_items) {
		g_assert(level->kind != LEVEL_TOP);
		put_char(writer, ',');
	}
	level->has_items = TRUE;
	if (writer->wants_line)
		put_line(writer, writer->depth);
}

static void begin_value(JsonWriter *writer)
{
	if (writer->has_key) {
		writer->has_key = FALSE;
		return;
	}
	g_assert(writer->levels[writer->depth].kind != LEVEL_OBJECT);
	begin_item(writer);
}

static void begin_level(JsonWriter *writer, enum level_kind kind, gchar bracket)
{
	begin_value(writer);
	put_char(writer, bracket);
	g_assert(writer->depth + 1 < MAX_DEPTH);
	writer->levels[++writer->depth] = (struct level){ .kind = kind };
}

static void end_level(JsonWriter *writer, enum level_kind kind, gchar bracket)
{
	g_assert(!writer->has_key);
	g_assert(writer->levels[writer->depth].kind == kind);
	writer->depth--;
	if (writer->wants_line)
		put_line(writer, writer->depth);
	put_char(writer, bracket);
}

void json_writer_begin_object(JsonWriter *writer)
{
	begin_level(writer, LEVEL_OBJECT, '{');
}

void json_writer_end_object(JsonWriter *writer)
{
	end_level(writer, LEVEL_OBJECT, '}');
}

void json_writer_begin_array(JsonWriter *writer)
{
	begin_level(writer, LEVEL_ARRAY, '[');
}

void json_writer_end_array(JsonWriter *writer)
{
	end_level(writer, LEVEL_ARRAY, ']');
}

void json_writer_line(JsonWriter *writer)
{
	writer->wants_line = TRUE;
}

/* --- strings ---------------------------------------------------------------------------------- */

static gboolean is_plain(guchar c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(JsonWriter *writer, guchar c)
{
	static const gchar short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	gchar text[8];

	for (const gchar *form = short_forms; *form; form += 2) {
		if ((guchar)*form == c) {
			put_char(writer, '\\');
			put_char(writer, form[1]);
			return;
		}
	}
	g_snprintf(text, sizeof(text), "\\u%04x", c);
	put(writer, text, 6);
}

/* One character of more than one byte; returns how many bytes it took. */
static gsize put_wide(JsonWriter *writer, const gchar *string, gsize length)
{
	gunichar c = g_utf8_get_char_validated(string, (gssize)MIN(length, 6));
	gsize n_bytes;

	if (c == (gunichar)-1 || c == (gunichar)-2) {
		put(writer, "\xef\xbf\xbd", 3); /* U+FFFD */
		return 1;
	}
	n_bytes = (gsize)g_unichar_to_utf8(c, NULL);
	put(writer, string, n_bytes);
	return n_bytes;
}

static void put_string(JsonWriter *writer, const gchar *string, gsize length)
{
	gsize at = 0;

	put_char(writer, '"');
	while (at < length) {
		gsize end = at;

		while (end < length && is_plain((guchar)string[end]))
			end++;
		put(writer, string + at, end - at);
		at = end;
		if (at == length)
			break;
		if ((guchar)string[at] < 0x80)
			put_escaped(writer, (guchar)string[at++]);
		else
			at += put_wide(writer, string + at, length - at);
	}
	put_char(writer, '"');
}

JsonWriter *json_writer_key(JsonWriter *writer, const gchar *key)
{
	g_assert(!writer->has_key);
	g_assert(writer->levels[writer->depth].kind == LEVEL_OBJECT);
	begin_item(writer);
	put_string(writer, key, strlen(key));
	put_char(writer, ':');
	writer->has_key = TRUE;
	return writer;
}

void json_writer_string_length(JsonWriter *writer, const gchar *string, gsize length)
{
	begin_value(writer);
	put_string(writer, string, length);
}

void json_writer_string(JsonWriter *writer, const gchar *string)
{
	if (string)
		json_writer_string_length(writer, string, strlen(string));
	else
		json_writer_null(writer);
}

/* --- numbers and words ------------------------------------------------------------------------ */

static void put_unsigned(JsonWriter *writer, guint64 value)
{
	gchar digits[MAX_NUMBER_BYTES];
	guint at = sizeof(digits);

	do
		digits[--at] = (gchar)('0' + value % 10);
	while (value /= 10);
	put(writer, digits + at, sizeof(digits) - at);
}

/* The sign goes out; what is left has no overflow, G_MININT64 included. */
static guint64 put_sign(JsonWriter *writer, gint64 value)
{
	if (value >= 0)
		return (guint64)value;
	put_char(writer, '-');
	return -(guint64)value;
}

void json_writer_integer(JsonWriter *writer, gint64 value)
{
	begin_value(writer);
	put_unsigned(writer, put_sign(writer, value));
}

void json_writer_unsigned(JsonWriter *writer, guint64 value)
{
	begin_value(writer);
	put_unsigned(writer, value);
}

void json_writer_fixed(JsonWriter *writer, gint64 value, guint decimals)
{
	guint64 scale = 1, magnitude;

	g_assert(decimals <= 18);
	begin_value(writer);
	magnitude = put_sign(writer, value);
	for (guint i = 0; i < decimals; i++)
		scale *= 10;
	put_unsigned(writer, magnitude / scale);
	magnitude %= scale;
	if (magnitude == 0)
		return;
	put_char(writer, '.');
	while (magnitude) {
		scale /= 10;
		put_char(writer, (gchar)('0' + magnitude / scale));
		magnitude %= scale;
	}
}

void json_writer_number(JsonWriter *writer, gdouble value)
{
	gchar text[G_ASCII_DTOSTR_BUF_SIZE];

	if (!isfinite(value)) {
		json_writer_null(writer);
		return;
	}
	begin_value(writer);
	number_digits(text, 15, value);
	put(writer, text, strlen(text));
}

void json_writer_real(JsonWriter *writer, gdouble value)
{
	json_writer_number(writer, value);
	if (fabs(value) < 1e15 && value == floor(value))
		put(writer, ".0", 2);
}

void json_writer_boolean(JsonWriter *writer, gboolean value)
{
	begin_value(writer);
	if (value)
		put(writer, "true", 4);
	else
		put(writer, "false", 5);
}

void json_writer_null(JsonWriter *writer)
{
	begin_value(writer);
	put(writer, "null", 4);
}

gboolean json_writer_finish(JsonWriter *writer)
{
	g_assert(writer->depth == 0 && !writer->has_key);
	put_char(writer, '\n');
	flush(writer);
	errno = 0;
	if (!writer->error && fflush(writer->out) != 0)
		writer->error = errno ? errno : EIO;
	errno = writer->error;
	return writer->error == 0;
}
