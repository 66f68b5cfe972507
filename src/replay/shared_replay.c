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
 *            behind the bytes of others of its job (graph_transfer_pace).
 *            Of some groups, transfers wait longer while a rank of theirs computes (core_waits.h).
 *   cores    the threads of a host share its cores evenly, when there are more of them (the
 *            what-if `cores`); all run at one pace, so a clock of work done serves them all. While
 *            bytes of a rank move, that takes a share of a core (graph_contention.c); without
 *            `cores`, of what that rank computes. A rank's device is such a set, too, from which its
 *            devices' collectives take, where kernels were seen to be slower beside them; so do collectives without the parts of
 *            other ranks, which are a set beside it.
 *   engines  copies of one direction of a device follow each other in the order in which they come
 *            (device_engines.c). As events are in order of time, who comes finds known until when the
 *            engine is at those before.
 *   workers  a rank's collectives of one group are taken up in the order queued, each when one of
 *            the workers is free. A call that queues one takes its share of its time for each that is (edit/bucket_calls.h).
 *
 * (1) Events at one time happen in the order: transfers end, cores' work ends, by the number of their
 *     set, anything begins; and within these, in the order of nodes. What follows at once on a core
 *     does not wait its turn: nothing else at that time depends on it. So the result does not depend
 *     on anything else. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/time_units.h"
#include "replay/shared_run.h"

/* --- workers -------------------------------------------------------------------------------- */

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
			replay->begin_ns[node] = rounded_ns(pool->free_ns[worker]);
			replay->cause[node] = pool->freed_by[worker];
		}
		pool->n_free--;
		pool->free_ns[worker] = pool->free_ns[pool->n_free];
		pool->freed_by[worker] = pool->freed_by[pool->n_free];
		shared_run_finish(
			run, node,
			end_ns_after(replay->begin_ns[node], run->graph->duration_ns[node]));
	}
}

static void give_back(struct shared_run *run, guint32 index, guint32 node)
{
	struct worker_pool *pool = &run->pools[index];

	pool->free_ns[pool->n_free] = (gdouble)run->replay->end_ns[node];
	pool->freed_by[pool->n_free++] = node;
	take_up(run, index);
}

gint64 shared_run_work_ns(const struct shared_run *run, guint32 node)
{
	gint64 whole_ns = run->graph->duration_ns[node];
	const struct worker_pool *pool;
	guint32 index;

	if (!shared_run_is_call(run, node))
		return whole_ns;
	index = graph_node_at(run->graph, node)->pool;
	pool = &run->pools[index];
	if (run->call_queue[node] >= pool->next)
		return 0;
	return whole_ns * (pool->n_free + 1) /
	       g_array_index(run->graph->pools, struct graph_pool, index).n_workers;
}

/* --- what shares nothing -------------------------------------------------------------------- */

void shared_run_finish(struct shared_run *run, guint32 node, gint64 end_ns)
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

/* On links or cores, now or when its time comes. A call comes behind all that happens with it, what it queues among that. */
static void begin_shared(struct shared_run *run, guint32 node, guint32 place, gint64 begin_ns)
{
	if (place < run->n_core_sets && !shared_run_is_call(run, node) &&
	    (gdouble)begin_ns <= run->now_ns + ALMOST_NS)
		shared_cores_begin(run, node, place, (gdouble)begin_ns);
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
	return (place < run->n_core_sets || shared_run_is_call(run, index)) &&
	       run->graph->duration_ns[index] > 0;
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
		shared_run_finish(run, index,
				  end_ns_after(begin_ns, run->graph->duration_ns[index]));
		if (place == PLACE_COMPLETE)
			give_back(run, graph_node_at(run->graph, index)->pool, index);
	}
}

static void run_ready(struct shared_run *run)
{
	while (run->n_ready > 0)
		begin(run, run->ready[--run->n_ready]);
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

static void set_paces(struct shared_run *run)
{
	run->links_next_ns = INFINITY;
	FOR_EACH(struct active_transfer, active, run->active) {
		const struct graph_transfer *transfer =
			graph_transfer_at(run->graph, active->transfer);

		gdouble waits_ns =
			transfer->fixed_ns +
			(run->n_computing[transfer->group] > 0 ? active->core_wait_ns : 0);

		active->pace = graph_transfer_pace(waits_ns, transfer->work_ns,
						   graph_n_sharing(run->graph, transfer, run->loads,
								   run->n_active[transfer->group]));
		run->links_next_ns =
			MIN(run->links_next_ns,
			    run->links_at_ns + MAX(active->rest_ns, 0.0) / active->pace);
	}
}

static void change_load(struct shared_run *run, guint32 transfer, gint change, gdouble time_ns)
{
	guint32 index = graph_transfer_at(run->graph, transfer)->group;

	shared_cores_move(run, index, change, time_ns);
	run->n_active[index] += (guint32)change;
	graph_change_load(run->graph, graph_transfer_at(run->graph, transfer), change, run->loads);
}

static void begin_transfer(struct shared_run *run, guint32 node, gdouble time_ns)
{
	guint32 transfer = graph_node_at(run->graph, node)->transfer;
	const struct graph_transfer *row = graph_transfer_at(run->graph, transfer);
	struct active_transfer active = { node, transfer, row->work_ns, 1,
					  graph_core_wait_ns(run->graph, row) };

	advance_links(run, time_ns);
	g_array_append_val(run->active, active);
	change_load(run, transfer, 1, time_ns);
	set_paces(run);
}

/* Nothing is left of it, or less than the clock can tell apart: from 2^53 ns on (104 days), a double has not every nanosecond. */
static gboolean has_ended(const struct active_transfer *active, gdouble time_ns)
{
	return active->rest_ns <= ALMOST_NS * active->pace ||
	       time_ns + active->rest_ns / active->pace <= time_ns;
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

		if (!has_ended(&active, time_ns)) {
			*active_at(run, n_kept++) = active;
			continue;
		}
		change_load(run, active.transfer, -1, time_ns);
		ended[n_ended++] = active.node;
	}
	g_array_set_size(run->active, n_kept);
	set_paces(run);
	for (guint i = 0; i < n_ended; i++)
		shared_run_finish(run, ended[i], rounded_ns(time_ns));
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
	shared_run_finish(run, node,
			  end_ns_after(replay->begin_ns[node], run->graph->duration_ns[node]));
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
	else if (place < run->n_core_sets)
		shared_cores_begin(run, event.node, place, event.time);
	else
		shared_run_finish(run, event.node,
				  end_ns_after(run->replay->begin_ns[event.node],
					       shared_run_work_ns(run, event.node)));
}

static void run_events(struct shared_run *run)
{
	for (;;) {
		const struct next_set *core;
		gdouble begin_ns;

		run_ready(run);
		if (shared_cores_tell(run)) {
			advance_links(run, run->now_ns);
			set_paces(run);
		}
		if (run->history && run->n_begun >= run->history->next)
			shared_history_keep(run->history, run);
		core = shared_cores_next(run);
		begin_ns = run->begins.n ? run->begins.events[0].time : INFINITY;
		run->now_ns = MIN(MIN(run->links_next_ns, core->time_ns), begin_ns);
		if (run->now_ns == INFINITY)
			return;
		if (run->links_next_ns <= run->now_ns)
			end_transfers(run);
		else if (core->time_ns <= run->now_ns)
			shared_cores_end(run, core->set, MIN(run->links_next_ns, begin_ns));
		else
			begin_next(run);
	}
}

/* A rank has come to a collective, but its workers are at others that wait for other ranks. */
static void explain_blocked(const struct shared_run *run, GError **error)
{
	const TachoGraph *graph = run->graph;
	guint32 node = 0;
	g_autofree gchar *name = NULL;

	for (guint32 i = 0; i < run->replay->n_nodes; i++) {
		const struct graph_node *row = graph_node_at(graph, i);

		if (!run->has_come[i])
			continue;
		for (guint32 j = run->pools[row->pool].next; j < graph->pool_first[row->pool + 1];
		     j++)
			if (graph->pool_node[j] == i)
				node = i;
	}
	name = graph_describe_node(graph, node);
	g_set_error(
		error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE,
		"the collectives of the ranks block each other, and %u of %u nodes can never run: "
		"%s, number %u of its group, finds all workers waiting for other ranks",
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
