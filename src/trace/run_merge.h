/* run_merge: one timeline of the rows of all streams, each read for itself. Slices are not copied: they
 * are read into the place that was found for them by counting. */
#ifndef TACHO_RUN_MERGE_H
#define TACHO_RUN_MERGE_H

#include <tacho/timeline.h>

struct stream_input;

/* Make room in the timeline's slices for what was counted in each of `streams`, in this order, and give
 * each its part as the views of its rows. False: no memory, or more slices than can be numbered. */
gboolean run_merge_make_room(TachoTimeline *timeline, struct stream_input *const *streams,
			     guint n_streams, GError **error);

/* Where several processes make one report: make room for what other processes have lent of their streams, and put it there,
 * once this one's own, which stand together in `streams`, have been read. False as above. */
gboolean run_merge_add_lent(TachoTimeline *timeline, struct stream_input *const *streams,
			    guint n_streams, GError **error);

/* Fill slices and memory events of the timeline from `streams`, whose tracks have been made and are
 * in the order of the streams, which is the one in which there was made room for them; streams without
 * rows may be missing. Their rows' big parts are released on the way. False: no memory. */
gboolean run_merge(TachoTimeline *timeline, struct stream_input *const *streams, guint n_streams,
		   GError **error);

#endif
