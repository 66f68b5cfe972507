/* job_parts: whether runs are parts of one job, and what of the job they are, by what their processes say of themselves:
 * no record is read. */
#ifndef TACHO_JOB_PARTS_H
#define TACHO_JOB_PARTS_H

#include <tacho/timeline.h>

typedef struct job_parts {
	guint n_processes, n_hosts, n_ranks;
	gint64 world_size; /* -1: not known */
	gchar *missing; /* ranks that are in none, "3, 5-7"; NULL: none is, or it is not known how many there are */
} JobParts;

/* Look at the runs at `paths`. TACHO_TIMELINE_ERROR_NOT_A_RUN: they are no one job's, or seem not to be, as the message says
 * of two (one_job.h). `ret` is released in any case. */
gboolean job_parts_look(const gchar *const *paths, guint n_paths, JobParts *ret, GError **error);
void job_parts_release(JobParts *parts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(JobParts, job_parts_release)

#endif
