/* job_summary: what a job's newest steps come to, in a line. */
#include <math.h>

#include "base/for_each.h"
#include "base/order.h"
#include "live/live_internal.h"
#include "live/recent_steps.h"

#define NEWEST	  10  /* steps */
#define BEFORE	  100 /* steps before them */
#define WARM_UP	  3
#define LATE_PART 0.1 /* of a step that others wait for a rank, to be worth telling */

gdouble live_median(const gdouble *values, guint n)
{
	g_autofree gdouble *sorted = g_memdup2(values, n * sizeof(gdouble));

	if (!n)
		return NAN;
	for (guint i = 1; i < n; i++) {
		gdouble value = sorted[i];
		guint k = i;

		for (; k > 0 && sorted[k - 1] > value; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = value;
	}
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

const gchar *live_why_slow(const struct recent_rank *slow, const struct recent_rank *other)
{
	gdouble loading = slow->data_wait_ns - other->data_wait_ns;
	gdouble compute = slow->compute_ns - other->compute_ns;
	gdouble idle =
		(slow->idle_ns - slow->data_wait_ns) - (other->idle_ns - other->data_wait_ns);

	if (loading >= compute && loading >= idle)
		return "data loading";
	return compute >= idle ? "computation" : "idle time";
}

/* The rank that does most by itself, where others wait for it. */
static void find_slowest(const GArray *ranks, TachoJobSummary *summary)
{
	const struct recent_rank *slow = NULL, *other = NULL;

	summary->slowest_rank = -1;
	FOR_EACH(const struct recent_rank, rank, ranks)
		if (!slow || rank->own_ns > slow->own_ns)
			slow = rank;
	FOR_EACH(const struct recent_rank, rank, ranks)
		if (rank != slow && (!other || rank->own_ns < other->own_ns))
			other = rank;
	if (!slow || !other || slow->own_ns - other->own_ns < LATE_PART * slow->duration_ns ||
	    other->wait_ns + other->exposed_ns < LATE_PART * other->duration_ns)
		return;
	summary->slowest_rank = slow->rank;
	summary->why = live_why_slow(slow, other);
}

void tacho_job_summarize(const TachoFollow *follow, TachoJobSummary *summary)
{
	g_autoptr(GArray) ranks = recent_steps_means(follow, NEWEST, 0);
	g_autoptr(GArray) times = recent_steps_times(follow, NEWEST + BEFORE, WARM_UP);
	const GArray *all = tacho_follow_borrow_ranks(follow);
	guint n_new = MIN(times->len, NEWEST), n = 0;
	const gdouble *values = (const gdouble *)(gpointer)times->data;
	gdouble whole = 0;

	*summary = (TachoJobSummary){ .memory_bytes = -1, .why = "" };
	FOR_EACH(const TachoLiveRank, rank, all) {
		summary->n_steps = MAX(summary->n_steps, rank->n_steps);
		summary->memory_bytes = MAX(summary->memory_bytes, rank->anonymous_bytes);
	}
	summary->step_ms = live_median(values + times->len - n_new, n_new) / 1e6;
	summary->before_ms = live_median(values, times->len - n_new) / 1e6;
	FOR_EACH(const struct recent_rank, rank, ranks) {
		whole += rank->duration_ns;
		summary->compute_pct += rank->compute_ns;
		summary->exposed_pct += rank->exposed_ns;
		summary->wait_pct += rank->wait_ns;
		summary->idle_pct += rank->idle_ns;
		summary->data_wait_pct += rank->data_wait_ns;
		n++;
	}
	if (n && whole > 0) {
		gdouble *const shares[] = { &summary->compute_pct, &summary->exposed_pct,
					    &summary->wait_pct, &summary->idle_pct,
					    &summary->data_wait_pct };

		for (guint i = 0; i < G_N_ELEMENTS(shares); i++)
			*shares[i] *= 100 / whole;
	}
	find_slowest(ranks, summary);
}
