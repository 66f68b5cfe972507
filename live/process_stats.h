/* process_stats: what the kernel tells of the ranks' processes that run on this host, from one look to the next. */
#ifndef TACHO_PROCESS_STATS_H
#define TACHO_PROCESS_STATS_H

#include <tacho/live.h>

typedef struct _ProcessStats ProcessStats;

ProcessStats *process_stats_new(void);
void process_stats_free(ProcessStats *stats);
/* Fill in anonymous_bytes, delayed_share and state of each TachoLiveRank, unless that was done less than a second ago. */
void process_stats_look(ProcessStats *stats, GArray *ranks);

#endif
