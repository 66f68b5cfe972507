/* device_work: what the ranks' devices did in the steps: the slices of their streams that are work.
 *
 * Work belongs to the step in which it was launched, for a device runs behind its host. What was launched
 * before the first step and had not ended when that began is there too, the rest of it: the device is busy.
 * Work whose launch nobody recorded counts when it began in the steps.
 *
 * (1) The works of a stream are in the order of their begins. */
#include "analyze/device_work.h"
#include "base/for_each.h"
#include "base/partition_point.h"
#include "graph/graph_builder.h"

static gboolean is_work(const TachoTimeline *timeline, guint32 slice)
{
	return is_device_work(timeline, slice) &&
	       !(timeline->slices.flags[slice] & TACHO_SLICE_OPEN);
}

void builder_find_launches(struct graph_builder *builder)
{
	const TachoSlices *slices = &builder->timeline->slices;

	for (guint32 i = 0; i < slices->n; i++)
		if (slices->launch[i] != TACHO_NONE && is_work(builder->timeline, i))
			builder->launches[slices->launch[i]] = 1;
}

guint32 builder_find_work(const struct graph_builder *builder, guint32 slice)
{
	gpointer index = g_hash_table_lookup(builder->work_of, GUINT_TO_POINTER(slice));

	return index ? GPOINTER_TO_UINT(index) - 1 : TACHO_NONE;
}

/* The thread of the graph that made the call, or TACHO_NONE. */
static guint32 calling_thread(const struct graph_builder *builder, guint32 call)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[call]);

	if (track->kind != TACHO_TRACK_THREAD)
		return TACHO_NONE;
	return builder_find_thread(builder, track->process, track->tid);
}

/* Whether the work belongs to the steps; then `work` has its call, if that does, too. */
static gboolean take_launch(const struct graph_builder *builder, const struct build_window *window,
			    struct build_work *work)
{
	const TachoSlices *slices = &builder->timeline->slices;
	guint32 call = slices->launch[work->slice];
	guint32 thread = call == TACHO_NONE ? TACHO_NONE : calling_thread(builder, call);

	if (thread == TACHO_NONE)
		return work->begin_ns >= window->from_ns && work->begin_ns < window->to_ns;
	if (slices->start_ns[call] >= window->to_ns)
		return FALSE;
	/* before the steps, or not by this call, or by another clock */
	if (slices->start_ns[call] < window->from_ns || work->begin_ns < slices->start_ns[call])
		return work->begin_ns < window->to_ns && work->end_ns > window->from_ns;
	work->call = call;
	work->thread = thread;
	work->launch_ns = slices->start_ns[call];
	return TRUE;
}

static void add_slice(struct graph_builder *builder, const struct build_window *window,
		      guint32 slice)
{
	const TachoTimeline *timeline = builder->timeline;
	struct build_work work = {
		.slice = slice,
		.stream = builder->streams->len,
		.begin_ns = timeline->slices.start_ns[slice],
		.end_ns = tacho_slice_end_ns(timeline, slice),
		.call = TACHO_NONE,
		.thread = TACHO_NONE,
		.launch_ns = G_MININT64,
		.member = TACHO_NONE,
		.engine = TACHO_NONE,
	};

	if (!take_launch(builder, window, &work))
		return;
	work.begin_ns = MAX(work.begin_ns, window->from_ns); /* of what was under way, the rest */
	g_array_append_val(builder->work, work);
	g_hash_table_insert(builder->work_of, GUINT_TO_POINTER(slice),
			    GUINT_TO_POINTER(builder->work->len));
}

static void add_stream(struct graph_builder *builder, guint32 rank_index, guint32 track_index)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	struct build_stream stream = { .track = track_index,
				       .rank_index = rank_index,
				       .first_work = builder->work->len };

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (is_work(timeline, i))
			add_slice(builder, &builder->windows[rank_index], i);
	stream.n_work = builder->work->len - stream.first_work;
	if (stream.n_work == 0)
		return;
	stream.lane = builder_add_lane(builder, rank_index, track_index, track->name, FALSE);
	g_array_append_val(builder->streams, stream);
}

void builder_add_work(struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;

	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		guint32 process = tacho_timeline_rank(timeline, rank)->main_process;

		FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
			if (track->kind == TACHO_TRACK_STREAM && track->process == process)
				add_stream(builder, rank, i);
	}
}

guint32 builder_launched_before(const struct graph_builder *builder, guint32 index, gint64 time_ns)
{
	const struct build_stream *stream = build_stream_at(builder, index);
	guint32 next = PARTITION_POINT(i, stream->first_work, stream->first_work + stream->n_work,
				       build_work_at(builder, i)->launch_ns < time_ns);

	return next > stream->first_work ? next - 1 : TACHO_NONE;
}
