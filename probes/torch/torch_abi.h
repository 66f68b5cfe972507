/* torch_abi: PyTorch's C++ as plain C sees it: the types that its exported functions take by value,
 * and how functions of ours are called by it.
 *
 * What is here follows from the two ABIs (System V x86-64, AAPCS64) and from declarations that have
 * been the same from PyTorch 1.13 to 2.15 (ATen/record_function.h, c10/util/ArrayRef.h). What may
 * differ between builds is in no struct of ours: torch_layout.h finds it out in the process.
 *
 * (1) A C++ object that cannot be copied by its bytes (a tensor, a unique_ptr) is returned into
 *     memory of the caller's. To *call* such a function, C declares a result of more than 16 bytes,
 *     which both ABIs return that way, too; the callee fills only its beginning.
 * (2) To *be called* as such a function, C would have to fill all of such a result. On x86-64 the
 *     address of that memory is a hidden first argument, which C can write as an open one. On AArch64
 *     it comes in x8, where C cannot see it: four bytes of assembly move it to where the second
 *     argument is.
 * (3) A class that can be copied by its bytes is passed as a C struct of the same members is. */
#ifndef TACHO_TORCH_ABI_H
#define TACHO_TORCH_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORCH_FUNCTION_WORDS                                                                       \
	128 /* room for an at::RecordFunction, which has 37 to 44 words of 8 bytes */

/* at::RecordScope */
enum torch_scope {
	TORCH_FUNCTION,
	TORCH_BACKWARD_FUNCTION,
	TORCH_SCRIPT_FUNCTION,
	TORCH_KERNEL_FUNCTION_DTYPE,
	TORCH_CUSTOM_CLASS,
	TORCH_BUILD_FEATURE, /* of mobile builds' selection of operators: no program runs in it */
	TORCH_LITE_INTERPRETER,
	TORCH_USER_SCOPE,
	TORCH_STATIC_RUNTIME_OP,
	TORCH_STATIC_RUNTIME_MODEL,
	TORCH_N_SCOPES,
};

/* An at::ObserverContext: a class with nothing but a virtual destructor. */
struct torch_context {
	const void *methods;
};

/* `std::unique_ptr<ObserverContext> (const RecordFunction &)`, called by libtorch alone: made with
 * TORCH_START_CALLBACK(). */
typedef void torch_start_callback(void);
typedef void torch_end_callback(const void *function, struct torch_context *context);

/* at::RecordFunctionCallback. It has 40 bytes, so it is passed in memory. */
struct torch_callback {
	torch_start_callback *start;
	torch_end_callback *end;
	double sampling_probability;
	bool scopes[TORCH_N_SCOPES];
	bool needs_inputs, needs_outputs, needs_ids;
};

_Static_assert(sizeof(struct torch_callback) == 40, "at::RecordFunctionCallback");

/* Define `name`, a start callback that has `body` run, which returns the event's context or NULL. */
#if defined(__aarch64__)
#define TORCH_START_CALLBACK(name, body)                                                           \
	static __attribute__((used)) void body##_into(const void *function,                        \
						      struct torch_context **ret_context)          \
	{                                                                                          \
		*ret_context = body(function);                                                     \
	}                                                                                          \
	/* hint 34 is "bti c", which processors that do not know it step over */                   \
	__asm__(".pushsection .text\n"                                                             \
		".balign 4\n"                                                                      \
		".hidden " #name "_entry\n"                                                        \
		".globl " #name "_entry\n"                                                         \
		".type " #name "_entry, %function\n" #name "_entry:\n"                             \
		"	hint	34\n"                                                                       \
		"	mov	x1, x8\n"                                                                    \
		"	b	" #body "_into\n"                                                  \
		".size " #name "_entry, . - " #name "_entry\n"                                     \
		".popsection\n");                                                                  \
	extern __attribute__((visibility("hidden"))) torch_start_callback name##_entry;            \
	static torch_start_callback *const name = name##_entry
#elif defined(__x86_64__)
#define TORCH_START_CALLBACK(name, body)                                                           \
	static struct torch_context **body##_into(struct torch_context **ret_context,              \
						  const void *function)                            \
	{                                                                                          \
		*ret_context = body(function);                                                     \
		return ret_context;                                                                \
	}                                                                                          \
	static torch_start_callback *const name = (torch_start_callback *)body##_into
#else
#error "how a unique_ptr is returned is known for x86-64 and AArch64"
#endif

/* What a function that returns a tensor is declared to return: the address of its TensorImpl stands
 * first, the rest is not written. */
struct torch_tensor {
	uint64_t *impl;
	void *unwritten[3];
};

/* c10::ArrayRef<int64_t> */
struct torch_sizes {
	const int64_t *values;
	size_t n;
};

/* std::variant<std::string_view, std::reference_wrapper<...>> that holds the former */
struct torch_descriptor {
	size_t length;
	const char *text;
	uint8_t index;
};

/* c10::ScalarType, whose numbers are part of PyTorch's file formats. */
enum torch_dtype {
	TORCH_INT16 = 2,
	TORCH_DOUBLE = 7,
	TORCH_BFLOAT16 = 15,
};

#define TORCH_DEVICE_META 14 /* c10::DeviceType; CPU is 0 */
#define TORCH_TAG_NONE	  0  /* c10::IValue's tags; tensor_layout_prove() finds that of lists */
#define TORCH_TAG_TENSOR  1

#endif
