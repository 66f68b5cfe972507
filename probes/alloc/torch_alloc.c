/* torch_alloc: PyTorch's memory on the CPU, handed out and given back.
 *
 * Every CPU tensor's memory comes from c10::alloc_cpu() and goes to c10::free_cpu(); libtorch calls
 * both through its symbol table, so a preloaded library can stand in front of them. Their mangled
 * names have not changed since they exist (PyTorch 1.8), and take and give plain C types.
 *
 * (1) alloc_cpu() throws when there is no memory; the exception passes through here (-fexceptions).
 * (2) An address is recorded as handed out after it was, and as given back before it is: so no
 *     other thread's record of the same address can come in between.
 * (3) The number of bytes given back is not known: 0.
 * (4) What it takes from malloc() is this memory once more, so that the probe malloc passes it. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/probe.h"
#include "common/real_function.h"
#include "common/watch.h"

#define ALLOCATOR     "c10::alloc_cpu"
#define NO_GENERATION UINT32_MAX
#define COST_BATCHES  9
#define COST_EVENTS   64

typedef void *alloc_function(size_t bytes);
typedef void free_function(void *address);

TACHO_EXPORT alloc_function _ZN3c109alloc_cpuEm;
TACHO_EXPORT free_function _ZN3c108free_cpuEPv;

static struct real_function real_alloc = REAL_FUNCTION_INIT("_ZN3c109alloc_cpuEm");
static struct real_function real_free = REAL_FUNCTION_INIT("_ZN3c108free_cpuEPv");

/* Classes of this thread, and the process of a line of forks in which they were looked up: each tells
 * its own trace what a record costs. */
struct classes {
	uint32_t generation;
	uint32_t alloc, free;
};

static _Thread_local struct classes classes __attribute__((tls_model("initial-exec"))) = {
	.generation = NO_GENERATION,
};

static uint64_t alloc_ps, free_ps; /* what a record costs; 0: not measured */

static void tell_costs(void)
{
	if (alloc_ps)
		tacho_cost(TRACE_KIND_ALLOC, "alloc", alloc_ps);
	if (free_ps)
		tacho_cost(TRACE_KIND_FREE, "alloc", free_ps);
}

static void declare_classes(void)
{
	bool is_forked = classes.generation != NO_GENERATION;

	classes.generation = tacho_generation();
	classes.alloc = tacho_class(TRACE_KIND_ALLOC, ALLOCATOR, strlen(ALLOCATOR));
	classes.free = tacho_class(TRACE_KIND_FREE, ALLOCATOR, strlen(ALLOCATOR));
	if (is_forked)
		tell_costs();
}

static inline void write_record(enum trace_kind kind, void *address, size_t bytes)
{
	struct record_memory *record;

	if ((!tacho_is_recording_all() && !tacho_writer.scratch) || tacho_writer.is_inside)
		return;
	if (TACHO_UNLIKELY(classes.generation != tacho_generation()))
		declare_classes();
	record = tacho_record_begin(kind == TRACE_KIND_ALLOC ? classes.alloc : classes.free,
				    sizeof(*record));
	if (!record)
		return;
	record->address = (uint64_t)(uintptr_t)address;
	record->bytes = bytes;
	tacho_record_commit(record);
}

static void come_out(uint32_t **is_inside)
{
	--**is_inside;
}

/* Inside until the scope ends, by an exception too. */
#define INSIDE()                                                                                   \
	uint32_t *is_inside __attribute__((cleanup(come_out))) = &tacho_writer.is_inside;          \
	++*is_inside

static void *call_alloc(alloc_function *real, size_t bytes)
{
	INSIDE();

	return real(bytes);
}

static void call_free(free_function *real, void *address)
{
	INSIDE();

	real(address);
}

void *_ZN3c109alloc_cpuEm(size_t bytes)
{
	alloc_function *real =
		(alloc_function *)real_function(&real_alloc, __builtin_return_address(0));
	void *address = real ? call_alloc(real, bytes) : NULL;

	if (address)
		write_record(TRACE_KIND_ALLOC, address, bytes);
	return address;
}

void _ZN3c108free_cpuEPv(void *address)
{
	free_function *real =
		(free_function *)real_function(&real_free, __builtin_return_address(0));

	if (address)
		write_record(TRACE_KIND_FREE, address, 0);
	if (real)
		call_free(real, address);
}

/* --- what it costs ------------------------------------------------------------------------ */

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

static uint64_t median_cost_ps(enum trace_kind kind)
{
	uint64_t batches[COST_BATCHES];

	for (int batch = 0; batch < COST_BATCHES; batch++) {
		uint64_t start_ns = now_ns();

		for (int i = 0; i < COST_EVENTS; i++)
			write_record(kind, &batches[batch], sizeof(batches));
		batches[batch] = (now_ns() - start_ns) * 1000 / COST_EVENTS;
	}
	qsort(batches, COST_BATCHES, sizeof(*batches), compare_u64);
	return batches[COST_BATCHES / 2];
}

static void allocator_appeared(const char *path, uintptr_t base_address)
{
	(void)path;
	(void)base_address;
	if (tacho_is_partial() || !tacho_scratch_begin(1 << 13))
		return;
	alloc_ps = median_cost_ps(TRACE_KIND_ALLOC);
	free_ps = median_cost_ps(TRACE_KIND_FREE);
	tacho_scratch_end();
	tell_costs();
}

static void __attribute__((constructor)) start(void)
{
	tacho_watch_library("libc10.so", allocator_appeared);
}
