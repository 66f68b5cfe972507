#include "correlate/clock_cycles.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"

enum { N_NEAREST = 5 };

/* An event at `at` of one clock is before `to` of another: each in ns since the begin of that clock's span, so that a double
 * holds them. */
struct order {
	gdouble at, to;
};

/* A clock's orders: the link and the side that they are in. */
struct arc {
	guint32 from, to;
	struct clock_link *link;
	gboolean is_above; /* from the link's `own` */
};

struct cycles {
	struct clock_links *links;
	const struct clock_span *spans;
	guint32 n_clocks;
	GArray *arcs;	    /* struct arc, by `from` */
	guint32 *first;	    /* of each clock, in `arcs`; one more */
	guint32 *component; /* of each clock, of those tied from both sides: the lowest */
	gboolean is_again;  /* (2) */
};

/* --- arcs ------------------------------------------------------------------------------------- */

static const GArray *bounds_of(const struct arc *arc)
{
	const struct clock_pair *pair = &arc->link->pairs[BOUND_SURE];

	return arc->is_above ? pair->above : pair->below;
}

static gint compare_arcs(gconstpointer a, gconstpointer b)
{
	const struct arc *x = a, *y = b;

	return ORDER(x->from, y->from) ?: ORDER(x->to, y->to);
}

static void add_arc(struct cycles *cycles, struct clock_link *link, gboolean is_above)
{
	struct arc arc = { .from = is_above ? link->own : link->reference,
			   .to = is_above ? link->reference : link->own,
			   .link = link,
			   .is_above = is_above };

	if (bounds_of(&arc) && bounds_of(&arc)->len > 0)
		g_array_append_val(cycles->arcs, arc);
}

static const struct arc *arc_at(const struct cycles *cycles, guint i)
{
	return &g_array_index(cycles->arcs, struct arc, i);
}

static struct clock_link *link_at(const struct cycles *cycles, guint i)
{
	return g_ptr_array_index(cycles->links->all, i);
}

static void join(struct cycles *cycles, guint32 a, guint32 b)
{
	guint32 low = MIN(cycles->component[a], cycles->component[b]);
	guint32 high = MAX(cycles->component[a], cycles->component[b]);

	for (guint32 i = 0; low != high && i < cycles->n_clocks; i++)
		if (cycles->component[i] == high)
			cycles->component[i] = low;
}

static void cycles_init(struct cycles *cycles, struct clock_links *links,
			const struct clock_span *spans)
{
	*cycles = (struct cycles){ .links = links, .spans = spans };
	cycles->arcs = g_array_new(FALSE, FALSE, sizeof(struct arc));
	for (guint i = 0; i < links->all->len; i++) {
		cycles->n_clocks = MAX(cycles->n_clocks, link_at(cycles, i)->own + 1);
		add_arc(cycles, link_at(cycles, i), TRUE);
		add_arc(cycles, link_at(cycles, i), FALSE);
	}
	g_array_sort(cycles->arcs, compare_arcs);
	cycles->first = g_new0(guint32, cycles->n_clocks + 1);
	cycles->component = g_new(guint32, cycles->n_clocks);
	for (guint i = 0; i < cycles->arcs->len; i++)
		cycles->first[arc_at(cycles, i)->from + 1]++;
	for (guint32 i = 0; i < cycles->n_clocks; i++) {
		cycles->first[i + 1] += cycles->first[i];
		cycles->component[i] = i;
	}
	for (guint i = 0; i < links->all->len; i++)
		if (link_at(cycles, i)->has_fit)
			join(cycles, link_at(cycles, i)->reference, link_at(cycles, i)->own);
}

static void cycles_release(struct cycles *cycles)
{
	g_array_unref(cycles->arcs);
	g_free(cycles->first);
	g_free(cycles->component);
}

/* The arcs of the shortest way, guint32, the last one first; NULL: there is none. Breadth first. */
static GArray *find_way(const struct cycles *cycles, guint32 from, guint32 to)
{
	g_autofree guint32 *queue = g_new(guint32, cycles->n_clocks);
	g_autofree guint32 *by = g_new(guint32, cycles->n_clocks); /* arc + 1; 0: not reached */
	guint n_queued = 0;
	GArray *way;

	memset(by, 0, cycles->n_clocks * sizeof(*by));
	queue[n_queued++] = from;
	for (guint next = 0; next < n_queued && !by[to]; next++)
		for (guint32 i = cycles->first[queue[next]]; i < cycles->first[queue[next] + 1];
		     i++) {
			guint32 there = arc_at(cycles, i)->to;

			if (by[there] || there == from)
				continue;
			by[there] = i + 1;
			queue[n_queued++] = there;
		}
	if (!by[to])
		return NULL;
	way = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint32 clock = to; clock != from;) {
		guint32 arc = by[clock] - 1;

		g_array_append_val(way, arc);
		clock = arc_at(cycles, arc)->from;
	}
	return way;
}

/* --- orders: (1) ------------------------------------------------------------------------------- */

static gint compare_orders(gconstpointer a, gconstpointer b)
{
	const struct order *x = a, *y = b;

	return ORDER(x->at, y->at) ?: ORDER(x->to, y->to);
}

static gdouble since(const struct cycles *cycles, guint32 clock, gint64 time_ns)
{
	return (gdouble)clock_map_add(time_ns, -cycles->spans[clock].from_ns);
}

/* By `at`. */
static GArray *list_orders(const struct cycles *cycles, const struct arc *arc)
{
	const GArray *bounds = bounds_of(arc);
	GArray *orders =
		g_array_sized_new(FALSE, FALSE, sizeof(struct order), bounds ? bounds->len : 0);

	for (guint i = 0; bounds && i < bounds->len; i++) {
		const struct clock_bound *bound = &g_array_index(bounds, struct clock_bound, i);
		gint64 reference_ns = clock_map_add(bound->own_ns, bound->correction_ns);
		struct order order = {
			since(cycles, arc->from, arc->is_above ? bound->own_ns : reference_ns),
			since(cycles, arc->to, arc->is_above ? reference_ns : bound->own_ns)
		};

		g_array_append_val(orders, order);
	}
	g_array_sort(orders, compare_orders);
	return orders;
}

static const struct order *order_at(const GArray *orders, guint i)
{
	return &g_array_index(orders, struct order, i);
}

/* How far the other clock is ahead when this one tells `time`, at most, by that order. */
static gdouble ahead_by(const struct order *order, gdouble time)
{
	return order->to - order->at + CLOCK_PAIR_MAX_DRIFT * fabs(time - order->at);
}

/* The first order at or behind the time. */
static guint find_order(const GArray *orders, gdouble time)
{
	return PARTITION_POINT(i, 0, orders->len, order_at(orders, i)->at < time);
}

static gdouble median_ahead(const GArray *orders, gdouble time)
{
	guint next = find_order(orders, time), n = MIN(orders->len, N_NEAREST);
	guint first = MIN(next > n / 2 ? next - n / 2 : 0, orders->len - n);
	gdouble ahead[N_NEAREST];

	for (guint i = 0; i < n; i++) {
		gdouble value = ahead_by(order_at(orders, first + i), time);
		guint at = i;

		for (; at > 0 && ahead[at - 1] > value; at--)
			ahead[at] = ahead[at - 1];
		ahead[at] = value;
	}
	return ahead[n / 2];
}

/* For each order, the least that it or one before it makes of its own time: ahead_by() as seen from behind, and, for
 * `is_behind`, from before. */
static gdouble *least_ahead(const GArray *orders, gboolean is_behind)
{
	gdouble *least = g_new(gdouble, orders->len);
	guint n = orders->len;

	for (guint i = 0; i < n; i++) {
		guint own = is_behind ? n - 1 - i : i, before = is_behind ? own + 1 : own - 1;
		gdouble own_ahead = order_at(orders, own)->to - order_at(orders, own)->at;

		least[own] = own_ahead;
		if (i > 0)
			least[own] =
				MIN(own_ahead,
				    least[before] + CLOCK_PAIR_MAX_DRIFT *
							    fabs(order_at(orders, own)->at -
								 order_at(orders, before)->at));
	}
	return least;
}

/* Let orders lead on to the clock that `onward` are of. */
static void lead_on(const struct cycles *cycles, GArray *orders, const GArray *onward)
{
	g_autofree gdouble *until = least_ahead(onward, FALSE);
	g_autofree gdouble *from = least_ahead(onward, TRUE);

	FOR_EACH(struct order, order, orders) {
		guint next = find_order(onward, order->to);
		gdouble best = INFINITY;

		if (!cycles->is_again) {
			order->to += median_ahead(onward, order->to);
			continue;
		}
		if (next > 0)
			best = until[next - 1] +
			       CLOCK_PAIR_MAX_DRIFT * (order->to - order_at(onward, next - 1)->at);
		if (next < onward->len)
			best = MIN(best,
				   from[next] + CLOCK_PAIR_MAX_DRIFT *
							(order_at(onward, next)->at - order->to));
		order->to += best;
	}
}

/* Those of the whole way; none where an arc of it has lost all. */
static GArray *orders_of_way(const struct cycles *cycles, const GArray *way)
{
	GArray *orders =
		list_orders(cycles, arc_at(cycles, g_array_index(way, guint32, way->len - 1)));

	for (guint i = way->len - 1; i > 0; i--) {
		g_autoptr(GArray) onward =
			list_orders(cycles, arc_at(cycles, g_array_index(way, guint32, i - 1)));

		if (onward->len == 0)
			g_array_set_size(orders, 0);
		else
			lead_on(cycles, orders, onward);
	}
	return orders;
}

/* --- fits -------------------------------------------------------------------------------------- */

/* The other way of since(). */
static gint64 to_ns(const struct cycles *cycles, guint32 clock, gdouble since_ns)
{
	gdouble most_ns = (gdouble)TACHO_MAX_TIME_NS;

	return clock_map_add(cycles->spans[clock].from_ns,
			     (gint64)CLAMP(ceil(since_ns), -most_ns, most_ns));
}

static gboolean is_one_sided(const struct cycles *cycles, const struct clock_link *link)
{
	const struct clock_pair *pair = &link->pairs[BOUND_SURE];

	return (pair->above == NULL) != (pair->below == NULL) &&
	       cycles->component[link->reference] != cycles->component[link->own];
}

static gboolean fit_round(struct cycles *cycles, struct clock_link *link)
{
	const struct clock_pair *sure = &link->pairs[BOUND_SURE];
	gboolean is_above = sure->above != NULL; /* what there is */
	struct clock_pair pair = { 0 };
	guint32 from = is_above ? link->reference : link->own;
	guint32 to = is_above ? link->own : link->reference;
	g_autoptr(GArray) way = find_way(cycles, from, to);
	g_autoptr(GArray) orders = NULL;
	gboolean is_found;

	if (!way || clock_pair_n_bounds(sure) == 0)
		return FALSE;
	orders = orders_of_way(cycles, way);
	clock_pair_add_all(&pair, sure);
	for (guint i = 0; i < orders->len; i++) {
		gint64 at_ns = to_ns(cycles, from, order_at(orders, i)->at);
		gint64 by_ns = to_ns(cycles, to, order_at(orders, i)->to);

		if (is_above)
			clock_pair_add_after(&pair, by_ns, at_ns);
		else
			clock_pair_add_before(&pair, at_ns, by_ns);
	}
	is_found = clock_pair_fit(&pair, cycles->spans[link->own].from_ns,
				  cycles->spans[link->own].to_ns, &link->fit);
	link->evidence = link->evidence_of[BOUND_SURE];
	for (guint i = 0; is_found && i < way->len; i++)
		link->evidence |= arc_at(cycles, g_array_index(way, guint32, i))
					  ->link->evidence_of[BOUND_SURE];
	clock_pair_release(&pair);
	return is_found;
}

/* Fit all that have only one side; a list of them. */
static GPtrArray *fit_all(struct cycles *cycles)
{
	GPtrArray *fitted = g_ptr_array_new();

	for (guint i = 0; i < cycles->links->all->len; i++) {
		struct clock_link *link = link_at(cycles, i);

		if (is_one_sided(cycles, link) && fit_round(cycles, link))
			g_ptr_array_add(fitted, link);
	}
	return fitted;
}

void clock_cycles_fit(struct clock_links *links, const struct clock_span *spans)
{
	g_autofree guint32 *n_dropped = g_new0(guint32, links->all->len);
	g_autoptr(GPtrArray) first = NULL;
	g_autoptr(GPtrArray) second = NULL;
	struct cycles cycles;

	cycles_init(&cycles, links, spans);
	first = fit_all(&cycles);
	FOR_EACH_POINTER_AT(struct clock_link, link, i, first)
		n_dropped[i] = clock_pair_drop_false(&link->pairs[BOUND_SURE], &link->fit.map);
	cycles.is_again = TRUE;
	second = first->len > 0 ? fit_all(&cycles) : NULL;
	for (guint i = 0; second && i < second->len; i++) {
		struct clock_link *link = g_ptr_array_index(second, i);

		link->has_fit = TRUE;
		for (guint k = 0; k < first->len; k++)
			if (g_ptr_array_index(first, k) == link) {
				link->fit.n_bounds += n_dropped[k];
				link->fit.n_contradicted += n_dropped[k];
			}
	}
	cycles_release(&cycles);
}
