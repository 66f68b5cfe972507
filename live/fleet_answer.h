/* fleet_answer: what another host's `tacho serve` answers, read and written anew (fleet.h (2)). */
#ifndef TACHO_FLEET_ANSWER_H
#define TACHO_FLEET_ANSWER_H

#include "live/live_series.h"

/* The jobs of a host. */
typedef struct {
	gchar *rows;	    /* JSON objects, each with a comma before it */
	gchar *silent_rows; /* the same, with "silent" for their state */
	GArray *ids;	    /* guint, of rows, ascending: as the host has them */
	guint n_left_out;   /* beyond LIVE_MAX_JOBS */
} FleetJobs;

/* Read `/api/jobs` of a host that is called `host` and has ids from `first_id` on. NULL: it is no such answer. */
FleetJobs *fleet_jobs_read(const gchar *bytes, gsize n, const gchar *host, guint first_id);
void fleet_jobs_free(FleetJobs *jobs);

/* Read `/api/jobs/ID` and write it anew, with this id and host. NULL: it is no such answer. The caller's. */
gchar *fleet_job_read(const gchar *bytes, gsize n, const gchar *host, guint id);

/* Read `/metrics` and add the series of jobs and ranks to `series`; lines that are none of these are passed over. */
void fleet_metrics_read(const gchar *text, const gchar *host, guint first_id, LiveSeries *series);

#endif
