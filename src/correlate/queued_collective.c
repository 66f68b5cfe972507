/* queued_collective: which slice asked for a collective.
 *
 * What an importer was told stays. Else the first of these that there is:
 *
 * (1) the innermost slice open on the collective's own thread: a backend that tells of a collective
 *     when it is queued does so there;
 * (2) the c10d operation, on any thread of the process, that began before it with the same tensor:
 *     gloo tells of a collective only when a thread of its own takes it up. The earliest of its sort that
 *     none has been found for is meant. One that was recorded without its tensors does with one of that size;
 * (3) inferred: what the main thread is doing at that moment, unless the backend's thread came
 *     straight from another collective, so that this one had been waiting for it;
 * (4) inferred: the earliest such operation, whatever its tensors: some tell of what they give alone, and the
 *     collective of what it takes (scatter).
 *
 * Collectives are taken up in the order in which they were queued, but for those that several workers take up at once. So
 * an operation that is far behind one that was found has lost its collective. */
#include "base/for_each.h"
#include "base/order.h"
#include "correlate/correlate_internal.h"
#include "correlate/point_to_point.h"
#include "trace/operation.h"
#include "trace/region_kind.h"
#include "trace/run_share.h"
#include "trace/tensor_bytes.h"

enum {
	PICK_UP_NS = 100 * 1000, /* from one collective to the next that was waiting */
	MAX_WAITING = 256,	 /* operations of a process that await their collectives */
	MAX_WORKERS = 8,	 /* of a backend, that take up collectives at once */
};

/* Collectives, and the operations that queue them. */
static GArray *collect_slices(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	GArray *found = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < slices->n; i++) {
		guint8 kind = slices->kind[i];

		if (kind == TACHO_SLICE_COLLECTIVE
			    ? tacho_timeline_track(timeline, slices->track[i])->kind ==
				      TACHO_TRACK_ASYNC
			    : kind == TACHO_SLICE_OP && region_kind_of(timeline, i) == REGION_QUEUE)
			g_array_append_val(found, i);
	}
	return found;
}

/* Whether any collective may have been queued: those on a device's stream were launched. */
static gboolean has_queued(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint32 end = track->first_slice + track->n_slices;

		if (track->kind != TACHO_TRACK_ASYNC)
			continue;
		for (guint32 row = track->first_slice; row < end; row++)
			if (timeline->slices.kind[row] == TACHO_SLICE_COLLECTIVE)
				return TRUE;
	}
	return FALSE;
}

/* By begin; at the same moment, operations before collectives. */
static gint compare_slices(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoSlices *slices = data;
	guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;
	gboolean is_left_op = slices->kind[left] == TACHO_SLICE_OP;
	gboolean is_right_op = slices->kind[right] == TACHO_SLICE_OP;

	return ORDER(slices->start_ns[left], slices->start_ns[right]) ?:
	       ORDER(is_right_op, is_left_op) ?: ORDER(left, right);
}

/* Whether both tell of a first tensor, and it is the same one; or may be, where the operation has only the tensors of
 * another step: then it is as large. */
static gboolean has_same_tensor(const TachoTimeline *timeline, guint32 op, guint32 collective)
{
	gboolean is_unasked = timeline->slices.flags[op] & TACHO_SLICE_UNASKED;
	guint64 left_bytes, right_bytes;
	TachoTensor left, right;

	if (!tacho_slice_input(timeline, op, 0, &left))
		return is_unasked;
	if (!tacho_slice_input(timeline, collective, 0, &right))
		return FALSE;
	if (is_unasked)
		return tensor_bytes(&left, &left_bytes) && tensor_bytes(&right, &right_bytes) &&
		       left_bytes == right_bytes;
	return left.storage && left.storage == right.storage &&
	       left.offset_bytes == right.offset_bytes;
}

/* The operation now awaits a collective of its process. */
static void await(GHashTable *waiting, const TachoTimeline *timeline, guint32 op)
{
	gpointer process = GUINT_TO_POINTER(process_of_slice(timeline, op));
	GQueue *queue = g_hash_table_lookup(waiting, process);

	if (!queue) {
		queue = g_queue_new();
		g_hash_table_insert(waiting, process, queue);
	}
	g_queue_push_tail(queue, GUINT_TO_POINTER(op));
	if (g_queue_get_length(queue) > MAX_WAITING) /* their collectives are lost */
		g_queue_pop_head(queue);
}

/* Whether the operation asks for such a collective. Memory is used again, so a tensor that one operation sent may be where
 * another one's is. */
static gboolean asks_for(const TachoTimeline *timeline, guint32 op, guint32 collective)
{
	guint32 name = timeline->slices.name[op];
	enum collective_operation asked = operation_of_name(timeline, name);
	enum collective_operation done = collective_operation_of(timeline, collective);

	if (asked != OPERATION_UNTOLD || done != OPERATION_UNTOLD)
		return asked == done;
	return way_of_name(timeline, name) == point_to_point_way(timeline, collective);
}

/* It has its collective; so had those that asked for such a one long before. */
static void take(GQueue *queue, const TachoTimeline *timeline, GList *taken, guint32 collective)
{
	guint n_before = 0;

	for (GList *link = taken->prev, *before; link; link = before) {
		before = link->prev;
		if (asks_for(timeline, GPOINTER_TO_UINT(link->data), collective) &&
		    ++n_before >= MAX_WORKERS)
			g_queue_delete_link(queue, link);
	}
	g_queue_delete_link(queue, taken);
}

/* The first operation that asked for such a collective; with_tensor: of the same tensor. TACHO_NONE: there is none. */
static guint32 take_waiting(GHashTable *waiting, const TachoTimeline *timeline, guint32 collective,
			    gboolean with_tensor)
{
	GQueue *queue = g_hash_table_lookup(
		waiting, GUINT_TO_POINTER(process_of_slice(timeline, collective)));

	for (GList *link = queue ? queue->head : NULL; link; link = link->next) {
		guint32 op = GPOINTER_TO_UINT(link->data);

		if (!asks_for(timeline, op, collective) ||
		    (with_tensor && !has_same_tensor(timeline, op, collective)))
			continue;
		take(queue, timeline, link, collective);
		return op;
	}
	return TACHO_NONE;
}

/* The operation was found to have queued the collective otherwise: it awaits no other. */
static void forget(GHashTable *waiting, const TachoTimeline *timeline, guint32 op)
{
	GQueue *queue =
		g_hash_table_lookup(waiting, GUINT_TO_POINTER(process_of_slice(timeline, op)));

	if (queue)
		g_queue_remove(queue, GUINT_TO_POINTER(op));
}

static guint32 open_on_thread(const struct thread_index *threads, guint32 process, guint32 tid,
			      gint64 time_ns)
{
	guint32 thread = thread_index_track(threads, process, tid, time_ns);

	return thread == TACHO_NONE ? TACHO_NONE
				    : thread_index_open_slice(threads, thread, time_ns);
}

/* Whether a thread that was busy until `end_ns` came straight to what began at `begin_ns`. */
static gboolean is_picked_up(gint64 begin_ns, gint64 end_ns)
{
	return end_ns >= begin_ns || (guint64)begin_ns - (guint64)end_ns < PICK_UP_NS;
}

/* (3) */
static guint32 find_on_main_thread(const TachoTimeline *timeline,
				   const struct thread_index *threads, guint32 collective)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[collective]);
	const TachoProcess *process = track_process(timeline, slices->track[collective]);
	gint64 begin_ns = slices->start_ns[collective];

	if (!process || (collective > track->first_slice &&
			 is_picked_up(begin_ns, tacho_slice_end_ns(timeline, collective - 1))))
		return TACHO_NONE;
	return open_on_thread(threads, track->process, process->pid, begin_ns);
}

static void link_one(TachoTimeline *timeline, const struct thread_index *threads,
		     GHashTable *waiting, guint32 collective)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[collective]);
	guint32 by =
		open_on_thread(threads, track->process, track->tid, slices->start_ns[collective]);
	guint32 op = take_waiting(waiting, timeline, collective, TRUE);
	gboolean is_exact;

	if (by == TACHO_NONE)
		by = op;
	is_exact = by != TACHO_NONE;
	if (!is_exact)
		by = find_on_main_thread(timeline, threads, collective);
	if (by == TACHO_NONE)
		by = take_waiting(waiting, timeline, collective, FALSE);
	else if (by != op)
		forget(waiting, timeline, by);
	if (by != TACHO_NONE)
		add_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE, by, collective, is_exact);
}

static void queue_free(gpointer queue)
{
	g_queue_free(queue);
}

/* Collectives of which an importer was told who asked for them. */
static GHashTable *collect_told(const TachoTimeline *timeline)
{
	GHashTable *told = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE)
			g_hash_table_add(told, GUINT_TO_POINTER(flow->to));
	return told;
}

void link_queued_collectives(TachoTimeline *timeline, const struct thread_index *threads)
{
	g_autoptr(GArray) found = NULL;
	g_autoptr(GHashTable) waiting = NULL;
	g_autoptr(GHashTable) told = NULL;
	guint first_flow = timeline->flows->len;

	if (!has_queued(timeline))
		return;
	waiting = g_hash_table_new_full(NULL, NULL, NULL, queue_free);
	found = collect_slices(timeline);
	told = collect_told(timeline);
	g_array_sort_with_data(found, compare_slices, &timeline->slices);
	for (guint i = 0; i < found->len; i++) {
		guint32 slice = g_array_index(found, guint32, i);

		if (!run_share_owns(timeline, process_of_slice(timeline, slice)))
			continue; /* all its owner has may have queued it */
		if (timeline->slices.kind[slice] == TACHO_SLICE_OP)
			await(waiting, timeline, slice);
		else if (!g_hash_table_contains(told, GUINT_TO_POINTER(slice)))
			link_one(timeline, threads, waiting, slice);
	}
	run_share_flows(timeline, first_flow);
}
