/* ort_tensors: the tensors of a run, as records of operations and outputs have them behind their heads. */
#ifndef TACHO_ORT_TENSORS_H
#define TACHO_ORT_TENSORS_H

#include "onnxruntime/ort_library.h"
#include "trace/trace_layout.h"

struct ort_tensors {
	uint32_t n;				     /* in `bytes` */
	uint32_t n_bytes;			     /* a multiple of 8 */
	bool is_cut;				     /* not all are there */
	char bytes[896] __attribute__((aligned(8))); /* struct record_tensor, each with its shape */
};

/* What `values` are; what is no tensor, or NULL, has no type and no shape. */
void ort_tensors_read(struct ort_tensors *tensors, const struct ort_library *library,
		      const struct ort_value *const *values, size_t n);

#endif
