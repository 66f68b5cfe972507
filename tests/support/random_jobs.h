/* random_jobs: jobs of all kinds that chance has drawn, as timelines' text (timeline_text.h): data-parallel hosts with buckets,
 * copies and threads of autograd; devices with streams, events, copies and graphs of kernels; messages; collectives hop by hop;
 * computing that bytes slow down. Their times are small whole microseconds, so that things often happen at one moment. They are
 * the same in every run. */
#ifndef TACHO_RANDOM_JOBS_H
#define TACHO_RANDOM_JOBS_H

#include <glib.h>

/* At most so many of each kind: struct made_up_job (property_jobs.h); to be freed with g_ptr_array_unref(). */
GPtrArray *random_jobs(guint n_of_a_kind);

#endif
