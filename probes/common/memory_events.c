#include "common/memory_events.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_GENERATION UINT32_MAX
#define COST_BATCHES  9
#define COST_EVENTS   64

TACHO_THREAD_LOCAL struct memory_classes memory_classes = { .generation = NO_GENERATION };

static uint64_t alloc_ps, free_ps; /* what a record costs; 0: not measured */

static void tell_costs(void)
{
	if (alloc_ps)
		tacho_cost(TRACE_KIND_ALLOC, memory_source.probe, alloc_ps);
	if (free_ps)
		tacho_cost(TRACE_KIND_FREE, memory_source.probe, free_ps);
}

void memory_events_declare(void)
{
	bool is_forked = memory_classes.generation != NO_GENERATION;
	const char *name = memory_source.allocator;

	memory_classes.generation = tacho_generation();
	memory_classes.alloc = tacho_class(TRACE_KIND_ALLOC, name, strlen(name));
	memory_classes.free = tacho_class(TRACE_KIND_FREE, name, strlen(name));
	if (is_forked)
		tell_costs();
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t median_cost_ps(void (*write)(enum trace_kind, const void *, size_t),
			       enum trace_kind kind)
{
	uint64_t batches[COST_BATCHES];

	for (int batch = 0; batch < COST_BATCHES; batch++) {
		uint64_t start_ns = now_ns();

		for (int i = 0; i < COST_EVENTS; i++)
			write(kind, &batches[batch], sizeof(batches));
		batches[batch] = (now_ns() - start_ns) * 1000 / COST_EVENTS;
	}
	qsort(batches, COST_BATCHES, sizeof(*batches), compare_u64);
	return batches[COST_BATCHES / 2];
}

void memory_events_measure(void (*write)(enum trace_kind kind, const void *address, size_t bytes))
{
	if (tacho_is_partial() || !tacho_scratch_begin(1 << 13))
		return;
	alloc_ps = median_cost_ps(write, TRACE_KIND_ALLOC);
	free_ps = median_cost_ps(write, TRACE_KIND_FREE);
	tacho_scratch_end();
	tell_costs();
}
