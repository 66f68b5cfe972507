/* cupti_library: CUPTI, where the process has it or it can be found; nothing is linked.
 *
 * (1) The one that is loaded already comes first (PyTorch's profiler links one): two in a process get in each other's way.
 * (2) Then one beside CUDA's runtime library, then one of the same major, then any. */
#ifndef TACHO_CUPTI_LIBRARY_H
#define TACHO_CUPTI_LIBRARY_H

#include <stdbool.h>

#include "cuda/cupti_abi.h"

struct cupti {
#define CUPTI_MEMBER(name, parameters, is_needed) int(*name) parameters;
	CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
	uint32_t version; /* of its interface: 18 (11.8), 28 (12.9), 130500 (13.5) */
	char path[512];
	void *library;
};

/* False: why, in `why`. */
bool cupti_load(struct cupti *cupti, char *why, size_t why_size);

/* What the result means, in CUPTI's words. */
const char *cupti_words(const struct cupti *cupti, int result);

#endif
