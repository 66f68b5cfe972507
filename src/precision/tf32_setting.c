#include "precision/tf32_setting.h"

#include "base/for_each.h"
#include "precision/search_network.h"

static enum number_format forbidden_by(gboolean is_on)
{
	return is_on ? FORMAT_FP32 : FORMAT_TF32;
}

/* Whether the worker's operations that are chosen can do without a format; `ret_has` says whether any of them has it. */
static gboolean can_do_without(const TachoPrecisionProblem *problem, guint32 worker,
			       enum number_format format, gboolean *ret_has)
{
	gboolean can = TRUE;

	*ret_has = FALSE;
	for (guint32 i = 0; i < problem->n_operations; i++) {
		guint formats = search_formats(problem, worker, i);

		if (problem->operations[i].rule != PRECISION_CHOSEN || !(formats >> format & 1))
			continue;
		*ret_has = TRUE;
		can &= formats != 1u << format;
	}
	return can;
}

gboolean tf32_setting_is_open(const TachoPrecisionProblem *problem)
{
	for (guint32 w = 0; w < problem->n_workers; w++) {
		gboolean has_fp32, has_tf32;

		can_do_without(problem, w, FORMAT_FP32, &has_fp32);
		can_do_without(problem, w, FORMAT_TF32, &has_tf32);
		if (has_fp32 && has_tf32)
			return TRUE;
	}
	return FALSE;
}

static void forbid(TachoPrecisionProblem *problem, guint32 worker, enum number_format format,
		   GPtrArray *held)
{
	for (guint32 i = 0; i < problem->n_operations; i++) {
		struct precision_cost *cost = precision_cost_of(problem, worker, i, format);

		if (problem->operations[i].rule != PRECISION_CHOSEN || !cost->is_allowed)
			continue;
		cost->is_allowed = FALSE;
		g_ptr_array_add(held, cost);
	}
}

GPtrArray *tf32_setting_hold(TachoPrecisionProblem *problem, gboolean is_on, GError **error)
{
	g_autoptr(GPtrArray) held = g_ptr_array_new();

	for (guint32 w = 0; w < problem->n_workers; w++) {
		gboolean has_fp32, has_tf32;
		gboolean can_be_on = can_do_without(problem, w, FORMAT_FP32, &has_fp32);
		gboolean can_be_off = can_do_without(problem, w, FORMAT_TF32, &has_tf32);

		if (!has_fp32 || !has_tf32)
			continue;
		if (can_be_on || can_be_off) {
			forbid(problem, w, forbidden_by(is_on ? can_be_on : !can_be_off), held);
			continue;
		}
		g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_PROBLEM,
			    "on %s some operations have to compute in fp32 and others in tf32, "
			    "which is a setting of the whole process; allow them another format",
			    problem->workers[w].name);
		tf32_setting_release(g_steal_pointer(&held));
		return NULL;
	}
	return g_steal_pointer(&held);
}

void tf32_setting_release(GPtrArray *held)
{
	FOR_EACH_POINTER(struct precision_cost, cost, held)
		cost->is_allowed = TRUE;
	g_ptr_array_unref(held);
}

gboolean tf32_setting_is_broken(const TachoPrecisionProblem *problem, const guint8 *plan)
{
	for (guint32 w = 0; w < problem->n_workers; w++) {
		guint seen = 0;

		for (guint32 i = 0; i < problem->n_operations; i++)
			if (problem->operations[i].rule == PRECISION_CHOSEN)
				seen |= 1u << plan[precision_plan_at(problem, w, i)];
		if ((seen >> FORMAT_FP32 & 1) && (seen >> FORMAT_TF32 & 1))
			return TRUE;
	}
	return FALSE;
}
