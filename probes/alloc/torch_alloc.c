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

#include "common/memory_events.h"
#include "common/probe.h"
#include "common/real_function.h"
#include "common/watch.h"

typedef void *alloc_function(size_t bytes);
typedef void free_function(void *address);

TACHO_EXPORT alloc_function _ZN3c109alloc_cpuEm;
TACHO_EXPORT free_function _ZN3c108free_cpuEPv;

static struct real_function real_alloc = REAL_FUNCTION_INIT("_ZN3c109alloc_cpuEm");
static struct real_function real_free = REAL_FUNCTION_INIT("_ZN3c108free_cpuEPv");

const struct memory_source memory_source = { .allocator = "c10::alloc_cpu", .probe = "alloc" };

static void write_record(enum trace_kind kind, const void *address, size_t bytes)
{
	if ((tacho_is_recording_all() || tacho_writer.scratch) && !tacho_writer.is_inside)
		memory_events_write(kind, address, bytes);
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

static void allocator_appeared(const char *path, uintptr_t base_address)
{
	(void)path;
	(void)base_address;
	memory_events_measure(write_record);
}

static void __attribute__((constructor)) start(void)
{
	tacho_watch_library("libc10.so", allocator_appeared);
}
