/* tensor_list: the tensors among the arguments or results of an operation, as records have them:
 * each a struct record_tensor and its shape, one behind the other.
 *
 * They are written where they shall stay, in one pass, since this is most of what an operation costs.
 * Whatever a strange tensor throws is caught here and leaves that one out, so a record that has been
 * begun is completed.
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

#include "tensor_record.h"

static_assert((int)c10::ScalarType::Byte == 0 && (int)c10::ScalarType::Float == 6 &&
		      (int)c10::ScalarType::Bool == 11 && (int)c10::ScalarType::BFloat16 == 15,
	      "the order of tensor_dtypes");
static_assert((int)c10::DeviceType::CPU == 0 && (int)c10::DeviceType::CUDA == 1 &&
		      (int)c10::DeviceType::HIP == 6 && (int)c10::DeviceType::Meta == 14,
	      "the numbers of tensor_device()");

/* By a table, since asking the type itself for its size is a call. */
static inline struct tensor_dtype tensor_dtype(const c10::TensorImpl &tensor)
{
	size_t type = (size_t)c10::typeMetaToScalarType(tensor.dtype());

	if (type < TENSOR_N_DTYPES)
		return tensor_dtypes[type];
	return { TRACE_DTYPE_UNKNOWN, (uint8_t)tensor.itemsize() };
}

/* Where a kind of tensor has no storage, that is NULL: has_storage() would say so by a virtual call. */
static inline uint64_t tensor_storage(const c10::TensorImpl &tensor)
{
	const c10::StorageImpl *storage = tensor.unsafe_storage().unsafeGetStorageImpl();

	return storage ? (uint64_t)(uintptr_t)storage->data() : 0;
}

/* What is done for every tensor is worth more code where it is used. */
#define TENSOR_LIST_HOT static inline __attribute__((always_inline))

/* May throw, and then has added nothing. */
TENSOR_LIST_HOT void tensor_list_read(struct tensor_list *list, const c10::TensorImpl &tensor,
				      uint32_t argument)
{
	uint64_t *words = list->end;
	struct tensor_dtype dtype = tensor_dtype(tensor);
	c10::IntArrayRef shape = tensor.sizes();
	size_t n_dims = shape.size();

	if (TACHO_UNLIKELY(n_dims > TRACE_MAX_DIMS)) {
		n_dims = TRACE_MAX_DIMS;
		list->is_cut = true;
	}
	/* struct record_tensor as three words, each stored once */
	words[0] = tensor_storage(tensor);
	words[1] = (uint64_t)tensor.storage_offset() * dtype.bytes;
	words[2] = tensor_rest(dtype.dtype, tensor_device((int)tensor.device().type()), n_dims,
			       argument);
	words += 3;
	for (size_t dim = 0; dim < n_dims; dim++)
		words[dim] = (uint64_t)shape[dim];
	list->end = words + n_dims;
	list->n++;
}

TENSOR_LIST_HOT void tensor_list_add(struct tensor_list *list, const c10::TensorImpl *tensor,
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
static __attribute__((noinline)) void
tensor_list_add_all(struct tensor_list *list, c10::ArrayRef<c10::IValue> values, uint32_t argument)
{
	for (const c10::IValue &value : values) {
		if (value.isTensor())
			tensor_list_add(list, value.unsafeToTensorImpl(), argument);
		else if (!value.isNone())
			return;
	}
}

/* Write the tensors among `values` to `to`, which has room for TENSOR_LIST_BYTES. */
static inline void tensor_list_write(struct tensor_list *list, void *to,
				     c10::ArrayRef<const c10::IValue> values)
{
	uint32_t argument = 0;

	list->end = (uint64_t *)to;
	list->n = 0;
	list->is_cut = false;
	for (const c10::IValue &value : values) {
		if (value.isTensor())
			tensor_list_add(list, value.unsafeToTensorImpl(), argument);
		else if (value.isList())
			tensor_list_add_all(list, value.toListRef(), argument);
		argument++;
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
