/* analyze: questions to a correlated timeline; each answer is a table. */
#ifndef TACHO_ANALYZE_H
#define TACHO_ANALYZE_H

#include <tacho/profile_options.h>
#include <tacho/table.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

typedef struct {
	GRegex *name;		      /* only names that match; NULL: all. Borrowed */
	gint32 rank;		      /* -1: all */
	gint64 first_step, last_step; /* inclusive; -1: no limit. Both -1: all but the warm-up */
	gboolean by_shape;	      /* op view: a row for each shape of the inputs */
	const TachoProfileOptions
		*profile; /* op, scope, graph, code; NULL: the defaults. Borrowed */
	GRegex *device;	  /* only streams whose name matches; NULL: all. Borrowed */
	/* critical view: only what an annotation of one rank holds, the instance-th of those whose name
	 * contains the text ("": all that was recorded); NULL: steps, across ranks. Borrowed */
	const gchar *annotation;
	guint instance;
} TachoFilter;

#define TACHO_FILTER_INIT                                                                          \
	{                                                                                          \
		NULL, -1, -1, -1, FALSE, NULL, NULL, NULL, 0                                       \
	}

/* VIEW(name, what it shows). A view is src/analyze/<name>_view.c; critical, which needs a replay, is
 * src/replay/critical_view.c. */
#define TACHO_VIEWS(VIEW)                                                                          \
	VIEW(step, "where each step of each rank goes: compute, communication, waiting, idle")     \
	VIEW(breakdown,                                                                            \
	     "what is at work in a step: kernels, copies, runtime calls, data loading ...")        \
	VIEW(op, "framework operations, by name")                                                  \
	VIEW(kernel, "library and device kernels, by name and shape")                              \
	VIEW(scope, "operations by module and name scope: a tree with totals")                     \
	VIEW(code, "operations by the functions of the program that ran them")                     \
	VIEW(graph, "operations by what they need: each above those whose results it reads")       \
	VIEW(comm, "collectives: bytes, bandwidth, transfer against waiting, who was late")        \
	VIEW(message, "messages on TCP connections: for which collective, to whom, how fast")      \
	VIEW(latency, "how long requests, messages and collectives take to arrive")                \
	VIEW(bucket, "buckets of gradients: when ready, queued, transferred")                      \
	VIEW(gradient, "gradients in each bucket, and when each was ready")                        \
	VIEW(overlap, "communication hidden behind computation")                                   \
	VIEW(straggler, "which rank the others wait for, and what it does longer than they")       \
	VIEW(memory, "memory by operation: held at the peak, handed out, never given back")        \
	VIEW(memory_curve, "memory held over time, by category where that was recorded")           \
	VIEW(chunks, "what allocators hold at the end: segments, chunks in use, free pieces")      \
	VIEW(bins,                                                                                 \
	     "chunks that allocators hold at the end, by the size class they sort them into")      \
	VIEW(critical, "what a step is made of: the critical path across ranks")                   \
	VIEW(device, "what each device does, and how much of it is filled")                        \
	VIEW(idle, "why a device waits: for the host, for a kernel to begin, for something else")  \
	VIEW(launch, "from launch to kernel: calls, delays, work too short for its launch")        \
	VIEW(graph_node,                                                                           \
	     "nodes of CUDA and HIP graphs: what each runs, and which operation made it")          \
	VIEW(queue, "work launched for each device stream that has not begun")                     \
	VIEW(counters, "counters: least, mean, most, and what ran then")                           \
	VIEW(advise, "what to change, why, and what that would save at most")

/* The table of one view; never NULL. Columns are documented in docs/json.md and docs/views.md. */
#define TACHO_VIEW_DECLARE(name, description)                                                      \
	TachoTable *tacho_view_##name(const TachoTimeline *timeline, const TachoFilter *filter);
TACHO_VIEWS(TACHO_VIEW_DECLARE)
#undef TACHO_VIEW_DECLARE

/* The step view in a row a rank: medians and means over the steps that are not warm-up. */
TachoTable *tacho_view_step_summary(const TachoTimeline *timeline, const TachoFilter *filter);

G_END_DECLS

#endif
