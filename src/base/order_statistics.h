/* order_statistics: what a few values say about where others like them lie, whatever their distribution is. */
#ifndef TACHO_ORDER_STATISTICS_H
#define TACHO_ORDER_STATISTICS_H

#include <glib.h>

struct median_bounds {
	guint rank; /* the bounds are the rank-th smallest value and the rank-th greatest, from 1 */
	gdouble median_share; /* probability that the distribution's median is between them */
	gdouble next_share;   /* ... and that one more value is */
};

/* Which of `n_values` > 0 independent values of one continuous distribution to take: those nearest to each other
 * that hold the median with a probability of 95 %, or the least and the greatest where even these do not. */
struct median_bounds median_bounds_of(guint n_values);

/* The median of gdouble values, the mean of the two in the middle; 0 where there are none. Sorts them. */
gdouble median_of_doubles(GArray *values);

#endif
