#include "base/huge_pages.h"

#include <sys/mman.h>

#define HUGE_PAGE_BYTES	  ((gsize)2 << 20)
#define LEAST_HUGE_MEMORY (2 * HUGE_PAGE_BYTES)

void huge_pages_want(gpointer memory, gsize n_bytes)
{
	gsize begin = ((gsize)memory + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
	gsize end = ((gsize)memory + n_bytes) & ~(HUGE_PAGE_BYTES - 1);

	if (n_bytes >= LEAST_HUGE_MEMORY)
		madvise((gpointer)begin, end - begin, MADV_HUGEPAGE);
}

gpointer huge_pages_malloc_n(gsize n_rows, gsize row_bytes)
{
	gpointer memory = g_malloc_n(n_rows, row_bytes);

	huge_pages_want(memory, n_rows * row_bytes);
	return memory;
}
