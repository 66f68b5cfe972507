/* for_each: loops over what GLib holds.
 *
 *     FOR_EACH(const TachoStep, step, timeline->steps)
 *             last_ns = MAX(last_ns, step->end_ns); */
#ifndef TACHO_FOR_EACH_H
#define TACHO_FOR_EACH_H

#include <glib.h>

/* Each row of a GArray, in order, as a pointer to a `type`; `i` is its index. Rows that the loop appends come, too. The outer
 * loop, which runs once, is there to declare `i`. */
#define FOR_EACH_AT(type, row, i, rows)                                                            \
	for (guint i = 0, row##_once_ = 1; row##_once_; row##_once_ = 0)                           \
		for (type * row; i < (rows)->len && (row = &g_array_index(rows, type, i), TRUE);   \
		     i++)
/* The same without the index. */
#define FOR_EACH(type, row, rows) FOR_EACH_AT(type, row, row##_index_, rows)

/* Each pointer of a GPtrArray, in order. */
#define FOR_EACH_POINTER_AT(type, row, i, rows)                                                    \
	for (guint i = 0, row##_once_ = 1; row##_once_; row##_once_ = 0)                           \
		for (type * row; i < (rows)->len && (row = (rows)->pdata[i], TRUE); i++)
#define FOR_EACH_POINTER(type, row, rows) FOR_EACH_POINTER_AT(type, row, row##_index_, rows)

/* Each entry of a GHashTable, in any order: `entry.key` and `entry.value`. The loop adds and removes none. */
#define FOR_EACH_ENTRY(entry, table)                                                               \
	for (struct table_entry entry = table_entry_none(table);                                   \
	     g_hash_table_iter_next(&entry.iter, &entry.key, &entry.value);)

struct table_entry {
	GHashTableIter iter;
	gpointer key, value;
};

static inline struct table_entry table_entry_none(GHashTable *table)
{
	struct table_entry entry = { 0 };

	g_hash_table_iter_init(&entry.iter, table);
	return entry;
}

#endif
