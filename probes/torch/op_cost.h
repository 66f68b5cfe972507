/* op_cost: what one recorded event of PyTorch costs the job, measured in the job. */
#ifndef TACHO_TORCH_OP_COST_H
#define TACHO_TORCH_OP_COST_H

#include <cstdint>

#include <ATen/record_function.h>

/* Picoseconds that one event takes, begin and end, with all callbacks that are installed: a whole
 * operation through the dispatcher with them less the same without, so that what PyTorch does to call
 * back (collecting the inputs and the outputs) is in it; or, with a name, that of a region with one
 * tensor. 0: could not be measured. */
uint64_t op_cost_measure_ps(at::RecordScope scope, const char *region_name);

#endif
