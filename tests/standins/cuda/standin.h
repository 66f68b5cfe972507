/* standin: what the stand-ins for CUDA's driver, its runtime and CUPTI have among each other. The real ones have such a thing, too
 * (cuGetExportTable()).
 *
 * A device works at CLOCK_MONOTONIC: each stream does one thing after the other, as long as its call says. STANDIN_FAULTS is a list of
 * what goes wrong (standin_cupti.c). STANDIN_TRUTH names a file that gets a line for each thing that a device did, "KIND STREAM START
 * END CORRELATION", in nanoseconds of CLOCK_MONOTONIC. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cupti_abi.h"

/* CUPTI's side: called by the driver and the runtime, all NULL until it is loaded and wants to be told. */
struct standin_hooks {
	void (*call)(uint32_t domain, uint32_t id, struct cupti_call *call);
	void (*node)(uint32_t id, struct cupti_resource *resource);
	/* `record` begins with its kind; its times are CLOCK_MONOTONIC's; what is over at `ready_ns` may be told then */
	void (*activity)(const void *record, size_t size, uint64_t ready_ns);
};

struct standin_hooks *standin_hooks(void);
bool standin_has_fault(const char *fault);
uint64_t standin_now_ns(void);
uint32_t standin_next_correlation(void);

struct standin_call {
	struct cupti_call told;
	uint64_t data;
	uint32_t domain, id;
	int result;
};

/* A call begins and ends; in it, others may. */
void standin_enter(struct standin_call *call, uint32_t domain, uint32_t id, const char *name,
		   const void *parameters);
/* The same of a function that launches the kernel of that name. */
void standin_enter_launch(struct standin_call *call, uint32_t domain, uint32_t id, const char *name,
			  const char *kernel);
/* How many streams are captured: then nobody may wait for the device. */
unsigned *standin_captures(void);
int standin_leave(struct standin_call *call, int result);
/* The correlation of the outermost call that this thread has open. */
uint32_t standin_correlation(void);

/* A stream's next piece of work takes `ns`: from, to. */
void standin_work(unsigned stream, uint64_t ns, uint64_t *start, uint64_t *end);
void standin_truth(const char *kind, unsigned stream, uint64_t start, uint64_t end,
		   uint32_t correlation);

/* Names of functions by their ids, of both domains. */
const char *standin_name(uint32_t domain, uint32_t id);

#endif
