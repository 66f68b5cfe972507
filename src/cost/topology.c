#include "cost/topology.h"

#include <string.h>

#include "base/quantity.h"
#include "base/text_file.h"

/* The size of a topology file, at most.
 * Source: a rule: a file of four levels has some hundred bytes. If wrong, it is refused. */
#define MAX_FILE_BYTES (64 * 1024)

G_DEFINE_QUARK(topology - error - quark, topology_error)

void topology_spread(const struct topology *topology, guint32 n_ranks, guint32 *ret_sizes)
{
	guint32 rest = MAX(n_ranks, 1u);

	for (guint32 i = 0; i < topology->n_levels; i++) {
		guint32 size = topology->levels[i].size;

		ret_sizes[i] = size == 0 ? rest : MIN(size, rest);
		rest = rest / ret_sizes[i] + (rest % ret_sizes[i] != 0);
	}
}

gboolean topology_is_full(const struct topology *topology, guint32 n_ranks)
{
	guint64 room = 1;

	for (guint32 i = 0; i < topology->n_levels; i++) {
		if (topology->levels[i].size == 0)
			return FALSE;
		room = MIN(room * topology->levels[i].size, TOPOLOGY_MAX_RANKS);
	}
	return topology->n_levels > 0 && room < n_ranks;
}

static gboolean refuse(const gchar *path, const gchar *level, const gchar *reason, GError **error)
{
	g_set_error(error, TOPOLOGY_ERROR, 0, "%s: [%s]: %s", path, level, reason);
	return FALSE;
}

static gboolean read_size(GKeyFile *file, const gchar *name, struct topology_level *level)
{
	g_autofree gchar *text = g_key_file_get_string(file, name, "size", NULL);

	return !text || quantity_parse_count(text, 1, TOPOLOGY_MAX_RANKS, &level->size);
}

static gboolean read_bandwidth(GKeyFile *file, const gchar *name, struct topology_level *level)
{
	g_autofree gchar *text = g_key_file_get_string(file, name, "bandwidth", NULL);
	struct quantity quantity;

	if (!text)
		return TRUE;
	if (!quantity_parse(text, UNITS_RATE, &quantity) || quantity.form != QUANTITY_UNIT ||
	    quantity.number <= 0)
		return FALSE;
	level->ns_per_byte = 8e9 / quantity.number;
	return TRUE;
}

static gboolean read_latency(GKeyFile *file, const gchar *name, struct topology_level *level)
{
	g_autofree gchar *text = g_key_file_get_string(file, name, "latency", NULL);
	struct quantity quantity;

	if (!text)
		return TRUE;
	if (!quantity_parse(text, UNITS_TIME, &quantity) || quantity.form != QUANTITY_UNIT)
		return FALSE;
	level->latency_ns = quantity.number;
	return TRUE;
}

static gboolean check_keys(GKeyFile *file, const gchar *path, const gchar *name, GError **error)
{
	static const gchar *const known[] = { "size", "bandwidth", "latency", NULL };
	g_auto(GStrv) keys = g_key_file_get_keys(file, name, NULL, NULL);

	for (gchar **key = keys; key && *key; key++)
		if (!g_strv_contains(known, *key)) {
			g_autofree gchar *reason = g_strdup_printf(
				"'%s' is not a key of a level; use size, bandwidth or latency",
				*key);

			return refuse(path, name, reason, error);
		}
	return TRUE;
}

static gboolean read_level(GKeyFile *file, const gchar *path, const gchar *name,
			   struct topology_level *level, GError **error)
{
	*level = (struct topology_level){ 0, 0, -1 };
	if (!check_keys(file, path, name, error))
		return FALSE;
	if (!read_size(file, name, level))
		return refuse(path, name, "size must be a whole number of at least 1", error);
	if (!read_bandwidth(file, name, level))
		return refuse(path, name, "bandwidth must be a rate, such as 100gbit", error);
	if (!read_latency(file, name, level))
		return refuse(path, name, "latency must be a time, such as 10us", error);
	return TRUE;
}

static gboolean read_levels(GKeyFile *file, const gchar *path, struct topology *topology,
			    GError **error)
{
	gsize n;
	g_auto(GStrv) names = g_key_file_get_groups(file, &n);

	if (n == 0 || n > TOPOLOGY_MAX_LEVELS) {
		g_set_error(error, TOPOLOGY_ERROR, 0,
			    "%s: the file has %" G_GSIZE_FORMAT " levels, but it must have 1 to %u",
			    path, n, TOPOLOGY_MAX_LEVELS);
		return FALSE;
	}
	for (gsize i = 0; i < n; i++) {
		if (!read_level(file, path, names[i], &topology->levels[i], error))
			return FALSE;
		if (topology->levels[i].size == 0 && i + 1 < n)
			return refuse(path, names[i], "each level but the last needs a size",
				      error);
	}
	topology->n_levels = (guint32)n;
	return TRUE;
}

gboolean topology_read(struct topology *topology, const gchar *path, GError **error)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	gsize length;
	g_autofree gchar *text = text_file_read(path, MAX_FILE_BYTES, &length, error);
	struct topology found = { 0 };

	if (!text)
		return FALSE;
	if (!g_key_file_load_from_data(file, text, length, G_KEY_FILE_NONE, error)) {
		g_prefix_error(error, "%s: ", path);
		return FALSE;
	}
	if (!read_levels(file, path, &found, error))
		return FALSE;
	*topology = found;
	return TRUE;
}
