/* tensor_list: the tensors among the arguments or results of an operation, read out before a record
 * is begun, so that whatever a strange tensor throws leaves no record half written.
 *
 * A tensor's shape is read only where it is a plain array: subclasses written in Python and
 * symbolic shapes would run code of theirs from here. Those are left out, and is_cut tells. */
#ifndef TACHO_TORCH_TENSOR_LIST_H
#define TACHO_TORCH_TENSOR_LIST_H

#include <cstdint>
#include <cstring>

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>

#include "common/probe.h"

struct tensor_list {
	struct item {
		struct record_tensor head;
		const int64_t *shape;
	};

	uint32_t n;
	uint32_t record_bytes; /* of all tensors with their shapes */
	uint64_t
		data_bytes; /* of all elements, also of tensors that were left out for their number */
	bool is_cut;
	struct item items[TRACE_MAX_TENSORS];
};

static inline enum trace_dtype tensor_dtype(c10::ScalarType type)
{
	switch (type) {
	case c10::ScalarType::Byte:
		return TRACE_DTYPE_U8;
	case c10::ScalarType::Char:
		return TRACE_DTYPE_I8;
	case c10::ScalarType::Short:
		return TRACE_DTYPE_I16;
	case c10::ScalarType::Int:
		return TRACE_DTYPE_I32;
	case c10::ScalarType::Long:
		return TRACE_DTYPE_I64;
	case c10::ScalarType::Half:
		return TRACE_DTYPE_F16;
	case c10::ScalarType::Float:
		return TRACE_DTYPE_F32;
	case c10::ScalarType::Double:
		return TRACE_DTYPE_F64;
	case c10::ScalarType::ComplexHalf:
		return TRACE_DTYPE_C32;
	case c10::ScalarType::ComplexFloat:
		return TRACE_DTYPE_C64;
	case c10::ScalarType::ComplexDouble:
		return TRACE_DTYPE_C128;
	case c10::ScalarType::Bool:
		return TRACE_DTYPE_BOOL;
	case c10::ScalarType::BFloat16:
		return TRACE_DTYPE_BF16;
	case c10::ScalarType::QInt8:
		return TRACE_DTYPE_QI8;
	case c10::ScalarType::QUInt8:
		return TRACE_DTYPE_QU8;
	case c10::ScalarType::QInt32:
		return TRACE_DTYPE_QI32;
	default:
		return TRACE_DTYPE_UNKNOWN;
	}
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

/* May throw. */
static inline void tensor_list_read(struct tensor_list *list, const c10::TensorImpl &tensor,
				    uint32_t argument)
{
	struct tensor_list::item *item = &list->items[list->n];
	c10::IntArrayRef shape = tensor.sizes();
	size_t n_dims = shape.size();
	uint64_t item_bytes = tensor.itemsize();
	uint64_t n_elements = 1;

	for (int64_t size : shape)
		n_elements *= (uint64_t)size;
	list->data_bytes += n_elements * item_bytes;
	if (list->n == TRACE_MAX_TENSORS) {
		list->is_cut = true;
		return;
	}
	if (n_dims > TRACE_MAX_DIMS) {
		n_dims = TRACE_MAX_DIMS;
		list->is_cut = true;
	}
	item->head.storage = (uint64_t)(uintptr_t)tensor_storage(tensor);
	item->head.offset_bytes = (uint64_t)tensor.storage_offset() * item_bytes;
	item->head.dtype = tensor_dtype(c10::typeMetaToScalarType(tensor.dtype()));
	item->head.device = tensor_device(tensor.device().type());
	item->head.n_dims = (uint16_t)n_dims;
	item->head.argument = argument;
	item->shape = shape.data();
	list->n++;
	list->record_bytes += (uint32_t)(sizeof(item->head) + n_dims * sizeof(int64_t));
}

static inline void tensor_list_add(struct tensor_list *list, const c10::TensorImpl *tensor,
				   uint32_t argument)
{
	if (tensor == c10::UndefinedTensorImpl::singleton())
		return;
	if (tensor->is_python_dispatch() || tensor->has_symbolic_sizes_strides()) {
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
	list->data_bytes = 0;
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
	char *cursor = (char *)to;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct tensor_list::item *item = &list->items[i];
		int64_t *shape = (int64_t *)(cursor + sizeof(item->head));

		memcpy(cursor, &item->head, sizeof(item->head));
		for (uint32_t dim = 0; dim < item->head.n_dims; dim++)
			shape[dim] = item->shape[dim];
		cursor += sizeof(item->head) + item->head.n_dims * sizeof(int64_t);
	}
}

#endif
