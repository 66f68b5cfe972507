#include "export/source_place.h"

#include <string.h>

#define MAX_DIGITS 9

gchar *source_place_take_file(const gchar *name, gint64 *ret_line, const gchar **ret_function)
{
	const gchar *behind = strstr(name, "): "), *bracket = behind;

	*ret_line = 0;
	*ret_function = name;
	while (bracket && bracket > name && g_ascii_isdigit(bracket[-1]))
		bracket--;
	if (!bracket || bracket == behind || behind - bracket > MAX_DIGITS || bracket - name < 2 ||
	    bracket[-1] != '(' || !behind[3])
		return NULL;
	*ret_line = g_ascii_strtoll(bracket, NULL, 10);
	*ret_function = behind + 3;
	return g_strndup(name, (gsize)(bracket - 1 - name));
}
