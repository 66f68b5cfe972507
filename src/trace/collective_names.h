/* collective_names: what names of kernels and of calls say of communication. */
#ifndef TACHO_COLLECTIVE_NAMES_H
#define TACHO_COLLECTIVE_NAMES_H

#include <glib.h>

/* Whether a kernel of that name moves data between devices: one of NCCL and its kin, or of a library for experts on several
 * devices (DeepEP, pplx, TensorRT-LLM, mori). Names may be whole, with "void " and arguments. */
gboolean is_communication_kernel(const gchar *name, gsize n);

/* Whether NCCL runs operations of several kinds under the kernel's name, so that it says nothing of which one it was:
 * "ncclDevKernel_Generic_1(...)", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(...)". */
gboolean is_generic_kernel(const gchar *name, gsize n);

#endif
