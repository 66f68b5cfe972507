/* region_kind: what a region, an operation or a wait of a thread is to a training job, as its name tells, or that of its
 * track. */
#ifndef TACHO_REGION_KIND_H
#define TACHO_REGION_KIND_H

#include <tacho/timeline.h>

#define REGION_KINDS(KIND)                                                                          \
	KIND(OTHER)                                                                                 \
	KIND(STEP)	     /* a step of PyTorch's profiler; region_step_number() says which */    \
	KIND(PROFILER)	     /* all the time in which PyTorch's profiler recorded */                \
	KIND(OPTIMIZER_STEP) /* an optimizer updates parameters */                                  \
	KIND(COMPILE)	     /* a graph is traced, and code generated and compiled */               \
	KIND(EVALUATE)	     /* autograd's engine runs a node, which region_evaluated() names */    \
	KIND(EVALUATE_ACCUMULATE) /* the same, a node that accumulates a gradient, and its hooks */ \
	KIND(ENGINE)		  /* anything else that autograd's engine does */                   \
	KIND(ACCUMULATE)	  /* a parameter gets its gradient */                               \
	KIND(COPY_GRADIENT) /* DDP copies a gradient from its bucket back to the parameter */       \
	KIND(REDUCER)	    /* anything else that DDP's reducer does */                             \
	KIND(QUEUE)	    /* PyTorch's c10d queues a collective */                                \
	KIND(COLLECTIVE)    /* a backend of c10d's takes a collective up */                         \
	KIND(LIBRARY)	    /* a function of a library of collectives */                            \
	/* A batch is taken from a data loader (trace/data_loading.h): */                           \
	KIND(LOADING_WORKERS) /* that has worker processes */                                       \
	KIND(LOADING_INLINE)  /* that reads in the thread itself */                                 \
	KIND(LOADING)	      /* of which that is not told */                                       \
	KIND(LOADER_WORKERS)  /* a wait for a data loader's workers; a region may be anything */    \
	KIND(LOADER)	      /* the same for a data loader */                                      \
	/* Tensors that TensorFlow's processes ask each other for: */                               \
	KIND(TENSOR_REQUEST)  /* from when it was asked for until it is there */                    \
	KIND(TENSOR_RESPONSE) /* from when that came in until the response is ready */              \
	KIND(TENSOR_COPY)     /* from the device's memory */                                        \
	KIND(RENDEZVOUS)      /* a track on which senders and receivers of a process meet */        \
	KIND(RENDEZVOUS_WAIT) /* the first of them waits for the other */

enum region_kind {
#define REGION_KIND_ENUM(enumerator) REGION_##enumerator,
	REGION_KINDS(REGION_KIND_ENUM)
#undef REGION_KIND_ENUM
		N_REGION_KINDS
};

enum region_kind region_kind_of_name(const TachoTimeline *timeline, guint32 name);

static inline enum region_kind region_kind_of(const TachoTimeline *timeline, guint32 slice)
{
	return region_kind_of_name(timeline, timeline->slices.name[slice]);
}

/* Autograd's engine around a node: the two EVALUATE. */
static inline gboolean region_kind_evaluates(enum region_kind kind)
{
	return kind == REGION_EVALUATE || kind == REGION_EVALUATE_ACCUMULATE;
}

/* Autograd's node that accumulates a gradient, or its engine around it. */
static inline gboolean region_kind_accumulates(enum region_kind kind)
{
	return kind == REGION_ACCUMULATE || kind == REGION_EVALUATE_ACCUMULATE;
}

/* Whether an operation or a kernel carries data between ranks, or queues that. */
static inline gboolean slice_communicates(const TachoTimeline *timeline, guint32 slice)
{
	enum region_kind kind = region_kind_of(timeline, slice);

	return kind == REGION_QUEUE || kind == REGION_COLLECTIVE || kind == REGION_LIBRARY;
}

/* Whether that is the name of an OPTIMIZER_STEP, as far as no importer has told otherwise. */
gboolean region_text_updates(const gchar *name);
/* The number that the name of a STEP tells: the first one in it; 0: there is none. */
gint64 region_step_number(const TachoTimeline *timeline, guint32 name);
/* The node that the name of an EVALUATE has behind it; any other name as it is. */
const gchar *region_evaluated(const TachoTimeline *timeline, guint32 name);

#endif
