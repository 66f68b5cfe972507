/* memory_blocks: pair what was handed out with what was given back, by layer and address and in order of time,
 * over all threads of a process. An address handed out again without having been given back was given
 * back unseen, then. An allocator's first block has the address of the piece that it took of the driver: they are two.
 *
 * Where addresses were not recorded (Kineto before 2022, 0), what is given back is taken to be the block
 * of that size that was handed out last in that memory: scratch space goes soon, and what a forward pass
 * saves goes in the opposite order. How much is held does not hang on which of them it was. */
#include "analyze/memory_blocks.h"

#include "analyze/memory_gaps.h"
#include "base/for_each.h"
#include "base/hash_mix.h"
#include "base/order.h"

/* Events of one time stay in the order of their tracks. */
static gint compare_events(gconstpointer a, gconstpointer b)
{
	const TachoMemoryEvent *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns);
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

/* What is not given back yet: numbers of blocks, plus 1. */
struct open_blocks {
	GHashTable *by_address; /* event of that address and layer -> block there */
	GHashTable *by_size;	/* event of that size -> GArray of blocks, without addresses */
};

/* Also of the least number that there is. */
static guint64 size_of(const TachoMemoryEvent *event)
{
	return event->bytes < 0 ? -(guint64)event->bytes : (guint64)event->bytes;
}

static guint hash_size(gconstpointer key)
{
	guint64 hash = hash_mix(hash_mix(HASH_MIX_START, size_of(key)),
				((const TachoMemoryEvent *)key)->device);

	return (guint)(hash ^ hash >> 32);
}

static gboolean has_same_size(gconstpointer a, gconstpointer b)
{
	const TachoMemoryEvent *x = a, *y = b;

	return size_of(x) == size_of(y) && x->device == y->device && x->layer == y->layer;
}

static guint hash_address(gconstpointer key)
{
	const TachoMemoryEvent *event = key;
	guint64 hash = hash_mix(hash_mix(HASH_MIX_START, event->address), event->layer);

	return (guint)(hash ^ hash >> 32);
}

static gboolean has_same_address(gconstpointer a, gconstpointer b)
{
	const TachoMemoryEvent *x = a, *y = b;

	return x->address == y->address && x->layer == y->layer;
}

/* The block that the event ends, or 0. */
static guint take_open(struct open_blocks *open, const TachoMemoryEvent *event)
{
	GArray *same;
	guint index;

	if (event->address) {
		index = GPOINTER_TO_UINT(g_hash_table_lookup(open->by_address, event));
		if (index)
			g_hash_table_remove(open->by_address, event);
		return index;
	}
	same = event->bytes < 0 ? g_hash_table_lookup(open->by_size, event) : NULL;
	if (!same || same->len == 0)
		return 0;
	index = g_array_index(same, guint, same->len - 1);
	g_array_set_size(same, same->len - 1);
	return index;
}

static void put_open(struct open_blocks *open, TachoMemoryEvent *event, guint index)
{
	GArray *same;

	if (event->address) {
		g_hash_table_insert(open->by_address, event, GUINT_TO_POINTER(index));
		return;
	}
	same = g_hash_table_lookup(open->by_size, event);
	if (!same) {
		same = g_array_new(FALSE, FALSE, sizeof(guint));
		g_hash_table_insert(open->by_size, event, same);
	}
	g_array_append_val(same, index);
}

GArray *memory_blocks_of_layers(const TachoTimeline *timeline, guint32 process)
{
	GArray *blocks = g_array_new(FALSE, FALSE, sizeof(struct memory_block));
	g_autoptr(GArray) events = events_of_process(timeline, process);
	g_autoptr(GHashTable) by_address = g_hash_table_new(hash_address, has_same_address);
	g_autoptr(GHashTable) by_size = g_hash_table_new_full(hash_size, has_same_size, NULL,
							      (GDestroyNotify)g_array_unref);
	struct open_blocks open = { by_address, by_size };

	FOR_EACH(TachoMemoryEvent, event, events) {
		guint known = take_open(&open, event);
		struct memory_block block = { event->time_ns, G_MAXINT64,   event->bytes,
					      event->device,  event->slice, event->address,
					      event->track,   TACHO_NONE,   event->layer };

		if (known) {
			struct memory_block *before =
				&g_array_index(blocks, struct memory_block, known - 1);

			before->end_ns = event->time_ns;
			before->end_track = event->track;
		}
		if (event->bytes <= 0)
			continue;
		g_array_append_val(blocks, block);
		put_open(&open, event, blocks->len);
	}
	memory_gaps_end_blocks(timeline, process, blocks);
	return blocks;
}

/* --- layers and memories ---------------------------------------------------------------------- */

static gboolean has_allocator(const GArray *places, guint32 device)
{
	FOR_EACH(const struct memory_place, place, places)
		if (place->device == device && place->layer == TACHO_MEMORY_OF_ALLOCATOR)
			return TRUE;
	return FALSE;
}

GArray *memory_blocks_of_process(const TachoTimeline *timeline, guint32 process)
{
	GArray *blocks = memory_blocks_of_layers(timeline, process);
	g_autoptr(GArray) places = memory_places(blocks);
	guint n_kept = 0;

	FOR_EACH(const struct memory_block, block, blocks) {
		if (block->layer == TACHO_MEMORY_OF_DRIVER && has_allocator(places, block->device))
			continue;
		g_array_index(blocks, struct memory_block, n_kept++) = *block;
	}
	g_array_set_size(blocks, n_kept);
	return blocks;
}

GArray *memory_blocks_select(const GArray *blocks, guint32 device, TachoMemoryLayer layer)
{
	GArray *selected = g_array_new(FALSE, FALSE, sizeof(struct memory_block));

	FOR_EACH(const struct memory_block, block, blocks)
		if (block->device == device && block->layer == layer)
			g_array_append_vals(selected, block, 1);
	return selected;
}

static gint compare_places(gconstpointer a, gconstpointer b)
{
	const struct memory_place *x = a, *y = b;

	return ORDER(x->device, y->device) ?: ORDER(x->layer, y->layer);
}

GArray *memory_places(const GArray *blocks)
{
	GArray *places = g_array_new(FALSE, TRUE, sizeof(struct memory_place));
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	FOR_EACH(const struct memory_block, block, blocks) {
		struct memory_place place = { .device = block->device, .layer = block->layer };
		gsize key = (gsize)block->device * TACHO_N_MEMORY_LAYERS + block->layer;

		if (g_hash_table_add(seen, GSIZE_TO_POINTER(key)))
			g_array_append_val(places, place);
	}
	g_array_sort(places, compare_places);
	return places;
}

/* --- changes ---------------------------------------------------------------------------------- */

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct memory_change *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns) ?: ORDER(x->bytes, y->bytes);
}

GArray *memory_changes(const GArray *blocks, guint32 device)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct memory_change));

	FOR_EACH(const struct memory_block, block, blocks) {
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

gboolean has_driver_memory(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoMemoryEvent, event, timeline->memory)
		if (event->layer == TACHO_MEMORY_OF_DRIVER)
			return TRUE;
	return FALSE;
}

/* -1: more than fits. */
static gint64 peak_of(const GArray *changes)
{
	gint64 held_bytes = 0, peak_bytes = 0;

	FOR_EACH(const struct memory_change, change, changes) {
		if (__builtin_add_overflow(held_bytes, change->bytes, &held_bytes))
			return -1;
		peak_bytes = MAX(peak_bytes, held_bytes);
	}
	return peak_bytes;
}

/* The highest peak of the memories that the blocks are in. */
static gint64 peak_of_memories(const GArray *blocks)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	gint64 peak_bytes = 0;

	for (guint i = 0; i < blocks->len; i++) {
		guint32 device = g_array_index(blocks, struct memory_block, i).device;
		g_autoptr(GArray) changes = NULL;

		if (!g_hash_table_add(seen, GUINT_TO_POINTER(device)))
			continue;
		changes = memory_changes(blocks, device);
		peak_bytes = MAX(peak_bytes, peak_of(changes));
	}
	return peak_bytes;
}

static gboolean has_memory(const TachoTimeline *timeline, guint32 process)
{
	guint first;

	for (guint32 track = 0; track < timeline->tracks->len; track++)
		if (tacho_timeline_track(timeline, track)->process == process &&
		    tacho_track_memory(timeline, track, &first) > 0)
			return TRUE;
	return FALSE;
}

gint64 memory_peak_of_process(const TachoTimeline *timeline, guint32 process)
{
	g_autoptr(GArray) blocks = NULL;

	if (!has_memory(timeline, process))
		return -1;
	blocks = memory_blocks_of_process(timeline, process);
	return peak_of_memories(blocks);
}

gchar *memory_label(guint32 device)
{
	return device ? g_strdup_printf("gpu %u", device - 1) : g_strdup("host");
}
