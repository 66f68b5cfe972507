#include "analyze/keyed_rows.h"

void keyed_rows_init(struct keyed_rows *keyed, guint row_bytes)
{
	keyed->rows = g_array_new(FALSE, FALSE, row_bytes);
	keyed->by_text = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	keyed->by_number = g_hash_table_new(NULL, NULL);
}

void keyed_rows_release(struct keyed_rows *keyed)
{
	g_array_unref(keyed_rows_take(keyed));
}

GArray *keyed_rows_take(struct keyed_rows *keyed)
{
	g_hash_table_unref(keyed->by_text);
	g_hash_table_unref(keyed->by_number);
	return g_steal_pointer(&keyed->rows);
}

static gpointer row_at(const struct keyed_rows *keyed, gpointer found)
{
	gsize index = GPOINTER_TO_UINT(found) - 1;

	return keyed->rows->data + index * g_array_get_element_size(keyed->rows);
}

static gpointer add_row(struct keyed_rows *keyed, gconstpointer row)
{
	g_array_append_vals(keyed->rows, row, 1);
	return GUINT_TO_POINTER(keyed->rows->len);
}

gpointer keyed_rows_find(struct keyed_rows *keyed, gconstpointer row, const gchar *key, ...)
{
	g_autofree gchar *text = NULL;
	gpointer found;
	va_list args;

	va_start(args, key);
	text = g_strdup_vprintf(key, args);
	va_end(args);
	found = g_hash_table_lookup(keyed->by_text, text);
	if (!found) {
		found = add_row(keyed, row);
		g_hash_table_insert(keyed->by_text, g_steal_pointer(&text), found);
	}
	return row_at(keyed, found);
}

gpointer keyed_rows_find_number(struct keyed_rows *keyed, gconstpointer row, gsize key)
{
	gpointer found = g_hash_table_lookup(keyed->by_number, GSIZE_TO_POINTER(key));

	if (!found) {
		found = add_row(keyed, row);
		g_hash_table_insert(keyed->by_number, GSIZE_TO_POINTER(key), found);
	}
	return row_at(keyed, found);
}
