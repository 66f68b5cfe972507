/* import: open any trace there is: tacho's own runs, and what other tools write. */
#ifndef TACHO_IMPORT_H
#define TACHO_IMPORT_H

#include <tacho/peers.h>
#include <tacho/table.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

#define TACHO_IMPORT_ERROR tacho_import_error_quark()
GQuark tacho_import_error_quark(void);
typedef enum {
	TACHO_IMPORT_ERROR_UNKNOWN_FORMAT, /* the message lists what was tried */
	TACHO_IMPORT_ERROR_MIXED,	   /* traces that cannot be one run */
	TACHO_IMPORT_ERROR_FORMAT,	   /* broken beyond repair */
	TACHO_IMPORT_ERROR_TRUNCATED,
	TACHO_IMPORT_ERROR_IO,
	TACHO_IMPORT_ERROR_MEMORY,
} TachoImportError;

/* Told now and then how much has been read, 0 to 1, by any thread, one at a time. */
typedef void (*TachoImportProgress)(gdouble done, gpointer data);

/* Read the traces at `paths` into one timeline, without correlating anything. Each is a run directory, a
 * file that another tool wrote, or a folder of such files, one a rank; what they are is told by what is
 * in them, compressed or not, not by their names. Ranks are as the traces say, else as the files' names
 * say. What is broken but can be worked around becomes a problem of the timeline; an error is for what
 * cannot, and names file and byte offset. `progress` may be NULL.
 * The result is the caller's, to end with tacho_timeline_free(). */
TachoTimeline *tacho_run_open(const gchar *const *paths, guint n_paths,
			      TachoImportProgress progress, gpointer progress_data, GError **error);

/* The same for one of several processes that make a report together: the threads of the ranks that this one owns are read
 * whole, of the others' only what ranks do with each other. All processes give the same paths. NULL for `peers`: as above. They
 * outlive the timeline. TACHO_IMPORT_ERROR_MIXED: of other tools' traces none can be shared out. */
TachoTimeline *tacho_run_open_share(const gchar *const *paths, guint n_paths, TachoPeers *peers,
				    TachoImportProgress progress, gpointer progress_data,
				    GError **error);

/* Whether the trace in `folder`, which is made as those in a run are (docs/trace-format.md), can be laid into the run of
 * tacho's at `run`; neither is changed. *ret_n_added: slices that it would bring; *ret_n_same: those that the run has
 * already. TACHO_IMPORT_ERROR_MIXED: it is of another run, or its times cannot be told. */
gboolean tacho_run_try_trace(const gchar *run, const gchar *folder, guint64 *ret_n_added,
			     guint64 *ret_n_same, GError **error);

/* Make the folders of processes in the run at `path` of what LTTng has recorded of it (tacho record --engine lttng), so that it is a
 * run as any. TACHO_IMPORT_ERROR_FORMAT: LTTng wrote nothing of any process, or elsewhere; _IO. */
gboolean tacho_run_settle_lttng(const gchar *path, GError **error);

/* The formats there are: "format", "title", "files". To be freed with tacho_table_free(). */
TachoTable *tacho_import_list(void);

G_END_DECLS

#endif
