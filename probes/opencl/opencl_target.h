/* opencl_target: the functions behind the layer: of the next layer, or of the loader. */
#ifndef TACHO_OPENCL_TARGET_H
#define TACHO_OPENCL_TARGET_H

#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <CL/cl_layer.h>

/* Set once, before the first call. */
extern cl_icd_dispatch opencl_target;

#endif
