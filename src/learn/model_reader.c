#include "learn/model_reader.h"

#include <math.h>

/* Source: a rule: longer than any operation's shapes. If wrong, a file is refused. */
#define MAX_TEXT_BYTES 65536

gboolean model_refuse(struct model_reader *reader, const gchar *format, ...)
{
	va_list arguments;
	g_autofree gchar *reason = NULL;

	if (reader->error)
		return FALSE;
	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(&reader->error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "at byte %" G_GSIZE_FORMAT ": %s", (gsize)(reader->scan.at - reader->begin),
		    reason);
	return FALSE;
}

static gboolean is_broken(struct model_reader *reader)
{
	if (!reader->error && reader->scan.status != JSON_OK)
		model_refuse(reader, reader->scan.status == JSON_ENDS_EARLY
					     ? "the file ends within the model"
					     : "this is not JSON");
	return reader->error != NULL;
}

gboolean model_enter(struct model_reader *reader, gchar bracket, const gchar *what)
{
	if (is_broken(reader))
		return FALSE;
	if (json_peek(&reader->scan) != bracket)
		return model_refuse(reader, "%s is not %s", what,
				    bracket == '{' ? "an object" : "a list");
	return json_take(&reader->scan, bracket);
}

gint model_key(struct model_reader *reader, const gchar *const *keys, guint *seen)
{
	struct json_text text;
	g_autofree gchar *name = NULL;

	if (is_broken(reader) || !json_member(&reader->scan, &text)) {
		is_broken(reader);
		return -1;
	}
	for (gint i = 0; keys[i]; i++) {
		if (!json_text_is(&text, keys[i], strlen(keys[i])))
			continue;
		if (*seen & 1u << i) {
			model_refuse(reader, "'%s' stands twice", keys[i]);
			return -1;
		}
		*seen |= 1u << i;
		return i;
	}
	name = json_text_dup(&text);
	model_refuse(reader, "there is no '%.40s' in a model of this version", name);
	return -1;
}

gboolean model_element(struct model_reader *reader)
{
	gboolean has_one = !is_broken(reader) && json_element(&reader->scan);

	return !is_broken(reader) && has_one;
}

gboolean model_has(struct model_reader *reader, const gchar *const *keys, guint seen, guint wanted)
{
	if (is_broken(reader))
		return FALSE;
	for (gint i = 0; keys[i]; i++)
		if (wanted & ~seen & 1u << i)
			return model_refuse(reader, "'%s' is missing", keys[i]);
	return TRUE;
}

gboolean model_number(struct model_reader *reader, const gchar *what, gdouble least, gdouble most,
		      gdouble *ret_number)
{
	gchar first;
	gdouble number;

	if (is_broken(reader))
		return FALSE;
	first = json_peek(&reader->scan);
	if ((!g_ascii_isdigit(first) && first != '-') || !json_number(&reader->scan, &number) ||
	    !isfinite(number))
		return model_refuse(reader, "%s is not a number", what);
	if (number < least || number > most)
		return model_refuse(reader, "%s is not from %g to %g", what, least, most);
	*ret_number = number;
	return TRUE;
}

gboolean model_count(struct model_reader *reader, const gchar *what, guint64 most,
		     guint64 *ret_count)
{
	gdouble number;

	if (!model_number(reader, what, 0, (gdouble)most, &number))
		return FALSE;
	if (number != floor(number))
		return model_refuse(reader, "%s is not a whole number", what);
	*ret_count = (guint64)number;
	return TRUE;
}

gboolean model_truth(struct model_reader *reader, const gchar *what, gboolean *ret_truth)
{
	gchar first;

	if (is_broken(reader))
		return FALSE;
	first = json_peek(&reader->scan);
	if (first != 't' && first != 'f')
		return model_refuse(reader, "%s is neither true nor false", what);
	*ret_truth = first == 't';
	json_skip(&reader->scan);
	return !is_broken(reader);
}

gchar *model_text(struct model_reader *reader, const gchar *what)
{
	struct json_text text;
	g_autofree gchar *plain = NULL;

	if (is_broken(reader))
		return NULL;
	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text) ||
	    text.n > MAX_TEXT_BYTES) {
		model_refuse(reader, "%s is no text, or a very long one", what);
		return NULL;
	}
	plain = json_text_dup(&text);
	if (!g_utf8_validate(plain, -1, NULL)) {
		model_refuse(reader, "%s is not UTF-8", what);
		return NULL;
	}
	for (const gchar *at = plain; *at; at++)
		if (g_ascii_iscntrl(*at)) {
			model_refuse(reader, "%s has control characters in it", what);
			return NULL;
		}
	return g_steal_pointer(&plain);
}
