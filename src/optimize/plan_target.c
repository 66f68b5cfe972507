#include "optimize/plan_target.h"

#include <string.h>

#include <tacho/words.h>

#include "base/text_file.h"

static const struct {
	const gchar *name;
	PlanWrite *write;
	const gchar *description;
} targets[] = {
#define PLAN_TARGET(name, write, description) { name, write, description },
#include "optimize/plan_targets.def"
#undef PLAN_TARGET
};

const gchar *tacho_plan_target(guint index, const gchar **ret_description)
{
	if (index >= G_N_ELEMENTS(targets))
		return NULL;
	*ret_description = targets[index].description;
	return targets[index].name;
}

gboolean tacho_plan_find_target(const gchar *name, guint *ret_index, GError **error)
{
	const gchar *names[G_N_ELEMENTS(targets) + 1] = { NULL };
	g_autofree gchar *there = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
		names[i] = targets[i].name;
		if (strcmp(names[i], name) != 0)
			continue;
		*ret_index = i;
		return TRUE;
	}
	there = tacho_did_you_mean(name, names);
	g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_UNKNOWN_TARGET,
		    "a plan cannot be written as '%s'%s", name, there);
	return FALSE;
}

gboolean tacho_plan_write_as(const TachoPlan *plan, guint target, FILE *out, GError **error)
{
	return targets[target].write(plan, out, error);
}

gboolean plan_write_plan(const TachoPlan *plan, FILE *out, GError **error)
{
	if (plan->changes->len == 0) {
		g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "the change is one for a person to make, and no plan says it");
		return FALSE;
	}
	tacho_plan_write(plan, out);
	return TRUE;
}

const struct plan_change *plan_target_need(const TachoPlan *plan, enum plan_change_kind kind,
					   GError **error)
{
	const struct plan_change *change = plan_find(plan, kind);

	if (!change)
		g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
			    "the plan has no '%s', and nothing else of it can be said in this form",
			    plan_change_name(kind));
	return change;
}

guint64 plan_bucket_bytes(const TachoPlan *plan, const struct plan_change *buckets, guint32 first,
			  guint32 n)
{
	guint64 bytes = 0;

	for (guint32 i = first; i < first + n; i++)
		bytes += g_array_index(plan->gradients, struct plan_gradient,
				       g_array_index(buckets->order, guint32, i))
				 .bytes;
	return bytes;
}

guint64 plan_largest_bucket(const TachoPlan *plan, const struct plan_change *buckets)
{
	guint64 largest = 0;
	guint32 first = 0;

	for (guint i = 0; i < buckets->n_of->len; i++) {
		guint32 n = g_array_index(buckets->n_of, guint32, i);

		largest = MAX(largest, plan_bucket_bytes(plan, buckets, first, n));
		first += n;
	}
	return largest;
}

TachoPlan *plan_read_any(const gchar *path, const TachoPlan *job, GError **error)
{
	gsize length;
	g_autofree gchar *text = text_file_read(path, PLAN_MAX_BYTES, &length, error);
	TachoPlan *plan;

	if (!text)
		return NULL;
	/* tacho's own have this member first */
	plan = strstr(text, "\"tacho_plan\"") ? plan_parse(text, length, error)
					      : plan_parse_dpro(text, job, error);
	if (!plan)
		g_prefix_error(error, "%s: this is not a plan that can be used: ", path);
	return plan;
}
