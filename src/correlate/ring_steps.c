/* ring_steps: at which step of a ring all-reduce a message was sent.
 *
 * Gloo cuts the tensor into chunks, one a rank, and each chunk into segments (gloo/allreduce.cc,
 * ring()). Every rank sends segments to the rank before it: n - 1 chunks to be reduced, beginning
 * with the one of the rank after it, then n - 1 chunks that are whole, beginning with its own:
 *
 *     rank 1 of 3    reduce  2 2 0 0    gather  1 1 2 2    chunks, of two segments each
 *     step                   0 0 1 1            2 2 3 3
 *
 * The tensor may end within the last chunks; segments behind its end are not sent.
 *
 * (1) The k-th segment that a rank sends for a collective is the k-th in this order.
 * (2) A segment of which it is not known for which collective it was sent is inferred to be of the only
 *     one, of those that its process saw through at the moment, whose next segment is as long.
 * (3) If all went to one rank, and were as many and as long as the order says, it was such a ring and
 *     each of them has its step. If not, none has: another algorithm, or lost records. */
#include <string.h>

#include "correlate/correlate_internal.h"
#include "correlate/member_index.h"
#include "correlate/work_index.h"
#include "trace/operation.h"

enum {
	MAX_SEGMENT_BYTES = 1024 * 1024, /* gloo/allreduce.h: kMaxSegmentSize */
	MIN_SEGMENTS_A_CHUNK = 2,	 /* gloo/allreduce.cc */
	MAX_RANKS = 1024 * 1024,
};

#define MAX_TENSOR_BYTES (G_GUINT64_CONSTANT(1) << 56)

/* What a rank sends for an all-reduce, and how far it has come. */
struct ring {
	gboolean is_ring; /* as far as has been seen */
	guint32 stream;	  /* to the rank before it */
	guint64 bytes;	  /* of the tensor */
	guint64 n_ranks, position;
	guint64 segment_bytes, n_segments, segments_a_chunk;
	guint64 next; /* segment to be sent, of 2 (n_ranks - 1) segments_a_chunk */
	guint64 planned_bytes, sent_bytes;
};

/* --- the order of a ring ---------------------------------------------------------------------- */

static guint64 divide_up(guint64 a, guint64 b)
{
	return a / b + (a % b != 0);
}

/* Cut the tensor as gloo does. */
static void cut_tensor(struct ring *ring, guint64 element_bytes)
{
	guint64 most = element_bytes * MAX(MAX_SEGMENT_BYTES / element_bytes, 1);
	guint64 least_segments = MIN_SEGMENTS_A_CHUNK * ring->n_ranks;

	ring->segments_a_chunk =
		divide_up(MAX(divide_up(ring->bytes, most), least_segments), ring->n_ranks);
	ring->n_segments = ring->segments_a_chunk * ring->n_ranks;
	ring->segment_bytes =
		divide_up(divide_up(ring->bytes, ring->n_segments), element_bytes) * element_bytes;
}

static guint64 segments_a_phase(const struct ring *ring)
{
	return ring->n_segments - ring->segments_a_chunk;
}

static gboolean is_over(const struct ring *ring)
{
	return ring->next == 2 * segments_a_phase(ring);
}

/* Which segment of the tensor is the next one. */
static guint64 segment_of_next(const struct ring *ring)
{
	guint64 in_phase = ring->next % segments_a_phase(ring);
	guint64 chunk = ring->next < segments_a_phase(ring) ? ring->position + 1 : ring->position;

	return (chunk * ring->segments_a_chunk + in_phase) % ring->n_segments;
}

/* Go on to the next segment that is not behind the end of the tensor. Returns its bytes; 0: none. */
static guint64 skip_empty(struct ring *ring)
{
	while (!is_over(ring)) {
		guint64 segment = segment_of_next(ring);
		guint64 begin = segment * ring->segment_bytes;
		guint64 left_in_phase =
			segments_a_phase(ring) - ring->next % segments_a_phase(ring);

		if (begin < ring->bytes)
			return MIN(ring->segment_bytes, ring->bytes - begin);
		ring->next += MIN(ring->n_segments - segment, left_in_phase);
	}
	return 0;
}

/* Where in its group the slice's rank is: members stand in that order. */
static guint32 position_of(const TachoTimeline *timeline, const TachoCollective *collective,
			   guint32 slice)
{
	guint32 position = 0;

	while (position < collective->n_members &&
	       g_array_index(timeline->members, guint32, collective->first_member + position) !=
		       slice)
		position++;
	return position;
}

static struct ring *ring_new(const TachoTimeline *timeline, guint32 slice, guint32 row)
{
	const TachoCollective *collective =
		row == TACHO_NONE ? NULL
				  : &g_array_index(timeline->collectives, TachoCollective, row);
	struct ring *ring = g_new0(struct ring, 1);
	TachoTensor tensor = { .dtype_bytes = 1 };
	TachoCollectiveArgs args;

	ring->stream = TACHO_NONE;
	if (!collective || collective->n_members != collective->n_expected ||
	    collective->n_members < 2 || collective->n_members > MAX_RANKS ||
	    !tacho_slice_collective(timeline, slice, &args) || args.bytes == 0 ||
	    args.bytes > MAX_TENSOR_BYTES)
		return ring;
	tacho_slice_input(timeline, slice, 0, &tensor);
	ring->is_ring = TRUE;
	ring->bytes = args.bytes;
	ring->n_ranks = collective->n_members;
	ring->position = position_of(timeline, collective, slice);
	cut_tensor(ring, MAX(tensor.dtype_bytes, 1));
	return ring;
}

/* --- what was sent ---------------------------------------------------------------------------- */

static gboolean is_all_reduce(const TachoTimeline *timeline, guint32 slice)
{
	return slice != TACHO_NONE &&
	       collective_operation_of(timeline, slice) == OPERATION_ALL_REDUCE;
}

/* (1): the step of a segment that is sent now, or TACHO_NONE. */
static guint32 send_segment(struct ring *ring, const TachoMessage *message)
{
	guint64 bytes = ring->is_ring ? skip_empty(ring) : 0;

	if (ring->stream == TACHO_NONE)
		ring->stream = message->stream;
	if (bytes == 0 || ring->stream != message->stream) {
		ring->is_ring = FALSE;
		return TACHO_NONE;
	}
	ring->planned_bytes += GLOO_HEADER_BYTES + bytes;
	ring->sent_bytes += message->bytes;
	return (guint32)(ring->next++ / ring->segments_a_chunk);
}

struct numbering {
	const struct message_order *order;
	const struct work_index *works;
	const struct member_index *members;
	GHashTable *rings; /* slice of a collective -> struct ring */
};

/* How the collective's rank sends, if it is an all-reduce; else NULL. */
static struct ring *find_ring(const struct numbering *numbering, guint32 slice)
{
	const TachoTimeline *timeline = numbering->order->timeline;
	gpointer key = GSIZE_TO_POINTER((gsize)slice);
	struct ring *ring;

	if (!is_all_reduce(timeline, slice))
		return NULL;
	ring = g_hash_table_lookup(numbering->rings, key);
	if (!ring) {
		ring = ring_new(timeline, slice, member_index_row(numbering->members, slice));
		g_hash_table_insert(numbering->rings, key, ring);
	}
	return ring;
}

/* Tie a send, and who received it, to a collective. */
static void infer(const struct numbering *numbering, guint32 send, guint32 collective)
{
	const struct message_order *order = numbering->order;
	TachoMessage *message = message_order_at(order, send);

	message->collective = collective;
	message->collective_row = member_index_row(numbering->members, collective);
	for (guint32 i = order->first_receive[send]; i < order->first_receive[send + 1]; i++) {
		TachoMessage *receive = message_order_at(order, order->receives[i]);

		if (receive->collective != TACHO_NONE)
			continue;
		receive->collective = member_index_in(
			numbering->members, collective,
			process_of_slice(numbering->order->timeline, receive->slice));
		if (receive->collective != TACHO_NONE)
			receive->collective_row = message->collective_row;
	}
}

/* The bytes of sends[index] and of those that go on with it. */
static guint64 bytes_in_all(const struct message_order *order, guint index)
{
	guint32 send = g_array_index(order->sends, guint32, index);
	guint64 bytes = message_order_at(order, send)->bytes;

	while ((send = order->next_send[send]) != TACHO_NONE &&
	       !message_order_begins_with_header(order, send))
		bytes += message_order_at(order, send)->bytes;
	return bytes;
}

/* (2) */
static void infer_segment(const struct numbering *numbering, guint index)
{
	const struct message_order *order = numbering->order;
	guint32 send = g_array_index(order->sends, guint32, index), found = TACHO_NONE;
	const TachoMessage *message = message_order_at(order, send);
	guint64 bytes = bytes_in_all(order, index);
	guint32 slices[MAX_WORKS_AT_ONCE];
	guint n = work_index_of_process(
		numbering->works, process_of_slice(numbering->order->timeline, message->slice),
		order->timeline->slices.start_ns[message->slice], slices);

	if (bytes <= GLOO_HEADER_BYTES)
		return;
	for (guint i = 0; i < n; i++) {
		struct ring *ring = find_ring(numbering, slices[i]);

		if (!ring || !ring->is_ring ||
		    (ring->stream != TACHO_NONE && ring->stream != message->stream) ||
		    skip_empty(ring) != bytes - GLOO_HEADER_BYTES)
			continue;
		if (found != TACHO_NONE)
			return;
		found = slices[i];
	}
	if (found != TACHO_NONE)
		infer(numbering, send, found);
}

/* Give a send its step, as if its all-reduce were a ring; `before` is the send before it on its
 * stream, or NULL. */
static void number_send(const struct numbering *numbering, guint index, const TachoMessage *before)
{
	guint32 send = g_array_index(numbering->order->sends, guint32, index);
	TachoMessage *message = message_order_at(numbering->order, send);
	gboolean is_begin = message_order_begins_with_header(numbering->order, send);
	struct ring *ring;

	if (message->collective == TACHO_NONE && is_begin)
		infer_segment(numbering, index);
	else if (message->collective == TACHO_NONE && before && before->ring_step != TACHO_NONE &&
		 process_of_slice(numbering->order->timeline, before->slice) ==
			 process_of_slice(numbering->order->timeline, message->slice))
		infer(numbering, send, before->collective);
	ring = find_ring(numbering, message->collective);
	if (!ring)
		return;
	if (is_begin && message->bytes > GLOO_HEADER_BYTES) {
		message->ring_step = send_segment(ring, message);
	} else if (!is_begin && before && before->collective == message->collective) {
		message->ring_step = before->ring_step;
		ring->sent_bytes += message->bytes;
	}
}

static void number_sends(const struct numbering *numbering)
{
	const GArray *sends = numbering->order->sends;
	const TachoMessage *before = NULL;

	for (guint i = 0; i < sends->len; i++) {
		const TachoMessage *message =
			message_order_at(numbering->order, g_array_index(sends, guint32, i));

		if (before && before->stream != message->stream)
			before = NULL;
		number_send(numbering, i, before);
		before = message;
	}
}

/* (3) */
static gboolean is_as_planned(struct ring *ring)
{
	return ring->is_ring && skip_empty(ring) == 0 && ring->sent_bytes == ring->planned_bytes;
}

void find_ring_steps(const struct message_order *order, const struct work_index *works,
		     const struct member_index *members)
{
	g_autoptr(GHashTable) rings = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	struct numbering numbering = { order, works, members, rings };

	number_sends(&numbering);
	for (guint i = 0; i < order->sends->len; i++) {
		guint32 row = g_array_index(order->sends, guint32, i);
		TachoMessage *send = message_order_at(order, row);

		if (send->ring_step == TACHO_NONE)
			continue;
		if (!is_as_planned(find_ring(&numbering, send->collective)))
			send->ring_step = TACHO_NONE;
		for (guint32 r = order->first_receive[row]; r < order->first_receive[row + 1]; r++)
			message_order_at(order, order->receives[r])->ring_step = send->ring_step;
	}
}
