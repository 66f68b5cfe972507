/* page_column: a column of whole numbers as a web page gets it: its lowest bytes one after the other, then the
 * next higher ones, as many as the largest number needs. Numbers that are alike compress to little that way,
 * and JavaScript puts them together without parsing. */
#ifndef TACHO_PAGE_COLUMN_H
#define TACHO_PAGE_COLUMN_H

#include <glib.h>

#define PAGE_MAX_PLANES 8

struct page_column {
	guint32 n;
	guint n_planes;
	GByteArray *planes
		[PAGE_MAX_PLANES]; /* byte k of all numbers; those past n_planes are not there */
};

void page_column_init(struct page_column *column);
void page_column_release(struct page_column *column);
void page_column_add(struct page_column *column, guint64 value);

/* Small numbers for those near zero: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static inline guint64 page_zigzag(gint64 value)
{
	return ((guint64)value << 1) ^ (guint64)(value >> 63);
}

/* A number of any length, the lower seven bits first, the eighth set where more follow. */
void page_append_varint(GByteArray *bytes, guint64 value);

#endif
