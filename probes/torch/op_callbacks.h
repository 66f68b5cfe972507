/* op_callbacks: the C face of the torch probe (libtacho_torch.so). The agent calls it once
 * libtorch_cpu.so has appeared in the process. */
#ifndef TACHO_TORCH_OP_CALLBACKS_H
#define TACHO_TORCH_OP_CALLBACKS_H

#include "common/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Install the callbacks and measure what they cost. 0, or -errno. */
TACHO_EXPORT int tacho_probe_init(void);

#ifdef __cplusplus
}
#endif
#endif
