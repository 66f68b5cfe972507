/* flow_records: FLOW records as flows of the timeline. Each names the slice that its thread was in, and the flow by its
 * class's name and a number, which is the process's own or the whole run's. */
#ifndef TACHO_FLOW_RECORDS_H
#define TACHO_FLOW_RECORDS_H

#include <tacho/timeline.h>

struct process_input;

/* Add the flows of `inputs` (struct process_input, one for each of the timeline's processes), whose slices are there already;
 * ends that have no begin, or lie in no slice, become a problem. */
void flow_records_join(TachoTimeline *timeline, const GArray *inputs);

#endif
