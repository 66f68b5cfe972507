/* lttng_run: the run in what LTTng wrote of a job (tacho record --engine lttng): its events carry the records of tacho's own
 * streams, so they are put into streams again, and read as any run is. docs/lttng.md describes the events; ctf/lttng_run.c reads them.
 *
 *     LTTng's traces --ctf_reader--> events --lttng_stream--> folders of processes, as the agent would have written them
 *
 * (1) A record of which an event tells is kept as it is; one that breaks the order of its stream is left out and counted.
 * (2) An end finds its record by trace, stream and position. A slice whose end LTTng had no room for ends with the slice around it.
 * (3) What LTTng counts as discarded, and what could not be read, become lines of `losses`. */
#ifndef TACHO_LTTNG_RUN_H
#define TACHO_LTTNG_RUN_H

#include <glib.h>

/* Whether the run at `path` has what it recorded in LTTng's trace alone: it was not recorded to its end. */
gboolean lttng_run_is_unread(const gchar *path);
/* Whether the CTF trace in `folder` has events of such a recording. */
gboolean lttng_trace_is(const gchar *folder);

/* The folders of CTF traces in `folder` and below, to be freed; none: an empty array. */
GPtrArray *lttng_traces_find(const gchar *folder);

/* Make the folders of the processes that the traces tell of, and lines of `losses`, in the folder `target`.
 * TACHO_IMPORT_ERROR_FORMAT: there is no process in them; _IO. */
gboolean lttng_run_read(const gchar *const *traces, guint n_traces, const gchar *target,
			GError **error);

/* The same of the run at `path`, into `target`, with what its launcher wrote. Where its trace is on another host, that is the error. */
gboolean lttng_run_read_unread(const gchar *path, const gchar *target, GError **error);

#endif
