/* kernel_event: what the operating system's kernel did with a thread of the job, or for it. Importers of kernel traces make slices of kind
 * EVENT of it, on tracks of kind ASYNC beside those of the threads, and name them by what is here.
 *
 *     preempted by hog                     another thread took its core, for so long
 *     run queue, behind hog                it could run, and another thread, or nobody yet, had its core
 *     blocked in futex                     it waited in that system call
 *     page fault                           it waited for a page to be read
 *     memory reclaim                       it looked for memory itself, because there was too little
 *     block read 254:0                     a block device did what it had asked for
 *     retransmit 10.0.0.1 -> 10.0.0.2      before its end, TCP waited so long at least, and then sent something once more
 *
 * A thread of the thread's own process is called "own NAME". */
#ifndef TACHO_KERNEL_EVENT_H
#define TACHO_KERNEL_EVENT_H

#include <tacho/timeline.h>

/* KIND(enumerator, word for tables, how its names begin, what is between that and what is told of it) */
#define KERNEL_EVENT_KINDS(KIND)                                                                   \
	KIND(PREEMPTED, "preempted", "preempted", " by ")                                          \
	KIND(RUN_QUEUE, "run queue", "run queue", ", behind ")                                     \
	KIND(BLOCKED, "blocked", "blocked", " in ")                                                \
	KIND(FAULT, "page fault", "page fault", " ")                                               \
	KIND(RECLAIM, "reclaim", "memory reclaim", " ")                                            \
	KIND(BLOCK_IO, "block I/O", "block", " ")                                                  \
	KIND(RETRANSMIT, "retransmit", "retransmit", " ")

enum kernel_event_kind {
	KERNEL_EVENT_NONE, /* something else */
#define KERNEL_EVENT_ENUM(enumerator, word, begin, between) KERNEL_EVENT_##enumerator,
	KERNEL_EVENT_KINDS(KERNEL_EVENT_ENUM)
#undef KERNEL_EVENT_ENUM
		N_KERNEL_EVENTS
};

enum kernel_event_kind kernel_event_of(const TachoTimeline *timeline, guint32 slice);
/* The word for tables; static. */
const gchar *kernel_event_word(enum kernel_event_kind kind);
/* What the name tells beside its kind: "hog", "futex"; "": nothing. The timeline's. */
const gchar *kernel_event_detail(const TachoTimeline *timeline, guint32 name,
				 enum kernel_event_kind kind);
/* Whether what took the core, or had it, is of the thread's own process. */
gboolean kernel_event_is_own(const TachoTimeline *timeline, guint32 name,
			     enum kernel_event_kind kind);
/* The string id of such a name; `detail` may be NULL or "". */
guint32 kernel_event_name(TachoTimeline *timeline, enum kernel_event_kind kind, const gchar *detail,
			  gboolean is_own);

/* Whether anything of the kind is in the timeline. */
gboolean kernel_events_are_in(const TachoTimeline *timeline);

/* What a counter of a thread counts that kernel traces tell sums of. */
#define KERNEL_COUNTERS(COUNTER)                                                                   \
	COUNTER(MINOR_FAULTS, "minor page faults")                                                 \
	COUNTER(MAJOR_FAULTS, "major page faults")                                                 \
	COUNTER(RUN_MS, "ms on a core")                                                            \
	COUNTER(READY_MS, "ms ready for a core")                                                   \
	COUNTER(GIVEN_UP, "times it had to wait")                                                  \
	COUNTER(TAKEN, "times its core was taken")                                                 \
	COUNTER(IO_WAIT_MS, "ms waiting for block devices")

enum kernel_counter {
	KERNEL_COUNTER_NONE,
#define KERNEL_COUNTER_ENUM(enumerator, word) KERNEL_COUNTER_##enumerator,
	KERNEL_COUNTERS(KERNEL_COUNTER_ENUM)
#undef KERNEL_COUNTER_ENUM
		N_KERNEL_COUNTERS
};

/* What the counter of that name counts, of the track's thread. */
enum kernel_counter kernel_counter_of(const TachoTimeline *timeline, guint32 name);
const gchar *kernel_counter_word(enum kernel_counter counter);
/* "minor page faults, thread 4711"; to be freed with g_free(). */
gchar *kernel_counter_name(enum kernel_counter counter, guint32 tid);

#endif
