#include "base/quantity.h"

#include <math.h>

#define MAX_FACTOR  1e6
#define MAX_TIME_NS 86400e9
#define MIN_RATE    1e3 /* bits a second */
#define MAX_RATE    1e18

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

static gboolean is_in_range(const struct quantity *value, enum quantity_units units)
{
	gdouble number = value->number;

	if (value->form == QUANTITY_FACTOR)
		return number == 0 || (number >= 1 / MAX_FACTOR && number <= MAX_FACTOR);
	if (value->form == QUANTITY_PLAIN || units == UNITS_NONE)
		return isfinite(number);
	if (units == UNITS_TIME)
		return number <= MAX_TIME_NS;
	return number >= MIN_RATE && number <= MAX_RATE;
}

gboolean quantity_parse(const gchar *text, enum quantity_units units, struct quantity *ret)
{
	struct quantity value = { QUANTITY_PLAIN, 0 };
	gchar *end;

	if (!g_ascii_isdigit(text[*text == '+']))
		return FALSE;
	value.number = g_ascii_strtod(text, &end);
	if (g_ascii_strcasecmp(end, "x") == 0 && *text != '+') {
		value.form = QUANTITY_FACTOR;
	} else if (*end) {
		const struct unit *unit = all_units[units];

		while (unit->name && g_ascii_strcasecmp(end, unit->name) != 0)
			unit++;
		if (!unit->name)
			return FALSE;
		value.number *= unit->in_base;
		value.form = *text == '+' ? QUANTITY_ADDED : QUANTITY_UNIT;
	} else if (*text == '+') {
		return FALSE;
	}
	if (!is_in_range(&value, units))
		return FALSE;
	*ret = value;
	return TRUE;
}

gboolean quantity_parse_factor(const gchar *text, gdouble *ret_factor)
{
	struct quantity value;

	if (!quantity_parse(text, UNITS_NONE, &value) || value.number > MAX_FACTOR)
		return FALSE;
	*ret_factor = value.number;
	return TRUE;
}

gboolean quantity_parse_count(const gchar *text, guint32 min, guint32 max, guint32 *ret)
{
	struct quantity value;

	if (!quantity_parse(text, UNITS_NONE, &value) || value.form != QUANTITY_PLAIN ||
	    value.number < min || value.number > max || value.number != floor(value.number))
		return FALSE;
	*ret = (guint32)value.number;
	return TRUE;
}
