/* graph_collectives: when each collective was really under way.
 *
 * A recorded collective lasts from queued, or taken up by a worker (gloo runs two a group and tells
 * of a collective only then; end_tid says which one it was), to complete. That holds three waits
 * which a replay must find by itself: for a worker of its rank to come free, for the last rank's
 * worker, and for other transfers on the same links (transfer_parts.c). So
 *
 *     queued    = in the operation that correlate found to have queued it, else when it begins
 *     taken up  = when it begins, but not while its worker was still at the one before
 *     transfer  = from when the last rank has taken it up, to when the first rank has the result
 *
 * A rank that was done before the last one came waited for nobody (the root of a broadcast): its
 * part does not hang on the transfer.
 *
 * Where the parts are kernels of devices, each comes to it when it begins: its stream is its worker, and
 * device_nodes.c knows what the stream waited for. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/member_index.h"
#include "correlate/point_to_point.h"
#include "graph/graph_builder.h"
#include "trace/none_rows.h"
#include "trace/operation.h"

/* --- members -------------------------------------------------------------------------------- */

/* Which slice queued each collective: slice -> slice + 1. */
static GHashTable *collect_callers(const TachoTimeline *timeline)
{
	GHashTable *callers = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE)
			g_hash_table_insert(callers, GUINT_TO_POINTER(flow->to),
					    GUINT_TO_POINTER(flow->from + 1));
	return callers;
}

/* A backend's worker may begin before the call that queued has returned. */
static gint64 queue_time_ns(const TachoTimeline *timeline, GHashTable *callers, guint32 slice,
			    guint32 *ret_caller)
{
	gpointer known = g_hash_table_lookup(callers, GUINT_TO_POINTER(slice));
	gint64 start_ns = timeline->slices.start_ns[slice];

	*ret_caller = known ? GPOINTER_TO_UINT(known) - 1 : TACHO_NONE;
	return known ? MIN(start_ns, tacho_slice_end_ns(timeline, *ret_caller)) : start_ns;
}

static gboolean is_in_windows(const struct graph_builder *builder, GHashTable *callers,
			      guint32 slice)
{
	const TachoProcess *process = tacho_slice_process(builder->timeline, slice);
	const struct build_window *window;
	guint32 caller;
	gint64 queue_ns = queue_time_ns(builder->timeline, callers, slice, &caller);

	if (process->rank_index >= builder->n_ranks || !process->is_main)
		return FALSE;
	window = &builder->windows[process->rank_index];
	return queue_ns >= window->from_ns && queue_ns < window->to_ns &&
	       !(builder->timeline->slices.flags[slice] & TACHO_SLICE_OPEN);
}

/* A part that is a kernel: it comes to the collective when it begins, and nobody on the host takes it
 * up. */
static void add_device_member(struct graph_builder *builder, guint32 work, guint32 transfer)
{
	const struct build_work *row = build_work_at(builder, work);
	struct build_member member = { .slice = row->slice, .transfer = transfer, .work = work };

	member.rank_index = build_stream_at(builder, row->stream)->rank_index;
	member.queue_ns = member.free_ns = member.begin_ns = row->begin_ns;
	member.end_ns = row->end_ns;
	member.thread = builder->windows[member.rank_index].main_thread;
	member.caller = TACHO_NONE;
	member.pass = member.wait_segment = member.pool = TACHO_NONE;
	member.from_node = member.wait_node = member.ordinal = TACHO_NONE;
	member.sequel_thread = member.sequel_segment = member.sequel_node = TACHO_NONE;
	member.next = row->member;
	build_work_at(builder, work)->member = builder->members->len;
	g_array_append_val(builder->members, member);
}

/* Who sees collectives through asks for none: where nothing tells who did, it was the main thread, at the latest then. */
static gboolean is_worker(const struct graph_builder *builder, guint32 thread)
{
	return tacho_timeline_track(builder->timeline, build_thread_at(builder, thread)->track)
		       ->role == TACHO_ROLE_WORKER;
}

static void add_member(struct graph_builder *builder, GHashTable *callers, guint32 slice,
		       guint32 transfer, gboolean is_over_servers)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	struct build_member member = {
		.slice = slice, .transfer = transfer, .work = TACHO_NONE, .next = TACHO_NONE
	};
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(timeline, slice, &args);
	member.rank_index = tacho_slice_process(timeline, slice)->rank_index;
	member.end_tid = args.end_tid;
	if (is_over_servers) /* each goes by itself: nobody takes them up in turn */
		member.end_tid = builder->members->len + 1;
	member.queue_ns = queue_time_ns(timeline, callers, slice, &member.caller);
	member.begin_ns = timeline->slices.start_ns[slice];
	member.end_ns = tacho_slice_end_ns(timeline, slice);
	member.pass = member.wait_segment = member.pool = TACHO_NONE;
	member.from_node = member.wait_node = member.ordinal = TACHO_NONE;
	member.sequel_thread = member.sequel_segment = member.sequel_node = TACHO_NONE;
	if (member.caller != TACHO_NONE)
		track = tacho_timeline_track(timeline, timeline->slices.track[member.caller]);
	member.thread = builder_find_thread(builder, track->process, track->tid);
	if (member.thread == TACHO_NONE ||
	    (member.caller == TACHO_NONE && is_worker(builder, member.thread)))
		member.thread = builder->windows[member.rank_index].main_thread;
	g_array_append_val(build_thread_at(builder, member.thread)->cuts_ns, member.queue_ns);
	g_array_append_val(builder->members, member);
}

static gboolean is_on_stream(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
	       TACHO_TRACK_STREAM;
}

/* Whether any rank's part is a kernel; then all of them have to be. */
static gboolean is_of_device(const TachoTimeline *timeline, const TachoCollective *collective)
{
	for (guint32 i = 0; i < collective->n_members; i++)
		if (is_on_stream(timeline, g_array_index(timeline->members, guint32,
							 collective->first_member + i)))
			return TRUE;
	return FALSE;
}

/* What servers were sent in one part at most; 0: not known. */
static guint64 largest_part(const TachoTimeline *timeline)
{
	guint64 bytes = 0;

	FOR_EACH(const TachoHop, hop, timeline->hops)
		if (hop->way == TACHO_HOP_SERVER)
			bytes = MAX(bytes, hop->bytes);
	return bytes;
}

/* Index of a group by its number, added when new. */
static guint32 take_group(struct graph_builder *builder, GHashTable *groups,
			  const TachoCollective *collective)
{
	gpointer known = g_hash_table_lookup(groups, GUINT_TO_POINTER(collective->group));
	struct graph_group group = {
		.n_ranks = MAX(collective->n_expected, collective->n_members),
		.is_device = is_of_device(builder->timeline, collective),
	};

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	if (operation_of_name(builder->timeline, collective->name) == OPERATION_PUSH_PULL) {
		group.plan.algorithm = COLLECTIVE_PS;
		group.plan.n_servers = 1;
		group.plan.partition_bytes = largest_part(builder->timeline);
	}
	g_array_append_val(builder->graph->groups, group);
	g_hash_table_insert(groups, GUINT_TO_POINTER(collective->group),
			    GUINT_TO_POINTER(builder->graph->groups->len));
	return builder->graph->groups->len - 1;
}

static void add_collective(struct graph_builder *builder, GHashTable *groups, GHashTable *callers,
			   const TachoCollective *collective)
{
	const guint32 *slices =
		&g_array_index(builder->timeline->members, guint32, collective->first_member);
	struct graph_transfer transfer = {
		.group = take_group(builder, groups, collective),
		.sequence = collective->sequence,
		.name = collective->name,
		.pass = TACHO_NONE,
		.n_ranks = MAX(collective->n_expected, collective->n_members),
		.bytes = collective->bytes,
	};

	transfer.is_device = is_of_device(builder->timeline, collective);
	for (guint32 i = 0; i < collective->n_members; i++)
		if (transfer.is_device)
			add_device_member(builder, builder_find_work(builder, slices[i]),
					  builder->graph->transfers->len);
		else
			add_member(builder, callers, slices[i], builder->graph->transfers->len,
				   graph_group_at(builder->graph, transfer.group)->plan.algorithm ==
					   COLLECTIVE_PS);
	transfer.step = builder_step_at(
		builder, build_member_at(builder, builder->members->len - 1)->rank_index,
		build_member_at(builder, builder->members->len - 1)->queue_ns);
	g_array_append_val(builder->graph->transfers, transfer);
}

/* Batches of sends and receives of which nobody knows who the other was: docs/replay.md. */
static void note_lone_batches(const struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;
	g_autoptr(member_index) members = NULL;
	guint n_alone = 0;

	for (guint i = 0; builder->n_ranks > 1 && i < builder->work->len; i++) {
		guint32 slice = build_work_at(builder, i)->slice;

		if (timeline->slices.kind[slice] != TACHO_SLICE_COLLECTIVE ||
		    point_to_point_way(timeline, slice) != TACHO_WAY_BOTH)
			continue;
		if (!members)
			members = member_index_new(timeline);
		n_alone += member_index_row(members, slice) == TACHO_NONE;
	}
	if (n_alone > 0)
		graph_note(builder->graph,
			   "%u batches of sends and receives have no known partners; each is "
			   "played as time of its rank alone",
			   n_alone);
}

void builder_add_collectives(struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;
	g_autoptr(GHashTable) groups = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) callers = collect_callers(timeline);
	gboolean is_device;
	guint n_cut = 0, n_lacking = 0;

	FOR_EACH(const TachoCollective, collective, timeline->collectives) {
		guint32 n_inside = 0;

		is_device = is_of_device(timeline, collective);
		for (guint32 j = 0; j < collective->n_members; j++) {
			guint32 slice = g_array_index(timeline->members, guint32,
						      collective->first_member + j);

			n_inside += is_device ? builder_find_work(builder, slice) != TACHO_NONE
					      : is_in_windows(builder, callers, slice);
		}
		if (n_inside == 0)
			continue;
		if (n_inside < collective->n_members) {
			n_cut++;
			continue;
		}
		n_lacking += collective->n_members < collective->n_expected;
		add_collective(builder, groups, callers, collective);
	}
	if (n_cut > 0)
		graph_note(builder->graph,
			   "%u collectives cross the border of the replayed steps; each is played "
			   "as time of its ranks alone",
			   n_cut);
	if (n_lacking > 0)
		graph_note(builder->graph,
			   "%u collectives lack a rank; the waiting for it counts as transfer",
			   n_lacking);
	note_lone_batches(builder);
}

/* --- when a worker took each up ------------------------------------------------------------- */

static gint compare_members(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct graph_builder *builder = data;
	const struct build_member *x = build_member_at(builder, *(const guint32 *)a);
	const struct build_member *y = build_member_at(builder, *(const guint32 *)b);

	return ORDER(x->pool, y->pool) ?: ORDER(x->queue_ns, y->queue_ns) ?:
	       ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->slice, y->slice);
}

/* A rank's seat in a group: its host's, or its devices'. */
struct seat {
	guint32 rank_index, group;
	gboolean is_device;
};

static gint compare_seats_by_rank(gconstpointer a, gconstpointer b)
{
	const struct seat *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: ORDER(x->group, y->group) ?:
	       ORDER(x->is_device, y->is_device);
}

static gint compare_seats_by_group(gconstpointer a, gconstpointer b)
{
	const struct seat *x = a, *y = b;

	return ORDER(x->group, y->group) ?: ORDER(x->is_device, y->is_device) ?:
	       ORDER(x->rank_index, y->rank_index);
}

static struct seat seat_of(const struct graph_builder *builder, const struct build_member *member)
{
	return (struct seat){
		.rank_index = member->rank_index,
		.group = graph_transfer_at(builder->graph, member->transfer)->group,
		.is_device = member->work != TACHO_NONE,
	};
}

/* Each seat once, in that order. */
static GArray *collect_seats(const struct graph_builder *builder, GCompareFunc compare)
{
	GArray *seats = g_array_new(FALSE, FALSE, sizeof(struct seat));
	guint n_kept = 0;

	for (guint32 i = 0; i < builder->members->len; i++) {
		struct seat seat = seat_of(builder, build_member_at(builder, i));

		g_array_append_val(seats, seat);
	}
	g_array_sort(seats, compare);
	for (guint i = 0; i < seats->len; i++) {
		struct seat seat = g_array_index(seats, struct seat, i);

		if (n_kept == 0 ||
		    compare(&g_array_index(seats, struct seat, n_kept - 1), &seat) != 0)
			g_array_index(seats, struct seat, n_kept++) = seat;
	}
	g_array_set_size(seats, n_kept);
	return seats;
}

/* Workers for each group on the host of each rank that takes part in it. */
static void add_pools(struct graph_builder *builder)
{
	g_autoptr(GArray) seats = collect_seats(builder, compare_seats_by_rank);
	guint n_kept = 0;

	for (guint i = 0; i < seats->len; i++) {
		struct seat seat = g_array_index(seats, struct seat, i);
		struct graph_pool pool = { .rank_index = seat.rank_index,
					   .group = seat.group,
					   .n_workers = 1 };

		if (seat.is_device)
			continue;
		g_array_index(seats, struct seat, n_kept++) = seat;
		g_array_append_val(builder->graph->pools, pool);
	}
	g_array_set_size(seats, n_kept);
	FOR_EACH(struct build_member, member, builder->members) {
		struct seat seat = seat_of(builder, member);
		guint pool;

		if (!seat.is_device &&
		    g_array_binary_search(seats, &seat, compare_seats_by_rank, &pool))
			member->pool = pool;
	}
}

/* The members [from, to) of `order` are one pool's, in the order queued. */
static void take_up(struct graph_builder *builder, const guint32 *order, guint from, guint to)
{
	g_autoptr(GHashTable) free_ns = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	struct graph_pool *pool = &g_array_index(builder->graph->pools, struct graph_pool,
						 build_member_at(builder, order[from])->pool);

	for (guint i = from; i < to; i++) {
		struct build_member *member = build_member_at(builder, order[i]);
		gpointer worker = GUINT_TO_POINTER(member->end_tid);
		const gint64 *known_ns = g_hash_table_lookup(free_ns, worker);

		member->free_ns = member->queue_ns;
		if (known_ns && *known_ns <= member->end_ns)
			member->free_ns = MAX(member->queue_ns, *known_ns);
		member->begin_ns = MAX(member->begin_ns, member->free_ns);
		g_hash_table_insert(free_ns, worker,
				    g_memdup2(&member->end_ns, sizeof(member->end_ns)));
	}
	pool->n_workers = g_hash_table_size(free_ns);
}

static void take_up_all(struct graph_builder *builder)
{
	g_autofree guint32 *order = g_new(guint32, MAX(builder->members->len, 1u));
	guint n = 0;

	for (guint32 i = 0; i < builder->members->len; i++)
		if (build_member_at(builder, i)->work == TACHO_NONE)
			order[n++] = i;
	g_qsort_with_data(order, (gint)n, sizeof(*order), compare_members, builder);
	for (guint from = 0, to; from < n; from = to) {
		guint32 pool = build_member_at(builder, order[from])->pool;

		for (to = from + 1; to < n && build_member_at(builder, order[to])->pool == pool;)
			to++;
		take_up(builder, order, from, to);
	}
}

/* --- when the bytes moved ------------------------------------------------------------------- */

static void begin_transfers(struct graph_builder *builder)
{
	GArray *transfers = builder->graph->transfers;

	for (guint i = 0; i < transfers->len; i++) {
		graph_transfer_at(builder->graph, i)->begin_ns = G_MININT64;
		graph_transfer_at(builder->graph, i)->end_ns = G_MAXINT64;
	}
	FOR_EACH(const struct build_member, member, builder->members) {
		struct graph_transfer *transfer =
			graph_transfer_at(builder->graph, member->transfer);

		transfer->begin_ns = MAX(transfer->begin_ns, member->begin_ns);
	}
	FOR_EACH(struct build_member, member, builder->members) {
		struct graph_transfer *transfer =
			graph_transfer_at(builder->graph, member->transfer);

		member->is_eager = member->end_ns < transfer->begin_ns;
		if (!member->is_eager)
			transfer->end_ns = MIN(transfer->end_ns, member->end_ns);
	}
}

/* On how many hosts the ranks of the seats [from, to) are. */
static guint count_hosts(const struct graph_builder *builder, const GArray *seats, guint from,
			 guint to)
{
	g_autoptr(GHashTable) hosts = g_hash_table_new(NULL, NULL);

	for (guint i = from; i < to; i++)
		g_hash_table_add(
			hosts, GUINT_TO_POINTER(build_host_of(
				       builder, g_array_index(seats, struct seat, i).rank_index)));
	return g_hash_table_size(hosts);
}

/* A ring's neighbours on one host speak through it; else each host sends and receives. */
static void add_host_link(struct graph_builder *builder, const struct seat *seat, guint n_hosts)
{
	guint32 host = build_host_of(builder, seat->rank_index);

	graph_add_group_link(builder->graph, seat->group, host, n_hosts == 1 ? "local" : "out");
	if (n_hosts > 1)
		graph_add_group_link(builder->graph, seat->group, host, "in");
}

/* Kernels that send and receive at once. */
struct batch_ranks {
	guint8 *has_batches; /* of each rank: it has such */
	guint32 *
		sender_of; /* of each group: the rank, where all goes one way in such; else TACHO_NONE */
};

static void find_batch_ranks(const struct graph_builder *builder, struct batch_ranks *ranks)
{
	guint32 before = TACHO_NONE, sender = TACHO_NONE;

	ranks->has_batches = g_new0(guint8, MAX(builder->n_ranks, 1u));
	ranks->sender_of = none_rows_new(builder->graph->groups->len);
	FOR_EACH_AT(const struct build_member, member, i, builder->members) {
		if (member->transfer !=
		    before) /* its members are together, who sends is the first */
			sender = member->rank_index;
		before = member->transfer;
		if (member->work == TACHO_NONE ||
		    (member->next == TACHO_NONE &&
		     build_work_at(builder, member->work)->member == i))
			continue;
		ranks->has_batches[member->rank_index] = TRUE;
		ranks->sender_of[graph_transfer_at(builder->graph, member->transfer)->group] =
			sender;
	}
}

/* What devices speak through is not recorded. Each is taken to have one link to those of its host, and another one to
 * all others, which groups that it belongs to share; where it sends and receives at once, two of each, and only what is
 * of sends and receives goes but one way. */
static void add_device_link(struct graph_builder *builder, const struct batch_ranks *ranks,
			    const struct seat *seat, guint n_hosts)
{
	static const gchar *const directions[2][3] = { { "network", "network out", "network in" },
						       { "device", "device out", "device in" } };
	const gchar *const *direction = directions[n_hosts == 1];
	TachoTimeline *timeline = builder->timeline;
	guint32 sender = ranks->sender_of[seat->group], id;
	gboolean has_batches = ranks->has_batches[seat->rank_index];
	g_autofree gchar *name = g_strdup_printf(
		"%s rank %d",
		tacho_timeline_string(timeline, build_host_of(builder, seat->rank_index)),
		tacho_timeline_rank(timeline, seat->rank_index)->rank);

	id = tacho_timeline_intern(timeline, name, -1);
	if (!has_batches)
		graph_add_group_link(builder->graph, seat->group, id, direction[0]);
	if (has_batches && (sender == TACHO_NONE || sender == seat->rank_index))
		graph_add_group_link(builder->graph, seat->group, id, direction[1]);
	if (has_batches && sender != seat->rank_index)
		graph_add_group_link(builder->graph, seat->group, id, direction[2]);
}

static void add_links(struct graph_builder *builder)
{
	g_autoptr(GArray) seats = collect_seats(builder, compare_seats_by_group);
	struct batch_ranks ranks;

	find_batch_ranks(builder, &ranks);
	for (guint from = 0, to; from < seats->len; from = to) {
		const struct seat *first = &g_array_index(seats, struct seat, from);
		guint n_hosts;

		for (to = from + 1; to < seats->len; to++) {
			const struct seat *seat = &g_array_index(seats, struct seat, to);

			if (seat->group != first->group || seat->is_device != first->is_device)
				break;
		}
		n_hosts = count_hosts(builder, seats, from, to);
		for (guint i = from; i < to; i++)
			if (first->is_device)
				add_device_link(builder, &ranks, first + (i - from), n_hosts);
			else
				add_host_link(builder, first + (i - from), n_hosts);
	}
	g_free(ranks.has_batches);
	g_free(ranks.sender_of);
}

void builder_time_collectives(struct graph_builder *builder)
{
	add_pools(builder);
	take_up_all(builder);
	begin_transfers(builder);
	builder_part_batches(builder);
	add_links(builder);
}
