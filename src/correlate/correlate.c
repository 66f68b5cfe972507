/* correlate: make a timeline one may trust. The order of work is that of what builds on what:
 *
 *     check_streams            slices
 *     pair_messages            slices
 *     pair_requests            slices
 *     pair_forward_backward    slices, marks
 *     check_launches           slices
 *     link_graph_work          slices, rows that an importer made
 *     link_kernels             slices, flows that an importer made, graphs' work
 *     end_chained_collectives  slices
 *     link_queued_collectives  slices
 *     settle_hosts             slices, marks, what queued a collective
 *     align_clocks             slices, marks, flows of messages and of what queued a collective
 *     match_collectives        slices, marks
 *     pair_sends               slices, marks, collectives
 *     check_alignment          collectives
 *     link_messages            messages, flows, collectives
 *     find_steps               slices, marks
 *     mark_partial_steps       steps
 *     find_buckets             slices, flows, collectives, steps
 *     check_content            all that can have been recorded
 *
 * Each adds rows to its own tables and problems; none changes a slice, but that end_chained_collectives sets ends of
 * collectives that were told too late, and align_clocks moves all times of a host: what compares times of different ranks
 * comes after it, and no time is remembered across it. All walk the tables in their order, so equal timelines give equal
 * results.
 *
 * Where several processes make one report (run_share.h), what stays within a process is found by its owner, and what it
 * found wrong is told to all; what is between ranks, all find alike. */
#include "correlate/correlate_internal.h"

#include "correlate/graph_capture.h"
#include "trace/run_share.h"

/* Stages that look at what the owner of a process has: their problems are those of all owners. */
static void correlate_own(TachoTimeline *timeline, void (*stage)(TachoTimeline *timeline))
{
	guint first = timeline->problems->len;

	stage(timeline);
	run_share_problems(timeline, first);
}

/* What holds within a process, whatever its clock says, and what the clocks are aligned by. */
static void correlate_each(TachoTimeline *timeline)
{
	g_autoptr(thread_index) threads = thread_index_new(timeline);

	correlate_own(timeline, check_streams);
	pair_messages(timeline);
	pair_requests(timeline);
	pair_forward_backward(timeline);
	correlate_own(timeline, check_launches);
	link_graph_work(timeline, threads);
	link_kernels(timeline, threads);
	g_array_unref(end_chained_collectives(timeline, threads));
	link_queued_collectives(timeline, threads);
}

static void correlate_all(TachoTimeline *timeline)
{
	g_autoptr(thread_index) threads = thread_index_new(timeline);

	match_collectives(timeline, NULL);
	pair_sends(timeline, NULL);
	check_alignment(timeline);
	link_messages(timeline, threads);
	find_steps(timeline);
	mark_partial_steps(timeline);
	find_buckets(timeline);
}

/* Where nothing can be wrong, nothing can be believed either. */
static void check_content(TachoTimeline *timeline)
{
	guint64 n_rows = (guint64)timeline->slices.n + timeline->memory->len +
			 timeline->samples->len + timeline->marks->len + timeline->chunks->len;

	run_share_sum(timeline, "rows", &n_rows, 1);
	if (n_rows)
		return;
	tacho_timeline_add_problem(timeline, TACHO_PROBLEM_NOTHING_RECORDED, 1,
				   "no operation, call, kernel, message, memory event or counter "
				   "is in it: nothing can be concluded");
}

void tacho_correlate(TachoTimeline *timeline)
{
	if (timeline->is_correlated)
		return;
	timeline->n_read_flows = timeline->flows->len;
	timeline->n_read_problems = timeline->problems->len;
	correlate_each(timeline);
	settle_hosts(timeline);
	align_clocks(timeline);
	correlate_all(timeline);
	check_content(timeline);
	run_share_strings(timeline);
}

TachoStepSource tacho_step_source(const TachoTimeline *timeline)
{
	return (TachoStepSource)timeline->step_source;
}
