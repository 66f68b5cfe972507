/* snappy_block: what Snappy compressed into one piece, as tables of LevelDB's form may have it. */
#ifndef TACHO_SNAPPY_BLOCK_H
#define TACHO_SNAPPY_BLOCK_H

#include <glib.h>

/* The `*ret_n` bytes that it was, to be freed with g_free(). NULL: it is broken, would be longer than `max_bytes`, or
 * memory is short. */
guint8 *snappy_block_read(const guint8 *bytes, gsize n, gsize max_bytes, gsize *ret_n);

#endif
