#include "rocprofiler/rocprofiler_agents.h"

#include <string.h>

#include "common/activity.h"

#define N_DEVICES 64

static struct {
	rocp_handle agent;
	const struct rocp_agent *description; /* rocprofiler-sdk's, which stays */
} devices[N_DEVICES];
static int n_devices;

static int add_agents(int32_t version, const void **agents, size_t n, void *unused)
{
	(void)unused;
	for (size_t i = 0; version == ROCP_AGENT_VERSION && i < n; i++) {
		const struct rocp_agent *agent = agents[i];

		if (agent->type != ROCP_AGENT_GPU || n_devices == N_DEVICES ||
		    agent->size < sizeof(*agent))
			continue;
		devices[n_devices].agent = agent->id;
		devices[n_devices++].description = agent;
	}
	return ROCP_SUCCESS;
}

void rocp_agents_find(const struct rocp *rocp)
{
	n_devices = 0;
	rocp->query_available_agents(ROCP_AGENT_VERSION, add_agents, sizeof(struct rocp_agent),
				     NULL);
}

void rocp_agents_tell(void)
{
	for (int i = 0; i < n_devices; i++) {
		const struct rocp_agent *agent = devices[i].description;
		const char *architecture = agent->name ? agent->name : "";
		const char *name =
			agent->product && *agent->product ? agent->product : architecture;
		struct record_device device = {
			.device = i,
			.n_multiprocessors = agent->n_compute_units,
			.warp_threads = agent->wave_threads,
			.block_threads = agent->workgroup_max,
			.memory_bytes = agent->local_bytes,
			.clock_hz = (uint64_t)agent->clock_mhz * 1000000,
			.block_shared_bytes = (uint64_t)agent->lds_kilobytes << 10,
		};

		tacho_device(tacho_class(TRACE_KIND_DEVICE, name, strlen(name)), &device,
			     architecture);
	}
}

int rocp_agent_n_devices(void)
{
	return n_devices;
}

rocp_handle rocp_agent_handle(int device)
{
	return devices[device].agent;
}

int rocp_agent_device(rocp_handle agent)
{
	for (int i = 0; i < n_devices; i++)
		if (devices[i].agent == agent)
			return i;
	return -1;
}
