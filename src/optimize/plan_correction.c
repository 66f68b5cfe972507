/* plan_correction: what a plan is predicted to gain, corrected by how far off plans with the same kinds of changes were on the same host
 * and device (learn/correction.h). The interval becomes as much wider as those predictions were spread. */
#include <math.h>

#include "optimize/optimizing.h"

/* Nine in ten of what is normally distributed is within so many deviations. Source: derived from the normal distribution. */
#define NINE_IN_TEN 1.645

gchar *tacho_plan_kinds(const TachoPlan *plan)
{
	GString *kinds = g_string_new(NULL);
	const gchar *name;

	for (guint i = 0; (name = tacho_plan_change(plan, i)); i++)
		g_string_append_printf(kinds, "%s%s", i ? "+" : "", name);
	return g_string_free(kinds, FALSE);
}

/* Told once for each kind. */
static void tell(struct optimizing *optimizing, const gchar *kinds, guint n, gdouble factor)
{
	g_autofree gchar *note = g_strdup_printf(
		"%u %s with %s %s measured here before: steps are predicted %.1f %% %s for it "
		"(tacho cost show; --cost none leaves that out)",
		n, n == 1 ? "plan" : "plans", kinds, n == 1 ? "was" : "were",
		100 * fabs(factor - 1), factor < 1 ? "shorter" : "longer");

	for (guint i = 0; i < optimizing->result->notes->len; i++)
		if (g_str_equal(optimizing->result->notes->pdata[i], note))
			return;
	optimizing_note(optimizing, "%s", note);
}

void optimizing_correct(struct optimizing *optimizing, struct proposal *proposal)
{
	const TachoCostModel *costs = optimizing->options->costs;
	const gdouble before_ms = proposal->step_ms;
	g_autofree gchar *kinds = NULL;
	const gchar *host, *device;
	gdouble factor, spread;
	guint n;

	proposal->uncorrected_ms = before_ms;
	if (!costs || before_ms <= 0)
		return;
	kinds = tacho_plan_kinds(proposal->plan);
	if (!*kinds) /* no plan says what it is */
		return;
	tacho_cost_place(optimizing->recordings[0].timeline, &host, &device);
	n = tacho_cost_model_bias(costs, host, device, kinds, &factor, &spread);
	if (n == 0)
		return;
	proposal->step_ms = before_ms * factor;
	for (guint i = 0; i < 2; i++) {
		gdouble distance = log(MAX(proposal->interval_ms[i], 1e-9) / before_ms);
		gdouble wider = hypot(distance, NINE_IN_TEN * spread);

		proposal->interval_ms[i] = proposal->step_ms * exp(i ? wider : -wider);
	}
	tell(optimizing, kinds, n, factor);
}
