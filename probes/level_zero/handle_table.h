/* handle_table: what is known of a runtime's handles, or of addresses. Whoever uses a table holds a lock. */
#ifndef TACHO_HANDLE_TABLE_H
#define TACHO_HANDLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct handle_entry {
	const void *handle; /* NULL: free */
	void *known;
};

/* Zero before its first use. */
struct handle_table {
	struct handle_entry *entries;
	size_t n, allocated; /* a power of 2 */
};

/* NULL: nothing. */
void *handle_table_find(const struct handle_table *table, const void *handle);
/* In place of what was known of the handle. False: there is no memory. */
bool handle_table_put(struct handle_table *table, const void *handle, void *known);
/* Forget the handle; what was known of it. */
void *handle_table_take(struct handle_table *table, const void *handle);

#endif
