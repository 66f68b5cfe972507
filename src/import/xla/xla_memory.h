/* xla_memory: what XLA's profiles tell of memory: events "MemoryAllocation" and "MemoryDeallocation" as memory events, and
 * how much their allocator holds, and in chunks of which sizes, as counters. */
#ifndef TACHO_XLA_MEMORY_H
#define TACHO_XLA_MEMORY_H

#include "import/import_format.h"

struct xla_memory;

struct xla_memory_event {
	gint64 time_ns;
	guint64 address, bytes;
	guint64 requested_bytes;		 /* before they were rounded up; 0: not told */
	guint64 allocated_bytes, reserved_bytes; /* that the allocator holds after it */
	guint64 most_allocated_bytes;		 /* that it ever held; 0: not told */
	gdouble fragmentation; /* the share of what is free that is not in the largest free piece; NaN: not told */
	guint32 allocator; /* string id */
	gboolean is_allocation;
};

struct xla_memory *xla_memory_new(struct import *import);
void xla_memory_free(struct xla_memory *memory);

/* Whether an event of that name is one; which has an address, too. */
gboolean xla_memory_is_event(const gchar *name, gboolean *ret_is_allocation);
/* Add it to a track of the process, in any order; its counters are made when they are needed. */
void xla_memory_add(struct xla_memory *memory, const struct xla_memory_event *event,
		    guint32 process, guint32 track);
/* When all have been added: tell of chunks by size. */
void xla_memory_finish(struct xla_memory *memory);

#endif
