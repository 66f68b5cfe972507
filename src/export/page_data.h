/* page_data: what a page carries along, so that it needs nothing else: JSON and columns behind each other,
 * deflated (zlib, RFC 1950), in base64. Nothing of it is markup, whatever the names in a trace are.
 *
 *     length of the JSON (4 bytes, lowest first), JSON, columns
 *
 * The JSON tells the columns in their order: [name, numbers, planes]. */
#ifndef TACHO_PAGE_DATA_H
#define TACHO_PAGE_DATA_H

#include <stdio.h>

#include "export/page_column.h"

struct page_data;

/* Writes to `out`, which stays the caller's. */
struct page_data *page_data_new(FILE *out);
void page_data_free(struct page_data *data);
void page_data_add_bytes(struct page_data *data, gconstpointer bytes, gsize length);
void page_data_add_column(struct page_data *data, const struct page_column *column);
/* Write the rest. Whether writing failed, `out` knows. */
void page_data_finish(struct page_data *data);

#endif
