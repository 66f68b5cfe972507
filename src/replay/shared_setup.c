/* shared_setup: what a shared replay needs to know of its graph before it begins: where each node happens, who shares
 * cores, whose cores moving bytes takes from. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/huge_pages.h"
#include "replay/shared_run.h"
#include "trace/none_rows.h"

/* --- core sets -------------------------------------------------------------------------------- */

static void set_slots(struct shared_run *run)
{
	run->n_slots = 1;
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		run->slot_of_class[class] =
			run->graph->class_more_taken[class] != 0 ? (guint8)run->n_slots++ : 0;
}

static void set_device_taken(struct shared_run *run, guint32 rank, guint32 first_set)
{
	struct core_set *parts = &run->cores[first_set + run->n_slots];

	for (guint32 slot = 0; slot < run->n_slots; slot++) {
		run->cores[first_set + slot].is_uncounted = TRUE;
		run->cores[first_set + slot].taken = graph_device_taken(run->graph, rank);
	}
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		if (run->slot_of_class[class] > 0 && !graph_guest_of(run->graph, rank))
			run->cores[first_set + run->slot_of_class[class]].taken =
				graph_class_taken(run->graph, class);
	parts->is_uncounted = TRUE;
	parts->moves_as = run->n_ranks + rank + 1;
}

/* The largest share, where ranks of several jobs are on one host. */
static void set_taken(struct shared_run *run)
{
	for (guint32 rank = 0; rank < run->n_ranks; rank++) {
		guint32 threads = run->rank_core_set[rank];
		guint32 device = run->rank_core_set[run->n_ranks + rank];

		if (threads != PLACE_NONE) {
			struct core_set *cores = &run->cores[threads];

			cores->taken = MAX(cores->taken, graph_taken_share(run->graph, rank));
			cores->is_uncounted = run->graph->n_cores == 0;
		}
		if (device != PLACE_NONE)
			set_device_taken(run, rank, device);
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
	set_slots(run);
	for (guint32 rank = 0; rank < run->n_ranks; rank++) {
		if (!graph_takes_from_device(graph, rank))
			continue;
		run->rank_core_set[run->n_ranks + rank] = run->n_core_sets;
		run->n_core_sets += run->n_slots + 1;
	}
	run->cores = g_new0(struct core_set, MAX(run->n_core_sets, 1u));
	set_taken(run);
	run->n_leaves = 2;
	while (run->n_leaves < run->n_core_sets)
		run->n_leaves *= 2;
	run->next = g_new0(struct next_set, 2 * (gsize)run->n_leaves);
}

/* --- where nodes happen ----------------------------------------------------------------------- */

static gboolean is_pooled(const struct shared_run *run, const struct graph_node *node)
{
	return node->pool != TACHO_NONE &&
	       g_array_index(run->graph->pools, struct graph_pool, node->pool).n_workers > 1;
}

static guint32 device_of(const struct shared_run *run, const struct graph_node *node)
{
	guint32 rank = graph_lane_at(run->graph, node->lane)->rank_index;

	return rank < run->n_ranks ? run->rank_core_set[run->n_ranks + rank] : PLACE_NONE;
}

static guint32 kernels_of(const struct shared_run *run, const struct graph_node *node)
{
	guint32 device = device_of(run, node);

	if (device == PLACE_NONE || run->n_slots == 1)
		return device;
	return device + run->slot_of_class[graph_kernel_class(run->graph, node)];
}

static guint32 parts_of(const struct shared_run *run, const struct graph_node *node)
{
	guint32 device = graph_is_lone_part(run->graph, node) ? device_of(run, node) : PLACE_NONE;

	return device == PLACE_NONE ? PLACE_NONE : device + run->n_slots;
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
		return kernels_of(run, node);
	case TACHO_NODE_PART:
		return parts_of(run, node);
	default:
		return PLACE_NONE;
	}
}

/* And which ranks come to the collectives of each group: a byte each, [group * n_ranks + rank]; or NULL. */
static void set_places(struct shared_run *run, guint8 *is_of_group)
{
	const TachoGraph *graph = run->graph;

	run->place = HUGE_PAGES_NEW(guint32, MAX(run->replay->n_nodes, 1u));
	for (guint32 i = 0; i < run->replay->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		guint32 rank;

		run->place[i] = place_of(run, node);
		if (node->kind != TACHO_NODE_QUEUE || !is_of_group)
			continue;
		rank = graph_lane_at(graph, node->lane)->rank_index;
		if (rank < run->n_ranks)
			is_of_group[(gsize)graph_transfer_at(graph, node->transfer)->group *
					    run->n_ranks +
				    rank] = 1;
	}
}

/* --- who moves bytes -------------------------------------------------------------------------- */

/* For each group, the ranks whose computing it slows down while its bytes move. */
static void set_moving(struct shared_run *run, const guint8 *is_of_group)
{
	guint32 n_groups = run->graph->groups->len;
	GArray *moving = g_array_new(FALSE, FALSE, sizeof(guint32));

	run->moving_first = g_new0(guint32, (gsize)n_groups + 1);
	for (guint32 group = 0; group < n_groups; group++) {
		const struct graph_group *row = graph_group_at(run->graph, group);
		guint32 first = row->is_device ? run->n_ranks : 0;

		for (guint32 rank = 0; rank < run->n_ranks && is_of_group; rank++) {
			guint32 who = first + rank;

			if ((is_of_group[(gsize)group * run->n_ranks + rank] ||
			     row->sender == rank + 1 || row->receiver == rank + 1) &&
			    run->rank_core_set[who] != PLACE_NONE)
				g_array_append_val(moving, who);
		}
		run->moving_first[group + 1] = moving->len;
	}
	run->moving = (guint32 *)(void *)g_array_free(moving, FALSE);
}

/* Some rank on the set comes to collectives of the group. */
static gboolean has_rank_of(const struct shared_run *run, const guint8 *is_of_group, guint32 set,
			    guint32 group)
{
	for (guint32 rank = 0; rank < run->n_ranks; rank++)
		if (run->rank_core_set[rank] == set &&
		    is_of_group[(gsize)group * run->n_ranks + rank])
			return TRUE;
	return FALSE;
}

/* For each set of cores, the groups whose transfers wait for it. */
static void set_waiting(struct shared_run *run, const guint8 *is_of_group)
{
	GArray *waiting = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint32 n_groups = graph_has_core_waits(run->graph) ? run->graph->groups->len : 0;

	for (guint32 set = 0; set < run->n_core_sets; set++) {
		run->cores[set].first_waiting = waiting->len;
		for (guint32 group = 0; group < n_groups; group++)
			if (graph_group_at(run->graph, group)->core_wait_ns > 0 &&
			    has_rank_of(run, is_of_group, set, group))
				g_array_append_val(waiting, group);
		run->cores[set].end_waiting = waiting->len;
	}
	run->waiting = (guint32 *)(void *)g_array_free(waiting, FALSE);
}

/* One look at each node, of which there may be millions. */
static void look_at_nodes(struct shared_run *run)
{
	gsize n_bytes = (gsize)run->graph->groups->len * run->n_ranks;
	g_autofree guint8 *is_of_group = run->n_core_sets > 0 ? g_new0(guint8, n_bytes) : NULL;

	set_places(run, is_of_group);
	set_moving(run, is_of_group);
	set_waiting(run, is_of_group);
}

/* --- the begin -------------------------------------------------------------------------------- */

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

/* Where the transfer is in a pool's list; from the place on that the one before had, and then from the begin. */
static guint32 find_queued(const TachoGraph *graph, guint32 pool, guint32 transfer, guint32 from)
{
	guint32 first = graph->pool_first[pool], n = graph->pool_first[pool + 1] - first;

	for (guint32 i = 0; i < n; i++) {
		guint32 at = first + (from - first + i) % n;

		if (graph_node_at(graph, graph->pool_node[at])->transfer == transfer)
			return at;
	}
	return TACHO_NONE;
}

static void set_calls(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;
	g_autofree guint32 *from =
		g_memdup2(graph->pool_first, (graph->pools->len + 1) * sizeof(*graph->pool_first));

	FOR_EACH(const struct graph_call, call, graph->calls) {
		const struct graph_node *node = graph_node_at(graph, call->node);
		guint32 at;

		if (node->kind != TACHO_NODE_OP || node->duration_ns <= 0 || !is_pooled(run, node))
			continue;
		at = find_queued(graph, node->pool, call->transfer, from[node->pool]);
		if (at == TACHO_NONE)
			continue;
		if (!run->call_queue)
			run->call_queue = none_rows_new(graph->n_frozen);
		run->call_queue[call->node] = from[node->pool] = at;
	}
}

static void rewind_resources(struct shared_run *run)
{
	const TachoGraph *graph = run->graph;

	run->begins.n = 0;
	g_array_set_size(run->active, 0);
	memset(run->loads, 0, graph_n_loads(graph) * sizeof(*run->loads));
	memset(run->n_active, 0, graph->groups->len * sizeof(*run->n_active));
	memset(run->n_moving, 0, 2 * (gsize)run->n_ranks * sizeof(*run->n_moving));
	memset(run->n_computing, 0, graph->groups->len * sizeof(*run->n_computing));
	run->n_changed = 0;
	run->links_at_ns = 0;
	run->links_next_ns = INFINITY;
	for (guint32 i = 0; i < run->n_core_sets; i++) {
		struct core_set *cores = &run->cores[i];

		cores->heap.n = cores->n_moving = 0;
		cores->done_ns = cores->at_ns = 0;
		cores->is_busy = cores->is_noted = FALSE;
	}
	for (guint i = 0; i < graph->pools->len; i++) {
		guint32 n = g_array_index(graph->pools, struct graph_pool, i).n_workers;

		run->pools[i].next = graph->pool_first[i];
		run->pools[i].n_free = n;
		memset(run->pools[i].free_ns, 0, n * sizeof(*run->pools[i].free_ns));
		memset(run->pools[i].freed_by, 0, n * sizeof(*run->pools[i].freed_by));
	}
	run->now_ns = 0;
	shared_cores_schedule(run);
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
	for (guint32 i = 0; i < graph->pool_first[graph->pools->len]; i++)
		run->has_come[graph->pool_node[i]] = 0;
	for (guint32 i = 0; i < replay->n_nodes; i++) {
		replay->begin_ns[i] = 0;
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
	run->n_waiting = HUGE_PAGES_NEW(guint32, n);
	run->ready = g_new(guint32, n);
	run->has_come = g_new0(guint8, n);
	run->active = g_array_new(FALSE, FALSE, sizeof(struct active_transfer));
	run->loads = g_new0(struct link_load, graph_n_loads(graph));
	run->n_active = g_new0(guint32, MAX(graph->groups->len, 1u));
	run->n_ranks = graph_n_ranks(graph);
	run->n_moving = g_new0(guint32, MAX(2 * (gsize)run->n_ranks, 1u));
	run->n_computing = g_new0(guint32, MAX(graph->groups->len, 1u));
	set_core_sets(run);
	run->changed = g_new(guint32, MAX(run->n_core_sets, 1u));
	look_at_nodes(run);
	set_pools(run);
	set_calls(run);
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
	g_free(run->call_queue);
	g_free(run->cores);
	g_free(run->next);
	g_free(run->place);
	g_free(run->core_set_of);
	g_free(run->rank_core_set);
	g_free(run->n_moving);
	g_free(run->n_active);
	g_free(run->n_computing);
	g_free(run->waiting);
	g_free(run->changed);
	g_free(run->moving_first);
	g_free(run->moving);
	g_free(run->loads);
	g_array_unref(run->active);
	g_free(run->has_come);
	g_free(run->ready);
	g_free(run->n_waiting);
	event_heap_release(&run->begins);
	g_free(run);
}
