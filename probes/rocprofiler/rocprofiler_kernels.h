/* rocprofiler_kernels: the names of kernels, by the numbers that rocprofiler-sdk gives them when their code object is loaded.
 *
 * (1) A number is given once in a process: a kernel that is unloaded keeps its name, for records of it may come later.
 * (2) One whose name was never told, or that there is no room for, is called by its number. */
#ifndef TACHO_ROCPROFILER_KERNELS_H
#define TACHO_ROCPROFILER_KERNELS_H

#include <stdbool.h>

#include "rocprofiler/rocprofiler_abi.h"

/* Any thread. The name's memory need not stay. */
void rocp_kernel_named(const struct rocp_kernel_symbol *symbol);
/* The class, of kind DEVICE_KERNEL, and registers of a thread (0: not known). One thread at a time. */
uint32_t rocp_kernel_class(uint64_t kernel, uint32_t *ret_registers);
/* Whether it waits for kernels of other ranks, by its name; true where that was never told. Any thread. */
bool rocp_kernel_waits(uint64_t kernel);

#endif
