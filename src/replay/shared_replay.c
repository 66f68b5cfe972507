/* shared_replay: play a graph whose links, cores or communication workers are shared.
 *
 * A node that shares nothing ends a fixed time after its predecessors, so it is played as soon as
 * they are, whatever the clock says (run_ready). Only nodes on shared resources wait for the clock:
 * when no other node can be played, every node that is still to come hangs on one of them, so the
 * soonest of their events is the next thing to happen. That keeps events to a few in a thousand
 * nodes.
 *
 *   links    transfers on one link share it evenly; a transfer runs at the pace of its busiest
 *            link. What of it does not depend on the bandwidth is spread over it, and hides in part
 *            behind the others' bytes (graph_transfer_pace).
 *   cores    the threads of a host share its cores evenly, when there are more of them (the
 *            what-if `cores`); all run at one pace, so a clock of work done serves them all. While
 *            bytes of a rank move, that takes a share of a core (graph_contention.c); without
 *            `cores`, of what that rank computes. A rank's device is such a set, too, from which its
 *            devices' collectives take, where kernels were seen to be slower beside them.
 *   engines  copies of one direction of a device follow each other in the order in which they come
 *            (device_engines.c). As events are in order of time, who comes finds known until when the
 *            engine is at those before.
 *   workers  a rank's collectives of one group are taken up in the order queued, each when one of
 *            the workers is free.
 *
 * (1) Events at one time happen in the order: transfers end, cores' work ends, by the number of their
 *     set, anything begins; and within these, in the order of nodes. What follows at once on a core
 *     does not wait its turn: nothing else at that time depends on it. So the result does not depend
 *     on anything else. */
#include <math.h>
#include <string.h>

#include "replay/shared_run.h"

#define ALMOST_NS 0.5 /* more than rounding leaves of a transfer, up to times of 26 days */

static void finish(struct shared_run *run, guint32 node, gint64 end_ns);

/* --- workers -------------------------------------------------------------------------------- */

static gboolean is_pooled(const struct shared_run *run, const struct graph_node *node)
{
	return node->pool != TACHO_NONE &&
	       g_array_index(run->graph->pools, struct graph_pool, node->pool).n_workers > 1;
}

/* Index of the worker that has been free longest. */
static guint32 first_free(const struct worker_pool *pool)
{
	guint32 first = 0;

	for (guint32 i = 1; i < pool->n_free; i++)
		if (pool->free_ns[i] < pool->free_ns[first])
			first = i;
	return first;
}

/* Let free workers take up what has come, in order. */
static void take_up(struct shared_run *run, guint32 index)
{
	struct worker_pool *pool = &run->pools[index];
	TachoReplay *replay = run->replay;

	while (pool->n_free > 0 && pool->next < run->graph->pool_first[index + 1] &&
	       run->has_come[run->graph->pool_node[pool->next]]) {
		guint32 node = run->graph->pool_node[pool->next++], worker = first_free(pool);

		if (pool->free_ns[worker] > replay->begin_ns[node]) {
			replay->begin_ns[node] = llround(pool->free_ns[worker]);
			replay->cause[node] = pool->freed_by[worker];
		}
		pool->n_free--;
		pool->free_ns[worker] = pool->free_ns[pool->n_free];
		pool->freed_by[worker] = pool->freed_by[pool->n_free];
		finish(run, node, replay->begin_ns[node] + run->graph->duration_ns[node]);
	}
}

static void give_back(struct shared_run *run, guint32 index, guint32 node)
{
	struct worker_pool *pool = &run->pools[index];

	pool->free_ns[pool->n_free] = (gdouble)run->replay->end_ns[node];
	pool->freed_by[pool->n_free++] = node;
	take_up(run, index);
}

/* --- what shares nothing -------------------------------------------------------------------- */

static void finish(struct shared_run *run, guint32 node, gint64 end_ns)
{
	const TachoGraph *graph = run->graph;
	TachoReplay *replay = run->replay;

	replay->end_ns[node] = end_ns;
	run->n_done++;
	for (guint32 j = graph->succ_first[node]; j < graph->succ_first[node + 1]; j++) {
		guint32 next = graph->succ[j];

		if (end_ns > replay->begin_ns[next] || replay->cause[next] == TACHO_NONE) {
			replay->begin_ns[next] = MAX(end_ns, replay->begin_ns[next]);
			replay->cause[next] = node;
		}
		if (--run->n_waiting[next] == 0)
			run->ready[run->n_ready++] = next;
	}
}

static void begin_on_core(struct shared_run *run, guint32 node, guint32 set, gdouble time_ns);

/* On links or cores, now or when its time comes. */
static void begin_shared(struct shared_run *run, guint32 node, guint32 place, gint64 begin_ns)
{
	if (place < run->n_core_sets && (gdouble)begin_ns <= run->now_ns + ALMOST_NS)
		begin_on_core(run, node, place, (gdouble)begin_ns);
	else
		event_heap_push(&run->begins, (gdouble)begin_ns, node);
}

static gboolean is_shared(const struct shared_run *run, guint32 index, guint32 place)
{
	if (place == PLACE_TRANSFER)
		return graph_transfer_at(run->graph, graph_node_at(run->graph, index)->transfer)
			       ->work_ns > 0;
	if (place == PLACE_ENGINE)
		return run->graph->duration_ns[index] > 0;
	return place < run->n_core_sets && run->graph->duration_ns[index] > 0;
}

/* All predecessors of the node have ended. */
static void begin(struct shared_run *run, guint32 index)
{
	guint32 place = run->place[index];
	gint64 begin_ns = run->replay->begin_ns[index];

	if (run->history)
		run->history->begun[index] = run->n_begun;
	run->n_begun++;
	if (is_shared(run, index, place)) {
		begin_shared(run, index, place, begin_ns);
	} else if (place == PLACE_QUEUE) {
		run->has_come[index] = 1;
		take_up(run, graph_node_at(run->graph, index)->pool);
	} else {
		finish(run, index, begin_ns + run->graph->duration_ns[index]);
		if (place == PLACE_COMPLETE)
			give_back(run, graph_node_at(run->graph, index)->pool, index);
	}
}

static void run_ready(struct shared_run *run)
{
	while (run->n_ready > 0)
		begin(run, run->ready[--run->n_ready]);
}

/* --- cores, and what moving bytes takes ------------------------------------------------------- */

static gdouble core_pace(const struct shared_run *run, const struct core_set *cores)
{
	gdouble left;

	if (cores->is_uncounted)
		return cores->n_moving > 0 ? 1 - cores->taken : 1;
	left = (gdouble)run->graph->n_cores;
	left = MAX(left - cores->taken * cores->n_moving, left * (1 - GRAPH_MAX_TAKEN));
	return MIN(1.0, left / MAX(cores->heap.n, 1u));
}

static void advance_cores(const struct shared_run *run, struct core_set *cores, gdouble time_ns)
{
	cores->done_ns += (time_ns - cores->at_ns) * core_pace(run, cores);
	cores->at_ns = time_ns;
}

static gdouble cores_next_ns(const struct shared_run *run, const struct core_set *cores)
{
	if (cores->heap.n == 0)
		return INFINITY;
	return cores->at_ns +
	       MAX(cores->heap.events[0].time - cores->done_ns, 0.0) / core_pace(run, cores);
}

static struct next_set sooner(struct next_set a, struct next_set b)
{
	return b.time_ns < a.time_ns ? b : a;
}

/* What is on a set, or its pace, has changed. */
static void schedule_cores(struct shared_run *run, guint32 set)
{
	guint32 i = run->n_leaves + set;

	run->next[i].time_ns = cores_next_ns(run, &run->cores[set]);
	for (i /= 2; i > 0; i /= 2)
		run->next[i] = sooner(run->next[2 * i], run->next[2 * i + 1]);
}

void shared_run_schedule(struct shared_run *run)
{
	for (guint32 i = 0; i < run->n_leaves; i++)
		run->next[run->n_leaves + i] = (struct next_set){
			i < run->n_core_sets ? cores_next_ns(run, &run->cores[i]) : INFINITY, i
		};
	for (guint32 i = run->n_leaves; --i > 0;)
		run->next[i] = sooner(run->next[2 * i], run->next[2 * i + 1]);
}

static void begin_on_core(struct shared_run *run, guint32 node, guint32 set, gdouble time_ns)
{
	struct core_set *cores = &run->cores[set];

	advance_cores(run, cores, time_ns);
	event_heap_push(&cores->heap, cores->done_ns + (gdouble)run->graph->duration_ns[node],
			node);
	schedule_cores(run, set);
}

static void end_on_core(struct shared_run *run, guint32 set, gdouble time_ns)
{
	struct core_set *cores = &run->cores[set];
	guint32 node;

	advance_cores(run, cores, time_ns);
	node = event_heap_pop(&cores->heap).node;
	schedule_cores(run, set);
	finish(run, node, llround(time_ns));
}

/* A transfer of the group takes to the links, or leaves them. */
static void change_moving(struct shared_run *run, guint32 group, gint change, gdouble time_ns)
{
	guint32 first = graph_group_at(run->graph, group)->is_device ? run->n_ranks : 0;

	for (guint32 rank = 0; rank < run->n_ranks && run->n_core_sets > 0; rank++) {
		guint32 set = run->rank_core_set[first + rank];
		guint32 *n_moving = &run->n_moving[first + rank];

		if (set == PLACE_NONE || !run->is_of_group[(gsize)group * run->n_ranks + rank])
			continue;
		advance_cores(run, &run->cores[set], time_ns);
		run->cores[set].n_moving -= *n_moving > 0;
		*n_moving += (guint32)change;
		run->cores[set].n_moving += *n_moving > 0;
		schedule_cores(run, set);
	}
}

/* --- links ---------------------------------------------------------------------------------- */

static struct active_transfer *active_at(const struct shared_run *run, guint i)
{
	return &g_array_index(run->active, struct active_transfer, i);
}

/* Let the transfers proceed to `time_ns` at the pace they had. */
static void advance_links(struct shared_run *run, gdouble time_ns)
{
	for (guint i = 0; i < run->active->len; i++)
		active_at(run, i)->rest_ns -=
			(time_ns - run->links_at_ns) * active_at(run, i)->pace;
	run->links_at_ns = time_ns;
}

/* Transfers under way of the same group. */
static guint32 n_of_group(const struct shared_run *run, guint32 group)
{
	guint32 n = 0;

	for (guint i = 0; i < run->active->len; i++)
		n += graph_transfer_at(run->graph, active_at(run, i)->transfer)->group == group;
	return n;
}

static void set_paces(struct shared_run *run)
{
	run->links_next_ns = INFINITY;
	for (guint i = 0; i < run->active->len; i++) {
		struct active_transfer *active = active_at(run, i);
		const struct graph_transfer *transfer =
			graph_transfer_at(run->graph, active->transfer);

		active->pace =
			graph_transfer_pace(transfer->fixed_ns, transfer->work_ns,
					    graph_n_sharing(run->graph, transfer->group, run->load,
							    n_of_group(run, transfer->group)));
		run->links_next_ns =
			MIN(run->links_next_ns,
			    run->links_at_ns + MAX(active->rest_ns, 0.0) / active->pace);
	}
}

static void change_load(struct shared_run *run, guint32 transfer, gint change, gdouble time_ns)
{
	guint32 index = graph_transfer_at(run->graph, transfer)->group;
	const struct graph_group *group = graph_group_at(run->graph, index);

	change_moving(run, index, change, time_ns);
	for (guint32 i = 0; i < group->n_links; i++)
		run->load[g_array_index(run->graph->group_links, guint32, group->first_link + i)] +=
			(guint32)change;
}

static void begin_transfer(struct shared_run *run, guint32 node, gdouble time_ns)
{
	guint32 transfer = graph_node_at(run->graph, node)->transfer;
	struct active_transfer active = { node, transfer,
					  graph_transfer_at(run->graph, transfer)->work_ns, 1 };

	advance_links(run, time_ns);
	g_array_append_val(run->active, active);
	change_load(run, transfer, 1, time_ns);
	set_paces(run);
}

/* Those that have nothing left; at least one has. */
static void end_transfers(struct shared_run *run)
{
	gdouble time_ns = run->links_next_ns;
	guint n_kept = 0, n_before = run->active->len;
	g_autofree guint32 *ended = g_new(guint32, n_before);
	guint n_ended = 0;

	advance_links(run, time_ns);
	for (guint i = 0; i < n_before; i++) {
		struct active_transfer active = *active_at(run, i);

		if (active.rest_ns > ALMOST_NS * active.pace) {
			*active_at(run, n_kept++) = active;
			continue;
		}
		change_load(run, active.transfer, -1, time_ns);
		ended[n_ended++] = active.node;
	}
	g_array_set_size(run->active, n_kept);
	set_paces(run);
	for (guint i = 0; i < n_ended; i++)
		finish(run, ended[i], llround(time_ns));
}

/* --- engines -------------------------------------------------------------------------------- */

static void begin_copy(struct shared_run *run, guint32 node)
{
	struct worker_pool *engine = &run->pools[graph_node_at(run->graph, node)->pool];
	TachoReplay *replay = run->replay;
	gint64 free_ns = (gint64)engine->free_ns[0]; /* a whole number: when a node ended */

	if (free_ns > replay->begin_ns[node]) {
		replay->begin_ns[node] = free_ns;
		replay->cause[node] = engine->freed_by[0];
	}
	finish(run, node, replay->begin_ns[node] + run->graph->duration_ns[node]);
	engine->free_ns[0] = (gdouble)replay->end_ns[node];
	engine->freed_by[0] = node;
}

/* --- the clock ------------------------------------------------------------------------------ */

static void begin_next(struct shared_run *run)
{
	struct event event = event_heap_pop(&run->begins);
	guint32 place = run->place[event.node];

	if (place == PLACE_TRANSFER)
		begin_transfer(run, event.node, event.time);
	else if (place == PLACE_ENGINE)
		begin_copy(run, event.node);
	else
		begin_on_core(run, event.node, place, event.time);
}

static void run_events(struct shared_run *run)
{
	for (;;) {
		gdouble core_ns, begin_ns;

		run_ready(run);
		if (run->history && run->n_begun >= run->history->next)
			shared_history_keep(run->history, run);
		core_ns = run->next[1].time_ns;
		begin_ns = run->begins.n ? run->begins.events[0].time : INFINITY;
		run->now_ns = MIN(MIN(run->links_next_ns, core_ns), begin_ns);
		if (run->now_ns == INFINITY)
			return;
		if (run->links_next_ns <= run->now_ns)
			end_transfers(run);
		else if (core_ns <= run->now_ns)
			end_on_core(run, run->next[1].set, core_ns);
		else
			begin_next(run);
	}
}

/* Of ranks of several jobs on one host, the largest share. */
static void set_taken(struct shared_run *run)
{
	for (guint32 rank = 0; rank < run->n_ranks; rank++) {
		const struct graph_guest *guest = graph_guest_of(run->graph, rank);
		guint32 threads = run->rank_core_set[rank];
		guint32 device = run->rank_core_set[run->n_ranks + rank];

		if (threads != PLACE_NONE) {
			struct core_set *cores = &run->cores[threads];

			cores->taken = MAX(cores->taken,
					   guest ? guest->taken_share : run->graph->taken_share);
			cores->is_uncounted = run->graph->n_cores == 0;
		}
		if (device != PLACE_NONE) {
			run->cores[device].taken = graph_device_taken(run->graph, rank);
			run->cores[device].is_uncounted = TRUE;
		}
	}
}

/* The set of each lane's host, or, where no number of cores is given, of its rank. Returns how many. */
static guint32 set_thread_sets(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;
	g_autoptr(GHashTable) sets = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < graph->lanes->len && graph_has_cores(graph); i++) {
		const struct graph_lane *lane = graph_lane_at(graph, i);
		gpointer key = graph->n_cores > 0
				       ? GSIZE_TO_POINTER((gsize)lane->set << 32 | lane->host)
				       : GUINT_TO_POINTER(lane->rank_index);
		gpointer set;

		if (!g_hash_table_lookup_extended(sets, key, NULL, &set)) {
			set = GUINT_TO_POINTER(g_hash_table_size(sets));
			g_hash_table_insert(sets, key, set);
		}
		run->core_set_of[i] = GPOINTER_TO_UINT(set);
		if (lane->rank_index < run->n_ranks)
			run->rank_core_set[lane->rank_index] = run->core_set_of[i];
	}
	return g_hash_table_size(sets);
}

static void set_core_sets(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;

	run->core_set_of = g_new(guint32, MAX(graph->lanes->len, 1u));
	run->rank_core_set = g_new(guint32, MAX(2 * (gsize)run->n_ranks, 1u));
	for (guint32 i = 0; i < graph->lanes->len; i++)
		run->core_set_of[i] = PLACE_NONE;
	for (guint32 i = 0; i < 2 * run->n_ranks; i++)
		run->rank_core_set[i] = PLACE_NONE;
	run->n_core_sets = set_thread_sets(run);
	for (guint32 rank = 0; rank < run->n_ranks; rank++)
		if (graph_device_taken(graph, rank) > 0)
			run->rank_core_set[run->n_ranks + rank] = run->n_core_sets++;
	run->cores = g_new0(struct core_set, MAX(run->n_core_sets, 1u));
	set_taken(run);
	run->n_leaves = 2;
	while (run->n_leaves < run->n_core_sets)
		run->n_leaves *= 2;
	run->next = g_new0(struct next_set, 2 * (gsize)run->n_leaves);
}

static guint32 device_of(const struct shared_run *run, const struct graph_node *node)
{
	guint32 rank = graph_lane_at(run->graph, node->lane)->rank_index;

	return rank < run->n_ranks ? run->rank_core_set[run->n_ranks + rank] : PLACE_NONE;
}

static guint32 place_of(const struct shared_run *run, const struct graph_node *node)
{
	switch ((TachoNodeKind)node->kind) {
	case TACHO_NODE_TRANSFER:
		return PLACE_TRANSFER;
	case TACHO_NODE_QUEUE:
		return is_pooled(run, node) ? PLACE_QUEUE : PLACE_NONE;
	case TACHO_NODE_COMPLETE:
		return is_pooled(run, node) ? PLACE_COMPLETE : PLACE_NONE;
	case TACHO_NODE_OP:
	case TACHO_NODE_KERNEL:
	case TACHO_NODE_HOST:
		return run->core_set_of[node->lane];
	case TACHO_NODE_COPY:
		return node->pool == TACHO_NONE ? PLACE_NONE : PLACE_ENGINE;
	case TACHO_NODE_DEVICE:
	case TACHO_NODE_CAST:
		return device_of(run, node);
	default:
		return PLACE_NONE;
	}
}

static void set_places(struct shared_run *run)
{
	run->place = g_new(guint32, MAX(run->replay->n_nodes, 1u));
	for (guint32 i = 0; i < run->replay->n_nodes; i++)
		run->place[i] = place_of(run, graph_node_at(run->graph, i));
}

/* Which ranks come to the collectives of each group. */
static void set_group_ranks(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;

	run->n_moving = g_new0(guint32, MAX(2 * (gsize)run->n_ranks, 1u));
	run->is_of_group = g_new0(guint8, MAX((gsize)graph->groups->len * run->n_ranks, 1u));
	for (guint32 i = 0; i < run->replay->n_nodes && run->n_core_sets > 0; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		guint32 rank = graph_lane_at(graph, node->lane)->rank_index;

		if (node->kind == TACHO_NODE_QUEUE && rank < run->n_ranks)
			run->is_of_group[(gsize)graph_transfer_at(graph, node->transfer)->group *
						 run->n_ranks +
					 rank] = 1;
	}
}

static void set_pools(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;

	run->pools = g_new0(struct worker_pool, MAX(graph->pools->len, 1u));
	for (guint i = 0; i < graph->pools->len; i++) {
		guint32 n = g_array_index(graph->pools, struct graph_pool, i).n_workers;

		run->pools[i].free_ns = g_new0(gdouble, n);
		run->pools[i].freed_by = g_new0(guint32, n);
	}
}

static void rewind_resources(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;

	run->begins.n = 0;
	g_array_set_size(run->active, 0);
	memset(run->load, 0, MAX(graph->links->len, 1u) * sizeof(*run->load));
	memset(run->n_moving, 0, 2 * (gsize)run->n_ranks * sizeof(*run->n_moving));
	run->links_at_ns = 0;
	run->links_next_ns = INFINITY;
	for (guint32 i = 0; i < run->n_core_sets; i++) {
		struct core_set *cores = &run->cores[i];

		cores->heap.n = cores->n_moving = 0;
		cores->done_ns = cores->at_ns = 0;
	}
	for (guint i = 0; i < graph->pools->len; i++) {
		guint32 n = g_array_index(graph->pools, struct graph_pool, i).n_workers;

		run->pools[i].next = graph->pool_first[i];
		run->pools[i].n_free = n;
		memset(run->pools[i].free_ns, 0, n * sizeof(*run->pools[i].free_ns));
		memset(run->pools[i].freed_by, 0, n * sizeof(*run->pools[i].freed_by));
	}
	run->now_ns = 0;
	shared_run_schedule(run);
}

/* Nodes that are not played are never ready, and are not waited for. */
static void leave_out_folded(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;

	for (guint32 i = 0; i < run->replay->n_nodes; i++) {
		if (!rank_fold_has(run->fold, i))
			continue;
		run->n_waiting[i] = G_MAXUINT32;
		for (guint32 j = graph->succ_first[i]; j < graph->succ_first[i + 1]; j++)
			run->n_waiting[graph->succ[j]]--;
	}
}

void shared_run_rewind(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;
	TachoReplay *replay = run->replay;

	rewind_resources(run);
	run->n_ready = run->n_begun = run->n_done = 0;
	memset(run->has_come, 0, replay->n_nodes);
	for (guint32 i = 0; i < replay->n_nodes; i++) {
		replay->begin_ns[i] = replay->end_ns[i] = 0;
		replay->cause[i] = TACHO_NONE;
		run->n_waiting[i] = graph->pred_first[i + 1] - graph->pred_first[i];
	}
	if (run->fold)
		leave_out_folded(run);
	for (guint32 i = replay->n_nodes; i-- > 0;)
		if (run->n_waiting[i] == 0)
			run->ready[run->n_ready++] = i;
}

struct shared_run *shared_run_new(TachoReplay *replay, const struct rank_fold *fold)
{
	struct shared_run *run = g_new0(struct shared_run, 1);
	const TachoGraph *graph = replay->graph;
	gsize n = MAX(replay->n_nodes, 1u);

	run->replay = replay;
	run->graph = graph;
	run->fold = fold;
	run->n_waiting = g_new(guint32, n);
	run->ready = g_new(guint32, n);
	run->has_come = g_new0(guint8, n);
	run->active = g_array_new(FALSE, FALSE, sizeof(struct active_transfer));
	run->load = g_new0(guint32, MAX(graph->links->len, 1u));
	run->n_ranks = graph_n_ranks(graph);
	set_core_sets(run);
	set_places(run);
	set_group_ranks(run);
	set_pools(run);
	shared_run_rewind(run);
	return run;
}

void shared_run_free(struct shared_run *run)
{
	if (!run)
		return;
	for (guint i = 0; i < run->graph->pools->len; i++) {
		g_free(run->pools[i].free_ns);
		g_free(run->pools[i].freed_by);
	}
	for (guint32 i = 0; i < run->n_core_sets; i++)
		event_heap_release(&run->cores[i].heap);
	g_free(run->pools);
	g_free(run->cores);
	g_free(run->next);
	g_free(run->place);
	g_free(run->core_set_of);
	g_free(run->rank_core_set);
	g_free(run->n_moving);
	g_free(run->is_of_group);
	g_free(run->load);
	g_array_unref(run->active);
	g_free(run->has_come);
	g_free(run->ready);
	g_free(run->n_waiting);
	event_heap_release(&run->begins);
	g_free(run);
}

/* A rank has come to a collective, but its workers are at others that wait for other ranks. */
static void explain_blocked(const struct shared_run *run, GError **error)
{
	const TachoGraph *graph = run->graph;
	guint32 node = 0;
	g_autofree gchar *name = NULL;

	for (guint32 i = 0; i < run->replay->n_nodes; i++) {
		const struct graph_node *row = graph_node_at(graph, i);

		if (!run->has_come[i] || !is_pooled(run, row))
			continue;
		for (guint32 j = run->pools[row->pool].next; j < graph->pool_first[row->pool + 1];
		     j++)
			if (graph->pool_node[j] == i)
				node = i;
	}
	name = graph_describe_node(graph, node);
	g_set_error(
		error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE,
		"the ranks' collectives block each other: %u of %u nodes can never run; %s, "
		"number %u of its group, finds all workers waiting for other ranks",
		run->replay->n_nodes - run->n_done, run->replay->n_nodes, name,
		graph_node_at(graph, node)->transfer == TACHO_NONE
			? 0
			: graph_transfer_at(graph, graph_node_at(graph, node)->transfer)->sequence);
}

gboolean shared_run_play(struct shared_run *run, GError **error)
{
	guint32 n_folded = run->fold ? rank_fold_n_nodes(run->fold) : 0;

	run_events(run);
	if (run->n_done == run->replay->n_nodes - n_folded)
		return TRUE;
	explain_blocked(run, error);
	return FALSE;
}

static gboolean play(TachoReplay *replay, const struct rank_fold *fold, GError **error)
{
	struct shared_run *run = shared_run_new(replay, fold);
	gboolean is_done = shared_run_play(run, error);

	shared_run_free(run);
	return is_done;
}

/* Where ranks block each other, all are played again, to name them. */
gboolean replay_shared(TachoReplay *replay, GError **error)
{
	struct rank_fold *fold = rank_fold_new(replay->graph);
	gboolean is_done = fold && play(replay, fold, NULL);

	if (is_done)
		rank_fold_fill_in(fold, replay);
	rank_fold_free(fold);
	return is_done || play(replay, NULL, error);
}
