/* number: doubles as whole numbers, and as text. */
#ifndef TACHO_NUMBER_H
#define TACHO_NUMBER_H

#include <glib.h>
#include <math.h>

/* 2^53: up to this a double holds every whole number. */
#define NUMBER_MAX_WHOLE 9007199254740992.0

/* Whether it is a whole number, and no other is nearest to the same double. */
static inline gboolean number_is_whole(gdouble value)
{
	return value == trunc(value) && fabs(value) <= NUMBER_MAX_WHOLE;
}

/* The nearest whole number; what has no room becomes the largest or the smallest, what is no number 0. */
static inline gint64 number_round(gdouble value)
{
	if (isnan(value))
		return 0;
	if (value >= 0x1p63)
		return G_MAXINT64;
	return value < -0x1p63 ? G_MININT64 : (gint64)round(value);
}

/* The fewest digits that read back as the same value, at least `precision` of them (6 to 17) where they count;
 * returns `digits`. */
const gchar *number_digits(gchar digits[G_ASCII_DTOSTR_BUF_SIZE], guint precision, gdouble value);

#endif
