/* fuzz_changes: for fuzz targets: whatever bytes as a file of what-ifs, a line each. */
#ifndef TACHO_FUZZ_CHANGES_H
#define TACHO_FUZZ_CHANGES_H

#include <glib.h>

/* The first changes of the file, four at most, of those that can be made in any graph: what needs another file or recording
 * is only read, as is what asks for more than `max_ranks` ranks, which only takes longer. NULL at the end; the caller's. */
gchar **fuzz_changes_read(const guint8 *bytes, gsize n, guint32 max_ranks);

#endif
