/* synthetic_job: data-parallel jobs whose schedule is known: what a step takes with any buckets follows from a few lines, and a recording of
 * the job with one choice of buckets can be made, by clocks that are wrong.
 *
 * The job: each rank computes forward, then backward, in which a gradient comes now and then; a bucket is queued when its last gradient is
 * there, and those before it are; one worker sends buckets in turn, each once all ranks have queued it, in fixed_ns and ns_per_byte; when
 * all are there, the update follows. */
#ifndef TACHO_SYNTHETIC_JOB_H
#define TACHO_SYNTHETIC_JOB_H

#include <glib.h>

#define SYNTHETIC_MODELS 3 /* "ResNet50", "VGG16", "BERT" */

struct synthetic_job {
	const gchar *model; /* static */
	guint32 n;	    /* gradients, in the order in which they come */
	guint64 *bytes;
	gdouble *backward_ns; /* between the gradient before and this one */
	gdouble forward_ns, update_ns;
	guint32 n_ranks, ranks_per_host, n_steps;
	gdouble fixed_ns, ns_per_byte; /* of a bucket */
	gdouble jitter;		       /* each piece takes up to this share more or less */
	gdouble offset_ns, drift;      /* clocks of hosts are wrong by up to that much */
	guint64 seed;
};

/* One of the models, of two ranks on two hosts, with clocks that are right, no chance, and three steps. */
void synthetic_job_init(struct synthetic_job *job, guint model);
void synthetic_job_release(struct synthetic_job *job);

/* Ends of buckets by DistributedDataParallel's rule; returns how many. `ends` has room for n. */
guint32 synthetic_job_caps(const struct synthetic_job *job, guint64 first_bytes, guint64 cap_bytes,
			   guint32 *ends);
/* Ends of `n_buckets` buckets of about as many gradients each. */
guint32 synthetic_job_even(const struct synthetic_job *job, guint32 n_buckets, guint32 *ends);

/* The median step with these buckets, ns. */
gdouble synthetic_job_step_ns(const struct synthetic_job *job, const guint32 *ends,
			      guint32 n_buckets);
/* The recording with these buckets, for timeline_from_text(); the caller's. */
gchar *synthetic_job_text(const struct synthetic_job *job, const guint32 *ends, guint32 n_buckets);

#endif
