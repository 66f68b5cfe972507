/* graph: what a run did, as work that depends on other work, over all its ranks.
 *
 * A node is the smallest piece of work: the time an operation spends in itself between two of its
 * children, a kernel, the host's time between operations, the transfer of a collective, the time
 * that a launch takes to reach its device. An edge says that a node cannot begin before another has
 * ended, and why. Waiting is in no node: it is what a replay (tacho/replay.h) finds out.
 * docs/replay.md describes the model. */
#ifndef TACHO_GRAPH_H
#define TACHO_GRAPH_H

#include <stdio.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

/* NODE_KIND(enumerator, name, what the critical path calls it). */
#define TACHO_NODE_KINDS(NODE_KIND)                                                                \
	NODE_KIND(REMOVED, removed, "")	    /* an edit took it away */                             \
	NODE_KIND(START, start, "wait")	    /* a rank begins later than the first */               \
	NODE_KIND(LAUNCH, launch, "launch") /* from a call to when its device can begin */         \
	NODE_KIND(GAP, gap, "gap")	    /* a device has what it waits for, but not begun */    \
	NODE_KIND(QUEUE, queue, "communication")       /* a rank has come to a collective */       \
	NODE_KIND(TRANSFER, transfer, "communication") /* all have: bytes move */                  \
	NODE_KIND(COMPLETE, complete, "communication") /* a rank has the result */                 \
	NODE_KIND(OP, op, "compute")		       /* an operation's own time */               \
	NODE_KIND(KERNEL, kernel, "compute")	       /* a library's kernel */                    \
	NODE_KIND(HOST, host, "host")		       /* between operations */                    \
	NODE_KIND(WAIT, wait, "wait")		       /* for something outside, say data */       \
	NODE_KIND(DEVICE, device, "device")	       /* a kernel, on a device's stream */        \
	NODE_KIND(COPY, copy, "copy")		       /* a copy or a fill, on one */              \
	NODE_KIND(CAST, cast, "device") /* of a kernel's inputs to other numbers, by a what-if */  \
	NODE_KIND(PART, part, "communication") /* of a collective, the rest of which is not there */

typedef enum {
#define TACHO_NODE_KIND_ENUM(enumerator, name, category) TACHO_NODE_##enumerator,
	TACHO_NODE_KINDS(TACHO_NODE_KIND_ENUM)
#undef TACHO_NODE_KIND_ENUM
		TACHO_N_NODE_KINDS
} TachoNodeKind;

/* EDGE_KIND(enumerator, name): `to` begins only when `from` has ended, because ... */
#define TACHO_EDGE_KINDS(EDGE_KIND)                                                                \
	EDGE_KIND(PROGRAM, program)   /* it follows in the same thread */                          \
	EDGE_KIND(THREAD, thread)     /* another thread began it, or waited for it */              \
	EDGE_KIND(QUEUE, queue)	      /* the collective must have been queued */                   \
	EDGE_KIND(TRANSFER, transfer) /* it is part of the same collective */                      \
	EDGE_KIND(WAIT, wait)	      /* it waited for the collective */                           \
	EDGE_KIND(ORDER, order)	      /* one worker carries out the collectives in order */        \
	EDGE_KIND(LAUNCH, launch)     /* a call launched it on a device */                         \
	EDGE_KIND(STREAM, stream)     /* it follows on the same stream */                          \
	EDGE_KIND(EVENT, event)	      /* its stream waited for an event of another */              \
	EDGE_KIND(SYNC, sync)	      /* a call waited for the device */

typedef enum {
#define TACHO_EDGE_KIND_ENUM(enumerator, name) TACHO_EDGE_##enumerator,
	TACHO_EDGE_KINDS(TACHO_EDGE_KIND_ENUM)
#undef TACHO_EDGE_KIND_ENUM
		TACHO_N_EDGE_KINDS
} TachoEdgeKind;

#define TACHO_GRAPH_ERROR tacho_graph_error_quark()
GQuark tacho_graph_error_quark(void);
typedef enum {
	TACHO_GRAPH_ERROR_NO_STEPS,  /* nothing to replay: no step that all ranks completed */
	TACHO_GRAPH_ERROR_CYCLE,     /* work that waits for itself; the message names it */
	TACHO_GRAPH_ERROR_SIZE,	     /* more than 32-bit indices can number */
	TACHO_GRAPH_ERROR_WHAT_IF,   /* not a what-if, or one that does not fit this graph */
	TACHO_GRAPH_ERROR_OTHER_JOB, /* recordings that were to be of one job are of several */
} TachoGraphError;

typedef struct _TachoGraph TachoGraph;

/* The graph of the steps `first_step` to `last_step` (inclusive, -1: no limit) of a correlated
 * timeline: of these, the longest run that every rank completed. Control steps are no hole in it, and
 * take no time. Where there are no steps at all, but work of devices, all that was recorded is one. The
 * timeline must outlive the graph; of it, only the strings are added to. The caller's.
 * TACHO_GRAPH_ERROR_NO_STEPS, TACHO_GRAPH_ERROR_CYCLE or TACHO_GRAPH_ERROR_SIZE otherwise.
 *
 * Several processes that have read the timeline together (tacho/peers.h) all call this. The first has the graph of all ranks,
 * in which the others' work has names and times, but no slices; what the others have is good for its steps alone. */
TachoGraph *tacho_graph_build(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
			      GError **error);
void tacho_graph_free(TachoGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoGraph, tacho_graph_free)

guint32 tacho_graph_n_nodes(const TachoGraph *graph);
guint32 tacho_graph_n_edges(const TachoGraph *graph);

/* What the graph leaves out or assumes, a sentence each. */
guint tacho_graph_n_notes(const TachoGraph *graph);
const gchar *tacho_graph_borrow_note(const TachoGraph *graph, guint index);

/* A line a node: number, where, kind, name, time, and in brackets what it depends on. For tests
 * and for looking. */
void tacho_graph_dump(const TachoGraph *graph, FILE *out);

const gchar *tacho_node_kind_name(TachoNodeKind kind);
const gchar *tacho_node_kind_category(TachoNodeKind kind);
const gchar *tacho_edge_kind_name(TachoEdgeKind kind);

G_END_DECLS

#endif
