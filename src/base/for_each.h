/* for_each: loops over what GLib holds, where the place of a row does not matter.
 *
 *     FOR_EACH(const TachoStep, step, timeline->steps)
 *             last_ns = MAX(last_ns, step->end_ns); */
#ifndef TACHO_FOR_EACH_H
#define TACHO_FOR_EACH_H

#include <glib.h>

/* Each row of a GArray, in order, as a pointer to a `type`. Rows that the loop appends come, too. The other variable
 * counts: a loop has one declaration, of pointers. */
#define FOR_EACH(type, row, rows)                                                                  \
	for (type * row, *row##_count = NULL;                                                      \
	     GPOINTER_TO_SIZE(row##_count) < (rows)->len &&                                        \
	     (row = &g_array_index(rows, type, GPOINTER_TO_SIZE(row##_count)), TRUE);              \
	     row##_count = GSIZE_TO_POINTER(GPOINTER_TO_SIZE(row##_count) + 1))

/* Each pointer of a GPtrArray, in order. */
#define FOR_EACH_POINTER(type, row, rows)                                                          \
	for (type * row, *row##_count = NULL;                                                      \
	     GPOINTER_TO_SIZE(row##_count) < (rows)->len &&                                        \
	     (row = (rows)->pdata[GPOINTER_TO_SIZE(row##_count)], TRUE);                           \
	     row##_count = GSIZE_TO_POINTER(GPOINTER_TO_SIZE(row##_count) + 1))

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
