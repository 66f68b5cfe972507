/* memory_snapshot_import: snapshots of PyTorch's caching allocator (torch.cuda.memory._snapshot(), _dump_snapshot()): what
 * each device's allocator handed out and took back, with the stacks that asked for it, and what it holds at the end.
 *
 * (1) The file is a pickle and is read as data (pickle.h): no part of it is executed.
 * (2) A file is one process. Each device has a track; an allocation is there a function (the innermost of the
 *     program's own) and in it the operation, both as short as can be: they say who, not how long.
 * (3) What was there before the trace began follows from what there is at its end, less what happened between: it
 *     is handed out at the begin, by whom the block's own stack says. So the sum of what is held is right at
 *     any time.
 * (4) Times are microseconds; of several in one, each begins a few nanoseconds after the one before. */
#include <string.h>

#include "import/import_format.h"
#include "import/read/pickle.h"
#include "trace/counter_kind.h"
#include "trace/source.h"

enum {
	MAX_FRAMES_DEPTH = 4, /* of JSON: an entry, its frames, a frame, its members */
	GAP_NS = 4,	      /* between entries of one microsecond */
	MAX_DEVICES = 1024,   /* in one snapshot */
	LIKELY_DEVICES = 64,  /* looked for where there are no traces */
};

struct snapshot {
	struct import *import;
	TachoTimeline *timeline;
	Pickle *pickle;
	const gchar *path;
	guint32 process, foreign;
	gint64 first_ns;
	guint64 n_unknown;
};

/* A device of the snapshot. */
struct device {
	guint32 number, track, allocated_track, reserved_track;
	guint32 trace;		    /* value: its entries */
	gint64 allocated, reserved; /* running totals */
	GHashTable *live;	    /* address -> bytes, as guint64 in pointers' places */
	gint64 time_ns;
};

static guint32 intern(struct snapshot *snapshot, const gchar *text, gsize n)
{
	return n ? tacho_timeline_intern(snapshot->timeline, text, (gssize)n) : 0;
}

/* --- stacks --------------------------------------------------------------------------------- */

static gboolean has_suffix(const gchar *text, gsize n, const gchar *suffix)
{
	gsize n_suffix = strlen(suffix);

	return n >= n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

static gboolean contains(const gchar *text, gsize n, const gchar *part)
{
	return memmem(text, n, part, strlen(part)) != NULL;
}

/* "forward, model.py:54" */
static gchar *name_frame(const struct snapshot *snapshot, guint32 frame)
{
	gsize n_name = 0, n_file = 0;
	const gchar *name = pickle_find_text(snapshot->pickle, frame, "name", &n_name);
	const gchar *file = pickle_find_text(snapshot->pickle, frame, "filename", &n_file);
	const gchar *slash = file ? memrchr(file, '/', n_file) : NULL;

	if (slash) {
		n_file -= (gsize)(slash + 1 - file);
		file = slash + 1;
	}
	return g_strdup_printf("%.*s, %.*s:%" G_GINT64_FORMAT, (gint)MIN(n_name, 4096),
			       name ? name : "", (gint)MIN(n_file, 4096), file ? file : "",
			       pickle_find_integer(snapshot->pickle, frame, "line", 0));
}

/* "aten::mul_Tensor" of "at::_ops::mul_Tensor::call(...)" */
static gchar *name_operation(const gchar *name, gsize n)
{
	static const gchar prefix[] = "at::_ops::";
	gsize n_prefix = strlen(prefix), n_name = 0;

	if (n < n_prefix || memcmp(name, prefix, n_prefix) != 0)
		return NULL;
	name += n_prefix;
	n -= n_prefix;
	while (n_name < n && name[n_name] != ':' && name[n_name] != '(')
		n_name++;
	return n_name ? g_strdup_printf("aten::%.*s", (gint)n_name, name) : NULL;
}

/* Who is in the stack, innermost first: the function of the program's own (in no installed package, else any of
 * Python's), and the operation. "": none. */
static void read_stack(struct snapshot *snapshot, guint32 frames, guint32 *ret_function,
		       guint32 *ret_operation)
{
	const Pickle *pickle = snapshot->pickle;
	g_autofree gchar *operation = NULL, *function = NULL;
	guint32 own = TACHO_NONE, any = TACHO_NONE;

	for (guint32 i = 0; i < pickle_length(pickle, frames) && own == TACHO_NONE; i++) {
		guint32 frame = pickle_element(pickle, frames, i);
		gsize n_name = 0, n_file = 0;
		const gchar *name = pickle_find_text(pickle, frame, "name", &n_name);
		const gchar *file = pickle_find_text(pickle, frame, "filename", &n_file);

		if (!operation && name)
			operation = name_operation(name, n_name);
		if (!file || !has_suffix(file, n_file, ".py"))
			continue;
		if (any == TACHO_NONE)
			any = frame;
		if (!contains(file, n_file, "-packages/") && !contains(file, n_file, "/torch/"))
			own = frame;
	}
	if (own == TACHO_NONE)
		own = any;
	if (own != TACHO_NONE)
		function = name_frame(snapshot, own);
	*ret_function = function ? intern(snapshot, function, strlen(function)) : 0;
	*ret_operation = operation ? intern(snapshot, operation, strlen(operation)) : 0;
}

/* The stack of an entry or of a block: "frames", and before PyTorch 2.1 in a "history". */
static guint32 find_frames(const struct snapshot *snapshot, guint32 entry)
{
	const Pickle *pickle = snapshot->pickle;
	guint32 frames, history;

	if (pickle_find(pickle, entry, "frames", &frames))
		return frames;
	if (pickle_find(pickle, entry, "history", &history) && pickle_length(pickle, history) &&
	    pickle_find(pickle, pickle_element(pickle, history, 0), "frames", &frames))
		return frames;
	return entry; /* no list: no frames */
}

/* Totals of a broken trace stop where they would overflow. */
static void add_bytes(gint64 *total, gint64 bytes)
{
	if (__builtin_add_overflow(*total, bytes, total))
		*total = bytes < 0 ? G_MININT64 / 2 : G_MAXINT64 / 2;
}

/* --- events --------------------------------------------------------------------------------- */

static void add_sample(struct snapshot *snapshot, guint32 track, gint64 time_ns, gint64 value)
{
	TachoSample sample = { .time_ns = time_ns, .track = track, .value = (gdouble)value };

	g_array_append_val(snapshot->timeline->samples, sample);
}

static void add_event(struct snapshot *snapshot, struct device *device, guint64 address,
		      gint64 bytes)
{
	TachoMemoryEvent event = { .time_ns = device->time_ns,
				   .address = address,
				   .bytes = bytes,
				   .track = device->track,
				   .slice = TACHO_NONE,
				   .device = device->number + 1 };

	g_array_append_val(snapshot->timeline->memory, event);
}

/* (2); `entry` is what the slices' args are of. */
static void add_owner(struct snapshot *snapshot, struct device *device, guint32 entry)
{
	guint64 handle = tacho_source_foreign_handle(snapshot->foreign, (guint64)entry + 1);
	guint32 function, operation;

	read_stack(snapshot, find_frames(snapshot, entry), &function, &operation);
	if (function)
		tacho_timeline_add_slice(snapshot->timeline, TACHO_SLICE_FUNCTION, device->track,
					 function, device->time_ns, GAP_NS - 1, 0, handle);
	if (operation)
		tacho_timeline_add_slice(snapshot->timeline, TACHO_SLICE_OP, device->track,
					 operation, device->time_ns, GAP_NS - 2, 0, handle);
}

static void add_allocation(struct snapshot *snapshot, struct device *device, guint32 entry,
			   guint64 address, gint64 bytes)
{
	add_owner(snapshot, device, entry);
	add_event(snapshot, device, address, bytes);
}

static void add_mark(struct snapshot *snapshot, const struct device *device, guint32 entry,
		     const gchar *action, gsize n_action)
{
	g_autofree gchar *text = pickle_to_json(snapshot->pickle, entry, 1);
	TachoMark mark = { .time_ns = device->time_ns, .track = device->track };

	mark.name = intern(snapshot, action, n_action);
	mark.text = text ? tacho_timeline_intern(snapshot->timeline, text, -1) : 0;
	mark.first = pickle_find_integer(snapshot->pickle, entry, "size", 0);
	g_array_append_val(snapshot->timeline->marks, mark);
}

/* --- the trace ------------------------------------------------------------------------------ */

enum action {
	ACTION_ALLOCATE,
	ACTION_FREE,
	ACTION_FREE_REQUESTED, /* it is free when the streams that use it have come that far */
	ACTION_RESERVE,
	ACTION_RELEASE,
	ACTION_OTHER, /* "oom", "snapshot" ... */
};

static enum action action_of(const gchar *text, gsize n)
{
	static const struct {
		const gchar *name;
		enum action action;
	} names[] = {
		{ "alloc", ACTION_ALLOCATE },
		{ "free_completed", ACTION_FREE },
		{ "free_requested", ACTION_FREE_REQUESTED },
		{ "segment_alloc", ACTION_RESERVE },
		{ "segment_map", ACTION_RESERVE },
		{ "segment_free", ACTION_RELEASE },
		{ "segment_unmap", ACTION_RELEASE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strlen(names[i].name) == n && memcmp(names[i].name, text, n) == 0)
			return names[i].action;
	return ACTION_OTHER;
}

struct entry {
	enum action action;
	const gchar *name;
	gsize n_name;
	guint64 address;
	gint64 bytes, time_ns;
};

static gboolean read_entry(const struct snapshot *snapshot, guint32 value, struct entry *entry)
{
	const Pickle *pickle = snapshot->pickle;
	gint64 time_us = pickle_find_integer(pickle, value, "time_us", 0);

	entry->name = pickle_find_text(pickle, value, "action", &entry->n_name);
	if (!entry->name)
		return FALSE;
	entry->action = action_of(entry->name, entry->n_name);
	entry->address = (guint64)pickle_find_integer(pickle, value, "addr", 0);
	entry->bytes = pickle_find_integer(pickle, value, "size", 0);
	if (entry->bytes < 0 || time_us < 0 || time_us > TACHO_MAX_TIME_NS / 1000)
		return FALSE;
	entry->time_ns = time_us * 1000;
	return TRUE;
}

static void use_entry(struct snapshot *snapshot, struct device *device, guint32 value,
		      const struct entry *entry)
{
	device->time_ns = MAX(entry->time_ns, device->time_ns + GAP_NS);
	switch (entry->action) {
	case ACTION_ALLOCATE:
		add_allocation(snapshot, device, value, entry->address, entry->bytes);
		add_bytes(&device->allocated, entry->bytes);
		add_sample(snapshot, device->allocated_track, device->time_ns, device->allocated);
		break;
	case ACTION_FREE:
		add_event(snapshot, device, entry->address, -entry->bytes);
		add_bytes(&device->allocated, -entry->bytes);
		add_sample(snapshot, device->allocated_track, device->time_ns, device->allocated);
		break;
	case ACTION_FREE_REQUESTED:
		break;
	case ACTION_RESERVE:
	case ACTION_RELEASE:
		add_bytes(&device->reserved,
			  entry->action == ACTION_RESERVE ? entry->bytes : -entry->bytes);
		add_sample(snapshot, device->reserved_track, device->time_ns, device->reserved);
		add_mark(snapshot, device, value, entry->name, entry->n_name);
		break;
	case ACTION_OTHER:
		add_mark(snapshot, device, value, entry->name, entry->n_name);
		break;
	}
}

static void use_trace(struct snapshot *snapshot, struct device *device)
{
	struct entry entry;

	for (guint32 i = 0; i < pickle_length(snapshot->pickle, device->trace); i++) {
		guint32 value = pickle_element(snapshot->pickle, device->trace, i);

		if (read_entry(snapshot, value, &entry))
			use_entry(snapshot, device, value, &entry);
		else
			snapshot->n_unknown++;
	}
}

/* --- before the trace ----------------------------------------------------------------------- */

/* What the trace adds to the totals, all in all; and which addresses it frees first, or never touches. */
struct sums {
	gint64 allocated, reserved;
	GHashTable *
		first; /* address -> bytes freed before they were handed out (> 0), or 0: handed out */
};

static void sum_trace(struct snapshot *snapshot, const struct device *device, struct sums *sums)
{
	struct entry entry;

	for (guint32 i = 0; i < pickle_length(snapshot->pickle, device->trace); i++) {
		gint64 sign, freed;

		if (!read_entry(snapshot, pickle_element(snapshot->pickle, device->trace, i),
				&entry))
			continue;
		sign = entry.action == ACTION_ALLOCATE || entry.action == ACTION_RESERVE ? 1
		       : entry.action == ACTION_FREE || entry.action == ACTION_RELEASE	 ? -1
											 : 0;
		if (entry.action == ACTION_RESERVE || entry.action == ACTION_RELEASE) {
			add_bytes(&sums->reserved, sign * entry.bytes);
			continue;
		}
		add_bytes(&sums->allocated, sign * entry.bytes);
		if (!sign || g_hash_table_contains(sums->first, &entry.address))
			continue;
		freed = sign < 0 ? entry.bytes : 0;
		g_hash_table_insert(sums->first, g_memdup2(&entry.address, sizeof(entry.address)),
				    g_memdup2(&freed, sizeof(freed)));
	}
}

static gint compare_addresses(gconstpointer first, gconstpointer second)
{
	guint64 a = *(const guint64 *)first, b = *(const guint64 *)second;

	return a < b ? -1 : a > b;
}

/* Blocks that were handed out before the trace and given back in it: nobody tells by whom. */
static void add_freed_later(struct snapshot *snapshot, struct device *device,
			    const struct sums *sums)
{
	g_autoptr(GList) addresses =
		g_list_sort(g_hash_table_get_keys(sums->first), compare_addresses);

	for (GList *at = addresses; at; at = at->next) {
		gint64 bytes = *(gint64 *)g_hash_table_lookup(sums->first, at->data);

		if (bytes)
			add_event(snapshot, device, *(guint64 *)at->data, bytes);
	}
}

typedef void (*BlockFunc)(struct snapshot *snapshot, struct device *device, guint32 segment,
			  guint32 block, guint64 address, gpointer data);

/* Call `func` for each block of the device's segments. Before PyTorch 2.0 blocks do not tell their addresses: they
 * follow each other. */
static void each_block(struct snapshot *snapshot, struct device *device, BlockFunc func,
		       gpointer data)
{
	const Pickle *pickle = snapshot->pickle;
	guint32 segments, blocks;

	if (!pickle_find(pickle, pickle_root(pickle), "segments", &segments))
		return;
	for (guint32 i = 0; i < pickle_length(pickle, segments); i++) {
		guint32 segment = pickle_element(pickle, segments, i);
		guint64 address = (guint64)pickle_find_integer(pickle, segment, "address", 0);

		if (pickle_find_integer(pickle, segment, "device", 0) != device->number)
			continue;
		func(snapshot, device, segment, TACHO_NONE, address, data);
		if (!pickle_find(pickle, segment, "blocks", &blocks))
			continue;
		for (guint32 k = 0; k < pickle_length(pickle, blocks); k++) {
			guint32 block = pickle_element(pickle, blocks, k);

			address = (guint64)pickle_find_integer(pickle, block, "address",
							       (gint64)address);
			func(snapshot, device, segment, block, address, data);
			address += (guint64)MAX(pickle_find_integer(pickle, block, "size", 0), 0);
		}
	}
}

static TachoChunkState state_of(const struct snapshot *snapshot, guint32 block)
{
	gsize n = 0;
	const gchar *state = pickle_find_text(snapshot->pickle, block, "state", &n);

	if (state && contains(state, n, "pending"))
		return TACHO_CHUNK_PENDING;
	return state && n >= 6 && memcmp(state, "active", 6) == 0 ? TACHO_CHUNK_USED
								  : TACHO_CHUNK_FREE;
}

/* A block that is in use at the end, and that the trace never touched, was there before it. */
static void add_older_block(struct snapshot *snapshot, struct device *device, guint32 segment,
			    guint32 block, guint64 address, gpointer data)
{
	const struct sums *sums = data;
	gint64 bytes;

	(void)segment;
	if (block == TACHO_NONE || state_of(snapshot, block) == TACHO_CHUNK_FREE ||
	    g_hash_table_contains(sums->first, &address))
		return;
	bytes = pickle_find_integer(snapshot->pickle, block, "requested_size",
				    pickle_find_integer(snapshot->pickle, block, "size", 0));
	bytes = pickle_find_integer(snapshot->pickle, block, "size", bytes);
	if (bytes <= 0)
		return;
	add_allocation(snapshot, device, block, address, bytes);
	device->time_ns += GAP_NS;
}

static void sum_held(struct snapshot *snapshot, struct device *device, guint32 segment,
		     guint32 block, guint64 address, gpointer data)
{
	struct sums *held = data;

	(void)address;
	if (block != TACHO_NONE)
		return;
	add_bytes(&held->allocated,
		  pickle_find_integer(snapshot->pickle, segment, "allocated_size", 0));
	add_bytes(&held->reserved, pickle_find_integer(snapshot->pickle, segment, "total_size", 0));
	(void)device;
}

/* (3) */
static void add_before(struct snapshot *snapshot, struct device *device)
{
	struct sums sums = { 0 }, held = { 0 };
	struct entry entry = { 0 };

	sums.first = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	sum_trace(snapshot, device, &sums);
	each_block(snapshot, device, sum_held, &held);
	add_bytes(&held.allocated, -sums.allocated);
	add_bytes(&held.reserved, -sums.reserved);
	device->allocated = MAX(held.allocated, 0);
	device->reserved = MAX(held.reserved, 0);
	if (pickle_length(snapshot->pickle, device->trace))
		read_entry(snapshot, pickle_element(snapshot->pickle, device->trace, 0), &entry);
	/* as long before the first entry as it takes to list them */
	device->time_ns = MAX(entry.time_ns - 1000000, 0);
	add_sample(snapshot, device->allocated_track, device->time_ns, device->allocated);
	add_sample(snapshot, device->reserved_track, device->time_ns, device->reserved);
	add_freed_later(snapshot, device, &sums);
	device->time_ns += GAP_NS;
	each_block(snapshot, device, add_older_block, &sums);
	g_hash_table_unref(sums.first);
}

/* --- what there is at the end --------------------------------------------------------------- */

static void add_chunk(struct snapshot *snapshot, struct device *device, guint32 segment,
		      guint32 block, guint64 address, gpointer data)
{
	const Pickle *pickle = snapshot->pickle;
	guint32 value = block == TACHO_NONE ? segment : block;
	gsize n_pool = 0;
	const gchar *pool = pickle_find_text(pickle, segment, "segment_type", &n_pool);
	TachoChunk chunk = { .address = address,
			     .process = snapshot->process,
			     .device = device->number + 1 };

	(void)data;
	chunk.pool = pool ? intern(snapshot, pool, n_pool) : 0;
	chunk.state =
		(guint8)(block == TACHO_NONE ? TACHO_CHUNK_SEGMENT : state_of(snapshot, block));
	chunk.bytes = (guint64)MAX(
		pickle_find_integer(pickle, value, block == TACHO_NONE ? "total_size" : "size", 0),
		0);
	if (chunk.state == TACHO_CHUNK_USED || chunk.state == TACHO_CHUNK_PENDING)
		chunk.requested_bytes =
			(guint64)MAX(pickle_find_integer(pickle, value, "requested_size", 0), 0);
	g_array_append_val(snapshot->timeline->chunks, chunk);
}

/* --- devices -------------------------------------------------------------------------------- */

static guint32 add_counter(struct snapshot *snapshot, enum counter_kind kind, guint32 number)
{
	gchar name[COUNTER_NAME_BYTES];

	counter_memory_name(name, kind, FALSE, number);
	return import_add_track(snapshot->import, TACHO_TRACK_COUNTER, snapshot->process, 0, name);
}

static void use_device(struct snapshot *snapshot, guint32 number, guint32 trace)
{
	g_autofree gchar *name = g_strdup_printf("allocator of gpu %u", number);
	struct device device = { .number = number, .trace = trace };

	device.track = import_add_track(snapshot->import, TACHO_TRACK_THREAD, snapshot->process,
					number + 1, name);
	device.allocated_track = add_counter(snapshot, COUNTER_ALLOCATED, number);
	device.reserved_track = add_counter(snapshot, COUNTER_RESERVED, number);
	add_before(snapshot, &device);
	use_trace(snapshot, &device);
	each_block(snapshot, &device, add_chunk, NULL);
}

/* Whether any segment is of the device. */
static gboolean has_segment(const struct snapshot *snapshot, guint32 number)
{
	guint32 segments;

	if (!pickle_find(snapshot->pickle, pickle_root(snapshot->pickle), "segments", &segments))
		return FALSE;
	for (guint32 i = 0; i < pickle_length(snapshot->pickle, segments); i++)
		if (pickle_find_integer(snapshot->pickle,
					pickle_element(snapshot->pickle, segments, i), "device",
					0) == number)
			return TRUE;
	return FALSE;
}

/* "device_traces" has a list for each device of the machine; most are of no use to the process. */
static void use_devices(struct snapshot *snapshot)
{
	const Pickle *pickle = snapshot->pickle;
	guint32 traces, root = pickle_root(pickle), n;
	gboolean has_traces = pickle_find(pickle, root, "device_traces", &traces);

	n = has_traces ? pickle_length(pickle, traces) : 0;
	for (guint32 number = 0; number < MAX(MIN(n, MAX_DEVICES), LIKELY_DEVICES); number++) {
		guint32 trace = number < n ? pickle_element(pickle, traces, number) : root;

		if (pickle_length(pickle, trace) || has_segment(snapshot, number))
			use_device(snapshot, number, trace);
	}
}

/* --- args ----------------------------------------------------------------------------------- */

struct snapshot_args {
	struct foreign_reader reader;
	Pickle *pickle;
};

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct snapshot_args *args = (const struct snapshot_args *)reader;

	return place ? pickle_to_json(args->pickle, (guint32)(place - 1), MAX_FRAMES_DEPTH) : NULL;
}

static void free_args(struct foreign_reader *reader)
{
	struct snapshot_args *args = (struct snapshot_args *)reader;

	pickle_close(args->pickle);
	g_free(args);
}

/* Takes the pickle over. */
static guint32 add_reader(struct snapshot *snapshot)
{
	struct snapshot_args *args = g_new0(struct snapshot_args, 1);

	args->reader = (struct foreign_reader){ .args_json = get_args_json, .free = free_args };
	args->pickle = snapshot->pickle;
	return tacho_source_take_foreign(snapshot->timeline->source, &args->reader);
}

/* --- files ---------------------------------------------------------------------------------- */

/* "allocator_settings" and what else stands beside the tables. */
static void mark_settings(struct snapshot *snapshot, guint32 track)
{
	guint32 settings;
	g_autofree gchar *text = NULL;
	TachoMark mark = { .time_ns = snapshot->first_ns, .track = track };

	if (!pickle_find(snapshot->pickle, pickle_root(snapshot->pickle), "allocator_settings",
			 &settings))
		return;
	text = pickle_to_json(snapshot->pickle, settings, 2);
	mark.name = tacho_timeline_intern(snapshot->timeline, "allocator_settings", -1);
	mark.text = text ? tacho_timeline_intern(snapshot->timeline, text, -1) : 0;
	g_array_append_val(snapshot->timeline->marks, mark);
}

static void use_snapshot(struct snapshot *snapshot)
{
	TachoProcess process = {
		.rank = import_rank_of_name(snapshot->path),
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)snapshot->path,
	};
	guint n_events = snapshot->timeline->memory->len;

	process.host = tacho_timeline_intern(snapshot->timeline, "unknown", -1);
	snapshot->process =
		import_add_process(snapshot->import, &process, import_new_file(snapshot->import));
	snapshot->foreign = add_reader(snapshot);
	use_devices(snapshot);
	if (snapshot->timeline->memory->len > n_events) {
		const TachoMemoryEvent *first =
			&g_array_index(snapshot->timeline->memory, TachoMemoryEvent, n_events);

		snapshot->first_ns = first->time_ns;
		mark_settings(snapshot, first->track);
	}
	if (snapshot->n_unknown)
		tacho_timeline_add_problem(
			snapshot->timeline, TACHO_PROBLEM_UNKNOWN_RECORD, snapshot->n_unknown,
			"%s: entries of a device's trace without an action", snapshot->path);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct snapshot snapshot = { .import = import, .timeline = import->timeline, .path = path };
	guint32 segments;

	(void)data;
	snapshot.pickle = pickle_open(path, error);
	if (!snapshot.pickle)
		return FALSE;
	if (!pickle_find(snapshot.pickle, pickle_root(snapshot.pickle), "segments", &segments)) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: byte 0: this pickle is not a memory snapshot, because it has no "
			    "segments",
			    path);
		pickle_close(snapshot.pickle);
		return FALSE;
	}
	use_snapshot(&snapshot);
	return TRUE;
}

/* A pickle of a dictionary with "segments" or "device_traces" in it. */
static gboolean sniff_memory_snapshot(const struct sniff_input *input)
{
	const guint8 *head = (const guint8 *)input->head;

	return !input->is_folder && input->n_head > 16 && head[0] == 0x80 && head[1] >= 2 &&
	       head[1] <= 5 &&
	       (memmem(head, MIN(input->n_head, 64), "segments", strlen("segments")) ||
		memmem(head, input->n_head, "device_traces", strlen("device_traces")));
}

const struct import_format import_memory_snapshot = {
	.name = "memory_snapshot",
	.title = "PyTorch memory snapshot (pickle, read as data), also gzip or zstd",
	.files = "*.pickle, *.pkl",
	.sniff = sniff_memory_snapshot,
	.read_file = read_file,
};
