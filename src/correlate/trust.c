/* trust: how far a timeline can be believed, as one number.
 *
 *     score = 100 x product over the kinds of problems of (1 - loss), rounded down
 *     loss  = most points / 100 x sqrt(share)              where count is a share of something
 *             most points / 100 x (1 - 2^-count)           where it is not
 *
 * (1) All problems of a kind count together, so it does not matter how many rows tell of them.
 * (2) A loss grows with the count and never exceeds its kind's most: more problems never raise the
 *     score, and one kind alone cannot make it zero, but for a run with nothing in it.
 * (3) Any problem brings the score below 100.
 * (4) Ranks that are missing do not count by their share: the late one may be the only one that is. Where
 *     there are no collectives, nobody waits for them, and they cost less than 10 points.
 *
 * The root is there because small shares do harm out of proportion: one record in a thousand lost
 * leaves a pair, a step or a collective broken here and there. docs/trust.md tells users the
 * same. */
#include "correlate/trust.h"

#include <math.h>

#include <tacho/correlate.h>

#include "base/for_each.h"
#include "trace/run_share.h"

enum share_of { ONE, EVENTS, SLICES, KERNELS, COLLECTIVES, MESSAGES, RANKS, N_SHARES_OF };

#define MOST_UNAWAITED_POINTS 9 /* of ranks that nobody waits for */

static const struct {
	enum share_of share_of;
	guint most_points;
	const gchar *unknown;
} weights[] = {
#define PROBLEM_WEIGHT(enumerator, name, share_of, most, unknown) { share_of, most, unknown },
	TACHO_PROBLEMS(PROBLEM_WEIGHT)
#undef PROBLEM_WEIGHT
};

guint trust_points(TachoProblemKind kind)
{
	return weights[kind].most_points;
}

const gchar *trust_unknown(TachoProblemKind kind)
{
	return weights[kind].unknown;
}

static void count_totals(const TachoTimeline *timeline, guint64 *totals)
{
	guint64 kinds[TACHO_N_SLICE_KINDS];

	totals[SLICES] = run_share_count_kinds(timeline, kinds);
	totals[ONE] = 1;
	totals[EVENTS] = timeline->n_events + timeline->n_dropped;
	totals[KERNELS] = kinds[TACHO_SLICE_KERNEL];
	totals[COLLECTIVES] = kinds[TACHO_SLICE_COLLECTIVE];
	totals[MESSAGES] = kinds[TACHO_SLICE_MESSAGE];
	totals[RANKS] = 1;
}

static gdouble loss_of(TachoProblemKind kind, guint64 count, const guint64 *totals)
{
	gdouble most = weights[kind].most_points / 100.0;
	guint64 total = totals[weights[kind].share_of];

	if (weights[kind].share_of == RANKS && totals[COLLECTIVES] + totals[MESSAGES] == 0)
		most = MOST_UNAWAITED_POINTS / 100.0;
	if (weights[kind].share_of == ONE || weights[kind].share_of == RANKS)
		return most * (1 - exp2(-(gdouble)count));
	if (count >= total)
		return most;
	return most * sqrt((gdouble)count / (gdouble)total);
}

static guint score_of(const TachoTimeline *timeline, gboolean with_missing)
{
	guint64 counts[TACHO_N_PROBLEMS] = { 0 }, totals[N_SHARES_OF];
	gdouble score = 100;
	gboolean is_flawless = TRUE;

	if (timeline->problems->len == 0)
		return 100;
	count_totals(timeline, totals);
	FOR_EACH(const TachoProblem, problem, timeline->problems) {
		TachoProblemKind kind = problem->kind;

		if (!with_missing && *weights[kind].unknown)
			continue;
		if (!g_uint64_checked_add(&counts[kind], counts[kind], problem->count))
			counts[kind] = G_MAXUINT64;
	}
	for (guint kind = 0; kind < TACHO_N_PROBLEMS; kind++)
		if (counts[kind]) {
			is_flawless = FALSE;
			score *= 1 - loss_of(kind, counts[kind], totals);
		}
	return is_flawless ? 100 : MIN((guint)(score + 1e-9), 99); /* 1 - 0.9 is below 0.1 */
}

guint tacho_trust_score(const TachoTimeline *timeline)
{
	return score_of(timeline, TRUE);
}

guint tacho_trust_present_score(const TachoTimeline *timeline)
{
	return score_of(timeline, FALSE);
}
