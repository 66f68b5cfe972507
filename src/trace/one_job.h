/* one_job: whether several runs are of one job: its ranks, recorded each by a `tacho record` of its own, and copied
 * together. Runs that are not would make a timeline of nothing that ever was.
 *
 * (1) Never of one job: two runs that hold one process's trace or one rank, that say different world sizes, or of
 *     which, on one clock, one had ended before the other began.
 * (2) Hardly of one job: runs of jobs with different names, of which only some know their ranks, or that were far apart
 *     on clocks of different machines. It is an error where nobody has named the runs one by one; else the user's
 *     word goes, and the timeline has the problem "other_job".
 * (3) A rank may end before another begins, where it failed at once: within ONE_JOB_SLACK_NS, and on clocks of different
 *     machines, that nobody may ever have set, within ONE_JOB_CLOCK_SLACK_NS. Runs without ranks have to overlap.
 * (4) Times of runs are compared as their clocks tell them, before any alignment.
 * (5) Traces of single processes that were named, and are in one folder, are one run. */
#ifndef TACHO_ONE_JOB_H
#define TACHO_ONE_JOB_H

#include <tacho/timeline.h>

struct run_paths;

#define ONE_JOB_SLACK_NS       (60 * G_GINT64_CONSTANT(1000000000))
#define ONE_JOB_CLOCK_SLACK_NS (600 * G_GINT64_CONSTANT(1000000000))

/* What the processes (struct process_input) say of themselves; before anything of them was read.
 * TACHO_TIMELINE_ERROR_NOT_A_RUN: they are no one job's, as the message says of two. */
gboolean one_job_check_names(TachoTimeline *timeline, const struct run_paths *paths,
			     const GArray *processes, gboolean is_guess, GError **error);
/* The same of when they were, when their streams were read. */
gboolean one_job_check_times(TachoTimeline *timeline, const struct run_paths *paths,
			     const GArray *processes, gboolean is_guess, GError **error);
/* Report runs that are empty or not at their end, where there are several, as problems. `processes` are those of
 * which there is a record. */
void one_job_add_problems(TachoTimeline *timeline, const struct run_paths *paths,
			  const GArray *processes);

#endif
