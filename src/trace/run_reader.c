/* From run directories to a timeline:
 *
 *     find the traces -> open their files -> settle their clocks -> count every stream's slices (in parallel) -> make room ->
 *     read every stream into it (in parallel) -> name and judge the processes -> put the rows together
 *     (in parallel) -> join operations without tensors to their twins -> put sampled stacks behind them, and what devices
 *     did -> say what was wrong
 *
 * (1) The origin of time is the first record of the run, or what was before it and was told late.
 * (2) Processes stand by rank, a process's tracks by stream, so the same run reads the same twice.
 * (3) A trace that cannot be read at all becomes a problem, as long as another can be.
 * (4) Several runs are read as one only where they are of one job (one_job.h).
 * (5) Where several processes read a run together, each reads the streams that it owns, and the owners tell each other what
 *     concerns all (stream_exchange.h); from there on each goes on as if it had read everything. */
#include "trace/run_reader.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/worker_pool.h"
#include "trace/clock_table.h"
#include "trace/device_records.h"
#include "trace/flow_records.h"
#include "trace/memory_sizes.h"
#include "trace/one_job.h"
#include "trace/op_twins.h"
#include "trace/process_end.h"
#include "trace/process_facts.h"
#include "trace/process_reader.h"
#include "trace/rank_table.h"
#include "trace/run_dealing.h"
#include "trace/run_losses.h"
#include "trace/run_merge.h"
#include "trace/run_notes.h"
#include "trace/run_paths.h"
#include "trace/run_share.h"
#include "trace/source.h"
#include "trace/stack_samples.h"
#include "trace/stream_exchange.h"
#include "trace/string_table.h"

struct stream_task {
	const struct process_input *process;
	struct stream_input *stream;
};

struct run_reader {
	TachoTimeline *timeline;
	struct run_paths paths;
	GArray *processes;     /* struct process_input */
	GPtrArray *file_paths; /* by the source's index */
	GArray *tasks;	       /* struct stream_task, longest first */
	struct clock_table clocks;
	gint64 origin_unix_ns;
	gboolean is_guess; /* see run_reader_open() */
	RunWindow *window; /* of which the records are read; NULL: all are */
};

static void clear_process(gpointer process)
{
	process_input_release(process);
}

static struct process_input *process_at(const struct run_reader *reader, guint process)
{
	return &g_array_index(reader->processes, struct process_input, process);
}

/* --- opening -------------------------------------------------------------------------------- */

static gint compare_processes(gconstpointer first, gconstpointer second)
{
	const struct process_input *a = first, *b = second;

	/* those without a rank, -1, come last */
	return ORDER((guint64)a->metadata.rank, (guint64)b->metadata.rank) ?:
	       ORDER(a->run, b->run) ?: strcmp(a->path, b->path);
}

static gboolean open_processes(struct run_reader *reader, GError **error)
{
	const GArray *traces = reader->paths.traces;
	g_autoptr(GError) first_error = NULL;

	FOR_EACH(const struct trace_path, trace, traces) {
		g_autoptr(GError) cause = NULL;
		struct process_input process;
		struct process_window window;

		if (reader->window && !run_window_borrow(reader->window, trace->path, &window))
			continue; /* it has come since the window was looked at */
		if (process_input_open(&process, trace->path, reader->window ? &window : NULL,
				       reader->timeline, reader->file_paths, &cause)) {
			process.run = trace->run;
			g_array_append_val(reader->processes, process);
			continue;
		}
		tacho_timeline_add_problem(reader->timeline, TACHO_PROBLEM_UNREADABLE_TRACE, 1,
					   "%s", cause->message);
		if (!first_error)
			first_error = g_steal_pointer(&cause);
	}
	if (!reader->processes->len && first_error) {
		g_propagate_error(error, g_steal_pointer(&first_error));
		return FALSE;
	}
	g_array_sort(reader->processes, compare_processes);
	return TRUE;
}

/* The process's earliest stamp; 0: it has none. */
static guint64 first_stamp(const struct run_reader *reader, const struct process_input *process)
{
	guint64 first = G_MAXUINT64, stamp;

	for (guint i = 0; i < process->streams->len; i++) {
		const GArray *files = process_input_stream(process, i)->files;

		if (stream_reader_first_stamp(reader->timeline->source,
					      &g_array_index(files, struct stream_file_place, 0),
					      &stamp))
			first = MIN(first, stamp);
	}
	return first == G_MAXUINT64 ? 0 : first;
}

static void share_clocks(struct run_reader *reader)
{
	FOR_EACH(struct process_input, process, reader->processes)
		process->clock =
			clock_table_share(&reader->clocks, reader->timeline, &process->metadata,
					  first_stamp(reader, process));
}

/* False: the others cannot be asked. */
static gboolean find_origin(struct run_reader *reader)
{
	gint64 origin_unix_ns = G_MAXINT64;
	guint64 stamp;

	FOR_EACH(const struct stream_task, task, reader->tasks) {
		const struct trace_clock *clock = &task->process->metadata.clock;
		const struct stream_file_place *first =
			&g_array_index(task->stream->files, struct stream_file_place, 0);

		if (stream_reader_first_stamp(reader->timeline->source, first, &stamp)) {
			stamp = MIN(stamp, task->stream->count.first_late);
			if (stamp <= clock->max_ticks)
				origin_unix_ns =
					MIN(origin_unix_ns, trace_clock_unix_ns(clock, stamp));
		}
	}
	if (reader->timeline->share &&
	    !tacho_peers_least(reader->timeline->share->peers, "first moment", &origin_unix_ns))
		return FALSE;
	if (reader->window) {
		origin_unix_ns = MIN(origin_unix_ns, run_window_origin(reader->window));
		run_window_set_origin(reader->window, origin_unix_ns);
	}
	reader->origin_unix_ns = origin_unix_ns == G_MAXINT64 ? 0 : origin_unix_ns;
	reader->timeline->origin_unix_ns = reader->origin_unix_ns;
	return TRUE;
}

/* --- reading -------------------------------------------------------------------------------- */

/* A window is small, and read again and again beside the jobs: it takes no threads. */
static void run_tasks(const struct run_reader *reader, guint n_tasks, WorkerTask task)
{
	for (guint i = 0; reader->window && i < n_tasks; i++)
		task(i, (gpointer)reader);
	if (!reader->window)
		worker_pool_run(n_tasks, task, (gpointer)reader);
}

static gint compare_tasks(gconstpointer first, gconstpointer second)
{
	guint64 a = ((const struct stream_task *)first)->stream->n_bytes;
	guint64 b = ((const struct stream_task *)second)->stream->n_bytes;

	return ORDER(b, a);
}

static void make_tasks(struct run_reader *reader)
{
	FOR_EACH(const struct process_input, process, reader->processes) {
		for (guint s = 0; s < process->streams->len && !process->is_elsewhere; s++) {
			struct stream_task task = { process, process_input_stream(process, s) };

			g_array_append_val(reader->tasks, task);
		}
	}
	g_array_sort(reader->tasks, compare_tasks);
}

static void count_stream(guint index, gpointer reader_pointer)
{
	const struct run_reader *reader = reader_pointer;
	const struct stream_task *task = &g_array_index(reader->tasks, struct stream_task, index);
	const GArray *files = task->stream->files;

	task->stream->count =
		stream_reader_count(reader->timeline->source, &task->process->metadata,
				    (const struct stream_file_place *)files->data, files->len);
}

static void read_stream(guint index, gpointer reader_pointer)
{
	const struct run_reader *reader = reader_pointer;
	const struct stream_task *task = &g_array_index(reader->tasks, struct stream_task, index);
	const GArray *files = task->stream->files;

	stream_reader_read(&task->stream->rows, reader->timeline->source, &task->process->metadata,
			   (const struct stream_file_place *)files->data, files->len,
			   reader->origin_unix_ns);
}

/* All streams in the order of their tracks; to be freed. */
static GPtrArray *list_streams(const struct run_reader *reader)
{
	GPtrArray *streams = g_ptr_array_new();

	for (guint p = 0; p < reader->processes->len; p++)
		for (guint s = 0; s < process_at(reader, p)->streams->len; s++)
			g_ptr_array_add(streams, process_input_stream(process_at(reader, p), s));
	return streams;
}

static gboolean make_room(struct run_reader *reader, GError **error)
{
	g_autoptr(GPtrArray) streams = list_streams(reader);

	return run_merge_make_room(reader->timeline, (struct stream_input *const *)streams->pdata,
				   streams->len, error);
}

static gboolean read_streams(struct run_reader *reader, GError **error)
{
	run_tasks(reader, reader->tasks->len, read_stream);
	for (guint i = 0; i < reader->tasks->len; i++)
		if (g_array_index(reader->tasks, struct stream_task, i)
			    .stream->rows.is_out_of_memory) {
			g_set_error_literal(error, TACHO_TIMELINE_ERROR,
					    TACHO_TIMELINE_ERROR_MEMORY,
					    "there is not enough memory for the run's records");
			return FALSE;
		}
	return TRUE;
}

/* Let the others have what they need of this process's streams, and take in theirs. */
static gboolean exchange_streams(struct run_reader *reader, GError **error)
{
	const struct tacho_run_share *share = reader->timeline->share;
	g_autoptr(GPtrArray) streams = NULL;

	if (!share)
		return TRUE;
	if (!stream_exchange(reader->timeline, share->peers, reader->processes, error))
		return FALSE;
	streams = list_streams(reader);
	return run_merge_add_lent(reader->timeline, (struct stream_input *const *)streams->pdata,
				  streams->len, error);
}

/* --- processes ------------------------------------------------------------------------------ */

static guint64 count_records(const struct process_input *process)
{
	guint64 n_records = 0;

	for (guint i = 0; i < process->streams->len; i++)
		n_records += process_input_stream(process, i)->rows.n_records;
	return n_records;
}

static guint64 count_ops(const struct process_input *process)
{
	guint64 n_ops = 0;

	for (guint i = 0; i < process->streams->len; i++)
		n_ops += process_input_stream(process, i)->rows.n_by_kind[TRACE_KIND_OP];
	return n_ops;
}

/* Whether a later trace is of the same process, after an exec(). */
static gboolean is_replaced(const struct run_reader *reader, const struct process_input *process)
{
	for (guint i = 0; i < reader->processes->len; i++) {
		const struct trace_metadata *other = &process_at(reader, i)->metadata;

		if (process_at(reader, i)->run == process->run &&
		    other->pid == process->metadata.pid && other->host == process->metadata.host &&
		    other->start_mono_ns > process->metadata.start_mono_ns)
			return TRUE;
	}
	return FALSE;
}

/* A trace that was given by itself does not tell how other processes ended. */
static void add_children(TachoTimeline *timeline, const struct run_path *run)
{
	guint32 command = tacho_timeline_intern(timeline, run->command ? run->command : "", -1);

	for (guint i = 0; i < run->children->len && !run->is_trace; i++) {
		const struct run_child *from = &g_array_index(run->children, struct run_child, i);
		TachoChild child = { .pid = from->pid,
				     .rank = from->rank,
				     .command = command,
				     .end_unix_ns = from->end_unix_ns };

		child.end = process_end_of_status(from->status, &child.exit_status);
		g_array_append_val(timeline->children, child);
	}
}

static void add_processes(struct run_reader *reader)
{
	g_autofree struct rank_candidate *candidates =
		g_new0(struct rank_candidate, reader->processes->len);
	const GArray *runs = reader->paths.runs;
	gint launched_ranks = 0;
	guint n_kept = 0;

	FOR_EACH_AT(struct process_input, process, i, reader->processes) {
		const gchar *status =
			run_path_child_status(&g_array_index(runs, struct run_path, process->run),
					      (guint32)process->metadata.pid);

		process_facts_add(reader->timeline, process, status, is_replaced(reader, process));
		g_array_index(reader->timeline->processes, TachoProcess, i).clock =
			clock_table_row(&reader->clocks, process->clock, reader->timeline);
		candidates[n_kept].run = process->run;
		candidates[n_kept].n_ops = count_ops(process);
		if (reader->window)
			candidates[n_kept].n_ops +=
				run_window_count_ops(reader->window, process->path);
		n_kept++;
	}
	for (guint i = 0; i < runs->len; i++)
		add_children(reader->timeline, &g_array_index(runs, struct run_path, i));
	for (guint i = 0; i < runs->len; i++)
		launched_ranks += g_array_index(runs, struct run_path, i).n_ranks;
	rank_table_fill(reader->timeline, candidates, launched_ranks);
}

/* Only processes of which there is a record are in the timeline. */
static void leave_out_empty(struct run_reader *reader)
{
	for (guint i = reader->processes->len; i-- > 0;) {
		if (count_records(process_at(reader, i)))
			continue;
		process_facts_add_faults(reader->timeline, process_at(reader, i),
					 reader->file_paths);
		g_array_remove_index(reader->processes, i);
	}
}

/* --- tables --------------------------------------------------------------------------------- */

static gboolean merge(struct run_reader *reader, GError **error)
{
	g_autoptr(GPtrArray) streams = list_streams(reader);

	return run_merge(reader->timeline, (struct stream_input *const *)streams->pdata,
			 streams->len, error);
}

static void fill_memory_sizes(guint process, gpointer reader_pointer)
{
	const struct run_reader *reader = reader_pointer;
	const struct process_input *input = process_at(reader, process);
	GArray *memory = reader->timeline->memory;
	g_autofree struct memory_range *ranges = g_new0(struct memory_range, input->streams->len);
	guint n_ranges = 0;

	FOR_EACH(const struct stream_input, stream, input->streams) {
		const guint64 *n = stream->rows.n_by_kind;
		guint64 n_events = n[TRACE_KIND_ALLOC] + n[TRACE_KIND_FREE] +
				   n[TRACE_KIND_DEVICE_ALLOC] + n[TRACE_KIND_DEVICE_FREE];

		if (!n_events || input->is_elsewhere)
			continue;
		ranges[n_ranges].events = (TachoMemoryEvent *)memory->data + stream->first_memory;
		ranges[n_ranges++].n = n_events;
	}
	memory_sizes_fill(ranges, n_ranges);
}

static gint compare_marks(gconstpointer first, gconstpointer second)
{
	const TachoMark *a = first, *b = second;

	return ORDER(a->track, b->track) ?: ORDER(a->time_ns, b->time_ns);
}

static gboolean read_run(struct run_reader *reader, GError **error)
{
	make_tasks(reader);
	share_clocks(reader);
	run_tasks(reader, reader->tasks->len, count_stream);
	if (!find_origin(reader))
		return run_share_fail(reader->timeline, "", error);
	if (!make_room(reader, error) || !read_streams(reader, error) ||
	    !exchange_streams(reader, error))
		return FALSE;
	leave_out_empty(reader);
	run_dealing_note_owned(reader->timeline, reader->processes);
	if (!one_job_check_times(reader->timeline, &reader->paths, reader->processes,
				 reader->is_guess, error))
		return FALSE;
	one_job_add_problems(reader->timeline, &reader->paths, reader->processes);
	run_losses_add_problems(reader->timeline, &reader->paths);
	add_processes(reader);
	run_share_costs(reader->timeline);
	if (!merge(reader, error))
		return FALSE;
	run_dealing_note_kept(reader->timeline, reader->processes);
	if (!reader->window) /* its steps may have none that was asked */
		op_twins_join(reader->timeline);
	if (!stack_samples_add(reader->timeline, reader->processes, error) ||
	    !device_records_add(reader->timeline, reader->processes, error))
		return FALSE;
	run_share_lives(reader->timeline);
	flow_records_join(reader->timeline, reader->processes);
	run_tasks(reader, reader->processes->len, fill_memory_sizes);
	g_array_sort(reader->timeline->marks, compare_marks);
	for (guint i = 0; i < reader->processes->len; i++) {
		process_facts_add_faults(reader->timeline, process_at(reader, i),
					 reader->file_paths);
		process_facts_add_problems(reader->timeline, process_at(reader, i), i);
	}
	return TRUE;
}

static gint compare_readings(gconstpointer first, gconstpointer second)
{
	const struct clock_reading *a = first, *b = second;

	return ORDER(a->process, b->process) ?: ORDER(a->time_ns, b->time_ns);
}

static gint compare_threads(gconstpointer first, gconstpointer second)
{
	const struct thread_handle *a = first, *b = second;

	return ORDER(a->track, b->track);
}

static void fill_notes(const struct run_reader *reader, struct run_notes *notes)
{
	FOR_EACH(const struct run_path, run, reader->paths.runs)
		g_ptr_array_add(notes->paths, g_strdup(run->path));
	FOR_EACH_AT(const struct process_input, process, i, reader->processes) {
		g_array_append_val(notes->runs, process->run);
		process_facts_add_readings(reader->timeline, process, i, notes->readings);
		process_facts_add_threads(reader->timeline, process, notes->threads);
	}
	g_array_sort(notes->readings, compare_readings);
	g_array_sort(notes->threads, compare_threads);
}

TachoTimeline *run_reader_open(const gchar *const *paths, guint n_paths, TachoPeers *peers,
			       gboolean is_guess, struct run_notes *notes, GError **error)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(GArray) processes = g_array_new(FALSE, TRUE, sizeof(struct process_input));
	g_autoptr(GPtrArray) file_paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) tasks = g_array_new(FALSE, TRUE, sizeof(struct stream_task));
	struct run_reader reader = { .timeline = timeline,
				     .processes = processes,
				     .file_paths = file_paths,
				     .tasks = tasks,
				     .is_guess = is_guess };
	gboolean is_read;

	g_array_set_clear_func(processes, clear_process);
	is_read = run_paths_find(&reader.paths, paths, n_paths, error) &&
		  open_processes(&reader, error) &&
		  one_job_check_names(timeline, &reader.paths, processes, is_guess, error) &&
		  run_dealing_begin(timeline, processes, peers, error) && read_run(&reader, error);
	if (is_read && notes)
		fill_notes(&reader, notes);
	run_paths_release(&reader.paths);
	clock_table_release(&reader.clocks);
	return is_read ? g_steal_pointer(&timeline) : NULL;
}

static void tell_window(struct run_reader *reader)
{
	for (guint i = 0; i < reader->file_paths->len; i++)
		run_window_tell_file(reader->window, i, g_ptr_array_index(reader->file_paths, i));
	FOR_EACH(struct process_input, process, reader->processes)
		run_window_take_metadata(reader->window, process->path, &process->metadata);
}

static gboolean read_window(struct run_reader *reader, GError **error)
{
	guint n_paths;
	const gchar *const *paths = run_window_borrow_paths(reader->window, &n_paths);

	if (!run_paths_find(&reader->paths, paths, n_paths, error) ||
	    !open_processes(reader, error) ||
	    !one_job_check_names(reader->timeline, &reader->paths, reader->processes, FALSE,
				 error) ||
	    !read_run(reader, error))
		return FALSE;
	tell_window(reader);
	return TRUE;
}

TachoTimeline *run_reader_open_window(RunWindow *window, GError **error)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(GArray) processes = g_array_new(FALSE, TRUE, sizeof(struct process_input));
	g_autoptr(GPtrArray) file_paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) tasks = g_array_new(FALSE, TRUE, sizeof(struct stream_task));
	struct run_reader reader = { .timeline = timeline,
				     .processes = processes,
				     .file_paths = file_paths,
				     .tasks = tasks,
				     .window = window };
	gboolean is_read;

	g_array_set_clear_func(processes, clear_process);
	string_table_free(timeline->strings);
	timeline->strings = run_window_take_strings(window);
	is_read = read_window(&reader, error);
	run_paths_release(&reader.paths);
	clock_table_release(&reader.clocks);
	if (is_read)
		return g_steal_pointer(&timeline);
	run_window_give_strings(window, g_steal_pointer(&timeline->strings));
	return NULL;
}

TachoTimeline *tacho_timeline_open(const gchar *const *paths, guint n_paths, GError **error)
{
	return run_reader_open(paths, n_paths, NULL, FALSE, NULL, error);
}
