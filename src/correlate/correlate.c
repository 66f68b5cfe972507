/* correlate: make a timeline one may trust. The order of work is that of what builds on what:
 *
 *     check_streams            slices
 *     pair_messages            slices
 *     pair_forward_backward    slices, marks
 *     link_kernels             slices, flows that an importer made
 *     link_queued_collectives  slices
 *     match_collectives        slices, marks
 *     link_messages            messages, flows, collectives
 *     find_steps               slices, marks
 *     find_buckets             slices, flows, collectives, steps
 *
 * Each adds rows to its own tables and problems; none changes a slice. All walk the tables in their
 * order, so equal timelines give equal results. */
#include "correlate/correlate_internal.h"

void tacho_correlate(TachoTimeline *timeline)
{
	g_autoptr(thread_index) threads = thread_index_new(timeline);

	check_streams(timeline);
	pair_messages(timeline);
	pair_forward_backward(timeline);
	link_kernels(timeline, threads);
	link_queued_collectives(timeline, threads);
	match_collectives(timeline);
	link_messages(timeline, threads);
	find_steps(timeline);
	find_buckets(timeline);
}

TachoStepSource tacho_step_source(const TachoTimeline *timeline)
{
	return (TachoStepSource)timeline->step_source;
}
