/* message_ways: a way is all that one rank sends to another in a collective, of messages, as correlate found which
 * collective they carry out; or a send with its receive, which need no messages.
 *
 * All-reduces have none: they stay one transfer, of whose messages the pace is known better (decisions/0010). So does every
 * collective whose ways are not known to the byte: what was sent must have come, and who took part must have a way.
 *
 * A reduce is of gloo, a ring that ends at the root (gloo/reduce.cc), or of MPI, a tree towards the root; which of them, its ways
 * tell. A barrier has no bytes: of its messages, which are headers, those count that its rounds are made of (gloo/barrier.cc). */
#include "graph/message_ways.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "correlate/message_order.h"
#include "correlate/point_to_point.h"
#include "trace/operation.h"
#include "trace/rank_table.h"

/* The share of a way's bytes that must be seen sent and received: all of them, but for headers.
 * Source: a rule: headers are below a fiftieth of what ways move, and a lost record is a whole message. If wrong, a way lacks
 * bytes, or its collective is played whole. */
#define MIN_ALL 0.98
/* Source: a rule: bounds the nodes. If wrong, the collectives of large groups are played whole though there was room. */
#define MAX_WAYS   4096 /* of a collective */
#define MAX_ROUNDS 64	/* of a ring: ranks */

/* --- messages --------------------------------------------------------------------------------- */

static gint compare_carried(gconstpointer a, gconstpointer b)
{
	const struct carried *x = a, *y = b;

	return ORDER(x->transfer, y->transfer) ?: ORDER(x->from, y->from) ?: ORDER(x->to, y->to) ?:
	       ORDER(x->is_receive, y->is_receive) ?: ORDER(x->end_ns, y->end_ns);
}

/* The transfer that each part in a collective is of: slice -> index + 1. */
static GHashTable *index_members(const struct graph_builder *builder)
{
	GHashTable *transfers = g_hash_table_new(NULL, NULL);

	FOR_EACH(const struct build_member, member, builder->members)
		if (member->work == TACHO_NONE)
			g_hash_table_insert(transfers, GUINT_TO_POINTER(member->slice),
					    GUINT_TO_POINTER(member->transfer + 1));
	return transfers;
}

static gboolean is_barrier(const struct graph_builder *builder, guint32 transfer)
{
	return operation_of_name(builder->timeline,
				 graph_transfer_at(builder->graph, transfer)->name) ==
	       OPERATION_BARRIER;
}

/* Headers are left out: those that go alone, but for barriers, and those that are sent with the bytes that they announce. */
static GArray *collect_carried(const struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;
	GArray *carried = g_array_new(FALSE, FALSE, sizeof(struct carried));
	g_autoptr(GHashTable) transfers = index_members(builder);

	FOR_EACH(const TachoMessage, message, timeline->messages) {
		guint32 own = rank_index_of_process(
			timeline,
			tacho_timeline_track(timeline, timeline->slices.track[message->slice])
				->process);
		guint32 peer = rank_index_of_process(timeline, message->peer_process);
		guint32 transfer = GPOINTER_TO_UINT(
			g_hash_table_lookup(transfers, GUINT_TO_POINTER(message->collective)));
		struct carried row = {
			.transfer = transfer - 1,
			.from = message->is_receive ? peer : own,
			.to = message->is_receive ? own : peer,
			.bytes = message->bytes -
				 (message->is_receive ? 0 : MIN(message->bytes, GLOO_HEADER_BYTES)),
			.end_ns = tacho_slice_end_ns(timeline, message->slice),
			.is_receive = message->is_receive,
		};

		if (message->collective == TACHO_NONE || !transfer || own >= builder->n_ranks ||
		    peer >= builder->n_ranks)
			continue;
		if (is_barrier(builder, row.transfer))
			row.bytes = 0;
		else if (message->bytes <= GLOO_HEADER_BYTES)
			continue;
		g_array_append_val(carried, row);
	}
	g_array_sort(carried, compare_carried);
	return carried;
}

/* --- ways ------------------------------------------------------------------------------------- */

static enum way_shape shape_of(const struct way_finder *finder)
{
	const struct graph_builder *builder = finder->builder;
	const struct graph_transfer *transfer = graph_transfer_at(builder->graph, finder->transfer);

	if (transfer->is_device || transfer->is_hop || transfer->is_unfolded ||
	    graph_group_at(builder->graph, transfer->group)->plan.algorithm !=
		    COLLECTIVE_AS_RECORDED ||
	    finder->end_member - finder->first_member < 2)
		return SHAPE_NONE;
	switch (operation_of_name(builder->timeline, transfer->name)) {
	case OPERATION_ALL_GATHER:
		return transfer->n_ranks == 2 ? SHAPE_PAIRS : SHAPE_RING;
	case OPERATION_BROADCAST:
		return SHAPE_TREE;
	case OPERATION_REDUCE:
		return SHAPE_REDUCE;
	case OPERATION_BARRIER:
		return SHAPE_BARRIER;
	case OPERATION_ALL_REDUCE:
	case OPERATION_PUSH_PULL:
	case OPERATION_REDUCE_SCATTER:
		return SHAPE_NONE;
	default:
		return SHAPE_PAIRS;
	}
}

static guint32 find_member(const struct way_finder *finder, guint32 rank_index)
{
	for (guint32 i = finder->first_member; i < finder->end_member; i++)
		if (build_member_at(finder->builder, i)->rank_index == rank_index)
			return i;
	return TACHO_NONE;
}

/* Rows [first, end) are of one way, what was sent before what was received. FALSE: they do not tell of all bytes. */
static gboolean take_way(struct way_finder *finder, guint first, guint end)
{
	const struct carried *rows = &g_array_index(finder->carried, struct carried, 0);
	struct way way = { .from = find_member(finder, rows[first].from),
			   .to = find_member(finder, rows[first].to),
			   .sent_ns = G_MININT64 };
	guint64 sent_bytes = 0;

	if (way.from == TACHO_NONE || way.to == TACHO_NONE)
		return FALSE;
	for (guint i = first; i < end; i++) {
		if (!rows[i].is_receive) {
			sent_bytes += rows[i].bytes;
			way.sent_ns = rows[i].end_ns;
			continue;
		}
		if (way.n_receives++ == 0)
			way.receives = &rows[i];
		way.bytes += rows[i].bytes;
		way.end_ns = rows[i].end_ns;
	}
	/* a part in a collective is over when its messages are, whatever damage says */
	way.end_ns = MIN(way.end_ns, build_member_at(finder->builder, way.to)->end_ns);
	way.sent_ns = MIN(way.sent_ns, build_member_at(finder->builder, way.from)->end_ns);
	g_array_append_val(finder->ways, way);
	return way.n_receives > 0 && (gdouble)way.bytes >= MIN_ALL * (gdouble)sent_bytes &&
	       (gdouble)sent_bytes >= MIN_ALL * (gdouble)way.bytes;
}

static guint first_carried(const struct way_finder *finder)
{
	return ROWS_BEFORE(finder->carried, struct carried, row, row->transfer < finder->transfer);
}

static gint compare_ways(gconstpointer a, gconstpointer b)
{
	const struct way *x = a, *y = b;

	return ORDER(x->end_ns, y->end_ns) ?: ORDER(x->from, y->from) ?: ORDER(x->to, y->to);
}

/* The ways that messages tell of, by their ends. Returns whether that are all. */
static gboolean collect_ways(struct way_finder *finder)
{
	guint first = first_carried(finder), end;
	gboolean is_whole = TRUE;

	g_array_set_size(finder->ways, 0);
	for (; first < finder->carried->len; first = end) {
		const struct carried *row = &g_array_index(finder->carried, struct carried, first);

		if (row->transfer != finder->transfer || finder->ways->len == MAX_WAYS)
			break;
		for (end = first + 1; end < finder->carried->len; end++) {
			const struct carried *next =
				&g_array_index(finder->carried, struct carried, end);

			if (next->transfer != row->transfer || next->from != row->from ||
			    next->to != row->to)
				break;
		}
		is_whole &= take_way(finder, first, end);
	}
	g_array_sort(finder->ways, compare_ways);
	return is_whole && finder->ways->len < MAX_WAYS &&
	       finder->ways->len + 1 >= finder->end_member - finder->first_member;
}

/* A send and its receive: the sender is the first. When it was over for either, they tell themselves. */
static gboolean take_pair(struct way_finder *finder)
{
	const struct graph_builder *builder = finder->builder;
	const struct build_member *sender = build_member_at(builder, finder->first_member);
	const struct build_member *receiver = build_member_at(builder, finder->first_member + 1);
	struct way way = {
		.from = finder->first_member,
		.to = finder->first_member + 1,
		.bytes = graph_transfer_at(builder->graph, finder->transfer)->bytes,
		.sent_ns = sender->end_ns,
		.end_ns = receiver->end_ns,
	};

	if (finder->end_member - finder->first_member != 2 ||
	    point_to_point_way(builder->timeline, sender->slice) != TACHO_WAY_SEND ||
	    point_to_point_way(builder->timeline, receiver->slice) != TACHO_WAY_RECEIVE)
		return FALSE;
	g_array_set_size(finder->ways, 0);
	g_array_append_val(finder->ways, way);
	return TRUE;
}

gdouble way_share_come(const struct way *way, gint64 begin_ns, gint64 time_ns)
{
	guint64 bytes = 0;

	if (time_ns >= way->end_ns)
		return 1;
	if (!way->receives)
		return time_ns <= begin_ns
			       ? 0
			       : (gdouble)(time_ns - begin_ns) / (gdouble)(way->end_ns - begin_ns);
	for (guint i = 0; i < way->n_receives && way->receives[i].end_ns <= time_ns; i++)
		bytes += way->receives[i].bytes;
	return (gdouble)bytes / (gdouble)MAX(way->bytes, 1u);
}

gint64 way_time_of_share(const struct way *way, gdouble share)
{
	gdouble wanted = share * (gdouble)way->bytes * MIN_ALL, bytes = 0;

	for (guint i = 0; i < way->n_receives; i++) {
		bytes += (gdouble)way->receives[i].bytes;
		if (bytes >= wanted && share < 1)
			return way->receives[i].end_ns;
	}
	return way->end_ns;
}

static gboolean is_about(guint64 bytes, gdouble wanted)
{
	return (gdouble)bytes >= MIN_ALL * wanted && wanted >= MIN_ALL * (gdouble)bytes;
}

static guint32 count_members(const struct way_finder *finder)
{
	return finder->end_member - finder->first_member;
}

/* Each sends to one other and receives from one, as much as all do. */
static gboolean is_ring(const struct way_finder *finder)
{
	guint32 n_members = count_members(finder);
	g_autofree guint8 *seen = g_new0(guint8, n_members);
	const struct way *first = &g_array_index(finder->ways, struct way, 0);

	FOR_EACH(const struct way, way, finder->ways) {
		guint8 *from = &seen[way->from - finder->first_member];
		guint8 *to = &seen[way->to - finder->first_member];

		if ((*from & 1) || (*to & 2) || !is_about(way->bytes, (gdouble)first->bytes))
			return FALSE;
		*from |= 1;
		*to |= 2;
	}
	return finder->ways->len == n_members;
}

/* Who receives from all others, and of two, who receives more; TACHO_NONE: nobody does. */
static guint32 find_root(const struct way_finder *finder)
{
	guint32 n_members = count_members(finder), root = TACHO_NONE;
	g_autofree guint *n_into = g_new0(guint, n_members);
	guint64 most_bytes = 0;

	FOR_EACH(const struct way, way, finder->ways) {
		guint *n = &n_into[way->to - finder->first_member];

		if (++*n + 1 < n_members || (n_members == 2 && way->bytes <= most_bytes))
			continue;
		most_bytes = way->bytes;
		root = way->to;
	}
	return root;
}

/* A ring in n - 1 rounds of a part each, behind which all but the root send the root a part. Whose ring goes to the root sends it
 * all n on one way. Numbers the parts. */
static gboolean take_reduce(struct way_finder *finder)
{
	guint32 n = count_members(finder), root = find_root(finder);
	g_autofree guint8 *seen = g_new0(guint8, n);
	gdouble part_bytes = 0;

	if (root == TACHO_NONE || finder->ways->len != 2 * n - 2)
		return FALSE;
	FOR_EACH(const struct way, way, finder->ways)
		if (way->from == root)
			part_bytes = (gdouble)way->bytes / (n - 1);
	FOR_EACH(struct way, way, finder->ways) {
		gboolean is_ring_too =
			way->to == root && (n == 2 || !is_about(way->bytes, part_bytes));
		guint8 *from = &seen[way->from - finder->first_member];
		guint8 *to = &seen[way->to - finder->first_member];

		way->first_part = way->to == root && !is_ring_too ? n - 1 : 0;
		way->n_parts = way->to != root ? n - 1 : is_ring_too ? n : 1;
		if (!is_about(way->bytes, part_bytes * way->n_parts))
			return FALSE;
		if (way->first_part > 0)
			continue;
		if ((*from & 1) || (*to & 2))
			return FALSE;
		*from |= 1;
		*to |= 2;
	}
	for (guint32 i = 0; i < n; i++)
		if (seen[i] != (1 | 2))
			return FALSE;
	return TRUE;
}

/* All but one send, once each, and nobody gets back what it has sent. */
static gboolean is_tree_to_root(const struct way_finder *finder)
{
	guint32 n = count_members(finder);
	g_autofree guint32 *next = g_new(guint32, n);

	for (guint32 i = 0; i < n; i++)
		next[i] = TACHO_NONE;
	if (finder->ways->len != n - 1)
		return FALSE;
	FOR_EACH(const struct way, way, finder->ways) {
		if (next[way->from - finder->first_member] != TACHO_NONE)
			return FALSE;
		next[way->from - finder->first_member] = way->to - finder->first_member;
	}
	for (guint32 i = 0; i < n; i++) {
		guint32 at = i, n_hops = 0;

		for (; next[at] != TACHO_NONE && n_hops < n; n_hops++)
			at = next[at];
		if (n_hops == n)
			return FALSE;
	}
	return TRUE;
}

/* In round k, each sends to who is 2^k further on. What else went, to ask for it, is left out. */
static gboolean take_barrier(struct way_finder *finder)
{
	guint32 n = count_members(finder), n_rounds = 0, n_kept = 0;

	while ((1u << n_rounds) < n)
		n_rounds++;
	for (guint i = 0; i < finder->ways->len; i++) {
		struct way way = g_array_index(finder->ways, struct way, i);
		guint32 ahead = (way.to + n - way.from) % n;

		if (ahead & (ahead - 1))
			continue;
		way.first_part = (guint)__builtin_ctz(ahead);
		way.n_parts = 1;
		g_array_index(finder->ways, struct way, n_kept++) = way;
	}
	g_array_set_size(finder->ways, n_kept);
	return n_kept == n * n_rounds;
}

/* A message that was taken for one of the collective before or after makes a way that the collective does not have, or lacks one
 * that it has: SHAPE_NONE. Else the shape that its ways have, and the parts that each has. */
static enum way_shape settle_shape(struct way_finder *finder, enum way_shape shape)
{
	const struct graph_builder *builder = finder->builder;
	guint32 n_members = count_members(finder);
	guint32 name = graph_transfer_at(builder->graph, finder->transfer)->name;

	FOR_EACH(struct way, way, finder->ways) {
		way->first_part = 0;
		way->n_parts = shape == SHAPE_RING ? n_members - 1 : 1;
	}
	switch (shape) {
	case SHAPE_RING:
		return is_ring(finder) ? shape : SHAPE_NONE;
	case SHAPE_REDUCE:
		if (is_tree_to_root(finder))
			return SHAPE_TREE;
		return take_reduce(finder) ? shape : SHAPE_NONE;
	case SHAPE_BARRIER:
		return take_barrier(finder) ? shape : SHAPE_NONE;
	default:
		return operation_of_name(builder->timeline, name) != OPERATION_ALL_TO_ALL ||
				       finder->ways->len == n_members * (n_members - 1)
			       ? shape
			       : SHAPE_NONE;
	}
}

/* A call that received ended with so much of it: gloo reads one thing that was sent after the other. */
static gboolean is_boundary(const struct way *way, gdouble share)
{
	gdouble wanted = share * (gdouble)way->bytes, bytes = 0;

	for (guint i = 0; i < way->n_receives && bytes < MIN_ALL * wanted; i++)
		bytes += (gdouble)way->receives[i].bytes;
	return bytes >= MIN_ALL * wanted && bytes * MIN_ALL <= wanted;
}

static gboolean goes_in_halves(const struct way_finder *finder)
{
	FOR_EACH(const struct way, way, finder->ways)
		for (guint i = 1; i <= 2 * way->n_parts; i++)
			if (!is_boundary(way, i / (2.0 * way->n_parts)))
				return FALSE;
	return TRUE;
}

static void find_parts(struct way_finder *finder, enum way_shape shape)
{
	gboolean is_passed_on = shape == SHAPE_RING || shape == SHAPE_REDUCE;

	finder->n_fed = is_passed_on && goes_in_halves(finder) ? 2 : 1;
	finder->n_parts = 0;
	FOR_EACH(struct way, way, finder->ways) {
		way->first_part *= finder->n_fed;
		way->n_parts *= finder->n_fed;
		finder->n_parts = MAX(finder->n_parts, way->first_part + way->n_parts);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

void way_finder_init(struct way_finder *finder, const struct graph_builder *builder)
{
	*finder = (struct way_finder){ .builder = builder, .carried = collect_carried(builder) };
	finder->ways = g_array_new(FALSE, FALSE, sizeof(struct way));
}

void way_finder_release(struct way_finder *finder)
{
	g_array_unref(finder->carried);
	g_array_unref(finder->ways);
}

enum way_shape way_finder_find(struct way_finder *finder)
{
	enum way_shape shape = shape_of(finder);

	if (shape == SHAPE_NONE ||
	    ((shape == SHAPE_RING || shape == SHAPE_REDUCE) &&
	     count_members(finder) > MAX_ROUNDS) ||
	    (!collect_ways(finder) && !take_pair(finder)))
		return SHAPE_NONE;
	shape = settle_shape(finder, shape);
	if (shape != SHAPE_NONE)
		find_parts(finder, shape);
	return shape;
}
