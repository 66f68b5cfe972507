#include "step_range.h"

#include <string.h>

/* The number of `length` characters, or -1 where there is none; false: something else stands there. */
static gboolean parse_number(const gchar *text, gsize length, gint64 *ret)
{
	g_autofree gchar *digits = g_strndup(text, length);
	guint64 number;

	*ret = -1;
	if (length == 0)
		return TRUE;
	if (!g_ascii_string_to_unsigned(digits, 10, 0, G_MAXUINT32, &number, NULL))
		return FALSE;
	*ret = (gint64)number;
	return TRUE;
}

gboolean step_range_parse(const gchar *text, gint64 *ret_first, gint64 *ret_last)
{
	const gchar *colon = strchr(text, ':');
	gint64 first, last;

	if (!*text || g_str_equal(text, ":"))
		return FALSE;
	if (!colon) {
		if (!parse_number(text, strlen(text), &first))
			return FALSE;
		*ret_first = *ret_last = first;
		return TRUE;
	}
	if (!parse_number(text, (gsize)(colon - text), &first) ||
	    !parse_number(colon + 1, strlen(colon + 1), &last) || (last >= 0 && first > last))
		return FALSE;
	*ret_first = first;
	*ret_last = last;
	return TRUE;
}
