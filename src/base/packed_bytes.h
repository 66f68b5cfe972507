/* packed_bytes: values one behind the other, as processes send them to each other; and the same read, where nothing is
 * believed of what there is or how much of it. Both sides are one program on one kind of machine. */
#ifndef TACHO_PACKED_BYTES_H
#define TACHO_PACKED_BYTES_H

#include <glib.h>
#include <string.h>

static inline void pack_bytes(GByteArray *bytes, gconstpointer from, gsize n)
{
	if (n)
		g_byte_array_append(bytes, from, (guint)n);
}

static inline void pack_uint32(GByteArray *bytes, guint32 value)
{
	pack_bytes(bytes, &value, sizeof(value));
}

static inline void pack_text(GByteArray *bytes, const gchar *text)
{
	gsize n = MIN(strlen(text), G_MAXINT32);

	pack_uint32(bytes, (guint32)n);
	pack_bytes(bytes, text, n);
}

/* The same of a text that may be NULL, which is another one than "". */
static inline void pack_optional_text(GByteArray *bytes, const gchar *text)
{
	pack_uint32(bytes, text != NULL);
	if (text)
		pack_text(bytes, text);
}

struct packed_bytes {
	const guint8 *at;
	gsize n_left;
};

/* False: there are not so many left. */
static inline gboolean unpack_bytes(struct packed_bytes *packed, gpointer to, gsize n)
{
	if (n > packed->n_left)
		return FALSE;
	if (n)
		memcpy(to, packed->at, n);
	packed->at += n;
	packed->n_left -= n;
	return TRUE;
}

/* A number of rows of `row_bytes` each, all of which must still be there. */
static inline gboolean unpack_count(struct packed_bytes *packed, guint32 *ret_n, gsize row_bytes)
{
	return unpack_bytes(packed, ret_n, sizeof(*ret_n)) && *ret_n <= packed->n_left / row_bytes;
}

/* The caller's; NULL: there is none. */
static inline gchar *unpack_text(struct packed_bytes *packed)
{
	gchar *text;
	guint32 n;

	if (!unpack_count(packed, &n, 1))
		return NULL;
	text = g_strndup((const gchar *)packed->at, n);
	packed->at += n;
	packed->n_left -= n;
	return text;
}

/* The caller's, which may be NULL. False: there is neither. */
static inline gboolean unpack_optional_text(struct packed_bytes *packed, gchar **ret_text)
{
	guint32 is_there;
	gchar *text = NULL;

	if (!unpack_bytes(packed, &is_there, sizeof(is_there)))
		return FALSE;
	if (is_there) {
		text = unpack_text(packed);
		if (!text)
			return FALSE;
	}
	*ret_text = text;
	return TRUE;
}

#endif
