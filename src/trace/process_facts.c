#include "trace/process_facts.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/process_end.h"
#include "trace/process_reader.h"
#include "trace/rank_list.h"
#include "trace/record.h"
#include "trace/run_notes.h"
#include "trace/source.h"

#define NS_PER_MS	  1000000
#define MAX_NAMED_THREADS 8
#define MAX_NAMED_SLICES  16
#define CLOCK_DOUBT_NS	  1000000 /* the trace's clock against the system's: this, and ... */
#define CLOCK_DOUBT_PPM	  100	  /* ... this much of the time between, is more than haste */

/* What the moments of all streams tell. */
struct process_findings {
	gboolean has_exit;
	gint64 exit_status;
	gboolean was_stopped;
	guint64 picoseconds[TRACE_N_KINDS];
	gint64 rank, world_size; /* as the framework said; -1: it did not */
	/* Names of classes of kernels and of operations -> their own picoseconds. */
	GHashTable *kernel_costs, *op_costs;
};

static TachoTrack *track_at(TachoTimeline *timeline, guint32 track)
{
	return &g_array_index(timeline->tracks, TachoTrack, track);
}

static const void *borrow_moment(const TachoTimeline *timeline, const struct stream_moment *moment,
				 gsize least_bytes)
{
	gsize size_bytes;

	return tacho_source_borrow_record(timeline->source, moment->handle, least_bytes,
					  &size_bytes);
}

/* --- the process ---------------------------------------------------------------------------- */

/* Files of a stream count from 0. Where the first are gone, tacho removed them (--max-size), or somebody did. */
static void note_cut(const struct stream_input *stream, TachoProcess *process)
{
	if (g_array_index(stream->files, struct stream_file_place, 0).index == 0)
		return;
	process->whole_from_ns = process->is_cut
					 ? MAX(process->whole_from_ns, stream->rows.first_ns)
					 : stream->rows.first_ns;
	process->is_cut = TRUE;
}

static void sum_streams(const struct process_input *input, TachoProcess *process)
{
	gboolean is_first = TRUE;

	FOR_EACH(const struct stream_input, stream, input->streams) {
		process->n_dropped += stream->n_dropped;
		process->n_events += stream->rows.n_records;
		if (!stream->rows.n_records)
			continue;
		process->start_ns = is_first ? stream->rows.first_ns
					     : MIN(process->start_ns, stream->rows.first_ns);
		process->end_ns = is_first ? stream->rows.last_ns
					   : MAX(process->end_ns, stream->rows.last_ns);
		is_first = FALSE;
		if (!input->is_part)
			note_cut(stream, process);
	}
}

/* What the stream's slices of a kind that have a cost of their own cost, and how many they are. */
static unsigned __int128 sum_own_costs(const struct stream_rows *rows, GHashTable *costs,
				       TachoSliceKind kind, guint64 *ret_n)
{
	const TachoSlices *slices = &rows->slices;
	unsigned __int128 picoseconds = 0;

	*ret_n = 0;
	if (g_hash_table_size(costs) == 0)
		return 0;
	for (guint32 i = 0; i < slices->n; i++) {
		gpointer cost;

		if (slices->kind[i] != kind ||
		    !g_hash_table_lookup_extended(costs, GUINT_TO_POINTER(slices->name[i]), NULL,
						  &cost))
			continue;
		picoseconds += GPOINTER_TO_SIZE(cost);
		++*ret_n;
	}
	return picoseconds;
}

static guint64 sum_cost_ns(const struct process_input *input,
			   const struct process_findings *findings)
{
	unsigned __int128 picoseconds = 0;

	for (guint i = 0; i < input->streams->len; i++) {
		const struct stream_rows *rows = &process_input_stream(input, i)->rows;
		guint64 n_kernels, n_ops;

		picoseconds +=
			sum_own_costs(rows, findings->kernel_costs, TACHO_SLICE_KERNEL, &n_kernels);
		picoseconds += sum_own_costs(rows, findings->op_costs, TACHO_SLICE_OP, &n_ops);
		for (guint kind = 0; kind < TRACE_N_KINDS; kind++) {
			guint64 n_apart = kind == TRACE_KIND_KERNEL ? n_kernels
					  : kind == TRACE_KIND_OP   ? n_ops
								    : 0;

			picoseconds += (unsigned __int128)findings->picoseconds[kind] *
				       (rows->n_by_kind[kind] - n_apart);
		}
	}
	return (guint64)MIN(picoseconds / 1000, G_MAXUINT64);
}

/* Where its own metadata says which ranks are recorded whole, and it is none of them. */
static gboolean is_partial(const TachoTimeline *timeline, const struct trace_metadata *metadata,
			   gint32 rank)
{
	const gchar *list = tacho_timeline_string(timeline, metadata->whole_ranks);

	return rank >= 0 && *list && rank_list_is_valid(list) && !rank_list_has(list, rank);
}

static void add_process(TachoTimeline *timeline, const struct process_input *input,
			const struct process_findings *findings, const gchar *launcher_status,
			gboolean is_replaced)
{
	const struct trace_metadata *metadata = &input->metadata;
	struct process_evidence evidence = {
		.launcher_status = launcher_status,
		.has_exit_record = findings->has_exit,
		.exit_status = findings->exit_status,
		.was_stopped = findings->was_stopped,
		.is_replaced = is_replaced,
		.pid = (guint32)metadata->pid,
		.host = tacho_timeline_string(timeline, metadata->host),
		.boot_id = tacho_timeline_string(timeline, metadata->boot_id),
		.start_mono_ns = metadata->start_mono_ns,
	};
	TachoProcess process = {
		.host = metadata->host,
		.pid = (guint32)metadata->pid,
		.ppid = (guint32)metadata->ppid,
		.rank = (gint32)(metadata->rank < 0 ? findings->rank : metadata->rank),
		.local_rank = (gint32)metadata->local_rank,
		.world_size = (gint32)(metadata->world_size < 0 ? findings->world_size
								: metadata->world_size),
		.command = metadata->command,
		.job = metadata->job,
		.path = g_strdup(input->path),
	};

	process.is_partial = is_partial(timeline, metadata, process.rank);
	sum_streams(input, &process);
	process.cost_ns = sum_cost_ns(input, findings);
	process.end = process_end_judge(&evidence, &process.exit_status);
	timeline->n_events += process.n_events;
	timeline->n_dropped += process.n_dropped;
	timeline->duration_ns = MAX(timeline->duration_ns, process.end_ns);
	g_array_append_val(timeline->processes, process);
}

/* --- tracks --------------------------------------------------------------------------------- */

/* What is told by the agent of itself, and not of the thread that wrote it. */
static gboolean is_agents_mark(const gchar *name)
{
	return strcmp(name, "thread_name") == 0 || strcmp(name, TRACE_SAMPLING_MARK) == 0;
}

static gboolean has_own_marks(const TachoTimeline *timeline, const struct stream_rows *rows)
{
	const struct stream_moment *moments = rows->moments.rows;

	for (gsize i = 0; i < rows->moments.n; i++)
		if (moments[i].kind == TRACE_KIND_MARK &&
		    !is_agents_mark(tacho_timeline_string(timeline, moments[i].name)))
			return TRUE;
	return FALSE;
}

static guint32 add_track(TachoTimeline *timeline, const struct stream_input *stream,
			 TachoTrackKind kind)
{
	TachoTrack track = { .kind = kind,
			     .process = timeline->processes->len - 1,
			     .tid = stream->tid,
			     .first_ns = stream->rows.first_ns,
			     .last_ns = stream->rows.last_ns };

	if (kind == TACHO_TRACK_THREAD)
		track.n_dropped = stream->n_dropped;
	else
		track.name = tacho_timeline_intern(
			timeline,
			stream->rows.n_by_kind[TRACE_KIND_COLLECTIVE] ? "collectives" : "spans",
			-1);
	g_array_append_val(timeline->tracks, track);
	return timeline->tracks->len - 1;
}

/* A thread of which there is nothing to show, tacho's own for one, gets no track. */
static void add_tracks(TachoTimeline *timeline, struct stream_input *stream)
{
	const struct stream_rows *rows = &stream->rows;

	stream->track = stream->queued_track = TACHO_NONE;
	if (rows->slices.n || rows->queued.n || rows->memory.n || stream->has_more ||
	    stream->has_more_queued || stream->n_dropped || has_own_marks(timeline, rows))
		stream->track = add_track(timeline, stream, TACHO_TRACK_THREAD);
	if (rows->queued.n || stream->has_more_queued)
		stream->queued_track = add_track(timeline, stream, TACHO_TRACK_ASYNC);
}

/* --- moments -------------------------------------------------------------------------------- */

static guint32 intern_text(TachoTimeline *timeline, const struct record_mark *mark)
{
	const gchar *text =
		record_borrow_text(mark, mark->header.size_bytes, sizeof(*mark), mark->n_text);

	return text ? tacho_timeline_intern(timeline, text, mark->n_text) : 0;
}

/* The thread with that id at that time: the last to begin before it, for ids are used again. */
static void name_thread(TachoTimeline *timeline, const struct process_input *input, gint64 tid,
			gint64 time_ns, guint32 name)
{
	const struct stream_input *found = NULL;

	FOR_EACH(const struct stream_input, stream, input->streams)
		if (stream->tid == tid && stream->track != TACHO_NONE &&
		    stream->rows.first_ns <= time_ns &&
		    (!found || stream->rows.first_ns >= found->rows.first_ns))
			found = stream;
	if (found)
		track_at(timeline, found->track)->name = name;
}

static void add_mark(TachoTimeline *timeline, const struct process_input *input, guint32 track,
		     const struct stream_moment *moment)
{
	const struct record_mark *record = borrow_moment(timeline, moment, sizeof(*record));
	TachoMark mark = { .time_ns = moment->time_ns, .track = track, .name = moment->name };

	if (!record)
		return;
	mark.first = record->first;
	mark.second = record->second;
	mark.text = intern_text(timeline, record);
	if (strcmp(tacho_timeline_string(timeline, moment->name), "thread_name") == 0)
		name_thread(timeline, input, mark.first, mark.time_ns, mark.text);
	else if (track != TACHO_NONE)
		g_array_append_val(timeline->marks, mark);
}

static void add_thread(TachoTimeline *timeline, guint32 track, const struct stream_moment *moment)
{
	const struct record_mark *record = borrow_moment(timeline, moment, sizeof(*record));

	if (!record || track == TACHO_NONE)
		return;
	track_at(timeline, track)->name = intern_text(timeline, record);
	if (record->first > 0 && record->first < G_MAXUINT32)
		track_at(timeline, track)->parent_tid = (guint32)record->first;
}

/* Two probes with events of one kind: the dearer one is charged for all that have no own cost. */
static void find_cost(const struct trace_metadata *metadata, const struct record_cost *record,
		      struct process_findings *findings)
{
	GHashTable *costs = record->event_kind == TRACE_KIND_KERNEL ? findings->kernel_costs
			    : record->event_kind == TRACE_KIND_OP   ? findings->op_costs
								    : NULL;
	guint64 *kind_ps;

	if (record->event_kind >= TRACE_N_KINDS)
		return;
	kind_ps = &findings->picoseconds[record->event_kind];
	if (!record->event_class)
		*kind_ps = MAX(*kind_ps, record->picoseconds);
	else if (costs && record->event_class < metadata->n_classes &&
		 (guint32)metadata->classes[record->event_class].kind == record->event_kind)
		g_hash_table_insert(costs,
				    GUINT_TO_POINTER(metadata->classes[record->event_class].name),
				    GSIZE_TO_POINTER(record->picoseconds));
}

/* What the launcher's environment did not tell: jax.distributed has it from the program. */
static void find_rank(const struct record_mark *record, struct process_findings *findings)
{
	if (record->first >= 0 && record->first < record->second && record->second <= G_MAXINT32) {
		findings->rank = record->first;
		findings->world_size = record->second;
	}
}

static void find_in_moment(const TachoTimeline *timeline, const struct trace_metadata *metadata,
			   const struct stream_moment *moment, struct process_findings *findings)
{
	if (moment->kind == TRACE_KIND_EXIT) {
		const struct record_mark *record = borrow_moment(timeline, moment, sizeof(*record));

		findings->has_exit = record != NULL;
		findings->exit_status = record ? record->first : 0;
	} else if (moment->kind == TRACE_KIND_COST) {
		const struct record_cost *record = borrow_moment(timeline, moment, sizeof(*record));

		if (record)
			find_cost(metadata, record, findings);
	} else if (moment->kind == TRACE_KIND_MARK &&
		   strcmp(tacho_timeline_string(timeline, moment->name), TRACE_STOPPED_MARK) == 0) {
		findings->was_stopped = TRUE;
	} else if (moment->kind == TRACE_KIND_MARK &&
		   strcmp(tacho_timeline_string(timeline, moment->name), TRACE_RANK_MARK) == 0) {
		const struct record_mark *record = borrow_moment(timeline, moment, sizeof(*record));

		if (record)
			find_rank(record, findings);
	}
}

static void find_in_moments(const TachoTimeline *timeline, const struct process_input *input,
			    struct process_findings *findings)
{
	for (guint i = 0; i < input->streams->len; i++) {
		const struct row_buffer *moments = &process_input_stream(input, i)->rows.moments;

		for (gsize m = 0; m < moments->n; m++)
			find_in_moment(timeline, &input->metadata,
				       (struct stream_moment *)moments->rows + m, findings);
	}
}

/* The threads' own names first, then the marks that rename them. */
static void add_moments(TachoTimeline *timeline, const struct process_input *input,
			enum trace_kind kind)
{
	FOR_EACH(const struct stream_input, stream, input->streams) {
		const struct stream_moment *moments = stream->rows.moments.rows;

		for (gsize m = 0; m < stream->rows.moments.n; m++) {
			if (moments[m].kind != kind)
				continue;
			if (kind == TRACE_KIND_THREAD)
				add_thread(timeline, stream->track, &moments[m]);
			else
				add_mark(timeline, input, stream->track, &moments[m]);
		}
	}
}

void process_facts_add_marks(TachoTimeline *timeline, const struct process_input *input,
			     const gchar *name, guint32 track)
{
	guint32 wanted = tacho_timeline_intern(timeline, name, -1);

	FOR_EACH(const struct stream_input, stream, input->streams) {
		const struct stream_moment *moments = stream->rows.moments.rows;

		for (gsize m = 0; m < stream->rows.moments.n; m++)
			if (moments[m].kind == TRACE_KIND_MARK && moments[m].name == wanted)
				add_mark(timeline, input, track, &moments[m]);
	}
}

void process_facts_add(TachoTimeline *timeline, struct process_input *input,
		       const gchar *launcher_status, gboolean is_replaced)
{
	g_autoptr(GHashTable) kernel_costs = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) op_costs = g_hash_table_new(NULL, NULL);
	struct process_findings findings = {
		.rank = -1, .world_size = -1, .kernel_costs = kernel_costs, .op_costs = op_costs
	};
	gint64 end_ns;

	find_in_moments(timeline, input, &findings);
	add_process(timeline, input, &findings, launcher_status, is_replaced);
	end_ns = tacho_timeline_process(timeline, timeline->processes->len - 1)->end_ns;
	for (guint i = 0; i < input->streams->len; i++) {
		add_tracks(timeline, process_input_stream(input, i));
		stream_rows_end_open(&process_input_stream(input, i)->rows, end_ns);
	}
	add_moments(timeline, input, TRACE_KIND_THREAD);
	add_moments(timeline, input, TRACE_KIND_MARK);
}

/* --- problems: records ---------------------------------------------------------------------- */

void process_facts_add_faults(TachoTimeline *timeline, const struct process_input *input,
			      const GPtrArray *file_paths)
{
	for (guint s = 0; s < input->streams->len; s++) {
		const struct row_buffer *buffer = &process_input_stream(input, s)->rows.faults;
		const struct stream_fault *faults = buffer->rows;

		for (gsize i = 0; i < buffer->n; i++)
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, 1,
						   "%s, byte %" G_GUINT64_FORMAT
						   ": the record %s; the rest of the file is lost",
						   (const gchar *)file_paths->pdata[faults[i].file],
						   faults[i].offset, faults[i].reason);
	}
}

static void add_stream_problems(TachoTimeline *timeline, const struct stream_input *stream,
				const gchar *who)
{
	const struct stream_rows *rows = &stream->rows;
	g_autofree gchar *where = g_strdup_printf("%s, thread %u", who, stream->tid);

	if (stream->n_dropped)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_LOST_RECORDS, stream->n_dropped,
					   "%s", where);
	if (rows->n_unknown)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNKNOWN_RECORD, rows->n_unknown,
			"%s: records of classes that its metadata does not describe", where);
	nest_count_report(timeline, &rows->nest, where);
	if (rows->n_impossible)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME,
					   rows->n_impossible,
					   "%s: slices with impossible durations", where);
	if (rows->n_late_impossible)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, rows->n_late_impossible,
			"%s: work of devices and values of counters at times that cannot be: "
			"0, before the process began, or no number; they are left out",
			where);
	if (rows->n_ahead)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
			"%s: %" G_GUINT64_FORMAT
			" records of what a device did end after they were written, by up to "
			"%.3f ms: the device's clock was not brought to the process's",
			where, rows->n_ahead, (gdouble)rows->most_ahead_ns / 1e6);
}

/* --- problems: the clock -------------------------------------------------------------------- */

void process_facts_add_readings(const TachoTimeline *timeline, const struct process_input *input,
				guint32 process, GArray *readings)
{
	for (guint i = 0; i < input->streams->len; i++) {
		const struct row_buffer *moments = &process_input_stream(input, i)->rows.moments;

		for (gsize m = 0; m < moments->n; m++) {
			const struct stream_moment *moment =
				(struct stream_moment *)moments->rows + m;
			struct clock_reading reading = { .time_ns = moment->time_ns,
							 .process = process };
			const struct record_clock *record;

			if (moment->kind != TRACE_KIND_CLOCK)
				continue;
			record = borrow_moment(timeline, moment, sizeof(*record));
			if (!record || record->mono_ns >= G_MAXINT64 ||
			    record->real_ns >= G_MAXINT64)
				continue;
			reading.mono_ns = (gint64)record->mono_ns;
			reading.unix_ns = (gint64)record->real_ns;
			g_array_append_val(readings, reading);
		}
	}
}

void process_facts_add_threads(const TachoTimeline *timeline, const struct process_input *input,
			       GArray *threads)
{
	FOR_EACH(const struct stream_input, stream, input->streams) {
		const struct stream_moment *moments = stream->rows.moments.rows;

		for (gsize m = 0; m < stream->rows.moments.n; m++) {
			struct thread_handle thread = { .track = stream->track };
			const struct record_mark *record;

			if (moments[m].kind != TRACE_KIND_THREAD || thread.track == TACHO_NONE)
				continue;
			record = borrow_moment(timeline, &moments[m], sizeof(*record));
			if (!record || !record->second)
				continue;
			thread.handle = (guint64)record->second;
			g_array_append_val(threads, thread);
			break;
		}
	}
}

static void check_clock(TachoTimeline *timeline, const struct process_input *input,
			const gchar *who)
{
	g_autoptr(GArray) readings = g_array_new(FALSE, FALSE, sizeof(struct clock_reading));
	const struct clock_reading *first = NULL, *last = NULL;
	gint64 trace_ns, mono_ns, apart_ns;

	process_facts_add_readings(timeline, input, 0, readings);
	FOR_EACH(const struct clock_reading, reading, readings) {
		if (!first || reading->time_ns < first->time_ns)
			first = reading;
		if (!last || reading->time_ns > last->time_ns)
			last = reading;
	}
	if (!first)
		return;
	trace_ns = last->time_ns - first->time_ns;
	mono_ns = last->mono_ns - first->mono_ns;
	apart_ns = ABS(trace_ns - mono_ns);
	if (apart_ns > CLOCK_DOUBT_NS && apart_ns / CLOCK_DOUBT_PPM > trace_ns / 1000000)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
			"%s: in %.3f s its clock and the system's clock drifted %.3f ms apart", who,
			(gdouble)trace_ns / 1e9, (gdouble)apart_ns / 1e6);
}

/* --- problems: a violent end ---------------------------------------------------------------- */

static void name_open_slices(const TachoTimeline *timeline, guint32 track, guint32 first_row,
			     const struct row_buffer *open, GString *text)
{
	const TachoTrack *thread = tacho_timeline_track(timeline, track);
	const gchar *name = tacho_timeline_string(timeline, thread->name);
	const guint32 *rows = open->rows;

	g_string_append_printf(text, "; thread %u%s%s%s was in ", thread->tid, *name ? " (" : "",
			       name, *name ? ")" : "");
	for (gsize i = 0; i < open->n && i < MAX_NAMED_SLICES; i++)
		g_string_append_printf(text, "%s%s", i ? " > " : "",
				       tacho_slice_name(timeline, first_row + rows[i]));
	if (open->n > MAX_NAMED_SLICES)
		g_string_append_printf(text, " > ... (%zu more)", open->n - MAX_NAMED_SLICES);
}

static void name_all_open(const TachoTimeline *timeline, const struct process_input *input,
			  GString *text)
{
	guint n_named = 0;

	FOR_EACH(const struct stream_input, stream, input->streams) {
		if (stream->rows.open.n && n_named++ < MAX_NAMED_THREADS)
			name_open_slices(timeline, stream->track, stream->first_row,
					 &stream->rows.open, text);
		if (stream->rows.open_queued.n && n_named++ < MAX_NAMED_THREADS)
			name_open_slices(timeline, stream->queued_track, stream->first_queued_row,
					 &stream->rows.open_queued, text);
	}
	if (!n_named)
		g_string_append(text, "; no slice was open");
	else if (n_named > MAX_NAMED_THREADS)
		g_string_append_printf(text, "; and %u more threads", n_named - MAX_NAMED_THREADS);
}

static void add_end_problem(TachoTimeline *timeline, const struct process_input *input,
			    const TachoProcess *process, const gchar *who)
{
	g_autoptr(GString) text = g_string_new(who);

	if (process->end != TACHO_END_KILLED && process->end != TACHO_END_UNKNOWN)
		return;
	if (process->end == TACHO_END_KILLED)
		g_string_append_printf(text, ", killed by signal %d", process->exit_status);
	else
		g_string_append(text, ", ended without an exit status");
	g_string_append_printf(text, ", last record at %" G_GINT64_FORMAT ".%03d ms",
			       process->end_ns / NS_PER_MS,
			       (gint)(process->end_ns % NS_PER_MS / 1000));
	name_all_open(timeline, input, text);
	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_KILLED_PROCESS, 1, "%s", text->str);
}

void process_facts_add_problems(TachoTimeline *timeline, const struct process_input *input,
				guint32 process_index)
{
	const TachoProcess *process = tacho_timeline_process(timeline, process_index);
	const TachoRank *rank = tacho_timeline_rank(timeline, process->rank_index);
	g_autofree gchar *who =
		g_strdup_printf("rank %d, process %u on %s", rank->rank, process->pid,
				tacho_timeline_string(timeline, process->host));

	for (guint i = 0; i < input->streams->len; i++)
		add_stream_problems(timeline, process_input_stream(input, i), who);
	check_clock(timeline, input, who);
	add_end_problem(timeline, input, process, who);
}
