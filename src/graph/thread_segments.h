/* thread_segments: a thread's time cut into its smallest pieces.
 *
 * A piece ends wherever a slice begins or ends, and at moments asked for; it belongs to the
 * innermost slice open in it, or to none. Pieces follow each other in time and leave no gap, except
 * where a caller takes some away. */
#ifndef TACHO_THREAD_SEGMENTS_H
#define TACHO_THREAD_SEGMENTS_H

#include <tacho/timeline.h>

struct segment {
	gint64 start_ns, end_ns;
	guint32 slice;	   /* innermost, or TACHO_NONE */
	guint32 node;	   /* the caller's */
	gint64 blocked_ns; /* the caller's: until when it only waited; at first start_ns */
	gboolean
		is_sequel; /* the caller's: it began by the end of a collective that the thread had carried out */
};

/* The pieces of [from_ns, to_ns), each a struct segment, in a new array. `cuts_ns` (gint64, sorted,
 * may be NULL) are moments at which to cut as well. */
GArray *thread_segments_cut(const TachoTimeline *timeline, guint32 track, gint64 from_ns,
			    gint64 to_ns, const GArray *cuts_ns);

/* Index of the first piece that starts at `time_ns` or later; the number of pieces if none. */
guint thread_segments_from(const GArray *segments, gint64 time_ns);

static inline struct segment *segment_at(const GArray *segments, guint index)
{
	return &g_array_index(segments, struct segment, index);
}

#endif
