#include "base/snappy_block.h"

#include <string.h>

#define MAX_RATIO 32 /* 64 bytes of output take 3 of input at least, and a few stand around them */

/* The kind of an element is in its first byte's low bits (google/snappy, format_description.txt). */
enum element { LITERAL, COPY_1, COPY_2, COPY_4 };

struct reading {
	const guint8 *at, *end;
	guint8 *out;
	gsize n, room;
};

/* A number of `n` bytes, the low one first; FALSE: they are not there. */
static gboolean take_number(struct reading *reading, guint n, guint32 *ret_number)
{
	*ret_number = 0;
	if ((gsize)(reading->end - reading->at) < n)
		return FALSE;
	for (guint i = 0; i < n; i++)
		*ret_number |= (guint32)*reading->at++ << 8 * i;
	return TRUE;
}

static gboolean take_literal(struct reading *reading, guint8 tag)
{
	guint32 less_one = tag >> 2;
	gsize n;

	/* 60 to 63: the length stands in 1 to 4 bytes behind */
	if (less_one >= 60 && !take_number(reading, less_one - 59, &less_one))
		return FALSE;
	n = (gsize)less_one + 1;
	if (n > (gsize)(reading->end - reading->at) || n > reading->room - reading->n)
		return FALSE;
	memcpy(reading->out + reading->n, reading->at, n);
	reading->at += n;
	reading->n += n;
	return TRUE;
}

static gboolean take_copy(struct reading *reading, guint8 tag)
{
	enum element element = tag & 3;
	gsize n = element == COPY_1 ? (tag >> 2 & 7) + 4u : (tag >> 2) + 1u;
	guint32 back;

	if (!take_number(reading, element == COPY_4 ? 4 : element, &back))
		return FALSE;
	if (element == COPY_1)
		back |= (guint32)(tag >> 5) << 8;
	if (back == 0 || back > reading->n || n > reading->room - reading->n)
		return FALSE;
	for (gsize i = 0; i < n; i++, reading->n++) /* it may go over what it writes */
		reading->out[reading->n] = reading->out[reading->n - back];
	return TRUE;
}

static gboolean take_length(struct reading *reading)
{
	guint64 n = 0;
	guint8 byte = 0x80;

	for (guint shift = 0; shift < 35 && byte & 0x80; shift += 7) {
		if (reading->at == reading->end)
			return FALSE;
		byte = *reading->at++;
		n |= (guint64)(byte & 0x7f) << shift;
	}
	reading->room = (gsize)n;
	return !(byte & 0x80) && n <= G_MAXUINT32;
}

guint8 *snappy_block_read(const guint8 *bytes, gsize n, gsize max_bytes, gsize *ret_n)
{
	struct reading reading = { .at = bytes, .end = bytes + n };
	g_autofree guint8 *out = NULL;

	if (!take_length(&reading) || reading.room > max_bytes || reading.room / MAX_RATIO > n)
		return NULL;
	out = reading.out = g_try_malloc(reading.room + 1);
	if (!out)
		return NULL;
	while (reading.at < reading.end) {
		guint8 tag = *reading.at++;

		if (!((tag & 3) == LITERAL ? take_literal(&reading, tag)
					   : take_copy(&reading, tag)))
			return NULL;
	}
	if (reading.n != reading.room)
		return NULL;
	*ret_n = reading.n;
	return g_steal_pointer(&out);
}
