/* plain_probe: libtacho_torch.so, the PyTorch probe in plain C. It is shipped as it is, and finds its way in
 * the libtorch of the process by exported names and by what is proven there (torch_layout.h). */
#ifndef TACHO_PLAIN_PROBE_H
#define TACHO_PLAIN_PROBE_H

#include "torch_layout.h"
#include "common/probe.h"

/* The agent calls this once the libtorch_cpu.so at `path` has appeared: install the callbacks and measure
 * what they cost. Where this libtorch is not as known, that is said and nothing is installed.
 * `shapes_every`: shape_steps_start(). 0, or -errno. */
TACHO_EXPORT int tacho_torch_start(const char *path, uint64_t shapes_every);

/* Measure what events cost, and tell; tell it again (in a forked child). */
void plain_cost_measure(const struct torch_symbols *torch, const struct torch_layout *layout);
void plain_cost_tell(void);

#endif
