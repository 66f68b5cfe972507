/* execution_schedule: begins for nodes that tell how long they took, and what they depend on, but not when
 * they ran. */
#ifndef TACHO_EXECUTION_SCHEDULE_H
#define TACHO_EXECUTION_SCHEDULE_H

#include "import/execution/execution_trace.h"

/* Give each node of the sorted trace the earliest begin there is: its data dependencies have ended, and the thread
 * or stream it is on is free; of several that could begin there, the one with the least id does. This is
 * the order in which Chakra's feeder issues nodes. Those in a circle of dependencies, or behind one, come
 * last; returns how many. */
guint32 execution_schedule(struct execution_trace *trace);

#endif
