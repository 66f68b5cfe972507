/* cuda_names: the classes of kernels, found by the addresses of their names after the first time. Names of C++ are told as they are
 * written, where the process has a C++ library to say how (__cxa_demangle). One thread at a time. */
#ifndef TACHO_CUDA_NAMES_H
#define TACHO_CUDA_NAMES_H

#include <stdint.h>

uint32_t cuda_kernel_class(const char *name);

#endif
