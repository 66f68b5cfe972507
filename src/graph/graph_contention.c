/* graph_contention: what transfers take from computation.
 *
 * Moving bytes takes processor time: copies, reductions, TCP, interrupts. Where it is taken from the
 * cores that compute, operations under way meanwhile last longer. How much is read off operations of
 * one kind (names, shapes of the inputs, rank) of which some were overlapped by transfers of their rank, and
 * some by none: by how much those lasted longer in all, of the time that bytes moved in them. That is
 *
 * (1) of sums, and not of medians: a scheduler takes a core away for milliseconds, so that most of the
 *     operations shorter than that lose nothing, and some much;
 * (2) of all that were overlapped at all, and not only from begin to end: one that was held up goes on
 *     after a short transfer, so those that did not are the ones that were held up least.
 *
 * The recorded pieces are longer by that share of the time that they were overlapped; it is taken out of
 * them here, and put back by the replay, where transfers then are.
 *
 * A part of the share is the calls that send and receive, and goes with the bytes a second; it is
 * what their messages took, where messages were recorded. The rest goes with the time.
 *
 * On devices a collective is a kernel, which takes processors and memory bandwidth from the kernels beside it.
 * The same is done with these, apart from hosts: a kernel's kind is its name and the kind of the operation that
 * launched it. What is bound by memory may lose more than what is bound by arithmetic, so that classes of kernels that show
 * enough by themselves have shares of their own; others have that of all. A collective of which the other ranks' parts are not
 * there takes for as long as its kernel lasts: when its bytes moved in that time is not known. */
#include <math.h>

#include "base/for_each.h"
#include "base/hash_mix.h"
#include "base/partition_point.h"
#include "base/quantile.h"
#include "graph/graph_builder.h"

/* Source: a rule: shorter pieces are mostly noise of clocks and caches, on devices, which nothing interrupts, even shorter ones. If
 * wrong, noise counts, or pieces that are left out do not. */
#define MIN_PIECE_NS  20000 /* of hosts */
#define MIN_DEVICE_NS 5000  /* of devices */
/* Source: a rule: the mean of eight is known to a third of their spread. If wrong, a share is made of chance, or none is found. */
#define MIN_OF_A_KIND	8	/* overlapped and not, each, for a kind to count */
#define MIN_COMPARED_NS 5000000 /* overlapped in all, for the share to be believed */
/* Times the median undisturbed.
 * Source: a rule: longer, it was the machine that held it up, and not the bytes, which leave a quarter of a core (GRAPH_MAX_TAKEN):
 * twice four times. If wrong, stalls of the machine are taken for what bytes take, or the longest of what they took is lost. */
#define STALL_TIMES 8

struct interval {
	gint64 begin_ns, end_ns;
};

/* An operation that bytes moved beside for some of its time. */
struct overlapped {
	gint64 duration_ns, shared_ns;
};

/* Operations of one kind. */
struct op_kind {
	enum kernel_class class; /* of a device's */
	GArray *free_ns;	 /* gint64 durations */
	GArray *overlapped;	 /* struct overlapped */
};

static void op_kind_free(gpointer data)
{
	struct op_kind *kind = data;

	g_array_unref(kind->free_ns);
	g_array_unref(kind->overlapped);
	g_free(kind);
}

static gint compare_intervals(gconstpointer a, gconstpointer b)
{
	const struct interval *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Sort the intervals, and join those that overlap. */
static void join_intervals(GArray *intervals)
{
	guint n_kept = 0;

	g_array_sort(intervals, compare_intervals);
	for (guint i = 0; i < intervals->len; i++) {
		struct interval interval = g_array_index(intervals, struct interval, i);
		struct interval *last =
			n_kept ? &g_array_index(intervals, struct interval, n_kept - 1) : NULL;

		if (last && interval.begin_ns <= last->end_ns)
			last->end_ns = MAX(last->end_ns, interval.end_ns);
		else
			g_array_index(intervals, struct interval, n_kept++) = interval;
	}
	g_array_set_size(intervals, n_kept);
}

/* When both ends' ranks are busy with collectives that are played by who sends to whom. */
static void find_hop_times(const TachoGraph *graph, GArray **times)
{
	FOR_EACH(const struct graph_transfer, hop, graph->transfers) {
		const struct graph_group *group = graph_group_at(graph, hop->group);
		struct interval time = { hop->begin_ns - graph->origin_ns,
					 hop->end_ns - graph->origin_ns };

		if (!group->sender || hop->work_ns <= 0 || time.end_ns <= time.begin_ns)
			continue;
		g_array_append_val(times[group->sender - 1], time);
		g_array_append_val(times[group->receiver - 1], time);
	}
}

/* When parts in collectives whose others are not there lasted. */
static void find_part_times(const TachoGraph *graph, GArray **times)
{
	FOR_EACH(const struct graph_node, node, graph->nodes) {
		struct interval time = { node->begin_ns, node->begin_ns + node->duration_ns };

		if (node->duration_ns > 0 && graph_is_lone_part(graph, node))
			g_array_append_val(times[graph_lane_at(graph, node->lane)->rank_index],
					   time);
	}
}

/* When bytes of each rank's transfers moved, of devices or of hosts, in the graph's time: into times[rank], a new array
 * of struct interval, in order and without overlap. */
static void find_moving_times(const struct graph_builder *builder, gboolean is_device,
			      GArray **times)
{
	const TachoGraph *graph = builder->graph;

	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		times[rank] = g_array_new(FALSE, FALSE, sizeof(struct interval));
	FOR_EACH(const struct build_member, member, builder->members) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, member->transfer);
		struct interval time = { transfer->begin_ns - graph->origin_ns,
					 transfer->end_ns - graph->origin_ns };

		if (transfer->is_device == is_device && transfer->work_ns > 0 &&
		    time.end_ns > time.begin_ns)
			g_array_append_val(times[member->rank_index], time);
	}
	if (is_device)
		find_part_times(graph, times);
	else
		find_hop_times(graph, times);
	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		join_intervals(times[rank]);
}

/* How much of [begin_ns, end_ns) is in `times`. */
static gint64 overlap_ns(const GArray *times, gint64 begin_ns, gint64 end_ns)
{
	guint n = ROWS_BEFORE(times, struct interval, row, row->end_ns <= begin_ns);
	gint64 sum_ns = 0;

	for (; n < times->len; n++) {
		const struct interval *time = &g_array_index(times, struct interval, n);

		if (time->begin_ns >= end_ns)
			break;
		sum_ns += MIN(end_ns, time->end_ns) - MAX(begin_ns, time->begin_ns);
	}
	return sum_ns;
}

static gboolean computes(const struct graph_node *node, gboolean is_device)
{
	if (is_device)
		return node->kind == TACHO_NODE_DEVICE;
	return graph_is_computing(node);
}

/* --- the slow-down -------------------------------------------------------------------------- */

/* A number for the rank, the names of the slice and of the operations above it, and its inputs' shapes:
 * a product of the forward pass is not the one of the same shape in the backward pass. */
static gint64 kind_of(const TachoTimeline *timeline, guint32 rank_index, guint32 slice)
{
	guint64 hash = hash_mix(hash_mix(HASH_MIX_START, rank_index), timeline->slices.name[slice]);
	guint32 above = timeline->slices.parent[slice];
	TachoKernelArgs kernel;
	TachoTensor tensor;

	for (; above != TACHO_NONE; above = timeline->slices.parent[above])
		if (timeline->slices.kind[above] == TACHO_SLICE_OP)
			hash = hash_mix(hash, timeline->slices.name[above]);
	if (tacho_slice_kernel(timeline, slice, &kernel))
		for (guint32 i = 0; i < kernel.n_dims && i < TACHO_MAX_DIMS; i++)
			hash = hash_mix(hash, (guint64)kernel.dims[i]);
	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		for (guint32 j = 0; j < tensor.n_dims && j < TACHO_MAX_DIMS; j++)
			hash = hash_mix(hash, (guint64)tensor.shape[j] + j);
	return (gint64)hash;
}

/* The same for a node; for a kernel, the operation that launched it counts, too. */
static gint64 kind_of_node(const struct graph_builder *builder, const struct graph_node *node,
			   guint32 rank_index)
{
	gint64 kind = kind_of(builder->timeline, rank_index, node->slice);
	guint32 work = node->kind == TACHO_NODE_DEVICE ? builder_find_work(builder, node->slice)
						       : TACHO_NONE;
	guint32 call = work == TACHO_NONE ? TACHO_NONE : build_work_at(builder, work)->call;
	guint32 above = call == TACHO_NONE ? TACHO_NONE : builder->timeline->slices.parent[call];

	if (above == TACHO_NONE)
		return kind;
	return (gint64)hash_mix((guint64)kind,
				(guint64)kind_of(builder->timeline, rank_index, above));
}

/* The piece is the whole of its slice, and long enough. */
static gboolean is_whole(const TachoGraph *graph, const struct graph_node *node, gboolean is_device)
{
	return node->slice != TACHO_NONE && computes(node, is_device) &&
	       node->kind != TACHO_NODE_HOST &&
	       node->duration_ns >= (is_device ? MIN_DEVICE_NS : MIN_PIECE_NS) &&
	       node->duration_ns == graph->timeline->slices.duration_ns[node->slice];
}

gint64 builder_contention_kind(const struct graph_builder *builder, guint32 index,
			       gboolean is_device)
{
	const TachoGraph *graph = builder->graph;
	const struct graph_node *node = graph_node_at(graph, index);

	if (builder->told_kinds && index >= builder->first_told &&
	    index - builder->first_told < builder->told_kinds->len)
		return g_array_index(builder->told_kinds, gint64, index - builder->first_told);
	if (!is_whole(graph, node, is_device))
		return 0;
	return kind_of_node(builder, node, graph_lane_at(graph, node->lane)->rank_index) ?: 1;
}

static void sort_piece(const struct graph_builder *builder, const struct graph_node *node,
		       gint64 key, const GArray *times, GHashTable *kinds)
{
	struct overlapped overlapped = {
		node->duration_ns,
		overlap_ns(times, node->begin_ns, node->begin_ns + node->duration_ns),
	};
	struct op_kind *kind = g_hash_table_lookup(kinds, &key);

	if (!kind) {
		kind = g_new(struct op_kind, 1);
		kind->class = node->kind == TACHO_NODE_DEVICE
				      ? graph_kernel_class(builder->graph, node)
				      : KERNEL_OTHER;
		kind->free_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
		kind->overlapped = g_array_new(FALSE, FALSE, sizeof(struct overlapped));
		g_hash_table_insert(kinds, g_memdup2(&key, sizeof(key)), kind);
	}
	if (overlapped.shared_ns == 0)
		g_array_append_val(kind->free_ns, node->duration_ns);
	else
		g_array_append_val(kind->overlapped, overlapped);
}

/* The mean of those undisturbed, without those longer than the limit. */
static gdouble mean_free_ns(const struct op_kind *kind, gdouble limit_ns)
{
	gdouble total_ns = 0;
	guint n = 0;

	for (guint i = 0; i < kind->free_ns->len; i++) {
		gdouble duration_ns = (gdouble)g_array_index(kind->free_ns, gint64, i);

		if (duration_ns <= limit_ns) {
			total_ns += duration_ns;
			n++;
		}
	}
	return total_ns / MAX(n, 1u);
}

/* What operations lasted longer, and the time that bytes moved in them; in whole nanoseconds, so that they do not depend on
 * the order in which a table has the kinds. */
struct taken_sums {
	gint64 longer_ns, shared_ns;
};

static void compare_kind(const struct op_kind *kind, struct taken_sums *sums)
{
	gdouble limit_ns = STALL_TIMES * quantile(kind->free_ns, 0.5);
	gdouble free_ns = mean_free_ns(kind, limit_ns);

	FOR_EACH(const struct overlapped, op, kind->overlapped) {
		if ((gdouble)op->duration_ns > limit_ns)
			continue;
		sums->longer_ns += llround((gdouble)op->duration_ns - free_ns);
		sums->shared_ns += op->shared_ns;
	}
}

static gboolean is_told(const struct taken_sums *sums)
{
	return sums->shared_ns >= MIN_COMPARED_NS;
}

/* The share of the computing that is taken, 0 where it cannot be told. */
static gdouble taken_share(const struct taken_sums *sums)
{
	if (!is_told(sums))
		return 0;
	return CLAMP((gdouble)sums->longer_ns / (gdouble)sums->shared_ns, 0.0, GRAPH_MAX_TAKEN);
}

/* The share of all kinds; and how much more it is of the classes that tell it by themselves, into more[N_KERNEL_CLASSES]. */
static gdouble find_shares(GHashTable *kinds, gdouble *more)
{
	struct taken_sums all = { 0 }, sums[N_KERNEL_CLASSES] = { 0 };
	gdouble share;

	FOR_EACH_ENTRY(entry, kinds) {
		const struct op_kind *kind = entry.value;

		if (kind->free_ns->len >= MIN_OF_A_KIND && kind->overlapped->len >= MIN_OF_A_KIND)
			compare_kind(kind, &sums[kind->class]);
	}
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++) {
		all.longer_ns += sums[class].longer_ns;
		all.shared_ns += sums[class].shared_ns;
	}
	share = taken_share(&all);
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		more[class] = class != KERNEL_OTHER && is_told(&sums[class])
				      ? taken_share(&sums[class]) - share
				      : 0;
	return share;
}

/* --- messages ------------------------------------------------------------------------------- */

/* The share of the time that bytes moved in which calls sent or received some, over all ranks. */
static gdouble message_share(const struct graph_builder *builder, GArray *const *times)
{
	const TachoTimeline *timeline = builder->timeline;
	gint64 moving_ns = 0, calls_ns = 0;

	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		FOR_EACH(const struct interval, time, times[rank])
			moving_ns += time->end_ns - time->begin_ns;
	for (guint32 i = 0; i < timeline->slices.n && moving_ns > 0; i++) {
		gint64 begin_ns = timeline->slices.start_ns[i] - builder->graph->origin_ns;
		const TachoProcess *process;

		if (timeline->slices.kind[i] != TACHO_SLICE_MESSAGE)
			continue;
		process = tacho_slice_process(timeline, i);
		if (process->is_main && process->rank_index < builder->n_ranks)
			calls_ns += overlap_ns(times[process->rank_index], begin_ns,
					       begin_ns + timeline->slices.duration_ns[i]);
	}
	return moving_ns > 0 ? (gdouble)calls_ns / (gdouble)moving_ns : 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

static void undisturb(struct graph_node *node, const GArray *times, gdouble share)
{
	gint64 shared_ns = overlap_ns(times, node->begin_ns, node->begin_ns + node->duration_ns);

	node->duration_ns -= llround((gdouble)shared_ns * share);
}

/* Find the shares taken of hosts, or of devices, where bytes moved in `times`. */
static void find_taken(struct graph_builder *builder, gboolean is_device, GArray *const *times)
{
	TachoGraph *graph = builder->graph;
	gdouble no_classes[N_KERNEL_CLASSES];
	g_autoptr(GHashTable) kinds =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, op_kind_free);

	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		gint64 kind = builder_contention_kind(builder, i, is_device);

		if (kind)
			sort_piece(builder, node, kind,
				   times[graph_lane_at(graph, node->lane)->rank_index], kinds);
	}
	if (is_device)
		graph->device_taken_share = find_shares(kinds, graph->class_more_taken);
	else
		graph->taken_share = find_shares(kinds, no_classes);
}

/* Take them out of the nodes. */
static void take_out(TachoGraph *graph, gboolean is_device, GArray *const *times)
{
	FOR_EACH(struct graph_node, node, graph->nodes) {
		gdouble share;

		if (!computes(node, is_device))
			continue;
		share = is_device ? graph_kernel_taken(graph, node) : graph->taken_share;
		if (share > 0)
			undisturb(node, times[graph_lane_at(graph, node->lane)->rank_index], share);
	}
}

static gboolean has_device_collectives(const TachoGraph *graph)
{
	FOR_EACH(const struct graph_transfer, transfer, graph->transfers)
		if (transfer->is_device)
			return TRUE;
	FOR_EACH(const struct graph_node, node, graph->nodes)
		if (graph_is_lone_part(graph, node))
			return TRUE;
	return FALSE;
}

void builder_take_contention(struct graph_builder *builder)
{
	TachoGraph *graph = builder->graph;
	g_autofree GArray **times = g_new0(GArray *, MAX(builder->n_ranks, 1u));

	for (gboolean is_device = FALSE; is_device <= has_device_collectives(graph); is_device++) {
		find_moving_times(builder, is_device, times);
		find_taken(builder, is_device, times);
		take_out(graph, is_device, times);
		if (!is_device && graph->taken_share > 0)
			graph->taken_by_bytes =
				MIN(message_share(builder, times), graph->taken_share);
		for (guint32 rank = 0; rank < builder->n_ranks; rank++)
			g_array_unref(times[rank]);
	}
}
