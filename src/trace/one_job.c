#include "trace/one_job.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/process_reader.h"
#include "trace/run_paths.h"

#define NS_PER_S 1e9

struct job_check {
	TachoTimeline *timeline;
	const struct run_paths *paths;
	const GArray *processes;
	gboolean is_guess;
	guint *run_of;	      /* by run: the run that counts, the first of (5) */
	struct job_run *runs; /* by run; of those that do not count nothing is known */
};

/* What is known of a run. */
struct job_run {
	gint64 world_size; /* -1: not known */
	guint32 job;	   /* string id, 0: not known */
	gboolean has_process, has_rank;
	/* When, where there is a record of it: */
	gboolean has_time, has_clocks; /* ... of different machines */
	guint clock;
	gint64 first_ns, last_ns;
};

static const struct process_input *process_at(const struct job_check *check, guint process)
{
	return &g_array_index(check->processes, struct process_input, process);
}

static const gchar *path_of(const struct job_check *check, guint run)
{
	return g_array_index(check->paths->runs, struct run_path, run).path;
}

G_GNUC_PRINTF(5, 6)
static gboolean fail(const struct job_check *check, guint a, guint b, GError **error,
		     const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_NOT_A_RUN,
		    "%s and %s are not runs of one job: %s (there are %u runs; name only those of "
		    "one job)",
		    path_of(check, a), path_of(check, b), reason, check->paths->runs->len);
	return FALSE;
}

/* (2) */
G_GNUC_PRINTF(5, 6)
static gboolean doubt(const struct job_check *check, guint a, guint b, GError **error,
		      const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	if (check->is_guess)
		g_set_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_NOT_A_RUN,
			    "%s and %s do not seem to be runs of one job: %s (there are %u runs; "
			    "if they are of one job, name each of them)",
			    path_of(check, a), path_of(check, b), reason, check->paths->runs->len);
	else
		tacho_timeline_add_problem(check->timeline, TACHO_PROBLEM_OTHER_JOB, 1,
					   "%s and %s: %s", path_of(check, a), path_of(check, b),
					   reason);
	return !check->is_guess;
}

static struct job_run *run_of(const struct job_check *check, const struct process_input *process)
{
	return &check->runs[check->run_of[process->run]];
}

/* (5) */
static void find_runs_of_traces(struct job_check *check)
{
	g_autoptr(GHashTable) first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	FOR_EACH_AT(const struct run_path, run, i, check->paths->runs) {
		g_autofree gchar *path = g_canonicalize_filename(run->path, NULL);
		gchar *parent = g_path_get_dirname(path);
		gpointer known;

		check->run_of[i] = i;
		if (run->is_trace && g_hash_table_lookup_extended(first, parent, NULL, &known))
			check->run_of[i] = GPOINTER_TO_UINT(known);
		if (run->is_trace && check->run_of[i] == i)
			g_hash_table_insert(first, parent, GUINT_TO_POINTER(i));
		else
			g_free(parent);
	}
}

static void check_release(struct job_check *check)
{
	g_free(check->run_of);
	g_free(check->runs);
}

static void check_init(struct job_check *check)
{
	guint n_runs = check->paths->runs->len;

	check->runs = g_new0(struct job_run, n_runs);
	check->run_of = g_new(guint, n_runs);
	for (guint i = 0; i < n_runs; i++)
		check->runs[i].world_size = -1;
	find_runs_of_traces(check);
	/* A launcher may have a rank of its own, in a smaller world. */
	FOR_EACH(const struct process_input, process, check->processes) {
		struct job_run *run = run_of(check, process);

		run->has_process = TRUE;
		run->has_rank |= process->metadata.rank >= 0;
		run->world_size = MAX(run->world_size, process->metadata.world_size);
		if (!run->job)
			run->job = process->metadata.job;
	}
}

/* --- names ------------------------------------------------------------------------------------ */

/* The run in which `key` was seen first, if that is another one, else -1. */
static gint other_run(GHashTable *seen, gchar *key, guint run)
{
	gpointer first;

	if (!g_hash_table_lookup_extended(seen, key, NULL, &first)) {
		g_hash_table_insert(seen, key, GUINT_TO_POINTER(run));
		return -1;
	}
	g_free(key);
	return GPOINTER_TO_UINT(first) == run ? -1 : (gint)GPOINTER_TO_UINT(first);
}

static gchar *uuid_key(const guint8 *uuid)
{
	GString *key = g_string_new("trace ");

	for (guint i = 0; i < 16; i++)
		g_string_append_printf(key, "%02x", uuid[i]);
	return g_string_free(key, FALSE);
}

static gboolean check_process(const struct job_check *check, GHashTable *seen,
			      const struct process_input *process, GError **error)
{
	const struct trace_metadata *metadata = &process->metadata;
	guint run = check->run_of[process->run];
	gint other = other_run(seen, uuid_key(metadata->uuid), run);

	if (other >= 0)
		return fail(check, (guint)other, run, error,
			    "both have a trace of process %" G_GUINT64_FORMAT, metadata->pid);
	if (metadata->rank < 0 || metadata->world_size != check->runs[run].world_size)
		return TRUE;
	other = other_run(seen, g_strdup_printf("rank %" G_GINT64_FORMAT, metadata->rank), run);
	if (other >= 0)
		return fail(check, (guint)other, run, error, "both have rank %" G_GINT64_FORMAT,
			    metadata->rank);
	return TRUE;
}

static gboolean check_processes(const struct job_check *check, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < check->processes->len; i++)
		if (!check_process(check, seen, process_at(check, i), error))
			return FALSE;
	return TRUE;
}

static gboolean check_worlds(const struct job_check *check, GError **error)
{
	gint first = -1;

	for (guint i = 0; i < check->paths->runs->len; i++) {
		gint64 world_size = check->runs[i].world_size;

		if (world_size < 0)
			continue;
		if (first < 0)
			first = (gint)i;
		else if (world_size != check->runs[first].world_size)
			return fail(check, (guint)first, i, error,
				    "one is of a job of %" G_GINT64_FORMAT
				    " ranks, the other of one of %" G_GINT64_FORMAT,
				    check->runs[first].world_size, world_size);
	}
	return TRUE;
}

static gboolean check_jobs(const struct job_check *check, GError **error)
{
	gint first = -1;

	for (guint i = 0; i < check->paths->runs->len; i++) {
		guint32 job = check->runs[i].job;

		if (!job)
			continue;
		if (first < 0)
			first = (gint)i;
		else if (job != check->runs[first].job)
			return doubt(check, (guint)first, i, error,
				     "one is of the job %s, the other of %s",
				     tacho_timeline_string(check->timeline, check->runs[first].job),
				     tacho_timeline_string(check->timeline, job));
	}
	return TRUE;
}

static gboolean check_ranked(const struct job_check *check, GError **error)
{
	gint ranked = -1, unranked = -1;

	for (guint i = 0; i < check->paths->runs->len; i++) {
		if (!check->runs[i].has_process)
			continue;
		if (check->runs[i].has_rank && ranked < 0)
			ranked = (gint)i;
		if (!check->runs[i].has_rank && unranked < 0)
			unranked = (gint)i;
	}
	return ranked < 0 || unranked < 0 ||
	       doubt(check, (guint)ranked, (guint)unranked, error,
		     "the first has a rank number, the second has none");
}

gboolean one_job_check_names(TachoTimeline *timeline, const struct run_paths *paths,
			     const GArray *processes, gboolean is_guess, GError **error)
{
	struct job_check check = { timeline, paths, processes, is_guess, NULL, NULL };
	gboolean is_one;

	if (paths->runs->len < 2)
		return TRUE;
	check_init(&check);
	is_one = check_processes(&check, error) && check_worlds(&check, error) &&
		 check_jobs(&check, error) && check_ranked(&check, error);
	check_release(&check);
	return is_one;
}

/* --- times ------------------------------------------------------------------------------------ */

static void add_times(struct job_run *run, const struct process_input *process)
{
	for (guint i = 0; i < process->streams->len; i++) {
		const struct stream_rows *rows = &process_input_stream(process, i)->rows;

		if (!rows->n_records)
			continue;
		run->first_ns = run->has_time ? MIN(run->first_ns, rows->first_ns) : rows->first_ns;
		run->last_ns = run->has_time ? MAX(run->last_ns, rows->last_ns) : rows->last_ns;
		run->has_clocks |= run->has_time && run->clock != process->clock;
		run->clock = process->clock;
		run->has_time = TRUE;
	}
}

/* (1), (2), (3) of two runs, of which `a` began first. */
static gboolean check_two_times(const struct job_check *check, guint a, guint b, GError **error)
{
	const struct job_run *first = &check->runs[a], *second = &check->runs[b];
	gboolean is_one_clock =
		!first->has_clocks && !second->has_clocks && first->clock == second->clock;
	gint64 slack_ns = !first->has_rank || !second->has_rank ? 0
			  : is_one_clock			? ONE_JOB_SLACK_NS
								: ONE_JOB_CLOCK_SLACK_NS;
	gdouble gap_s = ((gdouble)second->first_ns - (gdouble)first->last_ns) / NS_PER_S;

	if (gap_s <= (gdouble)slack_ns / NS_PER_S)
		return TRUE;
	if (is_one_clock)
		return fail(check, a, b, error,
			    "the second began %.3f s after the end of the first", gap_s);
	return doubt(check, a, b, error,
		     "the second began %.3f s after the end of the first, by the clocks of "
		     "their machines",
		     gap_s);
}

static gboolean check_times(const struct job_check *check, GError **error)
{
	guint n_problems = check->timeline->problems->len;

	for (guint a = 0; a < check->paths->runs->len; a++)
		for (guint b = a + 1; b < check->paths->runs->len; b++) {
			const struct job_run *first = &check->runs[a], *second = &check->runs[b];
			gboolean is_ordered = first->first_ns <= second->first_ns;

			if (!first->has_time || !second->has_time)
				continue;
			if (!check_two_times(check, is_ordered ? a : b, is_ordered ? b : a, error))
				return FALSE;
			if (check->timeline->problems->len > n_problems)
				return TRUE; /* one is enough */
		}
	return TRUE;
}

gboolean one_job_check_times(TachoTimeline *timeline, const struct run_paths *paths,
			     const GArray *processes, gboolean is_guess, GError **error)
{
	struct job_check check = { timeline, paths, processes, is_guess, NULL, NULL };
	gboolean is_one;

	if (paths->runs->len < 2)
		return TRUE;
	check_init(&check);
	for (guint i = 0; i < processes->len; i++)
		add_times(run_of(&check, process_at(&check, i)), process_at(&check, i));
	is_one = check_times(&check, error);
	check_release(&check);
	return is_one;
}

/* --- runs that are not whole ------------------------------------------------------------------ */

void one_job_add_problems(TachoTimeline *timeline, const struct run_paths *paths,
			  const GArray *processes)
{
	g_autofree gboolean *has_process = g_new0(gboolean, paths->runs->len);

	for (guint i = 0; i < processes->len; i++)
		has_process[g_array_index(processes, struct process_input, i).run] = TRUE;
	for (guint i = 0; paths->runs->len > 1 && i < paths->runs->len; i++) {
		const struct run_path *run = &g_array_index(paths->runs, struct run_path, i);

		if (!run->has_facts)
			continue;
		if (!has_process[i])
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_EMPTY_RUN, 1,
						   "%s: the run has no records", run->path);
		if (!run->has_end)
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_UNFINISHED_RUN, 1,
				"%s: tacho record has not finished this run: it is still "
				"recording, or it was killed, or this is an older copy",
				run->path);
	}
}
