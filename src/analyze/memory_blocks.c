/* memory_blocks: pair what was handed out with what was given back, by address and in order of time,
 * over all threads of a process. An address handed out again without having been given back was given
 * back unseen, then. */
#include "analyze/memory_blocks.h"

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const TachoMemoryEvent *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* given back first */
}

/* Events stand by track, so each process's are found without looking at those of all others. */
static GArray *events_of_process(const TachoTimeline *timeline, guint32 process)
{
	GArray *events = g_array_new(FALSE, FALSE, sizeof(TachoMemoryEvent));

	for (guint32 track = 0; track < timeline->tracks->len; track++) {
		guint first, n;

		if (tacho_timeline_track(timeline, track)->process != process)
			continue;
		n = tacho_track_memory(timeline, track, &first);
		if (n)
			g_array_append_vals(
				events, &g_array_index(timeline->memory, TachoMemoryEvent, first),
				n);
	}
	g_array_sort(events, compare_events);
	return events;
}

/* Address -> index + 1 of the block that is there. */
static guint take_open(GHashTable *open, guint64 *address)
{
	guint index = GPOINTER_TO_UINT(g_hash_table_lookup(open, address));

	if (index)
		g_hash_table_remove(open, address);
	return index;
}

GArray *memory_blocks_of_process(const TachoTimeline *timeline, guint32 process)
{
	GArray *blocks = g_array_new(FALSE, FALSE, sizeof(struct memory_block));
	g_autoptr(GArray) events = events_of_process(timeline, process);
	g_autoptr(GHashTable) open = g_hash_table_new(g_int64_hash, g_int64_equal);

	for (guint i = 0; i < events->len; i++) {
		TachoMemoryEvent *event = &g_array_index(events, TachoMemoryEvent, i);
		guint known = take_open(open, &event->address);
		struct memory_block block = { event->time_ns, G_MAXINT64,   event->bytes,
					      event->device,  event->slice, event->address,
					      event->track,   TACHO_NONE };

		if (known) {
			struct memory_block *before =
				&g_array_index(blocks, struct memory_block, known - 1);

			before->end_ns = event->time_ns;
			before->end_track = event->track;
		}
		if (event->bytes <= 0)
			continue;
		g_array_append_val(blocks, block);
		g_hash_table_insert(open, &event->address, GUINT_TO_POINTER(blocks->len));
	}
	return blocks;
}

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct memory_change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

GArray *memory_changes(const GArray *blocks, guint32 device)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct memory_change));

	for (guint i = 0; i < blocks->len; i++) {
		const struct memory_block *block = &g_array_index(blocks, struct memory_block, i);
		struct memory_change change = { block->begin_ns, block->bytes };

		if (device != MEMORY_ALL_DEVICES && block->device != device)
			continue;
		g_array_append_val(changes, change);
		change = (struct memory_change){ block->end_ns, -block->bytes };
		if (block->end_ns != G_MAXINT64)
			g_array_append_val(changes, change);
	}
	g_array_sort(changes, compare_changes);
	return changes;
}

gchar *memory_label(guint32 device)
{
	return device ? g_strdup_printf("gpu %u", device - 1) : g_strdup("host");
}
