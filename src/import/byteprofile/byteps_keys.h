/* byteps_keys: which key of BytePS's servers is which part of which gradients, as `key_dict.txt` tells:
 *
 *     DistributedGradientTape_BytePSPushPull/cond/BytePSPushPull.3_4: 131072 131073
 *
 * Gradients 3 and 4 go as one, in two parts, under these keys. */
#ifndef TACHO_BYTEPS_KEYS_H
#define TACHO_BYTEPS_KEYS_H

#include <glib.h>

struct byteps_key {
	gchar *tensors; /* "3+4": their numbers; the whole name where it has none */
	guint32 part, n_parts;
};

/* guint32 key -> struct byteps_key, of the first of `folders` (a NULL behind the last) that has the file; NULL: none has.
 * To be ended with g_hash_table_unref(). */
GHashTable *byteps_keys_read(const gchar *const *folders);
/* "3+4~PART1", "3+4" where it is the only part, or the key itself where nothing tells of it. `keys` may be NULL. To be freed
 * with g_free(). */
gchar *byteps_keys_name(GHashTable *keys, guint32 key);

#endif
