/* text_groups: which of several texts are the same. */
#ifndef TACHO_TEXT_GROUPS_H
#define TACHO_TEXT_GROUPS_H

#include <glib.h>

/* Group `texts`, gchar * each: text -> GArray of guint, the places where it stands, in order. To be ended with
 * g_hash_table_unref(); the texts are copied. */
GHashTable *text_groups(const GPtrArray *texts);

#endif
