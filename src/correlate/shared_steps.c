#include "correlate/shared_steps.h"

#include <tacho/correlate.h>

#include "base/for_each.h"

/* A step as it is sent: nothing lies between its fields. */
struct sent_step {
	gint64 start_ns, end_ns;
	guint32 number, is_complete;
};

struct exchange {
	const TachoTimeline *timeline;
	struct shared_steps *ranks;
	guint n, next;
};

static void pack_steps(GByteArray *bytes, const GArray *steps)
{
	pack_uint32(bytes, steps->len);
	FOR_EACH(const TachoStep, step, steps) {
		struct sent_step sent = { step->start_ns, step->end_ns, step->number,
					  step->is_complete != 0 };

		pack_bytes(bytes, &sent, sizeof(sent));
	}
}

static gboolean unpack_steps(struct packed_bytes *packed, GArray *steps, guint32 rank_index)
{
	guint32 n;

	g_array_set_size(steps, 0);
	if (!unpack_count(packed, &n, sizeof(struct sent_step)))
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		struct sent_step sent;
		TachoStep step = { .rank_index = rank_index };

		unpack_bytes(packed, &sent, sizeof(sent));
		if (sent.start_ns < -TACHO_MAX_TIME_NS || sent.end_ns < sent.start_ns ||
		    sent.end_ns > TACHO_MAX_TIME_NS || sent.number == G_MAXUINT32)
			return FALSE;
		step.number = sent.number;
		step.start_ns = sent.start_ns;
		step.end_ns = sent.end_ns;
		step.is_complete = sent.is_complete != 0;
		g_array_append_val(steps, step);
	}
	return TRUE;
}

/* Ranks come in their order, each with its number, and no rank of this process's. */
static gboolean take_ranks(guint from, const guint8 *bytes, gsize n_bytes,
			   gpointer exchange_pointer)
{
	struct exchange *exchange = exchange_pointer;
	struct packed_bytes packed = { bytes, n_bytes };

	if (from == tacho_peers_index(exchange->timeline->share->peers))
		return TRUE;
	while (packed.n_left) {
		struct shared_steps *rank;
		guint32 index;

		if (!unpack_bytes(&packed, &index, sizeof(index)) || index >= exchange->n ||
		    run_share_owns_rank(exchange->timeline, index))
			return FALSE;
		rank = &exchange->ranks[index];
		if (!unpack_bytes(&packed, &rank->source, sizeof(rank->source)) ||
		    rank->source > TACHO_STEPS_PERIOD ||
		    !unpack_bytes(&packed, &rank->is_marked, sizeof(rank->is_marked)) ||
		    !unpack_bytes(&packed, &rank->n_outside, sizeof(rank->n_outside)) ||
		    !unpack_steps(&packed, rank->steps, index) ||
		    !unpack_steps(&packed, rank->control_steps, index) ||
		    (rank->source != TACHO_STEPS_NONE && !rank->steps->len &&
		     !rank->control_steps->len))
			return FALSE;
	}
	return TRUE;
}

void shared_steps_exchange(const TachoTimeline *timeline, struct shared_steps *ranks, guint n)
{
	g_autoptr(GByteArray) bytes = NULL;
	struct exchange exchange = { .timeline = timeline, .ranks = ranks, .n = n };

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	for (guint32 i = 0; i < n; i++) {
		if (!run_share_owns_rank(timeline, i))
			continue;
		pack_uint32(bytes, i);
		pack_uint32(bytes, ranks[i].source);
		pack_uint32(bytes, ranks[i].is_marked);
		pack_bytes(bytes, &ranks[i].n_outside, sizeof(ranks[i].n_outside));
		pack_steps(bytes, ranks[i].steps);
		pack_steps(bytes, ranks[i].control_steps);
	}
	run_share_exchange(timeline, "steps", bytes, take_ranks, &exchange);
}
