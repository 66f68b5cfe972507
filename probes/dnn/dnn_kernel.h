/* dnn_kernel: what the record of a primitive says, kept for as long as the process.
 *
 * Frameworks make a primitive for each execution and destroy it after (oneDNN keeps the expensive
 * part itself), so that its address identifies nothing. A kernel is therefore found by what the
 * primitive says of itself: kind, propagation, implementation and tensors.
 *
 * (1) Kernels are added to a table without locks, and never removed or changed, but for the class.
 * (2) The table is bounded: a job whose shapes never repeat gets a kernel made anew each time. */
#ifndef TACHO_DNN_KERNEL_H
#define TACHO_DNN_KERNEL_H

#include <stdint.h>

#include "dnn/dnn_api.h"

#define DNN_MAX_TENSORS 12
#define DNN_NAME_BYTES	128
#define DNN_TEXT_BYTES	512 /* a multiple of 8 */

/* All that is asked of a primitive. */
struct dnn_signature {
	const char *kind, *propagation; /* static */
	char implementation[64];
	struct {
		enum dnn_role role;
		struct dnn_tensor tensor;
	} tensors[DNN_MAX_TENSORS];
	uint32_t n_tensors;
	uint32_t hash;
};

struct dnn_kernel {
	struct dnn_kernel *next;
	struct dnn_signature signature;
	uint64_t class_of_generation; /* generation in the upper half, class id in the lower */
	uint32_t told_generation;     /* in which its class's cost was told last */
	uint64_t flops, bytes;
	int64_t dims[DNN_MAX_DIMS];
	uint32_t n_dims, dtype, n_text;
	char name[DNN_NAME_BYTES];
	char text[DNN_TEXT_BYTES];
};

/* Ask the primitive. False: it cannot be asked. */
bool dnn_signature_read(const struct dnn_api *api, const struct dnnl_primitive *primitive,
			struct dnn_signature *ret_signature);

/* The kernel with that signature: the table's, or `spare` filled in where the table is full. NULL: there
 * is no memory. */
struct dnn_kernel *dnn_kernel_find(const struct dnn_signature *signature, struct dnn_kernel *spare);

#endif
