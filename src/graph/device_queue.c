/* device_queue: hosts that run far ahead of their devices.
 *
 * A driver takes only so much work for a stream; a call that would launch more waits until some of it is
 * done (CUDA: 1022 kernels, by the traces seen). How much is read off the recording: of the calls that took
 * far longer than usual, the number of works that had been launched on their stream and were not over when
 * they began; if most of them agree on one, that is the depth. Then a call that launches work waits, always,
 * for the work that is so many before it on the stream. */
#include "base/for_each.h"
#include "base/quantile.h"
#include "graph/graph_builder.h"

/* Source: a rule: a call that waits for room takes about as long as a kernel, where others take a few microseconds; and that
 * calls agree on a depth is the test. If wrong, calls that did not wait count and no depth is agreed on, or those that did are
 * missed: then a host that is held up by its device looks as if it were slow itself. */
#define LONG_FACTOR 10	  /* times the median: a call that waited, where it is ... */
#define MIN_LONG_NS 20000 /* ... also longer than this */
/* Source: a rule: drivers have room for hundreds (CUDA: 1022, by the traces seen), and four calls seldom agree by chance. If
 * wrong, a shallow queue is not seen, or a depth is believed that is none. */
#define MIN_DEPTH    32 /* works outstanding: with fewer, the call waited for something else */
#define MIN_AGREEING 4	/* calls that waited at one depth, for it to be believed */
/* The longest that a call must be to be a long one.
 * Source: derived from G_MAXINT64, which is 9.2e18. */
#define MAX_NS 4e18

/* The works of a stream that had been launched and were not over when `index` was being launched; `*next` is
 * the first of the stream that was not over at the launch before. */
static guint32 outstanding(const struct graph_builder *builder, guint32 index, guint32 *next)
{
	gint64 launch_ns = build_work_at(builder, index)->launch_ns;

	while (*next < index && build_work_at(builder, *next)->end_ns <= launch_ns)
		(*next)++;
	return index - *next;
}

static void collect_calls(const struct graph_builder *builder, const struct build_stream *stream,
			  GArray *durations_ns)
{
	for (guint32 i = stream->first_work; i < stream->first_work + stream->n_work; i++) {
		guint32 call = build_work_at(builder, i)->call;

		if (call != TACHO_NONE)
			g_array_append_val(durations_ns,
					   builder->timeline->slices.duration_ns[call]);
	}
}

/* From how long on a call of the rank counts as one that waited. */
static gint64 long_call_ns(const struct graph_builder *builder, guint32 rank_index)
{
	g_autoptr(GArray) durations_ns = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 i = 0; i < builder->streams->len; i++)
		if (build_stream_at(builder, i)->rank_index == rank_index)
			collect_calls(builder, build_stream_at(builder, i), durations_ns);
	if (durations_ns->len == 0)
		return G_MAXINT64;
	return (gint64)CLAMP(LONG_FACTOR * quantile(durations_ns, 0.5), MIN_LONG_NS, MAX_NS);
}

/* How much was outstanding when long calls of the stream began: gint64, one a call. */
static GArray *collect_depths(const struct graph_builder *builder,
			      const struct build_stream *stream, gint64 long_ns)
{
	GArray *depths = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint32 next = stream->first_work;

	for (guint32 i = stream->first_work; i < stream->first_work + stream->n_work; i++) {
		const struct build_work *work = build_work_at(builder, i);
		gint64 depth;

		if (work->call == TACHO_NONE)
			continue;
		depth = outstanding(builder, i, &next);
		if (depth >= MIN_DEPTH &&
		    builder->timeline->slices.duration_ns[work->call] >= long_ns)
			g_array_append_val(depths, depth);
	}
	return depths;
}

/* The depth on which most agree, 0: none. */
static guint32 agreed_depth(GArray *depths)
{
	gint64 median;
	guint n_agreeing = 0;

	if (depths->len < MIN_AGREEING)
		return 0;
	median = (gint64)quantile(depths, 0.5);
	for (guint i = 0; i < depths->len; i++)
		n_agreeing += g_array_index(depths, gint64, i) == median;
	return n_agreeing >= MIN_AGREEING && 2 * n_agreeing >= depths->len ? (guint32)median : 0;
}

/* Calls that launch work on the stream wait for what is `depth` before it. */
static void limit_stream(struct graph_builder *builder, const struct build_stream *stream,
			 guint32 depth)
{
	for (guint32 i = stream->first_work + depth; i < stream->first_work + stream->n_work; i++) {
		const struct build_work *work = build_work_at(builder, i);

		if (work->call != TACHO_NONE &&
		    work->launch_ns > build_work_at(builder, i - depth)->launch_ns)
			builder_add_sync(builder, work->thread, work->call, i - depth);
	}
}

void builder_limit_queues(struct graph_builder *builder)
{
	g_autofree gint64 *long_ns = g_new(gint64, MAX(builder->n_ranks, 1u));

	for (guint32 rank = 0; rank < builder->n_ranks; rank++)
		long_ns[rank] = long_call_ns(builder, rank);
	FOR_EACH(const struct build_stream, stream, builder->streams) {
		g_autoptr(GArray) depths =
			collect_depths(builder, stream, long_ns[stream->rank_index]);
		guint32 depth = agreed_depth(depths);

		if (depth > 0)
			limit_stream(builder, stream, depth);
	}
}
