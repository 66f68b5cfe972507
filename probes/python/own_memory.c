#include "python/own_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_AHEAD_PAGES 2u /* frames of a stack lie below the innermost */

int own_memory_open(struct own_memory *memory)
{
	static const int known = 42;
	int seen = 0;

	own_memory_forget(memory);
	memory->pid = getpid();
	memory->file = -1;
	if (own_memory_read(memory, (uintptr_t)&known, &seen, sizeof(seen)) && seen == known)
		return 0;
	memory->file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (memory->file < 0)
		return -errno;
	return own_memory_read(memory, (uintptr_t)&known, &seen, sizeof(seen)) && seen == known
		       ? 0
		       : -EPERM;
}

/* How many of the `n` pieces are read, the first ones. */
static uint32_t read_pieces(struct own_memory *memory, const struct iovec *from, uint32_t n,
			    uint8_t *to)
{
	struct iovec into = { .iov_base = to };
	uint32_t n_read = 0;
	ssize_t n_bytes;

	if (memory->file >= 0) {
		while (n_read < n && pread(memory->file, to, from[n_read].iov_len,
					   (off_t)(uintptr_t)from[n_read].iov_base) ==
					     (ssize_t)from[n_read].iov_len)
			to += from[n_read++].iov_len;
		return n_read;
	}
	for (uint32_t i = 0; i < n; i++)
		into.iov_len += from[i].iov_len;
	n_bytes = process_vm_readv(memory->pid, &into, 1, from, n, 0);
	while (n_read < n && n_bytes >= (ssize_t)from[n_read].iov_len)
		n_bytes -= (ssize_t)from[n_read++].iov_len;
	return n_read;
}

bool own_memory_read(struct own_memory *memory, uint64_t address, void *to, size_t n_bytes)
{
	struct iovec from = { (void *)(uintptr_t)address, n_bytes };

	return read_pieces(memory, &from, 1, to) == 1;
}

/* The kernel stops at the first that cannot be read: go on behind it. */
void own_memory_gather(struct own_memory *memory, const uint64_t *addresses, uint32_t n,
		       size_t n_each, void *to, bool *is_read)
{
	struct iovec from[OWN_MEMORY_MAX_GATHER];
	uint32_t first = 0;

	for (uint32_t i = 0; i < n; i++)
		from[i] = (struct iovec){ (void *)(uintptr_t)addresses[i], n_each };
	while (first < n) {
		uint32_t n_read = read_pieces(memory, from + first, n - first,
					      (uint8_t *)to + first * n_each);

		for (uint32_t i = 0; i < n_read; i++)
			is_read[first++] = true;
		if (first < n)
			is_read[first++] = false;
	}
}

static bool has_page(const struct own_memory *memory, uint64_t address, uint32_t *ret_page)
{
	if (memory->last < memory->n_pages && memory->addresses[memory->last] == address) {
		*ret_page = memory->last;
		return true;
	}
	for (uint32_t i = 0; i < memory->n_pages; i++) {
		if (memory->addresses[i] == address) {
			*ret_page = i;
			return true;
		}
	}
	return false;
}

/* Read the page at `address` and, while at it, those below that nobody has yet. */
static bool read_page(struct own_memory *memory, uint64_t address, uint32_t *ret_page)
{
	struct iovec from[READ_AHEAD_PAGES];
	uint32_t first, n = 0, n_read, kept;

	if (memory->n_pages + READ_AHEAD_PAGES > OWN_MEMORY_PAGES)
		own_memory_forget(memory);
	first = memory->n_pages;
	for (; n < READ_AHEAD_PAGES; n++) {
		uint64_t page = address - (uint64_t)n * OWN_MEMORY_PAGE_BYTES;

		if (page > address || (n && has_page(memory, page, &kept)))
			break;
		from[n] = (struct iovec){ (void *)(uintptr_t)page, OWN_MEMORY_PAGE_BYTES };
		memory->addresses[first + n] = page;
	}
	n_read = read_pieces(memory, from, n, memory->pages[first]);
	memory->n_pages += n_read;
	*ret_page = first;
	return n_read > 0;
}

bool own_memory_copy(struct own_memory *memory, uint64_t address, void *to, size_t n_bytes)
{
	uint8_t *bytes = to;

	while (n_bytes) {
		uint64_t offset = address % OWN_MEMORY_PAGE_BYTES;
		size_t part = OWN_MEMORY_PAGE_BYTES - offset;
		uint32_t page;

		if (part > n_bytes)
			part = n_bytes;
		if (!has_page(memory, address - offset, &page) &&
		    !read_page(memory, address - offset, &page))
			return false;
		memory->last = page;
		memcpy(bytes, memory->pages[page] + offset, part);
		bytes += part;
		address += part;
		n_bytes -= part;
	}
	return true;
}
