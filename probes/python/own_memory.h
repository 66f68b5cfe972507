/* own_memory: reading this process's memory where it may be gone: what other threads free meanwhile.
 *
 * The kernel copies it (process_vm_readv(2), or /proc/self/mem where a filter of system calls forbids that),
 * so an address that is not mapped is an answer and no fault. No signal is sent, and no thread is stopped.
 *
 * (1) own_memory_read() asks the kernel each time. own_memory_copy() keeps the pages that it has read until
 *     own_memory_forget(), so that what lies close together is read together and as it was at one moment.
 * (2) Nothing is allocated: the structure has all there is. One thread uses it. */
#ifndef TACHO_PYTHON_OWN_MEMORY_H
#define TACHO_PYTHON_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWN_MEMORY_PAGE_BYTES 4096u
#define OWN_MEMORY_PAGES      64u

struct own_memory {
	pid_t pid;
	int file; /* /proc/self/mem; -1: it is not needed */
	uint32_t n_pages;
	uint32_t last; /* page that was asked for last */
	uint64_t addresses[OWN_MEMORY_PAGES];
	uint8_t pages[OWN_MEMORY_PAGES][OWN_MEMORY_PAGE_BYTES];
};

/* Begin, in the thread that reads. 0 or -errno: the kernel lets nothing be read. */
int own_memory_open(struct own_memory *memory);

bool own_memory_read(struct own_memory *memory, uint64_t address, void *to, size_t n_bytes);

/* Likewise, `n_each` bytes from each of the addresses, one behind the other into `to`; is_read[i]: whether
 * those of addresses[i] are there. `n` up to OWN_MEMORY_MAX_GATHER. */
#define OWN_MEMORY_MAX_GATHER 1024u
void own_memory_gather(struct own_memory *memory, const uint64_t *addresses, uint32_t n,
		       size_t n_each, void *to, bool *is_read);

/* Up to a page. */
bool own_memory_copy(struct own_memory *memory, uint64_t address, void *to, size_t n_bytes);

static inline void own_memory_forget(struct own_memory *memory)
{
	memory->n_pages = 0;
	memory->last = 0;
}

#endif
