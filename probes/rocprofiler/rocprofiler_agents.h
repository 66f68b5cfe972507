/* rocprofiler_agents: the devices: GPUs are numbered from 0 in the order in which rocprofiler-sdk tells of them, as HIP numbers those that are visible. */
#ifndef TACHO_ROCPROFILER_AGENTS_H
#define TACHO_ROCPROFILER_AGENTS_H

#include "rocprofiler/rocprofiler_library.h"

void rocp_agents_find(const struct rocp *rocp);
/* A record DEVICE for each. */
void rocp_agents_tell(void);
int rocp_agent_n_devices(void);
rocp_handle rocp_agent_handle(int device);
/* -1: a CPU, or not known. */
int rocp_agent_device(rocp_handle agent);

#endif
