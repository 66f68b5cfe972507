/* new_file: an output file that appears under its name when it is whole, or not at all. */
#ifndef TACHO_NEW_FILE_H
#define TACHO_NEW_FILE_H

#include <glib.h>
#include <stdio.h>

typedef struct _NewFile NewFile;

/* Begin a file that will be `path`. What is not a regular file (/dev/null, a FIFO) is written in
 * place. One at a time. */
NewFile *new_file_open(const gchar *path, gboolean may_replace, GError **error);
/* Where to write. Owned by the file. */
FILE *new_file_stream(NewFile *file);
/* Make it appear; on failure nothing is left. Frees the file either way. */
gboolean new_file_finish(NewFile *file, GError **error);
/* Leave nothing, and free. Takes NULL. */
void new_file_abandon(NewFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NewFile, new_file_abandon)

#endif
