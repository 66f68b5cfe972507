/* tensor_list: the tensors among the arguments or results of an operation, read out before a record
 * is begun, so that whatever a strange tensor throws leaves no record half written.
 *
 * A tensor's shape is read only where it is a plain array: subclasses written in Python and
 * symbolic shapes would run code of theirs from here. Those are left out, and is_cut tells. */
#ifndef TACHO_TORCH_TENSOR_LIST_H
#define TACHO_TORCH_TENSOR_LIST_H

#include <cstddef>
#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>

#include "common/probe.h"

struct tensor_list {
	/* struct record_tensor as three words: it is copied at once, and loads that span smaller stores
	 * just made would wait for them */
	struct item {
		uint64_t storage;
		uint64_t offset_bytes;
		uint64_t rest;
		uint32_t n_dims;
		const int64_t *shape;
	};

	uint32_t n;
	uint32_t record_bytes; /* of all tensors with their shapes */
	uint64_t
		data_bytes; /* of all elements, also of tensors that were left out for their number */
	bool is_cut;
	struct item items[TRACE_MAX_TENSORS];
};

struct tensor_dtype {
	uint8_t dtype; /* enum trace_dtype */
	uint8_t bytes;
};

/* By c10::ScalarType, whose numbers are part of PyTorch's file formats. A table, since asking the
 * type itself for its size is a call. */
static constexpr struct tensor_dtype tensor_dtypes[] = {
	{ TRACE_DTYPE_U8, 1 },	 { TRACE_DTYPE_I8, 1 },	   { TRACE_DTYPE_I16, 2 },
	{ TRACE_DTYPE_I32, 4 },	 { TRACE_DTYPE_I64, 8 },   { TRACE_DTYPE_F16, 2 },
	{ TRACE_DTYPE_F32, 4 },	 { TRACE_DTYPE_F64, 8 },   { TRACE_DTYPE_C32, 4 },
	{ TRACE_DTYPE_C64, 8 },	 { TRACE_DTYPE_C128, 16 }, { TRACE_DTYPE_BOOL, 1 },
	{ TRACE_DTYPE_QI8, 1 },	 { TRACE_DTYPE_QU8, 1 },   { TRACE_DTYPE_QI32, 4 },
	{ TRACE_DTYPE_BF16, 2 },
};

static_assert((int)c10::ScalarType::Byte == 0 && (int)c10::ScalarType::Float == 6 &&
		      (int)c10::ScalarType::Bool == 11 && (int)c10::ScalarType::BFloat16 == 15,
	      "the order of tensor_dtypes");

static inline struct tensor_dtype tensor_dtype(const c10::TensorImpl &tensor)
{
	size_t type = (size_t)c10::typeMetaToScalarType(tensor.dtype());

	if (type < sizeof(tensor_dtypes) / sizeof(*tensor_dtypes))
		return tensor_dtypes[type];
	return { TRACE_DTYPE_UNKNOWN, (uint8_t)tensor.itemsize() };
}

static inline enum trace_device tensor_device(c10::DeviceType type)
{
	switch (type) {
	case c10::DeviceType::CPU:
		return TRACE_DEVICE_CPU;
	case c10::DeviceType::CUDA:
		return TRACE_DEVICE_CUDA;
	case c10::DeviceType::HIP:
		return TRACE_DEVICE_HIP;
	case c10::DeviceType::Meta:
		return TRACE_DEVICE_META;
	default:
		return TRACE_DEVICE_OTHER;
	}
}

static inline const void *tensor_storage(const c10::TensorImpl &tensor)
{
	const c10::StorageImpl *storage;

	if (!tensor.has_storage())
		return nullptr;
	storage = tensor.unsafe_storage().unsafeGetStorageImpl();
	return storage ? storage->data() : nullptr;
}

/* The last eight bytes of a record_tensor, which is little endian. */
static inline uint64_t tensor_rest(uint8_t dtype, uint8_t device, size_t n_dims, uint32_t argument)
{
	static_assert(offsetof(struct record_tensor, dtype) == 16 &&
			      offsetof(struct record_tensor, device) == 17 &&
			      offsetof(struct record_tensor, n_dims) == 18 &&
			      offsetof(struct record_tensor, argument) == 20,
		      "struct record_tensor");
	return dtype | (uint64_t)device << 8 | (uint64_t)n_dims << 16 | (uint64_t)argument << 32;
}

/* May throw. */
static inline void tensor_list_read(struct tensor_list *list, const c10::TensorImpl &tensor,
				    uint32_t argument)
{
	struct tensor_list::item *item = &list->items[list->n];
	struct tensor_dtype dtype = tensor_dtype(tensor);
	c10::IntArrayRef shape = tensor.sizes();
	size_t n_dims = shape.size();

	if (TACHO_UNLIKELY(n_dims > TRACE_MAX_DIMS)) {
		n_dims = TRACE_MAX_DIMS;
		list->is_cut = true;
	}
	item->storage = (uint64_t)(uintptr_t)tensor_storage(tensor);
	item->offset_bytes = (uint64_t)tensor.storage_offset() * dtype.bytes;
	item->rest =
		tensor_rest(dtype.dtype, tensor_device(tensor.device().type()), n_dims, argument);
	item->n_dims = (uint32_t)n_dims;
	item->shape = shape.data();
	list->n++;
	list->record_bytes += (uint32_t)(sizeof(struct record_tensor) + n_dims * sizeof(int64_t));
}

static inline void tensor_list_add(struct tensor_list *list, const c10::TensorImpl *tensor,
				   uint32_t argument)
{
	if (tensor == c10::UndefinedTensorImpl::singleton())
		return;
	if (TACHO_UNLIKELY(list->n == TRACE_MAX_TENSORS || tensor->is_python_dispatch() ||
			   tensor->has_symbolic_sizes_strides())) {
		list->is_cut = true;
		return;
	}
	try {
		tensor_list_read(list, *tensor, argument);
	} catch (...) {
		list->is_cut = true;
	}
}

/* A list of tensors, or of optional ones; any other list ends at its first element. */
static inline void tensor_list_add_all(struct tensor_list *list, c10::ArrayRef<c10::IValue> values,
				       uint32_t argument)
{
	for (const c10::IValue &value : values) {
		if (value.isTensor())
			tensor_list_add(list, value.unsafeToTensorImpl(), argument);
		else if (!value.isNone())
			return;
	}
}

static inline void tensor_list_fill(struct tensor_list *list,
				    c10::ArrayRef<const c10::IValue> values)
{
	uint32_t argument = 0;

	list->n = 0;
	list->record_bytes = 0;
	list->is_cut = false;
	for (const c10::IValue &value : values) {
		if (value.isTensor())
			tensor_list_add(list, value.unsafeToTensorImpl(), argument);
		else if (value.isList())
			tensor_list_add_all(list, value.toListRef(), argument);
		argument++;
	}
}

/* Write the list to `to`, which has room for record_bytes. */
static inline void tensor_list_write(const struct tensor_list *list, void *to)
{
	uint64_t *cursor = (uint64_t *)to;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct tensor_list::item *item = &list->items[i];

		*cursor++ = item->storage;
		*cursor++ = item->offset_bytes;
		*cursor++ = item->rest;
		for (uint32_t dim = 0; dim < item->n_dims; dim++)
			*cursor++ = (uint64_t)item->shape[dim];
	}
}

/* Bytes of all elements of the tensors among `values`, however many there are. */
static inline uint64_t tensor_data_bytes(c10::ArrayRef<const c10::IValue> values)
{
	uint64_t bytes = 0;

	for (const c10::IValue &value : values) {
		if (!value.isTensor() || !value.toTensor().defined())
			continue;
		try {
			const at::Tensor &tensor = value.toTensor();

			bytes += (uint64_t)tensor.numel() * (uint64_t)tensor.itemsize();
		} catch (...) {
		}
	}
	return bytes;
}

#endif
