/* clock_alignment: times of different hosts on one clock.
 *
 * Processes of one machine share a clock and are never moved against each other. What ties clocks is
 * who cannot have been done before whom:
 *
 *     collective  no member has completed before the last one was queued, where each member's
 *                 result needs every member's input (collective_waits_for_all())
 *     message     no receive has ended before the send of its bytes began
 *
 * Each is a bound of the difference of two clocks, from one side. Collectives bound it from both, and
 * so do messages that go both ways; clock_pair.h makes a line of them and says how far it can be from
 * the truth.
 *
 * (1) The first process's clock is the reference. From there each clock is aligned to the one through
 *     which its times become most certain (Dijkstra's algorithm over the uncertainties, which add up).
 *     Clocks that cannot be reached begin again with the first of them: their times are as recorded,
 *     and that is a problem.
 * (2) With one clock nothing is done, and no time changes.
 * (3) An all-to-all may have nothing to send between two of its members, and of a broadcast, scatter,
 *     gather or reduce the records do not tell the root: these bound nothing.
 * (4) Of a collective each clock contributes its earliest end and its latest begin, against those of
 *     the lowest clock that takes part: with them each other pair's bounds follow.
 * (5) Where ranks lack collectives, which belong together can be told only by times that compare. Then
 *     it is done twice: by what is sure (or, failing that, by order), and again by all. */
#include <string.h>

#include "base/quantile.h"
#include "correlate/clock_pair.h"
#include "correlate/collective_matcher.h"
#include "correlate/correlate_internal.h"
#include "trace/timeline_move.h"

#define INFERRED_COST_NS 1e15 /* what is sure goes first */
#define MAX_NAMED_RANKS	 8
#define MAX_NAMED_CLOCKS 8

/* Two clocks that have met; the lower is the reference. */
struct clock_link {
	guint32 reference, own;
	struct clock_pair sure, inferred;
	guint8 evidence, inferred_evidence; /* TachoClockEvidence */
	gboolean has_fit;
	struct clock_fit fit;
};

/* What one clock's members say of the collective at work. */
struct clock_part {
	gint64 last_begin_ns, first_end_ns;
	gboolean has_begin, has_end;
};

/* A clock on its way to the reference. */
struct clock_way {
	struct clock_map map; /* to the root's time */
	guint32 root;
	gdouble cost_ns; /* of the way; infinite: none is known */
	gint64 uncertainty_ns, inner_uncertainty_ns;
	gdouble drift_uncertainty;
	const struct clock_link *link; /* the last of the way; NULL: the root */
	gboolean is_settled;
};

struct alignment {
	TachoTimeline *timeline;
	guint n_clocks;
	GPtrArray *links;	  /* struct clock_link */
	GHashTable *link_of;	  /* both clocks -> struct clock_link */
	struct clock_part *parts; /* by clock */
	gboolean is_all_sure;	  /* the second time: (5) */
};

static TachoClock *clock_at(const TachoTimeline *timeline, guint32 clock)
{
	return &g_array_index(timeline->clocks, TachoClock, clock);
}

static guint32 clock_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_slice_process(timeline, slice)->clock;
}

/* --- links ----------------------------------------------------------------------------------- */

static void link_free(gpointer link_pointer)
{
	struct clock_link *link = link_pointer;

	clock_pair_release(&link->sure);
	clock_pair_release(&link->inferred);
	g_free(link);
}

static struct clock_link *link_between(struct alignment *alignment, guint32 reference, guint32 own)
{
	gpointer key = GSIZE_TO_POINTER((gsize)reference << 32 | own);
	struct clock_link *link = g_hash_table_lookup(alignment->link_of, key);

	if (!link) {
		link = g_new0(struct clock_link, 1);
		link->reference = reference;
		link->own = own;
		g_ptr_array_add(alignment->links, link);
		g_hash_table_insert(alignment->link_of, key, link);
	}
	return link;
}

/* Where the bounds from one more thing go that the clocks have in common. */
static struct clock_pair *choose_pair(struct clock_link *link, gboolean is_sure,
				      TachoClockEvidence evidence)
{
	if (is_sure)
		link->evidence |= evidence;
	else
		link->inferred_evidence |= evidence | TACHO_CLOCK_INFERRED;
	return is_sure ? &link->sure : &link->inferred;
}

/* --- collectives ----------------------------------------------------------------------------- */

static gboolean bounds_clocks(const gchar *name) /* (3) */
{
	return collective_waits_for_all(name) && !strcasestr(name, "all_to_all") &&
	       !strcasestr(name, "alltoall");
}

static void see_member(struct alignment *alignment, guint32 slice)
{
	const TachoTimeline *timeline = alignment->timeline;
	struct clock_part *part = &alignment->parts[clock_of(timeline, slice)];
	gint64 begin_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);
	guint8 flags = timeline->slices.flags[slice];

	if (flags & TACHO_SLICE_REPAIRED)
		return;
	part->last_begin_ns = part->has_begin ? MAX(part->last_begin_ns, begin_ns) : begin_ns;
	part->has_begin = TRUE;
	if (flags & TACHO_SLICE_OPEN) /* it had not completed */
		return;
	part->first_end_ns = part->has_end ? MIN(part->first_end_ns, end_ns) : end_ns;
	part->has_end = TRUE;
}

static void add_collective_bounds(struct alignment *alignment, guint32 reference, guint32 own,
				  gboolean is_sure)
{
	const struct clock_part *theirs = &alignment->parts[reference];
	const struct clock_part *ours = &alignment->parts[own];
	struct clock_pair *pair = choose_pair(link_between(alignment, reference, own), is_sure,
					      TACHO_CLOCK_BY_COLLECTIVES);

	if (ours->has_begin && theirs->has_end)
		clock_pair_add_before(pair, ours->last_begin_ns, theirs->first_end_ns);
	if (ours->has_end && theirs->has_begin)
		clock_pair_add_after(pair, ours->first_end_ns, theirs->last_begin_ns);
}

static void see_collective(const guint32 *slices, guint n_slices, gboolean is_exact, gpointer data)
{
	struct alignment *alignment = data;
	guint32 first = TACHO_NONE;

	if (n_slices < 2 || !bounds_clocks(tacho_slice_name(alignment->timeline, slices[0])))
		return;
	memset(alignment->parts, 0, alignment->n_clocks * sizeof(*alignment->parts));
	for (guint i = 0; i < n_slices; i++) {
		first = MIN(first, clock_of(alignment->timeline, slices[i]));
		see_member(alignment, slices[i]);
	}
	for (guint32 own = first + 1; own < alignment->n_clocks; own++)
		if (alignment->parts[own].has_begin)
			add_collective_bounds(alignment, first, own,
					      is_exact || alignment->is_all_sure);
}

/* --- messages -------------------------------------------------------------------------------- */

static void see_message(struct alignment *alignment, const TachoFlow *flow)
{
	const TachoTimeline *timeline = alignment->timeline;
	guint32 from = clock_of(timeline, flow->from), to = clock_of(timeline, flow->to);
	gint64 sent_ns = timeline->slices.start_ns[flow->from];
	gint64 received_ns = tacho_slice_end_ns(timeline, flow->to);
	struct clock_pair *pair;

	if (from == to || (timeline->slices.flags[flow->from] & TACHO_SLICE_REPAIRED) ||
	    (timeline->slices.flags[flow->to] & (TACHO_SLICE_OPEN | TACHO_SLICE_REPAIRED)))
		return;
	pair = choose_pair(link_between(alignment, MIN(from, to), MAX(from, to)), flow->is_exact,
			   TACHO_CLOCK_BY_MESSAGES);
	if (from < to)
		clock_pair_add_after(pair, received_ns, sent_ns);
	else
		clock_pair_add_before(pair, sent_ns, received_ns);
}

static void see_messages(struct alignment *alignment)
{
	const GArray *flows = alignment->timeline->flows;

	for (guint i = 0; i < flows->len; i++)
		if (g_array_index(flows, TachoFlow, i).kind == TACHO_FLOW_MESSAGE)
			see_message(alignment, &g_array_index(flows, TachoFlow, i));
}

/* --- fits and ways --------------------------------------------------------------------------- */

/* First and last sign of life of a clock's processes, on that clock. */
static void find_span(const TachoTimeline *timeline, guint32 clock, gint64 *ret_from_ns,
		      gint64 *ret_to_ns)
{
	*ret_from_ns = G_MAXINT64;
	*ret_to_ns = G_MININT64;
	for (guint i = 0; i < timeline->processes->len; i++) {
		const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		if (process->clock != clock)
			continue;
		*ret_from_ns = MIN(*ret_from_ns, process->start_ns);
		*ret_to_ns = MAX(*ret_to_ns, process->end_ns);
	}
}

static void fit_link(const struct alignment *alignment, struct clock_link *link)
{
	gint64 from_ns, to_ns;

	find_span(alignment->timeline, link->own, &from_ns, &to_ns);
	link->has_fit = clock_pair_fit(&link->sure, from_ns, to_ns, &link->fit);
	if (link->has_fit)
		return;
	link->evidence = link->inferred_evidence;
	link->has_fit = clock_pair_fit(&link->inferred, from_ns, to_ns, &link->fit);
}

/* The way of the clock at the link's other end, over it. */
static void try_link(struct clock_way *ways, guint32 from, const struct clock_link *link)
{
	gboolean is_forward = link->reference == from;
	struct clock_map inverse = clock_map_invert(&link->fit.map);
	const struct clock_map *map = is_forward ? &link->fit.map : &inverse;
	struct clock_way *way = &ways[is_forward ? link->own : link->reference];
	gdouble cost_ns = ways[from].cost_ns + (gdouble)link->fit.inner_uncertainty_ns;

	if (link->evidence & TACHO_CLOCK_INFERRED)
		cost_ns += INFERRED_COST_NS;
	if (way->is_settled || way->cost_ns <= cost_ns)
		return;
	way->cost_ns = cost_ns;
	way->root = ways[from].root;
	way->map = clock_map_compose(&ways[from].map, map);
	way->uncertainty_ns = clock_map_add(ways[from].uncertainty_ns, link->fit.uncertainty_ns);
	way->inner_uncertainty_ns =
		clock_map_add(ways[from].inner_uncertainty_ns, link->fit.inner_uncertainty_ns);
	way->drift_uncertainty = ways[from].drift_uncertainty + link->fit.drift_uncertainty;
	way->link = link;
}

/* The clock to settle next: the one nearest to a root, or the first, as a root. */
static guint32 next_clock(const struct alignment *alignment, struct clock_way *ways)
{
	guint32 nearest = TACHO_NONE;

	for (guint32 i = 0; i < alignment->n_clocks; i++)
		if (!ways[i].is_settled &&
		    (nearest == TACHO_NONE || ways[i].cost_ns < ways[nearest].cost_ns))
			nearest = i;
	if (nearest != TACHO_NONE && isinf(ways[nearest].cost_ns)) {
		ways[nearest].cost_ns = 0;
		ways[nearest].root = nearest;
	}
	return nearest;
}

static struct clock_way *find_ways(const struct alignment *alignment)
{
	struct clock_way *ways = g_new0(struct clock_way, alignment->n_clocks);
	guint32 clock;

	for (guint32 i = 0; i < alignment->n_clocks; i++)
		ways[i].cost_ns = INFINITY;
	while ((clock = next_clock(alignment, ways)) != TACHO_NONE) {
		ways[clock].is_settled = TRUE;
		for (guint i = 0; i < alignment->links->len; i++) {
			const struct clock_link *link = g_ptr_array_index(alignment->links, i);

			if (link->has_fit && (link->reference == clock || link->own == clock))
				try_link(ways, clock, link);
		}
	}
	return ways;
}

/* --- what is told of the clocks -------------------------------------------------------------- */

static void describe(TachoClock *clock, const struct clock_way *way, guint32 index)
{
	const struct clock_link *link = way->link;

	if (clock->state == TACHO_CLOCK_ALIGNED && !link)
		return; /* the second time has found nothing; the first still holds */
	clock->reference = way->root;
	clock->state = link	    ? TACHO_CLOCK_ALIGNED
		       : index == 0 ? TACHO_CLOCK_REFERENCE
				    : TACHO_CLOCK_APART;
	if (!link)
		return;
	/* What the first time was inferred stays so. */
	clock->evidence = link->evidence | (clock->evidence & TACHO_CLOCK_INFERRED);
	clock->uncertainty_ns = way->uncertainty_ns;
	clock->inner_uncertainty_ns = way->inner_uncertainty_ns;
	clock->drift_uncertainty = way->drift_uncertainty;
	clock->n_bounds = link->fit.n_bounds;
	clock->n_contradicted = link->fit.n_contradicted;
}

/* `totals`: from each clock's recorded time to the timeline's. */
static void describe_errors(TachoTimeline *timeline, const struct clock_map *totals)
{
	for (guint32 i = 0; i < timeline->clocks->len; i++) {
		TachoClock *clock = clock_at(timeline, i);
		struct clock_map back = clock_map_invert(&totals[i]);

		if (clock->state != TACHO_CLOCK_ALIGNED)
			continue;
		clock->offset_ns =
			clock_map_add(clock_map_apply(&back, 0), totals[clock->reference].shift_ns);
		clock->drift = back.drift;
	}
}

static gchar *clock_text(const TachoTimeline *timeline, guint32 clock)
{
	GString *text = g_string_new("host ");
	guint n_ranks = 0;

	g_string_append(text, tacho_timeline_string(timeline, clock_at(timeline, clock)->host));
	for (guint i = 0; i < timeline->ranks->len; i++) {
		const TachoRank *rank = &g_array_index(timeline->ranks, TachoRank, i);

		if (g_array_index(timeline->processes, TachoProcess, rank->main_process).clock !=
		    clock)
			continue;
		if (n_ranks < MAX_NAMED_RANKS)
			g_string_append_printf(text, n_ranks ? ", %d" : " (rank %d", rank->rank);
		n_ranks++;
	}
	if (n_ranks > MAX_NAMED_RANKS)
		g_string_append_printf(text, " and %u more", n_ranks - MAX_NAMED_RANKS);
	if (n_ranks)
		g_string_append_c(text, ')');
	return g_string_free(text, FALSE);
}

/* ", and those of host d (rank 3) with it": who was aligned to a clock that is apart from the reference; "" for none. */
static gchar *company_text(const TachoTimeline *timeline, guint32 index)
{
	GString *text = g_string_new(NULL);
	guint n_clocks = 0;

	for (guint32 i = 0; i < timeline->clocks->len; i++) {
		g_autofree gchar *who = NULL;

		if (i == index || clock_at(timeline, i)->reference != index)
			continue;
		if (n_clocks++ >= MAX_NAMED_CLOCKS)
			continue;
		who = clock_text(timeline, i);
		g_string_append_printf(text, "%s%s", n_clocks > 1 ? ", " : ", nor those of ", who);
	}
	if (n_clocks > MAX_NAMED_CLOCKS)
		g_string_append_printf(text, " and %u more", n_clocks - MAX_NAMED_CLOCKS);
	if (n_clocks > 0)
		g_string_append(text, ", which are on one with it");
	return g_string_free(text, FALSE);
}

static void add_clock_problems(TachoTimeline *timeline, guint32 index)
{
	const TachoClock *clock = clock_at(timeline, index);
	const struct clock_fit fit = { .n_bounds = clock->n_bounds,
				       .n_contradicted = clock->n_contradicted };
	g_autofree gchar *who = clock_text(timeline, index);
	g_autofree gchar *reference = clock_text(timeline, 0);
	g_autofree gchar *company = company_text(timeline, index);

	if (clock->state == TACHO_CLOCK_APART)
		tacho_timeline_add_problem(timeline, "clock_doubt", 1,
					   "%s: nothing ties its clock to that of %s%s", who,
					   reference, company);
	if (clock_fit_is_doubtful(&fit))
		tacho_timeline_add_problem(timeline, "clock_doubt", 1,
					   "%s: %u of %u bounds of its clock contradict the others",
					   who, clock->n_contradicted, clock->n_bounds);
	if (clock->evidence & TACHO_CLOCK_INFERRED)
		tacho_timeline_add_problem(timeline, "clock_doubt", 1,
					   "%s: its clock rests on what belongs together by order, "
					   "although some is missing",
					   who);
}

/* --- the two rounds -------------------------------------------------------------------------- */

static void alignment_init(struct alignment *alignment, TachoTimeline *timeline)
{
	*alignment = (struct alignment){ .timeline = timeline, .n_clocks = timeline->clocks->len };
	alignment->links = g_ptr_array_new_with_free_func(link_free);
	alignment->link_of = g_hash_table_new(NULL, NULL);
	alignment->parts = g_new0(struct clock_part, alignment->n_clocks);
}

static void alignment_release(struct alignment *alignment)
{
	g_ptr_array_unref(alignment->links);
	g_hash_table_unref(alignment->link_of);
	g_free(alignment->parts);
}

/* Align by what is known; carry what was done to the times over into `totals`. Returns whether ranks
 * lacked collectives. */
static gboolean align_once(TachoTimeline *timeline, struct clock_map *totals, gboolean is_again)
{
	g_autofree struct clock_map *maps = g_new0(struct clock_map, timeline->clocks->len);
	g_autofree struct clock_way *ways = NULL;
	struct alignment alignment;
	gboolean has_gaps, is_moved = FALSE;
	gint64 origin_ns;

	alignment_init(&alignment, timeline);
	alignment.is_all_sure = is_again;
	has_gaps = collective_matches_visit(timeline, !is_again, see_collective, &alignment);
	see_messages(&alignment);
	for (guint i = 0; i < alignment.links->len; i++)
		fit_link(&alignment, g_ptr_array_index(alignment.links, i));
	ways = find_ways(&alignment);
	for (guint32 i = 0; i < alignment.n_clocks; i++) {
		maps[i] = ways[i].map;
		is_moved |= ways[i].link != NULL;
		describe(clock_at(timeline, i), &ways[i], i);
	}
	alignment_release(&alignment);
	if (!is_moved)
		return FALSE;
	origin_ns = timeline_move(timeline, maps);
	for (guint32 i = 0; i < timeline->clocks->len; i++) {
		maps[i].shift_ns = clock_map_add(maps[i].shift_ns, -origin_ns);
		totals[i] = clock_map_compose(&maps[i], &totals[i]);
	}
	return has_gaps;
}

void align_clocks(TachoTimeline *timeline)
{
	g_autofree struct clock_map *totals = g_new0(struct clock_map, timeline->clocks->len + 1);

	if (timeline->clocks->len < 2)
		return;
	if (align_once(timeline, totals, FALSE))
		align_once(timeline, totals, TRUE);
	describe_errors(timeline, totals);
	for (guint32 i = 0; i < timeline->clocks->len; i++)
		add_clock_problems(timeline, i);
}

/* --- what it is worth ------------------------------------------------------------------------ */

/* How long the collectives of the clock's ranks with others took from the last one's begin. */
static GArray *list_transfers(const TachoTimeline *timeline, guint32 clock)
{
	GArray *transfers = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);
		gint64 end_ns = G_MININT64, transfer_ns;
		guint n_ours = 0;

		for (guint32 j = 0; j < row->n_members; j++) {
			guint32 slice =
				g_array_index(timeline->members, guint32, row->first_member + j);

			n_ours += clock_of(timeline, slice) == clock;
			end_ns = MAX(end_ns, tacho_slice_end_ns(timeline, slice));
		}
		transfer_ns = end_ns - row->last_begin_ns;
		if (n_ours > 0 && n_ours < row->n_members)
			g_array_append_val(transfers, transfer_ns);
	}
	return transfers;
}

void check_alignment(TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->clocks->len; i++) {
		const TachoClock *clock = clock_at(timeline, i);
		g_autoptr(GArray) transfers = NULL;
		g_autofree gchar *who = NULL;
		gdouble median_ns;

		if (clock->state != TACHO_CLOCK_ALIGNED)
			continue;
		transfers = list_transfers(timeline, i);
		median_ns = quantile(transfers, 0.5);
		if (transfers->len == 0 || (gdouble)clock->inner_uncertainty_ns <= median_ns)
			continue;
		who = clock_text(timeline, i);
		tacho_timeline_add_problem(timeline, "clock_doubt", 1,
					   "%s: its times are right to %.1f us, and half of its "
					   "collectives transfer in less than %.1f us",
					   who, (gdouble)clock->inner_uncertainty_ns / 1e3,
					   median_ns / 1e3);
	}
}
