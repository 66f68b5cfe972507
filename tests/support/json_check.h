/* json_check: whether JSON that tacho wrote says what the values do that it was written from. Whoever finds that it does not
 * ends the test. */
#ifndef TACHO_JSON_CHECK_H
#define TACHO_JSON_CHECK_H

#include <tacho/table.h>

#include "import/read/json_object.h"

/* The text as one object, with nothing behind it. `storage` is to be freed with g_free() afterwards. */
struct json_object json_check_text(const gchar *text, gchar **storage);
/* A member that is this number; null, where the number is not finite. */
void json_check_number(const struct json_object *object, const gchar *key, gdouble number);
/* A member that is an array of the table's first `n_rows` rows, each with `n_columns` of its columns. */
void json_check_rows(const struct json_object *object, const gchar *key, const TachoTable *table,
		     guint n_rows, guint n_columns);

#endif
