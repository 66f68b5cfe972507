/* stepped_curve: a quantity that rises and falls at moments, as a bounded number of points. */
#ifndef TACHO_STEPPED_CURVE_H
#define TACHO_STEPPED_CURVE_H

#include <tacho/analyze.h>

struct selection;

#define CURVE_POINTS 200 /* at most that many */

struct curve_change {
	gint64 time_ns;
	gdouble by;
	gint32 count; /* 1: something more counts; -1: something less */
};

/* A value holds from its point to the next one. */
struct curve_point {
	gint64 time_ns;
	gdouble value;
};

/* Brings `changes` (struct curve_change) in order of time, and keeps of them what lies in [begin_ns, end_ns]. What
 * changed before then is a change at begin_ns. Returns the points (struct curve_point), the caller's. `ret_is_thinned`
 * tells whether they are fewer than the moments at which the value changed; it may be NULL. */
GArray *stepped_curve(GArray *changes, gint64 begin_ns, gint64 end_ns, gboolean *ret_is_thinned);

/* From where to where a curve of the rank goes: everything, or where steps were asked for by number, from the first of
 * them to the last. FALSE: the rank has none of them. */
gboolean curve_range(const struct selection *selection, guint rank_index, gint64 *ret_begin_ns,
		     gint64 *ret_end_ns);

/* Tell under a table of curves that `n` of them do not have every moment. */
void note_thinned_curves(TachoTable *table, guint n);

#endif
