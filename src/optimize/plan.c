#include "optimize/plan.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/text_file.h"
#include "import/element_type.h"
#include "import/read/json_scan.h"

static const struct {
	const gchar *name;
	guint32 most;
	const gchar *what_if;
} kinds[PLAN_N_CHANGE_KINDS] = {
#define PLAN_CHANGE(enumerator, name, most, what_if) { name, most, what_if },
#include "optimize/plan_changes.def"
#undef PLAN_CHANGE
};

G_DEFINE_QUARK(tacho - plan - error - quark, tacho_plan_error)

/* --- in memory ---------------------------------------------------------------------------------- */

static void change_clear(gpointer data)
{
	struct plan_change *change = data;

	g_clear_pointer(&change->order, g_array_unref);
	g_clear_pointer(&change->n_of, g_array_unref);
}

TachoPlan *plan_new(guint32 n_ranks)
{
	TachoPlan *plan = g_new0(TachoPlan, 1);

	plan->n_ranks = n_ranks;
	plan->gradients = g_array_new(FALSE, FALSE, sizeof(struct plan_gradient));
	plan->changes = g_array_new(FALSE, TRUE, sizeof(struct plan_change));
	g_array_set_clear_func(plan->changes, change_clear);
	return plan;
}

TachoPlan *plan_copy(const TachoPlan *plan)
{
	TachoPlan *copy = plan_new(plan->n_ranks);
	GArray *gradients = copy->gradients, *changes = copy->changes;

	*copy = *plan;
	copy->gradients = gradients;
	copy->changes = changes;
	g_array_append_vals(gradients, plan->gradients->data, plan->gradients->len);
	FOR_EACH(const struct plan_change, change, plan->changes) {
		struct plan_change other = *change;

		if (change->order) {
			other.order = g_array_copy(change->order);
			other.n_of = g_array_copy(change->n_of);
		}
		g_array_append_val(changes, other);
	}
	return copy;
}

void tacho_plan_free(TachoPlan *plan)
{
	if (!plan)
		return;
	g_array_unref(plan->gradients);
	g_array_unref(plan->changes);
	g_free(plan);
}

void plan_add_count(TachoPlan *plan, enum plan_change_kind kind, guint32 count)
{
	struct plan_change change = { .kind = kind, .count = count };

	g_array_append_val(plan->changes, change);
}

void plan_add_buckets(TachoPlan *plan, const guint32 *ends, guint32 n_buckets)
{
	struct plan_change change = { .kind = PLAN_BUCKETS,
				      .order = g_array_new(FALSE, FALSE, sizeof(guint32)),
				      .n_of = g_array_new(FALSE, FALSE, sizeof(guint32)) };
	guint32 gradient = 0;

	for (guint32 i = 0; i < n_buckets; i++) {
		guint32 n = ends[i] - gradient;

		g_array_append_val(change.n_of, n);
		for (; gradient < ends[i]; gradient++)
			g_array_append_val(change.order, gradient);
	}
	g_array_append_val(plan->changes, change);
}

const struct plan_change *plan_find(const TachoPlan *plan, enum plan_change_kind kind)
{
	FOR_EACH(const struct plan_change, change, plan->changes)
		if (change->kind == kind)
			return change;
	return NULL;
}

const gchar *plan_change_name(enum plan_change_kind kind)
{
	return kinds[kind].name;
}

gchar *plan_change_what_if(const struct plan_change *change)
{
	g_autoptr(GString) text = g_string_new(kinds[change->kind].what_if);

	if (change->kind != PLAN_BUCKETS) {
		g_string_append_printf(text, "%u", change->count);
		return g_string_free(g_steal_pointer(&text), FALSE);
	}
	for (guint i = 0; i < change->order->len; i++)
		if (g_array_index(change->order, guint32, i) != i)
			return NULL;
	for (guint i = 0; i < change->n_of->len; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "",
				       g_array_index(change->n_of, guint32, i));
	return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean tacho_plan_check_applicable(const TachoPlan *plan, GError **error)
{
	FOR_EACH(const struct plan_change, change, plan->changes)
		if (change->kind != PLAN_BUCKETS) {
			g_set_error(
				error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				"the plan sets %s to %u, which tacho apply does not do: set it in "
				"the job, and take it out of the plan",
				kinds[change->kind].name, change->count);
			return FALSE;
		}
	if (plan->changes->len > 0)
		return TRUE;
	g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
			    "the plan changes nothing");
	return FALSE;
}
