#include "torch_layout.h"

#include <string.h>

#define PAINT	   UINT64_C(0xe7e7e7e7e7e7e7e7)
#define SEQUENCE   INT64_C(0x2ac40b1e6d095e37)
#define KNOWN_NAME "tacho: a known operation"

/* The trial's RecordFunction, and what its callbacks saw. One thread does this, once. */
static struct {
	uint64_t object[TORCH_FUNCTION_WORDS];
	const struct torch_symbols *torch;
	struct torch_context context;
	int n_begun, n_ended, n_freed;
	bool is_odd;
} trial;

static void keep_context(struct torch_context *context)
{
	(void)context;
}

static void free_context(struct torch_context *context)
{
	trial.is_odd |= context != &trial.context;
	trial.n_freed++;
}

/* A class's table of virtual functions: offset and type, then the destructor's two forms. */
static const void *const context_table[] = { NULL, NULL, (const void *)keep_context,
					     (const void *)free_context };

static struct torch_context *begin_known(const void *function)
{
	const char *name = trial.torch->name(function);

	trial.is_odd |= function != trial.object || !name || strcmp(name, KNOWN_NAME) != 0;
	trial.n_begun++;
	trial.context.methods = &context_table[2];
	return &trial.context;
}

static void end_known(const void *function, struct torch_context *context)
{
	trial.is_odd |= function != trial.object || context != &trial.context || trial.n_freed;
	trial.n_ended++;
}

TORCH_START_CALLBACK(start_known, begin_known);

/* Which word of the object is `value`; 0: none or several are. */
static uint32_t find_word(uint64_t value)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < TORCH_FUNCTION_WORDS; i++) {
		if (trial.object[i] != value)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

static const char *find_scope(struct torch_layout *layout)
{
	static const uint8_t scope[] = { TORCH_BUILD_FEATURE, true, false, true };
	uint64_t thread_id = trial.torch->thread_id();
	uint32_t found = 0;

	for (uint32_t i = 1; i + 1 < TORCH_FUNCTION_WORDS; i++) {
		if (trial.object[i] != thread_id ||
		    memcmp(&trial.object[i + 1], scope, sizeof(scope)) != 0)
			continue;
		if (found)
			return "the scope of a RecordFunction";
		found = i;
	}
	layout->thread_id = found * 8;
	layout->scope = found * 8 + 8;
	return found ? NULL : "the scope of a RecordFunction";
}

static size_t inputs_said(uint32_t at, uint64_t address, uint64_t n)
{
	trial.object[at] = address;
	trial.object[at + 1] = n;
	return trial.torch->n_inputs(trial.object);
}

/* What num_outputs() says where the vector of the outputs at that word has five of them: each argument
 * has 16 bytes. */
static size_t outputs_said(uint32_t at)
{
	static const char five[5 * 16];
	size_t n;

	trial.object[at] = (uint64_t)(uintptr_t)five;
	trial.object[at + 1] = trial.object[at + 2] = (uint64_t)(uintptr_t)(five + sizeof(five));
	n = trial.torch->n_outputs(trial.object);
	memset(&trial.object[at], 0, 3 * sizeof(*trial.object));
	return n;
}

static const char *find_arguments(struct torch_layout *layout)
{
	static const char anything[3 * 16];
	uint32_t sequence = find_word((uint64_t)SEQUENCE), inputs = sequence + 1, outputs;
	size_t three;

	if (!sequence || sequence + 24 > TORCH_FUNCTION_WORDS)
		return "the sequence number of a RecordFunction";
	three = inputs_said(inputs, (uint64_t)(uintptr_t)anything, 3);
	if (inputs_said(inputs, 0, 0) != 0 || three != 3)
		return "the inputs of a RecordFunction";
	/* PyTorch 2 has named inputs before the outputs */
	for (outputs = inputs + 2; outputs < inputs + 14; outputs++)
		if (!trial.object[outputs] && !trial.object[outputs + 1] &&
		    !trial.object[outputs + 2] && outputs_said(outputs) == 5)
			break;
	if (outputs == inputs + 14 || trial.torch->n_outputs(trial.object) != 0)
		return "the outputs of a RecordFunction";
	layout->sequence = sequence * 8;
	layout->inputs = inputs * 8;
	layout->outputs = outputs * 8;
	return NULL;
}

/* Behind the outputs: the forward's thread, the handle, the asynchronous flag, the debug handle. */
static const char *find_forward_thread(struct torch_layout *layout)
{
	const uint64_t *behind = &trial.object[layout->outputs / 8 + 3];
	const uint8_t *flag = (const uint8_t *)&behind[2];

	if (behind[0] != 0 || behind[1] == 0 || behind[1] == PAINT || *flag != 0 ||
	    behind[3] != UINT64_MAX || trial.torch->is_async(trial.object))
		return "what is behind the outputs of a RecordFunction";
	trial.torch->set_async(trial.object);
	if (*flag != 1 || !trial.torch->is_async(trial.object))
		return "the asynchronous flag of a RecordFunction";
	layout->forward_thread = layout->outputs + 3 * 8;
	return NULL;
}

/* A variant of a text and an operator's schema. The text is a std::string_view (its length before its address) or a std::string (of
 * the ABI with its length and 16 bytes behind the address, or of the older one, which is an address); the byte behind the longer alternative
 * says which it is. */
static void find_name(struct torch_layout *layout)
{
	uint32_t text = find_word((uint64_t)(uintptr_t)trial.torch->name(trial.object));
	uint32_t begin = 0, kind = 0;

	layout->name = layout->name_kind = 0;
	if (text > 1 && trial.object[text - 1] == strlen(KNOWN_NAME)) {
		begin = text - 1;
		kind = text + 1;
	} else if (text && trial.object[text + 1] == strlen(KNOWN_NAME)) {
		begin = text;
		kind = text + 4;
	} else if (text) {
		begin = text;
		kind = text + 1;
	}
	if (!begin || (uint8_t)trial.object[kind] == TORCH_NAME_SCHEMA)
		return;
	layout->name = begin * 8;
	layout->name_kind = kind * 8;
}

static void begin(void)
{
	struct torch_descriptor descriptor = { strlen(KNOWN_NAME), KNOWN_NAME, 0 };

	if (trial.torch->before_descriptor)
		trial.torch->before_descriptor(trial.object, descriptor, SEQUENCE);
	else
		trial.torch->before_text(trial.object, KNOWN_NAME, SEQUENCE);
}

static bool is_tail_painted(void)
{
	for (uint32_t i = TORCH_FUNCTION_WORDS / 2; i < TORCH_FUNCTION_WORDS; i++)
		if (trial.object[i] != PAINT)
			return false;
	return true;
}

static const char *try_function(struct torch_layout *layout)
{
	const char *odd;

	for (uint32_t i = 0; i < TORCH_FUNCTION_WORDS; i++)
		trial.object[i] = PAINT;
	trial.torch->construct(trial.object, TORCH_BUILD_FEATURE);
	odd = is_tail_painted() ? find_scope(layout) : "the size of a RecordFunction";
	begin();
	if (!odd && trial.n_begun != 1)
		odd = "how an operation begins";
	if (!odd)
		odd = find_arguments(layout);
	if (!odd)
		odd = find_forward_thread(layout);
	if (!odd)
		find_name(layout);
	trial.torch->destruct(trial.object);
	if (odd)
		return odd;
	if (trial.n_begun != 1 || trial.n_ended != 1 || trial.n_freed != 1 || trial.is_odd)
		return "how an operation ends";
	return is_tail_painted() ? NULL : "the size of a RecordFunction";
}

const char *function_layout_prove(const struct torch_symbols *torch, struct torch_layout *layout)
{
	struct torch_callback callback = { .start = start_known,
					   .end = end_known,
					   .sampling_probability = 1,
					   .needs_inputs = true,
					   .needs_ids = true };
	bool was_enabled = torch->is_enabled();
	const char *odd;
	uint64_t handle;

	callback.scopes[TORCH_BUILD_FEATURE] = true;
	trial.torch = torch;
	handle = torch->add_local(callback);
	torch->set_enabled(true);
	odd = try_function(layout);
	torch->set_enabled(was_enabled);
	torch->remove(handle);
	return odd;
}
