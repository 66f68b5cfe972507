/* attach: recording begins, and ends, in a process that runs. `tacho attach` and `tacho stop` have a thread in the process
 * call tacho_attach() (trace/attach_layout.h; docs/decisions/0039 says how it comes there).
 *
 *   not there --dlopen, start--> attached --stop--> stopped --start--> attached ...
 *   preloaded, TACHO_LATER=1 --start--> recording --stop--> stopped
 *
 * (1) What is loaded stays loaded: a thread of the job may be in it.
 * (2) After a stop no call of the job leads to a probe, and no thread, descriptor or mapping of a recording is left; those
 *     handlers stay that cannot be taken back (fork, exit), and do nothing.
 * (3) One asks at a time. */
#ifndef TACHO_AGENT_ATTACH_H
#define TACHO_AGENT_ATTACH_H

#include <stdbool.h>

#include "common/probe.h"
#include "trace/attach_layout.h"

struct agent_settings;

extern TACHO_EXPORT struct attach_state tacho_attach_state;

/* The agent was preloaded and records, or will later. */
void attach_note_preloaded(const struct agent_settings *settings);

/* The last step asked for has ended. */
void attach_note_past_steps(void);

/* Call those of tacho_watch_attached(). */
void attach_watch_tell(bool is_attached);

/* Have the streams, the handlers and the probes that the agent loads itself as the settings say. In agent.c. False: the
 * settings cannot be used. */
bool agent_start(const struct agent_settings *settings);

#endif
