/* top_screen: the jobs of this host on a terminal, drawn again and again: what `tacho top` shows. */
#ifndef TACHO_TOP_SCREEN_H
#define TACHO_TOP_SCREEN_H

#include <tacho/live.h>

/* What the user may have done to a job. */
typedef enum { TACHO_TOP_STOP, TACHO_TOP_START } TachoTopAction;
/* Stop recording the job, or record it again; returns what has come of it, a sentence, the caller's. */
typedef gchar *(*TachoTopDo)(const TachoJob *job, TachoTopAction action);

/* Show `jobs` until the user leaves, or `is_interrupted` says so; look at them every `interval_ms`. False: the terminal
 * cannot show it. */
gboolean tacho_top_run(TachoJobs *jobs, guint interval_ms, gboolean (*is_interrupted)(void),
		       TachoTopDo act);

#endif
