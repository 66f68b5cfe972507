/* partition: large collectives in parts, each of which goes by itself.
 *
 * A part has what the whole had before and after it: it is queued when the whole was, and who waited for
 * the whole waits for all parts. A rank's workers take up the parts in order; where there are none (on a
 * device's stream) each waits for the one before. Its bytes take their share of the whole's; its waits
 * are in proportion to the latencies of a collective of its size. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "edit/collective_plan.h"
#include "edit/change_internal.h"
#include "trace/none_rows.h"
#include "trace/operation.h"

/* The size of a part.
 * Source: a rule: parts below a kilobyte are nothing but latency, and a terabyte is more than a model has. If wrong, the words are
 * refused. */
#define MIN_MIB 0.001 /* of a part */
#define MAX_MIB 1e6
/* The parts of a collective, at most.
 * Source: a rule: bounds the nodes of one collective. If wrong, smaller parts are refused. */
#define MAX_PARTS 4096
/* Nodes of parts.
 * Source: a rule: 8 million nodes of 40 bytes, with edges, are half a gigabyte. If wrong, a change is refused though there was
 * room, or memory runs out. */
#define MAX_ADDED (8 * 1000 * 1000)

struct split {
	guint32 transfer;
	guint32 n_parts;
	GArray *members;    /* guint32, nodes */
	guint32 first_copy; /* node; those of part p begin (p - 1) * members after it */
};

struct partition {
	TachoGraph *graph;
	guint64 part_bytes;
	GArray *splits;	    /* struct split */
	guint32 *split_of;  /* transfer -> index into splits, or TACHO_NONE */
	guint32 *member_of; /* node -> index into its split's members */
};

static struct split *split_at(const struct partition *partition, guint32 index)
{
	return &g_array_index(partition->splits, struct split, index);
}

/* The split of the node's collective; NULL: that is not split. */
static struct split *split_of_node(const struct partition *partition, guint32 node)
{
	guint32 transfer = graph_node_at(partition->graph, node)->transfer;

	if (transfer == TACHO_NONE ||
	    graph_node_at(partition->graph, node)->kind == TACHO_NODE_REMOVED ||
	    partition->split_of[transfer] == TACHO_NONE)
		return NULL;
	return split_at(partition, partition->split_of[transfer]);
}

static gboolean is_split(const TachoGraph *graph, guint32 index, guint64 part_bytes)
{
	const struct graph_transfer *transfer = graph_transfer_at(graph, index);

	return !transfer->is_removed && transfer->bytes > part_bytes &&
	       graph_group_at(graph, transfer->group)->job == 0 &&
	       graph_group_at(graph, transfer->group)->plan.algorithm != COLLECTIVE_PS &&
	       operation_is_all_reduce(operation_of_name(graph->timeline, transfer->name));
}

static void partition_init(struct partition *partition, TachoGraph *graph, guint64 part_bytes)
{
	guint32 n_transfers = graph->transfers->len, n_nodes = graph->nodes->len;

	*partition = (struct partition){ .graph = graph, .part_bytes = part_bytes };
	partition->splits = g_array_new(FALSE, FALSE, sizeof(struct split));
	partition->split_of = none_rows_new(n_transfers);
	partition->member_of = g_new(guint32, MAX(n_nodes, 1u));
	for (guint32 i = 0; i < n_transfers; i++) {
		guint64 bytes = graph_transfer_at(graph, i)->bytes;
		struct split split = { .transfer = i };

		if (!is_split(graph, i, part_bytes))
			continue;
		split.n_parts = (guint32)MIN((bytes - 1) / part_bytes + 1, MAX_PARTS + 1);
		split.members = g_array_new(FALSE, FALSE, sizeof(guint32));
		partition->split_of[i] = partition->splits->len;
		g_array_append_val(partition->splits, split);
	}
	for (guint32 i = 0; i < n_nodes; i++) {
		struct split *split = split_of_node(partition, i);

		if (!split)
			continue;
		partition->member_of[i] = split->members->len;
		g_array_append_val(split->members, i);
	}
}

static void partition_release(struct partition *partition)
{
	for (guint i = 0; i < partition->splits->len; i++)
		g_array_unref(split_at(partition, i)->members);
	g_array_unref(partition->splits);
	g_free(partition->split_of);
	g_free(partition->member_of);
}

/* The node that is in part `part` what `node` is in the whole; part 0 is what is left of the whole. */
static guint32 node_of_part(const struct partition *partition, const struct split *split,
			    guint32 node, guint32 part)
{
	if (part == 0)
		return node;
	return split->first_copy + (part - 1) * split->members->len + partition->member_of[node];
}

static guint64 bytes_of_part(const struct split *split, guint64 bytes, guint32 part)
{
	return bytes / split->n_parts + (part < bytes % split->n_parts);
}

static void add_part(struct partition *partition, struct split *split,
		     const struct graph_transfer *whole, guint32 part)
{
	TachoGraph *graph = partition->graph;
	struct graph_transfer transfer = *whole;
	struct collective_time time;

	transfer.bytes = bytes_of_part(split, whole->bytes, part);
	transfer.node = node_of_part(partition, split, whole->node, part);
	for (guint i = 0; i < split->members->len; i++) {
		struct graph_node node =
			*graph_node_at(graph, g_array_index(split->members, guint32, i));

		node.transfer = graph->transfers->len;
		graph_add_node(graph, node);
	}
	g_array_append_val(graph->transfers, transfer);
	time = transfer_of_size(graph, whole, transfer.bytes);
	graph_change_transfer(graph, graph->transfers->len - 1, time.fixed_ns, time.work_ns,
			      ORIGIN_MODELLED);
}

static void add_parts(struct partition *partition, struct split *split)
{
	TachoGraph *graph = partition->graph;
	struct graph_transfer whole = *graph_transfer_at(graph, split->transfer);
	guint64 bytes = bytes_of_part(split, whole.bytes, 0);
	struct collective_time time = transfer_of_size(graph, &whole, bytes);

	split->first_copy = graph->nodes->len;
	for (guint32 part = 1; part < split->n_parts; part++)
		add_part(partition, split, &whole, part);
	graph_transfer_at(graph, split->transfer)->bytes = bytes;
	graph_change_transfer(graph, split->transfer, time.fixed_ns, time.work_ns, ORIGIN_MODELLED);
}

/* The edges of the whole, for each part; from one that is split to another, the parts that both have. */
static void copy_edges(struct partition *partition)
{
	TachoGraph *graph = partition->graph;
	guint n_edges = graph->edges->len;

	for (guint i = 0; i < n_edges; i++) {
		struct graph_edge edge = g_array_index(graph->edges, struct graph_edge, i);
		struct split *from = split_of_node(partition, edge.from);
		struct split *to = split_of_node(partition, edge.to);
		guint32 n_parts = MAX(from ? from->n_parts : 0, to ? to->n_parts : 0);

		for (guint32 part = 1; part < n_parts; part++)
			graph_add_edge(graph,
				       from ? node_of_part(partition, from, edge.from,
							   MIN(part, from->n_parts - 1))
					    : edge.from,
				       to ? node_of_part(partition, to, edge.to,
							 MIN(part, to->n_parts - 1))
					  : edge.to,
				       edge.kind);
	}
}

/* The COMPLETE node of `queue`'s rank. */
static guint32 completion_of(const struct partition *partition, const struct split *split,
			     guint32 queue)
{
	const TachoGraph *graph = partition->graph;

	for (guint i = 0; i < split->members->len; i++) {
		guint32 node = g_array_index(split->members, guint32, i);

		if (graph_node_at(graph, node)->kind == TACHO_NODE_COMPLETE &&
		    graph_lane_at(graph, graph_node_at(graph, node)->lane)->rank_index ==
			    graph_lane_at(graph, graph_node_at(graph, queue)->lane)->rank_index)
			return node;
	}
	return TACHO_NONE;
}

/* Without workers, one part after the other. */
static void order_parts(struct partition *partition, const struct split *split)
{
	TachoGraph *graph = partition->graph;

	for (guint i = 0; i < split->members->len; i++) {
		guint32 queue = g_array_index(split->members, guint32, i);
		guint32 complete;

		if (graph_node_at(graph, queue)->kind != TACHO_NODE_QUEUE ||
		    graph_node_at(graph, queue)->pool != TACHO_NONE)
			continue;
		complete = completion_of(partition, split, queue);
		for (guint32 part = 1; part < split->n_parts && complete != TACHO_NONE; part++)
			graph_add_edge(graph, node_of_part(partition, split, complete, part - 1),
				       node_of_part(partition, split, queue, part),
				       TACHO_EDGE_ORDER);
	}
}

/* Servers take a collective's parts as one that is pulled while the next is pushed. */
static gboolean partition_servers(TachoGraph *graph, guint64 part_bytes)
{
	gboolean is_done = FALSE;

	for (guint32 i = 0; i < graph->groups->len; i++) {
		struct collective_plan plan = graph_group_at(graph, i)->plan;

		if (plan.algorithm != COLLECTIVE_PS)
			continue;
		plan.partition_bytes = part_bytes;
		group_replan(graph, i, &plan, graph_group_at(graph, i)->n_ranks);
		is_done = TRUE;
	}
	return is_done;
}

/* Not more than a graph can well hold. */
static gboolean check_number(const struct partition *partition, const struct change *change,
			     GError **error)
{
	guint64 n_added = 0;

	FOR_EACH(const struct split, split, partition->splits) {
		if (split->n_parts > MAX_PARTS)
			return change_refuse(error, change,
					     "a collective would have more than %u parts",
					     MAX_PARTS);
		n_added += (guint64)(split->n_parts - 1) * split->members->len;
	}
	if (n_added > MAX_ADDED)
		return change_refuse(error, change, "it would add %" G_GUINT64_FORMAT " nodes",
				     n_added);
	return TRUE;
}

static void make_parts(struct partition *partition)
{
	for (guint i = 0; i < partition->splits->len; i++)
		add_parts(partition, split_at(partition, i));
	if (partition->splits->len > 0)
		copy_edges(partition);
	for (guint i = 0; i < partition->splits->len; i++)
		order_parts(partition, split_at(partition, i));
}

gboolean parse_partition_mb(struct change *change, const gchar *text, GError **error)
{
	struct quantity value;

	if (!quantity_parse(text, UNITS_NONE, &value) || value.form != QUANTITY_PLAIN ||
	    value.number < MIN_MIB || value.number > MAX_MIB)
		return change_refuse(error, change,
				     "write partition_mb=N, with N in MiB, from %g to %.0f",
				     MIN_MIB, MAX_MIB);
	change->value.bytes = (guint64)(value.number * 1024 * 1024);
	return TRUE;
}

gboolean apply_partition_mb(TachoGraph *graph, const struct change *change, GError **error)
{
	struct partition partition;
	gboolean is_good, is_done;

	graph_fold_hops(graph);
	partition_init(&partition, graph, change->value.bytes);
	is_good = check_number(&partition, change, error);
	is_done = partition.splits->len > 0;
	if (is_good)
		make_parts(&partition);
	partition_release(&partition);
	if (!is_good)
		return FALSE;
	if (!partition_servers(graph, change->value.bytes) && !is_done)
		return change_refuse(error, change,
				     "no all-reduce in the steps is larger than that");
	return TRUE;
}
