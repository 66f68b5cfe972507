/* thread_index: which slice was open on a thread at a moment. */
#ifndef TACHO_THREAD_INDEX_H
#define TACHO_THREAD_INDEX_H

#include <tacho/timeline.h>

typedef struct thread_index thread_index;

struct thread_index *thread_index_new(const TachoTimeline *timeline);
void thread_index_free(struct thread_index *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(thread_index, thread_index_free)

/* The THREAD track of `tid` in `process` that was in use at `time_ns`, or TACHO_NONE. */
guint32 thread_index_track(const struct thread_index *index, guint32 process, guint32 tid,
			   gint64 time_ns);

/* The innermost slice of `track` that is open at `time_ns`, or TACHO_NONE. */
guint32 thread_index_open_slice(const struct thread_index *index, guint32 track, gint64 time_ns);

#endif
