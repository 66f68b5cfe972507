/* clock_alignment: times of different hosts on one clock.
 *
 * Processes of one machine share a clock and are never moved against each other. What ties the clocks of two is
 * collected by clock_evidence.h; clock_pair.h makes a line of it and says how far it can be from the truth.
 *
 * (1) The first process's clock is the reference. From there each clock is aligned to the one through
 *     which its times become most certain (Dijkstra's algorithm over the uncertainties, which add up).
 *     Clocks that cannot be reached begin again with the first of them: their times are as recorded,
 *     and that is a problem.
 * (2) With one clock nothing is done, and no time changes.
 * (3) A line is known over the span that it was fitted over. Where a clock lives longer than one on its way, the
 *     uncertainty grows by the time beyond, times how uncertain the drift is.
 * (4) Where ranks lack collectives, or sends their receives, which belong together can be told only by times that
 *     compare. Then it is done twice: by what is sure (or, failing that, by order), and again by all. */
#include <string.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "correlate/clock_evidence.h"
#include "correlate/clock_ranks.h"
#include "correlate/correlate_internal.h"
#include "trace/timeline_move.h"

#define INFERRED_COST_NS 1e15 /* what is sure goes first, */
#define ASSUMED_COST_NS	 1e12 /* then what is assumed */
#define MAX_NAMED_CLOCKS 8

/* A clock on its way to the reference. */
struct clock_way {
	struct clock_map map; /* to the root's time */
	guint32 root;
	gdouble cost_ns;	       /* of the way; infinite: none is known */
	struct clock_span span, inner; /* on this clock, where these hold */
	gint64 uncertainty_ns, inner_uncertainty_ns;
	gdouble drift_uncertainty;
	const struct clock_link *link; /* the last of the way; NULL: the root */
	gboolean is_settled;
};

static TachoClock *clock_at(const TachoTimeline *timeline, guint32 clock)
{
	return &g_array_index(timeline->clocks, TachoClock, clock);
}

static guint32 clock_of(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_slice_process(timeline, slice)->clock;
}

/* --- fits and ways --------------------------------------------------------------------------- */

/* First and last sign of life of each clock's processes, on that clock. */
static struct clock_span *find_spans(const TachoTimeline *timeline)
{
	struct clock_span *spans = g_new(struct clock_span, timeline->clocks->len);

	for (guint32 i = 0; i < timeline->clocks->len; i++)
		spans[i] = (struct clock_span){ G_MAXINT64, G_MININT64 };
	FOR_EACH(const TachoProcess, process, timeline->processes) {
		struct clock_span *span = &spans[process->clock];

		span->from_ns = MIN(span->from_ns, process->start_ns);
		span->to_ns = MAX(span->to_ns, process->end_ns);
	}
	return spans;
}

static struct clock_span map_span(const struct clock_map *map, const struct clock_span *span)
{
	return (struct clock_span){ clock_map_apply(map, span->from_ns),
				    clock_map_apply(map, span->to_ns) };
}

/* What is known to `uncertainty_ns` over `known`, over `asked`: (3). */
static gdouble extend(gint64 uncertainty_ns, gdouble drift_uncertainty,
		      const struct clock_span *known, const struct clock_span *asked)
{
	gint64 beyond_ns = MAX(clock_map_add(known->from_ns, -asked->from_ns),
			       clock_map_add(asked->to_ns, -known->to_ns));

	return (gdouble)uncertainty_ns + drift_uncertainty * (gdouble)MAX(beyond_ns, 0);
}

static gint64 round_up(gdouble uncertainty_ns)
{
	return (gint64)MIN(ceil(uncertainty_ns), (gdouble)TACHO_MAX_TIME_NS);
}

/* The uncertainties of `to`, which is aligned over `link` to the clock that `from` is the way of. `map`: from its time to
 * that one's. */
static void add_uncertainty(struct clock_way *to, const struct clock_way *from,
			    const struct clock_link *link, const struct clock_map *map)
{
	const struct clock_fit *fit = &link->fit;
	gboolean is_own = map == &fit->map;
	gdouble stretch = (1 + fabs(from->map.drift)) * (1 + fabs(fit->map.drift));
	struct clock_span known = { fit->from_ns, fit->to_ns };
	struct clock_span inner = { fit->inner_from_ns, fit->inner_to_ns };
	struct clock_span there = map_span(map, &to->span), inner_there;

	to->inner = is_own ? inner : map_span(&fit->map, &inner);
	inner_there = map_span(map, &to->inner);
	to->uncertainty_ns = round_up(
		extend(from->uncertainty_ns, from->drift_uncertainty, &from->span, &there) +
		stretch * extend(fit->uncertainty_ns, fit->drift_uncertainty, &known,
				 is_own ? &to->span : &there));
	to->inner_uncertainty_ns =
		round_up(extend(from->inner_uncertainty_ns, from->drift_uncertainty, &from->inner,
				&inner_there) +
			 stretch * (gdouble)fit->inner_uncertainty_ns);
	to->inner_uncertainty_ns = MIN(to->inner_uncertainty_ns, to->uncertainty_ns);
	to->drift_uncertainty = stretch * (from->drift_uncertainty + fit->drift_uncertainty) +
				from->drift_uncertainty * fit->drift_uncertainty;
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
	else if (link->evidence & TACHO_CLOCK_ASSUMED)
		cost_ns += ASSUMED_COST_NS;
	if (way->is_settled || way->cost_ns <= cost_ns)
		return;
	way->cost_ns = cost_ns;
	way->root = ways[from].root;
	way->map = clock_map_compose(&ways[from].map, map);
	add_uncertainty(way, &ways[from], link, map);
	way->link = link;
}

/* The clock to settle next: the one nearest to a root, or the first, as a root. */
static guint32 next_clock(struct clock_way *ways, guint32 n_clocks)
{
	guint32 nearest = TACHO_NONE;

	for (guint32 i = 0; i < n_clocks; i++)
		if (!ways[i].is_settled &&
		    (nearest == TACHO_NONE || ways[i].cost_ns < ways[nearest].cost_ns))
			nearest = i;
	if (nearest != TACHO_NONE && isinf(ways[nearest].cost_ns)) {
		ways[nearest].cost_ns = 0;
		ways[nearest].root = nearest;
	}
	return nearest;
}

static struct clock_way *find_ways(const TachoTimeline *timeline, const struct clock_links *links,
				   const struct clock_span *spans)
{
	guint32 n_clocks = timeline->clocks->len, clock;
	struct clock_way *ways = g_new0(struct clock_way, n_clocks);

	for (guint32 i = 0; i < n_clocks; i++) {
		ways[i].cost_ns = INFINITY;
		ways[i].span = ways[i].inner = spans[i];
	}
	while ((clock = next_clock(ways, n_clocks)) != TACHO_NONE) {
		ways[clock].is_settled = TRUE;
		for (guint i = 0; i < links->all->len; i++) {
			const struct clock_link *link = clock_link_at(links, i);

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
	/* What the first time was inferred or assumed stays so. */
	clock->evidence =
		link->evidence | (clock->evidence & (TACHO_CLOCK_INFERRED | TACHO_CLOCK_ASSUMED));
	clock->uncertainty_ns = way->uncertainty_ns;
	clock->inner_uncertainty_ns = way->inner_uncertainty_ns;
	clock->drift_uncertainty = way->drift_uncertainty;
	clock->n_bounds = link->fit.n_bounds;
	clock->n_contradicted = link->fit.n_contradicted;
}

/* `totals`: from each clock's recorded time to the timeline's. */
static void describe_errors(TachoTimeline *timeline, const struct clock_map *totals)
{
	FOR_EACH_AT(TachoClock, clock, i, timeline->clocks) {
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
	const gchar *host = tacho_timeline_string(timeline, clock_at(timeline, clock)->host);
	guint n_ranks;
	g_autofree gchar *ranks = clock_ranks(timeline, clock, &n_ranks);

	return n_ranks ? g_strdup_printf("host %s (rank %s)", host, ranks)
		       : g_strdup_printf("host %s", host);
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
		g_string_append_printf(text, "%s%s", n_clocks > 1 ? ", " : "; the same holds for ",
				       who);
	}
	if (n_clocks > MAX_NAMED_CLOCKS)
		g_string_append_printf(text, " and %u more", n_clocks - MAX_NAMED_CLOCKS);
	if (n_clocks > 0)
		g_string_append(text, ", whose clocks are aligned with it");
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
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s: nothing relates its clock to that of %s%s", who,
					   reference, company);
	if (clock_fit_is_doubtful(&fit))
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
			"%s: %u of the %u bounds of its clock contradict the others", who,
			clock->n_contradicted, clock->n_bounds);
	if (clock->evidence & TACHO_CLOCK_INFERRED)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s: its clock was aligned by events that were matched "
					   "by their order, although some are missing",
					   who);
	if (clock->evidence & TACHO_CLOCK_ASSUMED)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s: its clock was aligned on the assumption that sends "
					   "waited for their receives",
					   who);
}

/* --- the two rounds -------------------------------------------------------------------------- */

/* Align by what is known; carry what was done to the times over into `totals`. Returns whether anything lacked
 * partners. */
static gboolean align_once(TachoTimeline *timeline, struct clock_map *totals, gboolean is_again)
{
	guint32 n_clocks = timeline->clocks->len;
	g_autofree struct clock_map *maps = g_new0(struct clock_map, n_clocks);
	g_autofree struct clock_span *spans = find_spans(timeline);
	g_autofree struct clock_way *ways = NULL;
	struct clock_links links;
	gboolean has_gaps, is_moved = FALSE;
	gint64 origin_ns;

	clock_links_init(&links);
	has_gaps = clock_evidence_collect(timeline, is_again, &links);
	clock_links_fit(&links, spans);
	ways = find_ways(timeline, &links, spans);
	for (guint32 i = 0; i < n_clocks; i++) {
		maps[i] = ways[i].map;
		is_moved |= ways[i].link != NULL;
		describe(clock_at(timeline, i), &ways[i], i);
	}
	clock_links_release(&links);
	if (!is_moved)
		return FALSE;
	origin_ns = timeline_move(timeline, maps);
	for (guint32 i = 0; i < n_clocks; i++) {
		maps[i].shift_ns = clock_map_add(maps[i].shift_ns, -origin_ns);
		totals[i] = clock_map_compose(&maps[i], &totals[i]);
	}
	return has_gaps;
}

void align_clocks(TachoTimeline *timeline)
{
	g_autofree struct clock_map *totals = g_new0(struct clock_map, timeline->clocks->len);

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

	FOR_EACH(const TachoCollective, row, timeline->collectives) {
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
	FOR_EACH_AT(const TachoClock, clock, i, timeline->clocks) {
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
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s: its times are accurate to %.1f us only, and half "
					   "of its collectives take less than %.1f us to transfer",
					   who, (gdouble)clock->inner_uncertainty_ns / 1e3,
					   median_ns / 1e3);
	}
}
