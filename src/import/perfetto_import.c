/* perfetto_import: Perfetto's traces, of any tool that writes them, tacho's own export among them.
 *
 *     the file, first time   --> tracks (TrackDescriptor, ProcessTree)
 *     the file, second time  --> packets --perfetto_state--> events --> slices, samples, marks, arrows
 *
 * (1) A begin and its end are of one track and one sequence, in the order of the file: a writer keeps it, while
 *     different writers' packets lie in the file as their buffers were written out.
 * (2) A track is a thread where its descriptor says so; a device's queue where kernels and copies are on it; a thread
 *     where operations and calls are; else it belongs to its process. The first event on it decides.
 * (3) An arrow goes from one event with its number to the next one in time. One from a thread to a device's queue says
 *     what launched what is there.
 * (4) docs/formats.md says what becomes of each field. */
#include <math.h>
#include <string.h>

#include "import/perfetto_args.h"
#include "import/perfetto_state.h"
#include "import/rocm_events.h"
#include "import/rocm_files.h"
#include "import/track_book.h"
#include "trace/clock_map.h"

/* Fields, of the messages they are called after. */
enum {
	TRACE_PACKET = 1,

	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLEARED = 41,
	PACKET_DROPPED = 42,
	PACKET_COMPRESSED = 50,
	PACKET_GPU_COUNTERS = 52,
	PACKET_GPU_STAGE = 53,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_DESCRIPTOR = 60,
	PACKET_FIRST = 87,

	FLAG_CLEARED = 1,
	FLAG_NEEDS_STATE = 2,

	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	MAX_PARENTS = 16,
	MAX_MARK_TEXT = 4096,
};

/* A TrackDescriptor. */
struct described {
	guint64 parent;
	guint32 name, command; /* string ids */
	gint64 pid, tid;
	gint64 unit; /* of a counter: what values are multiplied with */
	gdouble total;
	gboolean is_process, is_thread, is_counter, is_sum; /* is_sum: values say what came since */
	guint32 track; /* of the timeline; TACHO_NONE: none yet */
};

struct sequence {
	guint32 id;
	guint32 generation;
	gboolean is_known; /* names of its generation are complete */
	gboolean is_begun; /* a packet of it was seen */
	guint64 default_track;
	gint64 default_clock; /* 0: the trace's */
};

struct arrow {
	guint64 id;
	guint32 row;
	gint64 time_ns;
};

struct perfetto_file {
	struct track_book *book;
	TachoTimeline *timeline;
	struct perfetto_args *args;
	struct perfetto_clocks clocks;
	GHashTable *described; /* uuid -> struct described */
	GHashTable *sequences; /* id -> struct sequence */
	GHashTable *open;      /* track and sequence -> GArray of rows */
	GHashTable *counters;  /* id of a GPU's counter -> name */
	GHashTable *running;   /* cpu -> struct core */
	GHashTable *threads;   /* tid -> struct described, of the process tree */
	GArray *arrows;	       /* struct arrow */
	guint64 n_lost, n_unmatched;
	gboolean is_first_pass;
	/* The packet at work: */
	guint64 offset;
	guint32 inner;
};

/* What a packet has around its content. */
struct packet {
	struct wire_cursor content;
	guint32 kind; /* field of the content; 0: none that is known */
	struct wire_cursor interned, defaults;
	guint64 timestamp;
	gint64 clock;
	guint32 sequence, flags;
	gboolean has_timestamp, is_dropped, is_first;
};

/* Who runs on a core since when. */
struct core {
	gint64 since_ns, pid;
	guint32 name;
};

static gpointer find_id(GHashTable *table, guint64 id)
{
	return g_hash_table_lookup(table, &id);
}

static void keep_id(GHashTable *table, guint64 id, gpointer value)
{
	g_hash_table_insert(table, g_memdup2(&id, sizeof(id)), value);
}

static guint32 intern_bytes(struct perfetto_file *file, const struct wire_field *field)
{
	g_autofree gchar *valid =
		g_utf8_make_valid((const gchar *)field->bytes, (gssize)field->n_bytes);

	return tacho_timeline_intern(file->timeline, valid, -1);
}

static void count_broken(struct perfetto_file *file, const gchar *what)
{
	track_book_count_broken(file->book, "byte %" G_GUINT64_FORMAT ": %s", file->offset, what);
}

/* --- tracks --------------------------------------------------------------------------------- */

/* ProcessDescriptor or ThreadDescriptor: their fields for a name differ. */
static void read_owner(struct perfetto_file *file, struct described *track, guint32 name_field,
		       struct wire_cursor owner)
{
	struct wire_field field;

	while (wire_cursor_next(&owner, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			track->pid = (gint32)field.value;
		else if (field.number == 2 && field.type == WIRE_VARINT)
			track->tid = wire_signed(&field);
		else if (field.number == 2 && field.type == WIRE_BYTES && !track->command)
			track->command = intern_bytes(file, &field);
		else if (field.number == name_field && field.type == WIRE_BYTES)
			track->name = intern_bytes(file, &field);
	}
}

static void read_counter_descriptor(struct described *track, struct wire_cursor counter)
{
	struct wire_field field;

	while (wire_cursor_next(&counter, &field) == WIRE_FIELD) {
		if (field.number == 4 && field.type == WIRE_VARINT && field.value)
			track->unit = wire_signed(&field);
		else if (field.number == 5 && field.type == WIRE_VARINT)
			track->is_sum = field.value != 0;
	}
}

static void read_descriptor(struct perfetto_file *file, struct wire_cursor descriptor)
{
	struct described *track = g_new0(struct described, 1);
	guint64 uuid = 0;
	struct wire_field field;

	*track = (struct described){ .unit = 1, .track = TACHO_NONE };
	while (wire_cursor_next(&descriptor, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT) {
			uuid = field.value;
		} else if (field.number == 5 && field.type == WIRE_VARINT) {
			track->parent = field.value;
		} else if (field.type == WIRE_BYTES &&
			   (field.number == 2 || field.number == 10 || field.number == 13)) {
			track->name = intern_bytes(file, &field);
		} else if (field.number == 3 && field.type == WIRE_BYTES) {
			track->is_process = TRUE;
			read_owner(file, track, 6, perfetto_cursor(&field));
		} else if (field.number == 4 && field.type == WIRE_BYTES) {
			track->is_thread = TRUE;
			read_owner(file, track, 5, perfetto_cursor(&field));
		} else if (field.number == 8 && field.type == WIRE_BYTES) {
			track->is_counter = TRUE;
			read_counter_descriptor(track, perfetto_cursor(&field));
		}
	}
	keep_id(file->described, uuid, track);
}

/* Names of threads that ftrace saw: the tree has their processes. */
static void read_process_tree(struct perfetto_file *file, struct wire_cursor tree)
{
	struct wire_field field;

	while (wire_cursor_next(&tree, &field) == WIRE_FIELD) {
		struct wire_cursor entry = perfetto_cursor(&field);
		struct described *thread;
		guint64 tid = 0;
		struct wire_field part;

		if (field.number != 2) /* a thread */
			continue;
		thread = g_new0(struct described, 1);
		while (wire_cursor_next(&entry, &part) == WIRE_FIELD) {
			if (part.number == 1 && part.type == WIRE_VARINT)
				tid = part.value;
			else if (part.number == 2 && part.type == WIRE_BYTES)
				thread->name = intern_bytes(file, &part);
			else if (part.number == 3 && part.type == WIRE_VARINT)
				thread->pid = (gint32)part.value;
		}
		keep_id(file->threads, tid, thread);
	}
}

/* The process of a track: its own, or that of the next one above that has one. */
static guint32 process_of(struct perfetto_file *file, const struct described *track)
{
	for (guint i = 0; i < MAX_PARENTS && track && !track->is_process && !track->is_thread; i++)
		track = find_id(file->described, track->parent);
	return track_book_process(file->book, 0, track ? track->pid : 0);
}

/* The number behind one of the words: "AGENT [1]", "gpu 3"; 0: none. */
static gint64 number_behind(const gchar *name, const gchar *const *words, guint n)
{
	g_autofree gchar *lower = g_ascii_strdown(name, -1);

	for (guint i = 0; i < n; i++) {
		const gchar *found = strstr(lower, words[i]);

		if (!found)
			continue;
		found += strlen(words[i]);
		found += strspn(found, " [#");
		if (g_ascii_isdigit(*found))
			return (gint64)MIN(g_ascii_strtoull(found, NULL, 10), G_MAXINT32);
	}
	return 0;
}

/* Whether what is of this kind runs on a device. Collectives and waits do so only where the track says it. */
static gboolean is_device_work(TachoSliceKind kind, const gchar *track)
{
	static const gchar *const words[] = { "stream", "queue", "gpu", "agent", "device" };
	g_autofree gchar *lower = g_ascii_strdown(track, -1);

	switch (kind) {
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return TRUE;
	case TACHO_SLICE_COLLECTIVE:
	case TACHO_SLICE_SYNC:
		for (guint i = 0; i < G_N_ELEMENTS(words); i++)
			if (strstr(lower, words[i]))
				return TRUE;
		return FALSE;
	default:
		return FALSE;
	}
}

static gboolean is_host_work(TachoSliceKind kind)
{
	switch (kind) {
	case TACHO_SLICE_OP:
	case TACHO_SLICE_ANNOTATION:
	case TACHO_SLICE_MODULE:
	case TACHO_SLICE_FUNCTION:
	case TACHO_SLICE_RUNTIME:
		return TRUE;
	default:
		return FALSE;
	}
}

/* A thread that is no more than a name: "THREAD 1 (12822)". */
static guint32 make_thread(struct perfetto_file *file, guint32 process, guint32 name)
{
	static const gchar *const words[] = { "(", "thread" };
	const gchar *text = tacho_timeline_string(file->timeline, name);
	gint64 tid = number_behind(text, words, G_N_ELEMENTS(words));
	guint32 track = track_book_thread(file->book, process, (gint64)(name + 1) << 32 | tid);

	track_book_name_track(file->book, track, text);
	return track;
}

/* Tracks of one name are one queue: viewers show what overlaps on several. */
static guint32 make_stream(struct perfetto_file *file, guint32 process, guint32 name)
{
	static const gchar *const devices[] = { "agent", "gpu", "device" };
	static const gchar *const queues[] = { "stream", "queue" };
	const gchar *text = tacho_timeline_string(file->timeline, name);
	gint64 device = number_behind(text, devices, G_N_ELEMENTS(devices));
	gint64 queue = number_behind(text, queues, G_N_ELEMENTS(queues));
	guint32 track =
		track_book_stream(file->book, process, device, (gint64)(name + 1) << 32 | queue);

	track_book_name_track(file->book, track, text);
	return track;
}

/* (2) */
static guint32 track_of(struct perfetto_file *file, struct described *track, TachoSliceKind kind)
{
	const gchar *name = tacho_timeline_string(file->timeline, track->name);
	guint32 process;

	if (track->track != TACHO_NONE)
		return track->track;
	process = process_of(file, track);
	if (track->is_thread) {
		track->track = track_book_thread(file->book, process, track->tid);
		track_book_name_track(file->book, track->track, name);
	} else if (is_device_work(kind, name) && !track->is_process) {
		track->track = make_stream(file, process, track->name);
	} else if (is_host_work(kind) && !track->is_process) {
		track->track = make_thread(file, process, track->name);
	} else {
		track->track = track_book_aside(file->book, process, -1,
						track->is_process ? "process" : name);
	}
	return track->track;
}

/* The track that an event names; one that nobody described has no name. */
static struct described *find_described(struct perfetto_file *file, guint64 uuid)
{
	struct described *track = find_id(file->described, uuid);

	if (!track) {
		track = g_new0(struct described, 1);
		*track = (struct described){ .unit = 1, .track = TACHO_NONE };
		keep_id(file->described, uuid, track);
	}
	return track;
}

/* --- events --------------------------------------------------------------------------------- */

struct event {
	struct wire_cursor bytes;
	guint64 type, track;
	guint32 name, category; /* string ids; 0: none */
	gboolean has_value;
	gdouble value;
	GArray *flows, *values, *value_tracks; /* guint64, gdouble, guint64 */
};

/* A field may hold one number, or several, packed. */
static void add_numbers(GArray *numbers, const struct wire_field *field)
{
	struct wire_cursor packed = perfetto_cursor(field);
	guint64 number;

	if (field->type != WIRE_BYTES) {
		g_array_append_val(numbers, field->value);
		return;
	}
	while (wire_cursor_varint(&packed, &number))
		g_array_append_val(numbers, number);
}

static void add_fixed(GArray *numbers, const struct wire_field *field)
{
	guint64 number;

	if (field->type != WIRE_BYTES) {
		g_array_append_val(numbers, field->value);
		return;
	}
	for (guint64 i = 0; i + sizeof(number) <= field->n_bytes; i += sizeof(number)) {
		memcpy(&number, field->bytes + i, sizeof(number));
		g_array_append_val(numbers, number);
	}
}

static void find_interned(const struct perfetto_generation *names, enum perfetto_names kind,
			  guint64 iid, guint32 *ret_text)
{
	if (!*ret_text)
		perfetto_generation_find(names, kind, iid, ret_text);
}

static void read_field(struct perfetto_file *file, const struct perfetto_generation *names,
		       const struct wire_field *field, struct event *event)
{
	g_autoptr(GArray) iids = NULL;

	switch (field->number) {
	case 3:
		iids = g_array_new(FALSE, FALSE, sizeof(guint64));
		add_numbers(iids, field);
		if (iids->len)
			find_interned(names, PERFETTO_CATEGORIES, g_array_index(iids, guint64, 0),
				      &event->category);
		break;
	case 22:
		if (field->type == WIRE_BYTES && !event->category)
			event->category = intern_bytes(file, field);
		break;
	case 9:
		event->type = field->value;
		break;
	case 10:
		find_interned(names, PERFETTO_EVENT_NAMES, field->value, &event->name);
		break;
	case 23:
		if (field->type == WIRE_BYTES)
			event->name = intern_bytes(file, field);
		break;
	case 11:
		event->track = field->value;
		break;
	case 30:
		event->has_value = TRUE;
		event->value = (gdouble)wire_signed(field);
		break;
	case 44:
		event->has_value = TRUE;
		event->value = wire_double(field);
		break;
	case 36: /* as they were numbered before */
	case 42:
		add_numbers(event->flows, field);
		break;
	case 47:
	case 48:
		add_fixed(event->flows, field);
		break;
	case 31:
		add_numbers(event->value_tracks, field);
		break;
	case 12:
		add_numbers(event->values, field);
		break;
	default:
		break;
	}
}

/* What a category says: tacho's own are its kinds. */
static TachoSliceKind kind_of(const gchar *category, const gchar *name)
{
	static const struct {
		const gchar *category;
		TachoSliceKind kind;
	} others[] = { { "cpu_op", TACHO_SLICE_OP },
		       { "user_annotation", TACHO_SLICE_ANNOTATION },
		       { "gpu_user_annotation", TACHO_SLICE_ANNOTATION },
		       { "python_function", TACHO_SLICE_FUNCTION },
		       { "cuda_runtime", TACHO_SLICE_RUNTIME },
		       { "cuda_driver", TACHO_SLICE_RUNTIME },
		       { "gpu_memcpy", TACHO_SLICE_MEMCPY },
		       { "gpu_memset", TACHO_SLICE_MEMSET },
		       { "memory_copy", TACHO_SLICE_MEMCPY },
		       { "rocm_memory_copy", TACHO_SLICE_MEMCPY },
		       { "kernel_dispatch", TACHO_SLICE_KERNEL },
		       { "rocm_kernel_dispatch", TACHO_SLICE_KERNEL },
		       { "device_hip", TACHO_SLICE_KERNEL },
		       { "hip_activity", TACHO_SLICE_KERNEL } };
	TachoSliceKind kind = TACHO_SLICE_EVENT;

	for (guint i = 0; i < TACHO_N_SLICE_KINDS; i++)
		if (strcmp(category, tacho_slice_kind_name((TachoSliceKind)i)) == 0)
			return (TachoSliceKind)i;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (strcmp(category, others[i].category) == 0)
			kind = others[i].kind;
	if (kind == TACHO_SLICE_KERNEL)
		return track_book_kernel_kind(name);
	if (kind != TACHO_SLICE_EVENT)
		return kind;
	switch (rocm_kind_of_domain(category)) {
	case ROCM_CALL:
		return TACHO_SLICE_RUNTIME;
	case ROCM_RANGE:
		return TACHO_SLICE_ANNOTATION;
	default:
		return TACHO_SLICE_EVENT;
	}
}

/* (1): the rows that are open on a track, as this sequence sees it. */
static GArray *open_rows(struct perfetto_file *file, guint64 track, guint32 sequence)
{
	guint64 key = track * 0x9E3779B97F4A7C15u ^ sequence;
	GArray *rows = find_id(file->open, key);

	if (!rows) {
		rows = g_array_new(FALSE, FALSE, sizeof(guint32));
		keep_id(file->open, key, rows);
	}
	return rows;
}

static void note_arrows(struct perfetto_file *file, const struct event *event, guint32 row,
			gint64 time_ns)
{
	for (guint i = 0; row != TACHO_NONE && i < event->flows->len; i++) {
		struct arrow arrow = { g_array_index(event->flows, guint64, i), row, time_ns };

		g_array_append_val(file->arrows, arrow);
	}
}

static void begin_event(struct perfetto_file *file, const struct sequence *sequence,
			const struct event *event, gint64 time_ns)
{
	const gchar *name = tacho_timeline_string(file->timeline, event->name);
	struct described *described = find_described(file, event->track);
	struct book_slice slice = { .start_ns = time_ns,
				    .end_ns = time_ns,
				    .name = event->name,
				    .flags = TACHO_SLICE_OPEN };
	guint32 row;

	slice.kind = kind_of(tacho_timeline_string(file->timeline, event->category), name);
	slice.track = track_of(file, described, slice.kind);
	if (slice.kind == TACHO_SLICE_STEP || slice.kind == TACHO_SLICE_ANNOTATION)
		track_book_note_range(file->book, slice.track, name, time_ns);
	if (slice.kind == TACHO_SLICE_STEP) /* those of the timeline are found anew */
		slice.kind = TACHO_SLICE_EVENT;
	if (event->bytes.at)
		slice.source = perfetto_args_handle(file->args, file->offset, file->inner,
						    sequence->generation);
	row = track_book_add(file->book, &slice);
	if (row != TACHO_NONE)
		g_array_append_val(open_rows(file, event->track, sequence->id), row);
	note_arrows(file, event, row, time_ns);
}

static void end_event(struct perfetto_file *file, const struct sequence *sequence,
		      const struct event *event, gint64 time_ns)
{
	GArray *rows = open_rows(file, event->track, sequence->id);
	guint32 row;

	if (!rows->len) {
		file->n_unmatched++;
		return;
	}
	row = g_array_index(rows, guint32, rows->len - 1);
	g_array_set_size(rows, rows->len - 1);
	track_book_end(file->book, row, time_ns);
	note_arrows(file, event, row, file->timeline->slices.start_ns[row]);
}

static void mark_event(struct perfetto_file *file, const struct sequence *sequence,
		       const struct event *event, gint64 time_ns)
{
	g_autofree gchar *text = perfetto_annotations_json(
		file->timeline, perfetto_args_borrow_generation(file->args, sequence->generation),
		event->bytes);

	if (text && strlen(text) > MAX_MARK_TEXT)
		g_clear_pointer(&text, g_free);
	track_book_add_mark(file->book,
			    track_of(file, find_described(file, event->track), TACHO_SLICE_EVENT),
			    time_ns, tacho_timeline_string(file->timeline, event->name),
			    text ? text : "", 0, 0);
}

static void count_value(struct perfetto_file *file, guint64 uuid, gint64 time_ns, gdouble value)
{
	struct described *track = find_described(file, uuid);
	const gchar *name = tacho_timeline_string(file->timeline, track->name);

	value *= (gdouble)track->unit;
	if (track->is_sum)
		value = track->total += value;
	if (track->track == TACHO_NONE)
		track->track = track_book_counter(file->book, process_of(file, track),
						  *name ? name : "counter");
	track_book_add_sample(file->book, track->track, time_ns, value);
}

static void use_event(struct perfetto_file *file, struct sequence *sequence,
		      const struct event *event, gint64 time_ns)
{
	switch (event->type) {
	case TYPE_BEGIN:
		begin_event(file, sequence, event, time_ns);
		break;
	case TYPE_END:
		end_event(file, sequence, event, time_ns);
		break;
	case TYPE_INSTANT:
		mark_event(file, sequence, event, time_ns);
		break;
	case TYPE_COUNTER:
		if (event->has_value)
			count_value(file, event->track, time_ns, event->value);
		break;
	default: /* as Chrome wrote them before */
		track_book_count_unknown(file->book,
					 "byte %" G_GUINT64_FORMAT ": an event of no known type",
					 file->offset);
	}
	for (guint i = 0; i < MIN(event->values->len, event->value_tracks->len); i++)
		count_value(file, g_array_index(event->value_tracks, guint64, i), time_ns,
			    (gdouble)(gint64)g_array_index(event->values, guint64, i));
}

static void read_track_event(struct perfetto_file *file, struct sequence *sequence,
			     struct wire_cursor bytes, gint64 time_ns)
{
	const struct perfetto_generation *names =
		perfetto_args_borrow_generation(file->args, sequence->generation);
	struct event event = { .bytes = bytes, .track = sequence->default_track };
	enum wire_result result;
	struct wire_field field;

	event.flows = g_array_new(FALSE, FALSE, sizeof(guint64));
	event.values = g_array_new(FALSE, FALSE, sizeof(guint64));
	event.value_tracks = g_array_new(FALSE, FALSE, sizeof(guint64));
	while ((result = wire_cursor_next(&bytes, &field)) == WIRE_FIELD)
		read_field(file, names, &field, &event);
	if (result == WIRE_END)
		use_event(file, sequence, &event, time_ns);
	else
		count_broken(file, "a broken event");
	g_array_unref(event.flows);
	g_array_unref(event.values);
	g_array_unref(event.value_tracks);
}

/* --- ftrace --------------------------------------------------------------------------------- */

static void leave_core(struct perfetto_file *file, guint64 cpu, const struct core *core,
		       gint64 time_ns, guint8 flags)
{
	const struct described *thread = find_id(file->threads, (guint64)core->pid);
	g_autofree gchar *track = g_strdup_printf("CPU %" G_GUINT64_FORMAT, cpu);
	struct book_slice slice = { .kind = TACHO_SLICE_EVENT,
				    .name = core->name,
				    .start_ns = core->since_ns,
				    .end_ns = MAX(time_ns, core->since_ns),
				    .flags = flags };

	slice.track = track_book_aside(
		file->book, track_book_process(file->book, 0, thread ? thread->pid : 0), -1, track);
	track_book_add(file->book, &slice);
}

/* Thread 0 is nobody: the core idles. */
static void switch_core(struct perfetto_file *file, guint64 cpu, gint64 time_ns, gint64 next_pid,
			guint32 next_name)
{
	struct core *core = find_id(file->running, cpu);

	if (core && core->pid)
		leave_core(file, cpu, core, time_ns, 0);
	core = g_new(struct core, 1);
	*core = (struct core){ .since_ns = time_ns, .pid = next_pid, .name = next_name };
	keep_id(file->running, cpu, core);
}

static void read_switch(struct perfetto_file *file, guint64 cpu, gint64 time_ns,
			struct wire_cursor bytes)
{
	struct wire_field field;
	gint64 next_pid = 0;
	guint32 name = 0;

	while (wire_cursor_next(&bytes, &field) == WIRE_FIELD) {
		if (field.number == 5 && field.type == WIRE_BYTES)
			name = intern_bytes(file, &field);
		else if (field.number == 6 && field.type == WIRE_VARINT)
			next_pid = (gint32)field.value;
	}
	switch_core(file, cpu, time_ns, next_pid, name);
}

/* FtraceEvent: 1 time, 4 sched_switch; all others are counted. */
static void read_ftrace_event(struct perfetto_file *file, guint64 cpu, struct wire_cursor event)
{
	struct wire_cursor content = { NULL, NULL, NULL };
	struct wire_field field;
	guint64 time_ns = 0;

	while (wire_cursor_next(&event, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			time_ns = field.value;
		else if (field.number == 4 && field.type == WIRE_BYTES)
			content = perfetto_cursor(&field);
	}
	if (content.at)
		read_switch(file, cpu, (gint64)MIN(time_ns, (guint64)TACHO_MAX_TIME_NS), content);
	else
		track_book_count_unknown(file->book,
					 "byte %" G_GUINT64_FORMAT
					 ": an event of the kernel that is not read",
					 file->offset);
}

/* Switches of a core as columns: times as differences, names by their numbers. */
static void read_compact(struct perfetto_file *file, guint64 cpu, struct wire_cursor compact)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GArray) table = g_array_new(FALSE, FALSE, sizeof(guint32));
	struct wire_field field;
	gint64 time_ns = 0;

	while (wire_cursor_next(&compact, &field) == WIRE_FIELD) {
		if (field.number == 1)
			add_numbers(times, &field);
		else if (field.number == 3)
			add_numbers(pids, &field);
		else if (field.number == 6)
			add_numbers(names, &field);
		if (field.number == 5 && field.type == WIRE_BYTES) {
			guint32 name = intern_bytes(file, &field);

			g_array_append_val(table, name);
		}
	}
	for (guint i = 0; i < MIN(times->len, pids->len); i++) {
		guint64 name = i < names->len ? g_array_index(names, guint64, i) : G_MAXUINT64;

		if (__builtin_add_overflow(time_ns, g_array_index(times, guint64, i), &time_ns))
			time_ns = TACHO_MAX_TIME_NS;
		switch_core(file, cpu, time_ns, (gint32)g_array_index(pids, guint64, i),
			    name < table->len ? g_array_index(table, guint32, name) : 0);
	}
}

static void read_ftrace(struct perfetto_file *file, struct wire_cursor bundle)
{
	struct wire_cursor again = bundle;
	struct wire_field field;
	guint64 cpu = 0;

	while (wire_cursor_next(&bundle, &field) == WIRE_FIELD)
		if (field.number == 1 && field.type == WIRE_VARINT)
			cpu = field.value;
	while (wire_cursor_next(&again, &field) == WIRE_FIELD) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == 2)
			read_ftrace_event(file, cpu, perfetto_cursor(&field));
		else if (field.number == 4)
			read_compact(file, cpu, perfetto_cursor(&field));
	}
}

/* --- GPUs ----------------------------------------------------------------------------------- */

/* GpuRenderStageEvent: what ran on a GPU's queue. */
static void read_gpu_stage(struct perfetto_file *file, const struct sequence *sequence,
			   struct wire_cursor bytes, gint64 time_ns)
{
	const struct perfetto_generation *names =
		perfetto_args_borrow_generation(file->args, sequence->generation);
	struct book_slice slice = { .kind = TACHO_SLICE_KERNEL, .start_ns = time_ns };
	guint64 queue = 0, gpu = 0, duration_ns = 0;
	guint32 queue_name = 0;
	struct wire_field field;

	while (wire_cursor_next(&bytes, &field) == WIRE_FIELD) {
		if (field.type != WIRE_VARINT)
			continue;
		if (field.number == 2)
			duration_ns = field.value;
		else if (field.number == 3)
			queue = field.value;
		else if (field.number == 11)
			gpu = field.value;
		else if (field.number == 13) {
			queue = field.value;
			perfetto_generation_find(names, PERFETTO_GPU_SPECIFICATIONS, queue,
						 &queue_name);
		} else if (field.number == 14)
			perfetto_generation_find(names, PERFETTO_GPU_SPECIFICATIONS, field.value,
						 &slice.name);
	}
	slice.end_ns = clock_map_add(time_ns, (gint64)MIN(duration_ns, (guint64)TACHO_MAX_TIME_NS));
	slice.track = track_book_stream(file->book, track_book_process(file->book, 0, 0),
					(gint64)(gpu & G_MAXINT32), (gint64)(queue & G_MAXINT32));
	if (queue_name)
		track_book_name_track(file->book, slice.track,
				      tacho_timeline_string(file->timeline, queue_name));
	if (!slice.name)
		slice.name = tacho_timeline_intern(file->timeline, "render stage", -1);
	track_book_add(file->book, &slice);
}

/* GpuCounterDescriptor: 1 specs, each with 1 id, 2 name. */
static void read_counter_names(struct perfetto_file *file, struct wire_cursor descriptor)
{
	struct wire_field field;

	while (wire_cursor_next(&descriptor, &field) == WIRE_FIELD) {
		struct wire_cursor spec = perfetto_cursor(&field);
		struct wire_field part;
		guint64 id = 0;
		guint32 name = 0;

		if (field.number != 1)
			continue;
		while (wire_cursor_next(&spec, &part) == WIRE_FIELD) {
			if (part.number == 1 && part.type == WIRE_VARINT)
				id = part.value;
			else if (part.number == 2 && part.type == WIRE_BYTES)
				name = intern_bytes(file, &part);
		}
		keep_id(file->counters, id, GUINT_TO_POINTER(name));
	}
}

static void read_gpu_value(struct perfetto_file *file, guint64 gpu, struct wire_cursor counter,
			   gint64 time_ns)
{
	g_autofree gchar *name = NULL;
	struct wire_field field;
	guint64 id = 0;
	guint32 known;
	gdouble value = NAN;

	while (wire_cursor_next(&counter, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			id = field.value;
		else if (field.number == 2 && field.type == WIRE_VARINT)
			value = (gdouble)wire_signed(&field);
		else if (field.number == 3 && field.type == WIRE_FIXED64)
			value = wire_double(&field);
	}
	known = GPOINTER_TO_UINT(find_id(file->counters, id));
	name = known ? g_strdup_printf("GPU %" G_GUINT64_FORMAT ": %s", gpu,
				       tacho_timeline_string(file->timeline, known))
		     : g_strdup_printf("GPU %" G_GUINT64_FORMAT ": counter %" G_GUINT64_FORMAT, gpu,
				       id);
	track_book_add_sample(
		file->book,
		track_book_counter(file->book, track_book_process(file->book, 0, 0), name), time_ns,
		value);
}

static void read_gpu_counters(struct perfetto_file *file, struct wire_cursor event, gint64 time_ns)
{
	struct wire_cursor again = event;
	struct wire_field field;
	guint64 gpu = 0;

	while (wire_cursor_next(&event, &field) == WIRE_FIELD) {
		if (field.number == 3 && field.type == WIRE_VARINT)
			gpu = field.value;
		else if (field.number == 1 && field.type == WIRE_BYTES)
			read_counter_names(file, perfetto_cursor(&field));
	}
	while (wire_cursor_next(&again, &field) == WIRE_FIELD)
		if (field.number == 2 && field.type == WIRE_BYTES)
			read_gpu_value(file, gpu, perfetto_cursor(&field), time_ns);
}

/* --- packets -------------------------------------------------------------------------------- */

static struct sequence *find_sequence(struct perfetto_file *file, guint32 id)
{
	struct sequence *sequence = find_id(file->sequences, id);

	if (sequence)
		return sequence;
	sequence = g_new0(struct sequence, 1);
	sequence->id = id;
	sequence->is_known = TRUE;
	sequence->generation = perfetto_args_take_generation(file->args, perfetto_generation_new());
	keep_id(file->sequences, id, sequence);
	return sequence;
}

static void note_packet_field(struct packet *packet, const struct wire_field *field)
{
	switch (field->number) {
	case PACKET_TIMESTAMP:
		packet->timestamp = field->value;
		packet->has_timestamp = TRUE;
		break;
	case PACKET_CLOCK:
		packet->clock = (gint64)(field->value & G_MAXUINT32);
		break;
	case PACKET_SEQUENCE:
		packet->sequence = (guint32)field->value;
		break;
	case PACKET_FLAGS:
		packet->flags |= (guint32)field->value;
		break;
	case PACKET_CLEARED:
		packet->flags |= field->value ? FLAG_CLEARED : 0;
		break;
	case PACKET_DROPPED:
		packet->is_dropped = field->value != 0;
		break;
	case PACKET_FIRST:
		packet->is_first = field->value != 0;
		break;
	case PACKET_INTERNED:
		packet->interned = perfetto_cursor(field);
		break;
	case PACKET_DEFAULTS:
		packet->defaults = perfetto_cursor(field);
		break;
	case PACKET_FTRACE:
	case PACKET_PROCESS_TREE:
	case PACKET_CLOCKS:
	case PACKET_TRACK_EVENT:
	case PACKET_COMPRESSED:
	case PACKET_GPU_COUNTERS:
	case PACKET_GPU_STAGE:
	case PACKET_DESCRIPTOR:
		packet->kind = field->number;
		packet->content = perfetto_cursor(field);
		break;
	default: /* how the trace was made, and data sources that are not read */
		break;
	}
}

/* TracePacketDefaults: 58 clock; 11 of track events, of which 11 is the track. */
static void read_defaults(struct sequence *sequence, struct wire_cursor defaults)
{
	struct wire_field field, part;

	while (wire_cursor_next(&defaults, &field) == WIRE_FIELD) {
		struct wire_cursor of_events = perfetto_cursor(&field);

		if (field.number == PACKET_CLOCK && field.type == WIRE_VARINT)
			sequence->default_clock = (gint64)(field.value & G_MAXUINT32);
		if (field.number != PACKET_TRACK_EVENT)
			continue;
		while (wire_cursor_next(&of_events, &part) == WIRE_FIELD)
			if (part.number == 11 && part.type == WIRE_VARINT)
				sequence->default_track = part.value;
	}
}

static void update_sequence(struct perfetto_file *file, struct sequence *sequence,
			    const struct packet *packet)
{
	if (packet->is_dropped && !packet->is_first && sequence->is_begun) {
		file->n_lost++;
		sequence->is_known = FALSE;
	}
	sequence->is_begun = TRUE;
	if (packet->flags & FLAG_CLEARED) {
		sequence->is_known = TRUE;
		sequence->generation =
			perfetto_args_take_generation(file->args, perfetto_generation_new());
		sequence->default_track = 0;
		sequence->default_clock = 0;
	}
	if (packet->defaults.at)
		read_defaults(sequence, packet->defaults);
	if (packet->interned.at &&
	    !perfetto_generation_add(
		    perfetto_args_borrow_generation(file->args, sequence->generation),
		    file->timeline, packet->interned))
		count_broken(file, "broken names");
}

static void read_trace(struct perfetto_file *file, struct wire_cursor trace);

static void unpack_packets(struct perfetto_file *file, struct wire_cursor compressed)
{
	g_autoptr(GByteArray) unpacked =
		perfetto_inflate(compressed.at, (gsize)(compressed.end - compressed.at));

	if (file->inner)
		count_broken(file, "packets that are compressed twice");
	else if (!unpacked)
		count_broken(file, "packets that cannot be decompressed");
	else
		read_trace(file, wire_cursor_of(unpacked->data, unpacked->len));
}

static gboolean is_timed(guint32 kind)
{
	return kind == PACKET_TRACK_EVENT || kind == PACKET_GPU_STAGE ||
	       kind == PACKET_GPU_COUNTERS;
}

static void use_packet(struct perfetto_file *file, const struct packet *packet)
{
	struct sequence *sequence = find_sequence(file, packet->sequence);
	gint64 clock, time_ns;

	update_sequence(file, sequence, packet);
	clock = packet->clock		  ? packet->clock
		: sequence->default_clock ? sequence->default_clock
					  : PERFETTO_BOOTTIME;
	time_ns = packet->has_timestamp
			  ? perfetto_clocks_convert(&file->clocks, packet->sequence, clock,
						    packet->timestamp, is_timed(packet->kind))
			  : 0;
	switch (packet->kind) {
	case PACKET_CLOCKS:
		if (!perfetto_clocks_note(&file->clocks, packet->sequence, packet->content))
			count_broken(file, "a broken snapshot of clocks");
		break;
	case PACKET_TRACK_EVENT:
		if (!packet->has_timestamp)
			track_book_count_unknown(file->book,
						 "byte %" G_GUINT64_FORMAT
						 ": an event without a time of its own",
						 file->offset);
		else if (!sequence->is_known && packet->flags & FLAG_NEEDS_STATE)
			file->n_lost++;
		else
			read_track_event(file, sequence, packet->content, time_ns);
		break;
	case PACKET_FTRACE:
		read_ftrace(file, packet->content);
		break;
	case PACKET_GPU_STAGE:
		read_gpu_stage(file, sequence, packet->content, time_ns);
		break;
	case PACKET_GPU_COUNTERS:
		read_gpu_counters(file, packet->content, time_ns);
		break;
	default:
		break;
	}
}

static void read_packet(struct perfetto_file *file, struct wire_cursor bytes)
{
	struct packet packet = { 0 };
	enum wire_result result;
	struct wire_field field;

	while ((result = wire_cursor_next(&bytes, &field)) == WIRE_FIELD)
		note_packet_field(&packet, &field);
	if (result != WIRE_END) {
		if (!file->is_first_pass)
			count_broken(file, "a broken packet");
		return;
	}
	if (packet.kind == PACKET_COMPRESSED)
		unpack_packets(file, packet.content);
	else if (!file->is_first_pass)
		use_packet(file, &packet);
	else if (packet.kind == PACKET_DESCRIPTOR)
		read_descriptor(file, packet.content);
	else if (packet.kind == PACKET_PROCESS_TREE)
		read_process_tree(file, packet.content);
}

/* Of compressed packets. */
static void read_trace(struct perfetto_file *file, struct wire_cursor trace)
{
	struct wire_field field;

	while (wire_cursor_next(&trace, &field) == WIRE_FIELD)
		if (field.number == TRACE_PACKET && field.type == WIRE_BYTES) {
			file->inner++;
			read_packet(file, perfetto_cursor(&field));
		}
	file->inner = 0;
}

/* --- arrows --------------------------------------------------------------------------------- */

static gint compare_arrows(gconstpointer first, gconstpointer second)
{
	const struct arrow *a = first, *b = second;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static TachoTrackKind track_kind(const struct perfetto_file *file, guint32 row)
{
	return tacho_timeline_track(file->timeline, file->timeline->slices.track[row])->kind;
}

static void tie(struct perfetto_file *file, guint32 from, guint32 to)
{
	TachoFlow flow = { .from = from, .to = to, .kind = TACHO_FLOW_OTHER, .is_exact = TRUE };

	if (track_kind(file, from) == TACHO_TRACK_THREAD &&
	    track_kind(file, to) == TACHO_TRACK_STREAM)
		tacho_timeline_set_launch(file->timeline, to, from);
	else
		g_array_append_val(file->timeline->flows, flow);
}

/* (3): what a thread launched on a device comes from the thread, even if several are tied in a row. */
static void tie_arrows(struct perfetto_file *file)
{
	guint32 last = TACHO_NONE, last_host = TACHO_NONE;
	guint64 id = 0;

	g_array_sort(file->arrows, compare_arrows);
	for (guint i = 0; i < file->arrows->len; i++) {
		const struct arrow *arrow = &g_array_index(file->arrows, struct arrow, i);
		gboolean is_device = track_kind(file, arrow->row) == TACHO_TRACK_STREAM;

		if (i == 0 || arrow->id != id)
			last = last_host = TACHO_NONE;
		id = arrow->id;
		if (last != arrow->row && is_device && last_host != TACHO_NONE)
			tie(file, last_host, arrow->row);
		else if (last != arrow->row && last != TACHO_NONE)
			tie(file, last, arrow->row);
		last = arrow->row;
		if (!is_device)
			last_host = arrow->row;
	}
}

/* --- names ---------------------------------------------------------------------------------- */

/* Tacho's export calls processes "rank 3 (host, pid 71)". */
static void read_own_name(struct perfetto_file *file, TachoProcess *process, const gchar *name)
{
	gchar *end;
	const gchar *open, *comma;
	guint64 rank;

	if (!g_str_has_prefix(name, "rank "))
		return;
	rank = g_ascii_strtoull(name + strlen("rank "), &end, 10);
	open = strstr(end, "(");
	comma = open ? strstr(open, ", pid ") : NULL;
	if (!comma || rank > G_MAXINT32)
		return;
	process->rank = (gint32)rank;
	process->host = tacho_timeline_intern(file->timeline, open + 1, comma - open - 1);
	process->pid = (guint32)g_ascii_strtoull(comma + strlen(", pid "), NULL, 10);
}

static void name_processes(struct perfetto_file *file)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, file->described);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct described *track = value;
		const gchar *name = tacho_timeline_string(file->timeline, track->name);
		TachoProcess *process;
		guint32 row;

		if (!track->is_process || !*name ||
		    !track_book_has_process(file->book, 0, track->pid, &row))
			continue;
		process = track_book_borrow_process(file->book, row);
		process->command = track->command ? track->command : track->name;
		read_own_name(file, process, name);
	}
}

/* --- a file --------------------------------------------------------------------------------- */

/* A walk through all packets. */
static gboolean read_packets(struct perfetto_file *file, struct import *import, const gchar *path,
			     GError **error)
{
	g_autoptr(wire_walk) walk = wire_walk_open(path, error);
	struct wire_field field;
	enum wire_result result;

	if (!walk)
		return FALSE;
	while ((result = wire_walk_next(walk, &field)) == WIRE_FIELD) {
		file->offset = field.offset;
		if (field.number != TRACE_PACKET ||
		    !wire_walk_load(walk, &field, PERFETTO_MAX_PACKET_BYTES))
			continue;
		read_packet(file, perfetto_cursor(&field));
		import_tell_progress(import,
				     (file->is_first_pass ? 0 : 0.5) + wire_walk_done(walk) / 2);
	}
	if (result != WIRE_END && !file->is_first_pass)
		tacho_timeline_add_problem(
			file->timeline, result == WIRE_BROKEN ? "corrupt_record" : "truncated_file",
			1, "%s", wire_walk_problem(walk));
	return TRUE;
}

static void report(const struct perfetto_file *file, const gchar *path)
{
	if (file->n_lost)
		tacho_timeline_add_problem(file->timeline, "lost_records", file->n_lost,
					   "%s: packets were lost when it was recorded", path);
	if (file->n_unmatched)
		tacho_timeline_add_problem(file->timeline, "unknown_record", file->n_unmatched,
					   "%s: ends of events without a begin", path);
	if (file->clocks.n_unknown)
		tacho_timeline_add_problem(file->timeline, "clock_doubt", file->clocks.n_unknown,
					   "%s: times of a clock that nothing ties to the others",
					   path);
}

static void end_cores(struct perfetto_file *file)
{
	GHashTableIter iter;
	gpointer cpu, core;

	g_hash_table_iter_init(&iter, file->running);
	while (g_hash_table_iter_next(&iter, &cpu, &core))
		if (((struct core *)core)->pid)
			leave_core(file, *(guint64 *)cpu, core, ((struct core *)core)->since_ns,
				   TACHO_SLICE_OPEN);
}

static void free_rows(gpointer rows)
{
	g_array_unref(rows);
}

static GHashTable *new_table(GDestroyNotify free_value)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_value);
}

static gboolean read_all(struct perfetto_file *file, struct import *import, const gchar *path,
			 GError **error)
{
	file->is_first_pass = TRUE;
	if (!read_packets(file, import, path, error))
		return FALSE;
	file->is_first_pass = FALSE;
	if (!read_packets(file, import, path, error))
		return FALSE;
	end_cores(file);
	tie_arrows(file);
	name_processes(file);
	report(file, path);
	track_book_finish(file->book, file->clocks.day_ns);
	return TRUE;
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct perfetto_file file = { .timeline = import->timeline };
	gboolean is_read;

	(void)data;
	file.args = perfetto_args_new(import->timeline, path);
	if (!file.args) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "%s: more files than can be open at once", path);
		return FALSE;
	}
	file.book = track_book_new(import, path);
	file.described = new_table(g_free);
	file.sequences = new_table(g_free);
	file.open = new_table(free_rows);
	file.counters = new_table(NULL);
	file.running = new_table(g_free);
	file.threads = new_table(g_free);
	file.arrows = g_array_new(FALSE, FALSE, sizeof(struct arrow));
	perfetto_clocks_init(&file.clocks);
	is_read = read_all(&file, import, path, error);
	perfetto_clocks_release(&file.clocks);
	g_array_unref(file.arrows);
	g_hash_table_unref(file.threads);
	g_hash_table_unref(file.running);
	g_hash_table_unref(file.counters);
	g_hash_table_unref(file.open);
	g_hash_table_unref(file.sequences);
	g_hash_table_unref(file.described);
	track_book_free(file.book);
	return is_read;
}

/* --- what it is ----------------------------------------------------------------------------- */

/* Whether it may be a packet: what is in every one, and the types of some that other formats use otherwise. */
static gboolean is_packet(struct wire_cursor packet, gboolean *ret_is_sure)
{
	struct wire_field field;
	enum wire_result result;

	while ((result = wire_cursor_next(&packet, &field)) == WIRE_FIELD) {
		gboolean is_number = field.number == PACKET_TIMESTAMP ||
				     field.number == PACKET_SEQUENCE || field.number == 3;
		gboolean is_message = field.number == PACKET_FTRACE || field.number == 2 ||
				      field.number == PACKET_CLOCKS ||
				      field.number == PACKET_TRACK_EVENT;

		if ((is_number && field.type != WIRE_VARINT) ||
		    (is_message && field.type != WIRE_BYTES))
			return FALSE;
		*ret_is_sure |= field.number == PACKET_SEQUENCE;
	}
	return result == WIRE_END;
}

static gboolean sniff(const struct sniff_input *input)
{
	enum { MAX_LOOKED_AT = 64 };
	struct wire_cursor head = wire_cursor_of(input->head, input->n_head);
	gboolean is_sure = FALSE;
	struct wire_field field;

	for (guint i = 0; i < MAX_LOOKED_AT && wire_cursor_next(&head, &field) == WIRE_FIELD; i++)
		if (field.number != TRACE_PACKET || field.type != WIRE_BYTES ||
		    !is_packet(perfetto_cursor(&field), &is_sure))
			return FALSE;
	return is_sure;
}

/* Rocprofv3's, beside its other formats. */
static gboolean is_redundant(const struct sniff_input *input)
{
	static const gchar *const better[] = { "_results.db", "_results.json", "_kernel_trace.csv",
					       "_hip_api_trace.csv" };

	return rocm_files_has_better(input, "_results.pftrace", better, G_N_ELEMENTS(better));
}

static gboolean read_perfetto(struct import *import, const gchar *const *paths, guint n_paths,
			      GError **error)
{
	return import_each_path(import, paths, n_paths, read_file, NULL, error);
}

const struct import_format import_perfetto = {
	.name = "perfetto",
	.title = "Perfetto traces, of tacho export and many others",
	.files = "*.pftrace, *.perfetto-trace, *.proto",
	.sniff = sniff,
	.is_redundant = is_redundant,
	.read = read_perfetto,
};
