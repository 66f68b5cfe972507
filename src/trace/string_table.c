/* Open addressing with linear probing; a slot holds id + 1, 0 is empty. At most half full. */
#include "trace/string_table.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/text_hash.h"

struct string_entry {
	const gchar *text;
	guint32 length;
	guint32 hash;
	guint8 notes[STRING_NOTES];
};

struct tacho_string_table {
	GStringChunk *text;
	GArray *entries; /* struct string_entry, by id */
	guint32 *slots;
	guint32 n_slots; /* a power of two */
};

static guint32 hash_bytes(const gchar *string, gsize length)
{
	return text_hash32_bytes(TEXT_HASH32_START, string, length);
}

static struct string_entry *entry_at(const struct tacho_string_table *table, guint32 id)
{
	return &g_array_index(table->entries, struct string_entry, id);
}

/* The slot of the string, or the empty one where it belongs. */
static guint32 *find_slot(const struct tacho_string_table *table, const gchar *string, gsize length,
			  guint32 hash)
{
	guint32 mask = table->n_slots - 1;

	for (guint32 i = hash & mask;; i = (i + 1) & mask) {
		const struct string_entry *entry;

		if (!table->slots[i])
			return &table->slots[i];
		entry = entry_at(table, table->slots[i] - 1);
		if (entry->hash == hash && entry->length == length &&
		    memcmp(entry->text, string, length) == 0)
			return &table->slots[i];
	}
}

static void grow(struct tacho_string_table *table)
{
	g_free(table->slots);
	table->n_slots *= 2;
	table->slots = g_new0(guint32, table->n_slots);
	FOR_EACH_AT(const struct string_entry, entry, id, table->entries)
		*find_slot(table, entry->text, entry->length, entry->hash) = id + 1;
}

struct tacho_string_table *string_table_new(void)
{
	struct tacho_string_table *table = g_new0(struct tacho_string_table, 1);

	table->text = g_string_chunk_new(16 * 1024);
	table->entries = g_array_new(FALSE, FALSE, sizeof(struct string_entry));
	table->n_slots = 256;
	table->slots = g_new0(guint32, table->n_slots);
	string_table_intern(table, "", 0);
	return table;
}

void string_table_free(struct tacho_string_table *table)
{
	if (!table)
		return;
	g_string_chunk_free(table->text);
	g_array_free(table->entries, TRUE);
	g_free(table->slots);
	g_free(table);
}

guint32 string_table_intern(struct tacho_string_table *table, const gchar *string, gssize length)
{
	gsize n_bytes = length < 0 ? strlen(string) : strnlen(string, (gsize)length);
	guint32 hash = hash_bytes(string, n_bytes);
	guint32 *slot = find_slot(table, string, n_bytes, hash);
	struct string_entry entry = { 0 };

	if (*slot)
		return *slot - 1;
	entry.text = g_string_chunk_insert_len(table->text, string, (gssize)n_bytes);
	entry.length = (guint32)n_bytes;
	entry.hash = hash;
	g_array_append_val(table->entries, entry);
	*slot = table->entries->len;
	if (table->entries->len > table->n_slots / 2)
		grow(table);
	return table->entries->len - 1;
}

gboolean string_table_find(const struct tacho_string_table *table, const gchar *string,
			   gssize length, guint32 *ret_id)
{
	gsize n_bytes = length < 0 ? strlen(string) : strnlen(string, (gsize)length);
	guint32 slot = *find_slot(table, string, n_bytes, hash_bytes(string, n_bytes));

	if (!slot)
		return FALSE;
	*ret_id = slot - 1;
	return TRUE;
}

const gchar *string_table_borrow(const struct tacho_string_table *table, guint32 id)
{
	return id < table->entries->len ? entry_at(table, id)->text : "";
}

guint32 string_table_size(const struct tacho_string_table *table)
{
	return table->entries->len;
}

guint8 *string_table_notes(const struct tacho_string_table *table, guint32 id)
{
	return id < table->entries->len ? entry_at(table, id)->notes : NULL;
}
