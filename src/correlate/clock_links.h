/* clock_links: what any two clocks have in common, and the line that follows from it.
 *
 * (1) What is certain decides. Where that bounds two clocks from one side only, what is assumed of sends is added,
 *     then what belongs together by order alone; whatever was added is told by `evidence`.
 * (2) All bounds of two clocks, of whatever kind, enter one fit (clock_pair.h).
 * (3) Where what is certain bounds them from one side only, but others from the other side, that goes before what is
 *     assumed (clock_cycles.h). */
#ifndef TACHO_CLOCK_LINKS_H
#define TACHO_CLOCK_LINKS_H

#include "trace/clock_pair.h"

enum bound_trust {
	BOUND_SURE,
	BOUND_ASSUMED,	/* by what the senders' protocols do */
	BOUND_INFERRED, /* by order, although some is missing */
	N_BOUND_TRUSTS,
};

/* Two clocks that have met; the lower is the reference. */
struct clock_link {
	guint32 reference, own;
	struct clock_pair pairs[N_BOUND_TRUSTS];
	guint8 evidence_of[N_BOUND_TRUSTS]; /* TachoClockEvidence */
	guint8 evidence;		    /* of the fit */
	gboolean has_fit;
	struct clock_fit fit;
};

struct clock_links {
	GPtrArray *all;	       /* struct clock_link, as they were met */
	GHashTable *by_clocks; /* both clocks -> struct clock_link */
};

/* A moment, as one of the clocks tells it. */
struct clock_moment {
	guint32 clock;
	gint64 time_ns;
};

void clock_links_init(struct clock_links *links);
void clock_links_release(struct clock_links *links);

static inline const struct clock_link *clock_link_at(const struct clock_links *links, guint i)
{
	return g_ptr_array_index(links->all, i);
}

/* `before` was before `after`: a bound, unless both are of one clock. `evidence` says what shows it. */
void clock_links_add(struct clock_links *links, const struct clock_moment *before,
		     const struct clock_moment *after, enum bound_trust trust,
		     TachoClockEvidence evidence);

/* Fit each link over the span of its own clock: [spans[own].from_ns, .to_ns], on that clock. */
struct clock_span {
	gint64 from_ns, to_ns;
};
void clock_links_fit(struct clock_links *links, const struct clock_span *spans);

#endif
