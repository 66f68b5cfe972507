/* device_waits: who waited for a device.
 *
 * A stream waits for an event of another one. Where the trace has the wait (a SYNC slice on the stream, with an
 * EVENT_WAIT flow from the work that the event came with), the work launched next on the stream had waited. Most traces
 * have the calls alone, which name neither stream nor event. Then they are taken to be used as PyTorch uses them: an
 * event is recorded on the stream that its thread last gave work, and the work that a thread launches next after it made
 * a stream wait had waited for the event recorded last on any other stream. What contradicts the times is left out.
 *
 * The kernels of a CUDA graph have one launch, and nothing tells what they wait for. One that begins within a moment of
 * the end of one on another stream, and not so of the end of the one before it on its own, is taken to have waited for
 * it; the first on a stream, for what had ended last.
 *
 * A call waits for
 *
 *     a device          Device, Ctx or Context Synchronize, and what frees its memory: for the last work of every stream
 *     a stream          StreamSynchronize: for the last work of the stream that the SYNC slice is on
 *     an event          EventSynchronize: for the work with which the event came
 *     its own copy      a call that launched a copy and returned after it had ended
 *
 * always as far as launched before it. Where no SYNC slice tells the stream or event, it is the work that ended last while
 * the call waited. The call went on when the work had ended: what it did before, and in waiting, is in no node. */
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "graph/graph_builder.h"
#include "trace/call_kind.h"

/* Clocks of host and device agree to so much; a call that returns sooner had not waited.
 * Source: a rule: profilers align the two clocks to microseconds. If wrong, a wait is left out, or a call waits in the replay
 * that did not. */
#define MAX_CONTRADICTION_NS 5000
/* From the end of a graph's kernel to the begin of one that waited.
 * Source: a rule: devices begin what waits within a graph within a few microseconds. If wrong, a kernel waits for another stream
 * that it did not wait for, or does not where it did; unchanged replays stay as recorded. */
#define MAX_GRAPH_GAP_NS 3000
/* Works looked at for one of another stream.
 * Source: a rule: bounds the time where a graph's kernels are nearly all on one stream. If wrong, a wait for another stream is
 * not seen. */
#define MAX_BESIDE 16

/* --- slices that tell ------------------------------------------------------------------------- */

/* What the SYNC slices of a call say. */
struct told {
	guint32 track;	    /* TACHO_NONE: none */
	guint32 event_work; /* with which the event came, or TACHO_NONE */
};

static GHashTable *collect_events(const struct graph_builder *builder)
{
	GHashTable *from_of = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoFlow, flow, builder->timeline->flows) {
		guint32 work;

		if (flow->kind != TACHO_FLOW_EVENT_WAIT)
			continue;
		work = builder_find_work(builder, flow->from);
		if (work != TACHO_NONE)
			g_hash_table_insert(from_of, GUINT_TO_POINTER(flow->to),
					    GUINT_TO_POINTER(work + 1));
	}
	return from_of;
}

static struct told *take_told(GHashTable *told, guint32 call)
{
	struct told *row = g_hash_table_lookup(told, GUINT_TO_POINTER(call));

	if (!row) {
		row = g_new(struct told, 1);
		*row = (struct told){ TACHO_NONE, TACHO_NONE };
		g_hash_table_insert(told, GUINT_TO_POINTER(call), row);
	}
	return row;
}

/* By call, what the SYNC slices say: struct told. */
static GHashTable *collect_told(const struct graph_builder *builder)
{
	const TachoSlices *slices = &builder->timeline->slices;
	GHashTable *told = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	g_autoptr(GHashTable) from_of = collect_events(builder);

	for (guint32 i = 0; i < slices->n; i++) {
		gpointer from = g_hash_table_lookup(from_of, GUINT_TO_POINTER(i));
		struct told *row;

		if (slices->kind[i] != TACHO_SLICE_SYNC || slices->launch[i] == TACHO_NONE ||
		    tacho_timeline_track(builder->timeline, slices->track[i])->kind !=
			    TACHO_TRACK_STREAM)
			continue;
		row = take_told(told, slices->launch[i]);
		row->track = slices->track[i];
		row->event_work = from ? GPOINTER_TO_UINT(from) - 1 : TACHO_NONE;
	}
	return told;
}

/* --- streams that wait for events ----------------------------------------------------------- */

static void add_event(struct graph_builder *builder, guint32 work, guint32 from)
{
	struct build_event event = { work, from };

	if (build_work_at(builder, from)->stream != build_work_at(builder, work)->stream &&
	    build_work_at(builder, from)->end_ns <= build_work_at(builder, work)->begin_ns)
		g_array_append_val(builder->events, event);
}

/* The stream of a track, or TACHO_NONE. */
static guint32 stream_of_track(const struct graph_builder *builder, guint32 track)
{
	for (guint32 i = 0; i < builder->streams->len; i++)
		if (build_stream_at(builder, i)->track == track)
			return i;
	return TACHO_NONE;
}

/* The work that a stream does first of what was launched from `time_ns` on, or TACHO_NONE. */
static guint32 launched_from(const struct graph_builder *builder, guint32 index, gint64 time_ns)
{
	const struct build_stream *stream = build_stream_at(builder, index);
	guint32 before = builder_launched_before(builder, index, time_ns);
	guint32 next = before == TACHO_NONE ? stream->first_work : before + 1;

	return next < stream->first_work + stream->n_work ? next : TACHO_NONE;
}

static enum call_kind call_of(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_RUNTIME ? call_kind_of(timeline, slice)
								   : CALL_OTHER;
}

/* A call that a thread made, as far as it has to do with streams. */
struct stream_call {
	guint32 thread, slice;
	gint64 begin_ns;
	enum call_kind kind; /* LAUNCH, EVENT_RECORD or EVENT_WAIT */
};

/* What an event was recorded on. */
struct event_record {
	guint32 stream, work;
};

/* What a thread did last. */
struct caller {
	guint32 stream, work; /* that it gave work last, or TACHO_NONE */
	gboolean has_waits;   /* it made a stream wait since */
};

static gint compare_calls(gconstpointer a, gconstpointer b)
{
	const struct stream_call *x = a, *y = b;

	return ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->slice, y->slice);
}

/* Whether `slice` is one of those calls. */
static gboolean is_stream_call(const struct graph_builder *builder, guint32 slice,
			       struct stream_call *call)
{
	if (builder->launches[slice]) {
		call->kind = CALL_LAUNCH;
		return TRUE;
	}
	call->kind = call_of(builder->timeline, slice);
	return call->kind == CALL_EVENT_RECORD || call->kind == CALL_EVENT_WAIT;
}

/* The calls of a rank's threads in the window, in order of time. */
static GArray *collect_calls(const struct graph_builder *builder, guint32 rank_index)
{
	GArray *calls = g_array_new(FALSE, FALSE, sizeof(struct stream_call));

	FOR_EACH_AT(const struct build_thread, thread, t, builder->threads) {
		const TachoTrack *track = tacho_timeline_track(builder->timeline, thread->track);

		if (thread->rank_index != rank_index)
			continue;
		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices;
		     i++) {
			struct stream_call call = { t, i, builder->timeline->slices.start_ns[i],
						    CALL_LAUNCH };

			if (call.begin_ns >= thread->from_ns && call.begin_ns < thread->to_ns &&
			    is_stream_call(builder, i, &call))
				g_array_append_val(calls, call);
		}
	}
	g_array_sort(calls, compare_calls);
	return calls;
}

/* Works by the call that launched them: guint32 in order of the call's slice. */
static gint compare_by_call(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct graph_builder *builder = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	guint32 call_x = build_work_at(builder, x)->call, call_y = build_work_at(builder, y)->call;

	return ORDER(call_x, call_y) ?: ORDER(x, y);
}

static GArray *collect_by_call(const struct graph_builder *builder)
{
	GArray *by_call = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < builder->work->len; i++)
		if (build_work_at(builder, i)->call != TACHO_NONE)
			g_array_append_val(by_call, i);
	g_array_sort_with_data(by_call, compare_by_call, (gpointer)builder);
	return by_call;
}

/* The index of the first work of a call. */
static guint first_of_call(const struct graph_builder *builder, const GArray *by_call, guint32 call)
{
	return ROWS_BEFORE(by_call, guint32, row, build_work_at(builder, *row)->call < call);
}

/* The thread launched `work`, after it had made a stream wait: for the last event of another one. */
static void wait_for_record(struct graph_builder *builder, const GArray *records, guint32 work)
{
	for (guint i = records->len; i-- > 0;) {
		const struct event_record *record = &g_array_index(records, struct event_record, i);

		if (record->stream == build_work_at(builder, work)->stream)
			continue;
		add_event(builder, work, record->work);
		return;
	}
}

static void follow_launch(struct graph_builder *builder, const GArray *by_call,
			  const GArray *records, struct caller *caller, guint32 call)
{
	for (guint i = first_of_call(builder, by_call, call); i < by_call->len; i++) {
		guint32 work = g_array_index(by_call, guint32, i);

		if (build_work_at(builder, work)->call != call)
			break;
		if (caller->has_waits)
			wait_for_record(builder, records, work);
		caller->has_waits = FALSE;
		caller->stream = build_work_at(builder, work)->stream;
		caller->work = work;
	}
}

/* No SYNC slices tell what streams waited for. */
static void infer_events(struct graph_builder *builder, const GArray *by_call, guint32 rank_index)
{
	g_autoptr(GArray) calls = collect_calls(builder, rank_index);
	g_autoptr(GArray) records = g_array_new(FALSE, FALSE, sizeof(struct event_record));
	g_autofree struct caller *callers = g_new(struct caller, MAX(builder->threads->len, 1u));

	for (guint32 t = 0; t < builder->threads->len; t++)
		callers[t] = (struct caller){ TACHO_NONE, TACHO_NONE, FALSE };
	FOR_EACH(const struct stream_call, call, calls) {
		struct caller *caller = &callers[call->thread];
		struct event_record record = { caller->stream, caller->work };

		if (call->kind == CALL_LAUNCH)
			follow_launch(builder, by_call, records, caller, call->slice);
		else if (call->kind == CALL_EVENT_WAIT)
			caller->has_waits = TRUE;
		else if (caller->work != TACHO_NONE)
			g_array_append_val(records, record);
	}
}

/* For each rank, whether SYNC slices tell what its streams wait for. */
static void find_events(struct graph_builder *builder, GHashTable *told, const GArray *by_call)
{
	const TachoTimeline *timeline = builder->timeline;
	g_autofree guint8 *is_told = g_new0(guint8, MAX(builder->n_ranks, 1u));
	guint n_told;

	FOR_EACH_ENTRY(entry, told) {
		const struct told *row = entry.value;
		guint32 call = GPOINTER_TO_UINT(entry.key), stream, work;

		if (call_kind_of(timeline, call) != CALL_EVENT_WAIT)
			continue;
		stream = stream_of_track(builder, row->track);
		if (tacho_slice_process(timeline, call)->rank_index < builder->n_ranks)
			is_told[tacho_slice_process(timeline, call)->rank_index] = 1;
		if (stream == TACHO_NONE || row->event_work == TACHO_NONE)
			continue;
		work = launched_from(builder, stream, timeline->slices.start_ns[call]);
		if (work != TACHO_NONE)
			add_event(builder, work, row->event_work);
	}
	n_told = builder->events->len;
	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		if (!is_told[rank])
			infer_events(builder, by_call, rank);
	if (builder->events->len > n_told)
		graph_note(builder->graph,
			   "the trace does not have which stream waited for which; %u waits are "
			   "inferred from the order of the calls",
			   builder->events->len - n_told);
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const struct build_event *x = a, *y = b;

	return ORDER(x->work, y->work) ?: ORDER(x->from, y->from);
}

/* --- graphs of kernels ------------------------------------------------------------------------ */

/* The last of `by_end` on another stream that had ended by `time_ns`; TACHO_NONE: none. */
static guint32 ended_beside(const struct graph_builder *builder, const GArray *by_end,
			    guint32 stream, gint64 time_ns)
{
	guint n_before =
		ROWS_BEFORE(by_end, guint32, row, build_work_at(builder, *row)->end_ns <= time_ns);

	for (guint n = 0; n_before > 0 && n < MAX_BESIDE; n++) {
		guint32 work = g_array_index(by_end, guint32, --n_before);

		if (build_work_at(builder, work)->stream != stream)
			return work;
	}
	return TACHO_NONE;
}

static gint compare_ends(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct graph_builder *builder = data;
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
	gint64 end_x = build_work_at(builder, x)->end_ns, end_y = build_work_at(builder, y)->end_ns;

	return ORDER(end_x, end_y) ?: ORDER(x, y);
}

/* by_call[from .. to) were launched by one call. */
static void join_graph(struct graph_builder *builder, const GArray *by_call, guint from, guint to)
{
	g_autoptr(GArray) by_end = g_array_new(FALSE, FALSE, sizeof(guint32));

	g_array_append_vals(by_end, &g_array_index(by_call, guint32, from), to - from);
	g_array_sort_with_data(by_end, compare_ends, builder);
	for (guint i = from; i < to; i++) {
		guint32 work = g_array_index(by_call, guint32, i);
		const struct build_work *row = build_work_at(builder, work);
		gboolean is_first = i == from ||
				    g_array_index(by_call, guint32, i - 1) != work - 1 ||
				    build_work_at(builder, work - 1)->stream != row->stream;
		guint32 beside = ended_beside(builder, by_end, row->stream, row->begin_ns);

		if (beside == TACHO_NONE)
			continue;
		if (is_first ||
		    (row->begin_ns - build_work_at(builder, work - 1)->end_ns > MAX_GRAPH_GAP_NS &&
		     row->begin_ns - build_work_at(builder, beside)->end_ns <= MAX_GRAPH_GAP_NS))
			add_event(builder, work, beside);
	}
}

static void join_graphs(struct graph_builder *builder, const GArray *by_call)
{
	for (guint from = 0, to; from < by_call->len; from = to) {
		guint32 first = g_array_index(by_call, guint32, from);

		for (to = from + 1; to < by_call->len; to++)
			if (build_work_at(builder, g_array_index(by_call, guint32, to))->call !=
			    build_work_at(builder, first)->call)
				break;
		if (build_work_at(builder, first)->stream !=
		    build_work_at(builder, g_array_index(by_call, guint32, to - 1))->stream)
			join_graph(builder, by_call, from, to);
	}
}

/* --- calls that wait ------------------------------------------------------------------------ */

/* The piece of the thread in which the call went on, when the work had ended. Where that was before the call
 * began, the call did not wait, but would have, had it come sooner. */
void builder_add_sync(struct graph_builder *builder, guint32 thread_index, guint32 call,
		      guint32 work)
{
	const TachoSlices *slices = &builder->timeline->slices;
	struct build_thread *thread = build_thread_at(builder, thread_index);
	gint64 begin_ns = slices->start_ns[call], end_ns = begin_ns + slices->duration_ns[call];
	gint64 until_ns = build_work_at(builder, work)->end_ns;
	struct build_sync sync = { .thread = thread_index, .work = work };
	guint next;

	if (until_ns > end_ns + MAX_CONTRADICTION_NS)
		return;
	sync.until_ns = MIN(until_ns, end_ns);
	next = thread_segments_from(thread->segments, MAX(sync.until_ns, begin_ns + 1));
	if (next == 0 || segment_at(thread->segments, next - 1)->start_ns < begin_ns ||
	    segment_at(thread->segments, next - 1)->end_ns < sync.until_ns)
		return;
	sync.segment = next - 1;
	segment_at(thread->segments, sync.segment)->blocked_ns =
		MAX(segment_at(thread->segments, sync.segment)->blocked_ns, sync.until_ns);
	g_array_append_val(builder->syncs, sync);
}

/* The last works of the rank's streams, launched before the call; of one device (-1: all). */
static void sync_streams(struct graph_builder *builder, guint32 thread, guint32 call, gint32 device)
{
	gint64 begin_ns = builder->timeline->slices.start_ns[call];

	FOR_EACH_AT(const struct build_stream, stream, i, builder->streams) {
		guint32 work;

		if (stream->rank_index != build_thread_at(builder, thread)->rank_index ||
		    (device >= 0 &&
		     tacho_timeline_track(builder->timeline, stream->track)->device != device))
			continue;
		work = builder_launched_before(builder, i, begin_ns);
		if (work != TACHO_NONE)
			builder_add_sync(builder, thread, call, work);
	}
}

/* The call waited for the one of those that ended last meanwhile. */
static void sync_latest(struct graph_builder *builder, guint32 thread, guint32 call)
{
	gint64 begin_ns = builder->timeline->slices.start_ns[call];
	gint64 end_ns = tacho_slice_end_ns(builder->timeline, call);
	gint64 latest_ns = begin_ns;
	guint32 latest = TACHO_NONE;

	for (guint32 i = 0; i < builder->streams->len; i++) {
		guint32 work;

		if (build_stream_at(builder, i)->rank_index !=
		    build_thread_at(builder, thread)->rank_index)
			continue;
		work = builder_launched_before(builder, i, begin_ns);
		if (work == TACHO_NONE || build_work_at(builder, work)->end_ns > end_ns ||
		    build_work_at(builder, work)->end_ns <= latest_ns)
			continue;
		latest = work;
		latest_ns = build_work_at(builder, work)->end_ns;
	}
	if (latest != TACHO_NONE)
		builder_add_sync(builder, thread, call, latest);
}

static void follow_sync(struct graph_builder *builder, GHashTable *told, guint32 thread,
			guint32 call, enum call_kind kind)
{
	const struct told *row = g_hash_table_lookup(told, GUINT_TO_POINTER(call));
	guint32 stream, work;

	/* freeing memory waits, too: work may still use it */
	if (kind == CALL_DEVICE_SYNC || kind == CALL_FREE) {
		sync_streams(builder, thread, call,
			     row ? tacho_timeline_track(builder->timeline, row->track)->device
				 : -1);
		return;
	}
	if (!row) {
		sync_latest(builder, thread, call);
		return;
	}
	if (kind == CALL_EVENT_SYNC) {
		if (row->event_work != TACHO_NONE)
			builder_add_sync(builder, thread, call, row->event_work);
		return;
	}
	stream = stream_of_track(builder, row->track);
	if (stream == TACHO_NONE)
		return;
	work = builder_launched_before(builder, stream, builder->timeline->slices.start_ns[call]);
	if (work != TACHO_NONE)
		builder_add_sync(builder, thread, call, work);
}

/* A copy that was over when the call that launched it returned: the call had waited for it. */
static void follow_copy(struct graph_builder *builder, const GArray *by_call, guint32 thread,
			guint32 call)
{
	for (guint i = first_of_call(builder, by_call, call); i < by_call->len; i++) {
		guint32 work = g_array_index(by_call, guint32, i);
		const struct build_work *row = build_work_at(builder, work);

		if (row->call != call)
			break;
		if (builder->timeline->slices.kind[row->slice] == TACHO_SLICE_MEMCPY &&
		    row->end_ns <= tacho_slice_end_ns(builder->timeline, call))
			builder_add_sync(builder, thread, call, work);
	}
}

static void find_syncs(struct graph_builder *builder, GHashTable *told, const GArray *by_call)
{
	const TachoTimeline *timeline = builder->timeline;

	FOR_EACH_AT(const struct build_thread, thread, t, builder->threads) {
		const TachoTrack *track = tacho_timeline_track(timeline, thread->track);

		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices;
		     i++) {
			enum call_kind kind;

			if (timeline->slices.start_ns[i] < thread->from_ns ||
			    timeline->slices.start_ns[i] >= thread->to_ns)
				continue;
			if (builder->launches[i])
				follow_copy(builder, by_call, t, i);
			kind = call_of(timeline, i);
			if (call_kind_syncs(kind) || kind == CALL_FREE)
				follow_sync(builder, told, t, i, kind);
		}
	}
}

void builder_find_device_waits(struct graph_builder *builder)
{
	g_autoptr(GHashTable) told = NULL;
	g_autoptr(GArray) by_call = NULL;

	if (builder->work->len == 0)
		return;
	told = collect_told(builder);
	by_call = collect_by_call(builder);
	find_events(builder, told, by_call);
	join_graphs(builder, by_call);
	g_array_sort(builder->events, compare_events);
	find_syncs(builder, told, by_call);
	builder_limit_queues(builder);
}
