#include "level_zero/handle_table.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_SIZE 64

static size_t home_of(const struct handle_table *table, const void *handle)
{
	uintptr_t key = (uintptr_t)handle;

	return (key >> 4 ^ key >> 13 ^ key >> 24) & (table->allocated - 1);
}

/* The handle's entry, or the free one in which it would be; the table is never full. */
static struct handle_entry *entry_of(const struct handle_table *table, const void *handle)
{
	size_t at = home_of(table, handle);

	while (table->entries[at].handle && table->entries[at].handle != handle)
		at = (at + 1) & (table->allocated - 1);
	return &table->entries[at];
}

void *handle_table_find(const struct handle_table *table, const void *handle)
{
	return table->n && handle ? entry_of(table, handle)->known : NULL;
}

static bool grow(struct handle_table *table)
{
	struct handle_table larger = { .allocated = table->allocated ? 2 * table->allocated
								     : FIRST_SIZE };

	larger.entries = calloc(larger.allocated, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	larger.n = table->n;
	for (size_t i = 0; i < table->allocated; i++)
		if (table->entries[i].handle)
			*entry_of(&larger, table->entries[i].handle) = table->entries[i];
	free(table->entries);
	*table = larger;
	return true;
}

bool handle_table_put(struct handle_table *table, const void *handle, void *known)
{
	struct handle_entry *entry;

	if (!handle || (2 * (table->n + 1) > table->allocated && !grow(table)))
		return false;
	entry = entry_of(table, handle);
	table->n += !entry->handle;
	*entry = (struct handle_entry){ handle, known };
	return true;
}

void *handle_table_take(struct handle_table *table, const void *handle)
{
	struct handle_entry *entry = table->n && handle ? entry_of(table, handle) : NULL;
	size_t mask = table->allocated - 1, hole, at;
	void *known;

	if (!entry || !entry->handle)
		return NULL;
	known = entry->known;
	/* what stands behind it for want of a place moves up */
	hole = (size_t)(entry - table->entries);
	for (at = (hole + 1) & mask; table->entries[at].handle; at = (at + 1) & mask) {
		size_t home = home_of(table, table->entries[at].handle);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		table->entries[hole] = table->entries[at];
		hole = at;
	}
	table->entries[hole] = (struct handle_entry){ NULL, NULL };
	table->n--;
	return known;
}
