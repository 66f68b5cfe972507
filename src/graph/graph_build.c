/* graph_build: from a correlated timeline to the graph of some of its steps.
 *
 * Each rank's main process is looked at from the begin of the first step chosen to the end of the
 * last. Its main thread's time is cut into pieces without gaps: what runs between operations is
 * work of the host. Other threads that ran operations take part in bursts: a burst begins because
 * the main thread came to that point, and where the main thread stood idle at the burst's end it
 * had waited for it (autograd's device threads). Bursts that begin within one piece of the main
 * thread are one, with the host's time between them.
 *
 * What devices did is beside the threads: device_work.c and its siblings.
 *
 * A piece that had waited begins, in the graph, when what it waited for was over. What the host did
 * before it began to wait cannot be seen and is taken as nothing. */
#include <string.h>

#include "correlate/numbered_steps.h"
#include "graph/graph_builder.h"

static gint compare_times(gconstpointer a, gconstpointer b)
{
	gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

gboolean builder_is_gap(const struct graph_builder *builder, const struct segment *segment)
{
	TachoSliceKind kind;

	if (segment->slice == TACHO_NONE)
		return TRUE;
	kind = builder->timeline->slices.kind[segment->slice];
	return kind != TACHO_SLICE_OP && kind != TACHO_SLICE_KERNEL && kind != TACHO_SLICE_RUNTIME;
}

/* Slices of the track that are operations. */
static guint32 count_ops(const TachoTimeline *timeline, const TachoTrack *track)
{
	guint32 n_ops = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		n_ops += timeline->slices.kind[i] == TACHO_SLICE_OP;
	return n_ops;
}

static gboolean is_busier(const TachoTimeline *timeline, const TachoTrack *track,
			  const TachoTrack *than)
{
	guint32 n_ops = count_ops(timeline, track), n_than = count_ops(timeline, than);

	return n_ops != n_than ? n_ops > n_than : track->n_slices > than->n_slices;
}

/* The thread that trains: the process's first; or else, or where no process has a number, the busiest. */
static guint32 find_main_track(const TachoTimeline *timeline, guint32 process)
{
	guint32 pid = g_array_index(timeline->processes, TachoProcess, process).pid;
	guint32 best = TACHO_NONE;

	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->process != process || track->kind != TACHO_TRACK_THREAD)
			continue;
		if (pid && track->tid == pid && track->n_slices > 0)
			return i;
		if (best == TACHO_NONE ||
		    is_busier(timeline, track, tacho_timeline_track(timeline, best)))
			best = i;
	}
	return best;
}

/* --- steps ---------------------------------------------------------------------------------- */

/* The steps from the `i`th on that all ranks completed, up to a hole that is not of control steps.
 * Returns where to look on. */
static guint take_run(GArray *run, const struct graph_builder *builder, const GArray *steps,
		      guint i, gint64 last)
{
	guint first = i;

	g_array_set_size(run, 0);
	for (; i < steps->len; i++) {
		const struct numbered_step *step = numbered_step_at(steps, i);

		if ((last >= 0 && step->number > last) ||
		    (i > first && step->number != step[-1].number + 1))
			return i;
		if (step->n_recorded == builder->n_ranks)
			g_array_append_val(run, step->number);
		else if (step->n_control != builder->n_ranks)
			return i + 1;
	}
	return i;
}

static void refuse_steps(const struct graph_builder *builder, guint n_seen, gint64 first,
			 gint64 last, GError **error)
{
	if (first >= 0 && first == last)
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "step %" G_GINT64_FORMAT " was not completed by every rank", first);
	else
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "no step that every rank completed (%u ranks, %u steps seen)",
			    builder->n_ranks, n_seen);
}

/* The longest run of steps in the range that all ranks completed. */
static gboolean choose_steps(struct graph_builder *builder, gint64 first, gint64 last,
			     GError **error)
{
	g_autoptr(GArray) steps = numbered_steps(builder->timeline);
	g_autoptr(GArray) run = g_array_new(FALSE, FALSE, sizeof(guint32));
	GArray *best = builder->graph->steps;
	guint i = 0;

	while (i < steps->len && numbered_step_at(steps, i)->number < first)
		i++;
	while (i < steps->len && (last < 0 || numbered_step_at(steps, i)->number <= last)) {
		i = take_run(run, builder, steps, i, last);
		if (run->len <= best->len)
			continue;
		g_array_set_size(best, 0);
		g_array_append_vals(best, run->data, run->len);
	}
	if (best->len == 0)
		refuse_steps(builder, steps->len, first, last, error);
	return best->len > 0;
}

static void set_windows(struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;

	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);
		struct build_window *window = &builder->windows[step->rank_index];

		if (!step->is_complete ||
		    graph_step_index(builder->graph, step->number) == TACHO_NONE)
			continue;
		if (window->steps->len == 0)
			window->from_ns = step->start_ns;
		window->to_ns = step->end_ns;
		g_array_append_val(window->steps, *step);
	}
}

/* A trace of devices without steps, say of a server: all of it is taken as one. */
static gboolean is_one_step(const struct graph_builder *builder, gint64 first, gint64 last)
{
	const TachoTimeline *timeline = builder->timeline;

	if (first >= 0 || last >= 0 || timeline->steps->len > 0)
		return FALSE;
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (builder->launches[i])
			return TRUE;
	return FALSE;
}

/* From the first event of a rank's threads to the last of its main one: what comes after that on other
 * threads nobody waits for. */
static void set_whole_window(struct graph_builder *builder, guint32 rank_index)
{
	const TachoTimeline *timeline = builder->timeline;
	struct build_window *window = &builder->windows[rank_index];
	guint32 process = g_array_index(timeline->ranks, TachoRank, rank_index).main_process;
	guint32 main_track = find_main_track(timeline, process);
	TachoStep step = { .rank_index = rank_index, .is_complete = TRUE };

	window->from_ns = G_MAXINT64;
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 track = timeline->slices.track[i];

		if (tacho_timeline_track(timeline, track)->process != process ||
		    tacho_timeline_track(timeline, track)->kind != TACHO_TRACK_THREAD)
			continue;
		window->from_ns = MIN(window->from_ns, timeline->slices.start_ns[i]);
		if (track == main_track)
			window->to_ns = MAX(window->to_ns, tacho_slice_end_ns(timeline, i));
	}
	window->from_ns = MIN(window->from_ns, window->to_ns);
	step.start_ns = window->from_ns;
	step.end_ns = window->to_ns;
	g_array_append_val(window->steps, step);
	builder->graph->whole_ns += (window->to_ns - window->from_ns) / builder->n_ranks;
}

static gboolean set_range(struct graph_builder *builder, gint64 first, gint64 last, GError **error)
{
	builder->graph->origin_ns = G_MAXINT64;
	if (is_one_step(builder, first, last)) {
		g_array_set_size(builder->graph->steps, 1); /* number 0 */
		for (guint32 i = 0; i < builder->n_ranks; i++)
			set_whole_window(builder, i);
		graph_note(builder->graph,
			   "there are no steps: all that was recorded is taken as one");
	} else if (choose_steps(builder, first, last, error)) {
		set_windows(builder);
		builder_note_left_out(builder, first, last);
	} else {
		return FALSE;
	}
	for (guint32 i = 0; i < builder->n_ranks; i++)
		builder->graph->origin_ns =
			MIN(builder->graph->origin_ns, builder->windows[i].from_ns);
	return TRUE;
}

guint32 builder_step_at(const struct graph_builder *builder, guint32 rank_index, gint64 time_ns)
{
	const GArray *steps = builder->windows[rank_index].steps;
	guint low = 0, high = steps->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(steps, TachoStep, middle).end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == steps->len || g_array_index(steps, TachoStep, low).start_ns > time_ns)
		return TACHO_NONE;
	return g_array_index(steps, TachoStep, low).number;
}

/* --- threads -------------------------------------------------------------------------------- */

static guint64 thread_key(guint32 process, guint32 tid)
{
	return (guint64)process << 32 | tid;
}

guint32 builder_find_thread(const struct graph_builder *builder, guint32 process, guint32 tid)
{
	guint64 key = thread_key(process, tid);
	gpointer index = g_hash_table_lookup(builder->thread_of, &key);

	return index ? GPOINTER_TO_UINT(index) - 1 : TACHO_NONE;
}

/* Whether the thread runs operations or kernels, or gives devices work. */
static gboolean runs_work(const struct graph_builder *builder, const TachoTrack *track,
			  gint64 from_ns, gint64 to_ns)
{
	const TachoTimeline *timeline = builder->timeline;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		TachoSliceKind kind = timeline->slices.kind[i];

		if (timeline->slices.start_ns[i] >= to_ns)
			return FALSE;
		if ((kind == TACHO_SLICE_OP || kind == TACHO_SLICE_KERNEL ||
		     builder->launches[i]) &&
		    timeline->slices.start_ns[i] >= from_ns)
			return TRUE;
	}
	return FALSE;
}

guint32 builder_add_lane(struct graph_builder *builder, guint32 rank_index, guint32 track,
			 guint32 name, gboolean is_main)
{
	struct graph_lane lane = {
		.rank_index = rank_index, .track = track, .name = name, .is_main = is_main
	};

	if (rank_index != TACHO_NONE)
		lane.host = g_array_index(builder->timeline->ranks, TachoRank, rank_index).host;
	g_array_append_val(builder->graph->lanes, lane);
	return builder->graph->lanes->len - 1;
}

static void add_thread(struct graph_builder *builder, guint32 track_index, guint32 rank_index,
		       gboolean is_main)
{
	const TachoTrack *track = tacho_timeline_track(builder->timeline, track_index);
	struct build_thread thread = { .track = track_index,
				       .rank_index = rank_index,
				       .is_main = is_main };
	guint64 *key = g_new(guint64, 1);

	thread.lane = builder_add_lane(builder, rank_index, track_index, track->name, is_main);
	thread.from_ns = builder->windows[rank_index].from_ns;
	thread.to_ns = builder->windows[rank_index].to_ns;
	thread.cuts_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	thread.passes = g_array_new(FALSE, FALSE, sizeof(struct build_pass));
	if (is_main)
		builder->windows[rank_index].main_thread = builder->threads->len;
	g_array_append_val(builder->threads, thread);
	*key = thread_key(track->process, track->tid);
	g_hash_table_insert(builder->thread_of, key, GUINT_TO_POINTER(builder->threads->len));
}

static gboolean add_threads(struct graph_builder *builder, guint32 rank_index, GError **error)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoRank *rank = &g_array_index(timeline->ranks, TachoRank, rank_index);
	const struct build_window *window = &builder->windows[rank_index];
	guint32 main_track = find_main_track(timeline, rank->main_process);

	if (main_track == TACHO_NONE) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "rank %d has no thread that was recorded", rank->rank);
		return FALSE;
	}
	add_thread(builder, main_track, rank_index, TRUE);
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (i != main_track && track->process == rank->main_process &&
		    track->kind == TACHO_TRACK_THREAD &&
		    runs_work(builder, track, window->from_ns, window->to_ns))
			add_thread(builder, i, rank_index, FALSE);
	}
	return TRUE;
}

static void cut_thread(struct graph_builder *builder, struct build_thread *thread)
{
	g_clear_pointer(&thread->segments, g_array_unref);
	g_array_sort(thread->cuts_ns, compare_times);
	thread->segments = thread_segments_cut(builder->timeline, thread->track, thread->from_ns,
					       thread->to_ns, thread->cuts_ns);
}

/* The main thread's piece at a moment. */
static guint main_piece(const struct graph_builder *builder, const struct build_thread *thread,
			gint64 time_ns)
{
	const struct build_window *window = &builder->windows[thread->rank_index];

	return thread_segments_from(build_thread_at(builder, window->main_thread)->segments,
				    time_ns + 1);
}

/* Of a thread beside the main one, keep the bursts: drop pieces in which nothing is open, but for
 * those between two bursts that begin in one piece of the main thread. */
static void keep_bursts(struct graph_builder *builder, struct build_thread *thread)
{
	GArray *main_cuts_ns =
		build_thread_at(builder, builder->windows[thread->rank_index].main_thread)->cuts_ns;
	guint n_kept = 0, burst = G_MAXUINT;

	for (guint i = 0; i < thread->segments->len; i++) {
		struct segment segment = *segment_at(thread->segments, i);
		guint here = main_piece(builder, thread, segment.start_ns);
		gboolean is_idle = segment.slice == TACHO_NONE;

		if (is_idle && (i + 1 == thread->segments->len ||
				main_piece(builder, thread, segment.end_ns) != burst)) {
			burst = G_MAXUINT;
			continue;
		}
		if (burst == G_MAXUINT) {
			burst = here;
			g_array_append_val(main_cuts_ns, segment.start_ns);
		}
		*segment_at(thread->segments, n_kept++) = segment;
	}
	g_array_set_size(thread->segments, n_kept);
}

static void add_step_cuts(struct graph_builder *builder, struct build_thread *thread)
{
	const GArray *steps = builder->windows[thread->rank_index].steps;

	for (guint i = 0; i < steps->len; i++) {
		const TachoStep *step = &g_array_index(steps, TachoStep, i);

		g_array_append_val(thread->cuts_ns, step->start_ns);
		g_array_append_val(thread->cuts_ns, step->end_ns);
	}
}

/* Control steps between two recorded ones: nothing was seen of them, and they take no time. */
static void pass_over_pauses(const struct build_window *window, const struct build_thread *thread)
{
	for (guint i = 1; i < window->steps->len; i++) {
		const TachoStep *step = &g_array_index(window->steps, TachoStep, i);
		guint piece;

		if (step[-1].number + 1 == step->number)
			continue;
		for (piece = thread_segments_from(thread->segments, step[-1].end_ns);
		     piece < thread->segments->len &&
		     segment_at(thread->segments, piece)->start_ns < step->start_ns;
		     piece++)
			segment_at(thread->segments, piece)->blocked_ns =
				segment_at(thread->segments, piece)->end_ns;
	}
}

static void cut_threads(struct graph_builder *builder)
{
	for (guint32 i = 0; i < builder->threads->len; i++) {
		add_step_cuts(builder, build_thread_at(builder, i));
		cut_thread(builder, build_thread_at(builder, i));
	}
	for (guint32 i = 0; i < builder->threads->len; i++)
		if (!build_thread_at(builder, i)->is_main)
			keep_bursts(builder, build_thread_at(builder, i));
	for (guint32 i = 0; i < builder->n_ranks; i++) {
		struct build_window *window = &builder->windows[i];

		cut_thread(builder, build_thread_at(builder, window->main_thread));
		pass_over_pauses(window, build_thread_at(builder, window->main_thread));
	}
}

/* --- nodes ---------------------------------------------------------------------------------- */

static TachoNodeKind node_kind(const struct graph_builder *builder, const struct segment *segment)
{
	if (segment->slice == TACHO_NONE)
		return TACHO_NODE_HOST;
	switch (builder->timeline->slices.kind[segment->slice]) {
	case TACHO_SLICE_OP:
		return TACHO_NODE_OP;
	case TACHO_SLICE_KERNEL:
		return TACHO_NODE_KERNEL;
	case TACHO_SLICE_WAIT:
		return TACHO_NODE_WAIT;
	default:
		return TACHO_NODE_HOST;
	}
}

static void add_start(struct graph_builder *builder, guint32 rank_index)
{
	struct build_window *window = &builder->windows[rank_index];
	struct graph_node node = {
		.kind = TACHO_NODE_START,
		.duration_ns = window->from_ns - builder->graph->origin_ns,
		.begin_ns = 0,
		.slice = TACHO_NONE,
		.lane = build_thread_at(builder, window->main_thread)->lane,
		.step = TACHO_NONE,
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};

	window->start_node = graph_add_node(builder->graph, node);
}

static void add_segment_node(struct graph_builder *builder, const struct build_thread *thread,
			     struct segment *segment)
{
	const TachoTimeline *timeline = builder->timeline;
	struct graph_node node = {
		.kind = node_kind(builder, segment),
		.duration_ns = segment->end_ns - segment->blocked_ns,
		.begin_ns = segment->blocked_ns - builder->graph->origin_ns,
		.name = segment->slice == TACHO_NONE ? 0 : timeline->slices.name[segment->slice],
		.slice = segment->slice,
		.lane = thread->lane,
		.step = builder_step_at(builder, thread->rank_index, segment->start_ns),
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};

	segment->node = graph_add_node(builder->graph, node);
}

guint32 builder_node_before(const struct graph_builder *builder, guint32 index, gint64 time_ns)
{
	const struct build_thread *thread = build_thread_at(builder, index);
	const struct build_window *window = &builder->windows[thread->rank_index];
	guint next = thread_segments_from(thread->segments, time_ns);

	if (next > 0)
		return segment_at(thread->segments, next - 1)->node;
	if (!thread->is_main)
		return builder_node_before(builder, window->main_thread, time_ns);
	return window->start_node;
}

static void chain_main(struct graph_builder *builder, const struct build_thread *thread)
{
	guint32 before = builder->windows[thread->rank_index].start_node;

	for (guint i = 0; i < thread->segments->len; i++) {
		guint32 node = segment_at(thread->segments, i)->node;

		graph_add_edge(builder->graph, before, node, TACHO_EDGE_PROGRAM);
		before = node;
	}
}

/* The burst that ends with piece `last`: the main thread's piece that stood idle over its end had
 * waited for it. */
static void join_burst(struct graph_builder *builder, const struct build_thread *thread, guint last)
{
	struct build_thread *main_thread =
		build_thread_at(builder, builder->windows[thread->rank_index].main_thread);
	gint64 end_ns = segment_at(thread->segments, last)->end_ns;
	guint next = thread_segments_from(main_thread->segments, end_ns);
	struct segment *piece;

	if (next == 0)
		return;
	piece = segment_at(main_thread->segments, next - 1);
	if (end_ns <= piece->end_ns && builder_is_gap(builder, piece))
		piece->blocked_ns = MAX(piece->blocked_ns, end_ns);
}

static gboolean ends_burst(const struct build_thread *thread, guint i)
{
	return i + 1 == thread->segments->len || segment_at(thread->segments, i + 1)->start_ns !=
							 segment_at(thread->segments, i)->end_ns;
}

static void join_bursts(struct graph_builder *builder)
{
	for (guint32 t = 0; t < builder->threads->len; t++) {
		const struct build_thread *thread = build_thread_at(builder, t);

		for (guint i = 0; !thread->is_main && i < thread->segments->len; i++)
			if (ends_burst(thread, i))
				join_burst(builder, thread, i);
	}
}

static void chain_bursts(struct graph_builder *builder, const struct build_thread *thread)
{
	guint32 main_index = builder->windows[thread->rank_index].main_thread;
	const struct build_thread *main_thread = build_thread_at(builder, main_index);

	for (guint i = 0; i < thread->segments->len; i++) {
		const struct segment *segment = segment_at(thread->segments, i);
		guint next;

		if (i > 0)
			graph_add_edge(builder->graph, segment_at(thread->segments, i - 1)->node,
				       segment->node, TACHO_EDGE_PROGRAM);
		if (i == 0 || ends_burst(thread, i - 1))
			graph_add_edge(builder->graph,
				       builder_node_before(builder, main_index, segment->start_ns),
				       segment->node, TACHO_EDGE_THREAD);
		next = thread_segments_from(main_thread->segments, segment->end_ns);
		if (!ends_burst(thread, i) || next == 0)
			continue;
		if (segment_at(main_thread->segments, next - 1)->blocked_ns >= segment->end_ns &&
		    segment_at(main_thread->segments, next - 1)->start_ns < segment->end_ns)
			graph_add_edge(builder->graph, segment->node,
				       segment_at(main_thread->segments, next - 1)->node,
				       TACHO_EDGE_THREAD);
	}
}

static void add_thread_nodes(struct graph_builder *builder)
{
	for (guint32 i = 0; i < builder->n_ranks; i++)
		add_start(builder, i);
	for (guint32 t = 0; t < builder->threads->len; t++) {
		const struct build_thread *thread = build_thread_at(builder, t);

		for (guint i = 0; i < thread->segments->len; i++)
			add_segment_node(builder, thread, segment_at(thread->segments, i));
	}
	for (guint32 t = 0; t < builder->threads->len; t++)
		if (build_thread_at(builder, t)->is_main)
			chain_main(builder, build_thread_at(builder, t));
		else
			chain_bursts(builder, build_thread_at(builder, t));
}

static guint32 add_member_node(struct graph_builder *builder, const struct build_member *member,
			       guint32 lane, TachoNodeKind kind, gint64 begin_ns,
			       gint64 duration_ns)
{
	struct graph_node node = {
		.kind = kind,
		.duration_ns = MAX(duration_ns, 0),
		.begin_ns = begin_ns - builder->graph->origin_ns,
		.name = builder->timeline->slices.name[member->slice],
		.slice = member->slice,
		.lane = lane,
		.step = builder_step_at(builder, member->rank_index, member->queue_ns),
		.transfer = member->transfer,
		.pool = member->pool,
	};

	return graph_add_node(builder->graph, node);
}

static void add_transfer_node(struct graph_builder *builder, guint32 index, guint32 lane)
{
	struct graph_transfer *transfer = graph_transfer_at(builder->graph, index);
	struct graph_node node = {
		.kind = TACHO_NODE_TRANSFER,
		.duration_ns = transfer->end_ns - transfer->begin_ns,
		.begin_ns = transfer->begin_ns - builder->graph->origin_ns,
		.name = transfer->name,
		.slice = TACHO_NONE,
		.lane = lane,
		.step = transfer->step,
		.transfer = index,
		.pool = TACHO_NONE,
	};

	transfer->node = graph_add_node(builder->graph, node);
}

/* A lane a rank for its part in collectives, and one for the wires; returns the first. */
static guint32 add_communication_lanes(struct graph_builder *builder)
{
	guint32 first = builder->graph->lanes->len;

	for (guint32 i = 0; i < builder->n_ranks; i++)
		builder_add_lane(builder, i, TACHO_NONE,
				 tacho_timeline_intern(builder->timeline, "communication", -1),
				 FALSE);
	builder_add_lane(builder, TACHO_NONE, TACHO_NONE,
			 tacho_timeline_intern(builder->timeline, "wires", -1), FALSE);
	return first;
}

static void connect_member(struct graph_builder *builder, struct build_member *member, guint32 lane)
{
	const struct graph_transfer *transfer = graph_transfer_at(builder->graph, member->transfer);
	TachoGraph *graph = builder->graph;

	member->queue_node = add_member_node(builder, member, lane, TACHO_NODE_QUEUE,
					     member->queue_ns, member->begin_ns - member->free_ns);
	graph_add_edge(graph, builder_node_before(builder, member->thread, member->queue_ns),
		       member->queue_node, TACHO_EDGE_QUEUE);
	graph_add_edge(graph, member->queue_node, transfer->node, TACHO_EDGE_TRANSFER);
	if (member->is_eager)
		member->complete_node =
			add_member_node(builder, member, lane, TACHO_NODE_COMPLETE,
					member->begin_ns, member->end_ns - member->begin_ns);
	else
		member->complete_node =
			add_member_node(builder, member, lane, TACHO_NODE_COMPLETE,
					transfer->end_ns, member->end_ns - transfer->end_ns);
	graph_add_edge(graph, member->is_eager ? member->queue_node : transfer->node,
		       member->complete_node, TACHO_EDGE_TRANSFER);
	if (member->wait_segment != TACHO_NONE)
		graph_add_edge(graph, member->complete_node,
			       segment_at(build_thread_at(builder, member->thread)->segments,
					  member->wait_segment)
				       ->node,
			       TACHO_EDGE_WAIT);
}

static void add_collective_nodes(struct graph_builder *builder)
{
	guint32 first_lane = add_communication_lanes(builder);

	for (guint32 i = 0; i < builder->graph->transfers->len; i++)
		add_transfer_node(builder, i, first_lane + builder->n_ranks);
	for (guint32 i = 0; i < builder->members->len; i++) {
		struct build_member *member = build_member_at(builder, i);

		if (member->work == TACHO_NONE)
			connect_member(builder, member, first_lane + member->rank_index);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

static void note_what_is_left_out(struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;
	guint n_apart = 0;

	for (guint i = 0; i < timeline->clocks->len; i++)
		n_apart +=
			g_array_index(timeline->clocks, TachoClock, i).state == TACHO_CLOCK_APART;
	if (n_apart > 0)
		graph_note(builder->graph,
			   "%u clocks could not be aligned with the first rank's: their times are "
			   "taken as they were recorded",
			   n_apart);
	if (timeline->expected_ranks > (gint64)builder->n_ranks)
		graph_note(builder->graph, "only %u of %d ranks were recorded", builder->n_ranks,
			   timeline->expected_ranks);
}

static gboolean build(struct graph_builder *builder, gint64 first_step, gint64 last_step,
		      GError **error)
{
	if (builder->n_ranks == 0) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "the run has no ranks");
		return FALSE;
	}
	builder_find_launches(builder);
	if (!set_range(builder, first_step, last_step, error))
		return FALSE;
	for (guint32 i = 0; i < builder->n_ranks; i++)
		if (!add_threads(builder, i, error))
			return FALSE;
	builder_add_work(builder);
	builder_add_collectives(builder);
	cut_threads(builder);
	join_bursts(builder);
	builder_find_waits(builder);
	builder_find_device_waits(builder);
	builder_time_collectives(builder);
	add_thread_nodes(builder);
	add_collective_nodes(builder);
	builder_add_device_nodes(builder);
	builder_add_gradients(builder);
	builder_measure_wires(builder);
	builder_cost_transfers(builder, 0, 0);
	if (builder->timeline->hops->len > 0)
		builder_unfold_collectives(builder);
	else
		builder_take_contention(builder);
	note_what_is_left_out(builder);
	graph_renumber(builder->graph);
	return graph_freeze(builder->graph, error);
}

static void release_thread(struct build_thread *thread)
{
	g_array_unref(thread->cuts_ns);
	for (guint i = 0; i < thread->passes->len; i++) {
		g_array_unref(g_array_index(thread->passes, struct build_pass, i).gradients);
		g_array_unref(g_array_index(thread->passes, struct build_pass, i).copies);
	}
	g_array_unref(thread->passes);
	g_clear_pointer(&thread->segments, g_array_unref);
}

static void init_devices(struct graph_builder *builder)
{
	builder->launches = g_new0(guint8, MAX(builder->timeline->slices.n, 1u));
	builder->streams = g_array_new(FALSE, FALSE, sizeof(struct build_stream));
	builder->work = g_array_new(FALSE, FALSE, sizeof(struct build_work));
	builder->events = g_array_new(FALSE, FALSE, sizeof(struct build_event));
	builder->syncs = g_array_new(FALSE, FALSE, sizeof(struct build_sync));
	builder->work_of = g_hash_table_new(NULL, NULL);
}

static void release_devices(struct graph_builder *builder)
{
	g_free(builder->launches);
	g_array_unref(builder->streams);
	g_array_unref(builder->work);
	g_array_unref(builder->events);
	g_array_unref(builder->syncs);
	g_hash_table_unref(builder->work_of);
}

TachoGraph *tacho_graph_build(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
			      GError **error)
{
	g_autoptr(TachoGraph) graph = graph_new(timeline);
	g_autoptr(GArray) threads = g_array_new(FALSE, FALSE, sizeof(struct build_thread));
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(struct build_member));
	g_autoptr(GHashTable) thread_of =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autofree struct build_window *windows =
		g_new0(struct build_window, MAX(timeline->ranks->len, 1u));
	struct graph_builder builder = { .timeline = timeline,
					 .graph = graph,
					 .n_ranks = timeline->ranks->len,
					 .windows = windows,
					 .threads = threads,
					 .members = members,
					 .thread_of = thread_of };
	gboolean is_built;

	for (guint32 i = 0; i < builder.n_ranks; i++)
		windows[i].steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));
	init_devices(&builder);
	is_built = build(&builder, first_step, last_step, error);
	release_devices(&builder);
	for (guint32 i = 0; i < builder.n_ranks; i++)
		g_array_unref(windows[i].steps);
	for (guint32 i = 0; i < threads->len; i++)
		release_thread(build_thread_at(&builder, i));
	return is_built ? g_steal_pointer(&graph) : NULL;
}
