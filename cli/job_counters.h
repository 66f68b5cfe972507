/* job_counters: which hardware counters `tacho record` has counted, and how its options for them become the environment of the job. */
#ifndef JOB_COUNTERS_H
#define JOB_COUNTERS_H

#include <glib.h>

typedef struct {
	gchar *sampled; /* --counters: NAME,NAME... or "default"; NULL: none */
	gint every_us;	/* --counters-every */
	gchar *kernels; /* --kernel-counters: as `sampled` */
} JobCounters;

#define JOB_COUNTERS_EVERY_US 1000

void job_counters_release(JobCounters *counters);

/* FALSE: said why not. `has_cuda`, `has_rocprofiler`: these probes are used. */
gboolean job_counters_check(const JobCounters *counters, gboolean has_cuda,
			    gboolean has_rocprofiler);

/* The environment, which is taken, with what the probe is told. */
gchar **job_counters_environment(const JobCounters *counters, gchar **environment);

#endif
