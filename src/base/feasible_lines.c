#include "base/feasible_lines.h"

#include <math.h>

#include "base/for_each.h"

#define MIN_AREA 1e-9 /* below it a polygon is a line or a point: its corners' mean will do */

/* A line: its heights at 0 and 1. */
struct corner {
	gdouble at_0, at_1;
};

/* a * at_0 + b * at_1 <= most */
struct half_plane {
	gdouble a, b, most;
};

/* --- hulls ----------------------------------------------------------------------------------- */

static gint compare_points(gconstpointer a, gconstpointer b)
{
	const struct line_point *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->height < right->height ? -1 : left->height > right->height;
}

/* Twice the area of the triangle, positive where the way from a over b to c turns left. */
static gdouble turn(const struct line_point *a, const struct line_point *b,
		    const struct line_point *c)
{
	return (b->at - a->at) * (c->height - a->height) -
	       (b->height - a->height) * (c->at - a->at);
}

/* The lower hull (`side` 1) or the upper (-1) of the points, from left to right. */
static GArray *find_hull(GArray *points, gdouble side)
{
	GArray *hull = g_array_new(FALSE, FALSE, sizeof(struct line_point));

	g_array_sort(points, compare_points);
	FOR_EACH(const struct line_point, point, points) {
		while (hull->len >= 2 &&
		       side * turn(&g_array_index(hull, struct line_point, hull->len - 2),
				   &g_array_index(hull, struct line_point, hull->len - 1), point) <=
			       0)
			g_array_set_size(hull, hull->len - 1);
		g_array_append_vals(hull, point, 1);
	}
	return hull;
}

/* --- the polygon ----------------------------------------------------------------------------- */

static gdouble excess(const struct half_plane *plane, const struct corner *corner)
{
	return plane->a * corner->at_0 + plane->b * corner->at_1 - plane->most;
}

static void add_crossing(GArray *polygon, const struct corner *in, gdouble in_excess,
			 const struct corner *out, gdouble out_excess)
{
	gdouble share = in_excess / (in_excess - out_excess);
	struct corner corner = { in->at_0 + share * (out->at_0 - in->at_0),
				 in->at_1 + share * (out->at_1 - in->at_1) };

	g_array_append_val(polygon, corner);
}

/* Cut away what is outside of the half plane: Sutherland and Hodgman, "Reentrant Polygon Clipping",
 * CACM 17 (1974). `room` is for the outcome; the two change places. */
static void cut(GArray **polygon, GArray **room, const struct half_plane *plane)
{
	GArray *from = *polygon, *to = *room;

	g_array_set_size(to, 0);
	FOR_EACH_AT(const struct corner, here, i, from) {
		const struct corner *next =
			&g_array_index(from, struct corner, i + 1 < from->len ? i + 1 : 0);
		gdouble here_excess = excess(plane, here), next_excess = excess(plane, next);

		if (here_excess <= 0)
			g_array_append_vals(to, here, 1);
		if (here_excess <= 0 && next_excess > 0)
			add_crossing(to, here, here_excess, next, next_excess);
		else if (here_excess > 0 && next_excess <= 0)
			add_crossing(to, next, next_excess, here, here_excess);
	}
	*polygon = to;
	*room = from;
}

/* All lines that are not too steep, from well below to well above everything. */
static GArray *all_lines(const GArray *above, const GArray *below, gdouble max_slope)
{
	GArray *polygon = g_array_new(FALSE, FALSE, sizeof(struct corner));
	gdouble most = 0;

	for (guint i = 0; i < above->len; i++)
		most = MAX(most, fabs(g_array_index(above, struct line_point, i).height));
	for (guint i = 0; i < below->len; i++)
		most = MAX(most, fabs(g_array_index(below, struct line_point, i).height));
	most += 2 * max_slope + 1;
	g_array_append_vals(polygon,
			    (const struct corner[]){ { -most, -most - max_slope },
						     { most, most - max_slope },
						     { most, most + max_slope },
						     { -most, -most + max_slope } },
			    4);
	return polygon;
}

/* `sign` 1: lines pass below the points; -1: above them. */
static void cut_by_points(GArray **polygon, GArray **room, const GArray *points, gdouble sign,
			  gdouble slack)
{
	FOR_EACH(const struct line_point, point, points) {
		struct half_plane plane = { sign * (1 - point->at), sign * point->at,
					    sign * point->height + slack };

		cut(polygon, room, &plane);
	}
}

/* --- its centre ------------------------------------------------------------------------------ */

/* Centre of mass: of the lines that are possible, if all are equally likely, their mean. */
static struct corner find_centre(const GArray *polygon)
{
	const struct corner *first = &g_array_index(polygon, struct corner, 0);
	struct corner mean = { 0 }, centre = { 0 };
	gdouble area = 0;

	FOR_EACH_AT(const struct corner, a, i, polygon) {
		const struct corner *b =
			&g_array_index(polygon, struct corner, i + 1 < polygon->len ? i + 1 : 0);
		gdouble a0 = a->at_0 - first->at_0, a1 = a->at_1 - first->at_1;
		gdouble b0 = b->at_0 - first->at_0, b1 = b->at_1 - first->at_1;
		gdouble twice = a0 * b1 - b0 * a1;

		area += twice / 2;
		centre.at_0 += twice * (a0 + b0) / 6;
		centre.at_1 += twice * (a1 + b1) / 6;
		mean.at_0 += a0 / polygon->len;
		mean.at_1 += a1 / polygon->len;
	}
	if (fabs(area) >= MIN_AREA)
		mean = (struct corner){ centre.at_0 / area, centre.at_1 / area };
	return (struct corner){ first->at_0 + mean.at_0, first->at_1 + mean.at_1 };
}

/* First and last of points that are sorted. */
static void find_inner(const GArray *above, const GArray *below, gdouble inner[2])
{
	inner[0] = MIN(g_array_index(above, struct line_point, 0).at,
		       g_array_index(below, struct line_point, 0).at);
	inner[1] = MAX(g_array_index(above, struct line_point, above->len - 1).at,
		       g_array_index(below, struct line_point, below->len - 1).at);
}

static void measure(struct feasible_lines *lines, const GArray *polygon, const gdouble inner[2])
{
	struct corner centre = find_centre(polygon);

	*lines = (struct feasible_lines){ .at_0 = centre.at_0,
					  .at_1 = centre.at_1,
					  .inner_from = inner[0],
					  .inner_to = inner[1] };
	FOR_EACH(const struct corner, corner, polygon) {
		gdouble off_0 = corner->at_0 - centre.at_0, off_1 = corner->at_1 - centre.at_1;

		lines->half_width = MAX(lines->half_width, MAX(fabs(off_0), fabs(off_1)));
		for (guint end = 0; end < 2; end++)
			lines->inner_half_width = MAX(lines->inner_half_width,
						      fabs(off_0 + inner[end] * (off_1 - off_0)));
		lines->slope_half_width = MAX(lines->slope_half_width, fabs(off_1 - off_0));
	}
}

gboolean feasible_lines_find(struct feasible_lines *lines, GArray *above, GArray *below,
			     gdouble slack, gdouble max_slope)
{
	g_autoptr(GArray) above_hull = find_hull(above, 1);
	g_autoptr(GArray) below_hull = find_hull(below, -1);
	GArray *polygon, *room;
	gdouble inner[2];
	gboolean is_found;

	if (above->len == 0 || below->len == 0)
		return FALSE;
	polygon = all_lines(above_hull, below_hull, max_slope);
	room = g_array_new(FALSE, FALSE, sizeof(struct corner));
	cut_by_points(&polygon, &room, above_hull, 1, slack);
	cut_by_points(&polygon, &room, below_hull, -1, slack);
	is_found = polygon->len > 0;
	if (is_found) {
		find_inner(above, below, inner);
		measure(lines, polygon, inner);
	}
	g_array_unref(polygon);
	g_array_unref(room);
	return is_found;
}
