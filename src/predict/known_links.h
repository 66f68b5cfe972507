/* known_links: what collectives take by a cost model, where the recording does not tell it itself. */
#ifndef TACHO_KNOWN_LINKS_H
#define TACHO_KNOWN_LINKS_H

#include <tacho/cost.h>
#include <tacho/graph.h>

/* Groups whose collectives are all of about one size, and of whose messages nothing was recorded, get the line of the model's collectives
 * among as many ranks: their transfers are parted into waits and bytes by it, and take as long as before in all. A note says so. */
void known_links_use(TachoGraph *graph, const TachoCostModel *costs);

#endif
