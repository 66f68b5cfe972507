/* json_file: objects of a JSON file, read again at the place where they stand when somebody asks.
 *
 * What is read once for its times is asked for its args much later, a few objects at a time and mostly
 * near each other: a few windows of the file are kept. The file is opened at the first question. */
#ifndef TACHO_JSON_FILE_H
#define TACHO_JSON_FILE_H

#include "import/read/json_scan.h"

struct json_file;

struct json_file *json_file_new(const gchar *path);
void json_file_free(struct json_file *file);

/* A scan of the whole object at the decoded `offset`, tolerant of quotes; good until the file is
 * unlocked. False: there is no such object, or the file cannot be read (any more). */
gboolean json_file_lock(struct json_file *file, guint64 offset, struct json_scan *scan);
/* Must follow every json_file_lock(), whatever it returned. */
void json_file_unlock(struct json_file *file);

/* The text of the object at `offset`; NULL: there is none. To be freed with g_free(). */
gchar *json_file_copy(struct json_file *file, guint64 offset);

#endif
