/* plain_tensors: the tensors among the arguments or results of an operation, read where torch_layout.h has
 * found them and written as records have them.
 *
 * (1) What is read is memory of the tensor's own, whatever kind it is; nothing of PyTorch's is called.
 * (2) A tensor that would have to be asked for its shape (symbolic sizes, classes that answer themselves) is
 *     left out, and is_cut tells. */
#ifndef TACHO_PLAIN_TENSORS_H
#define TACHO_PLAIN_TENSORS_H

#include "torch_layout.h"
#include "tensor_record.h"

#define PLAIN_ARGUMENT_WORDS 2 /* of a c10::IValue: tensor_layout_prove() has shown it */
#define PLAIN_INLINE_DIMS    5

/* What was found, and the address of the tensor that is none. */
struct plain_reader {
	struct torch_layout layout;
	const void *undefined_tensor;
};

struct plain_arguments {
	const uint64_t *words;
	size_t n;
};

static inline struct plain_arguments plain_inputs(const struct plain_reader *reader,
						  const void *function)
{
	const uint64_t *place = (const uint64_t *)((const char *)function + reader->layout.inputs);

	return (struct plain_arguments){ (const uint64_t *)(uintptr_t)place[0], place[1] };
}

/* A std::vector of arguments: where it begins and where it ends. */
static inline struct plain_arguments plain_vector(const void *vector)
{
	const uint64_t *place = vector;
	uint64_t bytes = place[1] - place[0];

	return (struct plain_arguments){ (const uint64_t *)(uintptr_t)place[0],
					 bytes / (PLAIN_ARGUMENT_WORDS * sizeof(uint64_t)) };
}

static inline struct plain_arguments plain_outputs(const struct plain_reader *reader,
						   const void *function)
{
	return plain_vector((const char *)function + reader->layout.outputs);
}

static inline struct tensor_dtype plain_dtype(const struct plain_reader *reader, const void *tensor)
{
	size_t type = *(const uint16_t *)((const char *)tensor + reader->layout.dtype);

	if (type < TENSOR_N_DTYPES)
		return tensor_dtypes[type];
	return (struct tensor_dtype){ TRACE_DTYPE_UNKNOWN, 0 };
}

static inline uint64_t plain_storage(const struct plain_reader *reader, const void *tensor)
{
	uint64_t storage = torch_word(tensor, reader->layout.first);

	return storage ? torch_word((const void *)(uintptr_t)storage, reader->layout.first) : 0;
}

static inline bool plain_is_plain(const struct plain_reader *reader, const void *tensor)
{
	return !(torch_byte(tensor, reader->layout.policy) & TORCH_POLICY_BITS);
}

/* The sizes of the tensor's dimensions; what is beyond TRACE_MAX_DIMS is cut. */
static inline const int64_t *plain_sizes(const struct plain_reader *reader, const void *tensor,
					 size_t *ret_n_dims)
{
	const char *place = (const char *)tensor + reader->layout.sizes;

	*ret_n_dims = *(const uint64_t *)place;
	if (TACHO_UNLIKELY(*ret_n_dims > PLAIN_INLINE_DIMS))
		return *(const int64_t *const *)(place + sizeof(uint64_t));
	return (const int64_t *)(place + sizeof(uint64_t));
}

static inline __attribute__((always_inline)) void plain_add(struct tensor_list *list,
							    const struct plain_reader *reader,
							    const void *tensor, uint32_t argument)
{
	uint64_t *words = list->end;
	struct tensor_dtype dtype;
	const int64_t *sizes;
	size_t n_dims;

	if (tensor == reader->undefined_tensor)
		return;
	if (TACHO_UNLIKELY(list->n == TRACE_MAX_TENSORS || !plain_is_plain(reader, tensor))) {
		list->is_cut = true;
		return;
	}
	sizes = plain_sizes(reader, tensor, &n_dims);
	if (TACHO_UNLIKELY(n_dims > TRACE_MAX_DIMS)) {
		n_dims = TRACE_MAX_DIMS;
		list->is_cut = true;
	}
	dtype = plain_dtype(reader, tensor);
	/* struct record_tensor as three words, each stored once */
	words[0] = plain_storage(reader, tensor);
	words[1] = torch_word(tensor, reader->layout.storage_offset) * dtype.bytes;
	words[2] = tensor_rest(dtype.dtype,
			       tensor_device((int8_t)torch_byte(tensor, reader->layout.device)),
			       n_dims, argument);
	words += 3;
	for (size_t dim = 0; dim < n_dims; dim++)
		words[dim] = (uint64_t)sizes[dim];
	list->end = words + n_dims;
	list->n++;
}

/* A list of tensors, or of optional ones; any other list ends at its first element. */
static __attribute__((noinline)) void plain_add_list(struct tensor_list *list,
						     const struct plain_reader *reader,
						     const void *elements, uint32_t argument)
{
	struct plain_arguments values = plain_vector((const char *)elements + reader->layout.first);

	for (size_t i = 0; i < values.n; i++, values.words += PLAIN_ARGUMENT_WORDS) {
		if ((uint32_t)values.words[1] == TORCH_TAG_TENSOR)
			plain_add(list, reader, (const void *)(uintptr_t)values.words[0], argument);
		else if ((uint32_t)values.words[1] != TORCH_TAG_NONE)
			return;
	}
}

/* Write the tensors among `values` to `to`, which has room for TENSOR_LIST_BYTES. */
static inline void plain_write(struct tensor_list *list, const struct plain_reader *reader,
			       void *to, struct plain_arguments values)
{
	list->end = to;
	list->n = 0;
	list->is_cut = false;
	for (size_t i = 0; i < values.n; i++, values.words += PLAIN_ARGUMENT_WORDS) {
		const void *value = (const void *)(uintptr_t)values.words[0];
		uint32_t tag = (uint32_t)values.words[1];

		if (tag == TORCH_TAG_TENSOR)
			plain_add(list, reader, value, (uint32_t)i);
		else if (tag == reader->layout.list_tag)
			plain_add_list(list, reader, value, (uint32_t)i);
	}
}

/* Bytes of all elements of the tensors among `values`, however many there are. */
static inline uint64_t plain_data_bytes(const struct plain_reader *reader,
					struct plain_arguments values)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < values.n; i++, values.words += PLAIN_ARGUMENT_WORDS) {
		const void *tensor = (const void *)(uintptr_t)values.words[0];

		if ((uint32_t)values.words[1] == TORCH_TAG_TENSOR &&
		    tensor != reader->undefined_tensor)
			bytes += torch_word(tensor, reader->layout.n_elements) *
				 plain_dtype(reader, tensor).bytes;
	}
	return bytes;
}

/* What an object of a class written in C++ keeps: the address of the C++ object; 0: it is none. Asked of what c10d gets: its tag is
 * the fifth or (since 2.0) the sixth behind that of lists, where neither streams nor objects of Python, which have the other one, are
 * arguments. It has its type (64 bytes), then its slots: here one, a capsule, whose tag is the third behind its own. */
static inline uint64_t plain_object(const struct plain_reader *reader, const uint64_t *argument)
{
	uint32_t tag = (uint32_t)argument[1], behind = tag - reader->layout.list_tag;
	struct plain_arguments slots;

	if (behind != 5 && behind != 6)
		return 0;
	slots = plain_vector((const char *)(uintptr_t)argument[0] + reader->layout.first + 64);
	return slots.n == 1 && (uint32_t)slots.words[1] == tag + 3 ? slots.words[0] : 0;
}

#endif
