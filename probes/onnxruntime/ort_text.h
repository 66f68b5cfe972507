/* ort_text: the tensors of a run in words, as the record of a run has them: "x:float32:1x3x224x224 mask:int64:1x8 -> y:float32:1x1000". */
#ifndef TACHO_ORT_TEXT_H
#define TACHO_ORT_TEXT_H

#include "onnxruntime/ort_library.h"
#include "trace/trace_layout.h"

#define ORT_TEXT_BYTES 640

struct ort_text {
	char bytes[ORT_TEXT_BYTES];
	uint32_t n;
	uint64_t tensor_bytes; /* of all whose size is known */
	/* of the first tensor: */
	enum trace_dtype dtype;
	uint32_t n_dims;
	int64_t dims[TRACE_MAX_DIMS];
};

void ort_text_begin(struct ort_text *text);
/* Add tensors; of one whose value is NULL, or of `values` NULL, the name alone. What does not fit is left out: " ...". */
void ort_text_add(struct ort_text *text, const struct ort_library *library,
		  const char *const *names, const struct ort_value *const *values, size_t n);
/* What follows are outputs. */
void ort_text_arrow(struct ort_text *text);

#endif
