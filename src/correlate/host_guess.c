/* host_guess: which files were recorded on one host, and so with one clock, where they do not tell.
 *
 * An importer names hosts by what it can see (Kineto: numbers of devices), gives each file a clock of its own, and says
 * so (TACHO_CLOCK_OF_SOME_HOST, TACHO_CLOCK_OF_OTHER_HOST). Collectives that wait for all their members then decide, by
 * times as recorded, between each clock that takes part and the one before it, and the first one:
 *
 *     contradicted   one had ended before another began, more often than mistakes explain: different hosts, whatever
 *                    they are called
 *     near           never, and half of the collectives ended within NEAR_NS of each other: hosts that nothing but NTP
 *                    keeps together are seldom that near; one host
 *     open           anything else: what the importer guessed stands
 *
 * (1) Clocks of files that use one device's number on hosts whose devices are all visible are never one.
 * (2) What became one clock by its collectives alone is known to be one no better than their ends agree: that is the
 *     clock's own_doubt_ns. Begins would not do: a rank that is always late leaves all of its lateness open.
 * (3) Clocks of hosts that were told are left alone.
 * (4) Where ranks lack collectives, those that belong together by order alone may be others, and contradict nothing. */
#include <string.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "correlate/clock_ranks.h"
#include "trace/clock_pair.h"
#include "correlate/collective_matcher.h"
#include "correlate/correlate_internal.h"
#include "trace/operation.h"

#define SLACK_NS 10000	/* devices' clocks are put on their host's no better than this */
#define NEAR_NS	 100000 /* a host's clock is seldom kept this well by NTP */
#define MIN_NEAR 3	/* collectives: one may end at once by chance */

/* What collectives of both say of two clocks. */
struct meeting {
	guint32 a, b;	  /* clocks */
	GArray *apart_ns; /* gint64, of their ends */
	guint32 n_contradicted;
};

/* What one clock's members say of the collective at work. */
struct member_times {
	gint64 last_begin_ns, first_end_ns;
	gboolean is_there;
};

struct guess {
	TachoTimeline *timeline;
	struct member_times *times; /* by clock */
	GHashTable *by_clocks;	    /* both clocks -> struct meeting */
	GPtrArray *meetings;	    /* as they were met */
	GPtrArray *contradicted;    /* of these */
	guint32 *united;	    /* by clock: another of its host, itself for the first */
	gint64 *doubt_ns; /* by first clock, as n_united: of what united it with others called otherwise */
	guint32 *n_united; /* collectives */
};

static const TachoClock *clock_at(const struct guess *guess, guint32 clock)
{
	return &g_array_index(guess->timeline->clocks, TachoClock, clock);
}

static gboolean is_guessed(const TachoClock *clock)
{
	return clock->scope == TACHO_CLOCK_OF_SOME_HOST ||
	       clock->scope == TACHO_CLOCK_OF_OTHER_HOST;
}

/* --- what collectives say ----------------------------------------------------------------------- */

static void free_meeting(gpointer data)
{
	struct meeting *meeting = data;

	g_array_unref(meeting->apart_ns);
	g_free(meeting);
}

static struct meeting *meeting_of(struct guess *guess, guint32 a, guint32 b)
{
	gpointer key = GSIZE_TO_POINTER((gsize)a << 32 | b);
	struct meeting *meeting = g_hash_table_lookup(guess->by_clocks, key);

	if (!meeting) {
		meeting = g_new0(struct meeting, 1);
		meeting->a = a;
		meeting->b = b;
		meeting->apart_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
		g_hash_table_insert(guess->by_clocks, key, meeting);
		g_ptr_array_add(guess->meetings, meeting);
	}
	return meeting;
}

static void meet(struct guess *guess, guint32 a, guint32 b)
{
	struct meeting *meeting = meeting_of(guess, a, b);
	const struct member_times *of_a = &guess->times[a], *of_b = &guess->times[b];
	gint64 slack_ns = SLACK_NS + guess->timeline->resolution_ns;
	gint64 apart_ns = ABS(clock_map_add(of_a->first_end_ns, -of_b->first_end_ns));

	g_array_append_val(meeting->apart_ns, apart_ns);
	meeting->n_contradicted +=
		of_a->last_begin_ns > clock_map_add(of_b->first_end_ns, slack_ns) ||
		of_b->last_begin_ns > clock_map_add(of_a->first_end_ns, slack_ns);
}

static gboolean note_member(struct guess *guess, guint32 slice)
{
	const TachoTimeline *timeline = guess->timeline;
	guint32 clock = tacho_slice_process(timeline, slice)->clock;
	struct member_times *times = &guess->times[clock];
	gint64 begin_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);

	if (timeline->slices.flags[slice] & (TACHO_SLICE_REPAIRED | TACHO_SLICE_OPEN))
		return FALSE;
	times->last_begin_ns = times->is_there ? MAX(times->last_begin_ns, begin_ns) : begin_ns;
	times->first_end_ns = times->is_there ? MIN(times->first_end_ns, end_ns) : end_ns;
	times->is_there = TRUE;
	return is_guessed(&g_array_index(timeline->clocks, TachoClock, clock));
}

static void see_collective(const guint32 *slices, guint n_slices, gboolean is_exact, gpointer data)
{
	struct guess *guess = data;
	guint32 first = TACHO_NONE, before = TACHO_NONE, n_clocks = guess->timeline->clocks->len;
	guint n_guessed = 0;

	if (!is_exact || n_slices < 2 ||
	    !operation_waits_for_all(collective_operation_of(guess->timeline, slices[0])))
		return;
	memset(guess->times, 0, n_clocks * sizeof(*guess->times));
	for (guint i = 0; i < n_slices; i++)
		n_guessed += note_member(guess, slices[i]);
	for (guint32 own = 0; own < n_clocks && n_guessed > 1; own++) {
		if (!guess->times[own].is_there || !is_guessed(clock_at(guess, own)))
			continue;
		if (before != TACHO_NONE)
			meet(guess, before, own);
		if (first != before)
			meet(guess, first, own);
		first = MIN(first, own);
		before = own;
	}
}

static gboolean contradicts(const struct meeting *meeting)
{
	struct clock_fit as_recorded = { .n_bounds = meeting->apart_ns->len,
					 .n_contradicted = meeting->n_contradicted };

	return clock_fit_is_doubtful(&as_recorded) ||
	       (meeting->n_contradicted && meeting->n_contradicted == meeting->apart_ns->len);
}

static void look_at_collectives(struct guess *guess)
{
	gboolean has_gaps = collective_matches_visit(guess->timeline, TRUE, see_collective, guess);

	for (guint i = 0; !has_gaps && i < guess->meetings->len; i++) /* (4) */
		if (contradicts(guess->meetings->pdata[i]))
			g_ptr_array_add(guess->contradicted, guess->meetings->pdata[i]);
}

/* --- uniting ------------------------------------------------------------------------------------ */

static guint32 first_of(const struct guess *guess, guint32 clock)
{
	while (guess->united[clock] != clock)
		clock = guess->united[clock] = guess->united[guess->united[clock]];
	return clock;
}

static gboolean is_contradicted(const struct guess *guess, guint32 a, guint32 b)
{
	FOR_EACH_POINTER(const struct meeting, meeting, guess->contradicted) {
		guint32 x = first_of(guess, meeting->a), y = first_of(guess, meeting->b);

		if ((x == a && y == b) || (x == b && y == a))
			return TRUE;
	}
	return FALSE;
}

static void unite(struct guess *guess, guint32 a, guint32 b)
{
	guint32 first = first_of(guess, a), other = first_of(guess, b);

	if (first == other || is_contradicted(guess, first, other))
		return;
	guess->united[MAX(first, other)] = MIN(first, other);
	guess->doubt_ns[MIN(first, other)] = MAX(guess->doubt_ns[first], guess->doubt_ns[other]);
	guess->n_united[MIN(first, other)] = MAX(guess->n_united[first], guess->n_united[other]);
}

/* What the importer calls the same, and nothing contradicts. */
static void unite_named(struct guess *guess)
{
	guint32 n = guess->timeline->clocks->len;

	for (guint32 i = 0; i < n; i++) {
		if (!is_guessed(clock_at(guess, i)))
			continue;
		for (guint32 j = 0; j < i && first_of(guess, i) == i; j++)
			if (clock_at(guess, i)->host == clock_at(guess, j)->host)
				unite(guess, j, i);
	}
}

/* What ends together, whatever it is called. */
static void unite_near(struct guess *guess)
{
	FOR_EACH_POINTER(const struct meeting, meeting, guess->meetings) {
		gint64 apart_ns = (gint64)quantile(meeting->apart_ns, 0.5);
		guint32 first;

		if (meeting->apart_ns->len < MIN_NEAR || apart_ns > NEAR_NS ||
		    contradicts(meeting) ||
		    clock_at(guess, meeting->a)->host == clock_at(guess, meeting->b)->host ||
		    clock_at(guess, meeting->a)->scope != TACHO_CLOCK_OF_SOME_HOST || /* (1) */
		    clock_at(guess, meeting->b)->scope != TACHO_CLOCK_OF_SOME_HOST)
			continue;
		unite(guess, meeting->a, meeting->b);
		first = first_of(guess, meeting->a);
		if (first != first_of(guess, meeting->b))
			continue;
		guess->doubt_ns[first] = MAX(guess->doubt_ns[first], apart_ns); /* (2) */
		guess->n_united[first] = MAX(guess->n_united[first], meeting->apart_ns->len);
	}
}

/* --- what came of it ---------------------------------------------------------------------------- */

/* "ranks 0, 1, 2 and 5 more" of the clock; the clocks have their new numbers. */
static gchar *ranks_text(const TachoTimeline *timeline, guint32 clock)
{
	guint n_ranks;
	g_autofree gchar *ranks = clock_ranks(timeline, clock, &n_ranks);

	return g_strdup_printf("%s %s", n_ranks == 1 ? "rank" : "ranks", ranks);
}

static gboolean has_contradiction(const struct guess *guess, guint32 first)
{
	FOR_EACH_POINTER(const struct meeting, meeting, guess->contradicted)
		if (first_of(guess, meeting->a) == first || first_of(guess, meeting->b) == first)
			return TRUE;
	return FALSE;
}

static void tell_united(const struct guess *guess, guint32 first, guint32 clock)
{
	g_autofree gchar *ranks = ranks_text(guess->timeline, clock);

	tacho_timeline_add_problem(
		guess->timeline, TACHO_PROBLEM_UNKNOWN_HOST, 1,
		"%s: no file tells its host; half of their collectives (%u) or "
		"more ended within %.0f us of each other, so they count as one host",
		ranks, guess->n_united[first], (gdouble)guess->doubt_ns[first] / 1e3);
}

static void rename_ranks(TachoTimeline *timeline)
{
	FOR_EACH(TachoRank, rank, timeline->ranks)
		rank->host = tacho_timeline_process(timeline, rank->main_process)->host;
}

/* Make one clock of those that are united, in the order of their first ones. */
static void renumber(struct guess *guess)
{
	TachoTimeline *timeline = guess->timeline;
	guint32 n = timeline->clocks->len, n_hosts = 0;
	g_autofree guint32 *numbers = g_new0(guint32, n);
	g_autoptr(GArray) clocks = g_array_new(FALSE, TRUE, sizeof(TachoClock));

	for (guint32 i = 0; i < n; i++) {
		guint32 first = first_of(guess, i);
		TachoClock clock = *clock_at(guess, i);
		g_autofree gchar *name = NULL;

		numbers[i] = first == i ? clocks->len : numbers[first];
		if (first != i)
			continue;
		clock.reference = clocks->len;
		clock.own_doubt_ns = guess->doubt_ns[i];
		if (is_guessed(&clock)) {
			name = ++n_hosts > 1 ? g_strdup_printf("unknown-%u", n_hosts)
					     : g_strdup("unknown");
			clock.host = tacho_timeline_intern(timeline, name, -1);
		}
		g_array_append_val(clocks, clock);
	}
	FOR_EACH(TachoProcess, process, timeline->processes) {
		process->clock = numbers[process->clock];
		process->host = g_array_index(clocks, TachoClock, process->clock).host;
	}
	g_array_set_size(timeline->clocks, 0);
	g_array_append_vals(timeline->clocks, clocks->data, clocks->len);
	rename_ranks(timeline);
}

/* Report guessed hosts that are not known to differ: all but the first may be the same as it. */
static void tell_open(const struct guess *guess, guint n_open)
{
	if (n_open > 1)
		tacho_timeline_add_problem(
			guess->timeline, TACHO_PROBLEM_UNKNOWN_HOST, n_open - 1,
			"%u hosts may be fewer: no file tells its host, the devices of each have "
			"the same numbers, and nothing shows whether their clocks are one",
			n_open);
}

static void tell(const struct guess *guess, guint32 n_before)
{
	guint32 clock = 0;
	guint n_open = 0;

	for (guint32 i = 0; i < n_before; i++) {
		if (first_of(guess, i) != i)
			continue;
		if (guess->n_united[i] > 0)
			tell_united(guess, i, clock);
		n_open += clock_at(guess, clock)->scope == TACHO_CLOCK_OF_SOME_HOST &&
			  !has_contradiction(guess, i);
		clock++;
	}
	tell_open(guess, n_open);
}

static guint32 count_guessed(const TachoTimeline *timeline)
{
	guint32 n_guessed = 0;

	for (guint32 i = 0; i < timeline->clocks->len; i++)
		n_guessed += is_guessed(&g_array_index(timeline->clocks, TachoClock, i));
	return n_guessed;
}

void settle_hosts(TachoTimeline *timeline)
{
	guint32 n = timeline->clocks->len;
	g_autofree struct member_times *times = g_new0(struct member_times, n);
	g_autofree guint32 *united = g_new0(guint32, n);
	g_autofree guint32 *n_united = g_new0(guint32, n);
	g_autofree gint64 *doubt_ns = g_new0(gint64, n);
	g_autoptr(GHashTable) by_clocks = g_hash_table_new(NULL, NULL);
	g_autoptr(GPtrArray) meetings = g_ptr_array_new_with_free_func(free_meeting);
	g_autoptr(GPtrArray) contradicted = g_ptr_array_new();
	struct guess guess = { .timeline = timeline,
			       .times = times,
			       .by_clocks = by_clocks,
			       .meetings = meetings,
			       .contradicted = contradicted,
			       .united = united,
			       .doubt_ns = doubt_ns,
			       .n_united = n_united };

	if (count_guessed(timeline) < 2)
		return;
	for (guint32 i = 0; i < n; i++)
		united[i] = i;
	look_at_collectives(&guess);
	unite_named(&guess);
	unite_near(&guess);
	renumber(&guess);
	tell(&guess, n);
}
