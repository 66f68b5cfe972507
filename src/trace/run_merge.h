/* run_merge: the rows of all streams, each read for itself, into the timeline's tables. */
#ifndef TACHO_RUN_MERGE_H
#define TACHO_RUN_MERGE_H

#include <tacho/timeline.h>

struct stream_input;

/* Fill slices and memory events of the timeline from `streams`, whose tracks have been made and are
 * in the order of the streams. Their rows' big parts are released on the way. False: no memory, or
 * more slices than can be numbered. */
gboolean run_merge(TachoTimeline *timeline, struct stream_input *const *streams, guint n_streams,
		   GError **error);

#endif
