/* grpc_table: what belongs to addresses that gRPC hands out: to a call, to a tag of a queue, to a method. Two words are a key.
 *
 * (1) What is put in under one key more than once is taken out in the order it was put in.
 * (2) A lock is held for a few loads and stores, never during a call of anything else.
 * (3) All zeros is an empty table: a process without gRPC touches no page of it. */
#ifndef TACHO_GRPC_TABLE_H
#define TACHO_GRPC_TABLE_H

#include <pthread.h>
#include <stdint.h>

#define GRPC_TABLE_ROWS	 4096 /* a power of 2 */
#define GRPC_TABLE_LOCKS 64   /* likewise */

/* First in what is put in. */
struct grpc_entry {
	uintptr_t key, key2;
	struct grpc_entry *next;
};

struct grpc_table {
	pthread_mutex_t locks[GRPC_TABLE_LOCKS];
	struct grpc_entry *rows[GRPC_TABLE_ROWS];
};

void grpc_table_put(struct grpc_table *table, struct grpc_entry *entry, const void *key,
		    const void *key2);
/* Out of the table, the caller's; NULL: there is none. */
struct grpc_entry *grpc_table_take(struct grpc_table *table, const void *key, const void *key2);
/* Take out this one, if it is there. */
void grpc_table_remove(struct grpc_table *table, struct grpc_entry *entry);
/* `visit` is called for it with the lock held; NULL: there is none. */
struct grpc_entry *grpc_table_find(struct grpc_table *table, const void *key,
				   void (*visit)(struct grpc_entry *entry));
/* In a forked child, where threads that held locks are gone: unlocked; and empty, too. */
void grpc_table_unlock(struct grpc_table *table);
void grpc_table_forget(struct grpc_table *table);

#endif
