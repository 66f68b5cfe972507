/* run_info: what a run holds, and how far it can be trusted. */
#include <tacho/info.h>

#include <math.h>

#include <tacho/correlate.h>

#include "analyze/clock_view.h"
#include "analyze/graph_replay.h"
#include "analyze/job_end.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/quantile.h"
#include "base/time_units.h"
#include "correlate/trust.h"
#include "trace/run_share.h"

static const TachoColumn process_columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	IDENTIFIER_COLUMN("pid", "pid"),
	TEXT_COLUMN("host", "host", .is_flexible = TRUE),
	TEXT_COLUMN("ended", "ended"),
	NUMBER_COLUMN("end_ms", "at ms", 1),
	INTEGER_COLUMN("events", "events"),
	INTEGER_COLUMN("dropped_events", "dropped"),
	NUMBER_COLUMN("record_cost_pct", "cost %", 2),
	INTEGER_COLUMN("threads", "threads"),
	TEXT_COLUMN("command", "command", .is_flexible = TRUE),
	JSON_INTEGER("exit"),
	JSON_TEXT("end"),
	{ .key = "ppid",
	  .type = TACHO_COLUMN_INTEGER,
	  .is_identifier = TRUE,
	  .is_json_only = TRUE },
	JSON_INTEGER("local_rank"),
	JSON_BOOLEAN("is_main"),
	JSON_NUMBER("start_ms"),
	JSON_TEXT("path"),
};

static const TachoColumn problem_columns[] = {
	TEXT_COLUMN("kind", "problem"),
	INTEGER_COLUMN("count", "count"),
	TEXT_COLUMN("where", "where", .is_flexible = TRUE),
};

static const TachoColumn missing_columns[] = {
	TEXT_COLUMN("kind", "missing"),
	INTEGER_COLUMN("count", "count"),
	TEXT_COLUMN("where", "where", .is_flexible = TRUE),
	TEXT_COLUMN("unknown", "not known then"),
};

static const TachoColumn kind_columns[] = {
	TEXT_COLUMN("kind", "kind"),
	INTEGER_COLUMN("count", "count"),
};

static const TachoColumn open_columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	IDENTIFIER_COLUMN("pid", "pid"),
	IDENTIFIER_COLUMN("tid", "thread"),
	NAME_COLUMN("name", "open slice"),
	TEXT_COLUMN("kind", "kind"),
	NUMBER_COLUMN("start_ms", "since ms", 3),
	NUMBER_COLUMN("open_ms", "for ms", 3),
	JSON_TEXT("thread"),
	JSON_INTEGER("depth"),
};

static const TachoProcess *process_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->processes, TachoProcess, index);
}

/* --- processes -------------------------------------------------------------------------------- */

static const gchar *end_name(TachoEnd end)
{
	static const gchar *const names[] = { "running", "exited", "killed", "unknown", "stopped" };

	return end < G_N_ELEMENTS(names) ? names[end] : "unknown";
}

static gchar *end_text(const TachoProcess *process)
{
	if (process->end == TACHO_END_EXITED)
		return g_strdup_printf("exit %d", process->exit_status);
	if (process->end == TACHO_END_KILLED && process->exit_status)
		return g_strdup_printf("signal %d", process->exit_status);
	return g_strdup(end_name(process->end));
}

/* As Python has it: the exit status, or the signal with a minus. */
static void add_exit(TachoTable *table, const TachoProcess *process)
{
	if (process->end == TACHO_END_EXITED)
		tacho_table_integer(table, process->exit_status);
	else if (process->end == TACHO_END_KILLED && process->exit_status)
		tacho_table_integer(table, -(gint64)process->exit_status);
	else
		tacho_table_null(table);
}

static guint count_threads(const TachoTimeline *timeline, guint process)
{
	guint n_threads = 0;

	FOR_EACH(const TachoTrack, track, timeline->tracks)
		n_threads += track->process == process && track->kind == TACHO_TRACK_THREAD;
	return n_threads;
}

/* NaN: not known. Who states costs records nothing for free. */
static gdouble cost_pct(gdouble cost_ns, gdouble duration_ns)
{
	return duration_ns > 0 && cost_ns > 0 ? 100.0 * cost_ns / duration_ns : (gdouble)NAN;
}

static void add_process(TachoTable *table, const TachoTimeline *timeline, guint index)
{
	const TachoProcess *process = process_at(timeline, index);
	g_autofree gchar *ended = end_text(process);

	tacho_table_row(table);
	table_rank(table, timeline, process->rank_index);
	tacho_table_integer(table, process->pid);
	tacho_table_text(table, tacho_timeline_string(timeline, process->host));
	tacho_table_text(table, ended);
	tacho_table_number(table, MS(process->end_ns));
	tacho_table_integer(table, (gint64)process->n_events);
	tacho_table_integer(table, (gint64)process->n_dropped);
	tacho_table_number(
		table, cost_pct(process->cost_ns, (gdouble)(process->end_ns - process->start_ns)));
	tacho_table_integer(table, count_threads(timeline, index));
	tacho_table_text(table, tacho_timeline_string(timeline, process->command));
	add_exit(table, process);
	tacho_table_text(table, end_name(process->end));
	tacho_table_integer(table, process->ppid);
	table_integer_if(table, process->local_rank >= 0, process->local_rank);
	tacho_table_boolean(table, process->is_main);
	tacho_table_number(table, MS(process->start_ns));
	tacho_table_text(table, process->path);
}

static TachoTable *list_processes(const TachoTimeline *timeline)
{
	TachoTable *table =
		tacho_table_new("processes", process_columns, G_N_ELEMENTS(process_columns));

	for (guint i = 0; i < timeline->processes->len; i++)
		add_process(table, timeline, i);
	tacho_table_sort(table, "rank", FALSE);
	return table;
}

static gchar *list_hosts(const TachoTimeline *timeline, guint *ret_n)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	GString *hosts = g_string_new(NULL);

	for (guint i = 0; i < timeline->processes->len; i++) {
		guint32 host = process_at(timeline, i)->host;

		if (!g_hash_table_add(seen, GUINT_TO_POINTER(host)))
			continue;
		g_string_append_printf(hosts, "%s%s", hosts->len ? ", " : "",
				       tacho_timeline_string(timeline, host));
	}
	*ret_n = g_hash_table_size(seen);
	return g_string_free(hosts, FALSE);
}

/* --- what it holds ---------------------------------------------------------------------------- */

static TachoTable *list_problems(const TachoTimeline *timeline)
{
	TachoTable *table =
		tacho_table_new("problems", problem_columns, G_N_ELEMENTS(problem_columns));

	FOR_EACH(const TachoProblem, problem, timeline->problems) {
		tacho_table_row(table);
		tacho_table_text(table, tacho_problem_name(problem->kind));
		tacho_table_integer(table, (gint64)problem->count);
		tacho_table_text(table, problem->where);
	}
	return table;
}

static TachoTable *list_missing(const TachoTimeline *timeline)
{
	TachoTable *table =
		tacho_table_new("missing", missing_columns, G_N_ELEMENTS(missing_columns));

	FOR_EACH(const TachoProblem, problem, timeline->problems) {
		const gchar *unknown = trust_unknown(problem->kind);

		if (!*unknown)
			continue;
		tacho_table_row(table);
		tacho_table_text(table, tacho_problem_name(problem->kind));
		tacho_table_integer(table, (gint64)problem->count);
		tacho_table_text(table, problem->where);
		tacho_table_text(table, unknown);
	}
	return table;
}

static void add_kind(TachoTable *table, const gchar *kind, guint64 count)
{
	if (count == 0)
		return;
	tacho_table_row(table);
	tacho_table_text(table, kind);
	tacho_table_integer(table, (gint64)count);
}

/* All have marks of threads, their owners alone those of samples. */
static guint64 count_marks(const TachoTimeline *timeline)
{
	guint64 n = 0;

	FOR_EACH(const TachoMark, mark, timeline->marks)
		n += !timeline->share ||
		     (mark->track < timeline->tracks->len &&
		      run_share_owns(timeline,
				     tacho_timeline_track(timeline, mark->track)->process));
	return n;
}

static TachoTable *list_kinds(const TachoTimeline *timeline)
{
	TachoTable *table = tacho_table_new("kinds", kind_columns, G_N_ELEMENTS(kind_columns));
	guint64 counts[TACHO_N_SLICE_KINDS];
	guint64 rows[] = { 0, 0, timeline->memory->len, count_marks(timeline),
			   timeline->samples->len };

	run_share_count_kinds(timeline, counts);
	rows[0] = count_graph_work(timeline, &rows[1]);
	run_share_sum(timeline, "rows", rows, G_N_ELEMENTS(rows));
	for (guint kind = 0; kind < TACHO_N_SLICE_KINDS; kind++)
		add_kind(table, tacho_slice_kind_name(kind), counts[kind]);
	add_kind(table, "replay", rows[0]);
	add_kind(table, "replay_uncaptured", rows[1]);
	add_kind(table, "memory", rows[2]);
	add_kind(table, "mark", rows[3]);
	add_kind(table, "sample", rows[4]);
	return table;
}

static void add_open(TachoTable *table, const TachoTimeline *timeline, guint32 slice)
{
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	const TachoProcess *process = process_at(timeline, track->process);

	tacho_table_row(table);
	table_rank(table, timeline, process->rank_index);
	tacho_table_integer(table, process->pid);
	tacho_table_integer(table, track->tid);
	tacho_table_text(table, tacho_slice_name(timeline, slice));
	tacho_table_text(table, tacho_slice_kind_name(timeline->slices.kind[slice]));
	tacho_table_number(table, MS(timeline->slices.start_ns[slice]));
	tacho_table_number(table, MS(timeline->slices.duration_ns[slice]));
	tacho_table_text(table, tacho_timeline_string(timeline, track->name));
	tacho_table_integer(table, timeline->slices.depth[slice]);
}

/* A process that exits in an orderly way may leave slices open in threads that it abandons; that
 * says nothing. */
static TachoTable *list_open(const TachoTimeline *timeline)
{
	TachoTable *table =
		tacho_table_new("open_slices", open_columns, G_N_ELEMENTS(open_columns));

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if ((timeline->slices.flags[i] & TACHO_SLICE_OPEN) &&
		    timeline->slices.kind[i] != TACHO_SLICE_STEP &&
		    tacho_slice_process(timeline, i)->end != TACHO_END_EXITED)
			add_open(table, timeline, i);
	return table;
}

/* --- figures ---------------------------------------------------------------------------------- */

static guint count_steps(const TachoTimeline *timeline)
{
	g_autofree guint *counts = g_new0(guint, timeline->ranks->len);
	guint most = 0;

	FOR_EACH(const TachoStep, step, timeline->steps) {
		if (!step->is_complete)
			continue;
		counts[step->rank_index]++;
		most = MAX(most, counts[step->rank_index]);
	}
	return most;
}

static const gchar *step_source_name(TachoStepSource source)
{
	static const gchar *const names[] = { "none", "annotated", "optimizer", "period" };

	return source < G_N_ELEMENTS(names) ? names[source] : "none";
}

static gdouble run_cost_pct(const TachoTimeline *timeline)
{
	guint64 cost_ns = 0;
	gdouble duration_ns = 0;

	for (guint i = 0; i < timeline->processes->len; i++) {
		cost_ns += process_at(timeline, i)->cost_ns;
		duration_ns += (gdouble)(process_at(timeline, i)->end_ns -
					 process_at(timeline, i)->start_ns);
	}
	return cost_pct(cost_ns, duration_ns);
}

/* How many slices of a rank's main process begin in the chosen steps, and how many it has. */
static void count_slices(const struct selection *selection, guint rank_index, guint64 *ret_inside,
			 guint64 *ret_all)
{
	const TachoTimeline *timeline = selection->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint cursor = 0;

		if (!selection_takes_track(selection, track) ||
		    !run_share_owns(timeline, track->process) ||
		    process_at(timeline, track->process)->rank_index != rank_index)
			continue;
		*ret_all += track->n_slices;
		for (guint32 j = 0; j < track->n_slices; j++)
			*ret_inside += selection_takes_time(
				selection, rank_index,
				timeline->slices.start_ns[track->first_slice + j], &cursor);
	}
}

/* A process's cost, shared out to the steps by how many of its slices they hold. */
static gdouble step_cost_pct(const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	guint n_ranks = timeline->ranks->len;
	g_autofree guint64 *counts = g_new0(guint64, 2 * (gsize)n_ranks + 1); /* inside, all */
	gdouble cost_ns = 0;

	for (guint rank = 0; rank < n_ranks; rank++)
		count_slices(selection, rank, &counts[2 * rank], &counts[2 * rank + 1]);
	run_share_sum(timeline, "slices in steps", counts, 2 * n_ranks);
	for (guint rank = 0; rank < n_ranks; rank++) {
		guint main = tacho_timeline_rank(timeline, rank)->main_process;

		if (counts[2 * rank + 1])
			cost_ns += (gdouble)process_at(timeline, main)->cost_ns *
				   (gdouble)counts[2 * rank] / (gdouble)counts[2 * rank + 1];
	}
	return cost_pct(cost_ns, selection->total_ns);
}

static void add_excess(TachoInfo *info, const TachoTimeline *timeline)
{
	TachoRecordingExcess excess = { .share = NAN, .error = NAN };

	tacho_recording_excess(timeline, &excess);
	info->record_excess_pct = 100 * excess.share;
	info->record_excess_error_pct = 100 * excess.error;
	info->n_control_steps = excess.n_control;
}

static gdouble step_median_ms(const struct selection *selection)
{
	g_autoptr(GArray) durations = g_array_new(FALSE, FALSE, sizeof(gint64));

	FOR_EACH(const TachoStep, step, selection->chosen) {
		gint64 duration_ns = step->end_ns - step->start_ns;

		g_array_append_val(durations, duration_ns);
	}
	return durations->len ? MS(quantile(durations, 0.5)) : (gdouble)NAN;
}

static void add_job_end(TachoInfo *info, const TachoTimeline *timeline)
{
	struct job_end end;

	job_end_init(&end, timeline);
	info->has_exit = end.is_known;
	info->exit = end.exit;
	info->job_end = job_end_text(&end);
	info->failures = g_steal_pointer(&end.failures);
	job_end_release(&end);
}

TachoInfo *tacho_info_new(const TachoTimeline *timeline)
{
	TachoInfo *info = g_new0(TachoInfo, 1);
	struct selection selection;

	selection_init(&selection, timeline, NULL);
	info->command = info->job = "";
	if (timeline->ranks->len) {
		guint first = tacho_timeline_rank(timeline, 0)->main_process;

		info->command =
			tacho_timeline_string(timeline, process_at(timeline, first)->command);
		info->job = tacho_timeline_string(timeline, process_at(timeline, first)->job);
	} else if (timeline->children->len) {
		info->command = tacho_timeline_string(
			timeline, g_array_index(timeline->children, TachoChild, 0).command);
	}
	info->start_unix_ns = timeline->origin_unix_ns;
	info->duration_ns = timeline->duration_ns;
	info->hosts = list_hosts(timeline, &info->n_hosts);
	info->n_ranks = timeline->ranks->len;
	info->expected_ranks = timeline->expected_ranks;
	info->n_steps = count_steps(timeline);
	info->steps_found = step_source_name(tacho_step_source(timeline));
	info->step_median_ms = step_median_ms(&selection);
	info->n_events = timeline->n_events;
	info->n_dropped = timeline->n_dropped;
	info->record_cost_pct = run_cost_pct(timeline);
	info->record_cost_step_pct =
		selection_n_steps(&selection) ? step_cost_pct(&selection) : (gdouble)NAN;
	add_excess(info, timeline);
	add_job_end(info, timeline);
	info->trust_score = tacho_trust_score(timeline);
	info->present_score = tacho_trust_present_score(timeline);
	info->missing = list_missing(timeline);
	info->clocks = clock_view_new(timeline);
	info->processes = list_processes(timeline);
	info->problems = list_problems(timeline);
	info->kinds = list_kinds(timeline);
	info->open_slices = list_open(timeline);
	selection_release(&selection);
	return info;
}

void tacho_info_free(TachoInfo *info)
{
	if (!info)
		return;
	g_free(info->hosts);
	g_free(info->job_end);
	tacho_table_free(info->failures);
	tacho_table_free(info->clocks);
	tacho_table_free(info->processes);
	tacho_table_free(info->problems);
	tacho_table_free(info->missing);
	tacho_table_free(info->kinds);
	tacho_table_free(info->open_slices);
	g_free(info);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void begin_member(JsonWriter *writer, const gchar *key)
{
	json_writer_line(writer);
	json_writer_key(writer, key);
}

static void write_kinds(JsonWriter *writer, const TachoTable *kinds)
{
	json_writer_begin_object(writer);
	for (guint i = 0; i < tacho_table_n_rows(kinds); i++)
		json_writer_integer(
			json_writer_key(writer, tacho_table_cell_text(kinds, i, "kind")),
			(gint64)tacho_table_cell_number(kinds, i, "count"));
	json_writer_end_object(writer);
}

static void write_trust(JsonWriter *writer, const TachoInfo *info)
{
	json_writer_begin_object(writer);
	json_writer_integer(json_writer_key(writer, "score"), info->trust_score);
	json_writer_integer(json_writer_key(writer, "present_score"), info->present_score);
	json_writer_key(writer, "problems");
	table_write_json(info->problems, writer);
	json_writer_key(writer, "missing");
	table_write_json(info->missing, writer);
	json_writer_end_object(writer);
}

static void write_figures(JsonWriter *writer, const TachoInfo *info)
{
	begin_member(writer, "command");
	json_writer_string(writer, info->command);
	begin_member(writer, "job");
	json_writer_string(writer, *info->job ? info->job : NULL);
	begin_member(writer, "start_unix_ns");
	json_writer_integer(writer, info->start_unix_ns);
	begin_member(writer, "duration_ms");
	json_writer_fixed(writer, info->duration_ns, 6);
	begin_member(writer, "hosts");
	json_writer_integer(writer, info->n_hosts);
	begin_member(writer, "ranks");
	json_writer_integer(writer, info->n_ranks);
	begin_member(writer, "expected_ranks");
	if (info->expected_ranks >= 0)
		json_writer_integer(writer, info->expected_ranks);
	else
		json_writer_null(writer);
	begin_member(writer, "steps");
	json_writer_integer(writer, info->n_steps);
	begin_member(writer, "steps_found");
	json_writer_string(writer, info->steps_found);
	begin_member(writer, "step_median_ms");
	json_writer_number(writer, info->step_median_ms);
	begin_member(writer, "events");
	json_writer_unsigned(writer, info->n_events);
	begin_member(writer, "dropped_events");
	json_writer_unsigned(writer, info->n_dropped);
	begin_member(writer, "record_cost_pct");
	json_writer_number(writer, info->record_cost_pct);
	begin_member(writer, "record_cost_step_pct");
	json_writer_number(writer, info->record_cost_step_pct);
	begin_member(writer, "record_excess_pct");
	json_writer_number(writer, info->record_excess_pct);
	begin_member(writer, "record_excess_error_pct");
	json_writer_number(writer, info->record_excess_error_pct);
	begin_member(writer, "control_steps");
	json_writer_integer(writer, info->n_control_steps);
}

static void write_info(JsonWriter *writer, const TachoInfo *info)
{
	json_writer_begin_object(writer);
	write_figures(writer, info);
	begin_member(writer, "exit");
	if (info->has_exit)
		json_writer_integer(writer, info->exit);
	else
		json_writer_null(writer);
	begin_member(writer, "failures");
	table_write_json(info->failures, writer);
	begin_member(writer, "trust");
	write_trust(writer, info);
	begin_member(writer, "kinds");
	write_kinds(writer, info->kinds);
	begin_member(writer, "clocks");
	table_write_json(info->clocks, writer);
	begin_member(writer, "processes");
	table_write_json(info->processes, writer);
	begin_member(writer, "open_slices");
	table_write_json(info->open_slices, writer);
	json_writer_line(writer);
	json_writer_end_object(writer);
}

void tacho_info_print_json(const TachoInfo *info, FILE *out)
{
	g_autoptr(JsonWriter) writer = json_writer_new(out);

	write_info(writer, info);
	json_writer_finish(writer); /* `out` remembers a failure, for its owner to find */
}

void tacho_report_print_json(const TachoInfo *info, const TachoTable *const *tables, guint n_tables,
			     FILE *out)
{
	g_autoptr(JsonWriter) writer = json_writer_new(out);

	json_writer_begin_object(writer);
	begin_member(writer, "info");
	write_info(writer, info);
	table_write_json_members(tables, n_tables, writer);
	json_writer_line(writer);
	json_writer_end_object(writer);
	json_writer_finish(writer);
}

gchar *tacho_printable(const gchar *text)
{
	return table_text_clean(text);
}
