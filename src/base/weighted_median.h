/* weighted_median: the value below and above which half of the weight lies. */
#ifndef TACHO_WEIGHTED_MEDIAN_H
#define TACHO_WEIGHTED_MEDIAN_H

#include <glib.h>

struct weighted {
	gdouble value, weight;
};

/* Sorts the values; 0 where there is none. If two values have half of the weight each, their middle. */
gdouble weighted_median(struct weighted *values, guint n);

#endif
