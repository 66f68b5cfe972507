/* quantity: numbers with units, as people write them: 10x, 2.5gbit, +1ms. */
#ifndef TACHO_QUANTITY_H
#define TACHO_QUANTITY_H

#include <glib.h>

enum quantity_form {
	QUANTITY_PLAIN,	 /* 8 */
	QUANTITY_FACTOR, /* 0.5x */
	QUANTITY_UNIT,	 /* 10gbit: in the unit's base */
	QUANTITY_ADDED,	 /* +1ms */
};

struct quantity {
	enum quantity_form form;
	gdouble number;
};

enum quantity_units {
	UNITS_NONE,
	UNITS_RATE, /* bits a second */
	UNITS_TIME, /* nanoseconds */
};

/* A number of at least 0, with a unit of these or "x". What nothing is like is refused: factors beyond a million, or a
 * part of one in a million but 0, times beyond a day, rates beyond 1e18 or below 1000 bits a second. */
gboolean quantity_parse(const gchar *text, enum quantity_units units, struct quantity *ret);
/* F or Fx, at least 0. */
gboolean quantity_parse_factor(const gchar *text, gdouble *ret_factor);
/* A whole number from `min` to `max`. */
gboolean quantity_parse_count(const gchar *text, guint32 min, guint32 max, guint32 *ret);

#endif
