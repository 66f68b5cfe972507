#include "import/read/id_table.h"

enum { MAX_DENSE = 1 << 16 };

void id_table_init(struct id_table *table)
{
	table->dense = g_array_new(FALSE, FALSE, sizeof(guint32));
	table->sparse = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

void id_table_release(struct id_table *table)
{
	g_array_unref(table->dense);
	g_hash_table_unref(table->sparse);
}

void id_table_set(struct id_table *table, gint64 id, guint32 row)
{
	guint32 none = TACHO_NONE;

	if (id < 0 || id >= MAX_DENSE) {
		g_hash_table_replace(table->sparse, g_memdup2(&id, sizeof(id)),
				     GSIZE_TO_POINTER((gsize)row + 1));
		return;
	}
	while (table->dense->len <= id)
		g_array_append_val(table->dense, none);
	g_array_index(table->dense, guint32, id) = row;
}

guint32 id_table_find(const struct id_table *table, gint64 id)
{
	if (id >= 0 && id < table->dense->len)
		return g_array_index(table->dense, guint32, id);
	return (guint32)(GPOINTER_TO_SIZE(g_hash_table_lookup(table->sparse, &id)) - 1);
}
