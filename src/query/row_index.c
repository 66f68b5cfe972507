/* A counting sort. While rows are placed, first[k + 1] is where the next row of key k goes, so that
 * it ends as the first of key k + 1. */
#include "query/row_index.h"

static gboolean reserve(struct row_index *index, guint32 n_rows)
{
	index->first = g_try_malloc0_n((gsize)index->n_keys + 2, sizeof(guint32));
	index->rows = g_try_malloc_n(MAX(n_rows, 1), sizeof(guint32));
	return index->first && index->rows;
}

struct row_index *row_index_new(guint32 n_keys, guint32 n_rows, RowKey key_of, gconstpointer table)
{
	struct row_index *index = g_new0(struct row_index, 1);

	index->n_keys = n_keys;
	if (!reserve(index, n_rows)) {
		row_index_free(index);
		return NULL;
	}
	for (guint32 row = 0; row < n_rows; row++) {
		guint32 key = key_of(table, row);

		if (key < n_keys)
			index->first[key + 2]++;
	}
	for (guint32 key = 2; key < n_keys + 1; key++)
		index->first[key + 1] += index->first[key];
	for (guint32 row = 0; row < n_rows; row++) {
		guint32 key = key_of(table, row);

		if (key < n_keys)
			index->rows[index->first[key + 1]++] = row;
	}
	return index;
}

void row_index_free(struct row_index *index)
{
	if (!index)
		return;
	g_free(index->first);
	g_free(index->rows);
	g_free(index);
}
