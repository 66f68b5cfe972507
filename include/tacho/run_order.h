/* run_order: whether two runs of a job did the same work in the same order: a determinism check, for what is to be
 * joined from several runs (counters with times), and for jobs that should be reproducible. docs/diff.md defines it. */
#ifndef TACHO_RUN_ORDER_H
#define TACHO_RUN_ORDER_H

#include <tacho/analyze.h>

G_BEGIN_DECLS

typedef struct _TachoRunOrder TachoRunOrder;

/* What a correlated timeline did in which order; nothing of the timeline is kept. The filter counts with
 * its rank, steps and name.
 * `label` is what the run shall be called. NULL: the rank or the steps asked for are not there (TACHO_DIFF_ERROR of
 * diff.h). The result is the caller's. */
TachoRunOrder *tacho_run_order_new(const TachoTimeline *timeline, const TachoFilter *filter,
				   const gchar *label, GError **error);
void tacho_run_order_free(TachoRunOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoRunOrder, tacho_run_order_free)

const gchar *tacho_run_order_label(const TachoRunOrder *order);
/* How many operations and pieces of devices' work it has. */
guint64 tacho_run_order_count(const TachoRunOrder *order);

/* A row a thread, stream or list of collectives of either run, those that differ first; never NULL. */
TachoTable *tacho_run_order_table(const TachoRunOrder *base, const TachoRunOrder *other);
/* How many rows of such a table differ. */
guint tacho_run_order_n_different(const TachoTable *table);

/* One JSON object: docs/json.md. `tables[i]` compares `base` with `others[i]`. */
void tacho_run_order_print_json(const TachoRunOrder *base, const TachoRunOrder *const *others,
				const TachoTable *const *tables, guint n, FILE *out);

G_END_DECLS

#endif
