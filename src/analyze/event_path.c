/* event_path: the critical path of one rank's events.
 *
 * Edges, and what they weigh:
 *
 *   of a thread   along the nesting, from begin to begin, begin to end, end to end and end to begin: the time
 *                 between. A call that waits for a device weighs nothing at its end: its time is the
 *                 device's. From an outermost operation to the next: nothing.
 *   of a stream   from begin to end of a work: its time. Before it
 *                   LAUNCH  from the begin of its call, where what it had to wait for had ended before: the
 *                           time between
 *                   GAP     else, from the end of the work before: the time between, unless an event of
 *                           another stream came later than that. From its call then: nothing.
 *                   SYNC    from the end of the work with which an event came: nothing
 *   of a call     SYNC from the ends of the work that it waited for: nothing
 *
 * Nodes and edges are made in HTA's order, for that decides between paths that weigh the same
 * (event_path_longest.c). */
#include <tacho/event_path.h>
#include <tacho/graph.h>

#include <string.h>

#include "analyze/device_work.h"
#include "analyze/event_path_longest.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "trace/call_kind.h"
#include "trace/none_rows.h"
#include "trace/slice_columns.h"

static const gchar *const bounds[] = {
#define EVENT_EDGE_BOUND(enumerator, name, bound) bound,
	TACHO_EVENT_EDGES(EVENT_EDGE_BOUND)
#undef EVENT_EDGE_BOUND
};

/* A work of a device, or a wait for it: in the order in which they are looked at. */
struct device_event {
	guint32 slice;
	gint64 time_ns; /* begin; of a wait its end, for it may overlap what it waited for */
};

/* Work of a stream, by who launched it. */
struct launched {
	guint32 stream, thread; /* tracks */
	gint64 launch_ns;	/* begin of the call */
	guint32 work;
};

struct finder {
	TachoEventPath *path;
	const TachoTimeline *timeline;
	guint32 process;
	guint32 annotation;  /* slice, TACHO_NONE: all of the trace */
	guint8 *is_in;	     /* of each slice: it has nodes */
	GArray *events;	     /* struct device_event */
	GArray *launched;    /* struct launched, in order */
	guint32 *last_work;  /* of each track: what its stream did last, or TACHO_NONE */
	GHashTable *sync_of; /* slice -> work + 1 that it has to wait for */
};

/* --- what is looked at ------------------------------------------------------------------------ */

static gboolean is_of_process(const struct finder *finder, guint32 slice)
{
	return tacho_timeline_track(finder->timeline, finder->timeline->slices.track[slice])
		       ->process == finder->process;
}

static gboolean is_on(const struct finder *finder, guint32 slice, TachoTrackKind kind)
{
	return tacho_timeline_track(finder->timeline, finder->timeline->slices.track[slice])
		       ->kind == kind;
}

static gboolean is_in_window(const struct finder *finder, guint32 slice)
{
	gint64 start_ns = finder->timeline->slices.start_ns[slice];

	return start_ns >= finder->path->start_ns && start_ns <= finder->path->end_ns &&
	       finder->timeline->slices.duration_ns[slice] > 0;
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const struct device_event *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns) ?: ORDER(x->slice, y->slice);
}

static void add_device_event(struct finder *finder, guint32 slice)
{
	const TachoSlices *slices = &finder->timeline->slices;
	struct device_event event = { slice, slices->start_ns[slice] };

	if (slices->kind[slice] == TACHO_SLICE_SYNC)
		event.time_ns = tacho_slice_end_ns(finder->timeline, slice);
	else
		finder->is_in[slice] = 1;
	g_array_append_val(finder->events, event);
}

static void collect_events(struct finder *finder)
{
	const TachoSlices *slices = &finder->timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		TachoSliceKind kind = slices->kind[i];
		guint32 launch = slices->launch[i];

		if (!is_of_process(finder, i))
			continue;
		if ((kind == TACHO_SLICE_OP || kind == TACHO_SLICE_RUNTIME) &&
		    is_on(finder, i, TACHO_TRACK_THREAD))
			finder->is_in[i] = is_in_window(finder, i);
		else if (launch != TACHO_NONE &&
			 (is_device_work(finder->timeline, i) || kind == TACHO_SLICE_SYNC) &&
			 is_in_window(finder, launch))
			add_device_event(finder, i);
	}
	g_array_sort(finder->events, compare_events);
}

/* --- edges ------------------------------------------------------------------------------------ */

static gint64 time_of(const struct finder *finder, guint32 slice, gboolean is_end)
{
	return is_end ? tacho_slice_end_ns(finder->timeline, slice)
		      : finder->timeline->slices.start_ns[slice];
}

/* An end of a slice. */
struct point {
	guint32 slice; /* TACHO_NONE: none */
	gboolean is_end;
};

static void add_edge(struct finder *finder, struct point from, struct point to,
		     TachoEventEdgeKind kind, gboolean has_weight, guint32 slice)
{
	TachoEventEdge edge = {
		.from = from.slice,
		.to = to.slice,
		.slice = slice,
		.from_end = (guint8)from.is_end,
		.to_end = (guint8)to.is_end,
		.kind = (guint8)kind,
	};

	if (has_weight && kind != TACHO_EVENT_EDGE_DEPENDENCY && kind != TACHO_EVENT_EDGE_SYNC)
		edge.weight_ns = MAX(time_of(finder, to.slice, to.is_end) -
					     time_of(finder, from.slice, from.is_end),
				     0);
	g_array_append_val(finder->path->edges, edge);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Those that HTA takes to wait. */
static gboolean waits_for_device(enum call_kind kind)
{
	return kind == CALL_DEVICE_SYNC || kind == CALL_STREAM_SYNC || kind == CALL_EVENT_SYNC ||
	       kind == CALL_EVENT_QUERY || kind == CALL_COPY_SYNC || kind == CALL_COPY_ASYNC;
}

struct walk {
	struct finder *finder;
	GArray *open;		/* guint32: slices with nodes, innermost last */
	struct point last;	/* in the outermost operation that is open */
	guint32 last_outermost; /* that is over */
	guint32 around; /* of `last`, where the time after it passes if another begins then */
};

static void enter(struct walk *walk, guint32 slice)
{
	struct point begin = { slice, FALSE };

	if (walk->open->len == 0 && walk->last_outermost != TACHO_NONE)
		add_edge(walk->finder, (struct point){ walk->last_outermost, TRUE }, begin,
			 TACHO_EVENT_EDGE_DEPENDENCY, FALSE, TACHO_NONE);
	if (walk->last.slice != TACHO_NONE)
		add_edge(walk->finder, walk->last, begin, TACHO_EVENT_EDGE_WORK, TRUE,
			 walk->last.is_end ? walk->around : walk->last.slice);
	g_array_append_val(walk->open, slice);
	walk->last = begin;
}

static void leave(struct walk *walk)
{
	guint32 slice = g_array_index(walk->open, guint32, walk->open->len - 1);
	struct point end = { slice, TRUE };
	gboolean is_waiting = waits_for_device(call_kind_of(walk->finder->timeline, slice));

	g_array_set_size(walk->open, walk->open->len - 1);
	add_edge(walk->finder, walk->last, end, TACHO_EVENT_EDGE_WORK, !is_waiting, slice);
	walk->around = walk->finder->timeline->slices.parent[slice];
	walk->last = end;
	if (walk->open->len == 0) {
		walk->last.slice = TACHO_NONE;
		walk->last_outermost = slice;
	}
}

static void leave_until(struct walk *walk, guint32 parent)
{
	const TachoSlices *slices = &walk->finder->timeline->slices;

	/* the next is in `parent`, which may be in a slice that has no nodes */
	while (parent != TACHO_NONE && !walk->finder->is_in[parent])
		parent = slices->parent[parent];
	while (walk->open->len > 0 &&
	       g_array_index(walk->open, guint32, walk->open->len - 1) != parent)
		leave(walk);
}

static void walk_thread(struct finder *finder, const TachoTrack *track)
{
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
	struct walk walk = { finder, open, { TACHO_NONE, FALSE }, TACHO_NONE, TACHO_NONE };

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (!finder->is_in[i])
			continue;
		leave_until(&walk, finder->timeline->slices.parent[i]);
		enter(&walk, i);
	}
	leave_until(&walk, TACHO_NONE);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* The work that each wait for an event is for, and, of a stream that waits, the work that it launched next:
 * that has to wait. */
static guint32 work_of_event(const struct finder *finder, guint32 sync)
{
	gpointer work = g_hash_table_lookup(finder->sync_of, GUINT_TO_POINTER(sync));

	return work ? GPOINTER_TO_UINT(work) - 1 : TACHO_NONE;
}

static void collect_event_waits(struct finder *finder)
{
	const GArray *flows = finder->timeline->flows;

	FOR_EACH(const TachoFlow, flow, flows)
		if (flow->kind == TACHO_FLOW_EVENT_WAIT)
			g_hash_table_insert(finder->sync_of, GUINT_TO_POINTER(flow->to),
					    GUINT_TO_POINTER(flow->from + 1));
}

static gint compare_launched(gconstpointer a, gconstpointer b)
{
	const struct launched *x = a, *y = b;

	return ORDER(x->stream, y->stream) ?: ORDER(x->thread, y->thread) ?:
	       ORDER(x->launch_ns, y->launch_ns) ?: ORDER(x->work, y->work);
}

static void collect_launched(struct finder *finder)
{
	const TachoSlices *slices = &finder->timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 call = slices->launch[i];

		if (call != TACHO_NONE && is_of_process(finder, i) &&
		    is_device_work(finder->timeline, i)) {
			struct launched launched = { slices->track[i], slices->track[call],
						     slices->start_ns[call], i };

			g_array_append_val(finder->launched, launched);
		}
	}
	g_array_sort(finder->launched, compare_launched);
}

/* The work of the stream that the thread launched next after `call`, or with it; TACHO_NONE: there is none. */
static guint32 launched_next(const struct finder *finder, guint32 stream, guint32 call)
{
	const TachoSlices *slices = &finder->timeline->slices;
	struct launched wanted = { stream, slices->track[call], slices->start_ns[call], 0 };
	const struct launched *next;
	guint n = ROWS_BEFORE(finder->launched, struct launched, row,
			      compare_launched(row, &wanted) < 0);

	if (n == finder->launched->len)
		return TACHO_NONE;
	next = &g_array_index(finder->launched, struct launched, n);
	return next->stream == wanted.stream && next->thread == wanted.thread ? next->work
									      : TACHO_NONE;
}

static void sync_call(struct finder *finder, guint32 work, guint32 call)
{
	if (work != TACHO_NONE && finder->is_in[work] && finder->is_in[call])
		add_edge(finder, (struct point){ work, TRUE }, (struct point){ call, TRUE },
			 TACHO_EVENT_EDGE_SYNC, FALSE, TACHO_NONE);
}

static void follow_sync(struct finder *finder, guint32 sync)
{
	const TachoSlices *slices = &finder->timeline->slices;
	guint32 track = slices->track[sync], call = slices->launch[sync];
	guint32 work = work_of_event(finder, sync), next;

	switch (call_kind_of(finder->timeline, sync)) {
	case CALL_EVENT_WAIT:
		next = work == TACHO_NONE ? TACHO_NONE : launched_next(finder, track, call);
		if (next != TACHO_NONE)
			g_hash_table_insert(finder->sync_of, GUINT_TO_POINTER(next),
					    GUINT_TO_POINTER(work + 1));
		break;
	case CALL_EVENT_SYNC:
		if (call_kind_of(finder->timeline, call) != CALL_EVENT_QUERY) /* never waits */
			sync_call(finder, work, call);
		break;
	case CALL_DEVICE_SYNC:
		for (guint32 i = 0; i < finder->timeline->tracks->len; i++)
			sync_call(finder, finder->last_work[i], call);
		break;
	case CALL_STREAM_SYNC:
		sync_call(finder, finder->last_work[track], call);
		break;
	default:
		break;
	}
}

static gboolean ended_before(const struct finder *finder, guint32 work, gint64 time_ns)
{
	return work == TACHO_NONE || tacho_slice_end_ns(finder->timeline, work) < time_ns;
}

static void follow_work(struct finder *finder, guint32 work)
{
	const TachoSlices *slices = &finder->timeline->slices;
	guint32 *last = &finder->last_work[slices->track[work]];
	struct point begin = { work, FALSE }, end = { work, TRUE };
	struct point call = { slices->launch[work], FALSE };
	gint64 launch_ns = slices->start_ns[call.slice];
	guint32 sync = work_of_event(finder, work);
	gboolean is_launch;

	add_edge(finder, begin, end, TACHO_EVENT_EDGE_WORK, TRUE, work);
	if (sync != TACHO_NONE && !finder->is_in[sync])
		sync = TACHO_NONE;
	if (sync != TACHO_NONE)
		add_edge(finder, (struct point){ sync, TRUE }, begin, TACHO_EVENT_EDGE_SYNC, FALSE,
			 TACHO_NONE);
	is_launch = ended_before(finder, *last, launch_ns) && ended_before(finder, sync, launch_ns);
	if (!is_launch && *last != TACHO_NONE &&
	    (sync == TACHO_NONE || tacho_slice_end_ns(finder->timeline, sync) <
					   tacho_slice_end_ns(finder->timeline, *last)))
		add_edge(finder, (struct point){ *last, TRUE }, begin, TACHO_EVENT_EDGE_GAP, TRUE,
			 *last);
	if (finder->is_in[call.slice])
		add_edge(finder, call, begin, TACHO_EVENT_EDGE_LAUNCH, is_launch, TACHO_NONE);
	*last = work;
}

static void walk_devices(struct finder *finder)
{
	for (guint i = 0; i < finder->events->len; i++) {
		guint32 slice = g_array_index(finder->events, struct device_event, i).slice;

		if (finder->timeline->slices.kind[slice] == TACHO_SLICE_SYNC)
			follow_sync(finder, slice);
		else
			follow_work(finder, slice);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static gboolean find_window(struct finder *finder, const gchar *annotation, guint instance,
			    GError **error)
{
	const TachoTimeline *timeline = finder->timeline;
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(guint32));

	finder->path->start_ns = G_MININT64;
	finder->path->end_ns = G_MAXINT64;
	if (!*annotation)
		return TRUE;
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_ANNOTATION &&
		    is_of_process(finder, i) && is_on(finder, i, TACHO_TRACK_THREAD) &&
		    strstr(tacho_slice_name(timeline, i), annotation))
			g_array_append_val(found, i);
	if (instance >= found->len) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "rank %d has %u annotations whose name contains '%s'%s",
			    finder->path->rank, found->len, annotation,
			    found->len ? "; they count from 0" : "");
		return FALSE;
	}
	g_array_sort_with_data(found, slice_columns_order, (gpointer)&timeline->slices);
	finder->annotation = g_array_index(found, guint32, instance);
	finder->path->start_ns = timeline->slices.start_ns[finder->annotation];
	finder->path->end_ns = tacho_slice_end_ns(timeline, finder->annotation);
	return TRUE;
}

static gboolean find_process(struct finder *finder, GError **error)
{
	const GArray *ranks = finder->timeline->ranks;

	for (guint i = 0; i < ranks->len; i++)
		if (g_array_index(ranks, TachoRank, i).rank == finder->path->rank) {
			finder->process = g_array_index(ranks, TachoRank, i).main_process;
			return TRUE;
		}
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS, "the run has no rank %d",
		    finder->path->rank);
	return FALSE;
}

static void finder_init(struct finder *finder, TachoEventPath *path)
{
	const TachoTimeline *timeline = path->timeline;

	finder->path = path;
	finder->timeline = timeline;
	finder->annotation = TACHO_NONE;
	finder->is_in = g_new0(guint8, MAX(timeline->slices.n, 1u));
	finder->events = g_array_new(FALSE, FALSE, sizeof(struct device_event));
	finder->launched = g_array_new(FALSE, FALSE, sizeof(struct launched));
	finder->last_work = none_rows_new(timeline->tracks->len);
	finder->sync_of = g_hash_table_new(NULL, NULL);
}

static void finder_release(struct finder *finder)
{
	g_free(finder->is_in);
	g_array_unref(finder->events);
	g_array_unref(finder->launched);
	g_free(finder->last_work);
	g_hash_table_unref(finder->sync_of);
}

/* In an annotation that holds no operation, the path is its own time. */
static void walk_annotation(struct finder *finder)
{
	guint32 slice = finder->annotation;

	if (finder->path->edges->len == 0 && slice != TACHO_NONE)
		add_edge(finder, (struct point){ slice, FALSE }, (struct point){ slice, TRUE },
			 TACHO_EVENT_EDGE_WORK, TRUE, slice);
}

static void make_edges(struct finder *finder)
{
	collect_events(finder);
	collect_event_waits(finder);
	collect_launched(finder);
	FOR_EACH(const TachoTrack, track, finder->timeline->tracks)
		if (track->process == finder->process && track->kind == TACHO_TRACK_THREAD)
			walk_thread(finder, track);
	walk_devices(finder);
	walk_annotation(finder);
}

TachoEventPath *tacho_event_path_find(const TachoTimeline *timeline, gint32 rank,
				      const gchar *annotation, guint instance, GError **error)
{
	g_autoptr(TachoEventPath) path = g_new0(TachoEventPath, 1);
	struct finder finder = { 0 };
	gboolean is_found;

	path->timeline = timeline;
	path->rank = rank;
	path->edges = g_array_new(FALSE, FALSE, sizeof(TachoEventEdge));
	path->path = g_array_new(FALSE, FALSE, sizeof(guint32));
	finder_init(&finder, path);
	is_found =
		find_process(&finder, error) && find_window(&finder, annotation, instance, error);
	if (is_found)
		make_edges(&finder);
	finder_release(&finder);
	if (!is_found || !event_path_find_longest(path, error))
		return NULL;
	return g_steal_pointer(&path);
}

void tacho_event_path_free(TachoEventPath *path)
{
	if (!path)
		return;
	g_array_unref(path->edges);
	g_array_unref(path->path);
	g_free(path);
}

/* By its place on the path. */
static const TachoEventEdge *path_edge(const TachoEventPath *path, guint i)
{
	return &g_array_index(path->edges, TachoEventEdge, g_array_index(path->path, guint32, i));
}

guint tacho_event_path_n_slices(const TachoEventPath *path)
{
	g_autoptr(GHashTable) slices = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < path->path->len; i++) {
		const TachoEventEdge *edge = path_edge(path, i);

		g_hash_table_add(slices, GUINT_TO_POINTER(edge->from));
		g_hash_table_add(slices, GUINT_TO_POINTER(edge->to));
	}
	return g_hash_table_size(slices);
}

const gchar *tacho_event_edge_bound(const TachoTimeline *timeline, const TachoEventEdge *edge)
{
	if (bounds[edge->kind])
		return bounds[edge->kind];
	if (edge->slice == TACHO_NONE ||
	    tacho_timeline_track(timeline, timeline->slices.track[edge->slice])->kind !=
		    TACHO_TRACK_STREAM)
		return "host";
	return timeline->slices.kind[edge->slice] == TACHO_SLICE_COLLECTIVE ? "device communication"
									    : "device compute";
}

void tacho_event_path_mark(const TachoEventPath *path, TachoTimeline *timeline)
{
	for (guint i = 0; i < path->path->len; i++) {
		const TachoEventEdge *edge = path_edge(path, i);
		TachoFlow flow = { edge->from, edge->to, TACHO_FLOW_CRITICAL, 1 };

		timeline->slices.flags[edge->from] |= TACHO_SLICE_CRITICAL;
		timeline->slices.flags[edge->to] |= TACHO_SLICE_CRITICAL;
		if (edge->kind == TACHO_EVENT_EDGE_DEPENDENCY ||
		    edge->kind == TACHO_EVENT_EDGE_LAUNCH || edge->kind == TACHO_EVENT_EDGE_SYNC)
			g_array_append_val(timeline->flows, flow);
	}
}
