#include "option_values.h"

#include <string.h>

#include "cli.h"

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

static gboolean parse_range(const gchar *text, gint64 *ret_first, gint64 *ret_last)
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

gboolean option_steps(const gchar *command, const gchar *text, gint64 *ret_first, gint64 *ret_last,
		      gboolean *ret_is_whole)
{
	if (ret_is_whole && g_strcmp0(text, "all") == 0) {
		*ret_is_whole = TRUE;
		return TRUE;
	}
	if (!text || parse_range(text, ret_first, ret_last))
		return TRUE;
	cli_fail(command, "--steps must be A:B, with A not after B%s, not '%s'",
		 ret_is_whole ? ", or 'all'" : "", text);
	return FALSE;
}

gboolean option_number(const gchar *command, const gchar *option, gint number, gint unset,
		       gint *ret_number)
{
	*ret_number = number == OPTION_UNSET ? unset : number;
	if (number >= 0 || number == OPTION_UNSET)
		return TRUE;
	cli_fail(command, "%s must be 0 or more, not %d", option, number);
	return FALSE;
}

static gboolean parse_size(const gchar *text, guint64 *ret_bytes)
{
	static const gchar units[] = "KMGT";
	const gchar *unit;
	guint64 number;
	gchar *end;

	if (!g_ascii_isdigit(*text))
		return FALSE;
	number = g_ascii_strtoull(text, &end, 10);
	unit = *end ? strchr(units, g_ascii_toupper(*end)) : NULL;
	if (*end && (!unit || end[1]))
		return FALSE;
	for (gssize i = 0; unit && i <= unit - units; i++)
		if (!g_uint64_checked_mul(&number, number, 1024))
			return FALSE;
	*ret_bytes = number;
	return number > 0;
}

gboolean option_size(const gchar *command, const gchar *option, const gchar *text,
		     guint64 *ret_bytes)
{
	if (!text || parse_size(text, ret_bytes))
		return TRUE;
	cli_fail(command, "%s is a number of bytes, with K, M, G or T behind it: '%s'", option,
		 text);
	return FALSE;
}

#define MAX_TIME_US 2592000e6

static gboolean parse_time(const gchar *text, gint64 *ret_us)
{
	static const struct {
		const gchar *name;
		gdouble us;
	} units[] = { { "", 1e6 },  { "s", 1e6 },   { "ms", 1e3 },
		      { "m", 6e7 }, { "min", 6e7 }, { "h", 3.6e9 } };
	gchar *end;
	gdouble number = g_ascii_strtod(text, &end);

	if (end == text || !(g_ascii_isdigit(*text) || *text == '.'))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
		if (strcmp(end, units[i].name) != 0 || !(number * units[i].us <= MAX_TIME_US))
			continue;
		*ret_us = (gint64)(number * units[i].us);
		return TRUE;
	}
	return FALSE;
}

gboolean option_time(const gchar *command, const gchar *option, const gchar *text, gint64 *ret_us)
{
	if (!text || parse_time(text, ret_us))
		return TRUE;
	cli_fail(command, "%s is a time, as in 30s, 500ms or 2m, not '%s'", option, text);
	return FALSE;
}

/* "ranks 0 to 3, 8" */
static gchar *list_ranks(const TachoTimeline *timeline)
{
	GString *list = g_string_new(timeline->ranks->len == 1 ? "rank " : "ranks ");
	const TachoRank *ranks = (const TachoRank *)timeline->ranks->data;

	for (guint i = 0; i < timeline->ranks->len; i++) {
		guint first = i;

		while (i + 1 < timeline->ranks->len && ranks[i + 1].rank == ranks[i].rank + 1)
			i++;
		g_string_append_printf(list, "%s%d", first ? ", " : "", ranks[first].rank);
		if (i > first)
			g_string_append_printf(list, "%s%d", i == first + 1 ? ", " : " to ",
					       ranks[i].rank);
	}
	return g_string_free(list, FALSE);
}

gboolean option_rank_in(const gchar *command, const gchar *run, const TachoTimeline *timeline,
			gint rank)
{
	g_autofree gchar *ranks = NULL;

	if (rank < 0)
		return TRUE;
	for (guint i = 0; i < timeline->ranks->len; i++)
		if (g_array_index(timeline->ranks, TachoRank, i).rank == rank)
			return TRUE;
	ranks = list_ranks(timeline);
	if (timeline->ranks->len)
		cli_fail(command, "%s has no rank %d; it has %s", run, rank, ranks);
	else
		cli_fail(command, "%s has no rank %d, because it has no ranks; leave out --rank",
			 run, rank);
	return FALSE;
}

gboolean option_steps_in(const gchar *command, const gchar *run, const TachoTimeline *timeline,
			 gint64 first, gint64 last)
{
	gint64 least = G_MAXINT64, most = -1;

	if (first < 0 && last < 0)
		return TRUE;
	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

		if (step->number >= first && (last < 0 || step->number <= last))
			return TRUE;
		least = MIN(least, step->number);
		most = MAX(most, step->number);
	}
	if (most < 0)
		cli_fail(command,
			 "--steps selects no step: %s has no training steps; use --steps all", run);
	else
		cli_fail(command,
			 "--steps selects no step: %s has steps %" G_GINT64_FORMAT
			 " to %" G_GINT64_FORMAT,
			 run, least, most);
	return FALSE;
}

gchar **option_sort_keys(const TachoTable *table)
{
	g_autoptr(GPtrArray) keys = g_ptr_array_new();

	for (guint i = 0; tacho_table_key(table, i); i++)
		g_ptr_array_add(keys, g_strdup(tacho_table_key(table, i)));
	g_ptr_array_add(keys, NULL);
	return (gchar **)g_ptr_array_free(g_steal_pointer(&keys), FALSE);
}

gboolean option_regex(const gchar *command, const gchar *option, const gchar *pattern,
		      GRegex **ret_regex)
{
	GError *error = NULL;

	if (!pattern)
		return TRUE;
	*ret_regex = g_regex_new(pattern, G_REGEX_OPTIMIZE, 0, &error);
	if (*ret_regex)
		return TRUE;
	g_prefix_error(&error, "%s: ", option);
	cli_fail_error(command, error);
	return FALSE;
}
