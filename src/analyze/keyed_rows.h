/* keyed_rows: rows of a view while they are summed up, each found again by what its members have in common. */
#ifndef TACHO_KEYED_ROWS_H
#define TACHO_KEYED_ROWS_H

#include <glib.h>

struct keyed_rows {
	GArray *rows;	       /* structs of the view */
	GHashTable *by_text;   /* key -> index + 1 */
	GHashTable *by_number; /* the same, of numbers */
};

void keyed_rows_init(struct keyed_rows *keyed, guint row_bytes);
void keyed_rows_release(struct keyed_rows *keyed);
/* The rows, which are the caller's; all else is released. */
GArray *keyed_rows_take(struct keyed_rows *keyed);

/* The row of that key, as in printf; the first time it is `*row`. Good until the next one is made. */
gpointer keyed_rows_find(struct keyed_rows *keyed, gconstpointer row, const gchar *key, ...)
	G_GNUC_PRINTF(3, 4);
/* The same of a number. */
gpointer keyed_rows_find_number(struct keyed_rows *keyed, gconstpointer row, gsize key);

#endif
