#include "export/column_label.h"

#include <string.h>

/* The longer before those they end in. */
static const struct {
	const gchar *ending, *unit;
} units[] = {
	{ "gflop_per_s", "GFLOP/s" },
	{ "gb_per_s", "GB/s" },
	{ "bytes", "bytes" },
	{ "ppm", "ppm" },
	{ "pct", "%" },
	{ "ms", "ms" },
	{ "us", "µs" },
	{ "ns", "ns" },
};

/* The key less its unit's length, and the unit; NULL where it has none. */
static const gchar *find_unit(const gchar *key, gsize *ret_length)
{
	gsize length = strlen(key);

	for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
		gsize ending = strlen(units[i].ending);

		if (!g_str_has_suffix(key, units[i].ending) ||
		    (length > ending && key[length - ending - 1] != '_'))
			continue;
		*ret_length = length > ending ? length - ending - 1 : 0;
		return units[i].unit;
	}
	*ret_length = length;
	return NULL;
}

gchar *column_label(const TachoColumn *column)
{
	gsize length;
	const gchar *unit = find_unit(column->key, &length);
	g_autofree gchar *words = g_strndup(column->key, length);

	g_strdelimit(words, "_", ' ');
	if (!unit)
		return g_steal_pointer(&words);
	return length ? g_strdup_printf("%s (%s)", words, unit) : g_strdup(unit);
}
