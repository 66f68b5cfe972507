/* peak_memory: the most memory a rank held, of what its allocator's probe saw. */
#include "replay/replay_internal.h"

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const TachoMemoryEvent *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* given back first */
}

/* Peak of what `events`, in order of time, hand out and give back. A block given back is worth
 * what it was handed out with; one handed out before the recording is worth nothing. */
static gint64 peak_of(const GArray *events)
{
	g_autoptr(GHashTable) sizes =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, NULL);
	gint64 held_bytes = 0, peak_bytes = 0;

	for (guint i = 0; i < events->len; i++) {
		TachoMemoryEvent *event = &g_array_index(events, TachoMemoryEvent, i);
		TachoMemoryEvent *known = g_hash_table_lookup(sizes, &event->address);

		if (known) {
			held_bytes -= known->bytes;
			g_hash_table_remove(sizes, &event->address);
		}
		if (event->bytes <= 0)
			continue;
		if (event->bytes > G_MAXINT64 - held_bytes)
			return -1;
		held_bytes += event->bytes;
		g_hash_table_insert(sizes, &event->address, event);
		peak_bytes = MAX(peak_bytes, held_bytes);
	}
	return peak_bytes;
}

static GArray *events_of_process(const TachoTimeline *timeline, guint32 process)
{
	GArray *events = g_array_new(FALSE, FALSE, sizeof(TachoMemoryEvent));

	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);

		if (tacho_timeline_track(timeline, event->track)->process == process)
			g_array_append_val(events, *event);
	}
	g_array_sort(events, compare_events);
	return events;
}

gint64 peak_memory_bytes(const TachoTimeline *timeline)
{
	gint64 peak_bytes = -1;

	for (guint i = 0; i < timeline->ranks->len; i++) {
		guint32 process = g_array_index(timeline->ranks, TachoRank, i).main_process;
		g_autoptr(GArray) events = events_of_process(timeline, process);

		if (events->len > 0)
			peak_bytes = MAX(peak_bytes, peak_of(events));
	}
	return peak_bytes;
}
