/* recording_excess: how much longer recorded steps are than control steps, in which nothing was.
 *
 * A step's time is the mean over the ranks. The speed of a machine changes within minutes, so each run of
 * control steps is held against its neighbours alone: as many recorded steps before it and after it as it
 * has itself, without the first step of all, which warms up. The excess is the mean over these runs of the
 * logarithm of the ratio of the medians.
 *
 * Its standard error comes from how steps scatter within such a group: by 1.2533 (the square root of
 * pi / 2) times their deviation over the square root of their number for each median, as of normally
 * distributed steps; the deviation is 1.4826 times the median distance from the group's median, the root
 * mean square over all groups (Rousseeuw and Croux, Alternatives to the Median Absolute Deviation, 1993). */
#include <math.h>

#include <tacho/correlate.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "correlate/numbered_steps.h"

#define MIN_CONTROL_STEPS 3 /* fewer tell nothing of how they scatter */

struct excess {
	gdouble sum_log;
	gdouble sum_median_variance; /* less the deviation: 1/n of each median */
	gdouble sum_square;	     /* of relative deviations, one a group */
	guint n_groups, n_blocks;
	guint n_control, n_recorded;
};

/* The steps that all ranks have, alike, in order; sum_ns of all ranks. */
static GArray *collect_steps(const TachoTimeline *timeline)
{
	GArray *steps = numbered_steps(timeline);
	guint n = 0;

	FOR_EACH(const struct numbered_step, step, steps)
		if (step->n_recorded == timeline->ranks->len ||
		    step->n_control == timeline->ranks->len)
			g_array_index(steps, struct numbered_step, n++) = *step;
	g_array_set_size(steps, n);
	return steps;
}

/* Whether step `beside` is a control step, whose number is next to that of `step`. */
static gboolean is_next_control(const GArray *steps, guint step, guint beside)
{
	gint64 distance = (gint64)numbered_step_at(steps, beside)->number -
			  numbered_step_at(steps, step)->number;

	return numbered_step_at(steps, beside)->n_control > 0 && ABS(distance) == 1;
}

/* The median of the times, and what the group tells of their deviation. */
static gdouble median_of(struct excess *excess, GArray *times_ns)
{
	gdouble deviation, median_ns = median_with_deviation(times_ns, &deviation);

	if (times_ns->len > 2) {
		excess->sum_square += deviation * deviation;
		excess->n_groups++;
	}
	excess->sum_median_variance += 1.0 / times_ns->len;
	return median_ns;
}

/* The recorded steps next to [first, end), which are control steps, within as many numbers. */
static GArray *neighbours(const GArray *steps, guint first, guint end)
{
	GArray *times_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint n = end - first;

	for (guint i = first > n ? first - n : 0; i < MIN(end + n, steps->len); i++)
		if (numbered_step_at(steps, i)->n_recorded &&
		    numbered_step_at(steps, i)->number > 0)
			g_array_append_val(times_ns, numbered_step_at(steps, i)->sum_ns);
	return times_ns;
}

static void add_block(struct excess *excess, const GArray *steps, guint first, guint end)
{
	g_autoptr(GArray) control_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) recorded_ns = neighbours(steps, first, end);
	gdouble control, recorded;

	for (guint i = first; i < end; i++)
		g_array_append_val(control_ns, numbered_step_at(steps, i)->sum_ns);
	if (recorded_ns->len == 0)
		return;
	control = median_of(excess, control_ns);
	recorded = median_of(excess, recorded_ns);
	if (control <= 0 || recorded <= 0)
		return;
	excess->sum_log += log(recorded / control);
	excess->n_blocks++;
	excess->n_control += control_ns->len;
	excess->n_recorded += recorded_ns->len;
}

/* [ret_first, ret_end) of `steps`: what is numbered `first` to `last`, and control steps next to it. */
static void find_range(const GArray *steps, guint32 first, guint32 last, guint *ret_first,
		       guint *ret_end)
{
	guint from = 0, end;

	while (from < steps->len && numbered_step_at(steps, from)->number < first)
		from++;
	for (end = from; end < steps->len && numbered_step_at(steps, end)->number <= last;)
		end++;
	while (from > 0 && from < end && is_next_control(steps, from, from - 1))
		from--;
	while (end > from && end < steps->len && is_next_control(steps, end - 1, end))
		end++;
	*ret_first = from;
	*ret_end = end;
}

gboolean tacho_control_time(const TachoTimeline *timeline, guint32 first, guint32 last,
			    TachoControlTime *ret_time)
{
	g_autoptr(GArray) steps = collect_steps(timeline);
	g_autoptr(GArray) times_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	gdouble deviation;
	guint from, end;

	find_range(steps, first, last, &from, &end);
	for (guint i = from; i < end; i++) {
		const struct numbered_step *step = numbered_step_at(steps, i);
		gint64 mean_ns = step->sum_ns / MAX(step->n_control, 1u);

		if (step->n_control)
			g_array_append_val(times_ns, mean_ns);
	}
	ret_time->n_steps = times_ns->len;
	if (times_ns->len < MIN_CONTROL_STEPS)
		return FALSE;
	ret_time->step_ns = median_with_deviation(times_ns, &deviation);
	ret_time->error = MEDIAN_ERROR * deviation / sqrt(ret_time->n_steps);
	return ret_time->step_ns > 0;
}

gboolean tacho_recording_excess(const TachoTimeline *timeline, TachoRecordingExcess *ret_excess)
{
	g_autoptr(GArray) steps = collect_steps(timeline);
	struct excess excess = { 0 };

	for (guint first = 0; first < steps->len;) {
		guint end = first + 1;

		if (numbered_step_at(steps, first)->n_control) {
			while (end < steps->len && numbered_step_at(steps, end)->n_control &&
			       numbered_step_at(steps, end)->number ==
				       numbered_step_at(steps, end - 1)->number + 1)
				end++;
			add_block(&excess, steps, first, end);
		}
		first = end;
	}
	if (excess.n_blocks == 0 || excess.n_groups == 0)
		return FALSE;
	ret_excess->share = expm1(excess.sum_log / excess.n_blocks);
	ret_excess->error = MEDIAN_ERROR *
			    sqrt(excess.sum_square / excess.n_groups * excess.sum_median_variance) /
			    excess.n_blocks;
	ret_excess->n_control = excess.n_control;
	ret_excess->n_recorded = excess.n_recorded;
	return TRUE;
}
