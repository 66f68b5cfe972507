/* bucket_trial: a graph in which each gradient has a bucket of its own, its slot, is frozen once. For a partition, the slot of each bucket's
 * last gradient is the bucket's, and the others are off.
 *
 * Slot i of a rank:    ready(i) -> QUEUE(i) -> TRANSFER(i) -> COMPLETE(i) -> what waits for gradient i
 *
 * (1) Each node keeps the number of its edges, so that the frozen lists stay where they are: an edge is never taken away, but two edges
 *     exchange their ends. For this there are two nodes more, a source and a sink, which take no time, with an edge from one to the other
 *     for each slot and rank.
 * (2) Of a slot that is off, TRANSFER -> COMPLETE and source -> sink have exchanged their ends. So QUEUE and TRANSFER lead nowhere, and
 *     COMPLETE is over at 0, which nobody feels. All three are nodes that were taken away (REMOVED), and are in no pool.
 * (3) What waits for a bucket is what waits for the first of its gradients whose copy is known. So its slot and this one's exchange
 *     what waits for them.
 * (4) What it takes a thread to queue a slot is a node of that thread, which takes nothing where the slot is off.
 * (5) A pool's collectives are a list, of which those that are off are left out. Where its one worker is an edge from each COMPLETE to the next
 *     QUEUE, all such edges of the pool exchange their ends until those of slots that are there follow each other; the others join
 *     what is left, among which is nothing that both leads on and is led to (2). */
#include "optimize/bucket_trial.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "edit/bucket_plan.h"
#include "edit/collective_plan.h"
#include "replay/replay_internal.h"
#include "trace/none_rows.h"

/* A gradient's bucket in a pass. */
struct slot {
	guint32 transfer; /* index */
	guint32 like;	  /* of the transfers as they were, one of the pass */
	guint32 first_member, n_members;
	guint64 bytes; /* of the gradient */
	enum collective_operation operation;
};

/* A rank in a slot: nodes, and where in the frozen lists its edges are. */
struct member {
	guint32 queue, complete, waiting;
	guint32 call; /* TACHO_NONE: none is known */
	guint32 pool;
	gint64 queue_ns, complete_ns, call_ns; /* durations */
	gboolean has_copy;		       /* `waiting` is the copy of the gradient */
	/* of TRANSFER -> COMPLETE: in succ[], in pred[]; of COMPLETE -> waiting, likewise */
	guint32 bytes_succ, bytes_pred, wait_succ, wait_pred;
	guint32 spare; /* of the edges from source to sink, its number */
};

/* A pool with slots: all that it may have, in order. */
struct slot_pool {
	guint32 pool, n;
	guint32 *nodes; /* QUEUE */
	guint32 *slots; /* of these; TACHO_NONE: of something else */
	guint32 *
		orders; /* COMPLETE nodes that the next one follows; TACHO_NONE; or NULL: there are several workers */
};

struct bucket_trial {
	TachoGraph *graph;
	guint32 n;	 /* gradients of a pass */
	GArray *slots;	 /* struct slot: of each pass n, one after the other */
	GArray *members; /* struct member, of the slots in order */
	GArray *pools;	 /* struct slot_pool */
	guint32 source, sink;
	guint32 *pool_first, *pool_node; /* as frozen */
	guint8 *is_on;			 /* [gradient] */
	guint32 *first;			 /* [gradient that ends a bucket]: the bucket's first */
	struct step_marks marks;	 /* of any partition; has_marks FALSE: each has its own */
	gboolean has_marks;
};

static struct slot *slot_at(const struct bucket_trial *trial, guint32 i)
{
	return &g_array_index(trial->slots, struct slot, i);
}

static struct member *member_at(const struct bucket_trial *trial, guint32 i)
{
	return &g_array_index(trial->members, struct member, i);
}

/* --- slots ------------------------------------------------------------------------------------------ */

/* A bucket for each gradient, by the model. */
static gboolean pack_singly(TachoGraph *graph, guint32 n)
{
	g_autoptr(GString) text = g_string_new("fusion=1");
	g_autoptr(GError) error = NULL;
	struct change change;
	gboolean is_done;

	for (guint32 i = 1; i < n; i++)
		g_string_append(text, ",1");
	is_done = change_parse(&change, text->str, &error) &&
		  bucket_plan_model(graph, &change, &error);
	change_release(&change);
	return is_done;
}

/* The first of the pass's transfers as they were. */
static guint32 find_like(const TachoGraph *graph, const guint8 *was_there, guint32 n_before,
			 guint32 pass)
{
	for (guint32 i = 0; i < n_before; i++)
		if (was_there[i] && graph_transfer_at(graph, i)->pass == pass)
			return i;
	return TACHO_NONE;
}

static const struct graph_pass *find_pass(const TachoGraph *graph, guint32 ordinal)
{
	FOR_EACH(const struct graph_pass, pass, graph->passes)
		if (pass->ordinal == ordinal && pass->rank_index == 0)
			return pass;
	return NULL;
}

/* The pass's gradients are as many as the problem's, and of the same types. */
static gboolean is_like_problem(const TachoGraph *graph, const struct graph_pass *pass,
				const struct bucket_problem *problem)
{
	if (!pass || pass->n_gradients != problem->n)
		return FALSE;
	for (guint32 i = 0; i < problem->n; i++)
		if (strcmp(g_array_index(graph->gradients, struct graph_gradient,
					 pass->first_gradient + i)
				   .dtype,
			   problem->dtype[i]) != 0)
			return FALSE;
	return TRUE;
}

static gboolean add_pass(struct bucket_trial *trial, const struct bucket_problem *problem,
			 guint32 first_transfer, guint32 like)
{
	const TachoGraph *graph = trial->graph;
	guint32 ordinal = graph_transfer_at(graph, first_transfer)->pass;
	const struct graph_pass *pass = find_pass(graph, ordinal);

	if (like == TACHO_NONE || !is_like_problem(graph, pass, problem))
		return FALSE;
	for (guint32 i = 0; i < trial->n; i++) {
		const struct graph_gradient *gradient = &g_array_index(
			graph->gradients, struct graph_gradient, pass->first_gradient + i);
		const struct graph_transfer *transfer =
			graph_transfer_at(graph, first_transfer + i);
		struct slot slot = { .transfer = first_transfer + i,
				     .like = like,
				     .bytes = gradient->bytes,
				     .operation =
					     operation_of_name(graph->timeline, transfer->name) };

		if (transfer->pass != ordinal || transfer->bytes != gradient->bytes)
			return FALSE;
		g_array_append_val(trial->slots, slot);
	}
	return TRUE;
}

/* The transfers from n_before on are the slots. */
static gboolean find_slots(struct bucket_trial *trial, const struct bucket_problem *problem,
			   const guint8 *was_there, guint32 n_before)
{
	const TachoGraph *graph = trial->graph;
	guint32 n_new = graph->transfers->len - n_before;

	if (n_new == 0 || n_new % trial->n != 0)
		return FALSE;
	for (guint32 i = n_before; i < graph->transfers->len; i += trial->n)
		if (!add_pass(trial, problem, i,
			      find_like(graph, was_there, n_before,
					graph_transfer_at(graph, i)->pass)))
			return FALSE;
	return TRUE;
}

/* A slot's nodes follow its TRANSFER: of each rank QUEUE and COMPLETE. */
static gboolean find_members(struct bucket_trial *trial)
{
	const TachoGraph *graph = trial->graph;

	FOR_EACH(struct slot, slot, trial->slots) {
		guint32 node = graph_transfer_at(graph, slot->transfer)->node + 1;

		slot->first_member = trial->members->len;
		for (; node + 1 < graph->nodes->len &&
		       graph_node_at(graph, node)->kind == TACHO_NODE_QUEUE &&
		       graph_node_at(graph, node)->transfer == slot->transfer;
		     node += 2) {
			struct member member = {
				.queue = node,
				.complete = node + 1,
				.call = TACHO_NONE,
				.pool = graph_node_at(graph, node)->pool,
				.queue_ns = graph_node_at(graph, node)->duration_ns,
				.complete_ns = graph_node_at(graph, node + 1)->duration_ns,
				.spare = trial->members->len
			};

			if (graph_node_at(graph, node + 1)->kind != TACHO_NODE_COMPLETE ||
			    graph_node_at(graph, node + 1)->pool != member.pool)
				return FALSE;
			g_array_append_val(trial->members, member);
		}
		slot->n_members = trial->members->len - slot->first_member;
		if (slot->n_members == 0 || slot->n_members != slot_at(trial, 0)->n_members)
			return FALSE;
	}
	return TRUE;
}

/* What each rank's call takes. Slots are the last transfers, one behind the other, and the same ranks are in all of them. */
static void find_calls(struct bucket_trial *trial)
{
	const TachoGraph *graph = trial->graph;
	const struct slot *first = slot_at(trial, 0);
	g_autofree guint32 *place = none_rows_new(graph_n_own_ranks(graph)); /* [rank]: in a slot */

	for (guint32 i = 0; i < first->n_members; i++)
		place[graph_rank_index(graph, member_at(trial, first->first_member + i)->queue)] =
			i;
	FOR_EACH(const struct graph_call, call, graph->calls) {
		guint32 in_slot = place[graph_rank_index(graph, call->node)];
		struct member *member;

		if (call->transfer < first->transfer || in_slot == TACHO_NONE)
			continue;
		member = member_at(trial,
				   slot_at(trial, call->transfer - first->transfer)->first_member +
					   in_slot);
		member->call = call->node;
		member->call_ns = graph_node_at(graph, call->node)->duration_ns;
	}
}

static void add_spare_edges(struct bucket_trial *trial)
{
	TachoGraph *graph = trial->graph;
	struct graph_node node =
		*graph_node_at(graph, graph_transfer_at(graph, slot_at(trial, 0)->transfer)->node);

	node.kind = TACHO_NODE_REMOVED;
	node.duration_ns = 0;
	node.step = node.transfer = node.pool = node.slice = TACHO_NONE;
	trial->source = graph_add_node(graph, node);
	trial->sink = graph_add_node(graph, node);
	for (guint i = 0; i < trial->members->len; i++)
		graph_add_edge(graph, trial->source, trial->sink, TACHO_EDGE_TRANSFER);
}

/* --- their edges ------------------------------------------------------------------------------------ */

/* Where `node` stands in a list; TACHO_NONE: not there. */
static guint32 find_in(const guint32 *list, guint32 from, guint32 to, guint32 node)
{
	for (guint32 i = from; i < to; i++)
		if (list[i] == node)
			return i;
	return TACHO_NONE;
}

/* The gradient's copy, where it is known, waits for its slot; else the end of the pass does. */
static gboolean has_copy(const TachoGraph *graph, guint32 waiting)
{
	FOR_EACH(const struct graph_pass, pass, graph->passes)
		if (pass->finish_node == waiting)
			return FALSE;
	return TRUE;
}

static gboolean place_member(struct bucket_trial *trial, const struct slot *slot,
			     struct member *member)
{
	const TachoGraph *graph = trial->graph;
	guint32 transfer = graph_transfer_at(graph, slot->transfer)->node;

	/* edges of pools' orders stand behind it in the list */
	member->wait_succ = graph->succ_first[member->complete];
	member->waiting = graph->succ[member->wait_succ];
	member->has_copy = has_copy(graph, member->waiting);
	member->wait_pred = find_in(graph->pred, graph->pred_first[member->waiting],
				    graph->pred_first[member->waiting + 1], member->complete);
	member->bytes_pred = graph->pred_first[member->complete];
	member->bytes_succ = find_in(graph->succ, graph->succ_first[transfer],
				     graph->succ_first[transfer + 1], member->complete);
	return member->wait_pred != TACHO_NONE && member->bytes_succ != TACHO_NONE &&
	       graph->pred[member->bytes_pred] == transfer &&
	       graph->succ_first[member->complete + 1] > member->wait_succ;
}

static gboolean place_members(struct bucket_trial *trial)
{
	FOR_EACH(const struct slot, slot, trial->slots)
		for (guint32 i = 0; i < slot->n_members; i++)
			if (!place_member(trial, slot, member_at(trial, slot->first_member + i)))
				return FALSE;
	return TRUE;
}

/* --- their pools ------------------------------------------------------------------------------------ */

/* The COMPLETE node that QUEUE node `i` of the pool follows, by graph_freeze(): that of the one before it. */
static guint32 order_before(const TachoGraph *graph, const struct slot_pool *pool, guint32 i)
{
	guint32 last = graph->pred_first[pool->nodes[i] + 1];
	const struct graph_node *node;

	if (last == graph->pred_first[pool->nodes[i]])
		return TACHO_NONE;
	node = graph_node_at(graph, graph->pred[last - 1]);
	return node->kind == TACHO_NODE_COMPLETE && node->pool == pool->pool &&
			       node->transfer == graph_node_at(graph, pool->nodes[i - 1])->transfer
		       ? graph->pred[last - 1]
		       : TACHO_NONE;
}

static void add_pool(struct bucket_trial *trial, guint32 index, const guint32 *slot_of)
{
	const TachoGraph *graph = trial->graph;
	guint32 first = graph->pool_first[index];
	struct slot_pool pool = { .pool = index, .n = graph->pool_first[index + 1] - first };

	pool.nodes = g_memdup2(graph->pool_node + first, pool.n * sizeof(guint32));
	pool.slots = g_new(guint32, pool.n);
	for (guint32 i = 0; i < pool.n; i++)
		pool.slots[i] = slot_of[pool.nodes[i]];
	if (g_array_index(graph->pools, struct graph_pool, index).n_workers <= 1) {
		pool.orders = none_rows_new(pool.n);
		for (guint32 i = 1; i < pool.n; i++)
			pool.orders[i - 1] = order_before(graph, &pool, i);
	}
	g_array_append_val(trial->pools, pool);
}

static void slot_pool_clear(gpointer data)
{
	struct slot_pool *pool = data;

	g_free(pool->nodes);
	g_free(pool->slots);
	g_free(pool->orders);
}

static void find_pools(struct bucket_trial *trial)
{
	const TachoGraph *graph = trial->graph;
	guint n_pools = graph->pools->len;
	g_autofree guint32 *slot_of = none_rows_new(graph->n_frozen);
	g_autofree guint8 *has_slots = g_new0(guint8, MAX(n_pools, 1u));

	FOR_EACH_AT(const struct slot, slot, number, trial->slots)
		for (guint32 i = 0; i < slot->n_members; i++) {
			const struct member *member = member_at(trial, slot->first_member + i);

			slot_of[member->queue] = number;
			if (member->pool != TACHO_NONE)
				has_slots[member->pool] = 1;
		}
	for (guint i = 0; i < n_pools; i++)
		if (has_slots[i])
			add_pool(trial, i, slot_of);
	trial->pool_first = g_memdup2(graph->pool_first, ((gsize)n_pools + 2) * sizeof(guint32));
	trial->pool_node = g_memdup2(graph->pool_node,
				     MAX((gsize)graph->pool_first[n_pools], 1u) * sizeof(guint32));
}

/* --- the whole -------------------------------------------------------------------------------------- */

/* Steps are of the ranks' main threads and of devices. Where slots are of neither, their begins and ends do not depend on which are there. */
static void find_marks(struct bucket_trial *trial)
{
	const TachoGraph *graph = trial->graph;

	FOR_EACH(const struct slot, slot, trial->slots)
		if (graph_transfer_at(graph, slot->transfer)->is_device)
			return;
	FOR_EACH(const struct member, member, trial->members)
		if (graph_lane_at(graph, graph_node_at(graph, member->queue)->lane)->is_main ||
		    graph_lane_at(graph, graph_node_at(graph, member->complete)->lane)->is_main)
			return;
	step_marks_init(&trial->marks, graph);
	trial->has_marks = TRUE;
}

static gboolean make(struct bucket_trial *trial, const struct bucket_problem *problem)
{
	TachoGraph *graph = trial->graph;
	g_autofree guint8 *was_there = NULL;
	guint32 n_before;

	graph_fold_hops(graph);
	n_before = graph->transfers->len;
	was_there = g_new(guint8, MAX(n_before, 1u));
	for (guint32 i = 0; i < n_before; i++)
		was_there[i] = !graph_transfer_at(graph, i)->is_removed;
	if (!pack_singly(graph, trial->n) || !find_slots(trial, problem, was_there, n_before) ||
	    !find_members(trial))
		return FALSE;
	find_calls(trial);
	add_spare_edges(trial);
	if (!graph_freeze(graph, NULL) || !place_members(trial))
		return FALSE;
	find_pools(trial);
	find_marks(trial);
	return TRUE;
}

struct bucket_trial *bucket_trial_new(const TachoGraph *graph, const struct bucket_problem *problem)
{
	struct bucket_trial *trial = g_new0(struct bucket_trial, 1);

	trial->graph = graph_copy(graph);
	trial->n = problem->n;
	trial->slots = g_array_new(FALSE, FALSE, sizeof(struct slot));
	trial->members = g_array_new(FALSE, FALSE, sizeof(struct member));
	trial->pools = g_array_new(FALSE, FALSE, sizeof(struct slot_pool));
	g_array_set_clear_func(trial->pools, slot_pool_clear);
	trial->is_on = g_new0(guint8, MAX(problem->n, 1u));
	trial->first = g_new0(guint32, MAX(problem->n, 1u));
	if (!make(trial, problem))
		g_clear_pointer(&trial, bucket_trial_free);
	return trial;
}

void bucket_trial_free(struct bucket_trial *trial)
{
	if (!trial)
		return;
	step_marks_release(&trial->marks);
	tacho_graph_free(trial->graph);
	g_array_unref(trial->slots);
	g_array_unref(trial->members);
	g_array_unref(trial->pools);
	g_free(trial->pool_first);
	g_free(trial->pool_node);
	g_free(trial->is_on);
	g_free(trial->first);
	g_free(trial);
}

/* --- a partition ------------------------------------------------------------------------------------ */

static void set_node(TachoGraph *graph, guint32 index, gboolean is_on, TachoNodeKind kind,
		     gint64 duration_ns, guint32 pool)
{
	struct graph_node *node = graph_node_at(graph, index);

	node->kind = is_on ? kind : TACHO_NODE_REMOVED;
	node->duration_ns = is_on ? duration_ns : 0;
	node->pool = is_on ? pool : TACHO_NONE;
	graph->duration_ns[index] = node->duration_ns;
}

/* (2), and the edges of (3) as they were frozen. */
static void set_member(struct bucket_trial *trial, const struct slot *slot,
		       const struct member *member, gboolean is_on)
{
	TachoGraph *graph = trial->graph;
	guint32 transfer = graph_transfer_at(graph, slot->transfer)->node;
	guint32 spare_succ = graph->succ_first[trial->source] + member->spare;
	guint32 spare_pred = graph->pred_first[trial->sink] + member->spare;

	set_node(graph, member->queue, is_on, TACHO_NODE_QUEUE, member->queue_ns, member->pool);
	set_node(graph, member->complete, is_on, TACHO_NODE_COMPLETE, member->complete_ns,
		 member->pool);
	if (member->call != TACHO_NONE) {
		graph_node_at(graph, member->call)->duration_ns = is_on ? member->call_ns : 0;
		graph->duration_ns[member->call] = is_on ? member->call_ns : 0;
	}
	graph->succ[member->bytes_succ] = is_on ? member->complete : trial->sink;
	graph->pred[member->bytes_pred] = is_on ? transfer : trial->source;
	graph->succ[spare_succ] = is_on ? trial->sink : member->complete;
	graph->pred[spare_pred] = is_on ? trial->source : transfer;
	graph->succ[member->wait_succ] = member->waiting;
	graph->pred[member->wait_pred] = member->complete;
}

/* A bucket of so many bytes; `index` is its last gradient's slot. */
static void set_transfer(struct bucket_trial *trial, const struct slot *slot, guint64 bytes)
{
	TachoGraph *graph = trial->graph;
	struct graph_transfer *transfer = graph_transfer_at(graph, slot->transfer);
	struct collective_time time = { 0, 0 };

	transfer->bytes = bytes;
	transfer->is_removed = bytes == 0;
	if (bytes > 0)
		time = group_new_transfer_like(graph_group_at(graph, transfer->group),
					       graph_transfer_at(graph, slot->like),
					       slot->operation, bytes, transfer->n_ranks);
	graph_set_transfer(graph, slot->transfer, time.fixed_ns, time.work_ns);
	set_node(graph, transfer->node, bytes > 0, TACHO_NODE_TRANSFER,
		 graph_node_at(graph, transfer->node)->duration_ns, TACHO_NONE);
}

/* Slots a and b of a rank exchange what waits for them. */
static void exchange_waits(TachoGraph *graph, const struct member *a, const struct member *b)
{
	graph->succ[a->wait_succ] = b->waiting;
	graph->pred[b->wait_pred] = a->complete;
	graph->succ[b->wait_succ] = a->waiting;
	graph->pred[a->wait_pred] = b->complete;
}

/* (3), where `first` to `last` are slots of a bucket. */
static void set_waits(struct bucket_trial *trial, guint32 first, guint32 last)
{
	const struct slot *own = slot_at(trial, last);

	for (guint32 i = 0; i < own->n_members; i++) {
		const struct member *member = member_at(trial, own->first_member + i);

		for (guint32 other = first; other < last; other++) {
			const struct member *earlier =
				member_at(trial, slot_at(trial, other)->first_member + i);

			if (!earlier->has_copy)
				continue;
			exchange_waits(trial->graph, member, earlier);
			break;
		}
	}
}

static void set_pass(struct bucket_trial *trial, guint32 first_slot)
{
	for (guint32 i = 0; i < trial->n; i++) {
		const struct slot *slot = slot_at(trial, first_slot + i);
		guint64 bytes = 0;

		for (guint32 j = trial->first[i]; trial->is_on[i] && j <= i; j++)
			bytes += slot_at(trial, first_slot + j)->bytes;
		set_transfer(trial, slot, bytes);
		for (guint32 j = 0; j < slot->n_members; j++)
			set_member(trial, slot, member_at(trial, slot->first_member + j),
				   trial->is_on[i]);
	}
	for (guint32 i = 0; i < trial->n; i++)
		if (trial->is_on[i])
			set_waits(trial, first_slot + trial->first[i], first_slot + i);
}

static gboolean is_there(const struct bucket_trial *trial, const struct slot_pool *pool, guint32 i)
{
	return pool->slots[i] == TACHO_NONE || trial->is_on[pool->slots[i] % trial->n];
}

/* The COMPLETE node is followed by the QUEUE node; both have room for it at the end of their lists. */
static void set_order(TachoGraph *graph, guint32 complete, guint32 queue)
{
	graph->succ[graph->succ_first[complete + 1] - 1] = queue;
	graph->pred[graph->pred_first[queue + 1] - 1] = complete;
}

/* The next from i on that an edge leads from, or to, and that has none yet. */
static guint32 next_left(const guint32 *left, guint32 i)
{
	while (!left[i])
		i++;
	return i;
}

/* (5): edges lead from orders[i] to nodes[i + 1]. Those that are left are joined in order: then none leads from the last of those that are there to the
 * first. */
static void set_orders(struct bucket_trial *trial, const struct slot_pool *pool)
{
	g_autofree guint32 *is_from = g_new0(guint32, (gsize)pool->n + 1); /* left */
	g_autofree guint32 *is_to = g_new0(guint32, (gsize)pool->n + 1);
	guint32 before = TACHO_NONE, from = 0, to = 0;

	for (guint32 i = 0; i + 1 < pool->n; i++)
		is_from[i] = is_to[i + 1] = pool->orders[i] != TACHO_NONE;
	for (guint32 i = 0; i < pool->n; i++) {
		if (!is_there(trial, pool, i))
			continue;
		if (before != TACHO_NONE && is_from[before]) {
			set_order(trial->graph, pool->orders[before], pool->nodes[i]);
			is_from[before] = is_to[i] = 0;
		}
		before = i;
	}
	is_from[pool->n] = is_to[pool->n] = 1;
	while ((from = next_left(is_from, from)) < pool->n) {
		to = next_left(is_to, to);
		set_order(trial->graph, pool->orders[from++], pool->nodes[to++]);
	}
}

/* The lists of collectives without those that are off. */
static void set_pools(struct bucket_trial *trial)
{
	TachoGraph *graph = trial->graph;
	guint32 n = 0, next = 0;

	for (guint i = 0; i < graph->pools->len; i++) {
		const struct slot_pool *pool =
			next < trial->pools->len
				? &g_array_index(trial->pools, struct slot_pool, next)
				: NULL;
		guint32 first = trial->pool_first[i];

		graph->pool_first[i] = n;
		next += pool && pool->pool == i;
		for (guint32 j = first; j < trial->pool_first[i + 1]; j++)
			if (!pool || pool->pool != i || is_there(trial, pool, j - first))
				graph->pool_node[n++] = trial->pool_node[j];
	}
	graph->pool_first[graph->pools->len] = n;
	FOR_EACH(const struct slot_pool, pool, trial->pools)
		if (pool->orders)
			set_orders(trial, pool);
}

static gdouble step_ns_of(const struct bucket_trial *trial, const TachoReplay *replay)
{
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(gint64));

	if (!trial->has_marks)
		return replay_median_step_ns(replay);
	g_array_set_size(steps, trial->marks.n_steps);
	step_marks_mean_ns(&trial->marks, replay->end_ns, (gint64 *)(void *)steps->data);
	return quantile(steps, 0.5);
}

gdouble bucket_trial_step_ms(struct bucket_trial *trial, const guint32 *ends, guint32 n_buckets,
			     GError **error)
{
	g_autoptr(TachoReplay) replay = NULL;

	memset(trial->is_on, 0, trial->n);
	for (guint32 i = 0; i < n_buckets; i++) {
		trial->is_on[ends[i] - 1] = 1;
		trial->first[ends[i] - 1] = i ? ends[i - 1] : 0;
	}
	for (guint32 i = 0; i < trial->slots->len; i += trial->n)
		set_pass(trial, i);
	set_pools(trial);
	if (!trial->graph->is_shared && !graph_reorder(trial->graph, error))
		return NAN;
	replay = tacho_replay_run(trial->graph, error);
	return replay ? step_ns_of(trial, replay) * 1e-6 : NAN;
}
