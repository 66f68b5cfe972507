#include "python/python_stack.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/probe.h"

#define MOST_HEAD_BYTES	       1024u
#define MOST_INTERPRETERS      64
#define PTHREAD_SEARCHED_BYTES 2048u
#define CUT_NAME	       "[calls left out]"
#define AT_ONCE		       64u
#define LOOKED_AT_ALWAYS       4u

/* --- opening ---------------------------------------------------------------------------------- */

/* Where a pthread has the id of its thread: the kernel is given the address of that field, so every libc
 * has one. It is where this thread's own id stands. 0: it cannot be told. */
static uint32_t find_pthread_tid(struct own_memory *memory)
{
	uint32_t words[PTHREAD_SEARCHED_BYTES / sizeof(uint32_t)];
	uint32_t tid = (uint32_t)syscall(SYS_gettid), n = sizeof(words);

	/* It may lie close to the end of what is mapped. */
	while (n && !own_memory_read(memory, (uintptr_t)pthread_self(), words, n))
		n /= 2;
	for (uint32_t i = 1; i < n / sizeof(*words); i++)
		if (words[i] == tid)
			return i * (uint32_t)sizeof(*words);
	return 0;
}

const char *python_process_open(struct python_process *python, uint64_t runtime, uint32_t version,
				const struct python_types *types)
{
	int status = own_memory_open(&python->memory);

	python->runtime = runtime;
	python->types = *types;
	if (status < 0)
		return strerror(-status);
	if (!python_layout_find(&python->layout, &python->memory, runtime, version))
		return "its version is not known";
	if (code_head_bytes(&python->layout) > MOST_HEAD_BYTES)
		return "its objects are too large";
	if (!python->layout.thread_tid)
		python->pthread_tid = find_pthread_tid(&python->memory);
	if (!python->layout.thread_tid && !python->pthread_tid)
		return "its threads cannot be told apart";
	if (!code_table_init(&python->codes, &python->layout, &python->types, &python->memory))
		return "there is no memory";
	python->cut_class = tacho_class(TRACE_KIND_FUNCTION, CUT_NAME, strlen(CUT_NAME));
	return NULL;
}

void python_process_close(struct python_process *python)
{
	if (python->memory.pid && python->memory.file >= 0)
		close(python->memory.file);
	code_table_release(&python->codes);
}

/* --- threads ---------------------------------------------------------------------------------- */

static bool read_word(struct python_process *python, uint64_t address, uint64_t *ret_word)
{
	return own_memory_read(&python->memory, address, ret_word, sizeof(*ret_word));
}

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint32_t largest(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Bytes from the beginning of a PyThreadState that have what is wanted of it. */
static size_t thread_head_bytes(const struct python_layout *layout)
{
	uint32_t last = largest(layout->thread_next, layout->thread_interpreter);

	last = largest(largest(last, layout->thread_frame), layout->thread_pthread);
	return largest(last, layout->thread_tid) + sizeof(uint64_t);
}

static bool read_tid(struct python_process *python, const uint8_t *head, uint32_t *ret_tid)
{
	const struct python_layout *layout = &python->layout;
	uint64_t pthread = word_at(head, layout->thread_pthread);

	if (layout->thread_tid) {
		*ret_tid = (uint32_t)word_at(head, layout->thread_tid);
		return true;
	}
	return pthread && own_memory_read(&python->memory, pthread + python->pthread_tid, ret_tid,
					  sizeof(*ret_tid));
}

/* `address` is that of a thread of `interpreter`. */
static bool read_thread(struct python_process *python, uint64_t address, uint64_t interpreter,
			struct python_thread *thread, uint64_t *ret_next)
{
	const struct python_layout *layout = &python->layout;
	uint8_t head[MOST_HEAD_BYTES];

	if (!own_memory_read(&python->memory, address, head, thread_head_bytes(layout)) ||
	    word_at(head, layout->thread_interpreter) != interpreter)
		return false;
	thread->address = address;
	thread->has_frame = word_at(head, layout->thread_frame) != 0;
	*ret_next = word_at(head, layout->thread_next);
	return read_tid(python, head, &thread->tid);
}

int python_threads_read(struct python_process *python,
			struct python_thread threads[PYTHON_MAX_THREADS])
{
	const struct python_layout *layout = &python->layout;
	uint64_t interpreter, address;
	uint32_t n = 0;

	if (!read_word(python, python->runtime + layout->runtime_interpreters, &interpreter))
		return -1;
	for (int i = 0; interpreter && i < MOST_INTERPRETERS; i++) {
		if (!read_word(python, interpreter + layout->interpreter_threads, &address))
			return -1;
		while (address && n < PYTHON_MAX_THREADS)
			if (!read_thread(python, address, interpreter, &threads[n++], &address))
				return -1;
		if (!read_word(python, interpreter + layout->interpreter_next, &interpreter))
			return -1;
	}
	return (int)n;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Whether the frame stands for a call from C: it has no code of the program's. */
static bool is_c_frame(const struct python_layout *layout, const uint8_t *frame)
{
	return layout->c_stack_owner && frame[layout->frame_owner] == layout->c_stack_owner;
}

/* Take each frame's address, code and instruction, innermost first. Returns how many, one more than
 * PYTHON_MAX_FRAMES where that is not all; -1: torn. */
static int walk_frames(struct python_process *python, uint64_t frame)
{
	const struct python_layout *layout = &python->layout;
	size_t n_bytes = largest(largest(layout->frame_owner, layout->frame_instruction),
				 layout->frame_previous) +
			 sizeof(uint64_t);
	uint8_t bytes[256];
	uint32_t n = 0, n_walked = 0;

	if (n_bytes > sizeof(bytes))
		return -1;
	for (; frame; frame = word_at(bytes, layout->frame_previous)) {
		if (n_walked++ > 2 * PYTHON_MAX_FRAMES || n == PYTHON_MAX_FRAMES)
			return PYTHON_MAX_FRAMES + 1;
		if (!own_memory_copy(&python->memory, frame, bytes, n_bytes))
			return -1;
		if (is_c_frame(layout, bytes))
			continue;
		python->found[n++] = (struct python_frame){
			.address = frame,
			.code = word_at(bytes, layout->frame_code),
			.instruction = word_at(bytes, layout->frame_instruction),
		};
	}
	return (int)n;
}

/* Find the functions of found[0] to found[n - 1], innermost first, as their code objects are now. */
static bool find_functions(struct python_process *python, uint32_t n)
{
	static uint8_t heads[AT_ONCE * MOST_HEAD_BYTES];
	size_t n_each = code_head_bytes(&python->layout);
	uint64_t addresses[AT_ONCE];
	bool is_read[AT_ONCE];

	for (uint32_t first = 0; first < n; first += AT_ONCE) {
		uint32_t n_now = n - first < AT_ONCE ? n - first : AT_ONCE;

		for (uint32_t i = 0; i < n_now; i++)
			addresses[i] = python->found[first + i].code;
		own_memory_gather(&python->memory, addresses, n_now, n_each, heads, is_read);
		for (uint32_t i = 0; i < n_now; i++) {
			struct python_frame *frame = &python->found[first + i];

			frame->function = is_read[i] ? code_table_find(&python->codes, frame->code,
								       heads + i * n_each)
						     : NULL;
			if (!frame->function)
				return false;
		}
	}
	return true;
}

/* How many frames of the stack are those that `stack` had, the outermost ones: calls that go on. */
static uint32_t count_kept(const struct python_process *python, uint32_t n,
			   const struct python_stack *stack)
{
	uint32_t n_kept = 0;

	if (stack->codes_begun != python->codes.n_begun)
		return 0;
	while (n_kept < n && n_kept < stack->n) {
		const struct python_frame *found = &python->found[n - 1 - n_kept];
		const struct python_frame *kept = &stack->frames[n_kept];

		if (found->address != kept->address || found->code != kept->code)
			break;
		n_kept++;
	}
	return n_kept;
}

/* What goes on is looked at again with the innermost calls only: a code object whose call goes on is the one it was.
 * (One that has ended, and whose place and frame another took at once, may keep its name until is_all.) */
static bool keep_stack(struct python_process *python, struct python_stack *stack, uint32_t n,
		       bool is_all)
{
	uint32_t n_kept = is_all ? 0 : count_kept(python, n, stack);
	uint32_t n_looked = n - n_kept;

	if (n_looked < LOOKED_AT_ALWAYS)
		n_looked = n < LOOKED_AT_ALWAYS ? n : LOOKED_AT_ALWAYS;
	stack->n = 0;
	for (uint32_t i = n_looked; i < n; i++)
		python->found[i].function = stack->frames[n - 1 - i].function;
	if (!find_functions(python, n_looked))
		return false;
	for (uint32_t i = 0; i < n; i++)
		stack->frames[n - 1 - i] = python->found[i];
	stack->n = n;
	stack->codes_begun = python->codes.n_begun;
	return true;
}

/* The innermost frame of the thread at `address`. */
static bool read_frame(struct python_process *python, uint64_t address, uint64_t *ret_frame)
{
	const struct python_layout *layout = &python->layout;

	if (!read_word(python, address + layout->thread_frame, ret_frame))
		return false;
	return !layout->has_cframe || !*ret_frame ||
	       read_word(python, *ret_frame + layout->cframe_frame, ret_frame);
}

int python_stack_read(struct python_process *python, const struct python_thread *thread,
		      struct python_stack *stack, bool is_all,
		      struct record_frame frames[PYTHON_MAX_FRAMES])
{
	uint32_t n_cut = 0, begun = python->codes.n_begun;
	uint64_t frame;
	int n;

	own_memory_forget(&python->memory);
	if (!read_frame(python, thread->address, &frame))
		return -1;
	n = walk_frames(python, frame);
	if (n > (int)PYTHON_MAX_FRAMES) {
		frames[n_cut++] = (struct record_frame){ python->cut_class, 0 };
		n = PYTHON_CUT_FRAMES;
	}
	/* A table that was begun anew meanwhile has other entries than those found before. */
	if (n < 0 || !keep_stack(python, stack, (uint32_t)n, is_all) ||
	    begun != python->codes.n_begun)
		return -1;
	for (int i = 0; i < n; i++) {
		const struct python_frame *row = &stack->frames[i];

		frames[n_cut + (uint32_t)i] = (struct record_frame){
			row->function->class_id,
			code_entry_line(&python->codes, row->function, row->instruction),
		};
	}
	return n + (int)n_cut;
}
