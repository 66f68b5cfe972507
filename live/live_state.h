/* live_state: what the jobs of this host were at the last look, as the texts that a server answers with.
 *
 * (1) A state never changes once it is made: a new look makes a new one. So who answers a slow client holds nobody up.
 * (2) Series are bounded: live_series.h (1). */
#ifndef TACHO_LIVE_STATE_H
#define TACHO_LIVE_STATE_H

#include <tacho/live.h>

#include "live/live_series.h"

typedef struct {
	gint n_users;
	gchar *jobs;	 /* JSON */
	gchar *metrics;	 /* as Prometheus reads them */
	GHashTable *job; /* id -> JSON */
} LiveState;

/* `series` are those of the jobs. */
LiveState *live_state_new(const TachoJobs *jobs, const LiveSeries *series);
LiveState *live_state_ref(LiveState *state);
void live_state_unref(LiveState *state);

#endif
