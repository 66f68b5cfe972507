/* mark_kind: marks that are for tacho itself: recorders and importers make them, and later stages know them by their kind. All
 * others are the user's or another tool's, and are only shown. */
#ifndef TACHO_MARK_KIND_H
#define TACHO_MARK_KIND_H

#include <tacho/timeline.h>

#include "trace/trace_layout.h"

/* KIND(enumerator, name) */
#define MARK_KINDS(KIND)                                                                           \
	KIND(STEP, "step")			 /* a training step begins: mark_step() */         \
	KIND(CONTROL_STEP, TRACE_CONTROL_MARK)	 /* one ends in which nothing was recorded */      \
	KIND(RANK, TRACE_RANK_MARK)		 /* `first` is the process's, of `second` */       \
	KIND(PROCESS_GROUP, "process_group")	 /* ranks that have collectives together */        \
	KIND(AUTOGRAD_THREAD, "autograd_thread") /* by which number autograd knows the thread */   \
	KIND(GRAPH_BREAK, "graph_break") /* so many by `first`, for the reason in the text */      \
	KIND(PROFILER, "profiler")	 /* a framework's begins, or, `second` 0, ends */          \
	KIND(NO_KERNELS, "no_kernels")	 /* why a probe cannot see kernels: the text */

enum mark_kind {
	MARK_OTHER,
#define MARK_KIND_ENUM(enumerator, name) MARK_##enumerator,
	MARK_KINDS(MARK_KIND_ENUM)
#undef MARK_KIND_ENUM
		N_MARK_KINDS
};

enum mark_kind mark_kind_of(const TachoTimeline *timeline, const TachoMark *mark);
/* What marks of that kind, other than OTHER, are called. Never NULL. */
const gchar *mark_kind_name(enum mark_kind kind);

/* Make `mark` say that step number `first` begins at its time. A whole step lasts `second` ns, any other until the next
 * begins. Its track, times and numbers are the caller's to fill in. */
void mark_step(TachoTimeline *timeline, TachoMark *mark, gboolean is_whole);
gboolean mark_step_is_whole(const TachoTimeline *timeline, const TachoMark *mark);

#endif
