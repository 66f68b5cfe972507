/* huge_pages: memory for millions of rows, which is first touched in a few hundred huge pages rather than in as many
 * thousand small ones: each costs a fault, which costs more than to fill it. */
#ifndef TACHO_HUGE_PAGES_H
#define TACHO_HUGE_PAGES_H

#include <glib.h>

/* Wish for them for what of this memory has not been touched. Where there are none, small ones do. */
void huge_pages_want(gpointer memory, gsize n_bytes);

/* As g_malloc_n(), with that wish; to be freed with g_free(). */
gpointer huge_pages_malloc_n(gsize n_rows, gsize row_bytes);
#define HUGE_PAGES_NEW(type, n_rows) ((type *)huge_pages_malloc_n((n_rows), sizeof(type)))

#endif
