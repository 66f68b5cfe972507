/* correlate_internal: what the files of this stage share. */
#ifndef TACHO_CORRELATE_INTERNAL_H
#define TACHO_CORRELATE_INTERNAL_H

#include <tacho/correlate.h>
#include <tacho/timeline.h>

#include "correlate/message_order.h"
#include "correlate/thread_index.h"

struct member_index;
struct work_index;
struct _StepWindow;

static inline void add_flow(TachoTimeline *timeline, TachoFlowKind kind, guint32 from, guint32 to,
			    gboolean is_exact)
{
	TachoFlow flow = { .from = from, .to = to, .kind = kind, .is_exact = is_exact };

	g_array_append_val(timeline->flows, flow);
}

/* The number of the process that a slice is of; behind the last: of none. */
static inline guint32 process_of_slice(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice])->process;
}

/* The process of a track, or NULL where the track names none. */
static inline const TachoProcess *track_process(const TachoTimeline *timeline, guint32 track)
{
	guint32 process = tacho_timeline_track(timeline, track)->process;

	return process < timeline->processes->len
		       ? &g_array_index(timeline->processes, TachoProcess, process)
		       : NULL;
}

/* Each of these reads the slices and adds its rows; see the head of its file. */
void find_steps(TachoTimeline *timeline);
/* Those of a window that have ended since the last; `complete_ns`: up to when all is there. */
void find_window_steps(TachoTimeline *timeline, struct _StepWindow *steps, gint64 complete_ns,
		       gboolean is_forced);
void mark_partial_steps(TachoTimeline *timeline);
void pair_forward_backward(TachoTimeline *timeline);
void link_kernels(TachoTimeline *timeline, const struct thread_index *threads);
/* Returns which slices have another end now: guint32, a new array. */
GArray *end_chained_collectives(TachoTimeline *timeline, const struct thread_index *threads);
void link_queued_collectives(TachoTimeline *timeline, const struct thread_index *threads);
/* `steps`: only what it takes; NULL: all. */
void match_collectives(TachoTimeline *timeline, const struct _StepWindow *steps);
void pair_sends(TachoTimeline *timeline, const struct _StepWindow *steps);
void check_streams(TachoTimeline *timeline);
void check_launches(TachoTimeline *timeline);
void pair_messages(TachoTimeline *timeline);
void pair_requests(TachoTimeline *timeline);
void link_messages(TachoTimeline *timeline, const struct thread_index *threads);
void find_buckets(TachoTimeline *timeline);
void find_ring_steps(const struct message_order *order, const struct work_index *works,
		     const struct member_index *members);
void settle_hosts(TachoTimeline *timeline);
void align_clocks(TachoTimeline *timeline);
void check_alignment(TachoTimeline *timeline);

#endif
