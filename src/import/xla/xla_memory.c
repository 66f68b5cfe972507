#include "import/xla/xla_memory.h"

#include <string.h>

struct xla_memory {
	struct import *import;
	GHashTable *counters; /* string id of the allocator << 1 | is reserved -> track + 1 */
};

struct xla_memory *xla_memory_new(struct import *import)
{
	struct xla_memory *memory = g_new0(struct xla_memory, 1);

	memory->import = import;
	memory->counters = g_hash_table_new(NULL, NULL);
	return memory;
}

void xla_memory_free(struct xla_memory *memory)
{
	g_hash_table_unref(memory->counters);
	g_free(memory);
}

gboolean xla_memory_is_event(const gchar *name, gboolean *ret_is_allocation)
{
	*ret_is_allocation = strcmp(name, "MemoryAllocation") == 0;
	return *ret_is_allocation || strcmp(name, "MemoryDeallocation") == 0;
}

static void add_sample(struct xla_memory *memory, const struct xla_memory_event *event,
		       gboolean is_reserved, guint32 process)
{
	TachoTimeline *timeline = memory->import->timeline;
	gpointer key = GUINT_TO_POINTER(event->allocator << 1 | (guint32)is_reserved);
	guint32 track = GPOINTER_TO_UINT(g_hash_table_lookup(memory->counters, key));
	TachoSample sample = { .time_ns = event->time_ns };

	if (!track) {
		g_autofree gchar *name =
			g_strdup_printf("%s %s", tacho_timeline_string(timeline, event->allocator),
					is_reserved ? "reserved" : "allocated");

		track = import_add_track(memory->import, TACHO_TRACK_COUNTER, process, 0, name) + 1;
		g_hash_table_insert(memory->counters, key, GUINT_TO_POINTER(track));
	}
	sample.value = (gdouble)(is_reserved ? event->reserved_bytes : event->allocated_bytes);
	sample.track = track - 1;
	g_array_append_val(timeline->samples, sample);
}

/* "GPU_0_bfc" has memory of device 0, plus 1; all others that of the host. */
static guint32 device_of_allocator(const gchar *name)
{
	const gchar *digits = name;
	guint64 number;

	if (g_str_has_prefix(name, "GPU_"))
		digits += strlen("GPU_");
	if (digits == name || !g_ascii_isdigit(*digits))
		return 0;
	number = g_ascii_strtoull(digits, NULL, 10);
	return number < 1 << 20 ? (guint32)number + 1 : 0;
}

void xla_memory_add(struct xla_memory *memory, const struct xla_memory_event *event,
		    guint32 process, guint32 track)
{
	TachoTimeline *timeline = memory->import->timeline;
	TachoMemoryEvent row = {
		.time_ns = event->time_ns,
		.address = event->address,
		.bytes = (gint64)MIN(event->bytes, (guint64)G_MAXINT64),
		.track = track,
		.slice = TACHO_NONE,
		.device = device_of_allocator(tacho_timeline_string(timeline, event->allocator)),
	};

	if (!event->is_allocation)
		row.bytes = -row.bytes;
	g_array_append_val(timeline->memory, row);
	add_sample(memory, event, FALSE, process);
	add_sample(memory, event, TRUE, process);
}
