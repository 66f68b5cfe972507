/* peak_memory: the most that one memory of a rank held, the host's or a device's, of what its allocators' probes
 * saw. What was handed out before the recording is worth nothing. */
#include "replay/replay_internal.h"

#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "predict/prediction.h"

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

gint64 peak_memory_bytes(const TachoTimeline *timeline)
{
	gint64 peak_bytes = -1;

	for (guint i = 0; i < timeline->ranks->len; i++) {
		guint32 process = tacho_timeline_rank(timeline, i)->main_process;
		g_autoptr(GArray) blocks = memory_blocks_of_process(timeline, process);

		if (has_memory(timeline, process))
			peak_bytes = MAX(peak_bytes, peak_of_memories(blocks));
	}
	return peak_bytes;
}
