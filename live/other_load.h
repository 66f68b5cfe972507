/* other_load: which processes of this host, other than a job's, use its cores. */
#ifndef TACHO_OTHER_LOAD_H
#define TACHO_OTHER_LOAD_H

#include <tacho/live.h>

typedef struct _OtherLoad OtherLoad;

OtherLoad *other_load_new(void);
void other_load_free(OtherLoad *load);
/* Note what all processes have used so far, some seconds apart. `ranks` (TachoLiveRank) are the job's. */
void other_load_look(OtherLoad *load, const GArray *ranks);
/* "process 17 (stress) used 98 % of a core"; NULL: none used much. The caller's. */
gchar *other_load_tell(const OtherLoad *load);

#endif
