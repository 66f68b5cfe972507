#include "import/tensorflow/tf_tracks.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/launch_index.h"
#include "trace/mark_kind.h"
#include "trace/slice_columns.h"

enum { MAX_LANES = 4096 };

enum device_kind {
	DEVICE_EXECUTOR,
	DEVICE_STREAM,
	DEVICE_COMBINED, /* all streams of an accelerator together */
};

struct tf_device {
	gchar *name;
	gchar *task;  /* "/job:worker/replica:0/task:1"; "": not told */
	gchar *label; /* what follows it */
	enum device_kind kind;
	gint32 number; /* of the GPU; -1: none */
	guint32 stream;
	guint32 process; /* row, when placed */
};

struct event {
	guint32 device, thread, run, name;
	gint64 start_ns, duration_ns;
};

struct use {
	guint32 device, allocator;
	gint64 time_ns, bytes;
};

struct block {
	guint32 run, memory_device;
	gint64 time_ns, bytes;
	guint64 address;
};

struct step {
	gint64 number, start_ns, end_ns;
};

struct tf_tracks {
	struct import *import;
	struct tf_ops *ops;
	GArray *devices;	       /* struct tf_device */
	GHashTable *by_name;	       /* name -> device + 1 */
	GHashTable *threads;	       /* gint64 device << 32 | thread -> name */
	GArray *events;		       /* struct event */
	GArray *uses;		       /* struct use */
	GArray *blocks;		       /* struct block */
	GArray *steps;		       /* struct step */
	GHashTable *counters;	       /* gint64 device << 32 | allocator -> track + 1 */
	struct launch_index *launches; /* by node */
	guint32 next_tid;
};

static struct tf_device *device_at(const struct tf_tracks *tracks, guint32 device)
{
	return &g_array_index(tracks->devices, struct tf_device, device);
}

static void clear_device(gpointer data)
{
	struct tf_device *device = data;

	g_free(device->name);
	g_free(device->task);
	g_free(device->label);
}

struct tf_tracks *tf_tracks_new(struct import *import, struct tf_ops *ops)
{
	struct tf_tracks *tracks = g_new0(struct tf_tracks, 1);

	tracks->import = import;
	tracks->ops = ops;
	tracks->devices = g_array_new(FALSE, TRUE, sizeof(struct tf_device));
	g_array_set_clear_func(tracks->devices, clear_device);
	tracks->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	tracks->threads = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	tracks->counters = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	tracks->events = g_array_new(FALSE, FALSE, sizeof(struct event));
	tracks->uses = g_array_new(FALSE, FALSE, sizeof(struct use));
	tracks->blocks = g_array_new(FALSE, FALSE, sizeof(struct block));
	tracks->steps = g_array_new(FALSE, FALSE, sizeof(struct step));
	tracks->launches = launch_index_new();
	return tracks;
}

void tf_tracks_free(struct tf_tracks *tracks)
{
	g_array_unref(tracks->devices);
	g_hash_table_unref(tracks->by_name);
	g_hash_table_unref(tracks->threads);
	g_hash_table_unref(tracks->counters);
	g_array_unref(tracks->events);
	g_array_unref(tracks->uses);
	g_array_unref(tracks->blocks);
	g_array_unref(tracks->steps);
	launch_index_free(tracks->launches);
	g_free(tracks);
}

/* --- devices -------------------------------------------------------------------------------- */

/* The number behind the last `word` in `name`; -1: there is none. */
static gint32 number_behind(const gchar *name, const gchar *word)
{
	const gchar *found = g_strrstr(name, word);
	guint64 number;

	if (!found || !g_ascii_isdigit(found[strlen(word)]))
		return -1;
	number = g_ascii_strtoull(found + strlen(word), NULL, 10);
	return number <= G_MAXINT32 ? (gint32)number : -1;
}

/* Where what follows "/task:1" begins; `name`: there is no such thing. */
static const gchar *behind_task(const gchar *name)
{
	const gchar *task = strstr(name, "/task:");

	if (!task || name[0] != '/')
		return name;
	task += strlen("/task:");
	return task + strspn(task, "0123456789");
}

static void classify(struct tf_device *device)
{
	g_autofree gchar *lower = g_ascii_strdown(device->name, -1);
	gint32 stream = number_behind(lower, "stream:");

	device->number = number_behind(lower, "gpu:");
	if (stream >= 0) {
		device->kind = DEVICE_STREAM;
		device->stream = (guint32)stream;
	} else if (strstr(lower, "stream:") || g_str_has_suffix(lower, "/memcpy")) {
		device->kind = DEVICE_COMBINED;
	}
}

guint32 tf_tracks_device(struct tf_tracks *tracks, const gchar *name)
{
	gpointer found = g_hash_table_lookup(tracks->by_name, name);
	const gchar *label = behind_task(name);
	struct tf_device device = { .name = g_strdup(name), .process = TACHO_NONE };

	if (found) {
		g_free(device.name);
		return GPOINTER_TO_UINT(found) - 1;
	}
	device.task = g_strndup(name, (gsize)(label - name));
	label += strspn(label, "/");
	if (g_str_has_prefix(label, "device:"))
		label += strlen("device:");
	device.label = g_strdup(label);
	classify(&device);
	g_array_append_val(tracks->devices, device);
	g_hash_table_insert(tracks->by_name, g_strdup(name),
			    GUINT_TO_POINTER(tracks->devices->len));
	return tracks->devices->len - 1;
}

gboolean tf_tracks_is_accelerator(const struct tf_tracks *tracks, guint32 device)
{
	return device_at(tracks, device)->kind != DEVICE_EXECUTOR;
}

void tf_tracks_name_thread(struct tf_tracks *tracks, guint32 device, guint32 thread, guint32 name)
{
	gint64 key = (gint64)device << 32 | thread;

	g_hash_table_replace(tracks->threads, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(name));
}

/* --- what they did -------------------------------------------------------------------------- */

void tf_tracks_add(struct tf_tracks *tracks, guint32 device, guint32 thread, guint32 run,
		   guint32 name, gint64 start_ns, gint64 duration_ns)
{
	struct event event = { device, thread, run, name, start_ns, duration_ns };

	g_array_append_val(tracks->events, event);
}

void tf_tracks_add_sample(struct tf_tracks *tracks, guint32 device, guint32 allocator,
			  gint64 time_ns, gint64 bytes)
{
	struct use use = { device, allocator, time_ns, bytes };

	g_array_append_val(tracks->uses, use);
}

void tf_tracks_add_memory(struct tf_tracks *tracks, guint32 run, gint64 time_ns, guint64 address,
			  gint64 bytes, guint32 memory_device)
{
	struct block block = { run, memory_device, time_ns, bytes, address };

	g_array_append_val(tracks->blocks, block);
}

void tf_tracks_add_step(struct tf_tracks *tracks, gint64 number, gint64 start_ns, gint64 end_ns)
{
	struct step step = { number, start_ns, end_ns };

	g_array_append_val(tracks->steps, step);
}

/* --- processes ------------------------------------------------------------------------------ */

/* (1): the tasks in order. Borrowed. */
static GPtrArray *list_tasks(const struct tf_tracks *tracks)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *tasks = g_ptr_array_new();

	for (guint i = 0; i < tracks->devices->len; i++) {
		gchar *task = device_at(tracks, i)->task;

		if (*task && g_hash_table_add(seen, task))
			g_ptr_array_add(tasks, task);
	}
	if (!tasks->len)
		g_ptr_array_add(tasks, (gpointer) "");
	g_ptr_array_sort(tasks, order_text);
	return tasks;
}

/* "/job:worker/replica:0/task:1" as "worker 1"; the only job there is has no name. */
static gchar *task_title(const gchar *task)
{
	const gchar *job = strstr(task, "/job:");
	gsize n;

	if (!job || g_str_has_prefix(job, "/job:localhost/"))
		return g_strdup("");
	job += strlen("/job:");
	n = strcspn(job, "/");
	return g_strdup_printf("%.*s %d", (gint)n, job, MAX(number_behind(task, "/task:"), 0));
}

static void add_processes(struct tf_tracks *tracks, const gchar *path)
{
	g_autoptr(GPtrArray) tasks = list_tasks(tracks);
	guint file = import_new_file(tracks->import);

	for (guint i = 0; i < tasks->len; i++) {
		g_autofree gchar *title = task_title(tasks->pdata[i]);
		TachoProcess process = { .local_rank = -1,
					 .world_size = -1,
					 .end = TACHO_END_UNKNOWN,
					 .path = (gchar *)path };
		guint32 row;

		process.rank = tasks->len > 1 ? (gint32)i : import_rank_of_name(path);
		process.host = tacho_timeline_intern(tracks->import->timeline, "unknown", -1);
		process.command = tacho_timeline_intern(tracks->import->timeline, title, -1);
		row = import_add_process(tracks->import, &process, file);
		FOR_EACH(struct tf_device, device, tracks->devices)
			if (strcmp(device->task, tasks->pdata[i]) == 0 ||
			    (i == 0 && !*device->task))
				device->process = row;
	}
}

/* --- tracks --------------------------------------------------------------------------------- */

/* (3) */
static gboolean has_single_streams(const struct tf_tracks *tracks, const struct tf_device *combined)
{
	FOR_EACH(const struct tf_device, device, tracks->devices)
		if (device->kind == DEVICE_STREAM && device->number == combined->number &&
		    device->process == combined->process)
			return TRUE;
	return FALSE;
}

static guint32 add_track(struct tf_tracks *tracks, const struct event *event, guint lane)
{
	const struct tf_device *device = device_at(tracks, event->device);
	gint64 key = (gint64)event->device << 32 | event->thread;
	guint32 name = GPOINTER_TO_UINT(g_hash_table_lookup(tracks->threads, &key)), track;
	const gchar *base =
		name ? tacho_timeline_string(tracks->import->timeline, name) : device->label;
	g_autofree gchar *title =
		lane ? g_strdup_printf("%s (%u)", base, lane + 1) : g_strdup(base);
	gboolean is_thread = device->kind == DEVICE_EXECUTOR;

	track = import_add_track(
		tracks->import, is_thread ? TACHO_TRACK_THREAD : TACHO_TRACK_STREAM,
		device->process,
		device->kind == DEVICE_STREAM ? device->stream : ++tracks->next_tid, title);
	if (!is_thread)
		g_array_index(tracks->import->timeline->tracks, TachoTrack, track).device =
			MAX(device->number, 0);
	return track;
}

static TachoSliceKind kind_of_event(const struct tf_tracks *tracks, const struct event *event)
{
	const struct tf_device *device = device_at(tracks, event->device);
	const gchar *name = tacho_timeline_string(tracks->import->timeline, event->name);
	g_autofree gchar *lower = NULL;

	if (device->kind == DEVICE_EXECUTOR)
		return TACHO_SLICE_OP;
	if (device->kind == DEVICE_COMBINED && has_single_streams(tracks, device))
		return TACHO_SLICE_ANNOTATION;
	lower = g_ascii_strdown(name, -1);
	if (strstr(lower, "memcpy"))
		return TACHO_SLICE_MEMCPY;
	if (strstr(lower, "memset"))
		return TACHO_SLICE_MEMSET;
	return strstr(lower, "nccl") ? TACHO_SLICE_COLLECTIVE : TACHO_SLICE_KERNEL;
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const struct event *x = a, *y = b;

	return ORDER(x->device, y->device) ?: ORDER(x->thread, y->thread) ?:
	       ORDER(x->start_ns, y->start_ns) ?: ORDER(x->run, y->run);
}

/* The lanes of one thread of a device. */
struct lanes {
	guint32 device, thread;
	guint n;
	guint32 tracks[MAX_LANES];
	gint64 end_ns[MAX_LANES];
};

/* (2) */
static guint32 find_lane(struct tf_tracks *tracks, struct lanes *lanes, const struct event *event)
{
	gboolean is_thread = device_at(tracks, event->device)->kind == DEVICE_EXECUTOR;
	guint lane = 0;

	if (lanes->n && (lanes->device != event->device || lanes->thread != event->thread))
		lanes->n = 0;
	lanes->device = event->device;
	lanes->thread = event->thread;
	while (is_thread && lane < lanes->n && lanes->end_ns[lane] > event->start_ns)
		lane++;
	lane = MIN(lane, MAX_LANES - 1);
	if (lane >= lanes->n)
		lanes->tracks[lanes->n++] = add_track(tracks, event, lane);
	lanes->end_ns[lane] = event->start_ns + event->duration_ns;
	return lanes->tracks[lane];
}

static gboolean place_events(struct tf_tracks *tracks, guint32 foreign)
{
	TachoTimeline *timeline = tracks->import->timeline;
	struct lanes *lanes = g_new0(struct lanes, 1);
	gboolean is_placed = TRUE;

	g_array_sort(tracks->events, compare_events);
	for (guint i = 0; i < tracks->events->len && is_placed; i++) {
		const struct event *event = &g_array_index(tracks->events, struct event, i);
		guint32 track = find_lane(tracks, lanes, event), row;

		is_placed = slice_columns_grow(&timeline->slices);
		if (!is_placed)
			break;
		row = tacho_timeline_add_slice(timeline, kind_of_event(tracks, event), track,
					       event->name, event->start_ns, event->duration_ns, 0,
					       tacho_source_foreign_handle(foreign, event->run));
		if (timeline->slices.kind[row] == TACHO_SLICE_OP)
			launch_index_add(tracks->launches,
					 tf_ops_run(tracks->ops, event->run)->node, event->start_ns,
					 row);
	}
	g_free(lanes);
	return is_placed;
}

/* (4) */
static void link_launches(struct tf_tracks *tracks, guint32 first_row)
{
	TachoTimeline *timeline = tracks->import->timeline;
	guint32 row = first_row;

	for (guint i = 0; i < tracks->events->len; i++, row++) {
		const struct event *event = &g_array_index(tracks->events, struct event, i);
		guint32 launch;

		if (timeline->slices.kind[row] == TACHO_SLICE_OP ||
		    timeline->slices.kind[row] == TACHO_SLICE_ANNOTATION)
			continue;
		launch = launch_index_find(tracks->launches,
					   tf_ops_run(tracks->ops, event->run)->node,
					   event->start_ns);
		if (launch != TACHO_NONE && timeline->slices.start_ns[launch] <= event->start_ns)
			tacho_timeline_set_launch(timeline, row, launch);
	}
}

static void place_uses(struct tf_tracks *tracks)
{
	TachoTimeline *timeline = tracks->import->timeline;

	FOR_EACH(const struct use, use, tracks->uses) {
		const struct tf_device *device = device_at(tracks, use->device);
		gint64 key = (gint64)device->process << 32 | use->allocator;
		guint32 track = GPOINTER_TO_UINT(g_hash_table_lookup(tracks->counters, &key));
		TachoSample sample = { .time_ns = use->time_ns, .value = (gdouble)use->bytes };

		if (!track) {
			g_autofree gchar *name = g_strdup_printf(
				"%s allocated", tacho_timeline_string(timeline, use->allocator));

			track = import_add_track(tracks->import, TACHO_TRACK_COUNTER,
						 device->process, 0, name) +
				1;
			g_hash_table_insert(tracks->counters, g_memdup2(&key, sizeof(key)),
					    GUINT_TO_POINTER(track));
		}
		sample.track = track - 1;
		g_array_append_val(timeline->samples, sample);
	}
}

/* On the tracks of the runs, whose slices begin at `first_row` in the order of the events. */
static void place_blocks(struct tf_tracks *tracks, guint32 first_row)
{
	TachoTimeline *timeline = tracks->import->timeline;
	g_autofree guint32 *rows = g_new(guint32, MAX(tracks->ops->runs->len, 1u));

	memset(rows, 0xff, tracks->ops->runs->len * sizeof(*rows));
	for (guint i = 0; i < tracks->events->len; i++)
		rows[g_array_index(tracks->events, struct event, i).run] = first_row + i;
	FOR_EACH(const struct block, block, tracks->blocks) {
		TachoMemoryEvent event = { .time_ns = block->time_ns,
					   .address = block->address,
					   .bytes = block->bytes,
					   .slice = TACHO_NONE,
					   .device = block->memory_device };

		if (rows[block->run] == TACHO_NONE)
			continue;
		event.track = timeline->slices.track[rows[block->run]];
		g_array_append_val(timeline->memory, event);
	}
}

static gint compare_steps(gconstpointer a, gconstpointer b)
{
	const struct step *left = a, *right = b;

	return ORDER(left->start_ns, right->start_ns) ?: ORDER(left->number, right->number);
}

void tf_tracks_number_steps(struct tf_tracks *tracks)
{
	g_array_sort(tracks->steps, compare_steps);
	for (guint i = 0; i < tracks->steps->len; i++)
		g_array_index(tracks->steps, struct step, i).number = i;
}

static void place_steps(struct tf_tracks *tracks, guint first_process)
{
	TachoTimeline *timeline = tracks->import->timeline;
	TachoMark mark = { 0 };

	mark_step(timeline, &mark, TRUE);
	for (guint process = first_process;
	     tracks->steps->len && process < timeline->processes->len; process++) {
		mark.track =
			import_add_track(tracks->import, TACHO_TRACK_ASYNC, process, 0, "steps");
		FOR_EACH(const struct step, step, tracks->steps) {
			mark.time_ns = step->start_ns;
			mark.first = step->number;
			mark.second = step->end_ns - step->start_ns;
			g_array_append_val(timeline->marks, mark);
		}
	}
}

gboolean tf_tracks_place(struct tf_tracks *tracks, guint32 foreign, const gchar *path)
{
	TachoTimeline *timeline = tracks->import->timeline;
	guint first_process = timeline->processes->len;
	guint32 first_row = timeline->slices.n;

	add_processes(tracks, path);
	if (!place_events(tracks, foreign))
		return FALSE;
	link_launches(tracks, first_row);
	place_uses(tracks);
	place_blocks(tracks, first_row);
	place_steps(tracks, first_process);
	return TRUE;
}
