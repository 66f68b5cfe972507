/* bucket_steps: when the steps of buckets began, and which buckets a view is about. */
#ifndef TACHO_BUCKET_STEPS_H
#define TACHO_BUCKET_STEPS_H

#include "analyze/selection.h"

/* Whether the view is about the bucket: its rank and its step. `cursor`, 0 at first, makes it quick for buckets in the order of the timeline's table. */
gboolean bucket_is_chosen(const struct selection *selection, const TachoBucket *bucket,
			  guint *cursor);
/* The begin of the bucket's step; false: it is in none. */
gboolean bucket_step_begin(const TachoTimeline *timeline, const TachoBucket *bucket,
			   gint64 *ret_begin_ns);

#endif
