/* run_losses: what a run's own file `losses` tells: processes and records that could not be recorded at all
 * (docs/trace-format.md). */
#ifndef TACHO_RUN_LOSSES_H
#define TACHO_RUN_LOSSES_H

#include <tacho/timeline.h>

#include "trace/run_paths.h"

/* Add a problem for each line: "lost_records" where it counts records, else "unrecorded_process". */
void run_losses_add_problems(TachoTimeline *timeline, const struct run_paths *paths);

/* How many lines there are in the run at `path`. */
guint run_losses_count(const gchar *path);

#endif
