/* python_stack: the threads of this process's Python interpreters, and what each is running.
 *
 * The interpreters go on while they are read. So nothing that is read is believed before it proves to be
 * what it should: pointers lead back, objects have their types, chains end. What does not is a torn reading,
 * which the caller throws away. */
#ifndef TACHO_PYTHON_STACK_H
#define TACHO_PYTHON_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "python/code_table.h"
#include "python/own_memory.h"
#include "python/python_layout.h"
#include "trace/trace_layout.h"

#define PYTHON_MAX_THREADS 256u
#define PYTHON_MAX_FRAMES  1024u /* a stack */
/* So many of the innermost calls are kept of a deeper stack, whose outermost ones are not looked for. */
#define PYTHON_CUT_FRAMES 255u

/* A call that a thread is in. */
struct python_frame {
	uint64_t address, code, instruction;
	struct code_entry *function;
};

/* A thread's stack as it was read last, outermost first. Zero before that. */
struct python_stack {
	uint32_t n;
	uint32_t codes_begun; /* of the table that `function` points into */
	struct python_frame frames[PYTHON_MAX_FRAMES];
};

struct python_process {
	uint64_t runtime; /* address of _PyRuntime */
	struct python_layout layout;
	struct python_types types;
	struct own_memory memory;
	struct code_table codes;
	uint32_t
		pthread_tid; /* where a pthread has its thread's id, if it must be looked for there */
	uint32_t cut_class; /* of the frame that stands for the calls left out */
	struct python_frame found[PYTHON_MAX_FRAMES]; /* of the stack being read, innermost first */
};

struct python_thread {
	uint64_t address; /* its PyThreadState */
	uint32_t tid;
	bool has_frame; /* it may be running something */
};

/* Find out how the interpreter of `version` (0x030b) is to be read; in the thread that will read. NULL, or why it
 * cannot be. */
const char *python_process_open(struct python_process *python, uint64_t runtime, uint32_t version,
				const struct python_types *types);

/* Give back what it took. One that was not opened, or not with success, is fine. */
void python_process_close(struct python_process *python);

/* The threads of all interpreters, those of the newest interpreter first. Returns how many; -1: torn. */
int python_threads_read(struct python_process *python,
			struct python_thread threads[PYTHON_MAX_THREADS]);

/* The stack that the thread has now, outermost first. `stack` is what it had last time, and becomes what it has now: calls
 * that go on are not all looked up again, unless `is_all`. Returns how many frames; -1: torn. */
int python_stack_read(struct python_process *python, const struct python_thread *thread,
		      struct python_stack *stack, bool is_all,
		      struct record_frame frames[PYTHON_MAX_FRAMES]);

#endif
