/* stepped_curve: the points of a curve that is given by its changes.
 *
 * (1) All changes at one moment give only one value, their result together: two pieces of work that follow each
 *     other without a gap are never counted as two at once.
 * (2) With at most CURVE_POINTS such moments, each is a point. With more, the time from the first to the last is cut
 *     into stretches of the same length, and each has two points: the moment of its highest value, so that no peak is
 *     lost, and its last moment, so that the value between stretches is right. A stretch without a change has none.
 * (3) Where nothing counts, the value is exactly 0: sums of fractions leave no rest. */
#include "analyze/stepped_curve.h"

#include "analyze/selection.h"
#include "base/for_each.h"

enum { STRETCHES = CURVE_POINTS / 2 };

static gint compare_changes(gconstpointer first, gconstpointer second)
{
	const struct curve_change *a = first, *b = second;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* (1), (3) */
static GArray *list_values(const GArray *changes, gint64 begin_ns, gint64 end_ns)
{
	GArray *values = g_array_new(FALSE, FALSE, sizeof(struct curve_point));
	gdouble value = 0;
	gint64 count = 0;

	FOR_EACH(const struct curve_change, change, changes) {
		struct curve_point point = { .time_ns = MAX(change->time_ns, begin_ns) };
		struct curve_point *last;

		if (change->time_ns > end_ns)
			break;
		value += change->by;
		count += change->count;
		point.value = count > 0 ? value : (value = 0);
		last = values->len ? &g_array_index(values, struct curve_point, values->len - 1)
				   : NULL;
		if (last && last->time_ns == point.time_ns)
			*last = point;
		else
			g_array_append_val(values, point);
	}
	return values;
}

static void add_stretch(GArray *points, const struct curve_point *highest,
			const struct curve_point *last)
{
	g_array_append_vals(points, highest, 1);
	if (last != highest)
		g_array_append_vals(points, last, 1);
}

/* (2) */
static GArray *thin(const GArray *values)
{
	GArray *points = g_array_new(FALSE, FALSE, sizeof(struct curve_point));
	const struct curve_point *all = &g_array_index(values, struct curve_point, 0);
	gdouble first_ns = (gdouble)all[0].time_ns;
	gdouble length_ns = (gdouble)all[values->len - 1].time_ns - first_ns + 1;
	const struct curve_point *highest = all;
	guint stretch = 0;

	for (guint i = 0; i < values->len; i++) {
		guint here = (guint)(((gdouble)all[i].time_ns - first_ns) / length_ns * STRETCHES);

		here = MIN(here, STRETCHES - 1);
		if (here != stretch) {
			add_stretch(points, highest, &all[i - 1]);
			highest = &all[i];
		}
		stretch = here;
		if (all[i].value > highest->value)
			highest = &all[i];
	}
	add_stretch(points, highest, &all[values->len - 1]);
	return points;
}

GArray *stepped_curve(GArray *changes, gint64 begin_ns, gint64 end_ns, gboolean *ret_is_thinned)
{
	g_autoptr(GArray) values = NULL;
	gboolean is_thinned;

	g_array_sort(changes, compare_changes);
	values = list_values(changes, begin_ns, end_ns);
	is_thinned = values->len > CURVE_POINTS;
	if (ret_is_thinned)
		*ret_is_thinned = is_thinned;
	return is_thinned ? thin(values) : g_steal_pointer(&values);
}

gboolean curve_range(const struct selection *selection, guint rank_index, gint64 *ret_begin_ns,
		     gint64 *ret_end_ns)
{
	g_autoptr(GArray) stretches = NULL;

	*ret_begin_ns = G_MININT64;
	*ret_end_ns = G_MAXINT64;
	if (!selection_is_by_number(selection))
		return TRUE;
	stretches = selection_stretches(selection, rank_index);
	if (!stretches->len)
		return FALSE;
	*ret_begin_ns = g_array_index(stretches, struct interval, 0).begin_ns;
	*ret_end_ns = g_array_index(stretches, struct interval, stretches->len - 1).end_ns;
	return TRUE;
}

void note_thinned_curves(TachoTable *table, guint n)
{
	if (n)
		tacho_table_note(table,
				 "%u %s more than %u moments, so the table shows the highest and "
				 "the last value of each of %u intervals of time. --steps shows a "
				 "part in more detail.",
				 n, n == 1 ? "curve has" : "curves have", CURVE_POINTS, STRETCHES);
}
