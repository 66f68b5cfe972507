#include "export/collective_times.h"

#include "base/for_each.h"
#include "trace/none_rows.h"

gint64 collective_busy_ns(const TachoTimeline *timeline, const TachoCollective *collective)
{
	gint64 end_ns = G_MININT64;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);

		if (timeline->slices.flags[slice] & TACHO_SLICE_OPEN)
			return 0;
		end_ns = MAX(end_ns, tacho_slice_end_ns(timeline, slice));
	}
	return MAX(end_ns - collective->last_begin_ns, 0);
}

guint32 *collective_of_slices(const TachoTimeline *timeline)
{
	guint32 *of = none_rows_new(timeline->slices.n);

	FOR_EACH_AT(const TachoCollective, collective, row, timeline->collectives)
		for (guint32 i = 0; i < collective->n_members; i++)
			of[g_array_index(timeline->members, guint32,
					 collective->first_member + i)] = row;
	return of;
}
