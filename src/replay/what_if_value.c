/* what_if_value: the numbers and units in what-ifs. */
#include <math.h>

#include "replay/what_if_internal.h"

#define MAX_FACTOR 1e6

gboolean what_if_refuse(GError **error, const gchar *what_if, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF, "what-if '%s': %s",
		    what_if, reason);
	return FALSE;
}

struct unit {
	const gchar *name;
	gdouble in_base;
};

static const struct unit no_units[] = { { NULL, 0 } };
static const struct unit rate_units[] = {
	/* bits a second */
	{ "bit", 1 },	 { "kbit", 1e3 },  { "mbit", 1e6 },
	{ "gbit", 1e9 }, { "tbit", 1e12 }, { NULL, 0 },
};
static const struct unit time_units[] = {
	/* nanoseconds */
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 },
};

static const struct unit *const all_units[] = {
	[UNITS_NONE] = no_units,
	[UNITS_RATE] = rate_units,
	[UNITS_TIME] = time_units,
};

gboolean what_if_parse_value(const gchar *text, enum value_units units, struct value *ret)
{
	struct value value = { VALUE_PLAIN, 0 };
	gchar *end;

	if (!g_ascii_isdigit(text[*text == '+']))
		return FALSE;
	value.number = g_ascii_strtod(text, &end);
	if (!isfinite(value.number))
		return FALSE;
	if (g_ascii_strcasecmp(end, "x") == 0 && *text != '+') {
		value.form = VALUE_FACTOR;
	} else if (*end) {
		const struct unit *unit = all_units[units];

		while (unit->name && g_ascii_strcasecmp(end, unit->name) != 0)
			unit++;
		if (!unit->name)
			return FALSE;
		value.number *= unit->in_base;
		value.form = *text == '+' ? VALUE_ADDED : VALUE_UNIT;
	} else if (*text == '+') {
		return FALSE;
	}
	*ret = value;
	return TRUE;
}

gboolean what_if_parse_factor(const gchar *text, gdouble *ret_factor)
{
	struct value value;

	if (!what_if_parse_value(text, UNITS_NONE, &value) || value.number > MAX_FACTOR)
		return FALSE;
	*ret_factor = value.number;
	return TRUE;
}

gboolean what_if_parse_count(const gchar *text, guint32 min, guint32 max, guint32 *ret)
{
	struct value value;

	if (!what_if_parse_value(text, UNITS_NONE, &value) || value.form != VALUE_PLAIN ||
	    value.number < min || value.number > max || value.number != floor(value.number))
		return FALSE;
	*ret = (guint32)value.number;
	return TRUE;
}
