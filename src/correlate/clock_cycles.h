/* clock_cycles: clocks that bounds tie from one side only, and from the other side over others.
 *
 *     a sends to b      b's clock is not behind a's by more than ...
 *     b sends to c                                                    each a bound of one side;
 *     c sends to a      a's clock is not behind c's by more than ...  together each has both
 *
 * That one event was before another is a difference constraint on two clocks; where such constraints go round, they bound
 * every two clocks of the circle from both sides, for what a way of them adds up to is a constraint on its ends (Cormen,
 * Leiserson, Rivest, Stein, "Introduction to Algorithms", 24.4).
 *
 * (1) Let an event of p be before one of q at q's time t, and an event of q at s be before one of r at u. When q tells t, r
 *     tells at most u + (t - s), and |t - s| times the drift between two clocks more: one that p's event is before, too. So a
 *     bound of p and r follows from each of p and q and any of q and r; the best of these is taken.
 * (2) A link that has bounds of one side gets those of the other by the shortest way round, the first time with the median of
 *     the nearest five for the best, so that a few false bounds do no harm. What contradicts the outcome is left out the
 *     second time.
 * (3) Links of clocks that bounds of both sides tie already stay as they are. */
#ifndef TACHO_CLOCK_CYCLES_H
#define TACHO_CLOCK_CYCLES_H

#include "correlate/clock_links.h"

/* Fit the links that have no fit, by what is sure, where there is a way round. The others have been fitted. */
void clock_cycles_fit(struct clock_links *links, const struct clock_span *spans);

#endif
