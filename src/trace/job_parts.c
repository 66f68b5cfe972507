#include "trace/job_parts.h"

#include "base/for_each.h"
#include "base/order.h"
#include "trace/one_job.h"
#include "trace/process_reader.h"
#include "trace/run_paths.h"

#define MAX_NAMED_RANKS 8

static void clear_process(gpointer process)
{
	process_input_release(process);
}

/* The ranks in order, each once. */
static GArray *list_ranks(const GArray *processes)
{
	GArray *ranks = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint n = 0;

	FOR_EACH(const struct process_input, process, processes)
		if (process->metadata.rank >= 0)
			g_array_append_val(ranks, process->metadata.rank);
	g_array_sort(ranks, order_int64);
	for (guint i = 0; i < ranks->len; i++)
		if (!n || g_array_index(ranks, gint64, i) != g_array_index(ranks, gint64, n - 1))
			g_array_index(ranks, gint64, n++) = g_array_index(ranks, gint64, i);
	g_array_set_size(ranks, n);
	return ranks;
}

/* Name the ranks in [from, to), if there are any. */
static void name_ranks(GString *names, guint *n_named, gint64 from, gint64 to)
{
	if (from >= to)
		return;
	if (++*n_named > MAX_NAMED_RANKS) {
		if (*n_named == MAX_NAMED_RANKS + 1)
			g_string_append(names, " ...");
		return;
	}
	g_string_append_printf(names, "%s%" G_GINT64_FORMAT, names->len ? ", " : "", from);
	if (to - from > 1)
		g_string_append_printf(names, "-%" G_GINT64_FORMAT, to - 1);
}

static gchar *name_missing(const GArray *ranks, gint64 world_size)
{
	g_autoptr(GString) names = g_string_new(NULL);
	gint64 next = 0;
	guint n_named = 0;

	for (guint i = 0; i < ranks->len; i++) {
		gint64 rank = MIN(g_array_index(ranks, gint64, i), world_size);

		name_ranks(names, &n_named, next, rank);
		next = rank + 1;
	}
	name_ranks(names, &n_named, next, world_size);
	return names->len ? g_string_free(g_steal_pointer(&names), FALSE) : NULL;
}

static void describe(const GArray *processes, JobParts *parts)
{
	g_autoptr(GHashTable) hosts = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) ranks = list_ranks(processes);

	parts->n_processes = processes->len;
	parts->n_ranks = ranks->len;
	FOR_EACH(const struct process_input, process, processes) {
		g_hash_table_add(hosts, GUINT_TO_POINTER(process->metadata.host));
		parts->world_size = MAX(parts->world_size, process->metadata.world_size);
	}
	parts->n_hosts = g_hash_table_size(hosts);
	parts->missing = name_missing(ranks, parts->world_size);
}

/* What only speaks against it is enough: nobody has looked at these runs yet. */
static gboolean is_beyond_doubt(const TachoTimeline *timeline, GError **error)
{
	const TachoProblem *problem =
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_OTHER_JOB);

	if (problem)
		g_set_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_NOT_A_RUN,
			    "%s do not seem to be of one job", problem->where);
	return !problem;
}

gboolean job_parts_look(const gchar *const *paths, guint n_paths, JobParts *ret, GError **error)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autoptr(GArray) processes = g_array_new(FALSE, TRUE, sizeof(struct process_input));
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
	struct run_paths found = { 0 };
	gboolean is_one_job;

	*ret = (JobParts){ .world_size = -1 };
	g_array_set_clear_func(processes, clear_process);
	is_one_job = run_paths_find(&found, paths, n_paths, error);
	for (guint i = 0; is_one_job && i < found.traces->len; i++) {
		const struct trace_path *trace = &g_array_index(found.traces, struct trace_path, i);
		struct process_input process;

		/* a broken trace is for who reads the run to tell of */
		if (!process_input_open(&process, trace->path, NULL, timeline, files, NULL))
			continue;
		process.run = trace->run;
		g_array_append_val(processes, process);
	}
	is_one_job = is_one_job && one_job_check_names(timeline, &found, processes, FALSE, error) &&
		     is_beyond_doubt(timeline, error);
	if (is_one_job)
		describe(processes, ret);
	run_paths_release(&found);
	return is_one_job;
}

void job_parts_release(JobParts *parts)
{
	g_clear_pointer(&parts->missing, g_free);
}
