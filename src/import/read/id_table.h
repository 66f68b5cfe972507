/* id_table: from the ids of a file, which are mostly small and sometimes anything, to rows. */
#ifndef TACHO_ID_TABLE_H
#define TACHO_ID_TABLE_H

#include <tacho/timeline.h>

struct id_table {
	GArray *dense;	    /* guint32, by id */
	GHashTable *sparse; /* gint64 -> row + 1 */
};

void id_table_init(struct id_table *table);
void id_table_release(struct id_table *table);
/* A row below TACHO_NONE; of an id set twice the last one counts. */
void id_table_set(struct id_table *table, gint64 id, guint32 row);
/* TACHO_NONE: no such id. */
guint32 id_table_find(const struct id_table *table, gint64 id);

#endif
