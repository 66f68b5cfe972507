/* straggler_view: which rank the others wait for, how long, and what it does longer than they.
 *
 * late_ranks.h says who is late. What a rank does longer is told, in means over the same steps, against the rank
 * that does it shortest. Waiting is no such thing: who is late waits least.
 *
 * Every collective is waited for as much as it waits: caused_wait_ms and waited_ms have the same sum.
 *
 * Meta's Holistic Trace Analysis finds stragglers by when the last long communication kernel of each step
 * begins, for want of matched collectives. */
#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "analyze/late_ranks.h"
#include "analyze/rank_activity.h"
#include "analyze/rank_work.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/time_units.h"
#include "trace/partial_ranks.h"
#include "trace/run_share.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	INTEGER_COLUMN("collectives", "collectives"),
	INTEGER_COLUMN("late", "last"),
	NUMBER_COLUMN("late_pct", "%", 0),
	NUMBER_COLUMN("late_mean_ms", "by ms", 2),
	NUMBER_COLUMN("caused_wait_ms", "waited for", 2),
	NUMBER_COLUMN("waited_ms", "waits", 2),
	NUMBER_COLUMN("net_wait_ms", "net", 2),
	NUMBER_COLUMN("compute_ms", "compute", 2),
	NUMBER_COLUMN("data_wait_ms", "data", 2),
	NUMBER_COLUMN("idle_ms", "idle", 2),
	NUMBER_COLUMN("longer_ms", "longer by", 2),
	TEXT_COLUMN("longer_in", "in"),
	TEXT_COLUMN("longer_work", "above all", .is_flexible = TRUE),
	JSON_NUMBER("longer_work_ms"),
	JSON_TEXT("host"),
	JSON_BOOLEAN("stands_out"),
	JSON_BOOLEAN("is_sure"),
};

enum { PART_COMPUTE, PART_DATA, PART_IDLE, N_PARTS };
static const gchar *const part_names[N_PARTS] = { "compute", "data loading", "idle" };

struct share {
	guint n_stretches;
	gdouble parts_ns[N_PARTS]; /* means over the stretches; IDLE is without DATA */
	gboolean is_partial;	   /* its parts are not known */
};

/* --- what it does longer ---------------------------------------------------------------------- */

static void measure_stretch(struct share *rank, const struct rank_activity *activity,
			    const struct interval *stretch)
{
	gint64 begin_ns = stretch->begin_ns, end_ns = stretch->end_ns;
	gdouble parts_ns[N_PARTS] = {
		[PART_COMPUTE] =
			(gdouble)interval_set_measure(&activity->compute, begin_ns, end_ns),
		[PART_DATA] = (gdouble)interval_set_measure(&activity->data_wait, begin_ns, end_ns),
	};
	gdouble others_ns = (gdouble)interval_set_measure(&activity->exposed, begin_ns, end_ns) +
			    (gdouble)interval_set_measure(&activity->wait, begin_ns, end_ns);

	parts_ns[PART_IDLE] = (gdouble)(end_ns - begin_ns) - parts_ns[PART_COMPUTE] -
			      parts_ns[PART_DATA] - others_ns;
	for (guint part = 0; part < N_PARTS; part++)
		rank->parts_ns[part] += parts_ns[part] / rank->n_stretches;
}

static void measure_rank(const struct selection *selection, struct share *rank, guint rank_index,
			 GHashTable *collectives)
{
	g_autoptr(GArray) stretches = selection_stretches(selection, rank_index);
	struct rank_activity activity;

	rank->n_stretches = stretches->len;
	rank->is_partial = rank_is_partial(selection->timeline, rank_index);
	if (stretches->len == 0 || rank->is_partial ||
	    !run_share_owns_rank(selection->timeline, rank_index))
		return;
	rank_activity_init(&activity, selection->timeline, rank_index, collectives);
	for (guint i = 0; i < stretches->len; i++)
		measure_stretch(rank, &activity, &g_array_index(stretches, struct interval, i));
	rank_activity_release(&activity);
}

static void measure_ranks(const struct selection *selection, struct share *ranks,
			  GHashTable *collectives)
{
	guint n_ranks = selection->timeline->ranks->len;
	g_autofree gdouble *parts_ns = g_new0(gdouble, (gsize)n_ranks * N_PARTS + 1);

	for (guint i = 0; i < n_ranks; i++) {
		measure_rank(selection, &ranks[i], i, collectives);
		memcpy(parts_ns + (gsize)i * N_PARTS, ranks[i].parts_ns, sizeof(ranks[i].parts_ns));
	}
	run_share_tell_reals(selection->timeline, "parts of ranks", parts_ns, n_ranks * N_PARTS);
	for (guint i = 0; i < n_ranks; i++)
		memcpy(ranks[i].parts_ns, parts_ns + (gsize)i * N_PARTS, sizeof(ranks[i].parts_ns));
}

/* The part in which the rank is furthest behind the quickest one, and by how much; -1: in none, or not known. */
static gint find_longer(const struct share *ranks, guint n_ranks, guint rank,
			gdouble *ret_longer_ns)
{
	gint longest = -1;

	*ret_longer_ns = ranks[rank].is_partial ? NAN : 0;
	for (gint part = 0; part < N_PARTS && !ranks[rank].is_partial; part++) {
		gdouble least_ns = ranks[rank].parts_ns[part];

		for (guint i = 0; i < n_ranks; i++)
			if (ranks[i].n_stretches && !ranks[i].is_partial)
				least_ns = MIN(least_ns, ranks[i].parts_ns[part]);
		if (ranks[rank].parts_ns[part] - least_ns > *ret_longer_ns) {
			*ret_longer_ns = ranks[rank].parts_ns[part] - least_ns;
			longest = part;
		}
	}
	return longest;
}

/* Where it computes longer: the operation or kernel in which most. */
static void add_longer_work(TachoTable *table, const TachoTimeline *timeline,
			    const struct rank_work *work, guint rank)
{
	gdouble longer_ns;
	const gchar *name = rank_work_longest(work, timeline, rank, &longer_ns);

	tacho_table_text(table, name);
	table_number_if(table, name, MS(longer_ns));
}

/* --- the table -------------------------------------------------------------------------------- */

static gdouble ratio(gdouble part, gdouble whole)
{
	return whole > 0 ? part / whole : (gdouble)NAN;
}

static void add_lateness(TachoTable *table, const struct late_rank *rank, gdouble n_steps)
{
	tacho_table_integer(table, (gint64)rank->n_collectives);
	tacho_table_integer(table, (gint64)rank->n_last);
	tacho_table_number(table, 100 * ratio((gdouble)rank->n_last, (gdouble)rank->n_collectives));
	tacho_table_number(table, MS(ratio(rank->last_ns, (gdouble)rank->n_last)));
	tacho_table_number(table, MS(ratio(rank->caused_ns, n_steps)));
	tacho_table_number(table, MS(ratio(rank->waited_ns, n_steps)));
	tacho_table_number(table, MS(ratio(rank->net_ns, n_steps)));
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, const struct share *ranks,
		    const struct late_ranks *late, const struct rank_work *work, guint index)
{
	const struct share *rank = &ranks[index];
	const TachoRank *of = tacho_timeline_rank(timeline, index);
	gdouble longer_ns;
	gint longer = find_longer(ranks, timeline->ranks->len, index, &longer_ns);

	tacho_table_row(table);
	tacho_table_integer(table, of->rank);
	add_lateness(table, late_ranks_at(late, index), rank->n_stretches);
	if (rank->is_partial) {
		for (guint part = 0; part < N_PARTS; part++)
			tacho_table_null(table);
	} else {
		tacho_table_number(table, MS(rank->parts_ns[PART_COMPUTE]));
		tacho_table_number(table, MS(rank->parts_ns[PART_DATA]));
		tacho_table_number(table,
				   MS(rank->parts_ns[PART_IDLE] + rank->parts_ns[PART_DATA]));
	}
	tacho_table_number(table, MS(longer_ns));
	tacho_table_text(table, longer < 0 ? NULL : part_names[longer]);
	if (longer == PART_COMPUTE) {
		add_longer_work(table, timeline, work, index);
	} else {
		tacho_table_null(table);
		tacho_table_null(table);
	}
	tacho_table_text(table, tacho_timeline_string(timeline, of->host));
	tacho_table_boolean(table, late->late == index);
	table_boolean_if(table, late->late == index, late->is_sure);
}

static gboolean has_clock_apart(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->clocks->len; i++)
		if (g_array_index(timeline->clocks, TachoClock, i).state == TACHO_CLOCK_APART)
			return TRUE;
	return FALSE;
}

/* Lateness is a difference between two ranks' clocks. */
static void note_clocks(TachoTable *table, const TachoTimeline *timeline)
{
	gint64 doubt_ns = 0;

	for (guint i = 0; i < timeline->clocks->len; i++)
		doubt_ns = MAX(doubt_ns,
			       g_array_index(timeline->clocks, TachoClock, i).uncertainty_ns);
	if (has_clock_apart(timeline))
		tacho_table_note(table, "The clocks of some ranks could not be aligned, so it is "
					"not known which of these was late.");
	else if (doubt_ns > 0)
		tacho_table_note(table,
				 "The clocks of the hosts are accurate to %.3f ms; lateness below "
				 "that means nothing.",
				 MS(doubt_ns));
}

static void note_unknown(TachoTable *table, const TachoTimeline *timeline)
{
	tacho_table_note(table, has_clock_apart(timeline)
					? "No collective was recorded on ranks with aligned "
					  "clocks, so it is not known who was late."
					: "No collective was recorded on all its ranks, so it is "
					  "not known who was late.");
}

static void note_lateness(TachoTable *table, const struct selection *selection,
			  const struct late_ranks *late)
{
	const TachoTimeline *timeline = selection->timeline;

	late_ranks_note(late, selection, table);
	if (late->caused_ns > 0)
		tacho_table_note(
			table,
			"Times are per step, except \"by ms\". \"net\" is how much longer the "
			"others wait than the rank. \"longer by\" compares with the fastest rank.");
	if (timeline->ranks->len < 2)
		tacho_table_note(table, "Only one rank was recorded, so no rank waits for it.");
	else if (late->n_collectives)
		note_clocks(table, timeline);
	else
		note_unknown(table, timeline);
}

static void add_rows(TachoTable *table, const struct selection *selection,
		     const struct share *ranks, const struct late_ranks *late, gint32 shown_rank)
{
	const TachoTimeline *timeline = selection->timeline;
	guint n_ranks = timeline->ranks->len;
	g_autofree guint *n_stretches = g_new(guint, n_ranks);
	struct rank_work work;

	for (guint i = 0; i < n_ranks; i++)
		n_stretches[i] = ranks[i].n_stretches;
	rank_work_init(&work, selection, n_stretches);
	for (guint i = 0; i < n_ranks; i++)
		if (n_stretches[i] &&
		    (shown_rank < 0 || tacho_timeline_rank(timeline, i)->rank == shown_rank))
			add_row(table, timeline, ranks, late, &work, i);
	rank_work_release(&work);
	tacho_table_sort(table, "net_wait_ms", TRUE);
	tacho_table_sort(table, "stands_out", TRUE);
}

/* Who is late is a question to all ranks; the filter's says whose rows are shown. */
TachoTable *tacho_view_straggler(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("straggler", columns, G_N_ELEMENTS(columns));
	g_autofree struct share *ranks = g_new0(struct share, MAX(timeline->ranks->len, 1u));
	g_autoptr(GHashTable) collectives = index_collectives(timeline);
	g_autoptr(late_ranks) late = NULL;
	g_autoptr(GArray) rows = NULL;
	TachoFilter all_ranks = TACHO_FILTER_INIT;
	struct selection selection;

	if (filter)
		all_ranks = *filter;
	all_ranks.rank = -1;
	selection_init(&selection, timeline, &all_ranks);
	rows = late_ranks_rows(&selection);
	late = late_ranks_new(&selection, rows);
	measure_ranks(&selection, ranks, collectives);
	if (timeline->ranks->len > 1)
		add_rows(table, &selection, ranks, late, filter ? filter->rank : -1);
	note_lateness(table, &selection, late);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
