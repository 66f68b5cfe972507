#include "learn/link_cost.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order_statistics.h"

static const gchar *const operation_names[N_OPERATIONS] = {
#define OPERATION_NAME(enumerator, name) [OPERATION_##enumerator] = #name,
	COLLECTIVE_OPERATIONS(OPERATION_NAME)
#undef OPERATION_NAME
};

const gchar *link_operation_name(enum collective_operation operation)
{
	return operation_names[operation];
}

enum collective_operation link_operation_find(const gchar *name)
{
	for (guint i = 0; i < N_OPERATIONS; i++)
		if (operation_names[i] && g_str_equal(operation_names[i], name))
			return (enum collective_operation)i;
	return OPERATION_UNTOLD;
}

void link_cost_release(struct link_cost *link)
{
	g_clear_pointer(&link->host, g_free);
	g_clear_pointer(&link->backend, g_free);
	g_clear_pointer(&link->points, g_array_unref);
}

static void link_clear(gpointer data)
{
	link_cost_release(data);
}

GArray *link_costs_new(void)
{
	GArray *links = g_array_new(FALSE, TRUE, sizeof(struct link_cost));

	g_array_set_clear_func(links, link_clear);
	return links;
}

static gint compare_points(gconstpointer a, gconstpointer b)
{
	guint64 x = ((const struct link_point *)a)->bytes,
		y = ((const struct link_point *)b)->bytes;

	return x < y ? -1 : x > y;
}

static void fit(struct link_cost *link)
{
	g_autofree struct transfer_sample *samples =
		g_new(struct transfer_sample, MAX(link->points->len, 1u));

	g_array_sort(link->points, compare_points);
	FOR_EACH_AT(const struct link_point, point, i, link->points)
		samples[i] =
			(struct transfer_sample){ transfer_wire_bytes(link->operation, point->bytes,
								      link->n_ranks),
						  point->time_ns };
	transfer_cost_fit(&link->cost, samples, link->points->len, G_MAXDOUBLE);
}

void link_costs_put(GArray *links, struct link_cost *link)
{
	fit(link);
	FOR_EACH(struct link_cost, known, links) {
		if (known->operation != link->operation || known->n_ranks != link->n_ranks ||
		    known->is_calibrated != link->is_calibrated ||
		    strcmp(known->host, link->host) != 0 ||
		    strcmp(known->backend, link->backend) != 0)
			continue;
		link_cost_release(known);
		*known = *link;
		return;
	}
	g_array_append_val(links, *link);
}

/* --- of recordings --------------------------------------------------------------------------------- */

/* From when the last of its ranks began it to when the first had the result. */
static gint64 shortest_ns(const TachoTimeline *timeline, const TachoCollective *collective)
{
	gint64 begin_ns = G_MININT64, end_ns = G_MAXINT64;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);

		begin_ns = MAX(begin_ns, timeline->slices.start_ns[slice]);
		end_ns = MIN(end_ns, tacho_slice_end_ns(timeline, slice));
	}
	return end_ns - begin_ns;
}

struct seen {
	enum collective_operation operation;
	guint32 n_ranks;
	guint64 bytes;
	gdouble time_ns;
};

static gint compare_seen(gconstpointer a, gconstpointer b)
{
	const struct seen *x = a, *y = b;

	if (x->operation != y->operation)
		return x->operation < y->operation ? -1 : 1;
	if (x->n_ranks != y->n_ranks)
		return x->n_ranks < y->n_ranks ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static GArray *find_seen(const TachoTimeline *timeline)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct seen));

	FOR_EACH(const TachoCollective, collective, timeline->collectives) {
		struct seen seen = { operation_of_name(timeline, collective->name),
				     collective->n_members, collective->bytes, 0 };

		if (collective->n_members < 2 || collective->n_members != collective->n_expected ||
		    collective->bytes == 0)
			continue;
		if (seen.operation == OPERATION_UNTOLD)
			seen.operation = collective_operation_of(
				timeline, g_array_index(timeline->members, guint32,
							collective->first_member));
		seen.time_ns = (gdouble)shortest_ns(timeline, collective);
		if (seen.operation != OPERATION_UNTOLD && seen.time_ns > 0)
			g_array_append_val(all, seen);
	}
	g_array_sort(all, compare_seen);
	return all;
}

void link_costs_add_run(GArray *links, const TachoTimeline *timeline)
{
	g_autoptr(GArray) all = find_seen(timeline);
	const gchar *host =
		timeline->ranks->len
			? tacho_timeline_string(timeline, tacho_timeline_rank(timeline, 0)->host)
			: "";

	for (guint i = 0; i < all->len;) {
		const struct seen *first = &g_array_index(all, struct seen, i);
		struct link_cost link = { .host = g_strdup(host),
					  .backend = g_strdup(""),
					  .operation = first->operation,
					  .n_ranks = first->n_ranks };

		link.points = g_array_new(FALSE, FALSE, sizeof(struct link_point));
		while (i < all->len) {
			const struct seen *of_size = &g_array_index(all, struct seen, i);
			guint n = 0;
			struct link_point point = { of_size->bytes, 0, 0 };

			if (of_size->operation != first->operation ||
			    of_size->n_ranks != first->n_ranks)
				break;
			while (i + n < all->len &&
			       g_array_index(all, struct seen, i + n).operation ==
				       first->operation &&
			       g_array_index(all, struct seen, i + n).n_ranks == first->n_ranks &&
			       g_array_index(all, struct seen, i + n).bytes == point.bytes)
				n++;
			/* they are sorted by time */
			point.time_ns = (g_array_index(all, struct seen, i + (n - 1) / 2).time_ns +
					 g_array_index(all, struct seen, i + n / 2).time_ns) /
					2;
			point.count = n;
			if (link.points->len < LINK_MAX_POINTS)
				g_array_append_val(link.points, point);
			i += n;
		}
		if (links->len < LINK_MAX_COSTS)
			link_costs_put(links, &link);
		else
			link_cost_release(&link);
	}
}

const struct link_cost *link_costs_find(const GArray *links, const gchar *host,
					enum collective_operation operation, guint32 n_ranks)
{
	const struct link_cost *best = NULL;
	gint best_fit = -1;

	FOR_EACH(const struct link_cost, link, links) {
		gint fit = 2 * link->is_calibrated + (strcmp(link->host, host) == 0);

		if (link->operation != operation || link->n_ranks != n_ranks ||
		    link->cost.n_sizes < 2 || fit <= best_fit)
			continue;
		best = link;
		best_fit = fit;
	}
	return best;
}
