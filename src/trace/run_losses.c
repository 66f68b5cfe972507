#include "trace/run_losses.h"

#include <string.h>

#include "trace/trace_layout.h"

enum { PID, HOST, N_RECORDS, CAUSE, N_FIELDS };

#define MAX_LOSSES_BYTES (1 << 20)
#define MAX_TOLD	 100 /* lines of a run that are told one by one */

/* The lines of the run at `path` that are whole; to be freed. */
static gchar **read_lines(const gchar *path)
{
	g_autofree gchar *file = g_build_filename(path, TRACE_LOSSES_FILE, NULL);
	g_autoptr(GMappedFile) bytes = g_mapped_file_new(file, FALSE, NULL);
	const gchar *text = bytes ? g_mapped_file_get_contents(bytes) : NULL;
	g_autofree gchar *copy = NULL;
	gchar *end;

	if (!text)
		return NULL;
	copy = g_strndup(text, MIN(g_mapped_file_get_length(bytes), MAX_LOSSES_BYTES));
	end = strrchr(copy, '\n');
	if (end)
		*end = '\0';
	return end ? g_strsplit(copy, "\n", -1) : NULL;
}

static gchar **split_line(const gchar *line)
{
	gchar **fields = *line == '#' ? NULL : g_strsplit(line, "\t", N_FIELDS);

	if (fields && g_strv_length(fields) == N_FIELDS && g_ascii_isdigit(*fields[PID]))
		return fields;
	g_strfreev(fields);
	return NULL;
}

static void add_line(TachoTimeline *timeline, gchar **fields)
{
	g_autofree gchar *host = g_utf8_make_valid(fields[HOST], -1);
	g_autofree gchar *cause = g_utf8_make_valid(fields[CAUSE], -1);
	guint64 n_records = g_ascii_strtoull(fields[N_RECORDS], NULL, 10);
	guint64 pid = g_ascii_strtoull(fields[PID], NULL, 10);

	if (n_records && g_uint64_checked_add(&timeline->n_dropped, timeline->n_dropped, n_records))
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_LOST_RECORDS, n_records,
					   "process %" G_GUINT64_FORMAT " on %s: %s", pid, host,
					   cause);
	else
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNRECORDED_PROCESS, 1,
					   "process %" G_GUINT64_FORMAT
					   " on %s could not be recorded, or not all of it: %s",
					   pid, host, cause);
}

static void add_run(TachoTimeline *timeline, const struct run_path *run)
{
	g_auto(GStrv) lines = run->is_trace ? NULL : read_lines(run->path);
	guint n_told = 0;

	for (guint i = 0; lines && lines[i]; i++) {
		g_auto(GStrv) fields = split_line(lines[i]);

		if (fields && n_told++ < MAX_TOLD)
			add_line(timeline, fields);
	}
	if (n_told > MAX_TOLD)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNRECORDED_PROCESS,
					   n_told - MAX_TOLD,
					   "%s: and %u more lines of " TRACE_LOSSES_FILE, run->path,
					   n_told - MAX_TOLD);
}

void run_losses_add_problems(TachoTimeline *timeline, const struct run_paths *paths)
{
	for (guint i = 0; i < paths->runs->len; i++)
		add_run(timeline, &g_array_index(paths->runs, struct run_path, i));
}

guint run_losses_count(const gchar *path)
{
	g_auto(GStrv) lines = read_lines(path);
	guint n = 0;

	for (guint i = 0; lines && lines[i]; i++) {
		g_auto(GStrv) fields = split_line(lines[i]);

		n += fields != NULL;
	}
	return n;
}
