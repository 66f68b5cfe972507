/* step_view: where each step of each rank goes. */
#include <math.h>
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "analyze/kernel_account.h"
#include "analyze/outside_steps.h"
#include "analyze/rank_activity.h"
#include "analyze/selection.h"
#include "analyze/step_parts.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/quantile.h"
#include "base/time_units.h"
#include "trace/partial_ranks.h"
#include "trace/run_share.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("step", "step"),
	INTEGER_COLUMN("rank", "rank"),
	NUMBER_COLUMN("duration_ms", "ms", 2),
	NUMBER_COLUMN("compute_ms", "compute", 2),
	NUMBER_COLUMN("exposed_communication_ms", "exposed", 2),
	NUMBER_COLUMN("wait_ms", "wait", 2),
	NUMBER_COLUMN("idle_ms", "idle", 2),
	NUMBER_COLUMN("communication_ms", "comm", 2),
	NUMBER_COLUMN("overlap_pct", "overlap %", 0),
	TEXT_COLUMN("state", ""),
	TEXT_COLUMN("system", "by the kernel", .is_flexible = TRUE),
	JSON_NUMBER("data_wait_ms"),
	JSON_NUMBER("start_ms"),
	JSON_TEXT("host"),
};

static const TachoColumn summary_columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	INTEGER_COLUMN("steps", "steps"),
	NUMBER_COLUMN("median_ms", "median ms", 2),
	NUMBER_COLUMN("spread_pct", "± %", 1),
	NUMBER_COLUMN("mean_ms", "mean", 2),
	NUMBER_COLUMN("compute_ms", "compute", 2),
	NUMBER_COLUMN("exposed_communication_ms", "exposed", 2),
	NUMBER_COLUMN("wait_ms", "wait", 2),
	NUMBER_COLUMN("idle_ms", "idle", 2),
	NUMBER_COLUMN("communication_ms", "comm", 2),
	NUMBER_COLUMN("overlap_pct", "overlap %", 0),
	TEXT_COLUMN("state", ""),
	TEXT_COLUMN("system", "by the kernel", .is_flexible = TRUE),
	JSON_NUMBER("data_wait_ms"),
	JSON_TEXT("host"),
};

#define SYSTEM_TOLD_PCT 1.0 /* of a step: what the kernel explains less of is left out */

struct step_parts step_parts_measure(const struct rank_activity *activity, gint64 start_ns,
				     gint64 end_ns)
{
	return (struct step_parts){
		.duration_ns = (gdouble)MAX(end_ns - start_ns, 0),
		.compute_ns = (gdouble)interval_set_measure(&activity->compute, start_ns, end_ns),
		.communication_ns =
			(gdouble)interval_set_measure(&activity->transfer, start_ns, end_ns),
		.exposed_ns = (gdouble)interval_set_measure(&activity->exposed, start_ns, end_ns),
		.wait_ns = (gdouble)interval_set_measure(&activity->wait, start_ns, end_ns),
		.data_wait_ns =
			(gdouble)interval_set_measure(&activity->data_wait, start_ns, end_ns),
	};
}

/* Where a rank's steps go: as its activity tells, or as was known before. */
struct parts_source {
	const struct known_step *known; /* of all ranks; NULL: measured */
	struct rank_activity activity;
	gboolean has_account;
	struct kernel_account account; /* what the kernel explains of it */
	guint at;		       /* `known`: in the timeline's steps */
};

static void parts_source_init(struct parts_source *source, const TachoTimeline *timeline,
			      guint rank_index, GHashTable *collectives,
			      const struct known_step *known)
{
	*source = (struct parts_source){ .known = known };
	if (known)
		return;
	rank_activity_init(&source->activity, timeline, rank_index, collectives);
	source->has_account = kernel_events_are_in(timeline);
	if (source->has_account)
		kernel_account_init(&source->account, timeline, rank_index, &source->activity);
}

static void parts_source_release(struct parts_source *source)
{
	if (!source->known)
		rank_activity_release(&source->activity);
	if (source->has_account)
		kernel_account_release(&source->account);
}

/* NULL: the kernel explains nothing of it. To be freed with g_free(). */
static gchar *system_text(const struct parts_source *source, gint64 begin_ns, gint64 end_ns)
{
	return source->has_account
		       ? kernel_account_text(&source->account, begin_ns, end_ns, SYSTEM_TOLD_PCT)
		       : NULL;
}

/* Steps are asked for in the order in which the timeline has them. */
static struct step_parts parts_of(struct parts_source *source, const TachoTimeline *timeline,
				  const TachoStep *step)
{
	if (!source->known)
		return step_parts_measure(&source->activity, step->start_ns, step->end_ns);
	while (source->at + 1 < timeline->steps->len) {
		const TachoStep *at = &g_array_index(timeline->steps, TachoStep, source->at);

		if (at->rank_index == step->rank_index && at->number == step->number)
			break;
		source->at++;
	}
	return source->known[source->at].parts;
}

static void accumulate(struct step_parts *sum, const struct step_parts *one)
{
	sum->duration_ns += one->duration_ns;
	sum->compute_ns += one->compute_ns;
	sum->communication_ns += one->communication_ns;
	sum->exposed_ns += one->exposed_ns;
	sum->wait_ns += one->wait_ns;
	sum->data_wait_ns += one->data_wait_ns;
}

/* --- what owners of ranks tell each other ----------------------------------------------------- */

#define PART_NUMBERS 6

static void put_parts(gdouble *numbers, const struct step_parts *parts)
{
	const gdouble all[PART_NUMBERS] = { parts->duration_ns,	     parts->compute_ns,
					    parts->communication_ns, parts->exposed_ns,
					    parts->wait_ns,	     parts->data_wait_ns };

	memcpy(numbers, all, sizeof(all));
}

static struct step_parts get_parts(const gdouble *numbers)
{
	return (struct step_parts){ .duration_ns = numbers[0],
				    .compute_ns = numbers[1],
				    .communication_ns = numbers[2],
				    .exposed_ns = numbers[3],
				    .wait_ns = numbers[4],
				    .data_wait_ns = numbers[5] };
}

/* Measure the steps of a rank that is this process's, from `first` in the timeline. */
static void measure_steps(const TachoTimeline *timeline, GHashTable *collectives, guint first,
			  gdouble *numbers)
{
	guint rank_index = g_array_index(timeline->steps, TachoStep, first).rank_index;
	struct rank_activity activity;

	rank_activity_init(&activity, timeline, rank_index, collectives);
	for (guint i = first; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);
		struct step_parts parts;

		if (step->rank_index != rank_index)
			break;
		parts = step_parts_measure(&activity, step->start_ns, step->end_ns);
		put_parts(numbers + (gsize)PART_NUMBERS * i, &parts);
	}
	rank_activity_release(&activity);
}

/* Of several processes, each has measured the steps of its own ranks: those of all, by the timeline's steps, and one more. NULL: this process has them all. */
static struct known_step *share_steps(const TachoTimeline *timeline, GHashTable *collectives)
{
	guint n = timeline->steps->len, last_rank = TACHO_NONE;
	g_autofree gdouble *numbers = NULL;
	struct known_step *known;

	if (!timeline->share)
		return NULL;
	if (kernel_events_are_in(timeline))
		tacho_peers_fail(timeline->share->peers,
				 "what the kernel tells of steps needs one process; run it without "
				 "the launcher");
	numbers = g_new0(gdouble, (gsize)PART_NUMBERS * n + 1);
	for (guint i = 0; i < n; i++) {
		guint rank = g_array_index(timeline->steps, TachoStep, i).rank_index;

		if (rank != last_rank && run_share_owns_rank(timeline, rank))
			measure_steps(timeline, collectives, i, numbers);
		last_rank = rank;
	}
	run_share_sum_reals(timeline, "parts of steps", numbers, PART_NUMBERS * n);
	known = g_new0(struct known_step, (gsize)n + 1);
	for (guint i = 0; i < n; i++)
		known[i].parts = get_parts(numbers + (gsize)PART_NUMBERS * i);
	return known;
}

/* What the rank did in none of its steps. */
static struct step_parts measure_outside(const TachoTimeline *timeline, GHashTable *collectives,
					 guint rank_index)
{
	struct step_parts sum = { 0 };
	struct rank_activity activity;
	struct interval_set moments;
	gdouble numbers[PART_NUMBERS] = { 0 };

	if (!run_share_owns_rank(timeline, rank_index)) {
		run_share_sum_reals(timeline, "parts outside steps", numbers, PART_NUMBERS);
		return get_parts(numbers);
	}
	rank_activity_init(&activity, timeline, rank_index, collectives);
	outside_steps_moments(timeline, rank_index, &moments);
	for (guint i = 0; i < moments.intervals->len; i++) {
		struct interval at = g_array_index(moments.intervals, struct interval, i);
		struct step_parts parts = step_parts_measure(&activity, at.begin_ns, at.end_ns);

		accumulate(&sum, &parts);
	}
	interval_set_release(&moments);
	rank_activity_release(&activity);
	put_parts(numbers, &sum);
	run_share_sum_reals(timeline, "parts outside steps", numbers, PART_NUMBERS);
	return sum;
}

static gdouble idle_ns(const struct step_parts *parts)
{
	return parts->duration_ns - parts->compute_ns - parts->exposed_ns - parts->wait_ns;
}

static void add_overlap(TachoTable *table, const struct step_parts *parts)
{
	table_number_if(table, parts->communication_ns,
			100.0 * (parts->communication_ns - parts->exposed_ns) /
				parts->communication_ns);
}

/* The cells that both tables have in the middle, as means over `n` steps. What a partial rank does beside its collectives
 * is not known. */
static void add_breakdown(TachoTable *table, const struct step_parts *parts, guint n,
			  gboolean is_partial)
{
	tacho_table_number(table, MS(parts->duration_ns) / n);
	tacho_table_number(table, is_partial ? NAN : MS(parts->compute_ns) / n);
	tacho_table_number(table, MS(parts->exposed_ns) / n);
	tacho_table_number(table, MS(parts->wait_ns) / n);
	tacho_table_number(table, is_partial ? NAN : MS(idle_ns(parts)) / n);
	tacho_table_number(table, MS(parts->communication_ns) / n);
	add_overlap(table, parts);
}

static const gchar *state_name(StepState state)
{
	static const gchar *const names[] = { "steady", "warm-up", "incomplete" };

	return names[state];
}

static const gchar *host_of(const TachoTimeline *timeline, guint rank_index)
{
	return tacho_timeline_string(timeline, tacho_timeline_rank(timeline, rank_index)->host);
}

static void add_step(TachoTable *table, const struct selection *selection,
		     struct parts_source *source, const TachoStep *step)
{
	const TachoTimeline *timeline = selection->timeline;
	struct step_parts parts = parts_of(source, timeline, step);
	g_autofree gchar *system = system_text(source, step->start_ns, step->end_ns);

	tacho_table_row(table);
	tacho_table_integer(table, step->number);
	table_rank(table, timeline, step->rank_index);
	add_breakdown(table, &parts, 1, rank_is_partial(timeline, step->rank_index));
	tacho_table_text(table, state_name(selection_step_state(selection, step)));
	tacho_table_text(table, system);
	tacho_table_number(table, MS(parts.data_wait_ns));
	tacho_table_number(table, MS(step->start_ns));
	tacho_table_text(table, host_of(timeline, step->rank_index));
}

#define OUTSIDE "outside steps" /* the state of the row that is no step */

static void add_outside(TachoTable *table, const TachoTimeline *timeline, guint rank_index,
			GHashTable *collectives)
{
	struct step_parts parts = measure_outside(timeline, collectives, rank_index);

	tacho_table_row(table);
	tacho_table_null(table);
	table_rank(table, timeline, rank_index);
	add_breakdown(table, &parts, 1, rank_is_partial(timeline, rank_index));
	tacho_table_text(table, OUTSIDE);
	tacho_table_null(table);
	tacho_table_number(table, MS(parts.data_wait_ns));
	tacho_table_null(table);
	tacho_table_text(table, host_of(timeline, rank_index));
}

/* Steps asked for by number, else all: warm-up and incomplete ones too, told apart by `state`. */
static gboolean is_listed(const TachoFilter *filter, const TachoStep *step)
{
	return step->number >= filter->first_step &&
	       (filter->last_step < 0 || step->number <= filter->last_step);
}

/* The listed steps of one rank, from `first` in the timeline; returns where the next's begin. */
static guint add_steps(TachoTable *table, const struct selection *selection,
		       GHashTable *collectives, guint first, const struct known_step *known)
{
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = g_array_index(timeline->steps, TachoStep, first).rank_index;
	gboolean is_taken = selection_takes_rank(selection, rank_index);
	struct parts_source source;
	guint i;

	if (is_taken)
		parts_source_init(&source, timeline, rank_index, collectives, known);
	for (i = first; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

		if (step->rank_index != rank_index)
			break;
		if (is_taken && is_listed(selection->filter, step) &&
		    !(known && known[i].is_left_out))
			add_step(table, selection, &source, step);
	}
	if (is_taken)
		parts_source_release(&source);
	return i;
}

TachoTable *tacho_view_step(const TachoTimeline *timeline, const TachoFilter *filter)
{
	return step_view_of_known(timeline, filter, NULL);
}

TachoTable *step_view_of_known(const TachoTimeline *timeline, const TachoFilter *filter,
			       const struct known_step *known)
{
	TachoTable *table = tacho_table_new("step", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) collectives = index_collectives(timeline);
	g_autofree struct known_step *shared = known ? NULL : share_steps(timeline, collectives);
	struct selection selection;

	if (known || !kernel_events_are_in(timeline))
		table_hide_column(table, "system");
	selection_init(&selection, timeline, filter);
	for (guint i = 0; i < timeline->steps->len;)
		i = add_steps(table, &selection, collectives, i, known ? known : shared);
	tacho_table_sort(table, "step", FALSE);
	for (guint rank = 0; selection.filter->is_whole && rank < timeline->ranks->len; rank++)
		if (selection_takes_rank(&selection, rank))
			add_outside(table, timeline, rank, collectives);
	if (!known)
		outside_steps_note(&selection, table);
	if (timeline->steps->len == 0)
		selection_note(&selection, table);
	else
		selection_note_partial(&selection, table);
	selection_release(&selection);
	return table;
}

static void add_rank(TachoTable *table, const struct selection *selection, GHashTable *collectives,
		     guint rank_index, struct step_parts *total, const struct known_step *known)
{
	const TachoTimeline *timeline = selection->timeline;
	guint first = selection->first_of_rank[rank_index];
	guint n = selection->first_of_rank[rank_index + 1] - first;
	g_autoptr(GArray) durations = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) stretches = selection_stretches(selection, rank_index);
	g_autofree gchar *system = NULL;
	struct parts_source source;
	struct step_parts sum = { 0 };
	gdouble median_ns;

	if (n == 0)
		return;
	parts_source_init(&source, timeline, rank_index, collectives, known);
	for (guint i = first; i < first + n; i++) {
		const TachoStep *step = &g_array_index(selection->chosen, TachoStep, i);
		struct step_parts parts = parts_of(&source, timeline, step);
		gint64 duration_ns = step->end_ns - step->start_ns;

		accumulate(&sum, &parts);
		g_array_append_val(durations, duration_ns);
	}
	if (source.has_account)
		system = kernel_account_mean_text(&source.account, stretches, SYSTEM_TOLD_PCT);
	parts_source_release(&source);
	if (!rank_is_partial(timeline, rank_index))
		accumulate(total, &sum);
	median_ns = quantile(durations, 0.5);
	tacho_table_row(table);
	table_rank(table, timeline, rank_index);
	tacho_table_integer(table, n);
	tacho_table_number(table, MS(median_ns));
	tacho_table_number(table, 50.0 * (quantile(durations, 0.9) - quantile(durations, 0.1)) /
					  median_ns);
	add_breakdown(table, &sum, n, rank_is_partial(timeline, rank_index));
	tacho_table_null(table);
	tacho_table_text(table, system);
	tacho_table_number(table, MS(sum.data_wait_ns) / n);
	tacho_table_text(table, host_of(timeline, rank_index));
}

/* The same of what no step holds, all of it as one. */
static void add_rank_outside(TachoTable *table, const TachoTimeline *timeline, guint rank_index,
			     GHashTable *collectives)
{
	struct step_parts parts = measure_outside(timeline, collectives, rank_index);

	tacho_table_row(table);
	table_rank(table, timeline, rank_index);
	for (guint i = 0; i < 3; i++) /* steps, median and spread */
		tacho_table_null(table);
	add_breakdown(table, &parts, 1, rank_is_partial(timeline, rank_index));
	tacho_table_text(table, OUTSIDE);
	tacho_table_null(table);
	tacho_table_number(table, MS(parts.data_wait_ns));
	tacho_table_text(table, host_of(timeline, rank_index));
}

static void note_shares(TachoTable *table, const struct step_parts *total)
{
	gdouble whole = (gdouble)total->duration_ns / 100.0;

	if (total->duration_ns == 0)
		return;
	tacho_table_note(table,
			 "A step is %.0f %% compute, %.0f %% exposed communication, "
			 "%.0f %% waiting for a late rank and %.0f %% idle (data loading %.0f %%).",
			 (gdouble)total->compute_ns / whole, (gdouble)total->exposed_ns / whole,
			 (gdouble)total->wait_ns / whole, (gdouble)idle_ns(total) / whole,
			 (gdouble)total->data_wait_ns / whole);
}

TachoTable *tacho_view_step_summary(const TachoTimeline *timeline, const TachoFilter *filter)
{
	return step_summary_of_known(timeline, filter, NULL);
}

TachoTable *step_summary_of_known(const TachoTimeline *timeline, const TachoFilter *filter,
				  const struct known_step *known)
{
	TachoTable *table =
		tacho_table_new("step_summary", summary_columns, G_N_ELEMENTS(summary_columns));
	g_autoptr(GHashTable) collectives = index_collectives(timeline);
	TachoFilter by_step = TACHO_FILTER_INIT;
	gboolean is_whole = filter && filter->is_whole;
	struct step_parts total = { 0 };
	struct selection selection;
	g_autofree struct known_step *shared = known ? NULL : share_steps(timeline, collectives);

	if (filter)
		by_step = *filter;
	by_step.is_whole = FALSE;
	if (is_whole)
		by_step.first_step = 0; /* warm-up, too */
	else
		table_hide_column(table, "state");
	if (known || !kernel_events_are_in(timeline))
		table_hide_column(table, "system");
	selection_init(&selection, timeline, &by_step);
	for (guint rank = 0; rank < timeline->ranks->len; rank++) {
		add_rank(table, &selection, collectives, rank, &total, known ? known : shared);
		if (is_whole && selection_takes_rank(&selection, rank))
			add_rank_outside(table, timeline, rank, collectives);
	}
	note_shares(table, &total);
	if (tacho_step_source(timeline) == TACHO_STEPS_PERIOD)
		tacho_table_note(table, "The trace does not mark its steps; they were found where "
					"the sequence of operations repeats.");
	selection_note(&selection, table);
	if (!known)
		outside_steps_note(&selection, table);
	selection_release(&selection);
	return table;
}
