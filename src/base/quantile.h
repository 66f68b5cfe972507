/* quantile: medians and their kin. */
#ifndef TACHO_QUANTILE_H
#define TACHO_QUANTILE_H

#include <glib.h>

/* The `share` quantile (0 to 1) of the gint64 values, between neighbours by linear interpolation;
 * 0 where there are none. Sorts `values`. */
gdouble quantile(GArray *values, gdouble share);

/* The standard error of a median of n values is this times their deviation over the square root of n, as of
 * normally distributed ones: the square root of pi / 2. */
#define MEDIAN_ERROR 1.2533141373155003

/* The median, 0 where there are no values; and how far values are from it, relative to it: 1.4826 times
 * the median distance, which is the standard deviation of normally distributed ones (Rousseeuw and Croux,
 * Alternatives to the Median Absolute Deviation, 1993). What is in `values` is used up. */
gdouble median_with_deviation(GArray *values, gdouble *ret_deviation);

#endif
