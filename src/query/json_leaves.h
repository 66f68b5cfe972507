/* json_leaves: the values in a JSON text and where each stands, for texts of which nearly all that traces say
 * consists: names, whole numbers, truths, in lists and objects. */
#ifndef TACHO_JSON_LEAVES_H
#define TACHO_JSON_LEAVES_H

#include <glib.h>

struct json_leaf {
	enum json_leaf_type {
		JSON_LEAF_INTEGER,
		JSON_LEAF_TRUTH,
		JSON_LEAF_STRING,
	} type;
	const gchar *path;   /* a.b c[2]; of the whole text: "" */
	gint64 integer;	     /* of INTEGER; of TRUTH 0 or 1 */
	const gchar *string; /* `n` bytes of the text, of STRING */
	gsize n;
};

/* Tell all leaves but nulls, in the order of the text. False: the text is not JSON, or has what is not read here (fractions,
 * numbers of more than 18 digits, escaped characters, more levels than 32); some may have been told. `path` is
 * storage. */
typedef void (*JsonLeafTold)(const struct json_leaf *leaf, gpointer data);
gboolean json_leaves_read(const gchar *json, GString *path, JsonLeafTold told, gpointer data);

#endif
