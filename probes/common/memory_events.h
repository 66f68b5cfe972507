/* memory_events: what a probe of one allocator records, and what that costs. Each probe has a copy of its own, and says whose it is:
 *
 *     const struct memory_source memory_source = { .allocator = "malloc", .probe = "malloc" };
 *
 * Whether a record is wanted is for the probe to ask, before memory_events_write(). */
#ifndef TACHO_MEMORY_EVENTS_H
#define TACHO_MEMORY_EVENTS_H

#include "common/probe.h"

struct memory_source {
	const char *allocator; /* name of the classes */
	const char *probe;     /* name behind the costs */
};

extern const struct memory_source memory_source;

/* Classes of this thread, and the process of a line of forks in which they were looked up: each tells
 * its own trace what a record costs. */
struct memory_classes {
	uint32_t generation;
	uint32_t alloc, free;
};

extern TACHO_THREAD_LOCAL struct memory_classes memory_classes
	__attribute__((tls_model("initial-exec")));

void memory_events_declare(void);

/* Write a record of kind ALLOC or FREE. */
static inline void memory_events_write(enum trace_kind kind, const void *address, size_t bytes)
{
	struct record_memory *record;

	if (TACHO_UNLIKELY(memory_classes.generation != tacho_generation()))
		memory_events_declare();
	record = (struct record_memory *)tacho_record_begin(
		kind == TRACE_KIND_ALLOC ? memory_classes.alloc : memory_classes.free,
		sizeof(*record));
	if (!record)
		return;
	record->address = (uint64_t)(uintptr_t)address;
	record->bytes = bytes;
	tacho_record_commit(record);
}

/* Measure what the probe's `write` costs, in scratch memory, and tell it. */
void memory_events_measure(void (*write)(enum trace_kind kind, const void *address, size_t bytes));

#endif
