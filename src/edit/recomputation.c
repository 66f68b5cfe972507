/* recomputation: parts of the forward pass that are not kept for the backward pass, but computed again.
 *
 * What matches is computed a second time in full, for as long as it took the first time, right before its backward pass
 * begins. Which that is, correlate tells (forward_backward.c). What devices did for it they do again
 * (device_recomputation.c). The memory that it handed out, and that only its backward pass needs, is not held in between
 * (memory_edits.c). */
#include "edit/recomputation.h"
#include "base/for_each.h"
#include "base/order.h"
#include "edit/edit_state.h"

#include <string.h>

#include "edit/rank_choice.h"
#include "edit/graph_memory.h"

/* What the matched slice takes, on a rank or a copy of it, and the last node of that on a thread. */
struct forward_work {
	guint32 set, slice, rank_index;
	gint64 duration_ns;
	enum node_origin origin; /* the least sure of its nodes' */
	guint32 last_node;
	GArray *nodes; /* guint32, of streams, too */
};

struct recomputation {
	TachoGraph *graph;
	const struct rank_choice *ranks;
	const gchar *kind;
	const GRegex *regex;
	GHashTable *works;  /* graph_op_key() of a matched slice -> struct forward_work */
	GHashTable *agains; /* the same of the slice a backward pass begins with -> struct again */
	GHashTable *backward;  /* matched slice -> the slice its backward pass begins with */
	GHashTable *of_op;     /* the same of each op that has one */
	guint32 n_collectives; /* in what matches, on streams */
};

static void work_free(gpointer pointer)
{
	struct forward_work *work = pointer;

	g_array_unref(work->nodes);
	g_free(work);
}

static void again_free(gpointer pointer)
{
	struct again *again = pointer;

	g_array_unref(again->nodes);
	g_free(again);
}

static gboolean is_match(const struct recomputation *recomputation, guint32 slice)
{
	const TachoTimeline *timeline = recomputation->graph->timeline;

	return strcmp(recomputation->kind, tacho_slice_kind_name(timeline->slices.kind[slice])) ==
		       0 &&
	       g_regex_match(recomputation->regex, tacho_slice_name(timeline, slice), 0, NULL);
}

/* The outermost slice around this one, or itself, that matches. */
static guint32 matching(const struct recomputation *recomputation, guint32 slice)
{
	const TachoSlices *slices = &recomputation->graph->timeline->slices;
	guint32 match = TACHO_NONE;

	for (; slice != TACHO_NONE; slice = slices->parent[slice])
		if (is_match(recomputation, slice))
			match = slice;
	return match;
}

static struct forward_work *take_work(struct recomputation *recomputation,
				      const struct graph_node *node, guint32 match)
{
	const struct graph_lane *lane = graph_lane_at(recomputation->graph, node->lane);
	gpointer key = GSIZE_TO_POINTER(graph_set_key(lane->set, match));
	struct forward_work *work = g_hash_table_lookup(recomputation->works, key);

	if (work)
		return work;
	work = g_new0(struct forward_work, 1);
	*work = (struct forward_work){ .set = lane->set,
				       .slice = match,
				       .rank_index = lane->rank_index,
				       .last_node = TACHO_NONE,
				       .nodes = g_array_new(FALSE, FALSE, sizeof(guint32)) };
	g_hash_table_insert(recomputation->works, key, work);
	return work;
}

static gboolean is_of_thread(const struct graph_node *node)
{
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
	       node->kind == TACHO_NODE_HOST;
}

/* The slice that the node is of, or that launched it; TACHO_NONE: it is not computed. */
static guint32 calling_slice(const TachoGraph *graph, const struct graph_node *node)
{
	if (node->slice == TACHO_NONE || is_of_thread(node))
		return node->slice;
	if (node->kind == TACHO_NODE_DEVICE || node->kind == TACHO_NODE_COPY ||
	    node->kind == TACHO_NODE_QUEUE)
		return graph->timeline->slices.launch[node->slice];
	return TACHO_NONE;
}

static void find_works(struct recomputation *recomputation)
{
	const TachoGraph *graph = recomputation->graph;

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 slice = calling_slice(graph, node), match;
		struct forward_work *work;

		if (slice == TACHO_NONE || !rank_choice_has_node(recomputation->ranks, graph, node))
			continue;
		match = matching(recomputation, slice);
		if (match == TACHO_NONE)
			continue;
		if (node->kind == TACHO_NODE_QUEUE) {
			recomputation->n_collectives++;
			continue;
		}
		work = take_work(recomputation, node, match);
		g_array_append_val(work->nodes, i);
		if (is_of_thread(node)) {
			work->duration_ns += node->duration_ns;
			work->origin = MAX(work->origin, node->origin);
			work->last_node = i;
		}
	}
}

/* Let the backward pass of `slice` begin with `backward`, if that is earlier than what is known. */
static void begin_with(const TachoTimeline *timeline, GHashTable *table, guint32 slice,
		       guint32 backward)
{
	gpointer known;

	if (g_hash_table_lookup_extended(table, GUINT_TO_POINTER(slice), NULL, &known) &&
	    timeline->slices.start_ns[GPOINTER_TO_UINT(known)] <=
		    timeline->slices.start_ns[backward])
		return;
	g_hash_table_insert(table, GUINT_TO_POINTER(slice), GUINT_TO_POINTER(backward));
}

static void find_backward(struct recomputation *recomputation)
{
	const TachoTimeline *timeline = recomputation->graph->timeline;

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		guint32 match;

		if (flow->kind != TACHO_FLOW_FORWARD_BACKWARD)
			continue;
		match = matching(recomputation, flow->from);
		if (match != TACHO_NONE)
			begin_with(timeline, recomputation->backward, match, flow->to);
		begin_with(timeline, recomputation->of_op, flow->from, flow->to);
	}
}

/* The backward pass of a match: that of the ops in it, or of the op around it. TACHO_NONE: it has none. */
static guint32 backward_of(const struct recomputation *recomputation, guint32 match)
{
	const TachoSlices *slices = &recomputation->graph->timeline->slices;
	gpointer backward;

	if (g_hash_table_lookup_extended(recomputation->backward, GUINT_TO_POINTER(match), NULL,
					 &backward))
		return GPOINTER_TO_UINT(backward);
	for (guint32 op = match; op != TACHO_NONE; op = slices->parent[op])
		if (g_hash_table_lookup_extended(recomputation->of_op, GUINT_TO_POINTER(op), NULL,
						 &backward))
			return GPOINTER_TO_UINT(backward);
	return TACHO_NONE;
}

static struct again *take_again(struct recomputation *recomputation,
				const struct forward_work *work, guint32 backward)
{
	const TachoSlices *slices = &recomputation->graph->timeline->slices;
	gpointer key = GSIZE_TO_POINTER(graph_set_key(work->set, backward));
	struct again *again = g_hash_table_lookup(recomputation->agains, key);

	if (again)
		return again;
	again = g_new0(struct again, 1);
	again->insertion = (struct insertion){ .next = TACHO_NONE,
					       .kind = TACHO_NODE_OP,
					       .name = slices->name[work->slice] };
	again->begin_ns = slices->start_ns[backward];
	again->nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_hash_table_insert(recomputation->agains, key, again);
	return again;
}

/* By the slice that a backward pass begins with: what comes before it. */
static void collect_agains(struct recomputation *recomputation)
{
	const TachoSlices *slices = &recomputation->graph->timeline->slices;

	FOR_EACH_ENTRY(entry, recomputation->works) {
		const struct forward_work *work = entry.value;
		guint32 backward = backward_of(recomputation, work->slice);
		struct again *again;

		if (backward == TACHO_NONE || work->last_node == TACHO_NONE)
			continue; /* of the backward pass itself, or of none */
		again = take_again(recomputation, work, backward);
		again->insertion.duration_ns += work->duration_ns;
		again->insertion.origin = MAX(again->insertion.origin, work->origin);
		/* of several, always the same */
		again->insertion.name = MIN(again->insertion.name, slices->name[work->slice]);
		g_array_append_vals(again->nodes, work->nodes->data, work->nodes->len);
	}
}

/* The first node of each backward pass, in order; what is listed is borrowed. */
static GArray *place_agains(const struct recomputation *recomputation)
{
	const TachoGraph *graph = recomputation->graph;
	const TachoSlices *slices = &graph->timeline->slices;
	GArray *agains = g_array_new(FALSE, FALSE, sizeof(struct again));

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		if (node->kind == TACHO_NODE_REMOVED || node->transfer != TACHO_NONE)
			continue;
		for (guint32 slice = node->slice; slice != TACHO_NONE;
		     slice = slices->parent[slice]) {
			struct again *again = g_hash_table_lookup(
				recomputation->agains,
				GSIZE_TO_POINTER(graph_op_key(graph, node, slice)));

			if (!again || again->insertion.next != TACHO_NONE)
				continue;
			again->insertion.next = i;
			g_array_sort(again->nodes, order_uint32);
			g_array_append_val(agains, *again);
			break; /* a node follows one insertion */
		}
	}
	return agains;
}

/* What is not held between the forward pass and when it is computed again; before nodes are put in. */
static void free_memory(const struct recomputation *recomputation)
{
	TachoGraph *graph = recomputation->graph;
	const TachoSlices *slices = &graph->timeline->slices;
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct memory_recomputation));

	FOR_EACH_ENTRY(entry, recomputation->works) {
		const struct forward_work *work = entry.value;
		guint32 backward = backward_of(recomputation, work->slice);
		const struct again *again =
			backward == TACHO_NONE
				? NULL
				: g_hash_table_lookup(
					  recomputation->agains,
					  GSIZE_TO_POINTER(graph_set_key(work->set, backward)));
		struct memory_recomputation part;

		if (!again || again->insertion.next == TACHO_NONE || work->last_node == TACHO_NONE)
			continue;
		part = (struct memory_recomputation){
			.rank_index = work->rank_index,
			.begin_ns = slices->start_ns[work->slice],
			.end_ns = tacho_slice_end_ns(graph->timeline, work->slice),
			.again_ns = slices->start_ns[backward],
			.last_node = work->last_node,
			.again_node = again->insertion.next,
		};
		g_array_append_val(parts, part);
	}
	memory_recompute(graph, parts);
}

static void insert_on_hosts(TachoGraph *graph, const GArray *agains)
{
	g_autoptr(GArray) insertions = g_array_new(FALSE, FALSE, sizeof(struct insertion));

	for (guint i = 0; i < agains->len; i++)
		g_array_append_val(insertions, g_array_index(agains, struct again, i).insertion);
	change_insert(graph, insertions);
}

static void insert(struct recomputation *recomputation, const GArray *agains)
{
	TachoGraph *graph = recomputation->graph;

	if (graph->blocks->len > 0)
		free_memory(recomputation);
	if (!graph_has_devices(graph)) {
		insert_on_hosts(graph, agains);
		return;
	}
	recompute_on_devices(graph, agains);
	edit_state_of(graph)->has_recomputed = TRUE;
	if (recomputation->n_collectives > 0)
		graph_note(graph, "%u parts in collectives are not computed again",
			   recomputation->n_collectives);
}

static guint recompute(struct recomputation *recomputation)
{
	g_autoptr(GArray) agains = NULL;
	guint n_agains;

	recomputation->works = g_hash_table_new_full(NULL, NULL, NULL, work_free);
	recomputation->agains = g_hash_table_new_full(NULL, NULL, NULL, again_free);
	recomputation->backward = g_hash_table_new(NULL, NULL);
	recomputation->of_op = g_hash_table_new(NULL, NULL);
	find_works(recomputation);
	find_backward(recomputation);
	collect_agains(recomputation);
	agains = place_agains(recomputation);
	n_agains = agains->len;
	if (n_agains > 0)
		insert(recomputation, agains);
	g_hash_table_unref(recomputation->works);
	g_hash_table_unref(recomputation->agains);
	g_hash_table_unref(recomputation->backward);
	g_hash_table_unref(recomputation->of_op);
	return n_agains;
}

gboolean parse_recompute(struct change *change, const gchar *text, GError **error)
{
	const gchar *tilde;

	if (!change_parse_ranks(change, &text, ":", error))
		return FALSE;
	tilde = strchr(text, '~');
	change->kind = g_strndup(text, tilde ? (gsize)(tilde - text) : strlen(text));
	if (!tilde || (strcmp(change->kind, "op") != 0 && strcmp(change->kind, "module") != 0 &&
		       strcmp(change->kind, "annotation") != 0))
		return change_refuse(error, change,
				     "write recompute:KIND~REGEX or recompute:RANKS:KIND~REGEX, "
				     "with KIND op, module or annotation");
	return change_parse_regex(change, tilde + 1, error);
}

gboolean apply_recompute(TachoGraph *graph, const struct change *change, GError **error)
{
	struct rank_choice ranks;
	struct recomputation recomputation = {
		.graph = graph, .ranks = &ranks, .kind = change->kind, .regex = change->regex
	};
	gboolean is_done = rank_choice_init(&ranks, graph, change, error) &&
			   rank_choice_split(&ranks, graph, change, error);

	if (is_done && recompute(&recomputation) == 0)
		is_done = change_refuse(error, change,
					"no %s with that name has a backward pass in the steps",
					change->kind);
	rank_choice_release(&ranks);
	return is_done;
}
