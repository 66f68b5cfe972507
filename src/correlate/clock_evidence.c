/* What ties clocks is who cannot have been done before whom:
 *
 *     collective  no member has completed before the last one was queued, where each member's
 *                 result needs every member's input (operation_waits_for_all())
 *     message     no receive has ended before the send of its bytes began
 *     request     who was asked has not begun before it was asked, and was done before the answer was there
 *     send        no receive has ended before the send that it took was queued
 *     hop         of a part of a collective the same; a server has not begun to handle a push or pull before
 *                 its worker began it, and the worker was not done before that
 *
 * Each bounds the difference of two clocks from one side. Collectives, requests and servers bound it from both, and so do
 * the others where they go both ways.
 *
 * (1) An all-to-all may have nothing to send between two of its members, and of a broadcast, scatter,
 *     gather or reduce the records do not tell the root: these bound nothing. But of an all-to-all on devices
 *     it is assumed that all have something to send to each other: one of NCCL is a batch of sends and receives.
 * (2) In a collective, each clock contributes its earliest end and its latest begin, against those of the lowest
 *     clock that takes part: with them each other pair's bounds follow.
 * (3) A send of a device, or of gloo, waits for its receive, unless it is so small that it fits into what lies
 *     between them. So it is only assumed that a send ends after its receive was queued; and of several sends and
 *     receives in one kernel, of which none knows which way they went, both ways.
 * (4) Nothing is taken of what was mended, and of what was still open only its begin. */
#include "correlate/clock_evidence.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/collective_matcher.h"
#include "correlate/point_to_point.h"
#include "correlate/server_hops.h"
#include "trace/operation.h"

/* What one clock's members say of the collective at work. */
struct clock_part {
	gint64 last_begin_ns, first_end_ns;
	gboolean has_begin, has_end;
};

/* One end of a hop of the collective at work. */
struct hop_end {
	gint32 from, to; /* ranks */
	guint32 loop, step, part, channel;
	guint32 is_receive;
	guint32 slice;
};

struct evidence {
	TachoTimeline *timeline;
	struct clock_links *links;
	struct clock_part *parts; /* by clock */
	const gint64 *queued_ns;  /* of each slice that is a collective */
	GHashTable *hops_of;	  /* slice of a collective -> GArray of indices of hops */
	GArray *ends;		  /* struct hop_end, of the collective at work */
	gboolean is_again;
};

static guint32 clock_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_slice_process(timeline, slice)->clock;
}

/* --- begins and ends: (4) --------------------------------------------------------------------- */

static gboolean has_begin(const TachoTimeline *timeline, guint32 slice)
{
	return !(timeline->slices.flags[slice] & TACHO_SLICE_REPAIRED);
}

static gboolean has_end(const TachoTimeline *timeline, guint32 slice)
{
	return !(timeline->slices.flags[slice] & (TACHO_SLICE_REPAIRED | TACHO_SLICE_OPEN));
}

/* `first`, which is known to have begun at `begin_ns`, had begun when `last` ended. */
static void add_order(struct evidence *evidence, guint32 first, gint64 begin_ns, guint32 last,
		      enum bound_trust trust, TachoClockEvidence by)
{
	const TachoTimeline *timeline = evidence->timeline;
	struct clock_moment before = { clock_of(timeline, first), begin_ns };
	struct clock_moment after = { clock_of(timeline, last),
				      tacho_slice_end_ns(timeline, last) };

	if (has_begin(timeline, first) && has_end(timeline, last))
		clock_links_add(evidence->links, &before, &after, trust, by);
}

static enum bound_trust trust_in(const struct evidence *evidence, gboolean is_exact)
{
	return is_exact || evidence->is_again ? BOUND_SURE : BOUND_INFERRED;
}

/* --- hops between ranks ----------------------------------------------------------------------- */

static GHashTable *index_hops(const TachoTimeline *timeline)
{
	GHashTable *hops_of =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);

	FOR_EACH_AT(const TachoHop, hop, i, timeline->hops) {
		gpointer key = GUINT_TO_POINTER(hop->collective);
		GArray *hops;

		if (hop->way == TACHO_HOP_SERVER || hop->slice == TACHO_NONE ||
		    hop->collective == TACHO_NONE)
			continue;
		hops = g_hash_table_lookup(hops_of, key);
		if (!hops) {
			hops = g_array_new(FALSE, FALSE, sizeof(guint));
			g_hash_table_insert(hops_of, key, hops);
		}
		g_array_append_val(hops, i);
	}
	return hops_of;
}

static void add_ends(struct evidence *evidence, guint32 collective)
{
	const TachoTimeline *timeline = evidence->timeline;
	const GArray *hops = g_hash_table_lookup(evidence->hops_of, GUINT_TO_POINTER(collective));
	gint32 rank = tacho_slice_process(timeline, collective)->rank;

	for (guint i = 0; hops && i < hops->len; i++) {
		const TachoHop *hop =
			&g_array_index(timeline->hops, TachoHop, g_array_index(hops, guint, i));
		struct hop_end end = {
			.from = hop->is_receive ? hop->peer : rank,
			.to = hop->is_receive ? rank : hop->peer,
			.loop = hop->loop,
			.step = hop->step,
			.part = hop->part,
			.channel = hop->channel,
			.is_receive = hop->is_receive != 0,
			.slice = hop->slice,
		};

		g_array_append_val(evidence->ends, end);
	}
}

static gint compare_hops(const struct hop_end *x, const struct hop_end *y)
{
	return ORDER(x->loop, y->loop) ?: ORDER(x->step, y->step) ?: ORDER(x->part, y->part) ?:
	       ORDER(x->channel, y->channel) ?:
	       ORDER((guint32)x->from, (guint32)y->from) ?: ORDER((guint32)x->to, (guint32)y->to);
}

static gint compare_ends(gconstpointer a, gconstpointer b)
{
	const struct hop_end *x = a, *y = b;
	gint order = compare_hops(x, y);

	return order ? order : (gint)x->is_receive - (gint)y->is_receive;
}

/* Both ends of each hop, where there is one of each. */
static void see_hops(struct evidence *evidence, const guint32 *slices, guint n_slices,
		     gboolean is_exact)
{
	GArray *ends = evidence->ends;

	g_array_set_size(ends, 0);
	for (guint i = 0; i < n_slices; i++)
		add_ends(evidence, slices[i]);
	g_array_sort(ends, compare_ends);
	for (guint first = 0, next; first < ends->len; first = next) {
		const struct hop_end *send = &g_array_index(ends, struct hop_end, first);

		for (next = first + 1;
		     next < ends->len &&
		     compare_hops(send, &g_array_index(ends, struct hop_end, next)) == 0;)
			next++;
		if (next - first == 2 && !send->is_receive && send[1].is_receive)
			add_order(evidence, send->slice,
				  evidence->timeline->slices.start_ns[send->slice], send[1].slice,
				  trust_in(evidence, is_exact), TACHO_CLOCK_BY_HOPS);
	}
}

/* --- servers ---------------------------------------------------------------------------------- */

static void see_server(guint32 worker, guint32 server, gpointer data)
{
	struct evidence *evidence = data;
	const TachoTimeline *timeline = evidence->timeline;
	struct clock_moment begun = { clock_of(timeline, worker),
				      timeline->slices.start_ns[worker] };
	struct clock_moment done = { begun.clock, tacho_slice_end_ns(timeline, worker) };
	struct clock_moment handled = { clock_of(timeline, server),
					timeline->slices.start_ns[server] };

	if (!has_begin(timeline, server) || !has_begin(timeline, worker))
		return;
	clock_links_add(evidence->links, &begun, &handled, BOUND_SURE, TACHO_CLOCK_BY_HOPS);
	if (has_end(timeline, worker))
		clock_links_add(evidence->links, &handled, &done, BOUND_SURE, TACHO_CLOCK_BY_HOPS);
}

/* --- collectives ------------------------------------------------------------------------------ */

static gboolean is_on_device(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
	       TACHO_TRACK_STREAM;
}

static void see_member(struct evidence *evidence, guint32 slice)
{
	const TachoTimeline *timeline = evidence->timeline;
	struct clock_part *part = &evidence->parts[clock_of(timeline, slice)];
	gint64 begin_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);

	if (!has_begin(timeline, slice))
		return;
	part->last_begin_ns = part->has_begin ? MAX(part->last_begin_ns, begin_ns) : begin_ns;
	part->has_begin = TRUE;
	if (!has_end(timeline, slice)) /* it had not completed */
		return;
	part->first_end_ns = part->has_end ? MIN(part->first_end_ns, end_ns) : end_ns;
	part->has_end = TRUE;
}

/* What one of the clocks began the other had not ended before. */
static void add_parts(struct evidence *evidence, guint32 from, guint32 to, enum bound_trust trust)
{
	const struct clock_part *begun = &evidence->parts[from], *ended = &evidence->parts[to];

	if (begun->has_begin && ended->has_end)
		clock_links_add(evidence->links,
				&(struct clock_moment){ from, begun->last_begin_ns },
				&(struct clock_moment){ to, ended->first_end_ns }, trust,
				TACHO_CLOCK_BY_COLLECTIVES);
}

static void see_collective(const guint32 *slices, guint n_slices, gboolean is_exact, gpointer data)
{
	struct evidence *evidence = data;
	guint32 n_clocks = evidence->timeline->clocks->len;
	guint32 first = TACHO_NONE;
	enum bound_trust trust;
	enum collective_operation operation;

	if (n_slices < 2)
		return;
	see_hops(evidence, slices, n_slices, is_exact);
	operation = collective_operation_of(evidence->timeline, slices[0]);
	if (!operation_waits_for_all(operation) || /* (1) */
	    (operation == OPERATION_ALL_TO_ALL && !is_on_device(evidence->timeline, slices[0])))
		return;
	trust = trust_in(evidence, is_exact);
	if (operation == OPERATION_ALL_TO_ALL)
		trust = MAX(trust, BOUND_ASSUMED);
	memset(evidence->parts, 0, n_clocks * sizeof(*evidence->parts));
	for (guint i = 0; i < n_slices; i++) {
		first = MIN(first, clock_of(evidence->timeline, slices[i]));
		see_member(evidence, slices[i]);
	}
	for (guint32 own = first + 1; own < n_clocks; own++) { /* (2) */
		add_parts(evidence, first, own, trust);
		add_parts(evidence, own, first, trust);
	}
}

/* --- sends and messages ----------------------------------------------------------------------- */

/* The backend may have taken it up before it told of it. */
static gint64 queued_ns(const struct evidence *evidence, guint32 slice)
{
	return MIN(evidence->queued_ns[slice], evidence->timeline->slices.start_ns[slice]);
}

/* (3) */
static void see_send(const struct sent *sent, gpointer data)
{
	struct evidence *evidence = data;
	enum bound_trust trust = trust_in(evidence, sent->is_exact);
	enum bound_trust assumed = MAX(trust, BOUND_ASSUMED);

	add_order(evidence, sent->send, queued_ns(evidence, sent->send), sent->receive,
		  sent->is_batch ? assumed : trust, TACHO_CLOCK_BY_SENDS);
	add_order(evidence, sent->receive, queued_ns(evidence, sent->receive), sent->send, assumed,
		  TACHO_CLOCK_BY_SENDS);
}

/* The other side did not begin before it was asked, and was done before its answer was there. */
static void see_request(struct evidence *evidence, const TachoFlow *flow)
{
	const TachoTimeline *timeline = evidence->timeline;
	enum bound_trust trust = flow->is_exact ? BOUND_SURE : BOUND_INFERRED;
	struct clock_moment asked = { clock_of(timeline, flow->from),
				      timeline->slices.start_ns[flow->from] };
	struct clock_moment answered = { asked.clock, tacho_slice_end_ns(timeline, flow->from) };
	struct clock_moment begun = { clock_of(timeline, flow->to),
				      timeline->slices.start_ns[flow->to] };
	struct clock_moment done = { begun.clock, tacho_slice_end_ns(timeline, flow->to) };

	if (has_begin(timeline, flow->from) && has_begin(timeline, flow->to))
		clock_links_add(evidence->links, &asked, &begun, trust, TACHO_CLOCK_BY_MESSAGES);
	if (has_end(timeline, flow->from) && has_end(timeline, flow->to))
		clock_links_add(evidence->links, &done, &answered, trust, TACHO_CLOCK_BY_MESSAGES);
}

static void see_messages(struct evidence *evidence)
{
	const TachoTimeline *timeline = evidence->timeline;

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		if (flow->kind == TACHO_FLOW_MESSAGE)
			add_order(evidence, flow->from, timeline->slices.start_ns[flow->from],
				  flow->to, flow->is_exact ? BOUND_SURE : BOUND_INFERRED,
				  TACHO_CLOCK_BY_MESSAGES);
		else if (flow->kind == TACHO_FLOW_REQUEST)
			see_request(evidence, flow);
	}
}

gboolean clock_evidence_collect(TachoTimeline *timeline, gboolean is_again,
				struct clock_links *links)
{
	g_autofree struct clock_part *parts = g_new0(struct clock_part, timeline->clocks->len);
	g_autofree gint64 *queued_ns = NULL;
	g_autoptr(GHashTable) hops_of = index_hops(timeline);
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(struct hop_end));
	struct evidence evidence = { .timeline = timeline,
				     .links = links,
				     .parts = parts,
				     .hops_of = hops_of,
				     .ends = ends,
				     .is_again = is_again };
	gboolean has_gaps;

	has_gaps = collective_matches_visit(timeline, !is_again, see_collective, &evidence);
	/* not before: the matcher has such a table of its own for as long as it works */
	evidence.queued_ns = queued_ns = collective_queue_times(timeline);
	has_gaps |= sends_visit(timeline, !is_again, see_send, &evidence);
	for (guint32 step = 0; step < 2; step++)
		server_hops_visit(timeline, step, see_server, &evidence);
	see_messages(&evidence);
	return has_gaps;
}
