#include "correlate/numbered_steps.h"

#include "base/for_each.h"

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	const struct numbered_step *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static void append_steps(GArray *all, const GArray *steps, gboolean is_control)
{
	FOR_EACH(const TachoStep, step, steps) {
		struct numbered_step row = { step->number, !is_control, is_control,
					     step->end_ns - step->start_ns, step->start_ns };

		if (step->is_complete)
			g_array_append_val(all, row);
	}
}

GArray *numbered_steps(const TachoTimeline *timeline)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(struct numbered_step));
	guint n = 0;

	append_steps(steps, timeline->steps, FALSE);
	append_steps(steps, timeline->control_steps, TRUE);
	g_array_sort(steps, compare_numbers);
	FOR_EACH(const struct numbered_step, more, steps) {
		struct numbered_step *step =
			n > 0 ? &g_array_index(steps, struct numbered_step, n - 1) : NULL;

		if (!step || step->number != more->number) {
			g_array_index(steps, struct numbered_step, n++) = *more;
			continue;
		}
		step->n_recorded += more->n_recorded;
		step->n_control += more->n_control;
		step->sum_ns += more->sum_ns;
		step->start_ns = MAX(step->start_ns, more->start_ns);
	}
	g_array_set_size(steps, n);
	return steps;
}
