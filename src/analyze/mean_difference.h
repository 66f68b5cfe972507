/* mean_difference: whether two means differ by more than their spread explains. */
#ifndef TACHO_MEAN_DIFFERENCE_H
#define TACHO_MEAN_DIFFERENCE_H

#include <glib.h>

/* How sure an interval is, and what may be wrong among the differences called significant. */
#define MEAN_DIFFERENCE_LEVEL 0.05

/* What is known of a set of values. All zero: of none. */
struct moments {
	guint64 n;
	gdouble mean;
	gdouble squares; /* sum of squared distances from the mean */
};

void moments_add(struct moments *moments, gdouble value);
/* The same as adding 0 `n` times. */
void moments_add_zeros(struct moments *moments, guint64 n);

struct mean_difference {
	gdouble difference; /* of the second mean from the first */
	gdouble low, high;  /* its 95 % interval; NaN: nothing is known of the spread */
	gdouble p_value;    /* of so large a difference, were there none; NaN: not known */
};

/* Both have values. */
struct mean_difference mean_difference_test(const struct moments *first,
					    const struct moments *second);

/* How many values a side it takes to find a difference as large as this one in four of five trials,
 * where the spread is as measured here; at least 2. 0: not known, or over MEAN_DIFFERENCE_MOST_VALUES. */
#define MEAN_DIFFERENCE_MOST_VALUES 1000
guint mean_difference_values_needed(const struct moments *first, const struct moments *second);

/* Replace p-values of many tests by the smallest rate of false discoveries at which each would count
 * as one; NaN stays. */
void adjust_p_values(gdouble *p_values, guint n);

#endif
