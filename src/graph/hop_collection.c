/* hop_collection: the rows that importers give of hops, as the hops of one collective after the other.
 *
 * A hop may have two rows, one of each end. It had come when who received it says so, and what it passes on, when who
 * sent it does. */
#include "graph/graph_hops.h"

#include "base/order.h"
#include "base/partition_point.h"

/* --- rows ------------------------------------------------------------------------------------ */

static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const TachoHop *x = a, *y = b;

	return ORDER(x->collective, y->collective) ?: ORDER(x->slice, y->slice);
}

void unfolding_init(struct hop_unfolding *unfolding, struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;

	*unfolding = (struct hop_unfolding){ .builder = builder };
	unfolding->rank_of = g_hash_table_new(NULL, NULL);
	unfolding->first_hop = g_hash_table_new(NULL, NULL);
	unfolding->links = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	unfolding->last_on = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	unfolding->rows = g_array_copy(timeline->hops);
	unfolding->hops = g_array_new(FALSE, FALSE, sizeof(struct hop));
	g_array_sort(unfolding->rows, compare_rows);
	for (guint i = unfolding->rows->len; i-- > 0;) {
		const TachoHop *row = &g_array_index(unfolding->rows, TachoHop, i);

		if (row->collective != TACHO_NONE)
			g_hash_table_insert(unfolding->first_hop, GUINT_TO_POINTER(row->collective),
					    GUINT_TO_POINTER(i + 1));
	}
	for (guint i = 0; i < timeline->ranks->len; i++)
		g_hash_table_insert(unfolding->rank_of,
				    GINT_TO_POINTER(tacho_timeline_rank(timeline, i)->rank),
				    GUINT_TO_POINTER(i + 1));
	unfolding->servers = server_work_new(builder);
}

void unfolding_release(struct hop_unfolding *unfolding)
{
	g_hash_table_unref(unfolding->rank_of);
	g_hash_table_unref(unfolding->first_hop);
	g_hash_table_unref(unfolding->links);
	g_hash_table_unref(unfolding->last_on);
	g_array_unref(unfolding->rows);
	g_array_unref(unfolding->hops);
	server_work_free(unfolding->servers);
}

guint32 unfolding_find_rank(const struct hop_unfolding *unfolding, gint32 rank)
{
	gpointer known = g_hash_table_lookup(unfolding->rank_of, GINT_TO_POINTER(rank));

	return known ? GPOINTER_TO_UINT(known) - 1 : TACHO_NONE;
}

struct build_member *unfolding_member(const struct hop_unfolding *unfolding, guint32 rank_index)
{
	for (guint32 i = unfolding->first_member; i < unfolding->end_member; i++)
		if (build_member_at(unfolding->builder, i)->rank_index == rank_index)
			return build_member_at(unfolding->builder, i);
	return NULL;
}

guint32 unfolding_host(const struct hop_unfolding *unfolding, guint32 rank_index)
{
	return tacho_timeline_rank(unfolding->builder->timeline, rank_index)->host;
}

/* --- hops ------------------------------------------------------------------------------------ */

static void take_row(struct hop_unfolding *unfolding, guint32 rank_index, const TachoHop *row)
{
	const TachoTimeline *timeline = unfolding->builder->timeline;
	guint32 peer = row->way == TACHO_HOP_SERVER ? TACHO_NONE
						    : unfolding_find_rank(unfolding, row->peer);
	struct hop hop = {
		.from = row->is_receive ? peer : rank_index,
		.to = row->is_receive ? rank_index : peer,
		.loop = row->loop,
		.step = row->step,
		.part = row->part,
		.channel = row->channel,
		.fed_by = -1,
		.fed_step = row->fed_step,
		.begin_ns = timeline->slices.start_ns[row->slice],
		.end_ns = tacho_slice_end_ns(timeline, row->slice),
		.bytes = row->bytes,
		.way = row->way,
		.is_received = row->is_receive,
		.slice = row->slice,
	};

	if (row->way != TACHO_HOP_SERVER &&
	    (peer == TACHO_NONE || peer == rank_index || !unfolding_member(unfolding, peer)))
		return;
	if (row->way == TACHO_HOP_RING && row->fed_by >= 0)
		hop.fed_by = (gint32)unfolding_find_rank(unfolding, row->fed_by);
	if (!(timeline->slices.flags[row->slice] & TACHO_SLICE_OPEN))
		g_array_append_val(unfolding->hops, hop);
}

static gint compare_hops(gconstpointer a, gconstpointer b)
{
	const struct hop *x = a, *y = b;

	return ORDER(x->loop, y->loop) ?: ORDER(x->step, y->step) ?: ORDER(x->part, y->part) ?:
	       ORDER(x->channel, y->channel) ?: ORDER(x->from, y->from) ?: ORDER(x->to, y->to) ?:
	       ORDER(x->is_received, y->is_received);
}

/* Both ends of a hop become one. */
static void join_ends(GArray *hops)
{
	guint n_kept = 0;

	for (guint i = 0; i < hops->len; i++) {
		struct hop hop = g_array_index(hops, struct hop, i);
		struct hop *last = n_kept ? &g_array_index(hops, struct hop, n_kept - 1) : NULL;

		if (last && last->from == hop.from && last->to == hop.to &&
		    last->loop == hop.loop && last->step == hop.step && last->part == hop.part &&
		    last->channel == hop.channel) {
			if (hop.is_received)
				last->end_ns = hop.end_ns;
			last->is_received |= hop.is_received;
			last->bytes = MAX(last->bytes, hop.bytes);
		} else {
			g_array_index(hops, struct hop, n_kept++) = hop;
		}
	}
	g_array_set_size(hops, n_kept);
}

const TachoHop *unfolding_row_at(const struct hop_unfolding *unfolding, guint i)
{
	return i < unfolding->rows->len ? &g_array_index(unfolding->rows, TachoHop, i) : NULL;
}

guint unfolding_first_row(const struct hop_unfolding *unfolding, const struct build_member *member)
{
	gpointer known = g_hash_table_lookup(unfolding->first_hop, GUINT_TO_POINTER(member->slice));

	return known ? GPOINTER_TO_UINT(known) - 1 : unfolding->rows->len;
}

void unfolding_collect_hops(struct hop_unfolding *unfolding)
{
	g_array_set_size(unfolding->hops, 0);
	g_hash_table_remove_all(unfolding->last_on);
	for (guint32 i = unfolding->first_member; i < unfolding->end_member; i++) {
		const struct build_member *member = build_member_at(unfolding->builder, i);
		const TachoHop *row;

		for (guint j = unfolding_first_row(unfolding, member);
		     (row = unfolding_row_at(unfolding, j)); j++) {
			if (row->collective != member->slice)
				break;
			if (row->slice != TACHO_NONE)
				take_row(unfolding, member->rank_index, row);
		}
	}
	g_array_sort(unfolding->hops, compare_hops);
	join_ends(unfolding->hops);
}

guint unfolding_find_first(const struct hop_unfolding *unfolding, const struct hop *like,
			   guint32 step)
{
	struct hop key = {
		.loop = like->loop, .step = step, .part = like->part, .channel = like->channel
	};

	return PARTITION_POINT(i, 0, unfolding->hops->len,
			       compare_hops(hop_at(unfolding, i), &key) < 0);
}
