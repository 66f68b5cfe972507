/* graph_threads: which threads of a rank take part, and their time in pieces.
 *
 * The main thread's time is cut into pieces without gaps. Other threads that ran operations take part in bursts: a
 * burst begins because the main thread came to that point, and where the main thread stood idle at the burst's end
 * it had waited for it (autograd's device threads). Bursts that begin within one piece of the main thread are one,
 * with the host's time between them. */
#include "graph/graph_builder.h"

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "trace/run_share.h"

/* --- which ---------------------------------------------------------------------------------- */

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

guint32 builder_main_track(const TachoTimeline *timeline, guint32 process)
{
	guint32 pid = tacho_timeline_process(timeline, process)->pid;
	guint32 best = TACHO_NONE;

	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
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

static void add_thread(struct graph_builder *builder, guint32 track_index, guint32 rank_index,
		       gboolean is_main)
{
	const TachoTrack *track = tacho_timeline_track(builder->timeline, track_index);
	struct build_thread thread = { .track = track_index,
				       .rank_index = rank_index,
				       .is_main = is_main };
	guint64 *key = g_new(guint64, 1);

	thread.lane = builder_add_lane(builder, rank_index, track_index, track->name, is_main);
	thread.is_own = run_share_owns(builder->timeline, track->process);
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

/* A thread that takes part, as all processes can name it. */
struct found_thread {
	guint32 track, rank_index, is_main;
};

static void pack_thread(GByteArray *bytes, guint32 track, guint32 rank_index, gboolean is_main)
{
	struct found_thread found = { track, rank_index, (guint32)is_main };

	pack_bytes(bytes, &found, sizeof(found));
}

/* Those of a rank, the main one first. */
static gboolean find_threads(struct graph_builder *builder, guint32 rank_index, GByteArray *bytes,
			     GError **error)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoRank *rank = tacho_timeline_rank(timeline, rank_index);
	const struct build_window *window = &builder->windows[rank_index];
	guint32 main_track = builder_main_track(timeline, rank->main_process);

	if (main_track == TACHO_NONE) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "no thread of rank %d was recorded", rank->rank);
		return FALSE;
	}
	pack_thread(bytes, main_track, rank_index, TRUE);
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (i != main_track && track->process == rank->main_process &&
		    track->kind == TACHO_TRACK_THREAD &&
		    runs_work(builder, track, window->from_ns, window->to_ns))
			pack_thread(bytes, i, rank_index, FALSE);
	return TRUE;
}

/* Of each rank in turn, the main one first. */
static gboolean is_next_thread(const struct graph_builder *builder,
			       const struct found_thread *found)
{
	const TachoTimeline *timeline = builder->timeline;
	guint n = builder->threads->len;
	guint32 next = n > 0 ? build_thread_at(builder, n - 1)->rank_index + 1 : 0;

	return found->rank_index < builder->n_ranks && found->track < timeline->tracks->len &&
	       tacho_timeline_track(timeline, found->track)->process ==
		       tacho_timeline_rank(timeline, found->rank_index)->main_process &&
	       (found->is_main ? found->rank_index == next : found->rank_index + 1 == next);
}

static gboolean add_found_threads(guint from, const guint8 *bytes, gsize n_bytes,
				  gpointer builder_pointer)
{
	struct graph_builder *builder = builder_pointer;
	struct packed_bytes packed = { bytes, n_bytes };
	struct found_thread found;

	(void)from;
	while (packed.n_left) {
		if (!unpack_bytes(&packed, &found, sizeof(found)) ||
		    !is_next_thread(builder, &found))
			return FALSE;
		add_thread(builder, found.track, found.rank_index, found.is_main != 0);
	}
	return TRUE;
}

gboolean builder_add_threads(struct graph_builder *builder, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	for (guint32 i = 0; i < builder->n_ranks; i++)
		if (run_share_owns_rank(builder->timeline, i) &&
		    !find_threads(builder, i, bytes, error))
			return FALSE;
	run_share_exchange(builder->timeline, "threads", bytes, add_found_threads, builder);
	if (builder->threads->len > 0 &&
	    build_thread_at(builder, builder->threads->len - 1)->rank_index + 1 == builder->n_ranks)
		return TRUE;
	return run_share_fail(builder->timeline, "threads of some ranks were not told", error);
}

/* --- pieces --------------------------------------------------------------------------------- */

gboolean builder_is_gap(const struct graph_builder *builder, const struct segment *segment)
{
	TachoSliceKind kind;

	if (segment->slice == TACHO_NONE)
		return TRUE;
	kind = builder->timeline->slices.kind[segment->slice];
	return kind != TACHO_SLICE_OP && kind != TACHO_SLICE_KERNEL && kind != TACHO_SLICE_RUNTIME;
}

static void cut_thread(struct graph_builder *builder, struct build_thread *thread)
{
	g_clear_pointer(&thread->segments, g_array_unref);
	g_array_sort(thread->cuts_ns, order_int64);
	if (thread->is_own)
		thread->segments =
			thread_segments_cut(builder->timeline, thread->track, thread->from_ns,
					    thread->to_ns, thread->cuts_ns);
	else
		thread->segments = g_array_new(FALSE, FALSE, sizeof(struct segment));
}

/* The main thread's piece at a moment. */
static guint main_piece(const struct graph_builder *builder, const struct build_thread *thread,
			gint64 time_ns)
{
	const struct build_window *window = &builder->windows[thread->rank_index];

	return thread_segments_from(build_thread_at(builder, window->main_thread)->segments,
				    time_ns + 1);
}

/* When the thread saw collectives through: struct seen_through, by begin. */
struct seen_through {
	gint64 begin_ns, end_ns;
};

static gint compare_seen(gconstpointer a, gconstpointer b)
{
	const struct seen_through *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static GArray *collect_seen(const struct graph_builder *builder, const struct build_thread *thread)
{
	GArray *seen = g_array_new(FALSE, FALSE, sizeof(struct seen_through));
	guint32 tid = tacho_timeline_track(builder->timeline, thread->track)->tid;

	for (guint32 i = 0; tid && i < builder->members->len; i++) {
		const struct build_member *member = build_member_at(builder, i);
		struct seen_through row = { member->begin_ns, member->end_ns };

		if (member->work == TACHO_NONE && member->rank_index == thread->rank_index &&
		    member->end_tid == tid)
			g_array_append_val(seen, row);
	}
	g_array_sort(seen, compare_seen);
	return seen;
}

/* Drop the thread's pieces that are within a collective that it saw through. A thread sees one through at a time. */
static void drop_seen_through(const GArray *seen, struct build_thread *thread)
{
	guint n_kept = 0, next = 0;

	for (guint i = 0; i < thread->segments->len; i++) {
		struct segment segment = *segment_at(thread->segments, i);

		while (next < seen->len &&
		       g_array_index(seen, struct seen_through, next).end_ns <= segment.start_ns)
			next++;
		if (next == seen->len ||
		    g_array_index(seen, struct seen_through, next).begin_ns > segment.start_ns ||
		    g_array_index(seen, struct seen_through, next).end_ns < segment.end_ns)
			*segment_at(thread->segments, n_kept++) = segment;
	}
	g_array_set_size(thread->segments, n_kept);
}

/* The thread went on with the piece as soon as it had seen a collective through. */
static gboolean is_sequel(const GArray *seen, const struct segment *segment)
{
	guint n = ROWS_BEFORE(seen, struct seen_through, row,
			      row->end_ns <= segment->start_ns + BUILD_AT_ONCE_NS);

	return segment->slice != TACHO_NONE && n > 0 &&
	       g_array_index(seen, struct seen_through, n - 1).end_ns >=
		       segment->start_ns - BUILD_AT_ONCE_NS;
}

/* Keep the bursts of a thread beside the main one: drop pieces in which nothing is open, but for
 * those between two bursts that begin in one piece of the main thread. */
static void keep_bursts(struct graph_builder *builder, struct build_thread *thread,
			const GArray *seen)
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
		segment.is_sequel = is_sequel(seen, &segment);
		if (burst == G_MAXUINT) {
			burst = here;
			if (!segment.is_sequel)
				g_array_append_val(main_cuts_ns, segment.start_ns);
		}
		*segment_at(thread->segments, n_kept++) = segment;
	}
	g_array_set_size(thread->segments, n_kept);
}

static void keep_of_side_thread(struct graph_builder *builder, struct build_thread *thread)
{
	g_autoptr(GArray) seen = collect_seen(builder, thread);

	drop_seen_through(seen, thread);
	keep_bursts(builder, thread, seen);
}

static void add_step_cuts(struct graph_builder *builder, struct build_thread *thread)
{
	const GArray *steps = builder->windows[thread->rank_index].steps;

	FOR_EACH(const TachoStep, step, steps) {
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

gboolean builder_ends_burst(const struct build_thread *thread, guint i)
{
	return i + 1 == thread->segments->len || segment_at(thread->segments, i + 1)->start_ns !=
							 segment_at(thread->segments, i)->end_ns;
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

static void join_bursts(struct graph_builder *builder)
{
	FOR_EACH(const struct build_thread, thread, builder->threads)
		for (guint i = 0; !thread->is_main && i < thread->segments->len; i++)
			if (builder_ends_burst(thread, i))
				join_burst(builder, thread, i);
}

void builder_cut_threads(struct graph_builder *builder)
{
	for (guint32 i = 0; i < builder->threads->len; i++) {
		add_step_cuts(builder, build_thread_at(builder, i));
		cut_thread(builder, build_thread_at(builder, i));
	}
	for (guint32 i = 0; i < builder->threads->len; i++)
		if (!build_thread_at(builder, i)->is_main && build_thread_at(builder, i)->is_own)
			keep_of_side_thread(builder, build_thread_at(builder, i));
	for (guint32 i = 0; i < builder->n_ranks; i++) {
		struct build_window *window = &builder->windows[i];

		cut_thread(builder, build_thread_at(builder, window->main_thread));
		pass_over_pauses(window, build_thread_at(builder, window->main_thread));
	}
	join_bursts(builder);
}
