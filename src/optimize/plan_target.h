/* plan_target: plans in the forms of those who carry them out without tacho, and of dPRO, both ways.
 *
 * (1) What the form cannot say is an error that says what, never left out in silence.
 * (2) Gradients are called by their place in the plan's job, from 0; so are tensors in dPRO's files. */
#ifndef TACHO_PLAN_TARGET_H
#define TACHO_PLAN_TARGET_H

#include "optimize/plan.h"

/* TACHO_PLAN_ERROR_NOT_APPLICABLE: the plan has nothing that the form can say. Failed writes are the caller's to see, of `out`. */
typedef gboolean PlanWrite(const TachoPlan *plan, FILE *out, GError **error);
#define PLAN_TARGET(name, write, description) PlanWrite write;
#include "optimize/plan_targets.def"
#undef PLAN_TARGET

/* The change, or an error that the plan has none. */
const struct plan_change *plan_target_need(const TachoPlan *plan, enum plan_change_kind kind,
					   GError **error);
/* How many bytes the bucket has that begins at `order[first]`. */
guint64 plan_bucket_bytes(const TachoPlan *plan, const struct plan_change *buckets, guint32 first,
			  guint32 n);
guint64 plan_largest_bucket(const TachoPlan *plan, const struct plan_change *buckets);

/* A plan in any form that can be told by its first characters: tacho's own, or one of dPRO's three. `job` is the job that dPRO's files
 * are for, which they do not name; NULL: they are refused. The caller's. */
TachoPlan *plan_read_any(const gchar *path, const TachoPlan *job, GError **error);
TachoPlan *plan_parse_dpro(const gchar *text, const TachoPlan *job, GError **error);

#endif
