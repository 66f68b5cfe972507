#include "base/text_groups.h"

#include "base/for_each.h"

GHashTable *text_groups(const GPtrArray *texts)
{
	GHashTable *groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						   (GDestroyNotify)g_array_unref);

	FOR_EACH_POINTER_AT(const gchar, text, i, texts) {
		GArray *places = g_hash_table_lookup(groups, text);

		if (!places) {
			places = g_array_new(FALSE, FALSE, sizeof(guint));
			g_hash_table_insert(groups, g_strdup(text), places);
		}
		g_array_append_val(places, i);
	}
	return groups;
}
