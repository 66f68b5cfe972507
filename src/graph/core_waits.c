#include "graph/core_waits.h"

#include <math.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "cost/transfer_cost.h"
#include "trace/operation.h"

/* Transfers mostly beside computing, and as many mostly not, for their waits to be compared.
 * Source: a rule: the mean of eight is known to a third of their spread, as of operations (graph_contention.c). If wrong, core waits are
 * made of chance, or none are found. */
#define MIN_OF_A_KIND 8
/* Times the distance of the quartiles, above the upper one.
 * Source: cited from J. W. Tukey, "Exploratory Data Analysis", 1977: what is beyond is "far out". If wrong, stalls of the machine count
 * as waits for cores, or the longest of these do not. */
#define FAR_OUT 3
/* A change that is not worth another round, of what segments wait.
 * Source: a rule: a fiftieth is below what a recording tells it to. If wrong, it is off by as much, or takes longer to find. */
#define ALMOST 0.02

/* A transfer: of its work what was done beside computing, and what each of its segments waited. */
struct waited {
	gdouble beside, wait_ns;
};

static gdouble n_segments(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	enum collective_operation operation = operation_of_name(graph->timeline, transfer->name);

	if (!operation_is_all_reduce(operation))
		return 0;
	return transfer_latencies(operation, transfer->bytes, transfer->n_ranks);
}

gdouble graph_core_wait_ns(const TachoGraph *graph, const struct graph_transfer *transfer)
{
	gdouble wait_ns = graph_group_at(graph, transfer->group)->core_wait_ns;

	if (wait_ns <= 0 || transfer->is_hop)
		return 0;
	return wait_ns * n_segments(graph, transfer) * (1 - transfer->core_wait_off);
}

gboolean graph_has_core_waits(const TachoGraph *graph)
{
	FOR_EACH(const struct graph_group, group, graph->groups)
		if (group->core_wait_ns > 0)
			return TRUE;
	return FALSE;
}

/* The group's all-reduces of more than a few bytes, mostly beside computing or mostly not: struct waited. */
static GArray *collect_waited(const TachoGraph *graph, guint32 group, const struct moved *moved,
			      guint32 first, gboolean is_beside)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct waited));

	for (guint32 i = first; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);
		gdouble segments = transfer->group == group ? n_segments(graph, transfer) : 0;
		struct waited waited;

		if (segments <= 0 || transfer->bytes <= BUILD_SMALL_BYTES || moved[i].work_ns <= 0)
			continue;
		waited.beside = moved[i].beside_ns / moved[i].work_ns;
		waited.wait_ns =
			(transfer->fixed_ns + waited.beside * graph_core_wait_ns(graph, transfer)) /
			segments;
		/* Half of it. Source: derived from what "mostly" means. */
		if ((waited.beside > 0.5) == is_beside)
			g_array_append_val(all, waited);
	}
	return all;
}

/* Above it, the machine held a transfer up. */
static gdouble stall_ns(const GArray *all)
{
	g_autoptr(GArray) waits_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	gdouble low_ns, high_ns;

	FOR_EACH(const struct waited, waited, all) {
		gint64 wait_ns = llround(waited->wait_ns);

		g_array_append_val(waits_ns, wait_ns);
	}
	/* Quartiles. Source: derived from what they are. */
	low_ns = quantile(waits_ns, 0.25);
	high_ns = quantile(waits_ns, 0.75);
	return high_ns + FAR_OUT * (high_ns - low_ns);
}

/* Sums of all that were not held up. */
struct line_sums {
	gdouble n, x, y, xx, xy;
};

static void add_to_line(const GArray *all, struct line_sums *sums)
{
	gdouble most_ns = stall_ns(all);

	FOR_EACH(const struct waited, waited, all) {
		if (waited->wait_ns > most_ns + 1)
			continue;
		sums->n++;
		sums->x += waited->beside;
		sums->y += waited->wait_ns;
		sums->xx += waited->beside * waited->beside;
		sums->xy += waited->beside * waited->wait_ns;
	}
}

/* By how much a segment's wait grows from no computing beside it to nothing else; 0: that is not told. */
static gdouble find_core_wait(const TachoGraph *graph, guint32 group, const struct moved *moved,
			      guint32 first)
{
	g_autoptr(GArray) beside = collect_waited(graph, group, moved, first, TRUE);
	g_autoptr(GArray) others = collect_waited(graph, group, moved, first, FALSE);
	struct line_sums sums = { 0 };
	gdouble spread;

	if (beside->len < MIN_OF_A_KIND || others->len < MIN_OF_A_KIND)
		return 0;
	add_to_line(beside, &sums);
	add_to_line(others, &sums);
	spread = sums.n * sums.xx - sums.x * sums.x;
	return spread > 0 ? MAX((sums.n * sums.xy - sums.x * sums.y) / spread, 0.0) : 0;
}

gboolean core_waits_find(TachoGraph *graph, const struct moved *moved, guint32 first,
			 guint32 first_group)
{
	gboolean has_changed = FALSE;

	for (guint32 i = first_group; i < graph->groups->len; i++) {
		struct graph_group *group = graph_group_at(graph, i);
		gdouble before_ns = group->core_wait_ns, now_ns;

		if (!traffic_tells(group))
			continue;
		now_ns = find_core_wait(graph, i, moved, first);
		if (fabs(now_ns - before_ns) <= ALMOST * MAX(now_ns, before_ns))
			continue; /* the parts fit what it is */
		group->core_wait_ns = now_ns;
		has_changed = TRUE;
	}
	return has_changed;
}
