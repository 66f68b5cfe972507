/* graph_servers: collectives that go over parameter servers, part by part.
 *
 *     QUEUE of the worker's ranks --> push, of each worker --> sum, on the server --> pull, of each worker --> COMPLETE
 *
 * A part is summed up when the last worker has pushed it; what the server had done of it before is hidden behind
 * that. So the sum takes what the server took for the push that it handled last, and a push ends so much sooner than
 * its worker had word of it.
 *
 * (1) The pushes of a worker (and its pulls) that did not overlap wait for each other.
 * (2) A server's sums wait for each other in the order recorded, but for those that it did at the same time.
 * (3) Where it is not known which of a server's pushes is a worker's (server_hops.h), or no server was recorded, sums
 *     take no time: theirs is in the pushes and pulls. */
#include "graph/graph_hops.h"

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/server_hops.h"

/* The work of a server for a part. */
struct sum {
	guint32 node, process;
	gint64 begin_ns, end_ns; /* on the server's clock */
};

struct server_work {
	struct graph_builder *builder;
	GHashTable *handled; /* slice of a worker's push -> of the server's, + 1 */
	GArray *sums;	     /* struct sum */
	guint32 group;	     /* of sums; TACHO_NONE: there is none yet */
	guint32 lane;
};

/* --- which push of a worker is which of a server ------------------------------------------------ */

/* (3) */
static void keep_handled(guint32 worker, guint32 server, gpointer data)
{
	struct server_work *servers = data;

	g_hash_table_insert(servers->handled, GUINT_TO_POINTER(worker),
			    GUINT_TO_POINTER(server + 1));
}

struct server_work *server_work_new(struct graph_builder *builder)
{
	struct server_work *servers = g_new0(struct server_work, 1);

	servers->builder = builder;
	servers->handled = g_hash_table_new(NULL, NULL);
	servers->sums = g_array_new(FALSE, FALSE, sizeof(struct sum));
	servers->group = servers->lane = TACHO_NONE;
	server_hops_visit(builder->timeline, 0, keep_handled, servers);
	return servers;
}

void server_work_free(struct server_work *servers)
{
	g_hash_table_unref(servers->handled);
	g_array_unref(servers->sums);
	g_free(servers);
}

/* The server's slice of a worker's push, or TACHO_NONE. */
static guint32 find_handled(const struct server_work *servers, guint32 slice)
{
	gpointer known = g_hash_table_lookup(servers->handled, GUINT_TO_POINTER(slice));

	return known ? GPOINTER_TO_UINT(known) - 1 : TACHO_NONE;
}

/* --- pushes and pulls ------------------------------------------------------------------------- */

static gint compare_begins(gconstpointer a, gconstpointer b)
{
	const struct hop *x = *(struct hop *const *)a, *y = *(struct hop *const *)b;
	guint32 of_x = MIN(x->from, x->to), of_y = MIN(y->from, y->to);

	return ORDER(of_x, of_y) ?: ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->part, y->part);
}

/* The hops of the step, by worker and begin. */
static GPtrArray *sort_step(const struct hop_unfolding *unfolding, guint32 step)
{
	GPtrArray *sorted = g_ptr_array_new();

	for (guint i = 0; i < unfolding->hops->len; i++)
		if ((hop_at(unfolding, i)->step > 0) == (step > 0))
			g_ptr_array_add(sorted, hop_at(unfolding, i));
	g_ptr_array_sort(sorted, compare_begins);
	return sorted;
}

/* (1): from the last one before that had ended by then, of the same worker. */
static const struct hop *find_before(const GPtrArray *sorted, guint index)
{
	const struct hop *hop = sorted->pdata[index];
	const struct hop *before = index ? sorted->pdata[index - 1] : NULL;

	return before && before->from == hop->from && before->to == hop->to &&
			       before->end_ns <= hop->begin_ns
		       ? before
		       : NULL;
}

static void add_pushes(struct hop_unfolding *unfolding)
{
	const struct server_work *servers = unfolding->servers;
	const TachoSlices *slices = &unfolding->builder->timeline->slices;
	g_autoptr(GPtrArray) pushes = sort_step(unfolding, 0);

	FOR_EACH_POINTER_AT(struct hop, hop, i, pushes) {
		const struct hop *before = find_before(pushes, i);
		guint32 handled = find_handled(servers, hop->slice);
		gint64 begin_ns;

		if (handled != TACHO_NONE)
			hop->end_ns =
				MAX(hop->end_ns - slices->duration_ns[handled], hop->begin_ns);
		unfolding_add_node(unfolding, hop, "push", hop->begin_ns);
		begin_ns = unfolding_wait_for_ranks(unfolding, hop);
		if (before) {
			graph_add_edge(unfolding->builder->graph, before->node, hop->node,
				       TACHO_EDGE_ORDER);
			begin_ns = MAX(begin_ns, before->end_ns);
		}
		unfolding_begin_at(unfolding, hop, begin_ns);
	}
}

/* --- sums ------------------------------------------------------------------------------------- */

static void take_server_group(struct server_work *servers)
{
	TachoGraph *graph = servers->builder->graph;
	struct graph_group group = { .n_ranks = 1, .is_device = TRUE, .is_hops = TRUE };

	if (servers->group != TACHO_NONE)
		return;
	servers->group = graph->groups->len;
	g_array_append_val(graph->groups, group);
	servers->lane = builder_add_lane(
		servers->builder, TACHO_NONE, TACHO_NONE,
		tacho_timeline_intern(servers->builder->timeline, "servers", -1), FALSE);
}

/* The sum of a part, that begins at `begin_ns` and takes what its server took for `handled` (or nothing). */
static guint32 add_sum(struct hop_unfolding *unfolding, guint32 handled, gint64 begin_ns)
{
	struct server_work *servers = unfolding->servers;
	struct graph_builder *builder = unfolding->builder;
	const TachoTimeline *timeline = builder->timeline;
	TachoGraph *graph = builder->graph;
	struct graph_transfer transfer = *graph_transfer_at(graph, unfolding->transfer);
	struct graph_node node = *graph_node_at(graph, transfer.node);

	take_server_group(servers);
	transfer.group = servers->group;
	transfer.name = tacho_timeline_intern(builder->timeline, "server sum", -1);
	transfer.n_ranks = 1;
	transfer.is_hop = TRUE;
	transfer.whole = unfolding->transfer;
	transfer.is_device = TRUE;
	transfer.bytes = 0;
	transfer.begin_ns = begin_ns;
	transfer.end_ns =
		begin_ns + (handled == TACHO_NONE ? 0 : timeline->slices.duration_ns[handled]);
	node.name = transfer.name;
	node.lane = servers->lane;
	node.transfer = graph->transfers->len;
	node.begin_ns = begin_ns - graph->origin_ns;
	node.duration_ns = transfer.end_ns - begin_ns;
	transfer.node = graph_add_node(graph, node);
	g_array_append_val(graph->transfers, transfer);
	if (handled != TACHO_NONE) {
		struct sum sum = {
			.node = transfer.node,
			.process = tacho_timeline_track(timeline, timeline->slices.track[handled])
					   ->process,
			.begin_ns = timeline->slices.start_ns[handled],
			.end_ns = tacho_slice_end_ns(timeline, handled),
		};

		g_array_append_val(servers->sums, sum);
	}
	return transfer.node;
}

/* What the part's pushes are summed up in; when that begins and ends, into *ret_ns. */
static guint32 sum_part(struct hop_unfolding *unfolding, guint32 part, gint64 *ret_ns)
{
	const TachoTimeline *timeline = unfolding->builder->timeline;
	TachoGraph *graph = unfolding->builder->graph;
	guint32 last_handled = TACHO_NONE, sum;
	gint64 begin_ns = G_MININT64;

	FOR_EACH(const struct hop, hop, unfolding->hops) {
		guint32 handled = find_handled(unfolding->servers, hop->slice);

		if (hop->step > 0 || hop->part != part)
			continue;
		begin_ns = MAX(begin_ns, hop->end_ns);
		if (handled != TACHO_NONE && (last_handled == TACHO_NONE ||
					      tacho_slice_end_ns(timeline, handled) >
						      tacho_slice_end_ns(timeline, last_handled)))
			last_handled = handled;
	}
	if (begin_ns == G_MININT64)
		return TACHO_NONE;
	sum = add_sum(unfolding, last_handled, begin_ns);
	for (guint i = 0; i < unfolding->hops->len; i++)
		if (hop_at(unfolding, i)->step == 0 && hop_at(unfolding, i)->part == part)
			graph_add_edge(graph, hop_at(unfolding, i)->node, sum, TACHO_EDGE_TRANSFER);
	*ret_ns = begin_ns + graph_node_at(graph, sum)->duration_ns;
	return sum;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* A part that has been summed up. */
struct summed {
	guint32 node;
	gint64 end_ns;
};

static void add_pull(struct hop_unfolding *unfolding, const GPtrArray *pulls, guint index,
		     const struct summed *summed)
{
	TachoGraph *graph = unfolding->builder->graph;
	struct hop *hop = pulls->pdata[index];
	const struct hop *before = find_before(pulls, index);
	gint64 begin_ns;

	unfolding_add_node(unfolding, hop, "pull", hop->begin_ns);
	begin_ns = unfolding_wait_for_ranks(unfolding, hop);
	if (summed) {
		graph_add_edge(graph, summed->node, hop->node, TACHO_EDGE_TRANSFER);
		begin_ns = MAX(begin_ns, summed->end_ns);
	}
	if (before) {
		graph_add_edge(graph, before->node, hop->node, TACHO_EDGE_ORDER);
		begin_ns = MAX(begin_ns, before->end_ns);
	}
	unfolding_begin_at(unfolding, hop, begin_ns);
}

static void add_pulls(struct hop_unfolding *unfolding)
{
	g_autoptr(GPtrArray) pulls = sort_step(unfolding, 1);
	g_autoptr(GHashTable) sums = g_hash_table_new_full(NULL, NULL, NULL, g_free);

	for (guint i = 0; i < pulls->len; i++) {
		gpointer part = GUINT_TO_POINTER(((struct hop *)pulls->pdata[i])->part);
		struct summed summed = { .node = TACHO_NONE };

		if (!g_hash_table_contains(sums, part)) {
			summed.node = sum_part(unfolding, GPOINTER_TO_UINT(part), &summed.end_ns);
			g_hash_table_insert(sums, part,
					    summed.node == TACHO_NONE
						    ? NULL
						    : g_memdup2(&summed, sizeof(summed)));
		}
		add_pull(unfolding, pulls, i, g_hash_table_lookup(sums, part));
	}
}

/* The pulls of all workers on the member's host. */
static void end_with_pulls(struct hop_unfolding *unfolding, struct build_member *member,
			   gint64 *last_ns)
{
	guint32 host = unfolding_host(unfolding, member->rank_index);

	FOR_EACH(const struct hop, hop, unfolding->hops) {
		guint32 worker = MIN(hop->from, hop->to);

		if (unfolding_host(unfolding, worker) == host)
			unfolding_end_with(unfolding, member, hop, last_ns);
	}
}

void server_work_unfold(struct hop_unfolding *unfolding, gint64 *last_ns)
{
	add_pushes(unfolding);
	add_pulls(unfolding);
	for (guint32 i = unfolding->first_member; i < unfolding->end_member; i++)
		end_with_pulls(unfolding, build_member_at(unfolding->builder, i), last_ns);
}

static gint compare_sums(gconstpointer a, gconstpointer b)
{
	const struct sum *x = a, *y = b;

	return ORDER(x->process, y->process) ?: ORDER(x->begin_ns, y->begin_ns) ?:
	       ORDER(x->node, y->node);
}

void server_work_order(struct server_work *servers)
{
	g_array_sort(servers->sums, compare_sums);
	for (guint i = 1; i < servers->sums->len; i++) {
		const struct sum *before = &g_array_index(servers->sums, struct sum, i - 1);
		const struct sum *sum = &g_array_index(servers->sums, struct sum, i);

		if (before->process == sum->process && before->end_ns <= sum->begin_ns)
			graph_add_edge(servers->builder->graph, before->node, sum->node,
				       TACHO_EDGE_ORDER);
	}
}
