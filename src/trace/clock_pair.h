/* clock_pair: what is known of one clock against another, and the straight line that fits it best.
 *
 * `own` times become the reference's: reference = own + correction(own), a straight line over own
 * time. Each pair of events of which the one was certainly before the other, one on each side, is a
 * bound of the correction at a moment:
 *
 *     own event before reference event:   correction(own) <= reference - own
 *     own event after reference event:    correction(own) >= reference - own
 *
 * (1) The line lies between all bounds, in the middle of what they leave (feasible_lines.h). If the
 *     bounds are true and the clocks run at constant rates, the truth is within `uncertainty_ns` of
 *     it everywhere in the span asked for.
 * (2) Where no line keeps all bounds, some are false: a collective was matched with another. Then the
 *     line with the least sum of violations says which: those that it violates are left out, and
 *     counted as contradicted. A sum, as a median, does not care by how much a few are wrong.
 * (3) Up to CLOCK_PAIR_TOLERATED of the bounds may be contradicted. Where more are, it is not a few
 *     mistakes: the uncertainty then grows until it covers all bounds but that share. */
#ifndef TACHO_CLOCK_PAIR_H
#define TACHO_CLOCK_PAIR_H

#include "trace/clock_map.h"

/* Two oscillators, each as good as Ethernet demands of its own (100 ppm: IEEE 802.3). Where the bounds
 * leave the drift open, it is at most so much. */
#define CLOCK_PAIR_MAX_DRIFT  (1.0001 / 0.9999 - 1)
#define CLOCK_PAIR_TOLERATED  0.05
#define CLOCK_PAIR_TOLERATE_N 2 /* or so many, if that is more */

/* correction(own_ns) is at most, or at least, so much. */
struct clock_bound {
	gint64 own_ns, correction_ns;
};

/* Zeroed is empty. */
struct clock_pair {
	GArray *above, *below; /* struct clock_bound */
};

struct clock_fit {
	struct clock_map map;			     /* from own time to the reference's */
	gint64 from_ns, to_ns;			     /* the span, on its own clock ... */
	gint64 inner_from_ns, inner_to_ns;	     /* ... and from the first to the last bound */
	gint64 uncertainty_ns, inner_uncertainty_ns; /* over the span; among the bounds */
	gdouble drift_uncertainty;
	guint32 n_bounds, n_contradicted;
};

void clock_pair_release(struct clock_pair *pair);

/* The event at `own_ns` was before the one at `reference_ns`; and: after it. */
void clock_pair_add_before(struct clock_pair *pair, gint64 own_ns, gint64 reference_ns);
void clock_pair_add_after(struct clock_pair *pair, gint64 own_ns, gint64 reference_ns);

/* Add all bounds of `more`. */
void clock_pair_add_all(struct clock_pair *pair, const struct clock_pair *more);

/* Take away the bounds that the map contradicts by more than the others of their side usually leave; it need not be the
 * truth, but nearly so. Returns how many. */
guint32 clock_pair_drop_false(struct clock_pair *pair, const struct clock_map *map);

guint32 clock_pair_n_bounds(const struct clock_pair *pair);

/* The line for own times from `from_ns` to `to_ns`, widened to the bounds' own. False where there are
 * no bounds on one of the sides, or only false ones: the clock may be anywhere beyond the other.
 * O(n log n). */
gboolean clock_pair_fit(const struct clock_pair *pair, gint64 from_ns, gint64 to_ns,
			struct clock_fit *ret_fit);

/* Whether more bounds are contradicted than a few mistakes explain: (3). */
gboolean clock_fit_is_doubtful(const struct clock_fit *fit);

#endif
