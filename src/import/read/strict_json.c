#include "import/read/strict_json.h"

#include <math.h>

void strict_json_init(StrictJson *reader, const gchar *text, gsize n, const gchar *what,
		      GQuark domain, gint code)
{
	*reader = (StrictJson){ .what = what, .domain = domain, .code = code };
	reader->begin = g_malloc(n + JSON_PADDING);
	memcpy(reader->begin, text, n);
	memset(reader->begin + n, '"', JSON_PADDING);
	reader->scan = (struct json_scan){ .at = reader->begin, .end = reader->begin + n };
}

void strict_json_release(StrictJson *reader)
{
	g_clear_pointer(&reader->begin, g_free);
	g_clear_error(&reader->error);
}

gboolean strict_json_refuse(StrictJson *reader, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list arguments;

	if (reader->error)
		return FALSE;
	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(&reader->error, reader->domain, reader->code, "at byte %" G_GSIZE_FORMAT ": %s",
		    (gsize)(reader->scan.at - reader->begin), reason);
	return FALSE;
}

/* Whether the text is sound so far. */
static gboolean check_scan(StrictJson *reader)
{
	if (reader->error)
		return FALSE;
	if (reader->scan.status == JSON_OK)
		return TRUE;
	if (reader->scan.status == JSON_ENDS_EARLY)
		return strict_json_refuse(reader, "the file ends within %s", reader->what);
	return strict_json_refuse(reader, "this is not JSON");
}

gboolean strict_json_enter(StrictJson *reader, gchar bracket, const gchar *what)
{
	if (!check_scan(reader))
		return FALSE;
	if (json_peek(&reader->scan) != bracket)
		return strict_json_refuse(reader, "%s is not %s", what,
					  bracket == '{' ? "an object" : "a list");
	return json_take(&reader->scan, bracket);
}

/* Which of `keys` the member is; -1: none of them, or it stands twice, which is an error. */
static gint find_key(StrictJson *reader, const struct json_text *text, const gchar *const *keys,
		     guint64 *seen)
{
	for (gint i = 0; keys[i]; i++) {
		if (!json_text_is(text, keys[i], strlen(keys[i])))
			continue;
		if (*seen & G_GUINT64_CONSTANT(1) << i) {
			strict_json_refuse(reader, "'%s' stands twice", keys[i]);
			return -1;
		}
		*seen |= G_GUINT64_CONSTANT(1) << i;
		return i;
	}
	return -1;
}

gint strict_json_key(StrictJson *reader, const gchar *const *keys, guint64 *seen)
{
	struct json_text text;
	g_autofree gchar *name = NULL;
	gint key;

	if (reader->error || !json_member(&reader->scan, &text))
		return -1;
	key = find_key(reader, &text, keys, seen);
	if (key >= 0 || reader->error)
		return key;
	name = json_text_dup(&text);
	strict_json_refuse(reader, "there is no '%.40s' in %s of this version", name, reader->what);
	return -1;
}

gint strict_json_known_key(StrictJson *reader, const gchar *const *keys, guint64 *seen)
{
	struct json_text text;

	while (!reader->error && json_member(&reader->scan, &text)) {
		gint key = find_key(reader, &text, keys, seen);

		if (key >= 0 || reader->error)
			return key;
		json_skip(&reader->scan);
	}
	return -1;
}

gboolean strict_json_leave(StrictJson *reader, const gchar *const *keys, guint64 seen,
			   guint64 wanted)
{
	if (!check_scan(reader))
		return FALSE;
	for (gint i = 0; keys[i]; i++)
		if (wanted & ~seen & G_GUINT64_CONSTANT(1) << i)
			return strict_json_refuse(reader, "'%s' is missing", keys[i]);
	return TRUE;
}

gchar *strict_json_any_key(StrictJson *reader)
{
	struct json_text text;

	if (reader->error || !json_member(&reader->scan, &text)) {
		check_scan(reader);
		return NULL;
	}
	return json_text_dup(&text);
}

gboolean strict_json_element(StrictJson *reader)
{
	if (!reader->error && json_element(&reader->scan))
		return TRUE;
	check_scan(reader);
	return FALSE;
}

gboolean strict_json_count(StrictJson *reader, const gchar *what, guint64 least, guint64 most,
			   guint64 *ret_count)
{
	const gchar *at;
	guint64 count = 0;

	if (!check_scan(reader))
		return FALSE;
	json_peek(&reader->scan);
	for (at = reader->scan.at; at < reader->scan.end && g_ascii_isdigit(*at); at++) {
		guint digit = (guint)(*at - '0');

		if (count > (most - MIN(most, digit)) / 10 && count * 10 + digit > most)
			return strict_json_refuse(reader, "%s is more than %" G_GUINT64_FORMAT,
						  what, most);
		count = count * 10 + digit;
	}
	if (at == reader->scan.at || (at < reader->scan.end && strchr(".eE", *at)))
		return strict_json_refuse(reader, "%s is not a whole number", what);
	if (count < least)
		return strict_json_refuse(reader, "%s is less than %" G_GUINT64_FORMAT, what,
					  least);
	reader->scan.at = at;
	*ret_count = count;
	return TRUE;
}

gboolean strict_json_version(StrictJson *reader, const gchar *key, guint known, gint version_code)
{
	g_autofree gchar *quoted = g_strdup_printf("'%s'", key);
	guint64 version;

	if (!strict_json_count(reader, quoted, 1, G_MAXINT32, &version))
		return FALSE;
	if (version <= known)
		return TRUE;
	g_set_error(&reader->error, reader->domain, version_code,
		    "the file is of version %" G_GUINT64_FORMAT
		    ", and this tacho reads versions up to %u: use a later tacho",
		    version, known);
	return FALSE;
}

gboolean strict_json_number(StrictJson *reader, const gchar *what, gdouble least, gdouble most,
			    gdouble *ret_number)
{
	gchar first;
	gdouble number;

	if (!check_scan(reader))
		return FALSE;
	first = json_peek(&reader->scan);
	if ((!g_ascii_isdigit(first) && first != '-') || !json_number(&reader->scan, &number) ||
	    !isfinite(number))
		return check_scan(reader) &&
		       strict_json_refuse(reader, "%s is not a finite number", what);
	if (number < least || number > most)
		return strict_json_refuse(reader, "%s is not from %g to %g", what, least, most);
	*ret_number = number;
	return TRUE;
}

gboolean strict_json_flag(StrictJson *reader, const gchar *what, gboolean *ret_flag)
{
	static const gchar *const words[] = { "false", "true" };

	if (!check_scan(reader))
		return FALSE;
	json_peek(&reader->scan);
	for (gint i = 0; i < 2; i++) {
		gsize n = strlen(words[i]);

		if ((gsize)(reader->scan.end - reader->scan.at) < n ||
		    memcmp(reader->scan.at, words[i], n) != 0)
			continue;
		reader->scan.at += n;
		*ret_flag = i;
		return TRUE;
	}
	return strict_json_refuse(reader, "%s is neither true nor false", what);
}

gchar *strict_json_text(StrictJson *reader, const gchar *what, gsize max_bytes)
{
	struct json_text text;
	g_autofree gchar *copy = NULL;
	gboolean is_good;
	gsize n;

	if (!check_scan(reader))
		return NULL;
	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text)) {
		strict_json_refuse(reader, "%s is not a text", what);
		return NULL;
	}
	copy = json_text_dup(&text);
	n = strlen(copy);
	is_good = n <= max_bytes && g_utf8_validate(copy, (gssize)n, NULL);
	for (gsize i = 0; i < n && is_good; i++)
		is_good = !g_ascii_iscntrl(copy[i]);
	if (is_good)
		return g_steal_pointer(&copy);
	strict_json_refuse(reader, "%s is too long, not UTF-8, or has control characters in it",
			   what);
	return NULL;
}

gboolean strict_json_finish(StrictJson *reader, GError **error)
{
	if (check_scan(reader) && json_peek(&reader->scan))
		strict_json_refuse(reader, "something stands behind %s", reader->what);
	if (!reader->error)
		return TRUE;
	g_propagate_error(error, g_steal_pointer(&reader->error));
	return FALSE;
}
