/* bucket_steps: when the steps of buckets began, and which buckets a view is about. */
#include "analyze/bucket_steps.h"

#include "base/partition_point.h"

gboolean bucket_is_chosen(const struct selection *selection, const TachoBucket *bucket,
			  guint *cursor)
{
	return selection_takes_rank(selection, bucket->rank_index) &&
	       selection_takes_time(selection, bucket->rank_index, bucket->queued_ns, cursor);
}

static gboolean is_before(const TachoStep *step, const TachoBucket *bucket)
{
	return step->rank_index != bucket->rank_index ? step->rank_index < bucket->rank_index
						      : step->number < bucket->step;
}

gboolean bucket_step_begin(const TachoTimeline *timeline, const TachoBucket *bucket,
			   gint64 *ret_begin_ns)
{
	const GArray *steps = timeline->steps; /* by rank and number */
	guint n = ROWS_BEFORE(steps, TachoStep, row, is_before(row, bucket));
	const TachoStep *step;

	if (n == steps->len)
		return FALSE;
	step = &g_array_index(steps, TachoStep, n);
	if (step->rank_index != bucket->rank_index || step->number != bucket->step)
		return FALSE;
	*ret_begin_ns = step->start_ns;
	return TRUE;
}
