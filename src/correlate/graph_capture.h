/* graph_capture: which call made the node of a graph that a device works for. */
#ifndef TACHO_GRAPH_CAPTURE_H
#define TACHO_GRAPH_CAPTURE_H

#include "correlate/thread_index.h"

/* Complete timeline->graph_work. Its rows are sorted by slice before and after. */
void link_graph_work(TachoTimeline *timeline, const struct thread_index *threads);

#endif
