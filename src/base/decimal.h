/* decimal: whole numbers as text, for tables of millions of them: printf() reads its format anew for each. */
#ifndef TACHO_DECIMAL_H
#define TACHO_DECIMAL_H

#include <glib.h>

static inline void decimal_append(GString *text, gint64 value)
{
	gchar digits[24];
	guint at = sizeof(digits);
	guint64 left = value < 0 ? -(guint64)value : (guint64)value;

	do
		digits[--at] = (gchar)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		digits[--at] = '-';
	g_string_append_len(text, digits + at, (gssize)(sizeof(digits) - at));
}

#endif
