/* graph_capture: which call, and so which op, made the node of a graph that a device works for.
 *
 * A call that launches a graph (cudaGraphLaunch, hipGraphLaunch) launches all its nodes at once; what each is
 * for was said when the graph was captured: between the begin and the end of a capture, calls that would have
 * launched work make nodes instead.
 *
 *     complete_work     a row for all work of graphs, whether or not its importer told nodes
 *     group_launches    by launch; equal launches are of one graph
 *     resolve_told      a node that the trace says was made at a moment on a thread: what was open there then
 *     infer_captures    else by order: a capture with as many calls as the graph has nodes, of the same kinds
 *
 * (1) The nodes of a graph are in the order of their ids, which count up as they are made; where no ids are
 *     told, in the order in which they ran, if that was on one stream: on several, their order says nothing.
 * (2) Where several captures could have made a graph, they are told apart only where there are as many graphs,
 *     with ids, whose order is then that of the captures, or where it makes no difference, as the same ops made
 *     the same nodes. Else none is said to have. */
#include "correlate/graph_capture.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "trace/call_kind.h"
#include "trace/kernel_trait.h"
#include "trace/slice_columns.h"

/* What makes a node, or a node does, as a letter. */
enum {
	NODE_NONE = '\0',
	NODE_KERNEL = 'k',
	NODE_COPY = 'c',
	NODE_FILL = 's',
};

/* The work of one launch: rows [first, first + n) of `order`. */
struct launch_group {
	guint32 launch, process;
	guint first, n;
	guint32 graph;
	guint next;	     /* group of the same graph, G_MAXUINT: none */
	gboolean is_ordered; /* (1) */
};

struct graph {
	guint first, last; /* groups */
};

struct capture {
	guint32 process;
	gint64 begin_ns, end_ns;
	GArray *calls;	/* guint32 */
	GString *nodes; /* a letter a call */
};

struct captures {
	TachoTimeline *timeline;
	const struct thread_index *threads;
	GArray *order;	  /* guint32 rows of graph_work, by launch and number */
	GArray *groups;	  /* struct launch_group */
	GArray *graphs;	  /* struct graph */
	GArray *captures; /* struct capture */
};

/* --- calls ------------------------------------------------------------------------------------ */

static gchar node_of_call(const TachoTimeline *timeline, guint32 slice)
{
	enum call_kind kind = call_kind_of(timeline, slice);

	return kind == CALL_LAUNCH	? NODE_KERNEL
	       : call_kind_copies(kind) ? NODE_COPY
	       : kind == CALL_FILL	? NODE_FILL
					: NODE_NONE;
}

static gchar node_of_work(const TachoTimeline *timeline, guint32 slice)
{
	enum kernel_trait trait = kernel_trait_of_name(timeline, timeline->slices.name[slice]);

	if (timeline->slices.kind[slice] == TACHO_SLICE_MEMCPY || trait == KERNEL_COPIES)
		return NODE_COPY;
	if (timeline->slices.kind[slice] == TACHO_SLICE_MEMSET || trait == KERNEL_FILLS)
		return NODE_FILL;
	return NODE_KERNEL;
}

/* --- rows ------------------------------------------------------------------------------------- */

static TachoGraphWork *work_at(const struct captures *captures, guint i)
{
	return &g_array_index(captures->timeline->graph_work, TachoGraphWork,
			      g_array_index(captures->order, guint32, i));
}

static gboolean is_graph_work(const struct captures *captures, guint32 slice)
{
	const TachoSlices *slices = &captures->timeline->slices;
	TachoSliceKind kind = slices->kind[slice];

	return slices->launch[slice] != TACHO_NONE &&
	       (kind == TACHO_SLICE_KERNEL || kind == TACHO_SLICE_MEMCPY ||
		kind == TACHO_SLICE_MEMSET || kind == TACHO_SLICE_COLLECTIVE) &&
	       tacho_timeline_track(captures->timeline, slices->track[slice])->kind ==
		       TACHO_TRACK_STREAM &&
	       call_kind_of(captures->timeline, slices->launch[slice]) == CALL_GRAPH_LAUNCH;
}

/* Those that an importer told are sorted by slice; what it told of work without a launch stays. */
static void complete_work(struct captures *captures)
{
	TachoTimeline *timeline = captures->timeline;
	GArray *told = timeline->graph_work;
	guint next = 0;

	timeline->graph_work = g_array_new(FALSE, TRUE, sizeof(TachoGraphWork));
	for (guint32 slice = 0; slice < timeline->slices.n; slice++) {
		TachoGraphWork work = { .slice = slice, .capture = TACHO_NONE };

		if (next < told->len && g_array_index(told, TachoGraphWork, next).slice == slice)
			work = g_array_index(told, TachoGraphWork, next);
		else if (!is_graph_work(captures, slice))
			continue;
		g_array_append_val(timeline->graph_work, work);
		while (next < told->len && g_array_index(told, TachoGraphWork, next).slice == slice)
			next++;
	}
	g_array_unref(told);
}

/* --- launches --------------------------------------------------------------------------------- */

static gint compare_work(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoTimeline *timeline = data;
	const TachoSlices *slices = &timeline->slices;
	guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
	const TachoGraphWork *x = &g_array_index(timeline->graph_work, TachoGraphWork, left);
	const TachoGraphWork *y = &g_array_index(timeline->graph_work, TachoGraphWork, right);

	return ORDER(slices->launch[x->slice], slices->launch[y->slice]) ?: ORDER(x->node, y->node) ?:
	       ORDER(slices->start_ns[x->slice], slices->start_ns[y->slice]) ?: ORDER(left, right);
}

static void order_work(struct captures *captures)
{
	for (guint32 i = 0; i < captures->timeline->graph_work->len; i++)
		g_array_append_val(captures->order, i);
	g_array_sort_with_data(captures->order, compare_work, captures->timeline);
}

/* What tells a graph from others: the process, and its nodes by id, or by the names of their work. */
static guint64 hash_group(const struct captures *captures, struct launch_group *group)
{
	const TachoSlices *slices = &captures->timeline->slices;
	guint64 hash = group->process + 1;
	guint32 track = slices->track[work_at(captures, group->first)->slice];
	gboolean has_ids = TRUE, has_one_stream = TRUE;

	for (guint i = group->first; i < group->first + group->n; i++) {
		TachoGraphWork *work = work_at(captures, i);

		work->number = i - group->first;
		has_ids &= work->node != 0;
		has_one_stream &= slices->track[work->slice] == track;
		hash = (hash ^ (guint64)work->node) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
		hash = (hash ^ slices->name[work->slice]) * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
		hash ^= hash >> 29;
	}
	group->is_ordered = has_ids || has_one_stream;
	return hash;
}

static struct launch_group *group_at(const struct captures *captures, guint group)
{
	return &g_array_index(captures->groups, struct launch_group, group);
}

static struct graph *graph_at(const struct captures *captures, guint graph)
{
	return &g_array_index(captures->graphs, struct graph, graph);
}

static void number_group(struct captures *captures, GHashTable *by_hash, struct launch_group *group)
{
	gint64 hash = (gint64)hash_group(captures, group);
	gpointer known = g_hash_table_lookup(by_hash, &hash);
	guint index = captures->groups->len;
	struct graph graph = { index, index };

	group->next = G_MAXUINT;
	if (known) {
		group->graph = GPOINTER_TO_UINT(known) - 1;
		group_at(captures, graph_at(captures, group->graph)->last)->next = index;
		graph_at(captures, group->graph)->last = index;
	} else {
		group->graph = captures->graphs->len;
		g_array_append_val(captures->graphs, graph);
		g_hash_table_insert(by_hash, g_memdup2(&hash, sizeof(hash)),
				    GUINT_TO_POINTER(group->graph + 1));
	}
	for (guint i = group->first; i < group->first + group->n; i++)
		work_at(captures, i)->graph = group->graph;
	g_array_append_val(captures->groups, *group);
}

/* Graphs are numbered in the order of their first launch's row. */
static void group_launches(struct captures *captures)
{
	const TachoTimeline *timeline = captures->timeline;
	g_autoptr(GHashTable) by_hash =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	struct launch_group group = { .n = 0 };

	for (guint i = 0; i < captures->order->len; i += group.n) {
		guint32 slice = work_at(captures, i)->slice;

		group = (struct launch_group){ .launch = timeline->slices.launch[slice],
					       .first = i };
		group.process =
			tacho_timeline_track(timeline, timeline->slices.track[slice])->process;
		while (i + group.n < captures->order->len &&
		       timeline->slices.launch[work_at(captures, i + group.n)->slice] ==
			       group.launch)
			group.n++;
		number_group(captures, by_hash, &group);
	}
}

/* --- captures that are told ------------------------------------------------------------------- */

/* What makes a node is told beside its thread: what was open on that thread then did it. */
static void resolve_told(const struct captures *captures)
{
	const TachoTimeline *timeline = captures->timeline;

	FOR_EACH(TachoGraphWork, work, timeline->graph_work) {
		const TachoTrack *track;
		guint32 thread, open = TACHO_NONE;
		gint64 time_ns;

		if (work->capture == TACHO_NONE)
			continue;
		track = tacho_timeline_track(timeline, timeline->slices.track[work->capture]);
		if (track->kind == TACHO_TRACK_THREAD)
			continue;
		time_ns = timeline->slices.start_ns[work->capture];
		thread = thread_index_track(captures->threads, track->process, track->tid, time_ns);
		if (thread != TACHO_NONE)
			open = thread_index_open_slice(captures->threads, thread, time_ns);
		if (open != TACHO_NONE)
			work->capture = open;
	}
}

/* --- captures by order ------------------------------------------------------------------------ */

static void capture_clear(gpointer data)
{
	struct capture *capture = data;

	g_array_unref(capture->calls);
	g_string_free(capture->nodes, TRUE);
}

static void add_capture(struct captures *captures, guint32 process, gint64 begin_ns, gint64 end_ns)
{
	struct capture capture = { .process = process, .begin_ns = begin_ns, .end_ns = end_ns };

	capture.calls = g_array_new(FALSE, FALSE, sizeof(guint32));
	capture.nodes = g_string_new(NULL);
	g_array_append_val(captures->captures, capture);
}

static gint compare_captures(gconstpointer a, gconstpointer b)
{
	const struct capture *x = a, *y = b;

	return ORDER(x->process, y->process) ?: ORDER(x->begin_ns, y->begin_ns);
}

/* From the begin to the next end on the same thread. */
static void find_captures(struct captures *captures)
{
	const TachoTimeline *timeline = captures->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint32 begin = TACHO_NONE;

		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices;
		     i++) {
			enum call_kind kind = timeline->slices.kind[i] == TACHO_SLICE_RUNTIME
						      ? call_kind_of(timeline, i)
						      : CALL_OTHER;

			if (kind == CALL_BEGIN_CAPTURE) {
				begin = i;
			} else if (kind == CALL_END_CAPTURE && begin != TACHO_NONE) {
				add_capture(captures, track->process,
					    tacho_slice_end_ns(timeline, begin),
					    timeline->slices.start_ns[i]);
				begin = TACHO_NONE;
			}
		}
	}
	g_array_sort(captures->captures, compare_captures);
}

/* The capture of `process` that is going on at that time: the one begun last. */
static struct capture *capture_at(const struct captures *captures, guint32 process, gint64 time_ns)
{
	struct capture key = { .process = process, .begin_ns = time_ns };
	struct capture *last = LAST_BEFORE(captures->captures, struct capture, row,
					   compare_captures(row, &key) <= 0);

	return last && last->process == process && time_ns < last->end_ns ? last : NULL;
}

/* A call of the runtime calls the driver: one node. */
static gboolean is_inner_call(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 parent = slices->parent[slice];

	return parent != TACHO_NONE && slices->kind[parent] == TACHO_SLICE_RUNTIME &&
	       node_of_call(timeline, parent) != NODE_NONE;
}

static guint8 *mark_launches(const TachoSlices *slices)
{
	guint8 *has_launched = g_new0(guint8, MAX(slices->n, 1u));

	for (guint32 i = 0; i < slices->n; i++)
		if (slices->launch[i] != TACHO_NONE)
			has_launched[slices->launch[i]] = 1;
	return has_launched;
}

/* The calls of each capture, of all threads (autograd's are captured, too): those that launched nothing. */
static void fill_captures(struct captures *captures)
{
	TachoTimeline *timeline = captures->timeline;
	g_autofree guint8 *has_launched = mark_launches(&timeline->slices);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track;
		struct capture *capture;

		if (timeline->slices.kind[i] != TACHO_SLICE_RUNTIME || has_launched[i] ||
		    node_of_call(timeline, i) == NODE_NONE || is_inner_call(timeline, i))
			continue;
		track = tacho_timeline_track(timeline, timeline->slices.track[i]);
		capture = capture_at(captures, track->process, timeline->slices.start_ns[i]);
		if (capture)
			g_array_append_val(capture->calls, i);
	}
	FOR_EACH(struct capture, capture, captures->captures) {
		g_array_sort_with_data(capture->calls, slice_columns_order, &timeline->slices);
		for (guint k = 0; k < capture->calls->len; k++)
			g_string_append_c(
				capture->nodes,
				node_of_call(timeline, g_array_index(capture->calls, guint32, k)));
	}
}

/* --- which capture made which graph ----------------------------------------------------------- */

/* Captures and graphs of a process that have the same kinds of nodes in the same order. */
struct alike {
	GArray *captures, *graphs; /* guint indices */
};

static void alike_free(gpointer data)
{
	struct alike *alike = data;

	g_array_unref(alike->captures);
	g_array_unref(alike->graphs);
	g_free(alike);
}

static struct alike *find_alike(GHashTable *by_nodes, guint32 process, const gchar *nodes)
{
	g_autofree gchar *key = g_strdup_printf("%u:%s", process, nodes);
	struct alike *alike = g_hash_table_lookup(by_nodes, key);

	if (alike)
		return alike;
	alike = g_new0(struct alike, 1);
	alike->captures = g_array_new(FALSE, FALSE, sizeof(guint));
	alike->graphs = g_array_new(FALSE, FALSE, sizeof(guint));
	g_hash_table_insert(by_nodes, g_steal_pointer(&key), alike);
	return alike;
}

static const struct launch_group *group_of_graph(const struct captures *captures, guint graph)
{
	return group_at(captures, graph_at(captures, graph)->first);
}

static gint64 first_node(const struct captures *captures, guint graph)
{
	return work_at(captures, group_of_graph(captures, graph)->first)->node;
}

static gint compare_graphs(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct captures *captures = data;
	gint64 left = first_node(captures, *(const guint *)a);
	gint64 right = first_node(captures, *(const guint *)b);

	return ORDER(left, right);
}

/* Graphs whose captures are not told, and which have an order. */
static void collect_graphs(const struct captures *captures, GHashTable *by_nodes)
{
	g_autoptr(GString) nodes = g_string_new(NULL);

	for (guint graph = 0; graph < captures->graphs->len; graph++) {
		const struct launch_group *group = group_of_graph(captures, graph);

		if (!group->is_ordered || group->launch == TACHO_NONE ||
		    work_at(captures, group->first)->capture != TACHO_NONE)
			continue;
		g_string_truncate(nodes, 0);
		for (guint i = group->first; i < group->first + group->n; i++)
			g_string_append_c(nodes, node_of_work(captures->timeline,
							      work_at(captures, i)->slice));
		g_array_append_val(find_alike(by_nodes, group->process, nodes->str)->graphs, graph);
	}
}

static guint32 op_name(const TachoTimeline *timeline, guint32 slice)
{
	while (slice != TACHO_NONE && timeline->slices.kind[slice] != TACHO_SLICE_OP)
		slice = timeline->slices.parent[slice];
	return slice == TACHO_NONE ? TACHO_NONE : timeline->slices.name[slice];
}

static gboolean are_same_ops(const TachoTimeline *timeline, const struct capture *a,
			     const struct capture *b)
{
	for (guint i = 0; i < a->calls->len; i++)
		if (op_name(timeline, g_array_index(a->calls, guint32, i)) !=
		    op_name(timeline, g_array_index(b->calls, guint32, i)))
			return FALSE;
	return TRUE;
}

static const struct capture *capture_of(const struct captures *captures, const struct alike *alike,
					guint i)
{
	return &g_array_index(captures->captures, struct capture,
			      g_array_index(alike->captures, guint, i));
}

static gboolean are_all_same(const struct captures *captures, const struct alike *alike)
{
	for (guint i = 1; i < alike->captures->len; i++)
		if (!are_same_ops(captures->timeline, capture_of(captures, alike, 0),
				  capture_of(captures, alike, i)))
			return FALSE;
	return TRUE;
}

static void assign(const struct captures *captures, guint graph, const struct capture *capture)
{
	for (guint g = graph_at(captures, graph)->first; g != G_MAXUINT;
	     g = group_at(captures, g)->next) {
		const struct launch_group *group = group_at(captures, g);

		for (guint i = 0; i < group->n; i++)
			work_at(captures, group->first + i)->capture =
				g_array_index(capture->calls, guint32, i);
	}
}

/* (2) */
static void match_alike(const struct captures *captures, const struct alike *alike)
{
	gboolean has_ids = TRUE;

	if (alike->captures->len == 0)
		return;
	for (guint i = 0; i < alike->graphs->len; i++)
		has_ids &= first_node(captures, g_array_index(alike->graphs, guint, i)) != 0;
	if (alike->graphs->len == alike->captures->len && (has_ids || alike->graphs->len == 1)) {
		g_array_sort_with_data(alike->graphs, compare_graphs, (gpointer)captures);
		for (guint i = 0; i < alike->graphs->len; i++)
			assign(captures, g_array_index(alike->graphs, guint, i),
			       capture_of(captures, alike, i));
	} else if (are_all_same(captures, alike)) {
		for (guint i = 0; i < alike->graphs->len; i++)
			assign(captures, g_array_index(alike->graphs, guint, i),
			       capture_of(captures, alike, 0));
	}
}

static void infer_captures(struct captures *captures)
{
	g_autoptr(GHashTable) by_nodes =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, alike_free);

	find_captures(captures);
	if (captures->captures->len == 0)
		return;
	fill_captures(captures);
	FOR_EACH_AT(const struct capture, capture, i, captures->captures)
		g_array_append_val(
			find_alike(by_nodes, capture->process, capture->nodes->str)->captures, i);
	collect_graphs(captures, by_nodes);
	/* each graph is in one list only, so their order does not matter */
	FOR_EACH_ENTRY(entry, by_nodes)
		match_alike(captures, entry.value);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* What was captured before the recording began is in no trace. */
static void report_uncaptured(TachoTimeline *timeline)
{
	g_autofree guint64 *counts = g_new0(guint64, timeline->processes->len);

	FOR_EACH(const TachoGraphWork, work, timeline->graph_work)
		if (work->capture == TACHO_NONE)
			counts[tacho_timeline_track(timeline, timeline->slices.track[work->slice])
				       ->process]++;
	for (guint i = 0; i < timeline->processes->len; i++)
		if (counts[i])
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_UNCAPTURED_GRAPH, counts[i],
				"rank %d, process %u: the trace does not have the capture of the "
				"graphs that launched this work; start recording before the "
				"capture to see its operations",
				tacho_timeline_process(timeline, i)->rank,
				tacho_timeline_process(timeline, i)->pid);
}

void link_graph_work(TachoTimeline *timeline, const struct thread_index *threads)
{
	struct captures captures = { .timeline = timeline, .threads = threads };

	complete_work(&captures);
	if (timeline->graph_work->len) {
		captures.order = g_array_new(FALSE, FALSE, sizeof(guint32));
		captures.groups = g_array_new(FALSE, FALSE, sizeof(struct launch_group));
		captures.graphs = g_array_new(FALSE, FALSE, sizeof(struct graph));
		captures.captures = g_array_new(FALSE, FALSE, sizeof(struct capture));
		g_array_set_clear_func(captures.captures, capture_clear);
		order_work(&captures);
		group_launches(&captures);
		resolve_told(&captures);
		infer_captures(&captures);
		g_array_unref(captures.order);
		g_array_unref(captures.groups);
		g_array_unref(captures.graphs);
		g_array_unref(captures.captures);
	}
	report_uncaptured(timeline);
}
