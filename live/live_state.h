/* live_state: what the jobs of this host were at the last look, as the texts that a server answers with.
 *
 * (1) A state never changes once it is made: a new look makes a new one. So who answers a slow client holds nobody up.
 * (2) Series are bounded: live_series.h (1).
 * (3) Most of what is told of a job are its steps. They become a text when somebody asks for it, and are the state's before until
 *     the job was read again. */
#ifndef TACHO_LIVE_STATE_H
#define TACHO_LIVE_STATE_H

#include <tacho/live.h>

#include "live/fleet.h"
#include "live/live_series.h"

typedef struct {
	gint n_users;
	gchar *jobs, *own_jobs;	      /* JSON; `own`: without those of other hosts */
	gchar *metrics, *own_metrics; /* as Prometheus reads them */
	gchar *hosts;		      /* JSON */
	GHashTable *job;	      /* id -> struct job_state */
} LiveState;

/* `host` is called so, and these are its jobs; `own` are their series, and `all` those of the fleet as well. `fleet` may be NULL: then `all`
 * are `own`. `before`: the state of the look before, or NULL. */
LiveState *live_state_new(const TachoJobs *jobs, const gchar *host, const LiveSeries *own,
			  const LiveSeries *all, Fleet *fleet, const LiveState *before);
/* The job of that id as JSON; NULL: there is none. The caller's. */
gchar *live_state_job(const LiveState *state, guint id);
LiveState *live_state_ref(LiveState *state);
void live_state_unref(LiveState *state);

#endif
