#include "onnxruntime/ort_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAME  64 /* bytes of a tensor's name that are shown */
#define MORE	  " ..."
#define IS_TENSOR 1 /* ONNX_TYPE_TENSOR */

/* enum ONNXTensorElementDataType */
static const struct {
	const char *name;
	uint8_t bits;
	uint8_t dtype;
} elements[] = {
	{ "unknown", 0, TRACE_DTYPE_UNKNOWN },
	{ "float32", 32, TRACE_DTYPE_F32 },
	{ "uint8", 8, TRACE_DTYPE_U8 },
	{ "int8", 8, TRACE_DTYPE_I8 },
	{ "uint16", 16, TRACE_DTYPE_UNKNOWN },
	{ "int16", 16, TRACE_DTYPE_I16 },
	{ "int32", 32, TRACE_DTYPE_I32 },
	{ "int64", 64, TRACE_DTYPE_I64 },
	{ "string", 0, TRACE_DTYPE_UNKNOWN },
	{ "bool", 8, TRACE_DTYPE_BOOL },
	{ "float16", 16, TRACE_DTYPE_F16 },
	{ "float64", 64, TRACE_DTYPE_F64 },
	{ "uint32", 32, TRACE_DTYPE_UNKNOWN },
	{ "uint64", 64, TRACE_DTYPE_UNKNOWN },
	{ "complex64", 64, TRACE_DTYPE_C64 },
	{ "complex128", 128, TRACE_DTYPE_C128 },
	{ "bfloat16", 16, TRACE_DTYPE_BF16 },
	{ "float8e4m3fn", 8, TRACE_DTYPE_UNKNOWN },
	{ "float8e4m3fnuz", 8, TRACE_DTYPE_UNKNOWN },
	{ "float8e5m2", 8, TRACE_DTYPE_UNKNOWN },
	{ "float8e5m2fnuz", 8, TRACE_DTYPE_UNKNOWN },
	{ "uint4", 4, TRACE_DTYPE_UNKNOWN },
	{ "int4", 4, TRACE_DTYPE_UNKNOWN },
	{ "float4e2m1", 4, TRACE_DTYPE_UNKNOWN },
};
#define N_ELEMENTS (sizeof(elements) / sizeof(elements[0]))

/* enum ONNXType */
static const char *const types[] = { "unknown", "tensor",	 "sequence", "map",
				     "opaque",	"sparse_tensor", "optional" };
#define N_TYPES (sizeof(types) / sizeof(types[0]))

struct tensor {
	int element;
	size_t n_dims;
	int64_t dims[TRACE_MAX_DIMS];
};

static bool read_shape(const struct ort_library *library, const struct ort_shape *shape,
		       struct tensor *tensor)
{
	const struct ort_functions *real = &library->real;

	return ort_succeeds(library, real->GetTensorElementType(shape, &tensor->element)) &&
	       ort_succeeds(library, real->GetDimensionsCount(shape, &tensor->n_dims)) &&
	       tensor->n_dims <= TRACE_MAX_DIMS &&
	       ort_succeeds(library, real->GetDimensions(shape, tensor->dims, tensor->n_dims));
}

static bool read_tensor(const struct ort_library *library, const struct ort_value *value,
			struct tensor *tensor)
{
	struct ort_shape *shape = NULL;
	bool is_read;

	if (!ort_succeeds(library, library->real.GetTensorTypeAndShape(value, &shape)) || !shape)
		return false;
	is_read = read_shape(library, shape, tensor);
	library->real.ReleaseTensorTypeAndShapeInfo(shape);
	if (is_read && (tensor->element < 0 || (size_t)tensor->element >= N_ELEMENTS))
		tensor->element = 0;
	return is_read;
}

static uint64_t bytes_of(const struct tensor *tensor)
{
	uint64_t bits = elements[tensor->element].bits;

	for (size_t i = 0; i < tensor->n_dims; i++)
		if (tensor->dims[i] < 0 ||
		    __builtin_mul_overflow(bits, (uint64_t)tensor->dims[i], &bits))
			return 0;
	return (bits + 7) / 8;
}

/* --- words ---------------------------------------------------------------------------------- */

static size_t write_tensor(const struct tensor *tensor, char *at, size_t size)
{
	size_t n = (size_t)snprintf(at, size, ":%s:", elements[tensor->element].name);

	if (!tensor->n_dims)
		n += (size_t)snprintf(at + n, size - n, "scalar");
	for (size_t i = 0; i < tensor->n_dims && n < size; i++)
		n += (size_t)snprintf(at + n, size - n, "%s%" PRId64, i ? "x" : "",
				      tensor->dims[i]);
	return n;
}

static size_t write_value(struct ort_text *text, const struct ort_library *library,
			  const struct ort_value *value, char *at, size_t size)
{
	struct tensor tensor;
	int type = 0;

	if (!ort_succeeds(library, library->real.GetValueType(value, &type)))
		return 0;
	if (type != IS_TENSOR || !read_tensor(library, value, &tensor))
		return (size_t)snprintf(
			at, size, ":%s", type >= 0 && (size_t)type < N_TYPES ? types[type] : "?");
	text->tensor_bytes += bytes_of(&tensor);
	if (!text->dtype && !text->n_dims) {
		text->dtype = (enum trace_dtype)elements[tensor.element].dtype;
		text->n_dims = (uint32_t)tensor.n_dims;
		memcpy(text->dims, tensor.dims, tensor.n_dims * sizeof(*tensor.dims));
	}
	return write_tensor(&tensor, at, size);
}

static void put(struct ort_text *text, const char *bytes, size_t n)
{
	if (text->n + n > sizeof(text->bytes))
		return;
	memcpy(text->bytes + text->n, bytes, n);
	text->n += (uint32_t)n;
}

void ort_text_begin(struct ort_text *text)
{
	text->n = 0;
	text->tensor_bytes = 0;
	text->dtype = TRACE_DTYPE_UNKNOWN;
	text->n_dims = 0;
}

void ort_text_add(struct ort_text *text, const struct ort_library *library,
		  const char *const *names, const struct ort_value *const *values, size_t n)
{
	char word[MAX_NAME + 24 * TRACE_MAX_DIMS];

	for (size_t i = 0; names && i < n; i++) {
		size_t length = (size_t)snprintf(word, sizeof(word), "%s%.*s", text->n ? " " : "",
						 MAX_NAME, names[i] ? names[i] : "?");

		if (values && values[i])
			length += write_value(text, library, values[i], word + length,
					      sizeof(word) - length);
		if (length >= sizeof(word) ||
		    text->n + length + sizeof(MORE) > sizeof(text->bytes)) {
			put(text, MORE, sizeof(MORE) - 1);
			return;
		}
		put(text, word, length);
	}
}

void ort_text_arrow(struct ort_text *text)
{
	put(text, " ->", 3);
}
