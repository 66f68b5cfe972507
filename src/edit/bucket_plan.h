/* bucket_plan: which gradients go out together. */
#ifndef TACHO_BUCKET_PLAN_H
#define TACHO_BUCKET_PLAN_H

#include "edit/change.h"
#include "graph/graph_internal.h"

/* PyTorch's assignment of gradients to buckets: for each gradient its bucket's number, in
 * `buckets`; returns how many buckets. */
guint32 bucket_plan(const struct graph_gradient *gradients, guint32 n_gradients,
		    guint64 first_cap_bytes, guint64 cap_bytes, guint32 *buckets);
/* Horovod's assignment to fusion buffers of at most `threshold_bytes`, in the same form. */
guint32 buffer_plan(const struct graph_gradient *gradients, guint32 n_gradients,
		    guint64 threshold_bytes, guint32 *buckets);

/* Make a change of the key fusion or bucket_mb, as change_apply() does, but let no bucket have the time that was recorded, not even those that are as
 * they were: what two partitions take is then by one model. */
gboolean bucket_plan_model(TachoGraph *graph, const struct change *change, GError **error);

#endif
