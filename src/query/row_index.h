/* row_index: the rows of a table by the value of one column, where that is a number below some bound. */
#ifndef TACHO_ROW_INDEX_H
#define TACHO_ROW_INDEX_H

#include <glib.h>

struct row_index {
	guint32 n_keys;
	guint32 *first; /* key k has rows[first[k]] to rows[first[k + 1] - 1] */
	guint32 *rows;
};

typedef guint32 (*RowKey)(gconstpointer table, guint32 row);

/* Rows 0 to `n_rows` - 1 under `key_of` each; rows of one key stay in order, a row whose key is
 * `n_keys` or more is left out. NULL: no memory. */
struct row_index *row_index_new(guint32 n_keys, guint32 n_rows, RowKey key_of, gconstpointer table);
void row_index_free(struct row_index *index);

#endif
