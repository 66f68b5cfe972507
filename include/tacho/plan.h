/* plan: what is to be different in a job, as a file that `tacho optimize` writes and `tacho apply` carries out (docs/plan.md). */
#ifndef TACHO_PLAN_FILE_H
#define TACHO_PLAN_FILE_H

#include <glib.h>
#include <stdio.h>

G_BEGIN_DECLS

#define TACHO_PLAN_ERROR tacho_plan_error_quark()
GQuark tacho_plan_error_quark(void);
typedef enum {
	TACHO_PLAN_ERROR_FORMAT,  /* not a plan, or one that says what cannot be */
	TACHO_PLAN_ERROR_VERSION, /* written by a later version */
	TACHO_PLAN_ERROR_NOT_APPLICABLE,
	TACHO_PLAN_ERROR_UNKNOWN_TARGET, /* no form of that name */
} TachoPlanError;

typedef struct _TachoPlan TachoPlan;

/* The plan in a file; the caller's. TACHO_PLAN_ERROR, G_FILE_ERROR: the message names the file. */
TachoPlan *tacho_plan_read(const gchar *path, GError **error);
/* Write it. FALSE: not everything could be written; errno says why. */
gboolean tacho_plan_write(const TachoPlan *plan, FILE *out);
/* `tacho apply` carries out all of it; else TACHO_PLAN_ERROR_NOT_APPLICABLE says what has to be done by hand. */
gboolean tacho_plan_check_applicable(const TachoPlan *plan, GError **error);
/* The name of the plan's change number `index`, as docs/plan.md has it; NULL: it has no more. */
const gchar *tacho_plan_change(const TachoPlan *plan, guint index);
/* The names of all that it changes, joined by '+', in their order: "buckets+accumulation". To be freed with g_free(). */
gchar *tacho_plan_kinds(const TachoPlan *plan);
/* Forward and backward passes for each update, as it sets them; 1 where it does not. */
guint tacho_plan_passes(const TachoPlan *plan);

/* What a plan can be written as, by number from 0: its name; NULL: there are no more. */
const gchar *tacho_plan_target(guint index, const gchar **ret_description);
/* An unknown one's error lists those there are. */
gboolean tacho_plan_find_target(const gchar *name, guint *ret_index, GError **error);
/* Write it so. TACHO_PLAN_ERROR_NOT_APPLICABLE: the form cannot say what the plan changes. That not everything could be written is the
 * caller's to see, of `out`. */
gboolean tacho_plan_write_as(const TachoPlan *plan, guint target, FILE *out, GError **error);

void tacho_plan_free(TachoPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPlan, tacho_plan_free)

G_END_DECLS

#endif
