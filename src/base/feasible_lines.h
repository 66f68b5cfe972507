/* feasible_lines: all straight lines that pass below one set of points and above another.
 *
 * A line over [0, 1] is a point of the plane: its heights at 0 and at 1. Each point that it must pass
 * cuts that plane in half, and what is left is a convex polygon. Only the points on the lower hull of
 * those above, and on the upper hull of those below, cut it, so for n points it takes the sorting,
 * O(n log n), and a cut for each point of the hulls, which are few.
 *
 * Finding a clock's offset and drift in this way is Moon, Skelly, Towsley, "Estimation and Removal
 * of Clock Skew from Network Delay Measurements" (INFOCOM 1999), there with points on one side only. */
#ifndef TACHO_FEASIBLE_LINES_H
#define TACHO_FEASIBLE_LINES_H

#include <glib.h>

struct line_point {
	gdouble at; /* 0 to 1 */
	gdouble height;
};

/* What is left: its centre of mass, and how far from it lines lie at most. */
struct feasible_lines {
	gdouble at_0, at_1; /* heights of the line in the centre */
	gdouble half_width; /* the farthest that a line is from it, at 0 or 1 and so anywhere */
	gdouble inner_from, inner_to; /* the first and the last point ... */
	gdouble inner_half_width;     /* ... and the farthest that a line is between these */
	gdouble slope_half_width;     /* and how far its slope is */
};

/* The lines not above any of `above` (struct line_point), not below any of `below`, each with that
 * much `slack`, and not steeper than `max_slope`. Sorts the arrays. False where there is no such
 * line, or no bound on one side. */
gboolean feasible_lines_find(struct feasible_lines *lines, GArray *above, GArray *below,
			     gdouble slack, gdouble max_slope);

#endif
