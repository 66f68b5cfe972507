/* row_buffer: a growing array of rows that tells when there is no memory, where GArray would end
 * the program. Zeroed storage is an empty buffer. */
#ifndef TACHO_ROW_BUFFER_H
#define TACHO_ROW_BUFFER_H

#include <glib.h>

struct row_buffer {
	void *rows;
	gsize n, capacity;
};

/* Room for one more row of `row_bytes` (the same at each call), counted as used; NULL: no memory.
 */
static inline void *row_buffer_add(struct row_buffer *buffer, gsize row_bytes)
{
	if (G_UNLIKELY(buffer->n == buffer->capacity)) {
		gsize capacity = buffer->capacity ? buffer->capacity * 2 : 64;
		void *rows = g_try_realloc_n(buffer->rows, capacity, row_bytes);

		if (!rows)
			return NULL;
		buffer->rows = rows;
		buffer->capacity = capacity;
	}
	return (guint8 *)buffer->rows + buffer->n++ * row_bytes;
}

static inline void row_buffer_release(struct row_buffer *buffer)
{
	g_free(buffer->rows);
	*buffer = (struct row_buffer){ 0 };
}

#endif
