/* forward_backward: which op made an autograd node.
 *
 * An op that starts when the autograd counter of its thread is s creates the nodes s, s + 1 ...; a
 * backward node carries the number it was created with. So, for each forward thread:
 *
 * (1) low(op) is the least number >= 0 in the op's subtree; an op without one made no node.
 * (2) A node with number s belongs to the last op, among the outermost ones begun before the node,
 *     with low(op) <= s: ops that made no node share the low of their successor.
 * (3) The pair is exact if a record of the op's subtree carries s itself, otherwise inferred.
 * (4) A node without a number (AccumulateGrad) belongs, inferred, to the op of the nearest earlier
 *     node of its thread.
 *
 * The counter only grows, so several iterations need no care: an op of a later iteration has a
 * higher low. Begun-before-the-node keeps that true where a counter starts again.
 *
 * What runs inside a node is backward work: it is no forward op and does not count for the low
 * of an op around the node. The exceptions bring numbers of their own: ops recomputed inside
 * a checkpoint's node, or differentiated twice, are outermost within the node and are owners too.
 * "autograd::engine::evaluate_function" records wrap a node; they are not ops in this sense.
 *
 * Nodes know their forward thread by autograd's id only. A mark "autograd_thread" (first: the id)
 * on a thread tells its id. Without marks it is the thread whose ops carry the most numbers of the
 * id's nodes; if equal, ids, which autograd hands out when a thread records first, go to threads in
 * the order of their first numbered op. */
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "correlate/correlate_internal.h"
#include "trace/mark_kind.h"
#include "trace/region_kind.h"

enum {
	SAMPLES_PER_ID = 64, /* nodes of an id that are looked up to find its thread */
	MAX_TRIED = 256,     /* ids, and threads an id; beyond: the process's first thread */
};

/* An op that may own nodes. */
struct owner {
	guint32 slice;
	gint64 low; /* -1: made none */
};

/* A number that a record of an owner's subtree carries. */
struct number {
	gint64 sequence;
	guint32 owner;
};

/* A thread that ran numbered ops. */
struct forward {
	guint32 track;
	guint64 id;	   /* autograd's, 0: not marked */
	gint64 first_ns;   /* its first numbered record */
	GArray *owners;	   /* struct owner, in order of time */
	GArray *numbers;   /* struct number, sorted */
	gboolean is_taken; /* an id has been given to it */
};

struct node {
	guint32 slice;
	gint64 start_ns;
	gint64 sequence;
	guint64 forward_thread; /* autograd's id */
	guint32 owner_slice;	/* found, or TACHO_NONE */
	gboolean is_exact;
};

/* One process at work. */
struct pairing {
	TachoTimeline *timeline;
	guint32 *owner_of;	 /* of each slice of the timeline; see collect_owners() */
	GHashTable *id_of_track; /* track -> autograd's id, as marked */
	GPtrArray *forwards;	 /* struct forward */
	GArray *nodes;		 /* struct node, by id and time */
};

static void forward_free(gpointer data)
{
	struct forward *forward = data;

	g_array_free(forward->owners, TRUE);
	g_array_free(forward->numbers, TRUE);
	g_free(forward);
}

static gboolean is_backward(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD;
}

static gboolean is_wrapper(const TachoTimeline *timeline, guint32 slice)
{
	return region_kind_evaluates(region_kind_of(timeline, slice));
}

/* --- a thread's owners and nodes ------------------------------------------------------------- */

static void add_number(struct forward *forward, guint32 owner_index, gint64 sequence,
		       gint64 start_ns)
{
	struct owner *owner = &g_array_index(forward->owners, struct owner, owner_index);
	struct number number = { sequence, owner_index };

	owner->low = owner->low < 0 ? sequence : MIN(owner->low, sequence);
	if (forward->numbers->len == 0)
		forward->first_ns = start_ns;
	g_array_append_val(forward->numbers, number);
}

static void add_node(struct pairing *pairing, guint32 slice, const TachoOpArgs *args)
{
	struct node node = {
		.slice = slice,
		.start_ns = pairing->timeline->slices.start_ns[slice],
		.sequence = args->sequence,
		.forward_thread = args->forward_thread,
		.owner_slice = TACHO_NONE,
	};

	g_array_append_val(pairing->nodes, node);
}

/* Find the owners and nodes of a track. Slices stand in preorder, so that a parent's entry in
 * owner_of[] is there before its children ask: the index of the owner that a slice lies in, or
 * TACHO_NONE where it lies in none, or in backward work that no owner has claimed yet. */
static void collect_owners(struct pairing *pairing, const TachoTrack *track,
			   struct forward *forward)
{
	const TachoTimeline *timeline = pairing->timeline;
	const TachoSlices *slices = &timeline->slices;
	guint32 *owner_of = pairing->owner_of;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		TachoOpArgs args = { .sequence = -1 };
		struct owner owner = { .slice = i, .low = -1 };

		owner_of[i] =
			slices->parent[i] == TACHO_NONE ? TACHO_NONE : owner_of[slices->parent[i]];
		if (slices->kind[i] != TACHO_SLICE_OP)
			continue;
		if (!tacho_slice_op(timeline, i, &args))
			args.sequence = -1;
		if (is_backward(timeline, i)) {
			owner_of[i] = TACHO_NONE;
			add_node(pairing, i, &args);
		} else if (is_wrapper(timeline, i)) {
			owner_of[i] = TACHO_NONE;
		} else {
			if (owner_of[i] == TACHO_NONE) {
				owner_of[i] = forward->owners->len;
				g_array_append_val(forward->owners, owner);
			}
			if (args.sequence >= 0)
				add_number(forward, owner_of[i], args.sequence,
					   slices->start_ns[i]);
		}
	}
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	const struct number *left = a, *right = b;

	return ORDER(left->sequence, right->sequence) ?: ORDER(left->owner, right->owner);
}

/* Numbers nearly always come in order, and g_array_sort() does not profit from it. */
static void sort_numbers(GArray *numbers)
{
	for (guint i = 1; i < numbers->len; i++)
		if (compare_numbers(&g_array_index(numbers, struct number, i - 1),
				    &g_array_index(numbers, struct number, i)) > 0) {
			g_array_sort(numbers, compare_numbers);
			return;
		}
}

static void collect_track(struct pairing *pairing, guint32 track_number)
{
	struct forward *forward = g_new0(struct forward, 1);

	forward->track = track_number;
	forward->owners = g_array_new(FALSE, FALSE, sizeof(struct owner));
	forward->numbers = g_array_new(FALSE, FALSE, sizeof(struct number));
	collect_owners(pairing, tacho_timeline_track(pairing->timeline, track_number), forward);
	if (forward->numbers->len == 0) {
		forward_free(forward);
		return;
	}
	sort_numbers(forward->numbers);
	forward->id = GPOINTER_TO_SIZE(
		g_hash_table_lookup(pairing->id_of_track, GUINT_TO_POINTER(track_number)));
	g_ptr_array_add(pairing->forwards, forward);
}

/* --- the thread behind an id ----------------------------------------------------------------- */

/* The first number of the thread that is not before (sequence, owner), or NULL. */
static const struct number *find_number(const struct forward *forward, gint64 sequence,
					guint32 owner)
{
	const struct number wanted = { sequence, owner };
	guint n = ROWS_BEFORE(forward->numbers, struct number, row,
			      compare_numbers(row, &wanted) < 0);

	return n < forward->numbers->len ? &g_array_index(forward->numbers, struct number, n)
					 : NULL;
}

/* How many of a sample of nodes[first .. end) carry numbers of `forward`. */
static guint count_numbers(const struct pairing *pairing, const struct forward *forward,
			   guint first, guint end)
{
	guint step = (end - first) / SAMPLES_PER_ID + 1, count = 0;

	for (guint i = first; i < end; i += step) {
		const struct node *node = &g_array_index(pairing->nodes, struct node, i);

		const struct number *number = find_number(forward, node->sequence, 0);

		if (node->sequence >= 0 && node->start_ns >= forward->first_ns)
			count += number && number->sequence == node->sequence;
	}
	return count;
}

static struct forward *find_marked_forward(const struct pairing *pairing, guint64 id)
{
	for (guint i = 0; i < MIN(pairing->forwards->len, MAX_TRIED); i++) {
		struct forward *forward = g_ptr_array_index(pairing->forwards, i);

		if (forward->id && forward->id == id)
			return forward;
	}
	return NULL;
}

/* The thread behind the id of nodes[first .. end). */
static struct forward *find_forward(const struct pairing *pairing, guint first, guint end)
{
	struct forward *best = g_ptr_array_index(pairing->forwards, 0);
	struct forward *marked = find_marked_forward(
		pairing, g_array_index(pairing->nodes, struct node, first).forward_thread);
	guint n_tried = MIN(pairing->forwards->len, MAX_TRIED), best_count = 0;

	if (marked || pairing->forwards->len == 1)
		return marked ? marked : best;
	for (guint i = 0; i < n_tried; i++) {
		struct forward *forward = g_ptr_array_index(pairing->forwards, i);
		guint count = count_numbers(pairing, forward, first, end);

		if (count > best_count ||
		    (count == best_count && best->is_taken && !forward->is_taken)) {
			best = forward;
			best_count = count;
		}
	}
	best->is_taken = TRUE;
	return best;
}

/* --- nodes to owners ------------------------------------------------------------------------- */

static gboolean begins_before(const TachoTimeline *timeline, guint32 slice, const struct node *node)
{
	gint64 start_ns = timeline->slices.start_ns[slice];

	return start_ns < node->start_ns || (start_ns == node->start_ns && slice < node->slice);
}

/* The stack holds the owners that may still be the last with a low <= some s: indices, lows
 * strictly ascending. A newer owner hides all with a low not below its own. */
static void push_owner(GArray *stack, GArray *owners, guint32 index)
{
	gint64 low = g_array_index(owners, struct owner, index).low;

	while (stack->len > 0 &&
	       g_array_index(owners, struct owner, g_array_index(stack, guint32, stack->len - 1))
			       .low >= low)
		g_array_set_size(stack, stack->len - 1);
	g_array_append_val(stack, index);
}

static guint32 last_owner_up_to(GArray *stack, GArray *owners, gint64 sequence)
{
	const guint32 *last = LAST_BEFORE(
		stack, guint32, index, g_array_index(owners, struct owner, *index).low <= sequence);

	return last ? *last : TACHO_NONE;
}

/* Give nodes[first .. end), which are in order of time, their owners on `forward`. */
static void pair_nodes(struct pairing *pairing, const struct forward *forward, guint first,
		       guint end)
{
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint32 next = 0;

	for (guint i = first; i < end; i++) {
		struct node *node = &g_array_index(pairing->nodes, struct node, i);
		const struct number *number;
		guint32 index;

		for (; next < forward->owners->len; next++) {
			const struct owner *owner =
				&g_array_index(forward->owners, struct owner, next);

			if (!begins_before(pairing->timeline, owner->slice, node))
				break;
			if (owner->low >= 0)
				push_owner(stack, forward->owners, next);
		}
		if (node->sequence < 0)
			continue;
		index = last_owner_up_to(stack, forward->owners, node->sequence);
		if (index == TACHO_NONE)
			continue;
		node->owner_slice = g_array_index(forward->owners, struct owner, index).slice;
		number = find_number(forward, node->sequence, index);
		node->is_exact =
			number && number->sequence == node->sequence && number->owner == index;
	}
}

static gint compare_nodes_by_id(gconstpointer a, gconstpointer b)
{
	const struct node *left = a, *right = b;

	return ORDER(left->forward_thread, right->forward_thread) ?:
	       ORDER(left->start_ns, right->start_ns) ?: ORDER(left->slice, right->slice);
}

static gint compare_nodes_by_slice(gconstpointer a, gconstpointer b)
{
	const struct node *left = a, *right = b;

	return ORDER(left->slice, right->slice);
}

static gint compare_forwards(gconstpointer a, gconstpointer b)
{
	const struct forward *left = *(struct forward *const *)a;
	const struct forward *right = *(struct forward *const *)b;

	return ORDER(left->first_ns, right->first_ns) ?: ORDER(left->track, right->track);
}

static void pair_process(struct pairing *pairing)
{
	GArray *nodes = pairing->nodes;
	guint n_ids = 0;

	if (pairing->forwards->len == 0)
		return;
	g_ptr_array_sort(pairing->forwards, compare_forwards);
	g_array_sort(nodes, compare_nodes_by_id);
	for (guint first = 0, end; first < nodes->len; first = end) {
		guint64 id = g_array_index(nodes, struct node, first).forward_thread;

		for (end = first; end < nodes->len; end++)
			if (g_array_index(nodes, struct node, end).forward_thread != id)
				break;
		pair_nodes(pairing,
			   n_ids++ < MAX_TRIED ? find_forward(pairing, first, end)
					       : g_ptr_array_index(pairing->forwards, 0),
			   first, end);
	}
}

/* Write the flows, and (4): slices stand by track and time, so the nearest earlier node of the
 * same thread is the node before. */
static void add_flows(struct pairing *pairing)
{
	TachoTimeline *timeline = pairing->timeline;
	guint32 last_owner = TACHO_NONE, last_track = TACHO_NONE;

	g_array_sort(pairing->nodes, compare_nodes_by_slice);
	FOR_EACH(const struct node, node, pairing->nodes) {
		guint32 track = timeline->slices.track[node->slice];
		guint32 owner = node->owner_slice;

		if (track != last_track)
			last_owner = TACHO_NONE;
		if (node->sequence < 0)
			owner = last_owner;
		if (owner != TACHO_NONE)
			add_flow(timeline, TACHO_FLOW_FORWARD_BACKWARD, owner, node->slice,
				 node->is_exact);
		last_owner = owner;
		last_track = track;
	}
}

/* Track to id. A thread that went through a fork may say it twice; the last word holds. */
static GHashTable *collect_ids(const TachoTimeline *timeline)
{
	GHashTable *id_of_track = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoMark, mark, timeline->marks)
		if (mark_kind_of(timeline, mark) == MARK_AUTOGRAD_THREAD)
			g_hash_table_insert(id_of_track, GUINT_TO_POINTER(mark->track),
					    GSIZE_TO_POINTER((gsize)mark->first));
	return id_of_track;
}

void pair_forward_backward(TachoTimeline *timeline)
{
	g_autoptr(GHashTable) id_of_track = collect_ids(timeline);
	g_autofree guint32 *owner_of = g_new(guint32, timeline->slices.n);
	g_autoptr(GPtrArray) tracks_of =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);

	for (guint32 i = 0; i < timeline->processes->len; i++)
		g_ptr_array_add(tracks_of, g_array_new(FALSE, FALSE, sizeof(guint32)));
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (track->kind == TACHO_TRACK_THREAD && track->process < tracks_of->len)
			g_array_append_val((GArray *)g_ptr_array_index(tracks_of, track->process),
					   i);
	for (guint32 i = 0; i < timeline->processes->len; i++) {
		GArray *tracks = g_ptr_array_index(tracks_of, i);
		g_autoptr(GPtrArray) forwards = g_ptr_array_new_with_free_func(forward_free);
		g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(struct node));
		struct pairing pairing = { timeline, owner_of, id_of_track, forwards, nodes };

		for (guint k = 0; k < tracks->len; k++)
			collect_track(&pairing, g_array_index(tracks, guint32, k));
		pair_process(&pairing);
		add_flows(&pairing);
	}
}
