/* rocm_agent: a GPU, as ROCm's tools describe the agents of a machine. CSV, JSON and databases have the same words for what
 * an agent has, in upper or lower case: those of rocprofiler_agent_t (rocprofiler-sdk/agent.h). */
#ifndef TACHO_ROCM_AGENT_H
#define TACHO_ROCM_AGENT_H

#include <tacho/timeline.h>

#include "import/read/json_scan.h"

/* Begin to gather what is told of the GPU of that number. */
void rocm_agent_init(TachoDevice *agent, gint64 number);
/* A number or a text that is told of it; words that nothing here knows are passed over. */
void rocm_agent_number(TachoDevice *agent, const gchar *word, gsize n, gint64 value);
void rocm_agent_text(TachoDevice *agent, TachoTimeline *timeline, const gchar *word, gsize n,
		     const gchar *value);
/* The same of the value of a member, which the scan is at. */
void rocm_agent_member(TachoDevice *agent, TachoTimeline *timeline, const struct json_text *key,
		       struct json_scan *scan);
/* Add it to the processes that used it (used_devices.h). */
void rocm_agents_add(TachoTimeline *timeline, guint32 first_process, const GArray *agents);

#endif
