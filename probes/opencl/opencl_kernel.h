/* opencl_kernel: which class of records a kernel object's launches have.
 *
 * What is at an address is asked once, and again where a kernel is made there: another may have been before. Reading takes no lock. */
#ifndef TACHO_OPENCL_KERNEL_H
#define TACHO_OPENCL_KERNEL_H

#include <stdint.h>

#include "opencl/opencl_target.h"

/* The class of the kernel; 0: it has no name. */
uint32_t opencl_kernel_class(cl_kernel kernel);

/* A kernel was made here. */
void opencl_kernel_is_new(cl_kernel kernel);

void opencl_kernel_after_fork(void);

#endif
