#include "proto_text.h"

#include <string.h>

#include "foreign_traces.h"
#include "import/read/wire_walk.h"

static void put_varint(GByteArray *to, guint64 value)
{
	do {
		guint8 byte = (guint8)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);

		g_byte_array_append(to, &byte, 1);
		value >>= 7;
	} while (value);
}

static void put_bytes(GByteArray *to, guint field, const void *bytes, gsize n)
{
	put_varint(to, field << 3 | WIRE_BYTES);
	put_varint(to, n);
	g_byte_array_append(to, bytes, (guint)n);
}

static const gchar *skip_space(const gchar *at)
{
	for (;;) {
		at += strspn(at, " \t\n");
		if (*at != '#')
			return at;
		at += strcspn(at, "\n");
	}
}

/* The number at `at`; where it ends. */
static const gchar *put_number(GByteArray *to, guint field, const gchar *at)
{
	gsize n = strspn(at, "-0123456789.");
	gdouble real;
	gchar *end;

	if (memchr(at, '.', n)) {
		real = g_ascii_strtod(at, &end);
		put_varint(to, field << 3 | WIRE_FIXED64);
		g_byte_array_append(to, (const guint8 *)&real, sizeof(real));
	} else {
		put_varint(to, field << 3 | WIRE_VARINT);
		put_varint(to, *at == '-' ? (guint64)g_ascii_strtoll(at, &end, 10)
					  : g_ascii_strtoull(at, &end, 10));
	}
	if (end == at)
		g_error("no value at '%.20s'", at);
	return end;
}

/* The fields up to a closing brace, or the end; where that is. */
static const gchar *put_message(GByteArray *to, const gchar *at)
{
	for (at = skip_space(at); *at && *at != '}'; at = skip_space(at)) {
		g_autoptr(GByteArray) inner = g_byte_array_new();
		gchar *end;
		guint field = (guint)g_ascii_strtoull(at, &end, 10);

		if (end == at || !field)
			g_error("no field at '%.20s'", at);
		at = skip_space(end);
		if (*at == '{') {
			at = put_message(inner, at + 1) + 1;
			put_bytes(to, field, inner->data, inner->len);
			continue;
		}
		if (*at != ':')
			g_error("no ':' at '%.20s'", at);
		at = skip_space(at + 1);
		if (*at == '"') {
			gsize n = strcspn(at + 1, "\"");

			put_bytes(to, field, at + 1, n);
			at += n + 2;
		} else {
			at = put_number(to, field, at);
		}
	}
	return at;
}

GByteArray *proto_text_bytes(const gchar *text)
{
	GByteArray *bytes = g_byte_array_new();
	const gchar *end = put_message(bytes, text);

	if (*end)
		g_error("one '}' too many at '%.20s'", end);
	return bytes;
}

gchar *proto_text_write(const gchar *name, const gchar *text)
{
	g_autoptr(GByteArray) bytes = proto_text_bytes(text);

	return foreign_write(name, (const gchar *)bytes->data, bytes->len);
}
