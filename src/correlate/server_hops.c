#include "correlate/server_hops.h"

#include "base/for_each.h"
#include "base/order.h"

/* One end of a push or pull, at a worker or its server. */
struct server_hop {
	guint32 worker, part, slice;
	gint64 begin_ns;
};

static gint compare_workers(const struct server_hop *x, const struct server_hop *y)
{
	return ORDER(x->worker, y->worker) ?: ORDER(x->part, y->part);
}

static gint compare_hops(gconstpointer a, gconstpointer b)
{
	const struct server_hop *x = a, *y = b;
	gint order = compare_workers(x, y);

	if (order)
		return order;
	return ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->slice, y->slice);
}

static struct server_hop *hop_at(GArray *hops, guint i)
{
	return &g_array_index(hops, struct server_hop, i);
}

/* The hops of a step as seen by the workers, which are called by their rank's index, or by the servers. */
static GArray *collect(const TachoTimeline *timeline, guint32 step, gboolean is_server)
{
	GArray *hops = g_array_new(FALSE, FALSE, sizeof(struct server_hop));

	FOR_EACH(const TachoHop, row, timeline->hops) {
		struct server_hop hop = { .worker = (guint32)row->peer,
					  .part = row->part,
					  .slice = row->slice };

		if (row->way != TACHO_HOP_SERVER || row->step != step || row->slice == TACHO_NONE ||
		    (row->collective == TACHO_NONE) != is_server)
			continue;
		if (!is_server)
			hop.worker = tacho_slice_process(timeline, row->slice)->rank_index;
		hop.begin_ns = timeline->slices.start_ns[row->slice];
		g_array_append_val(hops, hop);
	}
	g_array_sort(hops, compare_hops);
	return hops;
}

static guint count_workers(GArray *hops)
{
	guint n = 0;

	for (guint i = 0; i < hops->len; i++)
		n += i == 0 || hop_at(hops, i)->worker != hop_at(hops, i - 1)->worker;
	return n;
}

/* Call the workers 0, 1, 2 ... in the order of their ranks, as servers do. */
static void number_workers(GArray *hops)
{
	guint32 number = 0;

	for (guint i = 0; i < hops->len; i++) {
		guint32 worker = hop_at(hops, i)->worker;

		for (; i + 1 < hops->len && hop_at(hops, i + 1)->worker == worker; i++)
			hop_at(hops, i)->worker = number;
		hop_at(hops, i)->worker = number++;
	}
}

/* Behind the last of the same worker and part. */
static guint end_of_run(GArray *hops, guint first)
{
	guint end = first + 1;

	while (end < hops->len && compare_workers(hop_at(hops, end), hop_at(hops, first)) == 0)
		end++;
	return end;
}

void server_hops_visit(const TachoTimeline *timeline, guint32 step, ServerHopVisit visit,
		       gpointer data)
{
	g_autoptr(GArray) ours = collect(timeline, step, FALSE);
	g_autoptr(GArray) theirs = collect(timeline, step, TRUE);

	if (count_workers(ours) != count_workers(theirs)) /* (1) */
		return;
	number_workers(ours);
	for (guint i = 0, j = 0; i < ours->len && j < theirs->len;) {
		guint end_i = end_of_run(ours, i), end_j = end_of_run(theirs, j);
		gint order = compare_workers(hop_at(ours, i), hop_at(theirs, j));

		for (guint k = 0; order == 0 && end_i - i == end_j - j && k < end_i - i; k++)
			visit(hop_at(ours, i + k)->slice, hop_at(theirs, j + k)->slice, data);
		if (order <= 0)
			i = end_i;
		if (order >= 0)
			j = end_j;
	}
}
