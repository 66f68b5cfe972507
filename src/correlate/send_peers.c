/* send_peers: gloo's sends and receives are told without the rank at the other end, but each has messages of its own.
 *
 * (1) Who queues a send or a receive says so to the peer at once: the first message within the call that queued it
 *     goes there.
 * (2) Where the call sent nothing (a receive from anyone, or a connection that was busy), the last of the process's
 *     messages of a tensor's size that ended before the send or the receive did, and in its way, was with the peer.
 *
 * What has no such message is left alone. */
#include "correlate/send_peers.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "correlate/message_order.h"
#include "correlate/point_to_point.h"
#include "trace/rank_table.h"

/* A message of a tensor's bytes. */
struct part {
	guint32 process, peer_process;
	gint64 end_ns;
	guint32 slice;
};

struct send_peers {
	GHashTable *found; /* slice -> index of the peer's rank + 1 */
};

static gint compare_parts(gconstpointer a, gconstpointer b)
{
	const struct part *x = a, *y = b;

	return ORDER(x->process, y->process) ?: ORDER(x->end_ns, y->end_ns) ?:
	       ORDER(x->slice, y->slice);
}

/* All parts (struct part) that were sent, or received, by process and end. */
static GArray *collect_parts(const TachoTimeline *timeline, gboolean is_receive)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct part));

	FOR_EACH(const TachoMessage, message, timeline->messages) {
		guint32 track = timeline->slices.track[message->slice];
		struct part part = { tacho_timeline_track(timeline, track)->process,
				     message->peer_process,
				     tacho_slice_end_ns(timeline, message->slice), message->slice };

		if (!message->is_receive == !is_receive && message->bytes > GLOO_HEADER_BYTES &&
		    message->peer_process != TACHO_NONE)
			g_array_append_val(parts, part);
	}
	g_array_sort(parts, compare_parts);
	return parts;
}

/* (1) */
static guint32 peer_in_call(const TachoTimeline *timeline, guint32 call)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[call]);
	gint64 end_ns = tacho_slice_end_ns(timeline, call);

	for (guint32 i = call + 1; i < track->first_slice + track->n_slices; i++) {
		const TachoMessage *message;

		if (slices->start_ns[i] >= end_ns)
			break;
		message = tacho_slice_borrow_message(timeline, i);
		if (message && !message->is_receive && message->peer_process != TACHO_NONE)
			return message->peer_process;
	}
	return TACHO_NONE;
}

/* (2) */
static guint32 peer_before_end(const TachoTimeline *timeline, const GArray *parts, guint32 slice)
{
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[slice]);
	struct part key = { track->process, 0, tacho_slice_end_ns(timeline, slice), G_MAXUINT32 };
	const struct part *last =
		LAST_BEFORE(parts, struct part, row, compare_parts(row, &key) <= 0);

	return last && last->process == key.process &&
			       last->end_ns >= timeline->slices.start_ns[slice]
		       ? last->peer_process
		       : TACHO_NONE;
}

/* The calls that queued collectives: slice of a collective -> call + 1. */
static GHashTable *collect_calls(const TachoTimeline *timeline)
{
	GHashTable *calls = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE)
			g_hash_table_insert(calls, GUINT_TO_POINTER(flow->to),
					    GUINT_TO_POINTER(flow->from + 1));
	return calls;
}

static void find_peers(send_peers *peers, const TachoTimeline *timeline)
{
	g_autoptr(GHashTable) calls = collect_calls(timeline);
	g_autoptr(GArray) sent = collect_parts(timeline, FALSE);
	g_autoptr(GArray) received = collect_parts(timeline, TRUE);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		TachoCollectiveArgs args = { 0 };
		guint32 call, process = TACHO_NONE, rank_index;
		TachoWay way;

		if (timeline->slices.kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		way = point_to_point_way(timeline, i);
		if (way != TACHO_WAY_SEND && way != TACHO_WAY_RECEIVE)
			continue;
		if (tacho_slice_collective(timeline, i, &args) && args.peer)
			continue;
		call = GPOINTER_TO_UINT(g_hash_table_lookup(calls, GUINT_TO_POINTER(i)));
		if (call)
			process = peer_in_call(timeline, call - 1);
		if (process == TACHO_NONE)
			process = peer_before_end(timeline, way == TACHO_WAY_SEND ? sent : received,
						  i);
		rank_index = rank_index_of_process(timeline, process);
		if (rank_index != TACHO_NONE)
			g_hash_table_insert(peers->found, GUINT_TO_POINTER(i),
					    GUINT_TO_POINTER(rank_index + 1));
	}
}

send_peers *send_peers_new(const TachoTimeline *timeline)
{
	send_peers *peers = g_new0(send_peers, 1);

	peers->found = g_hash_table_new(NULL, NULL);
	if (timeline->messages->len > 0)
		find_peers(peers, timeline);
	return peers;
}

void send_peers_free(send_peers *peers)
{
	g_hash_table_unref(peers->found);
	g_free(peers);
}

guint32 send_peers_find(const send_peers *peers, guint32 slice)
{
	gpointer known = g_hash_table_lookup(peers->found, GUINT_TO_POINTER(slice));

	return known ? GPOINTER_TO_UINT(known) - 1 : TACHO_NONE;
}
