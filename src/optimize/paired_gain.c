/* paired_gain: what was gained, of runs that were made in pairs, so that what both of a pair share, such as a machine that becomes
 * slower, counts for neither. */
#include <tacho/optimize.h>

#include <math.h>

#include "analyze/mean_difference.h"
#include "base/student_t.h"

static gdouble in_percent(gdouble logarithm)
{
	return -100 * expm1(-logarithm);
}

TachoPairedGain tacho_paired_gain(const gdouble *first_ms, const gdouble *second_ms, guint n)
{
	struct moments moments = { 0 };
	gdouble margin = NAN;

	for (guint i = 0; i < n; i++)
		moments_add(&moments, log(first_ms[i] / second_ms[i]));
	if (n > 1)
		margin = student_t_critical(MEAN_DIFFERENCE_LEVEL, n - 1) *
			 sqrt(moments.squares / (n - 1) / n);
	return (TachoPairedGain){ in_percent(moments.mean), in_percent(moments.mean - margin),
				  in_percent(moments.mean + margin) };
}
