/* live_state: what the jobs of this host were at the last look, as the texts that a server answers with.
 *
 * (1) A state never changes once it is made: a new look makes a new one. So who answers a slow client holds nobody up.
 * (2) Texts are bounded: LIVE_MAX_JOBS jobs and LIVE_MAX_RANKS ranks of each have series of their own, the rest are counted. */
#ifndef TACHO_LIVE_STATE_H
#define TACHO_LIVE_STATE_H

#include <tacho/live.h>

#define LIVE_MAX_JOBS  64
#define LIVE_MAX_RANKS 64

typedef struct {
	gint n_users;
	gchar *jobs;	 /* JSON */
	gchar *metrics;	 /* as Prometheus reads them */
	GHashTable *job; /* id -> JSON */
} LiveState;

LiveState *live_state_new(const TachoJobs *jobs);
LiveState *live_state_ref(LiveState *state);
void live_state_unref(LiveState *state);

/* The series of all jobs, in Prometheus's text format. The caller's. */
gchar *live_metrics_text(const TachoJobs *jobs);

#endif
