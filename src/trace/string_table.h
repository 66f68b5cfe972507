/* string_table: every distinct string of a timeline once, under a small number.
 *
 * (1) Equal strings have equal ids; ids count up from 0, which is "".
 * (2) The text of an id stays where it is for as long as the table.
 * (3) A string ends at its first NUL, wherever the caller thought it ended.
 * Not safe for several threads at once. */
#ifndef TACHO_STRING_TABLE_H
#define TACHO_STRING_TABLE_H

#include <glib.h>

struct tacho_string_table;

struct tacho_string_table *string_table_new(void);
void string_table_free(struct tacho_string_table *table);

/* `length` in bytes, -1: up to the NUL. */
guint32 string_table_intern(struct tacho_string_table *table, const gchar *string, gssize length);
/* The id of a string that is there; false: it is not. `length` as above. */
gboolean string_table_find(const struct tacho_string_table *table, const gchar *string,
			   gssize length, guint32 *ret_id);
/* The text of `id`; "" for an id that was never given out. */
const gchar *string_table_borrow(const struct tacho_string_table *table, guint32 id);
guint32 string_table_size(const struct tacho_string_table *table);

/* Bytes beside a string, 0 until its user keeps something there: what the string means as a name
 * (trace/name_meaning.h). Good until the next string is added; NULL for an id that was never given out. */
#define STRING_NOTES 16
guint8 *string_table_notes(const struct tacho_string_table *table, guint32 id);

#endif
