/* top_screen: the jobs of this host on a terminal, drawn again and again: what `tacho top` shows. */
#ifndef TACHO_TOP_SCREEN_H
#define TACHO_TOP_SCREEN_H

#include <tacho/live.h>

/* Show `jobs` until the user leaves, or `is_interrupted` says so; look at them every `interval_ms`. False: the terminal
 * cannot show it. */
gboolean tacho_top_run(TachoJobs *jobs, guint interval_ms, gboolean (*is_interrupted)(void));

#endif
