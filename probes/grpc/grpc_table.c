#include "grpc/grpc_table.h"

#include <stddef.h>
#include <string.h>

static uint32_t row_of(const void *key, const void *key2)
{
	uint64_t mixed = ((uintptr_t)key ^ (uintptr_t)key2 * 31) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 40) & (GRPC_TABLE_ROWS - 1);
}

static pthread_mutex_t *lock_of(struct grpc_table *table, uint32_t row)
{
	return &table->locks[row & (GRPC_TABLE_LOCKS - 1)];
}

void grpc_table_put(struct grpc_table *table, struct grpc_entry *entry, const void *key,
		    const void *key2)
{
	uint32_t row = row_of(key, key2);

	entry->key = (uintptr_t)key;
	entry->key2 = (uintptr_t)key2;
	pthread_mutex_lock(lock_of(table, row));
	entry->next = table->rows[row];
	table->rows[row] = entry;
	pthread_mutex_unlock(lock_of(table, row));
}

/* Where the link to the last of that key is, which was put in first; NULL: nowhere. */
static struct grpc_entry **find_link(struct grpc_entry **link, const void *key, const void *key2)
{
	struct grpc_entry **found = NULL;

	for (; *link; link = &(*link)->next)
		if ((*link)->key == (uintptr_t)key && (*link)->key2 == (uintptr_t)key2)
			found = link;
	return found;
}

struct grpc_entry *grpc_table_take(struct grpc_table *table, const void *key, const void *key2)
{
	uint32_t row = row_of(key, key2);
	struct grpc_entry **link, *taken = NULL;

	pthread_mutex_lock(lock_of(table, row));
	link = find_link(&table->rows[row], key, key2);
	if (link) {
		taken = *link;
		*link = taken->next;
	}
	pthread_mutex_unlock(lock_of(table, row));
	return taken;
}

void grpc_table_remove(struct grpc_table *table, struct grpc_entry *entry)
{
	uint32_t row = row_of((void *)entry->key, (void *)entry->key2);
	struct grpc_entry **link = &table->rows[row];

	pthread_mutex_lock(lock_of(table, row));
	while (*link && *link != entry)
		link = &(*link)->next;
	if (*link)
		*link = entry->next;
	pthread_mutex_unlock(lock_of(table, row));
}

struct grpc_entry *grpc_table_find(struct grpc_table *table, const void *key,
				   void (*visit)(struct grpc_entry *entry))
{
	uint32_t row = row_of(key, NULL);
	struct grpc_entry **link, *found;

	pthread_mutex_lock(lock_of(table, row));
	link = find_link(&table->rows[row], key, NULL);
	found = link ? *link : NULL;
	if (found && visit)
		visit(found);
	pthread_mutex_unlock(lock_of(table, row));
	return found;
}

void grpc_table_unlock(struct grpc_table *table)
{
	for (int i = 0; i < GRPC_TABLE_LOCKS; i++)
		pthread_mutex_init(&table->locks[i], NULL);
}

void grpc_table_forget(struct grpc_table *table)
{
	grpc_table_unlock(table);
	memset(table->rows, 0, sizeof(table->rows));
}
