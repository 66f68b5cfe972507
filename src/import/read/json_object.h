/* json_object: members of JSON objects by name, for records that are small. */
#ifndef TACHO_JSON_OBJECT_H
#define TACHO_JSON_OBJECT_H

#include "import/read/json_scan.h"

/* An object: what stands from its '{' to its '}'; zeroed: none. */
struct json_object {
	const gchar *at, *end;
};

/* A scan at the value of a member; false: there is none. */
gboolean json_object_find(const struct json_object *object, const gchar *key,
			  struct json_scan *value);
/* A member that is an object; an empty one where it is none. */
struct json_object json_object_member(const struct json_object *object, const gchar *key);
/* A member that is a number, in quotes or not, times 10^`decimals`, rounded; `otherwise` where it is none. */
gint64 json_object_fixed(const struct json_object *object, const gchar *key, guint decimals,
			 gint64 otherwise);
/* A member that is a string, without its escapes; NULL: it is none. To be freed with g_free(). */
gchar *json_object_text(const struct json_object *object, const gchar *key);

#endif
