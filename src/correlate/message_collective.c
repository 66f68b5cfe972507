/* message_collective: which collective a message carries out.
 *
 * Gloo has two sorts of threads. A worker takes collectives up, one at a time, and sends; the loop of
 * a connection receives, and sends what a peer has become ready for. On a connection everything is
 * a header of 48 bytes, which may announce a tensor's bytes behind it (gloo/transport/tcp/pair.h:
 * struct Op). So:
 *
 * (1) what a thread sends or receives while it sees a collective through is of that collective;
 * (2) what was received is of the collective of which it was sent, as the receiver's rank saw it;
 * (3) a send on the connection, right after a header was received there and without waiting in
 *     between, answers it: it is of the header's collective;
 * (4) a send that does not begin with a header goes on with the one before it on its stream, if nothing was lost between them;
 * (5) what is left on a connection of which something is known: where its process sees only one
 *     collective through at the moment, that is inferred. All else is of none (the rendezvous store),
 *     or was queued behind another's bytes while several collectives were under way: what of that is
 *     part of a tensor, ring_steps.c finds out.
 *
 * (2) to (4) follow from one message to the next, so each message is looked at once. */
#include "base/for_each.h"
#include "correlate/correlate_internal.h"
#include "correlate/member_index.h"
#include "correlate/work_index.h"

struct linking {
	TachoTimeline *timeline;
	const struct message_order *order;
	const struct member_index *members;
	const struct work_index *works;
	GArray *found; /* guint32: messages of which something follows */
};

/* --- from one message to the next ------------------------------------------------------------- */

static void assign(struct linking *linking, guint32 row, guint32 collective, gboolean is_exact)
{
	TachoMessage *message = message_order_at(linking->order, row);

	if (message->collective != TACHO_NONE || collective == TACHO_NONE)
		return;
	message->collective = collective;
	message->collective_row = member_index_row(linking->members, collective);
	message->is_exact = is_exact != 0;
	g_array_append_val(linking->found, row);
}

/* (2) */
static void follow_pairs(struct linking *linking, guint32 send)
{
	const TachoMessage *message = message_order_at(linking->order, send);

	for (guint32 i = linking->order->first_receive[send];
	     i < linking->order->first_receive[send + 1]; i++) {
		const TachoMessage *receive =
			message_order_at(linking->order, linking->order->receives[i]);
		guint32 process = process_of_slice(linking->timeline, receive->slice);

		assign(linking, linking->order->receives[i],
		       member_index_in(linking->members, message->collective, process),
		       message->is_exact);
	}
}

/* (3) */
static void follow_header(struct linking *linking, guint32 receive)
{
	const TachoSlices *slices = &linking->timeline->slices;
	const TachoMessage *header = message_order_at(linking->order, receive), *answer;

	if (header->bytes != GLOO_HEADER_BYTES || receive + 1 >= linking->timeline->messages->len)
		return;
	answer = message_order_at(linking->order, receive + 1);
	if (slices->track[answer->slice] == slices->track[header->slice] &&
	    answer->slice == header->slice + 1 && !answer->is_receive &&
	    answer->stream == (header->stream ^ 1) &&
	    message_order_begins_with_header(linking->order, receive + 1))
		assign(linking, receive + 1, header->collective, header->is_exact);
}

/* (4): processes that share a connection may take turns on it. */
static void follow_rest(struct linking *linking, guint32 send)
{
	const TachoMessage *message = message_order_at(linking->order, send);
	guint32 next = linking->order->next_send[send];

	if (next == TACHO_NONE || message_order_begins_with_header(linking->order, next) ||
	    message_order_at(linking->order, next)->offset_bytes !=
		    message->offset_bytes + message->bytes)
		return;
	if (process_of_slice(linking->timeline, message_order_at(linking->order, next)->slice) ==
	    process_of_slice(linking->timeline, message->slice))
		assign(linking, next, message->collective, message->is_exact);
}

static void follow_found(struct linking *linking)
{
	for (guint i = 0; i < linking->found->len; i++) {
		guint32 row = g_array_index(linking->found, guint32, i);

		if (message_order_at(linking->order, row)->is_receive) {
			follow_header(linking, row);
		} else {
			follow_pairs(linking, row);
			follow_rest(linking, row);
		}
	}
	g_array_set_size(linking->found, 0);
}

/* (1) */
static void link_works(struct linking *linking)
{
	TachoTimeline *timeline = linking->timeline;

	for (guint32 i = 0; i < timeline->messages->len; i++) {
		guint32 slice = message_order_at(linking->order, i)->slice;
		const TachoTrack *track =
			tacho_timeline_track(timeline, timeline->slices.track[slice]);

		if (track->kind == TACHO_TRACK_THREAD)
			assign(linking, i,
			       work_index_of_thread(linking->works, track->process, track->tid,
						    timeline->slices.start_ns[slice]),
			       TRUE);
	}
}

/* (5): the only collective that the process sees through at that moment, or TACHO_NONE. */
static guint32 only_work(const struct linking *linking, guint32 process, gint64 time_ns)
{
	guint32 slices[MAX_WORKS_AT_ONCE];

	return work_index_of_process(linking->works, process, time_ns, slices) == 1 ? slices[0]
										    : TACHO_NONE;
}

/* (5) */
static void link_rest(struct linking *linking)
{
	TachoTimeline *timeline = linking->timeline;
	g_autoptr(GHashTable) connections = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < timeline->messages->len; i++)
		if (message_order_at(linking->order, i)->collective != TACHO_NONE)
			g_hash_table_add(
				connections,
				GUINT_TO_POINTER(message_order_at(linking->order, i)->stream / 2));
	for (guint32 i = 0; i < timeline->messages->len; i++) {
		const TachoMessage *message = message_order_at(linking->order, i);

		if (message->collective == TACHO_NONE &&
		    g_hash_table_contains(connections, GUINT_TO_POINTER(message->stream / 2)))
			assign(linking, i,
			       only_work(linking, process_of_slice(timeline, message->slice),
					 timeline->slices.start_ns[message->slice]),
			       FALSE);
	}
}

/* --- threads ---------------------------------------------------------------------------------- */

static void set_role(TachoTimeline *timeline, guint32 track, TachoThreadRole role)
{
	const TachoProcess *process = track == TACHO_NONE ? NULL : track_process(timeline, track);
	TachoTrack *row;

	if (!process)
		return;
	row = &g_array_index(timeline->tracks, TachoTrack, track);
	if (row->kind == TACHO_TRACK_THREAD && row->role == TACHO_ROLE_NONE &&
	    row->tid != process->pid)
		row->role = role;
}

/* What each thread does for collectives: who sees them through is a worker, who else moves their
 * bytes a message loop. The main thread is what it is. */
static void name_roles(struct linking *linking, const struct thread_index *threads)
{
	TachoTimeline *timeline = linking->timeline;

	FOR_EACH(const struct work, work, linking->works->by_thread)
		set_role(timeline,
			 thread_index_track(threads, work->process, work->tid, work->start_ns),
			 TACHO_ROLE_WORKER);
	for (guint32 i = 0; i < timeline->messages->len; i++) {
		const TachoMessage *message = message_order_at(linking->order, i);

		if (message->collective != TACHO_NONE)
			set_role(timeline, timeline->slices.track[message->slice],
				 TACHO_ROLE_MESSAGE_LOOP);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static void assign_all(struct linking *linking)
{
	linking->found = g_array_new(FALSE, FALSE, sizeof(guint32));
	link_works(linking);
	follow_found(linking);
	link_rest(linking);
	follow_found(linking);
	g_array_unref(linking->found);
}

void link_messages(TachoTimeline *timeline, const struct thread_index *threads)
{
	g_autoptr(member_index) members = NULL;
	struct message_order order;
	struct work_index works;
	struct linking linking = { .timeline = timeline, .order = &order, .works = &works };

	if (timeline->messages->len == 0)
		return;
	linking.members = members = member_index_new(timeline);
	message_order_init(&order, timeline);
	work_index_init(&works, timeline);
	assign_all(&linking);
	find_ring_steps(&order, &works, members);
	name_roles(&linking, threads);
	work_index_release(&works);
	message_order_release(&order);
}
