/* cuda_names: the classes of kernels, found by the addresses of their names after the first time. One thread at a time. */
#ifndef TACHO_CUDA_NAMES_H
#define TACHO_CUDA_NAMES_H

#include <stdint.h>

uint32_t cuda_kernel_class(const char *name);

#endif
