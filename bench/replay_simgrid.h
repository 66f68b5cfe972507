/* replay_simgrid: SimGrid beside a replay, on the same graph in the same run. */
#ifndef TACHO_REPLAY_SIMGRID_H
#define TACHO_REPLAY_SIMGRID_H

#include "job_graph.h"

/* Print nodes a second of both, and by how much the ends of what they played differ. */
void replay_beside_simgrid(const gchar *what, const struct job_shape *shape);

#endif
