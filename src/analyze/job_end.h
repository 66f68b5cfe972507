/* job_end: how the job ended, as far as anybody saw it.
 *
 * (1) The job's own end is what `tacho record` saw of what it started; where several of these failed, that of the
 *     first, for the others were ended because of it.
 * (2) Beside it stand the ranks that failed: what was started as a rank, or the process of the rank that trains.
 *     Others (workers of a data loader) come and go as the job likes.
 * (3) Traces of other tools do not tell how a job ended: of these nothing is said. */
#ifndef TACHO_JOB_END_H
#define TACHO_JOB_END_H

#include <tacho/table.h>
#include <tacho/timeline.h>

struct job_end {
	gboolean is_known;    /* all that was started has been seen to end */
	gint64 exit;	      /* as Python has it: the exit status, or the signal with a minus */
	TachoTable *failures; /* "failures": rank, pid, end, exit, ended; the first to fail first */
};

/* End with job_end_release(). */
void job_end_init(struct job_end *end, const TachoTimeline *timeline);
void job_end_release(struct job_end *end);

/* "The job ended with exit status 1 (rank 1: signal 9, SIGKILL).", the caller's; NULL: nothing failed. */
gchar *job_end_text(const struct job_end *end);

/* "exit status 3", "signal 9 (SIGKILL)", "ended without a word"; the caller's. */
gchar *process_end_words(TachoEnd end, gint32 exit_status);

#endif
