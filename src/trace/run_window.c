#include "trace/run_window.h"

#include <stdio.h>
#include <string.h>

#include "base/for_each.h"
#include "base/mapped_file.h"
#include "base/order.h"
#include "trace/process_reader.h"
#include "trace/record.h"
#include "trace/run_paths.h"
#include "trace/run_reader.h"
#include "trace/seen_folder.h"
#include "trace/stream_reader.h"
#include "trace/string_table.h"
#include "trace/trace_layout.h"
#include "trace/trace_metadata.h"
#include "trace/window_updates.h"

#define CHUNK_BYTES 65536 /* by which streams are taken in, the one that is furthest behind next */

struct window_file {
	gchar *name;
	guint32 id; /* (4) */
	guint32 index;
	struct mapped_file mapped;
	struct file_part part;
	guint64 complete_to; /* what lies before is from before complete_ns */
	gboolean is_beyond;  /* what lies behind is not */
	gboolean is_broken;  /* what is behind part.to cannot be read */
};

struct window_stream {
	guint32 number;
	GPtrArray *files;   /* struct window_file, by index */
	guint32 next_index; /* of files with a lower one nothing is read any more */
	guint64 last_stamp; /* of what was taken in */
	gint64 at_ns;	    /* the same as Unix time */
	gboolean is_behind; /* there is more */
};

struct window_process {
	gchar *path;
	struct seen_folder folder;
	struct trace_metadata metadata;
	GPtrArray *streams; /* struct window_stream, in the order in which they were found */
	GHashTable *parts;  /* name -> struct file_part */
	struct window_updates updates;
	guint64 n_ops; /* before the window */
	gint64 cut_unix_ns;
};

struct _RunWindow {
	gchar **paths;
	struct seen_folder *folders; /* by path */
	GPtrArray *processes;	     /* struct window_process */
	GHashTable *by_path;	     /* path -> struct window_process */
	GHashTable *file_by_path;    /* path -> struct window_file */
	GArray *opened; /* guint32: id by the file's place in the source of the last timeline */
	struct tacho_string_table *strings; /* NULL: a timeline has them */
	guint32 n_file_ids;
	gint64 origin_unix_ns;
	gint64 complete_ns, last_ns;
	gboolean is_limited;
	gboolean is_over, is_behind;
	guint64 read_bytes;
};

/* --- making and ending ----------------------------------------------------------------------- */

static void file_free(gpointer pointer)
{
	struct window_file *file = pointer;

	mapped_file_close(&file->mapped);
	g_array_unref(file->part.kept);
	g_free(file->name);
	g_free(file);
}

static void stream_free(gpointer pointer)
{
	struct window_stream *stream = pointer;

	g_ptr_array_unref(stream->files);
	g_free(stream);
}

static void process_free(gpointer pointer)
{
	struct window_process *process = pointer;

	g_hash_table_unref(process->parts);
	g_ptr_array_unref(process->streams);
	window_updates_release(&process->updates);
	trace_metadata_release(&process->metadata);
	g_free(process->path);
	g_free(process);
}

static void forget_all(RunWindow *window)
{
	g_hash_table_remove_all(window->file_by_path);
	g_hash_table_remove_all(window->by_path);
	g_ptr_array_set_size(window->processes, 0);
	memset(window->folders, 0, g_strv_length(window->paths) * sizeof(*window->folders));
	window->complete_ns = window->last_ns = 0;
}

RunWindow *run_window_new(const gchar *const *paths, guint n_paths)
{
	RunWindow *window = g_new0(RunWindow, 1);

	window->paths = g_new0(gchar *, n_paths + 1);
	for (guint i = 0; i < n_paths; i++)
		window->paths[i] = g_strdup(paths[i]);
	window->folders = g_new0(struct seen_folder, n_paths);
	window->processes = g_ptr_array_new_with_free_func(process_free);
	window->by_path = g_hash_table_new(g_str_hash, g_str_equal);
	window->file_by_path = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	window->opened = g_array_new(FALSE, TRUE, sizeof(guint32));
	window->strings = string_table_new();
	window->origin_unix_ns = G_MAXINT64;
	return window;
}

void run_window_free(RunWindow *window)
{
	if (!window)
		return;
	forget_all(window);
	g_hash_table_unref(window->file_by_path);
	g_hash_table_unref(window->by_path);
	g_ptr_array_unref(window->processes);
	g_array_unref(window->opened);
	string_table_free(window->strings);
	g_strfreev(window->paths);
	g_free(window->folders);
	g_free(window);
}

void run_window_restart(RunWindow *window)
{
	forget_all(window);
}

/* --- finding files --------------------------------------------------------------------------- */

static struct window_stream *find_stream(struct window_process *process, guint32 number)
{
	struct window_stream *stream;

	for (guint i = 0; i < process->streams->len; i++) {
		stream = g_ptr_array_index(process->streams, i);
		if (stream->number == number)
			return stream;
	}
	stream = g_new0(struct window_stream, 1);
	stream->number = number;
	stream->files = g_ptr_array_new_with_free_func(file_free);
	g_ptr_array_add(process->streams, stream);
	return stream;
}

static gboolean is_packet(const struct mapped_file *mapped)
{
	const struct packet_header *packet = (const void *)mapped->bytes;

	return mapped->size_bytes >= sizeof(*packet) && packet->magic == TRACE_PACKET_MAGIC;
}

static gint compare_files(gconstpointer a, gconstpointer b)
{
	const struct window_file *const *left = a, *const *right = b;

	return ORDER((*left)->index, (*right)->index);
}

/* A file that has come. What cannot be used is looked at again, for it may be on its way out, or just made: then FALSE. */
static gboolean add_file(RunWindow *window, struct window_process *process, const gchar *name)
{
	struct window_stream *stream;
	struct window_file *file;
	guint32 number, tid, index;
	gint n_read = 0;
	gchar *path;
	struct mapped_file mapped;

	if (sscanf(name, "%u-%u.%u%n", &number, &tid, &index, &n_read) != 3 || name[n_read])
		return TRUE;
	stream = find_stream(process, number);
	if (index < stream->next_index)
		return TRUE;
	path = g_build_filename(process->path, name, NULL);
	if (!mapped_file_open(&mapped, path, NULL)) {
		g_free(path);
		return FALSE;
	}
	if (!is_packet(&mapped)) {
		mapped_file_close(&mapped);
		g_free(path);
		return FALSE;
	}
	file = g_new0(struct window_file, 1);
	file->name = g_strdup(name);
	file->id = ++window->n_file_ids;
	file->index = index;
	file->mapped = mapped;
	file->part.from = file->part.to = file->complete_to = sizeof(struct packet_header);
	file->part.kept = g_array_new(FALSE, FALSE, sizeof(guint64));
	file->part.mapped = &file->mapped;
	g_ptr_array_add(stream->files, file);
	g_ptr_array_sort(stream->files, compare_files);
	g_hash_table_insert(process->parts, file->name, &file->part);
	g_hash_table_insert(window->file_by_path, path, file);
	return TRUE;
}

static void find_files(RunWindow *window, struct window_process *process)
{
	g_autoptr(GDir) entries = NULL;
	const gchar *name;

	if (seen_folder_is_same(&process->folder, process->path))
		return;
	entries = g_dir_open(process->path, 0, NULL);
	while (entries && (name = g_dir_read_name(entries)))
		if (g_ascii_isdigit(*name) && !g_hash_table_contains(process->parts, name))
			process->folder.is_settled &= add_file(window, process, name);
}

/* One whose metadata cannot be read yet is looked at the next time: then FALSE. */
static gboolean add_process(RunWindow *window, const gchar *path)
{
	g_autofree gchar *metadata_path = g_build_filename(path, TRACE_METADATA_FILE, NULL);
	struct trace_metadata metadata = { 0 };
	struct window_process *process;

	if (!trace_metadata_read(&metadata, metadata_path, window->strings, NULL)) {
		trace_metadata_release(&metadata);
		return FALSE;
	}
	process = g_new0(struct window_process, 1);
	process->path = g_strdup(path);
	process->metadata = metadata;
	process->streams = g_ptr_array_new_with_free_func(stream_free);
	process->parts = g_hash_table_new(g_str_hash, g_str_equal);
	process->cut_unix_ns = G_MININT64;
	window_updates_init(&process->updates);
	g_ptr_array_add(window->processes, process);
	g_hash_table_insert(window->by_path, process->path, process);
	return TRUE;
}

static gboolean find_processes(RunWindow *window, GError **error)
{
	struct run_paths paths = { 0 };
	guint n_paths = g_strv_length(window->paths), n_unchanged = 0;
	gboolean is_found, is_settled = TRUE;

	for (guint i = 0; i < n_paths; i++)
		n_unchanged += seen_folder_is_same(&window->folders[i], window->paths[i]);
	if (n_paths && n_unchanged == n_paths)
		return TRUE;
	is_found = run_paths_find(&paths, (const gchar *const *)window->paths, n_paths, error);
	if (is_found)
		FOR_EACH(const struct trace_path, trace, paths.traces)
			if (!g_hash_table_contains(window->by_path, trace->path))
				is_settled &= add_process(window, trace->path);
	for (guint i = 0; i < n_paths; i++)
		window->folders[i].is_settled &= is_found && is_settled;
	run_paths_release(&paths);
	return is_found;
}

/* --- taking in ------------------------------------------------------------------------------- */

static guint64 content_end(const struct window_file *file)
{
	const struct packet_header *packet = (const void *)file->mapped.bytes;
	guint64 content_bits = __atomic_load_n(&packet->content_bits, __ATOMIC_ACQUIRE);

	if (content_bits % 64 || content_bits > packet->packet_bits)
		return 0;
	return MIN(content_bits / 8, file->mapped.size_bytes);
}

/* The record at `offset` of what ends at `end`; NULL: there is none that could be one. */
static const struct record_header *record_at(const struct window_file *file, guint64 offset,
					     guint64 end, guint32 *ret_size)
{
	const struct record_header *header = (const void *)(file->mapped.bytes + offset);

	if (end < offset || end - offset < sizeof(*header))
		return NULL;
	*ret_size = __atomic_load_n(&header->size_bytes, __ATOMIC_RELAXED);
	if (*ret_size < sizeof(*header) || *ret_size % 8 || *ret_size > end - offset)
		return NULL;
	return header;
}

static gint64 time_of(const struct window_process *process, guint64 ticks)
{
	const struct trace_clock *clock = &process->metadata.clock;

	return ticks > clock->max_ticks ? G_MAXINT64 : trace_clock_unix_ns(clock, ticks);
}

/* Take in about a chunk of the file; how many bytes it was. */
static guint64 take_chunk(const RunWindow *window, struct window_process *process,
			  struct window_stream *stream, struct window_file *file)
{
	guint64 end = content_end(file), begin = file->part.to;
	guint32 size;

	while (file->part.to < end && file->part.to - begin < CHUNK_BYTES) {
		const struct record_header *record = record_at(file, file->part.to, end, &size);

		if (!record || record->stamp < stream->last_stamp ||
		    record->stamp > process->metadata.clock.max_ticks) {
			file->is_broken = TRUE;
			break;
		}
		if (window_updates_takes(&process->updates, &process->metadata, window->strings,
					 record->class_id))
			window_updates_add(&process->updates, &file->mapped, file->part.to);
		stream->last_stamp = record->stamp;
		if (!file->is_beyond) /* what comes later is, too */
			file->is_beyond = time_of(process, record->stamp) > window->last_ns;
		file->part.to += size;
		if (!file->is_beyond)
			file->complete_to = file->part.to;
	}
	if (stream->last_stamp)
		stream->at_ns = time_of(process, stream->last_stamp);
	return file->part.to - begin;
}

/* The file to go on in; NULL: all is taken in. */
static struct window_file *next_file(struct window_stream *stream)
{
	FOR_EACH_POINTER(struct window_file, file, stream->files)
		if (!file->is_broken && file->part.to < content_end(file))
			return file;
	return NULL;
}

/* A stream that has more, the one that is furthest behind. */
static struct window_stream *furthest_behind(RunWindow *window, struct window_process **ret_process)
{
	struct window_stream *found = NULL;

	FOR_EACH_POINTER(struct window_process, process, window->processes)
		FOR_EACH_POINTER(struct window_stream, stream, process->streams)
			if (stream->is_behind && (!found || stream->at_ns < found->at_ns)) {
				found = stream;
				*ret_process = process;
			}
	return found;
}

static void take_in(RunWindow *window, guint64 budget_bytes)
{
	guint64 taken_bytes = 0;

	while (taken_bytes < budget_bytes) {
		struct window_process *process = NULL;
		struct window_stream *stream = furthest_behind(window, &process);
		struct window_file *file = stream ? next_file(stream) : NULL;

		if (!stream)
			break;
		if (file)
			taken_bytes += take_chunk(window, process, stream, file);
		stream->is_behind = next_file(stream) != NULL;
	}
	window->read_bytes += taken_bytes;
}

/* What is there by now is from before the end of this look. */
static void begin_look(RunWindow *window)
{
	FOR_EACH_POINTER(struct window_process, process, window->processes) {
		find_files(window, process);
		FOR_EACH_POINTER(struct window_stream, stream, process->streams) {
			stream->is_behind = next_file(stream) != NULL;
			FOR_EACH_POINTER(struct window_file, file, stream->files) {
				file->complete_to = file->part.to;
				file->is_beyond = FALSE;
			}
		}
	}
}

/* (3) */
static void find_complete(RunWindow *window)
{
	gint64 complete_ns = window->is_over ? G_MAXINT64 : window->last_ns;

	window->is_behind = FALSE;
	FOR_EACH_POINTER(const struct window_process, process, window->processes)
		FOR_EACH_POINTER(const struct window_stream, stream, process->streams) {
			if (stream->is_behind)
				complete_ns = MIN(complete_ns, stream->at_ns);
			window->is_behind |= stream->is_behind;
			window->last_ns = MAX(window->last_ns, stream->at_ns);
		}
	window->complete_ns = complete_ns;
}

gboolean run_window_grow(RunWindow *window, guint64 budget_bytes, gboolean is_over, GError **error)
{
	if (!find_processes(window, error))
		return FALSE;
	window->is_over = is_over;
	begin_look(window);
	take_in(window, budget_bytes);
	find_complete(window);
	return TRUE;
}

guint64 run_window_waiting_bytes(const RunWindow *window)
{
	guint64 bytes = 0;

	FOR_EACH_POINTER(const struct window_process, process, window->processes)
		FOR_EACH_POINTER(const struct window_stream, stream, process->streams)
			FOR_EACH_POINTER(const struct window_file, file, stream->files)
				if (!file->is_broken)
					bytes += MAX(content_end(file), file->part.to) -
						 file->part.to;
	return bytes;
}

gboolean run_window_is_behind(const RunWindow *window)
{
	return window->is_behind;
}

gint64 run_window_complete_ns(const RunWindow *window)
{
	return window->complete_ns;
}

gint64 run_window_last_ns(const RunWindow *window)
{
	return window->last_ns;
}

void run_window_limit(RunWindow *window, gboolean is_limited)
{
	window->is_limited = is_limited;
}

static guint64 end_of(const RunWindow *window, const struct window_file *file)
{
	return window->is_limited ? file->complete_to : file->part.to;
}

guint64 run_window_bytes(const RunWindow *window)
{
	guint64 bytes = 0;

	FOR_EACH_POINTER(const struct window_process, process, window->processes)
		FOR_EACH_POINTER(const struct window_stream, stream, process->streams)
			FOR_EACH_POINTER(const struct window_file, file, stream->files)
				bytes += end_of(window, file) -
					 MIN(file->part.from, end_of(window, file));
	return bytes;
}

guint64 run_window_read_bytes(const RunWindow *window)
{
	return window->read_bytes;
}

/* --- cutting --------------------------------------------------------------------------------- */

/* What a cut goes by. */
struct cut {
	const RunWindow *window;
	struct window_process *process;
	guint64 at_ticks;    /* what comes from then on is kept */
	guint64 after_ticks; /* the first of a later time */
};

static gboolean is_fact(const struct cut *cut, struct trace_class class)
{
	static const gchar *const marks[] = {
		TRACE_RANK_MARK, "process_group", "autograd_thread",
		"no_kernels",	 "thread_name",	  TRACE_NO_STACKS_MARK
	};
	const gchar *name = string_table_borrow(cut->window->strings, class.name);

	for (guint i = 0; i < G_N_ELEMENTS(marks); i++)
		if (strcmp(name, marks[i]) == 0)
			return TRUE;
	return FALSE;
}

/* Whether what lasted so many ticks from `begin` on had not ended at the cut. */
static gboolean lasts_until(const struct cut *cut, guint64 begin, guint64 duration)
{
	guint64 end;

	return duration == TRACE_OPEN || __builtin_add_overflow(begin, duration, &end) ||
	       end >= cut->after_ticks;
}

/* Whether a record from before the cut still counts: (1). `is_first`: it is the first of its stream's. */
static gboolean still_counts(const struct cut *cut, const struct record_header *record,
			     guint32 size_bytes, struct trace_class class, gboolean is_first)
{
	const struct record_slice *slice = (const void *)record;
	const struct record_late *late = (const void *)record;
	const struct record_activity *activity = (const void *)record;

	if (class.kind >= TRACE_N_KINDS || record_find_fault(class.kind, record, size_bytes))
		return FALSE;
	switch ((enum trace_kind) class.kind) {
	case TRACE_KIND_THREAD:
	case TRACE_KIND_EXIT:
	case TRACE_KIND_COST:
	case TRACE_KIND_DEVICE:
	case TRACE_KIND_QUEUE:
		return TRUE;
	case TRACE_KIND_MARK:
		return is_first || is_fact(cut, class);
	case TRACE_KIND_LATE:
		return lasts_until(cut, late->begin, late->duration);
	case TRACE_KIND_DEVICE_KERNEL:
	case TRACE_KIND_COPY:
	case TRACE_KIND_FILL:
	case TRACE_KIND_DEVICE_WAIT:
	case TRACE_KIND_DEVICE_WORK:
		return lasts_until(cut, activity->begin, activity->duration);
	case TRACE_KIND_OUTPUTS:
	case TRACE_KIND_ALLOC:
	case TRACE_KIND_FREE:
	case TRACE_KIND_DEVICE_ALLOC:
	case TRACE_KIND_DEVICE_FREE:
	case TRACE_KIND_COUNTER:
	case TRACE_KIND_FLOW:
	case TRACE_KIND_GRAPH_NODE:
	case TRACE_KIND_STACK:
	case TRACE_KIND_CLOCK:
		return is_first;
	default:
		return is_first || lasts_until(cut, record->stamp,
					       __atomic_load_n(&slice->duration, __ATOMIC_RELAXED));
	}
}

static struct trace_class class_of(const struct window_process *process, guint32 id)
{
	return id < process->metadata.n_classes
		       ? process->metadata.classes[id]
		       : (struct trace_class){ .kind = TRACE_CLASS_UNDECLARED };
}

/* Of the records that were kept so far, keep those that still count. */
static void sift_kept(const struct cut *cut, struct window_file *file, gboolean *is_first)
{
	g_autoptr(GArray) kept = g_steal_pointer(&file->part.kept);

	file->part.kept = g_array_new(FALSE, FALSE, sizeof(guint64));
	for (guint i = 0; i < kept->len; i++) {
		guint64 offset = g_array_index(kept, guint64, i);
		guint32 size;
		const struct record_header *record =
			record_at(file, offset, file->part.from, &size);

		if (record && still_counts(cut, record, size,
					   class_of(cut->process, record->class_id), *is_first))
			g_array_append_val(file->part.kept, offset);
		*is_first = FALSE;
	}
}

/* Returns whether the cut was in this file. */
static gboolean cut_file(const struct cut *cut, struct window_file *file, gboolean *is_first)
{
	guint32 size;

	sift_kept(cut, file, is_first);
	while (file->part.from < file->part.to) {
		const struct record_header *record =
			record_at(file, file->part.from, file->part.to, &size);
		struct trace_class class;

		if (!record) /* it has changed meanwhile */
			file->part.from = file->part.to;
		if (!record || record->stamp >= cut->at_ticks)
			return record != NULL;
		class = class_of(cut->process, record->class_id);
		cut->process->n_ops += class.kind == TRACE_KIND_OP;
		if (still_counts(cut, record, size, class, *is_first))
			g_array_append_val(file->part.kept, file->part.from);
		*is_first = FALSE;
		file->part.from += size;
	}
	return FALSE;
}

/* Files of which nothing is read any more, but for the last, which may grow. */
static void drop_files(RunWindow *window, struct window_process *process,
		       struct window_stream *stream)
{
	for (guint i = 0; i + 1 < stream->files->len;) {
		struct window_file *file = g_ptr_array_index(stream->files, i);
		g_autofree gchar *path = NULL;

		if (file->part.kept->len || file->part.from < file->part.to ||
		    (!file->is_broken && file->part.to < content_end(file))) {
			i++;
			continue;
		}
		path = g_build_filename(process->path, file->name, NULL);
		window_updates_forget(&process->updates, &file->mapped);
		stream->next_index = MAX(stream->next_index, file->index + 1);
		g_hash_table_remove(process->parts, file->name);
		g_hash_table_remove(window->file_by_path, path);
		g_ptr_array_remove_index(stream->files, i);
	}
}

void run_window_cut(RunWindow *window, const gchar *path, gint64 cut_unix_ns)
{
	struct window_process *process = g_hash_table_lookup(window->by_path, path);
	struct cut cut = { .window = window, .process = process };

	if (!process || cut_unix_ns <= process->cut_unix_ns)
		return;
	process->cut_unix_ns = cut_unix_ns;
	cut.at_ticks = trace_clock_ticks_from(&process->metadata.clock, cut_unix_ns);
	cut.after_ticks = trace_clock_ticks_from(&process->metadata.clock,
						 MIN(cut_unix_ns, G_MAXINT64 - 1) + 1);
	window_updates_cut(&process->updates, &process->metadata.clock, cut_unix_ns);
	FOR_EACH_POINTER(struct window_stream, stream, process->streams) {
		gboolean is_first = stream->next_index == 0;

		FOR_EACH_POINTER(struct window_file, file, stream->files)
			if (cut_file(&cut, file, &is_first))
				break;
		drop_files(window, process, stream);
	}
}

GArray *run_window_list_updates(const RunWindow *window, const gchar *path)
{
	const struct window_process *process = g_hash_table_lookup(window->by_path, path);

	return process && !process->updates.has_unknown
		       ? window_updates_list(&process->updates, &process->metadata.clock)
		       : NULL;
}

/* --- reading --------------------------------------------------------------------------------- */

void run_window_rest(RunWindow *window)
{
	FOR_EACH_POINTER(const struct window_process, process, window->processes)
		FOR_EACH_POINTER(const struct window_stream, stream, process->streams)
			FOR_EACH_POINTER(const struct window_file, file, stream->files)
				mapped_file_rest(&file->mapped);
}

TachoTimeline *run_window_open(RunWindow *window, GError **error)
{
	FOR_EACH_POINTER(const struct window_process, process, window->processes)
		FOR_EACH_POINTER(const struct window_stream, stream, process->streams)
			FOR_EACH_POINTER(struct window_file, file, stream->files)
				file->part.end = end_of(window, file);
	return run_reader_open_window(window, error);
}

void run_window_close(RunWindow *window, TachoTimeline *timeline)
{
	window->strings = g_steal_pointer(&timeline->strings);
	tacho_timeline_free(timeline);
}

guint64 run_window_record(const RunWindow *window, guint64 handle)
{
	guint64 file = handle >> 32;

	/* as tacho_source_handle() has it */
	if (handle >> 62 || !file || file > window->opened->len)
		return 0;
	return (guint64)g_array_index(window->opened, guint32, file - 1) << 32 |
	       (handle & G_MAXUINT32);
}

gboolean run_window_borrow(RunWindow *window, const gchar *path, struct process_window *ret_process)
{
	struct window_process *process = g_hash_table_lookup(window->by_path, path);

	if (!process)
		return FALSE;
	*ret_process =
		(struct process_window){ .parts = process->parts, .metadata = &process->metadata };
	return TRUE;
}

const gchar *const *run_window_borrow_paths(const RunWindow *window, guint *ret_n)
{
	*ret_n = g_strv_length(window->paths);
	return (const gchar *const *)window->paths;
}

guint64 run_window_count_ops(const RunWindow *window, const gchar *path)
{
	const struct window_process *process = g_hash_table_lookup(window->by_path, path);

	return process ? process->n_ops : 0;
}

gint64 run_window_origin(const RunWindow *window)
{
	return window->origin_unix_ns;
}

void run_window_set_origin(RunWindow *window, gint64 origin_unix_ns)
{
	window->origin_unix_ns = origin_unix_ns;
}

void run_window_take_metadata(RunWindow *window, const gchar *path, struct trace_metadata *metadata)
{
	struct window_process *process = g_hash_table_lookup(window->by_path, path);

	if (!process)
		return;
	trace_metadata_release(&process->metadata);
	process->metadata = *metadata;
	process->updates.has_unknown = FALSE;
	*metadata = (struct trace_metadata){ 0 };
}

void run_window_tell_file(RunWindow *window, guint32 file, const gchar *file_path)
{
	const struct window_file *known = g_hash_table_lookup(window->file_by_path, file_path);

	if (file == 0)
		g_array_set_size(window->opened, 0);
	if (window->opened->len <= file)
		g_array_set_size(window->opened, file + 1);
	g_array_index(window->opened, guint32, file) = known ? known->id : 0;
}

struct tacho_string_table *run_window_take_strings(RunWindow *window)
{
	return g_steal_pointer(&window->strings);
}

void run_window_give_strings(RunWindow *window, struct tacho_string_table *strings)
{
	window->strings = strings;
}
