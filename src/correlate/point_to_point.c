/* point_to_point: which receive took which send, as pipelines pass activations on.
 *
 * What one rank sends to another over one communicator, with one tag, the other receives in the same order. So the sends of a
 * rank to a peer, and the peer's receives from that rank, are two rows:
 *
 * (1) Where both are equally many, the n-th of each belong together.
 * (2) Where they are not, records were lost, or one of the two came late or went early. Then each of the fewer
 *     belongs to the one of the others, in order, that ends nearest to it.
 * (3) Sends and receives that were batched are one kernel. Where the calls are known that a batch holds
 *     (batch_ops.h), each of them is in its row, with the kernel's times: a kernel may be in several pairs, with
 *     several ranks. Two calls in one direction between the same two kernels make one pair.
 * (4) Where they are not, the kernels on the two ranks are paired with each other.
 * (5) Who the other is, the trace tells; in a group of two it is the other one; on hosts messages tell (send_peers.c); of
 *     a batch it may follow from the times (send_batches.c). All else is left alone.
 *
 * Each pair is a row of `collectives` with two members, the sender first, in a group that stands behind those of
 * the collectives: one for each way between two ranks of a process group. What has no partner is a problem
 * (TACHO_PROBLEM_UNMATCHED_COLLECTIVE) of the rank that has it, unless the peer explains it: it is not in the run, or the recording
 * of it began later or ended sooner.
 *
 * (2) and the times of batches need times of different ranks that compare. Before clocks are aligned, the n-th of each
 * are paired as far as there are any. */
#include "correlate/point_to_point.h"

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/batch_ops.h"
#include "correlate/correlate_internal.h"
#include "correlate/process_groups.h"
#include "correlate/send_batches.h"
#include "correlate/send_peers.h"
#include "correlate/step_window.h"
#include "trace/operation.h"

/* A send or a receive. */
struct end {
	guint32 from, to; /* indices of ranks; of a batch the lower is `from` */
	guint32 slice;
	guint32 place; /* among the calls of its batch */
	gint32 tag;
	gint64 begin_ns, end_ns;
	guint64 bytes;
	guint8 is_batch, is_receive;
	guint8 is_inferred; /* who the other is */
};

struct pairing {
	TachoTimeline *timeline;
	SentVisit visit; /* or NULL: rows are made */
	gpointer visit_data;
	const StepWindow *steps; /* which takes what is paired; NULL: all is */
	gboolean is_by_order;	 /* times of different ranks do not compare */
	gboolean has_gaps;	 /* one lacked its partner */
	GHashTable *rank_of;	 /* rank as the launcher says -> index + 1 */
	GArray *ends;		 /* struct end, of the group at work */
	GArray *batches;	 /* struct send_batch, of the group at work, without a peer */
	const struct batch_ops *ops;
	const send_peers *peers;
	gboolean are_told; /* the calls of the batches of the group at work */
	guint32 group;	   /* number of its rows */
	guint32 sequence;
	guint64 *n_alone; /* of each rank */
	gchar **first;	  /* of each rank: says which */
};

TachoWay point_to_point_way(const TachoTimeline *timeline, guint32 slice)
{
	TachoWay named = way_of_name(timeline, timeline->slices.name[slice]);
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(timeline, slice, &args);
	if (args.way != TACHO_WAY_BY_NAME)
		return (TachoWay)args.way;
	return named != TACHO_WAY_BY_NAME && slice_operation(timeline, slice) ? TACHO_WAY_BY_NAME
									      : named;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* The index of the other rank: (5), by what the trace tells (the rank + 1, or 0), or the messages of `slice`.
 * TACHO_NONE: not known, or not in the run. */
static guint32 find_peer(const struct pairing *pairing, const ProcessGroup *group,
			 guint32 rank_index, guint32 told, guint32 slice)
{
	if (told) {
		gpointer known =
			g_hash_table_lookup(pairing->rank_of, GINT_TO_POINTER((gint)told - 1));

		return known ? GPOINTER_TO_UINT(known) - 1 : TACHO_NONE;
	}
	if (group->n_expected != 2 || group->ranks->len != 2)
		return send_peers_find(pairing->peers, slice);
	for (guint i = 0; i < 2; i++) {
		const GroupRank *rank = g_ptr_array_index(group->ranks, i);

		if (rank->rank_index != rank_index)
			return rank->rank_index;
	}
	return TACHO_NONE;
}

/* `end` says what it is of, and which way it goes; the rest is filled in. */
static void add_end(struct pairing *pairing, guint32 rank_index, guint32 peer, struct end end)
{
	const TachoTimeline *timeline = pairing->timeline;

	end.begin_ns = timeline->slices.start_ns[end.slice];
	end.end_ns = tacho_slice_end_ns(timeline, end.slice);
	end.is_receive |= end.is_batch && rank_index > peer;
	end.from = end.is_receive ? peer : rank_index;
	end.to = end.is_receive ? rank_index : peer;
	g_array_append_val(pairing->ends, end);
}

static void add_batch(struct pairing *pairing, guint32 rank_index, guint32 slice, guint64 bytes)
{
	const TachoTimeline *timeline = pairing->timeline;
	guint32 number = tacho_slice_process(timeline, slice)->clock;
	struct send_batch batch = { .rank_index = rank_index,
				    .slice = slice,
				    .bytes = bytes,
				    .begin_ns = timeline->slices.start_ns[slice],
				    .end_ns = tacho_slice_end_ns(timeline, slice),
				    .clock = number };

	if (number < timeline->clocks->len) {
		const TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, number);

		batch.reference = clock->reference;
		batch.uncertainty_ns = clock->inner_uncertainty_ns;
	}
	g_array_append_val(pairing->batches, batch);
}

/* (3) */
static void add_calls(struct pairing *pairing, const ProcessGroup *group, guint32 rank_index,
		      const struct batch_op *ops, guint n_ops)
{
	for (guint i = 0; i < n_ops; i++) {
		guint32 peer = find_peer(pairing, group, rank_index, ops[i].peer, ops[i].kernel);

		if (peer != TACHO_NONE && peer != rank_index)
			add_end(pairing, rank_index, peer,
				(struct end){ .slice = ops[i].kernel,
					      .place = i,
					      .bytes = ops[i].bytes,
					      .is_receive = ops[i].is_receive != FALSE });
	}
}

static void see_slice(struct pairing *pairing, const ProcessGroup *group, guint32 rank_index,
		      guint32 slice)
{
	const TachoTimeline *timeline = pairing->timeline;
	TachoWay way = point_to_point_way(timeline, slice);
	TachoCollectiveArgs args = { 0 };
	const struct batch_op *ops;
	guint32 peer;
	guint n_ops;

	if (way == TACHO_WAY_BY_NAME ||
	    !step_window_takes(pairing->steps, timeline, rank_index, slice))
		return;
	ops = batch_ops_borrow(pairing->ops, slice, &n_ops);
	if (ops && pairing->are_told) {
		add_calls(pairing, group, rank_index, ops, n_ops);
		return;
	}
	tacho_slice_collective(timeline, slice, &args);
	peer = find_peer(pairing, group, rank_index, args.peer, slice);
	if (peer != TACHO_NONE && peer != rank_index)
		add_end(pairing, rank_index, peer,
			(struct end){ .slice = slice,
				      .bytes = args.bytes,
				      .tag = args.tag,
				      .is_batch = way == TACHO_WAY_BOTH,
				      .is_receive = way == TACHO_WAY_RECEIVE });
	else if (way == TACHO_WAY_BOTH && !args.peer && !pairing->is_by_order)
		add_batch(pairing, rank_index, slice, args.bytes);
}

/* Whether the calls of batches are known of each rank that has batches: what one tells is of no use where the other's
 * are not. A few of a rank may lack theirs, as where a recording began. */
static gboolean tells_calls(const struct pairing *pairing, const ProcessGroup *group)
{
	gboolean is_any_told = FALSE;

	FOR_EACH_POINTER(const GroupRank, rank, group->ranks) {
		gboolean has_batch = FALSE, is_told = FALSE;

		for (guint j = 0; j < rank->slices->len && !is_told; j++) {
			guint32 slice = g_array_index(rank->slices, guint32, j);
			guint n_ops;

			is_told = batch_ops_borrow(pairing->ops, slice, &n_ops) != NULL;
			has_batch |= point_to_point_way(pairing->timeline, slice) == TACHO_WAY_BOTH;
		}
		if (has_batch && !is_told)
			return FALSE;
		is_any_told |= is_told;
	}
	return is_any_told;
}

/* The batches of whose peers the times tell. */
static void add_batch_ends(struct pairing *pairing)
{
	send_batches_find_peers(pairing->batches);
	FOR_EACH(const struct send_batch, batch, pairing->batches) {
		if (batch->peer != TACHO_NONE)
			add_end(pairing, batch->rank_index, batch->peer,
				(struct end){ .slice = batch->slice,
					      .bytes = batch->bytes,
					      .is_batch = TRUE,
					      .is_inferred = TRUE });
	}
}

static gint compare_ways(const struct end *x, const struct end *y)
{
	return ORDER(x->from, y->from) ?: ORDER(x->to, y->to) ?: x->is_batch - y->is_batch ?:
	       ORDER(x->tag, y->tag);
}

static gint compare_ends(gconstpointer a, gconstpointer b)
{
	const struct end *x = a, *y = b;
	gint order = compare_ways(x, y);

	if (order || x->is_receive != y->is_receive)
		return order ? order : x->is_receive - y->is_receive;
	return ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->slice, y->slice) ?:
	       ORDER(x->place, y->place);
}

static const struct end *end_at(const struct pairing *pairing, guint i)
{
	return &g_array_index(pairing->ends, struct end, i);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void make_row(struct pairing *pairing, const struct end *send, const struct end *receive,
		     gboolean is_exact)
{
	TachoTimeline *timeline = pairing->timeline;
	gboolean is_late = receive->begin_ns > send->begin_ns;
	TachoCollective row = {
		.name = timeline->slices.name[send->slice],
		.group = pairing->group,
		.sequence = pairing->sequence++,
		.first_member = timeline->members->len,
		.n_members = 2,
		.n_expected = 2,
		.bytes = MAX(send->bytes, receive->bytes),
		.last_begin_ns = MAX(send->begin_ns, receive->begin_ns),
	};

	g_array_append_val(timeline->members, send->slice);
	g_array_append_val(timeline->members, receive->slice);
	g_array_append_val(timeline->collectives, row);
	add_flow(timeline, TACHO_FLOW_COLLECTIVE, is_late ? receive->slice : send->slice,
		 is_late ? send->slice : receive->slice, is_exact);
}

/* The row of the pair before, where that is of the same two kernels: (3). */
static TachoCollective *same_row(const struct pairing *pairing, const struct end *send,
				 const struct end *receive)
{
	const TachoTimeline *timeline = pairing->timeline;
	TachoCollective *row;
	const guint32 *members;

	if (pairing->sequence == 0)
		return NULL;
	row = &g_array_index(timeline->collectives, TachoCollective,
			     timeline->collectives->len - 1);
	members = &g_array_index(timeline->members, guint32, row->first_member);
	return members[0] == send->slice && members[1] == receive->slice ? row : NULL;
}

static void add_pair(struct pairing *pairing, const struct end *send, const struct end *receive,
		     gboolean is_counted)
{
	TachoCollective *row;
	struct sent sent = { .send = send->slice,
			     .receive = receive->slice,
			     .is_batch = send->is_batch,
			     .is_exact =
				     is_counted && !send->is_inferred && !receive->is_inferred };

	if (pairing->visit)
		pairing->visit(&sent, pairing->visit_data);
	else if ((row = same_row(pairing, send, receive)) != NULL)
		row->bytes += MIN(MAX(send->bytes, receive->bytes), G_MAXUINT64 - row->bytes);
	else
		make_row(pairing, send, receive, sent.is_exact);
}

/* Whether the recording of a rank's process does not reach to `time_ns`. */
static gboolean explains_absence(const struct pairing *pairing, guint32 rank_index, gint64 begin_ns)
{
	const TachoTimeline *timeline = pairing->timeline;
	const TachoProcess *process = tacho_timeline_process(
		timeline, tacho_timeline_rank(timeline, rank_index)->main_process);

	return process->start_ns > begin_ns || process->end_ns < begin_ns;
}

static void note_alone(struct pairing *pairing, const struct end *end)
{
	const GArray *ranks = pairing->timeline->ranks;
	guint32 rank_index = end->is_receive ? end->to : end->from;
	guint32 peer = end->is_receive ? end->from : end->to;

	if (pairing->visit || explains_absence(pairing, peer, end->begin_ns) ||
	    pairing->n_alone[rank_index]++ > 0)
		return;
	pairing->first[rank_index] = g_strdup_printf(
		"rank %d: %s at %.6f s has no counterpart on rank %d",
		g_array_index(ranks, TachoRank, rank_index).rank,
		tacho_slice_name(pairing->timeline, end->slice), (gdouble)end->begin_ns / 1e9,
		g_array_index(ranks, TachoRank, peer).rank);
}

static guint64 distance_ns(const struct end *a, const struct end *b)
{
	return a->end_ns > b->end_ns ? (guint64)a->end_ns - (guint64)b->end_ns
				     : (guint64)b->end_ns - (guint64)a->end_ns;
}

/* (2): few[0 .. n_few) with n_few of many[0 .. n_many). */
static void pair_nearest(struct pairing *pairing, guint few, guint n_few, guint many, guint n_many)
{
	guint next = 0;

	for (guint i = 0; i < n_few; i++) {
		const struct end *end = end_at(pairing, few + i);
		guint last = n_many - (n_few - i), best = next;

		while (best < last && distance_ns(end_at(pairing, many + best + 1), end) <
					      distance_ns(end_at(pairing, many + best), end))
			best++;
		for (; next < best; next++)
			note_alone(pairing, end_at(pairing, many + next));
		if (end->is_receive)
			add_pair(pairing, end_at(pairing, many + best), end, FALSE);
		else
			add_pair(pairing, end, end_at(pairing, many + best), FALSE);
		next = best + 1;
	}
	for (; next < n_many; next++)
		note_alone(pairing, end_at(pairing, many + next));
}

/* (1), and what comes nearest to it where there are fewer of one sort. */
static void pair_in_order(struct pairing *pairing, guint sends, guint receives, guint n,
			  gboolean is_even)
{
	for (guint i = 0; i < n; i++)
		add_pair(pairing, end_at(pairing, sends + i), end_at(pairing, receives + i),
			 is_even);
}

/* ends[first .. end) go one way: sends, then receives. */
static void pair_way(struct pairing *pairing, guint first, guint end)
{
	guint receives = first, n_sends, n_receives;

	pairing->sequence = 0;
	while (receives < end && !end_at(pairing, receives)->is_receive)
		receives++;
	n_sends = receives - first;
	n_receives = end - receives;
	pairing->has_gaps |= n_sends != n_receives;
	if (n_sends == n_receives || pairing->is_by_order)
		pair_in_order(pairing, first, receives, MIN(n_sends, n_receives),
			      n_sends == n_receives);
	else if (n_sends > n_receives)
		pair_nearest(pairing, receives, n_receives, first, n_sends);
	else
		pair_nearest(pairing, first, n_sends, receives, n_receives);
	pairing->group += pairing->sequence > 0;
}

static void pair_group(struct pairing *pairing, const ProcessGroup *group)
{
	g_array_set_size(pairing->ends, 0);
	g_array_set_size(pairing->batches, 0);
	pairing->are_told = tells_calls(pairing, group);
	FOR_EACH_POINTER(const GroupRank, rank, group->ranks)
		for (guint j = 0; j < rank->slices->len; j++)
			see_slice(pairing, group, rank->rank_index,
				  g_array_index(rank->slices, guint32, j));
	add_batch_ends(pairing);
	g_array_sort(pairing->ends, compare_ends);
	for (guint first = 0, end; first < pairing->ends->len; first = end) {
		for (end = first + 1;
		     end < pairing->ends->len &&
		     compare_ways(end_at(pairing, first), end_at(pairing, end)) == 0;)
			end++;
		pair_way(pairing, first, end);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static guint32 first_free_group(const TachoTimeline *timeline)
{
	guint32 next = 0;

	for (guint i = 0; i < timeline->collectives->len; i++)
		next = MAX(next,
			   g_array_index(timeline->collectives, TachoCollective, i).group + 1);
	return next;
}

static gboolean has_any(const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE &&
		    point_to_point_way(timeline, i) != TACHO_WAY_BY_NAME)
			return TRUE;
	return FALSE;
}

/* Pair those of all groups. */
static void pair_all(struct pairing *pairing)
{
	const TachoTimeline *timeline = pairing->timeline;
	g_autoptr(GPtrArray) groups = process_groups_new(timeline);
	g_autoptr(GHashTable) rank_of = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(struct end));
	g_autoptr(GArray) batches = g_array_new(FALSE, FALSE, sizeof(struct send_batch));
	g_autoptr(batch_ops) ops = batch_ops_new(timeline);
	g_autoptr(send_peers) peers = send_peers_new(timeline);

	pairing->ops = ops;
	pairing->peers = peers;
	pairing->rank_of = rank_of;
	pairing->ends = ends;
	pairing->batches = batches;
	for (guint i = 0; i < timeline->ranks->len; i++)
		g_hash_table_insert(rank_of,
				    GINT_TO_POINTER(tacho_timeline_rank(timeline, i)->rank),
				    GUINT_TO_POINTER(i + 1));
	for (guint i = 0; i < groups->len; i++)
		pair_group(pairing, g_ptr_array_index(groups, i));
}

void pair_sends(TachoTimeline *timeline, const StepWindow *steps)
{
	g_autofree guint64 *n_alone = g_new0(guint64, timeline->ranks->len);
	g_auto(GStrv) first = g_new0(gchar *, timeline->ranks->len + 1);
	struct pairing pairing = {
		.timeline = timeline, .steps = steps, .n_alone = n_alone, .first = first
	};

	if (timeline->ranks->len < 2 || !has_any(timeline))
		return;
	pairing.group = first_free_group(timeline);
	pair_all(&pairing);
	for (guint i = 0; i < timeline->ranks->len; i++) {
		if (n_alone[i])
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE,
						   n_alone[i], "%s", first[i]);
		g_clear_pointer(&first[i], g_free);
	}
}

gboolean sends_visit(TachoTimeline *timeline, gboolean is_by_order, SentVisit visit, gpointer data)
{
	struct pairing pairing = {
		.timeline = timeline, .is_by_order = is_by_order, .visit = visit, .visit_data = data
	};

	if (timeline->ranks->len < 2 || !has_any(timeline))
		return FALSE;
	pair_all(&pairing);
	return pairing.has_gaps;
}
