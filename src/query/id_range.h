/* id_range: the constraints of a WHERE on an integer column, as the range they leave. SQLite checks
 * them again on every row, so that a range may be too wide, never too narrow. */
#ifndef TACHO_ID_RANGE_H
#define TACHO_ID_RANGE_H

#include <glib.h>
#include <sqlite3.h>

/* Inclusive; empty where first > last. */
struct id_range {
	gint64 first, last;
};

#define ID_RANGE_ALL                                                                               \
	{                                                                                          \
		G_MININT64, G_MAXINT64                                                             \
	}

/* Whether a constraint of that operator narrows a range. */
gboolean id_range_takes(unsigned char op);
/* Narrow the range by "column OP value". */
void id_range_narrow(struct id_range *range, unsigned char op, sqlite3_value *value);
/* The rows of `n` that are in the range, as [*ret_first, *ret_end). */
void id_range_rows(const struct id_range *range, guint32 n, guint32 *ret_first, guint32 *ret_end);

#endif
