/* steps: which training steps are recorded. */
#ifndef TACHO_AGENT_STEPS_H
#define TACHO_AGENT_STEPS_H

#include "agent/settings.h"

/* Read what was asked for; recording is switched off at once where step 0 is not wanted. Before the
 * first probe is loaded. */
void steps_configure(const struct agent_settings *settings);

#endif
