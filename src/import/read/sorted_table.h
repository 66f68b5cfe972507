/* sorted_table: a file of sorted keys and values in LevelDB's form, as TensorFlow writes checkpoints: blocks of entries,
 * each with a checksum, then a block that says where these are, then a footer.
 *
 * Every offset and size is checked before it is used, and every block against its checksum. Blocks may be compressed by
 * Snappy. */
#ifndef TACHO_SORTED_TABLE_H
#define TACHO_SORTED_TABLE_H

#include "import/read/wire_walk.h"

/* An entry; both are good during the call, and `offset` says in errors where it is. FALSE, with an error, ends the
 * reading. */
typedef gboolean (*SortedTableVisit)(const GByteArray *key, struct wire_cursor value,
				     guint64 offset, gpointer data, GError **error);

/* Whether a file of these bytes ends as such tables do. */
gboolean sorted_table_is_one(const guint8 *bytes, gsize n);
/* Call `visit` for every entry of the table that the bytes of the file at `path` are, in the order of keys. */
gboolean sorted_table_read(const gchar *path, const guint8 *bytes, gsize n, SortedTableVisit visit,
			   gpointer data, GError **error);

/* CRC-32C, as such tables store it of what may hold checksums itself. */
guint32 sorted_table_checksum(const guint8 *bytes, gsize n);

#endif
