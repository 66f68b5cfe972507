/* quantile: medians and their kin. */
#ifndef TACHO_QUANTILE_H
#define TACHO_QUANTILE_H

#include <glib.h>

/* The `share` quantile (0 to 1) of the gint64 values, between neighbours by linear interpolation;
 * 0 where there are none. Sorts `values`. */
gdouble quantile(GArray *values, gdouble share);

#endif
