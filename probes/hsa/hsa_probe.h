/* hsa_probe: what the files of the probe share: the runtime's own functions, behind those that programs call. */
#ifndef TACHO_HSA_PROBE_H
#define TACHO_HSA_PROBE_H

#include "hsa/hsa_abi.h"

extern struct hsa_core_table hsa_core; /* as the runtime handed them out */
extern struct hsa_amd_table hsa_amd;

/* Its number among the devices that are no processors; -1: it is none of these. */
int hsa_device_number(hsa_agent_t agent);
/* The device whose pool it is; -1: the host's. */
int hsa_pool_device(hsa_amd_memory_pool_t pool);
/* Find them, and tell what they are. */
void hsa_devices_find(void);

/* Calls: put ours in front of the runtime's. */
void hsa_calls_put(struct hsa_core_table *core, struct hsa_amd_table *amd);

/* Queues: what is submitted, and when it was done. */
hsa_status_t hsa_queue_make(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
			    void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data),
			    void *data, uint32_t private_segment_size, uint32_t group_segment_size,
			    hsa_queue_t **queue);
void hsa_kernel_name(uint64_t kernel_object, hsa_executable_symbol_t symbol);
/* A copy with a completion signal of ours, in place of `signal`. */
hsa_status_t hsa_copy_follow(void *target, hsa_agent_t target_agent, const void *source,
			     hsa_agent_t source_agent, size_t bytes, uint32_t n_waited,
			     const hsa_signal_t *waited, hsa_signal_t signal, uint64_t correlation);
/* Wait a while for what is not over yet, at the end. */
void hsa_work_finish(void);
void hsa_work_start(void);

#endif
