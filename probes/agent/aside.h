/* aside: what the agent itself asks of the stack that tacho_run_aside() keeps (aside.c). */
#ifndef TACHO_AGENT_ASIDE_H
#define TACHO_AGENT_ASIDE_H

/* Give back the stack that is kept for the next who needs one. */
void aside_release(void);

#endif
