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

gboolean option_steps(const gchar *command, const gchar *text, gint64 *ret_first, gint64 *ret_last)
{
	if (!text || parse_range(text, ret_first, ret_last))
		return TRUE;
	cli_fail(command, "--steps must be A:B, with A not after B: '%s'", text);
	return FALSE;
}

gboolean option_number(const gchar *command, const gchar *option, gint number, gint unset,
		       gint *ret_number)
{
	*ret_number = number == OPTION_UNSET ? unset : number;
	if (number >= 0 || number == OPTION_UNSET)
		return TRUE;
	cli_fail(command, "%s must be 0 or more: %d", option, number);
	return FALSE;
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
