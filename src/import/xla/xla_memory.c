/* xla_memory: each event is a memory event, and samples of what its allocator says of itself. What is in use by size is found at
 * the end, from all events of an allocator in order of time, as TensorFlow's best-fit allocator sorts its chunks: bin N has
 * those of 256 << N bytes and more, the last all larger ones (analyze/bins_view.c).
 *
 * (1) Of chunks that were handed out before the profile began nothing is known, also not when they are given back.
 * (2) Of each figure two samples are told, when a bin's bytes in use were most and at the end: more would be as many as events. */
#include "import/xla/xla_memory.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/counter_kind.h"

enum {
	N_BINS = 21,
	LEAST_BIN_BYTES = 256,
	/* Each makes a few tracks for each bin; a job has one for each device and one or two of its host. */
	MAX_ALLOCATORS = 256,
};

/* What an event did to chunks. */
struct chunk_event {
	gint64 time_ns;
	guint64 address, bytes, requested_bytes;
	gboolean is_allocation;
};

struct allocator {
	guint32 name, process;
	guint32 counters[N_COUNTER_KINDS]; /* of COUNTER_SUMS: track + 1 */
	GArray *events;			   /* struct chunk_event */
};

struct xla_memory {
	struct import *import;
	GHashTable *allocators; /* string id and process -> struct allocator */
	GPtrArray *in_order;	/* the same, as they came */
};

static void free_allocator(gpointer data)
{
	struct allocator *allocator = data;

	g_array_unref(allocator->events);
	g_free(allocator);
}

struct xla_memory *xla_memory_new(struct import *import)
{
	struct xla_memory *memory = g_new0(struct xla_memory, 1);

	memory->import = import;
	memory->allocators = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	memory->in_order = g_ptr_array_new_with_free_func(free_allocator);
	return memory;
}

void xla_memory_free(struct xla_memory *memory)
{
	g_hash_table_unref(memory->allocators);
	g_ptr_array_unref(memory->in_order);
	g_free(memory);
}

gboolean xla_memory_is_event(const gchar *name, gboolean *ret_is_allocation)
{
	*ret_is_allocation = strcmp(name, "MemoryAllocation") == 0;
	return *ret_is_allocation || strcmp(name, "MemoryDeallocation") == 0;
}

static struct allocator *find_allocator(struct xla_memory *memory, guint32 name, guint32 process)
{
	gint64 key = (gint64)((guint64)process << 32 | name);
	struct allocator *allocator = g_hash_table_lookup(memory->allocators, &key);

	if (allocator)
		return allocator;
	allocator = g_new0(struct allocator, 1);
	allocator->name = name;
	allocator->process = process;
	allocator->events = g_array_new(FALSE, FALSE, sizeof(struct chunk_event));
	g_hash_table_insert(memory->allocators, g_memdup2(&key, sizeof(key)), allocator);
	g_ptr_array_add(memory->in_order, allocator);
	return allocator;
}

static void append_sample(struct xla_memory *memory, guint32 track, gint64 time_ns, gdouble value)
{
	TachoSample sample = { .time_ns = time_ns, .value = value, .track = track };

	g_array_append_val(memory->import->timeline->samples, sample);
}

static void add_sample(struct xla_memory *memory, struct allocator *allocator,
		       enum counter_kind kind, gint64 time_ns, gdouble value)
{
	TachoTimeline *timeline = memory->import->timeline;

	if (!allocator->counters[kind]) {
		g_autofree gchar *name =
			counter_sum_name(kind, tacho_timeline_string(timeline, allocator->name));

		allocator->counters[kind] = import_add_track(memory->import, TACHO_TRACK_COUNTER,
							     allocator->process, 0, name) +
					    1;
	}
	append_sample(memory, allocator->counters[kind] - 1, time_ns, value);
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
	struct allocator *allocator = find_allocator(memory, event->allocator, process);
	TachoMemoryEvent row = {
		.time_ns = event->time_ns,
		.address = event->address,
		.bytes = (gint64)MIN(event->bytes, (guint64)G_MAXINT64),
		.track = track,
		.slice = TACHO_NONE,
		.device = device_of_allocator(tacho_timeline_string(timeline, event->allocator)),
	};
	struct chunk_event chunk = { event->time_ns, event->address, event->bytes,
				     event->requested_bytes, event->is_allocation };

	if (!event->is_allocation)
		row.bytes = -row.bytes;
	g_array_append_val(timeline->memory, row);
	g_array_append_val(allocator->events, chunk);
	add_sample(memory, allocator, COUNTER_ALLOCATED_BY, event->time_ns,
		   (gdouble)event->allocated_bytes);
	add_sample(memory, allocator, COUNTER_RESERVED_BY, event->time_ns,
		   (gdouble)event->reserved_bytes);
	if (event->most_allocated_bytes)
		add_sample(memory, allocator, COUNTER_MOST_ALLOCATED_BY, event->time_ns,
			   (gdouble)event->most_allocated_bytes);
	if (isfinite(event->fragmentation))
		add_sample(memory, allocator, COUNTER_FRAGMENTATION_BY, event->time_ns,
			   event->fragmentation);
}

/* --- chunks by size --------------------------------------------------------------------------- */

/* What is in use of a bin, or of all: sums are doubles, so that none of a broken trace overflows. */
struct use {
	gdouble chunks, bytes, requested_bytes;
};

struct bin {
	struct use now, most;
	gint64 most_ns;
	gboolean is_seen, has_requests;
};

static guint bin_of(guint64 bytes)
{
	guint bin = 0;

	while (bin + 1 < N_BINS && bytes >> 1 >= (guint64)LEAST_BIN_BYTES << bin)
		bin++;
	return bin;
}

static void change(struct bin *bin, const struct chunk_event *chunk, gint64 time_ns, gint sign)
{
	bin->now.chunks += sign;
	bin->now.bytes += sign * (gdouble)chunk->bytes;
	bin->now.requested_bytes += sign * (gdouble)chunk->requested_bytes;
	bin->is_seen = TRUE;
	bin->has_requests |= chunk->requested_bytes != 0;
	if (bin->now.bytes <= bin->most.bytes)
		return;
	bin->most = bin->now;
	bin->most_ns = time_ns;
}

static gint compare_chunks(gconstpointer a, gconstpointer b)
{
	const struct chunk_event *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns);
}

/* Of bin `number`; -1: of all. */
static void add_figure(struct xla_memory *memory, const struct allocator *allocator, gint number,
		       enum counter_kind kind, const struct bin *bin, gint64 end_ns, gdouble most,
		       gdouble now)
{
	g_autofree gchar *name = counter_figure_name(
		kind, number, tacho_timeline_string(memory->import->timeline, allocator->name));
	guint32 track =
		import_add_track(memory->import, TACHO_TRACK_COUNTER, allocator->process, 0, name);

	if (bin->most.bytes > 0)
		append_sample(memory, track, bin->most_ns, most);
	append_sample(memory, track, end_ns, now);
}

static void tell_bin(struct xla_memory *memory, const struct allocator *allocator, gint number,
		     const struct bin *bin, gint64 end_ns)
{
	if (!bin->is_seen)
		return;
	add_figure(memory, allocator, number, COUNTER_BIN_USED_CHUNKS, bin, end_ns,
		   bin->most.chunks, bin->now.chunks);
	add_figure(memory, allocator, number, COUNTER_BIN_USED_BYTES, bin, end_ns, bin->most.bytes,
		   bin->now.bytes);
	if (bin->has_requests)
		add_figure(memory, allocator, number, COUNTER_BIN_REQUESTED_BYTES, bin, end_ns,
			   bin->most.requested_bytes, bin->now.requested_bytes);
}

static void find_chunks(struct xla_memory *memory, struct allocator *allocator)
{
	g_autoptr(GHashTable) open = g_hash_table_new(g_int64_hash, g_int64_equal);
	struct bin bins[N_BINS] = { 0 }, all = { 0 };
	gint64 end_ns = 0;

	g_array_sort(allocator->events, compare_chunks); /* stable */
	FOR_EACH(struct chunk_event, event, allocator->events) {
		struct chunk_event *known = g_hash_table_lookup(open, &event->address);

		end_ns = event->time_ns;
		if (known) { /* also where it was given back unseen */
			change(&bins[bin_of(known->bytes)], known, event->time_ns, -1);
			change(&all, known, event->time_ns, -1);
			g_hash_table_remove(open, &event->address);
		}
		if (!event->is_allocation)
			continue;
		g_hash_table_insert(open, &event->address, event);
		change(&bins[bin_of(event->bytes)], event, event->time_ns, 1);
		change(&all, event, event->time_ns, 1);
	}
	for (gint i = 0; i < N_BINS; i++)
		tell_bin(memory, allocator, i, &bins[i], end_ns);
	tell_bin(memory, allocator, -1, &all, end_ns);
}

void xla_memory_finish(struct xla_memory *memory)
{
	FOR_EACH_POINTER_AT(struct allocator, allocator, i, memory->in_order)
		if (i < MAX_ALLOCATORS)
			find_chunks(memory, allocator);
}
