/* event_path: the critical path through the recorded events of one rank, by the rules of HTA's lightweight
 * critical path analysis (Holistic Trace Analysis, docs/source/features/lightweight_critical_path_analysis).
 *
 * Its nodes are the begins and ends of operations, runtime calls and the work of devices; an edge has a
 * weight, the time that passes on it, and the path is the one of most weight. That is another question than
 * tacho_predict()'s path: nothing is replayed, other ranks are not looked at, and time between the outermost
 * operations of a thread weighs nothing. docs/views.md says what follows from that. */
#ifndef TACHO_EVENT_PATH_H
#define TACHO_EVENT_PATH_H

#include <tacho/table.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

/* EVENT_EDGE(enumerator, name, what bounds the path there) */
#define TACHO_EVENT_EDGES(EVENT_EDGE)                                                              \
	EVENT_EDGE(WORK, work, NULL) /* in an event: see tacho_event_edge_bound() */               \
	EVENT_EDGE(DEPENDENCY, dependency, "dependency") /* outermost operations of a thread */    \
	EVENT_EDGE(LAUNCH, launch, "launch delay")  /* begin of a call to begin of its work */     \
	EVENT_EDGE(GAP, gap, "gap between kernels") /* work that follows on a stream */            \
	EVENT_EDGE(SYNC, sync, "dependency")	    /* end of a device's work to who waited */

typedef enum {
#define TACHO_EVENT_EDGE_ENUM(enumerator, name, bound) TACHO_EVENT_EDGE_##enumerator,
	TACHO_EVENT_EDGES(TACHO_EVENT_EDGE_ENUM)
#undef TACHO_EVENT_EDGE_ENUM
		TACHO_N_EVENT_EDGES
} TachoEventEdgeKind;

/* From the begin or end of a slice to that of another, or the same. */
typedef struct {
	guint32 from, to; /* slices */
	guint32 slice;	  /* in which the time passes; TACHO_NONE: in none */
	gint64 weight_ns;
	guint8 from_end, to_end; /* 0: the begin */
	guint8 kind;		 /* TachoEventEdgeKind */
} TachoEventEdge;

typedef struct {
	const TachoTimeline *timeline;
	gint32 rank;
	gint64 start_ns, end_ns; /* events that begin within, and what they launched */
	GArray *edges;		 /* TachoEventEdge */
	GArray *path;		 /* guint32: of `edges`, in order of time */
} TachoEventPath;

/* The path in the `instance`-th (from 0, by begin) annotation or step of the rank whose name contains
 * `annotation`; "": in all that was recorded. The timeline is correlated and must outlive the result.
 * TACHO_GRAPH_ERROR_NO_STEPS: no such rank or annotation, or nothing in it. */
TachoEventPath *tacho_event_path_find(const TachoTimeline *timeline, gint32 rank,
				      const gchar *annotation, guint instance, GError **error);
void tacho_event_path_free(TachoEventPath *path);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoEventPath, tacho_event_path_free)

/* "host", "device compute", "device communication", "launch delay" ... */
const gchar *tacho_event_edge_bound(const TachoTimeline *timeline, const TachoEventEdge *edge);

/* Mark the path in its timeline, for exports and queries: its slices (TACHO_SLICE_CRITICAL), and a flow
 * (TACHO_FLOW_CRITICAL) for each of its edges but those of time that passes in a thread or a stream. */
void tacho_event_path_mark(const TachoEventPath *path, TachoTimeline *timeline);

/* How many different slices the path touches. */
guint tacho_event_path_n_slices(const TachoEventPath *path);

G_END_DECLS

#endif
