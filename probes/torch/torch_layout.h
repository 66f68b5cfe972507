/* torch_layout: where libtorch keeps what its exported functions do not tell.
 *
 * RecordFunction and tensors have grown and shrunk between versions, and with the ABI of std::string.
 * So the places are found in the process, on objects whose content is known, and each is proven by an
 * exported function of libtorch that reads or writes it, or by a value that stands nowhere else:
 *
 *   RecordFunction  constructed and begun by exported functions in a scope that no program uses: its
 *                   thread and scope by their values; its sequence number by one that is like no other;
 *                   its inputs and outputs by what num_inputs() and num_outputs() say once we have
 *                   written there; the asynchronous flag by _setAsync(); what is between these by order.
 *                   its name by the address that name() tells; whether that is a schema's, by aten::zero_, below.
 *   callbacks       begin and end were called once each, with our object and our context, which was freed.
 *   tensors         two on the CPU and one without memory, of known shapes, types and devices; the
 *                   storage by data_ptr<double>().
 *   arguments       aten::zero_ of one of these, by the dispatcher: name, scope, input and output.
 *   lists           made up; IValue::isTensorList() tells by which tag it knows them.
 *
 * (1) Only the calling thread sees the trial: the callbacks are thread-local, and gone behind it.
 *     No random number is drawn, nothing is computed; the memory of one small tensor is taken and kept.
 * (2) What does not fit is refused, and said. Nothing is taken from a table of versions. */
#ifndef TACHO_TORCH_LAYOUT_H
#define TACHO_TORCH_LAYOUT_H

#include "torch_symbols.h"

/* Bytes from the beginning of the object. */
struct torch_layout {
	/* at::RecordFunction */
	uint32_t thread_id, scope, sequence, inputs, outputs, forward_thread;
	/* what it is called by: a text, or (the byte `name_kind` says so) the operator's schema, whose address is there; 0: not
	 * known, which is borne */
	uint32_t name, name_kind;
	/* c10::TensorImpl; `first` is that of the first member of any c10::intrusive_ptr_target, as a
	 * tensor's storage, a storage's data and a list's elements are */
	uint32_t first, sizes, storage_offset, n_elements, dtype, device, policy;
	uint32_t list_tag; /* of an IValue that is a list */
};

/* Find and prove the places in a RecordFunction. NULL, or what does not fit: a phrase for "... is not as
 * known". */
const char *function_layout_prove(const struct torch_symbols *torch, struct torch_layout *layout);

/* The same of tensors, arguments and lists, once those of RecordFunctions are known. */
const char *tensor_layout_prove(const struct torch_symbols *torch, struct torch_layout *layout);

/* Bits of the byte `policy`: whether the sizes must be asked for, are symbolic, are of a class's own. */
#define TORCH_POLICY_BITS 0x7c

#define TORCH_NAME_SCHEMA 1 /* `name_kind`: the second of std::variant's alternatives */

static inline uint64_t torch_word(const void *object, uint32_t offset)
{
	return *(const uint64_t *)((const char *)object + offset);
}

static inline uint8_t torch_byte(const void *object, uint32_t offset)
{
	return *((const uint8_t *)object + offset);
}

#endif
