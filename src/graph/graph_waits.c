/* graph_waits: who waited for a collective, and which gradients it carried.
 *
 * Nobody records the wait itself. Three cases are told apart, for the thread that queued it:
 *
 *   in backward     DDP queues a bucket when the last of its gradients has come, in the hook of an
 *                   AccumulateGrad. When the pass is over it goes through the buckets in that
 *                   order, waits for each, and copies its gradients back (Reducer::
 *                   finalize_backward): the gap before the first of these copies had waited.
 *                   Where copies are not seen (gradient_as_bucket_view), the first gap after the
 *                   pass that holds the collective's end had waited; if it ended before the pass
 *                   did, whatever first reads the bucket then, or else the first piece after the
 *                   pass, would have waited had it been later.
 *   at once         the thread began nothing between queuing and the end: it waited. So it did within an
 *                   operation of the pass that is none of DDP's hooks: what autograd calls communicates.
 *   later           the thread stood still until the end, and then went on: it waited. Else the first
 *                   operation after the end that reads the collective's tensor had to wait for it, in
 *                   the gap before it if that holds the end.
 *
 * Collectives of which an importer was told that they carry gradients (Horovod, BytePS) are queued by no hook: theirs is
 * the last pass that had begun, and their inputs are the gradients, each ready when the operation that gave it was over.
 *
 * A worker tells that its collective is over after it has woken who waited; where they share a core,
 * that can be long after. So a collective was over when who waited for it went on, at the latest.
 *
 * A collective of which none holds is waited for by nobody. */
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "graph/graph_builder.h"
#include "trace/region_kind.h"
#include "trace/run_share.h"
#include "trace/tensor_bytes.h"

/* Slices looked at for who reads a tensor.
 * Source: a rule: bounds the time; what waits for a collective is mostly among the next. If wrong, nobody waits for a collective
 * whose reader comes later. */
#define MAX_SEARCH 4096
/* Source: a rule: threads that compute seldom do nothing for half a millisecond, and a thread that is woken runs within 0.2 ms
 * where a core is free. If wrong, host time after a collective's end is held to have waited for it, and moves with it; or a wait
 * stays as long as it was. */
#define MIN_STILL_NS 500000 /* a gap this long before a collective's end ... */
#define STILL_SHARE  10	    /* ... that went on for no more than a tenth of it after the end ... */
#define MAX_WAKE_NS  200000 /* ... or for what waking takes, was a wait */

static gboolean is_work(const TachoTimeline *timeline, guint32 slice)
{
	TachoSliceKind kind = timeline->slices.kind[slice];

	return kind == TACHO_SLICE_OP || kind == TACHO_SLICE_KERNEL;
}

gboolean graph_slice_is_autograd(const TachoTimeline *timeline, guint32 slice)
{
	return (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD) ||
	       region_kind_evaluates(region_kind_of(timeline, slice));
}

/* Whether the slice is autograd's, or below what is. */
static gboolean is_in_backward(const TachoTimeline *timeline, guint32 slice)
{
	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (graph_slice_is_autograd(timeline, slice))
			return TRUE;
	return FALSE;
}

/* First slice of the thread that starts after `time_ns`; its track's end if none. */
static guint32 slice_after(const TachoTimeline *timeline, const struct build_thread *thread,
			   gint64 time_ns)
{
	const TachoTrack *track = tacho_timeline_track(timeline, thread->track);

	return PARTITION_POINT(i, track->first_slice, track->first_slice + track->n_slices,
			       timeline->slices.start_ns[i] <= time_ns);
}

static guint32 end_of_track(const TachoTimeline *timeline, const struct build_thread *thread)
{
	const TachoTrack *track = tacho_timeline_track(timeline, thread->track);

	return track->first_slice + track->n_slices;
}

/* The piece that holds `time_ns`, its end included and its start not; TACHO_NONE: none. */
static guint32 piece_holding(const struct build_thread *thread, gint64 time_ns)
{
	guint next = thread_segments_from(thread->segments, time_ns);

	if (next == 0 || segment_at(thread->segments, next - 1)->end_ns < time_ns)
		return TACHO_NONE;
	return next - 1;
}

static guint32 piece_from(const struct build_thread *thread, gint64 time_ns)
{
	guint next = thread_segments_from(thread->segments, time_ns);

	return next < thread->segments->len ? next : TACHO_NONE;
}

/* --- gradients of a pass -------------------------------------------------------------------- */

static gboolean is_gradient(const TachoTimeline *timeline, guint32 slice)
{
	return (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD) &&
	       region_kind_of(timeline, slice) == REGION_ACCUMULATE;
}

static guint64 gradient_bytes(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor tensor;
	guint64 bytes;

	if (tacho_slice_input(timeline, slice, 0, &tensor) && tensor_bytes(&tensor, &bytes))
		return bytes;
	return 0;
}

/* What a gradient of `slice` weighs in the bucket of `member`, whose numbers may be narrower (a hook that sends halves). */
static guint64 sent_bytes(const TachoTimeline *timeline, guint32 slice,
			  const struct build_member *member)
{
	guint64 bytes = gradient_bytes(timeline, slice);
	TachoTensor gradient, bucket;

	if (!tacho_slice_input(timeline, slice, 0, &gradient) || !gradient.dtype_bytes ||
	    !tacho_slice_input(timeline, member->slice, 0, &bucket) || !bucket.dtype_bytes)
		return bytes;
	return bytes / gradient.dtype_bytes * bucket.dtype_bytes;
}

static void collect_gradients(const TachoTimeline *timeline, struct build_pass *pass)
{
	pass->gradients = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint32 i = pass->first_slice; i < pass->end_slice; i++)
		if (is_gradient(timeline, i))
			g_array_append_val(pass->gradients, i);
}

/* DDP copies each gradient back by itself, bucket by bucket, which is in the order they came. */
static void collect_copies(const TachoTimeline *timeline, const struct build_thread *thread,
			   struct build_pass *pass)
{
	guint32 end = end_of_track(timeline, thread);

	pass->copies = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint32 i = pass->end_slice; i < end && pass->copies->len < pass->gradients->len;
	     i++) {
		guint32 piece;

		if (is_in_backward(timeline, i))
			break;
		if (region_kind_of(timeline, i) != REGION_COPY_GRADIENT)
			continue;
		piece = piece_from(thread, timeline->slices.start_ns[i]);
		if (piece == TACHO_NONE)
			break;
		g_array_append_val(pass->copies, piece);
	}
	if (pass->copies->len != pass->gradients->len)
		g_array_set_size(pass->copies, 0);
}

/* --- backward passes ------------------------------------------------------------------------ */

/* The innermost slice open at `time_ns` (also one that just ends), or TACHO_NONE. */
static guint32 open_at(const TachoTimeline *timeline, const struct build_thread *thread,
		       gint64 time_ns)
{
	guint32 slice = slice_after(timeline, thread, time_ns);

	if (slice == tacho_timeline_track(timeline, thread->track)->first_slice)
		return TACHO_NONE;
	for (slice--; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (tacho_slice_end_ns(timeline, slice) >= time_ns)
			return slice;
	return TACHO_NONE;
}

/* Widen from `slice`, which is autograd's or below it, to where other operations run. */
static struct build_pass find_pass(const TachoTimeline *timeline, const struct build_thread *thread,
				   guint32 slice)
{
	struct build_pass pass = { .begin_ns = G_MAXINT64,
				   .end_ns = G_MININT64,
				   .first_slice = slice,
				   .end_slice = slice + 1 };
	guint32 first = tacho_timeline_track(timeline, thread->track)->first_slice;
	guint32 end = end_of_track(timeline, thread);

	for (guint32 i = slice; i < end; i++) {
		if (is_in_backward(timeline, i)) {
			pass.end_ns = MAX(pass.end_ns, tacho_slice_end_ns(timeline, i));
			pass.end_slice = i + 1;
		} else if (is_work(timeline, i)) {
			break;
		}
	}
	for (guint32 i = slice + 1; i-- > first;) {
		if (is_in_backward(timeline, i)) {
			pass.begin_ns = MIN(pass.begin_ns, timeline->slices.start_ns[i]);
			pass.first_slice = i;
		} else if (is_work(timeline, i)) {
			break;
		}
	}
	return pass;
}

static guint32 add_pass_of(const TachoTimeline *timeline, struct build_thread *thread,
			   guint32 slice)
{
	struct build_pass pass = find_pass(timeline, thread, slice);

	collect_gradients(timeline, &pass);
	collect_copies(timeline, thread, &pass);
	g_array_append_val(thread->passes, pass);
	return thread->passes->len - 1;
}

/* The index of the last pass that had begun by then, or TACHO_NONE. */
static guint32 take_last_pass(const TachoTimeline *timeline, struct build_thread *thread,
			      gint64 queue_ns)
{
	guint32 first = tacho_timeline_track(timeline, thread->track)->first_slice;
	guint32 slice = slice_after(timeline, thread, queue_ns);

	for (guint n = 0; slice-- > first && n < MAX_SEARCH; n++) {
		if (!graph_slice_is_autograd(timeline, slice))
			continue;
		for (guint i = thread->passes->len; i-- > 0;) {
			const struct build_pass *known =
				&g_array_index(thread->passes, struct build_pass, i);

			if (slice >= known->first_slice && slice < known->end_slice)
				return i;
		}
		return add_pass_of(timeline, thread, slice);
	}
	return TACHO_NONE;
}

static TachoPacking packing_of(const TachoTimeline *timeline, guint32 slice)
{
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(timeline, slice, &args);
	return args.n_inputs ? args.packing : TACHO_PACKED_UNKNOWN;
}

/* The index of the thread's pass in which something was queued, or TACHO_NONE: in none. */
static guint32 take_pass(const TachoTimeline *timeline, struct build_thread *thread,
			 const struct build_member *member)
{
	gint64 queue_ns = member->queue_ns;
	guint32 slice;

	if (packing_of(timeline, member->slice) != TACHO_PACKED_UNKNOWN)
		return take_last_pass(timeline, thread, queue_ns);
	for (guint i = thread->passes->len; i-- > 0;) {
		const struct build_pass *known =
			&g_array_index(thread->passes, struct build_pass, i);

		if (queue_ns >= known->begin_ns && queue_ns <= known->end_ns)
			return i;
	}
	slice = open_at(timeline, thread, queue_ns);
	if (slice == TACHO_NONE || !is_in_backward(timeline, slice))
		return TACHO_NONE;
	return add_pass_of(timeline, thread, slice);
}

/* --- the three cases ------------------------------------------------------------------------ */

static guint64 tensor_of(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor tensor;

	return tacho_slice_input(timeline, slice, 0, &tensor) ? tensor.storage : 0;
}

static gboolean reads(const TachoTimeline *timeline, guint32 slice, guint64 storage)
{
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		if (tensor.storage == storage)
			return TRUE;
	return FALSE;
}

/* The first operation to start at or after `from_ns` that reads the collective's tensor. */
static guint32 find_reader(const TachoTimeline *timeline, const struct build_thread *thread,
			   const struct build_member *member, gint64 from_ns)
{
	guint64 storage = tensor_of(timeline, member->slice);
	guint32 end = end_of_track(timeline, thread);
	guint32 slice = slice_after(timeline, thread, from_ns - 1);

	for (guint n = 0; storage != 0 && slice < end && n < MAX_SEARCH; slice++, n++)
		if (timeline->slices.kind[slice] == TACHO_SLICE_OP &&
		    reads(timeline, slice, storage))
			return slice;
	return TACHO_NONE;
}

static void block(struct build_thread *thread, guint32 piece, gint64 until_ns)
{
	struct segment *segment = segment_at(thread->segments, piece);

	segment->blocked_ns = MAX(segment->blocked_ns, until_ns);
}

/* The longest gap from `after_ns` up to the piece `before`, which itself it is if there is none. */
static guint32 longest_gap(const struct graph_builder *builder, const struct build_thread *thread,
			   gint64 after_ns, guint32 before)
{
	guint32 longest = before;
	gint64 longest_ns = 0;

	for (guint32 i = before; i-- > 0;) {
		const struct segment *segment = segment_at(thread->segments, i);

		if (segment->end_ns <= after_ns)
			break;
		if (builder_is_gap(builder, segment) &&
		    segment->end_ns - segment->start_ns > longest_ns) {
			longest = i;
			longest_ns = segment->end_ns - segment->start_ns;
		}
	}
	return longest;
}

/* The bucket's gradients are the next of the pass; where their copies are known, the gap before the
 * first, in which DDP waits and then makes views of the bucket. TACHO_NONE where they are not, or no gradients are of the bucket's size. */
static guint32 wait_before_copies(const struct graph_builder *builder, struct build_thread *thread,
				  struct build_member *member, struct build_pass *pass)
{
	guint64 bucket_bytes = graph_transfer_at(builder->graph, member->transfer)->bytes;
	guint32 first = pass->n_waited, next = first, piece;
	const struct segment *gap;
	guint64 bytes = 0;
	gint64 after_ns;

	while (next < pass->gradients->len && bytes < bucket_bytes)
		bytes += sent_bytes(builder->timeline,
				    g_array_index(pass->gradients, guint32, next++), member);
	if (bytes != bucket_bytes || first >= pass->copies->len)
		return TACHO_NONE;
	after_ns = first == 0 ? pass->end_ns
			      : segment_at(thread->segments,
					   g_array_index(pass->copies, guint32, first - 1))
					->end_ns;
	pass->n_waited = next;
	piece = longest_gap(builder, thread, after_ns, g_array_index(pass->copies, guint32, first));
	gap = segment_at(thread->segments, piece);
	if (!builder_is_gap(builder, gap))
		return piece;
	member->end_ns =
		CLAMP(member->end_ns, member->begin_ns, MAX(gap->end_ns, member->begin_ns));
	if (member->end_ns > gap->start_ns)
		block(thread, piece, MIN(member->end_ns, gap->end_ns));
	return piece;
}

/* The gap before `piece`, which holds the collective's end, if who was in it was woken by the worker before that said that it was over:
 * it had stood still since the collective was queued, and the rest took no longer than waking does. Else `piece`. */
static guint32 woken_before_end(const struct graph_builder *builder,
				const struct build_thread *thread,
				const struct build_member *member, guint32 piece)
{
	for (guint32 i = piece; i-- > 0;) {
		const struct segment *segment = segment_at(thread->segments, i);

		if (member->end_ns - segment->end_ns > MAX_WAKE_NS)
			break;
		if (builder_is_gap(builder, segment) &&
		    segment->end_ns - MAX(segment->start_ns, member->begin_ns) >= MIN_STILL_NS)
			return i;
	}
	return piece;
}

static guint32 wait_after_pass(const struct graph_builder *builder, struct build_thread *thread,
			       struct build_member *member)
{
	struct build_pass *pass = &g_array_index(thread->passes, struct build_pass, member->pass);
	guint32 piece = wait_before_copies(builder, thread, member, pass), reader;

	if (piece != TACHO_NONE)
		return piece;

	if (member->end_ns <= pass->end_ns) {
		reader = find_reader(builder->timeline, thread, member, pass->end_ns);
		if (reader != TACHO_NONE)
			return piece_from(thread, builder->timeline->slices.start_ns[reader]);
		return piece_from(thread, pass->end_ns);
	}
	piece = piece_holding(thread, member->end_ns);
	if (piece == TACHO_NONE)
		return TACHO_NONE;
	if (!builder_is_gap(builder, segment_at(thread->segments, piece)))
		piece = woken_before_end(builder, thread, member, piece);
	if (builder_is_gap(builder, segment_at(thread->segments, piece))) {
		member->end_ns = MIN(member->end_ns, segment_at(thread->segments, piece)->end_ns);
		block(thread, piece, member->end_ns);
		return piece;
	}
	for (piece++; piece < thread->segments->len; piece++)
		if (builder_is_gap(builder, segment_at(thread->segments, piece)))
			return piece;
	return TACHO_NONE;
}

/* Whether the thread began no work while the collective was under way. */
static gboolean waited_at_once(const TachoTimeline *timeline, const struct build_thread *thread,
			       const struct build_member *member)
{
	guint32 end = end_of_track(timeline, thread);

	for (guint32 i = slice_after(timeline, thread, member->queue_ns);
	     i < end && timeline->slices.start_ns[i] < member->end_ns; i++)
		if (is_work(timeline, i))
			return FALSE;
	return TRUE;
}

/* Whether the slice is where autograd accumulates a gradient, and calls DDP's hook. */
static gboolean accumulates(const TachoTimeline *timeline, guint32 slice)
{
	guint32 child = slice + 1;

	return is_gradient(timeline, slice) ||
	       (child < timeline->slices.n && timeline->slices.parent[child] == slice &&
		is_gradient(timeline, child));
}

/* Whether an operation in which the collective was queued, and which is no hook of DDP's, was under way when it was over. */
static gboolean was_within_operation(const TachoTimeline *timeline,
				     const struct build_thread *thread,
				     const struct build_member *member)
{
	gboolean is_within = FALSE;

	if (packing_of(timeline, member->slice) != TACHO_PACKED_UNKNOWN)
		return FALSE;
	for (guint32 slice = open_at(timeline, thread, member->queue_ns); slice != TACHO_NONE;
	     slice = timeline->slices.parent[slice]) {
		if (accumulates(timeline, slice))
			return FALSE;
		is_within |= timeline->slices.kind[slice] == TACHO_SLICE_OP &&
			     region_kind_of(timeline, slice) != REGION_QUEUE &&
			     tacho_slice_end_ns(timeline, slice) > member->end_ns;
	}
	return is_within;
}

/* Whether the thread stood still in the piece until the collective was over, and then went on. */
static gboolean went_on_with_end(const struct graph_builder *builder,
				 const struct build_thread *thread, guint32 piece,
				 const struct build_member *member)
{
	const struct segment *segment;
	gint64 before_ns, after_ns;

	if (piece == TACHO_NONE)
		return FALSE;
	segment = segment_at(thread->segments, piece);
	before_ns = member->end_ns - MAX(segment->start_ns, member->queue_ns);
	after_ns = segment->end_ns - member->end_ns;
	return builder_is_gap(builder, segment) && before_ns >= MIN_STILL_NS &&
	       after_ns <= MAX(before_ns / STILL_SHARE, MAX_WAKE_NS);
}

static guint32 wait_for_tensor(const struct graph_builder *builder, struct build_thread *thread,
			       const struct build_member *member)
{
	guint32 reader = find_reader(builder->timeline, thread, member, member->end_ns);
	guint32 piece = piece_holding(thread, member->end_ns);
	gint64 start_ns;

	if (went_on_with_end(builder, thread, piece, member)) {
		block(thread, piece, member->end_ns);
		return piece;
	}
	if (reader == TACHO_NONE)
		return TACHO_NONE;
	start_ns = builder->timeline->slices.start_ns[reader];
	if (piece != TACHO_NONE && segment_at(thread->segments, piece)->end_ns == start_ns &&
	    builder_is_gap(builder, segment_at(thread->segments, piece))) {
		block(thread, piece, member->end_ns);
		return piece;
	}
	return piece_from(thread, start_ns);
}

static guint32 find_wait(const struct graph_builder *builder, struct build_thread *thread,
			 struct build_member *member)
{
	guint32 piece = piece_holding(thread, member->end_ns);
	gboolean is_in_hook = member->pass != TACHO_NONE &&
			      !was_within_operation(builder->timeline, thread, member);
	gboolean is_at_once = !is_in_hook && waited_at_once(builder->timeline, thread, member);

	if (is_in_hook || (member->pass != TACHO_NONE && !is_at_once))
		return wait_after_pass(builder, thread, member);
	if (is_at_once && piece != TACHO_NONE) {
		block(thread, piece, member->end_ns);
		return piece;
	}
	return wait_for_tensor(builder, thread, member);
}

/* What its worker went on with. */
static void find_sequel(const struct graph_builder *builder, struct build_member *member)
{
	guint32 process = tacho_timeline_track(builder->timeline,
					       builder->timeline->slices.track[member->slice])
				  ->process;
	guint32 thread = builder_find_thread(builder, process, member->end_tid);
	const GArray *segments;
	guint piece;

	if (thread == TACHO_NONE || build_thread_at(builder, thread)->is_main)
		return;
	segments = build_thread_at(builder, thread)->segments;
	piece = thread_segments_from(segments, member->end_ns - BUILD_AT_ONCE_NS);
	if (piece == segments->len || !segment_at(segments, piece)->is_sequel ||
	    segment_at(segments, piece)->start_ns > member->end_ns + BUILD_AT_ONCE_NS)
		return;
	member->sequel_thread = thread;
	member->sequel_segment = piece;
}

static gint compare_queued(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct graph_builder *builder = data;
	const struct build_member *x = build_member_at(builder, *(const guint32 *)a);
	const struct build_member *y = build_member_at(builder, *(const guint32 *)b);

	return ORDER(x->queue_ns, y->queue_ns) ?: ORDER(x->slice, y->slice);
}

void builder_find_waits(struct graph_builder *builder)
{
	g_autofree guint32 *order = g_new(guint32, MAX(builder->members->len, 1u));
	guint64 counts[2] = { 0, 0 }; /* of members: all, and those that nobody waited for */
	guint n = 0;

	for (guint32 i = 0; i < builder->members->len; i++) {
		const struct build_member *member = build_member_at(builder, i);

		if (member->work == TACHO_NONE && build_thread_at(builder, member->thread)->is_own)
			order[n++] = i;
	}
	g_qsort_with_data(order, (gint)n, sizeof(*order), compare_queued, builder);
	for (guint i = 0; i < n; i++) {
		struct build_member *member = build_member_at(builder, order[i]);
		struct build_thread *thread = build_thread_at(builder, member->thread);

		find_sequel(builder, member);
		member->pass = take_pass(builder->timeline, thread, member);
		member->wait_segment = find_wait(builder, thread, member);
		counts[1] +=
			member->wait_segment == TACHO_NONE && member->sequel_segment == TACHO_NONE;
	}
	counts[0] = n;
	run_share_sum(builder->timeline, "waits", counts, G_N_ELEMENTS(counts));
	if (counts[1] > 0)
		graph_note(builder->graph,
			   "for %u of %u collectives the trace does not show who waited for them",
			   (guint)counts[1], (guint)counts[0]);
}

/* --- gradients ------------------------------------------------------------------------------ */

/* The first moment in `cuts_ns`, which is sorted, from `time_ns` on. */
static gint64 first_cut(const GArray *cuts_ns, gint64 time_ns)
{
	guint n = ROWS_BEFORE(cuts_ns, gint64, row, *row < time_ns);

	return n < cuts_ns->len ? g_array_index(cuts_ns, gint64, n) : G_MAXINT64;
}

/* When the bucket that the gradient completes is queued: where it was, or at the end of the hook. */
static gint64 ready_ns(const struct graph_builder *builder, guint32 thread, guint32 slice)
{
	const TachoTimeline *timeline = builder->timeline;
	guint32 parent = timeline->slices.parent[slice];
	gint64 start_ns, end_ns, cut_ns;

	if (parent != TACHO_NONE && graph_slice_is_autograd(timeline, parent))
		slice = parent;
	start_ns = timeline->slices.start_ns[slice];
	end_ns = tacho_slice_end_ns(timeline, slice);
	cut_ns = first_cut(build_thread_at(builder, thread)->cuts_ns, start_ns);
	if (cut_ns <= end_ns)
		return cut_ns;
	return end_ns;
}

static void add_gradient(struct graph_builder *builder, guint32 thread, guint32 slice,
			 guint32 copy_node)
{
	struct graph_gradient gradient = { .bytes = gradient_bytes(builder->timeline, slice),
					   .dtype = "",
					   .copy_node = copy_node };
	TachoTensor tensor;

	if (gradient.bytes > 0 && tacho_slice_input(builder->timeline, slice, 0, &tensor))
		gradient.dtype = tensor.dtype;
	gradient.ready_node =
		builder_node_before(builder, thread, ready_ns(builder, thread, slice));
	g_array_append_val(builder->graph->gradients, gradient);
}

/* A gradient that is an input of a collective. */
struct told_gradient {
	guint32 thread, pass; /* indexes */
	guint32 transfer;
	gint64 ready_ns, queue_ns;
	guint32 input;
	guint64 bytes;
	const gchar *dtype;
	guint8 packing; /* TachoPacking */
};

static gint compare_told(gconstpointer first, gconstpointer second)
{
	const struct told_gradient *a = first, *b = second;

	return ORDER(a->thread, b->thread) ?: ORDER(a->pass, b->pass) ?:
	       ORDER(a->transfer, b->transfer) ?: ORDER(a->ready_ns, b->ready_ns) ?:
	       ORDER(a->input, b->input);
}

/* When what each operation of the pass gave was there: identity -> end, gint64. */
static GHashTable *index_makers(const TachoTimeline *timeline, const struct build_pass *pass)
{
	GHashTable *makers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	TachoTensor tensor;

	for (guint32 slice = pass->first_slice; slice < pass->end_slice; slice++) {
		gint64 end_ns = tacho_slice_end_ns(timeline, slice);

		for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &tensor); i++)
			g_hash_table_replace(makers,
					     g_memdup2(&tensor.storage, sizeof(tensor.storage)),
					     g_memdup2(&end_ns, sizeof(end_ns)));
	}
	return makers;
}

/* The member's inputs; returns how many of them nobody was seen computing. */
static guint add_told(const struct graph_builder *builder, const struct build_member *member,
		      GHashTable *makers, GArray *told)
{
	struct told_gradient gradient = {
		.thread = member->thread,
		.pass = member->pass,
		.transfer = member->transfer,
		.queue_ns = member->queue_ns,
		.packing = (guint8)packing_of(builder->timeline, member->slice),
	};
	TachoTensor tensor;
	guint n_unseen = 0;

	for (guint32 i = 0; tacho_slice_input(builder->timeline, member->slice, i, &tensor); i++) {
		const gint64 *end_ns =
			tensor.storage ? g_hash_table_lookup(makers, &tensor.storage) : NULL;

		gradient.ready_ns = end_ns ? MIN(*end_ns, member->queue_ns) : member->queue_ns;
		gradient.input = i;
		gradient.dtype = tensor.dtype;
		gradient.bytes = 0;
		tensor_bytes(&tensor, &gradient.bytes);
		n_unseen += end_ns == NULL;
		g_array_append_val(told, gradient);
	}
	return n_unseen;
}

/* struct told_gradient, by pass and in the order in which they are taken to have come. */
static GArray *collect_told(struct graph_builder *builder)
{
	GArray *told = g_array_new(FALSE, FALSE, sizeof(struct told_gradient));
	g_autoptr(GHashTable) of_pass =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
	guint64 counts[2] = { 0,
			      0 }; /* of gradients: all, and those that nobody was seen computing */

	FOR_EACH(const struct build_member, member, builder->members) {
		const struct build_pass *pass;
		GHashTable *makers;

		if (member->pass == TACHO_NONE ||
		    packing_of(builder->timeline, member->slice) == TACHO_PACKED_UNKNOWN)
			continue;
		pass = &g_array_index(build_thread_at(builder, member->thread)->passes,
				      struct build_pass, member->pass);
		makers = g_hash_table_lookup(of_pass, pass);
		if (!makers) {
			makers = index_makers(builder->timeline, pass);
			g_hash_table_insert(of_pass, (gpointer)pass, makers);
		}
		counts[1] += add_told(builder, member, makers, told);
	}
	g_array_sort(told, compare_told);
	counts[0] = told->len;
	run_share_sum(builder->timeline, "gradients", counts, G_N_ELEMENTS(counts));
	if (counts[1] > 0)
		graph_note(builder->graph,
			   "the trace does not tell which operations computed %u of %u gradients; "
			   "they count as ready when their collective was queued",
			   (guint)counts[1], (guint)counts[0]);
	return told;
}

/* Where those of the pass begin; of others, behind them all. */
static guint find_told(const GArray *told, guint32 thread, guint32 pass)
{
	return ROWS_BEFORE(told, struct told_gradient, row,
			   (ORDER(row->thread, thread) ?: ORDER(row->pass, pass)) < 0);
}

/* What waits for their buckets comes after all that queued them. */
static void add_told_gradients(struct graph_builder *builder, const GArray *told, guint32 thread,
			       guint32 pass, struct graph_pass *row)
{
	gint64 queue_ns = G_MININT64;
	guint32 piece;

	for (guint i = find_told(told, thread, pass); i < told->len; i++) {
		const struct told_gradient *at = &g_array_index(told, struct told_gradient, i);
		struct graph_gradient gradient = { .bytes = at->bytes,
						   .dtype = at->dtype,
						   .copy_node = TACHO_NONE };

		if (at->thread != thread || at->pass != pass)
			break;
		gradient.ready_node = builder_node_before(builder, thread, at->ready_ns);
		queue_ns = MAX(queue_ns, at->queue_ns);
		row->packing = at->packing;
		row->n_gradients++;
		g_array_append_val(builder->graph->gradients, gradient);
	}
	piece = piece_from(build_thread_at(builder, thread), queue_ns);
	if (row->n_gradients && piece != TACHO_NONE &&
	    segment_at(build_thread_at(builder, thread)->segments, piece)->node > row->finish_node)
		row->finish_node =
			segment_at(build_thread_at(builder, thread)->segments, piece)->node;
}

static void add_pass(struct graph_builder *builder, guint32 thread_index, guint32 pass_index,
		     const GArray *told, guint32 ordinal)
{
	struct build_pass *pass = &g_array_index(build_thread_at(builder, thread_index)->passes,
						 struct build_pass, pass_index);
	const struct build_thread *thread = build_thread_at(builder, thread_index);
	guint32 piece = piece_from(thread, pass->end_ns);
	struct graph_pass row = { .rank_index = thread->rank_index, .ordinal = ordinal };

	pass->ordinal = TACHO_NONE;
	if (piece == TACHO_NONE)
		return;
	pass->ordinal = ordinal;
	row.step = builder_step_at(builder, thread->rank_index, pass->end_ns - 1);
	row.finish_node = segment_at(thread->segments, piece)->node;
	row.first_gradient = builder->graph->gradients->len;
	row.n_gradients = pass->gradients->len;
	for (guint i = 0; i < pass->gradients->len; i++) {
		guint32 copy_node = TACHO_NONE;

		if (pass->copies->len > 0)
			copy_node = segment_at(thread->segments,
					       g_array_index(pass->copies, guint32, i))
					    ->node;
		add_gradient(builder, thread_index, g_array_index(pass->gradients, guint32, i),
			     copy_node);
	}
	if (!row.n_gradients)
		add_told_gradients(builder, told, thread_index, pass_index, &row);
	g_array_append_val(builder->graph->passes, row);
}

static void note_ordinals(struct graph_builder *builder)
{
	FOR_EACH(struct build_member, member, builder->members)
		if (member->pass != TACHO_NONE)
			member->ordinal =
				g_array_index(build_thread_at(builder, member->thread)->passes,
					      struct build_pass, member->pass)
					.ordinal;
}

/* A collective carries gradients of a pass where all its members were queued in it. */
void builder_mark_transfers(struct graph_builder *builder)
{
	g_autofree guint8 *was_seen = g_new0(guint8, MAX(builder->graph->transfers->len, 1u));

	FOR_EACH(const struct build_member, member, builder->members) {
		struct graph_transfer *transfer =
			graph_transfer_at(builder->graph, member->transfer);

		if (!was_seen[member->transfer])
			transfer->pass = member->ordinal;
		else if (transfer->pass != member->ordinal)
			transfer->pass = TACHO_NONE;
		was_seen[member->transfer] = 1;
	}
}

/* The pieces of the call that queued the member, where there was one that did nothing else. */
static void add_call(struct graph_builder *builder, const struct build_member *member)
{
	const TachoTimeline *timeline = builder->timeline;
	const GArray *segments = build_thread_at(builder, member->thread)->segments;
	gint64 end_ns = tacho_slice_end_ns(timeline, member->caller);

	for (guint i = thread_segments_from(segments, timeline->slices.start_ns[member->caller]);
	     i < segments->len && segment_at(segments, i)->end_ns <= end_ns; i++) {
		struct graph_call call = { member->transfer, segment_at(segments, i)->node };

		g_array_append_val(builder->graph->calls, call);
	}
}

static void add_calls(struct graph_builder *builder)
{
	FOR_EACH(const struct build_member, member, builder->members)
		if (member->ordinal != TACHO_NONE && member->caller != TACHO_NONE &&
		    region_kind_of(builder->timeline, member->caller) == REGION_QUEUE &&
		    build_thread_at(builder, member->thread)->is_own)
			add_call(builder, member);
}

void builder_add_gradients(struct graph_builder *builder)
{
	g_autoptr(GArray) told = collect_told(builder);

	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		guint32 ordinal = 0;

		for (guint32 t = 0; t < builder->threads->len; t++) {
			GArray *passes = build_thread_at(builder, t)->passes;

			if (build_thread_at(builder, t)->rank_index != rank)
				continue;
			for (guint i = 0; i < passes->len; i++)
				add_pass(builder, t, i, told, ordinal++);
		}
	}
	note_ordinals(builder);
	add_calls(builder);
}
