#include "correlate/clock_links.h"

#include "base/for_each.h"
#include "correlate/clock_cycles.h"

static void link_free(gpointer link_pointer)
{
	struct clock_link *link = link_pointer;

	for (guint i = 0; i < N_BOUND_TRUSTS; i++)
		clock_pair_release(&link->pairs[i]);
	g_free(link);
}

void clock_links_init(struct clock_links *links)
{
	links->all = g_ptr_array_new_with_free_func(link_free);
	links->by_clocks = g_hash_table_new(NULL, NULL);
}

void clock_links_release(struct clock_links *links)
{
	g_ptr_array_unref(links->all);
	g_hash_table_unref(links->by_clocks);
}

static struct clock_link *link_between(struct clock_links *links, guint32 reference, guint32 own)
{
	gpointer key = GSIZE_TO_POINTER((gsize)reference << 32 | own);
	struct clock_link *link = g_hash_table_lookup(links->by_clocks, key);

	if (!link) {
		link = g_new0(struct clock_link, 1);
		link->reference = reference;
		link->own = own;
		g_ptr_array_add(links->all, link);
		g_hash_table_insert(links->by_clocks, key, link);
	}
	return link;
}

void clock_links_add(struct clock_links *links, const struct clock_moment *before,
		     const struct clock_moment *after, enum bound_trust trust,
		     TachoClockEvidence evidence)
{
	struct clock_link *link;

	if (before->clock == after->clock)
		return;
	link = link_between(links, MIN(before->clock, after->clock),
			    MAX(before->clock, after->clock));
	link->evidence_of[trust] |= evidence;
	if (before->clock == link->own)
		clock_pair_add_before(&link->pairs[trust], before->time_ns, after->time_ns);
	else
		clock_pair_add_after(&link->pairs[trust], after->time_ns, before->time_ns);
}

/* (1): by what is trusted that much, or less. */
static void fit_link(struct clock_link *link, const struct clock_span *span, guint n_trusts)
{
	static const guint8 BESIDE[N_BOUND_TRUSTS] = { 0, TACHO_CLOCK_ASSUMED,
						       TACHO_CLOCK_INFERRED };
	struct clock_pair known = { 0 };

	for (guint i = 0; i < n_trusts && !link->has_fit; i++) {
		if (clock_pair_n_bounds(&link->pairs[i]) == 0)
			continue;
		clock_pair_add_all(&known, &link->pairs[i]);
		link->evidence |= link->evidence_of[i] | BESIDE[i];
		link->has_fit = clock_pair_fit(&known, span->from_ns, span->to_ns, &link->fit);
	}
	clock_pair_release(&known);
}

static void fit_all(struct clock_links *links, const struct clock_span *spans, guint n_trusts)
{
	FOR_EACH_POINTER(struct clock_link, link, links->all)
		if (!link->has_fit)
			fit_link(link, &spans[link->own], n_trusts);
}

void clock_links_fit(struct clock_links *links, const struct clock_span *spans)
{
	fit_all(links, spans, BOUND_SURE + 1);
	clock_cycles_fit(links, spans); /* (3) */
	fit_all(links, spans, N_BOUND_TRUSTS);
}
