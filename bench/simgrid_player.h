/* simgrid_player: work that depends on other work, played by SimGrid, whose interface is C++ (its C one has no
 * communication between hosts that no actor is on). Built where libsimgrid-dev is installed. */
#ifndef TACHO_SIMGRID_PLAYER_H
#define TACHO_SIMGRID_PLAYER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a node runs, if not on a rank (0, 1, 2 ...). */
#define SIMGRID_ON_WIRE UINT32_MAX	 /* shared evenly by those on it */
#define SIMGRID_NOWHERE (UINT32_MAX - 1) /* takes no time */

struct simgrid_work {
	uint32_t n_nodes, n_edges, n_ranks;
	uint32_t n_cores; /* shared by all ranks; 0: each has its own */
	const int64_t *duration_ns;
	const uint32_t *place;	   /* of each node; those on a rank stand in its order */
	const uint32_t *from, *to; /* of each edge */
};

struct simgrid_times {
	double play_s; /* wall clock */
	double end_ns; /* simulated: when all was done, from the begin */
};

/* SimGrid is one a process, and its machine is that of the first call: later ones must have as many ranks
 * and cores. */
struct simgrid_times simgrid_play(const struct simgrid_work *work);

#ifdef __cplusplus
}
#endif

#endif
