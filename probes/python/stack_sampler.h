/* stack_sampler: the thread that looks at what the program's Python threads are running, some hundred times a
 * second, and writes down what has changed.
 *
 * A STACK record says what a thread runs from then on, so a thread that stays where it is costs nothing in
 * the trace. The job is not stopped, interrupted or asked to lock anything.
 *
 * (1) It takes no more than a hundredth of a processor's time, and a tenth of a second more at its start:
 *     where a round of samples takes long (many threads, deep stacks), the next comes later.
 * (2) Its files are its own: it takes leave of the job's descriptors before it opens any.
 * (3) Where nothing is recorded (--steps, --control), it looks at nothing. */
#ifndef TACHO_PYTHON_STACK_SAMPLER_H
#define TACHO_PYTHON_STACK_SAMPLER_H

#include <stdint.h>

struct python_types;

struct sampler_options {
	uint64_t runtime; /* address of _PyRuntime */
	uint32_t version; /* 0x030b */
	uint32_t hz;
	const struct python_types *types; /* lives as long as the process */
};

/* Start the thread; again in a forked child, where it is gone. */
void stack_sampler_start(const struct sampler_options *options);

#endif
