/* kernel_op: the op that a kernel works for.
 *
 * A kernel called by an op lies inside it on the same thread; then the parent chain knows the op
 * and no flow is needed. What a device did has its launch in a column, made by whoever read the
 * correlation ids: a LAUNCH flow says the same to viewers, and its op is the innermost one around the
 * launch, or, of a graph's node, around the call that captured it (graph_capture); a launch outside any op (a runtime call of the program's own) is no orphan. What is left are
 * kernels on threads of a pool (OpenMP), which the op's
 * thread woke up: such a kernel gets an inferred flow from the op that was open for all of the
 * kernel's time
 *
 *     on the thread that started the pool's thread, where that is known, or else
 *     on the only thread of the process that had such an op: two are ambiguous, and give none.
 *
 * What then has no op, in a process that has ops, is an orphan and costs trust; of threads, while somebody watched ops: as long as
 * a framework's profiler ran, where marks tell that, or else from the process's first op to its last. */
#include "correlate/correlate_internal.h"

#include "base/for_each.h"
#include "trace/mark_kind.h"
#include "trace/run_share.h"

/* How well two clocks are known together: ours is read before and after the other, some 20 to 100 ns apart. No launch takes so little. */
#define CLOCKS_NS 100

guint32 tacho_kernel_op(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoGraphWork *work;

	if (slice >= slices->n)
		return TACHO_NONE;
	work = tacho_slice_borrow_graph_work(timeline, slice);
	/* a device's slice may have been launched by an op itself */
	if (work && work->capture != TACHO_NONE)
		slice = work->capture;
	else
		slice = slices->launch[slice] != TACHO_NONE ? slices->launch[slice]
							    : slices->parent[slice];
	while (slice != TACHO_NONE && slices->kind[slice] != TACHO_SLICE_OP)
		slice = slices->parent[slice];
	return slice;
}

/* The innermost op of `track` that is open from the kernel's begin to its end. */
static guint32 find_covering_op(const TachoTimeline *timeline, const struct thread_index *threads,
				guint32 track, guint32 kernel)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 slice = thread_index_open_slice(threads, track, slices->start_ns[kernel]);

	while (slice != TACHO_NONE &&
	       (slices->kind[slice] != TACHO_SLICE_OP ||
		tacho_slice_end_ns(timeline, slice) < tacho_slice_end_ns(timeline, kernel)))
		slice = slices->parent[slice];
	return slice;
}

static guint32 find_only_covering_op(const TachoTimeline *timeline,
				     const struct thread_index *threads, GArray *tracks,
				     guint32 kernel)
{
	guint32 found = TACHO_NONE;

	for (guint i = 0; i < tracks->len; i++) {
		guint32 op = find_covering_op(timeline, threads, g_array_index(tracks, guint32, i),
					      kernel);

		if (op != TACHO_NONE && found != TACHO_NONE)
			return TACHO_NONE;
		if (op != TACHO_NONE)
			found = op;
	}
	return found;
}

static guint32 find_pool_op(const TachoTimeline *timeline, const struct thread_index *threads,
			    GArray *op_tracks, guint32 kernel)
{
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[kernel]);
	guint32 parent = TACHO_NONE;

	if (track->parent_tid && track->parent_tid != track->tid)
		parent = thread_index_track(threads, track->process, track->parent_tid,
					    timeline->slices.start_ns[kernel]);
	if (parent != TACHO_NONE)
		return find_covering_op(timeline, threads, parent, kernel);
	return find_only_covering_op(timeline, threads, op_tracks, kernel);
}

struct ops_span {
	gint64 first_ns, last_ns;
};

/* The ops of a process. */
struct process_ops {
	GArray *tracks;	  /* guint32: threads that have any */
	GArray *profiles; /* struct ops_span: while a framework's profiler ran, by time */
	struct ops_span all;
};

static gboolean note_ops(const TachoTimeline *timeline, const TachoTrack *track,
			 struct process_ops *ops)
{
	const TachoSlices *slices = &timeline->slices;
	gboolean has_any = FALSE;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (slices->kind[i] != TACHO_SLICE_OP)
			continue;
		has_any = TRUE;
		ops->all.first_ns = MIN(ops->all.first_ns, slices->start_ns[i]);
		ops->all.last_ns = MAX(ops->all.last_ns, tacho_slice_end_ns(timeline, i));
	}
	return has_any;
}

static void note_profile(struct process_ops *ops, const TachoMark *mark)
{
	struct ops_span span = { mark->time_ns, G_MAXINT64 };
	struct ops_span *last = ops->profiles->len ? &g_array_index(ops->profiles, struct ops_span,
								    ops->profiles->len - 1)
						   : NULL;

	if (mark->second)
		g_array_append_val(ops->profiles, span);
	else if (last)
		last->last_ns = mark->time_ns;
}

/* Whether a thread's ops were watched at the time. */
static gboolean is_watched(const struct process_ops *ops, gint64 time_ns)
{
	FOR_EACH(const struct ops_span, span, ops->profiles)
		if (time_ns >= span->first_ns && time_ns <= span->last_ns)
			return TRUE;
	return !ops->profiles->len && time_ns >= ops->all.first_ns && time_ns <= ops->all.last_ns;
}

static void clear_ops(gpointer data)
{
	struct process_ops *ops = data;

	g_array_unref(ops->tracks);
	g_array_unref(ops->profiles);
}

/* Of each process: struct process_ops. */
static GArray *collect_ops(const TachoTimeline *timeline)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct process_ops));

	g_array_set_clear_func(all, clear_ops);
	for (guint32 i = 0; i < timeline->processes->len; i++) {
		struct process_ops none = {
			.tracks = g_array_new(FALSE, FALSE, sizeof(guint32)),
			.profiles = g_array_new(FALSE, FALSE, sizeof(struct ops_span)),
			.all = { G_MAXINT64, G_MININT64 },
		};

		g_array_append_val(all, none);
	}
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
		struct process_ops *ops;

		if (track->kind != TACHO_TRACK_THREAD || track->process >= all->len)
			continue;
		ops = &g_array_index(all, struct process_ops, track->process);
		if (note_ops(timeline, track, ops))
			g_array_append_val(ops->tracks, i);
	}
	FOR_EACH(const TachoMark, mark, timeline->marks) {
		guint32 process = tacho_timeline_track(timeline, mark->track)->process;

		if (process < all->len && mark_kind_of(timeline, mark) == MARK_PROFILER)
			note_profile(&g_array_index(all, struct process_ops, process), mark);
	}
	return all;
}

/* Which slices already have a flow from an op: bit a slice. */
static guint8 *mark_launched(const TachoTimeline *timeline)
{
	guint8 *is_launched = g_new0(guint8, timeline->slices.n);

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_OP_KERNEL && flow->to < timeline->slices.n)
			is_launched[flow->to] = 1;
	return is_launched;
}

static void report_orphans(TachoTimeline *timeline, const guint64 *n_orphans,
			   const guint32 *first_orphan)
{
	FOR_EACH_AT(const TachoProcess, process, i, timeline->processes)
		if (n_orphans[i])
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_ORPHAN_KERNEL, n_orphans[i],
				"rank %d, process %u: work of the device without a launch call; "
				"the first is %s at %.6f s",
				process->rank, process->pid,
				tacho_slice_name(timeline, first_orphan[i]),
				(gdouble)timeline->slices.start_ns[first_orphan[i]] / 1e9);
}

/* What a process's devices did before they were told to. */
struct early_work {
	guint64 n;
	gint64 most_ns;
	guint32 first;
};

static void note_early(const TachoTimeline *timeline, guint32 slice, struct early_work *early)
{
	const TachoSlices *slices = &timeline->slices;
	gint64 by_ns = slices->start_ns[slices->launch[slice]] - slices->start_ns[slice];

	if (by_ns <= MAX(timeline->resolution_ns, CLOCKS_NS))
		return;
	if (early->n++ == 0)
		early->first = slice;
	early->most_ns = MAX(early->most_ns, by_ns);
}

/* Nothing begins before the call that launched it does: the device's clock is not the host's. */
static void report_early(TachoTimeline *timeline, const struct early_work *early)
{
	FOR_EACH_AT(const TachoProcess, process, i, timeline->processes)
		if (early[i].n)
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_EARLY_KERNEL, early[i].n,
				"rank %d, process %u: work begins up to %.3f us before its launch "
				"call; the first is %s at %.6f s",
				process->rank, process->pid, (gdouble)early[i].most_ns / 1e3,
				tacho_slice_name(timeline, early[i].first),
				(gdouble)timeline->slices.start_ns[early[i].first] / 1e9);
}

void link_kernels(TachoTimeline *timeline, const struct thread_index *threads)
{
	const TachoSlices *slices = &timeline->slices;
	g_autoptr(GArray) all_ops = collect_ops(timeline);
	g_autofree guint8 *is_launched = mark_launched(timeline);
	g_autofree guint64 *n_orphans = g_new0(guint64, timeline->processes->len);
	g_autofree guint32 *first_orphan = g_new0(guint32, timeline->processes->len);
	g_autofree struct early_work *early = g_new0(struct early_work, timeline->processes->len);
	guint first_problem;

	for (guint32 i = 0; i < slices->n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, slices->track[i]);
		guint32 op = TACHO_NONE;
		const struct process_ops *ops;

		if (!run_share_owns(timeline, track->process))
			continue; /* its operations are elsewhere */
		if (slices->launch[i] != TACHO_NONE) {
			add_flow(timeline, TACHO_FLOW_LAUNCH, slices->launch[i], i, TRUE);
			note_early(timeline, i, &early[track->process]);
			continue;
		}
		if (slices->kind[i] != TACHO_SLICE_KERNEL || is_launched[i] ||
		    track->process >= all_ops->len || tacho_kernel_op(timeline, i) != TACHO_NONE)
			continue;
		ops = &g_array_index(all_ops, struct process_ops, track->process);
		if (!ops->tracks->len ||
		    (track->kind == TACHO_TRACK_THREAD && !is_watched(ops, slices->start_ns[i])))
			continue; /* nobody watched ops then: nothing is missing */
		if (track->kind == TACHO_TRACK_THREAD)
			op = find_pool_op(timeline, threads, ops->tracks, i);
		if (op != TACHO_NONE)
			add_flow(timeline, TACHO_FLOW_OP_KERNEL, op, i, FALSE);
		else if (n_orphans[track->process]++ == 0)
			first_orphan[track->process] = i;
	}
	first_problem = timeline->problems->len;
	report_orphans(timeline, n_orphans, first_orphan);
	run_share_problems(timeline, first_problem);
	first_problem = timeline->problems->len;
	report_early(timeline, early);
	run_share_problems(timeline, first_problem);
}
