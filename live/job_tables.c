/* job_tables: jobs that are being recorded, as tables: what tacho top shows and tacho serve answers. docs/json.md has the keys. */
#include <math.h>

#include "base/for_each.h"
#include "live/live_internal.h"
#include "live/recent_steps.h"

#define NEWEST 10 /* steps that a rank's row is made of */

static const TachoColumn job_columns[] = {
	{ .key = "run", .title = "job", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "ranks", .title = "ranks", .type = TACHO_COLUMN_INTEGER },
	{ .key = "steps", .title = "steps", .type = TACHO_COLUMN_INTEGER },
	{ .key = "step_ms", .title = "step ms", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "trend_pct", .title = "trend %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "compute_pct", .title = "comp %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "exposed_communication_pct", .title = "comm %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "wait_pct", .title = "wait %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "idle_pct", .title = "idle %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "data_wait_pct", .title = "load %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "memory_mb", .title = "MB", .type = TACHO_COLUMN_NUMBER },
	{ .key = "slowest_rank", .title = "slowest", .type = TACHO_COLUMN_INTEGER },
	{ .key = "why", .title = "why", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "state", .title = "state", .type = TACHO_COLUMN_TEXT },
	{ .key = "pid", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
	{ .key = "command", .type = TACHO_COLUMN_TEXT, .is_json_only = TRUE },
	{ .key = "last_record_unix_ns", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
};

static const TachoColumn rank_columns[] = {
	{ .key = "rank", .title = "rank", .type = TACHO_COLUMN_INTEGER },
	{ .key = "pid", .title = "pid", .type = TACHO_COLUMN_INTEGER, .is_identifier = TRUE },
	{ .key = "steps", .title = "steps", .type = TACHO_COLUMN_INTEGER },
	{ .key = "step_ms", .title = "step ms", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "compute_ms", .title = "compute", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "exposed_communication_ms",
	  .title = "exposed",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 1 },
	{ .key = "wait_ms", .title = "wait", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "idle_ms", .title = "idle", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "data_wait_ms", .title = "loading", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "allocated_mb", .title = "alloc MB", .type = TACHO_COLUMN_NUMBER },
	{ .key = "memory_mb", .title = "MB", .type = TACHO_COLUMN_NUMBER },
	{ .key = "delayed_pct", .title = "no core %", .type = TACHO_COLUMN_NUMBER },
	{ .key = "state", .title = "state", .type = TACHO_COLUMN_TEXT },
	{ .key = "doing", .title = "is in", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "host", .type = TACHO_COLUMN_TEXT, .is_json_only = TRUE },
};

static const TachoColumn finding_columns[] = {
	{ .key = "kind", .title = "finding", .type = TACHO_COLUMN_TEXT },
	{ .key = "rank", .title = "rank", .type = TACHO_COLUMN_INTEGER },
	{ .key = "step", .title = "step", .type = TACHO_COLUMN_INTEGER },
	{ .key = "is_over", .title = "over", .type = TACHO_COLUMN_BOOLEAN },
	{ .key = "what", .title = "what", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "evidence", .title = "evidence", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "command", .title = "next", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "found_unix_ns", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
	{ .key = "since_unix_ns", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
};

TachoTable *live_jobs_table(void)
{
	return tacho_table_new("jobs", job_columns, G_N_ELEMENTS(job_columns));
}

TachoTable *live_ranks_table(void)
{
	return tacho_table_new("ranks", rank_columns, G_N_ELEMENTS(rank_columns));
}

TachoTable *live_findings_table(void)
{
	return tacho_table_new("findings", finding_columns, G_N_ELEMENTS(finding_columns));
}

/* The finding that is not over and goes before all others. */
static const TachoFinding *worst_finding(const TachoJob *job)
{
	const TachoFinding *worst = NULL;

	FOR_EACH_POINTER(const TachoFinding, finding, tacho_detector_borrow_findings(job->detector))
		if (!finding->is_over && (!worst || finding->kind < worst->kind))
			worst = finding;
	return worst;
}

static const gchar *tell_state(const TachoJob *job)
{
	const TachoFinding *worst = worst_finding(job);

	if (job->error)
		return "unreadable";
	if (worst && !job->is_over)
		return tacho_finding_name(worst->kind);
	return job->is_over ? "over" : "running";
}

static void bytes_cell(TachoTable *table, gint64 bytes)
{
	tacho_table_number(table, bytes < 0 ? NAN : (gdouble)bytes / 1e6);
}

static void add_job(TachoTable *table, const TachoJob *job)
{
	gint64 last_ns = tacho_follow_last_unix_ns(job->follow);
	TachoJobSummary summary;

	tacho_job_summarize(job->follow, &summary);
	tacho_table_row(table);
	tacho_table_text(table, job->path);
	tacho_table_integer(table, tacho_follow_borrow_ranks(job->follow)->len);
	tacho_table_integer(table, summary.n_steps);
	tacho_table_number(table, summary.step_ms);
	tacho_table_number(table, (summary.step_ms / summary.before_ms - 1) * 100);
	if (summary.n_steps) {
		tacho_table_number(table, summary.compute_pct);
		tacho_table_number(table, summary.exposed_pct);
		tacho_table_number(table, summary.wait_pct);
		tacho_table_number(table, summary.idle_pct);
		tacho_table_number(table, summary.data_wait_pct);
	} else {
		for (guint i = 0; i < 5; i++)
			tacho_table_null(table);
	}
	bytes_cell(table, summary.memory_bytes);
	if (summary.slowest_rank < 0)
		tacho_table_null(table);
	else
		tacho_table_integer(table, summary.slowest_rank);
	tacho_table_text(table, summary.why);
	tacho_table_text(table, tell_state(job));
	tacho_table_integer(table, job->pid);
	tacho_table_text(table, job->command);
	if (last_ns)
		tacho_table_integer(table, last_ns);
}

TachoTable *tacho_jobs_table(const TachoJobs *jobs)
{
	TachoTable *table = live_jobs_table();

	FOR_EACH_POINTER(const TachoJob, job, tacho_jobs_borrow(jobs))
		add_job(table, job);
	if (!tacho_table_n_rows(table))
		tacho_table_note(table, "You are recording no job now.");
	return table;
}

static const struct recent_rank *find_recent(const GArray *means, gint32 number)
{
	static const struct recent_rank none;

	FOR_EACH(const struct recent_rank, rank, means)
		if (rank->rank == number)
			return rank;
	return &none;
}

static const gchar *tell_rank_state(const TachoLiveRank *rank)
{
	static const gchar *const ends[] = {
		[TACHO_END_UNKNOWN] = "gone",
		[TACHO_END_EXITED] = "exited",
		[TACHO_END_KILLED] = "killed",
		[TACHO_END_STOPPED] = "unrecorded",
	};

	if (rank->end == TACHO_END_RUNNING)
		return rank->state == 'T' || rank->state == 't' ? "stopped" : "running";
	return rank->end < G_N_ELEMENTS(ends) && ends[rank->end] ? ends[rank->end] : "";
}

static void add_rank(TachoTable *table, const TachoLiveRank *rank, const struct recent_rank *recent)
{
	const gdouble parts_ns[] = {
		recent->duration_ns, recent->compute_ns, recent->exposed_ns,
		recent->wait_ns,     recent->idle_ns,	 recent->data_wait_ns
	};

	tacho_table_row(table);
	tacho_table_integer(table, rank->rank);
	tacho_table_integer(table, rank->pid);
	tacho_table_integer(table, rank->n_steps);
	for (guint i = 0; i < G_N_ELEMENTS(parts_ns); i++)
		tacho_table_number(table, recent->n ? parts_ns[i] / 1e6 : NAN);
	bytes_cell(table, recent->n ? recent->memory_bytes : -1);
	bytes_cell(table, rank->anonymous_bytes);
	tacho_table_number(table, rank->delayed_share * 100);
	tacho_table_text(table, tell_rank_state(rank));
	tacho_table_text(table, rank->doing);
	tacho_table_text(table, rank->host);
}

TachoTable *tacho_job_ranks_table(const TachoJob *job)
{
	TachoTable *table = live_ranks_table();
	g_autoptr(GArray) means = recent_steps_means(job->follow, NEWEST, 0);

	FOR_EACH(const TachoLiveRank, rank, tacho_follow_borrow_ranks(job->follow))
		add_rank(table, rank, find_recent(means, rank->rank));
	return table;
}

TachoTable *tacho_job_findings_table(const TachoJob *job)
{
	TachoTable *table = live_findings_table();

	FOR_EACH_POINTER(const TachoFinding, finding,
			 tacho_detector_borrow_findings(job->detector)) {
		tacho_table_row(table);
		tacho_table_text(table, tacho_finding_name(finding->kind));
		if (finding->rank < 0)
			tacho_table_null(table);
		else
			tacho_table_integer(table, finding->rank);
		tacho_table_integer(table, finding->step);
		tacho_table_boolean(table, finding->is_over);
		tacho_table_text(table, finding->what);
		tacho_table_text(table, finding->evidence);
		tacho_table_text(table, finding->command);
		tacho_table_integer(table, finding->unix_ns);
		tacho_table_integer(table, finding->since_unix_ns);
	}
	if (!tacho_table_n_rows(table))
		tacho_table_note(table, "Nothing was found wrong.");
	return table;
}
