/* work_index: which collectives a thread, or a process, sees through at a moment.
 *
 * Seeing a collective through is taking it up and completing it on the same thread, as gloo's workers
 * do, one at a time each. */
#ifndef TACHO_WORK_INDEX_H
#define TACHO_WORK_INDEX_H

#include <tacho/timeline.h>

/* A collective that one thread takes up and completes. */
struct work {
	guint32 process, tid;
	guint32 slice;
	gint64 start_ns, end_ns;
};

struct work_index {
	GArray *by_thread; /* struct work, by process, thread and begin */
	GArray *by_begin;  /* the same by process and begin */
};

enum { MAX_WORKS_AT_ONCE = 16 }; /* of a process: how far back one is looked for that is not over */

/* The caller keeps `index`, and ends it with work_index_release(). */
void work_index_init(struct work_index *index, const TachoTimeline *timeline);
void work_index_release(struct work_index *index);

/* The collective that the thread sees through at that moment, or TACHO_NONE. */
guint32 work_index_of_thread(const struct work_index *index, guint32 process, guint32 tid,
			     gint64 time_ns);
/* Those of the process, the one begun last first. Returns how many. */
guint work_index_of_process(const struct work_index *index, guint32 process, gint64 time_ns,
			    guint32 ret_slices[MAX_WORKS_AT_ONCE]);

#endif
