/* process_table: the table `process`. */
#include "query/query_table.h"

enum process_column {
	PROCESS_ID,
	PROCESS_UPID,
	PROCESS_PID,
	PROCESS_NAME,
	PROCESS_PARENT_UPID,
	PROCESS_CMDLINE,
	PROCESS_START_TS,
	PROCESS_END_TS,
	PROCESS_RANK,
	PROCESS_LOCAL_RANK,
	PROCESS_WORLD_SIZE,
	PROCESS_HOST,
	PROCESS_JOB,
	PROCESS_IS_MAIN,
	PROCESS_ENDED,
	PROCESS_EXIT_STATUS,
	PROCESS_EVENTS,
	PROCESS_DROPPED,
	PROCESS_COST_NS,
	PROCESS_PATH,
};

static const struct query_column columns[] = {
	[PROCESS_ID] = { "id", QUERY_INTEGER, "the same as upid" },
	[PROCESS_UPID] = { "upid", QUERY_INTEGER, "number of the process in the run" },
	[PROCESS_PID] = { "pid", QUERY_INTEGER, "the system's number" },
	[PROCESS_NAME] = { "name", QUERY_TEXT, "the program, first word of cmdline" },
	[PROCESS_PARENT_UPID] = { "parent_upid", QUERY_INTEGER,
				  "its parent process, if in the run" },
	[PROCESS_CMDLINE] = { "cmdline", QUERY_TEXT, "command line" },
	[PROCESS_START_TS] = { "start_ts", QUERY_INTEGER, "its first record, ns" },
	[PROCESS_END_TS] = { "end_ts", QUERY_INTEGER, "its last record, ns" },
	[PROCESS_RANK] = { "rank", QUERY_INTEGER, "rank; 0 if no launcher set one" },
	[PROCESS_LOCAL_RANK] = { "local_rank", QUERY_INTEGER, "its rank among those of its host" },
	[PROCESS_WORLD_SIZE] = { "world_size", QUERY_INTEGER, "ranks of the job" },
	[PROCESS_HOST] = { "host", QUERY_TEXT, "host" },
	[PROCESS_JOB] = { "job", QUERY_TEXT, "the launcher's name of the job" },
	[PROCESS_IS_MAIN] = { "is_main", QUERY_INTEGER, "1: the process of its rank that trains" },
	[PROCESS_ENDED] = { "ended", QUERY_TEXT, "running, exited, killed, unknown" },
	[PROCESS_EXIT_STATUS] = { "exit_status", QUERY_INTEGER,
				  "exit status; if killed, minus the signal" },
	[PROCESS_EVENTS] = { "events", QUERY_INTEGER, "records" },
	[PROCESS_DROPPED] = { "dropped", QUERY_INTEGER, "records that were lost" },
	[PROCESS_COST_NS] = { "cost_ns", QUERY_INTEGER, "the cost of recording it" },
	[PROCESS_PATH] = { "path", QUERY_TEXT, "path of its trace" },
};

static guint32 n_rows(const struct query_data *data)
{
	return data->timeline->processes->len;
}

static void result_program(sqlite3_context *result, const gchar *command)
{
	gsize length = strcspn(command, " ");

	if (length)
		sqlite3_result_text(result, command, (int)MIN(length, G_MAXINT), SQLITE_STATIC);
}

static const gchar *end_name(TachoEnd end)
{
	static const gchar *const names[] = { "running", "exited", "killed", "unknown" };

	return (guint)end < G_N_ELEMENTS(names) ? names[end] : "unknown";
}

static void result_exit(sqlite3_context *result, const TachoProcess *process)
{
	if (process->end == TACHO_END_EXITED)
		sqlite3_result_int64(result, process->exit_status);
	else if (process->end == TACHO_END_KILLED && process->exit_status)
		sqlite3_result_int64(result, -(gint64)process->exit_status);
}

static void cell(struct query_data *data, guint32 row, guint column, sqlite3_context *result)
{
	const TachoTimeline *timeline = data->timeline;
	const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, row);

	switch ((enum process_column)column) {
	case PROCESS_ID:
	case PROCESS_UPID:
		sqlite3_result_int64(result, row);
		break;
	case PROCESS_PID:
		sqlite3_result_int64(result, process->pid);
		break;
	case PROCESS_NAME:
		result_program(result, tacho_timeline_string(timeline, process->command));
		break;
	case PROCESS_PARENT_UPID:
		query_result_id(result, data->parent_upid[row]);
		break;
	case PROCESS_CMDLINE:
		query_result_string(result, data, process->command);
		break;
	case PROCESS_START_TS:
		sqlite3_result_int64(result, process->start_ns);
		break;
	case PROCESS_END_TS:
		sqlite3_result_int64(result, process->end_ns);
		break;
	case PROCESS_RANK:
		query_result_optional(result, query_data_rank(data, row));
		break;
	case PROCESS_LOCAL_RANK:
		query_result_optional(result, process->local_rank);
		break;
	case PROCESS_WORLD_SIZE:
		query_result_optional(result, process->world_size);
		break;
	case PROCESS_HOST:
		query_result_string(result, data, process->host);
		break;
	case PROCESS_JOB:
		query_result_string(result, data, process->job);
		break;
	case PROCESS_IS_MAIN:
		sqlite3_result_int(result, process->is_main != FALSE);
		break;
	case PROCESS_ENDED:
		query_result_text(result, end_name(process->end));
		break;
	case PROCESS_EXIT_STATUS:
		result_exit(result, process);
		break;
	case PROCESS_EVENTS:
		sqlite3_result_int64(result, (sqlite3_int64)process->n_events);
		break;
	case PROCESS_DROPPED:
		sqlite3_result_int64(result, (sqlite3_int64)process->n_dropped);
		break;
	case PROCESS_COST_NS:
		sqlite3_result_int64(result, (sqlite3_int64)process->cost_ns);
		break;
	case PROCESS_PATH:
		query_result_text(result, process->path);
		break;
	}
}

static gboolean find(struct query_data *data, guint column, gint64 value, struct query_rows *rows)
{
	if (column != PROCESS_UPID)
		return FALSE;
	if (rows)
		*rows = (struct query_rows){ NULL, (guint32)value,
					     value >= 0 && value < data->timeline->processes->len };
	return TRUE;
}

const struct query_table query_table_process = {
	.name = "process",
	.meaning = "processes of the job",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.n_rows = n_rows,
	.cell = cell,
	.find = find,
};
