/* interval_set: a set of moments, kept as intervals of time. */
#ifndef TACHO_INTERVAL_SET_H
#define TACHO_INTERVAL_SET_H

#include <glib.h>

struct interval {
	gint64 begin_ns, end_ns; /* [begin_ns, end_ns) */
};

struct interval_set {
	GArray *intervals; /* struct interval; disjoint and in order once normalized */
};

void interval_set_init(struct interval_set *set);
void interval_set_release(struct interval_set *set);

/* Add [begin_ns, end_ns), in any order; nothing where it is empty. */
void interval_set_add(struct interval_set *set, gint64 begin_ns, gint64 end_ns);
void interval_set_add_all(struct interval_set *set, const struct interval_set *other);
/* Bring the intervals in order and merge those that touch. To be called after adding and before
 * the functions below. */
void interval_set_normalize(struct interval_set *set);

/* Take out what is in `other`; both are normalized, and stay so. */
void interval_set_subtract(struct interval_set *set, const struct interval_set *other);
/* How much of [begin_ns, end_ns) is in the set. */
gint64 interval_set_measure(const struct interval_set *set, gint64 begin_ns, gint64 end_ns);

#endif
