#include <stdio.h>
#include <string.h>

#include "common/activity.h"
#include "hsa/hsa_probe.h"

#define N_DEVICES 64
#define N_POOLS	  256

static struct {
	hsa_agent_t agent;
} devices[N_DEVICES];
static int n_devices;
static struct {
	uint64_t pool;
	int device;
} pools[N_POOLS];
static int n_pools;

int hsa_device_number(hsa_agent_t agent)
{
	for (int i = 0; i < n_devices; i++)
		if (devices[i].agent.handle == agent.handle)
			return i;
	return -1;
}

int hsa_pool_device(hsa_amd_memory_pool_t pool)
{
	for (int i = 0; i < n_pools; i++)
		if (pools[i].pool == pool.handle)
			return pools[i].device;
	return -1;
}

static hsa_status_t add_pool(hsa_amd_memory_pool_t pool, void *device)
{
	if (n_pools < N_POOLS) {
		pools[n_pools].pool = pool.handle;
		pools[n_pools++].device = *(int *)device;
	}
	return HSA_STATUS_SUCCESS;
}

static uint32_t ask(hsa_agent_t agent, int what)
{
	uint32_t value = 0;

	return hsa_core.hsa_agent_get_info(agent, (hsa_agent_info_t)what, &value) ==
			       HSA_STATUS_SUCCESS
		       ? value
		       : 0;
}

static void tell(hsa_agent_t agent, int number)
{
	struct record_device device = { .device = number };
	char name[64] = "", product[64] = "";

	hsa_core.hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
	hsa_core.hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME,
				    product);
	name[sizeof(name) - 1] = product[sizeof(product) - 1] = '\0';
	device.n_multiprocessors = ask(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
	device.warp_threads = ask(agent, HSA_AGENT_INFO_WAVEFRONT_SIZE);
	device.block_threads = ask(agent, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
	device.clock_hz = (uint64_t)ask(agent, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY) * 1000000;
	tacho_device(tacho_class(TRACE_KIND_DEVICE, *product ? product : name,
				 strlen(*product ? product : name)),
		     &device, name);
}

static hsa_status_t add_agent(hsa_agent_t agent, void *unused)
{
	hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
	int number = n_devices;

	(void)unused;
	if (hsa_core.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) !=
		    HSA_STATUS_SUCCESS ||
	    type == HSA_DEVICE_TYPE_CPU || n_devices == N_DEVICES)
		return HSA_STATUS_SUCCESS;
	devices[n_devices++].agent = agent;
	hsa_amd.hsa_amd_agent_iterate_memory_pools(agent, add_pool, &number);
	if (tacho_is_recording_all())
		tell(agent, number);
	return HSA_STATUS_SUCCESS;
}

void hsa_devices_find(void)
{
	n_devices = n_pools = 0;
	hsa_core.hsa_iterate_agents(add_agent, NULL);
}
