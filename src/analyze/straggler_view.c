/* straggler_view: which rank the others wait for, how long, and what it does longer than they.
 *
 * A collective waits for the rank that queued it last; what that costs is how long each of the others had
 * waited for it by then. What a rank does longer is told, in means over the same steps, against the rank
 * that does it shortest. Waiting is no such thing: who is late waits least.
 *
 * (1) Only collectives that were seen on all their ranks say who was last.
 * (2) Every collective is waited for as much as it waits: caused_wait_ms and waited_ms have the same sum.
 *
 * Meta's Holistic Trace Analysis finds stragglers by when the last long communication kernel of each step
 * begins, for want of matched collectives. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/rank_activity.h"
#include "analyze/rank_work.h"
#include "analyze/selection.h"

#define MS(ns) ((gdouble)(ns) / 1e6)

static const TachoColumn columns[] = {
	{ .key = "rank", .title = "rank", .type = TACHO_COLUMN_INTEGER },
	{ .key = "collectives", .title = "collectives", .type = TACHO_COLUMN_INTEGER },
	{ .key = "late", .title = "last", .type = TACHO_COLUMN_INTEGER },
	{ .key = "late_pct", .title = "%", .type = TACHO_COLUMN_NUMBER, .decimals = 0 },
	{ .key = "late_mean_ms", .title = "by ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "caused_wait_ms",
	  .title = "waited for",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 2 },
	{ .key = "waited_ms", .title = "waits", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "compute_ms", .title = "compute", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "data_wait_ms", .title = "data", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "idle_ms", .title = "idle", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "longer_ms", .title = "longer by", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "longer_in", .title = "in", .type = TACHO_COLUMN_TEXT },
	{ .key = "longer_work",
	  .title = "above all",
	  .type = TACHO_COLUMN_TEXT,
	  .is_flexible = TRUE },
	{ .key = "longer_work_ms", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
	{ .key = "host", .type = TACHO_COLUMN_TEXT, .is_json_only = TRUE },
};

enum { PART_COMPUTE, PART_DATA, PART_IDLE, N_PARTS };
static const gchar *const part_names[N_PARTS] = { "compute", "data loading", "idle" };

struct lateness {
	guint64 n_collectives, n_last;
	gdouble late_ns;   /* sum over those it was last in of the others' mean waiting */
	gdouble caused_ns; /* sum of all the others' waiting */
	gdouble waited_ns;
	guint n_stretches;
	gdouble parts_ns[N_PARTS]; /* means over the stretches; IDLE is without DATA */
};

/* --- who was late ----------------------------------------------------------------------------- */

static guint32 member_slice(const TachoTimeline *timeline, const TachoCollective *collective,
			    guint32 i)
{
	return g_array_index(timeline->members, guint32, collective->first_member + i);
}

static guint rank_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_slice_process(timeline, slice)->rank_index;
}

/* The member that was queued last, or TACHO_NONE where that is not known. */
static guint32 last_member(const TachoTimeline *timeline, const TachoCollective *collective)
{
	guint32 last = TACHO_NONE;

	if (collective->n_members < 2 || collective->n_members != collective->n_expected)
		return TACHO_NONE;
	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice = member_slice(timeline, collective, i);

		if (last == TACHO_NONE ||
		    timeline->slices.start_ns[slice] > timeline->slices.start_ns[last])
			last = slice;
	}
	return last;
}

static void count_collective(const struct selection *selection, struct lateness *ranks,
			     const TachoCollective *collective)
{
	const TachoTimeline *timeline = selection->timeline;
	guint32 last = last_member(timeline, collective);
	gdouble caused_ns = 0;
	struct lateness *late;
	guint cursor = 0;

	if (last == TACHO_NONE || !selection_takes_time(selection, rank_of(timeline, last),
							timeline->slices.start_ns[last], &cursor))
		return;
	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice = member_slice(timeline, collective, i);
		struct lateness *rank = &ranks[rank_of(timeline, slice)];
		gdouble waited_ns = (gdouble)(timeline->slices.start_ns[last] -
					      timeline->slices.start_ns[slice]);

		rank->n_collectives++;
		rank->waited_ns += waited_ns;
		caused_ns += waited_ns;
	}
	late = &ranks[rank_of(timeline, last)];
	late->n_last++;
	late->caused_ns += caused_ns;
	late->late_ns += caused_ns / (collective->n_members - 1);
}

static void count_collectives(const struct selection *selection, struct lateness *ranks)
{
	const TachoTimeline *timeline = selection->timeline;

	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *collective =
			&g_array_index(timeline->collectives, TachoCollective, i);

		if (selection_takes_name(selection,
					 tacho_timeline_string(timeline, collective->name)))
			count_collective(selection, ranks, collective);
	}
}

/* --- what it does longer ---------------------------------------------------------------------- */

static void measure_stretch(struct lateness *rank, const struct rank_activity *activity,
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

static void measure_rank(const struct selection *selection, struct lateness *rank, guint rank_index,
			 GHashTable *collectives)
{
	g_autoptr(GArray) stretches = selection_stretches(selection, rank_index);
	struct rank_activity activity;

	rank->n_stretches = stretches->len;
	if (stretches->len == 0)
		return;
	rank_activity_init(&activity, selection->timeline, rank_index, collectives);
	for (guint i = 0; i < stretches->len; i++)
		measure_stretch(rank, &activity, &g_array_index(stretches, struct interval, i));
	rank_activity_release(&activity);
}

/* The part in which the rank is furthest behind the quickest one, and by how much; -1: in none. */
static gint find_longer(const struct lateness *ranks, guint n_ranks, guint rank,
			gdouble *ret_longer_ns)
{
	gint longest = -1;

	*ret_longer_ns = 0;
	for (gint part = 0; part < N_PARTS; part++) {
		gdouble least_ns = ranks[rank].parts_ns[part];

		for (guint i = 0; i < n_ranks; i++)
			if (ranks[i].n_stretches)
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
	if (name)
		tacho_table_number(table, MS(longer_ns));
	else
		tacho_table_null(table);
}

/* --- the table -------------------------------------------------------------------------------- */

static gdouble ratio(gdouble part, gdouble whole)
{
	return whole > 0 ? part / whole : (gdouble)NAN;
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, const struct lateness *ranks,
		    const struct rank_work *work, guint index)
{
	const struct lateness *rank = &ranks[index];
	const TachoRank *of = &g_array_index(timeline->ranks, TachoRank, index);
	gdouble longer_ns, n = rank->n_stretches;
	gint longer = find_longer(ranks, timeline->ranks->len, index, &longer_ns);

	tacho_table_row(table);
	tacho_table_integer(table, of->rank);
	tacho_table_integer(table, (gint64)rank->n_collectives);
	tacho_table_integer(table, (gint64)rank->n_last);
	tacho_table_number(table, 100 * ratio((gdouble)rank->n_last, (gdouble)rank->n_collectives));
	tacho_table_number(table, MS(ratio(rank->late_ns, (gdouble)rank->n_last)));
	tacho_table_number(table, MS(ratio(rank->caused_ns, n)));
	tacho_table_number(table, MS(ratio(rank->waited_ns, n)));
	tacho_table_number(table, MS(rank->parts_ns[PART_COMPUTE]));
	tacho_table_number(table, MS(rank->parts_ns[PART_DATA]));
	tacho_table_number(table, MS(rank->parts_ns[PART_IDLE] + rank->parts_ns[PART_DATA]));
	tacho_table_number(table, MS(longer_ns));
	tacho_table_text(table, longer < 0 ? NULL : part_names[longer]);
	if (longer == PART_COMPUTE) {
		add_longer_work(table, timeline, work, index);
	} else {
		tacho_table_null(table);
		tacho_table_null(table);
	}
	tacho_table_text(table, tacho_timeline_string(timeline, of->host));
}

static guint most_waited_for(const struct lateness *ranks, guint n_ranks)
{
	guint most = 0;

	for (guint i = 1; i < n_ranks; i++)
		if (ranks[i].caused_ns > ranks[most].caused_ns)
			most = i;
	return most;
}

static void note_most(TachoTable *table, const TachoTimeline *timeline,
		      const struct lateness *ranks)
{
	guint most = most_waited_for(ranks, timeline->ranks->len);
	gdouble caused_ns = 0;

	for (guint i = 0; i < timeline->ranks->len; i++)
		caused_ns += ranks[i].caused_ns;
	if (caused_ns > 0)
		tacho_table_note(
			table,
			"%.0f %% of all waiting for a late rank is for rank %d. Times but "
			"\"by ms\" are a step; \"longer by\" is against the quickest rank.",
			100.0 * ranks[most].caused_ns / caused_ns,
			g_array_index(timeline->ranks, TachoRank, most).rank);
}

/* Lateness is a difference between two ranks' clocks. */
static void note_clocks(TachoTable *table, const TachoTimeline *timeline)
{
	gint64 doubt_ns = 0;
	gboolean is_apart = FALSE;

	for (guint i = 0; i < timeline->clocks->len; i++) {
		const TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, i);

		is_apart |= clock->state == TACHO_CLOCK_APART;
		doubt_ns = MAX(doubt_ns, clock->uncertainty_ns);
	}
	if (is_apart)
		tacho_table_note(table, "Some ranks' clocks could not be aligned: between them it "
					"is not known who was late.");
	else if (doubt_ns > 0)
		tacho_table_note(
			table,
			"The clocks of the hosts are right to %.3f ms; lateness below that "
			"says nothing.",
			MS(doubt_ns));
}

static void note_lateness(TachoTable *table, const struct selection *selection,
			  const struct lateness *ranks)
{
	const TachoTimeline *timeline = selection->timeline;
	guint64 n = 0;

	for (guint i = 0; i < timeline->ranks->len; i++)
		n += ranks[i].n_collectives;
	if (timeline->ranks->len < 2)
		tacho_table_note(table, "Only one rank was recorded: nobody waits for it.");
	else if (n)
		note_clocks(table, timeline);
	else
		tacho_table_note(table, "No collective there was seen on all its ranks: who was "
					"late is not known.");
}

static void add_rows(TachoTable *table, const struct selection *selection,
		     const struct lateness *ranks, gint32 shown_rank)
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
		    (shown_rank < 0 ||
		     g_array_index(timeline->ranks, TachoRank, i).rank == shown_rank))
			add_row(table, timeline, ranks, &work, i);
	rank_work_release(&work);
	tacho_table_sort(table, "caused_wait_ms", TRUE);
}

/* Who is late is a question to all ranks; the filter's says whose rows are shown. */
TachoTable *tacho_view_straggler(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("straggler", columns, G_N_ELEMENTS(columns));
	g_autofree struct lateness *ranks = g_new0(struct lateness, MAX(timeline->ranks->len, 1u));
	g_autoptr(GHashTable) collectives = index_collectives(timeline);
	TachoFilter all_ranks = TACHO_FILTER_INIT;
	struct selection selection;

	if (filter)
		all_ranks = *filter;
	all_ranks.rank = -1;
	selection_init(&selection, timeline, &all_ranks);
	count_collectives(&selection, ranks);
	for (guint i = 0; i < timeline->ranks->len; i++)
		measure_rank(&selection, &ranks[i], i, collectives);
	if (timeline->ranks->len > 1)
		add_rows(table, &selection, ranks, filter ? filter->rank : -1);
	note_most(table, timeline, ranks);
	note_lateness(table, &selection, ranks);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
