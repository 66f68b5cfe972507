/* thread_calls: when calls of some sort have ended on a thread: the next after a moment, the last before it. */
#ifndef TACHO_THREAD_CALLS_H
#define TACHO_THREAD_CALLS_H

#include <tacho/timeline.h>

typedef struct thread_calls thread_calls;

/* Whether the slice of a thread is such a call; `data` is what thread_calls_new() was given. */
typedef gboolean (*ThreadCallsTake)(const TachoTimeline *timeline, guint32 slice,
				    gconstpointer data);

/* Each thread is looked through when it is first asked for. The timeline and `data` stay as they are as long. */
struct thread_calls *thread_calls_new(const TachoTimeline *timeline, ThreadCallsTake take,
				      gconstpointer data);
void thread_calls_free(struct thread_calls *calls);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(thread_calls, thread_calls_free)

/* The end of the track's first call that ends at `from_ns` or later; G_MAXINT64: there is none. */
gint64 thread_calls_next_end(struct thread_calls *calls, guint32 track, gint64 from_ns);
/* The end of the track's last call that ends at `until_ns` or earlier; G_MININT64: there is none. */
gint64 thread_calls_last_end(struct thread_calls *calls, guint32 track, gint64 until_ns);

/* A ThreadCallsTake: a call that waits for a device. */
gboolean is_device_wait(const TachoTimeline *timeline, guint32 slice, gconstpointer unused);

#endif
