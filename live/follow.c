/* follow: what a run that is being written has come to.
 *
 *     run_window: what is new --> step_window: steps that have ended --> rank_activity: where they went --> rows
 *
 * (1) The figures of a step come from the code that makes the step view, over a timeline that holds the step: they are those
 *     of the whole run.
 * (2) Rows are kept up to MAX_ROWS; all else is bounded by what is in the window (run_window.h).
 * (3) Where clocks of several hosts have to be aligned, each new record may move all that was before. Such a run is read
 *     whole each time, up to MAX_WINDOW; beyond that it is cut as others are, and figures are by the clocks as they were known.
 * (4) Reading takes its share of a core and no more: the window is opened again when enough has come, or when nothing has
 *     for a while, and not before COST_FACTOR times of what opening it took have passed. What has come is taken in just
 *     before that, twice: the first time tells what is complete by the second.
 * (5) Who follows jobs beside other things is sparing: where more comes than can be read so, steps are passed over. They are
 *     counted, and have no row. What is not complete yet is read when nothing more comes: then it matters what is open.
 *     All runs together are read for SPARING_SHARE of a core, less what each takes beside that. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "analyze/rank_activity.h"
#include "analyze/step_parts.h"
#include "base/for_each.h"
#include "base/order.h"
#include "correlate/process_groups.h"
#include "correlate/step_window.h"
#include "live/memory_account.h"
#include "live/process_stats.h"
#include "live/live_internal.h"
#include "trace/run_paths.h"
#include "trace/run_registry.h"
#include "trace/run_window.h"

#define NS_PER_S       G_GINT64_CONSTANT(1000000000)
#define MAX_ROWS       400000
#define KEPT_FOR_STATE 2000 /* rows by which it is told what is warm-up, before the run is over */
#define LOOK_BYTES     (96 << 20)     /* taken in at once */
#define FIRST_BYTES    (4 << 20)      /* the same at first, of who is sparing: (5) */
#define MAX_WINDOW     (256 << 20)    /* where ranks are no longer waited for */
#define MAX_STEPLESS   (64 << 20)     /* where there are no steps */
#define STEPLESS_NS    (2 * NS_PER_S) /* of these so much is kept */
#define COST_FACTOR    100
#define SPARING_SHARE  0.009  /* of a core: (5) */
#define KEPT_SHARE     0.0007 /* the same, for a run of which nothing is read */
#define LEAST_SHARE    0.002  /* for which runs are read in any case, all together */
#define LEAST_READ     4      /* steps of a look that is sparing */
#define FREE_LOOKS     3 /* that come whatever they cost: what the first saw is whole by the second */
#define MAX_PAUSE_NS   (4 * NS_PER_S)
#define NEAR_NS	       (NS_PER_S / 4) /* before the window is opened, beside what two looks are apart */
#define ELSEWHERE_NS   (60 * NS_PER_S) /* without a record: a process of another host has ended */
#define STILL_NS       NS_PER_S	       /* without any record: then it is looked what is open */
#define QUIET_NS       (2 * NS_PER_S)  /* the same where what came last was not taken in */
#define TRICKLE_PART   8	       /* of the usual pace: less is no record of steps */
#define END_TOLD_NS                                                                                \
	(10 * NS_PER_S) /* since its last record: then who records has said how a rank ended */
#define MAX_DOING 400	/* bytes of what a rank does */

struct _TachoFollow {
	gchar **paths;
	RunWindow *window;
	StepWindow *steps;
	GArray *rows;  /* TachoLiveStep */
	GArray *ranks; /* TachoLiveRank */
	GPtrArray *collectives;
	MemoryAccount *memory;
	ProcessStats *stats;
	guint64 n_dropped;
	guint n_new, n_beginnings;
	gchar *command;
	TachoLiveView view;
	TachoTable *view_table;
	guint64 seen_bytes, most_bytes; /* when the window was opened last; at the most */
	guint64 waiting_bytes;		/* at the newest look, and not taken in by it */
	gdouble pace;			/* bytes a second, while it went on */
	gint64 opened_ns;		/* CLOCK_MONOTONIC: when */
	gint64 cost_ns;			/* of a core: what it took */
	gint64 grown_ns;		/* when there was something new last */
	gint64 looked_ns;		/* when the newest look began */
	gint64 known_ns;    /* the same of the newest by which all that was there is known */
	guint n_beside;	    /* runs followed by the same process, this one among them */
	guint64 look_bytes; /* taken in at once */
	guint n_opened;	    /* how often it was */
	gdouble most_worth; /* bytes of a window that can be read for our share; 0: not known yet */
	guint64 n_passed;   /* steps of each rank: (5) */
	gboolean is_sparing;
	GHashTable *told;    /* rank -> rows of it, where the run is read whole: (3) */
	gboolean is_still;   /* what is open has been looked at since */
	gboolean is_taken;   /* the newest look took in what had come: it touched the files */
	gint64 taken_ns;     /* when the newest look began that took in all that had come */
	gboolean is_limited; /* what came last was not read with the rest */
	gboolean is_unseen;  /* a rank has just ended, and it is not said how */
	gboolean is_ending;  /* nobody writes any more */
	gboolean is_over;
	gboolean is_several; /* clocks: (3) */
};

static void clear_rank(gpointer pointer)
{
	TachoLiveRank *rank = pointer;

	g_free(rank->host);
	g_free(rank->doing);
}

static void collective_free(gpointer pointer)
{
	TachoLiveCollective *collective = pointer;

	g_free(collective->name);
	g_free(collective->other);
	g_array_unref(collective->present);
	g_array_unref(collective->missing);
	g_free(collective);
}

TachoFollow *tacho_follow_new(const gchar *const *paths, guint n_paths)
{
	TachoFollow *follow = g_new0(TachoFollow, 1);

	follow->paths = g_new0(gchar *, n_paths + 1);
	for (guint i = 0; i < n_paths; i++)
		follow->paths[i] = g_strdup(paths[i]);
	follow->window = run_window_new(paths, n_paths);
	follow->steps = step_window_new();
	follow->rows = g_array_new(FALSE, FALSE, sizeof(TachoLiveStep));
	follow->ranks = g_array_new(FALSE, TRUE, sizeof(TachoLiveRank));
	g_array_set_clear_func(follow->ranks, clear_rank);
	follow->collectives = g_ptr_array_new_with_free_func(collective_free);
	follow->memory = memory_account_new();
	follow->told = g_hash_table_new(NULL, NULL);
	follow->look_bytes = LOOK_BYTES;
	follow->n_beside = 1;
	follow->stats = process_stats_new();
	return follow;
}

void tacho_follow_free(TachoFollow *follow)
{
	if (!follow)
		return;
	run_window_free(follow->window);
	step_window_free(follow->steps);
	memory_account_free(follow->memory);
	g_hash_table_unref(follow->told);
	process_stats_free(follow->stats);
	g_array_unref(follow->rows);
	g_array_unref(follow->ranks);
	g_ptr_array_unref(follow->collectives);
	g_clear_pointer(&follow->view_table, tacho_table_free);
	g_strfreev(follow->paths);
	g_free(follow->command);
	g_free(follow);
}

static gint64 monotonic_ns(void)
{
	return g_get_monotonic_time() * 1000;
}

/* What this thread has had of a core: on a busy machine that is less than what has passed. */
static gint64 used_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* --- rows ------------------------------------------------------------------------------------ */

static TachoLiveStep make_row(const TachoTimeline *timeline, const TachoStep *step,
			      const struct rank_activity *activity)
{
	struct step_parts parts = step_parts_measure(activity, step->start_ns, step->end_ns);

	return (TachoLiveStep){
		.rank = tacho_timeline_rank(timeline, step->rank_index)->rank,
		.number = step->number,
		.start_unix_ns = timeline->origin_unix_ns + step->start_ns,
		.end_unix_ns = timeline->origin_unix_ns + step->end_ns,
		.compute_ns = parts.compute_ns,
		.communication_ns = parts.communication_ns,
		.exposed_ns = parts.exposed_ns,
		.wait_ns = parts.wait_ns,
		.data_wait_ns = parts.data_wait_ns,
		.memory_bytes = -1,
		.peak_bytes = -1,
		.is_complete = step->is_complete,
	};
}

static int compare_rows(const void *a, const void *b)
{
	const TachoLiveStep *left = a, *right = b;

	return ORDER(left->number, right->number) ?: ORDER(left->rank, right->rank);
}

/* The timeline's steps, which stand by rank, as rows, by number. */
static void add_rows(TachoFollow *follow, const TachoTimeline *timeline)
{
	g_autoptr(GHashTable) collectives = index_collectives(timeline);
	guint first = follow->rows->len;

	for (guint i = 0; i < timeline->steps->len;) {
		guint32 rank = g_array_index(timeline->steps, TachoStep, i).rank_index;
		guint first_of_rank = follow->rows->len;
		struct rank_activity activity;

		rank_activity_init(&activity, timeline, rank, collectives);
		for (; i < timeline->steps->len; i++) {
			const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);
			TachoLiveStep row;

			if (step->rank_index != rank)
				break;
			row = make_row(timeline, step, &activity);
			g_array_append_val(follow->rows, row);
		}
		rank_activity_release(&activity);
		memory_account_fill(follow->memory, timeline, rank,
				    &g_array_index(follow->rows, TachoLiveStep, first_of_rank),
				    follow->rows->len - first_of_rank);
	}
	follow->n_new = follow->rows->len - first;
	if (follow->n_new)
		qsort(follow->rows->data + first * sizeof(TachoLiveStep), follow->n_new,
		      sizeof(TachoLiveStep), compare_rows);
}

/* (3): all rows again, those last that had not been told. */
static void make_all_rows(TachoFollow *follow, const TachoTimeline *timeline)
{
	g_autoptr(GArray) fresh = g_array_new(FALSE, FALSE, sizeof(TachoLiveStep));
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	guint n_told = 0;

	g_array_set_size(follow->rows, 0);
	memory_account_restart(follow->memory);
	add_rows(follow, timeline);
	for (guint i = 0; i < follow->rows->len; i++) {
		TachoLiveStep row = g_array_index(follow->rows, TachoLiveStep, i);
		gpointer rank = GINT_TO_POINTER(row.rank);
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(seen, rank)) + 1;

		g_hash_table_insert(seen, rank, GUINT_TO_POINTER(n));
		if (n > GPOINTER_TO_UINT(g_hash_table_lookup(follow->told, rank)))
			g_array_append_val(fresh, row);
		else
			g_array_index(follow->rows, TachoLiveStep, n_told++) = row;
	}
	g_array_set_size(follow->rows, n_told);
	g_array_append_vals(follow->rows, fresh->data, fresh->len);
	follow->n_new = fresh->len;
	FOR_EACH_ENTRY(entry, seen)
		g_hash_table_insert(follow->told, entry.key, entry.value);
}

static void drop_rows(TachoFollow *follow)
{
	guint n = follow->rows->len;

	if (n <= MAX_ROWS)
		return;
	g_array_remove_range(follow->rows, KEPT_FOR_STATE, n - MAX_ROWS * 3 / 4);
	follow->n_dropped += n - follow->rows->len;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* What is open on a track, outermost first. */
static void tell_track(const TachoTimeline *timeline, const TachoTrack *track, GString *text)
{
	const gchar *name = tacho_timeline_string(timeline, track->name);
	gboolean is_begun = FALSE;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (!(timeline->slices.flags[i] & TACHO_SLICE_OPEN))
			continue;
		if (!is_begun)
			g_string_append_printf(text, "%sthread %u%s%s%s: ", text->len ? "; " : "",
					       track->tid, *name ? " (" : "", name,
					       *name ? ")" : "");
		g_string_append_printf(text, "%s%s", is_begun ? " > " : "",
				       tacho_slice_name(timeline, i));
		is_begun = TRUE;
		if (text->len > MAX_DOING)
			return;
	}
}

static gchar *tell_doing(const TachoTimeline *timeline, guint32 process)
{
	g_autoptr(GString) text = g_string_new(NULL);

	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->process == process && text->len < MAX_DOING &&
		    (track->kind == TACHO_TRACK_THREAD || track->kind == TACHO_TRACK_ASYNC))
			tell_track(timeline, track, text);
	if (text->len > MAX_DOING) {
		g_string_truncate(text, MAX_DOING);
		g_string_append(text, " ...");
	}
	return tacho_printable(text->str);
}

static TachoLiveRank *find_rank(TachoFollow *follow, gint32 number)
{
	TachoLiveRank rank = { .rank = number };

	FOR_EACH(TachoLiveRank, known, follow->ranks)
		if (known->rank == number)
			return known;
	g_array_append_val(follow->ranks, rank);
	return &g_array_index(follow->ranks, TachoLiveRank, follow->ranks->len - 1);
}

static gint compare_ranks(gconstpointer a, gconstpointer b)
{
	return ORDER(((const TachoLiveRank *)a)->rank, ((const TachoLiveRank *)b)->rank);
}

static void note_steps(TachoFollow *follow)
{
	FOR_EACH(TachoLiveRank, rank, follow->ranks)
		for (guint i = follow->rows->len - follow->n_new; i < follow->rows->len; i++) {
			const TachoLiveStep *row = &g_array_index(follow->rows, TachoLiveStep, i);

			if (row->rank != rank->rank)
				continue;
			rank->n_steps++;
			rank->last_step_unix_ns = MAX(rank->last_step_unix_ns, row->end_unix_ns);
		}
}

/* Of a process of another host nobody here sees whether it goes on, but by its records. */
static TachoEnd end_of(const TachoTimeline *timeline, const TachoProcess *process)
{
	gint64 last_unix_ns = timeline->origin_unix_ns + process->end_ns;

	if (process->end == TACHO_END_UNKNOWN &&
	    strcmp(tacho_timeline_string(timeline, process->host), g_get_host_name()) != 0 &&
	    g_get_real_time() * 1000 - last_unix_ns < ELSEWHERE_NS)
		return TACHO_END_RUNNING;
	return process->end;
}

static void note_ranks(TachoFollow *follow, const TachoTimeline *timeline)
{
	FOR_EACH_AT(const TachoRank, row, i, timeline->ranks) {
		TachoLiveRank *rank = find_rank(follow, row->rank);
		const TachoProcess *process = tacho_timeline_process(timeline, row->main_process);

		g_free(rank->host);
		g_free(rank->doing);
		rank->host = g_strdup(tacho_timeline_string(timeline, process->host));
		rank->doing = tell_doing(timeline, row->main_process);
		rank->pid = process->pid;
		rank->end = end_of(timeline, process);
		rank->exit_status = process->exit_status;
		rank->last_unix_ns = timeline->origin_unix_ns + process->end_ns;
	}
	follow->is_unseen = FALSE;
	FOR_EACH(const TachoLiveRank, rank, follow->ranks)
		follow->is_unseen |= rank->end == TACHO_END_UNKNOWN &&
				     g_get_real_time() * 1000 - rank->last_unix_ns < END_TOLD_NS;
	g_array_sort(follow->ranks, compare_ranks);
	if (!follow->command && timeline->ranks->len)
		follow->command = g_strdup(tacho_timeline_string(
			timeline, tacho_timeline_process(
					  timeline, tacho_timeline_rank(timeline, 0)->main_process)
					  ->command));
}

/* --- collectives that ranks are in ------------------------------------------------------------ */

/* A rank's newest collective of a group, and how many it has had since the cut. */
struct group_rank {
	gint32 rank;
	guint n;
	guint32 open; /* slice: the last that is open, or TACHO_NONE */
};

static struct group_rank count_of_rank(const TachoFollow *follow, const TachoTimeline *timeline,
				       const GroupRank *from)
{
	const TachoRank *rank = tacho_timeline_rank(timeline, from->rank_index);
	struct group_rank counted = { .rank = rank->rank, .open = TACHO_NONE };
	gint64 from_ns =
		step_window_history(follow->steps, rank->rank)->n_steps
			? step_window_history(follow->steps, rank->rank)->last_end_unix_ns -
				  timeline->origin_unix_ns
			: G_MININT64;

	for (guint i = 0; i < from->slices->len; i++) {
		guint32 slice = g_array_index(from->slices, guint32, i);

		if (timeline->slices.start_ns[slice] < from_ns)
			continue;
		counted.n++;
		if (timeline->slices.flags[slice] & TACHO_SLICE_OPEN)
			counted.open = slice;
	}
	return counted;
}

static gchar *tell_collective(const TachoTimeline *timeline, const struct group_rank *rank)
{
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(timeline, rank->open, &args);
	return g_strdup_printf("rank %d: %s, %" G_GUINT64_FORMAT " bytes", rank->rank,
			       tacho_slice_name(timeline, rank->open), args.bytes);
}

/* What the ranks of a group are in: those that have had most are in it, or all where all are. */
static void add_collective(TachoFollow *follow, const TachoTimeline *timeline,
			   const GArray *counted)
{
	TachoLiveCollective *collective;
	TachoCollectiveArgs args = { 0 };
	const struct group_rank *first = NULL;
	guint most = 0;

	FOR_EACH(const struct group_rank, rank, counted)
		most = MAX(most, rank->n);
	FOR_EACH(const struct group_rank, rank, counted)
		if (rank->open != TACHO_NONE && rank->n == most && !first)
			first = rank;
	if (!first)
		return;
	collective = g_new0(TachoLiveCollective, 1);
	collective->present = g_array_new(FALSE, FALSE, sizeof(gint32));
	collective->missing = g_array_new(FALSE, FALSE, sizeof(gint32));
	collective->name = tacho_printable(tacho_slice_name(timeline, first->open));
	collective->begin_unix_ns = G_MAXINT64;
	tacho_slice_collective(timeline, first->open, &args);
	collective->bytes = args.bytes;
	FOR_EACH(const struct group_rank, rank, counted) {
		gboolean is_in = rank->n == most && rank->open != TACHO_NONE;
		TachoCollectiveArgs own = { 0 };

		if (!is_in && rank->n == most)
			continue; /* through already */
		g_array_append_val(is_in ? collective->present : collective->missing, rank->rank);
		if (!is_in)
			continue;
		collective->begin_unix_ns =
			MIN(collective->begin_unix_ns,
			    timeline->origin_unix_ns + timeline->slices.start_ns[rank->open]);
		tacho_slice_collective(timeline, rank->open, &own);
		if (!collective->other && rank != first &&
		    (timeline->slices.name[rank->open] != timeline->slices.name[first->open] ||
		     own.bytes != args.bytes))
			collective->other = tell_collective(timeline, rank);
	}
	g_ptr_array_add(follow->collectives, collective);
}

/* In a group of all ranks, those that have had none of its collectives since the cut. */
static void add_absent(const TachoTimeline *timeline, GArray *counted)
{
	guint n = counted->len;

	FOR_EACH(const TachoRank, row, timeline->ranks) {
		struct group_rank absent = { .rank = row->rank, .open = TACHO_NONE };
		gboolean is_there = FALSE;

		for (guint i = 0; i < n; i++)
			is_there |= g_array_index(counted, struct group_rank, i).rank == row->rank;
		if (!is_there)
			g_array_append_val(counted, absent);
	}
}

static void note_collectives(TachoFollow *follow, const TachoTimeline *timeline)
{
	g_autoptr(GPtrArray) groups = process_groups_new(timeline);

	g_ptr_array_set_size(follow->collectives, 0);
	FOR_EACH_POINTER(const ProcessGroup, group, groups) {
		g_autoptr(GArray) counted = g_array_new(FALSE, FALSE, sizeof(struct group_rank));

		FOR_EACH_POINTER(const GroupRank, rank, group->ranks) {
			struct group_rank one = count_of_rank(follow, timeline, rank);

			g_array_append_val(counted, one);
		}
		if (!group->n_expected || group->n_expected == timeline->ranks->len)
			add_absent(timeline, counted);
		add_collective(follow, timeline, counted);
	}
}

/* --- tables ---------------------------------------------------------------------------------- */

static gint compare_by_rank(gconstpointer a, gconstpointer b)
{
	const TachoLiveStep *const *left = a, *const *right = b;

	return ORDER((*left)->rank, (*right)->rank) ?: ORDER((*left)->number, (*right)->number);
}

static guint32 index_of_rank(const TachoTimeline *timeline, gint32 rank)
{
	for (guint i = 0; i < timeline->ranks->len; i++)
		if (tacho_timeline_rank(timeline, i)->rank == rank)
			return i;
	return TACHO_NONE;
}

/* Put the rows into the timeline as its steps; what is known of each, beside them. */
static struct known_step *make_steps(const TachoFollow *follow, TachoTimeline *timeline,
				     gboolean only_new)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	guint first_new = follow->rows->len - follow->n_new, n = 0;
	struct known_step *known = g_new0(struct known_step, follow->rows->len + 1);

	for (guint i = 0; i < follow->rows->len; i++)
		if (!only_new || i < KEPT_FOR_STATE || i >= first_new)
			g_ptr_array_add(rows, &g_array_index(follow->rows, TachoLiveStep, i));
	g_ptr_array_sort(rows, compare_by_rank);
	g_array_set_size(timeline->steps, 0);
	FOR_EACH_POINTER(const TachoLiveStep, row, rows) {
		TachoStep step = {
			.rank_index = index_of_rank(timeline, row->rank),
			.number = row->number,
			.start_ns = row->start_unix_ns - timeline->origin_unix_ns,
			.end_ns = row->end_unix_ns - timeline->origin_unix_ns,
			.is_complete = row->is_complete,
		};

		if (step.rank_index == TACHO_NONE)
			continue;
		g_array_append_val(timeline->steps, step);
		known[n].parts = (struct step_parts){
			.duration_ns = (gdouble)(step.end_ns - step.start_ns),
			.compute_ns = row->compute_ns,
			.communication_ns = row->communication_ns,
			.exposed_ns = row->exposed_ns,
			.wait_ns = row->wait_ns,
			.data_wait_ns = row->data_wait_ns,
		};
		known[n++].is_left_out =
			only_new &&
			row < &g_array_index(follow->rows, TachoLiveStep, 0) + first_new;
	}
	return known;
}

TachoTable *tacho_follow_step_table(TachoFollow *follow, gboolean only_new, gboolean is_summary)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	TachoTimeline *timeline = run_window_open(follow->window, NULL);
	g_autofree struct known_step *known = NULL;
	TachoTable *table;

	if (!timeline)
		return NULL;
	known = make_steps(follow, timeline, only_new);
	timeline->step_source = follow->steps->source;
	table = is_summary ? step_summary_of_known(timeline, &filter, known)
			   : step_view_of_known(timeline, &filter, known);
	run_window_close(follow->window, timeline);
	return table;
}

void tacho_follow_set_view(TachoFollow *follow, TachoLiveView view)
{
	if (follow->view != view)
		g_clear_pointer(&follow->view_table, tacho_table_free);
	follow->view = view;
}

const TachoTable *tacho_follow_borrow_view(const TachoFollow *follow)
{
	return follow->view_table;
}

static void make_view(TachoFollow *follow, const TachoTimeline *timeline)
{
	TachoFilter filter = TACHO_FILTER_INIT;

	if (!follow->view || !timeline->steps->len)
		return;
	g_clear_pointer(&follow->view_table, tacho_table_free);
	filter.first_step = G_MAXINT64;
	FOR_EACH(const TachoStep, step, timeline->steps) {
		filter.first_step = MIN(filter.first_step, step->number);
		filter.last_step = MAX(filter.last_step, step->number);
	}
	follow->view_table = follow->view(timeline, &filter);
}

/* --- looking --------------------------------------------------------------------------------- */

/* Whether somebody may still write: a `tacho record` that is alive, or has not said the end. */
static gboolean is_recorded(const TachoFollow *follow)
{
	for (guint i = 0; follow->paths[i]; i++)
		if (run_registry_has(follow->paths[i]))
			return TRUE;
	return FALSE;
}

static gboolean has_running(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoProcess, process, timeline->processes)
		if (end_of(timeline, process) == TACHO_END_RUNNING)
			return TRUE;
	return FALSE;
}

static void begin_anew(TachoFollow *follow)
{
	step_window_restart(follow->steps);
	run_window_restart(follow->window);
	memory_account_restart(follow->memory);
	g_array_set_size(follow->rows, 0);
	g_hash_table_remove_all(follow->told);
	FOR_EACH(TachoLiveRank, rank, follow->ranks) {
		rank->n_steps = 0;
		rank->last_step_unix_ns = 0;
	}
	follow->n_new = 0;
	follow->n_dropped = 0;
	follow->n_passed = 0;
	follow->n_beginnings++;
	follow->seen_bytes = 0;
	follow->opened_ns = 0;
}

/* Where there are no steps, what is old is of no use. */
static void forget_stepless(TachoFollow *follow, const GPtrArray *processes)
{
	if (run_window_bytes(follow->window) < MAX_STEPLESS || follow->rows->len ||
	    follow->steps->source != TACHO_STEPS_NONE || follow->is_ending)
		return;
	FOR_EACH_POINTER(const gchar, path, processes)
		run_window_cut(follow->window, path,
			       run_window_last_ns(follow->window) - STEPLESS_NS);
}

static GPtrArray *list_processes(const TachoTimeline *timeline)
{
	GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

	FOR_EACH(const TachoProcess, process, timeline->processes)
		if (process->path)
			g_ptr_array_add(paths, g_strdup(process->path));
	return paths;
}

/* False: all was wrong, and is to be done anew. */
static gboolean read_window(TachoFollow *follow, TachoTimeline *timeline)
{
	gboolean is_forced = run_window_bytes(follow->window) > MAX_WINDOW;
	gboolean is_whole, is_changed;
	g_autoptr(GPtrArray) processes = list_processes(timeline);

	step_window_correlate(follow->steps, follow->window, timeline, is_forced);
	is_changed = step_window_is_changed(follow->steps) ||
		     (timeline->clocks->len > 1 && !follow->is_several && follow->rows->len);
	follow->is_several |= timeline->clocks->len > 1;
	if (is_changed) {
		run_window_close(follow->window, timeline);
		begin_anew(follow);
		return FALSE;
	}
	is_whole = follow->is_several && !is_forced;
	if (is_whole)
		make_all_rows(follow, timeline);
	else
		add_rows(follow, timeline);
	note_ranks(follow, timeline);
	note_steps(follow);
	make_view(follow, timeline);
	if (!has_running(timeline) && !is_recorded(follow))
		follow->is_ending = TRUE;
	if (!is_whole)
		step_window_remember(follow->steps, follow->window, timeline);
	note_collectives(follow, timeline);
	run_window_close(follow->window, timeline);
	step_window_advance(follow->steps, follow->window);
	forget_stepless(follow, processes);
	drop_rows(follow);
	return TRUE;
}

/* How often its cost has to pass before the window is opened again. */
static gdouble cost_factor(const TachoFollow *follow)
{
	if (!follow->is_sparing)
		return COST_FACTOR * follow->n_beside;
	return follow->n_beside / MAX(SPARING_SHARE - KEPT_SHARE * follow->n_beside, LEAST_SHARE);
}

/* Who is sparing waits a second for each run, where there are more than MAX_PAUSE_NS has, and not yet many. */
static gint64 most_pause_ns(const TachoFollow *follow)
{
	return follow->is_sparing
		       ? CLAMP(follow->n_beside, MAX_PAUSE_NS / NS_PER_S, LIVE_MANY_JOBS) * NS_PER_S
		       : MAX_PAUSE_NS;
}

static gint64 pause_after(const TachoFollow *follow)
{
	return (gint64)MIN((gdouble)follow->cost_ns * cost_factor(follow),
			   (gdouble)most_pause_ns(follow));
}

/* Whether what has come since the look before tells that the job goes on: samples are taken while it stands still, too. */
static gboolean is_news(const TachoFollow *follow, guint64 waiting_bytes, gint64 now_ns)
{
	gdouble seconds = (gdouble)(now_ns - follow->looked_ns) / NS_PER_S;
	gdouble usual = follow->pace * seconds / TRICKLE_PART;

	return waiting_bytes > follow->waiting_bytes &&
	       (gdouble)(waiting_bytes - follow->waiting_bytes) > usual;
}

/* (4): whether what has come need not be taken in yet. */
static gboolean may_wait(TachoFollow *follow, gint64 now_ns)
{
	guint64 waiting_bytes = run_window_waiting_bytes(follow->window);

	if (is_news(follow, waiting_bytes, now_ns)) {
		follow->grown_ns = now_ns;
		follow->is_still = FALSE;
	}
	follow->waiting_bytes = waiting_bytes;
	return waiting_bytes && now_ns - follow->grown_ns < QUIET_NS &&
	       follow->n_opened >= FREE_LOOKS && !follow->is_ending && !follow->is_unseen &&
	       !run_window_is_behind(follow->window) &&
	       now_ns - follow->opened_ns <
		       pause_after(follow) - NEAR_NS - (now_ns - follow->looked_ns);
}

/* (4) */
static gboolean is_worth_it(TachoFollow *follow, gint64 now_ns, gboolean is_over)
{
	guint64 bytes = run_window_read_bytes(follow->window);
	gint64 pause_ns = pause_after(follow);

	if (is_over || run_window_is_behind(follow->window) || follow->n_opened < FREE_LOOKS)
		return TRUE;
	if (now_ns - follow->grown_ns >= STILL_NS && !follow->is_still) {
		follow->is_still = TRUE;
		return TRUE;
	}
	if (follow->is_unseen)
		return now_ns - follow->opened_ns >= NS_PER_S;
	if (follow->is_still) /* whether ranks have ended meanwhile */
		return now_ns - follow->opened_ns >= MAX(pause_ns, NS_PER_S);
	return bytes != follow->seen_bytes && now_ns - follow->opened_ns >= pause_ns;
}

/* (5) */
static void pass_over(TachoFollow *follow)
{
	guint n;

	if (!follow->is_sparing || !follow->most_worth || follow->is_several)
		return;
	n = step_window_pass(follow->steps, follow->window, (guint64)follow->most_worth,
			     LEAST_READ);
	if (!n)
		return;
	follow->n_passed += n;
	memory_account_pass(follow->memory);
	FOR_EACH(TachoLiveRank, rank, follow->ranks)
		rank->n_steps += n;
}

/* What opening the window of so many bytes has taken is what the next may take. */
static void note_cost(TachoFollow *follow, gint64 cost_ns, guint64 bytes)
{
	gdouble share_ns = (gdouble)most_pause_ns(follow) / cost_factor(follow);
	gdouble worth = (gdouble)bytes * share_ns / (gdouble)MAX(cost_ns, 1);

	follow->cost_ns = cost_ns;
	follow->most_worth = follow->most_worth ? (follow->most_worth + worth) / 2 : worth;
}

static void note_pace(TachoFollow *follow, guint64 read_bytes, gint64 now_ns)
{
	if (follow->opened_ns && !follow->is_still && read_bytes > follow->seen_bytes)
		follow->pace = (gdouble)(read_bytes - follow->seen_bytes) * NS_PER_S /
			       (gdouble)(now_ns - follow->opened_ns);
}

/* Each look takes twice as much as the one before, however large steps are. */
static guint64 bytes_to_take(const TachoFollow *follow)
{
	if (!follow->is_sparing)
		return follow->look_bytes;
	return MIN(follow->look_bytes, (guint64)FIRST_BYTES << MIN(follow->n_opened, 8));
}

static gboolean look_once(TachoFollow *follow, GError **error)
{
	gint64 now_ns = monotonic_ns(), taken_ns = follow->taken_ns, begun_ns;
	gboolean is_over = follow->is_ending;
	TachoTimeline *timeline;
	guint64 bytes;

	follow->is_taken = !may_wait(follow, now_ns);
	if (!follow->is_taken) {
		follow->looked_ns = now_ns;
		return TRUE;
	}
	if (!run_window_grow(follow->window, bytes_to_take(follow), is_over, error))
		return FALSE;
	follow->waiting_bytes = 0;
	follow->most_bytes = MAX(follow->most_bytes, run_window_bytes(follow->window));
	is_over &= !run_window_is_behind(follow->window);
	follow->looked_ns = now_ns;
	if (!run_window_is_behind(follow->window))
		follow->taken_ns = now_ns;
	if (!is_worth_it(follow, now_ns, is_over)) {
		if (run_window_read_bytes(follow->window) == follow->seen_bytes &&
		    !follow->is_limited)
			follow->known_ns = now_ns;
		return TRUE;
	}
	begun_ns = used_ns();
	follow->is_limited = follow->is_sparing && !is_over && !follow->is_still &&
			     follow->n_opened >= FREE_LOOKS &&
			     !run_window_is_behind(follow->window);
	run_window_limit(follow->window, follow->is_limited);
	pass_over(follow);
	bytes = run_window_bytes(follow->window);
	timeline = run_window_open(follow->window, error);
	if (!timeline)
		return FALSE;
	note_pace(follow, run_window_read_bytes(follow->window), now_ns);
	follow->seen_bytes = run_window_read_bytes(follow->window);
	if (!read_window(follow, timeline))
		return TRUE;
	follow->opened_ns = monotonic_ns();
	if (!run_window_is_behind(follow->window))
		follow->known_ns = follow->is_limited ? taken_ns : now_ns;
	follow->n_opened++;
	note_cost(follow, used_ns() - begun_ns, bytes);
	follow->is_over = is_over;
	return TRUE;
}

gboolean tacho_follow_look(TachoFollow *follow, GError **error)
{
	gboolean was_ending = follow->is_ending, is_read;

	follow->n_new = 0;
	if (follow->is_over)
		return TRUE;
	is_read = look_once(follow, error);
	/* what was found to be over may still have rows to give, which come with the next look */
	if (is_read && follow->is_ending && !was_ending && !follow->n_new)
		is_read = look_once(follow, error);
	if (follow->is_taken)
		run_window_rest(follow->window);
	process_stats_look(follow->stats, follow->ranks);
	return is_read;
}

gboolean tacho_follow_is_over(const TachoFollow *follow)
{
	return follow->is_over;
}

gboolean tacho_follow_is_behind(const TachoFollow *follow)
{
	return run_window_is_behind(follow->window) || (follow->is_ending && !follow->is_over);
}

gint64 tacho_follow_unread_ns(const TachoFollow *follow)
{
	return follow->looked_ns - follow->known_ns;
}

void follow_set_unread_ns(TachoFollow *follow, gint64 unread_ns)
{
	follow->known_ns = follow->looked_ns - unread_ns;
}

void follow_set_beside(TachoFollow *follow, guint n)
{
	follow->n_beside = MAX(n, 1);
}

void follow_set_sparing(TachoFollow *follow, gboolean is_sparing)
{
	follow->is_sparing = is_sparing;
}

void follow_set_worth(TachoFollow *follow, guint64 bytes)
{
	follow->most_worth = (gdouble)bytes;
}

guint64 follow_n_passed(const TachoFollow *follow)
{
	return follow->n_passed;
}

void follow_add_row(TachoFollow *follow, const TachoLiveStep *row)
{
	TachoLiveRank *rank = find_rank(follow, row->rank);

	g_array_append_vals(follow->rows, row, 1);
	follow->n_new = 1;
	rank->n_steps++;
	rank->last_step_unix_ns = row->end_unix_ns;
}

void follow_set_look_bytes(TachoFollow *follow, guint64 bytes)
{
	follow->look_bytes = bytes;
}

/* --- what is known --------------------------------------------------------------------------- */

const GArray *tacho_follow_borrow_steps(const TachoFollow *follow, guint64 *ret_n_dropped)
{
	if (ret_n_dropped)
		*ret_n_dropped = follow->n_dropped;
	return follow->rows;
}

guint tacho_follow_n_new(const TachoFollow *follow)
{
	return follow->n_new;
}

guint tacho_follow_n_beginnings(const TachoFollow *follow)
{
	return follow->n_beginnings;
}

const GArray *tacho_follow_borrow_ranks(const TachoFollow *follow)
{
	return follow->ranks;
}

const GPtrArray *tacho_follow_borrow_collectives(const TachoFollow *follow)
{
	return follow->collectives;
}

gint64 tacho_follow_first_unix_ns(const TachoFollow *follow)
{
	gint64 origin_unix_ns = run_window_origin(follow->window);

	return origin_unix_ns == G_MAXINT64 ? 0 : origin_unix_ns;
}

gint64 tacho_follow_last_unix_ns(const TachoFollow *follow)
{
	return run_window_last_ns(follow->window);
}

const gchar *tacho_follow_command(const TachoFollow *follow)
{
	return follow->command ? follow->command : "";
}

void tacho_follow_costs(const TachoFollow *follow, guint64 *ret_read, guint64 *ret_window,
			guint64 *ret_most)
{
	*ret_read = run_window_read_bytes(follow->window);
	*ret_window = run_window_bytes(follow->window);
	*ret_most = follow->most_bytes;
}
