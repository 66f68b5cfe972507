/* execution_link: find an execution trace's nodes among what was measured of the same process, and give those
 * slices what the nodes know: tensors with their identity, process groups, dependencies.
 *
 * The same operation has numbers in both traces. Tried in this order, each judged by how many names agree:
 *
 * (1) the same "Record function id";
 * (2) an "External id" that is a constant more: profilers and observers begin to count at different times;
 * (3) no common numbers: the measured trace has other iterations of the program. Then each thread's
 *     operations are looked for, in their order, in a thread that did the same. Flows are inferred then. */
#ifndef TACHO_EXECUTION_LINK_H
#define TACHO_EXECUTION_LINK_H

#include "import/execution/execution_trace.h"

/* Link the sorted trace, and take it over. False: nothing that was measured is of this process; the trace stays
 * the caller's. */
gboolean execution_link(struct import *import, struct execution_trace *trace);

#endif
