#include "torch_layout.h"

#include <string.h>

#define MAX_TAGS  64
#define LOW_LIMIT 65536 /* no address is below */

static const int64_t three_sizes[] = { 3, 5, 7 }, three_strides[] = { 35, 7, 1 };
/* more dimensions than a tensor has room for in itself */
static const int64_t six_sizes[] = { 2, 1, 3, 1, 2, 1 }, six_strides[] = { 6, 6, 2, 2, 1, 1 };

/* They are kept: what would free them is in PyTorch's headers. */
static struct {
	struct torch_tensor cpu, six, meta;
} known;

static uint64_t word_at(const struct torch_tensor *tensor, uint32_t offset)
{
	return torch_word(tensor->impl, offset);
}

static bool make_known(const struct torch_symbols *torch)
{
	const struct torch_sizes sizes = { three_sizes, 3 }, strides = { three_strides, 3 };
	const struct torch_sizes more = { six_sizes, 6 }, more_strides = { six_strides, 6 };

	known.cpu = torch->empty_cpu(sizes, strides, TORCH_DOUBLE, false);
	known.six = torch->empty_cpu(more, more_strides, TORCH_BFLOAT16, false);
	known.meta = torch->empty_meta(sizes, strides, TORCH_INT16);
	return known.cpu.impl && known.six.impl && known.meta.impl;
}

/* c10::impl::SizesAndStrides: how many dimensions, then room for five sizes and five strides. */
static bool find_sizes(struct torch_layout *layout)
{
	const uint64_t *words = known.cpu.impl;

	for (uint32_t i = 2; i < 12; i++) {
		if (words[i] != 3 || memcmp(&words[i + 1], three_sizes, sizeof(three_sizes)) != 0)
			continue;
		layout->sizes = i * 8;
		layout->storage_offset = layout->sizes + 11 * 8;
		layout->n_elements = layout->storage_offset + 8;
		layout->dtype = layout->n_elements + 8;
		return memcmp(&words[i + 6], three_strides, sizeof(three_strides)) == 0;
	}
	return false;
}

static bool is_size_as_known(const struct torch_symbols *torch, const struct torch_layout *layout)
{
	const int64_t *six = (const int64_t *)(uintptr_t)word_at(&known.six, layout->sizes + 8);

	return word_at(&known.cpu, layout->n_elements) == 3 * 5 * 7 &&
	       word_at(&known.cpu, layout->storage_offset) == 0 &&
	       word_at(&known.six, layout->n_elements) == 12 &&
	       word_at(&known.six, layout->sizes) == 6 && (uintptr_t)six > LOW_LIMIT &&
	       memcmp(six, six_sizes, sizeof(six_sizes)) == 0 &&
	       memcmp(six + 6, six_strides, sizeof(six_strides)) == 0 &&
	       word_at(&known.meta, layout->sizes + 8) == 3 &&
	       torch_word(torch->undefined_tensor, layout->n_elements) == 0;
}

static uint16_t dtype_of(const struct torch_tensor *tensor, const struct torch_layout *layout)
{
	return (uint16_t)word_at(tensor, layout->dtype);
}

static bool is_plain(const struct torch_tensor *tensor, const struct torch_layout *layout)
{
	return !(torch_byte(tensor->impl, layout->policy) & TORCH_POLICY_BITS);
}

/* Behind the type's number stand the device and whether there is one (in either order), then bits, of
 * which some in the second byte say that the sizes must be asked for (c10/core/TensorImpl.h). */
static bool find_device(struct torch_layout *layout)
{
	uint32_t n_found = 0;

	if (dtype_of(&known.cpu, layout) != TORCH_DOUBLE ||
	    dtype_of(&known.six, layout) != TORCH_BFLOAT16 ||
	    dtype_of(&known.meta, layout) != TORCH_INT16)
		return false;
	for (uint32_t at = layout->dtype + 2; at < layout->dtype + 5; at++) {
		if (torch_byte(known.cpu.impl, at) != 0 ||
		    torch_byte(known.meta.impl, at) != TORCH_DEVICE_META)
			continue;
		layout->device = at;
		n_found++;
	}
	layout->policy = layout->dtype + 6;
	return n_found == 1 && is_plain(&known.cpu, layout) && is_plain(&known.six, layout) &&
	       is_plain(&known.meta, layout);
}

static bool find_storage(const struct torch_symbols *torch, struct torch_layout *layout)
{
	uint64_t data = (uint64_t)(uintptr_t)torch->double_data(&known.cpu.impl);

	/* behind the table of virtual functions and one or two words of counts */
	for (uint32_t first = 16; first <= 24; first += 8) {
		uint64_t storage = word_at(&known.cpu, first);

		if (storage < LOW_LIMIT || torch_word((void *)(uintptr_t)storage, first) != data)
			continue;
		layout->first = first;
		return data > LOW_LIMIT;
	}
	return false;
}

/* --- arguments ---------------------------------------------------------------------------------- */

static struct {
	const struct torch_symbols *torch;
	const struct torch_layout *layout;
	int n_begun, n_ended;
	bool is_odd, has_schema;
} trial;

/* A schema begins with the operator's name, a std::string, which begins with the address of the text. */
static bool has_schema(const void *function, const char *name)
{
	uint64_t schema = torch_word(function, trial.layout->name);

	return trial.layout->name_kind &&
	       torch_byte(function, trial.layout->name_kind) == TORCH_NAME_SCHEMA &&
	       schema > LOW_LIMIT &&
	       torch_word((void *)(uintptr_t)schema, 0) == (uint64_t)(uintptr_t)name;
}

/* One argument: the tensor, and the tag that says so. */
static bool is_known_argument(const uint64_t *argument)
{
	return argument[0] == (uint64_t)(uintptr_t)known.meta.impl &&
	       (uint32_t)argument[1] == TORCH_TAG_TENSOR;
}

static struct torch_context *begin_zero(const void *function)
{
	const char *name = trial.torch->name(function);
	const uint64_t *inputs =
		(const uint64_t *)(uintptr_t)torch_word(function, trial.layout->inputs);

	trial.n_begun++;
	trial.has_schema = has_schema(function, name);
	if (!name || strcmp(name, "aten::zero_") != 0 ||
	    torch_byte(function, trial.layout->scope) != TORCH_FUNCTION ||
	    torch_word(function, trial.layout->inputs + 8) != 1 || !is_known_argument(inputs))
		trial.is_odd = true;
	return NULL;
}

static void end_zero(const void *function, struct torch_context *context)
{
	uint64_t begin = torch_word(function, trial.layout->outputs);
	uint64_t end = torch_word(function, trial.layout->outputs + 8);

	trial.n_ended++;
	if (context || end - begin != 16 || !is_known_argument((uint64_t *)(uintptr_t)begin))
		trial.is_odd = true;
}

TORCH_START_CALLBACK(start_zero, begin_zero);

static bool are_arguments_as_known(const struct torch_symbols *torch,
				   const struct torch_layout *layout)
{
	struct torch_callback callback = { .start = start_zero,
					   .end = end_zero,
					   .sampling_probability = 1,
					   .needs_inputs = true,
					   .needs_outputs = true };
	bool was_enabled = torch->is_enabled();
	uint64_t handle;

	callback.scopes[TORCH_FUNCTION] = true;
	trial.torch = torch;
	trial.layout = layout;
	handle = torch->add_local(callback);
	torch->set_enabled(true);
	torch->zero(&known.meta.impl);
	torch->set_enabled(was_enabled);
	torch->remove(handle);
	return trial.n_begun == 1 && trial.n_ended == 1 && !trial.is_odd;
}

/* Which tag isTensorList() takes for a list's: it then reads the type of the elements, behind the vector
 * of them. */
static bool find_list_tag(const struct torch_symbols *torch, struct torch_layout *layout)
{
	uint64_t list[8] = { 0 };
	uint32_t n_found = 0;

	memcpy(&list[layout->first / 8 + 3], torch->tensor_type(), sizeof(void *));
	for (uint32_t tag = TORCH_TAG_TENSOR + 1; tag < MAX_TAGS; tag++) {
		const uint64_t argument[2] = { (uint64_t)(uintptr_t)list, tag };

		if (!torch->is_tensor_list(argument))
			continue;
		layout->list_tag = tag;
		n_found++;
	}
	return n_found == 1;
}

const char *tensor_layout_prove(const struct torch_symbols *torch, struct torch_layout *layout)
{
	if (!make_known(torch) || !find_sizes(layout) || !is_size_as_known(torch, layout))
		return "the shape of a tensor";
	if (!find_device(layout))
		return "the type and the device of a tensor";
	if (!find_storage(torch, layout))
		return "the storage of a tensor";
	if (!are_arguments_as_known(torch, layout))
		return "the arguments of an operation";
	if (!trial.has_schema)
		layout->name_kind = 0;
	return find_list_tag(torch, layout) ? NULL : "a list of tensors";
}
