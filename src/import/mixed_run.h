/* mixed_run: other tools' traces laid beside what a run's own processes recorded, as one timeline on the run's clock.
 *
 * (1) A process of a trace that is a process of the run is one row: it has the pid and the host, or else the rank, that the
 *     trace tells, or trace.ini. Of threads with one id, too. Else it is a process of its own.
 * (2) Times since 1970 are CLOCK_REALTIME, and times since the machine's start CLOCK_MONOTONIC. The run's processes read both
 *     about once a second, so each such time is a time of the run's clock, whatever the clocks did meanwhile. Times of neither
 *     cannot be laid into the run.
 * (3) What both recorded counts once: same_records.h, and of collectives inner_collectives.h.
 * (4) Processes that are none of the run's have the clock of their host, and the ranks that the trace tells.
 *
 * docs/decisions/0024-mixed-runs.md says why. */
#ifndef TACHO_MIXED_RUN_H
#define TACHO_MIXED_RUN_H

#include <tacho/timeline.h>

struct added_trace;
struct run_notes;

typedef struct mixed_run MixedRun;

/* Begin with a run, as run_reader_open() gave it, and its notes: both live at least as long. */
MixedRun *mixed_run_new(TachoTimeline *run, const struct run_notes *notes);
void mixed_run_free(MixedRun *mixed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MixedRun, mixed_run_free)

/* Slices of a trace that came to the run's, and those that the run had already. */
struct mixed_counts {
	guint64 n_added, n_same;
};

/* Lay in a trace, which is taken over, also on failure. TACHO_IMPORT_ERROR_MIXED: (2), or it is of no process of the run,
 * where trace.ini or the trace names one. */
gboolean mixed_run_add(MixedRun *mixed, const struct added_trace *added, TachoTimeline *trace,
		       struct mixed_counts *ret_counts, GError **error);
/* Make the run whole again: the timeline holds what timeline.h promises. Once, after the last trace. */
void mixed_run_finish(MixedRun *mixed);

#endif
