#include "import/mixed_run.h"

#include <string.h>
#include <tacho/import.h>

#include "base/for_each.h"
#include "base/partition_point.h"
#include "import/added_steps.h"
#include "import/added_trace.h"
#include "import/inner_collectives.h"
#include "import/same_records.h"
#include "import/timeline_join.h"
#include "trace/clock_map.h"
#include "trace/rank_table.h"
#include "trace/run_notes.h"
#include "trace/source.h"
#include "trace/timeline_move.h"

#define NS_PER_S    G_GINT64_CONSTANT(1000000000)
#define MIN_UNIX_NS (100000000 * NS_PER_S) /* 1973: a machine that is up for longer is not known */
#define SLACK_NS    (60 * NS_PER_S) /* a process may be traced before its first record, or after */

struct mixed_run {
	TachoTimeline *run;
	const struct run_notes *notes;
	guint32 n_own;	/* processes that the run's own records are of */
	GArray *run_of; /* guint: by process */
	guint n_added;
};

/* The trace that is laid in. */
struct laying {
	struct mixed_run *mixed;
	const struct added_trace *added;
	TachoTimeline *trace;
	gboolean is_monotonic;
	guint run;
	guint32 *
		readers; /* by process of the trace: the process of the run whose readings count, or TACHO_NONE */
};

static const TachoProcess *process_of(const struct mixed_run *mixed, guint32 process)
{
	return tacho_timeline_process(mixed->run, process);
}

MixedRun *mixed_run_new(TachoTimeline *run, const struct run_notes *notes)
{
	struct mixed_run *mixed = g_new0(struct mixed_run, 1);

	mixed->run = run;
	mixed->notes = notes;
	mixed->n_own = run->processes->len;
	mixed->run_of = g_array_new(FALSE, FALSE, sizeof(guint));
	g_array_append_vals(mixed->run_of, notes->runs->data, notes->runs->len);
	return mixed;
}

void mixed_run_free(MixedRun *mixed)
{
	if (!mixed)
		return;
	g_array_unref(mixed->run_of);
	g_free(mixed);
}

/* --- times ---------------------------------------------------------------------------------- */

static gint64 told_ns(const struct clock_reading *reading, gboolean is_monotonic)
{
	return is_monotonic ? reading->mono_ns : reading->unix_ns;
}

/* What is to be added to a time of the system's clock: as at the readings before and after it, by how near they are. */
static gint64 offset_at(const struct clock_reading *readings, guint n, gboolean is_monotonic,
			gint64 time_ns)
{
	guint next = PARTITION_POINT(i, 0, n, told_ns(&readings[i], is_monotonic) <= time_ns);
	const struct clock_reading *after = &readings[MIN(next, n - 1)];
	const struct clock_reading *before = &readings[next ? next - 1 : 0];
	gint64 before_ns = told_ns(before, is_monotonic), after_ns = told_ns(after, is_monotonic);
	gint64 offset_ns = before->time_ns - before_ns;
	gdouble share;

	if (next == 0 || next == n || after_ns <= before_ns)
		return next == 0 ? after->time_ns - after_ns : offset_ns;
	share = (gdouble)(time_ns - before_ns) / (gdouble)(after_ns - before_ns);
	return offset_ns + llrint(share * (gdouble)(after->time_ns - after_ns - offset_ns));
}

/* The readings of a process, which are in one range; NULL: there are none. */
static const struct clock_reading *readings_of(const struct mixed_run *mixed, guint32 process,
					       guint *ret_n)
{
	const GArray *all = mixed->notes->readings;
	guint first = ROWS_BEFORE(all, struct clock_reading, row, row->process < process);

	*ret_n = ROWS_BEFORE(all, struct clock_reading, row, row->process <= process) - first;
	return *ret_n ? &g_array_index(all, struct clock_reading, first) : NULL;
}

/* (2). Without readings, the run's own word for its clock has to do. */
static gint64 move_time(const struct timeline_join *join, guint32 process, gint64 time_ns)
{
	const struct laying *laying = join->data;
	gint64 system_ns = clock_map_add(join->from->origin_unix_ns, time_ns);
	guint32 reader = laying->readers[process];
	const struct clock_reading *readings;
	guint n = 0;

	if (reader != TACHO_NONE)
		readings = readings_of(laying->mixed, reader, &n);
	if (n == 0)
		return clock_map_add(system_ns, -join->to->origin_unix_ns);
	return clock_map_add(system_ns, offset_at(readings, n, laying->is_monotonic, system_ns));
}

/* Whether times of the trace are those of CLOCK_MONOTONIC while the run was recorded. */
static gboolean is_monotonic(const struct mixed_run *mixed, const TachoTimeline *trace)
{
	const GArray *readings = mixed->notes->readings;
	gint64 first_ns = G_MAXINT64, last_ns = G_MININT64;

	FOR_EACH(const struct clock_reading, reading, readings) {
		first_ns = MIN(first_ns, reading->mono_ns);
		last_ns = MAX(last_ns, reading->mono_ns);
	}
	return readings->len && trace->origin_unix_ns <= last_ns + SLACK_NS &&
	       clock_map_add(trace->origin_unix_ns, trace->duration_ns) >= first_ns - SLACK_NS;
}

G_GNUC_PRINTF(3, 4)
static gboolean refuse(const struct laying *laying, GError **error, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MIXED,
		    "%s cannot be laid into the run: %s", laying->added->path, reason);
	return FALSE;
}

/* A run without a process of its own, as of the kernel's events alone, has no time either: the first trace's is as good as any. */
static gboolean has_no_time(const struct mixed_run *mixed)
{
	return mixed->n_own == 0 && mixed->n_added == 0 && mixed->notes->readings->len == 0;
}

static gboolean check_times(struct laying *laying, GError **error)
{
	TachoTimeline *run = laying->mixed->run;
	const TachoTimeline *trace = laying->trace;
	gint64 apart_ns, end_ns;

	if (has_no_time(laying->mixed)) {
		run->origin_unix_ns = trace->origin_unix_ns;
		return TRUE;
	}
	laying->is_monotonic =
		trace->origin_unix_ns < MIN_UNIX_NS && is_monotonic(laying->mixed, trace);
	if (laying->is_monotonic)
		return TRUE;
	if (trace->origin_unix_ns < MIN_UNIX_NS)
		return refuse(laying, error, "its times count from a moment that it does not tell");
	end_ns = clock_map_add(trace->origin_unix_ns, trace->duration_ns);
	apart_ns = MAX(run->origin_unix_ns - end_ns,
		       trace->origin_unix_ns - run->origin_unix_ns - run->duration_ns);
	if (apart_ns <= SLACK_NS)
		return TRUE;
	return refuse(
		laying, error, "it %s %.0f s %s", end_ns < run->origin_unix_ns ? "ended" : "began",
		(gdouble)apart_ns / (gdouble)NS_PER_S,
		end_ns < run->origin_unix_ns ? "before the run began" : "after the run had ended");
}

/* --- processes: (1) ------------------------------------------------------------------------- */

/* Whether the run's process may be one of the run that the trace lies in. */
static gboolean is_candidate(const struct laying *laying, guint32 process)
{
	return g_array_index(laying->mixed->run_of, guint, process) == laying->run;
}

static gboolean has_host(const struct laying *laying, guint32 process, const gchar *host)
{
	return !host ||
	       strcmp(host, tacho_timeline_string(laying->mixed->run,
						  process_of(laying->mixed, process)->host)) == 0;
}

/* A process that has executed another program has several traces: take that which overlaps the most; all times are the run's. */
static guint32 find_pid(const struct laying *laying, guint32 pid, const gchar *host,
			gint64 start_ns, gint64 end_ns)
{
	guint32 found = TACHO_NONE;
	gint64 most_ns = G_MININT64;

	for (guint32 i = 0; pid && i < laying->mixed->n_own; i++) {
		const TachoProcess *process = process_of(laying->mixed, i);
		gint64 shared_ns = clock_map_add(MIN(process->end_ns, end_ns),
						 -MAX(process->start_ns, start_ns));

		if (process->pid != pid || !is_candidate(laying, i) || !has_host(laying, i, host) ||
		    (found != TACHO_NONE && shared_ns <= most_ns))
			continue;
		found = i;
		most_ns = shared_ns;
	}
	return found;
}

static guint32 find_rank(const struct laying *laying, gint32 rank)
{
	for (guint32 i = 0; rank >= 0 && i < laying->mixed->n_own; i++) {
		const TachoProcess *process = process_of(laying->mixed, i);

		if (process->is_main && is_candidate(laying, i) &&
		    tacho_timeline_rank(laying->mixed->run, process->rank_index)->rank == rank)
			return i;
	}
	return TACHO_NONE;
}

/* The process that trains, where there is but one in the run; TACHO_NONE: there are several. */
static guint32 find_only(const struct laying *laying)
{
	guint32 found = TACHO_NONE;

	for (guint32 i = 0; i < laying->mixed->n_own; i++) {
		if (!process_of(laying->mixed, i)->is_main || !is_candidate(laying, i))
			continue;
		if (found != TACHO_NONE)
			return TACHO_NONE;
		found = i;
	}
	return found;
}

/* The row of the run that a process of the trace is, or TACHO_NONE. */
static guint32 find_same(const struct laying *laying, guint32 row)
{
	const struct added_trace *added = laying->added;
	const TachoTimeline *trace = laying->trace, *run = laying->mixed->run;
	const TachoProcess *process = tacho_timeline_process(trace, row);
	gboolean is_alone = trace->processes->len == 1;
	gint64 apart_ns = laying->is_monotonic ? 0 : trace->origin_unix_ns - run->origin_unix_ns;
	gint64 start_ns = clock_map_add(process->start_ns, apart_ns);
	gint64 end_ns = clock_map_add(process->end_ns, apart_ns);
	guint32 found;

	if (is_alone && added->pid)
		return find_pid(laying, added->pid, added->host, start_ns, end_ns);
	if (is_alone && added->rank >= 0)
		return find_rank(laying, added->rank);
	found = find_pid(laying, process->pid, NULL, start_ns, end_ns);
	if (found == TACHO_NONE)
		found = find_rank(laying, process->rank);
	if (found == TACHO_NONE && is_alone && process->rank < 0)
		found = find_only(laying);
	return found;
}

/* Traces that do not tell their host are of the one that the others of their processes are on, or, where the run has but
 * one, of that. Importers call it so, or say that its clock is a guess. */
static guint32 find_host(const struct laying *laying, const struct timeline_join *join,
			 const TachoProcess *process)
{
	const TachoTimeline *run = laying->mixed->run;
	guint32 found = TACHO_NONE;

	if (process->clock_scope == TACHO_CLOCK_OF_HOST &&
	    strcmp(tacho_timeline_string(run, process->host), "unknown") != 0)
		return process->host;
	for (guint i = 0; i < laying->trace->processes->len; i++)
		if (join->processes[i] < laying->mixed->n_own)
			return process_of(laying->mixed, join->processes[i])->host;
	for (guint32 i = 0; i < laying->mixed->n_own; i++) {
		if (found != TACHO_NONE && found != process_of(laying->mixed, i)->host)
			return process->host;
		found = process_of(laying->mixed, i)->host;
	}
	return found == TACHO_NONE ? process->host : found;
}

/* A clock of its host, if the run knows one; where no process is the run's own, that of the trace's others that had the same. */
static guint32 find_clock(const struct laying *laying, const struct timeline_join *join,
			  const TachoProcess *process)
{
	TachoTimeline *run = laying->mixed->run;
	TachoClock clock = { .host = process->host, .reference = run->clocks->len };

	for (guint32 i = 0; i < laying->mixed->n_own; i++)
		if (process_of(laying->mixed, i)->host == process->host)
			return process_of(laying->mixed, i)->clock;
	for (guint32 i = 0; i < laying->trace->processes->len && !laying->mixed->n_own; i++)
		if (join->processes[i] != TACHO_NONE &&
		    tacho_timeline_process(laying->trace, i)->clock == process->clock)
			return process_of(laying->mixed, join->processes[i])->clock;
	g_array_append_val(run->clocks, clock);
	return run->clocks->len - 1;
}

/* Any process that has the clock can tell what the system's clocks were. */
static guint32 find_reader(const struct laying *laying, guint32 clock)
{
	for (guint32 i = 0; i < laying->mixed->n_own; i++) {
		guint n;

		readings_of(laying->mixed, i, &n);
		if (n && process_of(laying->mixed, i)->clock == clock && is_candidate(laying, i))
			return i;
	}
	return TACHO_NONE;
}

/* The rank that `tacho record` started the process as; -1: it has not. */
static gint32 started_rank(const struct laying *laying, guint32 pid)
{
	FOR_EACH(const TachoChild, child, laying->mixed->run->children)
		if (child->pid == pid)
			return child->rank;
	return -1;
}

static void take_process(struct laying *laying, struct timeline_join *join, guint32 row)
{
	TachoTimeline *run = laying->mixed->run;
	TachoProcess process = timeline_join_process(join, row);
	gint32 rank = started_rank(laying, process.pid);

	process.host = find_host(laying, join, &process);
	process.clock = find_clock(laying, join, &process);
	process.clock_scope = 0;
	laying->readers[row] = find_reader(laying, process.clock);
	process.start_ns =
		move_time(join, row, tacho_timeline_process(laying->trace, row)->start_ns);
	process.end_ns = move_time(join, row, tacho_timeline_process(laying->trace, row)->end_ns);
	process.path = g_strdup(process.path);
	if (!laying->mixed->n_own && rank >= 0)
		process.rank = rank;
	process.is_main = FALSE;
	g_array_append_val(run->processes, process);
	g_array_append_val(laying->mixed->run_of, laying->run);
	join->processes[row] = run->processes->len - 1;
}

/* What the launcher and the process's own records do not tell. */
static void merge_process(struct laying *laying, struct timeline_join *join, guint32 row,
			  guint32 same)
{
	TachoTimeline *run = laying->mixed->run;
	TachoProcess *process = &g_array_index(run->processes, TachoProcess, same);
	const TachoProcess *told = tacho_timeline_process(laying->trace, row);
	guint n;

	readings_of(laying->mixed, same, &n);
	laying->readers[row] = n ? same : find_reader(laying, process->clock);
	join->processes[row] = same;
	process->n_dropped += told->n_dropped;
	if (process->rank < 0)
		process->rank = told->rank;
	if (process->world_size < 0)
		process->world_size = told->world_size;
}

static gboolean place_processes(struct laying *laying, struct timeline_join *join, GError **error)
{
	const struct added_trace *added = laying->added;
	gboolean is_any = FALSE;

	for (guint32 row = 0; row < laying->trace->processes->len; row++) {
		guint32 same = find_same(laying, row);

		if (same == TACHO_NONE && laying->trace->processes->len == 1 && added->pid)
			return refuse(laying, error, "it is of process %u, which the run has not",
				      added->pid);
		if (same == TACHO_NONE && laying->trace->processes->len == 1 && added->rank >= 0)
			return refuse(laying, error, "it is of rank %d, which the run has not",
				      added->rank);
		if (same == TACHO_NONE && laying->mixed->n_own &&
		    tacho_timeline_process(laying->trace, row)->is_bystander)
			continue; /* the machine is full of them */
		if (same == TACHO_NONE)
			take_process(laying, join, row);
		else
			merge_process(laying, join, row, same);
		is_any |= join->processes[row] != TACHO_NONE;
	}
	return is_any || refuse(laying, error, "it tells of no process of the run");
}

/* --- threads -------------------------------------------------------------------------------- */

/* What GNU's C++ library makes of a thread's handle (std::hash<std::thread::id>: MurmurHash64A by A. Appleby), of which XLA's
 * profiles have the lower half in the place of an id. */
static guint32 hash_handle(guint64 handle)
{
	const guint64 factor = G_GUINT64_CONSTANT(0xc6a4a7935bd1e995), seed = 0xc70f6907;
	guint64 mixed = handle * factor, hash = seed ^ (sizeof(handle) * factor);

	mixed = (mixed ^ mixed >> 47) * factor;
	hash = (hash ^ mixed) * factor;
	hash = (hash ^ hash >> 47) * factor;
	return (guint32)(hash ^ hash >> 47);
}

static gboolean has_id(const struct laying *laying, guint32 track, guint32 id)
{
	const GArray *threads = laying->mixed->notes->threads;
	const struct thread_handle *found =
		LAST_BEFORE(threads, struct thread_handle, row, row->track <= track);

	return tacho_timeline_track(laying->mixed->run, track)->tid == id ||
	       (found && found->track == track && hash_handle(found->handle) == id);
}

/* Ids of threads are used again: of several, the one that lived then. */
static guint32 find_thread(const struct laying *laying, guint32 process, guint32 tid,
			   guint32 n_tracks, gint64 first_ns, gint64 last_ns)
{
	const TachoTimeline *run = laying->mixed->run;
	guint32 found = TACHO_NONE;
	gint64 most_ns = G_MININT64;

	for (guint32 i = 0; i < n_tracks; i++) {
		const TachoTrack *track = tacho_timeline_track(run, i);
		gint64 shared_ns = clock_map_add(MIN(track->last_ns, last_ns),
						 -MAX(track->first_ns, first_ns));

		if (track->process != process || track->kind != TACHO_TRACK_THREAD ||
		    !has_id(laying, i, tid) || (found != TACHO_NONE && shared_ns <= most_ns))
			continue;
		found = i;
		most_ns = shared_ns;
	}
	return found;
}

static void place_tracks(const struct laying *laying, struct timeline_join *join)
{
	TachoTimeline *run = laying->mixed->run;
	guint32 n_tracks = run->tracks->len;

	for (guint32 i = 0; i < laying->trace->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(laying->trace, i);
		const TachoProcess *process = tacho_timeline_process(laying->trace, track->process);
		guint32 same = join->processes[track->process];

		/* ids of another namespace of processes are those of other threads */
		if (track->kind != TACHO_TRACK_THREAD || same >= laying->mixed->n_own ||
		    (process->pid && process->pid != process_of(laying->mixed, same)->pid))
			continue;
		join->tracks[i] = find_thread(laying, same, track->tid, n_tracks,
					      move_time(join, track->process, track->first_ns),
					      move_time(join, track->process, track->last_ns));
		if (join->tracks[i] != TACHO_NONE &&
		    !tacho_timeline_track(run, join->tracks[i])->name)
			g_array_index(run->tracks, TachoTrack, join->tracks[i]).name =
				join->strings[track->name];
	}
}

/* --- memory --------------------------------------------------------------------------------- */

/* What of memory both may tell of; 0: what only one of them can (a framework's allocator of a device). */
static guint8 shared_memory(const TachoMemoryEvent *event)
{
	enum { OF_HOST = 1, OF_DRIVER = 2 };

	if (!event->device)
		return OF_HOST;
	return event->layer == TACHO_MEMORY_OF_DRIVER ? OF_DRIVER : 0;
}

/* (3) of allocations: where the run has those of a process, of the host's memory or of a device's driver, the trace's are the
 * same. */
static void drop_memory(const struct laying *laying, const struct timeline_join *join)
{
	const TachoTimeline *run = laying->mixed->run, *trace = laying->trace;
	g_autofree guint8 *has_memory = g_new0(guint8, run->processes->len + 1);
	guint n_kept = 0;

	FOR_EACH(const TachoMemoryEvent, event, run->memory)
		has_memory[tacho_timeline_track(run, event->track)->process] |=
			shared_memory(event);
	FOR_EACH(const TachoMemoryEvent, event, trace->memory) {
		guint32 process = tacho_timeline_track(trace, event->track)->process;

		if (join->processes[process] == TACHO_NONE ||
		    !(has_memory[join->processes[process]] & shared_memory(event)))
			g_array_index(trace->memory, TachoMemoryEvent, n_kept++) = *event;
	}
	g_array_set_size(trace->memory, n_kept);
}

/* The rows that come to each process of the run's own. */
static void count_added(const struct laying *laying, const struct timeline_join *join)
{
	const TachoTimeline *trace = laying->trace;
	GArray *processes = laying->mixed->run->processes;

#define COUNT_EVENT(track_of)                                                                      \
	do {                                                                                       \
		guint32 row = join->processes[tacho_timeline_track(trace, track_of)->process];     \
                                                                                                   \
		if (row < laying->mixed->n_own)                                                    \
			g_array_index(processes, TachoProcess, row).n_events++;                    \
	} while (0)
	for (guint32 i = 0; i < trace->slices.n; i++)
		if (join->slices[i] == TACHO_NONE)
			COUNT_EVENT(trace->slices.track[i]);
	FOR_EACH(const TachoMemoryEvent, event, trace->memory)
		COUNT_EVENT(event->track);
	FOR_EACH(const TachoSample, sample, trace->samples)
		COUNT_EVENT(sample->track);
	FOR_EACH(const TachoMark, mark, trace->marks)
		COUNT_EVENT(mark->track);
#undef COUNT_EVENT
}

/* --- laying in ------------------------------------------------------------------------------ */

/* Of the trace, one that was not left out: there is one. */
static guint32 first_process(const struct timeline_join *join)
{
	guint32 row = 0;

	while (join->processes[row] == TACHO_NONE)
		row++;
	return row;
}

static void add_mark(const struct laying *laying, const struct timeline_join *join,
		     const struct mixed_counts *counts)
{
	TachoTimeline *run = laying->mixed->run;
	g_autofree gchar *name = g_path_get_basename(laying->added->path);
	guint32 process = first_process(join);
	TachoTrack track = { .kind = TACHO_TRACK_ASYNC, .process = join->processes[process] };
	TachoMark mark = { .time_ns = move_time(join, process, 0),
			   .first = (gint64)counts->n_added,
			   .second = (gint64)counts->n_same,
			   .track = run->tracks->len };

	track.name = tacho_timeline_intern(run, "added traces", -1);
	mark.name = tacho_timeline_intern(run, "added_trace", -1);
	mark.text = tacho_timeline_intern(run, name, -1);
	g_array_append_val(run->tracks, track);
	g_array_append_val(run->marks, mark);
}

static guint find_run(const struct mixed_run *mixed, const gchar *path)
{
	for (guint i = 0; i < mixed->notes->paths->len; i++)
		if (strcmp(mixed->notes->paths->pdata[i], path) == 0)
			return i;
	return 0;
}

/* The slices of processes that are not left out. */
static guint64 count_taken(const TachoTimeline *trace, const struct timeline_join *join)
{
	guint64 n = 0;

	FOR_EACH(const TachoTrack, track, trace->tracks)
		if (join->processes[track->process] != TACHO_NONE)
			n += track->n_slices;
	return n;
}

static gboolean lay_in(struct laying *laying, struct timeline_join *join,
		       struct mixed_counts *ret_counts, GError **error)
{
	guint32 n_slices = laying->mixed->run->slices.n;

	join->move = move_time;
	join->data = laying;
	if (!check_times(laying, error) || !place_processes(laying, join, error))
		return FALSE;
	place_tracks(laying, join);
	drop_memory(laying, join);
	ret_counts->n_same = same_records_find(join, n_slices);
	ret_counts->n_same += inner_collectives_find(join, n_slices);
	ret_counts->n_added = count_taken(laying->trace, join) - ret_counts->n_same;
	count_added(laying, join);
	timeline_join_rows(join);
	add_mark(laying, join, ret_counts);
	laying->mixed->n_added++;
	return TRUE;
}

/* What is to be added to the trace's times; 0 as well where it has no anchor. */
static gint64 base_of(TachoTimeline *trace, const struct added_trace *added)
{
	const TachoSlices *slices = &trace->slices;
	guint32 last = TACHO_NONE, name;
	gint64 middle_ns;

	if (!added->anchor || !added->anchor_ns)
		return added->base_ns;
	name = tacho_timeline_intern(trace, added->anchor, -1);
	for (guint32 i = 0; i < slices->n; i++)
		if (slices->name[i] == name &&
		    (last == TACHO_NONE || slices->start_ns[i] > slices->start_ns[last]))
			last = i;
	if (last == TACHO_NONE)
		return 0;
	middle_ns = clock_map_add(slices->start_ns[last], slices->duration_ns[last] / 2);
	return clock_map_add(added->anchor_ns, -clock_map_add(trace->origin_unix_ns, middle_ns));
}

gboolean mixed_run_add(MixedRun *mixed, const struct added_trace *added, TachoTimeline *trace,
		       struct mixed_counts *ret_counts, GError **error)
{
	g_autofree guint32 *readers = g_new(guint32, trace->processes->len + 1);
	g_auto(TimelineJoin) join = { 0 };
	struct laying laying = { .mixed = mixed,
				 .added = added,
				 .trace = trace,
				 .run = find_run(mixed, added->run),
				 .readers = readers };

	added_steps_mark(trace, added);
	trace->origin_unix_ns = clock_map_add(trace->origin_unix_ns, base_of(trace, added));
	memset(readers, 0xff, (trace->processes->len + 1) * sizeof(*readers)); /* TACHO_NONE */
	return timeline_join_begin(&join, mixed->run, trace, error) &&
	       lay_in(&laying, &join, ret_counts, error);
}

/* --- finishing ------------------------------------------------------------------------------ */

/* Finishing tells of all overlaps again. */
static void drop_overlaps(GArray *problems)
{
	for (guint i = problems->len; i-- > 0;)
		if (g_array_index(problems, TachoProblem, i).kind == TACHO_PROBLEM_OVERLAP)
			g_array_remove_index(problems, i);
}

static void fill_ranks(const struct mixed_run *mixed)
{
	TachoTimeline *run = mixed->run;
	g_autofree struct rank_candidate *candidates =
		g_new0(struct rank_candidate, run->processes->len + 1);

	for (guint i = 0; i < run->processes->len; i++)
		candidates[i].run = g_array_index(mixed->run_of, guint, i);
	for (guint32 i = 0; i < run->slices.n; i++)
		if (run->slices.kind[i] == TACHO_SLICE_OP)
			candidates[tacho_timeline_track(run, run->slices.track[i])->process]
				.n_ops++;
	rank_table_refill(run, candidates);
}

/* A trace may have begun before the run's first record. */
static void move_origin(TachoTimeline *run)
{
	g_autofree struct clock_map *maps = g_new0(struct clock_map, run->clocks->len + 1);
	gint64 first_ns = 0;

	FOR_EACH(const TachoProcess, process, run->processes)
		first_ns = MIN(first_ns, process->start_ns);
	if (first_ns < 0)
		timeline_move(run, maps);
}

void mixed_run_finish(MixedRun *mixed)
{
	TachoTimeline *run = mixed->run;
	g_autofree guint32 *moved = NULL;

	if (!mixed->n_added)
		return;
	drop_overlaps(run->problems);
	moved = tacho_timeline_finish(run);
	tacho_source_move_slices(run->source, moved, run->slices.n);
	fill_ranks(mixed);
	move_origin(run);
}
