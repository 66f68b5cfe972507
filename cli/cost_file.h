/* cost_file: the file of a cost model that a command reads or keeps things in. */
#ifndef TACHO_COST_FILE_H
#define TACHO_COST_FILE_H

#include <tacho/cost.h>

/* What --cost names: a file; "none"; NULL: where corrections are kept by default. To be freed with g_free(); NULL: no file. */
gchar *cost_file_path(const gchar *option);
/* The model in the file. An empty one where there is no file, or `path` is NULL; NULL: it cannot be read, which was said. */
TachoCostModel *cost_file_read(const gchar *command, const gchar *path);
/* Write it anew, with the folders that it is in. FALSE: that was not possible, which was said. */
gboolean cost_file_write(const gchar *command, const gchar *path, const TachoCostModel *model,
			 gboolean is_forced);

#endif
