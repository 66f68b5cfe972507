/* op_cost: what one recorded event of PyTorch costs the job, measured in the job. */
#ifndef TACHO_TORCH_OP_COST_H
#define TACHO_TORCH_OP_COST_H

#include <cstdint>

#include <ATen/record_function.h>

/* Picoseconds that the RecordFunction of one event takes, begin and end, with all callbacks that
 * are installed: that of an operation with three tensors and one result, as the dispatcher runs
 * it, or, with a name, that of a region with one tensor. 0: could not be measured. */
uint64_t op_cost_measure_ps(at::RecordScope scope, const char *region_name);

#endif
