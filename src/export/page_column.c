#include "export/page_column.h"

#include <string.h>

void page_column_init(struct page_column *column)
{
	memset(column, 0, sizeof(*column));
}

void page_column_release(struct page_column *column)
{
	for (guint i = 0; i < column->n_planes; i++)
		g_byte_array_unref(column->planes[i]);
}

/* A plane that was not needed so far: zeros for all numbers there are. */
static void add_plane(struct page_column *column)
{
	GByteArray *plane = g_byte_array_sized_new(column->n + 1);

	g_byte_array_set_size(plane, column->n);
	if (column->n)
		memset(plane->data, 0, column->n);
	column->planes[column->n_planes++] = plane;
}

void page_column_add(struct page_column *column, guint64 value)
{
	while (column->n_planes < PAGE_MAX_PLANES && value >> (8 * column->n_planes))
		add_plane(column);
	for (guint i = 0; i < column->n_planes; i++) {
		guint8 byte = (guint8)(value >> (8 * i));

		g_byte_array_append(column->planes[i], &byte, 1);
	}
	column->n++;
}

void page_append_varint(GByteArray *bytes, guint64 value)
{
	guint8 byte;

	do {
		byte = (guint8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		g_byte_array_append(bytes, &byte, 1);
	} while (value >>= 7);
}
