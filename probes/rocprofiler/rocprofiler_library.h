/* rocprofiler_library: the functions of the rocprofiler-sdk that has loaded the probe; nothing is linked. */
#ifndef TACHO_ROCPROFILER_LIBRARY_H
#define TACHO_ROCPROFILER_LIBRARY_H

#include <stdbool.h>

#include "rocprofiler/rocprofiler_abi.h"

struct rocp {
#define ROCP_MEMBER(name, parameters) int(*name) parameters;
	ROCP_FUNCTIONS(ROCP_MEMBER)
#undef ROCP_MEMBER
	void *handle; /* of dlopen() */
	uint32_t version;
};

/* `caller` is an address within it. NULL, or what it has not. */
const char *rocp_load(struct rocp *rocp, const void *caller);

/* The numbers of the kinds that are called `name`; -1: there is none in this version. */
int32_t rocp_buffer_kind(const struct rocp *rocp, const char *name);
int32_t rocp_callback_kind(const struct rocp *rocp, const char *name);

#endif
