/* small_file: a JSON file that is read whole, for files that stand beside traces. */
#ifndef TACHO_SMALL_FILE_H
#define TACHO_SMALL_FILE_H

#include "import/read/json_scan.h"

/* All of a file, decoded, with JSON_PADDING behind it; NULL: it is not there, or cannot be read. At most
 * 512 MiB are. To be freed with g_byte_array_unref(). */
GByteArray *small_file_read(const gchar *path);
struct json_scan small_file_scan(const GByteArray *bytes);

#endif
