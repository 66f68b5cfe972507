#include "onnxruntime/ort_tensors.h"

#include <string.h>

#define IS_TENSOR 1 /* ONNX_TYPE_TENSOR */

/* By enum ONNXTensorElementDataType; what is not here (text, numbers without a sign, of 8 and 4 bits) is not known to the trace. */
static const uint8_t dtypes[] = {
	[1] = TRACE_DTYPE_F32,	[2] = TRACE_DTYPE_U8,	 [3] = TRACE_DTYPE_I8,
	[5] = TRACE_DTYPE_I16,	[6] = TRACE_DTYPE_I32,	 [7] = TRACE_DTYPE_I64,
	[9] = TRACE_DTYPE_BOOL, [10] = TRACE_DTYPE_F16,	 [11] = TRACE_DTYPE_F64,
	[14] = TRACE_DTYPE_C64, [15] = TRACE_DTYPE_C128, [16] = TRACE_DTYPE_BF16,
};

static bool read_shape(const struct ort_library *library, const struct ort_shape *shape,
		       struct record_tensor *tensor, int64_t *dims)
{
	const struct ort_functions *real = &library->real;
	size_t n_dims = 0;
	int element = 0;

	if (!ort_succeeds(library, real->GetTensorElementType(shape, &element)) ||
	    !ort_succeeds(library, real->GetDimensionsCount(shape, &n_dims)) ||
	    n_dims > TRACE_MAX_DIMS ||
	    (n_dims && !ort_succeeds(library, real->GetDimensions(shape, dims, n_dims))))
		return false;
	if (element >= 0 && (size_t)element < sizeof(dtypes))
		tensor->dtype = dtypes[element];
	tensor->n_dims = (uint16_t)n_dims;
	return true;
}

static void read_tensor(const struct ort_library *library, const struct ort_value *value,
			struct record_tensor *tensor, int64_t *dims)
{
	struct ort_shape *shape = NULL;
	int type = 0;

	if (!ort_succeeds(library, library->real.GetValueType(value, &type)) || type != IS_TENSOR ||
	    !ort_succeeds(library, library->real.GetTensorTypeAndShape(value, &shape)) || !shape)
		return;
	if (!read_shape(library, shape, tensor, dims))
		tensor->n_dims = 0;
	library->real.ReleaseTensorTypeAndShapeInfo(shape);
}

void ort_tensors_read(struct ort_tensors *tensors, const struct ort_library *library,
		      const struct ort_value *const *values, size_t n)
{
	tensors->n = tensors->n_bytes = 0;
	tensors->is_cut = false;
	for (size_t i = 0; values && i < n; i++) {
		struct record_tensor tensor = { .argument = (uint32_t)i };
		int64_t dims[TRACE_MAX_DIMS];
		size_t dims_bytes;

		if (values[i])
			read_tensor(library, values[i], &tensor, dims);
		dims_bytes = tensor.n_dims * sizeof(*dims);
		if (tensors->n == TRACE_MAX_TENSORS ||
		    tensors->n_bytes + sizeof(tensor) + dims_bytes > sizeof(tensors->bytes)) {
			tensors->is_cut = true;
			return;
		}
		memcpy(tensors->bytes + tensors->n_bytes, &tensor, sizeof(tensor));
		memcpy(tensors->bytes + tensors->n_bytes + sizeof(tensor), dims, dims_bytes);
		tensors->n_bytes += (uint32_t)(sizeof(tensor) + dims_bytes);
		tensors->n++;
	}
}
