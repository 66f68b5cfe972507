/* text_file: a small file of text, that somebody wrote by hand. */
#ifndef TACHO_TEXT_FILE_H
#define TACHO_TEXT_FILE_H

#include <glib.h>

/* All of the file, which may be a pipe, with a NUL behind; the caller's. NULL, with the file's name and the
 * reason (G_FILE_ERROR): it cannot be read, has more than `max_bytes`, or is not UTF-8. */
gchar *text_file_read(const gchar *path, gsize max_bytes, gsize *ret_length, GError **error);

#endif
