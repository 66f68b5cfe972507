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
	gboolean
		is_whole; /* all that was recorded, in steps or not; first_step and last_step are -1 */
	const gchar *run; /* advise view: how its commands name the run; NULL: RUN. Borrowed */
} TachoFilter;

#define TACHO_FILTER_INIT                                                                          \
	{                                                                                          \
		NULL, -1, -1, -1, FALSE, NULL, NULL, NULL, 0, FALSE, NULL                          \
	}

/* What of a filter a view may go by; all go by its rank. */
typedef enum {
	TACHO_BY_STEPS = 1 << 0,
	TACHO_BY_NAME = 1 << 1,
	TACHO_BY_DEVICE = 1 << 2,
	TACHO_BY_SHAPES = 1 << 3,
	TACHO_BY_ANNOTATION = 1 << 4, /* and instance */
	TACHO_BY_PROFILE = 1 << 5,
} TachoFilterPart;

/* VIEW(name, what it goes by, what it shows): what else a filter has changes nothing. A view is
 * src/analyze/<name>_view.c; critical and advise, which need a replay, are in src/predict. */
#define TACHO_VIEWS(VIEW)                                                                          \
	VIEW(step, TACHO_BY_STEPS,                                                                 \
	     "where each step of each rank goes: compute, communication, waiting, idle")           \
	VIEW(goodput, 0,                                                                           \
	     "what the ranks' lives go to: training steps, imports, compilation, checkpoints ...") \
	VIEW(breakdown, TACHO_BY_STEPS,                                                            \
	     "what is at work in a step: kernels, copies, runtime calls, data loading ...")        \
	VIEW(op, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_SHAPES | TACHO_BY_PROFILE,              \
	     "framework operations, by name")                                                      \
	VIEW(kernel, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                             \
	     "library and device kernels, by name and shape")                                      \
	VIEW(scope, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_PROFILE,                             \
	     "operations by module and name scope: a tree with totals")                            \
	VIEW(code, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_PROFILE,                              \
	     "operations by the functions of the program that ran them")                           \
	VIEW(graph, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_PROFILE,                             \
	     "operations by what they need: each above those whose results it reads")              \
	VIEW(comm, TACHO_BY_STEPS | TACHO_BY_NAME,                                                 \
	     "collectives: bytes, bandwidth, transfer against waiting, who was late")              \
	VIEW(message, TACHO_BY_STEPS | TACHO_BY_NAME,                                              \
	     "messages on TCP connections: for which collective, to whom, how fast")               \
	VIEW(latency, TACHO_BY_STEPS | TACHO_BY_NAME,                                              \
	     "how long requests, messages and collectives take to arrive")                         \
	VIEW(readiness, TACHO_BY_STEPS | TACHO_BY_NAME,                                            \
	     "how long operations wait after all that they read is there")                         \
	VIEW(bucket, TACHO_BY_STEPS | TACHO_BY_NAME,                                               \
	     "buckets of gradients: when ready, queued, transferred")                              \
	VIEW(gradient, TACHO_BY_STEPS | TACHO_BY_NAME,                                             \
	     "gradients in each bucket, and when each was ready")                                  \
	VIEW(overlap, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                            \
	     "communication hidden behind computation")                                            \
	VIEW(straggler, TACHO_BY_STEPS | TACHO_BY_NAME,                                            \
	     "which rank the others wait for, and what it does longer than they")                  \
	VIEW(hang, 0, "collectives that ranks were in at the end, and which ranks had not come")   \
	VIEW(memory, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                             \
	     "memory by operation: held at the peak, handed out, never given back")                \
	VIEW(memory_curve, TACHO_BY_DEVICE,                                                        \
	     "memory held over time, by category where that was recorded")                         \
	VIEW(memory_layers, TACHO_BY_DEVICE,                                                       \
	     "memory in each form: driver, pools, allocators, chunks, categories of tensors")      \
	VIEW(chunks, TACHO_BY_NAME | TACHO_BY_DEVICE,                                              \
	     "what allocators hold at the end: segments, chunks in use, free pieces")              \
	VIEW(bins, TACHO_BY_NAME,                                                                  \
	     "chunks that allocators hold at the end, by the size class they sort them into")      \
	VIEW(critical, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_ANNOTATION,                       \
	     "what a step is made of: the critical path across ranks")                             \
	VIEW(device, TACHO_BY_STEPS | TACHO_BY_DEVICE,                                             \
	     "what each device does, and how much of it is filled")                                \
	VIEW(idle, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                               \
	     "why a device waits: for the host, for a kernel to begin, for something else")        \
	VIEW(launch, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                             \
	     "before, in and after a device, by name: calls, delays, work too short for its call") \
	VIEW(graph_node, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                         \
	     "nodes of CUDA and HIP graphs: what each runs, and which operation made it")          \
	VIEW(queue, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                              \
	     "work launched for each device stream that has not begun")                            \
	VIEW(queue_curve, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                        \
	     "work queued for each device stream over time")                                       \
	VIEW(bandwidth, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                          \
	     "how fast devices copy and fill memory, by kind of copy")                             \
	VIEW(bandwidth_curve, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                    \
	     "how fast devices copy and fill memory over time")                                    \
	VIEW(offload, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                            \
	     "before, in and after a device: kernels, and transfers by direction and size")        \
	VIEW(counters, TACHO_BY_STEPS | TACHO_BY_NAME,                                             \
	     "counters: least, mean, most, and what ran then")                                     \
	VIEW(kernel_counters, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                    \
	     "hardware counters of kernels, by kernel and the operation that launched it")         \
	VIEW(system, TACHO_BY_STEPS | TACHO_BY_NAME,                                               \
	     "what the kernel did with threads: who took their cores, faults, disks, retransmits") \
	VIEW(advise, TACHO_BY_STEPS | TACHO_BY_NAME | TACHO_BY_DEVICE,                             \
	     "what to change, why, and what that would save at most")

/* By slice, 1 where a row of the scope, code or graph view is of it, or of what launched it; to be freed with
 * g_free(). NULL: rows of this view have no slices of their own. */
guint8 *tacho_view_slices(const gchar *view, const TachoTimeline *timeline,
			  const TachoFilter *filter);

/* The table of one view; never NULL. Columns are documented in docs/json.md and docs/views.md. */
/* Whether the run is small enough for a summary to have advice and a plan. All processes that have read it together
 * (tacho/peers.h) ask. */
gboolean tacho_has_findings(const TachoTimeline *timeline);
/* The three advices of the advise view that save most, for the end of a report; NULL: the run is too large to find
 * them in a moment, or several processes have read it together, each its share. The caller's. */
TachoTable *tacho_view_findings(const TachoTimeline *timeline, const TachoFilter *filter);

#define TACHO_VIEW_DECLARE(name, parts, description)                                               \
	TachoTable *tacho_view_##name(const TachoTimeline *timeline, const TachoFilter *filter);
TACHO_VIEWS(TACHO_VIEW_DECLARE)
#undef TACHO_VIEW_DECLARE

/* The step view in a row a rank: medians and means over the steps that are not warm-up. */
TachoTable *tacho_view_step_summary(const TachoTimeline *timeline, const TachoFilter *filter);

G_END_DECLS

#endif
