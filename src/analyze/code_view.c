/* code_view: operations by the functions of the program that ran them, each call stack a way down.
 *
 * Stacks are those at execution: the program's functions, where a recording has them as slices of their
 * thread. What autograd runs for an operation is under "[backward]" of the function that called it.
 * Where a graph was made first and run later, they are those that made it, if the trace tells them. */
#include <tacho/analyze.h>

#include "analyze/scope_places.h"
#include "trace/run_share.h"

static gboolean has_functions(const TachoTimeline *timeline)
{
	guint64 n_owners = 0; /* that have some */

	for (guint32 i = 0; i < timeline->slices.n && !n_owners; i++)
		n_owners = timeline->slices.kind[i] == TACHO_SLICE_FUNCTION ||
			   (timeline->slices.kind[i] == TACHO_SLICE_OP &&
			    tacho_slice_maker(timeline, i, 0));
	run_share_sum(timeline, "functions", &n_owners, 1);
	return n_owners > 0;
}

TachoTable *tacho_view_code(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = places_view("code", timeline, filter, TRUE);

	if (!has_functions(timeline))
		tacho_table_note(table, "The recording has no functions of the program, so "
					"operations cannot be grouped by code.");
	return table;
}
