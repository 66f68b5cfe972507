/* partial_steps: steps of which a part was removed, to keep the recording small (`tacho record --max-size`): whole files of each
 * thread go, the oldest first, so where one thread's records begin others may have none yet, or have had theirs for long. A
 * step that began before all threads of its rank have theirs is incomplete, whoever marked it. */
#include "base/for_each.h"
#include "correlate/correlate_internal.h"

/* From when on all processes of each rank have all their records; to be freed with g_free(). */
static gint64 *find_begins(const TachoTimeline *timeline)
{
	gint64 *begins_ns = g_new0(gint64, timeline->ranks->len + 1);

	for (guint i = 0; i < timeline->ranks->len; i++)
		begins_ns[i] = G_MININT64;
	FOR_EACH(const TachoProcess, process, timeline->processes)
		if (process->is_cut && process->rank_index < timeline->ranks->len)
			begins_ns[process->rank_index] =
				MAX(begins_ns[process->rank_index], process->whole_from_ns);
	return begins_ns;
}

void mark_partial_steps(TachoTimeline *timeline)
{
	g_autofree gint64 *begins_ns = find_begins(timeline);

	FOR_EACH(TachoStep, step, timeline->steps)
		if (step->start_ns < begins_ns[step->rank_index])
			step->is_complete = FALSE;
}
