/* late_ranks: which rank the others wait for, by the time that is waited.
 *
 * A collective waits for the rank that queues it last. How late a rank is, is how much longer the others wait in its
 * collectives, on average, than it does itself, summed up (net_ns):
 *
 *     rank 0  |wait 40..........|        net: 15 - 40 = -25
 *     rank 1        |wait 30....|             20 - 30 = -10
 *     rank 2                    |  last:      35 -  0 =  35
 *
 * (1) Only collectives that were seen on all their ranks count, whose clocks can be compared. A wait is never longer
 *     than the member's part in the collective: the root of a broadcast may be done before others have come.
 * (2) Where a rank waits in several collectives at once, a moment counts once, for the one that is over first.
 * (3) The net times of all ranks add up to 0. A rank that is held up itself, and so comes late to the next collective, has
 *     waited as long as it is waited for, and its net is 0: who made it late is named.
 * (4) A rank stands out whose net time is STANDS_OUT or more of what it is at most: what the others would wait if it
 *     alone were late, every time. It stands out, too, with MIN_SHARE or more where chance explains that less often than
 *     once in 1 / LEVEL: by Student's t, which finds lateness that is even, or Wilcoxon's signed ranks, which find it among
 *     a few large waits for others. Both are of steps, or of collectives where there are few steps, and share the
 *     level among them and all ranks. If several stand out, the one with most net time is named.
 * (5) Where most of that waiting is no longer than the clocks of the members are uncertain, it is a guess, and said to be. */
#include "analyze/late_ranks.h"

#include <math.h>

#include "analyze/mean_difference.h"
#include "base/for_each.h"
#include "base/interval_set.h"
#include "base/order.h"
#include "base/student_t.h"
#include "base/time_units.h"

#define STANDS_OUT   0.8
#define MIN_SHARE    0.1
#define LEVEL	     0.05
#define MIN_SAMPLES  5
#define MIN_RANKED   8	 /* from here on the sum of signed ranks is normal */
#define MANY	     1e6 /* degrees of freedom: Student's t is normal */
#define MIN_EVIDENCE 5	 /* collectives; fewer are told with the answer */

struct weighing {
	const struct selection *selection;
	struct late_ranks *late;
	GPtrArray *waits; /* GArray of struct interval, by rank index: what it has waited */
	guint *cursors;	  /* by rank index */
	gint64 step;	  /* at work; -1: none */
	gdouble hold_ns;  /* what net_ns is at most */
};

/* --- one collective ---------------------------------------------------------------------------- */

static guint32 member_at(const TachoTimeline *timeline, const TachoCollective *row, guint32 i)
{
	return g_array_index(timeline->members, guint32, row->first_member + i);
}

static guint32 rank_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_slice_process(timeline, slice)->rank_index;
}

static struct late_rank *rank_at(const struct weighing *weighing, guint32 rank_index)
{
	return &g_array_index(weighing->late->ranks, struct late_rank, rank_index);
}

static const TachoClock *clock_of(const TachoTimeline *timeline, guint32 slice)
{
	guint32 clock = tacho_slice_process(timeline, slice)->clock;

	return clock < timeline->clocks->len ? &g_array_index(timeline->clocks, TachoClock, clock)
					     : NULL;
}

/* The clock that this one's times are told by. */
static guint32 base_clock(const TachoClock *clock)
{
	return !clock || clock->state == TACHO_CLOCK_REFERENCE ? 0 : clock->reference;
}

/* How far the members' times may be off against each other; -1: they cannot be compared. */
static gint64 clock_doubt(const TachoTimeline *timeline, const TachoCollective *row)
{
	const TachoClock *first = clock_of(timeline, member_at(timeline, row, 0));
	gint64 doubt_ns = first ? first->uncertainty_ns : 0;
	gint64 own_doubt_ns = first ? first->own_doubt_ns : 0;
	gboolean is_one_clock = TRUE;

	for (guint32 i = 1; i < row->n_members; i++) {
		const TachoClock *clock = clock_of(timeline, member_at(timeline, row, i));

		if (base_clock(clock) != base_clock(first))
			return -1;
		is_one_clock &= clock == first;
		doubt_ns = MAX(doubt_ns, clock ? clock->uncertainty_ns : 0);
	}
	return MAX(is_one_clock ? own_doubt_ns : doubt_ns, timeline->resolution_ns);
}

static guint32 last_member(const TachoTimeline *timeline, const TachoCollective *row)
{
	guint32 last = member_at(timeline, row, 0);

	for (guint32 i = 1; i < row->n_members; i++) {
		guint32 slice = member_at(timeline, row, i);

		if (timeline->slices.start_ns[slice] > timeline->slices.start_ns[last])
			last = slice;
	}
	return last;
}

/* (1) */
static struct interval wait_of(const TachoTimeline *timeline, guint32 slice, gint64 last_begin_ns)
{
	gint64 start_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = MAX(tacho_slice_end_ns(timeline, slice), start_ns);

	return (struct interval){ start_ns, CLAMP(last_begin_ns, start_ns, end_ns) };
}

/* (2): how much of it the rank had not waited in before. */
static gdouble add_wait(GArray *waits, struct interval wait)
{
	gdouble new_ns = (gdouble)(wait.end_ns - wait.begin_ns);

	while (waits->len) {
		struct interval before = g_array_index(waits, struct interval, waits->len - 1);
		gint64 both_ns =
			MIN(before.end_ns, wait.end_ns) - MAX(before.begin_ns, wait.begin_ns);

		if (before.end_ns < wait.begin_ns)
			break;
		new_ns -= (gdouble)MAX(both_ns, 0);
		wait.begin_ns = MIN(wait.begin_ns, before.begin_ns);
		wait.end_ns = MAX(wait.end_ns, before.end_ns);
		g_array_set_size(waits, waits->len - 1);
	}
	g_array_append_val(waits, wait);
	return MAX(new_ns, 0);
}

/* What was waited for `last`: each member's own time goes to new_ns[]. */
static void weigh_waits(struct weighing *weighing, const TachoCollective *row, guint32 last,
			gint64 doubt_ns, gdouble *new_ns, gboolean *ret_is_sure)
{
	const TachoTimeline *timeline = weighing->selection->timeline;
	struct late_rank *late = rank_at(weighing, rank_of(timeline, last));
	gdouble longest_ns = 0, all_ns = 0, sum_ns = 0, n_others = row->n_members - 1;

	for (guint32 i = 0; i < row->n_members; i++) {
		guint32 slice = member_at(timeline, row, i), rank = rank_of(timeline, slice);
		struct interval wait = wait_of(timeline, slice, timeline->slices.start_ns[last]);
		gdouble whole_ns = (gdouble)(wait.end_ns - wait.begin_ns);

		new_ns[i] = add_wait(g_ptr_array_index(weighing->waits, rank), wait);
		rank_at(weighing, rank)->waited_ns += new_ns[i];
		sum_ns += new_ns[i];
		all_ns += whole_ns;
		longest_ns = MAX(longest_ns, whole_ns);
	}
	late->n_last += all_ns > 0;
	late->last_ns += all_ns / n_others;
	late->caused_ns += sum_ns;
	weighing->late->caused_ns += sum_ns;
	*ret_is_sure = longest_ns > (gdouble)doubt_ns; /* (5) */
	weighing->hold_ns += sum_ns / n_others;
	for (guint32 i = 0; i < row->n_members; i++)
		new_ns[i] = sum_ns > 0 ? (sum_ns - new_ns[i]) / n_others - new_ns[i] : 0;
}

/* --- all of them ------------------------------------------------------------------------------- */

static void end_step(struct weighing *weighing)
{
	for (guint i = 0; weighing->step >= 0 && i < weighing->late->ranks->len; i++) {
		struct late_rank *rank = rank_at(weighing, i);

		if (rank->n_collectives)
			g_array_append_val(rank->by_step, rank->open_ns);
		rank->open_ns = 0;
	}
}

/* Whether the collective is in a chosen step: the one of its last member, which then is the one at work. */
static gboolean enter_step(struct weighing *weighing, guint32 last)
{
	const struct selection *selection = weighing->selection;
	const TachoTimeline *timeline = selection->timeline;
	guint32 rank = rank_of(timeline, last);
	gint64 step;

	if (!selection_takes_time(selection, rank, timeline->slices.start_ns[last],
				  &weighing->cursors[rank]))
		return FALSE;
	if (selection->is_whole)
		return TRUE;
	step = g_array_index(selection->chosen, TachoStep, weighing->cursors[rank]).number;
	if (step > weighing->step) {
		end_step(weighing);
		weighing->step = step;
	}
	return TRUE;
}

static void weigh(struct weighing *weighing, const TachoCollective *row)
{
	const TachoTimeline *timeline = weighing->selection->timeline;
	g_autofree gdouble *net_ns = NULL;
	gboolean is_sure;
	gint64 doubt_ns;
	guint32 last;

	if (row->n_members < 2 || row->n_members != row->n_expected)
		return;
	doubt_ns = clock_doubt(timeline, row);
	last = last_member(timeline, row);
	if (doubt_ns < 0 || !enter_step(weighing, last))
		return;
	net_ns = g_new(gdouble, row->n_members);
	weigh_waits(weighing, row, last, doubt_ns, net_ns, &is_sure);
	weighing->late->doubt_ns = MAX(weighing->late->doubt_ns, doubt_ns);
	weighing->late->n_collectives++;
	for (guint32 i = 0; i < row->n_members; i++) {
		struct late_rank *rank =
			rank_at(weighing, rank_of(timeline, member_at(timeline, row, i)));

		rank->n_collectives++;
		rank->net_ns += net_ns[i];
		rank->sure_ns += is_sure ? net_ns[i] : 0;
		rank->open_ns += net_ns[i];
		g_array_append_val(rank->by_collective, net_ns[i]);
	}
}

static gint compare_rows(gconstpointer a, gconstpointer b, gpointer collectives)
{
	guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
	gint64 left_ns = g_array_index((GArray *)collectives, TachoCollective, left).last_begin_ns;
	gint64 right_ns =
		g_array_index((GArray *)collectives, TachoCollective, right).last_begin_ns;

	return ORDER(left_ns, right_ns) ?: ORDER(left, right);
}

/* --- who stands out ---------------------------------------------------------------------------- */

/* Whether the mean is above 0 by more than chance explains with that probability. */
static gboolean has_high_mean(const GArray *samples, gdouble p)
{
	struct moments moments = { 0 };
	gdouble n = samples->len, error;

	for (guint i = 0; i < samples->len; i++)
		moments_add(&moments, g_array_index(samples, gdouble, i));
	if (samples->len < MIN_SAMPLES || moments.mean <= 0)
		return FALSE;
	error = sqrt(moments.squares / (n - 1) / n);
	return moments.mean > error * student_t_critical(2 * p, n - 1);
}

static gint compare_sizes(gconstpointer a, gconstpointer b)
{
	gdouble left = fabs(*(const gdouble *)a), right = fabs(*(const gdouble *)b);

	return ORDER(left, right);
}

/* The same of the middle: the sum of ranks by size of what is above 0, less its mean by chance. Sorts `samples`. */
static gboolean has_high_middle(GArray *samples, gdouble p)
{
	gdouble n = samples->len, sum = -n * (n + 1) / 4;
	gdouble error = sqrt(n * (n + 1) * (2 * n + 1) / 24);

	if (samples->len < MIN_RANKED)
		return FALSE;
	g_array_sort(samples, compare_sizes);
	for (guint i = 0; i < samples->len; i++)
		if (g_array_index(samples, gdouble, i) > 0)
			sum += i + 1;
	return sum > error * student_t_critical(2 * p, MANY);
}

/* (4) */
static gboolean stands_out(const struct late_rank *rank, gdouble hold_ns, guint n_ranks)
{
	GArray *samples = rank->by_step->len >= MIN_SAMPLES ? rank->by_step : rank->by_collective;
	gdouble p = LEVEL / 2 / n_ranks;

	if (rank->net_ns <= 0 || rank->net_ns < MIN_SHARE * hold_ns)
		return FALSE;
	return rank->net_ns >= STANDS_OUT * hold_ns || has_high_mean(samples, p) ||
	       has_high_middle(samples, p);
}

static gboolean is_more(const struct late_ranks *late, guint rank_index, guint32 than)
{
	return than == TACHO_NONE ||
	       late_ranks_at(late, rank_index)->net_ns > late_ranks_at(late, than)->net_ns;
}

static void judge(struct late_ranks *late, gdouble hold_ns)
{
	guint n_ranks = 0;

	for (guint i = 0; i < late->ranks->len; i++)
		n_ranks += late_ranks_at(late, i)->n_collectives > 0;
	FOR_EACH_AT(const struct late_rank, rank, i, late->ranks) {
		if (rank->net_ns > 0 && is_more(late, i, late->most))
			late->most = i;
		if (is_more(late, i, late->late) && stands_out(rank, hold_ns, n_ranks))
			late->late = i;
	}
	if (late->late != TACHO_NONE)
		late->is_sure = late_ranks_at(late, late->late)->sure_ns >
				late_ranks_at(late, late->late)->net_ns / 2;
}

static void free_samples(gpointer data)
{
	struct late_rank *rank = data;

	g_array_unref(rank->by_collective);
	g_array_unref(rank->by_step);
}

static GArray *new_ranks(guint n_ranks)
{
	GArray *ranks = g_array_new(FALSE, TRUE, sizeof(struct late_rank));

	g_array_set_clear_func(ranks, free_samples);
	for (guint i = 0; i < n_ranks; i++) {
		struct late_rank rank = { .by_collective =
						  g_array_new(FALSE, FALSE, sizeof(gdouble)),
					  .by_step = g_array_new(FALSE, FALSE, sizeof(gdouble)) };

		g_array_append_val(ranks, rank);
	}
	return ranks;
}

static GPtrArray *new_waits(guint n_ranks)
{
	GPtrArray *waits = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

	for (guint i = 0; i < n_ranks; i++)
		g_ptr_array_add(waits, g_array_new(FALSE, FALSE, sizeof(struct interval)));
	return waits;
}

struct late_ranks *late_ranks_new(const struct selection *selection, const GArray *rows)
{
	const TachoTimeline *timeline = selection->timeline;
	struct late_ranks *late = g_new0(struct late_ranks, 1);
	g_autoptr(GArray) sorted = g_array_copy((GArray *)rows);
	g_autoptr(GPtrArray) waits = new_waits(timeline->ranks->len);
	g_autofree guint *cursors = g_new0(guint, timeline->ranks->len);
	struct weighing weighing = {
		.selection = selection, .late = late, .waits = waits, .cursors = cursors, .step = -1
	};

	late->most = late->late = TACHO_NONE;
	late->ranks = new_ranks(timeline->ranks->len);
	g_array_sort_with_data(sorted, compare_rows, timeline->collectives);
	for (guint i = 0; i < sorted->len; i++)
		weigh(&weighing, &g_array_index(timeline->collectives, TachoCollective,
						g_array_index(sorted, guint32, i)));
	end_step(&weighing);
	judge(late, weighing.hold_ns);
	return late;
}

void late_ranks_free(struct late_ranks *late)
{
	if (!late)
		return;
	g_array_unref(late->ranks);
	g_free(late);
}

GArray *late_ranks_rows(const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < timeline->collectives->len; i++) {
		guint32 name = g_array_index(timeline->collectives, TachoCollective, i).name;

		if (selection_takes_name(selection, tacho_timeline_string(timeline, name)))
			g_array_append_val(rows, i);
	}
	return rows;
}

const struct late_rank *late_ranks_at(const struct late_ranks *late, guint rank_index)
{
	return &g_array_index(late->ranks, struct late_rank, rank_index);
}

/* --- the answer -------------------------------------------------------------------------------- */

/* How many of its steps were chosen; 1 where the run has none. */
static gdouble n_steps_of(const struct selection *selection, guint rank_index)
{
	guint n = selection->first_of_rank[rank_index + 1] - selection->first_of_rank[rank_index];

	return selection->timeline->steps->len ? MAX(n, 1u) : 1;
}

static void note_nobody(const struct late_ranks *late, const struct selection *selection,
			TachoTable *table)
{
	const TachoTimeline *timeline = selection->timeline;
	const gchar *each = timeline->steps->len ? "a step" : "in all";
	gdouble mean_ns = 0, n = 0;

	FOR_EACH_AT(const struct late_rank, rank, i, late->ranks) {
		mean_ns += rank->waited_ns / n_steps_of(selection, i);
		n += rank->n_collectives > 0;
	}
	tacho_table_note(
		table,
		"No rank stands out as late. The ranks wait for each other in turn, each %.2f ms "
		"%s on average. They wait most for rank %d, %.2f ms %s more than it waits, which "
		"may be chance.",
		MS(mean_ns / n), each, tacho_timeline_rank(timeline, late->most)->rank,
		MS(late_ranks_at(late, late->most)->net_ns / n_steps_of(selection, late->most)),
		each);
}

void late_ranks_note(const struct late_ranks *late, const struct selection *selection,
		     TachoTable *table)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autofree gchar *doubt = NULL;
	const struct late_rank *rank;

	if (!(late->caused_ns > 0) || late->most == TACHO_NONE)
		return;
	if (late->late == TACHO_NONE) {
		note_nobody(late, selection, table);
		return;
	}
	rank = late_ranks_at(late, late->late);
	if (!late->is_sure)
		doubt = g_strdup_printf(" This is a guess, because times of different ranks are "
					"accurate to %.2f ms only.",
					MS((gdouble)late->doubt_ns));
	tacho_table_note(
		table,
		"Rank %d %s late: it comes last in %.0f %% of %" G_GUINT64_FORMAT
		" %s, and the others wait %.2f ms %s longer than it does; "
		"%.0f %% of all waiting for late ranks is for it.%s%s",
		tacho_timeline_rank(timeline, late->late)->rank, late->is_sure ? "is" : "seems",
		100.0 * (gdouble)rank->n_last / (gdouble)rank->n_collectives, rank->n_collectives,
		rank->n_collectives == 1 ? "collective" : "collectives",
		MS(rank->net_ns / n_steps_of(selection, late->late)),
		timeline->steps->len ? "a step" : "in all",
		100.0 * rank->caused_ns / late->caused_ns,
		rank->n_collectives < MIN_EVIDENCE ? " So few collectives may be chance." : "",
		doubt ? doubt : "");
}
