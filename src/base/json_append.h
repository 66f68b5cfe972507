/* json_append: JSON values appended to a GString, for texts that are made in memory a value at a time. */
#ifndef TACHO_JSON_APPEND_H
#define TACHO_JSON_APPEND_H

#include <glib.h>

/* `text` in quotes. It may hold anything: what is not UTF-8 becomes U+FFFD. */
void json_append_string(GString *json, const gchar *text, gsize n);
/* The shortest digits that read back as the same value; null where it is not finite. */
void json_append_number(GString *json, gdouble value);
/* A member's key and colon, with a comma before it unless it is the first of its object. */
void json_append_key(GString *json, const gchar *key);

#endif
