#include "export/slice_links.h"

#include "base/for_each.h"
#include "base/order.h"

static gint compare_links(gconstpointer left, gconstpointer right)
{
	const struct slice_link *a = left, *b = right;

	return ORDER(a->slice, b->slice) ?: ORDER(a->kind, b->kind) ?: ORDER(a->row, b->row);
}

static void add_link(struct slice_links *links, guint32 slice, enum slice_link_kind kind,
		     guint32 row)
{
	struct slice_link link = { slice, kind, row };

	g_array_append_val(links->links, link);
}

static void add_flows(struct slice_links *links, const struct export_scope *scope)
{
	const TachoTimeline *timeline = scope->timeline;
	const gint64 *start_ns = timeline->slices.start_ns;

	FOR_EACH_AT(const TachoFlow, flow, row, timeline->flows) {
		guint32 first = flow->from, second = flow->to;

		if (first == second || !export_scope_has_slice(scope, first) ||
		    !export_scope_has_slice(scope, second))
			continue;
		if (start_ns[second] < start_ns[first] ||
		    (start_ns[second] == start_ns[first] && second < first)) {
			first = flow->to;
			second = flow->from;
		}
		add_link(links, first, SLICE_LINK_FLOW_BEGIN, row);
		add_link(links, second, SLICE_LINK_FLOW_END, row);
	}
}

static void add_collectives(struct slice_links *links, const TachoTimeline *timeline)
{
	FOR_EACH_AT(const TachoCollective, collective, row, timeline->collectives)
		for (guint32 i = 0; i < collective->n_members; i++)
			add_link(links,
				 g_array_index(timeline->members, guint32,
					       collective->first_member + i),
				 SLICE_LINK_COLLECTIVE, row);
}

void slice_links_init(struct slice_links *links, const struct export_scope *scope)
{
	links->links = g_array_new(FALSE, FALSE, sizeof(struct slice_link));
	links->at = 0;
	add_flows(links, scope);
	add_collectives(links, scope->timeline);
	g_array_sort(links->links, compare_links);
}

void slice_links_release(struct slice_links *links)
{
	g_clear_pointer(&links->links, g_array_unref);
}

const struct slice_link *slice_links_next(struct slice_links *links, guint32 slice, guint32 *ret_n)
{
	const struct slice_link *all = (const struct slice_link *)(gpointer)links->links->data;
	guint32 n_all = links->links->len, first;

	while (links->at < n_all && all[links->at].slice < slice)
		links->at++;
	first = links->at;
	while (links->at < n_all && all[links->at].slice == slice)
		links->at++;
	*ret_n = links->at - first;
	return *ret_n ? all + first : NULL;
}

const TachoCollective *slice_links_membership(const TachoTimeline *timeline,
					      const struct slice_link *links, guint32 n_links)
{
	/* Sorted by kind: a membership is first. */
	if (n_links == 0 || links[0].kind != SLICE_LINK_COLLECTIVE)
		return NULL;
	return &g_array_index(timeline->collectives, TachoCollective, links[0].row);
}
