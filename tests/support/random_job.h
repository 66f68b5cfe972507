/* random_job: a job that chance draws, while it is written as a timeline's text (random_jobs.h). */
#ifndef TACHO_RANDOM_JOB_H
#define TACHO_RANDOM_JOB_H

#include <glib.h>

enum { MAX_RANKS = 4, MAX_STREAMS = 3, MAX_WORKERS = 2 };

/* What a rank has written so far, by track, and what it is at. */
struct random_rank {
	GString *main, *side, *io, *workers[MAX_WORKERS], *streams[MAX_STREAMS];
	gint now_us;
	gint worker_free_us[MAX_WORKERS];
	gint stream_free_us[MAX_STREAMS];   /* when all is over that it was given ... */
	guint stream_last[MAX_STREAMS];	    /* ... and the number of the last of it; 0: none */
	gchar last_kernel[MAX_STREAMS][24]; /* "": that is none */
	gint engine_free_us[2];
};

struct random_job {
	GRand *random;
	guint n_ranks, n_hosts, n_steps, n_streams, n_things;
	gboolean is_slow; /* its microseconds are milliseconds */
	gboolean has_thread, has_copies, has_told, has_engines, has_messages, is_cut;
	struct random_rank ranks[MAX_RANKS];
};

/* Draw what the job is like; random_job_end() gives the whole text, to be freed with g_free(). */
void random_job_init(struct random_job *job, guint32 seed);
gchar *random_job_end(struct random_job *job);

/* From 0 to `most`. */
gint random_job_draw(struct random_job *job, gint most);
gboolean random_job_chance(struct random_job *job, gint one_of);

void random_job_op(GString *track, const gchar *name, gint begin_us, gint end_us,
		   const gchar *more);
/* Each rank's step is over, which began then. Of some jobs, the last rank is not seen to end the last step. */
void random_job_end_step(struct random_job *job, guint step, const gint *begin_us);
/* An operation of the main thread, perhaps with a kernel in it and a pause after it. */
void random_job_compute(struct random_job *job, struct random_rank *rank, const gchar *name);
/* A collective of the first `n_ranks` ranks, which have queued it; it is over some microseconds after the last has come. */
void random_job_reduce(struct random_job *job, const gchar *name, guint group, guint n_ranks,
		       guint bytes, const gint *queued_us, gint *over_us);
/* A call of the rank's thread, that its thing of the number launched or waited by; returns when it began. */
gint random_job_call(struct random_job *job, struct random_rank *rank, const gchar *name,
		     gint lasts_us);
/* What a stream does for the last call; returns when it is over. */
gint random_job_work(struct random_job *job, struct random_rank *rank, guint stream,
		     const gchar *call, const gchar *what, gint begin_us, gint lasts_us);

/* One job each, to be freed with g_free(). */
gchar *random_hosts_text(guint32 seed);
gchar *random_devices_text(guint32 seed);
gchar *random_contention_text(guint32 seed);
gchar *random_messages_text(guint32 seed);
gchar *random_hops_text(guint32 seed);

#endif
