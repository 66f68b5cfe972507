/* run_copy: a run as it stands at one moment, in a folder of its own, while its job goes on writing.
 *
 *     streams (what each had when it was looked at) --> metadata --> run.ini, losses, unseen, traces
 *
 * (1) The order is the format's: what a stream's records are classes of is in the metadata by the time that is copied.
 * (2) Files that disappear meanwhile (an end of a thread, `tacho record --max-size`) are left out: their stream then begins later.
 * (3) Files are read, not mapped: one that is cut short while it is read is copied as far as it goes. */
#ifndef TACHO_RUN_COPY_H
#define TACHO_RUN_COPY_H

#include <glib.h>

/* Copy the run at `from` to a new folder `to`; *ret_bytes: what it takes. False: nothing is left of it. */
gboolean run_copy(const gchar *from, const gchar *to, guint64 *ret_bytes, GError **error);

/* "RUN-20261127-093000.tacho", in the folder where one is; with `why`, "RUN-why-20261127-093000.tacho". */
gchar *run_copy_name(const gchar *run, const gchar *why);

#endif
