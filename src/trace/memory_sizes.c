#include "trace/memory_sizes.h"

/* The earliest event not yet seen, taken off its range; threads that allocate are few. */
static TachoMemoryEvent *take_earliest(struct memory_range *ranges, guint n_ranges)
{
	struct memory_range *earliest = NULL;

	for (guint i = 0; i < n_ranges; i++)
		if (ranges[i].n &&
		    (!earliest || ranges[i].events->time_ns < earliest->events->time_ns))
			earliest = &ranges[i];
	if (!earliest)
		return NULL;
	earliest->n--;
	return earliest->events++;
}

void memory_sizes_fill(struct memory_range *ranges, guint n_ranges)
{
	g_autoptr(GHashTable) held = g_hash_table_new(NULL, NULL); /* address -> bytes */
	TachoMemoryEvent *event;

	while ((event = take_earliest(ranges, n_ranges))) {
		/* no address has more than 56 bits; each device has addresses of its own, and each layer its blocks */
		gpointer address = GSIZE_TO_POINTER(event->address ^ (guint64)event->device << 56 ^
						    (guint64)event->layer << 63);

		if (event->bytes > 0) {
			g_hash_table_insert(held, address, GSIZE_TO_POINTER(event->bytes));
			continue;
		}
		if (event->bytes == 0)
			event->bytes =
				-(gint64)GPOINTER_TO_SIZE(g_hash_table_lookup(held, address));
		g_hash_table_remove(held, address);
	}
}
