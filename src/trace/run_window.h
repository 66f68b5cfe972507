/* run_window: the part of a run that is still of interest while the run is being written: the newest records of every
 * stream, from a cut on that its user moves, and of what is older only what still counts.
 *
 *     run_window_grow() --> run_window_open() --> a timeline of the window --> run_window_close() --> run_window_cut()
 *           ^                                                                                              |
 *           '----------------------------------------------------------------------------------------------'
 *
 * (1) Behind the cut of its process a record is in the window. Before it are those only that say who somebody is (threads,
 *     ranks, process groups, devices, costs), and slices that had not ended there.
 * (2) What the window takes in memory goes by what was recorded since the cuts, not by what was recorded in all. A stream
 *     that ever was keeps some hundred bytes.
 * (3) complete_ns: all that was stamped before has been taken in. It is the last stamp of the look before: what was stamped
 *     then has been written by now.
 * (4) Strings keep their numbers from one timeline of a window to the next, records their number for good.
 *
 * A timeline of a window is to be given back before the window grows or is cut again. */
#ifndef TACHO_RUN_WINDOW_H
#define TACHO_RUN_WINDOW_H

#include <tacho/timeline.h>

struct process_window;
struct trace_metadata;

typedef struct _RunWindow RunWindow;

RunWindow *run_window_new(const gchar *const *paths, guint n_paths);
void run_window_free(RunWindow *window);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunWindow, run_window_free)

/* Look what has been written, and take in about `budget_bytes` of it, the oldest first. `is_over`: nobody has been writing
 * since before the call. False where the run cannot be read, as tacho_timeline_open() says. */
gboolean run_window_grow(RunWindow *window, guint64 budget_bytes, gboolean is_over, GError **error);
/* How many bytes there are by now, in the files that are known, that were not taken in. */
guint64 run_window_waiting_bytes(const RunWindow *window);
/* Whether more had been written than was taken in. */
gboolean run_window_is_behind(const RunWindow *window);
/* Unix time: (3). G_MAXINT64: all there will ever be. */
gint64 run_window_complete_ns(const RunWindow *window);
/* Unix time of the last record taken in; 0: there is none. */
gint64 run_window_last_ns(const RunWindow *window);
/* Whether opening the window leaves out what is from behind complete_ns, and run_window_bytes() does. */
void run_window_limit(RunWindow *window, gboolean is_limited);
/* In the window now. */
guint64 run_window_bytes(const RunWindow *window);
/* All that was ever taken in. */
guint64 run_window_read_bytes(const RunWindow *window);

/* The window as a timeline, of which nothing is correlated. Times are since the first record of the run. */
TachoTimeline *run_window_open(RunWindow *window, GError **error);
void run_window_close(RunWindow *window, TachoTimeline *timeline);
/* The number of the record behind a `source` handle of the timeline that was opened last; 0: it is none of the run's. */
guint64 run_window_record(const RunWindow *window, guint64 handle);

/* Until the window grows or is opened again, its files take no memory. */
void run_window_rest(RunWindow *window);

/* Move the cut of the process whose trace is at `path` to `cut_unix_ns`, unless it is behind that already. */
void run_window_cut(RunWindow *window, const gchar *path, gint64 cut_unix_ns);
/* When the updates of the model ended that are in the window and are over, by what the trace at `path` says of them
 * ("Optimizer.step#..."), by time: gint64 Unix ns. NULL: that is not known before the window is opened. The caller's. */
GArray *run_window_list_updates(const RunWindow *window, const gchar *path);
/* All from the beginning again. */
void run_window_restart(RunWindow *window);

/* --- for run_reader.c: what to read of the trace at `path`, and what it has learned --- */

/* What to read of it, good until the window changes. False: nothing. */
gboolean run_window_borrow(RunWindow *window, const gchar *path,
			   struct process_window *ret_process);
const gchar *const *run_window_borrow_paths(const RunWindow *window, guint *ret_n);
/* Operations of the trace that were before the window. */
guint64 run_window_count_ops(const RunWindow *window, const gchar *path);
/* The run's first moment as far as it was known; G_MAXINT64: not yet. */
gint64 run_window_origin(const RunWindow *window);
void run_window_set_origin(RunWindow *window, gint64 origin_unix_ns);
/* Take over what the trace's metadata says by now. `metadata` is left empty. */
void run_window_take_metadata(RunWindow *window, const gchar *path,
			      struct trace_metadata *metadata);
/* `file` of the timeline's source is `name` of the trace at `path`. */
void run_window_tell_file(RunWindow *window, guint32 file, const gchar *file_path);
struct tacho_string_table *run_window_take_strings(RunWindow *window);
void run_window_give_strings(RunWindow *window, struct tacho_string_table *strings);

#endif
