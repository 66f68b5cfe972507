#include "import/read/json_object.h"

gboolean json_object_find(const struct json_object *object, const gchar *key,
			  struct json_scan *value)
{
	struct json_scan scan = { .at = object->at, .end = object->end, .is_tolerant = TRUE };
	gsize n_key = strlen(key);
	struct json_text found;

	if (!object->at || !json_take(&scan, '{'))
		return FALSE;
	while (json_member(&scan, &found)) {
		if (json_text_is(&found, key, n_key)) {
			json_peek(&scan);
			*value = scan;
			return scan.status == JSON_OK;
		}
		json_skip(&scan);
	}
	return FALSE;
}

struct json_object json_object_member(const struct json_object *object, const gchar *key)
{
	struct json_object member = { 0 };
	struct json_scan value;

	if (json_object_find(object, key, &value) && json_peek(&value) == '{') {
		member.at = value.at;
		json_skip(&value);
		member.end = value.at;
	}
	return member;
}

gint64 json_object_fixed(const struct json_object *object, const gchar *key, guint decimals,
			 gint64 otherwise)
{
	struct json_scan value;
	gint64 number;

	return json_object_find(object, key, &value) && json_fixed(&value, decimals, &number)
		       ? number
		       : otherwise;
}

gchar *json_object_text(const struct json_object *object, const gchar *key)
{
	struct json_scan value;
	struct json_text text;

	if (!json_object_find(object, key, &value) || json_peek(&value) != '"' ||
	    !json_string(&value, &text))
		return NULL;
	return json_text_dup(&text);
}
