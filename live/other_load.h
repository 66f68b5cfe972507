/* other_load: which processes of this host, other than a job's, use its cores. All jobs that are looked at share one. */
#ifndef TACHO_OTHER_LOAD_H
#define TACHO_OTHER_LOAD_H

#include <tacho/live.h>

typedef struct _OtherLoad OtherLoad;

OtherLoad *other_load_new(void);
OtherLoad *other_load_ref(OtherLoad *load);
void other_load_unref(OtherLoad *load);
/* Note what all processes have used so far, unless that was done in the last two seconds. */
void other_load_look(OtherLoad *load);
/* "process 17 (stress) used 98 % of a core", of those that are not the job's, whose `ranks` (TachoLiveRank) these are; NULL: none
 * used much. The caller's. */
gchar *other_load_tell(const OtherLoad *load, const GArray *ranks);

#endif
