/* device_engines: copies between host and device that wait for each other.
 *
 * A device moves data to and from its host with copy engines of its own, beside its kernels: one for each
 * direction, or one for both; some have several (CUDA: asyncEngineCount, "Concurrent Data Transfers" in the CUDA
 * C++ Programming Guide). Copies of one direction that are on different streams follow each other on theirs, in the
 * order in which they come. Whether a device has one engine for a direction is read off the recording: if no two
 * copies overlapped there. An engine is a pool (graph_pool) of the rank; which copy comes first is known only in
 * the replay (shared_replay.c).
 *
 * Copies on one stream follow each other anyway; an engine of which only one stream has copies is none. Those
 * within a device, or from one to another, are not of engines: kernels, or other links. */
#include "base/order.h"
#include "graph/graph_builder.h"
#include "trace/copy_kind.h"

/* Copies that overlap by no more are taken to follow each other.
 * Source: derived from the resolution of traces that count whole microseconds: an end and a begin are each off by up to one. */
#define MAX_OVERLAP_NS 1000

enum direction {
	TO_DEVICE,
	TO_HOST,
	N_DIRECTIONS,
};

/* N_DIRECTIONS: it uses no engine of these. */
static enum direction direction_of(enum copy_kind kind)
{
	switch (kind) {
	case COPY_HTOD:
		return TO_DEVICE;
	case COPY_DTOH:
		return TO_HOST;
	default:
		return N_DIRECTIONS;
	}
}

/* A copy of a rank. */
struct copy {
	gint32 device;
	enum direction direction;
	guint32 work;
};

static gint compare_copies(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct graph_builder *builder = data;
	const struct copy *x = a, *y = b;
	const struct build_work *work_x = build_work_at(builder, x->work);
	const struct build_work *work_y = build_work_at(builder, y->work);

	/* one that takes no time has been there before */
	return ORDER(x->device, y->device) ?: ORDER(x->direction, y->direction) ?:
	       ORDER(work_x->begin_ns, work_y->begin_ns) ?: ORDER(work_x->end_ns, work_y->end_ns) ?:
	       ORDER(x->work, y->work);
}

static void collect_copies_of_stream(const struct graph_builder *builder,
				     const struct build_stream *stream, GArray *copies)
{
	const TachoTimeline *timeline = builder->timeline;
	struct copy copy = { .device = tacho_timeline_track(timeline, stream->track)->device };

	for (guint32 i = stream->first_work; i < stream->first_work + stream->n_work; i++) {
		guint32 slice = build_work_at(builder, i)->slice;

		if (timeline->slices.kind[slice] != TACHO_SLICE_MEMCPY)
			continue;
		copy.work = i;
		copy.direction = direction_of(copy_kind_of(timeline, slice));
		if (copy.direction < N_DIRECTIONS)
			g_array_append_val(copies, copy);
	}
}

/* The copies of the rank, by device, direction and time. */
static GArray *collect_copies(struct graph_builder *builder, guint32 rank_index)
{
	GArray *copies = g_array_new(FALSE, FALSE, sizeof(struct copy));

	for (guint32 i = 0; i < builder->streams->len; i++)
		if (build_stream_at(builder, i)->rank_index == rank_index)
			collect_copies_of_stream(builder, build_stream_at(builder, i), copies);
	g_array_sort_with_data(copies, compare_copies, builder);
	return copies;
}

static struct build_work *work_of(const struct graph_builder *builder, const GArray *copies,
				  guint i)
{
	return build_work_at(builder, g_array_index(copies, struct copy, i).work);
}

/* Whether copies[from .. to) are of several streams, and none overlaps one before. */
static gboolean is_engine(const struct graph_builder *builder, const GArray *copies, guint from,
			  guint to)
{
	gint64 until_ns = work_of(builder, copies, from)->end_ns;
	gboolean has_streams = FALSE;

	for (guint i = from + 1; i < to; i++) {
		const struct build_work *work = work_of(builder, copies, i);

		if (work->begin_ns < until_ns - MAX_OVERLAP_NS)
			return FALSE;
		until_ns = MAX(until_ns, work->end_ns);
		has_streams |= work->stream != work_of(builder, copies, from)->stream;
	}
	return has_streams;
}

/* Those that overlap the one before by a moment go their own way, as they did. */
static void add_engine(struct graph_builder *builder, const GArray *copies, guint from, guint to,
		       struct graph_pool engine)
{
	gint64 until_ns = G_MININT64;

	for (guint i = from; i < to; i++) {
		struct build_work *work = work_of(builder, copies, i);

		if (work->begin_ns >= until_ns)
			work->engine = builder->graph->pools->len;
		until_ns = MAX(until_ns, work->end_ns);
	}
	g_array_append_val(builder->graph->pools, engine);
}

static void find_engines_of_rank(struct graph_builder *builder, guint32 rank_index)
{
	g_autoptr(GArray) copies = collect_copies(builder, rank_index);
	struct graph_pool engine = { .rank_index = rank_index, .n_workers = 1, .is_engine = TRUE };

	for (guint from = 0, to; from < copies->len; from = to) {
		const struct copy *first = &g_array_index(copies, struct copy, from);

		for (to = from + 1; to < copies->len; to++) {
			const struct copy *copy = &g_array_index(copies, struct copy, to);

			if (copy->device != first->device || copy->direction != first->direction)
				break;
		}
		if (!is_engine(builder, copies, from, to))
			continue;
		add_engine(builder, copies, from, to, engine);
		engine.group++;
	}
}

void builder_find_engines(struct graph_builder *builder)
{
	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		find_engines_of_rank(builder, rank);
}
