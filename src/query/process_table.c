/* process_table: the table `process`. */
#include "query/query_table.h"

static const TachoProcess *process_at(const struct query_data *data, guint32 row)
{
	return &g_array_index(data->timeline->processes, TachoProcess, row);
}

static void program(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const gchar *command =
		tacho_timeline_string(data->timeline, process_at(data, row)->command);
	gsize length = strcspn(command, " ");

	if (length)
		sqlite3_result_text(result, command, (int)MIN(length, G_MAXINT), SQLITE_STATIC);
}

static void parent_upid(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_id(result, data->parent_upid[row]);
}

static void rank(struct query_data *data, guint32 row, sqlite3_context *result)
{
	query_result_rank(result, data, row);
}

static void ended(struct query_data *data, guint32 row, sqlite3_context *result)
{
	static const gchar *const names[] = { "running", "exited", "killed", "unknown", "stopped" };
	TachoEnd end = process_at(data, row)->end;

	query_result_text(result, (guint)end < G_N_ELEMENTS(names) ? names[end] : "unknown");
}

static void exit_status(struct query_data *data, guint32 row, sqlite3_context *result)
{
	const TachoProcess *process = process_at(data, row);

	if (process->end == TACHO_END_EXITED)
		sqlite3_result_int64(result, process->exit_status);
	else if (process->end == TACHO_END_KILLED && process->exit_status)
		sqlite3_result_int64(result, -(gint64)process->exit_status);
}

static gboolean find_upid(struct query_data *data, gint64 value, struct query_rows *rows)
{
	*rows = (struct query_rows){ NULL, (guint32)value,
				     value >= 0 && value < data->timeline->processes->len };
	return TRUE;
}

static const struct query_column columns[] = {
	ROW_ID("id", "the same as upid"),
	ROW_ID("upid", "number of the process in the run", .find = find_upid),
	INTEGER("pid", TachoProcess, pid, "the system's number"),
	CELL("name", QUERY_TEXT, program, "the program, first word of cmdline"),
	CELL("parent_upid", QUERY_INTEGER, parent_upid, "its parent process, if in the run"),
	STRING("cmdline", TachoProcess, command, "command line"),
	INTEGER("start_ts", TachoProcess, start_ns, "its first record, ns"),
	INTEGER("end_ts", TachoProcess, end_ns, "its last record, ns"),
	CELL("rank", QUERY_INTEGER, rank, "rank; 0 if no launcher set one"),
	OPTIONAL("local_rank", TachoProcess, local_rank, "its rank among those of its host"),
	OPTIONAL("world_size", TachoProcess, world_size, "ranks of the job"),
	STRING("host", TachoProcess, host, "host"),
	STRING("job", TachoProcess, job, "the launcher's name of the job"),
	FLAG("is_main", TachoProcess, is_main, "1: the process of its rank that trains"),
	CELL("ended", QUERY_TEXT, ended,
	     "running, exited, killed, stopped (its recording), unknown"),
	CELL("exit_status", QUERY_INTEGER, exit_status, "exit status; if killed, minus the signal"),
	INTEGER("events", TachoProcess, n_events, "records"),
	INTEGER("dropped", TachoProcess, n_dropped, "records that were lost"),
	INTEGER("cost_ns", TachoProcess, cost_ns, "the cost of recording it"),
	CHARACTERS("path", TachoProcess, path, "path of its trace"),
};

const struct query_table query_table_process = {
	.name = "process",
	.meaning = "processes of the job",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, processes),
};
