/* part_copy: bring what is recorded elsewhere into a folder here: from a folder by copying, over the network by rsync(1).
 *
 * (1) What was brought by a copy that did not come to its end stays, and the next goes on behind it.
 * (2) A file that `known` has under the same name, of the same size and time, is linked, and not brought again. It may be NULL.
 * (3) Hidden files stay where they are: they are not finished, or not of the run. So do links, and what is neither a file nor a folder.
 * (4) A process's metadata comes behind its streams, so that it has all their classes, also where the job still writes. */
#ifndef TACHO_PART_COPY_H
#define TACHO_PART_COPY_H

#include <glib.h>

/* Whether `source` is one of rsync's: "HOST:PATH", "HOST::MODULE/PATH", "rsync://HOST/MODULE/PATH". */
gboolean part_is_remote(const gchar *source);

/* Bring what is in the folder `source` into the folder `to`, which is made where it is not there. */
gboolean part_copy(const gchar *source, const gchar *to, const gchar *known, GError **error);

#endif
