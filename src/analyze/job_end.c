#include "analyze/job_end.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"

#include <string.h>

enum { MAX_NAMED_RANKS = 8 };

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	IDENTIFIER_COLUMN("pid", "pid"),
	TEXT_COLUMN("ended", "ended"),
	JSON_INTEGER("exit"),
};

/* A child or a process that failed. */
struct failure {
	gint64 rank; /* -1: none */
	guint32 pid;
	TachoEnd end;
	gint32 exit_status;
	gint64 end_unix_ns; /* G_MAXINT64: not known */
};

gchar *process_end_words(TachoEnd end, gint32 exit_status)
{
	const char *signal_name = end == TACHO_END_KILLED ? sigabbrev_np(exit_status) : NULL;

	if (end == TACHO_END_EXITED)
		return g_strdup_printf("exit status %d", exit_status);
	if (end == TACHO_END_KILLED && signal_name)
		return g_strdup_printf("signal %d, SIG%s", exit_status, signal_name);
	if (end == TACHO_END_KILLED && exit_status)
		return g_strdup_printf("signal %d", exit_status);
	return g_strdup(end == TACHO_END_RUNNING ? "still running"
						 : "ended without an exit status");
}

static gint64 exit_of(TachoEnd end, gint32 exit_status)
{
	return end == TACHO_END_KILLED ? -(gint64)exit_status : exit_status;
}

static gboolean is_failed(TachoEnd end, gint32 exit_status)
{
	return end == TACHO_END_KILLED || (end == TACHO_END_EXITED && exit_status != 0);
}

/* Those whose end was not seen come last, in the order of ranks. */
static gint compare_failures(gconstpointer first, gconstpointer second)
{
	const struct failure *a = first, *b = second;

	return ORDER(a->end_unix_ns, b->end_unix_ns) ?: ORDER(a->rank, b->rank);
}

static void add_failure(GArray *failures, GHashTable *pids, const struct failure *failure)
{
	if (g_hash_table_add(pids, GUINT_TO_POINTER(failure->pid)))
		g_array_append_val(failures, *failure);
}

static void find_failed_children(const TachoTimeline *timeline, GArray *failures, GHashTable *pids)
{
	FOR_EACH(const TachoChild, child, timeline->children) {
		struct failure failure = { child->rank, child->pid, child->end, child->exit_status,
					   child->end_unix_ns ? child->end_unix_ns : G_MAXINT64 };

		if (is_failed(child->end, child->exit_status))
			add_failure(failures, pids, &failure);
	}
}

/* (2), (3) */
static void find_failed_ranks(const TachoTimeline *timeline, GArray *failures, GHashTable *pids)
{
	FOR_EACH(const TachoRank, rank, timeline->ranks) {
		const TachoProcess *process = tacho_timeline_process(timeline, rank->main_process);
		gboolean is_lost = process->end == TACHO_END_UNKNOWN && timeline->children->len > 0;
		struct failure failure = { rank->rank, process->pid, process->end,
					   process->exit_status, G_MAXINT64 };

		if (is_lost || is_failed(process->end, process->exit_status))
			add_failure(failures, pids, &failure);
	}
}

/* What was started without a rank may be known as one by its trace. */
static gint64 rank_of(const TachoTimeline *timeline, const struct failure *failure)
{
	for (guint i = 0; failure->rank < 0 && i < timeline->processes->len; i++) {
		const TachoProcess *process = tacho_timeline_process(timeline, i);

		if (process->is_main && process->pid == failure->pid)
			return tacho_timeline_rank(timeline, process->rank_index)->rank;
	}
	return failure->rank;
}

static TachoTable *list_failures(const TachoTimeline *timeline, const GArray *failures)
{
	TachoTable *table = tacho_table_new("failures", columns, G_N_ELEMENTS(columns));

	FOR_EACH(const struct failure, failure, failures) {
		g_autofree gchar *words = process_end_words(failure->end, failure->exit_status);
		gint64 rank = rank_of(timeline, failure);

		tacho_table_row(table);
		table_integer_if(table, rank >= 0, rank);
		tacho_table_integer(table, failure->pid);
		tacho_table_text(table, words);
		if (failure->end == TACHO_END_UNKNOWN)
			tacho_table_null(table);
		else
			tacho_table_integer(table, exit_of(failure->end, failure->exit_status));
	}
	return table;
}

static gboolean have_all_ended(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->children->len; i++)
		if (g_array_index(timeline->children, TachoChild, i).end == TACHO_END_UNKNOWN)
			return FALSE;
	return timeline->children->len > 0;
}

void job_end_init(struct job_end *end, const TachoTimeline *timeline)
{
	g_autoptr(GArray) failures = g_array_new(FALSE, FALSE, sizeof(struct failure));
	g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);

	*end = (struct job_end){ .is_known = have_all_ended(timeline) };
	find_failed_children(timeline, failures, pids);
	g_array_sort(failures, compare_failures);
	if (end->is_known && failures->len) {
		const struct failure *first = &g_array_index(failures, struct failure, 0);

		end->exit = exit_of(first->end, first->exit_status);
	}
	find_failed_ranks(timeline, failures, pids);
	end->failures = list_failures(timeline, failures);
}

void job_end_release(struct job_end *end)
{
	tacho_table_free(end->failures);
}

/* "rank 1: signal 9, SIGKILL; rank 0: exit status 1" */
static gchar *name_ranks(const TachoTable *failures, guint first)
{
	GString *names = g_string_new(NULL);
	guint n = tacho_table_n_rows(failures), n_named = 0;

	for (guint i = first; i < n; i++) {
		gdouble rank = tacho_table_cell_number(failures, i, "rank");

		if (n_named == MAX_NAMED_RANKS) {
			g_string_append_printf(names, "; and %u more", n - i);
			break;
		}
		g_string_append(names, n_named++ ? "; " : "");
		if (rank >= 0)
			g_string_append_printf(names, "rank %.0f", rank);
		else
			g_string_append_printf(names, "process %.0f",
					       tacho_table_cell_number(failures, i, "pid"));
		g_string_append_printf(names, ": %s", tacho_table_cell_text(failures, i, "ended"));
	}
	return g_string_free(names, FALSE);
}

gchar *job_end_text(const struct job_end *end)
{
	guint n = tacho_table_n_rows(end->failures);
	g_autofree gchar *ranks = NULL;

	if (!n)
		return NULL;
	/* The job alone failed, and it is said already how. */
	if (end->is_known && end->exit && n == 1 &&
	    !(tacho_table_cell_number(end->failures, 0, "rank") > 0))
		return g_strdup_printf("The job ended with %s.",
				       tacho_table_cell_text(end->failures, 0, "ended"));
	if (!end->is_known || !end->exit) {
		ranks = name_ranks(end->failures, 0);
		return g_strdup_printf(
			end->is_known
				? "The job ended with exit status 0, but some ranks failed (%s)."
				: "Some ranks failed (%s).",
			ranks);
	}
	if (n == 1)
		return g_strdup_printf("The job ended with %s (rank %.0f).",
				       tacho_table_cell_text(end->failures, 0, "ended"),
				       tacho_table_cell_number(end->failures, 0, "rank"));
	/* A launcher, which is no rank, has the job's end; else the first rank that failed. */
	ranks = name_ranks(end->failures,
			   tacho_table_cell_number(end->failures, 0, "rank") >= 0 ? 0 : 1);
	return g_strdup_printf(
		"The job ended with %s (%s%s).", tacho_table_cell_text(end->failures, 0, "ended"),
		n > 1 && tacho_table_cell_number(end->failures, 0, "rank") >= 0 ? "first " : "",
		ranks);
}
