#include "learn/fused_cost.h"

#include <math.h>

/* What one hands to the next: of what both move, no more than half of the lesser. */
static gdouble between(const struct cost_call *first, const struct cost_call *second)
{
	return MIN(first->bytes, second->bytes) / 2;
}

static const struct cost_call *leader_of(const struct cost_call *calls, guint n)
{
	const struct cost_call *leader = &calls[0];

	for (guint i = 1; i < n; i++) {
		gboolean is_arithmetic = kernel_class_is_arithmetic(calls[i].class);
		gboolean is_led_by_arithmetic = kernel_class_is_arithmetic(leader->class);

		if (is_arithmetic > is_led_by_arithmetic ||
		    (is_arithmetic == is_led_by_arithmetic && calls[i].flops > leader->flops))
			leader = &calls[i];
	}
	return leader;
}

struct cost_call fused_cost_call(const struct cost_model *model, const struct cost_call *calls,
				 guint n)
{
	struct cost_call all = *leader_of(calls, n);

	all.flops = all.bytes = 0;
	for (guint i = 0; i < n; i++) {
		all.flops += calls[i].flops;
		all.bytes += calls[i].bytes - (i ? 2 * between(&calls[i - 1], &calls[i]) : 0);
	}
	all.bytes = MAX(all.bytes, calls[0].bytes / 2);
	all.kernels = 1;
	cost_call_set_features(&all, cost_calls_device_at(&model->calls, all.device));
	return all;
}

gdouble fused_cost_ns(const struct cost_model *model, const struct cost_call *calls, guint n,
		      gdouble sum_ns)
{
	struct cost_call all = fused_cost_call(model, calls, n);
	gdouble together_ns = cost_model_ns(model, &all, COST_BY_ROOFLINE), apart_ns = 0;

	for (guint i = 0; i < n; i++)
		apart_ns += cost_model_ns(model, &calls[i], COST_BY_ROOFLINE);
	if (!isfinite(together_ns) || !(apart_ns > 0))
		return sum_ns;
	return sum_ns * MIN(together_ns / apart_ns, 1);
}
