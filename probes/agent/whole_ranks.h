/* whole_ranks: which ranks are recorded whole (tacho record --ranks); of the others steps, regions and collectives. */
#ifndef TACHO_AGENT_WHOLE_RANKS_H
#define TACHO_AGENT_WHOLE_RANKS_H

#include <stdint.h>

#include "agent/settings.h"

/* Where the launcher has given this process a rank that is not to be recorded whole, that begins at once. Before the first
 * probe is loaded, and after streams_configure(). */
void whole_ranks_configure(const struct agent_settings *settings);

/* The program has told its rank; one that a launcher gave counts before it. */
void whole_ranks_told(int64_t rank);

#endif
