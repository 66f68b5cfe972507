/* run_reader: from run directories to a timeline. */
#ifndef TACHO_RUN_READER_H
#define TACHO_RUN_READER_H

#include <tacho/peers.h>
#include <tacho/timeline.h>

#include "trace/run_window.h"

struct run_notes;

/* As tacho_timeline_open(). `peers`: the processes that read the run together, each its share (run_share.h), which outlive the
 * timeline; NULL: this one reads all. `is_guess`: the user has not named the runs one by one, so nobody says that they are of one
 * job: what speaks against it is an error then, and not only what excludes it. `notes`, initialised, are filled; NULL:
 * nobody asks. */
TachoTimeline *run_reader_open(const gchar *const *paths, guint n_paths, TachoPeers *peers,
			       gboolean is_guess, struct run_notes *notes, GError **error);
/* What a window of a run holds (run_window.h); its strings are in the timeline, to be given back. */
TachoTimeline *run_reader_open_window(RunWindow *window, GError **error);

#endif
